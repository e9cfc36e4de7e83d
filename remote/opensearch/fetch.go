package opensearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pigrep/internal/lists"
	"pigrep/remote"
)

const (
	pageSize = 1000
	pageHits = 10_000  // documents of which only numbers are asked for
	pageText = 4 << 20 // about how much text of lines is asked for at once
	fetchers = 4       // requests for lines at once
	together = 32      // sessions whose hits are asked for at once

	// mostCompared is how many sessions may compete for the places in an answer: the engine's
	// order is not that of the answer.
	mostCompared   = 1000
	comparedFactor = 2
	comparedMore   = 10
	comparedParts  = 200 // that compete for them

	exactFiles = 1000 // up to which the engine counts files exactly: more takes memory in every shard
)

// hit is a document that a search found.
type hit[T any] struct {
	Source T               `json:"_source"`
	Fields fields          `json:"fields"`
	Sort   json.RawMessage `json:"sort"`
}

// fields are the values of docvalue_fields, of which each document has one.
type fields struct {
	FileKey []string `json:"file_key"`
	Line    []int    `json:"line"`
	Gen     []int64  `json:"gen"`
}

// place returns where a part is. line is 0 if it is in no line.
func (f *fields) place() (key string, line int, gen int64) {
	return last(f.FileKey), last(f.Line), last(f.Gen)
}

func last[T any](list []T) (v T) {
	if len(list) > 0 {
		v = list[len(list)-1]
	}
	return v
}

// hits is an answer to a search.
type hits[T any] struct {
	TimedOut bool `json:"timed_out"`
	Shards   struct {
		Failed   int
		Failures []struct{ Reason struct{ Type, Reason string } }
	} `json:"_shards"`
	Hits struct {
		Hits []hit[T] `json:"hits"`
	} `json:"hits"`
	Aggregations struct {
		Files struct {
			Value   int             `json:"value"`
			After   json.RawMessage `json:"after_key"`
			Buckets []struct {
				Key struct{ File string } `json:"key"`
			} `json:"buckets"`
		} `json:"files"`
	} `json:"aggregations"`
}

// find searches indices that may not exist yet. A shard that does not answer is an error: its
// documents would be missing without a word.
func find[T any](ctx context.Context, a *Archive, index, parameters string, body object) (*hits[T], error) {
	answer := &hits[T]{}
	err := a.call(ctx, http.MethodPost, index+"/_search?ignore_unavailable=true&allow_partial_search_results=false"+parameters, body, answer)
	if err == nil && (answer.Shards.Failed > 0 || answer.TimedOut) {
		e := &StatusError{Status: http.StatusServiceUnavailable, Reason: "not all shards answered"}
		if f := answer.Shards.Failures; len(f) > 0 {
			e.Type, e.Reason = f[0].Reason.Type, f[0].Reason.Reason
		}
		err = a.wrap(ctx, e)
	}
	return answer, err
}

// pages visits all that a search finds, page by page. Its body has a size and an order.
func pages[T any](ctx context.Context, a *Archive, index, parameters string, body object, visit func(*hit[T]) error) error {
	for {
		page, err := find[T](ctx, a, index, parameters, body)
		if err != nil {
			return err
		}
		list := page.Hits.Hits
		for i := range list {
			if err := visit(&list[i]); err != nil {
				return err
			}
		}
		if len(list) < body["size"].(int) {
			return nil
		}
		body["search_after"] = list[len(list)-1].Sort
	}
}

// states visits the states of session files that pass a query, the latest first.
func (a *Archive) states(ctx context.Context, query object, visit func(*state) error) error {
	body := object{
		"size": pageSize, "query": all(term("sort", sortSession), query), "track_total_hits": false,
		"sort": []object{{"newest": object{"order": "desc", "missing": 0, "unmapped_type": "date"}}, {"file_key": object{"order": "asc", "unmapped_type": "keyword"}}},
	}
	return pages(ctx, a, a.sessionsIndex(), "", body, func(h *hit[state]) error {
		if !h.Source.isSound() {
			return nil
		}
		return visit(&h.Source)
	})
}

// Sessions implements remote.Source.
func (a *Archive) Sessions(ctx context.Context, q *remote.Question, visit func(*remote.Session) error) (c remote.Coverage, err error) {
	var s *selection
	var failed error
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error { return a.check(both) })
	group.Go(func() error {
		s, failed = a.selected(both, q)
		return nil // what is wrong with the archive says more
	})
	if err := cmp.Or(group.Wait(), failed); err != nil {
		return c, err
	}
	c.Sessions = max(s.found.files, len(s.list))
	if q.Wanted > 0 && !q.Brief {
		c.Lower = c.Sessions - len(s.list)
	}
	switch {
	case q.Brief:
		for _, st := range s.list {
			if err := visit(&remote.Session{Host: st.Host, Path: st.Path, Summary: st.summary()}); err != nil {
				return c, err
			}
			c.Sent++
		}
	case q.Facts || s.asked.lines:
		c.Sent, err = s.send(ctx, visit)
		c.Inexact = s.found.more
	default:
		c.Sent, err = a.sendAll(ctx, s.list, q.Bytes, visit)
	}
	return c, err
}

