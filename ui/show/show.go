package show

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"pigrep/internal/diff"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
	"pigrep/query/search"
	"pigrep/ui/printer"
	"pigrep/ui/prose"
	"pigrep/ui/transcript"
)

// Show is a conversation or a part of one. Entries are read as they are printed, so a
// session can be of any size.
type Show struct {
	Session  SessionFacts
	Entries  iter.Seq2[*entry.Entry, error]
	Focus    map[int]bool         // the entries that were named, by their index in the file
	Marks    map[int][]match.Mark // what is marked in entries, by their index in the file
	Gaps     map[int]bool         // entries that follow a gap
	Full     bool                 // fold nothing
	Unfold   bool                 // fold no text of the entries in Focus
	Open     map[int]bool         // true unfolds the whole entry; false folds it, even if it is in Focus
	FoldHint string               // how to unfold an entry; "" for --full
	Whole    bool                 // the conversation, not the neighbourhood of an entry
	Branches bool                 // mark abandoned entries, since several branches are shown
	Zone     *time.Location       // of an export; nil prints UTC as in pipes
	Lacks    []string             // the machines and archives that did not answer, as sentences
}

// SessionFacts is what is printed above a conversation.
type SessionFacts struct {
	search.SessionHit
	Version   int        `json:"version,omitempty"`
	Entries   int        `json:"entries"`
	Abandoned int        `json:"abandoned,omitempty"` // entries that are not on the active branch
	Skipped   int        `json:"skippedLines,omitempty"`
	Parent    *Relative  `json:"parent,omitempty"`
	Children  []Relative `json:"forkedInto,omitempty"`
	Twins     []string   `json:"sameId,omitempty"`           // other files with the same id
	Files     []string   `json:"files,omitempty"`            // other files of this session
	Namesakes []string   `json:"namesakes,omitempty"`        // names of the other sessions with this id
	Subagents []Relative `json:"subagents,omitempty"`        // that it started, the first of them
	Started   int        `json:"startedSubagents,omitempty"` // all of these
	Missing   string     `json:"missing,omitempty"`          // the session that it begins in, if that is not there
	Label     string     `json:"-"`                          // the agent's name for people
	Begun     time.Time  `json:"-"`                          // the earlier of the header and the first entry, which a fork may have copied

	// These hide the fields of SessionHit, which have no meaning without a query.
	Score   float64 `json:"score,omitempty"`
	Hits    int     `json:"hits,omitempty"`
	HitsAny int     `json:"hitsAny,omitempty"`
}

// ParentIs names the session that ParentSession is.
func (f *SessionFacts) ParentIs() string {
	return cmp.Or(human.When(f.Subagent, "Subagent of"), "Forked from")
}

// BeginsIn names the missing session that this one begins in; "" for none.
func (f *SessionFacts) BeginsIn() string {
	return human.When(f.Missing != "", f.Missing+", which is not indexed or deleted")
}

// Relative is the parent or a fork of a session.
type Relative struct {
	SessionPath string       `json:"sessionPath"`
	SessionID   string       `json:"sessionId,omitempty"`
	Title       string       `json:"title,omitempty"`
	Created     session.Time `json:"created,omitzero"`
	State       string       `json:"state,omitempty"` // of a parent: "moved" or "missing"
	Shared      int          `json:"shared"`          // entries in both
	ShortID     string       `json:"-"`
}

func (s *Show) JSON(j *printer.JSON) {
	j.Stream(&printer.Stream{
		Command: "show", Session: &s.Session, Name: "entries",
		Rows: printer.RowsFrom(s.Entries, func(e *entry.Entry) any { return entryRow{e.Row(s.Focus[e.Index])} }),
		Tail: func(n int) any {
			tail := j.InLines("entries", n)
			if len(s.Lacks) == 0 {
				return tail
			}
			lacks := map[string]any{"complete": false, "warnings": s.Lacks}
			if lines, ok := tail.(map[string]any); ok {
				maps.Copy(lacks, lines)
			}
			return lacks
		},
	})
}

