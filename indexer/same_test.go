package indexer

import (
	"testing"

	"pigrep/internal/session"
)

// A deep check tells apart all that is stored, and only that.
func TestSameAsStored(t *testing.T) {
	node := session.Node{ID: "a", Type: "message", Line: 1, Length: 10}
	rec := func() *session.Record {
		r := &session.Record{Nodes: []session.Node{node}, Labels: map[string]string{"a": "x"}, Blocks: []uint64{7}}
		r.Path, r.Entries = "/s.jsonl", 1
		return r
	}
	empty := rec()
	empty.Problems, empty.Models = []session.Problem{}, []string{}
	if !sameRecord(rec(), empty) {
		t.Error("a nil list is not an empty one")
	}
	for name, change := range map[string]func(*session.Record){
		"node":    func(r *session.Record) { r.Nodes[0].Offset++ },
		"label":   func(r *session.Record) { r.Labels["a"] = "y" },
		"block":   func(r *session.Record) { r.Blocks[0]++ },
		"problem": func(r *session.Record) { r.Problems = append(r.Problems, session.Problem{Reason: "no JSON"}) },
		"summary": func(r *session.Record) { r.Entries++ },
	} {
		other := rec()
		if change(other); sameRecord(rec(), other) {
			t.Errorf("another %s is not noticed", name)
		}
	}
	facts := func() *session.Facts {
		return &session.Facts{Usages: make([]session.UsageFact, 1), Calls: []session.CallFact{{Line: "ls"}}}
	}
	if a := facts(); !sameFacts(a, facts()) || !sameFacts(&session.Facts{}, &session.Facts{Usages: []session.UsageFact{}}) {
		t.Error("equal facts differ")
	}
	for name, change := range map[string]func(*session.Facts){
		"usage": func(f *session.Facts) { f.Usages[0].Input++ },
		"call":  func(f *session.Facts) { f.Calls[0].Failed = true },
		"line":  func(f *session.Facts) { f.Calls[0].Line = "rm" },
		"touch": func(f *session.Facts) { f.Touches = make([]session.TouchFact, 1) },
	} {
		other := facts()
		if change(other); sameFacts(facts(), other) {
			t.Errorf("another %s is not noticed", name)
		}
	}
}
