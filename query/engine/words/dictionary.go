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
func (d *dictionary) df(t string) (int, error) {
	df, _, err := d.frequency(t)
	return df, err
}

// frequency returns df, and the number of live documents that have the term only in names of arguments.
func (d *dictionary) frequency(t string) (df, names int, err error) {
	if d.shared != nil {
		if df, names = d.shared.Terms[t], d.shared.Terms[inNames(t)]; df > 0 {
			return df, names, nil
		}
	}
	if d.terms[t] == nil {
		if err := d.count(t); err != nil {
			return 0, 0, err
		}
	}
	return d.terms[t].df, max(names, d.terms[t].names), nil
}

// count looks several terms up, on all cores.
func (d *dictionary) count(terms ...string) error {
	n := d.newCount(terms)
	if len(n.terms) == 0 {
		return nil
	}
	if err := docset.EachSegment(d.segments, n.countIn); err != nil {
		return err
	}
	d.add(n)
	return nil
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

func (n *termCount) countIn(number int, seg *segment.Segment) error {
	for i, t := range n.terms {
		at, err := seg.PostingsOffset(segment.FieldText, []byte(t))
		if err != nil {
			return err
		}
		if at == 0 {
			continue
		}
		as, err := seg.PostingsOffset(segment.FieldName, []byte(t))
		if err != nil {
			return err
		}
		names := 0
		if as != 0 {
			if names, err = seg.CountAt(as); err != nil {
				return err
			}
		}
		count, err := seg.CountAt(at)
		if err != nil {
			return err
		}
		n.found[i].at[number], n.found[i].as[number] = at, as
		n.dfs[i].Add(int64(count - names))
		n.names[i].Add(int64(names))
	}
	return nil
}

// add remembers terms that were counted in all segments.
func (d *dictionary) add(n *termCount) {
	for i, t := range n.terms {
		n.found[i].df, n.found[i].names = int(n.dfs[i].Load()), int(n.names[i].Load())
		d.terms[t] = &n.found[i]
	}
}

func (d *dictionary) postingsAt(number int, seg *segment.Segment, t string) (segment.PostingsOffset, error) {
	if known := d.terms[t]; known != nil {
		return known.at[number], nil
	}
	return seg.PostingsOffset(segment.FieldText, []byte(t))
}

// namedAt returns the postings of the documents that have a term only in names of arguments.
func (d *dictionary) namedAt(number int, seg *segment.Segment, t string) (segment.PostingsOffset, error) {
	if known := d.terms[t]; known != nil {
		return known.as[number], nil
	}
	return seg.PostingsOffset(segment.FieldName, []byte(t))
}

func (d *dictionary) marker(number int, seg *segment.Segment) docset.Marker {
	return func(t string, into docset.Set) error {
		at, err := d.postingsAt(number, seg, t)
		if err != nil {
			return err
		}
		return seg.Mark(at, into)
	}
}
