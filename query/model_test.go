package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/internal/session"
)

// A model is the same search over all texts in memory: no postings, no segments,
// no budgets, one document and one word at a time.
type model struct {
	docs   []modelDoc
	df     map[string]int
	tokens float64
}

type modelDoc struct {
	id      index.ID
	path    string
	kind    session.Kind
	text    string
	freq    map[string]int
	length  int
	recency float64
}

func newModel(l *library) *model {
	m := &model{df: map[string]int{}}
	newest := int64(0)
	for _, s := range l.reader.Summaries() {
		newest = max(newest, s.Newest.UnixMilli())
	}
	for _, s := range l.reader.Summaries() {
		for id, text := range l.texts {
			if id.File != s.File {
				continue
			}
			d := modelDoc{id: id, path: s.Path, kind: l.kinds[id], text: text, freq: map[string]int{}}
			var a analysis.Analyzer
			d.length = a.Walk([]byte(text), func(t analysis.Token) { d.freq[string(t.Term)]++ })
			m.tokens += float64(d.length)
			d.recency = 1 + recency*math.Exp2(-float64(newest-s.Newest.UnixMilli())/float64(recencyHalf.Milliseconds()))
			for term := range d.freq {
				m.df[term]++
			}
			m.docs = append(m.docs, d)
		}
	}
	return m
}

func (m *model) idf(df int) float64 {
	n := float64(len(m.docs))
	return math.Log(1 + (n-float64(df)+0.5)/(float64(df)+0.5))
}

func (m *model) tf(freq float64, length int) float64 {
	average := m.tokens / float64(len(m.docs))
	return lowest + freq*(k1+1)/(freq+k1*(1-b+b*float64(length)/average))
}

// expansions is what the terms of a word are, by looking at every term there is.
func (m *model) expansions(w *word) []expansion {
	if w.term == "" {
		return nil
	}
	var list []expansion
	add := func(term string, tier uint8, weight float64) {
		if m.df[term] > 0 && !slices.ContainsFunc(list, func(x expansion) bool { return x.term == term }) {
			list = append(list, expansion{term: term, tier: tier, weight: weight, df: m.df[term]})
		}
	}
	if w.joined {
		add(w.term, tierParts, weightJoined)
	} else {
		add(w.term, tierExact, 1)
	}
	all := make([]string, 0, len(m.df))
	for term := range m.df {
		all = append(all, term)
	}
	slices.Sort(all)
	total := func() (n int) {
		for _, x := range list {
			n += x.df
		}
		return n
	}
	prefixes := func(limit int, weight float64) {
		var found []string
		for _, term := range all {
			if strings.HasPrefix(term, w.term) && term != w.term {
				found = append(found, term)
			}
		}
		slices.SortStableFunc(found, func(x, y string) int { return cmp.Compare(m.df[y], m.df[x]) })
		found = found[:min(limit, len(found))]
		slices.Sort(found)
		for _, term := range found {
			add(term, tierPrefix, weight)
		}
	}
	switch {
	case w.match == Prefix:
		prefixes(maxTyped, weightTyped)
	case w.loose:
		for _, f := range forms(w.term) {
			add(f, tierForms, weightForms)
		}
		length := utf8.RuneCountInString(w.term)
		if length >= minPrefix && (total() < rarePrefix || w.last && total() < lastPrefix) {
			prefixes(maxExpansions, weightPrefix)
		}
		parts := len(w.parts) > 0
		for _, p := range w.parts {
			parts = parts && m.df[p] > 0
		}
		if length >= minFuzzy && total() <= rareFuzzy && !parts && !strings.ContainsFunc(w.term, unicode.IsDigit) {
			least := max(1, moreFrequent*total())
			var near []string
			for edits := 1; len(near) == 0 && (edits == 1 || edits == 2 && length >= minFuzzyTwo); edits++ {
				for _, term := range all {
					if editDistance(w.term, term, edits) <= edits && m.df[term] >= least {
						near = append(near, term)
					}
				}
			}
			slices.SortStableFunc(near, func(x, y string) int {
				return cmp.Or(cmp.Compare(editDistance(w.term, x, 2), editDistance(w.term, y, 2)), cmp.Compare(m.df[y], m.df[x]))
			})
			for _, term := range near[:min(maxExpansions, len(near))] {
				weight := weightFuzzy
				if editDistance(w.term, term, 2) > 1 {
					weight /= 2
				}
				add(term, tierFuzzy, weight)
			}
		}
	}
	return list
}

