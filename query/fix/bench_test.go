package fix

import (
	"os"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/lab/stories"
)

// BenchmarkFind looks for an error in the index at PIGREP_BENCH_INDEX.
func BenchmarkFind(b *testing.B) {
	dir := os.Getenv("PIGREP_BENCH_INDEX")
	if dir == "" {
		b.Skip("PIGREP_BENCH_INDEX names no index")
	}
	l := stories.Open(b, dir)
	for _, c := range []struct{ name, text string }{
		{"common", "ENOENT: no such file or directory, open 'a/b/c.go'"},
		{"rare", "ModuleNotFoundError: No module named 'yaml'"},
		{"absent", "zorblaxq exploded badly"},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Find(b.Context(), l.Reader, pi.New(), stories.Disk{}, Request{Text: c.text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
