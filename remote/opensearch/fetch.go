package opensearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/remote"
)

const (
	pageSize = 1000
	pageHits = 10_000  // documents of which only numbers are asked for
	pageText = 4 << 20 // about how much text of lines is asked for at once
	fetchers = 4       // requests for lines at once
	together = 32      // sessions whose lines are asked for at once

	// mostCompared is how many sessions may compete for the places in an answer: the engine's
	// order is not that of the answer.
	mostCompared   = 1000
	comparedFactor = 2
	comparedMore   = 10
	comparedParts  = 200 // that compete for them

	mostPlaces = 200_000 // of lines that are looked for, and
	mostStates = 100_000 // summaries that are: an answer has no room for more
	mostFiles  = 500_000 // whose keys are

	exactFiles = 1000 // up to which the engine counts files exactly: more takes memory in every shard
)

// hit is a document that a search found.
type hit[T any] struct {
	Index  string          `json:"_index"`
	ID     string          `json:"_id"`
	Source T               `json:"_source"` // as far as it can be read
	Fields fields          `json:"fields"`
	Sort   json.RawMessage `json:"sort"`
	err    error           // of Source

	Explanation explanation `json:"_explanation"` // of its score, if that is asked
}

// strict sets what is wrong with each source of an answer that json.Unmarshal has read as far as it
// could: whoever may push can write any document, and one of another form spoils no other.
func strict[T any](list []hit[T], sources []hit[json.RawMessage]) {
	for i := range sources {
		var of T
		list[i].err = json.Unmarshal(sources[i].Source, &of)
	}
}

func (h *hits[T]) strict(data []byte) error {
	var raw hits[json.RawMessage]
	err := json.Unmarshal(data, &raw)
	if err == nil {
		strict(h.Hits.Hits, raw.Hits.Hits)
		strict(h.Docs, raw.Docs)
	}
	return err
}

// fields are the values of docvalue_fields, of which each document has one.
type fields struct {
	FileKey []string `json:"file_key"`
	Line    []int    `json:"line"` // none of a part that is in no line
	Gen     []int64  `json:"gen"`
}

// last returns the last element of a list; nothing of an empty one.
func last[T any](list []T) (v T) {
	if len(list) > 0 {
		v = list[len(list)-1]
	}
	return v
}

// hits is an answer to a search, or has the documents of some ids.
type hits[T any] struct {
	TimedOut bool `json:"timed_out"`
	Shards   struct {
		Failed   int
		Failures []struct{ Reason struct{ Type, Reason string } }
	} `json:"_shards"`
	Hits struct {
		Total struct{ Value int } `json:"total"`
		Hits  []hit[T]            `json:"hits"`
	} `json:"hits"`
	Docs         []hit[T] `json:"docs"`
	Aggregations struct {
		Files struct {
			Value   int             `json:"value"`
			After   json.RawMessage `json:"after_key"`
			Buckets []struct {
				Key struct {
					File string
					Gen  int64
				} `json:"key"`
				Documents    int64 `json:"doc_count"`
				Offset, Part struct{ Value float64 }
			} `json:"buckets"`
		} `json:"files"`
		Months struct {
			Buckets []struct {
				Key       string
				Documents int64 `json:"doc_count"`
			}
		} `json:"months"`
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
			e.Type, e.Reason = said(f[0].Reason.Type), said(f[0].Reason.Reason)
		}
		err = a.wrap(ctx, e)
	}
	return answer, err
}

// mostPages is how many pages an answer may have.
const mostPages = 2000

var errRepeated = fmt.Errorf("%w: it repeats a page", ErrNotEngine)

// pages visits all that a search finds, page by page. Its body has a size and an order.
func pages[T any](ctx context.Context, a *Archive, index, parameters string, body object, visit func(*hit[T]) error) error {
	seen := make(map[string]bool, 1)
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
		after := list[len(list)-1].Sort
		if seen[string(after)] || len(seen) == mostPages {
			return a.wrap(ctx, errRepeated)
		}
		seen[string(after)] = true
		progress(ctx)
		body["search_after"] = after
	}
}

