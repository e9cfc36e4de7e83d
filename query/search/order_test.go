package search

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/query/engine/rank"
)

// Grouped by session, each of the ten best hits of all is shown, unless the number of hits
// of a session was given.
func TestGroupsShowTheBest(t *testing.T) {
	topics := strings.Fields("apples boats clouds doors engines ferries gardens hills")
	var list []story
	for i := range 5 {
		s := story{Name: fmt.Sprintf("s%d", i), Start: day}
		for k := range 8 {
			text := "redis number " + topics[k]
			if i == 2 {
				text = "redis timeout " + topics[k] // eight of the ten best
			}
			s.Entries = append(s.Entries, prompt(text).Named(fmt.Sprintf("s%d.%d", i, k)))
		}
		list = append(list, s)
	}
	l := newLibrary(t, list...)
	shown := func(req Request) (ids []string) {
		for _, h := range l.search(req).Hits {
			ids = append(ids, h.EntryID)
		}
		return ids
	}
	flat, grouped := shown(Request{Text: "redis timeout", Flat: true, Limit: 10}), shown(Request{Text: "redis timeout"})
	for _, id := range flat {
		if !slices.Contains(grouped, id) {
			t.Errorf("%s is among the ten best and not in the groups %v", id, grouped)
		}
	}
	if two := shown(Request{Text: "redis timeout", PerSession: 2}); len(two) != 2 {
		t.Errorf("hits with two of each session: %v", two)
	}
}

// Who asks how something is now gets what was said last about it, although something that
// was said before has more of the words. Other questions get what has more of them.
func TestTheLastWord(t *testing.T) {
	others := story{Name: "others", Start: day.AddDate(0, 1, 0)}
	for i := range 20 {
		others.Entries = append(others.Entries, reply(fmt.Sprintf("the gateway answers with %d", i)))
	}
	l := newLibrary(t, others, story{Name: "talk", Start: day, Entries: []turn{
		prompt("which redis timeout does the gateway have?").Named("asked"),
		reply("The redis timeout of the gateway is two seconds.").Named("old"),
		prompt("that timeout is too short"),
		reply("The timeout is nine seconds.").Named("new"),
		called("bash", map[string]any{"command": "grep -r 'redis timeout' gateway"}).Named("call"),
		result("bash", "gateway: the redis timeout, the redis timeout", false).Named("result"),
	}})
	for query, want := range map[string]string{
		"what is the redis timeout of the gateway now": "new",
		"is the redis timeout of the gateway still":    "new",
		"what was the redis timeout of the gateway":    "old",
	} {
		if hits := l.search(Request{Text: query}).Hits; hits[0].EntryID != want {
			t.Errorf("%q: the first hit is %s (%s), want %s", query, hits[0].EntryID, hits[0].Fragment.Text, want)
		}
	}
}

// A short list leaves out the hits that have only words which say little. They count, and
// a long list has them.
func TestShortListOfWeightyHits(t *testing.T) {
	s := story{Name: "talk", Start: day}
	for i := range 30 {
		s.Entries = append(s.Entries, prompt(fmt.Sprintf("how does this work, what is it for %d", i)))
	}
	s.Entries = append(s.Entries, prompt("the fsmonitor hook").Named("right"), reply("It watches files."))
	l := newLibrary(t, s)
	short := l.search(Request{Text: "how does the fsmonitor work", Flat: true})
	if len(short.Hits) != 1 || short.Hits[0].EntryID != "right" || short.TotalAny != 31 {
		t.Errorf("%d of %d hits, the first %+v; want one of 31", len(short.Hits), short.TotalAny, short.Hits[:1])
	}
	missing, _ := short.Hits[0].Told()
	if diff := cmp.Diff([]string{"work"}, missing); diff != "" || len(short.Hits[0].Missing) != 3 {
		t.Errorf("missing %v, told %v: want how, does and work, and of these the one that says something", short.Hits[0].Missing, missing)
	}
	if long := l.search(Request{Text: "how does the fsmonitor work", Flat: true, Limit: All}); len(long.Hits) != 31 {
		t.Errorf("%d hits without a limit, want 31", len(long.Hits))
	}
	if none := l.search(Request{Text: "how does this", Flat: true}); len(none.Hits) != 20 {
		t.Errorf("%d hits of words that all say little, want a full list of 20", len(none.Hits))
	}
}

