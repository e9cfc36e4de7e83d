package opensearch

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
)

// A search takes two round trips: the engine ranks the best parts and sends their lines, and then the
// summaries and records of their sessions. How frequent the words are is in the engine's explanations
// of the scores of a few parts.

const (
	leastBest   = 60   // parts that are compared, or
	bestFactor  = 6    // so many for each session that is shown, up to
	mostBest    = 600  // this many
	bestMore    = 6    // sessions that compete with those that are shown
	mostTotal   = 1000 // hits that the engine counts
	explained   = 4    // parts whose scores the engine explains, which takes it as long as many others
	wholeBoost  = 12   // of parts with every word, so that they come before parts with some
	kindsFactor = 8    // of what the weight of a kind adds to a score, about the score of a word
)

// scoring returns a query of the parts that pass more clauses. Nothing in it keeps the engine from passing over
// blocks of documents that cannot be among the best.
func (c *compiled) scoring(more ...object) object {
	query := c.query(more...)
	weights := make(map[float32][]session.Kind)
	for kind, weight := range rank.KindWeights {
		weights[weight] = append(weights[weight], kind)
	}
	var kinds []object
	for weight, of := range weights {
		if weight > kindLeast {
			slices.Sort(of)
			kinds = append(kinds, object{"constant_score": object{"filter": object{"terms": object{"kind": of}}, "boost": kindsFactor * (weight - kindLeast)}})
		}
	}
	query["bool"].(object)["should"] = kinds
	return query
}

// kindLeast is the least of rank.KindWeights.
const kindLeast = 0.75

// explanation says how a score is made up.
type explanation struct {
	Value       float64
	Description string
	Details     []explanation
}

// add adds what an explanation says of the words of a query to statistics.
func (e *explanation) add(s *words.Statistics) {
	_, of, ok := strings.Cut(e.Description, "weight(terms:")
	if t, _, found := strings.Cut(of, " in "); ok && found {
		s.Terms[t] = max(s.Terms[t], 1)
		for i := range e.Details {
			e.Details[i].count(s, t)
		}
		return
	}
	for i := range e.Details {
		e.Details[i].add(s)
	}
}

// count takes the numbers of a term.
func (e *explanation) count(s *words.Statistics, term string) {
	n := int(min(max(e.Value, 0), 1<<40))
	switch name, _, _ := strings.Cut(e.Description, ","); name {
	case "n":
		s.Terms[term] = max(s.Terms[term], n)
	case "N":
		s.Documents = max(s.Documents, n)
	case "avgdl":
		s.Tokens = max(s.Tokens, n) // for each document, until all is known
	}
	for i := range e.Details {
		e.Details[i].count(s, term)
	}
}

// isRanked reports whether the engine finds the best parts for a question.
func (c *compiled) isRanked(q *Question) bool {
	return q.Wanted > 0 && (c.scored != nil || q.Text == "" && c.parts != nil) && !q.Facts && !q.Brief && len(q.Names) == 0
}

// best reads the sessions with the best parts.
func (p *Part) best(ctx context.Context) (*sent, error) {
	a, size := p.archive, min(max(leastBest, bestFactor*p.q.Wanted), mostBest)
	s := &sent{words: &words.Statistics{Terms: make(map[string]int)}}
	var found *hits[document]
	first, both := errgroup.WithContext(ctx)
	first.Go(func() (err error) {
		found, err = p.rank(both, size)
		return err
	})
	if len(p.asked.terms) > 0 {
		first.Go(func() error { return p.explain(both, s.words) })
	}
	err := first.Wait()
	if isStatus(err, http.StatusNotFound) {
		err = cmp.Or(a.check(ctx), err)
	}
	if err == nil && len(found.Hits.Hits) == 0 {
		if err = a.check(ctx); err == nil {
			p.asked = compile(p.q, true)
			found, err = p.rank(ctx, size)
		}
	}
	if err != nil {
		return nil, err
	}
	byKey := make(map[string]*fileHits)
	var files []*fileHits
	lower := 0
	for i := range found.Hits.Hits {
		h := &found.Hits.Hits[i]
		key := h.Source.FileKey
		if h.err != nil || key == "" {
			p.damage(cmp.Or(key, h.ID))
		}
		if byKey[key] == nil {
			if len(files) == p.q.Wanted+bestMore || key == "" {
				lower++
				continue
			}
			byKey[key] = &fileHits{key: key}
			files = append(files, byKey[key])
		}
		byKey[key].hits = append(byKey[key].hits, h)
	}
	s.words.Tokens *= s.words.Documents
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		s.list, err = p.details(both, files)
		return err
	})
	absent := slices.DeleteFunc(slices.Clone(p.asked.terms), func(t string) bool { return s.words.Terms[t] > 0 })
	if p.q.Text != "" && (len(absent) > 0 || s.words.Documents == 0) { // no hit explains how frequent they are
		group.Go(func() error {
			of, err := a.Count(both, absent)
			if err == nil {
				maps.Copy(of.Terms, s.words.Terms)
				s.words = of
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, x := range s.list {
		if t := timeOf(x.Newest); t.After(s.words.Newest) {
			s.words.Newest = t
		}
	}
	s.files = len(s.list) + lower
	s.more = lower > 0 || found.Hits.Total.Value > len(found.Hits.Hits) || len(found.Hits.Hits) == size
	return s, nil
}

// explain takes from the scores of a few parts with the words that were typed how frequent these are.
func (p *Part) explain(ctx context.Context, s *words.Statistics) error {
	body := object{
		"size": explained, "query": object{"bool": object{"should": lists.Map(p.asked.terms, has)}}, "track_total_hits": false, "explain": true, "_source": false,
	}
	found, err := find[struct{}](ctx, p.archive, p.archive.everything(), "&search_type=dfs_query_then_fetch", body)
	if err == nil {
		for i := range found.Hits.Hits {
			found.Hits.Hits[i].Explanation.add(s)
		}
	}
	return err
}

// rank returns the best parts.
func (p *Part) rank(ctx context.Context, size int) (*hits[document], error) {
	body := object{
		"size": size, "query": p.asked.scoring(p.asked.sessions), "track_total_hits": mostTotal, "_source": withoutRecords,
	}
	if p.q.Newest || p.asked.scored == nil {
		body["sort"] = []object{{"time": object{"order": "desc", "unmapped_type": "date"}}}
	}
	return find[document](ctx, p.archive, p.archive.everything(), "&search_type=dfs_query_then_fetch", body)
}
