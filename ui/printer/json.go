package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sort"
	"unicode/utf16"
	"unicode/utf8"

	"pigrep/internal/terminal"
	"pigrep/query/search"
)

const SchemaVersion = 1

// jsonWriter writes an answer as JSON: as one object or, with lines, as an object a
// line: the rows, then a summary.
type JSON struct {
	lines bool
	*budget
	buf     bytes.Buffer
	encoder *json.Encoder // into buf
}

// head begins every object and, with a type, every summary.
type head struct {
	Type          string `json:"type,omitempty"`
	SchemaVersion int    `json:"schemaVersion"`
	Command       string `json:"command"`
}

func (j *JSON) head(command string) head {
	h := head{SchemaVersion: SchemaVersion, Command: command}
	if j.lines {
		h.Type = "summary"
	}
	return h
}

// stream is an answer whose rows are written as they come: there may be more of
// them than fit into memory.
type Stream struct {
	Command string
	lead    any // a struct or a map: the members before the rows; nil for none
	Session any // of a conversation: a member of the object, or the first line
	Name    string
	Rows    func(visit func(any) error) error
	broken  bool // each row on a line of the object
	// owner returns what a row belongs to. others follow the rows; a bounded answer
	// keeps those whose owner has a row in it.
	owner  func(row any) string
	others *Stream
	// end is a struct with the members after the rows. What is known only after the last of the n rows
	// comes from Tail instead.
	end  any
	Tail func(n int) any
}

// Stream writes an answer of rows.
func (j *JSON) Stream(s *Stream) {
	switch {
	case !j.lines:
		members := j.members(j.head(s.Command), s.lead)
		if s.Session != nil {
			members = append(append(members, `,"session":`...), j.encoded(s.Session)...)
		}
		j.take(piece{data: append([]byte{'{'}, members...)})
	case s.Session != nil:
		j.line(s.Session)
	}
	n := j.list(s, pieceRow)
	if s.others != nil {
		j.list(s.others, pieceFollower)
	}
	tail := s.end
	if s.Tail != nil && j.Err == nil {
		tail = s.Tail(n)
	}
	if j.lines {
		j.Object(s.Command, s.lead, tail)
		return
	}
	members := j.members(tail)
	if len(members) > 0 {
		members = append([]byte{','}, members...)
	}
	j.finish(members)
}

// list writes and counts rows.
func (j *JSON) list(s *Stream, kind pieceKind) (n int) {
	if !j.lines {
		j.take(piece{data: fmt.Appendf(nil, `,"%s":[`, s.Name)})
	}
	j.Fail(s.Rows(func(v any) error {
		n++
		if r, ok := v.(longRow); ok && r.Size() >= longFrom && r.Size() > j.max {
			j.long(r)
			return j.Err
		}
		data := j.encoded(v)
		switch {
		case j.lines:
			data = append(data, '\n')
		case s.broken && j.max == 0:
			data = append([]byte{'\n'}, data...)
		}
		p := piece{kind: kind, data: data}
		if s.owner != nil && j.max > 0 {
			p.owner = s.owner(v)
		}
		j.take(p)
		return j.Err
	}))
	if !j.lines {
		j.take(piece{data: []byte{']'}})
	}
	return n
}

// Object writes an answer or a summary, with the members of all the structs.
func (j *JSON) Object(command string, structs ...any) {
	j.finish(append([]byte{'{'}, j.members(append([]any{j.head(command)}, structs...)...)...))
}

// InLines returns a member of the summary of lines, which an object does not have.
func (j *JSON) InLines(name string, value any) any {
	if !j.lines {
		return nil
	}
	return map[string]any{name: value}
}

// inObject returns a member of an object, which the summary of lines does not have.
func (j *JSON) inObject(name string, value any) any {
	if j.lines {
		return nil
	}
	return map[string]any{name: value}
}

func (j *JSON) line(v any) { j.take(piece{kind: pieceRow, data: append(j.encoded(v), '\n')}) }

