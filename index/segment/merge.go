package segment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index/format"
	"pigrep/internal/lists"
)

// Merge writes the live documents of the segments, in their order, as one segment into a
// new file, closes that, and opens the segment. What a failure leaves of the file is the
// caller's to remove. Like everything that is read, the bytes it copies have matched their
// checksums.
func Merge(ctx context.Context, segments []*Segment, file *os.File) (*Segment, error) {
	m := &merger{ctx: ctx, file: file, having: roaring.New()}
	for _, s := range segments {
		m.sources = append(m.sources, m.source(s))
	}
	if err := errors.Join(m.write(), file.Close()); err != nil {
		return nil, err
	}
	return Open(file.Name())
}

type merger struct {
	writer
	ctx     context.Context
	sources []*source
	file    *os.File
	sums    blockSums
	trimAt  uint64   // size of the output at which pages of the sources are unmapped again
	lengths []uint32 // by document: tokens of the field

	// The postings that are being read, and memory for them.
	read     Postings
	having   *roaring.Bitmap
	iterator roaring.ManyIntIterator

	err error // the first one; nothing is written after it
}

type source struct {
	*Segment
	order   int      // among the sources
	live    []uint32 // its documents
	numbers []uint32 // by document: the number in the merged segment; noDocument if it is deleted
}

const noDocument = ^uint32(0)

const (
	mergeBuffer = 1 << 20
	trimEvery   = 16 << 20
)

// source numbers the live documents of a segment after those of the other sources.
func (m *merger) source(s *Segment) *source {
	src := &source{Segment: s, order: len(m.sources), numbers: make([]uint32, s.length)}
	for doc := range src.numbers {
		if s.deleted != nil && s.deleted.Contains(uint32(doc)) {
			src.numbers[doc] = noDocument
			continue
		}
		src.live = append(src.live, uint32(doc))
		src.numbers[doc] = uint32(m.docs)
		m.docs++
	}
	return src
}

func (m *merger) write() (err error) {
	defer format.Contain(format.Guard(), "merge segments", &err)
	p := parts{docs: m.docs, storedIndex: m.stored()}
	m.lengths = make([]uint32, m.docs)
	var headers []uint64
	for _, f := range specs {
		headers = append(headers, m.field(f))
	}
	p.fieldIndex = m.fieldIndex(headers, m.adjacency())
	m.flush()
	if m.err != nil {
		return m.err
	}
	for _, s := range m.sources {
		s.Trim()
	}
	if _, err := m.file.Write(p.tail(&m.sums)); err != nil {
		return err
	}
	return m.file.Sync()
}

// spill writes what there is so far to the file, if it is enough. It returns the error of the
// merge.
func (m *merger) spill() error {
	if len(m.out) >= mergeBuffer {
		m.flush()
	}
	return m.err
}

func (m *merger) flush() {
	if m.err = cmp.Or(m.err, m.ctx.Err()); m.err != nil {
		return
	}
	m.sums.add(m.out)
	_, m.err = m.file.Write(m.out)
	m.written += uint64(len(m.out))
	m.out = m.out[:0]
	if m.written >= m.trimAt {
		m.trimAt = m.written + trimEvery
		for _, s := range m.sources {
			s.Trim()
		}
	}
}

// stored copies the ids and stored values, which stay compressed. It returns the address
// of their index.
func (m *merger) stored() uint64 {
	addresses := make([]uint64, 0, m.docs)
	for _, s := range m.sources {
		for _, doc := range s.live {
			id, description, at := s.storedParts(doc)
			compressed := s.bytes(at.at, at.size)
			var start, size uint64
			has := len(description) > 0
			if has {
				start, size = parseDescription(description)
			}
			if start != 0 {
				panic(errStored)
			}
			addresses = append(addresses, m.at())
			m.storedDocument(id, compressed, has, int(size))
			if m.spill() != nil {
				return 0
			}
		}
	}
	return m.storedIndex(addresses)
}

func (m *merger) field(f fieldSpec) (header uint64) {
	if m.err != nil {
		return 0
	}
	var dictionary uint64
	dictionary, m.err = m.dictionary(func(insert insertTerm) error {
		return m.eachTerm(f.name, func(term []byte, having []*cursor) error {
			if at := m.postings(f, having); at != 0 {
				return cmp.Or(insert(term, at), m.spill())
			}
			return nil
		})
	})
	return m.fieldEnd(f, dictionary, m.values(f))
}

