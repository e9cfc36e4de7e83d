package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/content"
	"pigrep/internal/diff"
	"pigrep/internal/human"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/scope"
	"pigrep/ui/transcript"
)

// ReadInput are the arguments of read_session.
type ReadInput struct {
	Session string `json:"session" jsonschema:"SESSION or SESSION:ENTRY, as in hits"`
	Entry   string `json:"entry,omitempty" jsonschema:"read around this one"`
	Around  *int   `json:"around,omitempty" range:"0,200" jsonschema:"entries before and after it; default 2 and 4, with its prompt and the answer"`
	Last    int    `json:"last,omitempty" range:"1,1000000" jsonschema:"only this many at the end"`
	All     bool   `json:"all,omitempty" jsonschema:"all branches in file order, with steps of the machine such as hooks; default the active branch without"`
	Full    bool   `json:"full,omitempty" jsonschema:"whole texts; default their beginnings"`

	Transcript bool `json:"transcript,omitempty" jsonschema:"longer texts, the longest cut in the middle"`
	Paging
}

// briefBytes is the default of maxBytes if only the beginnings of texts are shown.
const briefBytes = 10_000

type readAnswer struct {
	about
	Session readSession `json:"session"`
	Before  int         `json:"entriesBefore,omitempty" jsonschema:"entries of the branch before these"`
	Entries []entryRow  `json:"entries"`
	After   int         `json:"entriesAfter,omitempty" jsonschema:"entries of the branch after these"`
}

// readSession describes the session of a conversation.
type readSession struct {
	sessionRow
	Entries   int      `json:"entries"`
	Abandoned int      `json:"abandoned,omitempty" jsonschema:"entries on abandoned branches"`
	Models    []string `json:"models,omitempty"`
	Parent    string   `json:"parentSession,omitempty"`
	Missing   string   `json:"missing,omitempty" jsonschema:"it begins in this one, which is gone"`
}

type entryRow struct {
	Entry     string           `json:"entry"`
	Role      string           `json:"role" jsonschema:"or the type of an entry that is no message"`
	Time      string           `json:"time,omitempty"`
	Error     bool             `json:"error,omitempty"`
	Rejected  bool             `json:"rejected,omitempty" jsonschema:"the user refused the call"`
	Named     bool             `json:"named,omitempty" jsonschema:"the entry that was asked for"`
	Abandoned bool             `json:"abandoned,omitempty"`
	Label     string           `json:"label,omitempty"`
	File      string           `json:"file,omitempty" jsonschema:"if another one goes on here"`
	Skipped   int              `json:"skipped,omitempty" jsonschema:"entries left out before it"`
	Steps     string           `json:"steps,omitempty" jsonschema:"what was done before it besides, which all shows"`
	Parts     []partRow        `json:"parts"`
	Images    []entry.ImageRow `json:"images,omitempty"`

	index   int    // of the entry
	message string // Entry.Message
	piece   bool   // of the message of the row before
}

// partRow is a part of an entry, or a piece of one.
type partRow struct {
	Kind   session.Kind `json:"kind"`
	Tool   string       `json:"tool,omitempty"`
	Text   string       `json:"text"`
	diff   *string      // what is read instead of the text, unless that is a piece; nil for nothing else
	Cut    int          `json:"cutBytes,omitempty" jsonschema:"cut from the text; full shows them"`
	Offset int          `json:"textOffset,omitempty" jsonschema:"where in the text this piece begins"`
	Length int          `json:"textLength,omitempty" jsonschema:"bytes of the whole text"`

	Subagents []string `json:"subagents,omitempty" jsonschema:"that the call started"`
}

// conversation is a session that is open for reading.
type conversation struct {
	*entry.Conversation
	file  entry.File
	about readSession
	entry int // the entry that was named; -1 for none

	warnings []string
}

func (c *conversation) close() {
	c.Release()
	_ = c.file.Close() // it was only read
}

