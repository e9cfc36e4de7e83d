package merge_test

import (
	"context"
	"errors"
	"os"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
	"pigrep/query/merge"
	"pigrep/query/search"
	"pigrep/query/similar"
)

// several is the hosts of a scene, as an index in which similar sessions are found.
type several struct {
	t *testing.T
	*scene
}

func (x several) local(i int) *similar.Local {
	return &similar.Local{Reader: x.hosts[i], Adapter: x.adapter, Source: stories.Disk{}}
}

func (x several) of(r similar.Relatives) similar.Relatives {
	r.Known = merge.Kin(x.division(x.t).forks, r.Known)
	return r
}

func (x several) Weigh(ctx context.Context, req similar.Weighing) (*similar.Weighed, error) {
	list, err := together(x.t, x.scene, req, func(i int, req similar.Weighing) (*similar.Weighed, error) {
		req.Relatives, req.Joint = x.of(req.Relatives), search.Joint{Shared: &words.Statistics{}, Elsewhere: x.division(x.t).elsewhere[i]}
		return x.local(i).Weigh(ctx, req)
	}, merge.AgainWeigh)
	if err != nil {
		return nil, err
	}
	return merge.Weigh(&req, list), nil
}

func (x several) Compare(ctx context.Context, req similar.Comparison) (*similar.Compared, error) {
	d := x.division(x.t)
	var err error
	if req.Shared, err = x.sum(x.t, func(i int) (*words.Statistics, error) {
		return search.Statistics(ctx, x.hosts[i], req.Request)
	}); err != nil {
		return nil, err
	}
	list, err := together(x.t, x.scene, req, func(i int, req similar.Comparison) (*similar.Compared, error) {
		req.Of, req.Elsewhere, req.Common = x.of(req.Of), d.elsewhere[i], d.common[i]
		return x.local(i).Compare(ctx, req)
	}, merge.AgainCompare)
	if err != nil {
		return nil, err
	}
	return merge.Compare(&req, list), nil
}

// Three hosts find the sessions that are like one as one index does: of random stories, of forks
// on another host than their parents, and of an older copy on another host.
func TestSimilar(t *testing.T) {
	files, hosts, _ := copied()
	delete(files, "b/parent.jsonl")
	scenes := append(shelves(t, testkit.HowMany(4, 6, 12)), divide(t, files, 3, func(name string) int { return hosts[name] }))
	found := 0
	for _, s := range scenes {
		for _, x := range s.all.Summaries() {
			rec, err := s.all.Record(x.File)
			check(t, err)
			if rec == nil {
				continue
			}
			file, err := os.Open(x.Path)
			check(t, err)
			defer file.Close()
			req := similar.Request{Of: entry.NewConversation(s.adapter, rec, file), Entry: -1, Env: filter.Env{Now: now}}
			want, err := similar.Find(t.Context(), &similar.Local{Reader: s.all, Adapter: s.adapter, Source: stories.Disk{}}, req)
			got, other := similar.Find(t.Context(), several{t, s}, req)
			if !errors.Is(other, err) {
				t.Fatalf("%s: %v, of one index %v", s.files[x.Path], other, err)
			}
			if err != nil {
				continue
			}
			found += len(want.Sessions)
			for _, r := range []*similar.Response{want, got} {
				for i := range r.Sessions {
					r.Sessions[i].ParentPath, r.Sessions[i].Hit.Copies = "", nil // known if they are on the same host
				}
			}
			if diff := gocmp.Diff(plain(t, want), plain(t, got)); diff != "" {
				t.Errorf("%s (-one index +three hosts):\n%s", s.files[x.Path], diff)
			}
		}
	}
	if found == 0 {
		t.Error("no session is like another one")
	}
}
