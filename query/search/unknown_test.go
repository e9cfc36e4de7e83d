package search

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/query/engine/filter"
)

func TestUnknownProjects(t *testing.T) {
	sessions := []session.Summary{}
	add := func(cwd string) {
		s := session.Summary{}
		s.CWD = cwd
		sessions = append(sessions, s)
	}
	for _, cwd := range []string{"/home/u/pi-mono", "/home/u/app", "/home/u/src/app", "/srv/app-two", "", "/"} {
		add(cwd)
	}
	few := sessions
	for _, c := range []struct {
		sessions []session.Summary
		name     string
		want     string
	}{
		{few, "app", ""},
		{few, "src/app", ""},
		{few, "apl", "no project apl; projects like it: app, app-two"},
		{few, "mono", "no project mono; projects like it: pi-mono"},
		{few, "/home/u/pi-mon", "no project /home/u/pi-mon; projects like it: pi-mono"},
		{few, "zorblaxq", "no project zorblaxq; the projects are app, app-two, pi-mono"},
		{nil, "zorblaxq", "no project zorblaxq"},
	} {
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		if diff := cmp.Diff(want, unknownProjects(c.sessions, []string{c.name})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	for _, name := range []string{"atlas", "borg", "cello", "delta"} {
		add("/work/" + name)
	}
	if got := unknownProjects(sessions, []string{"zorblaxq"}); len(got) != 1 || got[0] != "no project zorblaxq" {
		t.Errorf("of many projects, none of them like it: %q", got)
	}
}

// An answer without hits says which values of its filters do not exist, and which do or are
// like them.
func TestSearchUnknownValues(t *testing.T) {
	l := shelf(t)
	id := l.search(Request{Text: "auth"}).Hits[0].SessionID
	for _, c := range []struct {
		req  Request
		want []string
	}{
		{Request{Text: "auth", Spec: filter.Spec{Projects: []string{"nope"}}}, []string{"no project nope; the projects are app, app-two"}},
		{Request{Text: "auth project:ap"}, []string{"no project ap; projects like it: app, app-two"}},
		{Request{Text: "auth project:app"}, nil},
		{Request{Text: "zorblaxq project:app"}, nil},
		{Request{Text: "auth", Spec: filter.Spec{Projects: []string{"nope", "app"}}}, nil},
		{Request{Text: "auth", Spec: filter.Spec{Tools: []string{"bogus"}}}, []string{"no tool bogus; the tools are bash"}},
		{Request{Text: "auth tool:bogus"}, []string{"no tool bogus; the tools are bash"}},
		{Request{Text: "auth", Spec: filter.Spec{Roles: []string{"bogus"}}}, []string{"no role bogus; the roles are assistant, system, toolResult, user"}},
		{Request{Text: "zorblaxq tool:Bash role:user"}, nil},
		{Request{Text: "auth", Spec: filter.Spec{Models: []string{"bogus"}}}, []string{"no model bogus; the models are opus-9"}},
		{Request{Text: "auth", Spec: filter.Spec{Sessions: []string{"bogus"}}}, []string{"no session bogus"}},
		{Request{Text: "auth session:" + id + "x"}, []string{"no session " + id + "x; sessions like it: " + id}},
		{Request{Text: "zorblaxq session:" + id}, nil},
	} {
		if diff := cmp.Diff(c.want, l.search(c.req).Warnings); diff != "" {
			t.Errorf("Run(%+v): warnings (-want +got):\n%s", c.req, diff)
		}
	}
}

// A word that occurs nowhere is named first although hits have a similar word, which the suggested query
// has. A word that occurs, or that only filters hide, is not named.
func TestAWordWithSimilarOnesOccursNowhere(t *testing.T) {
	l := newLibrary(t, story{Name: "a", CWD: "/p/one", Start: day, Entries: []turn{
		prompt("the monsters of the cave"), reply("monsters are fierce"), prompt("a monastery on the hill").Named("m"),
	}}, story{Name: "b", CWD: "/p/two", Start: day, Entries: []turn{prompt("wolverines and documentation"), reply("the documentation of monsters")}})
	for _, c := range []struct{ text, why, meant string }{
		{"docmentation", "docmentation occurs nowhere", "documentation"},
		{"docmentation monsters", "docmentation occurs nowhere", "documentation monsters"},
		{"docmentation wolverinse", "docmentation and wolverinse occur nowhere", "documentation wolverines"},
		{"documentation", "", ""},
		{"monastery", "", ""},
		{"documentation monsters", "", ""},
	} {
		r := l.search(Request{Text: c.text})
		if why := ExplainWords(r.Words, r.Removed, r.DidYouMean, Without); r.Total == 0 || why != c.why || r.DidYouMean != c.meant {
			t.Errorf("%q: %d hits, %q, meant %q; want %q, %q", c.text, r.Total, why, r.DidYouMean, c.why, c.meant)
		}
	}
	r := l.search(Request{Text: "monastery", Spec: filter.Spec{CWD: "/p/two"}})
	if why := ExplainWords(r.Words, r.Removed, r.DidYouMean, Without); strings.Contains(why, "nowhere") {
		t.Errorf("a word that another directory has: %q", why)
	}
}
