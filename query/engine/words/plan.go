package words

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/lists"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/match"
	"pigrep/query/engine/syntax"
)

// A ResolvedQuery has the words of a query with their terms in one generation of the index. It
// never changes after Resolve.
type ResolvedQuery struct {
	Query           *Query
	Words           []*ResolvedWord // in the order of Query.Words
	Weight          float64         // sum of the words' weights
	ImportantMask   uint64          // a hit that has none of these, nor all parts of one, comes after all others
	InformativeMask uint64          // words that say something about what is wanted and occur in the index
	RarestMask      uint64          // the weightiest of several informative words, all of them if they weigh the same; 0 for one word
	SlightMask      uint64          // words that say little: a hit without them lacks nothing
	IsSentence      bool            // some words are function words or cues, and others say something
	HasKey          bool            // one informative word has about half of the weight of all: texts without it are hardly about the same
	IsOpen          bool            // a sentence that says more than a text with its answer needs to have
	WantsLatest     bool            // the query asks for the latest of several hits
	WantsUser       bool            // the query asks for what the person said
	Inexact         bool            // there are more hits, or a prefix has more terms than are searched
	Length          float64         // tokens of a document, on average
	Newest          time.Time       // of the entries of other indexes that answer too; zero without any
	Warnings        []string        // for people: those of the query and those of Resolve

	dictionary *dictionary
}

// ResolvedWord is a word with its terms. It never changes after Resolve.
type ResolvedWord struct {
	*Word
	Index    int
	Bit      uint64
	Terms    []Expansion // the tightest matches first
	ByName   uint64      // for a compound: the bit of documents that have it only in names of arguments; 0: they have some parts
	Loosely  uint8       // a document with this tier or a looser one lacks the word, because others have it
	Place    int         // how far its way is shifted in a class; -1: its way is not in the class
	Emphasis float64     // 1, or less for a word that says little about what is wanted
	Weight   float64     // its idf times its emphasis; 0 when no document has it or it is only negated

	Split bool // into the two words that spell it, because no document contains it; one of them alone is no match
	compound
}

// A compound is what a word of several parts, or one that the text decides, has besides.
type compound struct {
	PartIDF          []float64
	PartSum          float64
	AllIDF, WholeIDF float64              // of the documents with all parts, and of those that may have them together
	All              []docset.Set         // by segment, when Find is set: documents for which it may be true
	Whole            []docset.Set         // by segment: documents that may have all parts together
	Within           []docset.Set         // by segment: documents with a longer identifier that has the word in it; nil when no document was looked for
	JSON             *match.JSONPrefilter // finds the needle in JSON; nil when that is not possible

	pairs                []segment.Pair // of neighbours in the needle
	allCount, wholeCount atomic.Int64   // documents, summed over segments by Resolve
}

// Strict reports whether some of the parts are not a match: for a phrase, a negated word,
// and a word that was split.
func (p *ResolvedWord) Strict() bool {
	return p.Match == syntax.Phrase || p.Find != nil || !p.Scored || p.Split
}

// SpellingsOf returns the terms of a part.
func (p *Word) SpellingsOf(part int) []string {
	if p.PartSpellings == nil {
		return p.Parts[part : part+1]
	}
	return append(p.Parts[part:part+1:part+1], p.PartSpellings[part]...)
}

// WholesOf returns the identifiers each of which has a part, whatever its case.
func (p *Word) WholesOf(part int) []string {
	if p.PartWholes == nil {
		return nil
	}
	return p.PartWholes[part]
}

// TermsOf returns the terms each of which has a part.
func (p *Word) TermsOf(part int) []string {
	return slices.Concat(p.SpellingsOf(part), p.WholesOf(part))
}

// PartsAlone reports whether a document with all parts may lack the word itself: it has
// get, user and name, but not getUserName. A document with the halves of a split word does lack it.
func (p *ResolvedWord) PartsAlone() bool { return p.Split || p.Verify && !p.Cut && !p.Strict() }

func (p *ResolvedQuery) Postings(number int, seg *segment.Segment, term string) segment.Postings {
	return seg.PostingsAt(p.dictionary.postingsAt(number, seg, term))
}

