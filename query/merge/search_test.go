package merge_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pigrep/lab/ranking"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
)

// Three hosts, each of which ranks its own, answer the graded queries about as well as one, and mostly
// with the same hit first.
func TestGradedQueriesOfThreeHosts(t *testing.T) {
	testkit.Slow(t)
	step := testkit.HowMany(1, 5, 1) // of so many queries one is asked
	equal, asked := 0, 0
	for _, name := range []string{"made", "real"} {
		open := func() (*ranking.Set, error) { return ranking.OpenMade(t.TempDir(), testkit.Root()) }
		if name == "real" {
			open = func() (*ranking.Set, error) {
				return ranking.OpenReal(t.TempDir(), testkit.Root(), os.Getenv("PIGREP_FIXTURES"))
			}
		}
		set, err := open()
		if errors.Is(err, ranking.ErrMissing) { // the real sessions are not part of the repository
			t.Log(err)
			continue
		}
		testkit.Check(t, err)
		defer set.Close()
		files := map[string]string{}
		for _, path := range set.Paths() {
			data, err := os.ReadFile(path)
			testkit.Check(t, err)
			files[path[1:]] = string(data)
		}
		for seed := range uint64(testkit.HowMany(1, 1, 3)) {
			s := divide(t, files, 3, atRandom(3, seed))
			n := 0
			var sum [2]ranking.Figures
			for i, q := range set.Queries {
				if i%step != 0 {
					continue
				}
				n++
				grades := map[ranking.Entry]int{}
				for position, grade := range q.Grades {
					e, err := set.Find(position)
					testkit.Check(t, err)
					grades[e] = max(grades[e], grade)
				}
				var answers [2][2]ranking.Answer
				for k, req := range []search.Request{{Text: q.Text, Flat: true, Limit: ranking.Depth}, {Text: q.Text, Limit: 20}} {
					req.Env = filter.Env{Now: now}
					want, err := s.unsplit(t, req)
					testkit.Check(t, err)
					got, err := s.asOne(t, req)
					testkit.Check(t, err)
					if k == 0 {
						if asked++; first(want) == first(got) {
							equal++
						} else {
							t.Logf("seed %d: %q begins with %s, of one index with %s", seed, q.Text, first(got), first(want))
						}
					}
					for i, r := range []*search.Response{want, got} {
						for k := range r.Hits {
							r.Hits[k].SessionPath = "/" + s.files[r.Hits[k].SessionPath]
						}
						for k := range r.Sessions {
							r.Sessions[k].SessionPath = "/" + s.files[r.Sessions[k].SessionPath]
						}
						answers[i][k] = set.AnswerOf(r)
					}
				}
				for i := range sum {
					f := set.Measure(grades, answers[i][0], answers[i][1])
					for k := range f {
						sum[i][k] += f[k]
					}
				}
			}
			for i := range sum {
				for k := range sum[i] {
					sum[i][k] /= float64(n)
				}
			}
			t.Logf("%s, seed %d: %v of one index %.4f, of three hosts %.4f", name, seed, ranking.Measures, sum[0], sum[1])
			for _, k := range []int{ranking.NDCG, ranking.Grouped} {
				if sum[0][k]-sum[1][k] > 0.04 {
					t.Errorf("%s, seed %d: %s is %.4f, of one index %.4f", name, seed, ranking.Measures[k], sum[1][k], sum[0][k])
				}
			}
		}
	}
	t.Logf("%d of %d queries have the same first hit", equal, asked)
	if 100*equal < 75*asked {
		t.Errorf("%d of %d queries have the same first hit", equal, asked)
	}
}

// first says which hit is the first.
func first(r *search.Response) string {
	if len(r.Hits) == 0 {
		return ""
	}
	h := &r.Hits[0]
	return fmt.Sprintf("%s:%d:%d", filepath.Base(h.SessionPath), h.Line, h.Part)
}
