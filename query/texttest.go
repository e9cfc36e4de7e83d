package query

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/internal/session"
)

// A textTest is a field that is true of what a text says, not of a keyword: the
// index tells where it may be true, and the text decides.
type textTest interface {
	// docs returns the documents of a segment of which it may be true; nil when
	// that may be all.
	docs(seg *segment) (bitset, error)
	// holds decides about a part.
	holds(v *partView) bool
	// spans returns what is to be marked in the text of a part.
	spans(a *analysis.Analyzer, text []byte) [][2]int
}

// A partView is a part that was read again, with what text tests ask for.
type partView struct {
	file             *file
	entry            *session.Entry
	part             int
	folder, commands *folder
	folded           []byte // of the part's text; nil until it is asked for
}

func (v *partView) text() []byte { return v.entry.Parts[v.part].Text }

// fold returns the folded text.
func (v *partView) fold() []byte {
	if v.folded == nil {
		v.folded = v.folder.fold(v.text())
	}
	return v.folded
}

// needFacts reports whether a plan looks at what entries say about the use of tools.
func needFacts(plans []*plan) bool {
	return slices.ContainsFunc(plans, func(p *plan) bool {
		switch p.find.(type) {
		case *commandTest, *fileTest:
			return true
		}
		return false
	})
}

// newTextTest returns the textTest of a field, nil when it needs none.
func newTextTest(f *Field, req *Request, a *analysis.Analyzer) (textTest, error) {
	switch f.Name {
	case "re":
		p, err := compileGrep(&GrepRequest{Patterns: []string{f.Value}, Multiline: true})
		if err != nil {
			return nil, err
		}
		steps := len(p.prog.Inst)
		if steps > mostSteps {
			return nil, errors.New("the regular expression is too large for a search, pigrep grep takes it")
		}
		return &expressionTest{re: p.re, need: p.need, cost: 1 + steps*steps/(usualSteps*usualSteps)}, nil
	case "cmd":
		return &commandTest{terms: termsIn(a, f.Value), needle: newNeedle(f.Value)}, nil
	case "file":
		value := f.Value
		if req.Expand != nil && strings.HasPrefix(value, "~") {
			value = req.Expand(value)
		}
		value = strings.TrimRight(strings.TrimPrefix(slashed(value), "./"), "/")
		if value == "" {
			return nil, fmt.Errorf("file: needs a path")
		}
		return &fileTest{path: value, terms: termsIn(a, path.Base(value)), needle: newNeedle(value)}, nil
	}
	return nil, nil
}

// termsIn returns the terms of a text, without those that others imply.
func termsIn(a *analysis.Analyzer, text string) []string {
	var tokens []analysis.Token
	a.Walk([]byte(text), func(t analysis.Token) {
		t.Term = bytes.Clone(t.Term)
		tokens = append(tokens, t)
	})
	var terms []string
	for _, t := range withoutCoveredSingles(tokens) {
		if len(terms) < maxParts {
			terms = appendNew(terms, string(t.Term))
		}
	}
	return terms
}

// ofKinds returns the documents of some kinds.
func ofKinds(seg *segment, kinds ...session.Kind) (bitset, error) {
	return seg.keyed(index.FieldKind, func(kind string) bool { return slices.Contains(kinds, session.Kind(kind)) })
}

// oneEach says that each of these terms has one spelling.
func oneEach(terms []string) func(int) []string {
	return func(i int) []string { return terms[i : i+1] }
}

// expressionTest is re:.
type expressionTest struct {
	re   *regexp.Regexp
	need *need
	cost int // of reading a text with it; 1 for the usual expression
}

// usualSteps is how many instructions an expression has that costs twice as much
// as usual, mostSteps how many it has at most. Matching a byte may take all of
// them: a{1000} has a thousand.
const (
	usualSteps = 64
	mostSteps  = 1000
)

func (f *expressionTest) docs(seg *segment) (bitset, error) {
	if f.need == nil {
		return nil, nil
	}
	l := lookup{segment: seg.Segment, limits: grepUsual, pieces: true}
	l.limits.few = 0 // what is found counts towards scores, which must not depend on the segments
	docs, err := l.need(f.need)
	if err != nil || docs == nil {
		return nil, err
	}
	b := newBitset(seg.Len())
	b.set(docs)
	return b, nil
}

func (f *expressionTest) holds(v *partView) bool { return f.re.Match(v.text()) }

// maxSpans is how many places of a text a textTest marks.
const maxSpans = 200

func (f *expressionTest) spans(_ *analysis.Analyzer, text []byte) (list [][2]int) {
	for _, m := range f.re.FindAllIndex(text, maxSpans) {
		if m[0] < m[1] {
			list = append(list, [2]int{m[0], m[1]})
		}
	}
	return list
}

// commandTest is cmd:.
type commandTest struct {
	terms  []string
	needle needle
}

func (f *commandTest) docs(seg *segment) (bitset, error) {
	docs, err := ofKinds(seg, session.KindCall, session.KindShell)
	if err != nil || len(f.terms) == 0 {
		return docs, err
	}
	have, err := conjunction(seg, len(f.terms), oneEach(f.terms))
	if err == nil {
		docs.and(have)
	}
	return docs, err
}