// openSession opens a session by name. It must be indexed: agents must not make the
// server open other files.
func (s *server) openSession(x *Index, name, entryID string) (*conversation, error) {
	typed, _ := sessions.SplitTarget(name)
	sum, entryID, err := findSession(x, name, entryID)
	if err != nil {
		return nil, nameError(x, err)
	}
	rec, err := x.Reader.Record(sum.File)
	if err != nil {
		return nil, err
	}
	file, err := x.Source.Open(sum.Path)
	if errors.Is(err, fs.ErrNotExist) || rec == nil {
		return nil, &Error{codeNotFound, sum.Path + " was deleted since it was indexed", "list_sessions lists the sessions"}
	}
	if err != nil {
		return nil, err
	}
	c := &conversation{Conversation: entry.NewConversation(s.Adapter, rec, file), file: file, entry: -1, warnings: x.warnings()}
	if others := sessions.Namesakes(x.Reader, sum, typed); len(others) > 0 {
		c.warnings = append(c.warnings, beginning(fmt.Sprintf("other sessions have the id %s too: %s; this is the latest one", typed, strings.Join(others, ", ")), longestWarning))
	}
	files, missing, err := sessions.History(x.Reader, x.Source, rec)
	if err != nil {
		file.Close()
		return nil, err
	}
	c.Join(x.Source, files)
	c.Short = entry.NewNaming(x.Reader).Of(sum.Path)
	c.Redact = !s.Reveal
	lineage := sessions.NewLineage(x.Reader)
	c.Started(lineage.Started(lineage.IndexOf(sum.Path)), x.Named)
	if entryID != "" {
		if c.entry, err = sessions.FindEntry(c.Record, c.Tree, entryID); err != nil {
			file.Close()
			return nil, nameError(x, err)
		}
	}
	hit := search.Describe(lineage.Whole(lineage.IndexOf(sum.Path)), nil)
	if c.Redact {
		hit.Redact()
	}
	c.about = readSession{sessionRow: x.row(wholeName(x.Reader, sum), &hit), Models: hit.Models, Parent: hit.ParentSession, Missing: missing}
	c.about.Entries, c.about.Abandoned = c.Count()
	if c.Redact {
		redact.Strings(&c.about)
	}
	return c, nil
}

// findSession resolves SESSION, SESSION:ENTRY or ENTRY.
func findSession(x *Index, name, entry string) (*session.Summary, string, error) {
	sums := x.Reader.Summaries()
	if i, there := x.Reader.Table().Find(name); there { // HOST:PATH of an archive
		return &sums[i], entry, nil
	}
	if entry == "" {
		name, entry = sessions.SplitTarget(name)
	}
	if name = content.Logical(name); session.IsPath(name) {
		i := slices.IndexFunc(sums, func(s session.Summary) bool { return s.Path == name })
		if i < 0 {
			return nil, "", &sessions.NotFoundError{What: "session", Name: name}
		}
		return &sums[i], entry, nil
	}
	return sessions.FindPlace(x.Reader, name, entry)
}

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
	var names []string
	short := entry.NewNaming(x.Reader).Short
	for _, s := range e.Sessions {
		names = append(names, x.Named(s.ID, s.Path))
	}
	for _, p := range e.Locations {
		names = append(names, x.place(p.Session.ID, p.Session.Path, short(p.Session.Path, p.EntryID)).String())
	}
	names = append(names, e.Entries...)
	if len(names) > most {
		names = append(names[:most], "...")
	}
	return &Error{codeAmbiguous, beginning(e.Error(), 200), "name one of " + strings.Join(names, ", ")}
}

