//go:build linux

package main

import (
	"bytes"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"pigrep/index/analysis"
	"pigrep/internal/session"
	"pigrep/lab/decode"
	"pigrep/lab/must"
)

// survey is what the session files of a tree have.
type survey struct {
	Terms       int      // distinct ones, by the analyzer of the index
	Rare        []string // words that few texts have
	Identifiers []string // in camel case, that some texts have
}

var (
	rare  = regexp.MustCompile(`^[a-z]{9,14}$`)
	camel = regexp.MustCompile(`^[a-z]{2,}([A-Z][a-z]+)+$`)
)

const (
	// About so many texts have a rare word, or an identifier.
	rareTexts, identifierTexts = 5, 20

	// samples is how many words there are at most: what one takes depends on the
	// texts that happen to have it, and on words like it.
	samples = 5
)

// takeSurvey reads all session files below a directory. Words come from the decoded
// texts of prompts, replies and results: in the bytes of a file, what precedes a word
// may look like a part of it.
func takeSurvey(dir string) (s survey, err error) {
	defer must.Catch(&err)
	var (
		all   = newCounter()
		adds  sync.Mutex
		group errgroup.Group
	)
	group.SetLimit(runtime.NumCPU())
	for _, path := range sessionFiles(dir) {
		group.Go(func() error {
			c := newCounter()
			err := decode.Parts(path, c.count)
			adds.Lock()
			defer adds.Unlock()
			all.add(c)
			return err
		})
	}
	must.Do(group.Wait())
	s = survey{Terms: len(all.terms), Rare: sample(all.words, rareTexts), Identifiers: sample(all.identifiers, identifierTexts)}
	if len(s.Rare) == 0 || len(s.Identifiers) == 0 {
		must.Fail("no rare word or no identifier in %s", dir)
	}
	return s, nil
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
	for _, word := range wordsOf(p.Text) {
		switch {
		case c.seen[string(word)]:
			continue
		case camel.Match(word):
			c.identifiers[string(word)]++
		case rare.Match(word):
			c.words[string(word)]++
		}
		c.seen[string(word)] = true
	}
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

// wordsOf returns the runs of ASCII letters that have nothing but white space or
// punctuation on both sides.
func wordsOf(text []byte) [][]byte {
	runs := bytes.FieldsFunc(text, func(r rune) bool {
		return r < utf8.RuneSelf && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.DeleteFunc(runs, func(run []byte) bool {
		return bytes.ContainsFunc(run, func(r rune) bool { return r >= utf8.RuneSelf || !unicode.IsLetter(r) })
	})
}