// answer is what the model says of one document and one word.
type answer struct {
	match, weak bool
	tier        uint8
	value       float64
}

func (m *model) worth(w *word, terms []expansion) float64 {
	switch {
	case !w.scored:
		return 0
	case len(terms) > 0:
		return m.idf(mostFrequent(terms, terms[0].tier))
	case len(w.parts) > 0:
		all, _ := m.conjunctions(w)
		return m.idf(all)
	}
	return 0
}

func mostFrequent(terms []expansion, tier uint8) (most int) {
	for _, x := range terms {
		if x.tier <= tier {
			most = max(most, x.df)
		}
	}
	return most
}

func (m *model) conjunctions(w *word) (all, whole int) {
	for i := range m.docs {
		if hasAll(&m.docs[i], w.parts) {
			all++
			if hasAll(&m.docs[i], w.wholes) {
				whole++
			}
		}
	}
	return all, whole
}

func hasAll(d *modelDoc, terms []string) bool {
	return !slices.ContainsFunc(terms, func(t string) bool { return d.freq[t] == 0 })
}

func (m *model) word(d *modelDoc, w *word, terms []expansion) (a answer) {
	var analyzer analysis.Analyzer
	verified := false
	if w.verify {
		_, _, verified = w.needle.find(analyzer.FoldText([]byte(d.text)).Text, 0)
	}
	best := -1
	freq := 0.0
	for i, x := range terms {
		n := float64(d.freq[x.term])
		if n == 0 {
			continue
		}
		if best < 0 {
			best = i
		}
		freq += n * min(1, x.weight/terms[best].weight)
	}
	if best >= 0 {
		x := terms[best]
		a = answer{match: true, tier: x.tier, value: x.weight * m.idf(mostFrequent(terms, x.tier)) * m.tf(freq, d.length)}
	}
	other := best >= 0 && terms[best].tier == tierExact && w.spell && !verified
	defer func() {
		if other {
			a.tier, a.value = tierParts, a.value*weightJoined
		}
	}()
	if len(w.parts) == 0 {
		return a
	}
	sum, mean := 0.0, 0.0
	for _, p := range w.parts {
		sum += m.idf(m.df[p])
		if n := d.freq[p]; n > 0 {
			mean += m.idf(m.df[p]) * m.tf(float64(n), d.length)
		}
	}
	if mean == 0 {
		return a
	}
	mean /= sum
	all, whole := m.conjunctions(w)
	value, tier := weightSome*m.idf(all)*mean, tierParts
	switch {
	case hasAll(d, w.parts) && verified && !w.spell:
		value, tier, a.match = m.idf(whole)*mean, tierExact, true
		if a.tier = tier; best >= 0 {
			a.tier = min(a.tier, tier)
		}
	case w.strict():
		return a
	case hasAll(d, w.parts):
		value = weightParts * m.idf(all) * mean
		if !a.match || a.tier > tierParts {
			a.tier = tierParts
		}
		a.match = true
	case !a.match:
		a.weak = true
	}
	a.value = max(a.value, value)
	return a
}

// modelHit is what a search must say of one document.
type modelHit struct {
	Entry   string
	Score   float64
	Missing []string
}

// search answers a query; the hits are in no order.
func (m *model) search(t interface{ Fatal(...any) }, req Request, allowed func(*modelDoc) bool) (hits map[index.ID]modelHit, total int) {
	q, err := compile(&req)
	if err != nil {
		t.Fatal(err)
	}
	hits = map[index.ID]modelHit{}
	j := newJudge(q)
	worth := 0.0
	terms := make([][]expansion, len(q.words))
	for i, w := range q.words {
		terms[i] = m.expansions(w)
		worth += m.worth(w, terms[i])
	}
	for i := range m.docs {
		d := &m.docs[i]
		if !allowed(d) {
			continue
		}
		var mask, weak uint64
		score, covered := 0.0, 0.0
		for k, w := range q.words {
			a := m.word(d, w, terms[k])
			if a.match {
				mask |= 1 << k
				covered += m.worth(w, terms[k])
			} else if a.weak {
				weak |= 1 << k
				covered += m.worth(w, terms[k]) * weightSome
			}
			if w.scored {
				score += a.value
			}
		}
		if !j.of(mask, weak).hit {
			continue
		}
		if worth > 0 {
			score *= 1 - coverage + coverage*covered/worth
		}
		h := modelHit{Score: score * d.recency}
		for _, e := range q.root.missing(mask, nil) {
			h.Missing = append(h.Missing, e.text())
		}
		if len(h.Missing) == 0 {
			total++
		}
		hits[d.id] = h
	}
	return hits, total
}

