package segment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/index/scorch"
	engine "github.com/blevesearch/bleve_index_api"
	api "github.com/blevesearch/scorch_segment_api/v2"

	"pigrep/index/analysis"
)

// Keyword fields of each sort, by their number in keywords.
const (
	inKind  = 1
	inTool  = 3
	inEntry = 7
	inHash  = 11
)

// sample is a document of the tests; with a value it is a stored one.
type sample struct {
	id, text string
	keywords []keywordTerm
	value    []byte
}

func (s sample) addTo(a *Accumulator) int {
	if s.value != nil {
		a.AddStored([]byte(s.id), s.value)
		return 0
	}
	return a.add([]byte(s.id), s.keywords, []byte(s.text))
}

// stock makes the document that the engine indexes by itself.
func (s sample) stock() engine.Document {
	d := &stockDocument{id: s.id}
	add := func(name Field, options engine.FieldIndexingOptions, value []byte, terms ...string) {
		f := &stockField{name: string(name), options: options, value: value, length: len(terms), terms: engine.TokenFrequencies{}}
		for _, t := range terms {
			if f.terms[t] == nil {
				f.terms[t] = &engine.TokenFreq{}
			}
			if !options.SkipFreqNorm() {
				f.terms[t].SetFrequency(f.terms[t].Frequency() + 1)
			}
		}
		d.fields = append(d.fields, f)
	}
	add(fieldID, idOptions, []byte(s.id), s.id)
	if s.value != nil {
		add(fieldRecord, recordOptions, s.value, recordTerm)
		return d
	}
	var a analysis.Analyzer
	var words []string
	a.Walk([]byte(s.text), func(t analysis.Token) { words = append(words, string(t.Term)) })
	terms := slices.Clone(s.keywords)
	if a.Cut() {
		terms = append(terms, keywordTerm{slices.IndexFunc(keywords, func(k keyword) bool { return k.name == FieldFlag }), FlagCut})
	}
	for _, k := range terms {
		f := keywords[k.field]
		add(f.name, f.options, nil, k.term)
	}
	if len(words) > 0 {
		add(FieldText, engine.IndexField, nil, words...)
	}
	return d
}

type stockDocument struct {
	id     string
	fields []engine.Field
}

func (d *stockDocument) ID() string { return d.id }
func (d *stockDocument) Size() int  { return 0 }
func (d *stockDocument) VisitFields(visit engine.FieldVisitor) {
	for _, f := range d.fields {
		visit(f)
	}
}
func (d *stockDocument) VisitComposite(engine.CompositeFieldVisitor) {}
func (d *stockDocument) HasComposite() bool                          { return false }
func (d *stockDocument) NumPlainTextBytes() uint64                   { return 0 }
func (d *stockDocument) AddIDField()                                 {}
func (d *stockDocument) StoredFieldsBytes() uint64                   { return 0 }
func (d *stockDocument) Indexed() bool                               { return true }

// keywordTerm is a term of a keyword field, by its index in keywords.
type keywordTerm struct {
	field int
	term  string
}

// add adds a document that need not be as Document makes it.
func (a *Accumulator) add(id []byte, terms []keywordTerm, text []byte) (tokens int) {
	a.id.add(id)
	for _, k := range terms {
		a.keywords[k.field].add([]byte(k.term))
	}
	return a.addText(text, nil)
}

type stockField struct {
	name    string
	options engine.FieldIndexingOptions
	value   []byte
	length  int
	terms   engine.TokenFrequencies
}

func (f *stockField) Name() string                                      { return f.name }
func (f *stockField) Value() []byte                                     { return f.value }
func (f *stockField) ArrayPositions() []uint64                          { return nil }
func (f *stockField) EncodedFieldType() byte                            { return 't' }
func (f *stockField) Analyze()                                          {}
func (f *stockField) Options() engine.FieldIndexingOptions              { return f.options }
func (f *stockField) AnalyzedLength() int                               { return f.length }
func (f *stockField) AnalyzedTokenFrequencies() engine.TokenFrequencies { return f.terms }
func (f *stockField) NumPlainTextBytes() uint64                         { return 0 }

