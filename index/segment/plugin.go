package segment

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/blevesearch/bleve/v2/index/scorch"
	engine "github.com/blevesearch/bleve_index_api"
	api "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

func init() { scorch.RegisterSegmentPlugin(&Plugin{}, true) }

// Plugin is the engine's own way of making segments, except that a batch whose only document is that of a Segment
// becomes the segment.
type Plugin struct{ zap.ZapPlugin }

// New makes a segment of the documents of a batch.
func (p *Plugin) New(docs []engine.Document) (api.Segment, uint64, error) {
	return p.NewUsing(docs, nil)
}

// NewUsing is New with the configuration of the index.
func (p *Plugin) NewUsing(docs []engine.Document, config map[string]any) (api.Segment, uint64, error) {
	for _, d := range docs {
		if c, ok := d.(*carrier); ok {
			if len(docs) > 1 {
				return nil, 0, errors.New("make a segment: a batch with a built segment has other documents")
			}
			return c.segment.open(config)
		}
	}
	return p.ZapPlugin.NewUsing(docs, config)
}

// Open opens a segment file and lets go of what that has touched.
func (p *Plugin) Open(path string) (api.Segment, error) { return p.OpenUsing(path, nil) }

// OpenUsing is Open with the configuration of the index.
func (p *Plugin) OpenUsing(path string, config map[string]any) (api.Segment, error) {
	opened, err := p.ZapPlugin.OpenUsing(path, config)
	if z, ok := opened.(*zap.Segment); ok && err == nil {
		Spare(z.Data())
	}
	return opened, err
}

func (s *Segment) open(config map[string]any) (api.Segment, uint64, error) {
	stats, _ := config[api.StatsKey].(*api.Stats)
	if stats == nil {
		stats = new(api.Stats)
	}
	base, err := zap.InitSegmentBase(s.bytes, s.crc, chunkMode, uint64(s.docs), s.storedIndex, s.fieldIndex, config, stats)
	if err != nil {
		return nil, 0, err
	}
	return base, uint64(len(s.bytes)), nil
}

// Document returns the only document that a batch of the engine needs to have to add the segment. The engine does not
// see the ids in the segment: documents of older segments that have the same ids must be deleted in the same batch.
func (s *Segment) Document() engine.Document { return &carrier{s} }

// carrier takes a segment through a batch.
type carrier struct{ segment *Segment }

func (c *carrier) ID() string                                  { return "\x00segment" } // no document has it
func (c *carrier) Size() int                                   { return len(c.segment.bytes) }
func (c *carrier) VisitFields(engine.FieldVisitor)             {}
func (c *carrier) VisitComposite(engine.CompositeFieldVisitor) {}
func (c *carrier) HasComposite() bool                          { return false }
func (c *carrier) NumPlainTextBytes() uint64                   { return 0 }
func (c *carrier) AddIDField()                                 {}
func (c *carrier) StoredFieldsBytes() uint64                   { return 0 }
func (c *carrier) Indexed() bool                               { return true }

// probes is how many terms of a field check looks up.
const probes = 64

// check opens the segment as the engine will, and compares it with the accumulator: number of documents, terms of every
// field, and in full the postings of some terms, the stored values and ids of some documents.
func (s *Segment) check(a *Accumulator) error {
	if crc32.ChecksumIEEE(s.bytes) != s.crc {
		return errors.New("wrong checksum")
	}
	opened, _, err := s.open(nil)
	if err != nil {
		return err
	}
	defer opened.Close()
	if opened.Count() != uint64(a.docs) {
		return fmt.Errorf("%d documents, want %d", opened.Count(), a.docs)
	}
	for doc := 0; doc < a.docs; doc += a.docs/probes + 1 {
		id, err := opened.(*zap.SegmentBase).DocID(uint64(doc))
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
			if field == a.fields[a.storedID].Name {
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
	dictionary, err := opened.Dictionary(f.Name)
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
