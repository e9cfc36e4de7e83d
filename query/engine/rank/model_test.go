package rank

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
)

// A model is the first stage of a search over all texts in memory: no postings, no
// segments, no budgets, one document and one word at a time. It takes the terms that
// words stand for from the plan, which package words compares with a model of its own.
type model struct {
	*stories.Corpus
	recency map[uint32]float64 // by file
}

func newModel(l *stories.Library) *model {
	m := &model{Corpus: l.Corpus(), recency: map[uint32]float64{}}
	newest := int64(0)
	for _, s := range l.Reader.Summaries() {
		newest = max(newest, s.Newest.UnixMilli())
	}
	for _, s := range l.Reader.Summaries() {
		m.recency[s.File] = 1 + recency*math.Exp2(-float64(newest-s.Newest.UnixMilli())/float64(recencyHalf.Milliseconds()))
	}
	return m
}

// tf is the term frequency part of the formula that score.go documents.
func (m *model) tf(freq float64, length int) float64 {
	average := m.Tokens / float64(len(m.Docs))
	return freq * (k1 + 1) / (freq + k1*(1-b+b*float64(length)/average))
}

// answer is the model's result for one document and one word.
type answer struct {
	match, partial bool // both: it has all parts, but not the word
	tier           uint8
	value          float64
}

func (m *model) worth(w *words.ResolvedWord) float64 {
	switch {
	case len(w.Terms) > 0:
		return w.Emphasis * m.IDF(mostFrequent(w.Terms, w.Terms[0].Tier))
	case len(w.Parts) > 0:
		all, _ := m.conjunctions(w)
		return m.IDF(all)
	}
	return 0
}

func mostFrequent(terms []words.Expansion, tier uint8) (most int) {
	for _, x := range terms {
		if x.Tier <= tier {
			most = max(most, x.DF)
		}
	}
	return most
}

func (m *model) conjunctions(w *words.ResolvedWord) (all, whole int) {
	for i := range m.Docs {
		if hasParts(&m.Docs[i], w) {
			all++
			if hasAll(&m.Docs[i], w.Wholes) {
				whole++
			}
		}
	}
	return all, whole
}

func hasAll(d *stories.Doc, terms []string) bool {
	return !slices.ContainsFunc(terms, func(t string) bool { return d.Freq[t] == 0 })
}

// hasParts reports whether a document has all parts of a word.
func hasParts(d *stories.Doc, w *words.ResolvedWord) bool {
	for i := range w.Parts {
		if partFreq(d, w, i) == 0 {
			return false
		}
	}
	return true
}

// partFreq returns how often a document has a part or, if never, an identifier with it.
func partFreq(d *stories.Doc, w *words.ResolvedWord, part int) int {
	n := d.Freq[w.Parts[part]]
	for _, whole := range w.WholesOf(part) {
		if n == 0 {
			n = d.Freq[whole]
		}
	}
	return n
}

func (m *model) word(d *stories.Doc, w *words.ResolvedWord, terms []words.Expansion) (a answer) {
	var analyzer analysis.Analyzer
	verified := false
	if w.Verify {
		_, _, verified = w.Needle.Find(analyzer.FoldText([]byte(d.Text)).Text, 0)
	}
	best := -1
	freq := 0.0
	for i, x := range terms {
		n := float64(d.Freq[x.Term])
		if n == 0 {
			continue
		}
		if best < 0 {
			best = i
		}
		freq += n * min(1, x.Weight/terms[best].Weight)
	}
	if best >= 0 {
		x := terms[best]
		a = answer{match: true, tier: x.Tier, value: w.Emphasis * x.Weight * m.IDF(mostFrequent(terms, x.Tier)) * m.tf(freq, d.Length)}
	}
	other := best >= 0 && terms[best].Tier == words.TierExact && w.SpellingOnly && !verified
	defer func() {
		if other {
			a.tier, a.value = words.TierParts, a.value*words.WeightJoined
		}
	}()
	if len(w.Parts) == 0 {
		if a.match && a.tier >= w.Loosely {
			a.match, a.partial, a.value = false, true, a.value*looselyShare
		}
		return a
	}
	sum, mean := 0.0, 0.0
	for i, p := range w.Parts {
		sum += m.IDF(m.DF[p])
		if n := partFreq(d, w, i); n > 0 {
			mean += m.IDF(m.DF[p]) * m.tf(float64(n), d.Length)
		}
	}
	if mean == 0 {
		return a
	}
	mean /= sum
	all, whole := m.conjunctions(w)
	value, tier := words.WeightSome*m.IDF(all)*mean, words.TierParts
	switch {
	case hasParts(d, w) && verified && !w.SpellingOnly:
		value, tier, a.match = m.IDF(whole)*mean, words.TierExact, true
		if a.tier = tier; best >= 0 {
			a.tier = min(a.tier, tier)
		}
	case w.Strict() && !(w.Split && hasParts(d, w)):
		return a
	case hasParts(d, w):
		value = words.WeightParts * m.IDF(all) * mean
		if !a.match || a.tier > words.TierParts {
			a.tier = words.TierParts
		}
		a.partial = !a.match && w.Verify && !(w.SpellingOnly && len(terms) == 0 && hasWithin(d, w.Term))
		a.match = true
	case !a.match:
		a.partial = true
	}
	a.value = max(a.value, value)
	return a
}

