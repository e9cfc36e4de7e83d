package amend

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var hook = map[string]any{"command": "pigrep hook"}

// What is added looks like what is there, and everything else stays.
func TestAdditions(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		add              func(string) ([]Insertion, error)
	}{
		{"nothing", "", "{\n  \"mcp\": {\n    \"pigrep\": 1\n  }\n}\n", member},
		{"an empty object", "{}\n", "{\n  \"mcp\": {\n    \"pigrep\": 1\n  }\n}\n", member},
		{"spaces", "{\n    \"a\": 1\n}\n", "{\n    \"a\": 1,\n    \"mcp\": {\n        \"pigrep\": 1\n    }\n}\n", member},
		{"tabs", "{\n\t\"mcp\": {\n\t\t\"other\": 2\n\t}\n}", "{\n\t\"mcp\": {\n\t\t\"other\": 2,\n\t\t\"pigrep\": 1\n\t}\n}", member},
		{"one line", `{"a":1}`, `{"a":1,"mcp":{"pigrep":1}}`, member},
		{"one line with spaces", `{"a": 1}`, `{"a": 1, "mcp": {"pigrep":1}}`, member},
		{"CRLF", "{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"mcp\": {\r\n    \"pigrep\": 1\r\n  }\r\n}\r\n", member},
		{"a byte order mark", "\ufeff{}", "\ufeff{\n  \"mcp\": {\n    \"pigrep\": 1\n  }\n}", member},
		{"a comment after the last", "{\n  \"a\": 1 // one\n  // two\n}", "{\n  \"a\": 1, // one\n  // two\n  \"mcp\": {\n    \"pigrep\": 1\n  }\n}", member},
		{"a trailing comma", "{\n  \"a\": 1,\n}", "{\n  \"a\": 1,\n  \"mcp\": {\n    \"pigrep\": 1\n  }\n}", member},
		{"a comment alone", "{\n  /* none */\n}", "{\n  /* none */\n  \"mcp\": {\n    \"pigrep\": 1\n  }\n}", member},
		{"brackets in texts", "{\n  \"a\": \"}\\\"]//\"\n}", "{\n  \"a\": \"}\\\"]//\",\n  \"mcp\": {\n    \"pigrep\": 1\n  }\n}", member},
		{"no list", "{\n  \"hooks\": {}\n}", "{\n  \"hooks\": {\n    \"Start\": [\n      {\n        \"command\": \"pigrep hook\"\n      }\n    ]\n  }\n}", element},
		{"an empty list", "{\n  \"hooks\": {\"Start\": []}\n}", "{\n  \"hooks\": {\"Start\": [\n    {\n      \"command\": \"pigrep hook\"\n    }\n  ]}\n}", element},
		{"a list", "{\n  \"hooks\": {\n    \"Start\": [\n      {\"command\": \"x\"}\n    ]\n  }\n}", "{\n  \"hooks\": {\n    \"Start\": [\n      {\"command\": \"x\"},\n      {\n        \"command\": \"pigrep hook\"\n      }\n    ]\n  }\n}", element},
		{"a list in a line", `{"hooks":{"Start":[{"command":"x"}]}}`, `{"hooks":{"Start":[{"command":"x"},{"command":"pigrep hook"}]}}`, element},
	} {
		list, err := c.add(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := Into(c.text, list)
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if back, ok := Revert(got, list); !ok || back != c.text {
			t.Errorf("%s: reverted to %q, %v", c.name, back, ok)
		}
	}
}

func member(text string) ([]Insertion, error)  { return Member(text, 1, "mcp", "pigrep") }
func element(text string) ([]Insertion, error) { return Element(text, hook, "hooks", "Start") }

