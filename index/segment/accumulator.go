package segment

import (
	"slices"

	"pigrep/index/analysis"
)

// keywordTerm is a term of a keyword field.
type keywordTerm struct {
	field int // index in keywords
	term  string
}

// Accumulator collects documents for one segment. It is used by one goroutine;
// after Reset it can be used for the next segment.
//
// The engine would build the same segment from a map a document and field, in
// several times the time and memory (BenchmarkBuild). Here a field has one hash
// table for the whole batch; each token is looked up in it once, and a posting takes
// eight bytes.
type Accumulator struct {
	analyzer analysis.Analyzer
	emit     func(analysis.Token)
	fields   []*inverted // in the order of specs
	id, text *inverted
	record   *inverted     // that of fieldRecord
	keywords []*inverted   // in the order of the table keywords
	flag     *inverted     // that of FieldFlag
	terms    []keywordTerm // of the document being added
	pairs    adjacency

	docs   int
	stored []stored
	values []byte
	writer writer
}

// stored is a stored value.
type stored struct {
	doc        int
	start, end int // in Accumulator.values
}

// NewAccumulator returns an empty accumulator.
func NewAccumulator() *Accumulator {
	a := &Accumulator{keywords: make([]*inverted, len(keywords))}
	for _, spec := range specs() {
		f := newInverted(spec)
		a.fields = append(a.fields, f)
		switch spec.name {
		case fieldID:
			a.id = f
		case FieldText:
			a.text = f
		case fieldRecord:
			a.record = f
		default:
			a.keywords[slices.IndexFunc(keywords, func(k keyword) bool { return k.name == spec.name })] = f
		}
		if spec.name == FieldFlag {
			a.flag = f
		}
	}
	a.emit = func(t analysis.Token) {
		term := a.text.add(t.Term)
		a.pairs.add(t, term.key, term.size)
	}
	return a
}

// Add adds a document and returns the number of tokens in its text. Its id must be
// new in the segment. Nothing of the document is kept.
func (a *Accumulator) Add(d *Document) (tokens int) {
	a.terms = a.terms[:0]
	for i := range keywords {
		if v := keywords[i].value(d); v != "" {
			a.terms = append(a.terms, keywordTerm{i, cut(v)})
		}
	}
	return a.add([]byte(d.ID.String()), a.terms, d.Text)
}

func (a *Accumulator) add(id []byte, terms []keywordTerm, text []byte) (tokens int) {
	a.id.add(id)
	for _, k := range terms {
		a.keywords[k.field].add([]byte(k.term))
	}
	tokens = a.analyzer.Walk(text, a.emit)
	if a.analyzer.Cut() {
		a.flag.add([]byte(FlagCut))
	}
	a.end()
	return tokens
}

// AddStored adds a value under an id, which must be new in the segment. Nothing of
// the arguments is kept.
func (a *Accumulator) AddStored(id, value []byte) {
	a.id.add(id)
	start := len(a.values)
	a.values = append(a.values, value...)
	a.stored = append(a.stored, stored{a.docs, start, len(a.values)})
	a.record.add([]byte(recordTerm))
	a.end()
}

func (a *Accumulator) end() {
	for _, f := range a.fields {
		f.endDocument()
	}
	a.pairs.endDocument()
	a.docs++
}

// Reset makes the accumulator empty. It keeps its memory for the next documents,
// except what was many times more than these needed, so that one huge line does not
// stay in memory.
func (a *Accumulator) Reset() {
	a.docs = 0
	a.stored, a.values = reuse(a.stored), reuse(a.values)
	terms, postings := 0, 0
	for _, f := range a.fields {
		terms, postings = max(terms, len(f.terms)), max(postings, len(f.postings))
		f.reset()
	}
	a.pairs.reset()
	a.writer.reset(terms, postings)
}
