package merge_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
	"pigrep/query/grep"
	"pigrep/query/merge"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// families returns a hostOf by which sessions that share entries are on one host.
func families(t *testing.T, files map[string]string, hosts int, seed uint64) func(string) int {
	s := divide(t, files, 1, func(string) int { return 0 })
	lineage, first := sessions.NewLineage(s.all), map[string]string{}
	for i := range s.all.Summaries() {
		var names []string
		for k := range lineage.Family(i) {
			names = append(names, s.files[s.all.Summary(k).Path])
		}
		first[s.files[s.all.Summary(i).Path]] = slices.Min(names)
	}
	random := atRandom(hosts, seed)
	return func(name string) int {
		if f := first[name]; f != "" {
			name = f
		}
		return random(name)
	}
}

// Sessions of all agents, divided at random but for families, are listed, counted and searched
// as those of one index.
func TestRealSessions(t *testing.T) {
	dirs := []string{filepath.Join(testkit.Root(), "testdata", "sessions")}
	if fixtures := os.Getenv("PIGREP_FIXTURES"); fixtures != "" && !testing.Short() {
		dirs = append(dirs, filepath.Join(fixtures, "real"))
	}
	for _, dir := range dirs {
		files := readFiles(t, dir)
		for name, text := range odd {
			files[name] = text
		}
		s := divide(t, files, 3, families(t, files, 3, 7))
		compare := func(what string, want, got any) {
			t.Helper()
			if diff := gocmp.Diff(plain(t, want), plain(t, got)); diff != "" {
				t.Errorf("%s of %s (-one index +three hosts):\n%s", what, filepath.Base(dir), diff)
			}
		}
		for _, text := range []string{"token", "session timeout", "how did we fix the error", "getUserName", "conection", "tok*", `"exit code"`, "kind:prompt", "git +commit", "nowhere-to-be-found"} {
			for _, flat := range []bool{false, true} {
				req := search.Request{Text: text, Flat: flat, Limit: 15, Env: filter.Env{Now: now}}
				want, err := s.unsplit(t, req)
				testkit.Check(t, err)
				got, err := s.asOne(t, req)
				testkit.Check(t, err)
				compare(text, want, got)
			}
		}
		for _, req := range []sessions.Request{{}, {Limit: 7}, {Forks: true}, {Forks: true, Limit: 3}, {Subagents: true}, {Named: true}} {
			want, err := sessions.List(t.Context(), s.all, s.adapter, stories.Disk{}, req)
			testkit.Check(t, err)
			req.Shared = &words.Statistics{}
			answers, err := together(t, s, req, func(i int, req sessions.Request) (*sessions.Response, error) {
				return sessions.List(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
			}, merge.AgainSessions)
			testkit.Check(t, err)
			compare(fmt.Sprintf("list %+v", req), want, merge.Sessions(&req, answers))
		}
		for _, by := range [][]string{{"tool"}, {"model", "tool"}, {"day"}, {"session"}, {"project"}} {
			one := audit.Request{By: by, Location: time.UTC}
			part := one
			part.Joint = alone
			want, err := audit.Tools(t.Context(), s.all, s.adapter, stories.Disk{}, one)
			testkit.Check(t, err)
			answers, err := together(t, s, part, func(i int, req audit.Request) (*audit.ToolTable, error) {
				return audit.Tools(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
			}, never)
			testkit.Check(t, err)
			compare(fmt.Sprint("tools by ", by), want, merge.Tools(answers))
			if by[0] == "tool" || len(by) > 1 {
				continue
			}
			for _, tree := range []bool{false, true} {
				one.Tree, part.Tree = tree, tree
				used, err := audit.Usage(t.Context(), s.all, one)
				testkit.Check(t, err)
				parts, err := together(t, s, part, func(i int, req audit.Request) (*audit.UsageTable, error) {
					return audit.Usage(t.Context(), s.hosts[i], req)
				}, never)
				testkit.Check(t, err)
				compare(fmt.Sprint("usage by ", by), used, merge.Usage(&one, parts))
			}
		}
		one := audit.Request{}
		programs, err := audit.Commands(t.Context(), s.all, s.adapter, stories.Disk{}, one)
		testkit.Check(t, err)
		counted, err := together(t, s, one, func(i int, req audit.Request) (*audit.CommandTable, error) {
			return audit.Commands(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
		}, never)
		testkit.Check(t, err)
		compare("programs", programs, merge.Commands(&one, counted))
		touched, err := audit.Files(t.Context(), s.all, one, "")
		testkit.Check(t, err)
		touchedBy, err := together(t, s, one, func(i int, req audit.Request) (*audit.FileTable, error) {
			return audit.Files(t.Context(), s.hosts[i], req, "")
		}, never)
		testkit.Check(t, err)
		compare("files", touched, merge.Files(touchedBy))
		for _, order := range grep.Orders {
			req := grep.Request{Patterns: []string{"error|token"}, Order: order, Limit: 500}
			var want, got []grep.Match
			_, err := s.grep(t.Context(), -1, req, func(m *grep.Match) error { want = append(want, *m); return nil })
			testkit.Check(t, err)
			var hosts []merge.Grepper
			for i := range s.hosts {
				hosts = append(hosts, func(ctx context.Context, visit func(*grep.Match) error) (*grep.Summary, error) {
					return s.grep(ctx, i, req, func(m *grep.Match) error { sent := overJSON(t, *m); return visit(&sent) })
				})
			}
			_, err = merge.Grep(t.Context(), &req, hosts, func(m *grep.Match) error { got = append(got, *m); return nil })
			testkit.Check(t, err)
			compare(fmt.Sprint("grep in order of ", order), want, got)
		}
	}
}
