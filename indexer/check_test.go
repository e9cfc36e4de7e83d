package indexer_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/indexer"
	"pigrep/internal/session"
)

func check(t *testing.T, o indexer.Options, deep bool) []string {
	t.Helper()
	r, err := indexer.Check(context.Background(), o, deep)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	var list []string
	for _, f := range r.Findings {
		list = append(list, f.What)
	}
	return list
}

// later is a clock by which just written files are old enough for their times to
// prove that they are unchanged.
func later() time.Time { return time.Now().Add(time.Second) }

func TestCheckOfASoundIndex(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	files := map[string]string{
		"a.jsonl": string(lines(50, 200)),
		"b.jsonl": string(lines(3, 20)) + `{"broken` + "\n" + `{"type":"session_info","id":"x","name":"unended"}`,
		// The unterminated line is the longest one; that of d.jsonl is not complete.
		"c.jsonl": string(lines(3, 20)) + `{"type":"session_info","id":"x","name":"` + strings.Repeat("long ", 200) + `"}`,
		"d.jsonl": string(lines(3, 20)) + `{"type":"session_info","id":"x","name":"` + strings.Repeat("long ", 200),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := options(dir, root)
	update(t, o)
	if got := check(t, o, true); len(got) != 0 {
		t.Errorf("findings in a sound index: %q", got)
	}
}

// A deep check finds any single thing that is removed from an index or changed in it.
// The writer itself makes the index, so that all checksums match.
func TestCheckFindsWhatIsMissing(t *testing.T) {
	text := string(lines(3, 20))
	for _, test := range []struct {
		name   string
		change func(d *segment.Document, rec *session.Record) bool // false: omit the document
		want   string
	}{
		{"a document", func(d *segment.Document, _ *session.Record) bool { return d.Offset < 200 }, "should be there"},
		{"a document that the summary does not count", func(d *segment.Document, rec *session.Record) bool {
			rec.Documents = 2
			return !strings.Contains(string(d.Text), "word1 ")
		}, "is not in the index"},
		{"a term of one", func(d *segment.Document, _ *session.Record) bool {
			d.Text = []byte(strings.Replace(string(d.Text), "word1", "", 1))
			return true
		}, "other terms"},
		{"one occurrence of a term", func(d *segment.Document, _ *session.Record) bool {
			d.Text = []byte(strings.Replace(string(d.Text), "x ", "", 1))
			return true
		}, "other terms"},
		{"a keyword", func(d *segment.Document, _ *session.Record) bool { d.EntryID = ""; return true }, "other terms"},
		{"a copy mark", func(d *segment.Document, _ *session.Record) bool { d.Copy = 0; return true }, "other terms"},
		{"a byte of the checkpoint", func(_ *segment.Document, rec *session.Record) bool { rec.Partial[0] ^= 1; return true }, "session record"},
		{"calls of tools", func(_ *segment.Document, rec *session.Record) bool {
			rec.Facts = &session.Facts{Calls: []session.CallFact{{Tool: "bash"}}}
			return true
		}, "its facts"},
		{"an entry of the record", func(_ *segment.Document, rec *session.Record) bool { rec.Nodes[1].Line++; return true }, "session record"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
			path := filepath.Join(root, "a.jsonl")
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			o := options(dir, root)
			o.Now = later
			rec, err := update(t, o).Reader.Record(1)
			if err != nil {
				t.Fatal(err)
			}
			w, err := index.OpenWriter(dir, index.WriterOptions{})
			if err != nil {
				t.Fatal(err)
			}
			b := index.NewBatch()
			b.DeleteFile(rec.File)
			var docs []segment.Document
			pi.New().Parse(adapter.State{})
			parser := pi.New().Parse(adapter.State{})
			offset := int64(0)
			for i, l := range strings.SplitAfter(text, "\n") {
				parser.Parse(adapter.Line{Data: []byte(l), Raw: []byte(l), Offset: offset, Number: i + 1, Ended: true}, func(e *session.Entry) {
					docs = append(docs, segment.Document{ID: segment.ID{File: rec.File, Offset: e.Offset}, Kind: e.Parts[0].Kind,
						Role: e.Role, EntryID: e.ID, Copy: e.Copy, Text: append([]byte(nil), e.Parts[0].Text...)})
				})
				offset += int64(len(l))
			}
			for i := range docs {
				if test.change(&docs[i], rec) {
					b.Add(&docs[i])
				}
			}
			b.Put(rec, nil)
			if err := w.Commit(b); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Publish(); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(check(t, o, true), "\n"); !strings.Contains(got, test.want) {
				t.Errorf("findings = %q, want one with %q", got, test.want)
			}
		})
	}
}

