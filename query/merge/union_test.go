package merge_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pigrep/internal/lists"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/grep"
	"pigrep/query/merge"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// shelves returns scenes with random stories, odd files among them. In every other one there are
// copies: each host has the beginning of some sessions, and an end of its own.
func shelves(t *testing.T, n int) (list []*scene) {
	for seed := range n {
		files, where := maps.Clone(odd), map[string]int{}
		hostOf := atRandom(3, uint64(seed))
		for i, s := range rapid.Custom(stories.DrawStories).Example(seed + 50) {
			s.CWD, s.ID = []string{"/home/u/atlas", "/home/u/web", ""}[i%3], "id-of-"+s.Name
			call := stories.Called("bash", map[string]any{"command": fmt.Sprintf("git log token%d | head", i)})
			call.Minute = 100 + i
			s.Entries = append(s.Entries, call, stories.Result("bash", "bash: gti: command not found token", i%2 == 0))
			again := stories.Called("Bash", map[string]any{"command": "git status"}) // as another agent calls it
			again.Minute = 150 + i
			s.Entries = append(s.Entries, again, stories.Result("Bash", "nothing to commit", false))
			name := fmt.Sprintf("p%d/%s.jsonl", i%2, s.Name)
			files[name] = s.Text()
			if seed%2 == 0 || i%2 == 1 {
				continue
			}
			where[name] = 0
			for host := 1; host < 3; host++ { // the beginning is the same on all
				own := s
				end := stories.Reply(fmt.Sprintf("the login token ends on host%d", host))
				end.Minute = 200 + host
				own.Entries = append(slices.Clone(s.Entries[:len(s.Entries)/host]), end)
				copied := fmt.Sprintf("h%d/%s.jsonl", host, s.Name)
				files[copied], where[copied] = own.Text(), host
			}
		}
		list = append(list, divide(t, files, 3, func(name string) int {
			if host, ok := where[name]; ok {
				return host
			}
			return hostOf(name)
		}))
	}
	return list
}

// entriesOf returns what an index has of a request without a limit, each entry once, as a set.
func entriesOf(hits []search.Hit) map[string]bool {
	set := make(map[string]bool)
	for _, h := range hits {
		set[fmt.Sprint(h.Agent, " ", h.SessionID, " ", h.Timestamp, " ", h.Part, " ", h.Fragment.Text)] = true
	}
	return set
}

var typed = []string{"token", "login", "the token", "+login +token", `"login token"`, "host1", "host2", "git log", "kind:reply token", "nowhere-to-be-found"}

// Three hosts find every entry that one of them finds, each once, and as many as they list. Where no
// session is on two of them, they count what one index counts.
func TestUnionOfHits(t *testing.T) {
	list := shelves(t, testkit.HowMany(2, 4, 12))
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, len(list)-1).Draw(rt, "scene")
		s, copied := list[at], at%2 == 1
		req := search.Request{Text: rapid.SampledFrom(typed).Draw(rt, "query"), Limit: search.All, PerSession: search.All, AllWords: true, Flat: rapid.Bool().Draw(rt, "flat"), Sort: rank.Sort(rapid.IntRange(0, 2).Draw(rt, "sort")), Env: filter.Env{Now: now}}
		want := make(map[string]bool)
		for _, r := range s.hosts {
			found, err := search.Run(rt.Context(), r, s.adapter, stories.Disk{}, req)
			check(rt, err)
			maps.Copy(want, entriesOf(found.Hits))
		}
		got, err := s.asOne(rt, req)
		check(rt, err)
		if have := entriesOf(got.Hits); !maps.Equal(want, have) || len(have) != len(got.Hits) || got.Total != len(got.Hits) {
			rt.Fatalf("%q: %d hits, %d of them different, total %d; the hosts have %d", req.Text, len(got.Hits), len(have), got.Total, len(want))
		}
		if copied {
			return
		}
		one, err := s.unsplit(rt, req)
		check(rt, err)
		if a, b := one.Counts(), got.Counts(); a != b {
			rt.Fatalf("%q: one index counts %+v, three hosts %+v", req.Text, a, b)
		}
		req.Limit, req.PerSession = 2, 1
		few, err := s.asOne(rt, req)
		check(rt, err)
		if few.Total != one.Total || few.TotalIn != one.TotalIn || !few.TotalIsExact {
			rt.Fatalf("%q: %d hits in %d sessions, of one index %d in %d", req.Text, few.Total, few.TotalIn, one.Total, one.TotalIn)
		}
	})
}

