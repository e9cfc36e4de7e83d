package merge_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/lab/stories"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
	"pigrep/query/merge"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// fork returns a session that has copied the lines of another one, and goes on with more.
func fork(parent stories.Story, text, name string, more ...stories.Turn) string {
	header, rest, _ := strings.Cut(text, "\n")
	header = strings.Replace(header, parent.ID, "id-of-"+name, 1)
	header = strings.Replace(header, `"type":"session"`, `"type":"session","parentSession":"/elsewhere/`+parent.Name+`.jsonl"`, 1)
	header = strings.Replace(header, "T12:00:00.000Z", "T13:00:00.000Z", 1)
	own := stories.Story{Name: name, Start: stories.Day, Entries: more}
	_, added, _ := strings.Cut(own.Text(), "\n")
	return header + "\n" + rest + added
}

// copied has a session, an older copy of it on another host, a fork beside that copy, and other
// sessions. left names the files that a single index would not have.
func copied() (files map[string]string, hosts map[string]int, left []string) {
	parent := stories.Story{Name: "parent", ID: "0123-parent", CWD: "/home/u/atlas", Start: stories.Day}
	for i := range 6 {
		call := stories.Called("bash", map[string]any{"command": fmt.Sprint("go test ./token", i)})
		call.Minute = i
		said := stories.Reply(fmt.Sprintf("the login token %d is renamed", i))
		said.Minute = i
		parent.Entries = append(parent.Entries, said, call)
	}
	text := parent.Text()
	older := text[:strings.LastIndex(text[:len(text)-1], "\n")+1]
	again := stories.Reply("the fork has a login token of its own")
	again.Minute = 500
	other := stories.Story{Name: "other", CWD: "/home/u/web", Start: stories.Day.AddDate(0, 0, 3), Entries: []stories.Turn{stories.Prompt("where is the login token"), stories.Called("read", map[string]any{"path": "/src/login.ts"})}}
	files = map[string]string{"a/parent.jsonl": text, "b/parent.jsonl": older, "b/fork.jsonl": fork(parent, older, "fork", again), "c/other.jsonl": other.Text()}
	maps.Copy(files, odd)
	return files, map[string]int{"a/parent.jsonl": 0, "b/parent.jsonl": 1, "b/fork.jsonl": 1, "c/other.jsonl": 2}, []string{"b/parent.jsonl"}
}

// A session that two hosts have counts once, on the host that has more of it; what a fork has
// copied of it counts once too.
func TestCopiesOnTwoHostsCountOnce(t *testing.T) {
	files, hosts, left := copied()
	s := divide(t, files, 3, func(name string) int { return hosts[name] })
	for _, name := range left {
		delete(files, name)
	}
	one := divide(t, files, 3, func(name string) int { return hosts[name] })
	rename := func(text string) string { // the places of both scenes
		for _, x := range []*scene{s, one} {
			for path, name := range x.files {
				text = strings.ReplaceAll(text, path, name)
			}
		}
		return text
	}
	compare := func(what string, want, got any) {
		t.Helper()
		if a, b := rename(plain(t, want)), rename(plain(t, got)); a != b {
			t.Errorf("%s (-one index +three hosts):\n%s", what, gocmp.Diff(a, b))
		}
	}
	for _, text := range []string{"login token", "fork", `"token 5"`, "renamed", "getUserName", "tokn"} {
		for _, flat := range []bool{true, false} {
			req := search.Request{Text: text, Flat: flat, Env: filter.Env{Now: now}}
			want, err := one.unsplit(t, req)
			check(t, err)
			got, err := s.asOne(t, req)
			check(t, err)
			for _, r := range []*search.Response{want, got} {
				r.Index = search.IndexState{}
				for i := range r.Hits {
					r.Hits[i].Copies = nil // the older copy is one
				}
			}
			compare(fmt.Sprint(text, " flat ", flat), want, got)
		}
	}
	want, err := sessions.List(t.Context(), one.all, one.adapter, stories.Disk{}, sessions.Request{})
	check(t, err)
	d := s.division(t)
	var lists []*sessions.Response
	var tables []*audit.ToolTable
	for i, r := range s.hosts {
		l, err := sessions.List(t.Context(), r, s.adapter, stories.Disk{}, sessions.Request{Joint: search.Joint{Elsewhere: d.elsewhere[i]}})
		check(t, err)
		lists = append(lists, l)
		table, err := audit.Tools(t.Context(), r, s.adapter, stories.Disk{}, audit.Request{Joint: search.Joint{Shared: &words.Statistics{}, Elsewhere: d.elsewhere[i]}})
		check(t, err)
		tables = append(tables, table)
	}
	got := merge.Sessions(&sessions.Request{}, lists)
	if want.Total != got.Total || len(want.Sessions) != len(got.Sessions) {
		t.Errorf("%d sessions, want %d", got.Total, want.Total)
	}
	wantTools, err := audit.Tools(t.Context(), one.all, one.adapter, stories.Disk{}, audit.Request{})
	check(t, err)
	compare("tools", wantTools.Rows, merge.Tools(tables).Rows)
}

