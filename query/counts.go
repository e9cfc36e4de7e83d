package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/rank"
	"pigrep/query/syntax"
	"pigrep/query/words"
)

// maxCounted is the longest query, in words, whose words are counted one by one.
const maxCounted = 8

// WordCount says how often one word of a query occurs when no hit has all of them.
type WordCount struct {
	Word     string    `json:"word"`              // or a phrase, or a choice between words, as typed
	Hits     int       `json:"hits"`              // of a search for it alone, with the same filters
	Sessions int       `json:"sessions"`          // with these hits
	Removed  []Removed `json:"removed,omitempty"` // if there are none: how many there are without a filter
}

// nowhere reports whether no text contains the word, whatever the filters.
func (w WordCount) nowhere() bool { return w.Hits == 0 && len(w.Removed) == 0 }

// explain says in a response why no hit has all words.
func explain(ctx context.Context, in rank.Input, req Request, resp *Response) (err error) {
	if resp.Total > 0 {
		return nil
	}
	if resp.Words, err = countWords(ctx, in, req); err != nil {
		return err
	}
	switch {
	case resp.TotalAny == 0:
		resp.Removed, err = removed(ctx, in, req, withAny)
	case resp.Words != nil && !slices.ContainsFunc(resp.Words, WordCount.nowhere):
		req.Text = requiring(in.Plan.Query.Root.Split())
		resp.Removed, err = removed(ctx, in, req, withAll)
	}
	return err
}

// countWords counts the hits of each word of a query that has several.
func countWords(ctx context.Context, in rank.Input, req Request) ([]WordCount, error) {
	list, restrictions := in.Plan.Query.Root.Split()
	scans := slices.ContainsFunc(in.Plan.Words, func(w *words.Planned) bool { return w.Find != nil && w.Find.Cost() > 0 })
	if len(list) < 2 || len(list) > maxCounted || scans { // each count would scan the dictionary
		return nil, nil
	}
	// An answer whose hits lack function words only needs no explanation.
	if telling := slices.DeleteFunc(slices.Clone(list), in.Plan.IsSlight); len(telling) < len(list) {
		if list = telling; len(list) < 2 {
			return nil, nil
		}
		all := req
		all.Text = requiring(list, restrictions)
		if n, err := count(ctx, in, all); n.Total > 0 || err != nil {
			return nil, err
		}
	}
	var counts []WordCount
	for _, x := range list {
		alone := req
		alone.Text = requiring([]*words.Expr{x}, restrictions)
		n, err := count(ctx, in, alone)
		if err != nil {
			return nil, err
		}
		w := WordCount{Word: x.Text(), Hits: n.Total, Sessions: n.Sessions}
		if t, ok := x.Node.(*syntax.Term); ok && t.Match == syntax.Literal {
			w.Word = syntax.TrimProse(w.Word)
		}
		if n.Total == 0 {
			if w.Removed, err = removed(ctx, in, alone, withAll); err != nil {
				return nil, err
			}
		}
		counts = append(counts, w)
	}
	return counts, nil
}

// requiring returns the query for the hits that have all of the words. Other documents
// are neither scored nor verified then.
func requiring(list []*words.Expr, restrictions []syntax.Node) string {
	var items []syntax.Node
	for _, x := range list {
		items = append(items, &syntax.Must{Item: x.Node})
	}
	return (&syntax.List{Items: append(items, restrictions...)}).String()
}

// maxShown is the width of a word, or of a filter, in a sentence.
const maxShown = 24

// ExplainWords says in a sentence why no hit has all words of a query; "" without
// words, and when filters are the reason for each of them: removed says which. without
// says how to drop a filter: "in scope all".
func ExplainWords(list []WordCount, removed []Removed, without func(filter string) string) string {
	var nowhere, outside, found []string
	for _, w := range list {
		word := terminal.Clean(w.Word)
		if strings.Contains(word, " ") && word[0] != '"' {
			word = "(" + word + ")" // a choice
		}
		word = terminal.Clip(word, maxShown)
		switch {
		case w.nowhere():
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
	var parts []string
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
	if len(nowhere) == len(list) {
		return parts[0]
	}
	who, all := "no entry", "both"
	filtered := slices.ContainsFunc(removed, func(r Removed) bool { return r.Filter != FilterAllWords })
	if filtered && len(nowhere) == 0 { // some entry has, outside of the filters
		who = "none"
	}
	if len(list) > 2 {
		all = "all of them"
	}
	return strings.Join(append(parts, who+" has "+all), "; ")
}
