package program

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"pigrep/index"
	"pigrep/lab/testkit"
)

// An answer from a generation and memory has the same bytes as one from a new index,
// whatever happened to the files since the generation. Here they are the sample sessions and
// one that the real pi changed, and another process holds the lock of the index.
func TestMemoryAnswersLikeANewIndex(t *testing.T) {
	t.Parallel()
	stories := testkit.Stories(t)
	for _, story := range stories[:testkit.HowMany(1, len(stories), len(stories))] {
		t.Run(story.Name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			dir := filepath.Join(home, "sessions")
			if err := os.CopyFS(dir, os.DirFS(sessions())); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "live.jsonl")
			warm := []string{"--session-dir", dir, "--index-dir", filepath.Join(home, "warm")}
			var last []byte
			for i, step := range story.Steps {
				if step.Data == nil {
					if err := os.RemoveAll(file); err != nil {
						t.Fatal(err)
					}
				} else if err := os.WriteFile(file, step.Data, 0o644); err != nil {
					t.Fatal(err)
				}
				last = slices.Concat(last, step.Data)
				time.Sleep(20 * time.Millisecond) // until the times of the file prove it unchanged; see settle in indexer
				if i == 0 {
					pigrep(t, home, append([]string{"index"}, warm...)...)
					continue
				}
				compareWithNewIndex(t, step.Name, home, dir, warm, last, step.Data != nil || story.Steps[0].Data != nil)
			}
		})
	}
}

// indexState matches what may differ between an answer from memory and one from a new index.
var indexState = regexp.MustCompile(`"(generation|pendingFiles|pendingBytes)":[0-9]+`)

// compareWithNewIndex locks the index that the flags in warm name, and compares the answers
// of many commands, which then index in memory, with those from a new index. text is
// everything that the changed file has contained so far; changed says whether the file
// differs from what is indexed.
func compareWithNewIndex(t *testing.T, what, home, dir string, warm []string, text []byte, changed bool) {
	t.Helper()
	cold := []string{"--session-dir", dir, "--index-dir", filepath.Join(t.TempDir(), "cold")}
	if r := pigrep(t, home, append([]string{"index"}, cold...)...); r.exit != 0 {
		t.Fatalf("%s: pigrep index: %s", what, r.stderr)
	}
	w, err := index.OpenWriter(warm[3], index.WriterOptions{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	commands := [][]string{
		{"sessions", "--json"}, {"tools", "calls", "--json"}, {"tools", "commands", "--json"}, {"tools", "files", "--json"},
		{"usage", "--by", "session", "--json"}, {"show", "live", "--json"}, {"resume", "live", "--in", home, "--json"}, {"export", "live"},
	}
	for i, word := range someWords(text, 6) {
		commands = append(commands, [][]string{
			{"search", "--json", word}, {"search", "--json", word[:3] + "*"}, {"search", "--json", "--flat", "--scope", "all", word + "~ gateway"},
			{"grep", "--json", "-F", word}, {"sessions", "--json", word}, {"search", "--json", "--explain", strconv.Quote(word)},
		}[i])
	}
	if r := pigrep(t, home, append([]string{"sessions", "--json"}, warm...)...); bytes.Contains(r.stdout, []byte(`"pendingFiles":1,`)) != changed {
		t.Errorf("%s: what is in memory is not what has changed: %s", what, r.stderr)
	}
	for _, c := range commands {
		a, b := pigrep(t, home, slices.Concat(c, warm)...), pigrep(t, home, slices.Concat(c, cold)...)
		x, y := indexState.ReplaceAll(a.stdout, nil), indexState.ReplaceAll(b.stdout, nil)
		if a.exit != b.exit || !bytes.Equal(x, y) {
			t.Errorf("%s: %q: exit codes %d and %d, answers from memory and from a new index:\n%.2000s\n%.2000s\n%s", what, c, a.exit, b.exit, x, y, a.stderr)
		}
	}
}

var (
	saidText = regexp.MustCompile(`"(?:text|content|name|summary|thinking)":"((?:[^"\\]|\\.)+)"`)
	saidWord = regexp.MustCompile(`[a-z]{4,12}`)
)

// someWords returns up to n words that were said, spread over the session.
func someWords(session []byte, n int) (words []string) {
	var said []string
	for _, text := range saidText.FindAllSubmatch(session, -1) {
		said = append(said, saidWord.FindAllString(string(text[1]), -1)...)
	}
	for i := range min(n, len(said)) {
		words = append(words, said[(2*i+1)*len(said)/(2*n)])
	}
	return words
}
