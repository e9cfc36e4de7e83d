//go:build linux

package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"pigrep/index/analysis"
	"pigrep/internal/session"
	"pigrep/lab/decode"
)

// printHeaps says how the vocabulary below a directory grows: K and β of Heaps' law,
// K·MB^β distinct terms. The fit is over many orders of the files, from 1 MB on,
// because the order that they are listed in is no order of growth.
func printHeaps(w io.Writer, dir string) error {
	paths, err := sessionFiles(dir)
	if err != nil {
		return err
	}
	type file struct {
		mb    float64
		terms map[string]bool
	}
	var (
		files    []file
		analyzer analysis.Analyzer
		all      = map[string]bool{}
		size     float64
		tokens   int
	)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		f := file{float64(info.Size()) / 1e6, map[string]bool{}}
		err = decode.Parts(path, func(p *session.Part) {
			tokens += analyzer.Walk(p.Text, func(t analysis.Token) { f.terms[string(t.Term)], all[string(t.Term)] = true, true })
		})
		if err != nil {
			return err
		}
		files, size = append(files, f), size+f.mb
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var x, y []float64
	for range 300 {
		rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		seen, mb := map[string]bool{}, 0.0
		for _, f := range files {
			for term := range f.terms {
				seen[term] = true
			}
			if mb += f.mb; mb >= 1 {
				x, y = append(x, math.Log(mb)), append(y, math.Log(float64(len(seen))))
			}
		}
	}
	beta, logK := line(x, y)
	_, err = fmt.Fprintf(w, "%d files, %.1f MB, %.0f tokens per MB, %d distinct terms, %.0f per MB; Heaps' law: K %.0f, beta %.3f\n",
		len(files), size, float64(tokens)/size, len(all), float64(len(all))/size, math.Exp(logK), beta)
	return err
}

// line fits y = slope·x + offset by least squares.
func line(x, y []float64) (slope, offset float64) {
	var sx, sy, sxx, sxy float64
	n := float64(len(x))
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	slope = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return slope, (sy - slope*sx) / n
}