// A question finds the session with its answer, and no session that has only the words
// that every question has.
func TestQuestion(t *testing.T) {
	chatter := story{Name: "chatter", Start: day.AddDate(0, 2, 0)} // the newest
	for i := range 40 {
		chatter.Entries = append(chatter.Entries, prompt(fmt.Sprintf("why did we do this, and why did we not do that? %d", i)), reply("We did it because we had to."))
	}
	l := newLibrary(t, chatter,
		story{Name: "decision", Start: day, Entries: []turn{prompt("which database?"), reply("SQLite: we choose it because it needs no server.").Named("answer")}},
		story{Name: "colours", Start: day.AddDate(0, 1, 0), Entries: []turn{prompt("choose a colour for the button")}},
	)
	for _, text := range []string{"why did we choose sqlite", "why did we choose SQLite?", "why did we chose sqlite", "sqlite why"} {
		resp := l.search(Request{Text: text})
		if resp.Hits[0].EntryID != "answer" {
			t.Errorf("%s: first hit %s, want the answer", text, resp.Hits[0].EntryID)
		}
		for _, h := range resp.Hits {
			if h.SessionID == "id-of-chatter" {
				t.Errorf("%s: a hit lacks %v: %s", text, h.Missing, h.Fragment.Text)
			}
		}
	}
}

// Of a word that occurs in parts only, the hits with all parts are shown, if there are any.
func TestShortListOfAllParts(t *testing.T) {
	s := story{Name: "users", Start: day, Entries: []turn{prompt("get the user a name").Named("all"), prompt("theme").Named("theme")}}
	for i := range 30 {
		s.Entries = append(s.Entries, prompt(fmt.Sprintf("the name %d", i)))
	}
	l := newLibrary(t, s)
	for text, want := range map[string]string{"getUserName": "all", "get:user name:zorb theme": "theme"} {
		for _, sort := range []rank.Sort{rank.Relevance, rank.Newest} {
			resp := l.search(Request{Text: text, Sort: sort})
			if !slices.ContainsFunc(resp.Hits, func(h Hit) bool { return h.EntryID == want }) {
				t.Errorf("%s: %s is not shown", text, want)
			}
			for _, h := range resp.Hits {
				if h.EntryID != "all" && h.EntryID != "theme" {
					t.Errorf("%s: a hit has some parts only: %s", text, h.Fragment.Text)
				}
			}
			n := len(resp.Hits)
			if one := resp.Sessions[0].Looser; resp.Looser()-resp.Folded != one || text == "getUserName" && (one != 1 || n != 1 || resp.Words[0].Parts != 1) {
				t.Errorf("%s: %d looser hits, %d in the session, %d shown", text, resp.Looser()-resp.Folded, one, n)
			}
		}
	}
}

// A question shows no row that has only words which every question has, even where these are
// as rare as the others.
func TestQuestionInFewSessions(t *testing.T) {
	l := newLibrary(t, story{Name: "talk", Start: day, Entries: []turn{
		prompt("why not"), reply("Yes, I did! Let me verify:"), prompt("sqlite").Named("sqlite"), reply("we choose").Named("choose"), prompt("did they"),
	}})
	resp := l.search(Request{Text: "why did we choose sqlite"})
	for _, h := range resp.Hits {
		if h.EntryID != "sqlite" && h.EntryID != "choose" {
			t.Errorf("a hit lacks %v: %s", h.Missing, h.Fragment.Text)
		}
	}
	if len(resp.Hits) != 2 {
		t.Errorf("%d hits, want 2", len(resp.Hits))
	}
}

// A function word that occurs nowhere is no typing error.
func TestFunctionWordsAreMeant(t *testing.T) {
	l := newLibrary(t, story{Name: "s", Start: day, Entries: []turn{prompt("now redis timed out, id 7, timeout")}})
	if mean := l.search(Request{Text: "how did the redis timeout"}).DidYouMean; mean != "" {
		t.Errorf("did you mean: %s", mean)
	}
}

