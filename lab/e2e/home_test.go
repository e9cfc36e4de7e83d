package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/scope"
	"pigrep/ui/cli/location"
)

// home is a home directory with session files of several agents, and an index of them.
type home struct {
	dir      string
	opt      indexer.Options
	registry *adapter.Registry
}

func newHome(t *testing.T, list ...adapter.Agent) home {
	h := home{dir: t.TempDir()}
	all := adapter.NewRegistry(adapter.Environment{
		Home: h.dir, WorkDir: h.dir, Getenv: func(string) string { return "" }, ReadFile: os.ReadFile,
	}, list...)
	roots, err := all.Roots()
	if err != nil {
		t.Fatal(err)
	}
	return h.with(t, all, roots)
}

// homeOf returns a directory whose sessions belong to the agents that recognize them.
func homeOf(t *testing.T, dir string, list ...adapter.Agent) home {
	return home{dir: dir}.with(t, adapter.NewRegistry(adapter.Environment{}, list...), []adapter.Root{{Path: dir, Origin: "test"}})
}

func (h home) with(t *testing.T, all *adapter.Registry, roots []adapter.Root) home {
	h.registry = all.In(roots)
	h.opt = options(filepath.Join(t.TempDir(), "index"), "")
	h.opt.Adapter, h.opt.Roots = h.registry, roots
	return h
}

// again is the same directory with another index.
func (h home) again(t *testing.T) home {
	h.opt.Dir = filepath.Join(t.TempDir(), "index")
	return h
}

func (h home) update(t *testing.T) *indexer.Result {
	t.Helper()
	res, err := indexer.Update(t.Context(), h.opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Reader.Close() })
	return res
}

// checked is update, and compares the index with the files.
func (h home) checked(t *testing.T) *indexer.Result {
	t.Helper()
	res := h.update(t)
	if report, err := indexer.Check(t.Context(), h.opt, true); err != nil || len(report.Findings) > 0 || report.Changed > 0 || report.Compared != len(res.Found.Files) {
		t.Errorf("the index is not what the files say: %v %+v", err, report)
	}
	return res
}

// hits are those of a query in the scope all.
func (h home) hits(t *testing.T, r *index.Reader, query string) []search.Hit {
	t.Helper()
	answer, err := search.Run(t.Context(), r, h.registry, location.Disk{}, search.Request{
		Text: query, Spec: filter.Spec{Scope: scope.All}, Flat: true, Limit: search.All, Any: true, Env: filter.Env{Now: time.UnixMilli(1e13)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Hits
}

// wantHits tests what is found for queries: kinds and lines.
func (h home) wantHits(t *testing.T, r *index.Reader, queries map[string][]string) {
	t.Helper()
	for query, want := range queries {
		var got []string
		for _, hit := range h.hits(t, r, query) {
			got = append(got, fmt.Sprint(hit.Kind, " ", hit.Line))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// grow writes a file in steps, and tests that the index that follows it is the one that is made
// at once.
func (h home) grow(t *testing.T, path string, steps ...string) {
	t.Helper()
	for _, step := range steps {
		appendTo(t, path, step)
		res, err := indexer.Update(t.Context(), h.opt)
		if err != nil {
			t.Fatal(err)
		}
		res.Reader.Close()
	}
	equalStates(t, path, state(t, h.checked(t).Reader), state(t, h.again(t).update(t).Reader))
}
