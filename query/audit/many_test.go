package audit_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/query/audit"
)

// manySmall is an index of n sessions, each with one call and one use of tokens.
func manySmall(t *testing.T, n int) *index.Reader {
	t.Helper()
	dir := t.TempDir()
	w, err := index.OpenWriter(dir, index.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b := index.NewBatch()
	for i := range n {
		rec := &session.Record{Facts: &session.Facts{
			Usages: []session.UsageFact{{Usage: session.Usage{Input: int64(i), Cost: 0.1}, Offset: 100, Time: 1e12, Copy: uint64(2*i + 1), Model: "m"}},
			Calls:  []session.CallFact{{Tool: "bash", Shell: true, Line: "rm -rf x", Programs: []string{"rm"}, Offset: 100, Time: 1e12, Copy: uint64(2*i + 2)}},
		}}
		rec.File, rec.Path, rec.ID, rec.Version, rec.Timestamp = uint32(i+1), fmt.Sprintf("/s/%05d", i), fmt.Sprint("id", i), 3, time.UnixMilli(1e12+int64(i))
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
	t.Cleanup(func() { r.Close() })
	return r
}

// Pages are released after so many bytes of facts, not after so many sessions: mapping them
// again for each small session took half of the time of audits of 100,000.
func TestSmallSessionsDoNotReleasePages(t *testing.T) {
	if n, err := audit.Releases(manySmall(t, 1200)); n != 0 || err != nil {
		t.Errorf("pages were released %d times: %v", n, err)
	}
}

// A table whose rows are limited has the first of them, and the figures of all.
func TestRowsOfUsageAreLimited(t *testing.T) {
	r := manySmall(t, 20)
	req := audit.Request{By: []string{"session"}}
	all, err := audit.Usage(context.Background(), r, req)
	if err != nil {
		t.Fatal(err)
	}
	req.Rows = 3
	some, err := audit.Usage(context.Background(), r, req)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Rows) != 20 || all.More != 0 || len(some.Rows) != 3 || some.More != 17 || !reflect.DeepEqual(some.Total, all.Total) || some.Rows[2].SessionPath != all.Rows[2].SessionPath {
		t.Errorf("%d and %d rows, %d more, totals %+v and %+v", len(all.Rows), len(some.Rows), some.More, all.Total, some.Total)
	}
}

// There is a row under construction for each session, of which reports list few.
func TestRowsUnderConstructionAreSmall(t *testing.T) {
	if audit.UsageGroupSize > 256 {
		t.Errorf("%d bytes", audit.UsageGroupSize)
	}
}
