package literal

import (
	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index/analysis"
	"pigrep/index/segment"
)

// Limits say when looking up literals in a segment does not pay any more.
type Limits struct {
	// FewDocuments is how many documents are read in about the time that it takes
	// to search the dictionary for a piece of a term.
	FewDocuments int
	// MaxTerms is how many terms of a segment may contain a key. A key in more of
	// them rules out too little.
	MaxTerms int
}

// DefaultLimits are the limits outside of tests.
var DefaultLimits = Limits{FewDocuments: 100, MaxTerms: 20_000}

// A Lookup finds candidate documents in a segment. It is used by one goroutine.
type Lookup struct {
	Segment  *segment.Segment
	Limits   Limits
	Pieces   bool // search the whole dictionary for suffixes and infixes of terms
	fewLeft  bool // the candidates so far are few: further pieces do not pay
	analyzer analysis.Analyzer
}

// Documents returns the documents that may meet a condition, nil for all of them. The
// bitmap is the caller's.
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

// IsFew reports whether the documents are so few that reading them is quicker than
// ruling out more of them.
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

func (l *Lookup) lookupLiteral(lit Literal) (*roaring.Bitmap, error) {
	var all *roaring.Bitmap
	for _, n := range requiredTerms(&l.analyzer, lit) { // whole terms come first
		var docs *roaring.Bitmap
		var err error
		switch {
		case n.form == termWhole:
			docs, err = l.Segment.Bitmap(segment.FieldText, []byte(n.key))
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

// lookupPrefix returns the documents with a term that begins with the prefix, nil if
// there are too many such terms.
func (l *Lookup) lookupPrefix(prefix string) (*roaring.Bitmap, error) {
	var terms [][]byte
	err := l.Segment.Terms(segment.FieldText, []byte(prefix), func(term []byte, _ int) bool {
		terms = append(terms, append([]byte(nil), term...))
		return len(terms) <= l.Limits.MaxTerms
	})
	if err != nil || len(terms) > l.Limits.MaxTerms {
		return nil, err
	}
	union := roaring.New()
	for _, term := range terms {
		docs, err := l.Segment.Bitmap(segment.FieldText, term)
		if err != nil {
			return nil, err
		}
		union.Or(docs)
	}
	return union, nil
}

// lookupInfix returns the documents with a term that contains the key, or ends with
// it, and those with a term that was cut, whose rest may contain it. It returns nil
// if there are too many such terms.
func (l *Lookup) lookupInfix(n requiredTerm) (*roaring.Bitmap, error) {
	docs, ok, err := l.Segment.Infix(segment.FieldText, []byte(n.key), n.form == termSuffix, l.Limits.MaxTerms)
	if err != nil || !ok {
		return nil, err
	}
	cut, err := l.Segment.Bitmap(segment.FieldFlag, []byte(segment.FlagCut))
	if err != nil {
		return nil, err
	}
	docs.Or(cut)
	return docs, nil
}
