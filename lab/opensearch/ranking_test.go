//go:build unix

package opensearch

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/ranking"
	"pigrep/lab/testkit"
	"pigrep/query/search"
)

// mostLost is how much nDCG an archive may lose of what the index of a machine has.
const mostLost = 0.03

// What the engine chooses for a question has the best entries, and they stand where they do on a
// machine that has all sessions.
func TestRanking(t *testing.T) {
	url := Start(t, 1).Nodes[0].URL
	root := testkit.Root()
	made, err := ranking.OpenMade(filepath.Join(t.TempDir(), "made"), root)
	if err != nil {
		t.Fatal(err)
	}
	sets := []*ranking.Set{made}
	if real, err := ranking.OpenReal(t.TempDir(), root, testkit.Fixtures()); err == nil {
		sets = append(sets, real)
	} else if !errors.Is(err, ranking.ErrMissing) {
		t.Fatal(err)
	}
	for _, set := range sets {
		t.Run(set.Name, func(t *testing.T) {
			t.Cleanup(func() { set.Close() })
			sessions := filepath.Dir(set.Paths()[0])
			if set != made {
				sessions = filepath.Join(testkit.Fixtures(), "real")
			}
			m := newMachine(t, sessions)
			m.setUp(url, "--prefix", set.Name)
			m.must("push", "team", "--reveal", "--yes", "--session-dir", sessions)
			list, err := set.Run()
			if err != nil {
				t.Fatal(err)
			}
			every := testkit.HowMany(64, 8, 1) // of the queries, one
			for i := range len(list) / every {
				list[i] = list[i*every]
			}
			list = list[:len(list)/every]
			measure := func(where ...string) ranking.Figures {
				for i := range list {
					r := &list[i]
					r.Pigrep = set.Measure(r.Grades, ask(t, set, m, r.Query, append(where, "--flat", "-n", "50")...), ask(t, set, m, r.Query, append(where, "-n", "20")...))
				}
				mean, _ := ranking.Mean(list)
				return mean
			}
			here, there := measure("--session-dir", sessions), measure("--from", "team")
			t.Logf("%v\nhere  %.3f\nthere %.3f", ranking.Measures, here, there)
			for _, i := range []int{ranking.NDCG, ranking.Grouped} {
				if here[i]-there[i] > mostLost {
					t.Errorf("%s is %.3f, and %.3f here", ranking.Measures[i], there[i], here[i])
				}
			}
		})
	}
}

// ask asks the program as the measurement asks the index.
func ask(t *testing.T, set *ranking.Set, m *machine, query string, flags ...string) ranking.Answer {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := m.run(append(append([]string{"search", "--json"}, flags...), append([]string{"--"}, strings.Fields(query)...)...)...)
	var answer struct {
		Hits     []search.Hit
		Sessions []search.SessionHit
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code > 1 {
		t.Fatalf("%s: exit code %d, %v, %s%s", query, code, err, out, errs)
	}
	for i := range answer.Hits {
		answer.Hits[i].SessionPath = strings.TrimPrefix(answer.Hits[i].SessionPath, host+":")
	}
	for i := range answer.Sessions {
		answer.Sessions[i].SessionPath = strings.TrimPrefix(answer.Sessions[i].SessionPath, host+":")
	}
	return set.AnswerOf(&search.Response{Hits: answer.Hits, Sessions: answer.Sessions})
}