// The same random sessions on every host are those of one.
func TestEverythingTwice(t *testing.T) {
	files := map[string]string{}
	for _, s := range rapid.Custom(stories.DrawStories).Example(77) {
		for _, host := range "ab" {
			files[fmt.Sprintf("%c/%s.jsonl", host, s.Name)] = s.Text()
		}
	}
	s := divide(t, files, 2, func(name string) int { return int(name[0] - 'a') })
	maps.DeleteFunc(files, func(name, _ string) bool { return name[0] == 'b' })
	one := divide(t, files, 2, func(string) int { return 0 })
	rapid.Check(t, func(rt *rapid.T) {
		req := drawSearch(rt)
		want, err := one.unsplit(rt, req)
		if invalid(err) {
			return
		}
		check(rt, err)
		got, err := s.asOne(rt, req)
		check(rt, err)
		want.Index, got.Index = search.IndexState{}, search.IndexState{}
		text := func(s *scene, r *search.Response) string {
			text := plain(rt, r)
			for path, name := range s.files {
				text = strings.ReplaceAll(text, path, name)
			}
			return text
		}
		if a, b := text(one, want), text(s, got); a != b {
			rt.Fatalf("%q (-one host +two hosts):\n%s", req.Text, gocmp.Diff(a, b))
		}
	})
}

// Elsewhere names each session that several hosts have for all of them but one.
func TestElsewhere(t *testing.T) {
	got := merge.Elsewhere([][]search.Identity{
		{{Hash: 1, Size: 10}, {Hash: 2, Size: 20}, {Hash: 2, Size: 5}, {Hash: 3, Size: 7}},
		{{Hash: 1, Size: 11}, {Hash: 2, Size: 20}},
		nil,
		{{Hash: 2, Size: -1}, {Hash: 4, Size: 1 << 60}},
	})
	if fmt.Sprint(got) != "[[1] [2] [] [2]]" {
		t.Errorf("%v", got)
	}
}

// What a fork has copied of a session on another host counts once: in lists with any limit, in all
// their numbers, in facets and in audits.
func TestForkOnAnotherHost(t *testing.T) {
	files, hosts, _ := copied()
	delete(files, "b/parent.jsonl")
	s := divide(t, files, 3, func(name string) int { return hosts[name] })
	if d := s.division(t); len(d.forks) != 1 || len(d.lost[1]) != 11 || len(d.lost[0])+len(d.common[2]) != 0 {
		t.Fatalf("forks %v, lost %v", d.forks, d.lost)
	}
	for _, text := range []string{"login token", "renamed", "fork", `"token 5"`, "go test", "tokn"} {
		for _, req := range []search.Request{{Flat: true}, {}, {Limit: 1}, {Limit: 2, Flat: true}, {PerSession: search.All}, {Any: true}} {
			for _, in := range [][]string{nil, {"id-of-fork"}} { // with this filter the copies stand for themselves
				req.Text, req.Sessions, req.Env = text, in, filter.Env{Now: now}
				want, err := s.unsplit(t, req)
				check(t, err)
				got, err := s.asOne(t, req)
				check(t, err)
				for _, r := range []*search.Response{want, got} {
					for i := range r.Hits {
						r.Hits[i].Copies = nil // names those on the same host
					}
				}
				if a, b := plain(t, want), plain(t, got); a != b {
					t.Errorf("%q in %q, limit %d (-one index +three hosts):\n%s", text, in, req.Limit, gocmp.Diff(a, b))
				}
			}
		}
	}
}

// The values of filters are those of all hosts.
func TestValues(t *testing.T) {
	a := []sessions.Facet{{Field: "kind", Value: "prompt"}, {Field: "tool", Value: "bash", Count: 3, Unit: "part"}, {Field: "tool", Value: "read", Count: 1, Unit: "part"}, {Field: "project", Value: "web", Count: 1}, {Field: "project", Value: "atlas", Count: 9}}
	b := []sessions.Facet{{Field: "kind", Value: "prompt"}, {Field: "tool", Value: "read", Count: 5, Unit: "part"}, {Field: "project", Value: "api", Count: 4}, {Field: "branch", Value: "active"}}
	got := ""
	for _, f := range *merge.Values([]*[]sessions.Facet{&a, &b}) {
		got += fmt.Sprint(f.Field, ":", f.Value, " ", f.Count, "\n")
	}
	if want := "kind:prompt 0\ntool:read 6\ntool:bash 3\nproject:web 1\nproject:atlas 9\nproject:api 4\nbranch:active 0\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
