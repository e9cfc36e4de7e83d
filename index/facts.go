package index

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// putFacts stores the pieces of the facts that are not stored yet, and all facts
// again as the tail if there is an unterminated last line.
func (b *Batch) putFacts(base, full *session.Record) {
	put := func(file uint32, piece string, f *session.Facts) {
		for _, kind := range record.FactKinds {
			if encoded := record.EncodeFacts(kind, f); encoded != nil {
				id := factsID(kind, file, piece)
				b.stored[id] = encoded
				b.change(file).facts = append(b.change(file).facts, id)
			}
		}
	}
	if full != nil && full.Facts.Chunks() > 0 {
		put(full.File, record.Tail, full.Facts)
	}
	for i := range base.Facts.Chunks() {
		if !base.Facts.IsStored(i) {
			put(base.File, record.PieceName(i), base.Facts.Chunk(i))
		}
	}
	if base.Facts != nil {
		base.Facts.Stored()
	}
}

// Facts finds the facts of all files, unterminated last lines included. The set reads
// them from the reader, which must be open.
func (r *Reader) Facts(ctx context.Context, kinds ...record.FactKind) (*record.FactSet, error) {
	set := record.NewFactSet(kinds...)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range r.segments {
		for _, kind := range kinds {
			g.Go(func() (err error) {
				defer format.Contain(format.Guard(), "find the facts of sessions", &err)
				if err := ctx.Err(); err != nil {
					return err
				}
				return addFacts(set, s, kind, allFactIDs(kind), true)
			})
		}
	}
	return set, g.Wait()
}

// addFacts adds the pieces of a kind that a segment has under ids in the range; tails
// only if asked for.
func addFacts(set *record.FactSet, s *segment.Segment, kind record.FactKind, ids segment.IDRange, tails bool) error {
	return s.EachStored(ids, func(id []byte, doc uint32) error {
		file, piece, err := parseFactsID(kind, id)
		if err == nil && (tails || piece != record.Tail) {
			set.Add(kind, file, piece, func(memory []byte) ([]byte, error) { return s.StoredAt(doc, memory) })
		}
		return err
	})
}
