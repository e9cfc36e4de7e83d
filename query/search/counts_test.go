package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/scope"
)

func TestSearchCountsWords(t *testing.T) {
	l := shelf(t)
	for _, c := range []struct {
		text string
		want []WordCount
	}{
		{"zorblaxq auth", []WordCount{{Word: "zorblaxq"}, {Word: "auth", Hits: 3, Sessions: 2}}},
		{"+zorblaxq auth", []WordCount{{Word: "zorblaxq"}, {Word: "auth", Hits: 3, Sessions: 2}}},
		{"zorblaxq AND Auth, auth.", []WordCount{{Word: "zorblaxq"}, {Word: "Auth", Hits: 3, Sessions: 2}}},
		{"expire bucket", []WordCount{{Word: "expire", Hits: 1, Sessions: 1}, {Word: "bucket", Hits: 1, Sessions: 1}}},
		{`"code 137" bucket`, []WordCount{{Word: `"code 137"`, Hits: 2, Sessions: 2}, {Word: "bucket", Hits: 1, Sessions: 1}}},
		{"zorblaxq (bucket OR expire)", []WordCount{{Word: "zorblaxq"}, {Word: "bucket OR expire", Hits: 2, Sessions: 2}}},
		{"zorblaxq (kind:reply OR kind:prompt) auth", []WordCount{{Word: "zorblaxq"}, {Word: "auth", Hits: 3, Sessions: 2}}},
		// Fields and negations apply to each word, and are named when they remove all of its hits.
		{"zorblaxq auth kind:reply", []WordCount{{Word: "zorblaxq"}, {Word: "auth", Hits: 1, Sessions: 1}}},
		{"expire renews !helper", []WordCount{{Word: "expire", Hits: 1, Sessions: 1}, {Word: "renews", Removed: []Removed{{"!helper", 1}}}}},
		{"expire AND renews AND !helper", []WordCount{{Word: "expire", Hits: 1, Sessions: 1}, {Word: "renews", Removed: []Removed{{"!helper", 1}}}}},
		{"grep expire", []WordCount{{Word: "grep", Removed: []Removed{{"scope", 1}}}, {Word: "expire", Hits: 1, Sessions: 1}}},
		{"zorblaxq re:zz auth", nil}, // each count would scan the dictionary
		{"zorblaxq", []WordCount{{Word: "zorblaxq"}}},
		{"zorblaxq OR quuxfoo", []WordCount{{Word: "zorblaxq OR quuxfoo"}}},
		{"zorblaxq !auth", []WordCount{{Word: "zorblaxq"}}},
		{"renews !helper", nil}, // the filter is the reason
		{"auth token", nil},     // there are hits with both
		{"auth b c d f g h j zorblaxq", nil},
	} {
		resp := l.search(Request{Text: c.text})
		if diff := cmp.Diff(c.want, resp.Words); diff != "" {
			t.Errorf("the words of %q (-want +got):\n%s", c.text, diff)
		}
	}
}

// The count of a word is that of a search for it with the same filters, and what the
// sentence says of the filters is true.
func TestWordsAreCountedAsSearchesCount(t *testing.T) {
	l := shelf(t)
	list := []string{"auth", "token", "bucket", "zorblaxq", "expir", "getUserName", `"code 137"`, "grep", "bukcet", "01a1f7", "re*"}
	specs := []filter.Spec{
		{}, {Scope: scope.All}, {Scope: scope.Prompts}, {CWD: "/home/u/app"},
		{Kinds: []session.Kind{session.KindReply}}, {Since: day.AddDate(0, 0, 7)}, {Since: day.AddDate(0, 0, 7), CWD: "/home/u/app"},
	}
	counted := 0
	for _, spec := range specs {
		for i, a := range list[:testkit.HowMany(4, len(list), len(list))] {
			for _, b := range list[i+1:] {
				resp := l.search(Request{Text: a + " " + b, Spec: spec})
				for _, w := range resp.Words {
					counted++
					alone := l.search(Request{Text: w.Word, Spec: spec, Limit: All})
					sessions := 0
					for _, s := range alone.Sessions {
						if s.Hits > 0 {
							sessions++
						}
					}
					if w.Hits != alone.Total || w.Sessions != sessions {
						t.Errorf("%s in %q with %+v: %d hits in %d sessions, a search for it has %d in %d", w.Word, a+" "+b, spec, w.Hits, w.Sessions, alone.Total, sessions)
					}
					if all := l.search(Request{Text: w.Word, Spec: filter.Spec{Scope: scope.All}}); w.Nowhere() != (all.Total == 0) {
						t.Errorf("%s in %q with %+v: %+v, and %d hits without filters", w.Word, a+" "+b, spec, w, all.Total)
					}
				}
				why := ExplainWords(resp.Words, resp.Removed, "", Without)
				both := l.search(Request{Text: a + " " + b, Spec: filter.Spec{Scope: scope.All}}).Total
				if strings.Contains(why, "no entry has both") && both > 0 {
					t.Errorf("%q with %+v: %s, but without filters %d have", a+" "+b, spec, why, both)
				}
				onlySimilar := resp.Total > 0 && !slices.ContainsFunc(resp.Words, func(w WordCount) bool { return len(w.Nearest) == 0 })
				if (resp.Words != nil) != (resp.Total == 0) && !onlySimilar {
					t.Errorf("%q with %+v: %d hits with both, words %v", a+" "+b, spec, resp.Total, resp.Words)
				}
			}
		}
	}
	if counted < 300 {
		t.Errorf("only %d words were counted", counted)
	}
}