var modelWords = []string{
	"rename", "renaming", "renamed", "connect", "connection", "connections", "getUserName", "get_user_name", "user", "name", "get",
	"token", "tokens", "python", "pyhton", "src/auth/login.ts", "login.ts", "auth", "login", "中文支持", "文支", "持中", "C++", "c", "file.go:520",
	"exit", "code", "exit code", "-race", "race", "get-user-name", "Straße", "strasse", "a", "the", "x9", "用getUser",
}

func drawText(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(modelWords), 1, 12).Draw(t, label), rapid.SampledFrom([]string{" ", "\n", ", ", "  "}).Draw(t, "between"))
}

func drawQuery(t *rapid.T, depth int) string {
	word := rapid.SampledFrom(append([]string{"conn*", "tok*", "tokne", "conection", "UserName", "users", "login/auth", `"exit code"`, `"code exit"`, `"支持"`, `"user name"`, "中", "文支持"}, modelWords...))
	var items []string
	for range rapid.IntRange(1, 3).Draw(t, "words") {
		w := word.Draw(t, "word")
		switch rapid.IntRange(0, 9).Draw(t, "shape") {
		case 0:
			w = "+" + word.Draw(t, "word")
		case 1:
			w = "NOT " + w
		case 2:
			w = w + " OR " + word.Draw(t, "word")
		case 3:
			w = w + " AND " + word.Draw(t, "word")
		case 4:
			if depth > 0 {
				w = "(" + drawQuery(t, depth-1) + ")"
			}
		case 5:
			w = `"` + strings.NewReplacer(`"`, "").Replace(w+" "+word.Draw(t, "word")) + `"`
		}
		items = append(items, w)
	}
	return strings.Join(items, " ")
}

func drawStories(t *rapid.T) []story {
	var stories []story
	n := 0
	for i := range rapid.IntRange(1, 5).Draw(t, "sessions") {
		s := story{name: fmt.Sprintf("s%d", i), start: day.AddDate(0, 0, 10*i)}
		for range rapid.IntRange(1, 6).Draw(t, "entries") {
			text := drawText(t, "text")
			e := prompt(text)
			if rapid.Bool().Draw(t, "is a reply") {
				e = reply(text)
			}
			e.minute = n // so that no two entries are copies
			n++
			s.entries = append(s.entries, e)
		}
		stories = append(stories, s)
	}
	return stories
}

// Every query over every library gives what the model gives: the same hits, the
// same missing words, the same totals, and scores that differ by rounding only.
func TestSearchAgainstModel(t *testing.T) {
	type shelf struct {
		*library
		*model
	}
	var shelves []shelf
	for seed := range 8 {
		stories := rapid.Custom(drawStories).Example(seed)
		l := newLibrary(t)
		for some := range slices.Chunk(stories, 1+seed%3) {
			l.add(some...)
		}
		if seed%2 == 1 { // a session goes
			gone := l.reader.Summaries()[0]
			b := l.writer.NewBatch()
			b.DeleteFile(gone.File)
			l.commit(b)
			for id := range l.texts {
				if id.File == gone.File {
					delete(l.texts, id)
				}
			}
		}
		shelves = append(shelves, shelf{l, newModel(l)})
	}
	rapid.Check(t, func(rt *rapid.T) {
		shelf := rapid.SampledFrom(shelves).Draw(rt, "library")
		l, text := shelf.library, drawQuery(rt, 1)
		req := Request{Text: text, Flat: true, Limit: 1000}
		allowed := func(*modelDoc) bool { return true }
		if rapid.Bool().Draw(rt, "prompts only") {
			req.Kinds = []session.Kind{session.KindPrompt}
			allowed = func(d *modelDoc) bool { return d.kind == session.KindPrompt }
		}
		if _, err := compile(&req); err != nil {
			return
		}
		want, total := shelf.model.search(rt, req, allowed)
		resp, err := search(t.Context(), l.reader, pi.New(), disk{}, req, false)
		if err != nil {
			rt.Fatal(err)
		}
		if resp.TotalAny != len(want) || resp.Total != total || !resp.TotalIsExact || len(resp.Hits) != len(want) {
			rt.Fatalf("%q: totals %d and %d, %d hits; want %d, %d and %d", text, resp.Total, resp.TotalAny, len(resp.Hits), total, len(want), len(want))
		}
		files := map[string]uint32{}
		for _, s := range l.reader.Summaries() {
			files[s.Path] = s.File
		}
		for _, h := range resp.Hits {
			id := index.ID{File: files[h.SessionPath], Offset: h.Offset, Part: h.Part}
			w, ok := want[id]
			if !ok {
				rt.Fatalf("%q: hit %q, which the model has not", text, l.texts[id])
			}
			if diff := gocmp.Diff(w.Missing, h.Missing); diff != "" {
				rt.Fatalf("%q: missing in %q (-want +got):\n%s", text, l.texts[id], diff)
			}
			if math.Abs(w.Score-h.Score) > 1e-3*max(1, w.Score) {
				rt.Fatalf("%q: score of %q is %v, want %v", text, l.texts[id], h.Score, w.Score)
			}
			checkFragment(rt, l, text, id, &h)
		}
	})
}

