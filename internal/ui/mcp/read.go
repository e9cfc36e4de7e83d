package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/ui/diff"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/sessions"
	"pigrep/scope"
)

// ReadInput are the arguments of read_session.
type ReadInput struct {
	Session string `json:"session" jsonschema:"SESSION or SESSION:ENTRY, as in hits: an id, a prefix of one, or a path"`
	Entry   string `json:"entry,omitempty" jsonschema:"read around this entry: its id, a prefix of it, or @ and its offset"`
	Around  *int   `json:"around,omitempty" range:"0,200" jsonschema:"entries before and after the named one, default 3"`
	Last    int    `json:"last,omitempty" range:"1,1000000" jsonschema:"only this many entries at the end of the session"`
	All     bool   `json:"all,omitempty" jsonschema:"entries of all branches in file order; default the active branch"`
	Full    bool   `json:"full,omitempty" jsonschema:"whole texts; by default long ones are cut in the middle"`

	Transcript bool `json:"transcript,omitempty" jsonschema:"put the texts into the text of the answer too, for clients that show only that"`
	Paging
}

const defaultAround = 3

// readAnswer is the answer of the show command, with paging.
type readAnswer struct {
	head
	Session sessionFacts `json:"session"`
	Before  int          `json:"entriesBefore" jsonschema:"entries of the branch before the first one here"`
	Entries []entryRow   `json:"entries"`
	After   int          `json:"entriesAfter" jsonschema:"entries of the branch after the last one here"`
	tail
}

// sessionFacts describe the session of a conversation.
type sessionFacts struct {
	sessions.Row
	Version   int `json:"version,omitempty"`
	Entries   int `json:"entries"`
	Abandoned int `json:"abandoned,omitempty"`
	Skipped   int `json:"skippedLines,omitempty"`
}

// entryRow is an entry; its parts have what was cut from them.
type entryRow struct {
	entry.Row
	Parts []partRow `json:"parts"`
}

type partRow struct {
	entry.PartRow
	diff   *string // what is read instead of the text, unless that is a piece; nil for nothing else
	Cut    int     `json:"cutBytes,omitempty" jsonschema:"bytes cut from the middle of the text; full shows them"`
	Offset int     `json:"textOffset,omitempty" jsonschema:"where in the text this piece begins"`
	Length int     `json:"textLength,omitempty" jsonschema:"bytes of the whole text"`
}

func (s *server) addRead(m *mcp.Server) {
	add(m, s, tool[ReadInput]{
		name: "read_session", title: "Read a past session",
		description: "Read a past session, page by page, or the entries around a hit. Long results are cut unless full is true. The structured answer has the texts; if you see only short lines, ask with transcript true.",
		output:      open(schemaOf[readAnswer]()), call: s.read,
	})
}

// conversation is a session that is open for reading.
type conversation struct {
	*entry.Conversation
	file  entry.File
	facts sessionFacts
	entry int // the entry that was named; -1 for none
}

// openSession opens a session by name. It must be indexed: agents must not make the
// server open other files.
func (s *server) openSession(x *Index, name, entryID string) (*conversation, error) {
	sum, entryID, err := findSession(x, name, entryID)
	if err != nil {
		return nil, nameError(x, err)
	}
	rec, err := x.Reader.Record(sum.File)
	if err != nil {
		return nil, err
	}
	file, err := s.Files.Open(sum.Path)
	if errors.Is(err, fs.ErrNotExist) || rec == nil {
		return nil, &Error{codeNotFound, sum.Path + " was deleted since it was indexed", "list_sessions lists the sessions"}
	}
	if err != nil {
		return nil, err
	}
	c := &conversation{Conversation: entry.NewConversation(s.Adapter, rec, file), file: file, entry: -1}
	c.Redact = !s.Reveal
	if entryID != "" {
		if c.entry, err = findEntry(c.Conversation, entryID); err != nil {
			file.Close()
			return nil, nameError(x, err)
		}
	}
	lineage := sessions.NewLineage(x.Reader.Summaries())
	row := sessions.Session{SessionHit: lineage.Describe(lineage.IndexOf(sum.Path), nil)}
	row.Resume = nil
	if c.Redact {
		row.Redact()
	}
	c.facts = sessionFacts{Row: row.Row(false), Version: rec.Version, Entries: len(rec.Nodes), Skipped: rec.Skipped}
	for i := range rec.Nodes {
		if !c.Tree.Active(i) {
			c.facts.Abandoned++
		}
	}
	return c, nil
}