// selected returns the session files that a question needs, those first that matter most.
func (a *Archive) selected(ctx context.Context, q *remote.Question) (s *selection, err error) {
	s = &selection{archive: a, q: q, asked: compile(q, false), found: &places{}, room: q.Bytes}
	if s.asked.parts == nil && s.asked.scored == nil {
		err = a.states(ctx, all(s.asked.sessions, overlapping(q)), func(st *state) error {
			s.list = append(s.list, st)
			return nil
		})
		if q.Wanted > 0 && len(s.list) > q.Wanted { // the latest ones are all that was asked for
			s.list = s.list[:q.Wanted]
		}
	} else {
		s.found, err = a.find(ctx, q, s.asked)
		if err == nil && len(s.found.keys) == 0 && q.Text != "" {
			s.asked = compile(q, true)
			s.found, err = a.find(ctx, q, s.asked)
		}
		if err == nil {
			s.list, err = a.statesOf(ctx, s.found.keys)
		}
	}
	if err == nil && (len(q.Names) > 0 || q.Text != "") {
		s.list, err = a.withFiles(ctx, s.list)
	}
	return s, err
}

// overlapping are the states of sessions that may have an entry within the times of a question.
func overlapping(q *remote.Question) object {
	span := func(field, side string, ms int64) object {
		if ms == 0 {
			return nil
		}
		without := object{"bool": object{"must_not": object{"exists": object{"field": field}}}}
		return either(object{"range": object{field: object{side: ms}}}, without)
	}
	return all(span("newest", "gte", millis(q.Spec.Since)), span("oldest", "lte", millis(q.Spec.Until)))
}

// places are where parts are that may be hits.
type places struct {
	keys  []string         // of their files, the best first
	lines map[string][]int // by file key; nil if only the files were looked for
	gens  map[string]int64 // of these
	files int              // how many there are
	more  bool             // there are more lines
}

// add adds hits of a search.
func (p *places) add(found *hits[struct{}]) {
	for i := range found.Hits.Hits {
		key, line, gen := found.Hits.Hits[i].Fields.place()
		if key == "" {
			continue
		}
		if _, ok := p.gens[key]; !ok || line > 0 && gen > p.gens[key] {
			if p.gens[key], p.lines[key] = gen, nil; !ok {
				p.keys = append(p.keys, key)
			}
		}
		if line > 0 && gen == p.gens[key] {
			p.lines[key] = append(p.lines[key], line)
		}
	}
}

// find returns the places of the best parts, at least one in each of the best files, or the keys
// of all files.
func (a *Archive) find(ctx context.Context, q *remote.Question, asked compiled) (*places, error) {
	if q.Wanted == 0 {
		keys, err := a.allFiles(ctx, asked.query(asked.sessions))
		return &places{keys: keys, files: len(keys)}, err
	}
	wanted := min(q.Wanted*comparedFactor+comparedMore, mostCompared)
	p := &places{lines: make(map[string][]int), gens: make(map[string]int64)}
	body := object{
		"size": comparedParts, "query": asked.ranked(asked.sessions), "stored_fields": "_none_", "docvalue_fields": []string{"file_key", "line", "gen"}, "track_total_hits": false,
		"aggs": object{"files": object{"cardinality": object{"field": "file_key", "precision_threshold": exactFiles}}},
	}
	if q.Newest {
		body["sort"] = []object{{"time": object{"order": "desc", "unmapped_type": "date"}}}
	}
	best, err := find[struct{}](ctx, a, a.everything(), "&search_type=dfs_query_then_fetch", body)
	if err != nil {
		return nil, err
	}
	p.add(best)
	p.files, p.more = max(best.Aggregations.Files.Value, len(p.keys)), len(best.Hits.Hits) == comparedParts
	if p.more && len(p.keys) < min(wanted, p.files) {
		delete(body, "aggs")
		body["size"], body["collapse"] = wanted, object{"field": "file_key"}
		if best, err = find[struct{}](ctx, a, a.everything(), "", body); err != nil {
			return nil, err
		}
		p.add(best)
	}
	p.keys = p.keys[:min(len(p.keys), wanted)]
	return p, nil
}

// allFiles returns the keys of all files with parts that pass a query.
func (a *Archive) allFiles(ctx context.Context, query object) (keys []string, err error) {
	composite := object{"size": pageSize, "sources": []object{{"file": object{"terms": object{"field": "file_key"}}}}}
	for {
		answer, err := find[struct{}](ctx, a, a.everything(), "", object{"size": 0, "query": query, "track_total_hits": false, "aggs": object{"files": object{"composite": composite}}})
		if err != nil {
			return nil, err
		}
		found := &answer.Aggregations.Files
		for _, b := range found.Buckets {
			keys = append(keys, b.Key.File)
		}
		if len(found.Buckets) < pageSize || found.After == nil {
			return keys, nil
		}
		composite["after"] = found.After
	}
}

