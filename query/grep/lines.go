package grep

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unsafe"

	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/automaton"
	"pigrep/query/engine/literal"
)

// A finder finds the matches of a pattern in texts. It is used by one goroutine.
type finder struct {
	*literal.Pattern
	ctx     context.Context // once it is done, find returns early with any result
	matcher *automaton.Matcher
	cursor  literal.Cursor
	blocks  []block
}

// A block is a matching line or, with Multiline, the lines of a match, or of several
// matches that share lines.
type block struct {
	start, end int      // without the last newline
	spans      [][2]int // in the text, in order; none if they were found in brief
}

// newFinder returns a finder whose states take up to limit bytes.
func newFinder(ctx context.Context, p *literal.Pattern, limit int) *finder {
	f := &finder{Pattern: p, ctx: ctx, matcher: p.Program.Matcher(limit)}
	f.matcher.Ended = func() bool { return ctx.Err() != nil }
	return f
}

// find returns the matching blocks, up to limit unless that is negative. If brief, it is
// enough to know which lines match. It begins at an offset: 0, or the line after the last
// block of the call before, which was for the same text. The slice is valid until the next call.
func (f *finder) find(text []byte, from, limit int, brief bool) []block {
	f.blocks = f.blocks[:0]
	if len(text) == 0 {
		return nil
	}
	if f.TextPrefilter != nil && from == 0 {
		f.cursor.Begin(f.TextPrefilter, text)
	}
	if f.Multiline {
		f.findAcross(text, limit)
		return f.blocks
	}
	for at := from; at < len(text) && len(f.blocks) != limit && f.ctx.Err() == nil; {
		var pos int
		if f.TextPrefilter != nil {
			if pos = f.cursor.Next(at); pos == len(text) {
				break
			}
		} else if pos = f.matcher.Line(text, at); pos < 0 {
			break
		}
		start := at + 1 + bytes.LastIndexByte(text[at:pos], '\n')
		end := literal.IndexByteFrom(text, '\n', pos)
		if spans, ok := f.matchLine(text[start:end], brief); ok {
			for i := range spans {
				spans[i][0] += start
				spans[i][1] += start
			}
			f.blocks = append(f.blocks, block{start, end, spans})
		}
		at = end + 1
	}
	return f.blocks
}

// line reports whether a line that may match does, and where.
func (f *finder) matchLine(line []byte, brief bool) (spans [][2]int, ok bool) {
	if f.IsLiteral {
		if brief {
			return nil, true
		}
		n := &f.TextPrefilter.Finders[0]
		for from := 0; ; {
			i := n.Find(line, from)
			if i == len(line) {
				return spans, true
			}
			from = i + len(n.Text)
			spans = append(spans, [2]int{i, from})
		}
	}
	if f.TextPrefilter != nil && f.matcher.Line(line, 0) < 0 {
		return nil, false
	}
	if brief {
		return nil, true
	}
	spans = f.matcher.Spans(line, -1)
	return spans, len(spans) > 0
}

// findAcross finds matches that may span lines.
func (f *finder) findAcross(text []byte, limit int) {
	if f.TextPrefilter != nil && f.cursor.Next(0) == len(text) || f.matcher.Line(text, 0) < 0 {
		return
	}
	for _, s := range f.matcher.Spans(text, -1) {
		if s[0] == len(text) && text[len(text)-1] == '\n' {
			break // no line begins there
		}
		last := s[1]
		if last > s[0] && text[last-1] == '\n' {
			last--
		}
		start := 1 + bytes.LastIndexByte(text[:s[0]], '\n')
		end := literal.IndexByteFrom(text, '\n', last)
		if n := len(f.blocks); n > 0 && start <= f.blocks[n-1].end {
			b := &f.blocks[n-1]
			b.end = max(b.end, end)
			b.spans = append(b.spans, s)
			continue
		}
		if len(f.blocks) == limit {
			break
		}
		f.blocks = append(f.blocks, block{start, end, [][2]int{s}})
	}
}

// A Line is a line of a part: one that matches, or one of the context.
type Line struct {
	Number int      // from 1, within the part
	Offset int      // of its first byte within the part
	Text   string   `redact:"-" wire:"exact"` // without its newline; with multiline the lines of a match, with newlines between them
	Spans  [][2]int // the matches, in bytes of Text; none in lines around a match
	Match  bool
	Ended  bool // a newline follows

	// With Request.MaxColumns, Text and Spans may be a part of the line.
	From  int // where the part begins
	Whole int // length of the whole line; 0 if it is not cut
}

// shorten cuts a line to most bytes around its first match.
func (l *Line) shorten(most int) {
	if len(l.Text) <= most {
		return
	}
	start, end := Window(l.Text, l.Spans, most)
	var inside [][2]int
	for _, s := range l.Spans {
		if s[0] < end && s[1] > start || s[0] == s[1] && start <= s[0] && s[0] <= end {
			inside = append(inside, [2]int{max(s[0], start) - start, min(s[1], end) - start})
		}
	}
	l.From, l.Whole = start, len(l.Text)
	l.Text, l.Spans = strings.Clone(l.Text[start:end]), inside
}

// Window returns the part of a text with about most bytes around its first span. No
// character is cut.
func Window(text string, spans [][2]int, most int) (start, end int) {
	if len(spans) > 0 {
		start = max(0, min(spans[0][0]-most/4, len(text)-most))
	}
	end = min(len(text), start+most)
	for start > 0 && text[start]&0xC0 == 0x80 {
		start--
	}
	for end < len(text) && text[end]&0xC0 == 0x80 {
		end--
	}
	return start, end
}

