package segment

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"

	engine "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// probes is about how many terms of a field, and how many ids, check looks up.
const probes = 64

// check reads the segment with the engine's code and compares it with the
// accumulator: the number of documents and of the terms of every field, all stored
// values, and a sample of ids and postings.
func (m *Image) check(a *Accumulator) error {
	if crc32.ChecksumIEEE(m.bytes) != m.crc {
		return errors.New("wrong checksum")
	}
	opened, err := m.open()
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
		if !bytes.Equal(id, a.id.term(uint32(doc))) {
			return fmt.Errorf("document %d has id %q, want %q", doc, id, a.id.term(uint32(doc)))
		}
	}
	for _, v := range a.stored {
		var got []byte
		err := opened.VisitStoredFields(uint64(v.doc), func(field string, _ byte, value []byte, _ []uint64) bool {
			if field == string(fieldRecord) {
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
			return fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	return nil
}

func (f *inverted) check(opened engine.Segment) error {
	dictionary, err := opened.Dictionary(string(f.name))
	if err != nil {
		return err
	}
	if n := dictionary.(*zap.Dictionary).Cardinality(); n != len(f.terms) {
		return fmt.Errorf("%d terms, want %d", n, len(f.terms))
	}
	var (
		list     engine.PostingsList
		iterator engine.PostingsIterator
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
		var last engine.Posting
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
		if freq := f.postings[want.last].freq; !f.options.SkipFreqNorm() && last.Frequency() != uint64(freq) {
			return fmt.Errorf("term %q has frequency %d, want %d", f.term(uint32(number)), last.Frequency(), freq)
		}
	}
	return nil
}