// A query with a word that occurs nowhere, and of which there is no similar one, is not
// suggested with another word in place of one that occurs.
func TestNoSuggestionWithoutHits(t *testing.T) {
	l := newLibrary(t, story{Name: "s", Start: day, Entries: []turn{prompt("redis timeout")}})
	for text, want := range map[string]string{"timeuot": "timeout", "redis timeuot": "redis timeout", "zorblaxq timeuot": ""} {
		if mean := l.search(Request{Text: text}).DidYouMean; mean != want {
			t.Errorf("%s: did you mean %q, want %q", text, mean, want)
		}
	}
}

// What a question asks for decides between hits that its words do not tell apart.
func TestAskedFor(t *testing.T) {
	filler := func(n int) (list []turn) {
		for i := range n {
			list = append(list, prompt(fmt.Sprintf("something else %d", i)))
		}
		return list
	}
	decided := story{Name: "decided", Start: day}
	decided.Entries = append(filler(20), reply("The booking database is SQLite.").Named("early"))
	decided.Entries = append(decided.Entries, filler(20)...)
	decided.Entries = append(decided.Entries, reply("We moved the booking database back to Postgres.").Named("late"))
	decided.Entries = append(decided.Entries, filler(20)...)
	var ports []story
	for i := range 3 {
		s := story{Name: fmt.Sprintf("port%d", i), Start: day.AddDate(0, 0, 40*i), Entries: []turn{reply("The gateway port is " + strings.Repeat("really ", i) + strconv.Itoa(8000+i)).Named(fmt.Sprintf("port%d", i))}}
		ports = append(ports, s)
	}
	said := story{Name: "said", Start: day, Entries: []turn{
		reply("Nothing may be pushed to production on Fridays.").Named("reply"), // shorter, which BM25 prefers
		prompt("nothing may be pushed to production on any of the sundays").Named("prompt"),
	}}
	l := newLibrary(t, append(ports, decided, said)...)
	first := func(text string) string { return l.search(Request{Text: text, Flat: true}).Hits[0].EntryID }
	for query, want := range map[string]string{
		"what is the current booking database":      "late",
		"which booking database in the end":         "late",
		"what is the gateway port now":              "port2",
		"what did I say about pushed to production": "prompt",
	} {
		if got := first(query); got != want {
			t.Errorf("%s: first %s, want %s", query, got, want)
		}
	}
}

// A reply that has a part of the question ranks higher right after the rest of it than far
// from it.
func TestTurn(t *testing.T) {
	far := story{Name: "b", Start: day.AddDate(0, 1, 0), Entries: []turn{prompt("hello")}} // newer, which recency prefers
	near := story{Name: "a", Start: day, Entries: []turn{prompt("hello")}}
	question, answer := prompt("why does the box reboot at night"), "The watchdog fires after ninety seconds"
	filler := reply(strings.Repeat("something else ", 2000))
	near.Entries = append(near.Entries, filler, question, reply(answer+" there").Named("near"))
	far.Entries = append(far.Entries, question, filler, reply(answer+" here").Named("far"), filler, filler, filler)
	hits := newLibrary(t, near, far).search(Request{Text: "box reboot watchdog", Flat: true}).Hits
	at := slices.IndexFunc(hits, func(h Hit) bool { return h.Kind == "reply" })
	if hits[at].EntryID != "near" {
		t.Errorf("the first reply is %s, want the one after the question", hits[at].EntryID)
	}
}

// Who finds the question wants the answer: the reply that ends its turn comes before other replies with
// as many of the words.
func TestAnswerOfPrompt(t *testing.T) {
	one := story{Name: "a", Start: day, Entries: []turn{
		prompt("which port does the staging proxy listen on"), called("bash", nil), reply("Look at the proxy file first"), reply("It is 8443, as the proxy says").Named("answer"),
		prompt("thanks, and now the tests"), reply("The proxy has no tests").Named("other"),
	}}
	two := story{Name: "b", Start: day.AddDate(0, 1, 0), Entries: []turn{prompt("hello"), reply("The proxy is fine").Named("newer")}}
	hits := newLibrary(t, one, two).search(Request{Text: "port staging proxy", Flat: true}).Hits
	at := slices.IndexFunc(hits, func(h Hit) bool { return h.Kind == "reply" })
	if hits[at].EntryID != "answer" {
		t.Errorf("the first reply is %q, want the answer", hits[at].EntryID)
	}
}