// The last word that a host puts first for a question stands before its other hits in the answer of
// all, whatever its words.
func TestLastWordStandsFirst(t *testing.T) {
	for seed, s := range shelves(t, 4) {
		if seed%2 == 1 {
			continue // of copies only one stands
		}
		for _, text := range []string{"which token is it now", "what was the last login token in the end", "what is the latest login token of the git log"} {
			req := search.Request{Text: text, Limit: search.All, Flat: true, Env: filter.Env{Now: now}}
			joined, err := s.asOne(t, req)
			check(t, err)
			for _, r := range s.hosts {
				own, err := search.Run(t.Context(), r, s.adapter, stories.Disk{}, req)
				check(t, err)
				same := func(a, b *search.Hit) bool {
					return a.SessionPath == b.SessionPath && a.Offset == b.Offset && a.Part == b.Part
				}
				first := slices.IndexFunc(joined.Hits, func(h search.Hit) bool {
					return slices.ContainsFunc(own.Hits, func(o search.Hit) bool { return same(&h, &o) })
				})
				if first >= 0 && !same(&joined.Hits[first], &own.Hits[0]) {
					t.Errorf("%q: first of a host is %q, with others %q", text, own.Hits[0].Fragment.Text, joined.Hits[first].Fragment.Text)
				}
			}
		}
	}
}

// A host that does not know one of the words ranks its hits with the other as high as other hosts
// do: it is newer, so that its hit is the first.
func TestHostThatKnowsOneWord(t *testing.T) {
	story := func(name, day string, lines ...string) string {
		s := stories.Story{Name: name, ID: name}
		for _, l := range lines {
			s.Entries = append(s.Entries, stories.Prompt(l))
		}
		return strings.ReplaceAll(s.Text(), "2026-", day)
	}
	files := map[string]string{
		"a.jsonl": story("a", "2025-", "the walrus of the harbour", "nothing else"),
		"c.jsonl": story("c", "2025-", "the gibbon of the forest", "nothing else"),
		"b.jsonl": story("b", "2026-", "the walrus of the island", "nothing else"),
	}
	s := divide(t, files, 2, func(name string) int { return int(name[0]-'a') % 2 })
	req := search.Request{Text: "walrus gibbon", Limit: search.All, Flat: true, Env: filter.Env{Now: now}}
	for _, ask := range []func(tester, search.Request) (*search.Response, error){s.unsplit, s.asOne} {
		r, err := ask(t, req)
		check(t, err)
		var found []string
		for _, h := range r.Hits {
			found = append(found, h.Fragment.Text)

		}
		i, k := slices.Index(found, "the walrus of the island"), slices.Index(found, "the walrus of the harbour")
		if i < 0 || k < 0 || i > k {
			t.Errorf("found %q", found)
		}
	}
}

// A word occurs nowhere only if no host has it: hits of one may have only a similar one.
func TestNowhere(t *testing.T) {
	story := func(name string, lines ...string) string {
		s := stories.Story{Name: name, ID: name, Entries: lists.Map(lines, stories.Prompt)}
		return s.Text()
	}
	s := divide(t, map[string]string{
		"a.jsonl": story("a", "documentation of monsters", "wolverines"), "b.jsonl": story("b", "documentation of caves", "the cave"), "c.jsonl": story("c", "a docmentation, as typed"),
	}, 3, func(name string) int { return int(name[0] - 'a') })
	for text, want := range map[string]string{
		"documentatoin": "documentatoin occurs nowhere", "docmentation": "", "wolverinse": "wolverinse occurs nowhere",
		"documentatoin monsters": "documentatoin occurs nowhere", "documentation": "",
	} {
		r, err := s.asOne(t, search.Request{Text: text, Limit: search.All, Env: filter.Env{Now: now}})
		check(t, err)
		if why := search.ExplainWords(r.Words, r.Removed, "meant", search.Without); r.Total == 0 || why != want {
			t.Errorf("%q: %d hits, %q, want %q", text, r.Total, why, want)
		}
	}
}

