package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"pigrep/internal/terminal"
)

// SchemaVersion is the version of the JSON output.
const SchemaVersion = 1

// jsonWriter writes an answer as JSON: as one object or, with lines, as an object a
// line: the rows, then a summary.
type jsonWriter struct {
	lines   bool
	out     *budget
	buf     bytes.Buffer
	encoder *json.Encoder // into buf
}

// head begins every object and, with a type, every summary.
type head struct {
	Type          string `json:"type,omitempty"`
	SchemaVersion int    `json:"schemaVersion"`
	Command       string `json:"command"`
}

func (j *jsonWriter) head(command string) head {
	h := head{SchemaVersion: SchemaVersion, Command: command}
	if j.lines {
		h.Type = "summary"
	}
	return h
}

// stream is an answer whose rows are written as they come: there may be more of
// them than fit into memory.
type stream struct {
	command string
	lead    any // a struct: the members before the rows; nil for none
	session any // of a conversation: a member of the object, or the first line
	name    string
	rows    func(visit func(any) error) error
	broken  bool // each row on a line of the object
	// owner returns what a row belongs to. others follow the rows; a bounded answer
	// keeps those whose owner has a row in it.
	owner  func(row any) string
	others *stream
	// tail returns a struct with the members after the n rows. It is called after the
	// last row. It may be nil.
	tail func(n int) any
}

// stream writes an answer of rows.
func (j *jsonWriter) stream(s *stream) error {
	var err error
	switch {
	case !j.lines:
		err = j.open(s)
	case s.session != nil:
		err = j.row(s.session)
	}
	if err != nil {
		return err
	}
	n, err := j.list(s, j.out.row)
	if err == nil && s.others != nil {
		_, err = j.list(s.others, j.out.other)
	}
	if err != nil {
		return err
	}
	var tail any
	if s.tail != nil {
		tail = s.tail(n)
	}
	if j.lines {
		return j.object(s.command, s.lead, tail)
	}
	members, err := j.members(tail)
	if err != nil {
		return err
	}
	if len(members) > 0 {
		members = append([]byte{','}, members...)
	}
	return j.out.end(members)
}

// open writes the beginning of an object, up to its rows.
func (j *jsonWriter) open(s *stream) error {
	members, err := j.members(j.head(s.command), s.lead)
	if err != nil {
		return err
	}
	if s.session != nil {
		data, err := j.encoded(s.session)
		if err != nil {
			return err
		}
		members = append(append(members, `,"session":`...), data...)
	}
	return j.out.write(append([]byte{'{'}, members...))
}

// list writes and counts rows.
func (j *jsonWriter) list(s *stream, put func(data []byte, owner string) error) (n int, err error) {
	if !j.lines {
		if err := j.out.write(fmt.Appendf(nil, `,"%s":[`, s.name)); err != nil {
			return 0, err
		}
	}
	err = s.rows(func(v any) error {
		n++
		if r, ok := v.(longRow); ok && r.size() >= longFrom && r.size() > j.out.max {
			return j.long(r)
		}
		data, err := j.encoded(v)
		if err != nil {
			return err
		}
		switch {
		case j.lines:
			data = append(data, '\n')
		case s.broken && j.out.max == 0:
			data = append([]byte{'\n'}, data...)
		}
		owner := ""
		if s.owner != nil && j.out.max > 0 {
			owner = s.owner(v)
		}
		return put(data, owner)
	})
	if err != nil || j.lines {
		return n, err
	}
	return n, j.out.write([]byte{']'})
}

// object writes an answer or a summary, with the members of all the structs.
func (j *jsonWriter) object(command string, structs ...any) error {
	members, err := j.members(append([]any{j.head(command)}, structs...)...)
	if err != nil {
		return err
	}
	return j.out.end(append([]byte{'{'}, members...))
}

