package audit

import (
	"path"
	"slices"
	"strings"
)

// Action says what a tool of this name does with the files among its arguments:
// "read", "write", "edit", or "other".
func Action(tool string) string {
	switch strings.ToLower(tool) {
	case "read", "read_file", "readfile", "view", "view_file", "cat", "open_file", "notebook_read":
		return "read"
	case "write", "write_file", "writefile", "create", "create_file", "save_file":
		return "write"
	case "edit", "edit_file", "multiedit", "multi_edit", "str_replace", "str_replace_editor", "str_replace_based_edit_tool",
		"apply_patch", "patch", "insert", "notebook_edit", "notebookedit":
		return "edit"
	}
	return "other"
}

// lists reports whether a tool of this name looks at the names of files alone.
func lists(tool string) bool {
	switch strings.ToLower(tool) {
	case "ls", "find", "glob", "list", "list_files", "list_directory", "list_dir", "file_search":
		return true
	}
	return false
}

var (
	homeOf   = compiled(`^(?:/home/[^/]+|/Users/[^/]+|/root|/var/root|[A-Za-z]:/Users/[^/]+)(?:/|$)`)
	harmless = compiled(`^(?:/private)?(?:/tmp|/var/tmp|/var/folders)(?:/|$)|^/dev/(?:null|zero|full|stdout|stderr|stdin|tty|fd|shm)|^(?i)[A-Z]:/(?:Windows|Users/[^/]+/AppData/Local)/Temp(?:/|$)`)
	drive    = compiled(`^/(?:mnt/)?([a-z])/`)
)

// isAbsolute reports whether a path with slashes begins at a root.
func isAbsolute(s string) bool {
	return strings.HasPrefix(s, "/") || len(s) > 2 && s[1:3] == ":/" && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z')
}

// Resolve returns the path of a file that was named in a directory, with
// slashes. A home directory is taken from that of the working directory.
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

// isOutside reports whether a file that was named in dir is outside of the
// working directory, and not in a place for temporary files. What cannot be
// known is not.
func isOutside(file, dir, cwd string) bool {
	cwd = strings.TrimRight(slashed(cwd), "/")
	if cwd == "" || file == "" || strings.Contains(file, "://") {
		return false
	}
	full := Resolve(file, dir)
	switch {
	case full == "~" || strings.HasPrefix(full, "~/"), full == "$HOME" || strings.HasPrefix(full, "$HOME/"):
		return true
	case !isAbsolute(full):
		return false
	}
	windows := len(cwd) > 1 && cwd[1] == ':'
	if windows {
		// A Unix shell there writes /c/ for C:/.
		full, cwd = strings.ToLower(drive().ReplaceAllString(full, "$1:/")), strings.ToLower(cwd)
	}
	rest, ok := strings.CutPrefix(full, cwd)
	inside := ok && (rest == "" || rest[0] == '/')
	return !inside && (!windows || full[1] == ':') && !harmless().MatchString(full)
}

// enter returns the directory after cd, "" when it cannot be known.
func enter(dir, to string) string {
	switch {
	case to == "":
		return Resolve("~", dir)
	case to == "-", strings.ContainsAny(to, "$*?"), dir == "" && !isAbsolute(slashed(to)):
		return ""
	}
	return Resolve(to, dir)
}

// readers lists the programs that read the files among their arguments.
var readers = []string{
	"cat", "less", "more", "head", "tail", "bat", "batcat", "grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "gawk", "cut", "sort", "uniq", "tac", "nl",
	"base64", "xxd", "od", "hexdump", "strings", "source", ".", "jq", "yq", "vi", "vim", "nvim", "nano", "emacs", "code", "open", "diff", "cmp",
	"cp", "scp", "rsync", "tar", "zip", "gzip", "openssl", "gpg", "python", "python3", "node", "wc", "tee", "ssh-keygen", "printenv", "xclip", "pbcopy",
}

// files notes the files that a program reads and writes.
func (d *dissector) files(c *command) {
	args := plainArguments(c)
	switch c.program {
	case "tee", "touch", "truncate", "mkdir", "rmdir", "rm", "unlink":
		for _, a := range args {
			d.access(a, true)
		}
	case "cp", "install", "ln", "mv", "scp", "rsync":
		if n := len(args); n > 1 {
			for _, a := range args[:n-1] {
				d.access(a, c.program == "mv")
			}
			if to := args[n-1]; !isRemote(to) {
				d.access(to, true)
			}
		}
	case "sed", "perl":
		if slices.ContainsFunc(c.args, func(a string) bool {
			return strings.HasPrefix(a, "-i") || a == "--in-place" || c.program == "perl" && strings.HasPrefix(a, "-pi")
		}) && len(args) > 1 {
			for _, a := range args[1:] {
				d.access(a, true)
			}
		}
	case "dd":
		for _, a := range c.args {
			if to, ok := strings.CutPrefix(a, "of="); ok {
				d.access(to, true)
			} else if from, ok := strings.CutPrefix(a, "if="); ok {
				d.access(from, false)
			}
		}
	case "curl", "wget":
		for i, a := range c.args {
			out := c.program == "curl" && (a == "-o" || a == "--output") || c.program == "wget" && (a == "-O" || a == "--output-document")
			switch {
			case out && i+1 < len(c.args):
				d.access(c.args[i+1], true)
			case strings.HasPrefix(a, "@"), strings.Contains(a, "=@"):
				d.access(a[strings.IndexByte(a, '@')+1:], false)
			}
		}
	}
	if slices.Contains(readers, c.program) {
		from := 0
		switch c.program {
		case "grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "gawk", "jq", "yq":
			if len(args) > 1 {
				from = 1 // what it looks for, or does
			} else {
				return
			}
		case "cp", "scp", "rsync", "mv", "install", "ln":
			return // done above
		}
		for _, a := range args[from:] {
			d.access(a, false)
		}
	}
}

// plainArguments returns the arguments that are no flags.
func plainArguments(c *command) []string {
	args := make([]string, 0, len(c.args))
	for i, a := range c.args {
		if a == "--" {
			return append(args, c.args[i+1:]...)
		}
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "<()") {
			args = append(args, a)
		}
	}
	return args
}

// isRemote reports whether a path is one of another machine.
func isRemote(s string) bool {
	host, _, ok := strings.Cut(s, ":")
	return ok && len(host) > 1 && !strings.Contains(host, "/")
}
