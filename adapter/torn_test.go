package adapter_test

import (
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
)

// read returns the objects of a line, and how many pieces of it cannot be read.
func read(line string, ended bool) (objects []string, problems []adapter.ParseError) {
	var json jsonl.Scanner
	problems = adapter.Objects(&json, adapter.Line{Number: 1, Data: []byte(line), Ended: ended, Offset: 100}, nil, func(v jsonl.Value) { objects = append(objects, string(json.Raw(v))) })
	return objects, problems
}

// A record behind a torn one is read, whichever byte the torn record ends at.
func TestBehindTorn(t *testing.T) {
	const whole = `{"type":"user","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":[{"type":"text","text":"a \"quoted\" {\"word\" \\\\"}],"n":12,"ok":true}}`
	for cut := 1; cut < len(whole); cut++ {
		for _, ended := range []bool{true, false} {
			objects, problems := read(whole[:cut]+whole, ended)
			if len(objects) != 1 || objects[0] != whole || len(problems) != 1 || problems[0].Offset != 100 || problems[0].Torn {
				t.Errorf("torn at %d, ended %t: %q, %v", cut, ended, objects, problems)
			}
		}
		if objects, problems := read(whole[:cut], true); len(objects) != 0 || len(problems) != 1 {
			t.Errorf("torn at %d: %q, %v", cut, objects, problems)
		}
		if objects, problems := read(whole+whole[:cut]+whole, true); len(objects) != 2 || len(problems) != 1 {
			t.Errorf("torn at %d between others: %q, %v", cut, objects, problems)
		}
		if objects, problems := read(whole[:cut]+whole[:cut]+whole, true); len(objects) != 1 || len(problems) != 1 {
			t.Errorf("torn at %d twice: %q, %v", cut, objects, problems)
		}
		if _, problems := read(whole[:cut], false); len(problems) != 1 || !problems[0].Torn {
			t.Errorf("unfinished at %d: %v", cut, problems)
		}
	}
	for _, piece := range []string{`{"a":`, `{"a":{"b":1},`, `{"`, `{"a":"`, `{"a":[{"type":"x","timestamp":1},`} {
		if objects, problems := read(strings.Repeat(piece, 100_000), true); len(objects) != 0 || len(problems) != 1 {
			t.Errorf("%q: %d objects, %v", piece, len(objects), problems)
		}
	}
}
