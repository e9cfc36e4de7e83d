package segment

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	api "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// openZap opens a segment file with the engine.
func openZap(path string) (*zap.Segment, error) {
	opened, err := (&zap.ZapPlugin{}).Open(path)
	if err != nil {
		return nil, err
	}
	s, ok := opened.(*zap.Segment)
	if !ok {
		return nil, errors.Join(fmt.Errorf("unknown kind of segment %T", opened), opened.Close())
	}
	return s, nil
}

// WriteTo writes the segment as a file has it.
func (s *Image) WriteTo(w io.Writer) (int64, error) {
	base, err := s.base()
	if err != nil {
		return 0, err
	}
	return base.WriteTo(w)
}

// base returns the segment as the engine has one in memory, which can be written to a file.
func (s *Image) base() (*zap.SegmentBase, error) {
	return zap.InitSegmentBase(s.bytes, s.crc, chunkMode, uint64(s.docs), s.storedIndex, s.fieldIndex, nil, new(api.Stats))
}

// probes is how many terms of a field check looks up.
const probes = 64

// check opens the segment as the engine will, and compares it with the accumulator: number of documents, terms of every
// field, and in full the postings of some terms, the stored values and ids of some documents.
func (s *Image) check(a *Accumulator) error {
	if crc32.ChecksumIEEE(s.bytes) != s.crc {
		return errors.New("wrong checksum")
	}
	opened, err := s.base()
	if err != nil {
		return err
	}
	defer opened.Close()
	if opened.Count() != uint64(a.docs) {
		return fmt.Errorf("%d documents, want %d", opened.Count(), a.docs)
	}
	for doc := 0; doc < a.docs; doc += a.docs/probes + 1 {
		id, err := opened.DocID(uint64(doc))
		if err != nil {
			return err
		}
		if !bytes.Equal(id, a.ids.at(doc)) {
			return fmt.Errorf("document %d has id %q, want %q", doc, id, a.ids.at(doc))
		}
	}
	for _, v := range a.stored {
		var got []byte
		err := opened.VisitStoredFields(uint64(v.doc), func(field string, _ byte, value []byte, _ []uint64) bool {
			if field == string(a.fields[a.storedID].Name) {
				got = append(got, value...)
			}
			return true
		})
		if err != nil {
			return err
		}
		if !bytes.Equal(got, a.values[v.start:v.end]) {
			return fmt.Errorf("the stored value of document %d differs", v.doc)
		}
	}
	for _, f := range a.fields {
		if err := f.check(opened); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

func (f *inverted) check(opened api.Segment) error {
	dictionary, err := opened.Dictionary(string(f.Name))
	if err != nil {
		return err
	}
	if n := dictionary.(*zap.Dictionary).Cardinality(); n != len(f.terms) {
		return fmt.Errorf("%d terms, want %d", n, len(f.terms))
	}
	var (
		list     api.PostingsList
		iterator api.PostingsIterator
	)
	for number := 0; number < len(f.terms); number += len(f.terms)/probes + 1 {
		list, err = dictionary.PostingsList(f.term(uint32(number)), nil, list)
		if err != nil {
			return err
		}
		want := f.terms[number]
		if list.Count() != uint64(want.docs) {
			return fmt.Errorf("term %q is in %d documents, want %d", f.term(uint32(number)), list.Count(), want.docs)
		}
		iterator = list.Iterator(true, true, false, iterator)
		var last api.Posting
		for n := uint32(0); ; n++ {
			next, err := iterator.Next()
			if err != nil {
				return err
			}
			if next == nil {
				if n != want.docs {
					return fmt.Errorf("term %q has %d postings, want %d", f.term(uint32(number)), n, want.docs)
				}
				break
			}
			last = next
		}
		if freq := f.postings[want.last].freq; !f.Options.SkipFreqNorm() && last.Frequency() != uint64(freq) {
			return fmt.Errorf("term %q has frequency %d, want %d", f.term(uint32(number)), last.Frequency(), freq)
		}
	}
	return nil
}
