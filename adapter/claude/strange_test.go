package claude

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
)

// What the adapter does not know is searchable, and noted by name.
func TestStrange(t *testing.T) {
	entries, _, _ := parseLines(t, user("u", "", `"hi"`)+"\n"+
		`{"type":"future-line","sessionId":"s","text":"about a quokka"}`+"\n"+
		reply("a", "u", "m", `{"type":"future_block","text":"about a wombat"}`, 1)+"\n"+
		node("s", "a", `"type":"system","subtype":"future_subtype","content":"about a numbat"`))
	var names []string
	all := ""
	for _, e := range entries {
		names = append(names, e.Strange...)
		for _, part := range e.Parts {
			all += string(part.Kind) + ": " + string(part.Text) + "\n"
		}
	}
	if diff := cmp.Diff([]string{"line future-line", "block future_block", "system line future_subtype"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, text := range []string{"about a quokka", "about a wombat", "about a numbat"} {
		if !strings.Contains(all, "other: "+text) {
			t.Errorf("%q is not searchable:\n%s", text, all)
		}
	}
}

// A last-prompt line without a leaf undoes the choice of one before it.
func TestUndoneLeaf(t *testing.T) {
	lines := user("u", "", `"one"`) + "\n" + reply("a", "u", "m", text("A"), 1) + "\n" + reply("b", "u", "n", text("B"), 1) + "\n"
	leaf := func(lines string) string {
		entries, _, end := parseLines(t, lines)
		r := &session.Record{Summary: session.Summary{Header: end.Header}}
		for i := range entries {
			r.Add(&entries[i])
		}
		return r.Nodes[r.Tree().Leaf()].ID
	}
	chosen := `{"type":"last-prompt","sessionId":"s","lastPrompt":"x","leafUuid":"a"}` + "\n"
	for lines, want := range map[string]string{
		lines: "b", lines + chosen: "a",
		lines + chosen + `{"type":"last-prompt","sessionId":"s","lastPrompt":"x","leafUuid":null}` + "\n": "b",
		lines + chosen + `{"type":"last-prompt","sessionId":"s","lastPrompt":"x"}` + "\n":                 "a",
	} {
		if got := leaf(lines); got != want {
			t.Errorf("leaf %s, want %s, of\n%s", got, want, lines)
		}
	}
}