// With a limit, nothing counts twice: there are at least as many hits as the answer says.
func TestAtLeast(t *testing.T) {
	for _, s := range shelves(t, 4)[1:] {
		for _, text := range []string{"token", "login"} {
			req := search.Request{Text: text, AllWords: true, Limit: search.All, PerSession: search.All, Flat: true, Env: filter.Env{Now: now}}
			all, err := s.asOne(t, req)
			check(t, err)
			req.Limit = 1
			few, err := s.asOne(t, req)
			check(t, err)
			if few.Total > all.Total || few.TotalIsExact && few.Total != all.Total {
				t.Errorf("%q: %d hits, exact is %v; there are %d", text, few.Total, few.TotalIsExact, all.Total)
			}
		}
	}
}

// A session that is on several hosts is listed once, with the copy that went on longest.
func TestUnionOfSessions(t *testing.T) {
	for i, s := range shelves(t, testkit.HowMany(4, 4, 8)) {
		for _, req := range []sessions.Request{{}, {Limit: 2}, {Text: "token", Limit: search.All}, {Forks: true}, {Order: "messages"}, {Order: "size", Text: "token", Limit: search.All}} {
			req.Together, req.Env = true, filter.Env{Now: now}
			answers, err := together(t, s, req, func(i int, req sessions.Request) (*sessions.Response, error) {
				list, err := sessions.List(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
				for k := range list.Sessions {
					list.Sessions[k].Host = fmt.Sprint("h", i)
				}
				return list, err
			})
			check(t, err)
			ids, total := map[string]time.Time{}, 0
			for _, r := range answers {
				for _, x := range r.Sessions {
					key := x.SessionID
					if key == "" {
						key = x.SessionPath
					}
					if _, ok := ids[key]; !ok {
						total++
					}
					if x.Modified.After(ids[key]) {
						ids[key] = x.Modified.Time
					}
				}
			}
			got := merge.Sessions(&req, answers)
			for k := range max(len(got.Sessions)-1, 0) {
				if a, b := got.Sessions[k], got.Sessions[k+1]; req.Order == "messages" && a.Messages < b.Messages || req.Order == "size" && a.Size < b.Size {
					t.Errorf("by %s: %d, %d messages and %d, %d bytes follow each other", req.Order, a.Messages, b.Messages, a.Size, b.Size)
				}
			}
			if req.Limit == 2 {
				if len(got.Sessions) > 2 || got.Total < len(ids) {
					t.Errorf("%d sessions of %d", len(got.Sessions), got.Total)
				}
				continue
			}
			if got.Total != total || len(got.Sessions) != total {
				t.Errorf("scene %d, %+v: %d sessions of %d, want %d", i, req, len(got.Sessions), got.Total, total)
			}
			for _, x := range got.Sessions {
				if x.SessionID != "" && !x.Modified.Equal(ids[x.SessionID]) {
					t.Errorf("%s was modified at %v, want %v", x.SessionID, x.Modified, ids[x.SessionID])
				}
			}
		}
	}
}

// A grep visits every line that one of the hosts has, each once.
func TestUnionOfLines(t *testing.T) {
	list := shelves(t, testkit.HowMany(2, 4, 8))
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, len(list)-1).Draw(rt, "scene")
		s := list[at]
		req := grep.Request{Patterns: []string{rapid.SampledFrom([]string{"token", "log.n", "the", "host[12]", "nowhere"}).Draw(rt, "pattern")}, Order: rapid.SampledFrom(append(grep.Orders, "")).Draw(rt, "order")}
		key := func(m *grep.Match) string {
			return fmt.Sprint(m.SessionID, " ", m.Timestamp, " ", m.Part, " ", m.Lines)
		}
		want, got, visited := map[string]bool{}, map[string]bool{}, 0
		var hosts []merge.Grepper
		for i := range s.hosts {
			hosts = append(hosts, func(ctx context.Context, visit func(*grep.Match) error) (*grep.Summary, error) {
				return s.grep(ctx, i, req, func(m *grep.Match) error {
					sent := overJSON(rt, *m)
					sent.Host = fmt.Sprint("h", i)
					return visit(&sent)
				})
			})
			_, err := s.grep(rt.Context(), i, req, func(m *grep.Match) error { want[key(m)] = true; return nil })
			check(rt, err)
		}
		sum, err := merge.Grep(rt.Context(), &req, hosts, func(m *grep.Match) error { got[key(m)] = true; visited++; return nil })
		check(rt, err)
		if !maps.Equal(want, got) || at%2 == 0 && sum.Lines != visited {
			rt.Fatalf("%s: %d matches, the hosts have %d", req.Patterns[0], len(got), len(want))
		}
		if visited != len(got) && at%2 == 1 {
			rt.Fatalf("%s: %d matches are visited, %d of them differ", req.Patterns[0], visited, len(got))
		}
	})
}

