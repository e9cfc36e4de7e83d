package grep

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/jsonl"
	"pigrep/internal/session"
	"pigrep/query/entry"
	"pigrep/query/literal"
)

// Sizes of reads.
const (
	scanBuffer = 256 << 10 // stays in the cache of a core while it is searched
	maxGap     = 32 << 10  // between entries that are read in one go
	maxRead    = 1 << 20   // of entries in one go
	probeRead  = 16 << 10  // of a line whose length is not known, to begin with
)

// worker searches files, one after the other.
type worker struct {
	*run
	ctx         context.Context
	finder      *finder
	entryReader *entry.Reader  // of the entries that the index names
	cursor      literal.Cursor // in raw bytes
	buf         []byte

	task       *task
	file       entry.File
	left       int // matching lines that may still be handed out; negative: any number
	fileHeader session.Header
	sent       int

	branch   string // that is asked for, "" for any
	branches *entry.Branches
}

func newWorker(ctx context.Context, g *run) *worker {
	return &worker{
		run: g, ctx: ctx, finder: newFinder(g.Pattern, g.req.Brief),
		entryReader: entry.NewReader(g.src, g.adapter),
	}
}

// errEnough ends the search of a file.
var errEnough = errors.New("enough")

// search looks through the file of a task.
func (w *worker) searchTask(t *task) {
	w.task, w.sent, w.left = t, 0, -1
	if w.req.MaxCount > 0 {
		w.left = w.req.MaxCount
	}
	if t.fatal = cmp.Or(w.ctx.Err(), t.candidates(w.limits)); t.fatal != nil {
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
	if err = w.searchFile(); err != nil && !errors.Is(err, errEnough) {
		t.err = err
	}
}

// searchFile reads the entries that the index names and scans what it does not know.
func (w *worker) searchFile() error {
	t := w.task
	if err := w.loadBranches(); err != nil {
		return err
	}
	if t.scan || t.Known == nil {
		return w.scan(adapter.State{Path: t.Path}, 0)
	}
	w.fileHeader = t.Known.Header
	if err := w.skipEntries(); err != nil {
		return err
	}
	if len(t.entries) == 0 && t.Indexed >= w.file.Size() {
		return nil
	}
	rec, err := w.reader.Record(t.Known.File)
	if err != nil || rec == nil {
		return w.scan(adapter.State{Path: t.Path}, 0)
	}
	if err := w.searchNamed(rec); err != nil {
		if errors.Is(err, entry.ErrChanged) && w.sent == 0 {
			return w.scan(adapter.State{Path: t.Path}, 0)
		}
		return err
	}
	if t.Indexed >= w.file.Size() {
		return nil
	}
	state := adapter.State{Path: t.Path, Header: rec.Header, Lines: rec.Lines}
	for i := range rec.Nodes {
		if rec.Nodes[i].Offset >= t.Indexed {
			break
		}
		state.LastTime = rec.Nodes[i].Time
	}
	return w.scan(state, t.Indexed)
}

// loadBranches works out the branches of the file when a filter asks for them.
func (w *worker) loadBranches() error {
	if w.branch = w.filter.Branch(); w.branch == "" {
		return nil
	}
	var rec *session.Record
	if w.task.Known != nil && !w.task.scan {
		rec, _ = w.reader.Record(w.task.Known.File) // without it the file itself is read
	}
	var err error
	w.branches, err = entry.LoadBranches(w.adapter, rec, w.task.Path, w.file, w.file.Size())
	return err
}

// skipEntries drops the first entries that cannot match, going by their lines. The
// session record, which takes longer to load, is not needed when all are dropped.
func (w *worker) skipEntries() error {
	for w.JSONPrefilter != nil && len(w.task.entries) > 0 {
		may, err := w.lineMayMatch(w.task.entries[0])
		if may || err != nil {
			return err
		}
		w.task.entries = w.task.entries[1:]
	}
	return w.ctx.Err()
}

// lineMayMatch reports whether something of the line from an offset on may match.
// It looks through a window, which it moves on by less than its length, so that
// whatever lies across its end is seen whole.
func (w *worker) lineMayMatch(offset int64) (bool, error) {
	buf := w.buffer(max(w.limits.window, 2*w.JSONPrefilter.Longest))
	for have, size := 0, min(probeRead, len(buf)); ; size = len(buf) {
		n, err := w.file.ReadAt(buf[have:size], offset)
		if err != nil && err != io.EOF {
			return false, err
		}
		data := buf[:have+n]
		ended := bytes.IndexByte(data[have:], '\n')
		if ended >= 0 {
			data = data[:have+ended]
		}
		if w.mayMatch(data) {
			return true, nil
		}
		if ended >= 0 || err == io.EOF {
			return false, nil
		}
		offset += int64(n)
		start := len(data) - w.JSONPrefilter.Longest
		for start > 0 && data[start-1] == '\\' {
			start-- // whether the last one of many escapes depends on the first
		}
		if start <= 0 {
			return true, nil
		}
		have = copy(buf, data[start:])
	}
}

// mayMatch reports whether something of the raw bytes may match.
func (w *worker) mayMatch(data []byte) bool {
	w.cursor.Begin(w.JSONPrefilter, data)
	return w.cursor.Next(0) < len(data) || w.JSONPrefilter.NextEscape(data, 0) < len(data)
}

// entries searches the entries that the index names.
func (w *worker) searchNamed(rec *session.Record) error {
	if !w.filter.Session(&rec.Summary) {
		w.task.skipped = true
		return nil
	}
	w.entryReader.Use(&rec.Summary)
	list := w.task.entries
	for len(list) > 0 {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		from := list[0]
		var nodes []*session.Node
		end := from
		for len(list) > 0 {
			i := rec.NodeAt(list[0])
			if i < 0 {
				return entry.ErrChanged
			}
			n := &rec.Nodes[i]
			if len(nodes) > 0 && (n.Offset > end+maxGap || n.Offset+int64(n.Length) > from+maxRead) {
				break
			}
			end = n.Offset + int64(n.Length)
			nodes = append(nodes, n)
			list = list[1:]
		}
		data := w.buffer(int(end - from))
		if n, err := w.file.ReadAt(data, from); n < len(data) {
			if err == io.EOF {
				err = entry.ErrChanged
			}
			return err
		}
		for _, n := range nodes {
			at := int(n.Offset - from)
			if err := w.searchNode(rec, n, data[at:at+n.Length]); err != nil {
				return err
			}
		}
	}
	return nil
}

// buffer returns n bytes, which are the worker's own until it asks again.
func (w *worker) buffer(n int) []byte {
	if cap(w.buf) < n {
		w.buf = make([]byte, max(n, min(2*cap(w.buf), maxRead)))
	}
	return w.buf[:n]
}

// searchNode searches the bytes of one entry.
func (w *worker) searchNode(rec *session.Record, n *session.Node, data []byte) error {
	if w.JSONPrefilter != nil && !w.mayMatch(data) {
		return nil
	}
	var err error
	changed := w.entryReader.Parse(entry.RefOf(n), entry.Identity{ID: n.ID}, data, func(e *session.Entry) {
		err = w.searchEntry(e, rec.TimeOf(n))
	})
	return cmp.Or(changed, err)
}

// scan searches the file from an offset on, where the parser is in the state
// given.
func (w *worker) scan(state adapter.State, from int64) error {
	head, err := w.findHeader(state, from)
	if err != nil {
		return err
	}
	w.fileHeader = head
	if w.filter.TestsSessions() {
		s := session.Summary{Path: w.task.Path, Header: head}
		if !w.filter.Session(&s) {
			w.task.skipped = true
			return nil
		}
	}
	// Entries before the header do not know its time, so the parser starts without.
	s := lineScan{w: w, parser: w.adapter.Parse(state), last: state, lastAt: from, lines: state.Lines}
	offset, have := from, 0
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if cap(w.buf) < scanBuffer {
			w.buf = make([]byte, scanBuffer)
		}
		w.buf = w.buf[:cap(w.buf)]
		if have == len(w.buf) { // a line that is longer
			grown := make([]byte, 2*len(w.buf))
			copy(grown, w.buf)
			w.buf = grown
		}
		want := min(int64(len(w.buf)-have), w.file.Size()-offset-int64(have))
		n, err := w.file.ReadAt(w.buf[have:have+int(want)], offset+int64(have))
		atEnd := int64(n) < want || offset+int64(have+n) >= w.file.Size()
		if err != nil && err != io.EOF {
			return err
		}
		searched := have
		have += n
		end := 1 + bytes.LastIndexByte(w.buf[searched:have], '\n')
		if end > 0 {
			end += searched
		}
		if err := s.searchLines(w.buf[:end], offset); err != nil {
			return err
		}
		offset += int64(end)
		copy(w.buf, w.buf[end:have])
		have -= end
		if atEnd {
			if have > 0 {
				return s.searchLine(w.buf[:have], offset, false)
			}
			return nil
		}
	}
}

