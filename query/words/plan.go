package words

import (
	"context"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/query/docset"
	"pigrep/query/match"
	"pigrep/query/syntax"
)

// A Plan says what the words of a query stand for in one generation of the index.
// It never changes.
type Plan struct {
	Query    *Query
	Words    []*Planned // those of the query, in their order
	Weight   float64    // of all words together
	Inexact  bool       // a prefix stands for more terms than are searched for
	Warnings []string   // of the query and of looking it up, for people

	dictionary *dictionary
}

// Planned is a word with the terms that it stands for.
type Planned struct {
	*Word
	Index  int
	Bit    uint64
	Terms  []Expansion // those that match tightest first
	Weight float64     // its idf; 0 when nothing has it or it is only left out

	Split            bool // into two words that this one, which is nowhere, may be made of: one of its parts alone is nothing
	PartIDF          []float64
	PartSum          float64
	AllIDF, WholeIDF float64              // of the documents with all parts; and of those that may have them together
	All              []docset.Set         // by segment, of a field that the text decides about: where it may be true
	Whole            []docset.Set         // by segment: documents that may have all parts together
	JSON             *match.JSONPrefilter // of the needle; nil when it cannot be looked for in JSON

	allCount, wholeCount atomic.Int64 // of documents
}

// Strict reports whether the parts alone are nothing: what is quoted, what is to be
// left out, and what may be two words.
func (p *Planned) Strict() bool {
	return p.Match == syntax.Phrase || p.Find != nil || !p.Scored || p.Split
}

// SpellingsOf returns the terms that a part stands for.
func (p *Planned) SpellingsOf(part int) []string {
	if p.PartSpellings == nil {
		return p.Parts[part : part+1]
	}
	return append(p.Parts[part:part+1:part+1], p.PartSpellings[part]...)
}

// Postings returns the documents of a segment, by its number, that have a term.
func (p *Plan) Postings(number int, seg *index.Segment, term string) (*index.Postings, error) {
	at, err := p.dictionary.place(number, seg, term)
	if err != nil {
		return nil, err
	}
	return seg.PostingsAt(at)
}

// Targets returns the words as texts are searched for them, in their order.
func (p *Plan) Targets() []match.Word {
	list := make([]match.Word, len(p.Words))
	for i, w := range p.Words {
		if !w.Scored {
			continue
		}
		t := &list[i]
		t.Typed = analysis.Fold(syntax.TrimProse(w.Text))
		t.Weight = max(1, w.WholeIDF)
		switch {
		case w.Find != nil:
			t.Find = w.Find.Spans
		case w.Verify && !w.SpellingOnly:
			t.Needle = &w.Needle
		}
		for _, x := range w.Terms {
			t.Terms = append(t.Terms, match.Term{Text: x.Term, Part: -1, Weight: x.Weight * x.IDF})
		}
		if w.Match == syntax.Phrase && w.Verify {
			continue
		}
		for k := range w.Parts {
			weight := WeightSome * w.AllIDF * w.PartIDF[k] / w.PartSum
			for _, s := range w.SpellingsOf(k) {
				t.Terms = append(t.Terms, match.Term{Text: s, Part: k, Weight: weight})
			}
		}
	}
	return list
}

// mostMapped is for how many terms the pages of a segment that their look-up touched
// stay mapped while their postings are read.
const mostMapped = 8

