package opensearch

import (
	"encoding/json"
	"testing"
	"time"

	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/literal"
)

// A query becomes one of OpenSearch that everything it may find passes. What the engine does not
// know is left out, negations of it too.
func TestCompileText(t *testing.T) {
	for text, want := range map[string]string{
		`ab`:                   `{"term":{"terms":"ab"}}`,
		`timeout`:              `{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"timeout"}},{"terms":{"boost":3,"terms":["timeouted","timeouting","timeouts"]}},{"prefix":{"terms":{"boost":0.1,"value":"timeout"}}}]}}`,
		`"session timeout"`:    `{"bool":{"must":[{"term":{"terms":"session"}},{"term":{"terms":"timeout"}}],"should":[{"match_phrase":{"terms":"session timeout"}}]}}`,
		`getUser*`:             `{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"getuser"}},{"prefix":{"terms":{"boost":1,"value":"getuser"}}}]}}`,
		`"wolVerine"`:          `{"bool":{"must":[{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"wol"}},{"term":{"terms":"wolverine"}}]}},{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"verine"}},{"term":{"terms":"wolverine"}}]}}],"should":[{"match_phrase":{"terms":"wol verine"}}]}}`,
		`file.go:520`:          `{"bool":{"minimum_should_match":2,"should":[{"term":{"terms":"file"}},{"term":{"terms":"go"}},{"term":{"terms":"520"}}]}}`,
		`get_user-Name*`:       `{"bool":{"minimum_should_match":2,"should":[{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"get"}},{"term":{"terms":"getuser"}}]}},{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"user"}},{"term":{"terms":"getuser"}}]}},{"term":{"terms":"name"}}]}}`,
		`0195567a`:             `{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"0195567a"}},{"prefix":{"terms":{"boost":0.1,"value":"0195567a"}}},{"wildcard":{"session":{"case_insensitive":true,"value":"0195567a*"}}},{"wildcard":{"session":{"case_insensitive":true,"value":"*0195567a"}}},{"wildcard":{"entry":{"case_insensitive":true,"value":"0195567a*"}}}]}}`,
		`tokn~2`:               `{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"tokn"}},{"fuzzy":{"terms":{"fuzziness":2,"value":"tokn"}}}]}}`,
		`+ab cd`:               `{"bool":{"must":[{"term":{"terms":"ab"}}],"should":[{"term":{"terms":"cd"}}]}}`,
		`ab AND cd`:            `{"bool":{"must":[{"term":{"terms":"ab"}},{"term":{"terms":"cd"}}]}}`,
		`ab OR cd`:             `{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"ab"}},{"term":{"terms":"cd"}}]}}`,
		`ab !cd`:               `{"bool":{"minimum_should_match":1,"must":[{"bool":{"must_not":{"term":{"terms":"cd"}}}}],"should":[{"term":{"terms":"ab"}}]}}`,
		`ab !getUser`:          `{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"ab"}}]}}`, // it may be one of several spellings
		`ab !file:main.go`:     `{"bool":{"minimum_should_match":1,"should":[{"term":{"terms":"ab"}}]}}`,
		`title:auth`:           `null`,
		`kind:call,result`:     `{"bool":{"minimum_should_match":1,"should":[{"term":{"kind":"call"}},{"term":{"kind":"result"}}]}}`,
		`tool:Bash is:error`:   `{"bool":{"must":[{"term":{"tool":{"case_insensitive":true,"value":"Bash"}}},{"term":{"error":true}}]}}`,
		`after:2026-01-02`:     `{"range":{"time":{"gte":1767312000000}}}`,
		`before:2026-01-02`:    `{"range":{"time":{"lte":1767311999999}}}`,
		`file:src/main.go`:     `{"bool":{"filter":[{"term":{"terms":"main"}},{"term":{"terms":"go"}}]}}`,
		`model:anthropic/opus`: `{"wildcard":{"model":{"case_insensitive":true,"value":"*opus*"}}}`,
		`model:opus`:           `{"bool":{"minimum_should_match":1,"should":[{"wildcard":{"model":{"case_insensitive":true,"value":"*opus*"}}},{"wildcard":{"provider":{"case_insensitive":true,"value":"*opus*"}}}]}}`,
		`re:time(d)?out`:       `{"bool":{"minimum_should_match":1,"should":[{"bool":{"minimum_should_match":1,"should":[{"wildcard":{"terms":"*timedout*"}},{"wildcard":{"terms":"*timeout*"}}]}},{"term":{"terms":"…"}}]}}`,
		`ab OR title:x`:        `null`, // the title alone may be enough
		`session:0195* ab`:     `{"bool":{"minimum_should_match":1,"must":[{"bool":{"minimum_should_match":1,"should":[{"wildcard":{"session":{"case_insensitive":true,"value":"0195\\**"}}},{"wildcard":{"session":{"case_insensitive":true,"value":"*0195\\*"}}},{"bool":{"must_not":{"exists":{"field":"session"}}}}]}}],"should":[{"term":{"terms":"ab"}}]}}`,
		`project:app`:          `{"bool":{"minimum_should_match":1,"should":[{"term":{"cwd":{"case_insensitive":true,"value":"app"}}},{"wildcard":{"cwd":{"case_insensitive":true,"value":"*/app"}}}]}}`,
	} {
		q := &Question{Text: text, Env: filter.Env{Now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}}
		got, err := json.Marshal(compile(q, false).scored)
		if err != nil || string(got) != want {
			t.Errorf("%s becomes\n%s, %v, want\n%s", text, got, err, want)
		}
	}
}

// Filters test sessions where they can, so that they also restrict lists of sessions.
func TestCompileFilters(t *testing.T) {
	since := time.UnixMilli(1000)
	for _, test := range []struct {
		question        Question
		sessions, parts string
	}{
		{Question{}, `null`, `null`},
		{Question{Spec: filter.Spec{Agents: []string{"pi"}, CWD: "/home/Dev/app/"}}, `{"bool":{"filter":[{"term":{"agent":{"case_insensitive":true,"value":"pi"}}},{"match":{"cwd.tree":"/home/Dev/app"}}]}}`, `null`},
		{Question{Spec: filter.Spec{Since: since}}, `null`, `{"range":{"time":{"gte":1000}}}`},
		{Question{Spec: filter.Spec{Since: since}, Brief: true}, `null`, `null`},
		{Question{Spec: filter.Spec{Kinds: []session.Kind{"call"}, Error: true}}, `null`, `{"bool":{"filter":[{"term":{"error":true}},{"terms":{"kind":["call"]}}]}}`},
		{Question{Names: []string{"laptop:/s/a.jsonl"}}, `{"term":{"file_key":"` + keyOf("laptop", "/s/a.jsonl") + `"}}`, `null`},
		{Question{Spec: filter.Spec{Scope: "all"}, Required: requiredBy(t, `foo_bar-\d+ bazqux`)}, `null`, `{"bool":{"minimum_should_match":1,"should":[{"bool":{"filter":[{"wildcard":{"terms":"*foobar*"}},{"wildcard":{"terms":"*bazqux*"}}]}},{"term":{"terms":"…"}}]}}`},
	} {
		got := compile(&test.question, false)
		sessions, _ := json.Marshal(got.sessions)
		parts, _ := json.Marshal(got.parts)
		if string(sessions) != test.sessions || string(parts) != test.parts {
			t.Errorf("%+v becomes\n%s and\n%s, want\n%s and\n%s", test.question, sessions, parts, test.sessions, test.parts)
		}
	}
}

func requiredBy(t *testing.T, pattern string) *literal.Required {
	p, err := literal.Compile([]string{pattern}, literal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Required
}
