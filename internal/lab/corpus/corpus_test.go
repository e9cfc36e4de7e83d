package corpus_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/lab/corpus"
)

func TestSameOptionsSameBytes(t *testing.T) {
	for _, builtin := range []bool{true, false} {
		opts := corpus.Options{Seed: 7, Bytes: 1 << 20, Builtin: builtin}
		first, second := t.TempDir(), t.TempDir()
		a, err := corpus.Generate(first, opts)
		if err != nil {
			t.Fatal(err)
		}
		b, err := corpus.Generate(second, opts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("Generate(%+v) twice (-first +second):\n%s", opts, diff)
		}
		sums := digests(t, first)
		if diff := cmp.Diff(sums, digests(t, second)); diff != "" {
			t.Errorf("Generate(%+v): files differ (-first +second):\n%s", opts, diff)
		}
		if len(sums) != a.Files {
			t.Errorf("Generate(%+v) reports %d files, wrote %d", opts, a.Files, len(sums))
		}

		opts.Seed++
		third := t.TempDir()
		if _, err := corpus.Generate(third, opts); err != nil {
			t.Fatal(err)
		}
		if cmp.Equal(sums, digests(t, third)) {
			t.Errorf("Generate(%+v) gives the bytes of another seed", opts)
		}
	}
}

// digests returns the sum of every file by its path under dir. Forks name
// their parent by its path, which the temporary directory is a part of.
func digests(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	for _, path := range files(t, dir) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(dir, path)
		sums[name] = sha256.Sum256(bytes.ReplaceAll(data, []byte(dir), nil))
	}
	return sums
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

type entry struct {
	Type     string  `json:"type"`
	ID       string  `json:"id"`
	ParentID *string `json:"parentId"`
	Message  struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

type contentBlock struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Thinking  string `json:"thinking"`
	Signature string `json:"thinkingSignature"`
	Data      string `json:"data"`
	Name      string `json:"name"`
}

// The texts are the built-in ones: what a machine has decides about a share as small as that of images.
func TestShares(t *testing.T) {
	dir := t.TempDir()
	stats, err := corpus.Generate(dir, corpus.Options{Seed: 3, Bytes: 6 << 20, Builtin: true})
	if err != nil {
		t.Fatal(err)
	}
	var total, result, assistant, user, images, signatures, letters, unspaced float64
	var logs []float64
	tools, calls := map[string]float64{}, 0.0
	lines := 0
	for _, path := range files(t, dir) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 64<<20)
		for n := 1; sc.Scan(); n++ {
			size := float64(len(sc.Bytes()) + 1)
			total += size
			lines++
			logs = append(logs, math.Log(size))
			var e entry
			if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
				t.Fatalf("%s:%d: %v", path, n, err)
			}
			if n == 1 {
				if e.Type != "session" {
					t.Fatalf("%s begins with a line of type %q", path, e.Type)
				}
				continue
			}
			if known[e.ID] {
				t.Errorf("%s:%d: the id %s comes twice", path, n, e.ID)
			}
			known[e.ID] = true
			if e.ParentID != nil && !known[*e.ParentID] {
				t.Errorf("%s:%d: the parent %s is not above", path, n, *e.ParentID)
			}
			switch e.Message.Role {
			case "toolResult":
				result += size
			case "assistant":
				assistant += size
			case "user":
				user += size
			default:
				continue
			}
			var blocks []contentBlock
			if e.Message.Role == "bashExecution" {
				continue
			}
			if err := json.Unmarshal(e.Message.Content, &blocks); err != nil {
				t.Fatalf("%s:%d: %v", path, n, err)
			}
			for _, b := range blocks {
				images += float64(len(b.Data))
				signatures += float64(len(b.Signature))
				if b.Type == "toolCall" {
					tools[b.Name]++
					calls++
				}
				for _, r := range b.Text + b.Thinking {
					if unicode.IsLetter(r) {
						letters++
						if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
							unspaced++
						}
					}
				}
			}
		}
		if err := sc.Err(); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if int64(total) != stats.Bytes || lines != stats.Lines {
		t.Errorf("Generate reports %d bytes in %d lines, wrote %.0f in %d", stats.Bytes, stats.Lines, total, lines)
	}
	if over := total - 6<<20; over < 0 || over > 4<<20 {
		t.Errorf("asked for %d bytes, made %.0f", 6<<20, total)
	}
	if stats.Forks == 0 || stats.Copied == 0 || stats.Branched == 0 {
		t.Errorf("a corpus without forks or branches: %+v", stats)
	}
	mean := 0.0
	for _, l := range logs {
		mean += l / float64(len(logs))
	}
	for _, c := range []struct {
		what           string
		got, low, high float64
	}{
		{"mean of the natural logarithm of line bytes", mean, 6.7, 7.4},
		{"share of tool results", result / total, 0.42, 0.66},
		{"share of assistant messages", assistant / total, 0.25, 0.55},
		{"share of user messages", user / total, 0.01, 0.1},
		{"share of images", images / total, 0.001, 0.1},
		{"share of signatures", signatures / total, 0.03, 0.1},
		{"share of letters of scripts written without spaces", unspaced / letters, 0.005, 0.09},
		{"share of bash among tool calls", tools["bash"] / calls, 0.36, 0.46},
		{"share of read among tool calls", tools["read"] / calls, 0.18, 0.28},
		{"share of edit among tool calls", tools["edit"] / calls, 0.13, 0.23},
		{"share of write among tool calls", tools["write"] / calls, 0.03, 0.09},
	} {
		if c.got < c.low || c.got > c.high {
			t.Errorf("%s is %.3f, want %.3f to %.3f", c.what, c.got, c.low, c.high)
		}
	}
}

func TestLongLine(t *testing.T) {
	dir := t.TempDir()
	const size = 3 << 20
	if _, err := corpus.Generate(dir, corpus.Options{Seed: 1, Bytes: 200 << 10, LongLine: size, Builtin: true}); err != nil {
		t.Fatal(err)
	}
	longest := 0
	for _, path := range files(t, dir) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			longest = max(longest, len(line))
			if !json.Valid(line) {
				t.Fatalf("%s: a line that is not JSON: %.200s", path, line)
			}
		}
	}
	if longest < size*9/10 || longest > size*11/10 {
		t.Errorf("the longest line has %d bytes, want about %d", longest, size)
	}
}

func TestNoBytesAskedFor(t *testing.T) {
	if _, err := corpus.Generate(t.TempDir(), corpus.Options{}); err == nil {
		t.Error("Generate of no bytes gives no error")
	}
}
