package query

import (
	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index"
	"pigrep/index/analysis"
)

// lookupLimits is where looking up literals in a segment stops to pay.
type lookupLimits struct {
	// Up to this many documents of a segment are read rather than looking for
	// pieces of terms in its dictionary, which takes as long.
	few int
	// With more terms in a segment than this, a piece of them says too little.
	terms int
}

var usualLimits = lookupLimits{few: 100, terms: 20_000}

// lookup finds the documents of a segment that meet a need. A nil bitmap is all
// of them.
type lookup struct {
	segment  *index.Segment
	limits   lookupLimits
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
	return docs != nil && docs.GetCardinality() <= uint64(l.limits.few)
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
