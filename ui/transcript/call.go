package transcript

import (
	"fmt"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
)

// CommandOf returns the command of a call; "" for none.
func CommandOf(c *session.Call) string { return c.Argument("command", "cmd", "script") }

// Arguments returns the arguments that are shown beside the diff of a call and its command,
// either of which may not be shown itself.
func Arguments(c *session.Call, hasDiff bool, command string) []session.Argument {
	var list []session.Argument
	for _, a := range c.Arguments {
		switch {
		case hasDiff && a.Edits:
		case command != "" && a.Text && string(a.Value) == command:
			command = ""
		default:
			list = append(list, a)
		}
	}
	return list
}

// CallSummary describes a call on one line: by pattern and path, or else by all
// arguments. With bare it is only the path. cwd is the directory of the session.
func CallSummary(c *session.Call, cwd string, bare bool) string {
	path := Inside(c.Path(), cwd)
	pattern := c.Argument("pattern", "query", "regex", "search", "url")
	var words []string
	if pattern != "" && (path != "" || !bare) {
		words = append(words, terminal.Clean(pattern))
	}
	if path != "" {
		words = append(words, terminal.Clean(path)+lineRange(c))
	}
	if change := changeSize(c); change != "" {
		words = append(words, change)
	}
	if len(words) > 0 || bare {
		return strings.Join(words, " ")
	}
	for _, a := range c.Arguments {
		words = append(words, terminal.Clean(a.Name)+": "+terminal.Clean(string(a.Value[:min(len(a.Value), LongestLine)])))
	}
	if len(words) == 0 && len(c.Raw) > 0 && string(c.Raw) != "{}" && string(c.Raw) != "null" {
		words = append(words, terminal.Clean(string(c.Raw[:min(len(c.Raw), LongestLine)])))
	}
	return strings.Join(words, ", ")
}

// Inside returns a path relative to the directory of the session if it is below that
// directory, and otherwise unchanged.
func Inside(path, cwd string) string {
	cwd = strings.TrimRight(cwd, "/")
	if rest, ok := strings.CutPrefix(path, cwd+"/"); ok && cwd != "" && rest != "" {
		return rest
	}
	return path
}

// lineRange returns the lines of a file that a call reads, as :from-to.
func lineRange(c *session.Call) string {
	number := func(name string) int {
		n := 0
		for _, a := range c.Arguments {
			if a.Name == name && !a.Text {
				if _, err := fmt.Sscan(string(a.Value), &n); err != nil {
					return 0
				}
			}
		}
		return n
	}
	from, count := number("offset"), number("limit")
	switch {
	case from > 0 && count > 0:
		return fmt.Sprintf(":%d-%d", from, from+count-1)
	case from > 0:
		return fmt.Sprintf(":%d-", from)
	case count > 0:
		return fmt.Sprintf(":1-%d", count)
	}
	return ""
}

// changeSize is the number of lines that a call removes and adds, if known.
func changeSize(c *session.Call) string {
	lines := func(s string) int { return strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1 }
	before, after := c.Argument("oldText", "old_string", "oldString"), c.Argument("newText", "new_string", "newString")
	switch content := c.Argument("content"); {
	case before != "" || after != "":
		removed, added := 0, 0
		if before != "" {
			removed = lines(before)
		}
		if after != "" {
			added = lines(after)
		}
		return fmt.Sprintf("(-%d +%d)", removed, added)
	case content != "" && c.Path() != "":
		return "(" + human.Plural(lines(content), "line", "lines") + ")"
	}
	return ""
}
