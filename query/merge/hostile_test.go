package merge_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pigrep/lab/stories"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
	"pigrep/query/fix"
	"pigrep/query/merge"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
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

// alone makes an answer that can be merged.
var alone = search.Joint{Shared: &words.Statistics{}}

// Whatever a host answers, the others' answers are merged.
func TestHostileAnswers(t *testing.T) {
	list, decoded := shelves(t, 2), 0
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(list).Draw(rt, "scene")
		req := drawSearch(rt)
		var err error
		if req.Shared, err = s.shared(rt, req); invalid(err) {
			return
		}
		check(rt, err)
		ask := func(i int, req search.Request) (*search.Response, error) {
			r, err := search.Run(rt.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
			if bad := (*search.Response)(nil); i == 1 && err == nil {
				if bad = spoiled(rt, r); bad != nil {
					decoded++
					r = bad
				}
			}
			return r, err
		}
		var answers []*search.Response
		for i := range s.hosts {
			r, err := ask(i, req)
			check(rt, err)
			answers = append(answers, r)
		}
		for range merge.Rounds {
			for i, more := range merge.Again(&req, answers) {
				if more == nil {
					continue
				}
				answers[i], err = ask(i, *more)
				check(rt, err)
			}
		}
		got := merge.Search(&req, answers)
		if limit := req.Options().Limit; len(got.Sessions) > limit || req.Flat && len(got.Hits) > limit {
			rt.Fatalf("%d hits in %d sessions, the limit is %d", len(got.Hits), len(got.Sessions), limit)
		}
		if got.Total < 0 || got.TotalAny < 0 {
			rt.Fatalf("%d and %d hits", got.Total, got.TotalAny)
		}

		lists, tables, used, fixes := []*sessions.Response{}, []*audit.ToolTable{}, []*audit.UsageTable{}, []*fix.Response{}
		for i, r := range s.hosts {
			l, err := sessions.List(rt.Context(), r, s.adapter, stories.Disk{}, sessions.Request{Forks: true, Joint: alone})
			check(rt, err)
			table, err := audit.Tools(rt.Context(), r, s.adapter, stories.Disk{}, audit.Request{Joint: alone})
			check(rt, err)
			u, err := audit.Usage(rt.Context(), r, audit.Request{Joint: alone})
			check(rt, err)
			f, err := fix.Find(rt.Context(), r, s.adapter, stories.Disk{}, fix.Request{Text: "command not found", Env: filter.Env{Now: now}, Joint: search.Joint{Shared: req.Shared}})
			check(rt, err)
			if i == 1 {
				if bad := spoiled(rt, l); bad != nil {
					l = bad
				}
				if bad := spoiled(rt, table); bad != nil {
					table = bad
				}
				if bad := spoiled(rt, u); bad != nil {
					u = bad
				}
				if bad := spoiled(rt, f); bad != nil {
					f = bad
				}
			}
			lists, tables, used, fixes = append(lists, l), append(tables, table), append(used, u), append(fixes, f)
		}
		identities, entries := [][]search.Identity{}, [][]sessions.Entries{}
		weighed, compared := []*similar.Weighed{}, []*similar.Compared{}
		weighing, comparison := similar.Weighing{Counted: []string{"token"}}, similar.Comparison{Request: req}
		for i, r := range s.hosts {
			of := search.Identities(r)
			var ids []uint64
			for _, x := range of {
				ids = append(ids, x.Hash)
			}
			list, err := sessions.EntriesOf(rt.Context(), r, ids)
			check(rt, err)
			local := &similar.Local{Reader: r, Adapter: s.adapter, Source: stories.Disk{}}
			w, err := local.Weigh(rt.Context(), weighing)
			check(rt, err)
			c, err := local.Compare(rt.Context(), comparison)
			check(rt, err)
			if i == 1 {
				of, list = *cmp.Or(spoiled(rt, &of), &of), *cmp.Or(spoiled(rt, &list), &list)
				w, c = cmp.Or(spoiled(rt, w), w), cmp.Or(spoiled(rt, c), c)
			}
			identities, entries, weighed, compared = append(identities, of), append(entries, list), append(weighed, w), append(compared, c)
		}
		merge.Elsewhere(identities)
		merge.Forks(identities)
		merge.Common(entries)
		merge.AgainWeigh(&weighing, weighed)
		if w := merge.Weigh(&weighing, weighed); len(w.Others) != 1 || w.Others[0] < 0 || w.Sessions < 0 {
			rt.Fatalf("%+v", w)
		}
		merge.AgainCompare(&comparison, compared)
		merge.Compare(&comparison, compared)
		merge.AgainFix(&fix.Request{}, fixes)
		merge.Sessions(&sessions.Request{Forks: true}, lists)
		merge.Tools(tables)
		merge.Usage(&audit.Request{}, used)
		merge.Fix(&fix.Request{}, fixes)
	})
	if decoded == 0 {
		t.Error("nothing that was spoiled is decoded")
	}
}
