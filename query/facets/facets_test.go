package facets

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/syntax"
	"pigrep/query/search"
	"pigrep/scope"
)

// samples returns an index of testdata/sessions.
func samples(t testing.TB) (*index.Reader, adapter.Adapter) {
	t.Helper()
	home := t.TempDir()
	env := adapter.Environment{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, ReadFile: os.ReadFile}
	roots := []adapter.Root{{Path: filepath.Join(testkit.Root(), "testdata", "sessions")}}
	registry := adapter.NewRegistry(env, agents.All()...).In(roots)
	res, err := indexer.Update(t.Context(), indexer.Options{Dir: filepath.Join(home, "index"), Roots: roots, Adapter: registry, Now: time.Now, PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Reader.Close() })
	return res.Reader, registry
}

// A facet counts the hits with its value in the list of a query, and so the hits that the
// query lists with this value added.
func TestFacetsAreWhatTheirQueriesFind(t *testing.T) {
	r, a := samples(t)
	zone := time.FixedZone("", 5*3600+1800)
	// With a value more, there may be no hit that folds others.
	req := search.Request{Any: true, Env: filter.Env{Now: time.Date(2026, 9, 20, 12, 0, 0, 0, zone)}}
	count := func(text string, in scope.Scope) rank.Counts {
		t.Helper()
		only := req
		only.Text, only.Scope = text, in
		n, err := search.Count(t.Context(), r, a, stories.Disk{}, only)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return n.Counts
	}
	values, loose := 0, false
	for _, text := range []string{"token", "the", "session timeout", "project:atlas", "kind:result", `"session timeout"`, "getUserName", "token tool:bash", "is:error", "re:t.ken", "nowhere-to-be-found"} {
		for _, in := range []scope.Scope{scope.Prompts, scope.Conversations, scope.All} {
			req := req
			req.Text, req.Scope = text, in
			res, err := Of(t.Context(), r, a, stories.Disk{}, req)
			if err != nil {
				t.Fatal(err)
			}
			whole := count(text, in)
			if res.Hits != whole.Listed {
				t.Errorf("%s in %s: %d hits, want %+v", text, in, res.Hits, whole)
			}
			loose = loose || whole.Looser() > 0
			total := 0
			for _, d := range res.Days {
				total += d.Hits
			}
			if total != res.Hits {
				t.Errorf("%s in %s: %d hits on all days, want %d", text, in, total, res.Hits)
			}
			if whole.Total == 0 {
				continue // a field would leave out other hits
			}
			for _, f := range res.Fields {
				if len(syntax.FieldValues(text, f.Name)) > 0 {
					continue
				}
				for _, v := range f.Values {
					values++
					if got := count(syntax.AddField(text, f.Name, v.Name), in).Listed; got != v.Hits {
						t.Errorf("%s in %s: %s:%s has %d, and is said to have %d", text, in, f.Name, v.Name, got, v.Hits)
					}
				}
			}
			for _, d := range res.Days {
				values++
				on := fmt.Sprintf("%s after:%s before:%s", text, d.Start.Format("2006-01-02"), d.Start.AddDate(0, 0, 1).Format("2006-01-02"))
				if got := count(on, in).Listed; got != d.Hits {
					t.Errorf("%s in %s has %d, and is said to have %d", on, in, got, d.Hits)
				}
			}
		}
	}
	if values < 100 || !loose {
		t.Errorf("%d values were compared; looser hits among them: %v", values, loose)
	}
}

// Without a text, all documents in scope count.
// Hits that are folded are not counted.
func TestFacetsWithoutFoldedHits(t *testing.T) {
	s := stories.Story{Name: "redis", CWD: "/home/u/cache", Start: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	for i := range 5 {
		s.Entries = append(s.Entries, stories.Prompt(fmt.Sprintf("redis timeout %d", i)), stories.Reply(fmt.Sprintf("redis again %d", i)))
	}
	for i := range 30 {
		s.Entries = append(s.Entries, stories.Prompt(fmt.Sprintf("something else %d", i)))
	}
	l := stories.New(t, s)
	for any, want := range map[bool]int{false: 5, true: 10} {
		res, err := Of(t.Context(), l.Reader, pi.New(), stories.Disk{}, search.Request{Text: "redis timeout", Any: any, Env: filter.Env{Now: s.Start}})
		if err != nil {
			t.Fatal(err)
		}
		if res.Hits != want || res.Fields[0].Values[0] != (Value{"cache", want}) || res.Days[0].Hits != want {
			t.Errorf("any %v: %+v, want %d hits everywhere", any, res, want)
		}
	}
}

func TestFacetsOfEverything(t *testing.T) {
	r, a := samples(t)
	res, err := Of(t.Context(), r, a, stories.Disk{}, search.Request{Spec: filter.Spec{Scope: scope.All}, Env: filter.Env{Now: time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Hits != r.Documents() {
		t.Errorf("%d of %d documents", res.Hits, r.Documents())
	}
	kinds := 0
	for _, f := range res.Fields {
		for _, v := range f.Values {
			if f.Name == "kind" {
				kinds += v.Hits
			}
		}
	}
	if kinds != res.Hits {
		t.Errorf("%d documents of all kinds, want %d", kinds, res.Hits)
	}
}

// What agents call bash and Bash is one tool, and its filter finds both.
func TestNamesOfToolsInAnyCase(t *testing.T) {
	got := newField(tool, map[string]int{"Bash": 3, "bash": 2, "Read": 4, "": 1}).Values
	if want := []Value{{"bash", 5}, {"Read", 4}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := newField("project", map[string]int{"Web": 1, "web": 2}).Values; len(got) != 2 {
		t.Errorf("projects: %v", got)
	}
}
