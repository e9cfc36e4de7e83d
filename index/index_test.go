package index_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

// openWriter opens a writer that is closed when the test ends.
func openWriter(t testing.TB, dir string) *index.Writer {
	t.Helper()
	w, err := index.OpenWriter(dir, index.WriterOptions{PID: os.Getpid()})
	if err != nil {
		t.Fatalf("OpenWriter: %v", err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func openReader(t testing.TB, dir string) *index.Reader {
	t.Helper()
	r, err := index.Open(dir)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func commit(t testing.TB, w *index.Writer, b *index.Batch) {
	t.Helper()
	if err := w.Commit(b); err != nil {
		t.Fatalf("Commit: %v", err)
	}
}

func publish(t testing.TB, w *index.Writer) uint64 {
	t.Helper()
	id, err := w.Publish()
	if err != nil {
		t.Fatalf("Publish: %v", err)
	}
	return id.Number
}

// putFile adds a file with one document per text.
func putFile(b *index.Batch, file uint32, path string, texts ...string) {
	r := &session.Record{Summary: session.Summary{File: file, Path: path, Documents: len(texts)}}
	for i, text := range texts {
		tokens := b.Add(&segment.Document{
			ID:   segment.ID{File: file, Offset: int64(i * 100)},
			Kind: session.KindReply, Role: "assistant", EntryID: fmt.Sprintf("%08x", i), Text: []byte(text),
		})
		r.Tokens += uint64(tokens)
		r.Nodes = append(r.Nodes, session.Node{ID: fmt.Sprintf("%08x", i), Type: "message", Offset: int64(i * 100)})
	}
	r.Checkpoint.Offset = int64(len(texts) * 100)
	b.Put(r, nil)
}

// found returns the ids of the documents with a term, as text.
func found(t testing.TB, r *index.Reader, f segment.Field, term string) []string {
	t.Helper()
	list := []string{}
	for _, s := range r.Segments() {
		at := s.PostingsOffset(f, []byte(term))
		p := s.PostingsAt(at)
		n := 0
		for {
			doc, freq, length, ok := p.Next()
			if !ok {
				break
			}
			n++
			id := s.ID(doc)
			list = append(list, fmt.Sprintf("%d:%d:%d %dx/%d", id.File, id.Offset, id.Part, freq, length))
		}
		if count := s.CountAt(at); count != n {
			t.Errorf("CountAt(%s, %q) = %d, want %d", f, term, count, n)
		}
	}
	if err := r.Fault(); err != nil {
		t.Fatalf("Fault: %v", err)
	}
	return list
}

func TestCommitPublishOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "index")
	if _, err := index.Open(dir); !errors.Is(err, index.ErrNoIndex) {
		t.Fatalf("Open of nothing: %v, want ErrNoIndex", err)
	}
	w := openWriter(t, dir)
	b := index.NewBatch()
	one, two := w.NextFile(), w.NextFile()
	putFile(b, one, "/s/b.jsonl", "connection timeout", "timeout timeout again")
	putFile(b, two, "/s/a.jsonl", "nothing here")
	commit(t, w, b)
	if _, err := index.Open(dir); !errors.Is(err, index.ErrNoIndex) {
		t.Errorf("Open before Publish: %v, want ErrNoIndex", err)
	}
	if got := publish(t, w); got != 1 {
		t.Errorf("Publish = %d, want 1", got)
	}
	if got := publish(t, w); got != 1 {
		t.Errorf("Publish with nothing new = %d, want 1", got)
	}

	r := openReader(t, dir)
	if got, want := found(t, r, segment.FieldText, "timeout"), []string{"1:0:0 1x/2", "1:100:0 2x/3"}; cmp.Diff(want, got) != "" {
		t.Errorf("timeout: %s", cmp.Diff(want, got))
	}
	var paths []string
	for _, s := range r.Summaries() {
		paths = append(paths, s.Path)
	}
	if diff := cmp.Diff([]string{"/s/a.jsonl", "/s/b.jsonl"}, paths); diff != "" {
		t.Errorf("paths: %s", diff)
	}
	if r.Documents() != 3 || r.Tokens() != 7 {
		t.Errorf("Documents, Tokens = %d, %d, want 3, 7", r.Documents(), r.Tokens())
	}
	rec, err := r.Record(one)
	if err != nil || rec == nil || len(rec.Nodes) != 2 || rec.Path != "/s/b.jsonl" {
		t.Errorf("Record(1) = %+v, %v", rec, err)
	}
	if rec, err := r.Record(99); rec != nil || err != nil {
		t.Errorf("Record(99) = %v, %v, want nil", rec, err)
	}

	// A replaced file; the old reader must not see it.
	b = index.NewBatch()
	b.DeleteFile(one)
	putFile(b, one, "/s/b.jsonl", "timeout is over")
	commit(t, w, b)
	publish(t, w)
	if got := len(found(t, r, segment.FieldText, "timeout")); got != 2 {
		t.Errorf("old reader finds %d, want 2", got)
	}
	r2 := openReader(t, dir)
	if got, want := found(t, r2, segment.FieldText, "timeout"), []string{"1:0:0 1x/3"}; cmp.Diff(want, got) != "" {
		t.Errorf("timeout after replacing: %s", cmp.Diff(want, got))
	}
	b = index.NewBatch()
	b.DeleteFile(one)
	commit(t, w, b)
	publish(t, w)
	r3 := openReader(t, dir)
	if got := len(found(t, r3, segment.FieldText, "timeout")); got != 0 || r3.Documents() != 1 || len(r3.Summaries()) != 1 {
		t.Errorf("after DeleteFile: %d found, %d documents, %d files", got, r3.Documents(), len(r3.Summaries()))
	}
}

func TestReopenGoesOn(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	b := index.NewBatch()
	putFile(b, w.NextFile(), "/a", "first words")
	commit(t, w, b)
	publish(t, w)
	if err := w.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	w = openWriter(t, dir)
	if n := publish(t, w); n != 1 {
		t.Errorf("Publish after reopening = %d, want 1", n)
	}
	if n := w.NextFile(); n != 2 {
		t.Errorf("NextFile after reopening = %d, want 2", n)
	}
	if got := w.Summaries(); len(got) != 1 || got[0].Path != "/a" {
		t.Errorf("Summaries after reopening: %+v", got)
	}
	rec, err := w.RecordToContinue(1)
	if err != nil || rec == nil || len(rec.Nodes) != 1 {
		t.Errorf("Record(1) = %+v, %v", rec, err)
	}
}

// The documents of an unterminated last line are replaced when the file is read on.
func TestUnterminatedLine(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	file := w.NextFile()
	base := &session.Record{Summary: session.Summary{File: file, Path: "/a"}}
	add := func(b *index.Batch, offset int64, part int, text string) {
		b.Add(&segment.Document{ID: segment.ID{File: file, Offset: offset, Part: part}, Text: []byte(text)})
	}
	b := index.NewBatch()
	add(b, 0, 0, "alpha")
	add(b, 100, 0, "torn")
	add(b, 100, 1, "torn")
	base.Checkpoint.Offset = 100
	full := base.Clone()
	full.TailBytes, full.Name = 50, "with tail"
	b.Put(base, full)
	commit(t, w, b)

	if got, err := w.RecordToContinue(file); err != nil || got.Name != "" {
		t.Errorf("writer's Record = %+v, %v, want the base", got, err)
	}
	if got := w.Summaries()[0]; got.Name != "with tail" {
		t.Errorf("Summaries: %+v, want those of the full record", got)
	}
	publish(t, w)
	if got, err := openReader(t, dir).Record(file); err != nil || got.Name != "with tail" {
		t.Errorf("reader's Record = %+v, %v, want the full one", got, err)
	}

	// Touched only: the tail stays.
	b = index.NewBatch()
	full = full.Clone()
	full.Mtime = 5
	b.Put(base, full)
	commit(t, w, b)
	publish(t, w)
	if got := found(t, openReader(t, dir), segment.FieldText, "torn"); len(got) != 2 {
		t.Errorf("after a touch: %v, want both parts", got)
	}

	// Finished with one part less.
	b = index.NewBatch()
	add(b, 100, 0, "torn beta")
	base = base.Clone()
	base.Checkpoint.Offset = 200
	b.Put(base, nil)
	commit(t, w, b)
	publish(t, w)
	r := openReader(t, dir)
	if got, want := found(t, r, segment.FieldText, "torn"), []string{"1:100:0 1x/2"}; cmp.Diff(want, got) != "" {
		t.Errorf("after the line was finished: %s", cmp.Diff(want, got))
	}
	if got := found(t, r, segment.FieldText, "alpha"); len(got) != 1 {
		t.Errorf("alpha: %v", got)
	}
}

func TestFields(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	b := index.NewBatch()
	long := strings.Repeat("m", 300)
	b.Add(&segment.Document{
		ID: segment.ID{File: 7, Offset: 1 << 33, Part: 300}, Kind: session.KindCall, Role: "assistant", Tool: "bash",
		Provider: "p", Model: long, CustomType: "c", EntryID: "0a1b2c3d", Error: true, Copy: 0xfeed, Text: []byte("connect connection conduit"),
	})
	b.Add(&segment.Document{ID: segment.ID{File: 0xabcdef, Offset: 5}, Kind: session.KindReply, Text: []byte("connections")})
	b.Put(&session.Record{Summary: session.Summary{File: 7, Path: "7", Documents: 1}}, nil)
	b.Put(&session.Record{Summary: session.Summary{File: 0xabcdef, Path: "8", Documents: 1}}, nil)
	commit(t, w, b)
	publish(t, w)
	r := openReader(t, dir)
	if len(r.Segments()) != 1 || r.Segments()[0].Len() != 4 {
		t.Fatalf("%d segments, want 1 with 4 numbers", len(r.Segments()))
	}
	s := r.Segments()[0]
	for f, term := range map[segment.Field]string{
		segment.FieldFile: "000007", segment.FieldKind: "call", segment.FieldRole: "assistant", segment.FieldTool: "bash",
		segment.FieldProvider: "p", segment.FieldModel: long[:256], segment.FieldCustom: "c", segment.FieldEntry: "0a1b2c3d",
		segment.FieldFlag: segment.FlagError, segment.FieldEntryHash: segment.EntryHashTerm(0xfeed),
	} {
		bm := s.Bitmap(f, []byte(term))
		if bm.GetCardinality() != 1 {
			t.Errorf("Bitmap(%s, %q) = %v, want one document", f, term, bm)
			continue
		}
		if id := s.ID(bm.Minimum()); id != (segment.ID{File: 7, Offset: 1 << 33, Part: 300}) {
			t.Errorf("Bitmap(%s, %q): id %v", f, term, id)
		}
	}
	files := s.Files()
	docs, records := 0, 0
	for doc := range uint32(s.Len()) {
		id, file := s.ID(doc), files.File(doc)
		switch {
		case id.File != file:
			t.Errorf("Files().File(%d) = %d, ID = %v", doc, file, id)
		case file == segment.NoFile:
			records++
		default:
			docs++
		}
	}
	if docs != 2 || records != 2 {
		t.Errorf("%d documents and %d records, want 2 and 2", docs, records)
	}
	var terms []string
	s.Terms(segment.FieldText, []byte("conn"), func(term []byte, count int) bool {
		terms = append(terms, fmt.Sprintf("%s %d", term, count))
		return true
	})
	if diff := cmp.Diff([]string{"connect 1", "connection 1", "connections 1"}, terms); diff != "" {
		t.Errorf("Terms: %s", diff)
	}
	terms = nil
	s.Fuzzy(segment.FieldText, nil, []byte("conection"), 2, func(term []byte) { terms = append(terms, string(term)) })
	if diff := cmp.Diff([]string{"connection", "connections"}, terms); diff != "" {
		t.Errorf("Fuzzy: %s", diff)
	}
	var copies []uint64
	all := []uint32{0, 1, 2, 3}
	s.EntryHashes(all, func(doc uint32, copy uint64) { copies = append(copies, copy) })
	if diff := cmp.Diff([]uint64{0xfeed}, copies); diff != "" {
		t.Errorf("Copies: %s", diff)
	}
	if err := s.Fault(); err != nil {
		t.Error(err)
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	openWriter(t, dir)
	_, err := index.OpenWriter(dir, index.WriterOptions{PID: 1})
	if !errors.Is(err, index.ErrLocked) {
		t.Fatalf("second writer: %v, want ErrLocked", err)
	}
	if want := fmt.Sprintf("pid %d", os.Getpid()); !strings.Contains(err.Error(), want) {
		t.Errorf("message %q does not name %s", err, want)
	}
}

func TestTimesSurvive(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	s := session.Summary{File: 1, Path: "/x", Newest: at, Header: session.Header{Timestamp: at.Add(-time.Hour), Version: 3}}
	b := index.NewBatch()
	b.Put(&session.Record{Summary: s}, nil)
	commit(t, w, b)
	publish(t, w)
	if diff := cmp.Diff([]session.Summary{s}, openReader(t, dir).Summaries()); diff != "" {
		t.Error(diff)
	}
}

// tempDir is t.TempDir for the many runs of a property.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "index")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// After compacting, deleted text is in no file, the table of summaries included.
func TestCompact(t *testing.T) {
	for _, files := range []int{1, 3} {
		dir := t.TempDir()
		w := openWriter(t, dir)
		for i := range files {
			b := index.NewBatch()
			file := w.NextFile()
			putFile(b, file, fmt.Sprint("/kept", i), "keptword")
			putFile(b, w.NextFile(), fmt.Sprint("/secretpath", i), "secretword")
			commit(t, w, b)
			publish(t, w)
		}
		b := index.NewBatch()
		for i := range files {
			b.DeleteFile(uint32(2*i + 2))
		}
		commit(t, w, b)
		publish(t, w)
		if !grep(t, dir, "secret") {
			t.Fatal("the deleted text is gone without compacting: the test proves nothing")
		}
		if err := w.Compact(t.Context()); err != nil {
			t.Fatalf("Compact: %v", err)
		}
		if grep(t, dir, "secret") {
			t.Error("deleted text is left after Compact")
		}
		if !grep(t, dir, "/kept") {
			t.Error("the text that stays is gone after Compact")
		}
		r := openReader(t, dir)
		for _, s := range r.Segments() {
			// Dictionaries are not readable text.
			s.Terms(segment.FieldText, nil, func(term []byte, _ int) bool {
				if string(term) != "keptword" {
					t.Errorf("term %q is left after Compact", term)
				}
				return true
			})
		}
		if got := found(t, r, segment.FieldText, "keptword"); len(got) != files || len(r.Segments()) != 1 {
			t.Errorf("after Compact: %v in %d segments", got, len(r.Segments()))
		}
		b = index.NewBatch()
		putFile(b, w.NextFile(), "/more", "keptword")
		commit(t, w, b)
		publish(t, w)
		if got := found(t, openReader(t, dir), segment.FieldText, "keptword"); len(got) != files+1 {
			t.Errorf("a commit after Compact: %v", got)
		}
	}
}

// grep reports whether any file of the directory has the text.
func grep(t *testing.T, dir, text string) bool {
	t.Helper()
	for _, file := range listFiles(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // of an old generation, which the writer is removing
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), text) {
			return true
		}
	}
	return false
}

// A reader that is opened from another shares what they have in common, and
// outlives it.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	for _, path := range []string{"/a", "/b"} {
		b := index.NewBatch()
		putFile(b, w.NextFile(), path, "some words")
		commit(t, w, b)
	}
	publish(t, w)
	old, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := index.NewBatch()
	b.DeleteFile(1)
	putFile(b, w.NextFile(), "/c", "other words")
	commit(t, w, b)
	publish(t, w)
	r, err := old.Reopen()
	if err != nil {
		t.Fatalf("Reopen: %v", err)
	}
	defer r.Close()
	if got := found(t, old, segment.FieldText, "some"); len(got) != 2 {
		t.Errorf("the old reader finds %v, want both", got)
	}
	if err := old.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if diff := cmp.Diff(readContents(t, openReader(t, dir)), readContents(t, r)); diff != "" {
		t.Errorf("not as a reader that was opened alone (-want +got): %s", diff)
	}
	if got := found(t, r, segment.FieldText, "words"); len(got) != 2 {
		t.Errorf("the new reader finds %v, want two", got)
	}
}

