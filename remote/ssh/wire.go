package ssh

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"

	"pigrep/internal/jsonsize"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/search"
	"pigrep/remote"
)

// The values of the tag wire. What a host sends is made safe by its type: a text loses its control codes
// and line ends, and a negative number becomes zero, unless the tag of the field says otherwise.
const (
	asSaid    = "say"     // a sentence of pigrep, which is short
	asLines   = "lines"   // a text that keeps its line ends
	asExact   = "exact"   // a text that is compared, or that other fields point into; the code that shows it cleans it
	asSession = "session" // the path of a session of the host, which is called HOST:PATH here
	asName    = "name"    // what commands there accept as the name of the session beside it
	asHost    = "host"    // what this machine calls the host
	asSigned  = "signed"  // a number that may be negative
)

// Walk visits the exported fields of all structs in a value, in one order for equal values.
func Walk(v reflect.Value, visit func(of reflect.Value, field *reflect.StructField, value reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			Walk(v.Elem(), visit)
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Struct || k == reflect.Pointer {
			for i := range v.Len() {
				Walk(v.Index(i), visit)
			}
		}
	case reflect.Struct:
		fields := fieldsOf(v.Type())
		for i := range fields {
			f := v.Field(fields[i].Index[0])
			visit(v, &fields[i], f)
			Walk(f, visit)
		}
	}
}

// known caches the results of fieldsOf by type: even a long answer has few types.
var known sync.Map

// fieldsOf returns the exported fields of a struct; none for a time.
func fieldsOf(t reflect.Type) (fields []reflect.StructField) {
	if list, ok := known.Load(t); ok {
		return list.([]reflect.StructField)
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && t != reflect.TypeFor[time.Time]() {
			fields = append(fields, f)
		}
	}
	known.Store(t, fields)
	return fields
}

// unwritten returns the values that the JSON of an answer leaves out although the printer needs them,
// such as titles. They travel beside the answer, in the order of Walk.
func unwritten(answer any) (values []any) {
	eachUnwritten(answer, func(v reflect.Value) { values = append(values, v.Interface()) })
	return values
}

// restore puts the values of unwritten back. It leaves out values that do not fit.
func restore(answer any, values []any) {
	eachUnwritten(answer, func(v reflect.Value) {
		if len(values) == 0 {
			return
		}
		if x := reflect.ValueOf(values[0]); x.IsValid() && x.Type() == v.Type() {
			v.Set(x)
		}
		values = values[1:]
	})
}

func eachUnwritten(answer any, visit func(reflect.Value)) {
	Walk(reflect.ValueOf(answer), func(_ reflect.Value, f *reflect.StructField, v reflect.Value) {
		if f.Tag.Get("json") == "-" && (v.Kind() == reflect.String || v.Kind() == reflect.Bool) {
			visit(v)
		}
	})
}

// decode decodes what a host has sent, and makes it safe to use. It returns about how much memory that
// takes, and refuses more than a limit.
func decode(data, beside json.RawMessage, v any, limit int64) (size int64, err error) {
	var unwritten []any
	size = int64(len(data)+len(beside)) + jsonsize.Of(data, reflect.TypeOf(v), limit) + jsonsize.Of(beside, reflect.TypeOf(unwritten), limit)
	if size > limit {
		return size, remote.ErrTooMuch
	}
	if json.Unmarshal(data, v) != nil || len(beside) > 0 && json.Unmarshal(beside, &unwritten) != nil {
		return size, errGarbage
	}
	restore(v, unwritten)
	purify(reflect.ValueOf(v), reflect.Value{}, "")
	return size, nil
}

// purify makes a value of a host safe to use, as the tag of its field says. of is the struct around it.
func purify(v, of reflect.Value, as string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(pure(v.String(), as))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if v.Int() < 0 && as != asSigned {
			v.SetInt(0)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			purify(v.Elem(), of, as)
		}
	case reflect.Interface:
		v.SetZero()
	case reflect.Slice, reflect.Array:
		if v.Type() == reflect.TypeFor[[][2]int]() {
			if text := beside(of, asExact); !text.IsValid() || !inOrder(v.Interface().([][2]int), len(text.String())) {
				v.SetZero()
			}
			return
		}
		for i := range v.Len() {
			purify(v.Index(i), of, as)
		}
	case reflect.Map:
		pure := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, e := range v.Seq2() {
			key, value := reflect.New(k.Type()).Elem(), reflect.New(e.Type()).Elem()
			key.Set(k)
			value.Set(e)
			purify(key, of, as)
			purify(value, of, as)
			pure.SetMapIndex(key, value)
		}
		if !v.IsNil() {
			v.Set(pure)
		}
	case reflect.Struct:
		fields := fieldsOf(v.Type())
		for i := range fields {
			purify(v.Field(fields[i].Index[0]), v, fields[i].Tag.Get("wire"))
		}
	}
}

// beside returns the field of a struct with a tag; the zero Value if there is none.
func beside(of reflect.Value, as string) (v reflect.Value) {
	if of.IsValid() {
		for _, f := range fieldsOf(of.Type()) {
			if f.Tag.Get("wire") == as {
				return of.Field(f.Index[0])
			}
		}
	}
	return v
}

// pure returns a text as its tag says. One without anything hidden keeps its spaces: it may be a path.
func pure(s, as string) string {
	switch as {
	case asExact, asSession:
		return s
	case asLines:
		if strings.IndexFunc(s, isBreak) >= 0 {
			s = strings.Map(func(r rune) rune {
				if isBreak(r) {
					return '\n'
				}
				return r
			}, s)
		}
		return terminal.CleanLines(s)
	case asSaid, asName:
		return said(s)
	}
	if strings.IndexFunc(s, terminal.Hidden) < 0 {
		return s
	}
	return terminal.Clean(s)
}

// isBreak reports whether a character that is hidden separates words.
func isBreak(r rune) bool {
	return r > '\r' && unicode.IsSpace(r) && terminal.Hidden(r) || r == '\v' || r == '\f'
}

// maxReason is the width, in columns, to which a host's sentence is cut.
const maxReason = 300

// said returns a sentence of a host as one short line.
func said(s string) string { return terminal.Clip(terminal.Clean(s), maxReason) }

// inOrder reports whether spans are places in a text of this length, ascending and disjoint.
func inOrder(spans [][2]int, length int) bool {
	end := 0
	for _, s := range spans {
		if s[0] < end || s[1] < s[0] || s[1] > length {
			return false
		}
		end = s[1]
	}
	return true
}

// adopt writes the name of the host into its answer: into the names of its sessions, and into the
// commands that resume them.
func (c *Client) adopt(answer any) {
	h := &c.Host
	Walk(reflect.ValueOf(answer), func(of reflect.Value, f *reflect.StructField, v reflect.Value) {
		switch f.Tag.Get("wire") {
		case asHost:
			v.SetString(h.Name)
		case asName:
			if path := beside(of, asSession); path.IsValid() && v.String() != "" {
				if session.IsPath(v.String()) { // of that host
					v.SetString(path.String())
				}
				c.names.Store(path.String(), v.String())
			}
		case asSession:
			if v.String() != "" {
				v.SetString(remote.Name(h.Name, v.String()))
			}
		}
		if r, ok := v.Interface().(*search.Resume); ok && r != nil {
			if r.Argv, r.Dir = h.Interactive(r.Dir, r.Argv), ""; r.Argv == nil {
				v.SetZero()
			}
		}
	})
}
