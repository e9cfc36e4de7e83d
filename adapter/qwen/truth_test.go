package qwen

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

// truth is what two other readers read in a file.
type truth struct {
	Entries     int
	PartsByKind map[session.Kind]int `json:"parts_by_kind"`
	Session     struct {
		ID          string
		CWDs        []string
		Title       *struct{ Text string }
		FirstPrompt *string `json:"first_prompt"`
	}
	Models       []string
	Usage        struct{ Input, Output, Cached, Total int64 }
	Tools        map[string]int
	Results      int
	ErrorResults int      `json:"error_results"`
	Rejected     int      `json:"rejected_calls"`
	Unanswered   []string `json:"unanswered_calls"`
	Tree         struct {
		Nodes int
		Leaf  string
	}
	Parts []struct {
		Line int
		Kind session.Kind
		Text string
	}
	Phrases []struct {
		Phrase string
		Line   int
		Kind   session.Kind
	}
}

// Real files say what other readers read in them.
func TestTruth(t *testing.T) {
	for path, data := range fixtures(t) {
		said, err := os.ReadFile(path + ".truth.json")
		testkit.Check(t, err)
		var want truth
		testkit.Check(t, json.Unmarshal(said, &want))
		t.Run(filepath.Base(path), func(t *testing.T) { compare(t, path, data, &want) })
	}
}

// fixtures are real session files, by path.
func fixtures(t testing.TB) map[string][]byte {
	files := adapters.Fixtures(t, "qwen")
	for path := range files {
		if filepath.Base(path) == "usage_record.jsonl" { // which is no session
			if New().Recognize(files[path]) != adapter.Foreign {
				t.Errorf("%s is recognized", path)
			}
			delete(files, path)
		}
	}
	return files
}

func compare(t *testing.T, path string, data []byte, want *truth) {
	r := adapters.Parse(t, New(), adapter.State{Path: path, Facts: true}, data)
	if len(r.Problems) > 0 || len(r.Entries) != want.Entries {
		t.Errorf("%d entries, want %d; problems %v", len(r.Entries), want.Entries, r.Problems)
	}
	parts, tools, models, open := make(map[session.Kind]int), make(map[string]int), make(map[string]bool), make(map[string]bool)
	var results, failed, rejected int
	var prompt, name string
	var sum session.Usage
	for i := range r.Entries {
		e := &r.Entries[i]
		for _, part := range e.Parts {
			parts[part.Kind]++
		}
		if prompt == "" {
			prompt = e.UserText
		}
		if e.Type == session.TypeSessionInfo {
			name = e.Name
		}
		if e.Role == session.RoleAssistant && !e.IsError && e.Model != "" {
			models[e.Model] = true
		}
		f := e.Facts
		if f == nil {
			continue
		}
		if f.HasUsage {
			sum.Input, sum.Output, sum.CacheRead = sum.Input+f.Usage.Input, sum.Output+f.Usage.Output, sum.CacheRead+f.Usage.CacheRead
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
			tools[c.Tool]++
			open[c.ID] = true
		}
	}

	for i, part := range want.Parts { // a result that is shown as it was told has nothing more to say
		if i > 0 && part.Kind == session.KindDetails && want.Parts[i-1].Line == part.Line && want.Parts[i-1].Kind == session.KindResult && want.Parts[i-1].Text == part.Text {
			want.PartsByKind[session.KindDetails]--
		}
	}
	if diff := cmp.Diff(want.PartsByKind, parts, cmpopts.IgnoreMapEntries(func(_ session.Kind, n int) bool { return n == 0 })); diff != "" {
		t.Errorf("parts by kind (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Tools, tools, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if results != want.Results || failed != want.ErrorResults || rejected != want.Rejected || len(open) != len(want.Unanswered) {
		t.Errorf("%d results, %d failed, %d rejected, %d calls without one; want %d, %d, %d, %d",
			results, failed, rejected, len(open), want.Results, want.ErrorResults, want.Rejected, len(want.Unanswered))
	}
	if len(models) != len(want.Models) {
		t.Errorf("models %v, want %v", models, want.Models)
	}
	if u := want.Usage; sum.Input+sum.CacheRead != u.Input || sum.CacheRead != u.Cached || sum.Output != u.Total-u.Input {
		t.Errorf("usage %+v, want %+v", sum, u)
	}

	h := r.End.Header
	if h.ID != want.Session.ID || len(want.Session.CWDs) > 0 && h.CWD != want.Session.CWDs[0] {
		t.Errorf("header %+v, want %+v", h, want.Session)
	}
	if title := want.Session.Title; title == nil && name != "" || title != nil && name != title.Text {
		t.Errorf("name %q, want %+v", name, title)
	}
	if first := want.Session.FirstPrompt; first != nil && !strings.HasPrefix(prompt, *first) || first == nil && prompt != "" {
		t.Errorf("first prompt %q, want %v", prompt, first)
	}
	if len(r.Entries) != want.Tree.Nodes || r.Entries[len(r.Entries)-1].ID != want.Tree.Leaf {
		t.Errorf("%d entries, the last one %s; want %+v", len(r.Entries), r.Entries[len(r.Entries)-1].ID, want.Tree)
	}

	for _, phrase := range want.Phrases {
		var got []int
		for i := range r.Entries {
			for _, part := range r.Entries[i].Parts {
				if strings.Contains(string(part.Text), phrase.Phrase) && part.Kind == phrase.Kind {
					got = append(got, r.Entries[i].Line)
				}
			}
		}
		if !slices.Contains(got, phrase.Line) {
			t.Errorf("%q is in parts of the kind %s on the lines %v, want %d", phrase.Phrase, phrase.Kind, got, phrase.Line)
		}
	}
}

// An entry that is read alone is what it was in order, and reading on from a state at any line gives what reading
// at once gives. Of an entry of which only some texts are wanted, each part keeps its number.
func TestAloneAndHalves(t *testing.T) {
	for path, data := range fixtures(t) {
		state := adapter.State{Path: path, Facts: true}
		adapters.Alone(t, New(), state, data)
		adapters.Halves(t, New(), state, data)
		adapters.Sparse(t, New(), state, data)
	}
}
