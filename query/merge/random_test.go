package merge_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/merge"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/scope"
)

// shelves returns scenes with random stories, odd files among them. In some there are forks of
// one, on any host, and a fork of a fork.
func shelves(t *testing.T, n int) (list []*scene) {
	for seed := range n {
		files := maps.Clone(odd)
		for i, s := range rapid.Custom(stories.DrawStories).Example(seed + 50) {
			s.CWD = []string{"/home/u/atlas", "/home/u/web", ""}[i%3]
			call := stories.Called("bash", map[string]any{"command": fmt.Sprintf("git log token%d | head; ls /src/auth", i)})
			read := stories.Called("read", map[string]any{"path": fmt.Sprintf("/src/auth/login%d.ts", i%2)})
			call.Minute, read.Minute = 100+i, 101+i
			s.Entries = append(s.Entries, call, stories.Result("bash", "bash: gti: command not found token", i%2 == 0), read)
			for k := range s.Entries {
				if m := s.Entries[k].Message; m["role"] == "assistant" {
					m["usage"] = map[string]any{"input": 10*i + k, "output": 3, "cost": map[string]any{"total": 0.1*float64(i) + 0.07*float64(k)}}
				}
			}
			files[fmt.Sprintf("p%d/%s.jsonl", i%2, s.Name)] = s.Text()
			if seed%2 == 1 && i == 0 {
				s.ID = cmp.Or(s.ID, "id-of-"+s.Name)
				text, own := s.Text(), stories.Reply("the fork has a login token of its own")
				own.Minute = 300
				first := fork(s, text, "fork", own)
				files["p0/fork.jsonl"] = first
				files["p1/again.jsonl"] = fork(stories.Story{Name: "fork", ID: "id-of-fork"}, first, "again", stories.Called("bash", map[string]any{"command": "go test ./token"}))
			}
		}
		list = append(list, divide(t, files, 3, atRandom(3, uint64(seed))))
	}
	return list
}

// plain returns the JSON of an answer without the generation of the index.
func plain(t tester, answer any) string {
	data, err := json.MarshalIndent(answer, "", " ")
	check(t, err)
	var v any
	check(t, json.Unmarshal(data, &v))
	if m, ok := v.(map[string]any); ok {
		if state, ok := m["index"].(map[string]any); ok {
			delete(state, "generation")
		}
	}
	data, err = json.MarshalIndent(withoutNothing(v), "", " ")
	check(t, err)
	return string(data)
}

// withoutNothing removes what is null or an empty list, which are the same.
func withoutNothing(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if list, ok := x.([]any); x == nil || ok && len(list) == 0 {
				delete(v, k)
			} else {
				v[k] = withoutNothing(x)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNothing(v[i])
		}
	}
	return v
}

func drawSpec(t *rapid.T) (spec filter.Spec) {
	switch rapid.IntRange(0, 9).Draw(t, "filter") {
	case 0:
		spec.Kinds = []session.Kind{session.KindPrompt}
	case 1:
		spec.Projects = []string{"atlas"}
	case 2:
		spec.Scope = scope.All
	case 3:
		spec.Since = stories.Day.AddDate(0, 0, 10)
	case 4:
		spec.Tools = []string{"bash"}
	case 5:
		spec.Projects = []string{"atlsa"}
	}
	return spec
}

func drawSearch(t *rapid.T) search.Request {
	return search.Request{
		Text: stories.DrawQuery(t, 1) + rapid.SampledFrom([]string{"", "", "", " renameing", " conectoin", " now last", " how did the token end up", " tok*", " id-of", " zorblaxq connectoin", " connectivity"}).Draw(t, "more"),
		Spec: drawSpec(t), Env: filter.Env{Now: now}, Flat: rapid.Bool().Draw(t, "flat"), Sort: rank.Sort(rapid.IntRange(0, 2).Draw(t, "sort")),
		Limit: rapid.SampledFrom([]int{0, 1, 3, search.All}).Draw(t, "limit"), PerSession: rapid.SampledFrom([]int{0, 1, 2, search.All}).Draw(t, "per session"),
		Any: rapid.IntRange(0, 3).Draw(t, "any") == 0, AllWords: rapid.IntRange(0, 4).Draw(t, "all words") == 0,
	}
}

// withoutHidden leaves out how much other requests would find, if there are forks on other hosts.
func withoutHidden(r *search.Response, s *scene) {
	if len(s.parts.forks) > 0 {
		r.Removed, r.Words = nil, nil
	}
}

func same(t *rapid.T, what string, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(plain(t, want), plain(t, got)); diff != "" {
		t.Fatalf("%s (-one index +three hosts):\n%s", what, diff)
	}
}

func invalid(err error) bool {
	_, ok := errors.AsType[*words.TextError](err)
	return ok
}

// Three hosts answer random questions as one index does.
func TestRandom(t *testing.T) {
	list := shelves(t, testkit.HowMany(3, 5, 12))
	for name, ask := range map[string]func(t *testing.T, list []*scene){
		"searches": randomSearches, "lists": randomLists, "audits": randomAudits, "greps": randomGreps, "fixes": findFixes,
	} {
		t.Run(name, func(t *testing.T) { ask(t, list) })
	}
}