// statesOf returns the states of files, in the order of their keys.
func (a *Archive) statesOf(ctx context.Context, keys []string) (list []*state, err error) {
	byKey := make(map[string]*state, len(keys))
	for some := range slices.Chunk(keys, pageSize) {
		err := a.states(ctx, object{"terms": object{"file_key": some}}, func(s *state) error {
			byKey[s.FileKey] = s
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, key := range keys {
		if s := byKey[key]; s != nil {
			list = append(list, s)
		}
	}
	return list, nil
}

// withFiles adds the other files of the same sessions, without which they are not whole.
func (a *Archive) withFiles(ctx context.Context, list []*state) ([]*state, error) {
	there, wanted := make(map[string]bool), make(map[[2]string]bool)
	for _, s := range list {
		there[s.FileKey], wanted[[2]string{s.Host, s.Session}] = true, s.Session != ""
	}
	for some := range slices.Chunk(slices.Clone(list), pageSize) {
		keys := lists.Map(some, func(s *state) string { return s.FileKey })
		ids := lists.Map(some, func(s *state) string { return s.Session })
		others := object{"bool": object{"filter": object{"terms": object{"session": ids}}, "must_not": object{"terms": object{"file_key": keys}}}}
		err := a.states(ctx, others, func(s *state) error {
			if !there[s.FileKey] && wanted[[2]string{s.Host, s.Session}] {
				there[s.FileKey], list = true, append(list, s)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// sendAll reads the lines of sessions, several at a time, and sends these in order until there
// is no room for more.
func (a *Archive) sendAll(ctx context.Context, list []*state, room int64, visit func(*remote.Session) error) (sent int, err error) {
	n := 0
	for ; n < len(list) && (room-list[n].Offset >= 0 || n == 0); n++ {
		room -= list[n].Offset
	}
	return n, inOrder(ctx, fetchers, each(list[:n]), a.lines, func(s *state, text []byte) error {
		return visit(&remote.Session{Host: s.Host, Path: s.Path, Summary: s.summary(), Text: text})
	})
}

// inOrder does something for each thing that is put, several at a time, and visits what came of it
// in order. Not more than a number are on their way.
func inOrder[T, R any](ctx context.Context, most int, produce func(ctx context.Context, put func(T) error) error, do func(context.Context, T) (R, error), visit func(T, R) error) error {
	type job struct {
		of   T
		done chan R
	}
	group, ctx := errgroup.WithContext(ctx)
	jobs := make(chan job, most-1) // and the one that is visited
	put := func(v T) error {
		j := job{v, make(chan R, 1)}
		select {
		case jobs <- j:
		case <-ctx.Done():
			return ctx.Err()
		}
		group.Go(func() error {
			r, err := do(ctx, v)
			if err == nil {
				j.done <- r
			}
			return err
		})
		return nil
	}
	group.Go(func() error {
		defer close(jobs)
		return produce(ctx, put)
	})
	group.Go(func() error {
		for j := range jobs {
			select {
			case r := <-j.done:
				if err := visit(j.of, r); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}

// each puts the elements of a list.
func each[T any](list []T) func(context.Context, func(T) error) error {
	return func(_ context.Context, put func(T) error) error {
		for _, v := range list {
			if err := put(v); err != nil {
				return err
			}
		}
		return nil
	}
}

// lines returns what the archive has of a session file. Lines that it does not have are empty,
// so that the others have their numbers.
func (a *Archive) lines(ctx context.Context, s *state) ([]byte, error) {
	perLine := s.Offset/max(int64(s.Lines), 1) + 1
	size := int(min(max(pageText/(2*perLine), 1), pageSize))
	body := object{
		"size": size, "track_total_hits": false,
		"query": all(term("file_key", s.FileKey), term("gen", s.Gen), object{"exists": object{"field": "at"}}),
		"sort":  []object{{"line": object{"order": "asc", "unmapped_type": "integer"}}, {"offset": object{"order": "asc", "unmapped_type": "long"}}},
	}
	text := bytes.NewBuffer(make([]byte, 0, min(s.Offset+s.Offset/8, remote.DefaultBytes)))
	number := 1
	err := pages(ctx, a, a.monthly(s.Month), "&routing="+s.FileKey, body, func(h *hit[document]) error {
		d := &h.Source
		if d.Line < number { // another document of the same line
			return nil
		}
		for range min(d.Line-number, maxGap) {
			text.WriteByte('\n')
		}
		text.WriteString(strings.ReplaceAll(d.Raw, "\n", " "))
		text.WriteByte('\n')
		if number = d.Line + 1; text.Len() > mostText {
			return a.wrap(ctx, fmt.Errorf("%s is longer than %d MB", remote.Name(s.Host, s.Path), mostText>>20))
		}
		return nil
	})
	return text.Bytes(), err
}

// mostText is how much is read of a session file.
const mostText = 1 << 30

// maxGap is how many missing lines are kept as empty ones, whatever an archive says.
const maxGap = 1 << 20
