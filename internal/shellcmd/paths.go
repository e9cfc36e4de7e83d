package shellcmd

import (
	"path"
	"strings"
)

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

// isOutside reports whether a file named relative to dir is outside the working
// directory and the temporary directories. A path that cannot be resolved is not.
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
		// Unix shells on Windows write /c/ for C:/.
		full, cwd = strings.ToLower(drive().ReplaceAllString(full, "$1:/")), strings.ToLower(cwd)
	}
	rest, ok := strings.CutPrefix(full, cwd)
	inside := ok && (rest == "" || rest[0] == '/')
	return !inside && (!windows || full[1] == ':') && !harmless().MatchString(full)
}

// enter returns the directory after cd, "" if it cannot be known.
func enter(dir, to string) string {
	switch {
	case to == "":
		return Resolve("~", dir)
	case to == "-", strings.ContainsAny(to, "$*?"), dir == "" && !isAbsolute(slashed(to)):
		return ""
	}
	return Resolve(to, dir)
}
