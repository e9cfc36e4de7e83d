// Package amend adds something to a settings file of another program, and takes it out again. Everything else
// in the file stays as it is, byte for byte: comments, order and indentation. It knows JSON, also with comments
// and trailing commas, and text that is read from top to bottom. It sees text, not files.
package amend

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// An Insertion is text that was added.
type Insertion struct {
	At   int    `json:"at"`
	Text string `json:"text"`
}

// ErrOther means that there is something else at the place.
var ErrOther = errors.New("it has another form than expected")

// Into returns a text with insertions, each of which is placed in the text with those before it.
func Into(text string, list []Insertion) string {
	for _, x := range list {
		text = text[:x.At] + x.Text + text[x.At:]
	}
	return text
}

// Revert takes insertions out of a text. It reports whether each was there, at its place or, if it is long, anywhere once.
func Revert(text string, list []Insertion) (string, bool) {
	const long = 16
	for i := len(list) - 1; i >= 0; i-- {
		at, added := list[i].At, list[i].Text
		if at > len(text) || !strings.HasPrefix(text[at:], added) {
			if at = strings.Index(text, added); at < 0 || len(added) < long || strings.Count(text, added) > 1 {
				return "", false
			}
		}
		text = text[:at] + text[at+len(added):]
	}
	return text, true
}

// Append adds lines at the end, after an empty line.
func Append(text, lines string) []Insertion {
	end := lineEnd(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines = "\n" + lines
	}
	if strings.TrimSpace(text) != "" {
		lines = "\n" + lines
	}
	return []Insertion{{len(text), strings.ReplaceAll(lines, "\n", end)}}
}

func lineEnd(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// Value returns the JSON at a path of keys, "" if there is none.
func Value(text string, path ...string) (string, error) {
	at, left, err := find(text, path)
	if err != nil || len(left) > 0 {
		return "", err
	}
	return text[at.start:at.end], nil
}

// Member adds a value to JSON at a path of keys, the objects on it included. There must be none yet.
func Member(text string, value any, path ...string) ([]Insertion, error) {
	at, left, err := find(text, path)
	if err == nil && len(left) == 0 {
		err = ErrOther
	}
	if err != nil {
		return nil, err
	}
	for i := len(left) - 1; i > 0; i-- {
		value = map[string]any{left[i]: value}
	}
	return add(text, at, left[0], value)
}

// Element adds a value to the end of the list at a path of keys, the objects on it and the list included.
func Element(text string, value any, path ...string) ([]Insertion, error) {
	at, left, err := find(text, path)
	switch {
	case err != nil:
		return nil, err
	case len(left) > 0:
		return Member(text, []any{value}, path...)
	case text[at.start] != '[':
		return nil, ErrOther
	}
	return add(text, at, "", value)
}

// Remove takes the member at a path of keys out of JSON or, with ours, the elements of the list there that it tells
// by their JSON.
func Remove(text string, ours func(string) bool, path ...string) string {
	at, left, err := find(text, path)
	if err != nil || len(left) > 0 {
		return text
	}
	in, isIt := at, func(x *item) bool { return text[at.start] == '[' && ours(text[x.start:x.end]) }
	if ours == nil {
		in, _, _ = find(text, path[:len(path)-1])
		isIt = func(x *item) bool { return x.key == path[len(path)-1] }
	}
	for i := len(in.items) - 1; i >= 0; i-- {
		x := &in.items[i]
		if !isIt(x) {
			continue
		}
		start := len(strings.TrimRight(text[:x.from], " \t\r\n"))
		switch {
		case x.comma > 0:
			text = text[:start] + text[x.comma+1:]
		case i > 0:
			before := in.items[i-1].comma
			text = text[:before] + text[before+1:start] + text[x.end:]
		default:
			text = text[:start] + text[x.end:]
		}
	}
	return text
}

// Prune takes the member at a path of keys out of JSON, and those around it, if they are empty and their keys stand
// in a text that was added.
func Prune(text, added string, path ...string) string {
	for ; len(path) > 0 && strings.Contains(added, `"`+path[len(path)-1]+`"`); path = path[:len(path)-1] {
		at, left, err := find(text, path)
		if err != nil || len(left) > 0 || strings.TrimSpace(text[at.start+1:at.end-1]) != "" {
			break
		}
		text = Remove(text, nil, path...)
	}
	return text
}

// find returns the value that is farthest on a path of keys, and the keys that are not there.
func find(text string, path []string) (*item, []string, error) {
	if strings.TrimSpace(strings.TrimPrefix(text, bom)) == "" {
		return nil, path, nil
	}
	at, err := parse(text)
	for i := 0; err == nil && i < len(path); i++ {
		if text[at.start] != '{' {
			return nil, nil, ErrOther
		}
		next := -1
		for k := range at.items {
			if at.items[k].key == path[i] {
				next = k // of several the last counts
			}
		}
		if next < 0 {
			return at, path[i:], nil
		}
		at = &at.items[next]
	}
	return at, nil, err
}

// add returns the insertions that add a member, or an element without a key, to an object or a list; to nothing, all
// of the text.
func add(text string, to *item, key string, value any) ([]Insertion, error) {
	if to == nil {
		data, err := marshal(map[string]any{key: value}, "", "  ")
		return []Insertion{{len(text), data + "\n"}}, err
	}
	closing := to.end - 1
	end := to.start + 1 + len(strings.TrimRight(text[to.start+1:closing], " \t\r\n"))
	inLine := len(to.items) > 0 && !strings.Contains(text[to.start:to.end], "\n")
	outer := indentOf(text, to.start)
	unit := "  "
	if root, err := parse(text); err == nil && len(root.items) > 0 {
		if own := indentOf(text, root.items[0].from); own != "" {
			unit = own
		}
	}
	indent := outer + unit
	if len(to.items) > 0 && startsLine(text, to.items[0].from) {
		indent = indentOf(text, to.items[0].from)
	}
	data, err := marshal(value, indent, unit)
	if inLine {
		data, err = marshal(value, "", "")
	}
	if err != nil {
		return nil, err
	}
	if key != "" {
		name, _ := json.Marshal(key)
		data = string(name) + ": " + data
	}
	switch spaced := strings.Contains(text[to.start:to.end], " "); {
	case inLine && spaced:
		data = " " + data
	case inLine && key != "":
		data = strings.Replace(data, `": `, `":`, 1)
	case !inLine:
		data = "\n" + indent + data
		if !strings.Contains(text[end:closing], "\n") {
			data += "\n" + outer
		}
	}
	data = strings.ReplaceAll(data, "\n", lineEnd(text))
	var list []Insertion
	if n := len(to.items); n > 0 && to.items[n-1].comma == 0 {
		if last := to.items[n-1].end; last < end {
			list, end = append(list, Insertion{last, ","}), end+1
		} else {
			data = "," + data
		}
	}
	list = append(list, Insertion{end, data})
	if _, err := parse(Into(text, list)); err != nil {
		return nil, err
	}
	return list, nil
}

func marshal(value any, prefix, indent string) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, indent)
	err := e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// indentOf returns the white space at the beginning of the line of an offset.
