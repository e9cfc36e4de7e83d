// Package system has what differs between operating systems, their shells and desktops: processes,
// sockets, the clipboard, the time zone. It knows nothing of pigrep.
package system

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// IsClosedPipe reports whether an error means that the reader of our output is gone.
func IsClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || isOwnClosedPipe(err)
}

// NotFound is the exit code of a shell that cannot find a command.
const NotFound = 127

// UnnamedZone is the name of the local time zone in package time.
const UnnamedZone = "Local"

// LocalZone returns the local time zone, with its IANA name if that can be found.
func LocalZone() *time.Location {
	if time.Local.String() != UnnamedZone {
		return time.Local
	}
	// On Unix, /etc/localtime is a link to the file of the time zone.
	if target, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			if named, err := time.LoadLocation(name); err == nil {
				return named
			}
		}
	}
	return time.Local
}

// OpenFile opens a file in the program that the desktop has for it. Where there is no
// desktop, xdg-open may run a browser in the terminal, and this waits for it.
func OpenFile(path string) error {
	opener := []string{"xdg-open"}
	switch runtime.GOOS {
	case "windows":
		opener = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case "darwin":
		opener = []string{"open"}
	}
	cmd := exec.Command(opener[0], append(opener[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// Clipboard returns the command that copies its stdin, nil for none. Windows' own
// garbles what is not ASCII; its terminals copy when asked.
func Clipboard(system string, getenv func(string) string, have func(string) bool) []string {
	if getenv("SSH_CONNECTION") != "" || getenv("SSH_TTY") != "" {
		return nil // its clipboard is not the clipboard of the user
	}
	programs := [][2]string{ // each with the variable of its desktop
		{"WAYLAND_DISPLAY", "wl-copy"}, {"DISPLAY", "xclip -selection clipboard"}, {"DISPLAY", "xsel --clipboard --input"}, {"TERMUX_VERSION", "termux-clipboard-set"},
	}
	if system == "darwin" {
		programs = [][2]string{{"", "pbcopy"}}
	}
	for _, p := range programs {
		if argv := strings.Fields(p[1]); (p[0] == "" || getenv(p[0]) != "") && have(argv[0]) {
			return argv
		}
	}
	return nil
}

// Memory is what limits leave to this process.
type Memory struct {
	Limit int64  // bytes; 0 for no limit
	Left  int64  // bytes of Limit that the process does not use yet
	What  string // what is limited, and by what, for people
	From  string
	Hard  bool // the runtime ends the process where it gets no more
	Space bool // mapped files count
}

// lower returns the memory that leaves less. One without a limit leaves most.
func (m Memory) lower(other Memory) Memory {
	if other.Limit > 0 && (m.Limit == 0 || other.Left < m.Left) {
		return other
	}
	return m
}

// cgroupMemory returns the lowest memory limit of the control groups of this process and
// of their parents, 0 for none. root is the root directory of the system. What is absent
// or cannot be understood limits nothing.
func cgroupMemory(root fs.FS) int64 {
	lowest := int64(math.MaxInt64)
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		dir, files := "sys/fs/cgroup", []string{"memory.max", "memory.high"}
		switch {
		case fields[0] == "0" && fields[1] == "":
		case slices.Contains(strings.Split(fields[1], ","), "memory"):
			dir, files = "sys/fs/cgroup/memory", []string{"memory.limit_in_bytes"}
		default:
			continue
		}
		// Within a container the group may have a path that is only valid outside.
		for group := path.Join("/", fields[2]); ; group = path.Dir(group) {
			for _, name := range files {
				lowest = min(lowest, readLimit(root, path.Join(dir, group, name)))
			}
			if group == "/" {
				break
			}
		}
	}
	if lowest >= unlimited {
		return 0
	}
	return lowest
}

// unlimited is a limit that is none: version 1 writes the largest number of whole pages.
const unlimited = 1 << 60

func readLimit(root fs.FS, name string) int64 {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return unlimited
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || n <= 0 {
		return unlimited
	}
	return n
}

// What Linux says about sockets of this machine. Other systems have no such files, and
// nothing is known.

// socket is a line of /proc/net/tcp.
type socket struct {
	port      int // the local one
	listening bool
	uid       int
	inode     string
}

func sockets() (list []socket) {
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if s, ok := parseSocket(line); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

// parseSocket reads a line such as
//
//	0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 …
func parseSocket(line string) (s socket, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 {
		return s, false
	}
	_, port, _ := strings.Cut(fields[1], ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return s, false
	}
	const listens = "0A"
	s = socket{port: int(n), listening: fields[3] == listens, inode: fields[9]}
	s.uid, err = strconv.Atoi(fields[7])
	return s, err == nil
}

// OfAnotherUser reports whether the socket with this port that is connected to one of ours
// belongs to another user. The administrator is none: relays for other machines run as it.
func OfAnotherUser(port int) bool {
	own := os.Getuid()
	for _, s := range sockets() {
		if s.port == port && !s.listening {
			return s.uid != own && s.uid != 0
		}
	}
	return false
}

// ListenerOf names the process that listens on a port; "" if that is not known.
func ListenerOf(port int) string {
	for _, s := range sockets() {
		if s.port != port || !s.listening {
			continue
		}
		name := fmt.Sprintf("a process of user %d", s.uid)
		links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is valid
		for _, link := range links {
			if target, err := os.Readlink(link); err != nil || target != "socket:["+s.inode+"]" {
				continue
			}
			pid := strings.Split(link, "/")[2]
			name = "process " + pid
			if command, err := os.ReadFile("/proc/" + pid + "/comm"); err == nil {
				name = strings.TrimSpace(string(command)) + ", " + name
			}
			break
		}
		return name
	}
	return ""
}

// checkBatch fails if a program is a batch file, such as npm installs, and an argument has a character
// that cannot be quoted for cmd.exe, which runs such files: it would begin another command or expand a
// variable.
func checkBatch(program string, args []string) error {
	switch strings.ToLower(filepath.Ext(program)) {
	case ".cmd", ".bat":
		for _, arg := range args {
			if strings.ContainsAny(arg, "&|<>^%!\"\r\n") {
				return fmt.Errorf("%s is a batch file, and cmd.exe would not read %q as one word", program, arg)
			}
		}
	}
	return nil
}

// DataDir returns the directory for a user's data that cannot be made again, "" if there is
// none. xdg is the value of XDG_DATA_HOME.
func DataDir(home, configDir, cacheDir, xdg string) string {
	switch {
	case runtime.GOOS == "windows":
		return cacheDir // %LocalAppData%, which no system clears
	case runtime.GOOS == "darwin":
		return configDir // Library/Application Support
	case filepath.IsAbs(xdg):
		return xdg
	case home == "":
		return ""
	}
	return filepath.Join(home, ".local", "share")
}
