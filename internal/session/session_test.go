package session_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
)

// record folds entries given as "id parent [type [target]]", "-" for an absent
// parent.
func record(version int, lines ...string) *session.Record {
	r := &session.Record{}
	r.Version = version
	for i, line := range lines {
		var id, parent, kind, target string
		fmt.Sscan(line, &id, &parent, &kind, &target)
		if kind == "" {
			kind = "message"
		}
		e := session.Entry{Identity: session.Identity{Type: kind, ID: id, Offset: int64(i * 100)}, Position: session.Position{ParentID: parent, HasParent: parent != "-", FirstKeptIndex: -1}}
		switch kind {
		case "compaction":
			e.FirstKeptID = target
		default:
			e.TargetID = target
		}
		if parent == "-" {
			e.ParentID = ""
		}
		r.Add(&e)
	}
	return r
}

func flags(r *session.Record, of func(int) bool) string {
	s := ""
	for i := range r.Nodes {
		if of(i) {
			s += r.Nodes[i].ID
		} else {
			s += "."
		}
	}
	return s
}

func TestTree(t *testing.T) {
	for _, test := range []struct {
		name            string
		version         int
		lines           []string
		active, context string
	}{
		{"a list", 3, []string{"a -", "b a", "c b"}, "abc", "abc"},
		{"abandoned branch", 3, []string{"a -", "b a", "c b", "d a", "e d"}, "a..de", "a..de"},
		{"the leaf is the last entry, even a label", 3, []string{"a -", "b a", "c a", "l b label b"}, "ab.l", "ab.l"},
		{"version 1 has no parents", 1, []string{"a -", "b -", "c -"}, "abc", "abc"},
		{"missing parent", 3, []string{"a -", "b zz", "c b"}, ".bc", ".bc"},
		{"own parent", 3, []string{"a -", "b b"}, ".b", ".b"},
		{"cycle", 3, []string{"a b", "b a", "c b"}, "abc", "abc"},
		{"the last of equal ids counts", 3, []string{"a -", "b a", "b a", "c b"}, "abbc", "abbc"},
		{"compaction drops what is before the first kept", 3, []string{"a -", "b a", "c b", "d c compaction b", "e d"}, "abcde", ".bcde"},
		{"compaction that kept nothing", 3, []string{"a -", "b a", "c b compaction", "d c"}, "abcd", "..cd"},
		{"only the last compaction counts", 3, []string{"a -", "b a", "c b compaction a", "d c", "e d compaction d"}, "abcde", "...de"},
		{"compaction on another branch", 3, []string{"a -", "b a", "c b compaction", "d a"}, "a..d", "a..d"},
		{"leaf entry names the leaf", 3, []string{"a -", "b a", "c a", "x c leaf b"}, "ab..", "ab.."},
		{"context edit takes its target out", 3, []string{"a -", "b a", "c b context_edit a"}, "abc", ".bc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := record(test.version, test.lines...)
			tree := r.Tree()
			if got := flags(r, tree.Active); got != test.active {
				t.Errorf("active = %s, want %s", got, test.active)
			}
			if got := flags(r, tree.InContext); got != test.context {
				t.Errorf("in context = %s, want %s", got, test.context)
			}
		})
	}
}

// Whatever the parents are, the tree is built, and entries in context are active.
func TestTreeOfAnyParents(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		r := &session.Record{}
		r.Version = 3
		n := 1 + rng.IntN(12)
		for i := range n {
			e := session.Entry{Identity: session.Identity{Type: []string{"message", "compaction", "label"}[rng.IntN(3)], ID: fmt.Sprint(rng.IntN(n))}, Position: session.Position{FirstKeptIndex: -1}}
			e.ParentID, e.FirstKeptID, e.HasParent = fmt.Sprint(rng.IntN(n+1)), fmt.Sprint(rng.IntN(n)), true
			e.Offset = int64(i)
			r.Add(&e)
		}
		tree := r.Tree()
		if !tree.Active(n - 1) {
			t.Fatalf("the last entry is not active: %+v", r.Nodes)
		}
		for i := range n {
			if tree.InContext(i) && !tree.Active(i) {
				t.Fatalf("entry %d is in context and not active: %+v", i, r.Nodes)
			}
		}
	}
}

