package ssh

import (
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/search"
	"pigrep/remote"
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

// known has what fieldsOf has returned, by type: a long answer has few types.
var known sync.Map

// fieldsOf returns the exported fields of a struct; none of a time.
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

// unwritten are the values that the JSON of an answer leaves out, but that printing it takes,
// such as titles. They travel beside the answer, in the order of Walk.
func unwritten(answer any) (values []any) {
	eachUnwritten(answer, func(v reflect.Value) { values = append(values, v.Interface()) })
	return values
}

// restore undoes unwritten. What does not fit is left out.
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

// decode decodes what a host has sent, and makes it safe to use. What a host says about
// sessions is what session files could say, and all that shows these expects anything of them.
// So only what pigrep itself says is checked: its words, counts, and places in texts.
func decode(data json.RawMessage, beside []any, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return errGarbage
	}
	restore(v, beside)
	Walk(reflect.ValueOf(v), check)
	return nil
}

// sentences are the fields with words or sentences of pigrep.
var sentences = map[string]bool{
	"Type": true, "Tier": true, "Kind": true, "Agent": true, "Branch": true, "Status": true, "Outcome": true, "Action": true, "Rule": true, "Rules": true, "Severity": true,
	"Field": true, "Unit": true, "TimeZone": true, "Warnings": true, "ShortID": true, "Filter": true, "Version": true,
}

// signed are the fields with numbers that may be negative.
var signed = map[string]bool{"ExitCode": true, "Duration": true, "Total": true, "Time": true, "Newest": true}

func check(of reflect.Value, f *reflect.StructField, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if sentences[f.Name] {
			v.SetString(terminal.Clip(terminal.Clean(v.String()), maxReason))
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if v.Int() < 0 && !signed[f.Name] {
			v.SetInt(0)
		}
	case reflect.Slice:
		switch list := v.Interface().(type) {
		case []string:
			for i := range list {
				if sentences[f.Name] {
					list[i] = terminal.Clip(terminal.Clean(list[i]), maxReason)
				}
			}
		case [][2]int:
			if text := of.FieldByName("Text"); text.IsValid() && !inOrder(list, len(text.String())) {
				v.SetZero()
			}
		}
	}
}

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

// adopt says in an answer of a host which host that is: its sessions are called by it, and
// resumed on it.
func (c *Client) adopt(answer any) {
	h := &c.Host
	Walk(reflect.ValueOf(answer), func(of reflect.Value, f *reflect.StructField, v reflect.Value) {
		switch f.Name {
		case "Host":
			v.SetString(h.Name)
		case "ShortID":
			if path := of.FieldByName("SessionPath"); path.IsValid() && v.String() != "" {
				if session.IsPath(v.String()) { // of that host
					v.SetString(path.String())
				}
				c.names.Store(path.String(), v.String())
			}
		case "SessionPath", "ParentPath":
			if v.String() != "" {
				v.SetString(remote.Name(h.Name, v.String()))
			}
		case "Resume":
			if r, ok := v.Interface().(*search.Resume); ok && r != nil {
				if r.Argv, r.Dir = h.Interactive(r.Dir, r.Argv), ""; r.Argv == nil {
					v.SetZero()
				}
			}
		}
	})
}
