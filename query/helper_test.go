package query

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/internal/session"
)

// disk opens session files for tests.
type disk struct{}

type osFile struct {
	*os.File
	info fs.FileInfo
}

func (f osFile) Size() int64        { return f.info.Size() }
func (f osFile) ModTime() time.Time { return f.info.ModTime() }

func (disk) Open(path string) (SessionFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return osFile{f, info}, err
}

// entry is one line of a session of the tests.
type entry struct {
	id, parent string // parent "" is the entry before
	minute     int    // after the start of the session
	message    map[string]any
	fields     map[string]any // of entries that are no messages
}

func prompt(text string) entry {
	return entry{message: map[string]any{"role": "user", "content": text}}
}

func reply(text string) entry {
	return entry{message: map[string]any{
		"role": "assistant", "provider": "acme", "model": "opus-9",
		"content": []any{map[string]any{"type": "text", "text": text}},
	}}
}

func result(tool, text string, failed bool) entry {
	return entry{message: map[string]any{
		"role": "toolResult", "toolCallId": "c1", "toolName": tool, "isError": failed,
		"content": []any{map[string]any{"type": "text", "text": text}},
	}}
}

func (e entry) named(id string) entry { e.id = id; return e }

// a story is a session file of the tests.
type story struct {
	name    string // of the file, without .jsonl
	id      string
	cwd     string
	start   time.Time
	entries []entry
	raw     string // lines that come after the header as they are
}

var day = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// text writes the session file.
func (s *story) text() string {
	var b strings.Builder
	line := func(v map[string]any) {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	start := s.start
	if start.IsZero() {
		start = day
	}
	if s.id == "" {
		s.id = "id-of-" + s.name
	}
	stamp := func(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }
	line(map[string]any{"type": "session", "version": 3, "id": s.id, "timestamp": stamp(start), "cwd": s.cwd})
	b.WriteString(s.raw)
	last := ""
	for i, e := range s.entries {
		if e.id == "" {
			e.id = fmt.Sprintf("%s-%04d", s.name, i)
		}
		if e.parent == "" {
			e.parent = last
		}
		last = e.id
		v := map[string]any{"type": "message", "id": e.id, "timestamp": stamp(start.Add(time.Duration(e.minute) * time.Minute))}
		if e.parent != "" {
			v["parentId"] = e.parent
		} else {
			v["parentId"] = nil
		}
		if e.message != nil {
			v["message"] = e.message
		}
		for k, f := range e.fields {
			v[k] = f
		}
		line(v)
	}
	return b.String()
}

// library is an index of session files in a temporary directory.
type library struct {
	t      testing.TB
	dir    string // of the session files, in sessions/
	place  string // of the index
	writer *index.Writer
	reader *index.Reader
	texts  map[index.ID]string // every document's text
	kinds  map[index.ID]session.Kind
}

func newLibrary(t testing.TB, stories ...story) *library {
	t.Helper()
	l := &library{t: t, dir: t.TempDir(), texts: map[index.ID]string{}, kinds: map[index.ID]session.Kind{}}
	l.place = filepath.Join(l.dir, "index")
	w, err := index.OpenWriter(l.place, index.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.writer = w
	t.Cleanup(func() {
		if l.reader != nil {
			l.reader.Close()
		}
		w.Close()
	})
	l.add(stories...)
	return l
}

// openLibrary opens an index that is already there.
func openLibrary(t testing.TB, dir string) *library {
	t.Helper()
	r, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return &library{t: t, reader: r}
}

func (l *library) path(name string) string { return filepath.Join(l.dir, "sessions", name+".jsonl") }

// add writes and indexes sessions in one batch.
func (l *library) add(stories ...story) {
	l.t.Helper()
	b := l.writer.NewBatch()
	for i := range stories {
		l.addTo(b, l.path(stories[i].name), stories[i].text())
	}
	l.commit(b)
}

func (l *library) commit(b *index.Batch) {
	l.t.Helper()
	if err := l.writer.Commit(b); err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.writer.Publish(); err != nil {
		l.t.Fatal(err)
	}
	if l.reader != nil {
		l.reader.Close()
	}
	r, err := index.Open(l.place)
	if err != nil {
		l.t.Fatal(err)
	}
	l.reader = r
}

func (l *library) addTo(b *index.Batch, path, text string) {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
	rec := &session.Record{Summary: session.Summary{File: l.writer.NextFile(), Path: path}}
	parser := pi.New().Parse(adapter.State{})
	offset := int64(0)
	for i, line := range strings.SplitAfter(text, "\n") {
		if line == "" {
			continue
		}
		data := []byte(line)
		parser.Parse(adapter.Line{Data: data, Raw: data, Offset: offset, Number: i + 1, Ended: true}, func(e *session.Entry) {
			rec.Add(e)
			for k := range e.Parts {
				p := &e.Parts[k]
				d := index.Document{
					ID: index.ID{File: rec.File, Offset: e.Offset, Part: k}, Kind: p.Kind, Role: e.Role, Tool: p.Tool,
					Provider: e.Provider, Model: e.Model, CustomType: e.CustomType, Error: e.IsError, Copy: e.Copy, Text: p.Text,
				}
				if k == 0 {
					d.EntryID = e.ID
				}
				l.texts[d.ID], l.kinds[d.ID] = string(p.Text), p.Kind
				rec.Tokens += uint64(b.Add(&d))
				rec.Documents++
			}
		})
		offset += int64(len(line))
	}
	rec.Header = parser.State().Header
	rec.Checkpoint.Offset, rec.Size = offset, offset
	b.Put(rec, nil)
}

// search answers a request, or ends the test.
func (l *library) search(req Request) *Response {
	l.t.Helper()
	resp, err := Search(context.Background(), l.reader, pi.New(), disk{}, req)
	if err != nil {
		l.t.Fatalf("Search(%q): %v", req.Text, err)
	}
	return resp
}

// ids returns the entries of the hits that lack nothing, in order.
func ids(resp *Response) []string {
	list := []string{}
	for _, h := range resp.Hits {
		if len(h.Missing) == 0 {
			list = append(list, h.EntryID)
		}
	}
	return list
}

func (l *library) flat(text string) []string {
	l.t.Helper()
	return ids(l.search(Request{Text: text, Flat: true, Limit: 1000}))
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
