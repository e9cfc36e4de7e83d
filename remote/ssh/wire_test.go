package ssh

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/internal/jsonsize"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/grep"
	"pigrep/remote"
)

// answerTypes are the types of all that hosts send.
func answerTypes() (types []reflect.Type) {
	for _, kind := range remote.Kinds {
		types = append(types, reflect.TypeOf(kind.NewAnswer()))
	}
	for _, part := range []any{&remote.Status{}, &ResumeAnswer{}, &grep.Match{}, &audit.CallRow{}, &Piece{}, &remote.Coverage{}, &remote.Grepped{}} {
		types = append(types, reflect.TypeOf(part))
	}
	return types
}

const evil = "a\x1b[31mb\x1b]0;title\x07c\u009b2Jd\u202ee\r\nf\u2028g\x00h"

// fill sets everything in a value that JSON can set: texts to evil, numbers below zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(evil)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(-5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(elem)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			fill(v.Field(f.Index[0]))
		}
	}
}

// A text of an answer has no control code and no line end, and a number is not negative, unless the
// field has a tag that says otherwise: a field that somebody adds or renames is safe.
func TestAnswersAreSafeByTheirTypes(t *testing.T) {
	tags := []string{"", asSaid, asLines, asExact, asSession, asName, asHost, asSigned}
	texts, kept := 0, make(map[string]bool)
	var look func(path string, v reflect.Value, as string)
	look = func(path string, v reflect.Value, as string) {
		switch v.Kind() {
		case reflect.String:
			texts++
			if as == asExact || as == asSession {
				kept[path] = true
				if v.String() != evil {
					t.Errorf("%s is %q", path, v)
				}
				return
			}
			hidden := func(r rune) bool { return terminal.Hidden(r) && (r != '\n' || as != asLines) }
			if strings.ContainsFunc(v.String(), hidden) || !strings.HasPrefix(v.String(), "abcde") {
				t.Errorf("%s (%s) is %q", path, as, v)
			}
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			if v.Int() < 0 != (as == asSigned) {
				t.Errorf("%s (%s) is %d", path, as, v.Int())
			}
		case reflect.Pointer:
			if !v.IsNil() {
				look(path, v.Elem(), as)
			}
		case reflect.Slice, reflect.Array:
			if v.Type() == reflect.TypeFor[[][2]int]() && v.Len() > 0 {
				t.Errorf("%s has places outside of its text", path)
			}
			for i := range v.Len() {
				look(path, v.Index(i), as)
			}
		case reflect.Map:
			for k, e := range v.Seq2() {
				look(path, k, as)
				look(path, e, as)
			}
		case reflect.Struct:
			for _, f := range fieldsOf(v.Type()) {
				tag := f.Tag.Get("wire")
				if !slices.Contains(tags, tag) {
					t.Errorf("%s.%s: no tag is called %q", v.Type(), f.Name, tag)
				}
				look(v.Type().String()+"."+f.Name, v.Field(f.Index[0]), tag)
			}
		}
	}
	for _, of := range answerTypes() {
		v := reflect.New(of.Elem())
		fill(v.Elem())
		data, err := json.Marshal(v.Interface())
		beside, failed := json.Marshal(unwritten(v.Interface()))
		if err != nil || failed != nil {
			t.Fatalf("%s: %v, %v", of, err, failed)
		}
		got := reflect.New(of.Elem())
		if _, err := decode(data, beside, got.Interface(), maxAnswer); err != nil {
			t.Fatalf("%s: %v of %s", of, err, data)
		}
		look(of.Elem().String(), got, "")
		purify(v, reflect.Value{}, "") // what JSON leaves out, too
		look(of.Elem().String(), v, "")
	}
	if texts < 300 || len(kept) < 10 {
		t.Errorf("only %d texts were looked at, and %d kept", texts, len(kept))
	}
}

// crowds returns JSON with many values for each list of a type, each as small as it can be.
func crowds(of reflect.Type, before, after string, size int, visit func(path, data string)) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	many := func(elem string) string { return strings.Repeat(elem+",", size/(len(elem)+1)) + elem }
	switch of.Kind() {
	case reflect.Slice:
		elem := of.Elem()
		for elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		small := map[reflect.Kind]string{reflect.Struct: "{}", reflect.String: `""`, reflect.Slice: "[]", reflect.Array: "[]", reflect.Map: "{}", reflect.Bool: "true"}[elem.Kind()]
		if small == "" {
			small = "0"
		}
		visit(before, before+"["+many(small)+"]"+after)
		crowds(elem, before+"[", "]"+after, size, visit)
	case reflect.Map:
		if of.Key().Kind() == reflect.String {
			var b strings.Builder
			for i := 0; b.Len() < size; i++ {
				fmt.Fprintf(&b, `"%x":null,`, i)
			}
			visit(before, before+"{"+b.String()+`"":null}`+after)
		}
	case reflect.Struct:
		for name, member := range jsonsize.Members(of) {
			if of != reflect.TypeFor[time.Time]() {
				crowds(member, before+`{"`+name+`":`, "}"+after, size, visit)
			}
		}
	}
}

// allocated returns how many bytes a function allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// An answer is counted by what it becomes: whichever list of an answer is full of the smallest values,
// decoding it takes no more memory than is counted, and nothing is decoded that takes too much. What
// is allocated while a list grows is about twice what it takes at once.
func TestMemoryOfAnswers(t *testing.T) {
	const bytes, limit = 20_000, 10_000
	lists := 0
	try := func(data, beside string, answer any, limit int64) (size, took int64, err error) {
		of, with := json.RawMessage(data), json.RawMessage(beside)
		took = allocated(func() { size, err = decode(of, with, answer, limit) })
		return size, took, err
	}
	for _, of := range answerTypes() {
		crowds(of, "", "", bytes, func(path, data string) {
			lists++
			answer := func() any { return reflect.New(of.Elem()).Interface() }
			size, took, err := try(data, "", answer(), 1<<40)
			if took > 2*size+64<<10 {
				t.Errorf("%s %s: %d bytes are counted, and %d allocated (%v)", of, path, size, took, err)
			}
			for what, data := range map[string]string{"": data, "in capitals": strings.ToUpper(data), "escaped": strings.ReplaceAll(data, `"S`, `"\u0053`), "folded": strings.ReplaceAll(data, "s", "ſ")} {
				if _, took, err = try(data, "", answer(), limit); !errors.Is(err, remote.ErrTooMuch) || took > limit {
					t.Errorf("%s %s %s: %d bytes allocated, %v", of, path, what, took, err)
				}
			}
		})
	}
	if lists < 50 {
		t.Errorf("only %d lists", lists)
	}
	if _, took, err := try("{}", "["+strings.Repeat("0,", bytes)+"0]", &grep.Match{}, bytes*4); !errors.Is(err, remote.ErrTooMuch) || took > limit {
		t.Errorf("beside: %d bytes, %v", took, err)
	}
}
