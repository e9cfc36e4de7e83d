package index

import (
	"maps"
	"slices"
	"sync"

	zap "github.com/blevesearch/zapx/v17"

	"pigrep/index/segment"
)

// segmentBuilder makes the segment of a batch many times faster than the engine
// does. What it makes is the same; the stock builder is the
// reference, and stands in when the engine writes segments of a version that
// package segment does not know.
type segmentBuilder struct {
	acc      *segment.Accumulator // nil before the first document
	keywords []segment.Keyword
	stored   map[string][]byte // by id
}

// accumulators keeps the memory of finished batches for the next ones.
var accumulators = sync.Pool{New: func() any {
	schema := segment.Schema{Text: string(FieldText), Stored: string(fieldRecord)}
	for i, k := range keywords {
		schema.Keywords = append(schema.Keywords, segment.Field{Name: string(k.name), Options: k.options})
		if k.name == FieldFlag {
			schema.Cut = segment.Keyword{Field: i, Term: FlagCut}
		}
	}
	return segment.NewAccumulator(schema)
}}

func newSegmentBuilder() builder {
	return &segmentBuilder{stored: make(map[string][]byte)}
}

func (b *segmentBuilder) accumulator() *segment.Accumulator {
	if b.acc == nil {
		b.acc = accumulators.Get().(*segment.Accumulator)
	}
	return b.acc
}

func (b *segmentBuilder) add(d *Document) int {
	b.keywords = b.keywords[:0]
	for i := range keywords {
		if v := keywords[i].value(d); v != "" {
			b.keywords = append(b.keywords, segment.Keyword{Field: i, Term: cut(v)})
		}
	}
	return b.accumulator().AddDocument([]byte(d.ID.String()), b.keywords, d.Text)
}

func (b *segmentBuilder) put(id string, value []byte) { b.stored[id] = value }

func (b *segmentBuilder) finish() (*zap.SegmentBase, error) {
	if b.acc == nil && len(b.stored) == 0 {
		return nil, nil
	}
	acc := b.accumulator()
	b.acc = nil
	defer func() {
		acc.Reset()
		accumulators.Put(acc)
	}()
	for _, id := range slices.Sorted(maps.Keys(b.stored)) {
		acc.AddStored([]byte(id), b.stored[id])
	}
	s, err := acc.Build()
	if err != nil {
		return nil, err
	}
	return s.Base()
}