// Three hosts answer random searches, and lists and facets of them, as one.
func randomSearches(t *testing.T, list []*scene) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(list).Draw(rt, "scene")
		req := drawSearch(rt)
		want, err := s.unsplit(rt, req)
		if invalid(err) {
			return
		}
		check(rt, err)
		got, err := s.asOne(rt, req)
		check(rt, err)
		for _, r := range []*search.Response{want, got} {
			for i := range r.Hits {
				r.Hits[i].Copies = nil // names those on the same host
			}
			withoutHidden(r, s)
		}
		same(rt, req.Text, want, got)

		wantFacets, err := facets.Of(rt.Context(), s.all, s.adapter, stories.Disk{}, req)
		check(rt, err)
		req.Shared, err = s.shared(rt, req)
		check(rt, err)
		answers, err := together(rt, s, req, func(i int, req search.Request) (*facets.Response, error) {
			req.Common = s.division(rt).common[i]
			req.Env.Host = fmt.Sprint("h", i)
			return facets.Of(rt.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
		}, merge.AgainFacets)
		check(rt, err)
		counted := facets.Merge(answers)
		left := counted.Hits // on no host
		counted.Fields = slices.DeleteFunc(counted.Fields, func(f facets.Field) bool {
			for i := range f.Values {
				if f.Name == filter.Host {
					left -= f.Values[i].Hits
				}
			}
			return f.Name == filter.Host
		})
		if left != 0 {
			rt.Fatalf("%d hits of %q are on no host", left, req.Text)
		}
		same(rt, "facets of "+req.Text, wantFacets, counted)
	})
}

// Three hosts list sessions as one.
func randomLists(t *testing.T, list []*scene) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(list).Draw(rt, "scene")
		req := sessions.Request{Spec: drawSpec(rt), Env: filter.Env{Now: now}, Limit: rapid.SampledFrom([]int{0, 1, 3}).Draw(rt, "limit"), Named: rapid.IntRange(0, 5).Draw(rt, "named") == 0, Sort: rank.Sort(rapid.IntRange(0, 2).Draw(rt, "sort"))}
		if rapid.Bool().Draw(rt, "with a text") {
			req.Text = stories.DrawQuery(rt, 1)
		}
		want, err := sessions.List(rt.Context(), s.all, s.adapter, stories.Disk{}, req)
		if invalid(err) {
			return
		}
		check(rt, err)
		req.Shared = &words.Statistics{}
		if req.Text != "" {
			req.Shared, err = s.shared(rt, req.Search())
			check(rt, err)
		}
		answers, err := together(rt, s, req, func(i int, req sessions.Request) (*sessions.Response, error) {
			req.Common = s.division(rt).common[i]
			return sessions.List(rt.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
		}, merge.AgainSessions)
		check(rt, err)
		got := merge.Sessions(&req, answers)
		for _, r := range []*sessions.Response{want, got} {
			for i := range r.Sessions {
				r.Sessions[i].ParentPath, r.Sessions[i].SessionHit.Forks = "", 0 // known if they are on the same host
				if h := r.Sessions[i].Hit; h != nil {
					h.Copies = nil
				}
			}
			if len(s.parts.forks) > 0 {
				r.Removed, r.Words = nil, nil // as of withoutHidden
			}
		}
		same(rt, req.Text, want, got)
	})
}

// Three hosts count tools, programs, files and tokens as one.
func randomAudits(t *testing.T, list []*scene) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(list).Draw(rt, "scene")
		req := audit.Request{Spec: drawSpec(rt), Location: time.UTC, Failed: rapid.IntRange(0, 3).Draw(rt, "failed") == 0}
		req.Kinds, req.Scope = nil, ""
		part := req
		part.Joint = alone
		audits(rt, s, req, part)
	})
}