// For a word that no text contains, the words most like it are named that a search with the same
// filters finds.
func TestNearestWords(t *testing.T) {
	l := newLibrary(t,
		story{Name: "one", CWD: "/p/one", Entries: []turn{
			prompt("The compaction, the compaction and a companion."), prompt("compaction once more"),
			reply("Die Kompaktierung funktioniert, die Größe stimmt."), result("bash", "Ошибка компиляции", false),
			reply("ошибками мы занимаемся"), prompt("サーバーのエラー処理 量子计算"), prompt("세션을 다시 열어 주세요"),
		}},
		story{Name: "two", CWD: "/p/two", Entries: []turn{prompt("a companion"), reply("zeppelins and src/auth/login.go")}},
	)
	for _, c := range []struct {
		text string
		spec filter.Spec
		want string
	}{
		{"compation quux", filter.Spec{}, "compation and quux occur nowhere (nearest to compation: compaction, companion)"},
		{"compation quux", filter.Spec{CWD: "/p/two"}, "compation and quux occur nowhere (nearest to compation: companion)"},
		{"compation quux kind:reply", filter.Spec{}, "quux occurs nowhere; compation has hits only without kind:reply (3); no entry has both"},
		{"compactification", filter.Spec{}, "compactification occurs nowhere (nearest: compaction)"},
		{"compactification", filter.Spec{CWD: "/p/two"}, "compactification occurs nowhere"},
		{"Kompaktierungsfehler", filter.Spec{}, "Kompaktierungsfehler occurs nowhere (nearest: kompaktierung)"},
		{"ошибкам", filter.Spec{}, ""}, // the longer word is a hit
		{"ошибкой", filter.Spec{}, "ошибкой occurs nowhere (nearest: ошибка, ошибками)"},
		{"ошибкой kind:reply", filter.Spec{}, "ошибкой occurs nowhere (nearest: ошибками)"},
		{"量子纠缠", filter.Spec{}, "量子纠缠 occurs nowhere (nearest: 量子)"},
		{"세션들", filter.Spec{}, "세션들 occurs nowhere (nearest: 세션)"},
		{"zeppelin", filter.Spec{CWD: "/p/one"}, ""}, // only elsewhere, which Removed says
		{"zork kompaktierungen", filter.Spec{}, "zork and kompaktierungen occur nowhere (nearest to kompaktierungen: kompaktierung)"},
		{`"zorb quux"`, filter.Spec{}, `"zorb quux" occurs nowhere`},
		{"quux\x1b[2J*", filter.Spec{}, "quux* occurs nowhere"},
	} {
		resp := l.search(Request{Text: c.text, Spec: c.spec})
		if got := ExplainWords(resp.Words, resp.Removed, resp.DidYouMean, Without); got != c.want {
			t.Errorf("%q with %+v: %q, want %q", c.text, c.spec, got, c.want)
		}
		for _, w := range resp.Words {
			for _, n := range w.Nearest {
				if there := l.search(Request{Text: `"` + n.Word + `"`, Spec: c.spec}); there.Total != n.Hits {
					t.Errorf("%q with %+v: %s has %d hits, a search finds %d", c.text, c.spec, n.Word, n.Hits, there.Total)
				}
			}
		}
	}
}

