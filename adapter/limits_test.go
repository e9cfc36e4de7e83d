package adapter

import (
	"os"
	"path/filepath"
	"testing"

	"pigrep/internal/content"
	"pigrep/lab/testkit"
)

// A small file has few entries, however short its lines are: each takes memory.
func TestLimitsOfAFile(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]int{0: 100_000, 3_000_000: 100_000, 6_400_000: 200_000, 1 << 30: DefaultMaxEntries} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		testkit.Check(t, os.WriteFile(path, nil, 0o600))
		testkit.Check(t, os.Truncate(path, size))
		f, err := content.Open(path, 0)
		testkit.Check(t, err)
		defer f.Close()
		if got := (Limits{}).Of(f).Entries; got != want {
			t.Errorf("%d bytes: %d entries, want %d", size, got, want)
		}
	}
}
