package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/claude"
	"pigrep/adapter/codex"
	"pigrep/adapter/pi"
	"pigrep/indexer"
	"pigrep/lab/corpus"
	"pigrep/lab/testkit"
	"pigrep/query/blame"
	"pigrep/ui/cli/location"
)

// score counts the lines of a repository that have 12 characters or more.
type score struct {
	Written      int // by sessions
	Found, Right int // said to be of a session, exactly or but for white space; of the right one
	Changed      int // by people, a little
	Alike, Like  int // marked as alike; with the author before
}

func (s score) precision() float64 { return float64(s.Right) / float64(max(1, s.Found)) }
func (s score) recall() float64    { return float64(s.Right) / float64(max(1, s.Written)) }

func (s *score) add(line authored, how, author string) {
	switch {
	case len(strings.TrimSpace(line.Text)) < 12:
		return
	case how == blame.Alike && author == cmp.Or(line.Was, line.Author):
		s.Alike, s.Like = s.Alike+1, s.Like+1
	case how == blame.Alike:
		s.Alike++
	case author != "" && author == line.Author:
		s.Found, s.Right = s.Found+1, s.Right+1
	case author != "":
		s.Found++
	}
	if line.Author != "" {
		s.Written++
	}
	if line.Was != "" {
		s.Changed++
	}
}

// blameAll asks for every file of a repository.
func blameAll(t *testing.T, seed uint64, sessions, edits int) (s score, made *knownRepo) {
	dir := t.TempDir()
	made = buildRepo(dir, repoOptions{Seed: seed, Sessions: sessions, Edits: edits})
	h := homeOf(t, dir, pi.New(), claude.New(), codex.New())
	res := h.update(t)
	for _, name := range slices.Sorted(maps.Keys(made.Files)) {
		var lines []string
		for _, l := range made.Files[name] {
			lines = append(lines, l.Text)
		}
		answer, err := blame.Run(t.Context(), res.Reader, h.registry, location.Disk{}, blame.Request{Path: path.Join(made.Root, name), Relative: name, Lines: lines})
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, b := range answer.Blocks {
			for i := b.From - 1; i < b.To; i++ {
				author := ""
				if b.Origin != nil {
					author = b.SessionID
				}
				l := made.Files[name][i]
				s.add(l, b.Match, author)
				if testing.Verbose() && (author != l.Author || l.Was != "") && len(strings.TrimSpace(l.Text)) >= 12 {
					t.Logf("%s:%d: %q is of %.8s, was of %.8s, said %s %.8s", name, i+1, l.Text, l.Author, l.Was, b.Match, author)
				}
				at++
			}
		}
		if at != len(lines) {
			t.Errorf("%s: %d lines, want %d", name, at, len(lines))
		}
	}
	return s, made
}

// Of lines whose authors are known, blame names almost all, and hardly ever another one.
func TestBlameOfKnownAuthors(t *testing.T) {
	var all score
	for seed := range uint64(testkit.HowMany(2, 5, 40)) {
		s, made := blameAll(t, seed+1, 20, 200)
		t.Logf("seed %d: %d calls that changed files, %+v, precision %.3f, recall %.3f", seed+1, made.Edits, s, s.precision(), s.recall())
		all = score{all.Written + s.Written, all.Found + s.Found, all.Right + s.Right, all.Changed + s.Changed, all.Alike + s.Alike, all.Like + s.Like}
	}
	fmt.Printf("%+v: precision %.4f, recall %.4f\n", all, all.precision(), all.recall())
	if all.precision() < .98 || all.recall() < .9 {
		t.Errorf("precision %.4f, recall %.4f; want .98 and .90", all.precision(), all.recall())
	}
	if 10*all.Like < 9*all.Alike || 2*all.Like < all.Changed {
		t.Errorf("of %d lines that people changed a little, %d of %d are said to be like that of the right session", all.Changed, all.Like, all.Alike)
	}
}

// BenchmarkBlame asks for the longest file of a repository, of about 1,000 lines, in an index of
// PIGREP_BENCH_MB megabytes of other sessions. It reports the median too.
func BenchmarkBlame(b *testing.B) {
	dir := b.TempDir()
	made := buildRepo(filepath.Join(dir, "authors"), repoOptions{Seed: 9, Sessions: 20, Edits: 400, Lines: 1100})
	mb, _ := strconv.ParseInt(os.Getenv("PIGREP_BENCH_MB"), 10, 64)
	if _, err := corpus.Generate(filepath.Join(dir, "corpus"), corpus.Options{Seed: 1, Bytes: max(mb, 10) * 1e6}); err != nil {
		b.Fatal(err)
	}
	registry := adapter.NewRegistry(adapter.Environment{}, pi.New(), claude.New(), codex.New()).In([]adapter.Root{{Path: dir, Origin: "test"}})
	opt := options(filepath.Join(b.TempDir(), "index"), "")
	opt.Adapter, opt.Roots = registry, []adapter.Root{{Path: dir, Origin: "test"}}
	res, err := indexer.Update(b.Context(), opt)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Reader.Close()
	var name string
	for _, n := range slices.Sorted(maps.Keys(made.Files)) {
		if name == "" || len(made.Files[n]) > len(made.Files[name]) {
			name = n
		}
	}
	req := blame.Request{Path: path.Join(made.Root, name), Relative: name}
	for _, l := range made.Files[name] {
		req.Lines = append(req.Lines, l.Text)
	}
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := blame.Run(b.Context(), res.Reader, registry, location.Disk{}, req); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(len(req.Lines)), "lines")
}
