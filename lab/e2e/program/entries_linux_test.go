package program

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"pigrep/lab/testkit"
)

// A file of tiny lines takes little memory to index and to ask, whether they are a gigabyte in a
// compressed file of 100 kB or tens of millions as they are. Searches and status say what is left out.
func TestFileOfTinyLines(t *testing.T) {
	testkit.Slow(t)
	for name, c := range map[string]struct {
		line   string
		packed bool
		lines  int
		most   int64 // MB
	}{
		"packed":            {`{"type":"message","id":"w1","message":{"role":"user","content":"a"}}` + "\n", true, 15_000_000, 400},
		"packed, no text":   {`{"type":"x"}` + "\n", true, 75_000_000, 400},
		"packed, no JSON":   {"x\n", true, 500_000_000, 400},
		"as they are":       {`{"type":"x"}` + "\n", false, 30_000_000, 2200},
		"as they are, text": {`{"type":"message","message":{"role":"user","content":"a"}}` + "\n", false, 10_000_000, 2200},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			file := filepath.Join(home, ".pi", "agent", "sessions", "--x--", "a.jsonl")
			testkit.Check(t, os.MkdirAll(filepath.Dir(file), 0o700))
			if c.packed {
				file += ".zst"
			}
			f, err := os.Create(file)
			testkit.Check(t, err)
			var w interface {
				Write([]byte) (int, error)
				Close() error
			} = f
			if c.packed {
				w, err = zstd.NewWriter(f)
				testkit.Check(t, err)
			}
			chunk := bytes.Repeat([]byte(c.line), 10_000)
			for range c.lines / 10_000 {
				_, err := w.Write(chunk)
				testkit.Check(t, err)
			}
			testkit.Check(t, w.Close())
			for i, args := range [][]string{{"index", "--rebuild"}, {"nothing"}, {"status"}, {"sessions"}, {"tools"}} {
				cmd := command(t, home, args...)
				var errs bytes.Buffer
				cmd.Stderr = &errs
				out, _ := cmd.Output()
				if strings.Contains(errs.String(), "goroutine") || i < 2 && !strings.Contains(errs.String(), "more entries than an index takes") {
					t.Errorf("%v: %s", args, errs.String())
				}
				if args[0] == "status" && !strings.Contains(string(out), "more entries than an index takes") {
					t.Errorf("%v: %s", args, out)
				}
				if peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10; peak > c.most {
					t.Errorf("%v takes %d MB, want at most %d", args, peak, c.most)
				} else {
					t.Logf("%v takes %d MB and %v of CPU", args, peak, cmd.ProcessState.UserTime())
				}
			}
		})
	}
}