// findSession resolves SESSION, SESSION:ENTRY or ENTRY.
func findSession(x *Index, name, entry string) (*session.Summary, string, error) {
	sums := x.Reader.Summaries()
	if entry == "" {
		name, entry = sessions.SplitTarget(name)
	}
	if sessions.IsPath(name) {
		i := slices.IndexFunc(sums, func(s session.Summary) bool { return s.Path == name })
		if i < 0 {
			return nil, "", &sessions.NotFoundError{What: "session", Name: name}
		}
		return &sums[i], entry, nil
	}
	sum, err := sessions.FindSession(sums, name)
	if _, unknown := errors.AsType[*sessions.NotFoundError](err); unknown && entry == "" {
		places, placesErr := sessions.FindEntries(x.Reader, name)
		switch {
		case placesErr != nil:
			return nil, "", placesErr
		case len(places) == 1:
			return places[0].Session, places[0].EntryID, nil
		case len(places) > 1:
			return nil, "", &sessions.AmbiguousError{What: "entry", Name: name, Locations: places}
		}
	}
	return sum, entry, err
}

// findEntry resolves an entry id, a prefix of one, or @ and an offset.
func findEntry(c *entry.Conversation, name string) (int, error) {
	if digits, ok := strings.CutPrefix(name, "@"); ok {
		if offset, err := strconv.ParseInt(digits, 10, 64); err == nil {
			if i := c.Record.NodeAt(offset); i >= 0 {
				return i, nil
			}
		}
	}
	return sessions.FindEntry(c.Record, c.Tree, name)
}

// nameError explains a name that matches nothing, or several things.
func nameError(x *Index, err error) error {
	if e, ok := errors.AsType[*sessions.NotFoundError](err); ok {
		hint := "list_sessions lists the sessions"
		if e.What == "entry" {
			hint = "hits and entries have their entryId"
		}
		if len(e.Nearest) > 0 {
			hint = "nearest: " + strings.Join(e.Nearest, ", ")
		}
		return &Error{codeNotFound, beginning(e.Error(), 200), hint}
	}
	e, ok := errors.AsType[*sessions.AmbiguousError](err)
	if !ok {
		return err
	}
	const most = 8
	short := sessions.ShortIDs(x.Reader.Summaries())
	var names []string
	for i, s := range e.Sessions {
		name := short(s.ID)
		if i > 0 && e.Sessions[i-1].ID == s.ID || i+1 < len(e.Sessions) && e.Sessions[i+1].ID == s.ID {
			name = s.Path // only the paths differ
		}
		names = append(names, name)
	}
	for _, p := range e.Locations {
		names = append(names, reference(short, p.Session.ID, p.Session.Path, p.EntryID))
	}
	names = append(names, e.Entries...)
	if len(names) > most {
		names = append(names[:most], "...")
	}
	return &Error{codeAmbiguous, beginning(e.Error(), 200), "name one of " + strings.Join(names, ", ")}
}

func (s *server) read(ctx context.Context, in *ReadInput) (*mcp.CallToolResult, error) {
	paging := in.take()
	around := defaultAround
	if in.Around != nil {
		around = *in.Around
	}
	if in.All && in.Last > 0 {
		return nil, &Error{codeInput, "all and last exclude each other", ""}
	}
	x, at, err := s.indexed(ctx, "read_session", in, paging)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	c, err := s.openSession(x, in.Session, in.Entry)
	if err != nil {
		return nil, err
	}
	defer c.file.Close()
	branch := c.branch(in.All)
	from, to := 0, len(branch)
	switch {
	case c.entry >= 0:
		from, to = c.Around(branch, c.entry, around)
	case in.Last > 0:
		from = max(0, to-in.Last)
	}
	answer := readAnswer{
		head: head{printer.SchemaVersion, "show"}, Session: c.facts,
		tail: tail{Warnings: x.warnings(), Index: indexState(query.IndexState{Generation: x.Reader.Generation(), Files: len(x.Reader.Summaries())}, x)},
	}
	w := &entryWriter{c: c, full: in.Full, transcript: in.Transcript, focus: c.entry, max: paging.MaxBytes, shown: make(map[string]bool)}
	if err := w.collect(ctx, branch[min(from+at.At, to):to], at, &answer); err != nil {
		return nil, readError(err)
	}
	p := page{max: paging.MaxBytes, items: len(w.rows)}
	p.size = func(i int) int { return w.sizes[i] }
	p.result = func(n int) (any, string) {
		a := answer
		a.Entries = append([]entryRow{}, w.rows[:n]...)
		first := min(from+at.At, to)
		last := first + n
		a.Before, a.After = first, len(branch)-last
		switch {
		case n == len(w.rows) && w.rest != nil: // the last entry is a piece
			a.After++
			a.NextCursor = s.next(x, at, func(k *cursor) { k.At, k.Part, k.Offset = at.At+n-1, w.rest.Part, w.rest.Offset })
		case last < to:
			a.NextCursor = s.next(x, at, func(k *cursor) { k.At, k.Part, k.Offset = at.At+n, 0, 0 })
		}
		return a, readText(&a, w.transcript, w.shortRoom())
	}
	return p.cut()
}

