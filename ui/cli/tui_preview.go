package cli

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/literal"
	"pigrep/query/grep"
	"pigrep/scope"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
	"pigrep/ui/tui"
)

// The preview of the TUI: a part of a conversation, and the search in all of it.

const (
	// openFrom is the size in bytes from which the entry of a hit is folded at first.
	openFrom = 4 << 20
	// foldedFrom is the size in bytes from which an entry stays folded.
	foldedFrom = 16 << 20
	// pageBytes is how many bytes of entries a preview reads on each side of its anchor.
	pageBytes = 8 << 20
)

// preview renders the entries around one.
func (b *tuiBackend) preview(ctx context.Context, p tui.Place, extent tui.Extent) (*tui.Preview, error) {
	x, t, done, err := b.openPlace(p)
	if err != nil {
		return nil, err
	}
	defer done()
	anchor, branch := anchorOf(t, extent.At)
	if anchor < 0 {
		return &tui.Preview{Anchor: -1, Lines: []tui.Line{{Text: "(nothing was said)", Entry: -1}}}, nil
	}
	from, to := pageOf(t, branch, anchor, extent.Around)
	page := &tui.Preview{Anchor: anchor, Total: len(branch), Before: from > 0, After: to < len(branch)}
	s := &printer.Show{
		Focus: map[int]bool{t.Entry: true}, Open: map[int]bool{}, FoldHint: "o unfolds it",
		Branches: !t.Tree.Active(anchor),
	}
	for n, i := range branch[from:to] {
		node := &t.Record.Nodes[i]
		e := tui.Entry{Place: tui.Place{Path: p.Path, ID: p.ID, EntryID: node.ID, Offset: node.Offset, Line: node.Line}, Index: i, Number: from + n + 1, Result: node.Role == session.RoleToolResult}
		open, set := extent.Unfolded(i)
		switch {
		case node.Length >= foldedFrom:
			e.Large = int64(node.Length)
		case set:
			e.Open, s.Open[i] = open, open
		case extent.All:
			e.Open, s.Open[i] = true, true
		case i == t.Entry && node.Length < openFrom:
			e.Open, s.Unfold = true, true
		}
		page.Entries = append(page.Entries, e)
	}
	if s.Session, err = t.Facts(ctx, x); err != nil {
		return nil, problem.OfIndex(err)
	}
	s.Entries = timed(conversation.ReadEntries(ctx, t, branch[from:to], nil).All, page.Entries)
	lines, err := s.Lines(printer.Layout{Width: extent.Width, Colour: true, Now: b.App.Now(), Home: b.App.Home, Links: b.links})
	if err != nil {
		return nil, conversation.ReadProblem(ctx, err)
	}
	if page.Before { // the header belongs to the start of the conversation
		if i := slices.IndexFunc(lines, func(l printer.Line) bool { return l.Text == "" }); i >= 0 {
			lines = lines[i+1:]
		}
	}
	page.Focus = max(0, slices.IndexFunc(lines, func(l printer.Line) bool { return l.Entry == anchor }))
	for _, l := range lines {
		page.Lines = append(page.Lines, tui.Line(l))
	}
	return page, nil
}

// anchorOf returns the entry that a preview is around, -1 if nothing was said, and a branch
// that has it. at is that of an extent.
func anchorOf(t *conversation.Target, at int) (anchor int, branch []int) {
	anchor, branch = t.Entry, t.Tree.Path()
	switch {
	case at >= 0 && at < len(t.Record.Nodes):
		anchor = at
	case len(branch) == 0 && anchor < 0:
		return -1, nil
	case at == tui.AtStart || at == tui.AtEnd:
		if anchor >= 0 {
			branch = t.Through(branch, anchor)
		}
		anchor = branch[0]
		if at == tui.AtEnd {
			anchor = branch[len(branch)-1]
		}
	case anchor < 0:
		anchor = branch[len(branch)-1]
	}
	return anchor, t.Through(branch, anchor)
}

