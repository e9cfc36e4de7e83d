package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/pi"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
)

// diary is sessions of several days, with entries of several minutes.
func diary(t testing.TB, sessions int) *library {
	var stories []story
	for i := range sessions {
		s := story{Name: fmt.Sprintf("d%02d", i), Start: day.AddDate(0, 0, (i*7)%sessions)}
		for k := range 4 {
			e := prompt(fmt.Sprintf("weather report %d of %d", k, i))
			if k == 2 {
				e = reply(fmt.Sprintf("only the weather %d", i))
			}
			e = e.Named(fmt.Sprintf("d%02d.%d", i, k))
			e.Minute = k
			s.Entries = append(s.Entries, e)
		}
		stories = append(stories, s)
	}
	return newLibrary(t, stories...)
}

// A sorted answer is the head of all hits sorted, whatever the limits.
func TestSearchSort(t *testing.T) {
	l := diary(t, 23)
	all := l.search(Request{Text: "weather report", Flat: true, Limit: 1000}).Hits
	all = slices.DeleteFunc(all, func(h Hit) bool { return len(h.Missing) > 0 })
	for _, order := range []rank.Sort{rank.Newest, rank.Oldest} {
		slices.SortFunc(all, func(a, b Hit) int {
			if order == rank.Newest {
				a, b = b, a
			}
			return a.Timestamp.Compare(b.Timestamp.Time)
		})
		for _, limit := range []int{1, 3, 20, 1000} {
			resp := l.search(Request{Text: "weather report", Flat: true, Limit: limit, Sort: order})
			var want, got []string
			for _, h := range all[:min(limit, len(all))] {
				want = append(want, h.EntryID)
			}
			for _, h := range resp.Hits {
				got = append(got, h.EntryID)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the first %d in the order %v (-want +got):\n%s", limit, order, diff)
			}
			if resp.Total != len(all) || resp.TotalAny != 92 {
				t.Errorf("totals %d and %d, want %d and 92", resp.Total, resp.TotalAny, len(all))
			}
		}
		resp := l.search(Request{Text: "weather report", Limit: 4, PerSession: 2, Sort: order})
		var times []time.Time
		for i, h := range resp.Hits {
			if i%2 == 0 {
				times = append(times, h.Timestamp.Time)
			}
		}
		sorted := slices.IsSortedFunc(times, func(a, b time.Time) int {
			if order == rank.Newest {
				return b.Compare(a)
			}
			return a.Compare(b)
		})
		if len(resp.Sessions) != 4 || !sorted || resp.Hits[0].EntryID != all[0].EntryID {
			t.Errorf("order %v: %d sessions, first hits at %v", order, len(resp.Sessions), times)
		}
	}
}

