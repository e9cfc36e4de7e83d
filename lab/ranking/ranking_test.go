package ranking

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

func entries(lines ...int) (list []Entry) {
	for _, n := range lines {
		list = append(list, Entry{"a.jsonl", n})
	}
	return list
}

func TestMeasure(t *testing.T) {
	l := &Library{in: map[Entry][]string{{"a.jsonl", 1}: {"a.jsonl", "copy.jsonl"}}}
	grades := map[Entry]int{{"a.jsonl", 1}: 3, {"a.jsonl", 2}: 1, {"a.jsonl", 3}: 0}
	ideal := 7 + 1/math.Log2(3)
	for _, c := range []struct {
		name     string
		flat     []Entry
		sessions []string
		want     Figures
	}{
		{"best first", entries(1, 2, 3), []string{"a.jsonl"}, Figures{1, 1, 1, 1, 1, 1}},
		{"best second", entries(2, 1), []string{"copy.jsonl"}, Figures{0, 1, 0.5, (1 + 7/math.Log2(3)) / ideal, (1 + 7/math.Log2(3)) / ideal, 1}},
		{"best fourth, behind what was not judged", entries(9, 8, 3, 1), []string{"b.jsonl", "a.jsonl"}, Figures{0, 0, 0.25, 7 / math.Log2(5) / ideal, 7 / math.Log2(5) / ideal, 0}},
		{"best eleventh", entries(11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 1), nil, Figures{0, 0, 1.0 / 11, 0, 0, 0}},
		{"nothing", nil, nil, Figures{}},
	} {
		have := l.Measure(grades, Answer{Entries: c.flat}, Answer{Entries: c.flat, Sessions: c.sessions})
		for i, m := range Measures {
			if math.Abs(have[i]-c.want[i]) > 1e-9 {
				t.Errorf("%s: %s is %.4f, want %.4f", c.name, m, have[i], c.want[i])
			}
		}
	}
}

// The interval contains the mean, excludes zero only for a clear gain, and is always the
// same for the same differences.
func TestBootstrap(t *testing.T) {
	clear, mixed := make([]float64, 40), make([]float64, 40)
	for i := range clear {
		clear[i], mixed[i] = 0.2+float64(i%3)/10, float64(i%2)-0.45
	}
	if mean, low, high := Bootstrap(clear); low <= 0 || mean < low || high < mean {
		t.Errorf("a clear gain has the mean %.3f and the interval %.3f to %.3f", mean, low, high)
	}
	mean, low, high := Bootstrap(mixed)
	if low >= 0 || high <= 0 || mean < low || high < mean {
		t.Errorf("a chance gain has the mean %.3f and the interval %.3f to %.3f", mean, low, high)
	}
	if again, l, h := Bootstrap(mixed); again != mean || l != low || h != high {
		t.Error("the interval changes from run to run")
	}
}

func TestReadQueries(t *testing.T) {
	for _, c := range []struct{ text, wrong string }{
		{"# why\nfew t two words\n3 a.1\n# note\n0 b.jsonl:2\n\nlatest h last word\n3 b:1\n", ""},
		{"some t words\n3 a\n", "begins with its class"},
		{"few x words\n3 a\n", "begins with its class"},
		{"few t words\n4 a\n", "grade from 0 to 3"},
		{"few t words\n3 a b\n", "one position"},
		{"few t words\nfew h others\n", "a blank line ends a query"},
		{"few t words\n3 a\n2 a\n", "judged twice"},
		{"few t words\n3 a\n\nnoise h words\n3 a\n", "occurs twice"},
		{"few t words\n2 a\n", "no entry has grade 3"},
	} {
		path := filepath.Join(t.TempDir(), "graded.txt")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := ReadQueries(path)
		switch {
		case c.wrong == "" && (err != nil || len(list) != 2 || !list[1].Held || list[0].Text != "two words" || len(list[0].Grades) != 2):
			t.Errorf("ReadQueries(%q) = %v, %v", c.text, list, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("ReadQueries(%q) = %v, want an error that says %q", c.text, err, c.wrong)
		}
	}
}

// A floor is the minimum of the mean over a set, or over a part of it.
type floor struct{ hit1, ndcg float64 }

// testFloors compares the means over all queries with the floors, and plain BM25 with
// its ceiling: above it the set would say nothing.
func testFloors(t *testing.T, s *Set, least floor, plainMost float64) {
	t.Helper()
	list, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	have, plain := Mean(list)
	t.Logf("%d queries: hit@1 %.3f, nDCG@10 %.3f; plain BM25: hit@1 %.3f, nDCG@10 %.3f", len(list), have[Hit1], have[NDCG], plain[Hit1], plain[NDCG])
	if have[Hit1] < least.hit1 || have[NDCG] < least.ndcg {
		t.Errorf("hit@1 is %.3f and nDCG@10 is %.3f, want at least %.2f and %.2f: see go run ./lab/bench/ranking", have[Hit1], have[NDCG], least.hit1, least.ndcg)
	}
	if plain[Hit1] > plainMost {
		t.Errorf("hit@1 of plain BM25 is %.3f: the set is too easy above %.2f", plain[Hit1], plainMost)
	}
}

// Floors of the order of answers to questions over stories.
func TestGradedMade(t *testing.T) {
	s, err := OpenMade(t.TempDir(), testkit.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	testFloors(t, s, floor{hit1: 0.6, ndcg: 0.7}, 0.5)
}

// Floors of the order of answers to questions over real sessions.
func TestGradedReal(t *testing.T) {
	testkit.Slow(t)
	s, err := OpenReal(t.TempDir(), testkit.Root(), testkit.Fixtures())
	if errors.Is(err, ErrMissing) { // real sessions are not part of the repository
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	testFloors(t, s, floor{hit1: 0.5, ndcg: 0.58}, 0.42)
}

// A word that stands in one entry finds it first, and so do two; with a typing error it is on the first
// page. What has a word only as the name of an argument comes after what has it in its text.
func TestWords(t *testing.T) {
	testkit.Slow(t)
	l, err := OpenAll(t.TempDir(), testkit.Root(), testkit.Fixtures())
	testkit.Check(t, err)
	defer l.Close()
	rates, err := l.Words()
	testkit.Check(t, err)
	for _, r := range rates {
		found, least := r.First, 0.99
		if r.onPage {
			found, least = r.Page, 0.95
		}
		if r.Asked == 0 || float64(found) < least*float64(r.Asked) {
			t.Errorf("%s: %d of %d, want %.0f %%: %q", r.Name, found, r.Asked, 100*least, r.Wrong)
		}
	}
	if above, asked, err := l.Pairs(); above > 0 || asked == 0 || err != nil {
		t.Errorf("%d hits by name above one by text, in %d pairs; %v", above, asked, err)
	}
}
