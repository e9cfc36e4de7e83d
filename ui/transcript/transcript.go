// Package transcript says what the entries of a conversation are to a reader: their titles,
// and what each of their blocks is. Each front door draws that in its own way.
//
// Texts come from the session unchanged, unless a comment says otherwise: front doors must
// clean or escape them.
package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pigrep/internal/diff"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
)

// Class is what an entry is.
type Class uint8

// The classes of entries.
const (
	Other   Class = iota // about the session
	Prompt               // of the user
	Reply                // of the model
	Result               // of a call
	Shell                // a command of the user
	System               // a system prompt
	Summary              // of what was compacted, or of a branch
	Note                 // of an extension
	Unknown              // a message of an unknown role
)

// Item is an entry as its reader sees it.
type Item struct {
	*entry.Entry
	Class  Class
	Name   string   // safe to print: "prompt", "result bash", "model change"
	Title  string   // safe to print: Name, with the type that an extension gave
	Remark []string // the words of an entry of one line, to be joined by spaces; nil for others
	Fact   string   // what is known of a summary; "" for nothing
	Blocks []Block
}

// Block is a piece of an item.
type Block struct {
	*session.Block
	Form Form
}

// Form says how a block is shown.
type Form uint8

// The forms of blocks.
const (
	Folded   Form = iota // its size, or as it is
	Prose                // Markdown
	Thinking             // Markdown that few want to read
	Problem              // why a reply failed
	Line                 // one line about the session
	Call
	Command // of the user, with its output
	Image
)

// Describe returns the item of an entry, which shares its memory.
func Describe(e *entry.Entry) Item {
	is := knownOf(e)
	it := Item{Entry: e, Class: is.class, Name: is.name, Remark: remarkOf(e)}
	it.Title = it.Name
	if e.CustomType != "" {
		it.Title += " " + terminal.Clean(e.CustomType)
	}
	if n := e.View.TokensBefore; n > 0 && it.Class == Summary {
		it.Fact = human.Number(n) + " tokens before"
	}
	for i := range e.View.Blocks {
		b := &e.View.Blocks[i]
		it.Blocks = append(it.Blocks, Block{b, it.form(b)})
	}
	return it
}

// known is what an entry is.
type known struct {
	class Class
	name  string
}

// What entries are by role, and by type if they have no known role.
var (
	roles = map[string]known{
		session.RoleUser: {Prompt, "prompt"}, session.RoleAssistant: {Reply, "reply"}, session.RoleToolResult: {Result, "result "},
		session.RoleShell: {Shell, "shell"}, session.RoleSystem: {System, "system prompt"}, session.RoleCustom: {Note, "note"}, session.RoleHook: {Note, "note"},
		session.RoleCompactionSummary: {Summary, "compaction"}, session.RoleBranchSummary: {Summary, "branch summary"},
	}
	types = map[string]known{
		session.TypeCompaction: {Summary, "compaction"}, session.TypeBranchSummary: {Summary, "branch summary"}, session.TypeCustomMessage: {Note, "note"},
	}
)

// knownOf says what an entry is, in our words or the words of its agent.
func knownOf(e *entry.Entry) known {
	k := cmp.Or(roles[e.Role], types[e.Type])
	switch {
	case k.class == Result:
		k.name += terminal.Clean(e.Tool)
		return k
	case k.name != "":
		return k
	case e.Type == session.TypeMessage:
		k = known{Unknown, cmp.Or(e.Role, e.Type)}
	default:
		k.name = e.Type
	}
	k.name = terminal.Clean(strings.ReplaceAll(k.name, "_", " "))
	return k
}

func remarkOf(e *entry.Entry) []string {
	switch {
	case e.Type == session.TypeLabel && e.Label == "":
		return []string{"label cleared on", e.TargetID}
	case e.Type == session.TypeLabel:
		return []string{"label", e.Label, "on", e.TargetID}
	case e.Type == session.TypeSessionInfo:
		return []string{"named", e.Name}
	}
	return nil
}

