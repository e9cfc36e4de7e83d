package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"pigrep/internal/lists"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/syntax"
	"pigrep/query/engine/words"
	"pigrep/scope"
)

// maxMeant is the longest query, in words, for which didYouMean looks for other words.
const maxMeant = 16

// didYouMean returns the query with similar words in place of those that no document
// contains as typed; "" when there are none.
func didYouMean(req *Request, p *words.ResolvedQuery, found *rank.Result) string {
	if len(p.Words) > maxMeant {
		return ""
	}
	type change struct {
		syntax.Pos
		word string
	}
	var changes []change
	for _, w := range p.Words {
		if w.Match != syntax.Literal || !w.Scored || w.Emphasis < 1 || w.Find != nil || len(w.Parts) > 0 || w.Term == "" || found.TotalAny > 0 && found.IsID(w) {
			continue
		}
		meant := ""
		switch {
		case len(w.Terms) == 0:
			if meant = p.Similar(w); meant == "" { // no hit would have every word of a suggestion
				return ""
			}
		case w.Terms[0].Tier == words.TierFuzzy:
			meant = w.Terms[0].Term
		}
		if meant == "" {
			continue
		}
		for _, place := range w.Positions {
			changes = append(changes, change{place, meant})
		}
	}
	if len(changes) == 0 {
		return ""
	}
	text := strings.ToValidUTF8(req.Text, "\uFFFD")
	lists.Sort(changes, func(a, b change) int { return b.Start - a.Start })
	for _, c := range changes {
		typed := text[c.Start:c.End]
		text = text[:c.Start] + strings.Replace(typed, syntax.TrimProse(typed), c.word, 1) + text[c.End:]
	}
	return req.text(strings.Join(strings.Fields(text), " "))
}

// Removed says how many hits there would be without a filter, when there are none, or
// none with all words.
type Removed struct {
	Filter string `json:"filter" wire:"say"` // the name of a flag without its dashes, a field or negation as typed, or "all" filters
	Hits   int    `json:"hits"`              // there are without it
}

// FilterAllWords names Request.AllWords among the filters of a Removed.
const FilterAllWords = "all-words"

// Without says how to drop a filter of a Removed, as flags and queries are written.
func Without(filter string) string {
	switch {
	case filter == "scope":
		return "in scope all"
	case filter == "all":
		return "without any filter"
	case strings.ContainsAny(filter, ":! "): // a field or a negation in the query
		return "without " + filter
	}
	return "without --" + filter
}

// WithAll returns the number of hits with all words, and WithAny if there are none, of
// the partial ones that a search shows.
func WithAll(n rank.Counts) int { return n.Total }
func WithAny(n rank.Counts) int { return cmp.Or(n.Total, n.TotalAny-n.Weak) }

// removed returns the filters without which there would be hits of the kind that hits
// counts.
func removed(ctx context.Context, in rank.Input, req Request, hits func(rank.Counts) int) (list []Removed, err error) {
	text := strings.ToValidUTF8(req.Text, "\uFFFD")
	if strings.Count(text, "re:") > 1 {
		return nil, nil // each count would scan the dictionary for them
	}
	q, err := req.compile(text)
	if err != nil {
		return nil, nil // nothing to search for
	}
	removable := syntax.Removable(text)
	variants, all := variantsOf(req, text, removable)
	needed, restrictions := q.Root.Split()
	hidden := len(restrictions) > len(removable) // inside of operators
	if hidden {
		all.Text = requiring(needed, nil)
	}
	add := func(filter string, req Request, hits func(rank.Counts) int) error {
		counts, err := count(ctx, in, req)
		if n := hits(counts); n > 0 {
			list = append(list, Removed{filter, n})
		}
		return err
	}
	for _, v := range variants {
		if err := add(v.filter, v.req, hits); err != nil {
			return nil, err
		}
	}
	if len(list) > 0 || len(variants) < 2 && !hidden && req.Only == nil {
		return list, nil
	}
	if hidden { // of hits that lack words there may be many that the operators exclude
		hits = WithAll
	}
	return list, add(withoutAny, all, hits)
}

// withoutAny is the Removed.Filter of all filters together.
const withoutAny = "all"

// FilterOrder returns the place of a Removed.Filter among those of a query.
func FilterOrder(query, name string) int {
	if name == withoutAny {
		return math.MaxInt
	}
	for i, first := range []string{filter.Kind, filter.Scope} {
		if name == first {
			return i
		}
	}
	if i := slices.IndexFunc(filter.Table, func(r filter.Row) bool { return r.Name == name }); i >= 0 {
		return 2 + i
	}
	if name == FilterAllWords {
		return 2 + len(filter.Table)
	}
	return 3 + len(filter.Table) + max(0, strings.Index(query, name))
}

// A variant is a request without one of its filters.
type variant struct {
	filter string
	req    Request
}

// variantsOf returns the request without each of its filters, and without all of them.
// Those in its text are given in removable.
func variantsOf(req Request, text string, removable []syntax.Node) (variants []variant, all Request) {
	all = req
	without := func(filter string, active bool, clear func(*Request)) {
		if active {
			v := variant{filter, req}
			clear(&v.req)
			clear(&all)
			variants = append(variants, v)
		}
	}
	everything := func(r *Request) { r.Scope, r.Kinds = scope.All, nil }
	without(filter.Kind, len(req.Kinds) > 0, everything)
	without(filter.Scope, len(req.Kinds) == 0 && req.Scope != scope.All, everything) // the default one, too
	for i := range filter.Table {
		if row := &filter.Table[i]; row.Name != filter.Kind && row.Name != filter.Scope {
			without(row.Name, row.Active(&req.Spec), func(r *Request) { row.Clear(&r.Spec) })
		}
	}
	without(FilterAllWords, req.AllWords, func(r *Request) { r.AllWords = false })
	bare := []byte(text)
	for _, item := range removable {
		start, end := item.Range()
		without(text[start:end], true, func(r *Request) { r.Text = text[:start] + " " + text[end:] })
		for i := start; i < end; i++ {
			bare[i] = ' '
		}
	}
	all.Text, all.Only = string(bare), nil
	return variants, all
}

// count counts the hits of another request on the same index.
func count(ctx context.Context, in rank.Input, req Request) (rank.Counts, error) {
	misses := in.Misses
	in, err := req.Resolve(ctx, in.Reader, in.Adapter, in.Files)
	in.Misses = misses
	if _, ok := errors.AsType[*words.TextError](err); ok {
		return rank.Counts{}, nil // nothing is left to search for
	}
	if err != nil {
		return rank.Counts{}, err
	}
	found, err := rank.Count(ctx, in, req.Options())
	if err != nil {
		return rank.Counts{}, err
	}
	return found.Counts, nil
}
