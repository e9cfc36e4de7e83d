// Package ssh asks other machines of this user: the pigrep there answers, over the stdin and
// stdout of the user's own ssh. Nothing listens, and nothing is kept or copied.
//
// Both sides write JSON objects, one a line. The host begins with a greeting, a line that
// starts with greetingMark; what its shell prints before is skipped. Then the client sends
// requests, several at once if it likes, and cancels them by their number. The host answers
// each with any number of parts and then an answer or an error:
//
//	> {"id":1,"ask":"search","zone":"Europe/Berlin","host":"laptop","request":{"Text":"timeout"}}
//	< {"id":1,"part":{…}}
//	< {"id":1,"answer":{…}}
//	> {"cancel":1}
//
// Both ends treat what they read as untrusted: lines are bounded, answers are bounded, and
// check tests what is in an answer before anything else sees it. A host ends when its stdin
// does.
package ssh

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/search"
	"pigrep/remote"
)

// Protocol is the number of the protocol. It changes with each change of a request or of an
// answer that an older program would understand in another way.
const Protocol = 2

// Command is the hidden command of pigrep that answers.
const Command = "__answer"

const greetingMark = `{"pigrep":`

// The bounds of what one side takes from the other.
const (
	maxBefore  = 1 << 20   // bytes before the greeting
	maxRequest = 16 << 20  // bytes of a request
	maxLine    = 32 << 20  // bytes of a part or an answer
	maxAnswer  = 128 << 20 // bytes of all parts that are kept until the answer is complete
	maxSession = 512 << 20 // bytes of the lines of one session
	maxAtOnce  = 16        // questions that a host answers at the same time
)

// Greeting is what a host says first.
type Greeting struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	Schema   int    `json:"schema"` // of its index
}

type greeting struct {
	Pigrep Greeting `json:"pigrep"`
}

// message is a line of the client.
type message struct {
	ID      int             `json:"id,omitempty"`
	Ask     string          `json:"ask,omitempty"`
	Zone    string          `json:"zone,omitempty"` // in which days begin
	Host    string          `json:"host,omitempty"` // what the client calls the host
	Goes    bool            `json:"goes,omitempty"` // on with the question before
	Request json.RawMessage `json:"request,omitempty"`
	Cancel  int             `json:"cancel,omitempty"`
}

// reply is a line of the host after its greeting.
type reply struct {
	ID     int             `json:"id"`
	Part   json.RawMessage `json:"part,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  *remote.Error   `json:"error,omitempty"`
	Beside []any           `json:"beside,omitempty"` // what the JSON of the part or the answer leaves out
}

var errLine = errors.New("a line is too long")

// readLine reads a line of at most max bytes. It is valid until the next call.
func readLine(r *bufio.Reader, buf []byte, max int) ([]byte, error) {
	buf = buf[:0]
	for {
		piece, err := r.ReadSlice('\n')
		if len(buf)+len(piece) > max {
			return nil, fmt.Errorf("%w: more than %d MB", errLine, max>>20)
		}
		if err == nil && len(buf) == 0 {
			return piece, nil
		}
		buf = append(buf, piece...)
		switch {
		case err == nil:
			return buf, nil
		case errors.Is(err, io.EOF) && len(buf) > 0:
			return buf, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

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