func (s *server) read(ctx context.Context, in *ReadInput) (*mcp.CallToolResult, error) {
	if !in.Full && !in.Transcript {
		in.MaxBytes = cmp.Or(in.MaxBytes, briefBytes)
	}
	paging := in.take()
	around := -1
	if in.Around != nil {
		around = *in.Around
	}
	if in.All && in.Last > 0 {
		return nil, &Error{codeInput, "all and last exclude each other", ""}
	}
	name, _ := sessions.SplitTarget(in.Session)
	x, at, err := s.indexed(ctx, "read_session", in, paging, in.Session, name)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	c, err := s.openSession(x, in.Session, in.Entry)
	if err != nil {
		return nil, err
	}
	defer c.close()
	path := c.branch(in.All)
	branch := path
	if !in.All {
		branch = c.Talk(path, c.entry)
	}
	first := min(at.At, len(branch))
	if paging.Cursor == "" && in.Last > 0 {
		first = max(0, len(branch)-in.Last)
	}
	var list []int
	if first < len(branch) {
		list = path[slices.Index(path, branch[first]):]
	}
	answer := readAnswer{Session: c.about, Before: first, about: about{Warnings: c.warnings, Complete: x.State.Complete}}
	w := &entryWriter{c: c, all: in.All, full: in.Full, transcript: in.Transcript, focus: c.entry, max: paging.MaxBytes, shown: make(map[string]bool)}
	if paging.Cursor == "" && c.entry >= 0 {
		list, err = w.choose(ctx, path, c.Reading(path, c.entry, around), w.room(&answer))
	}
	if err == nil {
		err = w.collect(ctx, list, at, &answer)
	}
	if errors.Is(err, entry.ErrChanged) {
		return nil, &Error{"io", err.Error(), "ask again: the index is brought up to date first"}
	}
	if err != nil {
		return nil, err
	}
	next := w.place(branch, first, &answer)
	return cutPage(paging.MaxBytes, len(w.rows), func(n int) (any, string) {
		a := answer
		a.Entries = append([]entryRow{}, w.rows[:n]...)
		a.After = len(branch) - next[n]
		switch {
		case n == len(w.rows) && w.rest != nil: // the last entry is a piece
			a.After++
			a.NextCursor = s.nextCursor(x, at, func(k *cursor) { k.At, k.Part, k.Offset = next[n]-1, w.rest.Part, w.rest.Offset })
		case a.After > 0:
			a.NextCursor = s.nextCursor(x, at, func(k *cursor) { k.At, k.Part, k.Offset = next[n], 0, 0 })
		}
		return a, w.text(&a)
	})
}

// place notes how many entries of the branch come before the rows, and are left out between them. It
// returns where the branch goes on after each number of rows: after the entries around the named one,
// even if the answer of its turn follows them.
func (w *entryWriter) place(branch []int, first int, answer *readAnswer) (next []int) {
	next = []int{first}
	last, named := -1, slices.Index(branch, w.focus)
	for i := range w.rows {
		r := &w.rows[i]
		at := slices.Index(branch, r.index)
		if i == 0 {
			answer.Before = at
		} else {
			r.Skipped = at - last - 1
		}
		if r.Skipped > 0 && named >= 0 && at > named && last >= named {
			next = append(next, next[i])
		} else {
			next = append(next, at+1)
		}
		last = at
	}
	return next
}

