// Package stories writes and indexes small session files, for tests of packages that
// read an index. A Story is a session file, a Turn one of its lines, and a Library an
// index in a temporary directory.
package stories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/lab/decode"
	"pigrep/lab/testkit"
	"pigrep/query/engine/entry"
)

// Disk opens session files for tests.
type Disk struct{}

type osFile struct {
	*os.File
	info fs.FileInfo
}

func (f osFile) Size() int64        { return f.info.Size() }
func (f osFile) ModTime() time.Time { return f.info.ModTime() }

func (Disk) Open(path string) (entry.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return osFile{f, info}, err
}

// Turn is one line of a Story.
type Turn struct {
	ID, Parent string // an empty parent is the previous entry
	Minute     int    // after the start of the session
	Message    map[string]any
	Fields     map[string]any // of entries that are not messages
}

func Prompt(text string) Turn {
	return Turn{Message: map[string]any{"role": "user", "content": text}}
}

func Reply(text string) Turn {
	return Turn{Message: map[string]any{
		"role": "assistant", "provider": "acme", "model": "opus-9",
		"content": []any{map[string]any{"type": "text", "text": text}},
	}}
}

func Result(tool, text string, failed bool) Turn {
	return Turn{Message: map[string]any{
		"role": "toolResult", "toolCallId": "c1", "toolName": tool, "isError": failed,
		"content": []any{map[string]any{"type": "text", "text": text}},
	}}
}

func (e Turn) Named(id string) Turn { e.ID = id; return e }

// A Story is a session file for tests.
type Story struct {
	Name    string // the file name without .jsonl
	ID      string
	CWD     string
	Start   time.Time
	Entries []Turn
	Raw     string // lines written verbatim after the header
}

var Day = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Text writes the session file.
func (s *Story) Text() string {
	var b strings.Builder
	line := func(v map[string]any) {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	start := s.Start
	if start.IsZero() {
		start = Day
	}
	s.ID = cmp.Or(s.ID, "id-of-"+s.Name)
	stamp := func(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }
	line(map[string]any{"type": "session", "version": 3, "id": s.ID, "timestamp": stamp(start), "cwd": s.CWD})
	b.WriteString(s.Raw)
	last := ""
	for i, e := range s.Entries {
		if e.ID == "" {
			e.ID = fmt.Sprintf("%s-%04d", s.Name, i)
		}
		e.Parent = cmp.Or(e.Parent, last)
		last = e.ID
		v := map[string]any{"type": "message", "id": e.ID, "timestamp": stamp(start.Add(time.Duration(e.Minute) * time.Minute))}
		if e.Parent != "" {
			v["parentId"] = e.Parent
		} else {
			v["parentId"] = nil
		}
		if e.Message != nil {
			v["message"] = e.Message
		}
		for k, f := range e.Fields {
			v[k] = f
		}
		line(v)
	}
	return b.String()
}

// Library is an index of session files in a temporary directory.
type Library struct {
	t      testing.TB
	Dir    string // contains the session files in sessions/
	Place  string // the directory of the index
	Writer *index.Writer
	Reader *index.Reader
	Texts  map[segment.ID]string // by document
	Kinds  map[segment.ID]session.Kind
}

func New(t testing.TB, stories ...Story) *Library {
	t.Helper()
	l := &Library{t: t, Dir: t.TempDir(), Texts: map[segment.ID]string{}, Kinds: map[segment.ID]session.Kind{}}
	l.Place = filepath.Join(l.Dir, "index")
	w, err := index.OpenWriter(l.Place, index.WriterOptions{})
	testkit.Check(t, err)
	l.Writer = w
	t.Cleanup(func() {
		if l.Reader != nil {
			l.Reader.Close()
		}
		w.Close()
	})
	l.Add(stories...)
	return l
}

// Open opens an existing index.
func Open(t testing.TB, dir string) *Library {
	t.Helper()
	r, err := index.Open(dir)
	testkit.Check(t, err)
	t.Cleanup(func() { r.Close() })
	return &Library{t: t, Reader: r}
}

func (l *Library) Path(name string) string { return filepath.Join(l.Dir, "sessions", name+".jsonl") }

// Add writes and indexes sessions in one batch.
func (l *Library) Add(stories ...Story) {
	l.t.Helper()
	b := index.NewBatch()
	for i := range stories {
		l.AddTo(b, l.Path(stories[i].Name), stories[i].Text())
	}
	l.Commit(b)
}

func (l *Library) Commit(b *index.Batch) {
	l.t.Helper()
	testkit.Check(l.t, l.Writer.Commit(b))
	if _, err := l.Writer.Publish(); err != nil {
		l.t.Fatal(err)
	}
	if l.Reader != nil {
		l.Reader.Close()
	}
	r, err := index.Open(l.Place)
	testkit.Check(l.t, err)
	l.Reader = r
}

func (l *Library) AddTo(b *index.Batch, path, text string) {
	l.t.Helper()
	testkit.Check(l.t, os.MkdirAll(filepath.Dir(path), 0o755))
	testkit.Check(l.t, os.WriteFile(path, []byte(text), 0o644))
	rec := &session.Record{Summary: session.Summary{File: l.Writer.NextFile(), Path: path}}
	header, err := decode.File(path, false, func(e *session.Entry) {
		rec.Add(e)
		for k := range e.Parts {
			p := &e.Parts[k]
			d := segment.Document{
				ID: segment.ID{File: rec.File, Offset: e.Offset, Part: k}, Kind: p.Kind, Role: e.Role, Tool: p.Tool,
				Provider: e.Provider, Model: e.Model, CustomType: e.CustomType, Error: e.IsError, Image: segment.ImageTerm(e.Images), Copy: e.Copy, Text: p.Text, Names: p.Names,
			}
			if k == 0 {
				d.EntryID = e.ID
			}
			l.Texts[d.ID], l.Kinds[d.ID] = string(p.Text), p.Kind
			rec.Tokens += uint64(b.Add(&d))
			rec.Documents++
		}
	})
	testkit.Check(l.t, err)
	rec.Header, rec.Size, rec.Checkpoint.Length = header, int64(len(text)), int64(len(text))
	rec.Checkpoint.Offset = rec.Size
	b.Put(rec, nil)
}

var Words = []string{
	"rename", "renaming", "renamed", "connect", "connection", "connections", "getUserName", "get_user_name", "user", "name", "get",
	"token", "tokens", "python", "pyhton", "src/auth/login.ts", "login.ts", "auth", "login", "中文支持", "文支", "持中", "C++", "c", "file.go:520",
	"exit", "code", "exit code", "-race", "race", "get-user-name", "Straße", "strasse", "loginPage", "loginpage", "a", "the", "x9", "用getUser",
}

func DrawText(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(Words), 1, 12).Draw(t, label), rapid.SampledFrom([]string{" ", "\n", ", ", "  "}).Draw(t, "between"))
}