// row writes a line.
func (j *jsonWriter) row(v any) error {
	data, err := j.encoded(v)
	if err != nil {
		return err
	}
	return j.out.row(append(data, '\n'), "")
}

// typed puts a type in front of the members of a row.
type typed struct {
	Type string `json:"type"`
}

// rowsOf writes a line of this type for each row.
func rowsOf[T any](j *jsonWriter, kind string, rows []T) error {
	for i := range rows {
		members, err := j.members(typed{kind}, &rows[i])
		if err != nil {
			return err
		}
		if err := j.out.row(append(append([]byte{'{'}, members...), "}\n"...), ""); err != nil {
			return err
		}
	}
	return nil
}

// encoded returns a value as JSON, valid until the next call.
func (j *jsonWriter) encoded(v any) ([]byte, error) {
	j.buf.Reset()
	if j.encoder == nil {
		j.encoder = newEncoder(&j.buf)
	}
	if err := j.encoder.Encode(v); err != nil {
		return nil, err
	}
	return escapeHidden(bytes.TrimSuffix(j.buf.Bytes(), []byte{'\n'})), nil
}

func newEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// members returns the members of all the structs, without braces.
func (j *jsonWriter) members(structs ...any) ([]byte, error) {
	var all []byte
	for _, v := range structs {
		if v == nil {
			continue
		}
		data, err := j.encoded(v)
		if err != nil {
			return nil, err
		}
		if data = data[1 : len(data)-1]; len(data) == 0 {
			continue
		}
		if len(all) > 0 {
			all = append(all, ',')
		}
		all = append(all, data...)
	}
	return all, nil
}

// encode writes a value as one line of JSON.
func encode(w io.Writer, v any) error {
	var b bytes.Buffer
	if err := newEncoder(&b).Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeHidden(b.Bytes()))
	return err
}

// longRow is a row that may be too long to be encoded as a whole.
type longRow interface {
	size() int // about the bytes of its JSON
	write(j *jsonWriter) error
}

// longFrom is the size from which on a row is written piece by piece.
const longFrom = 1 << 20

// long writes a long row. Of a bounded answer it is no part.
func (j *jsonWriter) long(r longRow) error {
	if j.out.max > 0 {
		j.out.drop()
		return nil
	}
	if err := j.out.separate(j.lines); err != nil {
		return err
	}
	if err := r.write(j); err != nil || !j.lines {
		return err
	}
	return j.out.pass([]byte{'\n'})
}

// filled writes a value with something in an empty list or string of it, whose JSON is
// the first place like at: no string contains a place, because of its quotes.
func (j *jsonWriter) filled(v any, at string, fill func() error) error {
	data, err := j.encoded(v)
	if err != nil {
		return err
	}
	i := bytes.Index(data, []byte(at)) + len(at) - 1
	rest := bytes.Clone(data[i:])
	if err := j.out.pass(data[:i]); err != nil {
		return err
	}
	if err := fill(); err != nil {
		return err
	}
	return j.out.pass(rest)
}

// inside writes a text as a part of a string.
func (j *jsonWriter) inside(text string) error {
	for piece := range terminal.Pieces(text, false) {
		data, err := j.encoded(piece)
		if err != nil {
			return err
		}
		if err := j.out.pass(data[1 : len(data)-1]); err != nil {
			return err
		}
	}
	return nil
}

// escapeHidden escapes characters that the encoder leaves alone and a terminal may
// act on. They only occur in strings, where escaping does not change the meaning.
func escapeHidden(data []byte) []byte {
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
		if high, low := utf16.EncodeRune(r); hidden(r) && high != unicode.ReplacementChar {
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		} else if hidden(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = utf8.AppendRune(escaped, r)
		}
	}
	return escaped
}

// list is s, as [] instead of null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
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

// rowsFrom visits form(e) for each element e of a sequence.
func rowsFrom[T any](seq iter.Seq2[T, error], form func(T) any) func(visit func(any) error) error {
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
