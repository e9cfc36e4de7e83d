package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pigrep/index/analysis"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/internal/terminal"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/syntax"
	"pigrep/query/engine/words"
)

// maxCounted is the longest query, in words, whose words are counted one by one.
const maxCounted = 8

// WordCount says how often one word of a query occurs when no hit has all of them.
type WordCount struct {
	Word     string    `json:"word"`              // or a phrase, or a choice between words, as typed
	Hits     int       `json:"hits"`              // of a search for it alone, with the same filters
	Sessions int       `json:"sessions"`          // with these hits
	Parts    int       `json:"parts,omitempty"`   // entries with all parts of the word, if none has the word
	Removed  []Removed `json:"removed,omitempty"` // if there are none: how many there are without a filter
	Nearest  []Near    `json:"nearest,omitempty"` // words with hits that look like it, if no text contains it; Hits are then theirs
}

// Nowhere reports whether no text contains the word, whatever the filters.
func (w WordCount) Nowhere() bool { return w.Hits == 0 && len(w.Removed) == 0 }

// explain says in a response why no hit has all words, or which words its hits have only in
// similar spellings, because they occur nowhere.
func explain(ctx context.Context, in rank.Input, req Request, found *rank.Result, resp *Response) (err error) {
	list, restrictions := in.Plan.Query.Root.Split()
	if resp.Total > 0 {
		if in.Reader.IsExcerpt() { // an archive may have more than came from it
			return nil
		}
		similar := slices.DeleteFunc(slices.Clone(list), func(x *words.Expr) bool { return !in.Plan.OnlySimilar(x) })
		for _, x := range similar[:min(len(similar), maxCounted)] {
			w, err := countWord(ctx, in, req, x, restrictions)
			if err != nil {
				return err
			}
			if w != nil && len(w.Nearest) > 0 {
				resp.Words = append(resp.Words, *w)
			}
		}
		return nil
	}
	if resp.TotalAny == 0 {
		unknown, err := Unknown(in.Reader, &req.Spec, in.Plan.Query.Fields)
		if err != nil {
			return err
		}
		if resp.Tally != nil {
			resp.Tally.Unknown = unknown
		} else {
			resp.Warnings = append(resp.Warnings, unknown...)
		}
	}
	if len(list) == 1 && in.Plan.PartsAlone(list[0]) {
		resp.Words, err = countParts(ctx, in, req, found, list[0], restrictions)
	} else {
		resp.Words, err = countWords(ctx, in, req, list, restrictions)
	}
	if err != nil {
		return err
	}
	switch {
	case resp.TotalAny == 0:
		resp.Removed, err = removed(ctx, in, req, WithAny)
	case resp.Words != nil && !slices.ContainsFunc(resp.Words, WordCount.Nowhere):
		required := req
		required.Text = requiring(list, restrictions)
		resp.Removed, err = removed(ctx, in, required, WithAll)
	}
	excerpt := in.Reader.IsExcerpt()
	if err != nil || resp.Words != nil || resp.TotalAny > 0 || len(resp.Removed) > 0 || len(list) != 1 || found.Inexact || in.Reader.Documents() == 0 && !excerpt {
		return err
	}
	w := WordCount{Word: typed(list[0])}
	if n, known := in.Plan.Elsewhere(list[0]); excerpt && (n > 0 || !known) {
		if n > 0 {
			resp.Removed = []Removed{{withoutAny, n}}
		}
		return nil
	}
	w.Nearest, err = nearest(ctx, in, req, list[0], restrictions)
	resp.Words = []WordCount{w}
	return err
}