// MarkNamed adds to a set the documents that have a term only in names of arguments.
func (p *ResolvedQuery) MarkNamed(number int, seg *segment.Segment, term string, into docset.Set) {
	seg.Mark(p.dictionary.namedAt(number, seg, term), into)
}

func (p *ResolvedQuery) Occurs(number int, seg *segment.Segment) bool {
	for _, w := range p.Words {
		if w.Find != nil && w.All[number].Count() > 0 {
			return true
		}
		terms := lists.Map(w.Terms, func(x Expansion) string { return x.Term })
		for part := range w.Parts {
			terms = append(terms, w.TermsOf(part)...)
		}
		if slices.ContainsFunc(terms, func(t string) bool { return p.dictionary.postingsAt(number, seg, t) != 0 }) {
			return true
		}
	}
	return false
}

func (p *ResolvedQuery) Scored() (bits uint64) {
	for _, w := range p.Words {
		if w.Scored {
			bits |= w.Bit
		}
	}
	return bits
}

// Targets returns what a match.Finder looks for, in the order of the words.
func (p *ResolvedQuery) Targets() []match.Word {
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
			t.Terms = append(t.Terms, match.Term{Text: x.Term, Part: -1, Weight: x.Weight * x.IDF * w.Emphasis})
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

// maxMapped is the number of terms up to which the dictionary pages of a segment stay
// mapped while postings are read.
const maxMapped = 8

// Resolve looks the words of a query up. All reading of the dictionary happens here,
// except for Similar. Look-ups that do not depend on other segments are made in one
// pass over each segment. With the Statistics of several indexes, this one among them, the
// words have the terms and weights that they would have in one index with all documents.
func Resolve(ctx context.Context, r *index.Reader, q *Query, shared *Statistics) (*ResolvedQuery, error) {
	x := newResolver(r, q, shared)
	x.lookUp(ctx)
	for _, p := range x.plan.Words {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.complete(p)
	}
	x.plan.weigh()
	return x.plan, r.Fault()
}

func newResolver(r *index.Reader, q *Query, shared *Statistics) *resolver {
	d := newDictionary(r, shared)
	x := &resolver{dictionary: d, plan: &ResolvedQuery{Query: q, Warnings: q.Warnings, dictionary: d}}
	for i, w := range q.Words {
		x.plan.Words = append(x.plan.Words, newResolvedWord(w, i, len(d.segments)))
	}
	free := FieldBit(len(q.Fields)) // the bits between those of words and those of fields
	for _, p := range x.plan.Words {
		if p.Scored && len(p.Parts) > 0 && free>>len(q.Words) > 0 {
			p.ByName, free = free, free>>1
		}
	}
	tokens := float64(r.Tokens())
	if shared != nil {
		tokens, x.plan.Newest, x.plan.Inexact = float64(shared.Tokens), shared.Newest, shared.More
	}
	if x.plan.Length = 1; d.documents > 0 && tokens > 0 {
		x.plan.Length = tokens / d.documents
	}
	return x
}

// lookUp makes the look-ups that do not depend on other segments.
func (x *resolver) lookUp(ctx context.Context) {
	d := x.dictionary
	terms := d.newCount(lookups(x.plan.Query.Words))
	docset.EachSegment(d.segments, func(number int, seg *segment.Segment) {
		if ctx.Err() != nil {
			return
		}
		terms.countIn(number, seg)
		if len(terms.terms) > maxMapped {
			seg.Trim()
		}
		for _, p := range x.plan.Words {
			p.findWhole(number, seg, d)
		}
	})
	d.add(terms)
}

// resolver is the state of Resolve.
type resolver struct {
	*dictionary
	plan     *ResolvedQuery
	searched int // words for which similar ones were looked up
}

// lookups returns the terms that the words need, whatever the index contains.
func lookups(words []*Word) []string {
	var terms []string
	for _, w := range words {
		if w.Term != "" {
			terms = append(append(terms, w.Term), w.Spellings...)
		}
		if w.Term != "" && w.Loose {
			terms = append(terms, Forms(w.Term)...)
		}
		terms = append(append(terms, w.Parts...), w.Wholes...)
		terms = append(terms, slices.Concat(w.PartSpellings...)...)
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

func newResolvedWord(w *Word, i, segments int) *ResolvedWord {
	p := &ResolvedWord{
		Word: w, Index: i, Bit: 1 << i,
		compound: compound{All: make([]docset.Set, segments), Whole: make([]docset.Set, segments), Within: make([]docset.Set, segments)},
	}
	if w.Verify && w.Find == nil {
		p.JSON = match.NewJSONPrefilter(&w.Needle)
		p.pairs = segment.Pairs(w.Needle.Text)
	}
	return p
}

// findWhole finds the documents of a segment that may contain the word whole.
func (p *ResolvedWord) findWhole(number int, seg *segment.Segment, d *dictionary) {
	switch {
	case p.Find != nil:
		docs := p.Find.Docs(seg)
		if docs == nil {
			docs = docset.Live(seg)
		}
		p.All[number] = docs
		p.allCount.Add(int64(docs.Count()))
	case len(p.Parts) > 0:
		mark := d.marker(number, seg)
		docs := docset.Conjunction(seg.Len(), len(p.Parts), p.TermsOf, mark)
		p.allCount.Add(int64(docs.Count()))
		if len(p.Wholes) > 0 {
			docs.And(docset.Conjunction(seg.Len(), len(p.Wholes), docset.OneSpelling(p.Wholes), mark))
		}
		p.wholeCount.Add(int64(docs.Count()))
		p.Whole[number] = docs
		seg.KeepAdjacent(docs, p.pairs)
	}
}

// maxLonger is how many longer identifiers are looked for in a segment.
const maxLonger = 10_000

// findWithin finds the documents of a segment with a longer identifier that has the word in
// it: getUserName for UserName. It visits the dictionary, so it is for words that are no
// term themselves.
func (p *ResolvedWord) findWithin(number int, seg *segment.Segment) {
	if p.Whole[number].Count() == 0 {
		return
	}
	if docs, ok := seg.Infix(segment.FieldText, []byte(p.Term), false, maxLonger); ok {
		p.Within[number] = docset.New(seg.Len())
		p.Within[number].AddBitmap(docs)
	}
}

// complete does the look-ups that depend on the whole index.
func (x *resolver) complete(p *ResolvedWord) {
	p.Terms = x.expand(p)
	if len(p.Terms) > 0 && p.Scored {
		p.Weight = p.Terms[0].IDF
	}
	if p.Find != nil {
		p.AllIDF = x.idf(int(p.allCount.Load()))
		p.WholeIDF = p.AllIDF
		if p.Scored {
			p.Weight = p.AllIDF
		}
		return
	}
	if len(p.Parts) == 0 {
		return
	}
	if p.Split {
		docset.EachSegment(x.segments, func(number int, seg *segment.Segment) { p.findWhole(number, seg, x.dictionary) })
	}
	if p.SpellingOnly && len(p.Terms) == 0 {
		docset.EachSegment(x.segments, p.findWithin)
	}
	p.AllIDF, p.WholeIDF = x.idf(int(p.allCount.Load())), x.idf(int(p.wholeCount.Load()))
	if p.Scored && p.Weight == 0 {
		p.Weight = p.AllIDF
	}
	for i := range p.Parts {
		df := 0
		for _, t := range p.SpellingsOf(i) {
			df += x.df(t)
		}
		idf := x.idf(min(df, int(x.documents)))
		p.PartIDF = append(p.PartIDF, idf)
		p.PartSum += idf
	}
}

// Similar returns the term most similar to a word that no document contains, the most
// frequent of several; "" when there is none. It does not modify the plan.
func (p *ResolvedQuery) Similar(w *ResolvedWord) string {
	length := utf8.RuneCountInString(w.Term)
	if length <= 2 {
		return ""
	}
	edits := 1
	if length >= minFuzzyTwo {
		edits = 2
	}
	d := &dictionary{p.dictionary.segments, p.dictionary.documents, map[string]*term{}, p.dictionary.shared}
	e := expander{resolver: &resolver{dictionary: d, plan: p}, seen: map[string]bool{}}
	if e.fuzzy(w.Term, similarity{edits: edits, limit: 1, least: 1, weight: weightFuzzy}); len(e.list) == 0 {
		return ""
	}
	return e.list[0].Term
}
