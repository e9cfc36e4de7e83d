package syntax

import "testing"

func TestSetField(t *testing.T) {
	tests := []struct{ text, name, value, want string }{
		{"", "kind", "call", "kind:call"},
		{"login redirect", "kind", "call", "login redirect kind:call"},
		{"login ", "tool", "my tool", `login tool:"my tool"`},
		{"kind:call login", "kind", "result", "kind:result login"},
		{"login kind:call redirect", "kind", "call", "login redirect"},
		{"kind:call", "kind", "call", ""},
		{"kind:call x", "kind", "", "x"},
		{"x", "kind", "", "x"},
		{"!kind:call x", "kind", "reply", "!kind:call x kind:reply"},
		{"a AND kind:call", "kind", "reply", "a AND kind:reply"},
		{"a AND kind:call AND b", "kind", "", "a AND b"},
		{"kind:call AND b", "kind", "call", "b"},
		{`"kind:call"`, "kind", "reply", `"kind:call" kind:reply`},
		{"日本 project:x", "project", "日 本", `日本 project:"日 本"`},
	}
	for _, test := range tests {
		got := SetField(test.text, test.name, test.value)
		if got != test.want {
			t.Errorf("SetField(%q, %q, %q) = %q, want %q", test.text, test.name, test.value, got, test.want)
		}
		if v := FieldValue(got, test.name); test.value != "" && v != "" && v != test.value {
			t.Errorf("SetField(%q, %q, %q) is read back as %q", test.text, test.name, test.value, v)
		}
	}
}
