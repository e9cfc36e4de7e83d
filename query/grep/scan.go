package grep

import (
	"bytes"
	"io"
	"math"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/query/engine/literal"
)

// scan searches the file from an offset on. state is the parser's state there.
func (w *worker) scan(state adapter.State, from int64) error {
	head, err := w.findHeader(state, from)
	if err != nil {
		return err
	}
	w.fileHeader = head
	if w.filter.TestsSessions() {
		s := session.Summary{Path: w.task.Path, Header: head}
		if !w.passes(&s) {
			w.task.skipped = true
			return nil
		}
	}
	s := lineScan{w: w, remembers: w.whole != nil, parser: w.adapter.Parse(state), alone: state, last: state, lastAt: from}
	s.alone.LastTime = unknownTime
	if known := w.task.Known; known != nil && !w.changed && known.Skipped == 0 {
		s.read = min(w.task.Indexed, known.Checkpoint.Offset)
	}
	w.lines.Uncounted = w.req.Brief && w.task.Indexed == Whole // no match or error says a number
	w.read(&w.lines, from, w.file.Size(), state.Lines)
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		block, err := w.lines.Block()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case block.TooLong:
			w.tooLong = w.tooLong.Add(block.Number, block.Offset, w.lines.Limit)
			continue
		}
		s.lines = block.Number - 1
		if !block.Ended {
			return s.searchLine(block)
		}
		if err := s.searchLines(block.Raw, block.Offset); err != nil {
			return err
		}
	}
}

// read makes a reader read lines of the file, from an offset after that many lines on. An
// offset where the index ends may be within a line that is too long.
func (w *worker) read(lines *jsonl.Reader, from, to int64, number int) {
	lines.Limit = adapter.MaxLine(w.adapter)
	lines.Skim = func([]byte) error { return w.ctx.Err() }
	lines.Reset(io.NewSectionReader(w.file, from, to-from), from, number)
	if known := w.task.Known; known != nil && from > 0 && from == known.Checkpoint.Offset {
		lines.Within(known.Within)
	}
}

// findHeader returns the first header of the file, wherever it is. It applies to the
// whole file.
func (w *worker) findHeader(state adapter.State, from int64) (session.Header, error) {
	switch {
	case state.Header.Version != 0:
		return state.Header, nil
	case w.isKnown():
		return w.task.Known.Header, nil
	}
	head, parser, lines := state.Header, w.adapter.Parse(state), new(jsonl.Reader)
	w.read(lines, from, w.file.Size(), state.Lines)
	err := w.eachLine(lines, func(line adapter.Line) bool {
		parser.Parse(line, func(*session.Entry) {})
		found := parser.State().Header
		if found.Version == 0 {
			return true
		}
		found.Agent, found.Notes = head.Agent, head.Notes
		head = found
		return false
	})
	return head, err
}

// eachLine visits lines until visit returns false, or there are no more.
func (w *worker) eachLine(lines *jsonl.Reader, visit func(adapter.Line) bool) error {
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		line, err := lines.Next()
		if err == io.EOF || err == nil && !visit(line) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A lineScan searches the lines of a file. Lines that cannot match are not parsed, so
// that the parser does not know the time of the entry before.
type lineScan struct {
	w      *worker
	parser adapter.Parser
	cursor literal.Cursor // in many lines
	lines  int            // before the bytes that come next
	read   int64          // all lines before this offset were parsed without a problem when they were indexed

	remembers bool // entries are completed: the parser remembers earlier lines, or the places were needed before

	alone  adapter.State // of a line after others that were not parsed, before the header
	last   adapter.State // as of the line at lastAt
	lastAt int64
}

// unknownTime is a time that no line can say. A parser that continues from it gives it to
// an entry without a timestamp.
const unknownTime = math.MinInt64

func (s *lineScan) searchLines(data []byte, offset int64) error {
	w := s.w
	skipping := w.JSONPrefilter != nil
	if skipping {
		s.cursor.Begin(w.JSONPrefilter, data)
	}
	for at := 0; at < len(data); {
		pos := at
		if skipping {
			if pos = s.cursor.Next(at); pos >= len(data) {
				break
			}
		}
		start := at + 1 + bytes.LastIndexByte(data[at:pos], '\n')
		end := literal.IndexByteFrom(data, '\n', pos) + 1
		if !w.lines.Uncounted {
			s.lines += bytes.Count(data[at:start], []byte{'\n'})
		}
		if err := s.searchEnded(data[start:end], offset+int64(start)); err != nil {
			return err
		}
		at = end
	}
	return nil
}

func (s *lineScan) searchEnded(raw []byte, offset int64) error {
	s.lines++
	return s.searchLine(adapter.Line{Data: raw[:len(raw)-1], Raw: raw, Offset: offset, Number: s.lines, Ended: true})
}

func (s *lineScan) searchLine(line adapter.Line) error {
	skipping := s.w.JSONPrefilter != nil
	if skipping {
		alone := s.alone
		if head := &s.w.fileHeader; head.Offset <= line.Offset {
			alone.Header = *head
		}
		s.parser.Reset(alone)
		if line.Ended && line.Offset < s.read {
			line.Wanted = s.w.mayMatch
		}
	}
	timeless, err := s.searchEntries(s.parser, line, skipping)
	if !timeless || err != nil {
		return err
	}
	line.Wanted = nil
	// A matching entry without a timestamp gets the time of the entry before it.
	if err := s.parseTo(line.Offset); err != nil {
		return err
	}
	_, err = s.searchEntries(s.w.adapter.Parse(s.last), line, false)
	return err
}

// searchEntries searches the entries of a line. With skipping, earlier entries may not
// have been parsed: if the time of an entry depends on them, nothing is searched and
// timeless is true.
func (s *lineScan) searchEntries(parser adapter.Parser, line adapter.Line, skipping bool) (timeless bool, err error) {
	n := 0
	parser.Parse(line, func(e *session.Entry) {
		// Later entries on the line may get the time of the first.
		if n++; skipping && n == 1 {
			timeless = e.Timestamp.Equal(adapter.TimeOf(unknownTime))
		}
		if timeless || err != nil {
			return
		}
		// An agent whose parser remembers earlier lines writes entries that do not say all, and a result
		// may not name its tool.
		unnamed := e.Role == session.RoleToolResult && e.Tool == "" && e.ToolCallID != ""
		s.remembers = s.remembers || parser.State().Memo != nil
		if s.w.whole == nil && (s.remembers || unnamed) {
			err = s.w.loadPlaces()
		}
		if err != nil {
			return
		}
		if s.remembers || unnamed {
			s.w.whole.Complete(e)
		}
		at := e.Timestamp
		if at.IsZero() {
			at = s.w.file.ModTime()
		}
		err = s.w.searchEntry(e, at)
	})
	return timeless, err
}

// parseTo parses the skipped lines up to an offset and sets last.
func (s *lineScan) parseTo(offset int64) error {
	parser := s.w.adapter.Parse(s.last)
	lines := new(jsonl.Reader)
	s.w.read(lines, s.lastAt, offset, s.last.Lines)
	err := s.w.eachLine(lines, func(line adapter.Line) bool {
		parser.Parse(line, func(*session.Entry) {})
		return true
	})
	s.last, s.lastAt = parser.State(), offset
	return err
}
