package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

// truth is what two other readers read in a file.
type truth struct {
	Entries     int
	PartsByKind map[session.Kind]int `json:"parts_by_kind"`
	Session     struct {
		ID          *string
		CWDs        []string
		GitBranches []string
		Title       *struct{ Text string }
		FirstPrompt *string `json:"first_prompt"`
		Sidechain   int     `json:"sidechain_lines"`
	}
	Tree struct {
		Nodes    int
		LastNode *string `json:"last_node"`
	}
	Models       map[string]int
	Usage        struct{ Messages, Input, Output, CacheRead, CacheWrite int64 }
	Tools        map[string]int
	Results      int
	ErrorResults int      `json:"error_results"`
	Unanswered   []string `json:"unanswered_calls"`
	Phrases      []struct {
		Phrase string
		Line   int
		Kind   session.Kind
		Lines  []int `json:"all_lines_with_it"`
	}
}

// visible returns the entries that do not repeat others.
func visible(entries []session.Entry) []session.Entry {
	return adapters.Read{Entries: entries}.Visible()
}

// Real files say what other readers read in them.
func TestTruth(t *testing.T) {
	for path, data := range adapters.Fixtures(t, "claude") {
		said, err := os.ReadFile(path + ".truth.json")
		if err != nil {
			t.Fatal(err)
		}
		var want truth
		if err := json.Unmarshal(said, &want); err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(path), func(t *testing.T) { compare(t, path, data, &want) })
	}
}

func compare(t *testing.T, path string, data []byte, want *truth) {
	all, problems, end := parse(t, path, data)
	if len(problems) > 0 || len(all) != want.Entries {
		t.Errorf("%d entries, want %d; problems %v", len(all), want.Entries, problems)
	}
	entries := visible(all)
	parts, tools, models := make(map[session.Kind]int), make(map[string]int), make(map[string]bool)
	usages := make(map[uint64]session.Usage)
	open := make(map[string]bool)
	var results, failed, nodes int
	var last, prompt, name string
	var rank uint8
	ids := make(map[string]bool)
	for _, e := range all {
		ids[e.ID] = true
	}
	for _, e := range entries {
		for _, part := range e.Parts {
			if e.Role == session.RoleToolResult && part.Kind == session.KindDetails {
				continue // which the other readers do not count
			}
			parts[part.Kind]++
		}
		if !e.Apart {
			nodes, last = nodes+1, e.ID
		}
		if prompt == "" && e.Side == "" {
			prompt = e.UserText
		}
		if e.Type == session.TypeSessionInfo && e.NameRank >= rank && (e.TargetID == "" || ids[e.TargetID]) {
			name, rank = e.Name, e.NameRank
		}
		if e.Role == session.RoleAssistant && e.Model != "" {
			models[e.Model] = true
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
			if f.Failed || f.Rejected {
				failed++
			}
		}
		for _, c := range f.Calls {
			tools[c.Tool]++
			open[c.ID] = true
		}
	}

	wantParts := want.PartsByKind
	wantParts[session.KindData] -= len(all) - len(entries) // prompts in the queue that other lines repeat
	for _, kind := range []session.Kind{session.KindData, session.KindMeta, session.KindDetails} {
		wantParts[kind] -= silent(data, kind)
		if wantParts[kind] == 0 {
			delete(wantParts, kind)
		}
	}
	if diff := cmp.Diff(wantParts, parts); diff != "" {
		t.Errorf("parts by kind (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Tools, tools, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if nodes != want.Tree.Nodes || want.Tree.LastNode != nil && last != *want.Tree.LastNode {
		t.Errorf("%d entries in the tree, the last one %s; want %d, %v", nodes, last, want.Tree.Nodes, want.Tree.LastNode)
	}
	if results != want.Results || failed != want.ErrorResults || len(open) != len(want.Unanswered) {
		t.Errorf("%d results, %d failed, %d calls without one; want %d, %d, %d", results, failed, len(open), want.Results, want.ErrorResults, len(want.Unanswered))
	}

	delete(want.Models, "<synthetic>")
	if len(models) != len(want.Models) {
		t.Errorf("models %v, want %v", models, want.Models)
	}
	var sum session.Usage
	for _, u := range usages {
		sum.Input, sum.Output, sum.CacheRead, sum.CacheWrite = sum.Input+u.Input, sum.Output+u.Output, sum.CacheRead+u.CacheRead, sum.CacheWrite+u.CacheWrite
	}
	w := want.Usage
	if diff := cmp.Diff(session.Usage{Input: w.Input, Output: w.Output, CacheRead: w.CacheRead, CacheWrite: w.CacheWrite}, sum); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}

	h := end.Header
	if want.Session.ID != nil && (h.Relation != session.Spawned && h.ID != *want.Session.ID || h.Relation == session.Spawned && h.ParentSession != *want.Session.ID) {
		t.Errorf("header %+v, want the id %s", h, *want.Session.ID)
	}
	if cwds := want.Session.CWDs; len(cwds) > 0 && h.CWD != cwds[0] || len(cwds) == 0 && h.CWD != "" {
		t.Errorf("directory %q, want %v", h.CWD, cwds)
	}
	if git := want.Session.GitBranches; len(git) > 0 && h.Git != git[len(git)-1] {
		t.Errorf("branch %q, want %v", h.Git, git)
	}
	switch title := want.Session.Title; {
	case title == nil && name != "", title != nil && name != title.Text:
		t.Errorf("name %q, want %v", name, title)
	}
	if said := want.Session.FirstPrompt; h.Relation != session.Spawned && (said == nil) != (prompt == "") || said != nil && !strings.HasPrefix(prompt, *said) {
		t.Errorf("first prompt %q", prompt)
	}

	for _, phrase := range want.Phrases {
		var got []int
		for _, e := range entries {
			for _, part := range e.Parts {
				if bytesContain(part.Text, phrase.Phrase) && part.Kind == phrase.Kind {
					got = append(got, e.Line)
				}
			}
		}
		if len(got) == 0 || got[0] != phrase.Line || len(got) > 1 && phrase.Kind != session.KindReply && phrase.Kind != session.KindThinking {
			t.Errorf("%q is in parts of the kind %s on the lines %v, want %d", phrase.Phrase, phrase.Kind, got, phrase.Line)
		}
	}
}