// A hit in a prompt has the last reply of its turn, from the first sentence on that says something, or around
// the words; a prompt that nobody answered has none, and a reply on another branch is not its answer.
func TestAnswered(t *testing.T) {
	l := newLibrary(t, story{Name: "a", Start: day, Entries: []turn{
		prompt("rename the walrus helper").Named("p1"), reply("I will look at it"), called("bash", nil), reply("Perfect! It is done now: no caller is left, and all tests pass.").Named("r1"),
		prompt("which walrus tests are slow").Named("p2"), reply("Two of them. The slowest walrus test takes nine seconds.").Named("r2"),
		prompt("delete the walrus key sk-ant-api03-abcdefghijklmnopqrstuvwxyz").Named("p3"),
	}})
	for _, c := range []struct{ id, answer, text string }{
		{"p1", "r1", "It is done now: no caller is left, and all tests pass."}, {"p2", "r2", "Two of them. The slowest walrus test takes nine seconds."}, {"p3", "", ""},
	} {
		for _, h := range l.search(Request{Text: "walrus kind:prompt", Flat: true, Answers: true}).Hits {
			var got Answered
			if h.Answered != nil {
				got = *h.Answered
			}
			if h.EntryID == c.id && (got.EntryID != c.answer || got.Fragment.Text != c.text) {
				t.Errorf("%s is answered by %s: %q, want %s: %q", c.id, got.EntryID, got.Fragment.Text, c.answer, c.text)
			}
		}
	}
	for _, h := range l.search(Request{Text: "walrus", Flat: true}).Hits {
		if h.Answered != nil {
			t.Errorf("%s has an answer that nobody asked for", h.EntryID)
		}
	}
}

// No reply is shown twice: below its prompt and as a hit of its own. Its place goes to the next hit.
func TestRepliesAreShownOnce(t *testing.T) {
	l := newLibrary(t, story{Name: "a", Start: day, Entries: []turn{
		prompt("which walrus tests are slow").Named("p1"), reply("The slowest walrus test takes nine seconds.").Named("r1"),
		called("bash", nil), prompt("what does a walrus eat").Named("p2"), reply("Clams, says the walrus page, and it dives for them.").Named("r2"),
		prompt("unrelated").Named("p3"), reply("A walrus was not asked for.").Named("r3"),
	}})
	for _, req := range []Request{{PerSession: 2}, {PerSession: 3}, {PerSession: 9}} {
		req.Text, req.Answers = "walrus", true
		shown := map[string]int{}
		hits := l.search(req).Hits
		for _, h := range hits {
			shown[h.EntryID]++
			if h.Answered != nil {
				shown[h.Answered.EntryID]++
			}
		}
		for id, n := range shown {
			if n > 1 {
				t.Errorf("%+v: %s is shown %d times", req, id, n)
			}
		}
		if req.PerSession > 3 && len(shown) != 5 {
			t.Errorf("%+v: %v are shown, want two prompts and three replies", req, shown)
		}
		if len(hits) != min(req.PerSession, 3) {
			t.Errorf("%+v: %d hits", req, len(hits))
		}
	}
}

// A hit that no word is in, but a filter lets through, has a score: none.
func TestHitsWithoutWordsHaveNoScore(t *testing.T) {
	l := newLibrary(t, story{Name: "a", Start: day, Entries: []turn{
		prompt("rename the walrus helper"), reply("It is done now."), prompt("which tests are slow"), reply("Two of them."),
	}})
	hits := l.search(Request{Text: "walrus OR branch:any", Flat: true}).Hits
	if len(hits) != 4 {
		t.Errorf("%d hits, want 4", len(hits))
	}
	for _, h := range hits {
		if has := strings.Contains(h.Fragment.Text, "walrus"); !(h.Score >= 0) || math.IsInf(h.Score, 0) || has != (h.Score > 0) {
			t.Errorf("%q has the score %v", h.Fragment.Text, h.Score)
		}
	}
}
