package printer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/internal/terminal"
)

// A Template writes a line for each row: its text, with the values of the row in place of
// {field}. {{ and }} stand for braces; \t, \n, \0 and \\ for a tab, a newline, a NUL byte
// and a backslash. Values are on one line, without control characters.
type Template struct {
	pieces []templatePiece
	end    string // after each row
}

// templatePiece is a text, then a field; "" for none.
type templatePiece struct{ text, field string }

// TemplateError says what is wrong with a template, and what would be right.
type TemplateError struct{ Message, Hint string }

func (e *TemplateError) Error() string { return e.Message }

// ParseTemplate reads a template for rows with these fields. Without fields, those of the
// template are checked when the rows are printed.
func ParseTemplate(s string, fields []string) (*Template, error) {
	t := &Template{end: "\n"}
	var text strings.Builder
	for s != "" {
		c, size := utf8.DecodeRuneInString(s)
		next := s[size:]
		switch {
		case (c == '{' || c == '}') && strings.HasPrefix(next, string(c)):
			text.WriteRune(c)
			next = next[1:]
		case c == '{':
			name, rest, ok := strings.Cut(next, "}")
			if !ok {
				return nil, &TemplateError{fmt.Sprintf("no } after %q", terminal.Clip(s, maxWord)), "{{ is a brace"}
			}
			t.pieces = append(t.pieces, templatePiece{text.String(), strings.TrimSpace(name)})
			text.Reset()
			next = rest
		case c == '\\' && next != "" && strings.ContainsRune(`tn0\`, rune(next[0])):
			text.WriteByte(map[byte]byte{'t': '\t', 'n': '\n', '0': 0, '\\': '\\'}[next[0]])
			next = next[1:]
		default:
			text.WriteRune(c)
		}
		s = next
	}
	if len(t.pieces) == 0 {
		return nil, &TemplateError{"the template names no field", "write fields in braces, as {id}; {} lists them"}
	}
	for _, p := range t.pieces {
		if fields != nil && !slices.Contains(fields, p.field) {
			return nil, unknownField(p.field, fields)
		}
	}
	t.pieces = append(t.pieces, templatePiece{text: text.String()})
	if strings.HasSuffix(text.String(), "\n") || strings.HasSuffix(text.String(), "\x00") {
		t.end = ""
	}
	return t, nil
}

func unknownField(name string, fields []string) error {
	return &TemplateError{fmt.Sprintf("no field {%s}", terminal.Clip(terminal.Clean(name), maxWord)), "fields: {" + strings.Join(fields, "} {") + "}"}
}

// Fields lists the fields that a template of this answer may have.
func Fields(a Answer) []string { return a.(tabular).sheet(Layout{}).fields() }

// field is the name of a column in templates: the name of its value in JSON.
func (c *column) field() string {
	if c.Field != "" {
		return c.Field
	}
	name, _, _ := strings.Cut(c.Name, " (")
	var b strings.Builder
	for i, word := range strings.Fields(name) {
		if r, size := utf8.DecodeRuneInString(word); i > 0 {
			word = string(unicode.ToUpper(r)) + word[size:]
		}
		b.WriteString(word)
	}
	return b.String()
}

func (s *sheet[T]) fields() (list []string) {
	for i := range s.columns {
		if name := s.columns[i].field(); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// template writes the rows in the form of a template, and counts them.
func (s *sheet[T]) template(out *sink, t *Template) (n int) {
	cells := make([]func(*T) cell, len(t.pieces))
	for i, p := range t.pieces { // the last one has no field
		for j := range s.columns {
			if i < len(t.pieces)-1 && s.columns[j].field() == p.field {
				cells[i] = s.columns[j].cell
			}
		}
		if i < len(t.pieces)-1 && cells[i] == nil {
			out.fail(unknownField(p.field, s.fields()))
			return 0
		}
	}
	var line []byte
	out.fail(s.rows(func(v *T) error {
		n++
		line = line[:0]
		for i, p := range t.pieces {
			line = append(line, p.text...)
			if cells[i] != nil {
				line = append(line, terminal.Clean(cells[i](v).Plain)...)
			}
		}
		_, err := out.Write(append(line, t.end...))
		return err
	}))
	return n
}