// checkFragment checks what must hold of the fragment of any hit.
func checkFragment(t *rapid.T, l *library, text string, id index.ID, h *Hit) {
	f := h.Fragment
	last := 0
	for _, s := range f.Spans {
		if s[0] < last || s[0] >= s[1] || s[1] > len(f.Text) || !utf8.RuneStart(f.Text[s[0]]) || s[1] < len(f.Text) && !utf8.RuneStart(f.Text[s[1]]) {
			t.Fatalf("%q: spans %v of %q are not in order, or not on characters", text, f.Spans, f.Text)
		}
		last = s[1]
	}
	if !utf8.ValidString(f.Text) || strings.ContainsFunc(f.Text, unicode.IsControl) || strings.Contains(f.Text, "  ") {
		t.Fatalf("%q: fragment %q has control characters or runs of white space", text, f.Text)
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(f.Text, dots+" "), " "+dots)
	if len(inner) > fragmentBytes+2*wordBytes {
		t.Fatalf("%q: fragment of %d bytes", text, len(inner))
	}
	if whole := strings.Join(strings.Fields(l.texts[id]), " "); !strings.Contains(whole, inner) {
		t.Fatalf("%q: fragment %q is no piece of %q", text, inner, whole)
	}
	if len(f.Spans) == 0 {
		t.Fatalf("%q: nothing is marked in %q", text, f.Text)
	}
}

// The answer does not depend on how the documents came into the index.
func TestSearchDoesNotDependOnSegments(t *testing.T) {
	type pair struct{ once, other *library }
	var pairs []pair
	for seed := range 4 {
		stories := rapid.Custom(drawStories).Example(100 + seed)
		once := newLibrary(t, stories...)
		other := newLibrary(t)
		other.dir = once.dir // the same session files in another index
		// Another order, other batches, and a session that comes and goes.
		other.add(story{name: "zz", entries: []entry{prompt(strings.Join(modelWords, " "))}})
		for _, s := range slices.Backward(stories) {
			other.add(s)
		}
		gone := other.writer.NewBatch()
		for _, s := range other.writer.Summaries() {
			if strings.HasSuffix(s.Path, "zz.jsonl") {
				gone.DeleteFile(s.File)
			}
		}
		other.commit(gone)
		pairs = append(pairs, pair{once, other})
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom(pairs).Draw(rt, "libraries")
		req := Request{Text: drawQuery(rt, 1), Flat: rapid.Bool().Draw(rt, "flat")}
		if _, err := compile(&req); err != nil {
			return
		}
		if diff := gocmp.Diff(answerJSON(rt, p.once, req), answerJSON(rt, p.other, req)); diff != "" {
			rt.Fatalf("%q: answers of two indexes of the same files:\n%s", req.Text, diff)
		}
	})
}

func answerJSON(t *rapid.T, l *library, req Request) string {
	resp := l.search(req)
	resp.Index = IndexState{}
	data, err := json.MarshalIndent(resp, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