// Resolve looks up what the words of a query stand for. All reading of the
// dictionary happens here. What it takes of a segment is read in one go, as far as it
// does not depend on other segments.
func Resolve(ctx context.Context, r *index.Reader, q *Query) (*Plan, error) {
	d := newDictionary(r)
	x := &resolver{dictionary: d, plan: &Plan{Query: q, Warnings: q.Warnings, dictionary: d}, continuations: map[string]*continuations{}}
	for i, w := range q.Words {
		x.plan.Words = append(x.plan.Words, newPlanned(w, i, len(d.segments)))
		if w.Loose && utf8.RuneCountInString(w.Term) >= minPrefix {
			x.continuations[w.Term] = &continuations{last: w.Last, complete: true, terms: map[string]*term{}}
		}
	}
	terms := d.newCount(lookups(q.Words))
	err := docset.EachSegment(d.segments, func(number int, seg *index.Segment) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		counts, err := terms.in(number, seg)
		if err != nil {
			return err
		}
		for word, c := range x.continuations {
			i, _ := slices.BinarySearch(terms.terms, word)
			if err := c.in(number, seg, word, counts[i], len(d.segments)); err != nil {
				return err
			}
		}
		if len(terms.terms) > mostMapped {
			seg.Trim()
		}
		for _, p := range x.plan.Words {
			if err := p.in(number, seg, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.add(terms)
	for _, p := range x.plan.Words {
		if err := x.complete(p); err != nil {
			return nil, err
		}
		x.plan.Weight += p.Weight
	}
	return x.plan, nil
}

// resolver is Resolve at work.
type resolver struct {
	*dictionary
	plan          *Plan
	continuations map[string]*continuations // by word
	searched      int                       // words for which similar ones were looked for
}

// lookups returns all terms that the words stand for whatever the index has.
func lookups(words []*Word) []string {
	var terms []string
	for _, w := range words {
		if w.Term != "" {
			terms = append(append(terms, w.Term), w.Spellings...)
		}
		if w.Term != "" && w.Loose {
			terms = append(terms, forms(w.Term)...)
		}
		terms = append(append(terms, w.Parts...), w.Wholes...)
		terms = append(terms, slices.Concat(w.PartSpellings...)...)
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

func newPlanned(w *Word, i, segments int) *Planned {
	p := &Planned{
		Word: w, Index: i, Bit: 1 << i,
		All: make([]docset.Set, segments), Whole: make([]docset.Set, segments),
	}
	if w.Verify && w.Find == nil {
		p.JSON = match.NewJSONPrefilter(&w.Needle)
	}
	return p
}

// in looks up which documents of a segment may have the word whole.
func (p *Planned) in(number int, seg *index.Segment, d *dictionary) error {
	switch {
	case p.Find != nil:
		docs, err := p.Find.Docs(seg)
		if err == nil && docs == nil {
			docs, err = docset.Live(seg)
		}
		p.All[number] = docs
		p.allCount.Add(int64(docs.Count()))
		return err
	case len(p.Parts) > 0:
		mark := d.marker(number, seg)
		docs, err := docset.Conjunction(seg.Len(), len(p.Parts), p.SpellingsOf, mark)
		if err != nil {
			return err
		}
		p.allCount.Add(int64(docs.Count()))
		if len(p.Wholes) > 0 {
			wholes, err := docset.Conjunction(seg.Len(), len(p.Wholes), docset.OneSpelling(p.Wholes), mark)
			if err != nil {
				return err
			}
			docs.And(wholes)
		}
		p.wholeCount.Add(int64(docs.Count()))
		p.Whole[number] = docs
	}
	return nil
}

// complete looks up what depends on the whole index.
func (x *resolver) complete(p *Planned) error {
	var err error
	if p.Terms, err = x.expand(p); err != nil {
		return err
	}
	if len(p.Terms) > 0 && p.Scored {
		p.Weight = p.Terms[0].IDF
	}
	if p.Find != nil {
		p.AllIDF = x.idf(int(p.allCount.Load()))
		p.WholeIDF = p.AllIDF
		if p.Scored {
			p.Weight = p.AllIDF
		}
		return nil
	}
	if len(p.Parts) == 0 {
		return nil
	}
	if p.Split {
		err := docset.EachSegment(x.segments, func(number int, seg *index.Segment) error { return p.in(number, seg, x.dictionary) })
		if err != nil {
			return err
		}
	}
	p.AllIDF, p.WholeIDF = x.idf(int(p.allCount.Load())), x.idf(int(p.wholeCount.Load()))
	if p.Scored && p.Weight == 0 {
		p.Weight = p.AllIDF
	}
	for i := range p.Parts {
		df := 0
		for _, t := range p.SpellingsOf(i) {
			more, err := x.df(t)
			if err != nil {
				return err
			}
			df += more
		}
		idf := x.idf(min(df, int(x.documents)))
		p.PartIDF = append(p.PartIDF, idf)
		p.PartSum += idf
	}
	return nil
}

// Similar returns the most frequent of the terms that are most like a word which is
// in no document; "" when there is none.
func (p *Plan) Similar(w *Planned) (string, error) {
	length := utf8.RuneCountInString(w.Term)
	if length <= 2 {
		return "", nil
	}
	edits := 1
	if length >= minFuzzyTwo {
		edits = 2
	}
	d := &dictionary{p.dictionary.segments, p.dictionary.documents, map[string]*term{}}
	e := expander{resolver: &resolver{dictionary: d, plan: p}, seen: map[string]bool{}}
	if err := e.fuzzy(w.Term, edits, false, 1, 1, weightFuzzy); err != nil || len(e.list) == 0 {
		return "", err
	}
	return e.list[0].Term, nil
}