// entryRow is the row of an entry of any length.
type entryRow struct{ entry.Row }

func (r entryRow) Size() int { return r.Length }

func (r entryRow) Write(j *printer.JSON) {
	parts := r.Parts
	r.Parts = []entry.PartRow{}
	j.Filled(r, `"parts":[]`, func() {
		for i, p := range parts {
			if i > 0 {
				j.Pass([]byte{','})
			}
			text := p.Text
			p.Text = ""
			j.Filled(p, `"text":""`, func() { j.Inside(text) })
		}
	})
}

// RawEntries writes entries as they are in the session file, one a line; escaped if
// they go to a terminal.
func RawEntries(w io.Writer, header []byte, entries iter.Seq2[*entry.Entry, error], terminal bool) error {
	out := printer.NewSink(w)
	write := func(raw []byte) {
		if terminal {
			raw = printer.EscapeHidden(bytes.ToValidUTF8(raw, []byte("\ufffd")))
		}
		_, _ = out.Write(raw) // end has the error
		out.Print("\n")
	}
	if len(header) > 0 {
		write(header)
	}
	for e, err := range entries {
		out.Fail(err)
		if out.Err != nil {
			break
		}
		write(e.Raw)
	}
	return out.End()
}

// Tree is the tree of a conversation.
type Tree struct {
	Session SessionFacts
	Rows    iter.Seq2[*entry.TreeRow, error]
}

// maxTreeIndent is the deepest indentation of branches, to leave room for text.
const maxTreeIndent = 12

// Text prints a line for each entry: the active branch at the left, other branches
// below the entry where they fork, indented.
func (s *Tree) Text(t *printer.Text) {
	p := &showText{Text: t, s: &Show{Session: s.Session, Whole: true, Branches: true}}
	p.facts()
	p.line()
	for r, err := range s.Rows {
		t.Fail(err)
		if t.Err != nil {
			return
		}
		p.treeRow(r)
	}
}

func (p *showText) treeRow(r *entry.TreeRow) {
	depth := min(r.Depth, maxTreeIndent)
	if p.Width > 0 {
		depth = min(depth, p.Width/8)
	}
	indent := strings.Repeat("│ ", depth)
	if r.Starts && depth > 0 {
		indent = strings.Repeat("│ ", depth-1) + "├─"
	}
	dot := cmp.Or(human.When(r.Active, "● "), "○ ")
	if r.Skipped > 0 {
		p.note(indent + "  … " + human.Plural(r.Skipped, "entry", "entries"))
		return
	}
	what, text := treeText(r.Entry, p.s.Session.CWD)
	right := terminal.Clean(r.Entry.Short)
	note := human.Joined(" ", labelOf(r.Entry), human.When(r.Leaf, "← leaf"))
	note = human.When(note != "", " "+note)
	room := p.Width - terminal.Width(indent+dot+what+" "+note+"  "+right)
	tail := "  " + right
	switch {
	case p.Width == 0:
		tail = "  · " + right
	case room < minBodyColumns:
		room += terminal.Width(right) + 2
		tail = ""
		text = terminal.Clip(text, max(1, room))
	default:
		text = terminal.Clip(text, room)
		tail = strings.Repeat(" ", room-terminal.Width(text)) + tail
	}
	style := printer.KindStyles[session.KindOther]
	if i := slices.IndexFunc(r.Entry.View.Blocks, func(b session.Block) bool { return b.Kind != session.KindThinking }); i >= 0 {
		style = printer.KindStyles[r.Entry.View.Blocks[i].Kind]
	}
	if !r.Active {
		style = printer.DimStyle
		text = p.Dim(text)
	}
	p.line(strings.TrimRight(p.Dim(indent)+dot+p.Style(style, what)+" "+text+p.Style(printer.MatchStyle, note)+p.Dim(tail), " "))
}

