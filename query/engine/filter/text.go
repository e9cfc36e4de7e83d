package filter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/query/engine/automaton"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/literal"
	"pigrep/query/engine/match"
)

// A TextTest is a field that the text of a part decides, not a keyword. The index only
// gives candidate documents.
type TextTest struct {
	Docs    func(seg *segment.Segment) docset.Set                   // the candidate documents of a segment, nil for all
	Matches func(p *Part) bool                                      // whether a part passes
	Spans   func(a *analysis.Analyzer, text []byte) (list [][2]int) // the spans to mark in the text of a part

	Cost       int  // the relative CPU time of Matches per byte of an entry: 1 for a usual regular expression, 0 if negligible
	NeedsFacts bool // Matches uses the facts of the entry
}

// A Part is a part of an entry that was read again, as TextTests need it.
type Part struct {
	Ctx      context.Context // once it is done, Matches returns early with any result
	Session  *session.Summary
	Entry    *session.Entry // with its facts
	Number   int            // of the part
	Folder   *analysis.Folder
	Commands *analysis.Folder // for commands: Folder's memory has the folded text

	folded []byte // the folded text; nil until Folded is called
}

func (p *Part) Text() []byte { return p.Entry.Parts[p.Number].Text }

// Folded returns the text of the part, folded. It is valid until the next part is
// folded.
func (p *Part) Folded() []byte {
	if p.folded == nil {
		p.folded = p.Folder.Fold(p.Text())
	}
	return p.folded
}

// calls returns the calls of the part.
func (p *Part) calls() (list []*session.EntryCall) {
	facts := p.Entry.Facts
	for i := 0; facts != nil && i < len(facts.Calls); i++ {
		if c := &facts.Calls[i]; c.Part == p.Number {
			list = append(list, c)
		}
	}
	return list
}

// maxTerms is the number of terms that are looked up. Matches compares the whole
// value.
const maxTerms = 64

// Tokens returns the tokens that are looked up for a text.
func Tokens(a *analysis.Analyzer, text string) (tokens []analysis.Token) {
	a.Walk([]byte(text), func(t analysis.Token) {
		t.Term = bytes.Clone(t.Term)
		tokens = append(tokens, t)
	})
	return analysis.WithoutCoveredSingles(tokens)
}

// TermsIn returns the terms that a text has in any case, without those that others imply: no
// parts of identifiers, which github does not have and GitHub does.
func TermsIn(a *analysis.Analyzer, text string) []string {
	var terms []string
	for _, t := range Tokens(a, text) {
		if len(terms) < maxTerms && t.Form != analysis.Part && !slices.Contains(terms, string(t.Term)) {
			terms = append(terms, string(t.Term))
		}
	}
	return terms
}

// An expression of usualSteps instructions costs twice as much as a small one; one of
// more than mostSteps is an error. Matching a byte may take every instruction, and
// a{1000} has a thousand.
const (
	usualSteps = 64
	mostSteps  = 1000
)

// stateBytes is how much the states of an expression take, of all goroutines together.
const stateBytes = 8 << 20

// newExpressionTest returns the test of re:.
func newExpressionTest(r *reading, _ *analysis.Analyzer) (*TextTest, error) {
	p, err := literal.Compile([]string{r.value}, literal.Options{Multiline: true, MaxStates: mostSteps})
	if e, ok := errors.AsType[*literal.PatternError](err); ok && e.Try == literal.TrySmaller {
		return nil, errors.New("the regular expression is too large for a search, pigrep grep takes it")
	}
	if err != nil {
		return nil, err
	}
	steps := p.Program.Size()
	matchers := sync.Pool{New: func() any { return p.Program.Matcher(stateBytes / runtime.GOMAXPROCS(0)) }}
	return &TextTest{
		Cost: 1 + steps*steps/(usualSteps*usualSteps),
		Docs: func(seg *segment.Segment) docset.Set {
			if p.Required == nil {
				return nil
			}
			l := literal.Lookup{Segment: seg, Limits: literal.DefaultLimits, Pieces: true}
			l.Limits.FewDocuments = 0 // scores use the number of candidates and must not depend on the segments
			return l.Documents(p.Required)
		},
		Matches: func(p *Part) bool {
			m := matchers.Get().(*automaton.Matcher)
			m.Ended = func() bool { return p.Ctx.Err() != nil }
			found := m.Line(p.Text(), 0) >= 0
			m.Ended = nil
			matchers.Put(m)
			return found
		},
		Spans: func(_ *analysis.Analyzer, text []byte) [][2]int {
			m := matchers.Get().(*automaton.Matcher)
			defer matchers.Put(m)
			return slices.DeleteFunc(m.Spans(text, maxSpans), func(s [2]int) bool { return s[0] == s[1] })
		},
	}, nil
}