// findHeader returns the header that is in force in the whole file: the first one,
// wherever it stands.
func (w *worker) findHeader(state adapter.State, from int64) (session.Header, error) {
	if state.Header.Version != 0 {
		return state.Header, nil
	}
	parser := w.adapter.Parse(state)
	lines := jsonl.NewReader(io.NewSectionReader(w.file, from, w.file.Size()-from), from, state.Lines)
	for {
		if err := w.ctx.Err(); err != nil {
			return session.Header{}, err
		}
		line, err := lines.Next()
		if err == io.EOF {
			return session.Header{}, nil
		}
		if err != nil {
			return session.Header{}, err
		}
		if parser.Parse(line, func(*session.Entry) {}); parser.State().Header.Version != 0 {
			return parser.State().Header, nil
		}
	}
}

// lineScan goes through the lines of a file. Lines that cannot match are not
// parsed, so the parser does not know the time of the entry before.
type lineScan struct {
	w      *worker
	parser adapter.Parser
	lines  int // before the bytes that come next

	last   adapter.State // as of the line at lastAt
	lastAt int64
}

// searchLines searches complete lines.
func (s *lineScan) searchLines(data []byte, offset int64) error {
	w := s.w
	if w.JSONPrefilter == nil {
		for at := 0; at < len(data); {
			end := literal.IndexByteFrom(data, '\n', at) + 1
			if err := s.searchLine(data[at:end], offset+int64(at), true); err != nil {
				return err
			}
			at = end
		}
		return nil
	}
	w.cursor.Begin(w.JSONPrefilter, data)
	escape := -1
	counted := 0
	for at := 0; at < len(data); {
		if escape < at {
			escape = w.JSONPrefilter.NextEscape(data, at)
		}
		pos := min(w.cursor.Next(at), escape)
		if pos >= len(data) {
			break
		}
		start := at + 1 + bytes.LastIndexByte(data[at:pos], '\n')
		end := literal.IndexByteFrom(data, '\n', pos) + 1
		s.lines += bytes.Count(data[counted:start], []byte{'\n'})
		counted = end
		if err := s.searchLine(data[start:end], offset+int64(start), true); err != nil {
			return err
		}
		at = end
	}
	s.lines += bytes.Count(data[counted:], []byte{'\n'})
	return nil
}