// hasWithin reports whether a document has a term with the word in it.
func hasWithin(d *stories.Doc, word string) bool {
	for term, n := range d.Freq {
		if n > 0 && strings.Contains(term, word) {
			return true
		}
	}
	return false
}

// modelHit is the expected result of a search for one document.
type modelHit struct {
	Entry   string
	Class   uint16 // but for classLoosely
	Score   float64
	Missing []string
}

// search answers a query; the hits are in no order. The emphasis of words it takes from
// the plan.
func (m *model) search(p *words.ResolvedQuery, allowed func(*stories.Doc) bool) (hits map[segment.ID]modelHit, total int) {
	hits = map[segment.ID]modelHit{}
	for i := range m.Docs {
		d := &m.Docs[i]
		if !allowed(d) {
			continue
		}
		var mask, partial uint64
		var ways uint16
		score, worth, covered, scored := 0.0, 0.0, 0.0, false
		for k, w := range p.Words {
			a := m.word(d, w, w.Terms)
			if a.match {
				mask |= 1 << k
			}
			if a.partial {
				partial |= 1 << k
			}
			switch {
			case w.Place < 0:
			case a.match && a.partial:
				ways |= words.WayParts << w.Place
			case a.match || a.partial && len(w.Parts) == 0:
				ways |= w.WayOf(a.tier) << w.Place
			default:
				ways |= words.WayMissing << w.Place
			}
			if w.Scored {
				scored = true
				score += a.value
				worth += m.worth(w)
				if a.match {
					covered += m.worth(w)
				} else if a.partial {
					covered += m.worth(w) * words.WeightSome
				}
			}
		}
		for i, f := range p.Query.Fields { // all of them are kinds
			if f.Value == string(d.Kind) {
				mask |= words.FieldBit(i)
			}
		}
		if !p.Query.Root.Hit(mask&^partial, partial) {
			continue
		}
		h := modelHit{}
		for _, e := range p.Query.Root.Missing(mask&^partial, nil) {
			h.Missing = append(h.Missing, e.Text())
		}
		factor := 1.0
		if loosely := partial &^ mask &^ compounds(p); scored && (mask|loosely)&p.ImportantMask == 0 && len(h.Missing) > 0 {
			h.Class = classMinor
		}
		whole := len(p.Query.Root.Missing(mask|p.SlightMask, nil)) == 0
		all := whole || p.HasKey && mask&p.InformativeMask == p.InformativeMask
		if worth > 0 && !all && !p.IsSentence {
			factor = 1 - coverageShare + coverageShare*covered/worth
		}
		if p.HasKey && !all {
			h.Class |= classLacking
		}
		h.Class |= ways
		h.Score = score * factor * m.recency[d.ID.File]
		if len(p.Query.Root.Missing(mask&^partial|p.SlightMask, nil)) == 0 {
			total++
		}
		hits[d.ID] = h
	}
	return hits, total
}