// Keep cuts the match to its first n matching lines, and at most after lines behind them.
func (m *Match) Keep(n, after int) {
	m.Matched, m.Matches = n, 0
	behind := 0 // the index after the last line that is kept
	for i, l := range m.Lines {
		if !l.Match {
			continue
		}
		if n == 0 {
			m.Lines = m.Lines[:min(i, behind+after)]
			return
		}
		n--
		behind = i + 1
		m.Matches += len(l.Spans)
	}
}

// numbers counts the lines of a text, from 0.
type numbers struct{ at, lines int }

// lineNumber returns the number of the line that begins at an offset, not before the last one.
func (n *numbers) lineNumber(text []byte, start int) int {
	n.lines += bytes.Count(text[n.at:start], []byte{'\n'})
	n.at = start
	return n.lines + 1
}

// linesOf returns the lines of the blocks with their context. Those of a long text share
// its memory.
func linesOf(text []byte, n *numbers, blocks []block, before, after int) []Line {
	var lines []Line
	add := func(start, end int) *Line {
		l := Line{Number: n.lineNumber(text, start), Offset: start, Ended: end < len(text)}
		if line := text[start:end]; len(text) < largeText {
			l.Text = string(line)
		} else {
			l.Text = unsafe.String(unsafe.SliceData(line), len(line))
		}
		lines = append(lines, l)
		return &lines[len(lines)-1]
	}
	done := 0 // where the first line begins that is not added yet
	for i, b := range blocks {
		start := b.start
		for n := 0; n < before && start > done; n++ {
			start = 1 + bytes.LastIndexByte(text[:start-1], '\n')
		}
		for start < b.start {
			end := literal.IndexByteFrom(text, '\n', start)
			add(start, end)
			start = end + 1
		}
		l := add(b.start, b.end)
		l.Match, l.Spans = true, slices.Grow(l.Spans, len(b.spans))
		for _, s := range b.spans {
			l.Spans = append(l.Spans, [2]int{s[0] - b.start, min(s[1], b.end) - b.start})
		}
		done = b.end + 1
		until := len(text)
		if i+1 < len(blocks) {
			until = blocks[i+1].start
		}
		for n := 0; n < after && done < until; n++ {
			end := literal.IndexByteFrom(text, '\n', done)
			add(done, end)
			done = end + 1
		}
	}
	return lines
}

// Location says in JSON where a match is, with the names that hits have.
type Location struct {
	SessionPath string `json:"sessionPath" wire:"session"`
	SessionID   string `json:"sessionId,omitempty"`
	Agent       string `json:"agent,omitempty"`            // as of session.ShortAgent
	Kept        bool   `json:"kept,omitempty"`             // its file is gone, and this is a copy
	Host        string `json:"host,omitempty" wire:"host"` // that has it, if not this one
	ShortID     string `json:"-" wire:"name"`              // as of SessionFacts, if another machine has it
	CWD         string `json:"cwd,omitempty"`
	session.EntryName
	Kind      session.Kind `json:"kind"`
	Role      string       `json:"role,omitempty"`
	Timestamp session.Time `json:"timestamp,omitzero"`
	session.At
	session.Origin

	Title string `json:"-" wire:"lines"` // of the session, if another machine has found it
}

// Row is a line of a match in JSON.
type Row struct {
	Type string `json:"type"` // "match" or "context"
	Location
	Number int      `json:"lineNumber"`
	At     int      `json:"lineOffset"`
	Text   string   `json:"text"`
	Spans  [][2]int `json:"spans,omitempty"`
	Cut
}

// Cut says in JSON which part of a line a text is, if it is not all of it.
type Cut struct {
	TextOffset int `json:"textOffset,omitempty"`
	TextLength int `json:"textLength,omitempty"` // of the whole line
}

// Cut returns which part of the line its text is.
func (l *Line) Cut() Cut { return Cut{l.From, l.Whole} }

func (m *Match) Rows() []Row {
	rows := make([]Row, len(m.Lines))
	for i, l := range m.Lines {
		rows[i] = Row{"context", m.Location, l.Number, l.Offset, l.Text, l.Spans, l.Cut()}
		if l.Match {
			rows[i].Type = "match"
		}
	}
	return rows
}

// A text is searched for secrets as a whole, once for all its lines that are shown, up to
// these bytes in all and for each line. In a longer text the neighbourhood of each line
// is searched.
const (
	wholeText    = 64 << 10
	wholeForLine = 8 << 10
)

// redactLines masks the secrets of a text in the lines that are shown of it.
func redactLines(text []byte, lines []Line) {
	var all []redact.Span
	whole := len(text) <= min(wholeText, wholeForLine*len(lines))
	if whole {
		all = redact.Find(string(text))
	}
	for i := range lines {
		l := &lines[i]
		start, end := l.Offset, l.Offset+len(l.Text)
		spans := all
		if !whole {
			spans = redact.Around(text, start, end)
		}
		var inside []redact.Span
		for _, s := range spans {
			if s.Start < end && s.End > start {
				inside = append(inside, redact.Span{Start: max(0, s.Start-start), End: min(len(l.Text), s.End-start), Rule: s.Rule})
			}
		}
		l.Text, l.Spans = redact.Moved(l.Text, inside, l.Spans)
	}
}
