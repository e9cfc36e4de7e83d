package gemini

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// truth is what another reader read in a file.
type truth struct {
	Session struct {
		ID          string
		Title       *string
		FirstPrompt *string `json:"first_prompt"`
		Start       string
	}
	Models       []string
	Usage        struct{ Input, Output, Cached, Thoughts, Tool, Responses int64 }
	Tools        map[string]int
	Results      int
	ErrorResults int `json:"error_results"`
	Rejected     int `json:"rejected_calls"`
	Parts        []struct {
		Line int
		Kind session.Kind
		Text string
	}
}

// fixtures returns the session files of Gemini among the fixtures, documents too.
func fixtures(t testing.TB) map[string][]byte {
	files := adapters.Fixtures(t, "gemini")
	root := testkit.Fixtures()
	if root == "" {
		root = filepath.Join(testkit.Root(), "testdata")
	}
	testkit.Check(t, filepath.WalkDir(filepath.Join(root, "agents", "gemini"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(d.Name(), "session-") || filepath.Ext(path) != document || strings.HasSuffix(path, ".truth.json") {
			return err
		}
		f, err := content.Open(path, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		files[path], err = io.ReadAll(f.Text())
		return err
	}))
	return files
}

// Files say what another reader reads in them, to the token.
func TestTruth(t *testing.T) {
	documents := 0
	for path, data := range fixtures(t) {
		if strings.HasSuffix(path, document) {
			documents++
		}
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(path)))+"/"+filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path + ".truth.json")
			if err != nil {
				t.Fatal(err)
			}
			var want truth
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			r := adapters.Parse(t, New(), adapter.State{Path: path, Facts: true}, data)
			if len(r.Problems) > 0 {
				t.Errorf("problems %v", r.Problems)
			}
			compare(t, &want, r)
		})
	}
	if documents == 0 {
		t.Error("no document")
	}
}

type part struct {
	Line int
	Kind session.Kind
	Text string
}

func compare(t *testing.T, want *truth, r adapters.Read) {
	var got, expected []part
	var title, prompt string
	tools, results, failed, rejected := make(map[string]int), 0, 0, 0
	models := make(map[string]bool)
	usages := make(map[uint64]session.Usage)
	for _, e := range r.Visible() {
		for _, p := range e.Parts {
			if p.Kind != session.KindDetails && len(p.Text) > 0 {
				got = append(got, part{e.Line, p.Kind, string(p.Text)})
			}
		}
		if e.Type == session.TypeSessionInfo {
			title = e.Name
		}
		if prompt == "" {
			prompt = e.UserText
		}
		if e.Model != "" {
			models[e.Model] = true
		}
		if f := e.Facts; f != nil {
			if f.HasUsage {
				usages[f.UsageOf] = f.Usage
			}
			if f.IsResult {
				results++
				if f.Failed && f.Exit == session.Unknown { // the program calls a command that fails a success
					failed++
				}
				if f.Rejected {
					rejected++
				}
			}
			for _, c := range f.Calls {
				if c.Kind != session.CallPlain {
					continue
				}
				tools[c.Tool]++
			}
		}
	}
	for _, p := range want.Parts {
		again := p.Kind == session.KindSystem && slices.ContainsFunc(expected, func(o part) bool { return o.Kind == p.Kind && o.Text == p.Text })
		if p.Kind == session.KindDetails || p.Kind == session.KindData && p.Line < 27 || again {
			continue // copies are hidden, and details joined
		}
		expected = append(expected, part(p))
	}
	order := func(a, b part) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(string(a.Kind), string(b.Kind))
	}
	slices.SortStableFunc(got, order)
	slices.SortStableFunc(expected, order)
	for i := range got {
		if i < len(expected) {
			if begin, _, cut := strings.Cut(expected[i].Text, "…"); cut && strings.HasPrefix(got[i].Text, begin) || got[i].Kind == session.KindData {
				expected[i].Text = got[i].Text
			}
		}
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Tools, tools, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	var sum session.Usage
	for _, u := range usages {
		sum.Input, sum.Output, sum.CacheRead = sum.Input+u.Input, sum.Output+u.Output, sum.CacheRead+u.CacheRead
	}
	u := want.Usage
	if diff := cmp.Diff(session.Usage{Input: u.Input - u.Cached + u.Tool, Output: u.Output + u.Thoughts, CacheRead: u.Cached}, sum); diff != "" || int64(len(usages)) != u.Responses {
		t.Errorf("usage of %d responses, want %d (-want +got):\n%s", len(usages), u.Responses, diff)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	h := r.End.Header
	if want.Session.FirstPrompt == nil { // nobody said anything: it is a file that a later start leaves
		want.Session.ID = ""
	}
	said := []any{h.ID, title, prompt, results, failed, rejected, len(models), h.Timestamp.Format("2006-01-02T15:04:05.000Z"), h.Version > 0}
	if diff := cmp.Diff([]any{want.Session.ID, text(want.Session.Title), text(want.Session.FirstPrompt), want.Results, want.ErrorResults, want.Rejected, len(want.Models), want.Session.Start, want.Session.FirstPrompt != nil}, said); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
}

// An entry that is read alone is what it was in order, and reading on at any line gives what
// reading at once gives. Of an entry of which only some texts are wanted, each part keeps its number.
func TestAloneAndHalves(t *testing.T) {
	for path, data := range fixtures(t) {
		state := adapter.State{Path: path, Facts: true}
		adapters.Alone(t, New(), state, data)
		adapters.Halves(t, New(), state, data)
		adapters.Sparse(t, New(), state, data)
		if n := bytes.IndexByte(data, '\n'); strings.HasSuffix(path, document) && n >= 0 {
			t.Errorf("%s has a line feed at %d", path, n)
		}
	}
}
