package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/lab/testkit"
	"pigrep/query/search"
)

// A short list of sessions is the beginning of a long one, with the same hits and counts,
// although a search with a short limit leaves out sessions that cannot be shown. Some
// sessions have been forked, and some have grown since the first update.
func TestShortListIsBeginningOfLongList(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 11))
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	vocabulary := strings.Fields("cache retry timeout token login refresh config error redis deploy parser the of how is and to walrus refreshes tokens getUserName")
	said := func(file, line int) string {
		var text []string
		for range 1 + rnd.IntN(12) {
			text = append(text, vocabulary[int(float64(len(vocabulary))*rnd.Float64()*rnd.Float64())])
		}
		said := message(file*1000+line, "", strings.Join(text, " "))
		if rnd.IntN(2) == 0 { // which counts less in the second stage
			said = strings.Replace(said, `"role":"user","content":[{"type":"text","text":`, `"role":"assistant","content":[{"type":"thinking","thinking":`, 1)
		}
		return said
	}
	var texts []string
	write := func(file int) {
		writeInPlace(t, filepath.Join(root, fmt.Sprintf("%03d.jsonl", file)), []byte(header(fmt.Sprintf("s%03d", file))+texts[file]))
	}
	for file := range 500 {
		text := ""
		if file%4 == 3 { // a fork of some entry
			lines := strings.SplitAfter(texts[rnd.IntN(file)], "\n")
			text = strings.Join(lines[:1+rnd.IntN(len(lines)-1)], "")
		}
		for line := range 1 + rnd.IntN(9) {
			text += said(file, line)
		}
		texts = append(texts, text)
		write(file)
	}
	update(t, dir, root).Reader.Close()
	for file := 0; file < len(texts); file += 7 {
		for line := range 1 + rnd.IntN(4) {
			texts[file] += said(file, 100+line)
		}
		write(file)
	}
	r := update(t, dir, root).Reader
	defer r.Close()
	search := func(text string, limit int, all bool) *search.Response {
		resp, err := search.Run(t.Context(), r, pi.New(), disk{}, search.Request{Text: text, Limit: limit, AllWords: all})
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	for range testkit.HowMany(10, 80, 80) {
		var words []string
		for range 1 + rnd.IntN(4) {
			words = append(words, vocabulary[rnd.IntN(len(vocabulary))])
		}
		if len(words) > 2 && rnd.IntN(3) == 0 {
			words = []string{words[0], `"` + words[1] + " " + words[2] + `"`}
		}
		text, all := strings.Join(words, " "), rnd.IntN(4) == 0
		long := search(text, 99_999, all)
		for _, limit := range []int{1, 20, 130, 200} {
			short := search(text, limit, all)
			if short.Total != long.Total || short.TotalAny != long.TotalAny || short.Weak != long.Weak || short.SessionTotal != long.SessionTotal {
				t.Fatalf("%q, %d sessions: totals %d %d %d %d, want %d %d %d %d", text, limit,
					short.Total, short.TotalAny, short.Weak, short.SessionTotal, long.Total, long.TotalAny, long.Weak, long.SessionTotal)
			}
			want, got := long.Sessions[:min(limit, len(long.Sessions))], short.Sessions
			if a, b := asJSON(t, want), asJSON(t, got); a != b {
				t.Fatalf("%q, %d sessions:\n%s\nwant\n%s", text, limit, b, a)
			}
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
