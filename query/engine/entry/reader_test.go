package entry

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"pigrep/adapter/pi"
	"pigrep/internal/session"
)

// memory is a Source of one file, or of the error with which it cannot be opened.
type memory struct {
	text string
	err  error
}

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error       { return nil }
func (memoryFile) ModTime() time.Time { return time.Time{} }

func (m memory) Open(path string) (File, error) {
	if m.err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: m.err}
	}
	return memoryFile{bytes.NewReader([]byte(m.text))}, nil
}

const (
	headerLine = `{"type":"session","version":3,"id":"s","timestamp":"2026-05-01T12:00:00.000Z","cwd":"/"}` + "\n"
	entryLine  = `{"type":"message","id":"e1","parentId":null,"timestamp":"2026-05-01T12:00:01.000Z","message":{"role":"user","content":"fix the build"}}`
	otherLine  = `{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-05-01T12:00:02.000Z","message":{"role":"user","content":"thanks"}}` + "\n"
)

// Only a file without the indexed entry has changed. An error of the system is
// returned as it is, and so is the limit.
func TestReaderErrors(t *testing.T) {
	whole := headerLine + entryLine + "\n" + otherLine
	rec, err := ReadRecord(pi.New(), "s.jsonl", strings.NewReader(whole), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	node := rec.Nodes[0]
	if node.ID != "e1" {
		t.Fatalf("the first entry is %q", node.ID)
	}
	known, unknown := RefOf(&node, session.Context{}), Ref{Offset: node.Offset, Line: node.Line}
	for _, c := range []struct {
		name  string
		src   memory
		limit int
		// The errors with the length of the entry known, and unknown. With nil the
		// entry is read.
		want, withoutLength error
	}{
		{"as indexed", memory{text: whole}, 0, nil, nil},
		{"the file is gone", memory{err: fs.ErrNotExist}, 0, ErrChanged, ErrChanged},
		{"no permission", memory{err: fs.ErrPermission}, 0, fs.ErrPermission, fs.ErrPermission},
		{"the file ends before the entry", memory{text: headerLine}, 0, ErrChanged, ErrChanged},
		{"the file ends inside of the entry", memory{text: headerLine + entryLine[:len(entryLine)-9]}, 0, ErrChanged, ErrChanged},
		{"another id", memory{text: strings.Replace(whole, `"e1"`, `"x1"`, 1)}, 0, ErrChanged, ErrChanged},
		{"a line before it got longer", memory{text: " " + whole}, 0, ErrChanged, ErrChanged},
		{"the entry got longer", memory{text: strings.Replace(whole, "fix", "please fix", 1)}, 0, ErrChanged, nil},
		{"the entry got shorter", memory{text: strings.Replace(whole, "fix ", "", 1) + otherLine}, 0, ErrChanged, nil},
		{"longer than the limit", memory{text: whole}, 20, ErrTooLong, ErrTooLong},
		{"exactly the limit", memory{text: whole}, node.Length, nil, ErrTooLong},
		{"within the limit", memory{text: whole}, node.Length + 1, nil, nil},
	} {
		for _, with := range []struct {
			ref  Ref
			want error
		}{{known, c.want}, {unknown, c.withoutLength}} {
			name := fmt.Sprintf("%s, length %d", c.name, with.ref.Length)
			r := NewReader(c.src, pi.New())
			r.Limit = c.limit
			r.Use(&rec.Summary)
			read := 0
			err := r.Read(with.ref, Identity{ID: node.ID}, func(*session.Entry) { read++ })
			r.Use(nil)
			if !errors.Is(err, with.want) || with.want == nil && err != nil {
				t.Errorf("%s: error %v, want %v", name, err, with.want)
			}
			if with.want != ErrChanged && errors.Is(err, ErrChanged) {
				t.Errorf("%s: %v is ErrChanged", name, err)
			}
			if wantRead := with.want == nil; wantRead != (read == 1) {
				t.Errorf("%s: the entry was handed over %d times", name, read)
			}
		}
	}
}

// What the identity says of an entry must hold.
func TestReaderIdentity(t *testing.T) {
	whole := headerLine + entryLine + "\n"
	rec, err := ReadRecord(pi.New(), "s.jsonl", strings.NewReader(whole), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(memory{text: whole}, pi.New())
	r.Use(&rec.Summary)
	defer r.Use(nil)
	ref := RefOf(&rec.Nodes[0], session.Context{})
	var entryCopy uint64
	if err := r.Read(ref, Identity{}, func(e *session.Entry) { entryCopy = e.Copy }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   Identity
		same bool
	}{
		{Identity{ID: "e1", Copy: entryCopy, Parts: 1}, true},
		{Identity{ID: "e2"}, false},
		{Identity{Copy: entryCopy + 1}, false},
		{Identity{Parts: 2}, false},
	} {
		if err := r.Read(ref, c.id, func(*session.Entry) {}); c.same != (err == nil) || err != nil && !errors.Is(err, ErrChanged) {
			t.Errorf("Read as %+v: %v", c.id, err)
		}
	}
}