// readError explains an error of reading a session file.
func readError(err error) error {
	if errors.Is(err, entry.ErrChanged) {
		return &Error{"io", err.Error(), "ask again: the index is brought up to date first"}
	}
	return err
}

// branch returns the entries of the branch of the named entry, or of the active
// one.
func (c *conversation) branch(all bool) []int {
	if all {
		list := make([]int, len(c.Record.Nodes))
		for i := range list {
			list[i] = i
		}
		return list
	}
	if c.entry < 0 {
		return c.Tree.Path()
	}
	return c.Through(c.Tree.Path(), c.entry)
}

// entryWriter collects entries until the budget is spent. An entry larger than a
// page is returned in pieces.
type entryWriter struct {
	c          *conversation
	full       bool
	transcript bool // the text of the answer has the texts too
	focus      int
	max        int

	rows  []entryRow
	sizes []int
	shown map[string]bool // calls whose diff was read
	rest  *cursor         // where the last row continues; nil if it is complete
}

func (w *entryWriter) collect(ctx context.Context, list []int, at *cursor, answer *readAnswer) error {
	const margin = 400 + envelopeBytes // for the cursor and what is around the texts
	room := w.max - encodedLen(answer) - encodedLen(readText(answer, w.transcript, 0)) - margin
	if !w.transcript {
		room -= w.shortRoom()
	}
	part, offset := at.Part, at.Offset
	for _, i := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := w.c.Read(i)
		if err != nil {
			return err
		}
		row, rest := w.row(e, part, offset, -1)
		size := w.entrySize(&row)
		if size > room && len(w.rows) > 0 {
			return nil
		}
		if size > room {
			row, rest = w.row(e, part, offset, room)
			size = w.entrySize(&row)
		}
		part, offset = 0, 0
		room -= size
		w.rows, w.sizes, w.rest = append(w.rows, row), append(w.sizes, size), rest
		if rest != nil || room <= 0 {
			return nil
		}
	}
	return nil
}

// shortRoom is how many bytes of an answer are for entries in its text, unless that
// is a transcript.
func (w *entryWriter) shortRoom() int { return min(4000, w.max/4) }

// entrySize is the bytes of an entry in an answer, without its short text.
func (w *entryWriter) entrySize(r *entryRow) int {
	if !w.transcript {
		return encodedLen(r)
	}
	return encodedLen(r) + encodedLen(entryText(r)) + 2
}

// partSize is the bytes of a part in an answer, without its short text.
func (w *entryWriter) partSize(p *partRow) int {
	if !w.transcript {
		return encodedLen(p) + 1
	}
	return encodedLen(p) + encodedLen(partText(p)) + 2
}

// shortText is how many bytes of a text are shown without full, by the scope of its
// kind.
func shortText(k session.Kind) int {
	switch {
	case scope.Prompts.Holds(k) || k == session.KindReply || k == session.KindSummary:
		return 2500
	case scope.Conversations.Holds(k):
		return 1000
	}
	return 200
}

