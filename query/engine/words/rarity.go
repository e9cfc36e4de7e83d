package words

import (
	"math"
	"time"
)

// Rarity says how rare the words of a query are in an index.
type Rarity struct {
	Documents float64   `json:"documents"`
	With      []float64 `json:"with"`            // about how many documents have each word of the query
	Newest    time.Time `json:"newest,omitzero"` // the time of the newest entry
}

// Rarity returns how rare the words of the query are in its index.
func (p *ResolvedQuery) Rarity(newest time.Time) *Rarity {
	r := &Rarity{Documents: p.dictionary.documents, With: make([]float64, len(p.Words)), Newest: newest}
	for i, w := range p.Words {
		if w.Weight > 0 { // the inverse of idf
			r.With[i] = (r.Documents+1)/math.Exp(w.Weight/w.Emphasis) - 0.5
		}
	}
	return r
}

// Add adds the documents of another index.
func (r *Rarity) Add(o *Rarity) {
	const most = 1 << 40
	r.Documents += min(max(o.Documents, 0), most)
	for i, n := range o.With {
		if i == len(r.With) {
			r.With = append(r.With, 0)
		}
		r.With[i] += min(max(n, 0), most)
	}
	if o.Newest.After(r.Newest) {
		r.Newest = o.Newest
	}
}

// WeighedBy returns a plan without terms, whose words are as rare as r says.
func (q *Query) WeighedBy(r *Rarity) *ResolvedQuery {
	d := &dictionary{documents: r.Documents}
	p := &ResolvedQuery{Query: q, Newest: r.Newest, dictionary: d}
	for i, w := range q.Words {
		x := newResolvedWord(w, i, 0)
		if i < len(r.With) && r.With[i] > 0 {
			x.Weight = d.idf(int(math.Round(r.With[i])))
		}
		p.Words = append(p.Words, x)
	}
	p.weigh()
	return p
}
