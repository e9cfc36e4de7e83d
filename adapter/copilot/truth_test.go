package copilot

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
	"pigrep/lab/testkit"
)

// figures are tokens as Copilot names them.
type figures struct{ Input, Output, CacheRead, CacheWrite int64 }

// truth is what two other readers read in a file.
type truth struct {
	Entries     int
	PartsByKind map[session.Kind]int `json:"parts_by_kind"`
	Session     struct {
		ID          string
		CWDs        []string
		Title       struct{ Text string }
		FirstPrompt *string `json:"first_prompt"`
		Branches    []string
	}
	Models      []string
	Usage       figures
	ByShutdowns struct{ InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens int64 } `json:"usage_by_shutdowns"`
	Told        int64                                                                        `json:"outputTokens_in_messages"`

	Tools        map[string]int
	Results      int
	ErrorResults int      `json:"error_results"`
	Rejected     int      `json:"rejected_calls"`
	Unanswered   []string `json:"unanswered_calls"`
	Phrases      []struct {
		Phrase string
		Line   int
		Kind   session.Kind
	}
}

// Real files say what other readers read in them, and the files beside them name their sessions.
func TestTruth(t *testing.T) {
	for path, data := range adapters.Fixtures(t, "copilot") {
		said, err := os.ReadFile(path + ".truth.json")
		testkit.Check(t, err)
		var want truth
		testkit.Check(t, json.Unmarshal(said, &want))
		t.Run(want.Session.ID, func(t *testing.T) { compare(t, path, data, &want) })
	}
}

func compare(t *testing.T, path string, data []byte, want *truth) {
	r := adapters.Parse(t, New(), adapter.State{Path: path, Facts: true}, data)
	if len(r.Problems) > 0 || len(r.Entries) != want.Entries {
		t.Errorf("%d entries, want %d; problems %v", len(r.Entries), want.Entries, r.Problems)
	}
	entries := r.Visible()
	parts, tools, models, open := make(map[session.Kind]int), make(map[string]int), make(map[string]bool), make(map[string]bool)
	var results, failed, rejected int
	var prompt string
	var sum figures
	add := func(u *session.Usage) {
		sum.Input, sum.Output = sum.Input+u.Input+u.CacheRead+u.CacheWrite, sum.Output+u.Output
		sum.CacheRead, sum.CacheWrite = sum.CacheRead+u.CacheRead, sum.CacheWrite+u.CacheWrite
	}
	for i := range entries {
		e := &entries[i]
		for _, part := range e.Parts {
			parts[part.Kind]++
		}
		if prompt == "" {
			prompt = e.UserText
		}
		if e.Complete(); e.Role == session.RoleAssistant && !e.IsError && e.Model != "" {
			models[e.Model] = true
		}
		f := e.Facts
		if f == nil {
			continue
		}
		if f.HasUsage {
			add(&f.Usage)
			for i := range f.Others {
				add(&f.Others[i].Usage)
			}
		}
		if f.IsResult {
			results++
			delete(open, e.ToolCallID)
			if e.IsError {
				failed++
			}
			if f.Rejected {
				rejected++
			}
		}
		for _, c := range f.Calls {
			if c.Kind == session.CallPlain {
				tools[c.Tool]++
				open[c.ID] = true
			}
		}
	}

	if diff := cmp.Diff(want.PartsByKind, parts); diff != "" {
		t.Errorf("parts by kind (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Tools, tools, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if results != want.Results || failed != want.ErrorResults || rejected != want.Rejected || len(open) != len(want.Unanswered) {
		t.Errorf("%d results, %d failed, %d rejected, %d calls without one; want %d, %d, %d, %d",
			results, failed, rejected, len(open), want.Results, want.ErrorResults, want.Rejected, len(want.Unanswered))
	}
	for model := range models {
		if !slices.Contains(want.Models, model) {
			t.Errorf("model %s, want %v", model, want.Models)
		}
	}
	used := want.Usage
	if b := want.ByShutdowns; used == (figures{}) {
		used = figures{b.InputTokens, max(b.OutputTokens, want.Told), b.CacheReadTokens, b.CacheWriteTokens}
	}
	if sum != used {
		t.Errorf("usage %+v, want %+v", sum, used)
	}

	h := r.End.Header
	if h.ID != want.Session.ID || len(want.Session.CWDs) > 0 && h.CWD != want.Session.CWDs[0] || len(want.Session.Branches) > 0 && !slices.Contains(want.Session.Branches, h.Git) {
		t.Errorf("header %+v, want %+v", h, want.Session)
	}
	if first := want.Session.FirstPrompt; first != nil && !strings.HasPrefix(prompt, *first) || first == nil && prompt != "" {
		t.Errorf("first prompt %q, want %q", prompt, *first)
	}
	if title, err := os.ReadFile(filepath.Join(filepath.Dir(path), titleFile)); err == nil {
		if about, name := titleOf(t, filepath.Join(filepath.Dir(path), titleFile), string(title)); about != want.Session.ID || name != want.Session.Title.Text {
			t.Errorf("title %q of %q, want %q", name, about, want.Session.Title.Text)
		}
	}

	for _, phrase := range want.Phrases {
		var got []int
		for i := range entries {
			for _, part := range entries[i].Parts {
				if strings.Contains(string(part.Text), phrase.Phrase) && part.Kind == phrase.Kind {
					got = append(got, entries[i].Line)
				}
			}
		}
		if !slices.Contains(got, phrase.Line) {
			t.Errorf("%q is in parts of the kind %s on the lines %v, want %d", phrase.Phrase, phrase.Kind, got, phrase.Line)
		}
	}
}

// titleOf returns the session that a title file is about, and its name.
func titleOf(t *testing.T, path, text string) (about, name string) {
	t.Helper()
	state := adapter.State{Path: path, Header: session.Header{Notes: true}}
	adapters.Halves(t, New(), state, []byte(text))
	adapters.Alone(t, New(), state, []byte(text))
	for _, e := range adapters.Parse(t, New(), state, []byte(text)).Entries {
		about, name = e.About, e.Name
	}
	return about, name
}

// An entry that is read alone is what it was in order, and reading on from a state at any line gives what reading
// at once gives. Of an entry of which only some texts are wanted, each part keeps its number.
func TestAloneAndHalves(t *testing.T) {
	for path, data := range adapters.Fixtures(t, "copilot") {
		state := adapter.State{Path: path, Facts: true}
		adapters.Alone(t, New(), state, data)
		adapters.Halves(t, New(), state, data)
		adapters.Sparse(t, New(), state, data)
	}
}