// row makes the row of an entry, beginning at an offset in the text of a part. With
// room >= 0 it is a piece of at most that many bytes, and rest is where the next
// one begins.
func (w *entryWriter) row(e *entry.Entry, part, offset, room int) (row entryRow, rest *cursor) {
	whole := e.Row(e.Index == w.focus)
	diffs := w.diffs(e)
	row = entryRow{Row: whole, Parts: []partRow{}}
	row.Row.Parts = nil
	if room >= 0 {
		room -= w.entrySize(&row)
	}
	for i := part; i < len(whole.Parts); i++ {
		p := partRow{PartRow: whole.Parts[i], diff: diffs[i]}
		p.Arguments = nil // the text has them
		if !w.full {
			p.Text, p.Cut = shorten(p.Text, shortText(p.Kind))
			if p.diff != nil {
				short, _ := shorten(*p.diff, shortText(session.KindCall))
				p.diff = &short
			}
		} else if i == part && offset > 0 {
			length := len(p.Text)
			p.Text = p.Text[min(offset, length):]
			p.Offset, p.Length, p.diff = offset, length, nil
		}
		row.Parts = append(row.Parts, p)
		if room < 0 {
			continue
		}
		last := &row.Parts[len(row.Parts)-1]
		size := w.partSize(last)
		if size <= room {
			room -= size
			continue
		}
		if len(row.Parts) > 1 && !w.full {
			row.Parts = row.Parts[:len(row.Parts)-1]
			return row, &cursor{Part: i}
		}
		// Split a text that does not fit.
		p.diff, last.diff = nil, nil
		length := len(p.Text)
		last.Text = w.fit(last, room)
		if last.Text == "" && len(row.Parts) > 1 {
			row.Parts = row.Parts[:len(row.Parts)-1]
			return row, &cursor{Part: i, Offset: p.Offset}
		}
		if !w.full {
			last.Cut += length - len(last.Text)
			if i+1 < len(whole.Parts) {
				return row, &cursor{Part: i + 1}
			}
			return row, nil
		}
		last.Length = p.Offset + length
		return row, &cursor{Part: i, Offset: p.Offset + len(last.Text)}
	}
	return row, nil
}

// diffs returns what is read instead of parts: of calls that edit files their diffs,
// and nothing of details that only repeat one.
func (w *entryWriter) diffs(e *entry.Entry) map[int]*string {
	texts := make(map[int]*string)
	calls := make(map[string]*session.Call)
	rest := make([]string, 0, 1) // of details
	for i := range e.View.Blocks {
		b := &e.View.Blocks[i]
		switch {
		case b.Call != nil && b.Call.ID != "":
			calls[b.Call.ID] = b.Call
		case b.Kind == session.KindDetails:
			rest = append(rest, string(b.Text))
		}
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		switch {
		case p.Kind == session.KindCall && calls[p.ToolCallID] != nil:
			c := calls[p.ToolCallID]
			if files := diff.Of(c); len(files) > 0 {
				text := diffText(files, c)
				texts[i] = &text
			}
			w.shown[p.ToolCallID] = texts[i] != nil
		case p.Kind == session.KindDetails && e.View.Diff != nil:
			text := strings.Join(rest, "\n")
			if !w.shown[e.ToolCallID] {
				text = diffText(diff.Of(&session.Call{Diff: e.View.Diff}), nil) + text
			}
			if text != "" {
				text = "(details)\n" + strings.TrimRight(text, "\n") + "\n"
			}
			texts[i] = &text
		}
	}
	return texts
}

// diffText is a call that edits files as text: each file with its diff, and the
// arguments that these do not have.
func diffText(files []diff.File, c *session.Call) string {
	var b strings.Builder
	if c != nil {
		fmt.Fprintf(&b, "(call %s)\n", c.Tool)
		for _, a := range c.Arguments {
			if !a.Edits {
				fmt.Fprintf(&b, "%s: %s\n", a.Name, a.Value)
			}
		}
	}
	for i := range files {
		f := &files[i]
		fmt.Fprintf(&b, "%s +%d -%d\n%s", f.Path, f.Added, f.Removed, f.Unified(func(s string) string { return s }))
	}
	return b.String()
}

// fit returns the beginning of the text of a part that fits into room bytes, cut
// after a line if that is not much shorter.
func (w *entryWriter) fit(p *partRow, room int) string {
	piece := *p
	piece.Length = p.Offset + len(p.Text)
	n := sort.Search(min(len(p.Text), max(0, room)), func(n int) bool {
		piece.Text = p.Text[:n+1]
		return w.partSize(&piece) > room
	})
	for n > 0 && n < len(p.Text) && !utf8.RuneStart(p.Text[n]) {
		n--
	}
	piece.Text = p.Text[:n]
	if i := strings.LastIndexByte(piece.Text, '\n'); i > len(piece.Text)*3/4 {
		return piece.Text[:i+1]
	}
	return piece.Text
}

