package corpus_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"pigrep/lab/corpus"
)

// The bytes of a seed are the same on every machine, and so are all figures that are
// said of a corpus. A change here makes benchmarks from before it incomparable.
func TestBytesOfASeed(t *testing.T) {
	const want = "9e1dea8f095d676431bd85f1a7916e401d3e6d5596831df5ce880246a1678cf8"
	opts := corpus.Options{Seed: 7, Bytes: 1 << 20}
	stats, sum := generated(t, opts)
	if sum != want {
		t.Errorf("Generate(%+v) gives files of digest %s, want %s", opts, sum, want)
	}
	if stats.Forks == 0 {
		t.Errorf("Generate(%+v) makes no fork: %+v", opts, stats)
	}
	if _, again := generated(t, opts); again != sum {
		t.Errorf("Generate(%+v) gives other bytes in a directory of another name", opts)
	}
	opts.Seed++
	if _, other := generated(t, opts); other == sum {
		t.Errorf("Generate(%+v) gives the bytes of another seed", opts)
	}
}

// generated returns what was made and a digest of the names and bytes of all files,
// in which the directory, which forks name, is left out.
func generated(t *testing.T, opts corpus.Options) (corpus.Stats, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 1+rand.IntN(40)))
	stats, err := corpus.Generate(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	paths := files(t, dir)
	if len(paths) != stats.Files {
		t.Errorf("Generate(%+v) reports %d files, wrote %d", opts, stats.Files, len(paths))
	}
	sum := sha256.New()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(dir, path)
		fmt.Fprintln(sum, filepath.ToSlash(name))
		sum.Write(bytes.ReplaceAll(data, []byte(filepath.ToSlash(dir)), nil))
	}
	return stats, hex.EncodeToString(sum.Sum(nil))
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

func TestShares(t *testing.T) {
	dir := t.TempDir()
	stats, err := corpus.Generate(dir, corpus.Options{Seed: 5, Bytes: 6 << 20})
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
		{"share of letters of scripts written without spaces", unspaced / letters, 0.002, 0.05},
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
	if _, err := corpus.Generate(dir, corpus.Options{Seed: 1, Bytes: 200 << 10, LongLine: size}); err != nil {
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
