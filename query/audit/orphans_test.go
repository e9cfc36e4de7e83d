package audit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/query/audit"
)

// A fork that has only the result of a call, which says nothing, repeats what the session
// with the call has, although no document of the two is the same.
func TestResultWithoutTextOfAForkIsACopy(t *testing.T) {
	dir := t.TempDir()
	w, err := index.OpenWriter(dir, index.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b := index.NewBatch()
	for i, c := range []session.CallFact{
		{Offset: 100, Time: 1e12, Copy: 1, HasResult: true, Result: 200, ResultCopy: 2},
		{Offset: 100, Time: 1e12, Copy: 2, Kind: session.CallMissing, Bare: true, HasResult: true, Result: 100, ResultCopy: 2},
	} {
		rec := &session.Record{Facts: &session.Facts{}}
		rec.File, rec.Path, rec.Version, rec.Timestamp = uint32(i+1), fmt.Sprint("/s/", i), 3, time.UnixMilli(1e12+int64(i))
		c.Tool, c.Exit, c.Duration = "read", session.Unknown, session.Unknown
		rec.Facts.AddCall(c)
		b.Put(rec, nil)
	}
	if err := w.Commit(b); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Publish(); err != nil {
		t.Fatal(err)
	}
	r, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	table, err := audit.Tools(context.Background(), r, nil, nil, audit.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if total := table.Total; total.Calls != 1 || total.NoCall != 0 || table.Coverage.Copies != 1 {
		t.Errorf("%d calls, %d results without a call, %d copies; want 1, 0, 1", total.Calls, total.NoCall, table.Coverage.Copies)
	}
}