// maxSpans is the number of spans of a text that a TextTest marks.
const maxSpans = 200

// ofKinds returns the documents of some kinds with all terms of a list.
func ofKinds(seg *segment.Segment, terms []string, kinds ...session.Kind) docset.Set {
	docs := docset.ByKind(seg, kinds...)
	if len(terms) == 0 {
		return docs
	}
	return docset.Both(docs, docset.Conjunction(seg.Len(), len(terms), docset.OneSpelling(terms), docset.TextTerms(seg)))
}

// newCommandTest returns the test of cmd:.
func newCommandTest(r *reading, a *analysis.Analyzer) (*TextTest, error) {
	terms, needle := TermsIn(a, r.value), match.NewNeedle(r.value)
	return &TextTest{
		NeedsFacts: true,
		Docs: func(seg *segment.Segment) docset.Set {
			return ofKinds(seg, terms, session.KindCall, session.KindShell)
		},
		Matches: func(p *Part) bool {
			return slices.ContainsFunc(p.calls(), func(c *session.EntryCall) bool {
				_, _, ok := needle.Find(p.Commands.Fold(c.Command), 0)
				return ok && len(c.Command) > 0
			})
		},
		Spans: func(a *analysis.Analyzer, text []byte) [][2]int { return match.FindAll(a, &needle, text, 1) },
	}, nil
}

// fileTest is file:.
type fileTest struct {
	path   string
	needle match.Needle
}

func newFileTest(r *reading, a *analysis.Analyzer) (*TextTest, error) {
	value := r.value
	if strings.HasPrefix(value, "~") {
		value = r.env.expand(value)
	}
	value = strings.TrimRight(strings.TrimPrefix(session.Slashed(value), "./"), "/")
	if value == "" {
		return nil, fmt.Errorf("file: needs a path")
	}
	f := &fileTest{value, match.NewNeedle(value)}
	terms := TermsIn(a, path.Base(value))
	return &TextTest{
		NeedsFacts: true,
		Docs: func(seg *segment.Segment) docset.Set {
			// The lists of files of summaries may not be part of their text.
			docs := docset.ByKind(seg, session.KindSummary)
			docs.Or(ofKinds(seg, terms, session.KindCall))
			return docs
		},
		Matches: f.matches,
		Spans:   func(a *analysis.Analyzer, text []byte) [][2]int { return match.FindAll(a, &f.needle, text, maxSpans) },
	}, nil
}

func (f *fileTest) matches(p *Part) bool {
	isIt := func(name string) bool { return f.matchesPath(name, p.Session.CWD) }
	if facts := p.Entry.Facts; facts != nil && p.Entry.Parts[p.Number].Kind == session.KindSummary {
		return slices.ContainsFunc(facts.ReadFiles, isIt) || slices.ContainsFunc(facts.ModifiedFiles, isIt)
	}
	for _, c := range p.calls() {
		if slices.ContainsFunc(c.Files, func(u session.FileUse) bool { return isIt(u.Path) }) || len(c.Command) > 0 && f.isNamedIn(p.Commands.Fold(c.Command)) {
			return true
		}
		if len(c.Command) > 0 {
			continue
		}
		for line := range bytes.Lines(c.Text) {
			if _, value, ok := bytes.Cut(line, []byte(": ")); ok && len(value) < 4096 && isIt(string(bytes.TrimSpace(value))) {
				return true
			}
		}
	}
	return false
}

func (f *fileTest) matchesPath(p, cwd string) bool {
	p = path.Clean(session.Slashed(p))
	if endsWithPath(p, f.path) {
		return true
	}
	return !strings.HasPrefix(p, "/") && cwd != "" && endsWithPath(path.Join(session.Slashed(cwd), p), f.path)
}

func endsWithPath(p, end string) bool {
	at := len(p) - len(end)
	return at >= 0 && strings.EqualFold(p[at:], end) && (at == 0 || p[at-1] == '/')
}

// isNamedIn reports whether a folded command contains the path as a whole.
func (f *fileTest) isNamedIn(command []byte) bool {
	for from := 0; ; {
		start, end, ok := f.needle.Find(command, from)
		if !ok {
			return false
		}
		before, _ := utf8.DecodeLastRune(command[:start])
		after, _ := utf8.DecodeRune(command[end:])
		if (start == 0 || !strings.ContainsRune(".-_", before)) && (end == len(command) || !strings.ContainsRune("/.-_", after) || after == '.' && endsSentence(command[end+1:])) {
			return true
		}
		from = start + 1
	}
}

func endsSentence(text []byte) bool {
	r, size := utf8.DecodeRune(text)
	return size == 0 || r == ')' || unicode.IsSpace(r)
}