func TestRecordFacts(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	r := &session.Record{}
	r.Header.Timestamp = at("2026-01-01T00:00:00Z")
	if got := r.Modified(); !got.Equal(r.Header.Timestamp) {
		t.Errorf("Modified() without messages = %v, want the header's time", got)
	}
	for _, e := range []session.Entry{
		{Identity: session.Identity{Type: "message", Role: "user", Timestamp: at("2026-01-02T00:00:00Z")}, Said: session.Said{UserText: "  "}},
		{Identity: session.Identity{Type: "message", Role: "user", Timestamp: at("2026-01-03T00:00:00Z")}, Said: session.Said{UserText: "first words", MessageTime: at("2026-01-05T00:00:00Z")}},
		{Identity: session.Identity{Type: "message", Role: "assistant", Timestamp: at("2026-01-04T00:00:00Z")}, Said: session.Said{Provider: "p", Model: "m"}},
		{Identity: session.Identity{Type: "message", Role: "toolResult", Timestamp: at("2026-01-09T00:00:00Z")}},
		{Identity: session.Identity{Type: "session_info"}, Named: session.Named{Name: "one"}},
		{Identity: session.Identity{Type: "session_info"}, Named: session.Named{Name: "two"}},
		{Identity: session.Identity{Type: "label"}, Named: session.Named{TargetID: "x", Label: "keep"}},
		{Identity: session.Identity{Type: "label"}, Named: session.Named{TargetID: "y", Label: "gone"}},
		{Identity: session.Identity{Type: "label"}, Named: session.Named{TargetID: "y"}},
	} {
		e.FirstKeptIndex = -1
		r.Add(&e)
	}
	if r.Messages != 4 || r.Entries != 9 || r.FirstPrompt != "first words" || r.Name != "two" {
		t.Errorf("messages %d, entries %d, first prompt %q, name %q", r.Messages, r.Entries, r.FirstPrompt, r.Name)
	}
	if got := r.Modified(); !got.Equal(at("2026-01-05T00:00:00Z")) {
		t.Errorf("Modified() = %v, want the newest user or assistant message", got)
	}
	if len(r.Labels) != 1 || r.Labels["x"] != "keep" {
		t.Errorf("labels = %v", r.Labels)
	}
	if diff := cmp.Diff([]string{"keep"}, r.LabelNames); diff != "" {
		t.Errorf("label names (-want +got):\n%s", diff)
	}
	if len(r.Models) != 1 || r.Models[0] != "p/m" {
		t.Errorf("models = %v", r.Models)
	}
	c := r.Clone()
	c.Add(&session.Entry{Identity: session.Identity{Type: "label"}, Named: session.Named{TargetID: "x"}, Position: session.Position{FirstKeptIndex: -1}})
	if r.Labels["x"] != "keep" || len(r.Nodes) != 9 {
		t.Errorf("changing a clone changed the original: %v", r.Labels)
	}
}

func TestFirstKeptIndexOfVersion1(t *testing.T) {
	r := &session.Record{}
	r.Version = 1
	for i, e := range []session.Entry{
		{Identity: session.Identity{Type: "message"}, Position: session.Position{FirstKeptIndex: -1}}, {Identity: session.Identity{Type: "message"}, Position: session.Position{FirstKeptIndex: -1}},
		{Identity: session.Identity{Type: "compaction"}, Position: session.Position{FirstKeptIndex: 2}}, // header is 0, so the second message
	} {
		e.ID, e.Offset = fmt.Sprintf("@%d", i*10), int64(i*10)
		r.Add(&e)
	}
	if got := flags(r, r.Tree().InContext); got != ".@10@20" {
		t.Errorf("in context = %s, want the second message on", got)
	}
}

