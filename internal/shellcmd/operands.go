package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// use is what a program does with a file.
type use uint8

const (
	unused use = iota
	read
	written
)

// files records the files that a program reads and writes.
func (d *dissector) files(c *command) {
	args := plainArguments(c)
	name := strings.ToLower(c.program)
	switch name {
	case "sed", "perl":
		if slices.ContainsFunc(c.args, func(a string) bool {
			return strings.HasPrefix(a, "-i") || strings.HasPrefix(a, "--in-place") || name == "perl" && strings.HasPrefix(a, "-pi")
		}) {
			d.accessAll(editedFiles(c, args), written)
		}
	case "awk", "gawk":
		if slices.Contains(c.args, "inplace") && len(args) > 2 {
			d.accessAll(args[2:], written)
		}
	case "set-content", "add-content":
		d.accessAll(args[:min(1, len(args))], written)
	case "curl", "wget":
		d.fetch(c, args)
	case "tar", "bsdtar", "gtar":
		d.tar(c, args)
	case "git":
		d.git(c)
	}
	o, ok := programs()["files"][name]
	if !ok {
		return
	}
	for _, flag := range o.Reads {
		d.accessAll(c.values(flag), read)
	}
	for _, flag := range o.Writes {
		d.accessAll(c.values(flag), written)
	}
	if o.Skip > 0 && len(args) <= o.Skip {
		return
	}
	args = args[o.Skip:]
	if n := len(args); o.Last != unused && n > 1 {
		if !isRemote(args[n-1]) {
			d.accessAll(args[n-1:], o.Last)
		}
		args = args[:n-1]
	} else if o.Last != unused {
		return
	}
	d.accessAll(args, o.Plain)
}

// editedFiles returns the files of sed and perl: the arguments without the
// scripts.
func editedFiles(c *command, args []string) []string {
	var programs []string
	for _, flag := range []string{"-e", "-f", "--expression", "--file"} {
		programs = append(programs, c.values(flag)...)
	}
	if len(programs) == 0 {
		return args[min(1, len(args)):]
	}
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return slices.Contains(programs, a) })
}

func (d *dissector) accessAll(names []string, u use) {
	if u == unused {
		return
	}
	for _, name := range names {
		d.access(name, u == written)
	}
}

// values returns the values of a flag in all its forms: "-o x", "-ox", "-so x",
// "--out x" and "--out=x"; without a dash also "of=x".
func (c *command) values(flag string) (list []string) {
	for i, arg := range c.args {
		value, joined := strings.CutPrefix(arg, flag+"=")
		short := len(flag) == 2 && flag[0] == '-' && len(arg) > 1 && arg[0] == '-' && arg[1] != '-'
		switch {
		case joined:
			list = append(list, value)
		case arg == flag && flag[0] == '-', short && isLetters(arg[1:]) && strings.HasSuffix(arg, flag[1:]):
			if i+1 < len(c.args) {
				list = append(list, c.args[i+1])
			}
		case short && arg[1] == flag[1]:
			list = append(list, arg[2:])
		}
	}
	return list
}

func isLetters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' })
}

// fetch records the files that curl and wget send and save.
func (d *dissector) fetch(c *command, args []string) {
	for _, a := range c.args {
		if strings.HasPrefix(a, "@") || strings.Contains(a, "=@") {
			d.access(a[strings.IndexByte(a, '@')+1:], false)
		}
	}
	flag := "-O"
	if c.program == "curl" {
		flag = "-o"
	}
	saved := slices.Concat(c.values(flag), c.values("--output"), c.values("--output-document"))
	if len(saved) == 0 && (c.program == "wget" || c.has("-O") || c.has("--remote-name")) {
		for _, a := range args {
			if a, _, _ = strings.Cut(a, "?"); strings.Contains(a, "/") {
				saved = append(saved, path.Base(a))
			}
		}
	}
	d.save(saved)
}

// save records files whose content came from the network.
func (d *dissector) save(names []string) {
	for _, name := range names {
		if d.saved == nil {
			d.saved = make(map[string]bool)
		}
		d.saved[Resolve(name, d.dir)] = true
	}
}

// tar records the archive and the directory it is extracted to.
func (d *dissector) tar(c *command, args []string) {
	mode := func(letter, long string) bool {
		return c.has("-"+letter) || c.has(long) || len(c.args) > 0 && isLetters(c.args[0]) && strings.Contains(c.args[0], letter)
	}
	old := len(c.args) > 0 && isLetters(c.args[0]) // as in "tar xf archive"
	archive := slices.Concat(c.values("-f"), c.values("--file"))
	if old && strings.Contains(c.args[0], "f") && len(args) > 1 {
		archive = args[1:2]
	}
	into := slices.Concat(c.values("-C"), c.values("--directory"))
	switch {
	case mode("x", "--extract"):
		if len(into) == 0 {
			into = []string{"."}
		}
		d.accessAll(archive, read)
		d.accessAll(into, written)
	case mode("c", "--create"):
		d.accessAll(archive, written)
		d.accessAll(args[min(len(args), len(archive)):], read)
	}
}