// choose returns those entries around the named one that fit, in order. The named one comes first, then its
// prompt, the answer, and the nearest of the others: two after it for each one before it.
func (w *entryWriter) choose(ctx context.Context, path, list []int, room int) ([]int, error) {
	sizes, steps := make(map[int]int), ""
	for e, err := range w.entries(ctx, list) {
		if err != nil {
			return nil, err
		}
		if e.Folded != "" {
			steps = e.Folded
			continue
		}
		row := w.row(e, 0, 0)
		row.Skipped, row.Steps, steps = 1000, steps, ""
		sizes[e.Index] = w.entrySize(&row)
	}
	clear(w.shown)
	shown := slices.DeleteFunc(slices.Clone(list), func(i int) bool { return sizes[i] == 0 })
	taken := make(map[int]bool)
	take := func(i int) bool {
		if !taken[i] && sizes[i] > 0 && sizes[i] <= room {
			room -= sizes[i]
			taken[i] = true
		}
		return taken[i]
	}
	taken[w.focus], room = true, room-sizes[w.focus]
	prompt, answer := w.c.Turn(path, w.focus)
	take(prompt)
	take(answer)
	at := slices.Index(shown, w.focus)
	back, on := at-1, at+1
	for turn := 0; back >= 0 || on < len(shown); turn++ {
		switch {
		case on < len(shown) && (turn%3 < 2 || back < 0):
			if on++; !take(shown[on-1]) {
				on = len(shown)
			}
		case back >= 0:
			if back--; !take(shown[back+1]) {
				back = -1
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return sizes[i] > 0 && !taken[i] }), nil
}

// entries reads the entries of a list, with the steps that were asked for.
func (w *entryWriter) entries(ctx context.Context, list []int) iter.Seq2[*entry.Entry, error] {
	return func(yield func(*entry.Entry, error) bool) {
		for e, err := range w.c.Entries(list, nil, func(i, _ int) bool { return w.all || i == w.focus }) {
			if !yield(e, cmp.Or(ctx.Err(), err)) {
				return
			}
		}
	}
}

// branch returns the entries of the branch of the named entry, or of the active
// one.
func (c *conversation) branch(all bool) []int {
	if all {
		return c.Tree.Shown()
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
	all        bool // steps are shown
	full       bool
	transcript bool // texts are longer
	focus      int
	max        int

	rows  []entryRow
	file  entry.FileLine
	shown map[string]bool // calls whose diff was read
	rest  *cursor         // where the last row continues; nil if it is complete
}

// room returns the number of bytes for the entries of an answer.
func (w *entryWriter) room(answer *readAnswer) int {
	const margin = 400 + envelopeBytes // for the cursor and what is around the texts
	return w.max - encodedLen(answer) - encodedLen(w.text(answer)) - margin
}

func (w *entryWriter) collect(ctx context.Context, list []int, at *cursor, answer *readAnswer) error {
	room := w.room(answer)
	part, offset, steps := at.Part, at.Offset, ""
	for e, err := range w.entries(ctx, list) {
		if err != nil {
			return err
		}
		if e.Folded != "" {
			steps = e.Folded
			continue
		}
		row, file := w.row(e, part, offset), w.file.Next(e)
		row.File, row.Steps = file, steps
		steps = ""
		row.piece = e.Message != "" && len(w.rows) > 0 && w.rows[len(w.rows)-1].message == e.Message
		var rest *cursor
		size := w.entrySize(&row)
		if size > room && len(w.rows) > 0 {
			return nil
		}
		if size > room {
			row.File = ""
			if row, rest = w.piece(row, part, max(0, room)); rest != nil && rest.Part == part && rest.Offset == offset {
				return budgetError("a piece of the next entry", w.max+w.entrySize(&row)+leastPiece-room, w.max)
			}
			row.File = file
			size = w.entrySize(&row)
		}
		part, offset = 0, 0
		room -= size
		w.rows, w.rest = append(w.rows, row), rest
		if rest != nil || room <= 0 {
			return nil
		}
	}
	return nil
}

// leastPiece is the least room, in bytes, for the text of a piece. It is enough for the next page
// to begin further on.
const leastPiece = 400

// entrySize returns the number of bytes of an entry in an answer, in both of its parts. For an entry
// that fits into no answer, it is some number that is too large for any answer.
func (w *entryWriter) entrySize(r *entryRow) int {
	texts := 0
	for i := range r.Parts {
		texts += len(r.Parts[i].Text)
	}
	if texts > w.max {
		return texts
	}
	return encodedLen(r) + encodedLen(entryText(r)) + 2
}

// partSize returns the number of bytes of a part in an answer.
func (w *entryWriter) partSize(p *partRow) int {
	if len(p.Text) > w.max {
		return len(p.Text)
	}
	return encodedLen(p) + encodedLen(partText(p)) + 2
}

// short returns what is shown of a text without full, and how many bytes that omits. It shows
// the beginning, on one line, or in a transcript all but the middle. How much it shows depends
// on the scope of the text's kind.
func (w *entryWriter) short(text string, k session.Kind) (string, int) {
	most, brief := 200, 60
	switch {
	case scope.Prompts.Holds(k) || k == session.KindReply || k == session.KindSummary:
		most, brief = 2500, 400
	case scope.Conversations.Holds(k):
		most, brief = 1000, 160
	}
	if w.transcript {
		return shorten(text, most)
	}
	start := beginning(text, brief)
	return start, max(0, len(text)-len(start))
}

// row makes the row of an entry, beginning at an offset in the text of a part.
func (w *entryWriter) row(e *entry.Entry, part, offset int) entryRow {
	whole := e.Row(e.Index == w.focus)
	diffs := w.diffs(e)
	row := entryRow{
		Entry: cmp.Or(whole.Short, whole.EntryID), Role: cmp.Or(whole.Role, whole.EntryType), Time: minute(whole.Timestamp), Error: whole.IsError, Rejected: whole.Rejected, Named: whole.Focus,
		Abandoned: whole.Branch == entry.BranchAbandoned, Label: whole.Label, Parts: []partRow{}, Images: whole.Images, index: e.Index, message: e.Message,
	}
	if len(whole.Parts)+len(whole.Images) == 0 {
		it := transcript.Describe(e)
		text := cmp.Or(strings.Join(it.Remark, " "), human.When(it.Class == transcript.Result, "no output"), it.Name)
		row.Parts = append(row.Parts, partRow{Kind: session.KindMeta, Text: "(" + terminal.Clean(text) + ")"})
	}
	for i := part; i < len(whole.Parts); i++ {
		text := terminal.CleanLines(whole.Parts[i].Text) // before the text is cut, because offsets count the cleaned text
		p := partRow{Kind: whole.Parts[i].Kind, Tool: whole.Parts[i].Tool, Text: text, diff: diffs[whole.Parts[i].Part], Subagents: whole.Parts[i].Subagents}
		if !w.full {
			p.Text, p.Cut = w.short(p.Text, p.Kind)
			if p.diff != nil {
				diff, _ := w.short(*p.diff, session.KindCall)
				p.diff = &diff
			}
		} else if i == part && offset > 0 {
			length := len(p.Text)
			p.Text = p.Text[min(offset, length):]
			p.Offset, p.Length, p.diff = offset, length, nil
		}
		row.Parts = append(row.Parts, p)
	}
	return row
}

// piece cuts a row, which begins with a part of its entry, to at most room bytes. rest is where the
// next piece begins; nil if there is none.
func (w *entryWriter) piece(row entryRow, part, room int) (piece entryRow, rest *cursor) {
	parts := row.Parts
	row.Parts = []partRow{}
	room -= w.entrySize(&row)
	for i := range parts {
		p := &parts[i]
		if size := w.partSize(p); size <= room {
			room -= size
			row.Parts = append(row.Parts, *p)
			continue
		}
		rest = &cursor{Part: part + i, Offset: p.Offset}
		if i > 0 && !w.full {
			return row, rest
		}
		// Split a text that does not fit.
		length := len(p.Text)
		p.diff = nil
		switch p.Text = w.fit(p, room); {
		case p.Text == "" && i > 0:
			return row, rest
		case w.full:
			p.Length = p.Offset + length
			rest.Offset += len(p.Text)
		default:
			p.Cut += length - len(p.Text)
			if rest = nil; i+1 < len(parts) {
				rest = &cursor{Part: part + i + 1}
			}
		}
		row.Parts = append(row.Parts, *p)
		return row, rest
	}
	return row, nil
}

// diffs returns the texts that replace parts: the diffs of calls that edit files, and
// nothing for details that only repeat a diff.
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
				text = diffText(transcript.Edits(e), nil) + text
			}
			if text != "" {
				text = "(details)\n" + strings.TrimRight(text, "\n") + "\n"
			}
			texts[i] = &text
		}
	}
	return texts
}