// treeText returns what an entry is and says on a line, in a session of a directory.
func treeText(e *entry.Entry, cwd string) (what, text string) {
	what = transcript.Describe(e).Name
	switch e.Type {
	case session.TypeLabel:
		return what, terminal.Clean(e.Label) + " on " + terminal.Clean(e.TargetID)
	case session.TypeSessionInfo:
		return "name", terminal.Clean(e.Name)
	}
	thought := ""
	for i := range e.View.Blocks {
		b := &e.View.Blocks[i]
		beginning := terminal.Clean(string(b.Text[:min(len(b.Text), transcript.LongestLine)]))
		switch {
		case b.Call != nil:
			text = terminal.Clean(b.Call.Tool) + " "
			if c := transcript.CommandOf(b.Call); c != "" {
				text += "$ " + terminal.Clean(c)
			} else {
				text += transcript.CallSummary(b.Call, cwd, false)
			}
			if e.Role == session.RoleToolResult {
				return what, text
			}
			return "call", text
		case b.Shell != nil:
			return what, "$ " + terminal.Clean(b.Shell.Command)
		case b.Image != nil && len(b.Text) == 0:
			text = imageText(b.Image)
		case b.Kind == session.KindDetails:
			continue
		case b.Kind == session.KindThinking:
			thought = cmp.Or(thought, beginning)
			continue
		default:
			text = beginning
		}
		if text != "" {
			return what, text
		}
	}
	if thought != "" {
		return "thinking", thought
	}
	return what, text
}

// treeRowJSON is an entry of a tree, or the number of entries left out.
type treeRowJSON struct {
	Type string `json:"type"` // "node"
	session.EntryName
	ParentID  string       `json:"parentId,omitempty"`
	EntryType string       `json:"entryType,omitempty"`
	Role      string       `json:"role,omitempty"`
	Timestamp session.Time `json:"timestamp,omitzero"`
	Depth     int          `json:"depth"`
	Branch    string       `json:"branch"`
	InContext bool         `json:"inContext"`
	Leaf      bool         `json:"leaf,omitempty"` // the current leaf
	Label     string       `json:"label,omitempty"`
	Text      string       `json:"text,omitempty"`
	Skipped   int          `json:"skipped,omitempty"` // entries left out here
}

func (s *Tree) JSON(j *printer.JSON) {
	row := func(r *entry.TreeRow) any {
		row := treeRowJSON{Type: "node", Depth: r.Depth, Branch: entry.BranchAbandoned, Leaf: r.Leaf, Skipped: r.Skipped}
		if r.Active {
			row.Branch = entry.BranchActive
		}
		if e := r.Entry; e != nil {
			row.EntryName, row.ParentID, row.EntryType, row.Role, row.Timestamp = e.Named(), e.ParentID, e.Type, e.Role, session.Time{Time: e.Time}
			row.InContext, row.Label = e.InContext, e.Labelled
			_, row.Text = treeText(e, s.Session.CWD)
		}
		return row
	}
	j.Stream(&printer.Stream{
		Command: "show", Session: &s.Session, Name: "tree", Rows: printer.RowsFrom(s.Rows, row),
		Tail: func(n int) any { return j.InLines("total", n) },
	})
}

// exportWidth is the width of exported text, because the width of the reader's screen is
// unknown.
const exportWidth = 100

// Export writes a conversation as a standalone file: Markdown, JSON or text.
func Export(w io.Writer, format string, s *Show) error {
	s.Full = true
	switch format {
	case "md":
		return exportMarkdown(w, s)
	case "json":
		return printer.New(w, printer.FormatJSON, printer.Layout{}).Print(s)
	case "txt":
		return printer.New(w, printer.FormatText, printer.Layout{Width: exportWidth}).Print(s)
	}
	return fmt.Errorf("unknown format %q", format)
}

// exportFacts returns the names and values above an exported conversation.
func exportFacts(s *Show) [][2]string {
	f := &s.Session
	facts := [][2]string{
		{"Agent", f.Label}, {"Session", f.SessionID}, {"Directory", f.CWD}, {"Started", s.stamp(f.Begun)}, {"Last message", s.stamp(f.Modified.Time)},
		{"Messages", fmt.Sprint(f.Messages)}, {"Models", strings.Join(f.Models, ", ")}, {"Labels", strings.Join(f.Labels, ", ")},
		{"File", f.SessionPath}, {f.ParentIs(), f.ParentSession}, {"Begins in", f.BeginsIn()},
	}
	for i := range facts {
		facts[i][1] = terminal.Clean(facts[i][1])
	}
	return slices.DeleteFunc(facts, func(fact [2]string) bool { return fact[1] == "" })
}