// shorten cuts the middle of a long text: the outcome of a command is often at the
// end.
func shorten(s string, most int) (short string, cut int) {
	if len(s) <= most+most/4 {
		return s, 0
	}
	head, tail := most*2/3, len(s)-most/3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", strings.TrimRight(s[:head], "\n"), tail-head, strings.TrimLeft(s[tail:], "\n")), tail - head
}

// readText is the answer as text: a transcript, or the beginnings of the entries in
// room bytes.
func readText(a *readAnswer, transcript bool, room int) string {
	var b strings.Builder
	whole := func(id string) string { return id }
	b.WriteString(sessionText(&a.Session.SessionHit, whole) + "\n")
	if a.Before > 0 {
		b.WriteString(human.Plural(a.Before, "entry", "entries") + " before.\n")
	}
	if transcript {
		for i := range a.Entries {
			b.WriteString("\n" + entryText(&a.Entries[i]))
		}
	} else {
		writeShort(&b, a, room)
	}
	if a.After > 0 {
		b.WriteString("\n" + human.Plural(a.After, "entry", "entries") + " after.\n")
	}
	a.tail.write(&b)
	return b.String()
}

// writeShort writes the beginnings of the entries, which as JSON take at most room
// bytes, and how to read more.
func writeShort(b *strings.Builder, a *readAnswer, room int) {
	list := a.Entries
	if len(list) == 0 {
		return
	}
	const least, most = 80, 600
	name := reference(func(id string) string { return id }, a.Session.SessionID, a.Session.SessionPath, "")
	onward := fmt.Sprintf("\nAs text: add \"transcript\":true. One entry whole: {\"session\":%q,\"entry\":ID,\"around\":0,\"full\":true}\n", name)
	room -= encodedLen(onward)
	share := max(least, min(most, room/len(list)))
	for i := range list {
		line := "\n" + entryHead(&list[i]) + "\n"
		var texts []string
		for k := range list[i].Parts {
			texts = append(texts, partText(&list[i].Parts[k]))
		}
		line += beginning(strings.Join(texts, " "), max(0, share-len(line))) + "\n"
		if room -= encodedLen(line); room < 0 {
			fmt.Fprintf(b, "\n%s more in the structured answer.\n", human.Plural(len(list)-i, "entry", "entries"))
			break
		}
		b.WriteString(line)
	}
	b.WriteString(onward)
}

func entryText(r *entryRow) string {
	var b strings.Builder
	b.WriteString(entryHead(r) + "\n")
	for i := range r.Parts {
		b.WriteString(partText(&r.Parts[i]))
	}
	return b.String()
}

// entryHead is the line above an entry.
func entryHead(r *entryRow) string {
	var b strings.Builder
	who := r.Role
	if who == "" {
		who = r.EntryType
	}
	fmt.Fprintf(&b, "[%s] %s %s", r.EntryID, who, dayOf(r.Timestamp))
	for _, note := range []struct {
		is   bool
		text string
	}{{r.Focus, "<- named"}, {r.IsError, "error"}, {r.Branch == entry.BranchAbandoned, "abandoned"}, {r.Label != "", "label: " + r.Label}} {
		if note.is {
			b.WriteString(" " + note.text)
		}
	}
	return b.String()
}

func partText(p *partRow) string {
	if p.diff != nil {
		return *p.diff
	}
	var b strings.Builder
	switch p.Kind {
	case session.KindPrompt, session.KindReply:
	default:
		fmt.Fprintf(&b, "(%s", p.Kind)
		if p.Tool != "" {
			b.WriteString(" " + p.Tool)
		}
		b.WriteString(")\n")
	}
	if p.Offset > 0 {
		fmt.Fprintf(&b, "… from byte %d …\n", p.Offset)
	}
	b.WriteString(strings.TrimRight(p.Text, "\n") + "\n")
	if p.Length > p.Offset+len(p.Text) {
		fmt.Fprintf(&b, "… %d bytes more …\n", p.Length-p.Offset-len(p.Text))
	}
	return b.String()
}
