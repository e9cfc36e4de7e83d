package opensearch

import (
	"context"
	"strconv"

	"pigrep/internal/lists"
	"pigrep/query/engine/words"
)

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
		if err := a.call(ctx, "POST", a.everything()+"/_search?ignore_unavailable=true&allow_partial_search_results=false", body, &answer); err != nil {
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