// timed records the times of entries as they are read.
func timed(read iter.Seq2[*entry.Entry, error], list []tui.Entry) iter.Seq2[*entry.Entry, error] {
	return func(yield func(*entry.Entry, error) bool) {
		for e, err := range read {
			if err == nil {
				if i := slices.IndexFunc(list, func(l tui.Entry) bool { return l.Index == e.Index }); i >= 0 {
					list[i].Time = e.Time
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// pageOf returns the range of a branch around an entry: n messages on each side, fewer if
// they are large. Results are not separated from their calls.
func pageOf(t *conversation.Target, branch []int, anchor, n int) (from, to int) {
	at := slices.Index(branch, anchor)
	from, to = t.Around(branch, anchor, n)
	isResult := func(at int) bool { return t.Record.Nodes[branch[at]].Role == session.RoleToolResult }
	for size, i := 0, at-1; i >= from; i-- {
		if size += t.Record.Nodes[branch[i]].Length; size > pageBytes && i < at-1 {
			from = i + 1
		}
	}
	for from > 0 && from > at-maxCalls && isResult(from) {
		from--
	}
	for size, i := 0, at+1; i < to; i++ {
		if size += t.Record.Nodes[branch[i]].Length; size > pageBytes && i > at+1 {
			to = i
		}
	}
	for to < len(branch) && to < at+n+maxCalls && isResult(to) {
		to++
	}
	return from, to
}

// maxCalls bounds how many results a page is extended by to keep them with their calls.
const maxCalls = 1000

// find counts the matches of a text in the entries of a session.
func (b *tuiBackend) find(ctx context.Context, p tui.Place, text string, in scope.Scope) ([]tui.Found, error) {
	x, t, done, err := b.openPlace(p)
	if err != nil {
		return nil, err
	}
	defer done()
	input := grep.Input{Adapter: x.Agents, Source: location.Disk{}, Files: []grep.File{{Path: t.Record.Path}}}
	if t.Index >= 0 {
		known := &x.Reader.Summaries()[t.Index]
		input.Reader, input.Files[0].Known, input.Files[0].Indexed = x.Reader, known, known.Checkpoint.Offset
	}
	if in != scope.All {
		in = scope.Default
	}
	req := grep.Request{Spec: filter.Spec{Scope: in}, Patterns: []string{text}, Fixed: true, Case: literal.IgnoreCase}
	var found []tui.Found
	sum, err := grep.Run(ctx, input, req, func(m *grep.Match) error {
		i := t.Record.NodeAt(m.Offset)
		switch {
		case i < 0: // it was written since the session was indexed
		case len(found) > 0 && found[len(found)-1].Entry == i:
			found[len(found)-1].Matches += m.Matches
		default:
			found = append(found, tui.Found{Entry: i, Matches: m.Matches})
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, grepProblem(ctx, err)
	case len(sum.Errors) > 0 && !snapshot.IsTooLong(sum.Errors[0].Err):
		return nil, sum.Errors[0].Err
	}
	return found, nil
}

// prompts lists the prompts of the branch that a preview shows.
func (b *tuiBackend) prompts(ctx context.Context, p tui.Place) (list []tui.Prompt, err error) {
	_, t, done, err := b.openPlace(p)
	if err != nil {
		return nil, err
	}
	defer done()
	_, branch := anchorOf(t, tui.AtPlace)
	branch = slices.DeleteFunc(slices.Clone(branch), func(i int) bool { return t.Record.Nodes[i].Role != session.RoleUser })
	for e, err := range conversation.ReadEntries(ctx, t, branch, nil).All {
		if err != nil {
			return nil, conversation.ReadProblem(ctx, err)
		}
		text := cmp.Or(session.Subject(e.UserText), e.UserText)
		if text == "" && len(e.Images) > 0 {
			text = "(image)"
		}
		node := &t.Record.Nodes[e.Index]
		list = append(list, tui.Prompt{
			Place: tui.Place{Path: p.Path, ID: p.ID, EntryID: node.ID, Offset: node.Offset, Line: node.Line},
			Text:  terminal.Clip(human.Title(text), longestPrompt), Time: e.Time,
		})
	}
	return list, nil
}

// longestPrompt is the longest prompt in an outline: wider than any terminal.
const longestPrompt = 400

// text returns the text of an entry, as in the file.
func (b *tuiBackend) text(ctx context.Context, p tui.Place) (string, error) {
	_, t, done, err := b.openPlace(p)
	if err != nil {
		return "", err
	}
	defer done()
	if t.Entry < 0 {
		return "", conversation.ReadProblem(ctx, entry.ErrChanged)
	}
	e, err := t.Read(t.Entry)
	if err != nil {
		return "", conversation.ReadProblem(ctx, err)
	}
	var text []string
	for i := range e.Parts {
		text = append(text, string(e.Parts[i].Text))
	}
	return strings.Join(text, "\n"), nil
}