// form says how a block of the item is shown.
func (it *Item) form(b *session.Block) Form {
	switch {
	case b.Call != nil:
		return Call
	case b.Shell != nil:
		return Command
	case b.Image != nil:
		return Image
	}
	switch b.Kind {
	case session.KindThinking:
		return Thinking
	case session.KindError:
		return Problem
	case session.KindPrompt, session.KindReply, session.KindSummary, session.KindNote:
		if it.Class != Result {
			return Prose
		}
	case session.KindMeta, session.KindTitle, session.KindLabel:
		if len(b.Text) < LongestLine {
			return Line
		}
	}
	return Folded
}

// LongestLine bounds how many bytes of a text on one line are shown: more than any
// terminal shows.
const LongestLine = 4 << 10

// NoMatch is the outcome of a command whose exit code only says no.
const NoMatch = "no match"

// IsNoMatch reports whether the result of a command has this outcome. The facts of the
// result must have been read.
func IsNoMatch(command string, e *entry.Entry) bool {
	return e.IsError && command != "" && e.Facts != nil && shellcmd.SaysNo(command, e.Facts.Exit, resultText(e))
}

// resultText returns what a call printed.
func resultText(e *entry.Entry) (text []byte) {
	for i := range e.View.Blocks {
		if b := &e.View.Blocks[i]; b.Kind == session.KindResult {
			text = append(text, b.Text...)
		}
	}
	return text
}

// Outcome describes how a command of the user ended: "cancelled", "exit 1", NoMatch, or
// "ok"; "" if that is not known.
func Outcome(b *session.Block) (text string, failed bool) {
	s := b.Shell
	switch {
	case s.Cancelled:
		return "cancelled", true
	case s.HasExit && shellcmd.SaysNo(s.Command, int32(s.ExitCode), b.Text):
		return NoMatch, false
	case s.HasExit && s.ExitCode != 0:
		return fmt.Sprintf("exit %d", s.ExitCode), true
	case s.HasExit:
		return "ok", false
	}
	return "", false
}

// Edits returns the changes of files that a result records.
func Edits(e *entry.Entry) []diff.File { return diff.Of(&session.Call{Diff: e.View.Diff}) }

// Anchor returns the name of an entry in a document, if no other one there has the same id.
func Anchor(id string) string {
	return "e-" + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, id)
}

// CommandOf returns the command of a call; "" for none.
func CommandOf(c *session.Call) string { return c.Argument("command", "cmd", "script") }

// Arguments returns the arguments that are shown beside the diff of a call and its command. Neither
// the diff nor the command need be shown.
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
	words := human.Joined(" ",
		human.When(path != "" || !bare, terminal.Clean(pattern)),
		human.When(path != "", terminal.Clean(path)+lineRange(c)),
		changeSize(c))
	beginning := func(text []byte) string { return terminal.Clean(string(text[:min(len(text), LongestLine)])) }
	switch {
	case words != "" || bare:
		return words
	case len(c.Arguments) > 0:
		arguments := lists.Map(c.Arguments, func(a session.Argument) string { return terminal.Clean(a.Name) + ": " + beginning(a.Value) })
		return strings.Join(arguments, ", ")
	case string(c.Raw) != "{}" && string(c.Raw) != "null":
		return beginning(c.Raw)
	}
	return ""
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
	case count > 0:
		from = max(from, 1)
		return fmt.Sprintf(":%d-%d", from, from+count-1)
	case from > 0:
		return fmt.Sprintf(":%d-", from)
	}
	return ""
}

// changeSize returns the number of lines that a call removes and adds, if known.
func changeSize(c *session.Call) string {
	lines := func(s string) int { return len(slices.Collect(strings.Lines(s))) }
	before, after := c.Argument("oldText", "old_string", "oldString"), c.Argument("newText", "new_string", "newString")
	switch content := c.Argument("content"); {
	case before != "" || after != "":
		return fmt.Sprintf("(-%d +%d)", lines(before), lines(after))
	case content != "" && c.Path() != "":
		return "(" + human.Plural(lines(content), "line", "lines") + ")"
	}
	return ""
}
