package ranking

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Measures are the names of the Figures.
var Measures = [...]string{"hit@1", "hit@3", "MRR", "nDCG@10", "grouped", "session"}

// Indexes of Figures.
const (
	Hit1    = iota // the first hit has the best grade
	Hit3           // one of the first three has
	MRR            // 1/rank of the first that has
	NDCG           // of the first ten hits
	Grouped        // nDCG@10 of the hits grouped by session, in the order shown
	Session        // the first session contains an entry with the best grade
)

// Figures are the measures of one answer, or their means.
type Figures [len(Measures)]float64

// cutoff is how many hits nDCG looks at.
const cutoff = 10

// Measure compares the answers to a query, flat and grouped, with the grades. Entries
// that were not judged have grade 0.
func (l *Library) Measure(grades map[Entry]int, flat, grouped Answer) (f Figures) {
	switch rank := Rank(flat.Entries, grades); {
	case rank == 1:
		f[Hit1] = 1
		fallthrough
	case rank == 2 || rank == 3:
		f[Hit3] = 1
		fallthrough
	case rank > 3:
		f[MRR] = 1 / float64(rank)
	}
	f[NDCG] = ndcg(flat.Entries, grades)
	f[Grouped] = ndcg(grouped.Entries, grades)
	if len(grouped.Sessions) > 0 {
		for e, grade := range grades {
			if grade == Best && slices.Contains(l.in[e], grouped.Sessions[0]) {
				f[Session] = 1
			}
		}
	}
	return f
}

// Rank returns the 1-based rank of the first entry with the best grade, 0 if there is
// none.
func Rank(list []Entry, grades map[Entry]int) int {
	return slices.IndexFunc(list, func(e Entry) bool { return grades[e] == Best }) + 1
}

// ndcg is the discounted gain of the first hits, relative to that of the ideal order of
// all judged entries. The gain is 2^grade - 1.
func ndcg(list []Entry, grades map[Entry]int) float64 {
	discounted := func(list []int) (sum float64) {
		for i, grade := range list[:min(cutoff, len(list))] {
			sum += (math.Exp2(float64(grade)) - 1) / math.Log2(float64(i+2))
		}
		return sum
	}
	var have, ideal []int
	for _, e := range list {
		have = append(have, grades[e])
	}
	for _, grade := range grades {
		ideal = append(ideal, grade)
	}
	slices.SortFunc(ideal, func(a, b int) int { return b - a })
	return discounted(have) / discounted(ideal)
}

// Result is how one query was answered.
type Result struct {
	Set    string  `json:"set"`
	Class  string  `json:"class"`
	Held   bool    `json:"held"`
	Query  string  `json:"query"`
	Pigrep Figures `json:"pigrep"` // in the order of Measures
	Plain  Figures `json:"plain"`  // of plain BM25; without Grouped

	Grades map[Entry]int `json:"-"`
	Flat   Answer        `json:"-"`
}

// Run answers all queries of a set.
func (s *Set) Run() ([]Result, error) {
	var list []Result
	for _, q := range s.Queries {
		r := Result{Set: s.Name, Class: q.Class, Held: q.Held, Query: q.Text, Grades: map[Entry]int{}}
		for position, grade := range q.Grades {
			e, err := s.Find(position)
			if err != nil {
				return nil, fmt.Errorf("%s set, %q: %w", s.Name, q.Text, err)
			}
			r.Grades[e] = max(r.Grades[e], grade)
		}
		var err error
		if r.Flat, err = s.Flat(q.Text); err != nil {
			return nil, err
		}
		grouped, err := s.Grouped(q.Text)
		if err != nil {
			return nil, err
		}
		plain := s.Plain(q.Text)
		r.Pigrep = s.Measure(r.Grades, r.Flat, grouped)
		r.Plain = s.Measure(r.Grades, plain, plain)
		list = append(list, r)
	}
	return list, nil
}

// Mean returns the means of the figures of results, pigrep's and those of plain BM25.
func Mean(list []Result) (pigrep, plain Figures) {
	for _, r := range list {
		for i := range Measures {
			pigrep[i] += r.Pigrep[i] / float64(len(list))
			plain[i] += r.Plain[i] / float64(len(list))
		}
	}
	return pigrep, plain
}

// resamples is how often Bootstrap draws.
const resamples = 10_000

// Bootstrap returns the mean of paired differences, and the interval that contains the
// mean of 95 of 100 resamples. It gives the same interval for the same differences.
func Bootstrap(differences []float64) (mean, low, high float64) {
	r := rand.New(rand.NewPCG(20, 26))
	n := len(differences)
	means := make([]float64, resamples)
	for i := range means {
		for range n {
			means[i] += differences[r.IntN(n)] / float64(n)
		}
	}
	slices.Sort(means)
	for _, d := range differences {
		mean += d / float64(n)
	}
	return mean, means[resamples*25/1000], means[resamples*975/1000-1]
}