// contents is all that can be read from an index, by id, so that it does not matter in which segment and at which
// number a document is.
type contents struct {
	Documents []string                      // ids of the live ones
	Postings  map[string]map[string][]hitOf // field, term
	Values    map[string][]string           // "id field": doc values
	Stored    map[string]string             // "id field"
}

// hitOf is a posting.
type hitOf struct {
	ID           string
	Freq, Length uint64
}

// part is a segment and the documents of it that were deleted.
type part struct {
	api.Segment
	deleted interface{ Contains(uint32) bool }
}

func read(t testing.TB, parts ...part) contents {
	t.Helper()
	c := contents{Postings: map[string]map[string][]hitOf{}, Values: map[string][]string{}, Stored: map[string]string{}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range parts {
		live := func(doc uint64) bool { return p.deleted == nil || !p.deleted.Contains(uint32(doc)) }
		ids := make([]string, p.Count())
		// A segment of the engine without any doc values must not be asked for them.
		visitable, err := p.Segment.(api.DocValueVisitable).VisitableDocValueFields()
		must(err)
		var state api.DocVisitState
		for doc := range p.Count() {
			id, err := p.DocID(doc)
			must(err)
			ids[doc] = string(id)
			if !live(doc) {
				continue
			}
			c.Documents = append(c.Documents, ids[doc])
			must(p.VisitStoredFields(doc, func(field string, typ byte, value []byte, pos []uint64) bool {
				c.Stored[ids[doc]+" "+field] = fmt.Sprintf("%c %v %s", typ, len(pos), value)
				return true
			}))
			state, err = p.Segment.(api.DocValueVisitable).VisitDocValues(doc, visitable, func(field string, term []byte) {
				c.Values[ids[doc]+" "+field] = append(c.Values[ids[doc]+" "+field], string(term))
			}, state)
			must(err)
		}
		for _, field := range p.Fields() {
			dictionary, err := p.Dictionary(field)
			must(err)
			iterator := dictionary.AutomatonIterator(nil, nil, nil)
			for {
				entry, err := iterator.Next()
				must(err)
				if entry == nil {
					break
				}
				list, err := dictionary.PostingsList([]byte(entry.Term), nil, nil)
				must(err)
				postings := list.Iterator(true, true, true, nil)
				n := uint64(0)
				for {
					hit, err := postings.Next()
					must(err)
					if hit == nil {
						break
					}
					n++
					if !live(hit.Number()) {
						continue
					}
					if len(hit.Locations()) != 0 {
						t.Fatalf("term %q of field %s has positions", entry.Term, field)
					}
					if c.Postings[field] == nil {
						c.Postings[field] = map[string][]hitOf{}
					}
					c.Postings[field][entry.Term] = append(c.Postings[field][entry.Term],
						hitOf{ids[hit.Number()], hit.Frequency(), hit.(interface{ NormUint64() uint64 }).NormUint64()})
				}
				if n != list.Count() {
					t.Fatalf("term %q of field %s has %d postings, counts %d", entry.Term, field, n, list.Count())
				}
			}
		}
	}
	slices.Sort(c.Documents)
	for _, terms := range c.Postings {
		for _, postings := range terms {
			slices.SortFunc(postings, func(x, y hitOf) int { return strings.Compare(x.ID, y.ID) })
		}
	}
	return c
}

// readIndex reads the live documents of an index of the engine.
func readIndex(t testing.TB, index *scorch.Scorch) contents {
	t.Helper()
	reader, err := index.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var parts []part
	for _, s := range reader.(*scorch.IndexSnapshot).Segments() {
		p := part{Segment: s.Segment()}
		if d := s.Deleted(); d != nil {
			p.deleted = d
		}
		parts = append(parts, p)
	}
	c := read(t, parts...)
	if n, err := reader.DocCount(); err != nil || n != uint64(len(c.Documents)) {
		t.Fatalf("the index counts %d documents, has %d (%v)", n, len(c.Documents), err)
	}
	return c
}
