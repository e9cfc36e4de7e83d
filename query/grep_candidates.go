package query

import (
	"context"
	"runtime"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"pigrep/index"
	"pigrep/index/analysis"
)

// grepLimits is where looking things up stops to pay.
type grepLimits struct {
	// Up to this many documents are read rather than looking for pieces of
	// terms in the dictionary, which takes as long.
	few int
	// With more terms in a segment than this, a piece of them says too little.
	terms int
	// When this share of the documents of a file, and some more, are candidates,
	// the file is read from its beginning to its end.
	share float64
	some  int
}

var grepUsual = grepLimits{few: 400, terms: 20_000, share: 0.5, some: 8}

// fileCandidates is where matches may be in one session file.
type fileCandidates struct {
	all     bool
	offsets []int64 // of entries, ascending, each once
}

// candidates returns, by file number, where matches may be as far as the index
// knows; nil when that may be everywhere.
func (g *grep) candidates(ctx context.Context, files []GrepFile) (map[uint32]fileCandidates, error) {
	if g.reader == nil || g.need == nil {
		return nil, nil
	}
	wanted := make(map[uint32]int64)
	documents := make(map[uint32]int)
	for _, f := range files {
		if f.Known != nil && f.Indexed > 0 && g.filter.file(f.Known) {
			wanted[f.Known.File] = f.Indexed
			documents[f.Known.File] = f.Known.Documents
		}
	}
	segments := g.reader.Segments()
	found := make([]*roaring.Bitmap, len(segments))
	total := 0
	for _, pieces := range []bool{false, true} {
		total = 0
		var eg errgroup.Group
		eg.SetLimit(runtime.GOMAXPROCS(0))
		for i, s := range segments {
			eg.Go(func() error {
				l := lookup{segment: s, limits: g.limits, pieces: pieces}
				docs, err := l.need(g.need)
				if err == nil && docs != nil {
					err = g.filter.documents(s, docs)
				}
				found[i] = docs
				return err
			})
		}
		if err := eg.Wait(); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i, docs := range found {
			if docs == nil {
				total += segments[i].Len()
			} else {
				total += int(docs.GetCardinality())
			}
		}
		if total <= g.limits.few {
			break
		}
	}
	var places []spot
	counts := make(map[uint32]int)
	for i, docs := range found {
		if docs == nil {
			return nil, nil
		}
		numbers, err := segments[i].Files()
		if err != nil {
			return nil, err
		}
		for it := docs.Iterator(); it.HasNext(); {
			doc := it.Next()
			if file := numbers[doc]; wanted[file] > 0 {
				counts[file]++
				places = append(places, spot{segments[i], doc, file})
			}
		}
	}
	return g.limits.resolve(places, counts, documents, wanted), nil
}

// spot is a document that is a candidate.
type spot struct {
	segment *index.Segment
	doc     uint32
	file    uint32
}

// resolve sorts the places by files and looks up the offsets.
func (l grepLimits) resolve(places []spot, counts, documents map[uint32]int, indexed map[uint32]int64) map[uint32]fileCandidates {
	found := make(map[uint32]fileCandidates, len(counts))
	for file, n := range counts {
		found[file] = fileCandidates{all: float64(n) > l.share*float64(documents[file])+float64(l.some)}
	}
	for _, p := range places {
		c := found[p.file]
		if c.all {
			continue
		}
		if id, ok := p.segment.ID(p.doc); ok && id.Offset < indexed[p.file] {
			c.offsets = append(c.offsets, id.Offset)
			found[p.file] = c
		}
	}
	for file, c := range found {
		c.offsets = sortedSet(c.offsets)
		found[file] = c
	}
	return found
}

func sortedSet(list []int64) []int64 {
	slices.Sort(list)
	return slices.Compact(list)
}

// lookup finds the documents of a segment that meet a need. A nil bitmap is all
// of them.
type lookup struct {
	segment  *index.Segment
	limits   grepLimits
	enough   bool // of few documents they need not be looked for
	pieces   bool // pieces of terms may be looked for in the whole dictionary
	analyzer analysis.Analyzer
}

