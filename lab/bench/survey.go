//go:build linux

package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"pigrep/index/analysis"
	"pigrep/internal/session"
	"pigrep/lab/decode"
)

// survey is what the session files of a tree have.
type survey struct {
	Terms       int      // distinct ones, by the analyzer of the index
	Rare        []string // words that few texts have
	Identifiers []string // in camel case, that some texts have
}

const (
	// A rare word has so many letters, and is in about so many texts.
	rareMin, rareMax = 9, 14
	rareTexts        = 5

	identifierTexts = 20

	// samples is how many words there are at most: what one takes depends on the
	// texts that happen to have it, and on words like it.
	samples = 5
)

// takeSurvey reads all session files below a directory. Words come from the decoded
// texts of prompts, replies and results: in the bytes of a file, what precedes a word
// may look like a part of it.
func takeSurvey(dir string) (survey, error) {
	paths, err := sessionFiles(dir)
	if err != nil {
		return survey{}, err
	}
	var (
		all   = newCounter()
		adds  sync.Mutex
		group errgroup.Group
	)
	group.SetLimit(runtime.NumCPU())
	for _, path := range paths {
		group.Go(func() error {
			c := newCounter()
			err := decode.Parts(path, c.count)
			adds.Lock()
			defer adds.Unlock()
			all.add(c)
			return err
		})
	}
	err = group.Wait()
	s := survey{Terms: len(all.terms), Rare: sample(all.words, rareTexts), Identifiers: sample(all.identifiers, identifierTexts)}
	if err == nil && (len(s.Rare) == 0 || len(s.Identifiers) == 0) {
		err = fmt.Errorf("no rare word or no identifier in %s", dir)
	}
	return s, err
}

// counter counts the texts that have a word.
type counter struct {
	analyzer           analysis.Analyzer
	words, identifiers map[string]int
	terms, seen        map[string]bool // seen: in the text at hand
}

func newCounter() *counter {
	return &counter{words: map[string]int{}, identifiers: map[string]int{}, terms: map[string]bool{}, seen: map[string]bool{}}
}

// add adds what another counter has counted.
func (c *counter) add(other *counter) {
	maps.Copy(c.terms, other.terms)
	for w, n := range other.words {
		c.words[w] += n
	}
	for w, n := range other.identifiers {
		c.identifiers[w] += n
	}
}

func (c *counter) count(p *session.Part) {
	c.analyzer.Walk(p.Text, func(t analysis.Token) {
		if !c.terms[string(t.Term)] {
			c.terms[string(t.Term)] = true
		}
	})
	if !slices.Contains([]session.Kind{session.KindPrompt, session.KindReply, session.KindResult}, p.Kind) {
		return
	}
	clear(c.seen)
	eachWord(p.Text, func(word []byte) {
		if c.seen[string(word)] {
			return
		}
		c.seen[string(word)] = true
		if isCamel(word) {
			c.identifiers[string(word)]++
		} else if len(word) >= rareMin && len(word) <= rareMax && !hasUpper(word) {
			c.words[string(word)]++
		}
	})
}

// sample returns words that about n texts have, from all of the alphabet.
func sample(texts map[string]int, n int) []string {
	best, distance := []string(nil), 1<<30
	for word, has := range texts {
		d := max(has-n, n-has)
		if has < 2 || d > distance {
			continue
		}
		if d < distance {
			best, distance = nil, d
		}
		best = append(best, word)
	}
	slices.Sort(best)
	count := min(samples, len(best))
	words := make([]string, count)
	for i := range words {
		words[i] = best[(2*i+1)*len(best)/(2*count)]
	}
	return words
}

// eachWord visits the runs of ASCII letters that have nothing but white space or
// punctuation on both sides.
func eachWord(text []byte, visit func([]byte)) {
	letter := func(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
	part := func(c byte) bool { return c >= 0x80 || c == '_' || '0' <= c && c <= '9' }
	for i := 0; i < len(text); i++ {
		start, pure := i, true
		for i < len(text) && (letter(text[i]) || part(text[i])) {
			pure = pure && letter(text[i])
			i++
		}
		if pure && i > start {
			visit(text[start:i])
		}
	}
}

func hasUpper(word []byte) bool {
	return slices.ContainsFunc(word, func(c byte) bool { return c <= 'Z' })
}

// isCamel reports whether a word of letters is written likeThis.
func isCamel(word []byte) bool {
	humps := 0
	for i, c := range word {
		if c <= 'Z' {
			if humps++; i < 2 || i == len(word)-1 || word[i-1] <= 'Z' {
				return false
			}
		}
	}
	return humps > 0
}
