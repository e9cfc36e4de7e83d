package program

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pigrep/index/segment"
	"pigrep/lab/testkit"
)

// Whatever is damaged in the index, the answer is right or an error: never fewer hits
// with exit code 0, never a stack trace.
func TestDamagedIndex(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "index")
	where := []string{"--session-dir", sessions(), "--index-dir", dir}
	good, r := search(t, home, append(where, "gateway")...)
	if r.exit != 0 || len(good.Hits) == 0 {
		t.Fatalf("exit code %d, %d hits\n%s", r.exit, len(good.Hits), r.stderr)
	}
	var files []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files in the index, %v", len(files), err)
	}
	pristine := filepath.Join(home, "pristine")
	copyTree(t, dir, pristine)
	for _, path := range files {
		rel, _ := filepath.Rel(dir, path)
		for name, damage := range map[string]func(data []byte) []byte{
			"cut in half":   func(data []byte) []byte { return data[:len(data)/2] },
			"emptied":       func(data []byte) []byte { return nil },
			"zeroed":        func(data []byte) []byte { return make([]byte, len(data)) },
			"removed":       nil,
			"a bit flipped": func(data []byte) []byte { data[len(data)/3] ^= 0x10; return data },
		} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			copyTree(t, pristine, dir)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case damage == nil:
				err = os.Remove(path)
			case len(data) == 0:
				continue
			default:
				err = os.WriteFile(path, damage(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			e, r := search(t, home, append(where, "gateway")...)
			if bytes.Contains(r.stderr, []byte("goroutine ")) || bytes.Contains(r.stderr, []byte("panic:")) || r.exit != 0 && r.exit != 2 {
				t.Errorf("%s %s: exit code %d\n%.1500s", rel, name, r.exit, r.stderr)
			}
			if r.exit == 0 && (len(e.Hits) != len(good.Hits) || e.Total != good.Total) {
				t.Errorf("%s %s: %d hits, total %d, want %d and %d\n%s", rel, name, len(e.Hits), e.Total, len(good.Hits), good.Total, r.stderr)
			}
		}
	}
}

