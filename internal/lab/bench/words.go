//go:build linux

package main

import (
	"fmt"
	"io"
	"slices"

	"pigrep/adapter"
	"pigrep/adapter/jsonl"
	"pigrep/adapter/pi"
	"pigrep/internal/session"
)

// A rare word is this long, and in about so many texts.
const (
	rareMin, rareMax = 9, 14
	rareTexts        = 5
)

// rareWords is how many there are at most: what one takes depends on the texts that
// happen to have it, and on words like it.
const rareWords = 5

// findRareWords returns words that few prompts, replies and results of the session
// files have, from all of the alphabet. They come from the decoded texts: in the bytes
// of a file what stands before a word may look like a part of it.
func findRareWords(dir string) ([]string, error) {
	texts := make(map[string]int) // that have the word
	seen := make(map[string]bool) // in the text at hand
	err := eachFile(dir, func(r io.Reader) error {
		return eachPart(r, func(p *session.Part) {
			switch p.Kind {
			case session.KindPrompt, session.KindReply, session.KindResult:
			default:
				return
			}
			clear(seen)
			eachWord(p.Text, func(word []byte) {
				if !seen[string(word)] {
					seen[string(word)] = true
					texts[string(word)]++
				}
			})
		})
	})
	if err != nil {
		return nil, err
	}
	best, distance := []string(nil), 1<<30
	for word, n := range texts {
		d := max(n-rareTexts, rareTexts-n)
		if n < 2 || d > distance {
			continue
		}
		if d < distance {
			best, distance = nil, d
		}
		best = append(best, word)
	}
	if len(best) == 0 {
		return nil, fmt.Errorf("no rare word in %s", dir)
	}
	slices.Sort(best)
	n := min(rareWords, len(best))
	words := make([]string, n)
	for i := range words {
		words[i] = best[(2*i+1)*len(best)/(2*n)]
	}
	return words, nil
}

// eachWord visits the words of rareMin to rareMax small letters that have nothing
// but white space or punctuation on both sides.
func eachWord(text []byte, visit func([]byte)) {
	letter := func(c byte) bool { return 'a' <= c && c <= 'z' }
	part := func(c byte) bool { return c >= 0x80 || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' }
	for i := 0; i < len(text); {
		start, pure := i, true
		for i < len(text) && (letter(text[i]) || part(text[i])) {
			pure = pure && letter(text[i])
			i++
		}
		if n := i - start; pure && rareMin <= n && n <= rareMax {
			visit(text[start:i])
		}
		i++
	}
}

// eachPart visits the parts of the entries of a session file. They are valid only
// during the visit.
func eachPart(r io.Reader, visit func(*session.Part)) error {
	lines := jsonl.NewReader(r, 0, 0)
	parser := pi.New().Parse(adapter.State{})
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		parser.Parse(line, func(e *session.Entry) {
			for i := range e.Parts {
				visit(&e.Parts[i])
			}
		})
	}
}
