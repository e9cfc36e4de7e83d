package indexer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/index"
)

// While a complete index is rebuilt, readers answer from it, and what is appended meanwhile is
// found too. A rebuild that is interrupted changes nothing: the next update reads only new lines.
func TestRebuildReplacesAtItsEnd(t *testing.T) {
	t.Parallel()
	for _, interrupt := range []bool{false, true} {
		root := t.TempDir()
		o, documents := bulky(t, root)
		o.Await = false
		first := o
		first.Memory = false
		r, err := Update(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		before := r.Reader.ID()
		if err := r.Reader.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		looks := 0
		builder := first
		builder.Rebuild, builder.Replace, builder.Workers, builder.BatchBytes = true, true, 1, 1<<10
		clock := time.Now()
		builder.Now = func() time.Time { // every commit is due to be published
			clock = clock.Add(time.Minute)
			return clock
		}
		builder.Adapter = parsing{o.Adapter.(adapter.Agent), func() {
			if looks++; looks == 3 {
				f, err := os.OpenFile(filepath.Join(root, "0.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
				if err == nil {
					_, err = f.WriteString(`{"type":"message","id":"eeeeeeee","parentId":null,"message":{"role":"user","content":"late"}}` + "\n")
					err = errors.Join(err, f.Close())
				}
				if err != nil {
					t.Error(err)
				}
				documents++
				if interrupt {
					cancel()
				}
			}
			r, err := Update(t.Context(), o)
			if err != nil {
				t.Errorf("during the rebuild: %v", err)
				return
			}
			defer r.Reader.Close()
			if !r.Complete() || r.Reader.Documents() != documents {
				t.Errorf("during the rebuild, before file %d: complete %t, %d documents, want %d", looks, r.Complete(), r.Reader.Documents(), documents)
			}
		}}
		r, err = Update(ctx, builder)
		if r.Reader != nil {
			defer r.Reader.Close()
		}
		if interrupt != errors.Is(err, context.Canceled) || !interrupt && err != nil || looks < 3 {
			t.Fatalf("after %d files: %v", looks, err)
		}
		old, err := index.Open(o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		defer old.Close()
		if had := old.ID() == before; had != interrupt {
			t.Errorf("interrupted %t, and the old generation is there: %t", interrupt, had)
		}
		r, err = Update(t.Context(), first)
		if err != nil || !r.Complete() || r.Reader.Documents() != documents || r.BytesRead > 200 {
			t.Fatalf("afterwards: %v, complete %t, %d documents of %d, %d bytes read", err, r.Complete(), r.Reader.Documents(), documents, r.BytesRead)
		}
		r.Reader.Close()
		if report, err := Check(t.Context(), first, true); err != nil || len(report.Findings) > 0 {
			t.Errorf("check: %v %v", err, report.Findings)
		}
	}
}