// typed puts a type in front of the members of a row.
type typed struct {
	Type string `json:"type"`
}

// linesOf returns the list for an object. With lines it writes a line of this type for each
// row instead, and returns an empty one.
func linesOf[T any](j *JSON, kind string, rows []T) []T {
	if !j.lines {
		return List(rows)
	}
	for i := range rows {
		j.take(piece{kind: pieceRow, data: append(append([]byte{'{'}, j.members(typed{kind}, &rows[i])...), "}\n"...)})
	}
	return []T{}
}

// encoded returns a value as JSON, valid until the next call.
func (j *JSON) encoded(v any) []byte {
	j.buf.Reset()
	if j.encoder == nil {
		j.encoder = newEncoder(&j.buf)
	}
	if err := j.encoder.Encode(v); err != nil {
		j.Fail(err)
		return []byte("{}")
	}
	return EscapeHidden(bytes.TrimSuffix(j.buf.Bytes(), []byte{'\n'}))
}

func newEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// members returns the members of all the structs, without braces.
func (j *JSON) members(structs ...any) (all []byte) {
	for _, v := range structs {
		if v == nil {
			continue
		}
		data := j.encoded(v)
		if data = data[1 : len(data)-1]; len(data) > 0 && len(all) > 0 {
			all = append(all, ',')
		}
		all = append(all, data...)
	}
	return all
}

// encode writes a value as one line of JSON.
func encode(w io.Writer, v any) error {
	var b bytes.Buffer
	if err := newEncoder(&b).Encode(v); err != nil {
		return err
	}
	_, err := w.Write(EscapeHidden(b.Bytes()))
	return err
}

// longRow is a row that may be too long to be encoded as a whole.
type longRow interface {
	Size() int // about the bytes of its JSON
	Write(j *JSON)
}

// longFrom is the least size of a row that is written piece by piece.
const longFrom = 1 << 20

// long writes a long row. A bounded answer has none.
func (j *JSON) long(r longRow) {
	if j.max > 0 {
		j.dropped++
		return
	}
	p := piece{kind: pieceRow}
	if j.lines {
		p.data = []byte{'\n'}
	}
	j.separate(p)
	r.Write(j)
	j.Pass(p.data) // the end of the line
}

// Filled writes a value with something in an empty list or string of it, whose JSON is
// the first place like at: no string contains a place, because of its quotes.
func (j *JSON) Filled(v any, at string, fill func()) {
	before, rest, _ := bytes.Cut(j.encoded(v), []byte(at))
	rest = append([]byte(at[len(at)-1:]), rest...)
	j.Pass(before)
	j.Pass([]byte(at[:len(at)-1]))
	fill()
	j.Pass(rest)
}

func (j *JSON) Inside(text string) {
	for piece := range terminal.Pieces(text, false) {
		data := j.encoded(piece)
		j.Pass(data[1 : len(data)-1])
	}
}

// EscapeHidden escapes characters that the encoder leaves alone and a terminal may
// act on. They only occur in strings, where escaping does not change the meaning.
func EscapeHidden(data []byte) []byte {
	plain := true
	for _, c := range data {
		if c < ' ' && c != '\n' || c > '~' {
			plain = false
			break
		}
	}
	if plain {
		return data
	}
	hidden := func(r rune) bool { return r != '\n' && terminal.Hidden(r) }
	if !bytes.ContainsFunc(data, hidden) {
		return data
	}
	escaped := make([]byte, 0, len(data)+64)
	for _, r := range string(data) {
		if !hidden(r) {
			escaped = utf8.AppendRune(escaped, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, unit)
		}
	}
	return escaped
}

