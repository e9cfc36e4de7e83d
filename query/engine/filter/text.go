package filter

import (
	"bytes"
	"context"
	"errors"
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
type TextTest interface {
	// Docs returns the candidate documents of a segment, nil for all.
	Docs(seg *segment.Segment) (docset.Set, error)
	// Matches reports whether a part passes.
	Matches(p *Part) bool
	// Spans returns the spans to mark in the text of a part.
	Spans(a *analysis.Analyzer, text []byte) [][2]int
	// Cost is the relative CPU time of Matches per byte of an entry: 1 for a usual
	// regular expression, 0 if negligible.
	Cost() int
	// NeedsFacts reports whether Matches uses the facts of the entry.
	NeedsFacts() bool
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

// expressionTest is re:.
type expressionTest struct {
	program  *automaton.Program
	required *literal.Required
	cost     int       // relative CPU time per byte; 1 for a usual expression
	matchers sync.Pool // of *automaton.Matcher
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

func newExpressionTest(expr string) (TextTest, error) {
	p, err := literal.Compile([]string{expr}, literal.Options{Multiline: true, MaxStates: mostSteps})
	if e, ok := errors.AsType[*literal.PatternError](err); ok && e.Try == literal.TrySmaller {
		return nil, errors.New("the regular expression is too large for a search, pigrep grep takes it")
	}
	if err != nil {
		return nil, err
	}
	steps := p.Program.Size()
	f := &expressionTest{program: p.Program, required: p.Required, cost: 1 + steps*steps/(usualSteps*usualSteps)}
	f.matchers.New = func() any { return f.program.Matcher(stateBytes / runtime.GOMAXPROCS(0)) }
	return f, nil
}

func (f *expressionTest) Docs(seg *segment.Segment) (docset.Set, error) {
	if f.required == nil {
		return nil, nil
	}
	l := literal.Lookup{Segment: seg, Limits: literal.DefaultLimits, Pieces: true}
	l.Limits.FewDocuments = 0 // scores use the number of candidates and must not depend on the segments
	return l.Documents(f.required)
}

func (f *expressionTest) NeedsFacts() bool { return false }

func (f *expressionTest) Cost() int { return f.cost }

func (f *expressionTest) Matches(p *Part) bool {
	m := f.matchers.Get().(*automaton.Matcher)
	m.Ended = func() bool { return p.Ctx.Err() != nil }
	found := m.Line(p.Text(), 0) >= 0
	m.Ended = nil
	f.matchers.Put(m)
	return found
}

// maxSpans is the number of spans of a text that a TextTest marks.
const maxSpans = 200

func (f *expressionTest) Spans(_ *analysis.Analyzer, text []byte) [][2]int {
	m := f.matchers.Get().(*automaton.Matcher)
	defer f.matchers.Put(m)
	return slices.DeleteFunc(m.Spans(text, maxSpans), func(s [2]int) bool { return s[0] == s[1] })
}

// commandTest is cmd:.
type commandTest struct {
	terms  []string
	needle match.Needle
}

func (f *commandTest) Docs(seg *segment.Segment) (docset.Set, error) {
	docs, err := docset.ByKind(seg, session.KindCall, session.KindShell)
	if err != nil || len(f.terms) == 0 {
		return docs, err
	}
	have, err := docset.Conjunction(seg.Len(), len(f.terms), docset.OneSpelling(f.terms), docset.TextTerms(seg))
	if err == nil {
		docs.And(have)
	}
	return docs, err
}

func (f *commandTest) NeedsFacts() bool { return true }

func (f *commandTest) Cost() int { return 0 }

func (f *commandTest) Matches(p *Part) bool {
	facts := p.Entry.Facts
	if facts == nil {
		return false
	}
	for i := range facts.Calls {
		c := &facts.Calls[i]
		if c.Part != p.Number || len(c.Command) == 0 {
			continue
		}
		if _, _, ok := f.needle.Find(p.Commands.Fold(c.Command), 0); ok {
			return true
		}
	}
	return false
}

func (f *commandTest) Spans(a *analysis.Analyzer, text []byte) [][2]int {
	return match.FindAll(a, &f.needle, text, 1)
}

// fileTest is file:.
type fileTest struct {
	path   string
	terms  []string
	needle match.Needle
}

// Docs returns the calls with the last element of the path, and all summaries: their
// lists of files may not be part of their text.
func (f *fileTest) Docs(seg *segment.Segment) (docset.Set, error) {
	docs, err := docset.ByKind(seg, session.KindCall)
	if err != nil {
		return nil, err
	}
	summaries, err := docset.ByKind(seg, session.KindSummary)
	if err != nil {
		return nil, err
	}
	if len(f.terms) > 0 {
		have, err := docset.Conjunction(seg.Len(), len(f.terms), docset.OneSpelling(f.terms), docset.TextTerms(seg))
		if err != nil {
			return nil, err
		}
		docs.And(have)
	}
	docs.Or(summaries)
	return docs, nil
}

func (f *fileTest) NeedsFacts() bool { return true }

func (f *fileTest) Cost() int { return 0 }

func (f *fileTest) Matches(p *Part) bool {
	facts := p.Entry.Facts
	if facts == nil {
		return false
	}
	isIt := func(name string) bool { return f.matchesPath(name, p.Session.CWD) }
	if p.Entry.Parts[p.Number].Kind == session.KindSummary {
		return slices.ContainsFunc(facts.ReadFiles, isIt) || slices.ContainsFunc(facts.ModifiedFiles, isIt)
	}
	for i := range facts.Calls {
		c := &facts.Calls[i]
		if c.Part != p.Number {
			continue
		}
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
	if len(p) < len(end) || !strings.EqualFold(p[len(p)-len(end):], end) {
		return false
	}
	return len(p) == len(end) || p[len(p)-len(end)-1] == '/' || end[0] == '/' && len(p) == len(end)
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

func (f *fileTest) Spans(a *analysis.Analyzer, text []byte) [][2]int {
	return match.FindAll(a, &f.needle, text, maxSpans)
}
