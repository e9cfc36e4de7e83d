package grep

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"pigrep/adapter"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/jsonl"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/literal"
)

// Sizes of reads.
const (
	scanBuffer = 256 << 10 // fits into the cache of a core
	maxGap     = 32 << 10  // largest gap between two entries that are read together
	maxRead    = 1 << 20   // most bytes of entries that are read together
	probeRead  = 16 << 10  // first read of a line of unknown length
	trimAfter  = 40        // session records after which the pages of the index are released
)

// A worker searches files, one after the other.
type worker struct {
	*run
	ctx         context.Context
	finder      *finder
	entryReader *entry.Reader  // of the entries that the index names
	cursor      literal.Cursor // in raw bytes
	rest        literal.Cursor // in raw bytes around the cursor
	buf         []byte
	lines       jsonl.Reader   // of files that are scanned
	text        []byte         // decoded JSON
	nodes       []record.Entry // that are read together
	outlines    int            // session records read so far

	task       *task
	file       entry.File
	left       int // how many more matching lines are wanted; negative for all
	fileHeader session.Header
	sent       int                   // matches of the file so far
	counted    int                   // matching lines of the file that one match will say, with Request.Brief
	tooLong    *adapter.TooLongError // what the scan left out; nil for nothing

	pending map[segment.ID]bool // searches of the file that are not indexed; nil until needed

	branch string        // the branch that the filter wants, "" for any
	whole  *entry.Places // of all entries of the file; nil until they are needed

	changed bool // since it was indexed
}

func newWorker(ctx context.Context, g *run) *worker {
	w := &worker{
		run: g, ctx: ctx, finder: newFinder(ctx, g.Pattern, stateBytes/g.workers),
		entryReader: entry.NewReader(g.src, g.adapter),
	}
	w.lines.Buffer = scanBuffer
	if w.JSONPrefilter != nil {
		w.entryReader.Wanted = w.mayMatch
	}
	return w
}

// errEnough ends the search of a file that has Request.MaxCount matching lines.
var errEnough = errors.New("enough")

func (w *worker) searchTask(t *task) {
	w.task, w.tooLong, w.pending, w.changed = t, nil, nil, false
	w.begin()
	w.candidates(t)
	if t.fatal = cmp.Or(w.ctx.Err(), w.fault()); t.fatal != nil {
		return
	}
	if !t.scan && len(t.entries) == 0 && t.Indexed == Whole {
		return
	}
	var err error
	if w.file, err = w.src.Open(t.Path); err != nil {
		t.err = err
		return
	}
	defer w.file.Close()
	err = w.searchFile()
	if w.counted > 0 {
		err = cmp.Or(w.send(&Match{Location: w.location(), Matched: w.counted}), err)
	}
	if err != nil && !errors.Is(err, errEnough) {
		t.err = err
	} else if w.tooLong != nil && t.Indexed != Whole { // else the index knows of it
		t.err = w.tooLong
	}
}

// begin begins a file, or begins it again.
func (w *worker) begin() {
	w.sent, w.counted, w.left, w.whole = 0, 0, cmp.Or(w.req.MaxCount, -1), nil
}

// searchFile searches the candidate entries and scans what is not indexed. If the file
// turns out to have changed before any match was found, it is scanned as a whole.
func (w *worker) searchFile() error {
	t := w.task
	if err := w.loadBranches(); err != nil {
		return err
	}
	if t.scan || t.Known == nil {
		return w.scanAll()
	}
	w.fileHeader = t.Known.Header
	if err := w.skipEntries(); err != nil {
		return err
	}
	if len(t.entries) == 0 && t.Indexed >= w.file.Size() {
		return nil
	}
	if w.outlines++; w.outlines%trimAfter == 0 {
		for _, l := range w.lookups {
			l.Trim()
		}
	}
	known, err := w.reader.Outline(t.Known.File, t.last)
	if err != nil || known == nil {
		return w.scanAll()
	}
	if len(known.Record.Pending) > 0 && t.Indexed < w.file.Size() && w.whole == nil { // what is not indexed may repeat them
		if err := w.loadPlaces(); err != nil {
			return err
		}
	}
	if err := w.searchNamed(known); err != nil {
		if errors.Is(err, entry.ErrChanged) && w.sent == 0 {
			w.changed = true
			w.begin()
			if err := w.loadBranches(); err != nil {
				return err
			}
			return w.scanAll()
		}
		return err
	}
	if t.Indexed >= w.file.Size() {
		return nil
	}
	head := &known.Record
	last, _ := known.Before(t.Indexed)
	state := adapter.State{Path: t.Path, Header: head.Header, Lines: head.Lines, LastTime: last.Time}
	return w.scan(state, t.Indexed)
}

func (w *worker) scanAll() error {
	if w.isKnown() {
		h := &w.task.Known.Header
		return w.scan(adapter.State{Path: w.task.Path, Header: session.Header{Agent: h.Agent, Notes: h.Notes}}, 0)
	}
	state, err := adapter.Begin(w.adapter, w.task.Path, w.file)
	if err != nil {
		return err
	}
	return w.scan(state, 0)
}

