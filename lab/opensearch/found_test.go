//go:build unix

package opensearch

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/index/segment"
	"pigrep/indexer"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/remote/opensearch"
	"pigrep/scope"
)

// everyWord looks for the terms of all texts: the engine must choose at least the sessions that
// the index of this machine finds.
func everyWord(t *testing.T, m *machine, url, prefix string) {
	archive, err := opensearch.Open(opensearch.Config{Name: "team", URL: url, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	registry := adapter.NewRegistry(adapter.Environment{}, agents.All()...)
	built, err := indexer.Update(t.Context(), indexer.Options{
		Dir: filepath.Join(t.TempDir(), "index"), Adapter: registry, Roots: []adapter.Root{{Path: m.sessions, Origin: "test"}},
		Now: time.Now, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer built.Reader.Close()
	found := make(map[string]bool)
	for _, s := range built.Reader.Segments() {
		if err := s.Terms(segment.FieldText, nil, func(term []byte, _ int) bool { found[string(term)] = true; return true }); err != nil {
			t.Fatal(err)
		}
	}
	words := slices.Sorted(maps.Keys(found))
	step := max(1, len(words)/testkit.HowMany(100, 500, len(words)))
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(4)
	var looked atomic.Int64
	for i := 0; i < len(words); i += step {
		group.Go(func() error {
			spec, text := filter.Spec{Scope: scope.All}, `"`+words[i]+`"`
			here, err := sessions.List(ctx, built.Reader, registry, stories.Disk{}, sessions.FromSearch(search.Request{Text: text, Spec: spec, Limit: search.All}))
			if err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
			there := make(map[string]bool)
			var mu sync.Mutex
			_, err = archive.Sessions(ctx, &remote.Question{Text: text, Spec: spec, Brief: true}, func(s *remote.Session) error {
				mu.Lock()
				defer mu.Unlock()
				there[s.Path] = true
				return nil
			})
			if err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
			for _, s := range here.Sessions {
				if !there[s.SessionPath] {
					t.Errorf("%s is in %s, which is not found", text, s.SessionPath)
				}
			}
			if len(here.Sessions) > 0 { // a term may be cut, which the text does not have
				looked.Add(1)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("found %d of %d words", looked.Load(), len(words))
	if n := int(looked.Load()); n < 9*len(words)/step/10 {
		t.Errorf("of the %d words, %d were looked for and found", len(words), n)
	}
}

// other are the cases that an archive answers differently, as docs/teams.md says: a part of an
// identifier, and a typing error, are no hits where others are better.
var other = []string{"file and line", "Latin glued to Chinese"}

// everyCase asks the questions of testdata/searches here and there.
func everyCase(t *testing.T, m *machine, host string) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "searches", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		var cases []struct {
			Name         string
			Query, Flags []string
		}
		if err == nil {
			err = json.Unmarshal(data, &cases)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cases {
			if i%testkit.HowMany(20, 4, 1) > 0 {
				continue
			}
			asked++
			args := append([]string{"search", "--json", "--flat", "-n", "1000"}, c.Flags...)
			there, code := hitsOf(t, m, host, append(append(args, "--from", "team", "--"), c.Query...))
			here, want := hitsOf(t, m, host, append(append(args, "--session-dir", m.sessions, "--"), c.Query...))
			if same := slices.Equal(here, there) && code == want; same == slices.Contains(other, c.Name) {
				t.Errorf("%s: %q %q: exit code %d\n%s\nhere %d\n%s", c.Name, c.Flags, c.Query, code, strings.Join(there, "\n"), want, strings.Join(here, "\n"))
			}
		}
	}
	t.Logf("asked %d questions", asked)
}

// hitsOf returns which hits an answer has, and the exit code.
func hitsOf(t *testing.T, m *machine, host string, args []string) (list []string, code int) {
	t.Helper()
	out, errs, code := m.run(args...)
	var answer struct {
		Hits []struct {
			SessionPath, Kind, Tier string
			Line, Part              int
			Fragment                struct{ Spans [][2]int }
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%q: exit code %d, %s", args, code, errs)
	}
	for _, h := range answer.Hits {
		list = append(list, fmt.Sprintln(strings.TrimPrefix(h.SessionPath, host+":"), h.Line, h.Part, h.Kind, h.Tier, h.Fragment.Spans))
	}
	slices.Sort(list)
	return list, code
}
