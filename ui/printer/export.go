package printer

import (
	"fmt"
	"io"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/ui/diff"
	"pigrep/ui/transcript"
)

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
		return New(w, FormatJSON, Layout{}).Print(s)
	case "txt":
		return New(w, FormatText, Layout{Width: exportWidth}).Print(s)
	}
	return fmt.Errorf("unknown format %q", format)
}

// exportFacts are the names and values above an exported conversation.
func exportFacts(s *Show) [][2]string {
	f := &s.Session
	facts := [][2]string{
		{"Session", f.SessionID}, {"Directory", f.CWD}, {"Started", s.stamp(f.Begun)}, {"Last message", s.stamp(f.Modified.Time)},
		{"Messages", fmt.Sprint(f.Messages)}, {"Models", strings.Join(f.Models, ", ")}, {"Labels", strings.Join(f.Labels, ", ")},
		{"File", f.SessionPath}, {"Forked from", f.ParentSession},
	}
	kept := facts[:0]
	for _, fact := range facts {
		if fact[1] = terminal.Clean(fact[1]); fact[1] != "" {
			kept = append(kept, fact)
		}
	}
	return kept
}

// stamp is a time with its zone, for readers that may be anywhere.
func (s *Show) stamp(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case s.Zone == nil:
		return t.UTC().Format(time.RFC3339)
	}
	return t.In(s.Zone).Format(stampForm)
}

// entryNotes are the facts next to the heading of an exported entry.
func entryNotes(s *Show, e *entry.Entry) []string {
	notes := []string{s.stamp(e.Time)}
	if e.Model != "" && e.Type == session.TypeMessage {
		notes = append(notes, terminal.Clean(e.Model))
	}
	if e.Labelled != "" {
		notes = append(notes, "["+terminal.Clean(e.Labelled)+"]")
	}
	if s.Branches && e.Branch == entry.BranchAbandoned {
		notes = append(notes, "abandoned branch")
	}
	if e.Role == session.RoleToolResult && e.IsError {
		notes = append(notes, "error")
	}
	return notes
}

// exportMarkdown writes Markdown. What users and models wrote stays Markdown;
// everything else goes into fences longer than any inside.
func exportMarkdown(w io.Writer, s *Show) error {
	b := newSink(w)
	fmt.Fprintf(b, "# %s\n\n", escapeMarkdown(human.Headline(s.Session.Title)))
	for _, f := range exportFacts(s) {
		fmt.Fprintf(b, "- %s: %s\n", f[0], codeSpan(f[1]))
	}
	names := make(map[string]int)  // how many entries have an anchor so far
	shown := make(map[string]bool) // calls with a diff
	for e, err := range s.Entries {
		if b.fail(err); b.err != nil {
			break
		}
		it, name := transcript.Describe(e), transcript.Anchor(e.ID)
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, names[name])
		}
		fmt.Fprintf(b, "\n<a id=\"%s\"></a>\n\n## %s\n\n", name, escapeMarkdown(it.Title))
		fmt.Fprintf(b, "<sub>%s · %s</sub>\n", codeSpan(terminal.Clean(e.ID)), escapeMarkdown(strings.Join(entryNotes(s, e), " · ")))
		for _, block := range it.Blocks {
			b.print("\n")
			markdownBlock(b, block)
			if block.Call != nil {
				shown[block.Call.ID] = true
			}
		}
		if e.View.Diff != nil && !shown[e.ToolCallID] {
			b.print("\n")
			markdownDiff(b, transcript.Edits(e))
		}
	}
	return b.end()
}

func markdownBlock(b *sink, block transcript.Block) {
	switch block.Form {
	case transcript.Call:
		markdownCall(b, block.Call)
	case transcript.Command:
		fence(b, "sh", []byte(block.Shell.Command))
		if len(block.Text) > 0 {
			b.print("\n")
			fence(b, "", block.Text)
		}
		if outcome, failed := transcript.Outcome(block.Shell); failed {
			b.print("\n" + outcome + "\n")
		}
	case transcript.Image:
		b.print(escapeMarkdown(imageText(block.Image)) + "\n")
		if len(block.Text) > 0 {
			b.print("\n" + escapeMarkdown(terminal.Clean(string(block.Text))) + "\n")
		}
	case transcript.Prose:
		b.print(strings.TrimRight(tidy(block.Text), "\n") + "\n")
	case transcript.Thinking:
		b.print("<details><summary>thinking</summary>\n\n")
		fence(b, "", block.Text)
		b.print("\n</details>\n")
	case transcript.Line:
		b.print(codeSpan(terminal.Clean(string(block.Text))) + "\n")
	default:
		if block.Kind != session.KindResult {
			fmt.Fprintf(b, "%s:\n\n", block.Kind)
		}
		fence(b, "", block.Text)
	}
}

// markdownCall writes a call: what it did to files, its command, and its other arguments.
func markdownCall(b *sink, c *session.Call) {
	name := "call"
	if c.Nested {
		name = "nested call"
	}
	fmt.Fprintf(b, "**%s %s**\n\n", name, escapeMarkdown(terminal.Clean(c.Tool)))
	files, command := diff.Of(c), transcript.CommandOf(c)
	markdownDiff(b, files)
	if command != "" {
		fence(b, "sh", []byte(command))
	}
	for _, a := range transcript.Arguments(c, len(files) > 0, command) {
		if a.Text && strings.Contains(string(a.Value), "\n") {
			fmt.Fprintf(b, "%s:\n\n", codeSpan(terminal.Clean(a.Name)))
			fence(b, "", a.Value)
			b.print("\n")
			continue
		}
		fmt.Fprintf(b, "- %s: %s\n", codeSpan(terminal.Clean(a.Name)), codeSpan(terminal.Clean(string(a.Value))))
	}
	if len(c.Arguments) == 0 && len(c.Raw) > 0 {
		fence(b, "json", c.Raw)
	}
}

// markdownDiff writes what a call did to files.
func markdownDiff(b *sink, files []diff.File) {
	for i := range files {
		f := &files[i]
		if i > 0 {
			b.print("\n")
		}
		if f.Path != "" {
			b.print(codeSpan(terminal.Clean(f.Path)) + " ")
		}
		b.print((&text{}).changeCounts(f) + "\n")
		if len(f.Hunks) > 0 {
			b.print("\n")
			fence(b, "diff", []byte(f.Unified(tidyLine)))
		}
	}
}

// fence writes a text as a code block.
func fence(b *sink, language string, text []byte) {
	marks := 3
	for line := range tidyLines(text) {
		for run, i := 0, 0; i < len(line); i++ {
			if line[i] == '`' {
				run++
				marks = max(marks, run+1)
			} else {
				run = 0
			}
		}
	}
	mark := strings.Repeat("`", marks)
	fmt.Fprintf(b, "%s%s\n", mark, language)
	for line := range tidyLines(text) {
		b.print(line, "\n")
	}
	fmt.Fprintf(b, "%s\n", mark)
}

// codeSpan writes a line of text as inline code.
func codeSpan(s string) string {
	if s == "" {
		return "``"
	}
	mark := "`"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	if len(mark) > 1 || strings.HasPrefix(s, "`") {
		return mark + " " + s + " " + mark
	}
	return mark + s + mark
}

var markdownEscaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "|", `\|`, "!", `\!`,
)

func escapeMarkdown(s string) string { return markdownEscaper.Replace(s) }