func audits(rt *rapid.T, s *scene, req, part audit.Request) {
	by := rapid.SampledFrom([][]string{{"tool"}, {"day", "tool"}, {"session"}, {"project"}, {"model"}, {"month"}}).Draw(rt, "by")
	ctx, lost := rt.Context(), s.division(rt).lost
	req.By, part.By = by, by
	{
		want, err := audit.Tools(ctx, s.all, s.adapter, stories.Disk{}, req)
		check(rt, err)
		answers, err := together(rt, s, part, func(i int, req audit.Request) (*audit.ToolTable, error) {
			req.Location, req.Lost = time.UTC, lost[i]
			return audit.Tools(ctx, s.hosts[i], s.adapter, stories.Disk{}, req)
		}, never)
		check(rt, err)
		same(rt, fmt.Sprint("tools by ", by), want, merge.Tools(answers))
	}
	{
		want, err := audit.Commands(ctx, s.all, s.adapter, stories.Disk{}, req)
		check(rt, err)
		answers, err := together(rt, s, part, func(i int, req audit.Request) (*audit.CommandTable, error) {
			req.Lost = lost[i]
			return audit.Commands(ctx, s.hosts[i], s.adapter, stories.Disk{}, req)
		}, never)
		check(rt, err)
		same(rt, "programs", want, merge.Commands(&req, answers))
	}
	for _, name := range []string{"", "login0.ts"} {
		want, err := audit.Files(ctx, s.all, req, name)
		check(rt, err)
		answers, err := together(rt, s, part, func(i int, req audit.Request) (*audit.FileTable, error) {
			req.Lost = lost[i]
			return audit.Files(ctx, s.hosts[i], req, name)
		}, never)
		check(rt, err)
		same(rt, "files "+name, want, merge.Files(answers))
	}
	{
		if by[0] == "tool" || len(by) > 1 {
			req.By, part.By = []string{"day"}, []string{"day"}
		}
		req.Rows = rapid.SampledFrom([]int{0, 2}).Draw(rt, "rows")
		want, err := audit.Usage(ctx, s.all, req)
		check(rt, err)
		answers, err := together(rt, s, part, func(i int, req audit.Request) (*audit.UsageTable, error) {
			req.Location, req.Lost = time.UTC, lost[i]
			return audit.Usage(ctx, s.hosts[i], req)
		}, never)
		check(rt, err)
		same(rt, fmt.Sprint("usage by ", req.By), want, merge.Usage(&req, answers))
	}
	{
		req.Limit = rapid.SampledFrom([]int{0, 2}).Draw(rt, "calls")
		rows := func(l *audit.CallList) (rows []audit.CallRow) {
			check(rt, l.Each(ctx, func(r *audit.CallRow) error { rows = append(rows, *r); return nil }))
			return rows
		}
		want, err := audit.Calls(ctx, s.all, s.adapter, stories.Disk{}, req)
		check(rt, err)
		var lists []*audit.CallList
		for i := range s.hosts {
			part.Lost = lost[i]
			l, err := audit.Calls(ctx, s.hosts[i], s.adapter, stories.Disk{}, part)
			check(rt, err)
			lists = append(lists, l)
		}
		got := merge.Calls(&req, lists)
		same(rt, "calls", rows(want), rows(got))
		same(rt, "list of calls", want, got)
	}
}

// Three hosts grep as one, and follow the same errors.
func randomGreps(t *testing.T, list []*scene) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(list).Draw(rt, "scene")
		req := grep.Request{
			Spec: drawSpec(rt), Patterns: []string{rapid.SampledFrom([]string{"token", "log.n", "the", "name$", "nowhere", "[a-c]"}).Draw(rt, "pattern")},
			Order: rapid.SampledFrom(append(grep.Orders, "")).Draw(rt, "order"), Limit: rapid.SampledFrom([]int{0, 0, 1, 4}).Draw(rt, "limit"),
			MaxCount: rapid.SampledFrom([]int{0, 2}).Draw(rt, "count"), After: rapid.IntRange(0, 1).Draw(rt, "after"), Brief: rapid.Bool().Draw(rt, "brief"),
		}
		var want, got []grep.Match
		wantSum, err := s.grep(rt.Context(), -1, req, func(m *grep.Match) error { want = append(want, *m); return nil })
		check(rt, err)
		var hosts []merge.Grepper
		for i := range s.hosts {
			hosts = append(hosts, func(ctx context.Context, visit func(*grep.Match) error) (*grep.Summary, error) {
				return s.grep(ctx, i, req, func(m *grep.Match) error { sent := overJSON(rt, *m); return visit(&sent) })
			})
		}
		gotSum, err := merge.Grep(rt.Context(), &req, hosts, func(m *grep.Match) error { got = append(got, *m); return nil })
		check(rt, err)
		same(rt, req.Patterns[0], want, got)
		if gotSum.Limited { // how many files were searched before is not known
			wantSum.Files, gotSum.Files, gotSum.Scanned = 0, 0, false
		}
		same(rt, "summary of "+req.Patterns[0], wantSum, gotSum)
	})
}

// Three hosts find the fixes of an error that one finds.
func findFixes(t *testing.T, list []*scene) {
	for _, s := range list {
		for _, text := range []string{"bash: gti: command not found", "token: no such thing", "zzz"} {
			req := fix.Request{Text: text, Env: filter.Env{Now: now}}
			want, err := fix.Find(t.Context(), s.all, s.adapter, stories.Disk{}, req)
			check(t, err)
			if req.Shared, err = s.sum(t, func(i int) (*words.Statistics, error) { return fix.Statistics(s.hosts[i], req) }); err != nil {
				t.Fatal(err)
			}
			answers, err := together(t, s, req, func(i int, req fix.Request) (*fix.Response, error) {
				req.Common = s.division(t).common[i]
				return fix.Find(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
			}, merge.AgainFix)
			check(t, err)
			if diff := gocmp.Diff(plain(t, want), plain(t, merge.Fix(&req, answers))); diff != "" {
				t.Errorf("%q (-one index +three hosts):\n%s", text, diff)
			}
		}
	}
}
