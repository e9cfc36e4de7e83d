package similar

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
)

// A term is a word of the session with its weight.
type term struct {
	text   string
	weight float64
}

func names(terms []term) []string {
	return lists.Map(terms, func(t term) string { return t.text })
}

// How many terms are searched for, of how many it is counted which sessions have them,
// and how many of the most frequent ones are looked up at all.
const (
	mostTerms    = 25
	mostCounted  = 600
	mostLookedUp = 4000
)

// ofRarest is how rare a term must be, compared with one that a single document has:
// words of no meaning of their own are in many.
const ofRarest = 0.3

// mostText is how much of a part counts, in bytes: what is longer was mostly pasted.
const mostText = 8 << 10

// often is how much more a term counts in a kind of text that says what a session is
// about.
var often = map[session.Kind]float64{session.KindTitle: 4, session.KindPrompt: 2, session.KindSummary: 2}

// count returns how often the session, or the entry, has each term.
func (x *finder) count(ctx context.Context) (map[string]float64, error) {
	c, list := x.req.Of, x.req.Of.Tree.Path()
	if x.req.Entry >= 0 {
		list = []int{x.req.Entry}
	}
	counts := make(map[string]float64)
	var analyzer analysis.Analyzer
	for _, i := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n := &c.Record.Nodes[i]; x.req.Entry < 0 && n.Role == session.RoleToolResult {
			continue
		}
		e, err := c.Read(i)
		if errors.Is(err, entry.ErrChanged) && x.req.Entry < 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		for k := range e.Parts {
			p := &e.Parts[k]
			if x.req.Entry < 0 && !slices.Contains(kinds, p.Kind) {
				continue
			}
			times := cmp.Or(often[p.Kind], 1)
			analyzer.Walk(p.Text[:min(len(p.Text), mostText)], func(t analysis.Token) {
				if t.Form != analysis.Part && t.Form != analysis.Single && isWord(t.Term) {
					counts[string(t.Term)] += times
				}
			})
		}
	}
	return counts, nil
}

// isWord reports whether a term says something: it is not short, and has fewer digits
// than letters, as numbers, hashes and ids have.
func isWord(t []byte) bool {
	digits, letters := 0, 0
	for _, r := range string(t) {
		if unicode.IsDigit(r) {
			digits++
		} else {
			letters++
		}
	}
	return utf8.Valid(t) && digits < letters && (letters > 2 || len(t) > letters) && (digits < 3 || len(t) < 12)
}

// weightiest returns the terms that say most about the session, the weightiest first.
func (x *finder) weightiest(ctx context.Context, counts map[string]float64) ([]term, error) {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	all = all[:min(len(all), mostLookedUp)]
	rarity, err := search.Rarity(x.reader, all, nil)
	if err != nil {
		return nil, err
	}
	least := ofRarest * math.Log(float64(x.reader.Documents()))
	var terms []term
	for t, idf := range rarity {
		if idf < least {
			continue
		}
		terms = append(terms, term{t, (1 + math.Log2(counts[t])) * idf * idf})
	}
	byWeight := func(a, b term) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.text, b.text)) }
	slices.SortFunc(terms, byWeight)
	terms = terms[:min(len(terms), mostCounted)]

	others, err := x.others(ctx, terms)
	if err != nil {
		return nil, err
	}
	total := float64(len(x.reader.Summaries()))
	for i := range terms {
		t := &terms[i]
		t.weight = 0
		if n := float64(others[i]); n > 0 {
			t.weight = (1 + math.Log2(counts[t.text])) * math.Log((total+1)/(n+1))
		}
	}
	terms = slices.DeleteFunc(terms, func(t term) bool { return t.weight == 0 })
	slices.SortFunc(terms, byWeight)
	return terms[:min(len(terms), mostTerms)], nil
}

// others returns in how many other sessions each term is, in the kinds that are searched.
func (x *finder) others(ctx context.Context, terms []term) ([]int, error) {
	found := make([]map[uint32]bool, len(terms))
	own := make(map[uint32]bool)
	for i := range x.family {
		own[x.reader.Summaries()[i].File] = true
	}
	for _, seg := range x.reader.Segments() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		files, err := seg.Files()
		if err != nil {
			return nil, err
		}
		wanted, err := docset.ByKind(seg, kinds...)
		if err != nil {
			return nil, err
		}
		for i, t := range terms {
			docs, err := seg.Bitmap(segment.FieldText, []byte(t.text))
			if err != nil {
				return nil, err
			}
			for it := docs.Iterator(); it.HasNext(); {
				doc := it.Next()
				if file := files.File(doc); wanted.Has(doc) && !own[file] {
					if found[i] == nil {
						found[i] = make(map[uint32]bool)
					}
					found[i][file] = true
				}
			}
		}
		seg.Trim()
	}
	counts := make([]int, len(terms))
	for i := range found {
		counts[i] = len(found[i])
	}
	return counts, nil
}