// states visits the states of session files that pass a query, the latest first. It returns the ids of
// those that this package has not written.
func (a *Archive) states(ctx context.Context, index string, query object, visit func(*state) error) (damaged []string, err error) {
	body := object{
		"size": pageSize, "query": all(term("sort", sortSession), query), "track_total_hits": false,
		"sort": []object{{"newest": object{"order": "desc", "missing": 0, "unmapped_type": "date"}}, by("file_key", "keyword")},
	}
	err = pages(ctx, a, index, "", body, func(h *hit[state]) error {
		if h.err == nil && a.isSound(h) {
			return visit(&h.Source)
		}
		damaged = append(damaged, h.ID)
		return nil
	})
	return damaged, err
}

// Sent returns how many bytes of a session file of this machine the archive has, which calls it host.
func (a *Archive) Sent(ctx context.Context, host string) (func(*session.Summary) int64, error) {
	if _, err := a.password(ctx); err != nil {
		return nil, a.wrap(ctx, err)
	}
	host = hostOf(a.config.Owner, host)
	sizes := make(map[string]int64)
	_, err := a.states(ctx, a.sessionsIndex(a.config.Owner), term("host", host), func(s *state) error {
		sizes[s.FileKey] = s.Offset
		return nil
	})
	return func(s *session.Summary) int64 {
		masked := search.Masked(*s)
		return max(sizes[keyOf(host, s.Path)], sizes[keyOf(host, masked.Path)])
	}, a.wrap(ctx, err)
}

// isSound reports whether a document may be a state of this package, in the index of its owner.
func (a *Archive) isSound(h *hit[state]) bool {
	s := &h.Source
	return h.ID == s.FileKey && s.isSound() && h.Index == a.sessionsIndex(ownerOf(s.Month))
}

// Sessions implements remote.Source.
func (a *Archive) Sessions(ctx context.Context, q *remote.Question, visit func(*remote.Session) error) (c remote.Coverage, err error) {
	if _, err := a.password(ctx); err != nil { // the user may take a while to answer
		return c, a.wrap(ctx, err)
	}
	ctx, use, stop := a.patient(ctx)
	defer stop()
	visitor := visit
	visit = func(s *remote.Session) (err error) {
		use(func() { err = visitor(s) })
		return err
	}
	lost := make(chan error, 1)
	go func() {
		n, err := a.gone(ctx)
		c.Lost = n
		lost <- err
	}()
	answered, err := a.answer(ctx, q, visit)
	if failed := <-lost; err == nil && !isStatus(failed, http.StatusForbidden) {
		err = failed
	}
	answered.Lost = c.Lost
	return answered, err
}

// answer sends the sessions that a question needs.
func (a *Archive) answer(ctx context.Context, q *remote.Question, visit func(*remote.Session) error) (c remote.Coverage, err error) {
	s := a.selection(q)
	if s.asked.isRanked(q) {
		return s.best(ctx, visit)
	}
	var failed error
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error { return a.check(both) })
	group.Go(func() error {
		failed = s.selected(both)
		return nil // what is wrong with the archive says more
	})
	if err := cmp.Or(group.Wait(), failed); err != nil {
		return c, err
	}
	switch {
	case q.Brief:
		for _, st := range s.list {
			if err := visit(&remote.Session{Host: st.Host, Path: st.Path, Summary: st.summary()}); err != nil {
				return c, err
			}
			c.Sent++
		}
	case s.hasRecords():
		c.Sent, err = s.send(ctx, visit)
		c.Inexact = s.found.more
	default:
		c.Sent, err = s.sendWhole(ctx, visit)
	}
	more := max(0, s.found.files-len(s.found.keys))
	c.Sessions, c.Damaged = len(s.list)+more, len(s.damaged)
	if q.Wanted > 0 && !q.Brief {
		c.Lower = more
	}
	return c, err
}

// mostWaits is how many times Config.Wait the whole answer to a question may take.
const mostWaits = 60

type progressKey struct{}

// progress notes that a part of an answer has come: lines, records or a full page.
func progress(ctx context.Context) {
	if note, ok := ctx.Value(progressKey{}).(func()); ok {
		note()
	}
}