// searchLine parses a line and searches its entries.
func (s *lineScan) searchLine(raw []byte, offset int64, ended bool) error {
	s.lines++
	data := raw
	if ended {
		data = data[:len(data)-1]
	}
	line := adapter.Line{Data: data, Raw: raw, Offset: offset, Number: s.lines, Ended: ended}
	timeless, err := s.searchEntries(s.parser, line, s.w.JSONPrefilter != nil)
	if !timeless || err != nil {
		return err
	}
	// What matches has no time of its own: that of the entry before counts.
	if err := s.parseTo(offset); err != nil {
		return err
	}
	_, err = s.searchEntries(s.w.adapter.Parse(s.last), line, false)
	return err
}

// searchEntries searches the entries of a line. With skipping, entries before may not
// have been parsed: when the time of one depends on them nothing is searched, and
// timeless is true.
func (s *lineScan) searchEntries(parser adapter.Parser, line adapter.Line, skipping bool) (timeless bool, err error) {
	n := 0
	parser.Parse(line, func(e *session.Entry) {
		// The first entry knows whether it has a time, and those after it on the
		// line may take it over.
		if n++; skipping && n == 1 && e.Copy == 0 {
			timeless = true
		}
		if timeless || err != nil {
			return
		}
		at := e.Timestamp
		if at.IsZero() {
			at = s.w.file.ModTime()
		}
		err = s.w.searchEntry(e, at)
	})
	return timeless, err
}

// parseTo brings last to the line at an offset.
func (s *lineScan) parseTo(offset int64) error {
	parser := s.w.adapter.Parse(s.last)
	lines := jsonl.NewReader(io.NewSectionReader(s.w.file, s.lastAt, offset-s.lastAt), s.lastAt, s.last.Lines)
	for {
		if err := s.w.ctx.Err(); err != nil {
			return err
		}
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		parser.Parse(line, func(*session.Entry) {})
	}
	s.last, s.lastAt = parser.State(), offset
	return nil
}

// searchEntry searches the parts of an entry and hands out what matches.
func (w *worker) searchEntry(e *session.Entry, at time.Time) error {
	for i := range e.Parts {
		p := &e.Parts[i]
		if !w.filter.Part(e, p, at) || w.branch != "" && !w.branches.Contains(e.Offset, w.branch) {
			continue
		}
		blocks := w.finder.find(p.Text, w.left)
		if len(blocks) == 0 {
			continue
		}
		m := &Match{
			SessionPath: w.task.Path, SessionID: w.fileHeader.ID, EntryID: e.ID, Kind: p.Kind, Role: e.Role, Timestamp: session.Time{Time: at},
			Line: e.Line, Offset: e.Offset, Length: e.Length, Part: i, Tool: p.Tool, ToolCallID: p.ToolCallID,
			IsError: e.IsError, Provider: e.Provider, Model: e.Model, CustomType: e.CustomType, Matched: len(blocks),
		}
		for _, b := range blocks {
			m.Matches += len(b.spans)
		}
		if !w.req.Brief {
			m.Lines = linesOf(p.Text, blocks, w.req.Before, w.req.After)
			if w.req.Redact {
				redactLines(p.Text, m.Lines)
			}
		}
		if err := w.queue.put(w.task, m); err != nil {
			return err
		}
		w.sent++
		if w.left > 0 {
			if w.left -= len(blocks); w.left == 0 {
				return errEnough
			}
		}
	}
	return nil
}
