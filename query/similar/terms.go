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
	"pigrep/internal/lists"
	"pigrep/internal/session"
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
func (x *Request) count(ctx context.Context) (map[string]float64, error) {
	c, list := x.Of, x.Of.Tree.Path()
	if x.Entry >= 0 {
		list = []int{x.Entry}
	}
	counts := make(map[string]float64)
	var analyzer analysis.Analyzer
	for _, i := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n := &c.Record.Nodes[i]; x.Entry < 0 && n.Role == session.RoleToolResult {
			continue
		}
		e, err := c.Read(i)
		if errors.Is(err, entry.ErrChanged) && x.Entry < 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		for k := range e.Parts {
			p := &e.Parts[k]
			if x.Entry < 0 && !slices.Contains(kinds, p.Kind) {
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

// weightiest returns the terms that say most about the session, the weightiest first, and the
// state of the index. It adds the relatives that the session has there.
func weightiest(ctx context.Context, from Index, of *Relatives, counts map[string]float64) ([]term, search.IndexState, error) {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	all = all[:min(len(all), mostLookedUp)]
	known, err := from.Weigh(ctx, Weighing{Relatives: *of, Terms: all})
	if err != nil {
		return nil, search.IndexState{}, err
	}
	*of = known.Relatives
	least := ofRarest * math.Log(float64(known.Statistics.Documents))
	var terms []term
	for t, idf := range search.Rarities(all, &known.Statistics) {
		if idf < least {
			continue
		}
		terms = append(terms, term{t, (1 + math.Log2(counts[t])) * idf * idf})
	}
	byWeight := func(a, b term) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.text, b.text)) }
	slices.SortFunc(terms, byWeight)
	terms = terms[:min(len(terms), mostCounted)]

	if known, err = from.Weigh(ctx, Weighing{Relatives: *of, Counted: names(terms)}); err != nil {
		return nil, search.IndexState{}, err
	}
	*of = known.Relatives
	total := float64(known.Sessions)
	for i := range terms {
		t := &terms[i]
		t.weight = 0
		if i < len(known.Others) && known.Others[i] > 0 {
			t.weight = (1 + math.Log2(counts[t.text])) * math.Log((total+1)/float64(known.Others[i]+1))
		}
	}
	terms = slices.DeleteFunc(terms, func(t term) bool { return t.weight <= 0 })
	slices.SortFunc(terms, byWeight)
	return terms[:min(len(terms), mostTerms)], known.Index, nil
}