func DrawQuery(t *rapid.T, depth int) string {
	word := rapid.SampledFrom(append([]string{"conn*", "tok*", "tokne", "conection", "UserName", "loginPage/auth", "users", "login/auth", `"exit code"`, `"code exit"`, `"支持"`, `"user name"`, "中", "文支持"}, Words...))
	var items []string
	for range rapid.IntRange(1, 3).Draw(t, "words") {
		w := word.Draw(t, "word")
		switch rapid.IntRange(0, 9).Draw(t, "shape") {
		case 0:
			w = "+" + word.Draw(t, "word")
		case 1:
			w = "NOT " + w
		case 2:
			w = w + " OR " + word.Draw(t, "word")
		case 3:
			w = w + " AND " + word.Draw(t, "word")
		case 4:
			if depth > 0 {
				w = "(" + DrawQuery(t, depth-1) + ")"
			}
		case 5:
			w = `"` + strings.NewReplacer(`"`, "").Replace(w+" "+word.Draw(t, "word")) + `"`
		case 6:
			w = rapid.SampledFrom([]string{"(%s OR kind:reply)", "(NOT %s OR kind:prompt)", "(kind:prompt OR NOT (%s kind:reply))", "-kind:reply"}).Draw(t, "field")
			w = strings.Replace(w, "%s", word.Draw(t, "word"), 1)
		}
		items = append(items, w)
	}
	return strings.Join(items, " ")
}

func DrawStories(t *rapid.T) []Story {
	var stories []Story
	n := 0
	for i := range rapid.IntRange(1, 5).Draw(t, "sessions") {
		s := Story{Name: fmt.Sprintf("s%d", i), Start: Day.AddDate(0, 0, 10*i)}
		for range rapid.IntRange(1, 6).Draw(t, "entries") {
			text := DrawText(t, "text")
			e := Prompt(text)
			if rapid.Bool().Draw(t, "is a reply") {
				e = Reply(text)
			}
			e.Minute = n // so that no two entries are copies
			n++
			s.Entries = append(s.Entries, e)
		}
		stories = append(stories, s)
	}
	return stories
}

func Said(block map[string]any) Turn {
	return Turn{Message: map[string]any{"role": "assistant", "provider": "acme", "model": "opus-9", "content": []any{block}}}
}

func Called(tool string, arguments map[string]any) Turn {
	return Said(map[string]any{"type": "toolCall", "id": "c1", "name": tool, "arguments": arguments})
}

// Corpus has the documents of a library in memory, for a plain search without
// postings or segments.
type Corpus struct {
	Docs   []Doc
	DF     map[string]int // number of documents with a term
	Tokens float64        // of all documents
}

// Doc is one document of a Corpus.
type Doc struct {
	ID     segment.ID
	Path   string
	Line   int // of the entry; 0 if nobody asks
	Kind   session.Kind
	Text   string
	Names  [][2]int       // session.Part.Names
	Freq   map[string]int // occurrences of a term
	Length int            // in tokens
}

func NewCorpus() *Corpus { return &Corpus{DF: map[string]int{}} }

// Add counts the terms of a document, and adds it.
func (c *Corpus) Add(d Doc) {
	var a analysis.Analyzer
	d.Freq = map[string]int{}
	d.Length = a.Walk([]byte(d.Text), func(t analysis.Token) { d.Freq[string(t.Term)]++ })
	c.Tokens += float64(d.Length)
	for term := range d.Freq {
		c.DF[term]++
	}
	c.Docs = append(c.Docs, d)
}

// Corpus reads all documents of the library.
func (l *Library) Corpus() *Corpus {
	c := NewCorpus()
	for _, s := range l.Reader.Summaries() {
		for id, text := range l.Texts {
			if id.File == s.File {
				c.Add(Doc{ID: id, Path: s.Path, Kind: l.Kinds[id], Text: text})
			}
		}
	}
	return c
}

// IDF is the inverse document frequency of BM25 for a term in df documents.
func (c *Corpus) IDF(df int) float64 {
	n := float64(len(c.Docs))
	return math.Log(1 + (n-float64(df)+0.5)/(float64(df)+0.5))
}

// TF is the term frequency part of BM25 with k1 = 1.2 and b = 0.75.
func (c *Corpus) TF(freq float64, length int) float64 {
	const k1, b = 1.2, 0.75
	average := c.Tokens / float64(len(c.Docs))
	return freq * (k1 + 1) / (freq + k1*(1-b+b*float64(length)/average))
}
