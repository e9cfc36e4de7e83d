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

// order lists the hits of a response, as they are in a list.
func order(r *search.Response) (list []string) {
	for _, h := range r.Hits {
		list = append(list, fmt.Sprintf("%s:%d:%d %v", filepath.Base(h.SessionPath), h.Line, h.Part, h.Score))
	}
	return list
}

// The graded queries are answered by three hosts as by one. Some compounds are verified in more
// texts, as each host may read as many as one index may.
func TestGradedQueriesOfThreeHosts(t *testing.T) {
	testkit.Slow(t)
	step := testkit.HowMany(1, 5, 1) // of so many queries one is asked
	open := func(name string) (*ranking.Set, error) {
		if name == "made" {
			return ranking.OpenMade(t.TempDir(), testkit.Root())
		}
		return ranking.OpenReal(t.TempDir(), testkit.Root(), os.Getenv("PIGREP_FIXTURES"))
	}
	for _, name := range []string{"made", "real"} {
		t.Run(name, func(t *testing.T) {
			set, err := open(name)
			if errors.Is(err, ranking.ErrMissing) { // the real sessions are not part of the repository
				t.Skip(err)
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
				differing, n := 0, 0
				var sum [2]ranking.Figures
				for i, q := range set.Queries {
					if i%step != 0 {
						continue
					}
					grades := map[ranking.Entry]int{}
					for position, grade := range q.Grades {
						e, err := set.Find(position)
						testkit.Check(t, err)
						grades[e] = max(grades[e], grade)
					}
					var answers [2][2]ranking.Answer
					same := true
					for k, req := range []search.Request{{Text: q.Text, Flat: true, Limit: ranking.Depth}, {Text: q.Text, Limit: 20}} {
						req.Env = filter.Env{Now: now}
						want, err := s.unsplit(t, req)
						testkit.Check(t, err)
						got, err := s.asOne(t, req)
						testkit.Check(t, err)
						if a, b := fmt.Sprint(order(want)), fmt.Sprint(order(got)); a != b {
							same = false
							if testing.Verbose() {
								for i := range min(len(want.Hits), len(got.Hits)) {
									if x, y := order(want)[i], order(got)[i]; x != y {
										t.Logf("seed %d %q flat %v: hit %d is %s, was %s", seed, q.Text, req.Flat, i+1, y, x)
										break
									}
								}
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
					if n++; !same {
						differing++
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
				if 50*differing > n {
					t.Errorf("seed %d: %d of %d queries have other hits, or others first", seed, differing, n)
				}
				t.Logf("seed %d: %d of %d queries have other hits, or others first; %v unsplit %.4f, of three hosts %.4f", seed, differing, n, ranking.Measures, sum[0], sum[1])
				for _, k := range []int{ranking.NDCG, ranking.Grouped} {
					if d := sum[0][k] - sum[1][k]; d > 0.01 || d < -0.01 {
						t.Errorf("seed %d: %s is %.4f, of one index %.4f", seed, ranking.Measures[k], sum[1][k], sum[0][k])
					}
				}
			}
		})
	}
}