// Two copies of a session that differ are found by the end of each.
func TestBothEnds(t *testing.T) {
	text := stories.Story{Name: "a", ID: "zebra", CWD: "/home/u/a", Entries: []stories.Turn{stories.Prompt("the common beginning")}}
	files := map[string]string{}
	for host, word := range []string{"zebralaptop", "zebradesktop"} {
		own := text
		end := stories.Reply("it ends with " + word)
		end.Minute = 10 + host
		own.Entries = append(slices.Clone(text.Entries), end)
		files[fmt.Sprintf("h%d/a.jsonl", host)] = own.Text()
	}
	s := divide(t, files, 2, func(name string) int { return int(name[1] - '0') })
	for _, word := range []string{"zebralaptop", "zebradesktop", "beginning"} {
		for _, flat := range []bool{false, true} {
			got, err := s.asOne(t, search.Request{Text: word, Flat: flat, AllWords: true, Env: filter.Env{Now: now}})
			check(t, err)
			if len(got.Hits) != 1 || got.Total != 1 || !strings.Contains(got.Hits[0].Fragment.Text, word) {
				t.Errorf("%s: %d hits of %d", word, len(got.Hits), got.Total)
			}
		}
	}
}

// Tables of hosts count a session that several have once, and add up to what one index counts where
// none has a session of another.
func TestUnionOfTables(t *testing.T) {
	for i, s := range shelves(t, 4) {
		req := audit.Request{Location: time.UTC, By: []string{"tool"}}
		want, err := audit.Tools(t.Context(), s.all, s.adapter, stories.Disk{}, req)
		check(t, err)
		req.Together = true
		ask := func(without [][]uint64) []*audit.ToolTable {
			tables, err := together(t, s, req, func(i int, req audit.Request) (*audit.ToolTable, error) {
				if req.Location = time.UTC; without != nil {
					req.Without = without[i]
				}
				return audit.Tools(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
			})
			check(t, err)
			return tables
		}
		tables := ask(nil)
		var held [][]search.Held
		for _, table := range tables {
			held = append(held, table.Held)
		}
		without := merge.Without(held)
		if (without != nil) != (i%2 == 1) {
			t.Fatalf("scene %d: without %v", i, without)
		}
		if without != nil {
			tables = ask(without)
		}
		got := merge.Tools(tables)
		if got.Total.Calls != want.Total.Calls || i%2 == 0 && (got.Rows[0].Calls != want.Rows[0].Calls || *got.Rows[0].Tool != "bash" || len(got.Rows[0].ToolNames) != 2) {
			t.Errorf("scene %d: %d calls, of one index %d", i, got.Total.Calls, want.Total.Calls)
		}
	}
}

// The values that a filter offers come from all hosts.
func TestValues(t *testing.T) {
	a := []sessions.Facet{{Field: "kind", Value: "prompt"}, {Field: "tool", Value: "bash", Count: 3, Unit: "part"}, {Field: "tool", Value: "read", Count: 1, Unit: "part"}, {Field: "project", Value: "web", Count: 1}, {Field: "project", Value: "atlas", Count: 9}}
	b := []sessions.Facet{{Field: "kind", Value: "prompt"}, {Field: "tool", Value: "read", Count: 5, Unit: "part"}, {Field: "project", Value: "api", Count: 4}, {Field: "branch", Value: "active"}}
	got := ""
	for _, f := range merge.Values([][]sessions.Facet{a, b}) {
		got += fmt.Sprint(f.Field, ":", f.Value, " ", f.Count, "\n")
	}
	if want := "kind:prompt 0\ntool:read 6\ntool:bash 3\nproject:web 1\nproject:atlas 9\nproject:api 4\nbranch:active 0\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
