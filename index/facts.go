package index

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// The record of a file, and beside it the pieces of its facts, are stored under the
// ids
//
//	r:<file>
//	f:<file>:<piece>  g:<file>:<piece>
//
// where f and g are the kinds of facts.

func recordID(file uint32) string { return fmt.Sprintf("r:%06x", file) }

func factsID(kind record.FactKind, file uint32, piece string) string {
	return fmt.Sprintf("%c:%06x:%s", kind, file, piece)
}

// factTails lists the ids of facts with an unterminated last line.
func factTails(file uint32) (ids []string) {
	for _, kind := range record.FactKinds {
		ids = append(ids, factsID(kind, file, record.Tail))
	}
	return ids
}

// factIDs is the range of the facts of a kind of a file.
func factIDs(kind record.FactKind, file uint32) segment.IDRange {
	return segment.IDRange{Start: factsID(kind, file, ""), End: fmt.Sprintf("%c:%06x;", kind, file)}
}

// allFactIDs is the range of the facts of a kind of all files.
func allFactIDs(kind record.FactKind) segment.IDRange {
	return segment.IDRange{Start: string(kind) + ":", End: string(kind) + ";"}
}

// putFacts stores the pieces of the facts that are not stored yet, and with an
// unterminated last line all of them.
func (b *Batch) putFacts(base, full *session.Record) {
	put := func(file uint32, piece string, f *session.Facts) {
		for _, kind := range record.FactKinds {
			id := factsID(kind, file, piece)
			b.stored[id] = record.EncodeFacts(kind, f)
			b.change(file).stored = append(b.change(file).stored, id)
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

// readFacts reads the facts of a file as of its checkpoint, with the details; nil
// when there are none.
func readFacts(segments []*segment.Segment, file uint32) (f *session.Facts, err error) {
	defer format.Contain("read the facts of a session", &err)()
	set := record.NewFactSet(record.FactUsages | record.FactCalls | record.FactDetails)
	for _, s := range segments {
		for _, kind := range set.Kinds() {
			if err := addFacts(set, s, kind, factIDs(kind, file), false); err != nil {
				return nil, err
			}
		}
		s.Trim()
	}
	if !set.Has(file) {
		return nil, nil
	}
	f = &session.Facts{}
	if err := set.Of(file, f); err != nil {
		return nil, err
	}
	f.Stored()
	return f, nil
}

// Facts reads the facts of all files. The set may be used after the reader is
// closed.
func (r *Reader) Facts(ctx context.Context, parts record.FactParts) (*record.FactSet, error) {
	set := record.NewFactSet(parts)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, seg := range r.segments {
		for _, kind := range set.Kinds() {
			g.Go(func() (err error) {
				defer format.Contain("read the facts of sessions", &err)()
				defer seg.Trim()
				if err := ctx.Err(); err != nil {
					return err
				}
				return addFacts(set, seg, kind, allFactIDs(kind), true)
			})
		}
	}
	return set, g.Wait()
}

// addFacts adds what is stored in a segment under ids of a kind in a range, but for
// deleted documents, and with or without those of unterminated last lines.
func addFacts(set *record.FactSet, seg *segment.Segment, kind record.FactKind, ids segment.IDRange, tails bool) error {
	return seg.EachStored(ids, func(id, stored []byte) error {
		number, piece, _ := strings.Cut(strings.TrimPrefix(string(id), string(kind)+":"), ":")
		file, err := strconv.ParseUint(number, 16, 32)
		if err != nil {
			return format.Damaged("read the facts of sessions: %q is no id of any", id)
		}
		if piece == record.Tail && !tails {
			return nil
		}
		return set.Add(kind, uint32(file), piece, stored)
	})
}
