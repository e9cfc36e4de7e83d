package opensearch

import (
	"encoding/json"
	"testing"
	"time"

	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/literal"
	"pigrep/remote"
)

// A query becomes one of OpenSearch that everything it may find passes. What the engine does not
// know is left out, negations of it too.
func TestCompileText(t *testing.T) {
	for text, want := range map[string]string{
		`ab`:                   `{"match":{"text":{"operator":"and","query":"ab"}}}`,
		`timeout`:              `{"bool":{"minimum_should_match":1,"should":[{"match":{"text":{"operator":"and","query":"timeout"}}},{"prefix":{"text":{"boost":0.1,"value":"time"}}}]}}`,
		`"session timeout"`:    `{"match_phrase":{"text":{"query":"session timeout"}}}`,
		`getUser*`:             `{"bool":{"minimum_should_match":1,"should":[{"prefix":{"text":"getuser"}},{"match_phrase_prefix":{"text":{"query":"getUser"}}}]}}`,
		`tokn~2`:               `{"fuzzy":{"text":{"fuzziness":2,"value":"tokn"}}}`,
		`+ab cd`:               `{"bool":{"must":[{"match":{"text":{"operator":"and","query":"ab"}}}],"should":[{"match":{"text":{"operator":"and","query":"cd"}}}]}}`,
		`ab AND cd`:            `{"bool":{"must":[{"match":{"text":{"operator":"and","query":"ab"}}},{"match":{"text":{"operator":"and","query":"cd"}}}]}}`,
		`ab OR cd`:             `{"bool":{"minimum_should_match":1,"should":[{"match":{"text":{"operator":"and","query":"ab"}}},{"match":{"text":{"operator":"and","query":"cd"}}}]}}`,
		`ab !cd`:               `{"bool":{"minimum_should_match":1,"must":[{"bool":{"must_not":{"match":{"text":{"operator":"and","query":"cd"}}}}}],"should":[{"match":{"text":{"operator":"and","query":"ab"}}}]}}`,
		`ab !getUser`:          `{"bool":{"minimum_should_match":1,"should":[{"match":{"text":{"operator":"and","query":"ab"}}}]}}`, // both engines cut it in their own ways
		`ab !file:main.go`:     `{"bool":{"minimum_should_match":1,"should":[{"match":{"text":{"operator":"and","query":"ab"}}}]}}`,
		`title:auth`:           `null`,
		`kind:call,result`:     `{"bool":{"minimum_should_match":1,"should":[{"term":{"kind":"call"}},{"term":{"kind":"result"}}]}}`,
		`tool:Bash is:error`:   `{"bool":{"must":[{"term":{"tool":{"case_insensitive":true,"value":"Bash"}}},{"term":{"error":true}}]}}`,
		`after:2026-01-02`:     `{"range":{"time":{"gte":1767312000000}}}`,
		`before:2026-01-02`:    `{"range":{"time":{"lte":1767311999999}}}`,
		`file:src/main.go`:     `{"match":{"text":{"operator":"and","query":"main.go"}}}`,
		`model:anthropic/opus`: `{"wildcard":{"model":{"case_insensitive":true,"value":"*opus*"}}}`,
		`model:opus`:           `{"bool":{"minimum_should_match":1,"should":[{"wildcard":{"model":{"case_insensitive":true,"value":"*opus*"}}},{"wildcard":{"provider":{"case_insensitive":true,"value":"*opus*"}}}]}}`,
		`re:time(d)?out`:       `{"bool":{"minimum_should_match":1,"should":[{"wildcard":{"text":{"case_insensitive":true,"value":"*timedout*"}}},{"wildcard":{"text":{"case_insensitive":true,"value":"*timeout*"}}}]}}`,
		`ab OR title:x`:        `null`, // the title alone may be enough
		`session:0195* ab`:     `{"bool":{"minimum_should_match":1,"must":[{"bool":{"minimum_should_match":1,"should":[{"wildcard":{"session":{"case_insensitive":true,"value":"0195\\**"}}},{"wildcard":{"session":{"case_insensitive":true,"value":"*0195\\*"}}},{"bool":{"must_not":{"exists":{"field":"session"}}}}]}}],"should":[{"match":{"text":{"operator":"and","query":"ab"}}}]}}`,
		`project:app`:          `{"bool":{"minimum_should_match":1,"should":[{"term":{"cwd":{"case_insensitive":true,"value":"app"}}},{"wildcard":{"cwd":{"case_insensitive":true,"value":"*/app"}}}]}}`,
	} {
		q := &remote.Question{Text: text, Env: filter.Env{Now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}}
		got, err := json.Marshal(compile(q).scored)
		if err != nil || string(got) != want {
			t.Errorf("%s becomes\n%s, %v, want\n%s", text, got, err, want)
		}
	}
}

// Filters test sessions where they can, so that they also restrict lists of sessions.
func TestCompileFilters(t *testing.T) {
	since := time.UnixMilli(1000)
	for _, test := range []struct {
		question        remote.Question
		sessions, parts string
	}{
		{remote.Question{}, `null`, `null`},
		{remote.Question{Spec: filter.Spec{Agents: []string{"pi"}, CWD: "/home/Dev/app/"}}, `{"bool":{"filter":[{"term":{"agent":{"case_insensitive":true,"value":"pi"}}},{"match":{"cwd.tree":"/home/Dev/app"}}]}}`, `null`},
		{remote.Question{Spec: filter.Spec{Since: since}}, `null`, `{"range":{"time":{"gte":1000}}}`},
		{remote.Question{Spec: filter.Spec{Since: since}, Brief: true}, `null`, `null`},
		{remote.Question{Spec: filter.Spec{Kinds: []session.Kind{"call"}, Error: true}}, `null`, `{"bool":{"filter":[{"term":{"error":true}},{"terms":{"kind":["call"]}}]}}`},
		{remote.Question{Names: []string{"laptop:/s/a.jsonl"}}, `{"term":{"file_key":"` + keyOf("laptop", "/s/a.jsonl") + `"}}`, `null`},
		{remote.Question{Spec: filter.Spec{Scope: "all"}, Required: requiredBy(t, `foo_bar-\d+ bazqux`)}, `null`, `{"bool":{"filter":[{"wildcard":{"text":{"case_insensitive":true,"value":"*foobar*"}}},{"wildcard":{"text":{"case_insensitive":true,"value":"*bazqux*"}}}]}}`},
	} {
		got := compile(&test.question)
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