func (w *worker) loadBranches() error {
	if w.branch = w.filter.Branch(); w.branch == "" {
		return nil
	}
	return w.loadPlaces()
}

// isKnown reports whether the index has the file as it is.
func (w *worker) isKnown() bool {
	return w.task.Known != nil && w.task.Indexed == Whole && !w.changed
}

// loadPlaces loads the places of the entries, from the index if that has the whole file.
func (w *worker) loadPlaces() (err error) {
	var rec *session.Record
	if w.isKnown() && w.reader != nil {
		rec, _ = w.reader.Record(w.task.Known.File) // without it the file itself is read
	}
	w.whole, err = entry.LoadPlaces(w.adapter, rec, w.task.Path, w.file, w.file.Size())
	return err
}

// buffer returns n bytes, which are valid until the next call.
func (w *worker) buffer(n int) []byte {
	if cap(w.buf) < n {
		w.buf = make([]byte, max(n, min(2*cap(w.buf), maxRead)))
	}
	return w.buf[:n]
}

// searchEntry searches the parts of an entry and queues the matches.
func (w *worker) searchEntry(e *session.Entry, at time.Time) error {
	if w.whole != nil && w.whole.Hidden(e.Offset) {
		return nil
	}
	if known := w.task.Known; known != nil && known.Notes && w.filter.TestsSessions() {
		about := known
		if o := w.owner(e.Offset); o != nil {
			about = &o.Record.Summary
		}
		if !w.filter.Session(about) {
			return nil
		}
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		if len(p.Text)+len(p.JSON) == 0 || !w.filter.Part(e, p, at) || w.branch != "" && !w.whole.OnBranch(e.Offset, w.branch) {
			continue
		}
		if err := w.searchPart(e, i, at); err != nil {
			return err
		}
	}
	return nil
}

// The matching lines of a text of at least largeText bytes are queued in groups of
// largeGroup, unless they have lines around them, and share the memory of the text.
const (
	largeText  = 1 << 20
	largeGroup = 1000
)

func (w *worker) searchPart(e *session.Entry, part int, at time.Time) error {
	p := &e.Parts[part]
	brief := w.req.Brief || w.req.Counted != nil && w.req.Counted.Load()
	if p.JSON != nil && brief && !w.Multiline {
		return w.put(e, part, at, w.countLines(p.JSON, w.left), nil, nil)
	}
	text := p.Text
	if p.JSON != nil && w.partMayMatch(p.JSON) {
		text = w.decode(p.JSON)
	}
	group := -1
	if len(text) >= largeText && !w.Multiline && w.req.Before+w.req.After == 0 {
		group = largeGroup
	}
	var n numbers
	for from := 0; ; {
		limit := w.left
		if group >= 0 && (limit < 0 || limit > group) {
			limit = group
		}
		blocks := w.finder.find(text, from, limit, brief)
		found := len(blocks)
		if found > 0 {
			from = blocks[found-1].end + 1
		}
		var lines []Line
		if !brief && found > 0 {
			if p.JSON == nil && n.at == 0 && len(text) >= largeText {
				text = bytes.Clone(text) // the parser uses its memory again
			}
			lines = linesOf(text, &n, blocks, w.req.Before, w.req.After)
			if w.req.Redact {
				redactLines(text, lines)
			}
		}
		if err := w.put(e, part, at, found, blocks, lines); err != nil || found < group || group < 0 {
			return err
		}
	}
}

// decode returns the text of a JSON string. A long one is not used again.
func (w *worker) decode(json []byte) []byte {
	text := w.text[:0]
	if len(json) >= largeText {
		text = make([]byte, 0, len(json)+16)
	}
	text = jsonl.AppendText(text, json)
	if len(json) < largeText {
		w.text = text
	}
	return text
}

// put queues a match in a part of an entry, unless there is none or it is only counted.
func (w *worker) put(e *session.Entry, part int, at time.Time, matched int, blocks []block, lines []Line) error {
	if err := w.ctx.Err(); err != nil || matched == 0 {
		return err
	}
	p := &e.Parts[part]
	if w.req.NoSearches {
		search, err := w.isSearch(e.Offset, part)
		if err != nil {
			return err
		}
		if search {
			w.leftOut.Add(int64(matched))
			return nil
		}
	}
	if w.req.Brief && e.About == "" {
		w.counted += matched
		return w.took(matched)
	}
	m := &Match{Location: w.location(), Matched: matched, Lines: lines}
	m.EntryID, m.Kind, m.Role, m.Timestamp = e.ID, p.Kind, e.Role, session.Time{Time: at}
	m.At = session.At{Line: e.Line, Offset: e.Offset, Length: e.Length, Part: part}
	m.Origin = e.OriginOf(p)
	if e.About != "" {
		w.locate(&m.Location, e.Offset)
	}
	for _, b := range blocks {
		m.Matches += len(b.spans)
	}
	if w.req.MaxColumns > 0 {
		for i := range m.Lines {
			m.Lines[i].shorten(w.req.MaxColumns)
		}
	}
	return cmp.Or(w.send(m), w.took(matched))
}

