// Package search answers searches: a request goes in, grouped hits come out.
//
// A search takes five steps, each in a package that knows only those before it:
//
//	syntax.Parse    the text becomes a tree
//	words.Compile   the tree becomes words, and an expression over their bits
//	words.Resolve   the words become a plan: terms of the dictionary, with weights
//	rank.Run        the plan and a filter become candidates, the best sessions first
//	respond         candidates are read from their session files and become hits
//
// Request and Response are the central types, Run is the function between them.
// The package also suggests other words for those that nothing has, and names the
// filters that made an answer empty. It imports everything below it; what builds on
// searches, such as lists of sessions and audits, imports it.
//
// The same index, session files and request always give the same bytes: a score
// depends on live documents only, never on file numbers, segments or the clock.
package search

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
)

// Run answers a request from one generation of the index. It reads session files only
// to verify phrases and compounds, for the second stage of ranking, and for the hits
// that it shows.
func Run(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Response, error) {
	in, err := req.Resolve(ctx, r, a, src)
	if err != nil {
		return nil, err
	}
	in.Misses = rank.NewMisses()
	found, err := rank.Run(ctx, in, req.Options())
	if err != nil {
		return nil, err
	}
	resp, err := respond(ctx, &req, in, found)
	if err != nil {
		return nil, err
	}
	err = afterwards(ctx, in, req, found, resp)
	if req.UntilDeadline && errors.Is(err, context.DeadlineExceeded) {
		resp.Late, err = true, nil
	}
	return resp, cmp.Or(err, r.Fault())
}

// afterwards adds to a response what it takes further searches to say.
func afterwards(ctx context.Context, in rank.Input, req Request, found *rank.Result, resp *Response) error {
	shown, limit := len(resp.Sessions), req.Options().Limit
	switch {
	case req.Later:
		shown = len(found.Hits)
	case req.Flat:
		shown = len(resp.Hits)
	}
	if req.NoSearches && shown < limit && HasSearches(in.Reader) {
		only := req
		only.NoSearches, only.OnlySearches = false, true
		n, err := count(ctx, in, only)
		if err != nil {
			return err
		}
		resp.Searches = WithAny(n)
	}
	return explain(ctx, in, req, found, resp)
}

// HasSearches reports whether the index has parts that are session.Part.Search.
func HasSearches(r *index.Reader) bool {
	return slices.ContainsFunc(r.Segments(), func(s *segment.Segment) bool {
		return s.PostingsOffset(segment.FieldSearch, []byte(segment.Yes)) != 0
	})
}

// Count counts the hits that a list shows for a request.
func Count(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Tally, error) {
	in, err := req.Resolve(ctx, r, a, src)
	if _, ok := errors.AsType[*words.TextError](err); ok {
		return &Tally{}, nil // nothing to search for
	}
	if err != nil {
		return nil, err
	}
	found, err := rank.Count(ctx, in, req.Options())
	if err != nil {
		return nil, err
	}
	return newTally(r, found, req.Together), nil
}

func (r *Request) compile(text string) (*words.Query, error) {
	env := r.Env
	env.Filtered = r.Selects()
	return words.Compile(text, env)
}

// Statistics returns what the words of a request are in one index.
func Statistics(ctx context.Context, reader *index.Reader, r Request) (*words.Statistics, error) {
	q, err := r.compile(r.Text)
	if err != nil {
		return nil, err
	}
	return words.Count(ctx, reader, q)
}

// Excerpt is an entry.Source of an index that has only what may matter for one request of a larger
// one, of which these are the statistics; nil if they are not known.
type Excerpt interface{ Whole() *words.Statistics }

// Resolve compiles the text and the filters of a request, and looks the words up.
func (r *Request) Resolve(ctx context.Context, reader *index.Reader, a adapter.Adapter, src entry.Source) (in rank.Input, err error) {
	q, err := r.compile(r.Text)
	if err != nil {
		return in, err
	}
	var whole *words.Statistics
	if of, ok := src.(Excerpt); ok {
		whole = of.Whole()
	}
	plan, err := words.Resolve(ctx, reader, q, whole)
	if err != nil {
		return in, err
	}
	return rank.Input{Reader: reader, Adapter: a, Files: src, Plan: plan, Filter: r.Spec.Compile().WithSessions(r.Only), AllWords: r.AllWords, PhraseBytes: r.PhraseBytes}, nil
}
