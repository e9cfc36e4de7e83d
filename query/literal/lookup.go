package literal

import (
	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index"
	"pigrep/index/analysis"
)

// Limits is where looking up literals in a segment stops to pay.
type Limits struct {
	// Up to this many documents of a segment are read rather than looking for
	// pieces of terms in its dictionary, which takes as long.
	FewDocuments int
	// With more terms in a segment than this, a piece of them says too little.
	MaxTerms int
}

var DefaultLimits = Limits{FewDocuments: 100, MaxTerms: 20_000}

// Lookup finds the documents of a segment that meet a need. A nil bitmap is all
// of them.
type Lookup struct {
	Segment  *index.Segment
	Limits   Limits
	fewLeft  bool // of few documents they need not be looked for
	Pieces   bool // pieces of terms may be looked for in the whole dictionary
	analyzer analysis.Analyzer
}

func (l *Lookup) Documents(n *Required) (*roaring.Bitmap, error) {
	switch n.op {
	case anyLiteral:
		var any *roaring.Bitmap
		for _, lit := range n.literals {
			docs, err := l.lookupLiteral(lit)
			if err != nil || docs == nil {
				return nil, err
			}
			any = uniteBitmaps(any, docs)
		}
		return any, nil
	case anyOf:
		var any *roaring.Bitmap
		for _, sub := range n.subs {
			docs, err := l.Documents(sub)
			if err != nil || docs == nil {
				return nil, err
			}
			any = uniteBitmaps(any, docs)
		}
		return any, nil
	}
	var all *roaring.Bitmap
	defer func(before bool) { l.fewLeft = before }(l.fewLeft)
	for _, sub := range n.subs {
		docs, err := l.Documents(sub)
		if err != nil {
			return nil, err
		}
		if all = intersectBitmaps(all, docs); all != nil && all.IsEmpty() {
			break
		}
		l.fewLeft = l.fewLeft || l.IsFew(all)
	}
	return all, nil
}

// IsFew reports whether the documents are so few that it is quicker to read them.
func (l *Lookup) IsFew(docs *roaring.Bitmap) bool {
	return docs != nil && docs.GetCardinality() <= uint64(l.Limits.FewDocuments)
}

func uniteBitmaps(a, b *roaring.Bitmap) *roaring.Bitmap {
	if a == nil {
		return b
	}
	a.Or(b)
	return a
}

func intersectBitmaps(a, b *roaring.Bitmap) *roaring.Bitmap {
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
func (l *Lookup) lookupLiteral(lit Literal) (*roaring.Bitmap, error) {
	var all *roaring.Bitmap
	for _, n := range requiredTerms(&l.analyzer, lit) { // whole terms come first
		var docs *roaring.Bitmap
		var err error
		switch {
		case n.form == termWhole:
			docs, err = l.Segment.Bitmap(index.FieldText, []byte(n.key))
		case n.form == termPrefix:
			docs, err = l.lookupPrefix(n.key)
		case l.Pieces && !l.fewLeft && !l.IsFew(all):
			docs, err = l.lookupInfix(n)
		}
		if err != nil {
			return nil, err
		}
		if all = intersectBitmaps(all, docs); all != nil && all.IsEmpty() {
			break
		}
	}
	return all, nil
}

// beginning returns the documents with a term that begins in this way, nil when
// there are too many such terms.
func (l *Lookup) lookupPrefix(prefix string) (*roaring.Bitmap, error) {
	var terms [][]byte
	err := l.Segment.Terms(index.FieldText, []byte(prefix), func(term []byte, _ int) bool {
		terms = append(terms, append([]byte(nil), term...))
		return len(terms) <= l.Limits.MaxTerms
	})
	if err != nil || len(terms) > l.Limits.MaxTerms {
		return nil, err
	}
	union := roaring.New()
	for _, term := range terms {
		docs, err := l.Segment.Bitmap(index.FieldText, term)
		if err != nil {
			return nil, err
		}
		union.Or(docs)
	}
	return union, nil
}

// holding returns the documents with a term that holds the key, or that may go
// on with it beyond what is indexed of it; nil when there are too many such terms.
func (l *Lookup) lookupInfix(n requiredTerm) (*roaring.Bitmap, error) {
	docs, ok, err := l.Segment.Infix(index.FieldText, []byte(n.key), n.form == termSuffix, l.Limits.MaxTerms)
	if err != nil || !ok {
		return nil, err
	}
	cut, err := l.Segment.Bitmap(index.FieldFlag, []byte(index.FlagCut))
	if err != nil {
		return nil, err
	}
	docs.Or(cut)
	return docs, nil
}
