package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/terminal"
)

// Strings of an answer lose what is hidden, and nothing else of it changes.
func TestCleanJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"plain","b":[1,true,null,"x\ny\tz\"\\"]}`:   `{"a":"plain","b":[1,true,null,"x\ny\tz\"\\"]}`,
		`{"a":"é 日本 <&>"}`:                                `{"a":"é 日本 <&>"}`,
		`["a\u001b[31mb","c\u0000d","e\rf\bg\fh"]`:        `["ab","cd","efgh"]`,
		"[\"a\u009b31mb\",\"c\u202ed\x7fe\",\"\\u2028\"]": `["ab","cde",""]`,
		`{"k\u001b]0;t\u0007ey":1}`:                       `{"key":1}`,
		`"torn`:                                           `"torn`,
		`"torn\`:                                          `"torn\`,
		``:                                                ``,
	} {
		if got := string(cleanJSON(json.RawMessage(in))); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}

func FuzzCleanJSON(f *testing.F) {
	f.Add("a\x1b[1mb\u009b\u202e\"\\\n\xff")
	f.Fuzz(func(t *testing.T, s string) {
		data, err := json.Marshal(map[string]any{"a": []string{s}, "b": 1.5})
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := json.Unmarshal(cleanJSON(data), &got); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if strings.ContainsFunc(s, terminal.Hidden) || !utf8.ValidString(s) {
			text := got.(map[string]any)["a"].([]any)[0].(string)
			if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && terminal.Hidden(r) }) {
				t.Errorf("%q is left", text)
			}
			return
		}
		_ = json.Unmarshal(data, &want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
