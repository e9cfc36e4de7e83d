package diff

import (
	"fmt"

	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/internal/session"
)

// show writes files as a unified diff would, with numbers where they are known.
func show(files []File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s +%d -%d", f.Path, f.Added, f.Removed)
		if f.Whole {
			b.WriteString(" whole")
		}
		if f.Deleted {
			b.WriteString(" deleted")
		}
		b.WriteByte('\n')
		for i, h := range f.Hunks {
			if i > 0 {
				b.WriteString("@@\n")
			}
			for _, l := range h.Lines {
				fmt.Fprintf(&b, "%d,%d%c%s\n", l.Old, l.New, l.Kind, l.Text)
			}
		}
	}
	return b.String()
}

func edit(path, before, after string) session.Edit {
	return session.Edit{Path: path, Old: []byte(before), New: []byte(after)}
}

func TestOfArguments(t *testing.T) {
	for _, test := range []struct {
		name  string
		edits []session.Edit
		want  string
	}{
		{"none", nil, ""},
		{"one line", []session.Edit{edit("a.go", "old", "new")}, "a.go +1 -1\n0,0-old\n0,0+new\n"},
		{"deleted", []session.Edit{edit("a.go", "old\n", "")}, "a.go +0 -1\n0,0-old\n"},
		{"inserted", []session.Edit{edit("a.go", "a\nb\n", "a\nx\nb\n")}, "a.go +1 -0\n0,0 a\n0,0+x\n0,0 b\n"},
		{"a newline added at the end", []session.Edit{edit("a.go", "a", "a\n")}, "a.go +1 -0\n0,0 a\n0,0+\n"},
		{"three lines around a change", []session.Edit{edit("a", "1\n2\n3\n4\n5\nx\n6\n7\n8\n9", "1\n2\n3\n4\n5\ny\n6\n7\n8\n9")},
			"a +1 -1\n0,0 3\n0,0 4\n0,0 5\n0,0-x\n0,0+y\n0,0 6\n0,0 7\n0,0 8\n"},
		{"Windows", []session.Edit{edit("a", "1\r\nx\r\n", "1\r\ny\r\n")}, "a +1 -1\n0,0 1\n0,0-x\n0,0+y\n"},
		{"several of a file", []session.Edit{edit("a", "b", "c"), edit("a", "d", "e")}, "a +2 -2\n0,0-b\n0,0+c\n@@\n0,0-d\n0,0+e\n"},
		{"of two files", []session.Edit{edit("a", "b", "c"), edit("z", "d", "e")}, "a +1 -1\n0,0-b\n0,0+c\nz +1 -1\n0,0-d\n0,0+e\n"},
		{"a whole file", []session.Edit{{Path: "a", New: []byte("1\n2\n"), Whole: true}}, "a +2 -0 whole\n0,1+1\n0,2+2\n"},
		{"an empty file", []session.Edit{{Path: "a", Whole: true}}, "a +0 -0 whole\n"},
		{"nothing changes", []session.Edit{edit("a", "b", "b")}, "a +0 -0\n"},
	} {
		if diff := cmp.Diff(test.want, show(Of(&session.Call{Edits: test.edits}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestOfRecorded(t *testing.T) {
	for _, test := range []struct {
		name, recorded, want string
	}{
		{"with numbers", "     ...\n  8 a\n  9 b\n 10 c\n 11 d\n-12 x\n+12 y\n+13 z\n 13 e\n     ...",
			"arg +2 -1\n9,9 b\n10,10 c\n11,11 d\n12,0-x\n0,12+y\n0,13+z\n13,14 e\n"},
		{"with bars", " 1|a\n-2|b\n", "arg +0 -1\n1,1 a\n2,0-b\n"},
		{"two places", "-1 a\n+1 b\n 2 c\n   ...\n 8 d\n-9 e", "arg +1 -2\n1,0-a\n0,1+b\n2,2 c\n@@\n8,8 d\n9,0-e\n"},
		{"unchanged lines between", "-1 a\n 2 b\n 3 c\n 4 d\n 5 e\n 6 f\n 7 g\n 8 h\n 9 i\n-10 j", "arg +0 -2\n1,0-a\n2,1 b\n3,2 c\n4,3 d\n@@\n7,6 g\n8,7 h\n9,8 i\n10,0-j\n"},
		{"unchanged lines numbered from 1", "    ...\n  1 a\n  2 b\n-12 x\n 13 c\n    ...\n  1 d\n+30 y", "arg +1 -1\n10,10 a\n11,11 b\n12,0-x\n13,12 c\n@@\n30,29 d\n0,30+y\n"},
		{"an empty line", " 1 \n+2 x\n 2 ", "arg +1 -0\n1,1 \n0,2+x\n2,3 \n"},
		{"unified", "--- a/x.go\n+++ b/x.go\n@@ -3,2 +3,2 @@ func main() {\n a\n-b\n+c\n\\ No newline at end of file\n", "x.go +1 -1\n3,3 a\n4,0-b\n0,4+c\n"},
		{"unified, two files", "--- x\t2026\n+++ x\t2026\n@@ -1 +1 @@\n-b\n+c\n--- /dev/null\n+++ y\n@@ -0,0 +1 @@\n+d\n", "x +1 -1\n1,0-b\n0,1+c\ny +1 -0\n0,1+d\n"},
		{"signs alone", "-foo\n+bar baz", "arg +1 -1\n0,0-foo\n0,0+bar baz\n"},
		{"envelope", "*** Begin Patch\n*** Update File: x.go\n@@ func main\n a\n-b\n+c\n*** Add File: y.go\n+d\n*** Delete File: z.go\n*** End Patch", "x.go +1 -1\n0,0 a\n0,0-b\n0,0+c\ny.go +1 -0 whole\n0,0+d\nz.go +0 -0 deleted\n"},
		{"prose", "Changed the file.\nIt is fine now.", "arg +1 -1\n0,0-from\n0,0+to\n"},
		{"nothing but context", " 1 a\n 2 b", "arg +1 -1\n0,0-from\n0,0+to\n"},
		{"a number beyond all", "-99999999999999999999 a", "arg +0 -1\n0,0-99999999999999999999 a\n"},
	} {
		c := &session.Call{Edits: []session.Edit{edit("arg", "from", "to")}, Diff: []byte(test.recorded)}
		if diff := cmp.Diff(test.want, show(Of(c))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A diff without paths cannot be told apart into files: the arguments can.
func TestRecordedDiffOfSeveralFiles(t *testing.T) {
	c := &session.Call{Edits: []session.Edit{edit("a", "b", "c"), edit("z", "d", "e")}, Diff: []byte("-1 b\n+1 c\n")}
	if got := Of(c); len(got) != 2 || got[1].Path != "z" {
		t.Errorf("Of gives\n%s, want one file for each path", show(got))
	}
}

// apply makes the new text from the old one.
func apply(t *rapid.T, before string, other string, all []Hunk) string {
	old := lines(before, other)
	var out []string
	at := 0
	for _, h := range all {
		for _, l := range h.Lines {
			if l.Kind != Added {
				if l.Old-1 < at {
					t.Fatalf("line %d comes after line %d", l.Old, at)
				}
				out = append(out, old[at:l.Old-1]...)
				if at = l.Old; old[at-1] != l.Text {
					t.Fatalf("line %d is %q, in the diff %q", at, old[at-1], l.Text)
				}
			}
			if l.Kind != Removed {
				if len(out)+1 != l.New {
					t.Fatalf("line %d of the new text has number %d", len(out)+1, l.New)
				}
				out = append(out, l.Text)
			}
		}
	}
	return strings.Join(append(out, old[at:]...), "\n")
}

// Applied to the old text, the hunks give the new one.
func TestHunksLeadToTheNewText(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "", "  a", "é"})
	text := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(line, 0, 60).Draw(t, "lines"), "\n")
		if rapid.Bool().Draw(t, "newline") {
			s += "\n"
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		got := apply(t, before, after, compare(before, after))
		want := strings.Join(lines(after, before), "\n")
		if got != want {
			t.Errorf("applied to %q the diff gives %q, want %q", before, got, want)
		}
		// So do those of texts that are too large to be compared.
		a, b := lines(before, after), lines(after, before)
		if got := apply(t, before, after, changed(a, b, middle(a, b))); got != want {
			t.Errorf("applied to %q the hunk gives %q, want %q", before, got, want)
		}
	})
}

// What a file gives as a unified diff is read as the same hunks.
func TestUnified(t *testing.T) {
	for name, c := range map[string]*session.Call{
		"with numbers": {Diff: []byte(" 1 a\n-2 b\n+2 c\n+3 d\n   ...\n 8 e\n+10 f")},
		"without":      {Edits: []session.Edit{edit("", "a\nb", "a\nc"), edit("", "d", "e\n\n")}},
		"whole file":   {Edits: []session.Edit{{New: []byte("a\nb\n"), Whole: true}}},
	} {
		want := Of(c)[0]
		text := want.Unified(func(s string) string { return s })
		got := parse(text)
		if len(got) != 1 {
			t.Errorf("%s: %q is read as %d files", name, text, len(got))
			continue
		}
		if diff := cmp.Diff(want.Hunks, got[0].Hunks); diff != "" {
			t.Errorf("%s: %q is read as other hunks (-want +got):\n%s", name, text, diff)
		}
	}
}

// Diffs of huge texts take seconds, where comparing each line with each would take hours.
func TestHugeTexts(t *testing.T) {
	numbers := func(n, step int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d\n", i*step%n)
		}
		return b.String()
	}
	for name, pair := range map[string][2]string{
		"at the limit of lines": {numbers(maxLines/2-1, 1), numbers(maxLines/2-1, 7919)},
		"beyond it":             {numbers(1e6, 1), numbers(1e6, 7919)},
		"long lines":            {strings.Repeat("x", 8<<20), strings.Repeat("y", 8<<20)},
	} {
		if len(compare(pair[0], pair[1])) == 0 {
			t.Errorf("%s: no hunks", name)
		}
	}
}

// The names in a recorded diff may be of git, of diff, or of neither.
func TestFileNames(t *testing.T) {
	for heads, want := range map[[2]string]string{
		{"a/x.go", "b/x.go"}:                   "x.go",
		{"a/x", "y"}:                           "y",
		{"x", "b/y"}:                           "y",
		{"a/x.go", "/dev/null"}:                "x.go",
		{"a/x.go\t2026", "/dev/null\t1970"}:    "x.go",
		{"/dev/null", "b/x.go"}:                "x.go",
		{"lib/x.go\t2026", "lib/x.go\t2026 1"}: "lib/x.go",
		{"a/", ""}:                             "",
	} {
		files := parse("--- " + heads[0] + "\n+++ " + heads[1] + "\n@@ -1 +1 @@\n-a\n+b")
		if len(files) != 1 || files[0].Path != want {
			t.Errorf("%q: files %+v, want one named %q", heads, files, want)
		}
	}
}

// Whatever a session has, its lines add up.
func FuzzParse(f *testing.F) {
	f.Add("@@ -1 +1 @@\n-a\n+b")
	f.Add(" 1 a\n-2 b\n   ...\n+3 c")
	f.Add("--- a/x\n+++ y\n@@ -1 +1 @@\n-a\n+b")
	f.Add("*** Begin Patch\n*** Add File: x\n+a")
	f.Fuzz(func(t *testing.T, s string) {
		for _, file := range parse(s) {
			added, removed := 0, 0
			for _, h := range file.Hunks {
				if len(h.Lines) == 0 {
					t.Errorf("%q has a hunk without lines", s)
				}
				for _, l := range h.Lines {
					if l.Old < 0 || l.New < 0 || strings.Contains(l.Text, "\n") {
						t.Errorf("%q has the line %+v", s, l)
					}
					switch l.Kind {
					case Added:
						added++
					case Removed:
						removed++
					}
				}
			}
			if added != file.Added || removed != file.Removed {
				t.Errorf("%q: +%d -%d, but +%d -%d lines", s, file.Added, file.Removed, added, removed)
			}
		}
	})
}

// What is matched is the same line, in the same order; equal texts match whole; and one line that
// was added or removed leaves all others matched.
func TestMatch(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "d", "", "return nil, err"})
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(line, 0, 30).Draw(t, "a"), rapid.SliceOfN(line, 0, 30).Draw(t, "b")
		last := -1
		for i, at := range Match(a, b) {
			if at >= 0 && (at <= last || a[at] != b[i]) {
				t.Fatalf("line %d is matched with %d after %d", i, at, last)
			}
			last = max(last, at)
		}
		at := rapid.IntRange(0, len(a)).Draw(t, "at")
		longer := append(append(append([]string{}, a[:at]...), "new"), a[at:]...)
		n := 0
		for _, k := range Match(a, longer) {
			if k >= 0 {
				n++
			}
		}
		if n != len(a) {
			t.Fatalf("%d of %d lines are matched beside a new one", n, len(a))
		}
	})
}

// Large texts that differ everywhere are matched as well.
func TestMatchOfManyEqualLines(t *testing.T) {
	a, b := strings.Split(strings.Repeat("x\ny\n", 50_000), "\n"), strings.Split(strings.Repeat("y\nx\nx\n", 40_000), "\n")
	if got := Match(a, b); len(got) != len(b) {
		t.Errorf("%d of %d lines", len(got), len(b))
	}
}
