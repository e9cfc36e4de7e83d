//go:build linux

package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/corpus"
)

// The characters beside a word decide whether an index has it as a word.
func TestWordsOf(t *testing.T) {
	for text, want := range map[string][]string{
		"the transfers, and readLine.":                          {"the", "transfers", "and", "readLine"},
		"transfers_done transfers2 9transfers émotransfers end": {"end"},
		"src/transfers.go\ntransfers":                           {"src", "transfers", "go", "transfers"},
		"":                                                      nil,
	} {
		var got []string
		for _, word := range wordsOf([]byte(text)) {
			got = append(got, string(word))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("words of %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestCamel(t *testing.T) {
	for word, want := range map[string]bool{"readLine": true, "readRequestLine": true, "readline": false, "ReadLine": false, "readURL": false, "readX": false, "aLine": false} {
		if got := camel.MatchString(word); got != want {
			t.Errorf("camel matches %q: %v", word, got)
		}
	}
}

// Rare words are words of the texts. What an escape makes of the bytes of a file is
// none, and neither is what only the arguments of calls have.
func TestSurvey(t *testing.T) {
	dir := t.TempDir()
	lines := []string{`{"type":"session","version":3,"id":"a","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/x"}`}
	for range rareTexts {
		lines = append(lines, `{"type":"message","id":"1","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"one\ntransfers in readLine"}}`,
			`{"type":"message","id":"2","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"unrelated"}}]}}`)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := takeSurvey(dir)
	// one, transfers, in, read, line, readline; bash, command, unrelated
	want := survey{Terms: 9, Rare: []string{"transfers"}, Identifiers: []string{"readLine"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("takeSurvey: %v (-want +got):\n%s", err, diff)
	}
}

// The vocabulary of a generated corpus is about as large as that of real sessions of
// this size.
func TestVocabulary(t *testing.T) {
	dir := t.TempDir()
	const size = 12_000_000
	if _, err := corpus.Generate(dir, corpus.Options{Seed: corpusSeed, Bytes: size}); err != nil {
		t.Fatal(err)
	}
	got, err := takeSurvey(dir)
	if err != nil {
		t.Fatal(err)
	}
	if law := corpus.HeapsK * math.Pow(size/1e6, corpus.HeapsBeta); math.Abs(float64(got.Terms)/law-1) > 0.15 {
		t.Errorf("%d distinct terms, Heaps' law gives %.0f", got.Terms, law)
	}
}

// A line that only one side finds needs a reason.
func TestComparison(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("ripgrep is not installed; only the comparison of benchmarks runs it")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	lines := `{"type":"session","version":3,"id":"a","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/x"}
{"type":"message","id":"transfers","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"one"}}
{"type":"message","id":"2","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"\ntransfers"}}
{"type":"message","id":"3","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"two transfers"}}
`
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	for printed, want := range map[string]string{
		"3 4": "<nil> 2 2 [1 of rg's only in bytes that are no text 1 hidden from rg by an escape]",
		"4":   "<nil> 1 2 [1 of rg's only in bytes that are no text]", // rg does not have 3
		"3":   "is found by grep: false",
		"2 1": "is found by grep: true",
	} {
		object := `{"type":"match","data":{"sessionPath":"` + path + `","line":%s}}\n`
		c := comparison{Grep: append([]string{"printf", object}, strings.Fields(printed)...), RG: []string{"rg", "-n", "-o", "-w", "transfers", dir}, Expr: `\btransfers\b`}
		got := fmt.Sprint(c.run(), c.Ours, c.Theirs, c.why())
		if !strings.Contains(got, want) {
			t.Errorf("grep prints lines %s: %s, want %q", printed, got, want)
		}
	}
}

// The page has the figures of the last round and the goals of all, and the part that people
// write outlives a run.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "BENCHMARKS.md")
	if err := os.WriteFile(path, []byte("# Old\n\n"+outlook+"\n\n- much\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var rounds []*suite
	for _, size := range []string{"2 MB", "3 MB"} {
		b := &suite{}
		b.add(rowOf(&tree{name: "5 MB"}, "index size", size, "≤ 0.40").against("session files", "5 MB", 0.6).against("FTS5", "4 MB", 0.75))
		rounds = append(rounds, b)
	}
	if err := write(path, "make bench", rounds); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	if !strings.Contains(page, "\n## 5 MB\n") || !strings.Contains(page, "| index size | 3 MB | session files 5 MB (0.60); FTS5 4 MB (0.75) | ≤ 0.40 |\n") ||
		!strings.Contains(page, "| index size | 2 MB; 0.60 of session files; 0.75 of FTS5 | 3 MB; 0.60 of session files; 0.75 of FTS5 | ≤ 0.40 |\n") ||
		!strings.HasSuffix(page, "\n\n"+outlook+"\n\n- much\n") || strings.Contains(page, "# Old") {
		t.Errorf("page:\n%s", page)
	}
}