// What is not among the first sessions is not looked at.
func TestSearchSortReadsLittle(t *testing.T) {
	l := diary(t, 40)
	req := Request{Text: "weather", Sort: rank.Newest, Limit: 3}
	in, err := req.Resolve(t.Context(), l.Reader, pi.New(), Disk{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := rank.Run(t.Context(), in, req.Options())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := respond(t.Context(), &req, in, found); err != nil {
		t.Fatal(err)
	}
	loaded := found.RecordsRead()
	if loaded == 0 || loaded > 4 {
		t.Errorf("%d of 40 session records were read for three sessions", loaded)
	}
}

func TestSearchNeighbours(t *testing.T) {
	l := newLibrary(t, story{Name: "tree", Entries: []turn{
		prompt("first").Named("a"),
		called("bash", map[string]any{"command": "ls"}).Named("b"),
		{ID: "m", Fields: map[string]any{"type": "model_change", "provider": "acme", "modelId": "opus-9"}},
		prompt("needle").Named("c"),
		reply("abandoned answer").Named("x"),
		{ID: "d", Parent: "c", Message: reply("kept answer").Message},
		prompt("last").Named("e"),
	}})
	resp := l.search(Request{Text: "needle", Before: 2, After: 2})
	var got []string
	h := resp.Hits[0]
	for _, n := range append(h.Before, h.After...) {
		got = append(got, fmt.Sprintf("%s %s %d %s", n.EntryID, n.Kind, n.Line, n.Text))
	}
	want := []string{"a prompt 2 first", "b call 3 bash command: ls", "d reply 7 kept answer", "e prompt 8 last"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries around the hit (-want +got):\n%s", diff)
	}
	h = l.search(Request{Text: `"abandoned answer"`, Before: 1, After: 3}).Hits[0]
	if len(h.Before) != 1 || h.Before[0].EntryID != "c" || len(h.After) != 0 {
		t.Errorf("around the abandoned answer: %v and %v, want the prompt and nothing", h.Before, h.After)
	}
	if h = l.search(Request{Text: "needle"}).Hits[0]; h.Before != nil || h.After != nil {
		t.Errorf("neighbours %v, %v that nobody asked for", h.Before, h.After)
	}
}

func TestSearchDidYouMean(t *testing.T) {
	l := shelf(t)
	for _, c := range []struct{ text, want string }{
		{"bukcet token", "bucket token"},
		{"+(bukcet) kind:prompt", "+(bucket) kind:prompt"},
		{"wyh does, bukcet.", "why does, bucket."},
		{"token", ""},
		{"renaming", ""},
		{`"bukcet"`, ""},
		{"zzzzzz", ""},
		{"01a1f7", ""},
		{"e-rac", ""},
	} {
		if got := l.search(Request{Text: c.text}).DidYouMean; got != c.want {
			t.Errorf("Run(%q) asks whether %q was meant, want %q", c.text, got, c.want)
		}
	}
}

func TestSearchRemoved(t *testing.T) {
	l := shelf(t)
	for _, c := range []struct {
		req  Request
		want []Removed
	}{
		{Request{Text: "grep"}, []Removed{{"scope", 1}}},
		{Request{Text: "expire", Spec: filter.Spec{CWD: "/elsewhere"}}, []Removed{{"cwd", 1}}},
		{Request{Text: "expire", Spec: filter.Spec{CWD: "/elsewhere", Roles: []string{"nobody"}}}, []Removed{{"all", 1}}},
		{Request{Text: "auth", Spec: filter.Spec{Kinds: []session.Kind{session.KindTitle}}}, []Removed{{"kind", 3}}},
		{Request{Text: "auth", Spec: filter.Spec{Since: day.AddDate(1, 0, 0)}}, []Removed{{"since", 3}}},
		{Request{Text: "bucket -is:error kind:title"}, []Removed{{"kind:title", 1}}},
		{Request{Text: "zzzz", Spec: filter.Spec{CWD: "/elsewhere"}}, nil},
		{Request{Text: "kind:title"}, nil},
	} {
		resp := l.search(c.req)
		if diff := cmp.Diff(c.want, resp.Removed); diff != "" || resp.TotalAny != 0 {
			t.Errorf("Run(%+v): %d hits, removed (-want +got):\n%s", c.req, resp.TotalAny, diff)
		}
	}
	if resp := l.search(Request{Text: "auth"}); resp.Removed != nil {
		t.Errorf("a search with hits says that filters removed %v", resp.Removed)
	}
}

// The parts of a score are its factors.
func TestSearchExplain(t *testing.T) {
	l := shelf(t)
	resp := l.search(Request{Text: "auth token bucket", Explain: true, Flat: true})
	for _, h := range resp.Hits {
		e := h.Explain
		product := e.Text * e.Coverage * e.Recency * e.Kind * e.Closeness * e.Exactness * e.Session * e.Turn * e.Asked
		if diff := product - h.Score; diff > 0.01 || diff < -0.01 || !e.Looked || len(e.Words) != 3 {
			t.Errorf("%s: score %v, the product of %+v is %v", h.EntryID, h.Score, e, product)
		}
	}
	if h := l.search(Request{Text: "auth"}).Hits[0]; h.Explain != nil {
		t.Error("a score is explained that nobody asked about")
	}
}

func TestSearchLabelTarget(t *testing.T) {
	l := shelf(t)
	h := l.search(Request{Text: "keeper"}).Hits[0]
	if h.Kind != session.KindLabel || h.TargetID != "e-code" {
		t.Errorf("hit of kind %s on %q, want a label on e-code", h.Kind, h.TargetID)
	}
	if h = l.search(Request{Text: "expire"}).Hits[0]; h.TargetID != "" || strings.Contains(h.Fragment.Text, "keeper") {
		t.Errorf("a prompt has the target %q", h.TargetID)
	}
}
