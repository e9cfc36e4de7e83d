// Package adapters tests agents: it reads files with their parsers as the program does, whole,
// line by line and entry by entry.
package adapters

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/content"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

// Fixtures returns the session files of an agent among the fixtures, by path, and what they
// contain, decompressed. Without the directory with fixtures, they are those of the repository.
func Fixtures(t testing.TB, agent string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	root := cmp.Or(testkit.Fixtures(), filepath.Join(testkit.Root(), "testdata"))
	testkit.Check(t, filepath.WalkDir(filepath.Join(root, "agents", agent), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(content.Logical(path)) != ".jsonl" {
			return err
		}
		f, err := content.Open(content.Logical(path), 0)
		if err != nil {
			return err
		}
		defer f.Close()
		files[path], err = io.ReadAll(f.Text())
		return err
	}))
	if len(files) == 0 {
		t.Fatalf("no session files of %s below %s", agent, root)
	}
	return files
}

// Clone returns a copy of an entry that stays valid.
func Clone(e *session.Entry) session.Entry {
	c := *e
	c.Images, c.Shadows, c.Parts = cloned(e.Images), cloned(e.Shadows), cloned(e.Parts)
	for i := range c.Parts {
		c.Parts[i].Text, c.Parts[i].JSON = bytes.Clone(c.Parts[i].Text), bytes.Clone(c.Parts[i].JSON)
	}
	if e.Facts != nil {
		f := *e.Facts
		f.Calls, f.Inner, f.Others = cloned(f.Calls), cloned(f.Inner), cloned(f.Others)
		for i := range f.Calls {
			f.Calls[i].Text, f.Calls[i].Command = bytes.Clone(f.Calls[i].Text), bytes.Clone(f.Calls[i].Command)
			f.Calls[i].Files = cloned(f.Calls[i].Files)
		}
		c.Facts = &f
	}
	return c
}

// cloned returns a copy of a list, nil if it is empty.
func cloned[T any](list []T) []T { return append([]T(nil), list...) }

// Lines cuts a file into lines that stay valid.
func Lines(t testing.TB, data []byte) (lines []adapter.Line) {
	t.Helper()
	for r := jsonl.NewReader(bytes.NewReader(data), 0, 0); ; {
		line, err := r.Next()
		if err == io.EOF {
			return lines
		}
		testkit.Check(t, err)
		line.Data, line.Raw = bytes.Clone(line.Data), bytes.Clone(line.Raw)
		lines = append(lines, line)
	}
}

// Read is what a parser makes of a file.
type Read struct {
	Entries  []session.Entry
	Problems []adapter.ParseError
	End      adapter.State
}

// Parse reads a whole file from a state.
func Parse(t testing.TB, a adapter.Adapter, state adapter.State, data []byte) (r Read) {
	t.Helper()
	p := a.Parse(state)
	for _, line := range Lines(t, data) {
		r.Problems = append(r.Problems, p.Parse(line, func(e *session.Entry) { r.Entries = append(r.Entries, Clone(e)) })...)
	}
	r.End = p.State()
	return r
}

// Visible returns the entries that do not repeat others.
func (r Read) Visible() (list []session.Entry) {
	hidden, ids := make(map[int64]bool), make(map[string]bool)
	for _, e := range r.Entries {
		for _, offset := range e.Shadows {
			hidden[offset] = true
		}
	}
	for _, e := range r.Entries {
		if !hidden[e.Offset] && !e.Repeats && !(e.Once && ids[e.ID]) {
			list = append(list, e)
		}
		ids[e.ID] = true
	}
	return list
}

// Halves tests that reading on from a state at any line gives what reading at once gives, and
// that no memo is too large.
func Halves(t testing.TB, a adapter.Adapter, state adapter.State, data []byte) {
	t.Helper()
	want, got := Parse(t, a, state, data), Read{End: state}
	reused := a.Parse(adapter.State{})
	for i, line := range Lines(t, data) {
		p := a.Parse(got.End)
		if i%2 == 1 {
			p = reused
			p.Reset(got.End)
		}
		got.Problems = append(got.Problems, p.Parse(line, func(e *session.Entry) { got.Entries = append(got.Entries, Clone(e)) })...)
		got.End = p.State()
		if len(got.End.Memo) > adapter.MaxMemo {
			t.Fatalf("%s: line %d: the memo has %d bytes", state.Path, line.Number, len(got.End.Memo))
		}
	}
	if !reflect.DeepEqual(want, got) { // cmp takes a hundred times as long
		t.Errorf("%s, line by line (-whole +parts):\n%s", state.Path, gocmp.Diff(want, got))
	}
}

