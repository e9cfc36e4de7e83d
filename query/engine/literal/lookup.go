package literal

import (
	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/query/engine/docset"
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
// set is the caller's.
func (l *Lookup) Documents(n *Required) docset.Set {
	switch n.op {
	case anyLiteral:
		return unite(n.literals, l.lookupLiteral)
	case anyOf:
		return unite(n.subs, l.Documents)
	}
	var all docset.Set
	defer func(before bool) { l.fewLeft = before }(l.fewLeft)
	for _, sub := range n.subs {
		if all = docset.Both(all, l.Documents(sub)); all != nil && all.Count() == 0 {
			break
		}
		l.fewLeft = l.fewLeft || l.IsFew(all)
	}
	return all
}

// unite returns the documents that some element of a list may be in, nil for all.
func unite[T any](list []T, documents func(T) docset.Set) (any docset.Set) {
	for _, x := range list {
		docs := documents(x)
		if docs == nil {
			return nil
		}
		if any == nil {
			any = docs
		} else {
			any.Or(docs)
		}
	}
	return any
}

// IsFew reports whether the documents are so few that reading them is quicker than
// ruling out more of them.
func (l *Lookup) IsFew(docs docset.Set) bool {
	return docs != nil && docs.Count() <= l.Limits.FewDocuments
}

func (l *Lookup) lookupLiteral(lit Literal) docset.Set {
	var all docset.Set
	for _, n := range requiredTerms(&l.analyzer, lit) { // whole terms come first
		var docs docset.Set
		switch {
		case n.form == termWhole:
			docs = l.having([]string{n.key})
		case n.form == termPrefix:
			docs = l.lookupPrefix(n.key)
		case l.Pieces && !l.fewLeft && !l.IsFew(all):
			docs = l.lookupInfix(n)
		}
		if all = docset.Both(all, docs); all != nil && all.Count() == 0 {
			break
		}
	}
	return all
}

// having returns the documents that contain at least one of the terms.
func (l *Lookup) having(terms []string) docset.Set {
	docs := docset.New(l.Segment.Len())
	for _, term := range terms {
		docs.Mark(l.Segment, segment.FieldText, term)
	}
	return docs
}

// lookupPrefix returns the documents with a term that begins with the prefix, nil if
// there are too many such terms.
func (l *Lookup) lookupPrefix(prefix string) docset.Set {
	var terms []string
	l.Segment.Terms(segment.FieldText, []byte(prefix), func(term []byte, _ int) bool {
		terms = append(terms, string(term))
		return len(terms) <= l.Limits.MaxTerms
	})
	if len(terms) > l.Limits.MaxTerms {
		return nil
	}
	return l.having(terms)
}

// lookupInfix returns the documents with a term that contains the key, or ends with
// it, and those with a term that was cut, whose rest may contain it. It returns nil
// if there are too many such terms.
func (l *Lookup) lookupInfix(n requiredTerm) docset.Set {
	found, ok := l.Segment.Infix(segment.FieldText, []byte(n.key), n.form == termSuffix, l.Limits.MaxTerms)
	if !ok {
		return nil
	}
	docs := docset.New(l.Segment.Len())
	docs.AddBitmap(found)
	docs.Mark(l.Segment, segment.FieldFlag, segment.FlagCut)
	return docs
}