// countWords counts the hits of each word of a query that has several.
func countWords(ctx context.Context, in rank.Input, req Request, list []*words.Expr, restrictions []syntax.Node) ([]WordCount, error) {
	scans := slices.ContainsFunc(in.Plan.Words, func(w *words.ResolvedWord) bool { return w.Find != nil && w.Find.Cost > 0 })
	list = slices.DeleteFunc(slices.Clone(list), in.Plan.IsSlight)
	if len(list) < 2 || len(list) > maxCounted || scans { // each count would scan the dictionary
		return nil, nil
	}
	var counts []WordCount
	for _, x := range list {
		w, err := countWord(ctx, in, req, x, restrictions)
		if w == nil || err != nil {
			return nil, err
		}
		counts = append(counts, *w)
	}
	return counts, nil
}

// countWord counts the hits of one word of a query; nil if not all could be verified.
func countWord(ctx context.Context, in rank.Input, req Request, x *words.Expr, restrictions []syntax.Node) (*WordCount, error) {
	w := &WordCount{Word: typed(x)}
	req.Text = requiring([]*words.Expr{x}, restrictions)
	if !in.Plan.Nowhere(x) {
		n, err := count(ctx, in, req)
		if n.Inexact && n.Total == 0 || err != nil {
			return nil, err
		}
		if w.Hits, w.Sessions = n.Total, n.TotalSessions; w.Hits > 0 && !in.Plan.OnlySimilar(x) {
			return w, nil
		}
		if w.Hits == 0 {
			w.Removed, err = removed(ctx, in, req, WithAll)
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	if in.Plan.PartsAlone(x) {
		w.Parts, err = partsOf(ctx, in, req, x, restrictions)
	}
	if w.Nowhere() && w.Parts == 0 && in.Reader.IsExcerpt() {
		switch n, known := in.Plan.Elsewhere(x); {
		case !known:
			return nil, err
		case n > 0:
			w.Removed = []Removed{{withoutAny, n}}
		}
	}
	if w.Parts+len(w.Removed) == 0 && err == nil {
		w.Nearest, err = nearest(ctx, in, req, x, restrictions)
	}
	return w, err
}

// A Near is a word that looks like one of the query.
type Near struct {
	Word string `json:"word"`
	Hits int    `json:"hits"` // with the same filters
}

const (
	mostNear = 3 // words that are named
	maxTried = 8 // words whose hits are counted
)

// nearest returns the words most like one that no text contains, of those that a search with the
// same filters finds.
func nearest(ctx context.Context, in rank.Input, req Request, x *words.Expr, restrictions []syntax.Node) ([]Near, error) {
	known := in.Plan.Near(x)
	word := analysis.Fold(typed(x))
	list := make([]Near, 0, len(known))
	for t, documents := range known {
		list = append(list, Near{t, documents})
	}
	sortNear(list, word)
	var found []Near
	for tried, t := range list {
		if len(found) > 0 && (tried >= maxTried || !asNear(t, found[0], word)) {
			break
		}
		exactly := &syntax.Must{Item: &syntax.Term{Text: t.Word, Match: syntax.Phrase}}
		req.Text = (&syntax.Group{Items: append([]syntax.Node{exactly}, restrictions...)}).String()
		n, err := count(ctx, in, req)
		if err != nil {
			return nil, err
		}
		if n.Total > 0 {
			found = append(found, Near{req.text(t.Word), n.Total})
		}
	}
	return Nearest(found, word), nil
}

// Nearest returns the words most like another one, with the sum of the hits that each of several
// indexes has.
func Nearest(list []Near, word string) (sum []Near) {
	word = analysis.Fold(word)
	for _, n := range list {
		if i := slices.IndexFunc(sum, func(s Near) bool { return s.Word == n.Word }); i >= 0 {
			sum[i].Hits += n.Hits
		} else {
			sum = append(sum, n)
		}
	}
	sortNear(sum, word)
	for i := range sum {
		if i == mostNear || !asNear(sum[i], sum[0], word) {
			return sum[:i]
		}
	}
	return sum
}

func sortNear(list []Near, word string) {
	lists.Sort(list, func(a, b Near) int {
		return cmp.Or(cmp.Compare(near.Unlike(a.Word, word), near.Unlike(b.Word, word)), cmp.Compare(b.Hits, a.Hits), cmp.Compare(a.Word, b.Word))
	})
}

// asNear reports whether two words have as few typing errors, or both are other words.
func asNear(a, b Near, word string) bool {
	return min(near.Unlike(a.Word, word), near.Typo+1) == min(near.Unlike(b.Word, word), near.Typo+1)
}

// partsOf counts the entries with all parts of a word that no entry has.
func partsOf(ctx context.Context, in rank.Input, req Request, x *words.Expr, restrictions []syntax.Node) (int, error) {
	req.AllWords = false
	req.Text = (&syntax.Group{Items: append([]syntax.Node{x.Node}, restrictions...)}).String()
	n, err := count(ctx, in, req)
	return n.Parts, err
}

// countParts is countWords for a query of one compound if all hits have only its parts.
func countParts(ctx context.Context, in rank.Input, req Request, found *rank.Result, x *words.Expr, restrictions []syntax.Node) ([]WordCount, error) {
	if found.Inexact {
		return nil, nil
	}
	w := WordCount{Word: typed(x), Parts: found.Parts}
	var err error
	if found.TotalAny == 0 { // the word is required: entries with parts are no hits
		w.Parts, err = partsOf(ctx, in, req, x, restrictions)
	}
	if w.Parts == 0 && found.TotalAny == 0 || err != nil {
		return nil, err
	}
	if w.Parts == 0 {
		if w.Nearest, err = nearest(ctx, in, req, x, restrictions); err != nil {
			return nil, err
		}
	}
	if !in.Plan.Nowhere(x) {
		req.Text = requiring([]*words.Expr{x}, restrictions)
		w.Removed, err = removed(ctx, in, req, WithAll)
	}
	return []WordCount{w}, err
}

// typed returns a word, a phrase or a choice as typed.
func typed(x *words.Expr) string {
	if t, ok := x.Node.(*syntax.Term); ok && t.Match == syntax.Literal {
		return syntax.TrimProse(x.Text())
	}
	return x.Text()
}

// requiring returns the query for the hits that have all of the words. Other documents
// are neither scored nor verified then.
func requiring(list []*words.Expr, restrictions []syntax.Node) string {
	items := lists.Map(list, func(x *words.Expr) syntax.Node { return &syntax.Must{Item: x.Node} })
	return (&syntax.Group{Items: append(items, restrictions...)}).String()
}

// maxShown is the width of a word, or of a filter, in a sentence.
const maxShown = 24

// ExplainWords says in a sentence why no hit has all words of a query; "" without
// words, and when filters are the reason for each of them: removed says which. without
// says how to drop a filter: "in scope all". Words that are like one which occurs nowhere are
// named unless a suggested query has them: meant.
func ExplainWords(list []WordCount, removed []Removed, meant string, without func(filter string) string) string {
	var nowhere, near, apart, outside, found []string
	for _, w := range list {
		word := terminal.Clean(w.Word)
		if strings.Contains(word, " ") && word[0] != '"' {
			word = "(" + word + ")" // a choice
		}
		word = terminal.Clip(word, maxShown)
		switch {
		case w.Nowhere() && w.Parts > 0:
			apart = append(apart, fmt.Sprintf("%s does not occur as written; %s all its parts", word, human.Plural(w.Parts, "entry has", "entries have")))
		case w.Nowhere() || len(w.Nearest) > 0 && len(w.Removed) == 0:
			nowhere = append(nowhere, word)
			if len(w.Nearest) > 0 && meant == "" {
				like := lists.Map(w.Nearest, func(n Near) string { return terminal.Clip(terminal.Clean(n.Word), maxShown) })
				near = append(near, "to "+word+": "+strings.Join(like, ", "))
			}
		case w.Hits == 0:
			if len(outside) == 0 {
				word += " has hits"
			}
			r := w.Removed[0]
			outside = append(outside, fmt.Sprintf("%s only %s (%s)", word, without(terminal.Clip(terminal.Clean(r.Filter), maxShown)), human.Number(r.Hits)))
		case len(found) == 0:
			found = append(found, fmt.Sprintf("%s has %s in %s", word, human.Plural(w.Hits, "hit", "hits"), human.Plural(w.Sessions, "session", "sessions")))
		default:
			found = append(found, fmt.Sprintf("%s %s in %s", word, human.Number(w.Hits), human.Number(w.Sessions)))
		}
	}
	if len(outside) == len(list) {
		return ""
	}
	parts := apart
	like := ""
	if len(near) > 0 {
		like = " (nearest " + strings.Join(near, "; ") + ")"
	}
	switch n := len(nowhere); n {
	case 0:
	case 1:
		parts = append(parts, nowhere[0]+" occurs nowhere"+strings.Replace(like, " to "+nowhere[0], "", 1))
	default:
		parts = append(parts, strings.Join(nowhere[:n-1], ", ")+" and "+nowhere[n-1]+" occur nowhere"+like)
	}
	for _, group := range [][]string{outside, found} {
		if len(group) > 0 {
			parts = append(parts, strings.Join(group, ", "))
		}
	}
	if len(nowhere)+len(apart) == len(list) {
		return strings.Join(parts, "; ")
	}
	who, all := "no entry", "both"
	filtered := slices.ContainsFunc(removed, func(r Removed) bool { return r.Filter != FilterAllWords })
	if filtered && len(nowhere)+len(apart) == 0 { // some entry has, outside of the filters
		who = "none"
	}
	if len(list) > 2 {
		all = "all of them"
	}
	return strings.Join(append(parts, who+" has "+all), "; ")
}

// Counts are the numbers of hits of a request. Every answer, list, facet and chart counts in
// the same way:
//
//	hits         have every word; words that say little may be missing
//	looser ones  lack a word, or have it only in a similar spelling or as the name of an argument, as
//	             others do not; they are counted apart, and folded behind the last hit
//	weak ones    have none of the words that matter; they are neither counted nor listed beside others
type Counts = rank.Counts

// Counts returns the numbers of hits in the response.
func (r *Response) Counts() Counts {
	return Counts{
		Total: r.Total, TotalAny: r.TotalAny, Similar: r.Similar, Named: r.Named, Weak: r.Weak, Listed: r.TotalAny - r.Weak - r.Folded,
		TotalSessions: r.TotalIn, ListedSessions: r.SessionTotal, Inexact: !r.TotalIsExact,
	}
}

func (r *Response) Looser() int { return r.TotalAny - r.Weak - r.Total }

// Found says how many hits there are, "15 hits in 4 sessions", or if there are only looser
// ones, how many of those: "452 looser hits in 9 sessions".
func Found(n Counts) string {
	atLeast := ""
	if n.Inexact {
		atLeast = "at least "
	}
	if n.Total == 0 && n.Looser() > 0 {
		return atLeast + human.Plural(n.Looser(), "looser hit", "looser hits") + in(n.ListedSessions)
	}
	return atLeast + human.Plural(n.Total, "hit", "hits") + in(n.TotalSessions)
}

func in(sessions int) string {
	if sessions == 0 {
		return ""
	}
	return " in " + human.Plural(sessions, "session", "sessions")
}

// Apart says how many looser hits there are besides those of Found, and why they are looser if all
// are for one reason: "452 looser ones", "696 with similar spelling"; "" if there are none.
func Apart(n Counts) string {
	switch looser := n.Looser(); {
	case n.Total == 0 || looser == 0:
		return ""
	case n.Similar == looser:
		return human.Number(looser) + " with " + BySpelling
	case n.Named == looser:
		return human.Number(looser) + " " + ByName
	}
	return human.Plural(n.Looser(), "looser one", "looser ones")
}
