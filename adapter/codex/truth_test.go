package codex

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter"
	"pigrep/internal/content"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
	"pigrep/lab/testkit"
)

// truth is what two other readers read in a file.
type truth struct {
	Entries     int
	PartsByKind map[session.Kind]int `json:"parts_by_kind"`
	Session     struct {
		ID    *string
		Metas []struct {
			ForkedFrom  *string `json:"forked_from_id"`
			HistoryBase *struct {
				Thread  string `json:"thread_id"`
				Ordinal int64  `json:"end_ordinal_exclusive"`
				Offset  int64  `json:"end_byte_offset"`
			} `json:"history_base"`
			Git *string
		}
		CWDs        []string
		Title       *string
		FirstPrompt *string `json:"first_prompt"`
	}
	Models []string
	Usage  struct {
		Responses int
		Input     int64 `json:"input_tokens"`
		Cached    int64 `json:"cached_input_tokens"`
		Output    int64 `json:"output_tokens"`
	}
	Tools        map[string]int
	Results      int
	ErrorResults int      `json:"error_results"`
	Unanswered   []string `json:"unanswered_calls"`
	Phrases      []struct {
		Phrase string
		Line   int
		Kind   session.Kind
	}
}

const notesFile = "session_index.jsonl"

// fixtures are real session files, by path.
func fixtures(t testing.TB) map[string][]byte { return adapters.Fixtures(t, "codex") }

func withFacts(path string) adapter.State {
	return adapter.State{Path: content.Logical(path), Facts: true, Header: session.Header{Notes: filepath.Base(path) == notesFile}}
}

// Real files say what other readers read in them.
func TestTruth(t *testing.T) {
	for path, data := range fixtures(t) {
		if filepath.Base(path) == notesFile {
			continue
		}
		said, err := os.ReadFile(path + ".truth.json")
		testkit.Check(t, err)
		var want truth
		testkit.Check(t, json.Unmarshal(said, &want))
		t.Run(filepath.Base(path), func(t *testing.T) { compare(t, path, data, &want) })
	}
}

