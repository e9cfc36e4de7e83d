package index_test

import (
	"fmt"
	"testing"

	"pigrep/index"
)

// The cost of reading the records of all files must not grow with files times segments.
func TestManyRecords(t *testing.T) {
	t.Parallel()
	const segments, files = 40, 12 // files of each segment
	dir := t.TempDir()
	w := openWriter(t, dir)
	for i := range uint32(segments) {
		b := index.NewBatch()
		for k := range uint32(files) {
			putFile(b, 1+i*files+k, fmt.Sprintf("/s/%d-%d", i, k), "some text")
		}
		if i%3 == 2 { // of the segment before
			b.DeleteFile((i-1)*files + 1)
			putFile(b, (i-1)*files+2, fmt.Sprintf("/s/%d-moved", i), "other text")
		}
		commit(t, w, b)
	}
	publish(t, w)

	one := openReader(t, dir)
	all := openReader(t, dir)
	for file := range uint32(segments*files + 3) {
		fresh, err := index.Open(dir) // which searches the segments
		if err != nil {
			t.Fatal(err)
		}
		want, err1 := fresh.Record(file)
		got, err2 := all.Record(file)
		outline, err3 := one.Outline(file, one.Segments()[0])
		_ = fresh.Close()
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		if (want == nil) != (got == nil) || (want == nil) != (outline == nil) {
			t.Fatalf("file %d: record %v, among many %v, outline %v", file, want, got, outline)
		}
		if want != nil && (want.Path != got.Path || want.Path != outline.Record.Path || len(want.Nodes) != len(got.Nodes)) {
			t.Errorf("file %d: %s, among many %s, outline %s", file, want.Path, got.Path, outline.Record.Path)
		}
	}
	for _, r := range []*index.Reader{one, all} {
		if n := r.Searched(); n > 1000+segments+1 {
			t.Errorf("%d segments were searched for %d records", n, segments*files)
		}
	}
}
