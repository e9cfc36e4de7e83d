package ranking

import (
	"math/rand/v2"
	"slices"
)

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