// patient returns a context for a question that ends if no part of the answer comes for Config.Wait, or if
// the whole takes mostWaits times as long. The time for which use runs, with what has come, does not count
// as silence. stop must be called when the question is answered.
func (a *Archive) patient(ctx context.Context) (_ context.Context, use func(func()), stop func()) {
	wait := cmp.Or(a.config.Wait, longestWork)
	silent := func(what string, d time.Duration) error {
		return a.wrap(context.Background(), fmt.Errorf("%w%s in %v", ErrSilent, what, d))
	}
	ctx, stopped := context.WithTimeoutCause(ctx, mostWaits*wait, silent(" that ends", mostWaits*wait))
	ctx, end := context.WithCancelCause(ctx)
	var used atomic.Bool
	late := time.AfterFunc(wait, func() {
		if !used.Load() {
			end(silent("", wait))
		}
	})
	ctx = context.WithValue(ctx, progressKey{}, func() { late.Reset(wait) })
	use = func(f func()) {
		used.Store(true)
		f()
		late.Reset(wait)
		used.Store(false)
	}
	return ctx, use, func() { late.Stop(); end(nil); stopped() }
}

func (a *Archive) selection(q *remote.Question) *selection {
	return &selection{archive: a, q: q, asked: compile(q, false), found: &places{}, room: q.Bytes, damaged: make(map[string]bool)}
}

// selected sets the session files that a question needs, those first that matter most.
func (s *selection) selected(ctx context.Context) (err error) {
	a, q := s.archive, s.q
	if s.asked.parts == nil && s.asked.scored == nil {
		err = s.latest(ctx, all(term("sort", sortSession), s.asked.sessions, overlapping(q)))
	} else {
		s.found, err = a.find(ctx, q, s.asked)
		if err == nil && len(s.found.keys) == 0 && q.Text != "" {
			s.asked = compile(q, true)
			s.found, err = a.find(ctx, q, s.asked)
		}
		if err == nil {
			err = s.statesOf(ctx, s.found.keys)
		}
	}
	if err == nil && !s.hasRecords() {
		_, err = s.others(ctx)
	}
	return err
}

// overlapping are the states of sessions that may have an entry within the times of a question.
func overlapping(q *remote.Question) object {
	return all(
		either(within("newest", "gte", millis(q.Spec.Since)), without("newest")),
		either(within("oldest", "lte", millis(q.Spec.Until)), without("oldest")),
	)
}

// places are where parts are that may be hits.
type places struct {
	keys  []string         // of their files, the best first
	lines map[string][]int // by file key; nil if only the files were looked for
	gens  map[string]int64 // of these
	files int              // how many there are
	more  bool             // there are more lines
}

