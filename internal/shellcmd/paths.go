package shellcmd

import (
	"path"
	"strings"
)

// Action returns what a tool of this name does to the files among its arguments:
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

// lists reports whether a tool of this name only lists file names.
func lists(tool string) bool {
	switch strings.ToLower(tool) {
	case "ls", "find", "glob", "list", "list_files", "list_directory", "list_dir", "file_search":
		return true
	}
	return false
}

// WaitsForPerson reports whether a tool of this name asks the user, so that its duration is
// that of the user's answer.
func WaitsForPerson(tool string) bool {
	switch strings.ToLower(tool) {
	case "ask", "ask_user", "askuser", "ask_question", "ask_user_question", "askuserquestion", "ask_followup_question",
		"question", "questionnaire", "confirm", "request_user_input", "user_input", "elicit":
		return true
	}
	return false
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