// stamp returns a time with its zone, for readers that may be anywhere.
func (s *Show) stamp(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case s.Zone == nil:
		return t.UTC().Format(time.RFC3339)
	}
	return t.In(s.Zone).Format(printer.StampForm)
}

// entryNotes returns the facts next to the heading of an exported entry.
func entryNotes(s *Show, e *entry.Entry) string {
	notes := human.Joined(" · ",
		human.When(e.Type == session.TypeMessage, terminal.Clean(e.Model)),
		labelOf(e),
		human.When(s.Branches && e.Branch == entry.BranchAbandoned, "abandoned branch"),
		human.When(e.Role == session.RoleToolResult && e.IsError, "error"),
		human.When(e.View.Rejected, "rejected"))
	return s.stamp(e.Time) + human.When(notes != "", " · "+notes) // an unknown time leaves its place empty
}

// exportMarkdown writes Markdown. What users and models wrote stays Markdown;
// everything else goes into fences longer than any inside.
func exportMarkdown(w io.Writer, s *Show) error {
	b := printer.NewSink(w)
	fmt.Fprintf(b, "# %s\n\n", escapeMarkdown(human.Headline(s.Session.Title)))
	for _, f := range exportFacts(s) {
		fmt.Fprintf(b, "- %s: %s\n", f[0], prose.CodeSpan(f[1]))
	}
	names := make(map[string]int)  // how many entries have an anchor so far
	shown := make(map[string]bool) // calls with a diff
	message := ""                  // Entry.Message of the entry before
	var file entry.FileLine
	for e, err := range s.Entries {
		b.Fail(err)
		if b.Err != nil {
			break
		}
		if name := file.Next(e); name != "" {
			fmt.Fprintf(b, "\n<sub>goes on in %s</sub>\n", escapeMarkdown(terminal.Clean(name)))
		}
		if e.Folded != "" {
			fmt.Fprintf(b, "\n<sub>%s</sub>\n", e.Folded)
			continue
		}
		it, name := transcript.Describe(e), transcript.Anchor(e.ID)
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, names[name])
		}
		fmt.Fprintf(b, "\n<a id=\"%s\"></a>\n", name)
		if e.Message == "" || e.Message != message {
			fmt.Fprintf(b, "\n## %s\n\n", escapeMarkdown(it.Title))
			fmt.Fprintf(b, "<sub>%s · %s</sub>\n", prose.CodeSpan(terminal.Clean(e.Short)), escapeMarkdown(entryNotes(s, e)))
		}
		message = e.Message
		for _, block := range it.Blocks {
			b.Print("\n")
			markdownBlock(b, block)
			if block.Call != nil {
				shown[block.Call.ID] = true
			}
		}
		if e.View.Diff != nil && !shown[e.ToolCallID] {
			b.Print("\n")
			markdownDiff(b, transcript.Edits(e))
		}
	}
	return b.End()
}

func markdownBlock(b *printer.Sink, block transcript.Block) {
	switch block.Form {
	case transcript.Call:
		markdownCall(b, block.Call)
	case transcript.Command:
		fence(b, "sh", []byte(block.Shell.Command))
		if len(block.Text) > 0 {
			b.Print("\n")
			fence(b, "", block.Text)
		}
		if outcome, failed := transcript.Outcome(block.Block); failed {
			b.Print("\n" + outcome + "\n")
		}
	case transcript.Image:
		b.Print(escapeMarkdown(imageText(block.Image)), "\n", human.When(len(block.Text) > 0, "\n"+escapeMarkdown(terminal.Clean(string(block.Text)))+"\n"))
	case transcript.Prose:
		b.Print(strings.TrimRight(prose.Tidy(block.Text), "\n") + "\n")
	case transcript.Thinking:
		b.Print("<details><summary>thinking</summary>\n\n")
		fence(b, "", block.Text)
		b.Print("\n</details>\n")
	case transcript.Line:
		b.Print(prose.CodeSpan(terminal.Clean(string(block.Text))) + "\n")
	default:
		b.Print(human.When(block.Kind != session.KindResult, string(block.Kind)+":\n\n"))
		fence(b, "", block.Text)
	}
}

