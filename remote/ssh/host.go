package ssh

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pigrep/internal/shellcmd"
)

// A Host is a machine, and how it is reached.
type Host struct {
	Name string // as answers call it
	ssh  string // what ssh connects to
	box  string // the container that docker runs
	cmd  string // a command of the user's that reaches a shell
}

// NameError says that something does not name a host.
type NameError struct{ Name, Reason string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%q does not name a host: %s", e.Name, e.Reason)
}

var (
	hostForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.+-]*@)?[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	})
	boxForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`) })
)

// ParseHost reads a host: as ssh takes it, docker:NAME or cmd:COMMAND, each maybe with a name
// before it, as in web=docker:web_1. What ssh or a shell would take for something else than a
// host is refused.
func ParseHost(text string) (Host, error) {
	h, at := Host{}, strings.TrimSpace(text)
	if before, after, ok := strings.Cut(at, "="); ok && boxForm().MatchString(before) {
		h.Name, at = before, after
	}
	refused := func(reason string) (Host, error) { return Host{}, &NameError{text, reason} }
	kind, rest, _ := strings.Cut(at, ":")
	switch {
	case kind == "cmd":
		if h.Name, h.cmd = cmp.Or(h.Name, kind), rest; strings.TrimSpace(rest) == "" {
			return refused("there is no command after cmd:")
		}
	case kind == "docker":
		if h.Name, h.box = cmp.Or(h.Name, rest), rest; !boxForm().MatchString(rest) {
			return refused("there is no container after docker:")
		}
	case strings.HasPrefix(at, "-"):
		return refused("ssh would take it for an option")
	case !hostForm().MatchString(at):
		return refused("it has characters that no name of a host has")
	default:
		h.Name, h.ssh = cmp.Or(h.Name, at), at
	}
	if len(h.Name) == 1 { // in answers, C:/x is a path of this machine
		return refused("a single letter could be a drive; name it: box=" + at)
	}
	return h, nil
}

// maxConfig is how much of the settings of ssh is read for names of hosts.
const maxConfig = 256 << 10

// ConfigHosts returns the names of hosts in the settings of ssh: those of its Host lines that are
// no patterns. Files that it includes are not read.
func ConfigHosts(config io.Reader) (names []string) {
	lines := bufio.NewScanner(io.LimitReader(config, maxConfig))
	for lines.Scan() {
		words := strings.FieldsFunc(lines.Text(), func(r rune) bool { return r == ' ' || r == '\t' || r == '=' || r == '"' })
		if len(words) == 0 || !strings.EqualFold(words[0], "Host") {
			continue
		}
		for _, name := range words[1:] {
			if name[0] == '#' { // the rest is a comment
				break
			}
			if _, err := ParseHost(name); err == nil {
				names = append(names, name)
			}
		}
	}
	return names
}

// searchPath makes a shell that is not one of a login find what users install for themselves.
const searchPath = `PATH="$PATH:$HOME/.local/bin:$HOME/bin:$HOME/go/bin:/usr/local/bin:/opt/homebrew/bin:/home/linuxbrew/.linuxbrew/bin"; `

// options are the options for ssh: no questions, which nobody would see; no terminal; no settings of the
// user that only make sense for a shell; and an end to connections with machines that are gone.
func options(seconds int) []string {
	return []string{"-T", "-o", "BatchMode=yes", "-o", fmt.Sprint("ConnectTimeout=", seconds), "-o", fmt.Sprint("ServerAliveInterval=", seconds), "-o", "ServerAliveCountMax=2", "-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"}
}

// command returns the program that reaches a shell on the host and runs a command of pigrep
// there, which has only plain words. If first is not "", the shell reads it as its first line. The further
// options are those of ssh.
func (h *Host) command(pigrep string, seconds int, further ...string) (argv []string, first string) {
	script := searchPath + "exec " + pigrep
	switch {
	case h.cmd != "":
		return []string{"sh", "-c", h.cmd}, script + "\n"
	case h.box != "":
		return []string{"docker", "exec", "-i", h.box, "sh", "-c", script}, ""
	}
	// The login shell there reads this. Between these quotes each shell, fish too, leaves all
	// but quotes and backslashes alone, and there are none.
	return slices.Concat([]string{"ssh"}, options(seconds), further, []string{"--", h.ssh, "sh -c '" + script + "'"}), ""
}

// Try returns what to type to see whether a host can be reached.
func (h *Host) Try() string {
	switch {
	case h.cmd != "":
		return "try: echo pigrep version | " + h.cmd
	case h.box != "":
		return "try: docker exec " + h.box + " pigrep version"
	}
	return "try: ssh " + h.ssh + " pigrep version"
}

// Interactive returns the command that runs another one on the host, in a directory and with
// the terminal; nil if the host is reached by a command of the user's.
func (h *Host) Interactive(dir string, argv []string) []string {
	line := shellcmd.Line(dir, argv)
	switch {
	case h.cmd != "":
		return nil
	case h.box != "":
		return []string{"docker", "exec", "-it", h.box, "sh", "-c", line}
	}
	return []string{"ssh", "-t", "--", h.ssh, line}
}