func (p *places) add(h *hit[struct{}]) {
	key, line, gen := last(h.Fields.FileKey), last(h.Fields.Line), last(h.Fields.Gen)
	if key == "" {
		return
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

func (p *places) addAll(found *hits[struct{}]) {
	for i := range found.Hits.Hits {
		p.add(&found.Hits.Hits[i])
	}
}

// find returns the places of the best parts, at least one in each of the best files; those of all
// parts if all are wanted, or only the keys of their files if that is enough.
func (a *Archive) find(ctx context.Context, q *remote.Question, asked compiled) (*places, error) {
	p := &places{lines: make(map[string][]int), gens: make(map[string]int64)}
	body := object{"size": comparedParts, "query": asked.ranked(asked.sessions), "stored_fields": "_none_", "docvalue_fields": []string{"file_key", "line", "gen"}, "track_total_hits": false}
	if q.Wanted == 0 {
		body["size"], body["query"] = pageHits, asked.query(asked.sessions)
		return p, a.findAll(ctx, p, body, asked.lines && !q.Facts && !q.Brief)
	}
	wanted := min(q.Wanted*comparedFactor+comparedMore, mostCompared)
	body["aggs"] = object{"files": object{"cardinality": object{"field": "file_key", "precision_threshold": exactFiles}}}
	if q.Newest {
		body["sort"] = []object{{"time": object{"order": "desc", "unmapped_type": "date"}}}
	}
	best, err := find[struct{}](ctx, a, a.everything(), "&search_type=dfs_query_then_fetch", body)
	if err != nil {
		return nil, err
	}
	p.addAll(best)
	p.files, p.more = max(best.Aggregations.Files.Value, len(p.keys)), len(best.Hits.Hits) == comparedParts
	if p.more && len(p.keys) < min(wanted, p.files) {
		delete(body, "aggs")
		body["size"], body["collapse"] = wanted, object{"field": "file_key"}
		if best, err = find[struct{}](ctx, a, a.everything(), "", body); err != nil {
			return nil, err
		}
		p.addAll(best)
	}
	p.keys = p.keys[:min(len(p.keys), wanted)]
	return p, nil
}

// findAll adds the keys of all files with parts that a search finds, and the places of these parts if
// they are asked for: file by file, until there are more than an answer has room for.
func (a *Archive) findAll(ctx context.Context, p *places, body object, parts bool) error {
	group, both := errgroup.WithContext(ctx)
	var keys []string
	query := body["query"].(object) // body changes
	group.Go(func() (err error) {
		keys, err = a.allFiles(both, query)
		return err
	})
	if parts {
		group.Go(func() error {
			body["sort"] = []object{{"file_key": "asc"}, by("line", "integer"), by("part", "integer")}
			left := a.places
			err := pages(both, a, a.alias(), "", body, func(h *hit[struct{}]) error {
				if left--; left < 0 {
					return errFull
				}
				p.add(h)
				return nil
			})
			if p.more = errors.Is(err, errFull); p.more {
				return nil
			}
			return err
		})
	}
	err := group.Wait()
	at := len(keys)
	if p.more { // of the last file, not all was looked for, and nothing behind it
		at = slices.Index(keys, last(p.keys))
		p.more, at = at < 1, max(at, 1)
	}
	p.keys, p.files = keys[:min(at, len(keys))], len(keys)
	return err
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
			if b.Key.File <= last(keys) || len(keys) == mostFiles {
				return nil, a.wrap(ctx, errRepeated)
			}
			keys = append(keys, b.Key.File)
		}
		if len(found.Buckets) < pageSize || found.After == nil {
			return keys, nil
		}
		composite["after"] = found.After
		progress(ctx)
	}
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
			return context.Cause(ctx)
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
				return context.Cause(ctx)
			}
		}
		return nil
	})
	return group.Wait()
}

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

// mostCounted is how many terms are counted in one request.
const mostCounted = 500

// Count implements remote.Counter.
func (a *Archive) Count(ctx context.Context, terms []string) (*words.Statistics, error) {
	s := &words.Statistics{Terms: make(map[string]int, len(terms))}
	type number struct{ Value float64 }
	var answer struct {
		Aggregations struct {
			Files struct {
				Documents, Tokens, Newest number
			}
			Terms struct {
				Buckets map[string]struct {
					Count int `json:"doc_count"`
				}
			}
		}
	}
	for {
		some := terms[:min(len(terms), mostCounted)]
		terms = terms[len(some):]
		clauses := lists.Map(some, has)
		filters := make(object, len(some))
		for i, c := range clauses {
			filters[strconv.Itoa(i)] = c
		}
		sum := func(of, field string) object { return object{of: object{"field": field}} }
		aggs := object{"files": object{"filter": term("sort", sortSession), "aggs": object{
			"documents": sum("sum", "documents"), "tokens": sum("sum", "tokens"), "newest": sum("max", "newest"),
		}}}
		if len(some) > 0 {
			aggs["terms"] = object{"filters": object{"filters": filters}}
		}
		body := object{"size": 0, "query": either(append(clauses, term("sort", sortSession))...), "track_total_hits": false, "aggs": aggs}
		if err := a.call(ctx, http.MethodPost, a.everything()+"/_search?ignore_unavailable=true&allow_partial_search_results=false", body, &answer); err != nil {
			return nil, err
		}
		files := &answer.Aggregations.Files
		s.Documents, s.Tokens, s.Newest = int(files.Documents.Value), int(files.Tokens.Value), timeOf(int64(files.Newest.Value))
		for i, t := range some {
			s.Terms[t] = answer.Aggregations.Terms.Buckets[strconv.Itoa(i)].Count
		}
		if len(terms) == 0 {
			return s, nil
		}
	}
}
