package stories

import (
	"math"

	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// Corpus has the documents of a library in memory, for a plain search without
// postings or segments.
type Corpus struct {
	Docs   []Doc
	DF     map[string]int // number of documents with a term
	Tokens float64        // of all documents
}

// Doc is one document of a Corpus.
type Doc struct {
	ID     segment.ID
	Path   string
	Kind   session.Kind
	Text   string
	Freq   map[string]int // occurrences of a term
	Length int            // in tokens
}

func NewCorpus() *Corpus { return &Corpus{DF: map[string]int{}} }

// Add counts the terms of a document, and adds it.
func (c *Corpus) Add(d Doc) {
	var a analysis.Analyzer
	d.Freq = map[string]int{}
	d.Length = a.Walk([]byte(d.Text), func(t analysis.Token) { d.Freq[string(t.Term)]++ })
	c.Tokens += float64(d.Length)
	for term := range d.Freq {
		c.DF[term]++
	}
	c.Docs = append(c.Docs, d)
}

// Corpus reads all documents of the library.
func (l *Library) Corpus() *Corpus {
	c := NewCorpus()
	for _, s := range l.Reader.Summaries() {
		for id, text := range l.Texts {
			if id.File == s.File {
				c.Add(Doc{ID: id, Path: s.Path, Kind: l.Kinds[id], Text: text})
			}
		}
	}
	return c
}

// IDF is the inverse document frequency of BM25 for a term in df documents.
func (c *Corpus) IDF(df int) float64 {
	n := float64(len(c.Docs))
	return math.Log(1 + (n-float64(df)+0.5)/(float64(df)+0.5))
}

// TF is the term frequency part of BM25 with k1 = 1.2 and b = 0.75.
func (c *Corpus) TF(freq float64, length int) float64 {
	const k1, b = 1.2, 0.75
	average := c.Tokens / float64(len(c.Docs))
	return freq * (k1 + 1) / (freq + k1*(1-b+b*float64(length)/average))
}