// A missing record of a known file is found, although our code never deletes a record
// alone.
func TestCheckFindsAMissingRecord(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	for _, name := range []string{"a.jsonl", "b.jsonl"} {
		if err := os.WriteFile(filepath.Join(root, name), lines(3, 20), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := options(dir, root)
	o.Now = later
	update(t, o)
	deleteDocument(t, dir, "r:000001")
	if got := strings.Join(check(t, o, false), "\n"); !strings.Contains(got, "its session record is missing") {
		t.Errorf("findings = %q, want the missing record", got)
	}
}

// deleteDocument marks the document with an engine id as deleted in the newest
// generation, which has no deleted documents.
func deleteDocument(t *testing.T, dir, id string) {
	t.Helper()
	r, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	at, doc, ok := 0, uint32(0), false
	for i, s := range r.Segments() {
		p := s.Postings("_id", []byte(id))
		if d, _, _, found := p.Next(); found {
			at, doc, ok = i, d, true
		}
	}
	if !ok {
		t.Fatalf("there is no %s", id)
	}
	deleted, err := roaring.BitmapOf(doc).ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	generation := filepath.Join(dir, fmt.Sprintf("gen-%06d", r.Generation()))
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(generation, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(generation, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	manifest, state := read("manifest"), read("state")
	segments := regexp.MustCompile(`\S+\.zap`).FindAllString(manifest, -1) // in the order of the reader's
	if state[0] != 0 {
		t.Fatal("something is deleted already")
	}
	name := func(s string) string { return string(binary.AppendUvarint(nil, uint64(len(s)))) + s }
	state = "\x01" + name(segments[at]) + name(string(deleted)) + state[1:]
	line := fmt.Sprintf("file state %d %016x", len(state), xxhash.Sum64String(state))
	manifest, _, _ = strings.Cut(regexp.MustCompile(`file state .*`).ReplaceAllString(manifest, line), "end ")
	write("state", state)
	write("manifest", manifest+fmt.Sprintf("end %016x\n", xxhash.Sum64String(manifest)))
}

// Files that are not indexed yet are not checked.
func TestCheckCountsWhatIsNotProven(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	write := func(name string, n int) {
		if err := os.WriteFile(filepath.Join(root, name), lines(n, 20), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.jsonl", 3)
	write("b.jsonl", 3)
	o := options(dir, root)
	o.Now = later
	update(t, o)
	write("b.jsonl", 5)
	write("c.jsonl", 3)
	r, err := indexer.Check(t.Context(), o, true)
	if err != nil || r.Compared != 1 || r.Changed != 2 || len(r.Findings) != 0 {
		t.Errorf("%d files compared, %d changed, %v, %v; want 1, 2 and no findings", r.Compared, r.Changed, r.Findings, err)
	}
}

func TestCheckReadsChecksums(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	if err := os.WriteFile(filepath.Join(root, "a.jsonl"), lines(500, 400), 0o644); err != nil {
		t.Fatal(err)
	}
	o := options(dir, root)
	res := update(t, o)
	res.Reader.Close()
	segments, err := filepath.Glob(filepath.Join(dir, "segments", "*.zap"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no segments: %v", err)
	}
	data, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/3] ^= 0x10
	if err := os.WriteFile(segments[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(check(t, o, false), "\n"); !strings.Contains(got, "checksum") {
		t.Errorf("findings = %q, want the checksum", got)
	}
}