// List is s, as [] instead of null.
func List[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// listedAbout returns what ends an answer, with [] instead of null.
func listedAbout(a search.About) search.About {
	a.Warnings = List(a.Warnings)
	return a
}

// rowsIn visits form(&e) for each element e of a list; nil visits the elements themselves.
func rowsIn[T any](list []T, form func(*T) any) func(visit func(any) error) error {
	if form == nil {
		form = func(v *T) any { return v }
	}
	return func(visit func(any) error) error {
		return listed(list)(func(v *T) error { return visit(form(v)) })
	}
}

// RowsFrom visits form(e) for each element e of a sequence.
func RowsFrom[T any](seq iter.Seq2[T, error], form func(T) any) func(visit func(any) error) error {
	return func(visit func(any) error) error {
		for v, err := range seq {
			if err == nil {
				err = visit(form(v))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// Fit returns how many of the first items fit into an answer of at most max bytes,
// and whether the answer fits at all. whole returns the size of the answer with the first
// n items; the last call is for the n that Fit returns.
func Fit(max, items int, whole func(n int) int) (n int, fits bool) {
	if whole(items) <= max {
		return items, true
	}
	if n = sort.Search(items, func(n int) bool { return whole(n) > max }); n > 0 {
		n--
	}
	return n, whole(n) <= max
}

// budget writes an answer piece by piece. Without a bound it writes each piece
// immediately; with a bound it waits for the end and then writes as many whole rows as
// fit. Everything but rows is always written, even if it alone exceeds the bound.
type budget struct {
	*Sink
	max     int // 0 for no bound
	written int

	kept    []piece // of a bounded answer
	rows    int     // of them
	size    int     // of these, in bytes
	dropped int     // rows beyond the bound, which are not kept

	begun bool // a row of the current list has been written
}

// piece is a piece of an answer.
type piece struct {
	kind  pieceKind
	data  []byte
	owner string
}

type pieceKind int

const (
	pieceBetween  pieceKind = iota // rows and lists of them
	pieceRow                       // is dropped if it does not fit
	pieceFollower                  // is kept only if a row with the same owner is kept
)

// take writes a piece, or keeps it.
func (b *budget) take(p piece) {
	switch {
	case b.max == 0:
		b.separate(p)
		b.Pass(p.data)
	case p.kind == pieceRow && (b.dropped > 0 || b.size+len(p.data) > b.max):
		b.dropped++
	default:
		p.data = bytes.Clone(p.data)
		b.kept = append(b.kept, p)
		if p.kind == pieceRow {
			b.rows++
			b.size += len(p.data)
		}
	}
}

// finish takes the last piece, an object without its closing brace, and writes what
// is kept.
func (b *budget) finish(data []byte) {
	if b.max == 0 {
		b.Pass(append(data, "}\n"...))
		return
	}
	b.take(piece{data: data})
	var answer []byte
	Fit(b.max, b.rows, func(n int) int {
		answer = b.answer(n)
		return len(answer)
	})
	b.Pass(answer)
}

// answer returns the bounded answer with its first n rows.
func (b *budget) answer(n int) []byte {
	var out []byte
	owners, dropped, begun := make(map[string]bool), b.dropped, false
	for _, p := range b.kept {
		switch {
		case p.kind == pieceRow && n == 0:
			dropped++
			continue
		case p.kind == pieceRow:
			n--
			owners[p.owner] = true
		case p.kind == pieceFollower && !owners[p.owner]:
			continue
		}
		if begun && p.needsComma() {
			out = append(out, ',')
		}
		begun = p.kind != pieceBetween
		out = append(out, p.data...)
	}
	if dropped > 0 {
		out = fmt.Appendf(out, `,"dropped":%d`, dropped)
	}
	return append(out, "}\n"...)
}

// separate writes what separates a piece from the one before.
func (b *budget) separate(p piece) {
	if b.begun && p.needsComma() {
		b.Pass([]byte{','})
	}
	b.begun = p.kind != pieceBetween
}

// needsComma reports whether a comma separates the piece from a row before it: not if rows end their lines.
func (p piece) needsComma() bool {
	return p.kind != pieceBetween && !bytes.HasSuffix(p.data, []byte{'\n'})
}

func (b *budget) Pass(data []byte) {
	n, _ := b.Write(data)
	b.written += n
}
