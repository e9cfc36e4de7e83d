//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What stands before or after a word decides whether an index has it as a word.
func TestEachWord(t *testing.T) {
	for text, want := range map[string][]string{
		"the transfers, and compression.":                             {"transfers", "compression"},
		"transfers_done transfers2 9transfers Transfers émotransfers": nil,
		"short averyverylongwordindeed":                               nil,
		"src/transfers.go\ntransfers":                                 {"transfers", "transfers"},
		"":                                                            nil,
	} {
		var got []string
		eachWord([]byte(text), func(word []byte) { got = append(got, string(word)) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("words of %q (-want +got):\n%s", text, diff)
		}
	}
}

// Rare words are words of the texts. What an escape makes of the bytes of a file is
// none, and neither is what only the arguments of calls have.
func TestFindRareWords(t *testing.T) {
	dir := t.TempDir()
	lines := []string{`{"type":"session","version":3,"id":"a","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/x"}`}
	for range rareTexts {
		lines = append(lines, `{"type":"message","id":"1","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"one\ntransfers"}}`,
			`{"type":"message","id":"2","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"unrelated"}}]}}`)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := findRareWords(dir)
	if diff := cmp.Diff([]string{"transfers"}, got); err != nil || diff != "" {
		t.Errorf("findRareWords: %v (-want +got):\n%s", err, diff)
	}
}

// The part of the page that people write outlives a run.
func TestWriteKeepsTheOutlook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "BENCHMARKS.md")
	if err := os.WriteFile(path, []byte("# Old\n\n"+outlook+"\n\n- much\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &suite{}
	b.rows = append(b.rows, rowOf(&tree{name: "5 MB"}, "index size", "3 MB", "≤ 0.55").against("session files 5 MB", 0.6))
	if err := b.write(path, "make bench"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	if !strings.Contains(page, "| 5 MB | index size | 3 MB | session files 5 MB | 0.60 | ≤ 0.55 |\n") ||
		!strings.HasSuffix(page, "\n\n"+outlook+"\n\n- much\n") || strings.Contains(page, "# Old") {
		t.Errorf("page:\n%s", page)
	}
}
