package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/scope"
)

// A hit lacks nothing only if its text has the word: an identifier in any spelling, other
// compounds as typed.
func TestCompoundsAgainstPlainText(t *testing.T) {
	type shelf struct {
		*library
		texts []string
	}
	var shelves []shelf
	for seed := range 12 {
		list := rapid.Custom(stories.DrawStories).Example(seed)
		s := shelf{library: newLibrary(t, list...)}
		for _, text := range s.Texts {
			s.texts = append(s.texts, text)
		}
		shelves = append(shelves, s)
	}
	identifier := func(word string) func(text string) bool {
		return func(text string) bool {
			return strings.Contains(strings.ToLower(strings.ReplaceAll(text, "_", "")), word)
		}
	}
	typed := func(word string) func(text string) bool {
		return func(text string) bool { return strings.Contains(strings.ToLower(text), word) }
	}
	has := map[string]func(text string) bool{
		"getUserName": identifier("getusername"), "get_user_name": identifier("getusername"), "GetUserName": identifier("getusername"),
		"UserName": identifier("username"), "user_name": identifier("username"), "getUser": identifier("getuser"),
		"get-user-name":     func(text string) bool { return identifier("getusername")(text) || typed("get-user-name")(text) },
		"src/auth/login.ts": typed("src/auth/login.ts"), "auth/login.ts": typed("auth/login.ts"), "src/login.ts": typed("src/login.ts"), "login/auth": typed("login/auth"),
		"C++": typed("c++"), "user->name": typed("user->name"), "get.user": typed("get.user"), "userGet": identifier("userget"),
	}
	apart := 0
	for word, has := range has {
		for i, s := range shelves {
			want := 0
			for _, text := range s.texts {
				if has(text) {
					want++
				}
			}
			resp := s.search(Request{Text: word, Flat: true, Limit: All})
			whole := 0
			for _, h := range resp.Hits {
				if len(h.Missing) == 0 {
					whole++
				}
				apart += len(h.Parts)
				if len(h.Parts) > 0 && (!slices.Equal(h.Parts, h.Missing) || h.Tier != TierParts) {
					t.Errorf("%s in library %d: parts %v, missing %v, tier %s", word, i, h.Parts, h.Missing, h.Tier)
				}
			}
			if resp.Total != want || whole != want {
				t.Errorf("%s in library %d: total %d, %d hits that lack nothing; %d texts have it", word, i, resp.Total, whole, want)
			}
		}
	}
	if apart < 50 {
		t.Errorf("only %d hits with parts", apart)
	}
}

// An answer says that a word is nowhere as written when only its parts are found.
func TestNowhereAsWritten(t *testing.T) {
	l := newLibrary(t,
		story{Name: "one", Entries: []turn{
			prompt("get the user a name").Named("parts"),
			reply("a is not b").Named("letters"),
			prompt("the user only").Named("some"),
			prompt("dial_up over src/auth/login.ts").Named("path"),
		}},
		story{Name: "two", CWD: "/elsewhere", Entries: []turn{
			prompt("name of a user, get it: a, b").Named("more"),
			{ID: "system", Message: map[string]any{"role": "system", "content": "call getOtherThing here, other get thing"}},
			prompt("get the other thing").Named("thing"),
		}},
	)
	for _, c := range []struct {
		req  Request
		want string
	}{
		{Request{Text: "getUserName"}, "getUserName does not occur as written; 2 entries have all its parts"},
		{Request{Text: "getUserName", AllWords: true}, "getUserName does not occur as written; 2 entries have all its parts"},
		{Request{Text: "+getUserName"}, "getUserName does not occur as written; 2 entries have all its parts"},
		{Request{Text: "getUserName", Spec: filter.Spec{CWD: "/elsewhere"}}, "getUserName does not occur as written; 1 entry has all its parts"},
		{Request{Text: "getUserName kind:prompt"}, "getUserName does not occur as written; 2 entries have all its parts"},
		{Request{Text: "a->b"}, "a->b does not occur as written; 2 entries have all its parts"},
		{Request{Text: "src/login.ts"}, "src/login.ts does not occur as written; 1 entry has all its parts"},
		{Request{Text: "getUserName over"}, "getUserName does not occur as written; 2 entries have all its parts; over has 1 hit in 1 session; no entry has both"},
		{Request{Text: "getUserName a->b zorblaxq"}, "getUserName does not occur as written; 2 entries have all its parts; a->b does not occur as written; 2 entries have all its parts; zorblaxq occurs nowhere"},
		{Request{Text: "auth/zorb"}, "auth/zorb occurs nowhere (nearest: auth)"},
		{Request{Text: "getOtherThing"}, ""}, // it is in another scope, which the answer says
		{Request{Text: "dialUp"}, ""},
		{Request{Text: "DIAL_UP"}, ""},
		{Request{Text: "auth/login.ts"}, ""},
	} {
		resp := l.search(c.req)
		if got := ExplainWords(resp.Words, resp.Removed, "", Without); got != c.want {
			t.Errorf("%q: %q, want %q", c.req.Text, got, c.want)
		}
	}
	resp := l.search(Request{Text: "getOtherThing"})
	if diff := cmp.Diff([]Removed{{"scope", 1}}, resp.Words[0].Removed); diff != "" {
		t.Errorf("getOtherThing, removed (-want +got):\n%s", diff)
	}
	resp = l.search(Request{Text: "getUserName", Flat: true, Limit: All})
	for _, h := range resp.Hits {
		want := []string{"missing: getUserName"}
		if h.EntryID == "parts" || h.EntryID == "more" {
			want = []string{"only parts of getUserName"}
		}
		if diff := cmp.Diff(want, h.Notes()); diff != "" {
			t.Errorf("%s, notes (-want +got):\n%s", h.EntryID, diff)
		}
	}
}

// Hits with parts alone come into a list by time only when there is nothing better, and
// those with some parts after them.
func TestPartsByTime(t *testing.T) {
	minute := 0
	at := func(e turn) turn { minute++; e.Minute = minute; return e }
	entries := []turn{
		at(prompt("getUserName fails").Named("whole")),
		at(reply("get the name of a user").Named("parts")),
		at(reply("the user").Named("some")),
	}
	list := func(l *library, req Request) (ids []string) {
		req.Flat, req.Sort = true, rank.Newest
		for _, h := range l.search(req).Hits {
			ids = append(ids, h.EntryID)
		}
		return ids
	}
	with, without := newLibrary(t, story{Name: "s", Entries: entries}), newLibrary(t, story{Name: "s", Entries: entries[1:]})
	for _, c := range []struct {
		l    *library
		text string
		want []string
	}{
		{with, "getUserName", []string{"whole"}},
		{without, "getUserName", []string{"parts"}},
		{without, "getUserZorb", []string{"some", "parts"}},
		{with, "name->user", []string{"parts", "whole"}},
	} {
		if diff := cmp.Diff(c.want, list(c.l, Request{Text: c.text})); diff != "" {
			t.Errorf("%s by time (-want +got):\n%s", c.text, diff)
		}
	}
}

// The scope of a filter does not change what a hit lacks.
func TestPartsInEveryScope(t *testing.T) {
	l := shelf(t)
	for _, spec := range []filter.Spec{{}, {Scope: scope.All}, {Kinds: []session.Kind{session.KindReply}}} {
		for _, h := range l.search(Request{Text: "src/login", Spec: spec}).Hits {
			if h.EntryID == "e-code" && !slices.Equal(h.Parts, []string{"src/login"}) {
				t.Errorf("parts %v, missing %v with %+v", h.Parts, h.Missing, spec)
			}
		}
	}
}