// diffText returns a call that edits files as text: each file with its diff, and the
// arguments that these do not have.
func diffText(files []diff.File, c *session.Call) string {
	var b strings.Builder
	if c != nil {
		fmt.Fprintf(&b, "(call %s)\n", c.Tool)
		for _, a := range transcript.Arguments(c, true, "") {
			fmt.Fprintf(&b, "%s: %s\n", a.Name, a.Value)
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
	piece.Text = session.Cut(p.Text, n)
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
	head, tail := session.Cut(s, most*2/3), len(s)-most/3
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", strings.TrimRight(head, "\n"), tail-len(head), strings.TrimLeft(s[tail:], "\n")), tail - len(head)
}

func (w *entryWriter) text(a *readAnswer) string {
	var b strings.Builder
	missing := a.Session.Missing
	b.WriteString(human.Joined("\n", a.warning(), a.Session.text()) + "\n")
	b.WriteString(human.When(missing != "", "Begins in "+missing+", which is not indexed or deleted.\n"))
	b.WriteString(human.When(a.Before > 0, human.Plural(a.Before, "entry", "entries")+" before.\n"))
	for i := range a.Entries {
		b.WriteString(human.When(!a.Entries[i].piece, "\n") + entryText(&a.Entries[i]))
	}
	b.WriteString(human.When(a.After > 0, "\n"+human.Plural(a.After, "entry", "entries")+" after.\n"))
	if !w.full && !w.transcript {
		fmt.Fprintf(&b, "\nLonger texts: add \"transcript\":true. One entry whole: {\"session\":%q,\"entry\":ID,\"around\":0,\"full\":true}\n", a.Session.Session)
	}
	a.end(&b)
	return b.String()
}

func entryText(r *entryRow) string {
	var b strings.Builder
	b.WriteString(entryHead(r) + "\n")
	for i := range r.Parts {
		b.WriteString(partText(&r.Parts[i]))
	}
	return b.String()
}

// entryHead returns the line above an entry. A further piece of a message has only its id.
func entryHead(r *entryRow) string {
	head := human.When(r.Skipped > 0, "("+human.Plural(r.Skipped, "entry", "entries")+" left out)\n\n") + human.When(r.Steps != "", "("+r.Steps+")\n") + "[" + r.Entry + "]"
	if r.File != "" {
		head = "(goes on in " + r.File + ")\n\n" + head
	}
	if !r.piece {
		head += " " + r.Role + " " + r.Time
	}
	return human.Joined(" ", head, human.When(r.Named, "<- named"), human.When(r.Error, "error"), human.When(r.Rejected, "rejected"), human.When(r.Abandoned, "abandoned"), human.When(r.Label != "", "label: "+r.Label))
}

func partText(p *partRow) string {
	if p.diff != nil {
		return strings.TrimRight(*p.diff, "\n") + human.When(*p.diff != "", "\n")
	}
	kind := human.When(p.Kind != session.KindPrompt && p.Kind != session.KindReply, "("+human.Joined(" ", string(p.Kind), p.Tool)+")\n")
	before := human.When(p.Offset > 0, fmt.Sprintf("… from byte %d …\n", p.Offset))
	more := human.When(p.Length > p.Offset+len(p.Text), fmt.Sprintf("… %d bytes more …\n", p.Length-p.Offset-len(p.Text)))
	subagents := human.When(len(p.Subagents) > 0, "(subagent: read_session "+strings.Join(p.Subagents, ", ")+")\n")
	return kind + before + strings.TrimRight(p.Text, "\n") + "\n" + more + subagents
}