func TestTreeShape(t *testing.T) {
	for _, test := range []struct {
		name     string
		lines    []string
		roots    string
		children string // of every entry, "a:bc"
		through  string // of every entry
	}{
		{"branches", []string{"a -", "b a", "c b", "d a", "e d"}, "a", "a:bd b:c c: d:e e:", "ade abc abc ade ade"},
		{"the last branch goes on where none is active", []string{"a -", "b a", "c b", "d b", "e a"}, "a", "a:be b:cd c: d: e:", "ae abd abc abd ae"},
		{"two roots", []string{"a -", "b a", "x zz", "y x"}, "ax", "a:b b: x:y y:", "ab ab xy xy"},
		{"a circle begins with its first entry", []string{"a c", "b a", "c b", "d c"}, "a", "a:b b:c c:d d:", "abcd abcd abcd abcd"},
		{"an entry that is its own parent", []string{"a a", "b a"}, "a", "a:b b:", "ab ab"},
		{"an entry written again takes the place of the first", []string{"a -", "b a", "b a", "c b"}, "a", "a:b b: b:c c:", "abc abc abc abc"},
		{"no parents at all", []string{"a -", "b -", "c -"}, "a", "a:b b:c c:", "abc abc abc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := record(3, test.lines...)
			tree := r.Tree()
			names := func(list []int) string {
				s := ""
				for _, i := range list {
					s += r.Nodes[i].ID
				}
				return s
			}
			if got := names(tree.Roots()); got != test.roots {
				t.Errorf("roots = %s, want %s", got, test.roots)
			}
			var children, through []string
			for i := range r.Nodes {
				children = append(children, r.Nodes[i].ID+":"+names(tree.Children(i)))
				through = append(through, names(tree.Through(i)))
			}
			if got := strings.Join(children, " "); got != test.children {
				t.Errorf("children = %s, want %s", got, test.children)
			}
			if got := strings.Join(through, " "); got != test.through {
				t.Errorf("through = %s, want %s", got, test.through)
			}
		})
	}
}

// Whatever the parents are, every entry that is not superseded is below exactly one
// root, once.
func TestTreeIsWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		r := &session.Record{}
		r.Version = 3
		n := 1 + rng.IntN(15)
		for i := range n {
			r.Add(&session.Entry{
				Identity: session.Identity{Type: "message", ID: fmt.Sprint(rng.IntN(n)), Offset: int64(i)}, Position: session.Position{ParentID: fmt.Sprint(rng.IntN(n + 1)), HasParent: true, FirstKeptIndex: -1},
			})
		}
		tree := r.Tree()
		seen := make(map[int]int)
		for stack := append([]int(nil), tree.Roots()...); len(stack) > 0; {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[i]++; seen[i] > 1 {
				t.Fatalf("entry %d is in the tree twice: %+v", i, r.Nodes)
			}
			stack = append(stack, tree.Children(i)...)
		}
		for i := range n {
			if (seen[i] == 1) == tree.Superseded(i) {
				t.Fatalf("entry %d: in the tree %d times, superseded %t: %+v", i, seen[i], tree.Superseded(i), r.Nodes)
			}
			path := tree.Through(i)
			if len(path) == 0 || len(path) > n {
				t.Fatalf("the branch through %d has %d entries: %+v", i, len(path), r.Nodes)
			}
		}
	}
}

// A command says little without arguments, or if the agent answers it itself ($): the next prompt that
// says more is the subject.
func TestTitle(t *testing.T) {
	for _, test := range []struct {
		prompts []string
		want    string
	}{
		{[]string{"fix it", "and that"}, "fix it"},
		{[]string{"/mode", "/mode plan", "second"}, "/mode plan"},
		{[]string{"/mode", "/model", " "}, "/mode"},
		{[]string{"", "<skill name=\"review\" location=\"/s\">\nx\n</skill>", "the login", "third"}, "the login"},
		{[]string{"## Goal\nfix it"}, "Goal fix it"},
		{nil, ""},
		{[]string{"!/model opus", "$", "!/clear", "$", "fix it"}, "fix it"},
		{[]string{"!/model opus", "$"}, "/model"},
		{[]string{"!/init", "fix it"}, "fix it"},
		{[]string{"!/clear", "!/review 12", ".", "and now?", "!/cost", "$"}, "/review 12"},
		{[]string{"!/review 12", ".", "!/cost", "$", "and now?"}, "/review 12"},
		{[]string{"!/clear", "!/logout"}, "/clear"},
	} {
		r := &session.Record{}
		for _, p := range test.prompts {
			e := session.Entry{Identity: session.Identity{Type: session.TypeMessage, Role: session.RoleUser}, Said: session.Said{UserText: p}, Position: session.Position{FirstKeptIndex: -1}}
			switch command, ok := strings.CutPrefix(p, "!"); {
			case ok:
				e.Said = session.Said{Command: command}
			case p == "$":
				e.Role, e.UserText = session.RoleShell, ""
			case p == ".":
				e.Role, e.Said = session.RoleAssistant, session.Said{Model: "m"}
			}
			r.Add(&e)
		}
		if got := r.Title(); got != test.want {
			t.Errorf("the title of %q is %q, want %q", test.prompts, got, test.want)
		}
		r.Name = "named"
		if got := r.Title(); got != "named" {
			t.Errorf("the title of a named session is %q", got)
		}
	}
}
