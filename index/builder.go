package index

import (
	"fmt"

	engine "github.com/blevesearch/bleve_index_api"
	zap "github.com/blevesearch/zapx/v17"

	"pigrep/index/analysis"
)

// A builder turns documents and encoded session records into a segment. It is used
// by one goroutine.
type builder interface {
	add(d *Document) (tokens int) // consumes d.Text before it returns
	put(id string, value []byte)  // the last one of an id counts
	// finish returns a segment with everything that was added, nil when that is
	// nothing.
	finish() (*zap.SegmentBase, error)
}

// stockBuilder hands each document to the engine as it is, and leaves it to the
// engine to make a segment of them.
type stockBuilder struct {
	analyzer analysis.Analyzer
	docs     []engine.Document
	stored   map[string]int // where in docs what was put under an id is
}

func newStockBuilder() builder { return &stockBuilder{stored: make(map[string]int)} }

func (b *stockBuilder) add(d *Document) int {
	fields := make([]engine.Field, 0, len(keywords)+2)
	fields = append(fields, newTermField(fieldID, d.ID.String(), idOptions))

	text := &field{name: FieldText, options: engine.IndexField, terms: make(engine.TokenFrequencies)}
	text.length = b.analyzer.Walk(d.Text, func(t analysis.Token) {
		f := text.terms[string(t.Term)]
		if f == nil {
			f = &engine.TokenFreq{}
			text.terms[string(t.Term)] = f
		}
		f.SetFrequency(f.Frequency() + 1)
	})
	if text.length > 0 {
		fields = append(fields, text)
	}
	for i := range keywords {
		k := &keywords[i]
		if v := k.value(d); v != "" {
			fields = append(fields, newTermField(k.name, cut(v), k.options))
		}
	}
	if b.analyzer.Cut() {
		fields = append(fields, newTermField(FieldFlag, FlagCut, keywordOptions))
	}
	b.docs = append(b.docs, &document{id: d.ID.String(), fields: fields})
	return text.length
}

func (b *stockBuilder) put(id string, value []byte) {
	d := &document{id: id, fields: []engine.Field{
		newTermField(fieldID, id, idOptions),
		&field{name: fieldRecord, options: engine.StoreField, value: value},
	}}
	if i, ok := b.stored[id]; ok {
		b.docs[i] = d
		return
	}
	b.stored[id] = len(b.docs)
	b.docs = append(b.docs, d)
}

func (b *stockBuilder) finish() (*zap.SegmentBase, error) {
	if len(b.docs) == 0 {
		return nil, nil
	}
	made, _, err := (&zap.ZapPlugin{}).New(b.docs)
	if err != nil {
		return nil, err
	}
	base, ok := made.(*zap.SegmentBase)
	if !ok {
		return nil, fmt.Errorf("unknown kind of segment %T", made)
	}
	return base, nil
}

// document is a document of the engine that is analyzed already.
type document struct {
	id     string
	fields []engine.Field // the first one is _id
}

func (d *document) ID() string { return d.id }
func (d *document) Size() int  { return 0 } // asked for by statistics only
func (d *document) VisitFields(visit engine.FieldVisitor) {
	for _, f := range d.fields {
		visit(f)
	}
}
func (d *document) VisitComposite(engine.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                          { return false }
func (d *document) NumPlainTextBytes() uint64                   { return 0 }
func (d *document) AddIDField()                                 {} // it has one
func (d *document) StoredFieldsBytes() uint64                   { return 0 }
func (d *document) Indexed() bool                               { return true }

// field is a field of the engine that is analyzed already.
type field struct {
	name    Field
	options engine.FieldIndexingOptions
	value   []byte // stored
	terms   engine.TokenFrequencies
	length  int
}

func newTermField(name Field, term string, options engine.FieldIndexingOptions) *field {
	f := &engine.TokenFreq{}
	if !options.SkipFreqNorm() {
		f.SetFrequency(1)
	}
	return &field{name: name, options: options, value: []byte(term), terms: engine.TokenFrequencies{term: f}, length: 1}
}

func (f *field) Name() string                                      { return string(f.name) }
func (f *field) Value() []byte                                     { return f.value }
func (f *field) ArrayPositions() []uint64                          { return nil }
func (f *field) EncodedFieldType() byte                            { return 't' }
func (f *field) Analyze()                                          {}
func (f *field) Options() engine.FieldIndexingOptions              { return f.options }
func (f *field) AnalyzedLength() int                               { return f.length }
func (f *field) AnalyzedTokenFrequencies() engine.TokenFrequencies { return f.terms }
func (f *field) NumPlainTextBytes() uint64                         { return 0 }
