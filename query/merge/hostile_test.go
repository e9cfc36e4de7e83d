package merge_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pigrep/internal/lists"
	"pigrep/lab/stories"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/merge"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// spoil replaces some of the values in decoded JSON by others that can be decoded too.
func spoil(t *rapid.T, v any) any {
	spoiled := rapid.IntRange(0, 20).Draw(t, "spoiled") == 0
	switch v := v.(type) {
	case float64:
		if spoiled {
			return rapid.SampledFrom([]any{-1.0, 0.0, 3.0, 1e9, nil}).Draw(t, "number")
		}
	case map[string]any:
		if spoiled {
			return nil
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = spoil(t, v[k])
		}
	case []any:
		for i := range v {
			v[i] = spoil(t, v[i])
		}
		if spoiled && len(v) > 0 {
			return rapid.SampledFrom([][]any{nil, v[1:], append(v, v[0]), v[:1]}).Draw(t, "list")
		}
	}
	return v
}

// spoiled returns an answer as a host may send it that breaks all rules; nil if it is not even
// decoded.
func spoiled[T any](t *rapid.T, answer *T) *T {
	data, err := json.Marshal(answer)
	check(t, err)
	var v any
	check(t, json.Unmarshal(data, &v))
	data, err = json.Marshal(spoil(t, v))
	check(t, err)
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		return nil
	}
	return out
}

// Whatever a host answers, the others' answers are joined.
func TestHostileAnswers(t *testing.T) {
	list, decoded := shelves(t, 2), 0
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(list).Draw(rt, "scene")
		req := search.Request{
			Text: rapid.SampledFrom(typed).Draw(rt, "query"), Flat: rapid.Bool().Draw(rt, "flat"), Sort: rank.Sort(rapid.IntRange(0, 2).Draw(rt, "sort")),
			Limit: rapid.SampledFrom([]int{0, 1, search.All}).Draw(rt, "limit"), Env: filter.Env{Now: now}, Among: search.Among{Together: true},
		}
		ctx := rt.Context()
		var found []*search.Response
		var counted []*facets.Response
		var listed []*sessions.Response
		var tools []*audit.ToolTable
		var used []*audit.UsageTable
		var fixes []*fix.Response
		var told []*recap.Response
		var lessons []*recap.Lessons
		for i, r := range s.hosts {
			add(rt, &found, i, &decoded)(search.Run(ctx, r, s.adapter, stories.Disk{}, req))
			add(rt, &counted, i, &decoded)(facets.Of(ctx, r, s.adapter, stories.Disk{}, req))
			add(rt, &listed, i, &decoded)(sessions.List(ctx, r, s.adapter, stories.Disk{}, sessions.Request{Forks: true, Among: req.Among}))
			add(rt, &tools, i, &decoded)(audit.Tools(ctx, r, s.adapter, stories.Disk{}, audit.Request{Among: req.Among}))
			add(rt, &used, i, &decoded)(audit.Usage(ctx, r, audit.Request{Among: req.Among}))
			add(rt, &told, i, &decoded)(recap.Run(ctx, r, s.adapter, stories.Disk{}, recap.Request{Among: req.Among}))
			add(rt, &lessons, i, &decoded)(recap.Learn(ctx, r, s.adapter, stories.Disk{}, recap.Request{Among: req.Among}))
			add(rt, &fixes, i, &decoded)(fix.Find(ctx, r, s.adapter, stories.Disk{}, fix.Request{Text: "command not found", Env: req.Env}))
		}
		got := merge.Search(&req, found)
		if limit := req.Options().Limit; len(got.Sessions) > limit || req.Flat && len(got.Hits) > limit {
			rt.Fatalf("%d hits in %d sessions, the limit is %d", len(got.Hits), len(got.Sessions), limit)
		}
		if got.Total < 0 || got.TotalAny < 0 || got.SessionTotal < 0 {
			rt.Fatalf("%d and %d hits in %d sessions", got.Total, got.TotalAny, got.SessionTotal)
		}
		merge.Facets(&req, counted)
		merge.Sessions(&sessions.Request{Forks: true}, listed)
		merge.Tools(tools)
		merge.Without(lists.Map(tools, func(t *audit.ToolTable) []search.Held { return t.Held }))
		merge.Usage(&audit.Request{}, used)
		merge.Fix(&fix.Request{}, fixes)
		merge.Recap(&recap.Request{}, told)
		merge.Lessons(lessons)
	})
	if decoded == 0 {
		t.Error("nothing that was spoiled is decoded")
	}
}

// add returns a function that adds the answer of a host to others. The second one breaks all rules.
func add[T any](t *rapid.T, list *[]*T, host int, decoded *int) func(*T, error) {
	return func(answer *T, err error) {
		check(t, err)
		if host == 1 {
			if bad := spoiled(t, answer); bad != nil {
				answer = bad
				*decoded++
			}
		}
		*list = append(*list, answer)
	}
}