// When hits with some of the words are shown, Removed counts those with all.
func TestSearchRemovedFromPartialHits(t *testing.T) {
	l := shelf(t)
	for _, c := range []struct {
		req  Request
		want []Removed
	}{
		{Request{Text: "grep token"}, []Removed{{"scope", 1}}},
		{Request{Text: "auth bucket", Spec: filter.Spec{CWD: "/home/u/app"}}, []Removed{{"cwd", 1}}},
		{Request{Text: "auth expire kind:reply"}, []Removed{{"kind:reply", 1}}},
		{Request{Text: "expire bucket"}, nil},
	} {
		resp := l.search(c.req)
		if diff := cmp.Diff(c.want, resp.Removed); diff != "" || resp.TotalAny == 0 || resp.Total > 0 {
			t.Errorf("Run(%+v): %d hits, %d with all words, removed (-want +got):\n%s", c.req, resp.TotalAny, resp.Total, diff)
		}
	}
}

func TestExplainWords(t *testing.T) {
	nowhere := func(word string) WordCount { return WordCount{Word: word} }
	found := func(word string, hits, sessions int) WordCount {
		return WordCount{Word: word, Hits: hits, Sessions: sessions}
	}
	outside := func(word, filter string) WordCount {
		return WordCount{Word: word, Removed: []Removed{{filter, 1234}, {"other", 1}}}
	}
	for _, c := range []struct {
		words   []WordCount
		removed []Removed
		want    string
	}{
		{nil, []Removed{{"scope", 3}}, ""},
		{[]WordCount{nowhere("zorblaxq"), found("connection", 113, 41)}, nil, "zorblaxq occurs nowhere; connection has 113 hits in 41 sessions; no entry has both"},
		{[]WordCount{found("auth", 1, 1), found("token", 1200, 40)}, nil, "auth has 1 hit in 1 session, token 1,200 in 40; no entry has both"},
		{[]WordCount{nowhere("a"), found("b", 1, 1), nowhere("c"), nowhere("d")}, nil, "a, c and d occur nowhere; b has 1 hit in 1 session; no entry has all of them"},
		{[]WordCount{nowhere("a"), nowhere("b")}, nil, "a and b occur nowhere"},
		{[]WordCount{outside("a", "scope"), found("b", 2, 1)}, nil, "a has hits only in scope all (1,234); b has 2 hits in 1 session; no entry has both"},
		{[]WordCount{outside("a", "scope"), outside("b", "kind"), nowhere("c")}, []Removed{{"all", 9}}, "c occurs nowhere; a has hits only in scope all (1,234), b only without --kind (1,234); no entry has all of them"},
		{[]WordCount{outside("a", "tool:bash"), outside("b", "all")}, []Removed{{"all", 3}}, ""},
		{[]WordCount{found("a", 2, 1), found("b", 2, 1)}, []Removed{{"scope", 3}}, "a has 2 hits in 1 session, b 2 in 1; none has both"},
		{[]WordCount{nowhere("a\x1b[2Jb"), found("x OR y", 2, 1)}, nil, "ab occurs nowhere; (x OR y) has 2 hits in 1 session; no entry has both"},
		{[]WordCount{nowhere(strings.Repeat("long", 10)), found(`"a b"`, 2, 1)}, nil, `longlonglonglonglonglon… occurs nowhere; "a b" has 2 hits in 1 session; no entry has both`},
		{[]WordCount{{Word: "handlers_go", Removed: []Removed{{"exclude", 13}}, Nearest: []Near{{"handlers", 9}}}}, nil, ""},
		{[]WordCount{{Word: "handlers_go", Removed: []Removed{{"scope", 13}}, Nearest: []Near{{"handlers", 9}}}, found("b", 2, 1)}, nil, "handlers_go has hits only in scope all (13); b has 2 hits in 1 session; no entry has both"},
	} {
		if got := ExplainWords(c.words, c.removed, "", Without); got != c.want {
			t.Errorf("ExplainWords(%v, %v) =\n%s, want\n%s", c.words, c.removed, got, c.want)
		}
	}
}
