package opensearch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/words"
	"pigrep/query/search"
)

const (
	pageSize = 1000
	pageHits = 10_000  // documents of which only numbers are asked for
	pageText = 4 << 20 // about how much text of lines is asked for at once
	fetchers = 4       // requests for lines at once
	routed   = 100     // files by which a request is routed: there is a limit to its length

	mostStates = 100_000 // summaries that are: an answer has no room for more
	mostFiles  = 500_000 // whose keys are
)

// hit is a document that a search found.
type hit[T any] struct {
	Index  string          `json:"_index"`
	ID     string          `json:"_id"`
	Source T               `json:"_source"` // as far as it can be read
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

// states visits the states of session files that pass a query, the latest first; those that are brief lack what
// only lists show. It returns the ids of those that this package has not written.
func (a *Archive) states(ctx context.Context, index string, query object, brief bool, visit func(*state) error) (damaged []string, err error) {
	body := object{
		"size": pageSize, "query": all(term("sort", sortSession), query), "track_total_hits": false,
		"sort": []object{{"newest": object{"order": "desc", "missing": 0, "unmapped_type": "date"}}, by("file_key", "keyword")},
	}
	if brief {
		body["_source"] = object{"excludes": []string{"terms", "facts.Manifest", "facts.FirstPrompt", "facts.Subject", "facts.Models", "facts.Labels", "facts.Unpriced"}}
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
	_, err := a.states(ctx, a.sessionsIndex(a.config.Owner), term("host", host), true, func(s *state) error {
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

// mostWaits is how many times Config.Wait the whole answer to a question may take.
const mostWaits = 60

type progressKey struct{}

// progress notes that a part of an answer has come: lines, records or a full page.
func progress(ctx context.Context) {
	if note, ok := ctx.Value(progressKey{}).(func()); ok {
		note()
	}
}

// begin begins a question. It returns a context that ends if no part of the answer comes for Config.Wait, or if
// the whole takes mostWaits times as long. stop must be called when the question is answered.
func (a *Archive) begin(ctx context.Context) (_ context.Context, stop func(), err error) {
	if _, err := a.password(ctx); err != nil { // the user may take a while to answer
		return nil, nil, a.wrap(ctx, err)
	}
	wait := cmp.Or(a.config.Wait, longestWork)
	silent := func(what string, d time.Duration) error {
		return a.wrap(context.Background(), fmt.Errorf("%w%s in %v", ErrSilent, what, d))
	}
	ctx, stopped := context.WithTimeoutCause(ctx, mostWaits*wait, silent(" that ends", mostWaits*wait))
	ctx, end := context.WithCancelCause(ctx)
	late := time.AfterFunc(wait, func() { end(silent("", wait)) })
	ctx = context.WithValue(ctx, progressKey{}, func() { late.Reset(wait) })
	return ctx, func() { late.Stop(); end(nil); stopped() }, nil
}

// files returns how many parts of each file pass a query, by the keys of the files.
func (a *Archive) files(ctx context.Context, query object) (map[string]int, error) {
	composite := object{"size": pageHits, "sources": []object{{"file": object{"terms": object{"field": "file_key"}}}}}
	counts, end := make(map[string]int), ""
	for {
		answer, err := find[struct{}](ctx, a, a.everything(), "", object{"size": 0, "query": query, "track_total_hits": false, "aggs": object{"files": object{"composite": composite}}})
		if err != nil {
			return nil, err
		}
		found := &answer.Aggregations.Files
		for _, b := range found.Buckets {
			if b.Key.File <= end || len(counts) == mostFiles {
				return nil, a.wrap(ctx, errRepeated)
			}
			end = b.Key.File
			counts[end] = int(b.Documents)
		}
		if len(found.Buckets) < pageHits || found.After == nil {
			return counts, nil
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

// Count returns in how many documents of the archive terms are.
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