func bytesContain(text []byte, phrase string) bool { return strings.Contains(string(text), phrase) }

// silent counts the lines whose text has the kind, but which have no text: a number, the
// names of files that calls name, or a mark that the queue moved on. The other readers count
// them.
func silent(data []byte, kind session.Kind) (n int) {
	for line := range strings.Lines(string(data)) {
		var l struct {
			Type, Subtype, Operation string
			Data                     struct{ Type, Output string }
			Attachment               struct {
				Type         string
				AllowedTools []string
			}
		}
		if json.Unmarshal([]byte(line), &l) != nil {
			continue
		}
		switch {
		case kind == session.KindData && (l.Type == lineSnapshot || l.Operation == "dequeue"),
			kind == session.KindMeta && l.Subtype == "turn_duration",
			kind == session.KindDetails && l.Data.Type == "bash_progress" && l.Data.Output == "",
			kind == session.KindDetails && l.Attachment.Type == "command_permissions" && len(l.Attachment.AllowedTools) == 0:
			n++
		}
	}
	return n
}

// An entry that is read alone is what it was in order, and reading on from a state at any line
// gives what reading at once gives. Of an entry of which only some texts are wanted, each part keeps
// its number.
func TestAloneAndHalves(t *testing.T) {
	for path, data := range inOrder(t) {
		state := adapter.State{Path: path, Facts: true}
		adapters.Alone(t, New(), state, data)
		adapters.Halves(t, New(), state, data)
		adapters.Sparse(t, New(), state, data)
	}
}

// inOrder returns the fixtures, and a file with all lines of other tests.
func inOrder(t testing.TB) map[string][]byte {
	files := adapters.Fixtures(t, "claude")
	var lines []string
	for _, tt := range lineTests {
		lines = append(lines, tt.line)
	}
	for _, tt := range placeTests {
		lines = append(lines, tt.lines...)
	}
	for _, tt := range queueTests {
		lines = append(lines, tt.lines...)
	}
	files[sessionFile] = []byte(strings.Join(lines, "\n") + "\n")
	return files
}