func (l *lookup) need(n *need) (*roaring.Bitmap, error) {
	switch n.op {
	case needOne:
		var any *roaring.Bitmap
		for _, lit := range n.literals {
			docs, err := l.literal(lit)
			if err != nil || docs == nil {
				return nil, err
			}
			any = unite(any, docs)
		}
		return any, nil
	case needAny:
		var any *roaring.Bitmap
		for _, sub := range n.of {
			docs, err := l.need(sub)
			if err != nil || docs == nil {
				return nil, err
			}
			any = unite(any, docs)
		}
		return any, nil
	}
	var all *roaring.Bitmap
	defer func(before bool) { l.enough = before }(l.enough)
	for _, sub := range n.of {
		docs, err := l.need(sub)
		if err != nil {
			return nil, err
		}
		if all = intersect(all, docs); all != nil && all.IsEmpty() {
			break
		}
		l.enough = l.enough || l.isFew(all)
	}
	return all, nil
}

// isFew reports whether the documents are so few that it is quicker to read them.
func (l *lookup) isFew(docs *roaring.Bitmap) bool {
	return docs != nil && docs.GetCardinality() <= uint64(l.limits.few/4)
}

func unite(a, b *roaring.Bitmap) *roaring.Bitmap {
	if a == nil {
		return b
	}
	a.Or(b)
	return a
}

func intersect(a, b *roaring.Bitmap) *roaring.Bitmap {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	a.And(b)
	return a
}

// literal returns the documents that have every term that a literal needs.
func (l *lookup) literal(lit literal) (*roaring.Bitmap, error) {
	var all *roaring.Bitmap
	for _, n := range termsOf(&l.analyzer, lit) { // whole terms come first
		var docs *roaring.Bitmap
		var err error
		switch {
		case n.form == termIs:
			docs, err = l.segment.Bitmap(index.FieldText, []byte(n.key))
		case n.form == termBegins:
			docs, err = l.beginning(n.key)
		case l.pieces && !l.enough && !l.isFew(all):
			docs, err = l.holding(n)
		}
		if err != nil {
			return nil, err
		}
		if all = intersect(all, docs); all != nil && all.IsEmpty() {
			break
		}
	}
	return all, nil
}

// beginning returns the documents with a term that begins in this way, nil when
// there are too many such terms.
func (l *lookup) beginning(prefix string) (*roaring.Bitmap, error) {
	var terms [][]byte
	err := l.segment.Terms(index.FieldText, []byte(prefix), func(term []byte, _ int) bool {
		terms = append(terms, append([]byte(nil), term...))
		return len(terms) <= l.limits.terms
	})
	if err != nil || len(terms) > l.limits.terms {
		return nil, err
	}
	union := roaring.New()
	for _, term := range terms {
		docs, err := l.segment.Bitmap(index.FieldText, term)
		if err != nil {
			return nil, err
		}
		union.Or(docs)
	}
	return union, nil
}

// holding returns the documents with a term that holds the key, or that may go
// on with it beyond what is indexed of it; nil when there are too many such terms.
func (l *lookup) holding(n termNeed) (*roaring.Bitmap, error) {
	docs, ok, err := l.segment.Infix(index.FieldText, []byte(n.key), n.form == termEnds, l.limits.terms)
	if err != nil || !ok {
		return nil, err
	}
	cut, err := l.segment.Bitmap(index.FieldFlag, []byte(index.FlagCut))
	if err != nil {
		return nil, err
	}
	docs.Or(cut)
	return docs, nil
}

// documents takes out of docs those that the filters on keywords do not let
// through.
func (f grepFilter) documents(s *index.Segment, docs *roaring.Bitmap) error {
	for i := range f {
		t := &f[i]
		if t.keyword == nil || docs.IsEmpty() {
			continue
		}
		have, err := t.docs(s, false)
		if err != nil {
			return err
		}
		docs.And(have)
	}
	return nil
}