// markdownCall writes a call: what it did to files, its command, and its other arguments.
func markdownCall(b *printer.Sink, c *session.Call) {
	fmt.Fprintf(b, "**%scall %s**\n\n", human.When(c.Nested, "nested "), escapeMarkdown(terminal.Clean(c.Tool)))
	files, command := diff.Of(c), transcript.CommandOf(c)
	markdownDiff(b, files)
	if command != "" {
		fence(b, "sh", []byte(command))
	}
	for _, a := range transcript.Arguments(c, len(files) > 0, command) {
		if a.Text && strings.Contains(string(a.Value), "\n") {
			fmt.Fprintf(b, "%s:\n\n", prose.CodeSpan(terminal.Clean(a.Name)))
			fence(b, "", a.Value)
			b.Print("\n")
			continue
		}
		fmt.Fprintf(b, "- %s: %s\n", prose.CodeSpan(terminal.Clean(a.Name)), prose.CodeSpan(terminal.Clean(string(a.Value))))
	}
	if len(c.Arguments) == 0 && len(c.Raw) > 0 {
		fence(b, "json", c.Raw)
	}
	for _, s := range c.Subagents {
		fmt.Fprintf(b, "- subagent %s: %s\n", escapeMarkdown(terminal.Clean(s.Title)), prose.CodeSpan("pigrep show "+shellcmd.Here.Operand(s.Name)))
	}
}

// markdownDiff writes what a call did to files.
func markdownDiff(b *printer.Sink, files []diff.File) {
	for i := range files {
		f := &files[i]
		b.Print(human.When(i > 0, "\n"))
		b.Print(human.When(f.Path != "", prose.CodeSpan(terminal.Clean(f.Path))+" "), (&showText{Text: &printer.Text{}}).changeCounts(f), "\n")
		if len(f.Hunks) > 0 {
			b.Print("\n")
			fence(b, "diff", []byte(f.Unified(tidyLine)))
		}
	}
}

// fence writes a text as a code block.
func fence(b *printer.Sink, language string, text []byte) {
	marks := 3
	for line := range prose.TidyLines(text) {
		for run := range strings.FieldsFuncSeq(line, func(r rune) bool { return r != '`' }) {
			marks = max(marks, len(run)+1)
		}
	}
	mark := strings.Repeat("`", marks)
	fmt.Fprintf(b, "%s%s\n", mark, language)
	for line := range prose.TidyLines(text) {
		b.Print(line, "\n")
	}
	fmt.Fprintf(b, "%s\n", mark)
}

var markdownEscaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "|", `\|`, "!", `\!`,
)

func escapeMarkdown(s string) string { return markdownEscaper.Replace(s) }

// Resume is the command that resumes a session.
type Resume struct {
	Session           SessionFacts `json:"session"`
	session.EntryName              // of the hit that the session was found by
	Branch            string       `json:"branch,omitempty"`
	InContext         *bool        `json:"inContext,omitempty"` // of the entry
	Dir               string       `json:"dir,omitempty"`       // where to run the command; "" runs it in the working directory
	Argv              []string     `json:"argv"`
	Command           string       `json:"shell"` // for the user's shell
	Fork              bool         `json:"fork"`
	Warnings          []string     `json:"warnings"`
}

// Text writes the command and nothing else. Its quoting keeps all characters from
// acting on a terminal.
func (r *Resume) Text(t *printer.Text) { t.Print(r.Command, "\n") }

func (r *Resume) JSON(j *printer.JSON) {
	answer := *r
	answer.Warnings = printer.List(r.Warnings)
	j.Object("resume", answer)
}