func compare(t *testing.T, path string, data []byte, want *truth) {
	if sort := New().Recognize(data[:min(len(data), adapter.HeadLength)]); sort != adapter.Transcript {
		t.Errorf("recognized as %d", sort)
	}
	r := adapters.Parse(t, New(), withFacts(path), data)
	if len(r.Problems) > 0 || len(r.Entries) != want.Entries {
		t.Errorf("%d entries, want %d; problems %v", len(r.Entries), want.Entries, r.Problems)
	}
	parts, tools, open := make(map[session.Kind]int), make(map[string]int), make(map[string]bool)
	usages, models := make(map[uint64]session.Usage), make(map[string]bool)
	var results, failed, silent int
	prompt, name := "", ""
	for _, e := range r.Visible() {
		for _, part := range e.Parts {
			parts[part.Kind]++
		}
		if prompt == "" {
			prompt = e.UserText
		}
		if e.Type == session.TypeSessionInfo {
			name = e.Name
		}
		if e.Context.Model != "" {
			models[e.Context.Model] = true
		}
		f := e.Facts
		if f == nil {
			continue
		}
		if f.HasUsage {
			usages[f.UsageOf] = f.Usage
		}
		if f.IsResult {
			results++
			delete(open, e.ToolCallID)
			if f.Failed {
				failed++
			}
			if len(e.Parts) == 0 {
				silent++ // the command printed nothing
			}
		}
		for _, c := range f.Calls {
			if c.Kind == session.CallPlain {
				tools[c.Tool]++
				if c.ID != "" {
					open[c.ID] = true
				}
			}
		}
	}
	if want.PartsByKind[session.KindResult] -= silent; want.PartsByKind[session.KindResult] == 0 {
		delete(want.PartsByKind, session.KindResult)
	}
	if diff := cmp.Diff(want.PartsByKind, parts); diff != "" {
		t.Errorf("parts by kind (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Tools, tools, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if results != want.Results || failed != want.ErrorResults || len(open) != len(want.Unanswered) {
		t.Errorf("%d results, %d failed, %d calls without one; want %d, %d, %d", results, failed, len(open), want.Results, want.ErrorResults, len(want.Unanswered))
	}
	var sum session.Usage
	for _, u := range usages {
		sum.Input, sum.Output, sum.CacheRead, sum.CacheWrite = sum.Input+u.Input, sum.Output+u.Output, sum.CacheRead+u.CacheRead, sum.CacheWrite+u.CacheWrite
	}
	w := want.Usage
	if diff := cmp.Diff(session.Usage{Input: w.Input - w.Cached, Output: w.Output, CacheRead: w.Cached}, sum); diff != "" || len(usages) != w.Responses {
		t.Errorf("usage of %d responses, want %d (-want +got):\n%s", len(usages), w.Responses, diff)
	}
	if len(models) != len(want.Models) {
		t.Errorf("models %v, want %v", models, want.Models)
	}
	if title := want.Session.Title; title == nil && name != "" || title != nil && name != *title {
		t.Errorf("name %q, want %v", name, title)
	}
	compareHeader(t, &r.End.Header, want)
	compareFirst(t, prompt, want.Session.FirstPrompt)
	for _, p := range want.Phrases {
		comparePhrase(t, r.Visible(), p.Phrase, p.Line, p.Kind)
	}
}

func compareHeader(t *testing.T, h *session.Header, want *truth) {
	if id := want.Session.ID; id != nil && h.ID != *id {
		t.Errorf("id %q, want %q", h.ID, *id)
	}
	if cwds := want.Session.CWDs; len(cwds) > 0 && h.CWD != cwds[0] || len(cwds) == 0 && h.CWD != "" {
		t.Errorf("directory %q, want %v", h.CWD, cwds)
	}
	if len(want.Session.Metas) == 0 {
		return
	}
	meta := want.Session.Metas[0]
	if meta.Git != nil && h.Git != *meta.Git {
		t.Errorf("branch %q, want %q", h.Git, *meta.Git)
	}
	switch base := meta.HistoryBase; {
	case base != nil:
		relation := session.Continued
		if base.Thread == h.ID {
			relation = session.Reverted
		}
		at := session.Base{Session: base.Thread, Ordinal: base.Ordinal, Offset: base.Offset}
		if h.Relation != relation || h.Base != at || h.Ordinal != base.Ordinal || h.ParentSession != base.Thread || (relation == session.Reverted) != (h.Part != "") {
			t.Errorf("header %+v, want the base %+v", h, base)
		}
	case meta.ForkedFrom != nil && (h.Relation != session.Copied || h.ParentSession != *meta.ForkedFrom):
		t.Errorf("header %+v, want a fork of %s", h, *meta.ForkedFrom)
	case meta.ForkedFrom == nil && h.Relation != session.Unrelated:
		t.Errorf("header %+v has a relation", h)
	}
}

func compareFirst(t *testing.T, prompt string, want *string) {
	if want == nil {
		if prompt != "" {
			t.Errorf("first prompt %q, want none", prompt)
		}
		return
	}
	said := strings.TrimSpace(*want)
	if strings.HasPrefix(said, "# Context from my IDE setup:") { // which is no prompt
		if prompt == "" || strings.HasPrefix(prompt, "#") {
			t.Errorf("first prompt %q", prompt)
		}
		return
	}
	if !strings.HasPrefix(prompt, said) {
		t.Errorf("first prompt %q, want %q", prompt, said)
	}
}

// comparePhrase looks for a phrase. The other readers do not unwrap results: a phrase may
// begin within an escape, and what Codex says of a command, which becomes facts, is no text.
func comparePhrase(t *testing.T, entries []session.Entry, phrase string, line int, kind session.Kind) {
	var lines []int
	find := func(phrase string) {
		for _, e := range entries {
			for _, part := range e.Parts {
				if part.Kind == kind && bytes.Contains(part.Text, []byte(phrase)) {
					lines = append(lines, e.Line)
				}
			}
		}
	}
	find(phrase)
	if kind == session.KindResult && len(lines) == 0 {
		o := output{}
		if o.unwrap([]byte(phrase+"\nWall time: 1 seconds\nOutput:\n")) == nil || len(o.unwrap([]byte(phrase+"\nWall time: 1 seconds\nOutput:\n"))) == 0 {
			return
		}
		find(strings.TrimPrefix(phrase, "n"))
	}
	if len(lines) == 0 || lines[0] != line {
		t.Errorf("%q is in parts of the kind %s on the lines %v, want %d", phrase, kind, lines, line)
	}
}

func TestHalves(t *testing.T) {
	for path, data := range fixtures(t) {
		adapters.Halves(t, New(), withFacts(path), data)
	}
}

func TestEntriesReadAlone(t *testing.T) {
	for path, data := range fixtures(t) {
		adapters.Alone(t, New(), withFacts(path), data)
		adapters.Sparse(t, New(), withFacts(path), data)
	}
}
