package segment

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/blevesearch/vellum"

	"pigrep/index/format"
)

// The dictionary of a field maps each of its terms to a PostingsOffset:
//
//	varint   length
//	an FST as vellum writes it; fst.go has its layout

// sortedTerm is a term in sorting.
type sortedTerm struct {
	key    uint64 // see keyOf
	number uint32
}

// hit is a posting, found by its term.
type hit struct{ doc, freq uint32 }

// invertedDictionary writes the postings of the terms of a field and then its dictionary,
// and returns the address of the latter.
func (w *writer) invertedDictionary(f *inverted) (address uint64, err error) {
	w.sort(f)
	w.invert(f)
	lengths := f.lengths
	if f.options.SkipFreqNorm() {
		lengths = nil
	}
	return w.dictionary(func(insert insertTerm) error {
		for _, t := range w.order {
			end := w.next[t.number]
			hits := w.hits[end-f.terms[t.number].docs : end]
			if err := insert(f.term(t.number), w.postings(hits, lengths)); err != nil {
				return err
			}
		}
		return nil
	})
}

// insertTerm adds a term to a dictionary. Terms come in byte order.
type insertTerm func(term []byte, at PostingsOffset) error

// dictionary calls terms, which writes postings and inserts their terms. It then writes
// the dictionary of these terms, and returns its address.
func (w *writer) dictionary(terms func(insertTerm) error) (address uint64, err error) {
	w.fst.Reset()
	if w.builder == nil {
		// A smaller table of shared endings than usual: the FST gets 3 % longer and is built in two thirds of the time.
		w.builder, err = vellum.New(&w.fst, &vellum.BuilderOpts{Encoder: 1, RegistryTableSize: 1000, RegistryMRUSize: 1})
	} else {
		err = w.builder.Reset(&w.fst)
	}
	if err != nil {
		return 0, err
	}
	err = terms(func(term []byte, at PostingsOffset) error { return w.builder.Insert(term, uint64(at)) })
	if err != nil {
		return 0, err
	}
	if err := w.builder.Close(); err != nil {
		return 0, err
	}
	address = w.at()
	w.varint(uint64(w.fst.Len()))
	w.out = append(w.out, w.fst.Bytes()...)
	return address, nil
}

// sort puts the terms of f into w.order.
func (w *writer) sort(f *inverted) {
	w.order = slices.Grow(w.order[:0], len(f.terms))
	for number := range f.terms {
		w.order = append(w.order, sortedTerm{f.terms[number].key, uint32(number)})
	}
	slices.SortFunc(w.order, func(x, y sortedTerm) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		return bytes.Compare(f.term(x.number), f.term(y.number))
	})
}

// invert puts the postings of f, which are by document, into w.hits by term in the
// order of w.order, and sets w.next to where the hits of each term end.
func (w *writer) invert(f *inverted) {
	w.next = slices.Grow(w.next[:0], len(f.terms))[:len(f.terms)]
	at := uint32(0)
	for _, t := range w.order {
		w.next[t.number] = at
		at += f.terms[t.number].docs
	}
	w.hits = slices.Grow(w.hits[:0], len(f.postings))[:len(f.postings)]
	from := uint32(0)
	for doc, end := range f.ends {
		for _, p := range f.postings[from:end] {
			w.hits[w.next[p.term]] = hit{uint32(doc), p.freq}
			w.next[p.term]++
		}
		from = end
	}
}

// PostingsOffset looks up a term; 0 when no document has it.
func (s *Segment) PostingsOffset(f Field, term []byte) (at PostingsOffset, err error) {
	defer format.Contain(format.Guard(), "look up a term", &err)
	return s.lookUp(f, term), nil
}

// lookUp is PostingsOffset for callers that contain faults.
func (s *Segment) lookUp(f Field, term []byte) PostingsOffset {
	tree, have := s.fst(f)
	if !have {
		return 0
	}
	return PostingsOffset(tree.get(term))
}

// eachTerm visits the terms of a field in [start, end), as fst.walk does.
func (s *Segment) eachTerm(f Field, start, end []byte, visit func(term []byte, at PostingsOffset) error) error {
	tree, have := s.fst(f)
	if !have {
		return nil
	}
	return tree.walk(start, end, nil, visit)
}

// Terms visits the terms of a field that begin with the prefix, in byte order,
// until visit returns false. The count is the number of documents that have the
// term, deleted ones included. The term is valid during the visit only.
func (s *Segment) Terms(f Field, prefix []byte, visit func(term []byte, count int) bool) (err error) {
	var visiting bool
	defer format.ContainUnless(format.Guard(), &visiting, "list terms", &err)
	return s.eachTerm(f, prefix, prefixEnd(prefix), func(term []byte, at PostingsOffset) error {
		count := s.countPostings(at)
		visiting = true
		more := visit(term, count)
		if visiting = false; !more {
			return errStop
		}
		return nil
	})
}

// prefixEnd returns the smallest key after all that begin with the prefix, nil
// when there is none.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for len(end) > 0 {
		end[len(end)-1]++
		if end[len(end)-1] != 0 {
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}

// Walk visits every posting of a field, of live documents only, in the order of the
// terms. The term is valid during the visit only; frequency and length are 0 except
// in FieldText.
func (s *Segment) Walk(f Field, visit func(term []byte, doc, freq, length uint32)) error {
	var failed error
	err := s.Terms(f, nil, func(term []byte, _ int) bool {
		p, err := s.Postings(f, term)
		if err != nil {
			failed = err
			return false
		}
		for {
			doc, freq, length, ok := p.Next()
			if !ok {
				failed = p.Err()
				return failed == nil
			}
			if f != FieldText {
				freq, length = 0, 0
			}
			visit(term, doc, freq, length)
		}
	})
	if err == nil {
		err = failed
	}
	return err
}
