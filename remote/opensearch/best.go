package opensearch

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
	"pigrep/remote"
)

// A search takes two round trips: the engine ranks the best parts and sends their lines, and then the
// summaries and records of their sessions. How frequent the words are is in the engine's explanations
// of its scores.

const (
	leastBest   = 60   // parts that are compared, or
	bestFactor  = 6    // so many for each session that is shown, up to
	mostBest    = 600  // this many
	bestMore    = 6    // sessions that compete with those that are shown
	mostTotal   = 1000 // hits that the engine counts
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
func (c *compiled) isRanked(q *remote.Question) bool {
	return q.Wanted > 0 && q.Text != "" && c.scored != nil && !q.Facts && !q.Brief && !q.Named && len(q.Names) == 0
}

// best sends the sessions with the best parts.
func (s *selection) best(ctx context.Context, visit func(*remote.Session) error) (c remote.Coverage, err error) {
	a, size := s.archive, min(max(leastBest, bestFactor*s.q.Wanted), mostBest)
	found, err := s.rank(ctx, size)
	if isStatus(err, http.StatusNotFound) {
		err = cmp.Or(a.check(ctx), err)
	}
	if err == nil && len(found.Hits.Hits) == 0 {
		if err = a.check(ctx); err == nil {
			s.asked = compile(s.q, true)
			found, err = s.rank(ctx, size)
		}
	}
	if err != nil {
		return c, err
	}
	stat := &words.Statistics{Terms: make(map[string]int)}
	parts := make(map[string][]*hit[document]) // by file key
	var keys []string
	most := s.q.Wanted + bestMore
	for i := range found.Hits.Hits {
		h := &found.Hits.Hits[i]
		h.Explanation.add(stat)
		key := h.Source.FileKey
		if h.err != nil || key == "" {
			s.damage(cmp.Or(key, h.ID))
		}
		if of := parts[key]; of == nil && len(keys) < most && key != "" {
			keys = append(keys, key)
		} else if of == nil {
			c.Lower++
			continue
		}
		parts[key] = append(parts[key], h)
	}
	stat.Tokens *= stat.Documents
	var list []*chosen
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		list, err = s.details(both, keys, parts)
		return err
	})
	absent := slices.DeleteFunc(slices.Clone(s.asked.terms), func(t string) bool { return stat.Terms[t] > 0 })
	if len(absent) > 0 || stat.Documents == 0 { // no hit explains how frequent they are
		group.Go(func() error {
			of, err := a.Count(both, absent)
			if err == nil {
				maps.Copy(of.Terms, stat.Terms)
				stat = of
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return c, err
	}
	for _, x := range list {
		if t := timeOf(x.Newest); t.After(stat.Newest) {
			stat.Newest = t
		}
		if err := visit(s.session(x)); err != nil {
			return c, err
		}
		c.Sent++
	}
	c.Inexact = found.Hits.Total.Value > len(found.Hits.Hits) || len(found.Hits.Hits) == size
	c.Sessions, c.Damaged, c.Statistics = s.found.files+c.Lower, len(s.damaged), stat
	return c, nil
}

// rank returns the best parts.
func (s *selection) rank(ctx context.Context, size int) (*hits[document], error) {
	body := object{
		"size": size, "query": s.asked.scoring(s.asked.sessions), "track_total_hits": mostTotal, "explain": true,
		"_source": object{"excludes": []string{"record", "facts", "terms"}},
	}
	if s.q.Newest {
		body["sort"] = []object{{"time": object{"order": "desc", "unmapped_type": "date"}}}
	}
	return find[document](ctx, s.archive, s.archive.everything(), "&search_type=dfs_query_then_fetch", body)
}

// details returns the sessions of the best parts, with their records and the lines of the parts.
func (s *selection) details(ctx context.Context, keys []string, parts map[string][]*hit[document]) ([]*chosen, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	a := s.archive
	var docs []object
	ids := make([]string, 0, len(keys))
	for _, key := range keys {
		month := ""
		for _, h := range parts[key] {
			d := &h.Source
			if d.Month != "" { // the state of a session
				month = cmp.Or(month, a.monthly(d.Month))
				continue
			}
			if ids, month = append(ids, d.Session), h.Index; h.err == nil && d.At == nil && d.Part > 0 { // the first part has the line
				docs = append(docs, object{"_index": h.Index, "_id": idOf(key, d.Offset, 0), "routing": key})
			}
		}
		owner := ownerOf(strings.TrimPrefix(month, a.monthly("")))
		docs = append(docs, object{"_index": a.sessionsIndex(owner), "_id": key}, object{"_index": month, "_id": outlineID(key), "routing": key})
	}
	var answer hits[json.RawMessage]
	var others []*state
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error { return a.call(both, http.MethodPost, "_mget", object{"docs": docs}, &answer) })
	group.Go(func() (err error) { // other files of the same sessions
		slices.Sort(ids)
		found, err := find[state](both, a, a.allSessions(), "", object{"size": pageSize, "track_total_hits": false, "query": object{"bool": object{
			"filter": []object{term("sort", sortSession), {"terms": object{"session": slices.Compact(ids)}}}, "must_not": object{"terms": object{"file_key": keys}},
		}}})
		if err != nil {
			return err
		}
		for i := range found.Hits.Hits {
			if h := &found.Hits.Hits[i]; h.err == nil && a.isSound(h) {
				others = append(others, &h.Source)
			} else {
				s.damage(h.ID)
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	progress(ctx)
	states, records, lines := make(map[string]*state), make(map[string]*document), make(map[string]*document)
	for i := range answer.Docs {
		h := &answer.Docs[i]
		if strings.HasPrefix(h.Index, a.sessionsIndex("")) {
			st := &state{}
			switch err := json.Unmarshal(h.Source, st); {
			case len(h.Source) == 0:
			case err != nil || !a.isSound(&hit[state]{Index: h.Index, ID: h.ID, Source: *st}):
				s.damage(h.ID)
			default:
				states[h.ID] = st
			}
			continue
		}
		d := &document{}
		if len(h.Source) == 0 || json.Unmarshal(h.Source, d) != nil {
			continue
		}
		if d.Record != nil {
			records[d.FileKey] = d
		} else {
			lines[h.ID] = d
		}
	}
	var list []*chosen
	var bare []*state // without an outline
	for _, key := range keys {
		if st := states[key]; st != nil {
			x := &chosen{state: st}
			if x.recall(records[key]); x.record == nil {
				bare = append(bare, st)
			}
			for _, h := range parts[key] {
				d := &h.Source
				if of := lines[idOf(key, d.Offset, 0)]; d.At == nil && of != nil && of.Line == d.Line {
					d = of
				}
				if h.err == nil && d.Line > 0 && d.Gen == st.Gen {
					x.take(d)
				}
			}
			list = append(list, x)
		}
	}
	if len(bare) > 0 { // an older pigrep has sent only whole records
		more, err := a.records(ctx, bare)
		if err != nil {
			return nil, err
		}
		for _, x := range list {
			if x.record == nil {
				x.recall(more[x.FileKey])
			}
		}
	}
	if there := lists.Map(list, func(x *chosen) [2]string { return [2]string{x.Host, x.Session} }); len(others) > 0 {
		others = slices.DeleteFunc(others, func(st *state) bool { return !slices.Contains(there, [2]string{st.Host, st.Session}) })
		more, err := a.records(ctx, others)
		if err != nil {
			return nil, err
		}
		for _, st := range others {
			x := &chosen{state: st}
			x.recall(more[st.FileKey])
			list = append(list, x)
		}
	}
	s.found.files = len(list)
	for i, x := range list {
		if x.record == nil {
			x.wanted, x.lines = nil, nil
			var err error
			if x.text, err = s.whole(ctx, x.state); err != nil {
				return nil, err
			}
		}
		if s.room -= x.size(); s.room < 0 && i > 0 {
			list = list[:i]
			break
		}
	}
	return list, s.read(ctx, list) // lines that did not come
}

// recall takes the record of the session; nil, or one that cannot be used, is none.
func (c *chosen) recall(d *document) {
	if d == nil {
		return
	}
	rec, facts, err := unpack(d, c.state)
	if c.facts = facts; err == nil && rec.Lines == c.Lines {
		c.record = rec
	}
}

// take takes the line of a part, or wants it if the document does not have it.
func (c *chosen) take(d *document) {
	has := func(l adapter.Line) bool { return l.Number == d.Line }
	switch {
	case slices.ContainsFunc(c.lines, has):
	case d.At != nil:
		c.lines = append(c.lines, d.line())
		c.wanted = slices.DeleteFunc(c.wanted, func(n int) bool { return n == d.Line })
	case !slices.Contains(c.wanted, d.Line):
		c.wanted = append(c.wanted, d.Line)
	}
	slices.Sort(c.wanted)
	lists.SortStable(c.lines, func(a, b adapter.Line) int { return cmp.Compare(a.Number, b.Number) })
}
