package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/query/engine/match"
	"pigrep/query/engine/rank"
)

func TestAlike(t *testing.T) {
	const long = "the worker could not open a connection to the database in time, and gives up after several attempts"
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"WORKER_1 connection timeout after 30s", "WORKER_27  connection timeout after 5s", true},
		{"at 12:03:04 timeout", "at 09:59:00 timeout", true},
		{"job 6f1c2a34-9b8d-4e7f-a012-3456789abcde timeout", "job 0a1c2a34-0b8d-4e7f-b012-3456789abcd0 timeout", true},
		{"commit 3f2a91c timeout", "commit 99aa01b timeout", true},
		{"2026-01-02T03:04:05.678Z timeout", "2026-11-22T23:14:15.001Z timeout", true},
		{"\ttimeout\n here", "timeout here", true},
		{"timeout of the cache", "timeout of the queue", false},
		{"timeout", "timeout here", false},
		{"install facade for the timeout", "install decade for the timeout", false}, // no ids: words
		{"… " + long + " timeout …", "… " + strings.TrimPrefix(long, "the worker ") + " timeout in …", true},
		{long + " timeout", long + " timeout in 7", false}, // not cut: that is all they say
		{"… a b timeout …", "… c b timeout …", false},
	} {
		hit := func(text string) *Hit {
			at := strings.Index(text, "timeout")
			return &Hit{Kind: "result", Fragment: match.Fragment{Text: text, Spans: [][2]int{{at, at + 7}}}}
		}
		a, b := wordingOf(hit(c.a)), wordingOf(hit(c.b))
		if got := a.alike(&b); got != c.want || b.alike(&a) != c.want {
			t.Errorf("%q and %q: alike %v, want %v both ways", c.a, c.b, got, c.want)
		}
	}
	// Hits that differ in the words searched for are not alike.
	issue := func(text string, spans ...[2]int) wording {
		return wordingOf(&Hit{Kind: "prompt", Fragment: match.Fragment{Text: text, Spans: spans}})
	}
	if a, b := issue("see issue 288", [2]int{10, 13}), issue("see issue 290"); a.alike(&b) {
		t.Error("the number that was searched for counts as any number")
	}
	a, b := issue("see it"), wordingOf(&Hit{Kind: "reply", Fragment: match.Fragment{Text: "see it"}})
	if a.alike(&b) {
		t.Error("a prompt and a reply are alike")
	}
}

// Hits of a session that say the same are shown once, and leave their places to others.
func TestHitsThatSayTheSame(t *testing.T) {
	var entries []turn
	add := func(e turn) { e.Minute = len(entries); entries = append(entries, e) }
	for i := range 6 {
		add(result("bash", fmt.Sprintf("WORKER_%d connection timeout", i+10), true).Named(fmt.Sprintf("w%d", i)))
	}
	add(prompt("what is the connection timeout of the pool of workers, by default?").Named("asked"))
	add(reply("the connection timeout of the pool is thirty seconds unless the file says otherwise").Named("said"))
	l := newLibrary(t, story{Name: "noisy", Entries: entries}, story{Name: "other", Entries: []turn{result("bash", "WORKER_3 connection timeout", true).Named("o")}})
	shown := func(req Request) (list []string) {
		req.Text = "connection timeout"
		for _, h := range l.search(req).Hits {
			name := h.EntryID
			if name[0] == 'w' {
				name = "w"
			}
			list = append(list, fmt.Sprintf("%s+%d", name, h.NearDuplicates))
		}
		return list
	}
	for _, c := range []struct {
		name string
		req  Request
		want []string
	}{
		{"as usual", Request{}, []string{"asked+0", "o+0", "said+0", "w+5"}},
		{"oldest first", Request{Sort: rank.Oldest}, []string{"asked+0", "o+0", "said+0", "w+5"}},
		{"two of each session, oldest first", Request{PerSession: 2, Sort: rank.Oldest}, []string{"asked+0", "o+0", "w+5"}},
		{"all of each session", Request{PerSession: All}, []string{"asked+0", "o+0", "said+0", "w+0", "w+0", "w+0", "w+0", "w+0", "w+0"}},
		{"flat", Request{Flat: true}, []string{"asked+0", "o+0", "said+0", "w+0", "w+0", "w+0", "w+0", "w+0", "w+0"}},
	} {
		got := shown(c.req)
		if diff := cmp.Diff(c.want, sorted(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	resp := l.search(Request{Text: "connection timeout"})
	if resp.Total != 9 || resp.Sessions[0].Hits+resp.Sessions[1].Hits != 9 {
		t.Errorf("total %d, want 9: hits that are not shown count too", resp.Total)
	}
}

// Only the best hits of a session are compared: how many more say the same is not known.
func TestManyThatSayTheSame(t *testing.T) {
	for n, want := range map[int]string{4: "and 3 more like it", 50: "and at least 9 more like it"} {
		var entries []turn
		for i := range n {
			e := result("bash", fmt.Sprintf("WORKER_%d connection timeout", i+10), true).Named(fmt.Sprintf("w%d", i))
			e.Minute = i
			entries = append(entries, e)
		}
		l := newLibrary(t, story{Name: "noisy", Entries: entries})
		hits := l.search(Request{Text: "connection timeout"}).Hits
		if len(hits) != 1 || !slices.Contains(hits[0].Notes(), want) {
			t.Errorf("%d hits: %d shown, notes %q, want %q", n, len(hits), hits[0].Notes(), want)
		}
	}
}
