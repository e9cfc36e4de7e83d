package entry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pigrep/internal/session"
)

// talked returns a conversation of entries in these forms: p prompt, r reply, t result, h hook.
func talked(forms string) *Conversation {
	rec := &session.Record{Summary: session.Summary{Header: session.Header{Version: 3}}}
	for i, form := range forms {
		n := session.Node{ID: fmt.Sprint(i), HasParent: true, Type: session.TypeMessage, Role: map[rune]string{'p': session.RoleUser, 'r': session.RoleAssistant, 't': session.RoleToolResult}[form]}
		if i > 0 {
			n.ParentID = fmt.Sprint(i - 1)
		}
		if form == 'h' {
			n.Type, n.Step = "progress", session.StepHook
		}
		rec.Nodes = append(rec.Nodes, n)
	}
	return &Conversation{Record: rec, Tree: rec.Tree()}
}

// Around a named entry stand its prompt and the answer of its turn, and more after it than before;
// steps do not count.
func TestReading(t *testing.T) {
	for _, tt := range []struct {
		forms  string
		named  int
		around int
		want   string
	}{
		{"prprprprpr", 4, -1, "2 3 4 5 6 7 8"},
		{"prtrtrtrtrtrtrtrp", 9, -1, "0 7 8 9 10 11 12 13 15"}, // a long turn: the prompt, the surroundings, the answer
		{"prtrtrtrtrtrtrtrp", 0, -1, "0 1 2 3 4 15"},
		{"prtrtrtrtrtrtrtrp", 15, -1, "0 13 14 15 16"},
		{"phhhrhhhhtr", 9, -1, "0 1 2 3 4 5 6 7 8 9 10"},
		{"phhhrhhhhtr", 6, -1, "0 1 2 3 4 5 6 7 8 9 10"}, // a step is read at its place
		{"phhhrhhhhtr", 9, 1, "4 5 6 7 8 9 10"},
		{"phhhrhhhhtr", 9, 0, "9"},
		{"rtr", 1, -1, "0 1 2"},
		{"p", 0, -1, "0"},
	} {
		c := talked(tt.forms)
		got := strings.Trim(fmt.Sprint(c.Reading(c.Tree.Path(), tt.named, tt.around)), "[]")
		if got != tt.want {
			t.Errorf("around entry %d of %s (%d): %s, want %s", tt.named, tt.forms, tt.around, got, tt.want)
		}
	}
}

// A step is named in the plural if there are several, and nothing is said of empty entries.
func TestStepsInWords(t *testing.T) {
	var s session.Steps
	if s.Add(session.StepEmpty); s.String() != "" {
		t.Errorf("empty entries are %q", s.String())
	}
	for range 41 {
		s.Add(session.StepSubagent)
	}
	s.Add(session.StepHook)
	if got, want := s.String(), "41 steps of a subagent · 1 hook"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if all, _ := talked("phhrh").Count(); all != 2 || !slices.Equal(talked("phhrh").Talk([]int{0, 1, 2, 3}, 2), []int{0, 2, 3}) {
		t.Errorf("%d entries are conversation", all)
	}
}
