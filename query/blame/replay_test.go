package blame

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// play makes the changes of calls named a, b, c… in one file, and returns its lines with who wrote
// each.
func play(changes ...*change) (list []string) {
	names := make(map[*origin]string)
	r := &replay{files: make(map[string]*history), same: func(string) bool { return true }}
	for i, c := range changes {
		if c.path == "" {
			c.path = "/p/f"
		}
		c.by = &origin{session: &session.Summary{}, time: int64(i)}
		c.printed = func() map[string]bool { return nil }
		names[c.by] = string(rune('a' + i))
		r.apply(c)
	}
	for _, l := range r.at("/p/f").lines() {
		list = append(list, fmt.Sprintf("%s %s", names[l.by], l.text))
	}
	return list
}

func calledEdit(edits ...session.Edit) *change {
	return changesBy(&session.Call{Edits: edits}, "/p")[0]
}

func wrote(lines ...string) *change {
	return calledEdit(session.Edit{Path: "f", New: []byte(strings.Join(lines, "\n") + "\n"), Whole: true})
}

func edited(before, after string) *change {
	return calledEdit(session.Edit{Path: "f", Old: []byte(before), New: []byte(after)})
}

func patched(patch string) *change {
	return changesBy(&session.Call{Diff: []byte("*** Begin Patch\n*** Update File: f\n" + patch + "*** End Patch\n")}, "/p")[0]
}

func ran(command string) *change {
	return changesBy(&session.Call{Command: []byte(command)}, "/p", "f")[0]
}

func TestReplay(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes []*change
		want    []string
	}{
		{"a write that repeats lines", []*change{wrote("one", "two"), wrote("zero", "one", "two")}, []string{"b zero", "a one", "a two"}},
		{"removed and written again", []*change{wrote("one", "two"), edited("two\n", ""), edited("one\n", "one\ntwo\n")}, []string{"a one", "c two"}},
		{"a piece of a line", []*change{wrote("x := f(1)", "two"), edited("f(1)", "g(2)")}, []string{"b x := g(2)", "a two"}},
		{"only white space", []*change{wrote("if x {", "two"), wrote("\tif x {", "two")}, []string{"a \tif x {", "a two"}},
		{"a patch", []*change{wrote("one", "two", "three"), patched("@@\n one\n-two\n+2\n three\n")}, []string{"a one", "b 2", "a three"}},
		{"a patch after a formatter", []*change{wrote("\tone", "\ttwo"), patched("@@\n     one\n-    two\n+    2\n")}, []string{"a \tone", "b     2"}},
		{"an edit of a file that is not known", []*change{edited("one\ntwo", "one\n2"), edited("one\n2", "1\n2")}, []string{"b 1", "a 2"}},
		{"a here-document", []*change{ran("cat > f <<'E'\none\nE"), ran("cat >> f <<'E'\ntwo\nE")}, []string{"a one", "b two"}},
		{"sed", []*change{wrote("a := x", "b := y"), ran("sed -i 's/x/z/' f")}, []string{"b a := z", "a b := y"}},
		{"deleted and added", []*change{wrote("one", "two"), {effect: &shellcmd.Effect{Path: "/p/f", From: "/p/none"}}, wrote("one", "2")}, []string{"a one", "c 2"}},
		{"moved here", []*change{{path: "/q/g", effect: &shellcmd.Effect{Text: "one"}}, {path: "/p/f", effect: &shellcmd.Effect{From: "/q/g"}}, edited("one", "one\ntwo")}, []string{"a one", "c two"}},
		{"moved away, and there again", []*change{wrote("one", "two"), ran("mv f g")}, []string{"a one", "a two"}},
		{"moved away, and changed", []*change{wrote("one", "two"), ran("mv f g"), edited("two", "2")}, []string{"a one", "c 2"}},
		{"moved away, and written", []*change{wrote("one", "two"), ran("mv f g"), wrote("one", "2")}, []string{"a one", "c 2"}},
		{"moved away twice", []*change{wrote("one", "two"), ran("mv f g"), ran("mv f g")}, []string{"a one", "a two"}},
		{"everywhere", []*change{wrote("x", "y", "x"), calledEdit(session.Edit{Path: "f", Old: []byte("x"), New: []byte("z"), All: true})}, []string{"b z", "a y", "b z"}},
		{"at the end", []*change{wrote("x", "y"), edited("y\n", "")}, []string{"a x"}},
		{"everything", []*change{wrote("x", "y"), edited("x\ny\n", "z\n")}, []string{"b z"}},
	} {
		if diff := cmp.Diff(c.want, play(c.changes...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