// Damage that shows only when a command reads the damaged part of a segment is repaired
// as well: the command rebuilds the index, says so, and answers.
func TestDamageFoundBySearching(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "index")
	where := []string{"--session-dir", sessions(), "--index-dir", dir}
	good, r := search(t, home, append(where, "gateway")...)
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s", r.exit, r.stderr)
	}
	for _, command := range [][]string{{"search", "gateway"}, {"sessions", "gateway"}, {"tools", "calls"}, {"tools", "commands"}, {"usage"}, {"show", "d1000003"}, {"grep", "gateway"}} {
		segments, err := filepath.Glob(filepath.Join(dir, "segments", "*.zap"))
		if err != nil || len(segments) == 0 {
			t.Fatalf("segments %v, %v", segments, err)
		}
		for _, path := range segments {
			data := []byte(readFile(t, path))
			// The end is compared on opening; the rest only when it is read.
			for i := len(data) / 4; i < len(data)-8<<10; i++ {
				data[i] = 0
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := pigrep(t, home, append(slices.Clone(command), where...)...)
		if r.exit != 0 || !strings.Contains(string(r.stderr), "damaged") || !strings.Contains(string(r.stderr), "rebuil") {
			t.Errorf("%s: exit code %d, stderr %q", command, r.exit, r.stderr)
		}
		again, r := search(t, home, append(where, "gateway")...)
		if r.exit != 0 || len(r.stderr) > 0 || again.Total != good.Total {
			t.Errorf("after %s: %d hits of %d, exit code %d, stderr %q", command, again.Total, good.Total, r.exit, r.stderr)
		}
	}
}

// Wherever a bit or a sector of an index changes, a command either notices it or answers
// as before. The next command that may write repairs it.
func TestSmallDamage(t *testing.T) {
	testkit.Unraced(t)
	seed := uint64(4)
	if testkit.Long() {
		seed = rand.Uint64()
		t.Logf("seed %d", seed)
	}
	rnd := rand.New(rand.NewPCG(seed, 18))
	home, root, words := someSessions(t, int64(testkit.HowMany(2, 6, 6))<<20)
	dir := filepath.Join(home, "index")
	where := []string{"--session-dir", root, "--index-dir", dir}
	writeSession(t, filepath.Join(root, "x", "gone.jsonl"), "the gone hyrax")
	for generation := range 3 { // later ones with deleted documents
		if generation > 0 {
			_ = os.Remove(filepath.Join(root, "x", "gone.jsonl"))
			appendPrompt(t, filepath.Join(root, "x", "own.jsonl"), generation, "one more hyrax")
		}
		if r := pigrep(t, home, append([]string{"index"}, where...)...); r.exit != 0 {
			t.Fatalf("index: exit code %d\n%s", r.exit, r.stderr)
		}
	}
	var commands [][]string
	for _, word := range append(words, "hy*", "gatewy", "kind:prompt test", "role:toolResult", "return OR error") {
		commands = append(commands, []string{"search", "--json", "--", word})
	}
	commands = append(commands, []string{"grep", "--json", "-w", "hyrax"}, []string{"grep", "--json", "ENOEN"}, []string{"grep", "-c", "verload"},
		[]string{"sessions", "--json"}, []string{"tools", "--json"}, []string{"tools", "files", "--json"}, []string{"usage", "--json"})
	run := func(c []string, flags ...string) result { // the last of a flag counts
		t.Helper()
		r := pigrep(t, home, slices.Concat(c[:1], where, flags, c[1:])...)
		if bytes.Contains(r.stderr, []byte("goroutine ")) || bytes.Contains(r.stderr, []byte("panic:")) {
			t.Errorf("%q: %.1500s", c, r.stderr)
		}
		return r
	}
	var want [][]byte
	for _, c := range commands {
		r := run(c, "--no-update")
		if r.exit != 0 && r.exit != 1 || len(r.stdout) == 0 {
			t.Fatalf("%q: exit code %d\n%s", c, r.exit, r.stderr)
		}
		want = append(want, r.stdout)
	}
	pristine := filepath.Join(home, "pristine")
	copyTree(t, dir, pristine)
	var files []string
	for _, pattern := range []string{"current", "gen-*/*", "segments/*", "segments/*"} { // segments twice: damaged more often
		list, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		files = append(files, list...)
	}
	noticed, asked := 0, 0
	texts := map[string]*segmentText{}
	for range testkit.Rounds(5, 5, 250) {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		copyTree(t, pristine, dir)
		path := files[rnd.IntN(len(files))]
		data := []byte(readFile(t, path))
		at := rnd.IntN(len(data))
		what := fmt.Sprintf("%s: a bit of byte %d of %d flipped", path, at, len(data))
		if rnd.IntN(3) == 0 {
			at &^= 511
			what = fmt.Sprintf("%s: zeros from %d of %d", path, at, len(data))
			clear(data[at:min(at+512, len(data))])
		} else {
			data[at] ^= 1 << rnd.IntN(8)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		check := func(c []string, before []byte) {
			t.Helper()
			r := run(c, "--no-update")
			if r.exit == 2 && len(r.stderr) > 0 {
				noticed++
				return
			}
			got, want := string(r.stdout), string(before)
			// grep continues without an index that is damaged, or looks like another version, and says so.
			if strings.Contains(string(r.stderr), "damaged") || strings.Contains(string(r.stderr), "instead of the index") {
				got, want = hitsOf(r.stdout), hitsOf([]byte(want))
				noticed++
			}
			if got != want {
				t.Errorf("%s: %q: exit code %d, other bytes\n%.500s\n%.500s", what, c, r.exit, r.stderr, r.stdout)
			}
		}
		for i, c := range commands {
			check(c, want[i])
		}
		if filepath.Ext(path) == segment.Ext {
			good := filepath.Join(pristine, "segments", filepath.Base(path))
			if texts[good] == nil {
				texts[good] = readSegmentText(t, good)
			}
			changed := texts[good].changed(t, path)
			rnd.Shuffle(len(changed), func(i, j int) { changed[i], changed[j] = changed[j], changed[i] })
			for _, word := range changed[:min(len(changed), testkit.HowMany(1, 2, 6))] {
				asked++
				c := []string{"search", "--json", "--flat", "-n", "1000", "--scope", "all", "--", word}
				r := run(c, "--no-update", "--index-dir", pristine)
				if r.exit != 0 {
					t.Fatalf("%q without damage: exit code %d\n%s", c, r.exit, r.stderr)
				}
				check(c, r.stdout)
			}
		}
		for i, c := range commands[:3] {
			if r := run(c); r.exit != 0 && r.exit != 1 || hitsOf(r.stdout) != hitsOf(want[i]) {
				t.Errorf("%s: %q with an update: exit code %d\n%.500s\n%.500s", what, c, r.exit, r.stderr, r.stdout)
			}
		}
	}
	if noticed == 0 {
		t.Error("no damage was noticed")
	}
	t.Logf("%d answers noticed damage; %d words were asked for because they were damaged", noticed, asked)
}

// segmentText is the words of a segment, and one of each document.
type segmentText struct {
	words []string
	of    map[uint32]string
}

var plainWord = regexp.MustCompile(`^[a-z][a-z0-9]{2,20}$`)

func readSegmentText(t *testing.T, path string) *segmentText {
	t.Helper()
	s, err := segment.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := &segmentText{of: map[uint32]string{}}
	s.Walk(segment.FieldText, func(b []byte, doc, _, _ uint32) {
		if !plainWord.Match(b) {
			return
		}
		if n := len(x.words); n == 0 || x.words[n-1] != string(b) {
			x.words = append(x.words, string(b))
		}
		x.of[doc] = x.words[len(x.words)-1]
	})
	if err := s.Fault(); err != nil {
		t.Fatal(err)
	}
	return x
}

// changed returns the words whose dictionary or postings cannot be read from a damaged
// file of the segment, and words of documents that cannot be read.
func (x *segmentText) changed(t *testing.T, damaged string) (list []string) {
	t.Helper()
	s, err := segment.Open(damaged)
	if err != nil {
		return x.words
	}
	try := func(word string, read func()) {
		if read(); s.Fault() == nil {
			return
		}
		list = append(list, word)
		s.Close()
		if s, err = segment.Open(damaged); err != nil { // without the fault
			t.Fatal(err)
		}
	}
	for _, word := range x.words {
		try(word, func() {
			p := s.Postings(segment.FieldText, []byte(word))
			for ok := true; ok; {
				_, _, _, ok = p.Next()
			}
		})
	}
	for doc, word := range x.of {
		try(word, func() { s.ID(doc) })
	}
	s.Close()
	slices.Sort(list)
	return slices.Compact(list)
}

// hitsOf returns an answer without the warnings and the state of the index after it.
func hitsOf(answer []byte) string {
	before, _, _ := strings.Cut(string(answer), `"warnings":`)
	return before
}