func indentOf(text string, at int) string {
	line := text[strings.LastIndexByte(text[:at], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func startsLine(text string, at int) bool {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	return start > 0 && strings.TrimSpace(text[start:at]) == ""
}

// An item is a value in JSON, with its key if it is the member of an object.
type item struct {
	key        string
	from       int // where the key begins, or else the value
	start, end int // of the value
	comma      int // after it, 0 for none
	items      []item
}

const (
	bom     = "\ufeff"
	deepest = 200
)

// A parser reads JSON with comments and trailing commas.
type parser struct {
	text string
	at   int
}

func parse(text string) (*item, error) {
	p := &parser{text: text, at: len(text) - len(strings.TrimPrefix(text, bom))}
	x, err := p.value(0)
	if p.space(); err == nil && p.at < len(text) {
		err = p.problem()
	}
	return x, err
}

func (p *parser) problem() error {
	return fmt.Errorf("it cannot be parsed: line %d is not JSON", 1+strings.Count(p.text[:min(p.at, len(p.text))], "\n"))
}

// next returns the byte at the parser, 0 at the end.
func (p *parser) next() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// space skips white space and comments.
func (p *parser) space() {
	for {
		p.at = len(p.text) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
		end, after := "\n", 0
		switch rest := p.text[p.at:]; {
		case strings.HasPrefix(rest, "//"):
		case strings.HasPrefix(rest, "/*"):
			end, after = "*/", 2
		default:
			return
		}
		length := strings.Index(p.text[p.at+after:], end)
		if length < 0 {
			if after == 0 {
				p.at = len(p.text)
			}
			return // at an open comment, which is no value
		}
		p.at += after + length + len(end)
	}
}

func (p *parser) value(depth int) (*item, error) {
	p.space()
	x := &item{from: p.at, start: p.at}
	open := p.next()
	if open != '{' && open != '[' {
		err := p.scalar()
		x.end = p.at
		return x, err
	}
	if depth > deepest {
		return nil, p.problem()
	}
	for p.at++; ; p.at++ {
		p.space()
		if p.next() == open+2 { // the bracket that closes it
			p.at++
			x.end = p.at
			return x, nil
		}
		if n := len(x.items); n > 0 && x.items[n-1].comma == 0 {
			return nil, p.problem()
		}
		from, key := p.at, ""
		if open == '{' {
			if err := p.scalar(); err != nil || json.Unmarshal([]byte(p.text[from:p.at]), &key) != nil {
				return nil, p.problem()
			}
			if p.space(); p.next() != ':' {
				return nil, p.problem()
			}
			p.at++
		}
		one, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if one.key = key; open == '{' {
			one.from = from
		}
		if p.space(); p.next() == ',' {
			one.comma = p.at
		} else {
			p.at--
		}
		x.items = append(x.items, *one)
	}
}

// scalar skips a string, a number or a word.
func (p *parser) scalar() error {
	start := p.at
	if p.next() == '"' {
		for p.at++; p.next() != '"' && p.at < len(p.text); p.at++ {
			if p.next() == '\\' {
				p.at++
			}
		}
		p.at++
	} else {
		for p.at < len(p.text) && !strings.ContainsRune(" \t\r\n,]}:/\"", rune(p.next())) {
			p.at++
		}
	}
	if p.at > len(p.text) || !json.Valid([]byte(p.text[start:p.at])) {
		p.at = start
		return p.problem()
	}
	return nil
}