func (f *commandTest) holds(v *partView) bool {
	facts := v.entry.Facts
	if facts == nil {
		return false
	}
	for i := range facts.Calls {
		c := &facts.Calls[i]
		if c.Part != v.part || len(c.Command) == 0 {
			continue
		}
		if _, _, ok := f.needle.find(v.commands.fold(c.Command), 0); ok {
			return true
		}
	}
	return false
}

func (f *commandTest) spans(a *analysis.Analyzer, text []byte) [][2]int {
	return needleSpans(a, &f.needle, text, 1)
}

// needleSpans returns where a needle stands in a text, so many times at most.
func needleSpans(a *analysis.Analyzer, n *needle, text []byte, most int) (list [][2]int) {
	folded := a.FoldText(text)
	for from := 0; len(list) < most; {
		start, end, ok := n.find(folded.Text, from)
		if !ok {
			break
		}
		from = end
		start, end = folded.Source(start, end)
		list = append(list, [2]int{start, end})
	}
	return list
}

// fileTest is file:.
type fileTest struct {
	path   string
	terms  []string
	needle needle
}

// docs returns calls that have the last element of the path, and summaries,
// whose lists of files may stand beside their text.
func (f *fileTest) docs(seg *segment) (bitset, error) {
	docs, err := ofKinds(seg, session.KindCall)
	if err != nil {
		return nil, err
	}
	summaries, err := ofKinds(seg, session.KindSummary)
	if err != nil {
		return nil, err
	}
	if len(f.terms) > 0 {
		have, err := conjunction(seg, len(f.terms), oneEach(f.terms))
		if err != nil {
			return nil, err
		}
		docs.and(have)
	}
	docs.or(summaries)
	return docs, nil
}

func (f *fileTest) holds(v *partView) bool {
	facts := v.entry.Facts
	if facts == nil {
		return false
	}
	cwd := v.file.CWD
	if v.entry.Parts[v.part].Kind == session.KindSummary {
		for _, list := range [][]string{facts.ReadFiles, facts.ModifiedFiles} {
			for _, p := range list {
				if f.is(p, cwd) {
					return true
				}
			}
		}
		return false
	}
	for i := range facts.Calls {
		c := &facts.Calls[i]
		if c.Part != v.part {
			continue
		}
		for _, p := range c.Paths {
			if f.is(p, cwd) {
				return true
			}
		}
		if len(c.Command) > 0 {
			if f.within(v.commands.fold(c.Command)) {
				return true
			}
			continue
		}
		for line := range bytes.Lines(c.Text) {
			if _, value, ok := bytes.Cut(line, []byte(": ")); ok && len(value) < 4096 && f.is(string(bytes.TrimSpace(value)), cwd) {
				return true
			}
		}
	}
	return false
}

// is reports whether a path is the one that is looked for, or ends with it.
func (f *fileTest) is(p, cwd string) bool {
	p = path.Clean(slashed(p))
	if endsWithPath(p, f.path) {
		return true
	}
	return !strings.HasPrefix(p, "/") && cwd != "" && endsWithPath(path.Join(slashed(cwd), p), f.path)
}

func endsWithPath(p, end string) bool {
	if len(p) < len(end) || !strings.EqualFold(p[len(p)-len(end):], end) {
		return false
	}
	return len(p) == len(end) || p[len(p)-len(end)-1] == '/' || end[0] == '/' && len(p) == len(end)
}

// within reports whether a folded command names the path.
func (f *fileTest) within(command []byte) bool {
	for from := 0; ; {
		start, end, ok := f.needle.find(command, from)
		if !ok {
			return false
		}
		before, _ := utf8.DecodeLastRune(command[:start])
		after, _ := utf8.DecodeRune(command[end:])
		if (start == 0 || !strings.ContainsRune(".-_", before)) && (end == len(command) || !strings.ContainsRune("/.-_", after) || after == '.' && endsToken(string(command[end+1:]))) {
			return true
		}
		from = start + 1
	}
}

func (f *fileTest) spans(a *analysis.Analyzer, text []byte) [][2]int {
	return needleSpans(a, &f.needle, text, maxSpans)
}

// scoreFound adds the documents of which a textTest may be true to the scores of a
// window, all with the same value.
func (s *searcher) scoreFound(sc *scores, seg *segment, p *plan) {
	value := float32(p.allIDF)
	for i := range p.all[seg.number].part(sc.first, sc.end).all() {
		doc := sc.first + i
		if !seg.allowed.has(doc) {
			continue
		}
		sc.value[i], sc.best[i] = value, tierExact+1
		sc.touched.add(i)
		seg.pending[p.index] = append(seg.pending[p.index], pending{doc, value, 0})
	}
}

// live returns the live documents of a segment: each has a kind.
func (seg *segment) live() (bitset, error) {
	return seg.keyed(index.FieldKind, func(string) bool { return true })
}