// values returns a function that appends the doc values of a field in a document of the merged
// segment, nil if the field has none.
func (m *merger) values(f fieldSpec) func(b []byte, doc int) []byte {
	if !f.options.IncludeDocValues() {
		return nil
	}
	var data []byte                     // values, each followed by valueEnd
	starts := make([]uint32, 0, m.docs) // of each document
	until := func(doc int) {
		for len(starts) <= doc {
			starts = append(starts, uint32(len(data)))
		}
	}
	for _, s := range m.sources {
		s.docValues(f.name, s.live, func(doc uint32, value []byte) {
			until(int(s.numbers[doc]))
			data = append(append(data, value...), valueEnd)
		})
	}
	until(m.docs)
	return func(b []byte, doc int) []byte { return append(b, data[starts[doc]:starts[doc+1]]...) }
}

// postings merges the postings of a term; 0 if no live document has it.
func (m *merger) postings(f fieldSpec, having []*cursor) PostingsOffset {
	m.hits = m.hits[:0]
	for _, c := range having {
		if c.at.isOneHit() { // without a list, which most terms do not need
			doc := c.at.document()
			if int(doc) >= len(c.numbers) {
				panic(errPostings)
			}
			if number := c.numbers[doc]; number != noDocument {
				m.hits = append(m.hits, hit{number, 1})
				m.lengths[number] = c.at.length()
			}
			continue
		}
		p := &m.read
		*p = Postings{segment: c.Segment, deleted: c.deletedBits()}
		p.read(c.at, m.having, &m.iterator)
		for docs, freqs, lengths := p.NextBlock(); len(docs) > 0; docs, freqs, lengths = p.NextBlock() {
			for i, doc := range docs {
				number := c.numbers[doc]
				m.hits = append(m.hits, hit{number, freqs[i]})
				m.lengths[number] = lengths[i]
			}
		}
		if err := c.Fault(); err != nil {
			panic(err)
		}
	}
	switch {
	case len(m.hits) == 0:
		return 0
	case f.options.SkipFreqNorm():
		return m.writer.postings(m.hits, nil)
	default:
		return m.writer.postings(m.hits, m.lengths)
	}
}

// cursor is at a term of a source.
type cursor struct {
	*source
	term []byte
	at   PostingsOffset
	next func() ([]byte, PostingsOffset, bool)
}

// eachTerm visits the terms of a field that any source has, in byte order, with a cursor
// at each source that has the term, in their order.
func (m *merger) eachTerm(f Field, visit func(term []byte, having []*cursor) error) error {
	var queue []*cursor // the next one is the last
	advance := func(c *cursor) {
		var ok bool
		if c.term, c.at, ok = c.next(); ok {
			at, _ := slices.BinarySearchFunc(queue, c, func(x, y *cursor) int {
				return cmp.Or(bytes.Compare(y.term, x.term), y.order-x.order)
			})
			queue = slices.Insert(queue, at, c)
		}
	}
	for _, s := range m.sources {
		next, stop := iter.Pull2(s.terms(f))
		defer stop()
		advance(&cursor{source: s, next: next})
	}
	var having []*cursor
	for len(queue) > 0 {
		having = having[:0]
		for n := len(queue) - 1; n >= 0 && (len(having) == 0 || bytes.Equal(queue[n].term, having[0].term)); n-- {
			having = append(having, queue[n])
			queue = queue[:n]
		}
		if err := visit(having[0].term, having); err != nil {
			return err
		}
		for _, c := range having {
			advance(c)
		}
	}
	return errors.Join(lists.Map(m.sources, func(s *source) error { return s.Fault() })...)
}

// terms iterates over the terms of a field. A term is valid until the next one. They end where the
// segment has a Fault.
func (s *Segment) terms(f Field) iter.Seq2[[]byte, PostingsOffset] {
	return func(yield func([]byte, PostingsOffset) bool) {
		defer s.contain(format.Guard(), "list terms")
		s.eachTerm(f, nil, nil, yield)
	}
}
