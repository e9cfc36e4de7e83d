package syntax

import (
	"slices"
	"strings"
	"testing"
)

func TestSetField(t *testing.T) {
	tests := []struct{ text, name, values, want string }{
		{"", "kind", "call", "kind:call"},
		{"", "kind", "call result", "kind:call,result"},
		{"login redirect", "kind", "call", "login redirect kind:call"},
		{"login ", "tool", "my\u00a0tool", "login tool:\"my\u00a0tool\""},
		{"kind:call login", "kind", "result", "kind:result login"},
		{"kind:call,result login", "kind", "call", "kind:call login"},
		{"login kind:call redirect", "kind", "", "login redirect"},
		{"kind:call", "kind", "", ""},
		{"kind:call x", "kind", "", "x"},
		{"x", "kind", "", "x"},
		{"!kind:call x", "kind", "reply", "!kind:call x kind:reply"},
		{"a AND kind:call", "kind", "reply", "a AND kind:reply"},
		{"a AND kind:call AND b", "kind", "", "a AND b"},
		{"kind:call AND b", "kind", "", "b"},
		{`"kind:call"`, "kind", "reply", `"kind:call" kind:reply`},
		{"日本 project:x", "project", "日\u00a0本", "日本 project:\"日\u00a0本\""},
		{"x", "project", "a,b", `x project:"a,b"`},
		{"x", "project", "a b", "x project:a,b"},
		{"x", "project", "a,b c", `x project:"a,b",c`},
		{"x", "project", "c my\u00a0app \"q\"", "x project:c,\"my\u00a0app\",\"\\\"q\\\"\""},
		{"after:1w x", "after", "3mo", "after:3mo x"},
	}
	for _, test := range tests {
		values := strings.Split(test.values, " ")
		if test.values == "" {
			values = nil
		}
		got := SetField(test.text, test.name, values...)
		if got != test.want {
			t.Errorf("SetField(%q, %q, %q) = %q, want %q", test.text, test.name, test.values, got, test.want)
		}
		if back := FieldValues(got, test.name); !slices.Equal(back, values) {
			t.Errorf("SetField(%q, %q, %q) is read back as %q", test.text, test.name, test.values, back)
		}
	}
}