// send queues a match.
func (w *worker) send(m *Match) error {
	if w.req.Redact {
		redact.Strings(m)
	}
	if w.names != nil {
		w.names.Name(m.SessionPath, &m.EntryName)
	}
	w.sent++
	return w.queue.put(w.task, m)
}

// took returns errEnough once enough lines of the file match.
func (w *worker) took(matched int) error {
	if w.left > 0 {
		if w.left -= matched; w.left == 0 {
			return errEnough
		}
	}
	return nil
}

// location returns where all matches in the file are.
func (w *worker) location() Location {
	t, h := w.task, &w.fileHeader
	return Location{SessionPath: t.Path, SessionID: h.ID, Agent: session.ShortAgent(h.Agent), Kept: t.Kept, CWD: h.CWD}
}

// locate moves a match in Notes to the beginning of the session that it is about, if that is
// known.
func (w *worker) locate(l *Location, offset int64) {
	o := w.owner(offset)
	if o == nil {
		return
	}
	first, _ := o.First()
	l.SessionPath, l.SessionID, l.CWD, l.Kept = o.Record.Path, o.Record.ID, o.Record.CWD, o.Record.Kept
	l.EntryID, l.At = first.ID, session.At{Line: first.Line, Offset: first.Offset, Length: first.Length}
}

// owner returns the session that the line of Notes at an offset is about; nil if that is not
// known, or if the file is no Notes.
func (w *worker) owner(offset int64) *record.Outline {
	if w.reader == nil || w.task.Known == nil {
		return nil
	}
	file, ok := w.reader.Names().Owner(w.task.Known.File, offset)
	if !ok {
		return nil
	}
	o, err := w.reader.Outline(file, nil)
	if err != nil {
		return nil
	}
	return o
}

// partMayMatch reports whether a text that is given as JSON may have a match. If its lines
// must have several literals, it is searched up to the first match: few texts have one. For
// a single literal that would be slower than decoding the text at once.
func (w *worker) partMayMatch(json []byte) bool {
	if w.Multiline || !w.Required.IsSeveral() {
		return w.mayMatch(json)
	}
	return w.countLines(json, 1) > 0
}

// countLines returns how many lines match in a text that is given as JSON, up to limit
// unless that is negative. It decodes only lines where a match may be, and is not certain.
func (w *worker) countLines(json []byte, limit int) (n int) {
	w.cursor.Begin(w.JSONPrefilter, json)
	for from := 0; from < len(json) && n != limit && w.ctx.Err() == nil; {
		pos := w.cursor.Next(from)
		if pos == len(json) {
			break
		}
		if w.JSONIsLiteral && !jsonl.InEscape(json, pos) {
			n++
			_, from = jsonl.LineEnd(json, pos)
			continue
		}
		start, end, next := jsonl.LineAround(json, from, pos)
		if w.hasRest(json[start:end]) {
			n += len(w.finder.find(w.decode(json[start:end]), 0, limit-n, true))
		}
		from = next
	}
	return n
}

// isSearch reports whether a part is a call or a result of this program: session.Part.Search,
// which an entry that is read alone does not have. It looks only once something matches.
func (w *worker) isSearch(offset int64, part int) (bool, error) {
	if t := w.task; t.Known != nil && w.reader != nil && offset < t.Indexed {
		return w.searches()[segment.ID{File: t.Known.File, Offset: offset, Part: part}], w.fault()
	}
	if w.pending == nil {
		var err error
		if w.pending, err = w.readSearches(); err != nil {
			return false, err
		}
	}
	return w.pending[segment.ID{Offset: offset, Part: part}], nil
}

func (g *run) indexedSearches() map[segment.ID]bool {
	parts := make(map[segment.ID]bool)
	for _, s := range g.reader.Segments() {
		for it := s.Bitmap(segment.FieldSearch, []byte(segment.Yes)).Iterator(); it.HasNext(); {
			parts[s.ID(it.Next())] = true
		}
	}
	return parts
}

// readSearches reads them from the file of the task, from its beginning: a result is
// joined with a call that may be anywhere before it.
func (w *worker) readSearches() (map[segment.ID]bool, error) {
	parts := make(map[segment.ID]bool)
	facts, folder := &session.Facts{}, shellcmd.NewFolder()
	state, err := adapter.Begin(w.adapter, w.task.Path, w.file)
	if err != nil {
		return nil, err
	}
	state.Facts = true
	parser := w.adapter.Parse(state)
	lines := adapter.Lines(w.adapter, io.NewSectionReader(w.file, 0, w.file.Size()), 0, 0)
	err = w.eachLine(lines, func(line adapter.Line) bool {
		adapter.Parse(parser, line, func(e *session.Entry) {
			folder.Add(facts, e, "")
			for i := range e.Parts {
				if e.Parts[i].Search {
					parts[segment.ID{Offset: e.Offset, Part: i}] = true
				}
			}
		})
		return true
	})
	return parts, err
}
