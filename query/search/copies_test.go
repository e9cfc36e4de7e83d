package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/query/engine/filter"
	"pigrep/scope"
)

// family has an original and two forks, which copy its entries. What decides for an entry
// differs: directory, name, label, branch.
func family(t testing.TB) *library {
	original := story{Name: "original", CWD: "/home/u/app", Entries: []turn{
		prompt("the lemur question").Named("a1"), reply("a lemur answer, not a question").Named("a2"),
		called("edit", map[string]any{"path": "src/zoo.go", "newText": "lemur"}).Named("a3"),
	}}
	text := original.Text()
	copied := text[strings.Index(text, "\n")+1:]
	named := turn{ID: "title", Fields: map[string]any{"type": "session_info", "name": "second"}}
	label := turn{ID: "label", Fields: map[string]any{"type": "label", "targetId": "a2", "label": "keep"}}
	return newLibrary(t, original,
		story{Name: "fork", CWD: "/home/u/web", Start: day.AddDate(0, 0, 3), Raw: copied, Entries: []turn{named, {ID: "b1", Parent: "a1", Message: prompt("another lemur").Message}}},
		story{Name: "again", CWD: "/home/u/app", Start: day.AddDate(0, 0, 5), Raw: copied, Entries: []turn{label}},
	)
}

// drawCondition draws a query of words and of fields for which copies differ.
func drawCondition(t *rapid.T, depth int) string {
	unit := func() string {
		if depth > 0 && rapid.Bool().Draw(t, "group") {
			return "(" + drawCondition(t, depth-1) + ")"
		}
		return rapid.SampledFrom([]string{
			"lemur", "question", `"lemur question"`, `"lemur answer"`, "re:lem.r", "re:a.swer", "src/zoo.go", "kind:prompt",
			"project:app", "project:web", "cwd:/home/u/web", "is:named", "title:second", "session:id-of-again", "label:keep",
			"branch:abandoned", "branch:active", "file:app/src/zoo.go", "file:zoo.go", "after:2026-05-02",
		}).Draw(t, "unit")
	}
	sign := rapid.SampledFrom([]string{"", "", "+", "NOT "})
	text := sign.Draw(t, "sign") + unit()
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		text += rapid.SampledFrom([]string{" ", " OR ", " AND "}).Draw(t, "between") + sign.Draw(t, "sign") + unit()
	}
	return text
}

// An entry is a hit if any of its copies is, and lacks nothing if any lacks nothing:
// searches in the single sessions find the same entries as one in all.
func TestAnyCopyIsEnough(t *testing.T) {
	l := family(t)
	rapid.Check(t, func(t *rapid.T) {
		req := Request{Text: drawCondition(t, 2), Flat: true, Limit: All, Spec: filter.Spec{Scope: scope.All}}
		if strings.Count(req.Text, "re:") > 1 {
			return // a query takes three
		}
		if _, err := req.Resolve(t.Context(), l.Reader, nil, nil); err != nil {
			return // nothing but negated words
		}
		some, whole := []string{}, []string{}
		for _, id := range []string{"id-of-original", "id-of-fork", "id-of-again"} {
			single := req
			single.Sessions = []string{id}
			resp := l.search(single)
			whole = append(whole, ids(resp)...)
			for _, h := range resp.Hits {
				some = append(some, h.EntryID)
			}
		}
		resp := l.search(req)
		got := []string{}
		for _, h := range resp.Hits {
			got = append(got, h.EntryID)
		}
		want := [][]string{distinct(whole), distinct(some)}
		if diff := cmp.Diff(want, [][]string{distinct(ids(resp)), distinct(got)}); diff != "" {
			t.Errorf("%s: entries that lack nothing, and all (-one by one +together):\n%s", req.Text, diff)
		}
	})
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