// A segment counts once, although it has a second name in the store.
func TestSizeOnDisk(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	b := index.NewBatch()
	putFile(b, w.NextFile(), "/a", strings.Repeat("some words that take space ", 100))
	commit(t, w, b)
	publish(t, w)
	w.Settle()
	var all int64
	for _, file := range listFiles(t, dir) {
		info, err := os.Stat(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(file) != filepath.Join("store", "store") || filepath.Ext(file) != segment.Ext {
			all += info.Size()
		}
	}
	got, err := openReader(t, dir).SizeOnDisk()
	if err != nil || got != all {
		t.Errorf("SizeOnDisk = %d, %v, want %d", got, err, all)
	}
}

// Merge merges as many segments as keep their number small.
func TestMerge(t *testing.T) {
	testkit.Unraced(t)
	dir := t.TempDir()
	w := openWriter(t, dir)
	const commits = 60
	for i := range commits {
		b := index.NewBatch()
		putFile(b, w.NextFile(), fmt.Sprint("/", i), "words")
		commit(t, w, b)
		if i < commits/2 {
			continue
		}
		if err := w.Merge(); err != nil {
			t.Fatal(err)
		}
		publish(t, w)
		r := openReader(t, dir)
		if got := len(r.Segments()); got > 12 {
			t.Fatalf("%d segments after %d commits", got, i+1)
		}
		if got := found(t, r, segment.FieldText, "words"); len(got) != i+1 {
			t.Fatalf("%d found after %d commits", len(got), i+1)
		}
	}
}

// MergeBulk merges a few segments at a time, until there are few.
func TestMergeBulk(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	const commits = 12
	for i := range commits {
		b := index.NewBatch()
		putFile(b, w.NextFile(), fmt.Sprint("/", i), "words")
		commit(t, w, b)
	}
	publish(t, w)
	if openReader(t, dir).Crowded() {
		t.Error("small segments count as those of a bulk")
	}
	before := commits
	for range commits {
		if err := w.MergeSmallBulk(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := openReader(t, dir)
		got := len(r.Segments())
		if found := found(t, r, segment.FieldText, "words"); len(found) != commits {
			t.Fatalf("%d found in %d segments", len(found), got)
		}
		if got == before {
			break
		}
		before = got
	}
	if before > 4 {
		t.Errorf("%d segments are left", before)
	}
}

// Without Merge, segments stay as they are.
func TestNoMerge(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	const commits = 30
	for i := range commits {
		b := index.NewBatch()
		putFile(b, w.NextFile(), fmt.Sprint("/", i), "words")
		commit(t, w, b)
	}
	publish(t, w)
	if got := len(openReader(t, dir).Segments()); got != commits {
		t.Errorf("%d segments, want %d", got, commits)
	}
}