// What is not understood is not changed.
func TestRefusals(t *testing.T) {
	for _, text := range []string{
		"{", "{\"a\":1", "[]", "1", "{a: 1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":}", "{} {}", "/*", "{\"a\": 'x'}", "{\"mcp\": null}", "{\"mcp\": \"x\"}", "{\"mcp\": []}", "{\"mcp\": {\"pigrep\": 2}}",
		"{\"a\": 01}", "{\"a\": \"\n\"}", strings.Repeat("[", 100000), "{\"a\":1,,}", "\x00", "{\"a\\q\":1}",
	} {
		if list, err := member(text); err == nil {
			t.Errorf("%.60q becomes %.100q", text, Into(text, list))
		}
	}
	for _, text := range []string{`{"hooks":{"Start":{}}}`, `{"hooks":[]}`, `{"hooks":{"Start":"x"}}`} {
		if list, err := element(text); err == nil {
			t.Errorf("%q becomes %q", text, Into(text, list))
		}
	}
}

// After others have changed the file, only what was added is taken out.
func TestRemove(t *testing.T) {
	ours := func(s string) bool { return strings.Contains(s, "pigrep hook") }
	for _, c := range [][2]string{
		{"{\n  \"mcp\": {\n    \"pigrep\": 1,\n    \"other\": 2 // mine\n  }\n}", "{\n  \"mcp\": {\n    \"other\": 2 // mine\n  }\n}"},
		{"{\n  \"mcp\": {\n    \"other\": 2, // mine\n    \"pigrep\": 1\n  }\n}", "{\n  \"mcp\": {\n    \"other\": 2 // mine\n  }\n}"},
		{`{"mcp":{"pigrep":1}}`, `{"mcp":{}}`},
		{`{"mcp":{"a":1,"pigrep":1,"b":2}}`, `{"mcp":{"a":1,"b":2}}`},
		{`{"mcp":{}}`, `{"mcp":{}}`},
		{`{`, `{`},
	} {
		if got := Remove(c[0], nil, "mcp", "pigrep"); got != c[1] {
			t.Errorf("%s\nbecomes\n%s\nwant\n%s", c[0], got, c[1])
		}
	}
	const list = `{"hooks":{"Start":[{"command":"x"},{"command":"pigrep hook"},{"command":"y"},{"command":"pigrep hook"}]}}`
	if got := Remove(list, ours, "hooks", "Start"); got != `{"hooks":{"Start":[{"command":"x"},{"command":"y"}]}}` {
		t.Error(got)
	}
}

// Objects that were added go when they are empty, others stay.
func TestPrune(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a": 1, "hooks": {"Start": []}}`, `"hooks": {"Start": [x]}`, `{"a": 1}`},
		{`{"a": 1, "hooks": {"Start": []}}`, `"Start": [x]`, `{"a": 1, "hooks": {}}`},
		{`{"hooks": {"Start": []}}`, `x`, `{"hooks": {"Start": []}}`},
		{`{"hooks": {"Start": [1]}}`, `"hooks": {"Start": [x]}`, `{"hooks": {"Start": [1]}}`},
		{`{"hooks": {"Start": [/* mine */]}}`, `"hooks": {"Start": [x]}`, `{"hooks": {"Start": [/* mine */]}}`},
		{`{"hooks": 1}`, `"hooks"`, `{"hooks": 1}`},
	} {
		if got := Prune(c[0], c[1], "hooks", "Start"); got != c[2] {
			t.Errorf("%s without %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestAppend(t *testing.T) {
	for text, want := range map[string]string{
		"": "x\ny\n", "a": "a\n\nx\ny\n", "a\n": "a\n\nx\ny\n", "a\r\n": "a\r\n\r\nx\r\ny\r\n", "\n": "\nx\ny\n",
	} {
		list := Append(text, "x\ny\n")
		if got := Into(text, list); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if back, ok := Revert(want+"more\n", list); !ok || back != text+"more\n" {
			t.Errorf("%q: reverted to %q, %v", text, back, ok)
		}
	}
}

// Of any JSON, with any white space and comments, nothing else changes, and everything comes back.
func TestAnyJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain, text := draw(t, 0)
		if plain[0] != '{' {
			plain, text = `{"a":`+plain+`}`, "{ \"a\" : "+text+"}"
		}
		list, err := Member(text, hook, "mcp", "pigrep")
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got := Into(text, list)
		if back, ok := Revert(got, list); !ok || back != text {
			t.Fatalf("%q became %q, reverted to %q", text, got, back)
		}
		gone, err := parse(Remove(got, nil, "mcp", "pigrep"))
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		var before, after map[string]any
		if err := json.Unmarshal([]byte(plain), &before); err != nil {
			t.Fatal(err)
		}
		x, err := parse(got)
		if err != nil {
			t.Fatal(err)
		}
		after = decoded(got, x).(map[string]any)
		if value, _ := Value(got, "mcp", "pigrep"); !strings.Contains(value, "pigrep hook") || len(gone.items) != len(x.items) {
			t.Fatalf("%q became %q", text, got)
		}
		delete(after, "mcp")
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// decoded returns what a parsed text says.
func decoded(text string, x *item) (v any) {
	switch text[x.start] {
	case '{':
		m := map[string]any{}
		for i := range x.items {
			m[x.items[i].key] = decoded(text, &x.items[i])
		}
		return m
	case '[':
		l := []any{}
		for i := range x.items {
			l = append(l, decoded(text, &x.items[i]))
		}
		return l
	}
	_ = json.Unmarshal([]byte(text[x.start:x.end]), &v)
	return v
}

// draw draws JSON, and the same with white space and comments.
func draw(t *rapid.T, depth int) (plain, text string) {
	space := func() string {
		return rapid.SampledFrom([]string{"", " ", "\n", "\n\t", "\r\n  ", "// c, }\n", "/* \" */", "\n  // x\n  "}).Draw(t, "space")
	}
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth > 2 || kind > 1 {
		v := rapid.SampledFrom([]string{`"x"`, `"}\\\"]"`, "1", "-2.5e3", "true", "null", `"// no"`, `""`}).Draw(t, "scalar")
		return v, space() + v + space()
	}
	open, closing := "{", "}"
	if kind == 1 {
		open, closing = "[", "]"
	}
	n := rapid.IntRange(0, 3).Draw(t, "items")
	plain, text = open, open+space()
	for i := range n {
		if i > 0 {
			plain, text = plain+",", text+","
		}
		if open == "{" {
			key := `"` + string(rune('a'+i)) + `"`
			plain, text = plain+key+":", text+space()+key+space()+":"
		}
		p, x := draw(t, depth+1)
		plain, text = plain+p, text+x
	}
	if n > 0 && rapid.Bool().Draw(t, "trailing") {
		text += "," + space()
	}
	return plain + closing, space() + text + closing + space()
}