// git records the working trees that git changes, and the files that it shows.
func (d *dissector) git(c *command) {
	sub := c.subcommand()
	at := slices.Index(c.args, sub)
	if at < 0 {
		return
	}
	dir := "."
	if list := (&command{args: c.args[:at]}).values("-C"); len(list) > 0 {
		dir = list[0]
	}
	rest := plainArguments(&command{args: c.args[at+1:]})
	switch sub {
	case "clone":
		if len(rest) > 1 {
			dir = rest[len(rest)-1]
		}
		d.access(dir, true)
	case "worktree":
		if len(rest) > 1 && rest[0] == "add" {
			d.access(rest[1], true)
		}
	case "init", "add", "commit", "checkout", "switch", "restore", "reset", "merge", "rebase", "pull", "apply", "am", "clean", "rm", "mv", "cherry-pick", "revert":
		d.access(dir, true)
	case "show", "cat-file":
		for _, a := range rest {
			if _, name, ok := strings.Cut(a, ":"); ok {
				d.access(name, false)
			}
		}
	}
}

// plainArguments returns the arguments that are not flags.
func plainArguments(c *command) []string {
	args := make([]string, 0, len(c.args))
	for i, a := range c.args {
		if a == "--" {
			return append(args, c.args[i+1:]...)
		}
		if a != "" && !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "<()") {
			args = append(args, a)
		}
	}
	return args
}

func isRemote(s string) bool {
	host, _, ok := strings.Cut(s, ":")
	return ok && len(host) > 1 && !strings.Contains(host, "/")
}

var (
	homeOf   = compiled(`^(?:/home/[^/]+|/Users/[^/]+|/root|/var/root|[A-Za-z]:/Users/[^/]+)(?:/|$)`)
	harmless = compiled(`^(?:/private)?(?:/tmp|/var/tmp|/var/folders)(?:/|$)|^/dev/(?:null|zero|full|stdout|stderr|stdin|tty|fd|shm|tcp|udp)|^(?i)[A-Z]:/(?:Windows|Users/[^/]+/AppData/Local)/Temp(?:/|$)`)
	drive    = compiled(`^/(?:mnt/)?([a-z])/`)
)

// isAbsolute reports whether a path with slashes is absolute, on any system.
func isAbsolute(s string) bool {
	return strings.HasPrefix(s, "/") || len(s) > 2 && s[1:3] == ":/" && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z')
}

// Resolve returns the path, with slashes, of a file named relative to dir. A
// leading ~ is the home directory that contains dir.
func Resolve(file, dir string) string {
	file, dir = slashed(file), slashed(dir)
	for _, home := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(file, home); ok && (rest == "" || rest[0] == '/') {
			if own := strings.TrimSuffix(homeOf().FindString(dir), "/"); own != "" {
				return path.Clean(own + rest)
			}
			return path.Clean(file)
		}
	}
	switch {
	case file == "":
		return dir
	case isAbsolute(file), dir == "", strings.HasPrefix(file, "$"):
		return path.Clean(file)
	}
	return path.Join(dir, file)
}

func slashed(s string) string { return strings.ReplaceAll(s, `\`, "/") }

// outside returns the path of a file named relative to dir if it is outside the directories of a session
// and the temporary directories, else "". A path that cannot be resolved is not outside.
func outside(file, dir string, own ...string) string {
	if file == "" || strings.Contains(file, "://") {
		return ""
	}
	full, known := Resolve(file, dir), false
	for _, cwd := range own {
		cwd = strings.TrimRight(slashed(cwd), "/")
		known = known || cwd != ""
		if cwd != "" && isBelow(full, cwd) {
			return ""
		}
	}
	switch {
	case !known:
		return ""
	case full == "~" || strings.HasPrefix(full, "~/"), full == "$HOME" || strings.HasPrefix(full, "$HOME/"):
		return full
	case !isAbsolute(full) || harmless().MatchString(full) || slices.ContainsFunc(own, isWindows) && !isWindows(drive().ReplaceAllString(full, "$1:/")):
		return ""
	}
	return full
}

// isWindows reports whether a path begins with a drive.
func isWindows(path string) bool { return len(path) > 1 && path[1] == ':' }

// isBelow reports whether a path is a directory or below it. Unix shells on Windows write /c/ for C:/, and
// macOS has /tmp and /var in /private.
func isBelow(full, dir string) bool {
	if isWindows(dir) {
		full, dir = strings.ToLower(drive().ReplaceAllString(full, "$1:/")), strings.ToLower(dir)
	}
	rest, ok := strings.CutPrefix(strings.TrimPrefix(full, "/private"), strings.TrimPrefix(dir, "/private"))
	return ok && (rest == "" || rest[0] == '/')
}
