package words

import (
	"math"
	"slices"
	"sync/atomic"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/query/engine/docset"
)

type term struct {
	df    int                      // live documents that contain it, not only in names of arguments
	names int                      // those that do only there
	at    []segment.PostingsOffset // of its postings, by segment
	as    []segment.PostingsOffset // of those in segment.FieldName
}

// dictionary looks terms up in all segments, and remembers them.
type dictionary struct {
	segments  []*segment.Segment
	documents float64
	terms     map[string]*term
	shared    *Statistics // of all indexes that answer together; nil: this one answers alone
}

func newDictionary(r *index.Reader, shared *Statistics) *dictionary {
	d := &dictionary{segments: r.Segments(), documents: float64(r.Documents()), terms: map[string]*term{}, shared: shared}
	if shared != nil {
		d.documents = float64(shared.Documents)
	}
	return d
}

// idf returns BM25's inverse document frequency of a term in df documents, which are not
// more than there are unless others claim so.
func (d *dictionary) idf(df int) float64 {
	return math.Log(1 + (max(0, d.documents-float64(df))+0.5)/(float64(df)+0.5))
}

// df returns the number of live documents that contain a term, without documents that have it only in
// names of arguments.
func (d *dictionary) df(t string) int {
	df, _ := d.frequency(t)
	return df
}

// frequency returns df, and the number of live documents that have the term only in names of arguments.
func (d *dictionary) frequency(t string) (df, names int) {
	if d.shared != nil {
		if df, names = d.shared.Terms[t], d.shared.Terms[inNames(t)]; df > 0 {
			return df, names
		}
	}
	if d.terms[t] == nil {
		d.count(t)
	}
	return d.terms[t].df, max(names, d.terms[t].names)
}

// count looks several terms up, on all cores.
func (d *dictionary) count(terms ...string) {
	if n := d.newCount(terms); len(n.terms) > 0 {
		docset.EachSegment(d.segments, n.countIn)
		d.add(n)
	}
}

// A termCount counts the documents of several terms.
type termCount struct {
	*dictionary
	terms []string
	found []term
	dfs   []atomic.Int64
	names []atomic.Int64
}

func (d *dictionary) newCount(terms []string) *termCount {
	terms = slices.DeleteFunc(slices.Clone(terms), func(t string) bool { return d.terms[t] != nil })
	n := &termCount{d, terms, make([]term, len(terms)), make([]atomic.Int64, len(terms)), make([]atomic.Int64, len(terms))}
	places := make([]segment.PostingsOffset, 2*len(terms)*len(d.segments))
	for i := range n.found {
		n.found[i].at, places = places[:len(d.segments)], places[len(d.segments):]
		n.found[i].as, places = places[:len(d.segments)], places[len(d.segments):]
	}
	return n
}

func (n *termCount) countIn(number int, seg *segment.Segment) {
	for i, t := range n.terms {
		at := seg.PostingsOffset(segment.FieldText, []byte(t))
		if at == 0 {
			continue
		}
		as := seg.PostingsOffset(segment.FieldName, []byte(t))
		names := seg.CountAt(as)
		n.found[i].at[number], n.found[i].as[number] = at, as
		n.dfs[i].Add(int64(seg.CountAt(at) - names))
		n.names[i].Add(int64(names))
	}
}

// add remembers terms that were counted in all segments.
func (d *dictionary) add(n *termCount) {
	for i, t := range n.terms {
		n.found[i].df, n.found[i].names = int(n.dfs[i].Load()), int(n.names[i].Load())
		d.terms[t] = &n.found[i]
	}
}

func (d *dictionary) postingsAt(number int, seg *segment.Segment, t string) segment.PostingsOffset {
	if known := d.terms[t]; known != nil {
		return known.at[number]
	}
	return seg.PostingsOffset(segment.FieldText, []byte(t))
}

// namedAt returns the postings of the documents that have a term only in names of arguments.
func (d *dictionary) namedAt(number int, seg *segment.Segment, t string) segment.PostingsOffset {
	if known := d.terms[t]; known != nil {
		return known.as[number]
	}
	return seg.PostingsOffset(segment.FieldName, []byte(t))
}

func (d *dictionary) marker(number int, seg *segment.Segment) docset.Marker {
	return func(t string, into docset.Set) { seg.Mark(d.postingsAt(number, seg, t), into) }
}