// firstStage begins a search of a library; nil when there is nothing to search for.
func firstStage(t interface {
	Fatal(...any)
	Context() context.Context
}, l *stories.Library, text string, spec filter.Spec, allWords bool, opt Options) *search {
	q, err := words.Compile(text, filter.Env{})
	if err != nil {
		return nil
	}
	p, err := words.Resolve(t.Context(), l.Reader, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newSearch(t.Context(), Input{Reader: l.Reader, Adapter: pi.New(), Files: stories.Disk{}, Plan: p, Filter: spec.Compile(), AllWords: allWords}, opt)
}

// Every query over every library gives what the model gives: the same hits, the
// same missing words, the same totals, and scores that differ by rounding only.
func TestFirstStageAgainstModel(t *testing.T) {
	type shelf struct {
		*stories.Library
		*model
	}
	var shelves []shelf
	for seed := range 8 {
		list := rapid.Custom(stories.DrawStories).Example(seed)
		l := stories.New(t)
		for some := range slices.Chunk(list, 1+seed%3) {
			l.Add(some...)
		}
		if seed%2 == 1 { // a session goes
			gone := l.Reader.Summaries()[0]
			b := index.NewBatch()
			b.DeleteFile(gone.File)
			l.Commit(b)
			for id := range l.Texts {
				if id.File == gone.File {
					delete(l.Texts, id)
				}
			}
		}
		shelves = append(shelves, shelf{l, newModel(l)})
	}
	rapid.Check(t, func(rt *rapid.T) {
		shelf := rapid.SampledFrom(shelves).Draw(rt, "library")
		l, text := shelf.Library, stories.DrawQuery(rt, 1)
		spec := filter.Spec{}
		allowed := func(*stories.Doc) bool { return true }
		if rapid.Bool().Draw(rt, "prompts only") {
			spec.Kinds = []session.Kind{session.KindPrompt}
			allowed = func(d *stories.Doc) bool { return d.Kind == session.KindPrompt }
		}
		allWords := rapid.Bool().Draw(rt, "all words")
		s := firstStage(rt, l, text, spec, allWords, Options{Flat: true, Limit: All, PerSession: 1})
		if s == nil {
			return
		}
		want, total := shelf.model.search(s.plan, allowed)
		if allWords {
			maps.DeleteFunc(want, func(_ segment.ID, h modelHit) bool { return len(h.Missing) > 0 })
			total = len(want)
		}
		if err := s.find(); err != nil {
			rt.Fatal(err)
		}
		r, err := s.selected()
		if err != nil {
			rt.Fatal(err)
		}
		if r.TotalAny != len(want) || r.Total != total || r.Inexact || len(r.Hits) != len(want) {
			rt.Fatalf("%q: totals %d and %d, %d hits; want %d, %d and %d", text, r.Total, r.TotalAny, len(r.Hits), total, len(want), len(want))
		}
		for _, c := range r.Hits {
			s.resolve(c)
			id := segment.ID{File: s.files[c.file].number, Offset: c.offset, Part: int(c.part)}
			w, ok := want[id]
			if !ok {
				rt.Fatalf("%q: hit %q, which the model has not", text, l.Texts[id])
			}
			h, ok, err := r.Hit(c)
			if err != nil || !ok {
				rt.Fatalf("%q: %v", text, err)
			}
			var missing []string
			for _, e := range h.Missing {
				missing = append(missing, e.Text())
			}
			if diff := gocmp.Diff(w.Missing, missing); diff != "" {
				rt.Fatalf("%q: missing in %q (-want +got):\n%s", text, l.Texts[id], diff)
			}
			if c.class&^classLoosely != w.Class {
				rt.Fatalf("%q: class of %q is %#x, want %#x", text, l.Texts[id], c.class, w.Class)
			}
			if math.Abs(w.Score-h.Score) > 1e-3*max(1, w.Score) {
				rt.Fatalf("%q: score of %q is %v, want %v", text, l.Texts[id], h.Score, w.Score)
			}
		}
	})
}

// compounds returns the words that have parts.
func compounds(p *words.ResolvedQuery) (bits uint64) {
	for _, w := range p.Words {
		if len(w.Parts) > 0 {
			bits |= w.Bit
		}
	}
	return bits
}
