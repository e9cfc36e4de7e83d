package segment

import (
	"errors"
	"hash/crc32"

	"github.com/blevesearch/bleve/v2/index/scorch"
	engine "github.com/blevesearch/bleve_index_api"
	api "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

func init() { scorch.RegisterSegmentPlugin(&plugin{}, true) }

// plugin lets the whole engine work on our segments: it is the engine's own way of making them, except that a batch
// whose only document carries an Image becomes its segment.
type plugin struct{ zap.ZapPlugin }

func (p *plugin) New(docs []engine.Document) (api.Segment, uint64, error) {
	return p.NewUsing(docs, nil)
}

func (p *plugin) NewUsing(docs []engine.Document, config map[string]any) (api.Segment, uint64, error) {
	for _, d := range docs {
		if c, ok := d.(*carrier); ok {
			if len(docs) > 1 {
				return nil, 0, errors.New("make a segment: a batch with a built segment has other documents")
			}
			base, err := c.segment.open()
			return base, uint64(len(c.segment.bytes)), err
		}
	}
	return p.ZapPlugin.NewUsing(docs, config)
}

// carrier takes a segment through a batch.
type carrier struct{ segment *Image }

func (c *carrier) ID() string                                  { return "\x00segment" } // no document has it
func (c *carrier) Size() int                                   { return len(c.segment.bytes) }
func (c *carrier) VisitFields(engine.FieldVisitor)             {}
func (c *carrier) VisitComposite(engine.CompositeFieldVisitor) {}
func (c *carrier) HasComposite() bool                          { return false }
func (c *carrier) NumPlainTextBytes() uint64                   { return 0 }
func (c *carrier) AddIDField()                                 {}
func (c *carrier) StoredFieldsBytes() uint64                   { return 0 }
func (c *carrier) Indexed() bool                               { return true }

func (m *Image) open() (*zap.SegmentBase, error) { return engineSegment(m.bytes, &m.parts) }

// engineSegment returns a body as one of the engine's segments. The engine follows
// addresses unchecked, so the body must be known to be intact.
func engineSegment(body []byte, p *parts) (*zap.SegmentBase, error) {
	return zap.InitSegmentBase(body, crc32.ChecksumIEEE(body), chunkMode, uint64(p.docs), p.storedIndex, p.fieldIndex, nil, new(api.Stats))
}
