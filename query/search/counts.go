package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/lists"
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
}

// Nowhere reports whether no text contains the word, whatever the filters.
func (w WordCount) Nowhere() bool { return w.Hits == 0 && len(w.Removed) == 0 }

// explain says in a response why no hit has all words.
func explain(ctx context.Context, in rank.Input, req Request, found *rank.Result, resp *Response) (err error) {
	if resp.Total > 0 {
		return nil
	}
	if resp.TotalAny == 0 {
		unknown, err := Unknown(in.Reader, &req.Spec, in.Plan.Query.Fields)
		if err != nil {
			return err
		}
		if resp.Part == nil {
			resp.Warnings = append(resp.Warnings, unknown...)
		} else {
			resp.Part.Unknown = unknown
		}
	}
	list, restrictions := in.Plan.Query.Root.Split()
	if len(list) == 1 && in.Plan.PartsAlone(list[0]) {
		resp.Words, err = countParts(ctx, in, req, found, list[0], restrictions)
	} else {
		resp.Words, err = countWords(ctx, in, req, list, restrictions)
	}
	if err != nil {
		return err
	}
	required := req
	required.Text = requiring(list, restrictions)
	switch {
	case resp.Part != nil: // the others may have hits
		none := func(Counts) bool { return false }
		if resp.Part.Variants, err = countVariants(ctx, in, req, none); err == nil {
			resp.Part.Required, err = countVariants(ctx, in, required, none)
		}
	case resp.TotalAny == 0:
		resp.Removed, err = removed(ctx, in, req, WithAny)
	case resp.Words != nil && !slices.ContainsFunc(resp.Words, WordCount.Nowhere):
		resp.Removed, err = removed(ctx, in, required, WithAll)
	}
	return err
}

// countWords counts the hits of each word of a query that has several.
func countWords(ctx context.Context, in rank.Input, req Request, list []*words.Expr, restrictions []syntax.Node) ([]WordCount, error) {
	scans := slices.ContainsFunc(in.Plan.Words, func(w *words.ResolvedWord) bool { return w.Find != nil && w.Find.Cost() > 0 })
	if len(list) < 2 || len(list) > maxCounted || scans { // each count would scan the dictionary
		return nil, nil
	}
	if list = slices.DeleteFunc(slices.Clone(list), in.Plan.IsSlight); len(list) < 2 {
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
		if w.Hits, w.Sessions = n.Total, n.TotalSessions; w.Hits > 0 {
			return w, nil
		}
		if w.Removed, err = removed(ctx, in, req, WithAll); err != nil {
			return nil, err
		}
	}
	var err error
	if in.Plan.PartsAlone(x) {
		w.Parts, err = partsOf(ctx, in, req, x, restrictions)
	}
	return w, err
}

// partsOf counts the entries with all parts of a word that no entry has.
func partsOf(ctx context.Context, in rank.Input, req Request, x *words.Expr, restrictions []syntax.Node) (int, error) {
	req.AllWords = false
	req.Text = (&syntax.List{Items: append([]syntax.Node{x.Node}, restrictions...)}).String()
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
	if w.Parts == 0 && found.TotalAny == 0 && req.Shared == nil || err != nil {
		return nil, err // with Shared, others may have some
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
	return (&syntax.List{Items: append(items, restrictions...)}).String()
}

// maxShown is the width of a word, or of a filter, in a sentence.
const maxShown = 24

// ExplainWords says in a sentence why no hit has all words of a query; "" without
// words, and when filters are the reason for each of them: removed says which. without
// says how to drop a filter: "in scope all".
func ExplainWords(list []WordCount, removed []Removed, without func(filter string) string) string {
	var nowhere, apart, outside, found []string
	for _, w := range list {
		word := terminal.Clean(w.Word)
		if strings.Contains(word, " ") && word[0] != '"' {
			word = "(" + word + ")" // a choice
		}
		word = terminal.Clip(word, maxShown)
		switch {
		case w.Nowhere() && w.Parts > 0:
			apart = append(apart, fmt.Sprintf("%s does not occur as written; %s all its parts", word, human.Plural(w.Parts, "entry has", "entries have")))
		case w.Nowhere():
			nowhere = append(nowhere, word)
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
	switch n := len(nowhere); n {
	case 0:
	case 1:
		parts = append(parts, nowhere[0]+" occurs nowhere")
	default:
		parts = append(parts, strings.Join(nowhere[:n-1], ", ")+" and "+nowhere[n-1]+" occur nowhere")
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
