package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/claude"
	"pigrep/adapter/codex"
	"pigrep/adapter/pi"
	"pigrep/indexer"
	"pigrep/internal/content"
	"pigrep/lab/testkit"
)

// An index takes so many entries of a file, and says what it did not take. However the file grows, is
// cut, compressed or written again, it has what an index made at once has, and all of a shorter one.
func TestMostEntriesOfAFile(t *testing.T) {
	t.Parallel()
	const most = 40
	for seed := range uint64(testkit.Rounds(4, 12, 100)) {
		rnd := rand.New(rand.NewPCG(seed, 55))
		dir := t.TempDir()
		h := home{dir: dir}.with(t, adapter.NewRegistry(adapter.Environment{}, pi.New(), claude.New(), codex.New()).Limit(adapter.Limits{Entries: most}), []adapter.Root{{Path: dir, Origin: "test"}})
		file, lines := filepath.Join(dir, "a.jsonl"), 0
		line := func(n int) string {
			switch rnd.IntN(4) {
			case 0:
				return "\n" // no entry, and no document
			case 1:
				return "x\n"
			}
			return message(n, "", fmt.Sprintf("word%d", n))
		}
		text := header("a")
		for range 12 {
			switch rnd.IntN(6) {
			case 0: // it is written again
				text = header("a")
			case 1: // it is cut
				text = text[:rnd.IntN(len(text)+1)]
			default:
				if !strings.HasSuffix(text, "\n") {
					text += "\n"
				}
				for range rnd.IntN(2 * most) {
					lines++
					text += line(lines)
				}
			}
			testkit.Check(t, os.WriteFile(file, []byte(text), 0o600))
			testkit.Check(t, errors.Join(os.RemoveAll(file+content.Suffix)))
			if rnd.IntN(3) == 0 {
				pack(t, file)
			}
			res, fresh := h.checked(t), h.again(t).update(t)
			if diff := testkit.Diff(state(t, fresh.Reader), state(t, res.Reader)); diff != "" {
				t.Fatalf("seed %d (-at once +in steps):\n%s", seed, diff)
			}
			s := res.Reader.Summaries()[0]
			entries := strings.Count(text, `"}]}}`+"\n")
			left := indexer.LeftOut(res.Reader, 0)
			if s.Entries > most || s.Full != (len(left) == 1) || !s.Full && s.Entries < min(entries, most) {
				t.Fatalf("seed %d: %d entries of %d, full %t, left out %v", seed, s.Entries, entries, s.Full, left)
			}
			if entries > most+1 && !s.Full {
				t.Fatalf("seed %d: %d entries, and nothing says that some are left out", seed, entries)
			}
			for _, l := range left {
				if full, ok := errors.AsType[*adapter.FullError](l.Err); !ok || full.Lines != s.Lines {
					t.Errorf("seed %d: left out %v", seed, l)
				}
			}
		}
	}
}