// Alone tests that an entry that is read alone is what it was in order, but for what may
// depend on earlier lines.
func Alone(t testing.TB, a adapter.Adapter, state adapter.State, data []byte) {
	t.Helper()
	r := Parse(t, a, state, data)
	for _, e := range r.Entries {
		p, again := a.Parse(adapter.State{Path: state.Path, Header: r.End.Header}), 0
		line := adapter.Line{Data: data[e.Offset : e.Offset+int64(e.Length)], Offset: e.Offset, Number: e.Line, Ended: true}
		p.Parse(line, func(alone *session.Entry) {
			if alone.Offset != e.Offset || alone.Length != e.Length { // an entry within it
				return
			}
			again++
			want, got := own(e), own(Clone(alone))
			if !reflect.DeepEqual(want, got) {
				t.Errorf("%s: line %d, read alone (-first +again):\n%s", state.Path, e.Line, gocmp.Diff(want, got))
			}
		})
		if again != 1 {
			t.Errorf("%s: line %d, read alone, gives %d entries", state.Path, e.Line, again)
		}
	}
}

// Sparse tests that an entry of which only some texts are wanted has the same parts. Each has its
// text, that text as JSON, or neither if it is not wanted.
func Sparse(t testing.TB, a adapter.Adapter, state adapter.State, data []byte) {
	t.Helper()
	r := Parse(t, a, state, data)
	for _, e := range r.Entries {
		read := func(wanted func(json []byte) bool) (got session.Entry) {
			line := adapter.Line{Data: data[e.Offset : e.Offset+int64(e.Length)], Offset: e.Offset, Number: e.Line, Ended: true, Wanted: wanted}
			a.Parse(adapter.State{Path: state.Path, Header: r.End.Header}).Parse(line, func(part *session.Entry) {
				if part.Offset == e.Offset && part.Length == e.Length {
					got = Clone(part)
				}
			})
			if got.Type != e.Type || got.Role != e.Role || got.ID != e.ID {
				t.Errorf("%s: line %d, with wanted texts only: %+v, want %+v", state.Path, e.Line, got, e)
			}
			for i := range got.Parts {
				if part := &got.Parts[i]; part.JSON != nil {
					part.Text = jsonl.AppendText(nil, part.JSON)
				}
			}
			return got
		}
		read(func([]byte) bool { return false })
		got := read(func([]byte) bool { return true })
		if len(got.Parts) != len(e.Parts) {
			t.Fatalf("%s: line %d, with wanted texts only, has %d parts, want %d", state.Path, e.Line, len(got.Parts), len(e.Parts))
		}
		for i, want := range e.Parts {
			if part := got.Parts[i]; part.Kind != want.Kind || part.ToolCallID != want.ToolCallID || !bytes.Equal(part.Text, want.Text) {
				t.Errorf("%s: line %d: part %d is %s %q, want %s %q", state.Path, e.Line, i, part.Kind, part.Text, want.Kind, want.Text)
			}
			words := wordExpr.FindAll(want.Text, 1000)
			if len(words) == 0 {
				continue
			}
			word := words[(int(e.Offset)+i)%len(words)]
			got := read(func(json []byte) bool { return bytes.Contains(json, word) || bytes.Contains(json, []byte(`\u`)) })
			got.Parts = append(got.Parts, make([]session.Part, max(0, len(e.Parts)-len(got.Parts)))...) // that are not wanted
			for i, part := range got.Parts {
				if n, want := linesWith(part.Text, word), linesWith(e.Parts[i].Text, word); n != want || n > 0 && part.Kind != e.Parts[i].Kind {
					t.Errorf("%s: line %d: %d lines with %q in part %d (%s), want %d of %q", state.Path, e.Line, n, word, i, part.Kind, want, e.Parts[i].Text)
				}
			}
		}
	}
}

// wordExpr matches what is never partly in a name, and never in the number of an element.
var wordExpr = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]+`)

func linesWith(text, word []byte) (n int) {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if bytes.Contains(line, word) {
			n++
		}
	}
	return n
}

// own returns an entry without what may depend on earlier lines.
func own(e session.Entry) session.Entry {
	e.Timestamp, e.Facts = session.Entry{}.Timestamp, nil
	e.Position = session.Position{FirstKeptID: e.FirstKeptID, FirstKeptIndex: e.FirstKeptIndex}
	e.Repeats, e.Shadows, e.Pending, e.Context = false, nil, false, session.Context{}
	return e
}
