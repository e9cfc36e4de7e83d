package segment

import (
	"errors"

	"pigrep/index/format"

	"github.com/blevesearch/vellum"
)

// dict returns the dictionary of a field, nil when the segment has none.
func (s *Segment) dict(f Field) (fst *vellum.FST, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fst, ok := s.dicts[f]; ok {
		return fst, nil
	}
	field, ok := s.fields[f]
	if !ok {
		return nil, nil // no document here has the field
	}
	size, at, ok := readUvarint(s.data, field.dict)
	if !ok || size == 0 || size > uint64(len(s.data))-at {
		return nil, format.Damaged("dictionary of %s", f)
	}
	fst, err = vellum.Load(s.data[at : at+size])
	if err != nil {
		return nil, format.Damaged("dictionary of %s: %v", f, err)
	}
	s.dicts[f] = fst
	return fst, nil
}

// A Place says where the postings of a term are in a segment, so that they need not
// be looked up again. 0 is nowhere.
type Place uint64

// Place looks up a term.
func (s *Segment) Place(f Field, term []byte) (p Place, err error) {
	defer format.Contain("look up a term", &err)()
	return s.place(f, term)
}

func (s *Segment) place(f Field, term []byte) (Place, error) {
	fst, err := s.dict(f)
	if err != nil || fst == nil {
		return 0, err
	}
	value, ok, err := fst.Get(term)
	if err != nil {
		return 0, format.Damaged("look up a term of %s: %v", f, err)
	}
	if !ok {
		return 0, nil
	}
	return Place(value), nil
}

// Terms visits the terms of a field that begin with the prefix, in byte order,
// until visit returns false. The count is the number of documents that have the
// term, deleted ones included. The term is valid during the visit only.
func (s *Segment) Terms(f Field, prefix []byte, visit func(term []byte, count int) bool) (err error) {
	var visiting bool
	defer format.ContainUnless(&visiting, "list terms", &err)()
	fst, err := s.dict(f)
	if err != nil || fst == nil {
		return err
	}
	it, err := fst.Iterator(prefix, prefixEnd(prefix))
	for err == nil {
		term, value := it.Current()
		count, ok := countList(s.data, value)
		if !ok {
			return format.Damaged("postings of a term of %s", f)
		}
		visiting = true
		more := visit(term, count)
		if visiting = false; !more {
			return nil
		}
		err = it.Next()
	}
	return iteratorError(f, err)
}

func iteratorError(f Field, err error) error {
	if errors.Is(err, vellum.ErrIteratorDone) {
		return nil
	}
	return format.Damaged("dictionary of %s: %v", f, err)
}

// prefixEnd returns the smallest key after all that begin with the prefix, nil
// when there is none.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for len(end) > 0 {
		end[len(end)-1]++
		if end[len(end)-1] != 0 {
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}
