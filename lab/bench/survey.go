//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index/analysis"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
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

// surveyed reads all session files of a tree, in a process of its own.
func (b *suite) surveyed(t *tree) (survey, error) {
	var s survey
	out, err := exec.CommandContext(b.ctx, b.self, "-survey", t.dir).Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		return s, fmt.Errorf("survey %s: %w", t.dir, err)
	}
	return s, nil
}

// takeSurvey reads all session files below a directory. Words come from the decoded
// texts of prompts, replies and results: in the bytes of a file, what precedes a word
// may look like a part of it.
func takeSurvey(dir string) (survey, error) {
	paths, err := sessionFiles(dir)
	if err != nil {
		return survey{}, err
	}
	words, identifiers, terms := map[string]int{}, map[string]int{}, map[string]bool{}
	var (
		all   sync.Mutex // the three maps, next and err
		next  int
		group sync.WaitGroup
	)
	for range runtime.NumCPU() {
		group.Go(func() {
			c := counter{words: map[string]int{}, identifiers: map[string]int{}, terms: map[string]bool{}, seen: map[string]bool{}}
			for {
				all.Lock()
				i, failed := next, err != nil
				next++
				all.Unlock()
				if failed || i >= len(paths) {
					break
				}
				if fileErr := eachPartOf(paths[i], c.count); fileErr != nil {
					all.Lock()
					err = fileErr
					all.Unlock()
				}
			}
			all.Lock()
			defer all.Unlock()
			for w, n := range c.words {
				words[w] += n
			}
			for w, n := range c.identifiers {
				identifiers[w] += n
			}
			maps.Copy(terms, c.terms)
		})
	}
	group.Wait()
	s := survey{Terms: len(terms), Rare: sample(words, rareTexts), Identifiers: sample(identifiers, identifierTexts)}
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

func (c *counter) count(p *session.Part) {
	c.analyzer.Walk(p.Text, func(t analysis.Token) {
		if !c.terms[string(t.Term)] {
			c.terms[string(t.Term)] = true
		}
	})
	switch p.Kind {
	case session.KindPrompt, session.KindReply, session.KindResult:
	default:
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

// sessionFiles lists the session files below a directory, ordered by path.
func sessionFiles(dir string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			paths = append(paths, path)
		}
		return err
	})
	return paths, err
}

// eachPartOf visits the parts of the entries of a session file.
func eachPartOf(path string, visit func(*session.Part)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return eachPart(f, visit)
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
