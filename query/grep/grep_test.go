package grep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/indexer"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/literal"
	"pigrep/scope"
)

// A grepShelf is session files, an index that knows some of them, and what a
// plain reading of them says.
type grepShelf struct {
	t     testing.TB
	root  string
	index string
	texts []grepText

	agents adapter.Adapter
}

// grepText is the text of a part, and where it is.
type grepText struct {
	path   string
	offset int64
	part   int
	kind   session.Kind
	text   string
}

func newGrepShelf(t testing.TB) *grepShelf {
	dir := t.TempDir()
	s := &grepShelf{t: t, root: filepath.Join(dir, "sessions"), index: filepath.Join(dir, "index"), agents: pi.New()}
	if err := os.Mkdir(s.root, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *grepShelf) write(name string, data []byte) {
	if err := os.WriteFile(filepath.Join(s.root, name), data, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *grepShelf) roots() []adapter.Root { return []adapter.Root{{Path: s.root}} }

// update indexes the files in batches of so many bytes: small ones make many
// segments of few files.
func (s *grepShelf) update(batch int) {
	res, err := indexer.Update(context.Background(), indexer.Options{
		Dir: s.index, Adapter: s.agents, Roots: s.roots(), Now: time.Now, BatchBytes: batch,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	res.Reader.Close()
}

// grep runs a request with the index as it is, or without.
func (s *grepShelf) grep(req Request, indexed bool) ([]*Match, *Summary) {
	s.t.Helper()
	var reader *index.Reader
	var known indexer.Index
	if indexed {
		var err error
		if reader, err = index.Open(s.index); err != nil {
			s.t.Fatal(err)
		}
		defer reader.Close()
		known = reader
	}
	var files []File
	for _, step := range indexer.Plan(indexer.Discover(s.agents, s.roots(), nil), known) {
		f := File{Path: step.File.Path, Known: step.Known}
		switch step.Change {
		case indexer.Unchanged, indexer.Touched:
			f.Indexed = Whole
		case indexer.Grown:
			f.Indexed = step.Known.Checkpoint.Offset
		case indexer.Gone:
			continue
		}
		files = append(files, f)
	}
	var list []*Match
	sum, err := Run(context.Background(), Input{reader, s.agents, stories.Disk{}, files}, req, func(m *Match) error {
		if m.ShortEntryID != "" && !strings.HasPrefix(m.EntryID, m.ShortEntryID) || m.ShortEntryID != "" && !indexed {
			s.t.Errorf("%s is short for %s", m.ShortEntryID, m.EntryID)
		}
		m.ShortEntryID = "" // only an index has it
		list = append(list, m)
		return nil
	})
	if err != nil {
		s.t.Fatalf("grep %q: %v", req.Patterns, err)
	}
	for _, e := range sum.Errors {
		s.t.Errorf("grep %q: %s: %v", req.Patterns, e.Path, e.Err)
	}
	return list, sum
}

// places lists every line that matched, in order.
func places(list []*Match) []string {
	all := []string{}
	for _, m := range list {
		for _, l := range m.Lines {
			if l.Match {
				all = append(all, fmt.Sprintf("%s@%d.%d:%d", filepath.Base(m.SessionPath), m.Offset, m.Part, l.Number))
			}
		}
	}
	return all
}

// plain is the answer of a reading of every text, one line after the other.
func (s *grepShelf) plain(kinds []session.Kind, matches func(line string) bool) []string {
	all := []string{}
	for _, t := range s.texts {
		if !slices.Contains(kinds, t.kind) {
			continue
		}
		lines := strings.Split(t.text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for n, line := range lines {
			if matches(line) {
				all = append(all, fmt.Sprintf("%s@%d.%d:%d", filepath.Base(t.path), t.offset, t.part, n+1))
			}
		}
	}
	return all
}

// read fills texts. It decodes with encoding/json and knows the entries that
// these tests write.
func (s *grepShelf) read() {
	s.texts = nil
	paths, err := filepath.Glob(filepath.Join(s.root, "*.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(paths)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		offset := int64(0)
		for line := range bytes.SplitAfterSeq(data, []byte("\n")) {
			for i, p := range plainParts(line) {
				s.texts = append(s.texts, grepText{path, offset, i, p.Kind, string(p.Text)})
			}
			offset += int64(len(line))
		}
	}
}

func plainParts(line []byte) (parts []session.Part) {
	var e struct {
		Type, Name, Label, Summary string
		Message                    struct {
			Role, Command, Output, ErrorMessage, StopReason string
			Content                                         json.RawMessage
		}
	}
	if json.Unmarshal(line, &e) != nil {
		return nil
	}
	add := func(kind session.Kind, text string) {
		if text != "" {
			parts = append(parts, session.Part{Kind: kind, Text: []byte(text)})
		}
	}
	kind := map[string]session.Kind{"user": session.KindPrompt, "assistant": session.KindReply, "toolResult": session.KindResult}[e.Message.Role]
	switch e.Type {
	case "session_info":
		add(session.KindTitle, e.Name)
	case "label":
		add(session.KindLabel, e.Label)
	case "branch_summary":
		add(session.KindSummary, e.Summary)
	case "message":
		var text string
		var blocks []struct {
			Type, Text, Thinking, Name string
			Arguments                  json.RawMessage
		}
		if json.Unmarshal(e.Message.Content, &text) == nil {
			add(kind, text)
		} else if json.Unmarshal(e.Message.Content, &blocks) == nil {
			for _, b := range blocks {
				switch b.Type {
				case "text":
					add(kind, b.Text)
				case "thinking":
					add(session.KindThinking, b.Thinking)
				case "toolCall":
					add(session.KindCall, b.Name+plainArguments(b.Arguments))
				}
			}
		}
		if e.Message.ErrorMessage != "" {
			add(session.KindError, e.Message.StopReason+": "+e.Message.ErrorMessage)
		}
		if e.Message.Role == "bashExecution" {
			add(session.KindShell, e.Message.Command+"\n"+e.Message.Output)
		}
	}
	return parts
}

// plainArguments writes "Name: value" for each leaf, in order.
func plainArguments(raw json.RawMessage) string {
	var b strings.Builder
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value func(name string)
	value = func(name string) {
		token, err := d.Token()
		if err != nil {
			return
		}
		in := func(key string) string {
			if name == "" {
				return key
			}
			return name + "." + key
		}
		switch token {
		case json.Delim('{'):
			for d.More() {
				key, _ := d.Token()
				value(in(key.(string)))
			}
			_, _ = d.Token()
		case json.Delim('['):
			for i := 0; d.More(); i++ {
				value(in(fmt.Sprint(i)))
			}
			_, _ = d.Token()
		default:
			fmt.Fprintf(&b, "\n%s: %v", name, token)
		}
	}
	value("")
	return b.String()
}

// anyPattern draws what to look for from the texts themselves, so that most of
// it is there.
func (s *grepShelf) anyPattern(rng *rand.Rand) (req Request, matches func(string) bool) {
	line := ""
	for range 50 {
		lines := strings.Split(s.texts[rng.IntN(len(s.texts))].text, "\n")
		if line = lines[rng.IntN(len(lines))]; line != "" {
			break
		}
	}
	runes := []rune(line)
	if len(runes) == 0 {
		runes = []rune("token")
	}
	from := rng.IntN(len(runes))
	piece := runes[from:min(len(runes), from+1+rng.IntN(12))]
	req.Case = literal.CaseMode(rng.IntN(3))
	req.limits = &limits{Limits: literal.Limits{FewDocuments: 1000 * rng.IntN(2), MaxTerms: 1 + 20*rng.IntN(1000)}, scanShare: 0.3 * float64(rng.IntN(5)), scanExtra: rng.IntN(3), window: rng.IntN(200)}
	req.Scope = scope.Scopes[rng.IntN(len(scope.Scopes))]
	if rng.IntN(3) == 0 {
		for i, r := range piece {
			if rng.IntN(2) == 0 {
				piece = slices.Clone(piece)
				if piece[i] = unicode.ToUpper(r); rng.IntN(2) == 0 {
					piece[i] = unicode.ToLower(r)
				}
			}
		}
	}
	kind := rng.IntN(4)
	if kind == 0 { // a word, or what is not quite one
		word := grepWords[rng.IntN(len(grepWords))]
		if rng.IntN(2) == 0 {
			word = strings.TrimSpace(string(piece))
		}
		if strings.Contains(word, "\n") || word == "" {
			word = "time"
		}
		req.Patterns, req.Fixed, req.Word = []string{word}, true, true
		fold := req.Case == literal.IgnoreCase || req.Case == literal.SmartCase && !strings.ContainsFunc(word, unicode.IsUpper)
		return req, func(line string) bool { return hasWord(line, word, fold) }
	}
	expr := regexp.QuoteMeta(string(piece))
	if kind == 1 {
		req.Fixed, req.Patterns = true, []string{string(piece)}
	} else {
		if expr = mutate(rng, piece); rng.IntN(6) == 0 {
			expr = longRuns[rng.IntN(len(longRuns))]
		}
		if rng.IntN(8) == 0 {
			expr = "^" + expr
		}
		if rng.IntN(8) == 0 {
			expr += "$"
		}
		req.Patterns = []string{expr}
		if rng.IntN(5) == 0 {
			other := regexp.QuoteMeta(strings.TrimSpace(strings.ReplaceAll(grepWords[rng.IntN(len(grepWords))], "\n", "")))
			req.Patterns = append(req.Patterns, other)
			expr = "(?:" + expr + ")|(?:" + other + ")"
		}
	}
	if req.Case == literal.IgnoreCase || req.Case == literal.SmartCase && !literal.HasUpper(req.Patterns, req.Fixed) {
		expr = "(?i)" + expr
	}
	re := regexp.MustCompile(expr)
	return req, re.MatchString
}

// longRuns are expressions without a literal. Some texts have what they match.
var longRuns = []string{
	`[0-9a-f]{12,}`, `[qz]{20}`, `[a-z]{16}`, `\b[a-f]{8}\d{4}`, `é{13}z`, `_(?:[AB]1){6,9}`, `[\x{e0}-\x{ff}]{12}`, `(?:[d-f][a-e]){4}\d{8}.`, `[k-q]{20}$`, `[^ -/:-~]{30}`,
}

// mutate makes a regular expression that matches the text, mostly.
func mutate(rng *rand.Rand, piece []rune) string {
	var b strings.Builder
	for i := 0; i < len(piece); i++ {
		q := regexp.QuoteMeta(string(piece[i]))
		switch rng.IntN(16) {
		case 0:
			b.WriteString(".")
		case 1:
			b.WriteString(q + "?")
		case 2:
			b.WriteString("(" + q + "|zz)")
		case 3:
			b.WriteString(q + "+")
		case 4:
			b.WriteString(".*" + q)
		case 5:
			b.WriteString("(?i:" + q + ")")
		case 6:
			b.WriteString(`\b` + q)
		case 7:
			b.WriteString(`[^\d` + strings.Map(func(r rune) rune {
				if unicode.IsLetter(r) {
					return 'Q'
				}
				return r
			}, "a") + `]`)
		case 8:
			b.WriteString(`\w*` + q)
		case 9:
			b.WriteString(q + "{1,2}")
		default:
			b.WriteString(q)
		}
	}
	return b.String()
}

// hasWord reports whether the word is in the line between what is no part of a
// word.
func hasWord(line, word string, fold bool) bool {
	n := len(word)
	for i := range line {
		for j := i + 1; j <= len(line) && j <= i+4*n; j++ {
			if j < len(line) && !utf8.RuneStart(line[j]) {
				continue
			}
			if same := line[i:j] == word || fold && strings.EqualFold(line[i:j], word); !same {
				continue
			}
			before, size := utf8.DecodeLastRuneInString(line[:i])
			after, size2 := utf8.DecodeRuneInString(line[j:])
			if (size == 0 || !isWordCharacter(before)) && (size2 == 0 || !isWordCharacter(after)) {
				return true
			}
		}
	}
	return false
}

func isWordCharacter(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc) || r == 0x200c || r == 0x200d || isSign(r)
}

// isSign reports whether r is neither letter nor number and is indexed as such.
func isSign(r rune) bool {
	if unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc) || !utf8.ValidRune(r) {
		return false
	}
	var a analysis.Analyzer
	sign := false
	a.Walk([]byte(string(r)), func(t analysis.Token) {
		sign = sign || t.Form != analysis.Single || string(t.Term) != string(r)
	})
	return sign
}

// The class of word characters holds whatever may be indexed as a part of a word,
// and nothing that is beside a word combines with it.
func TestGrepWordCharacters(t *testing.T) {
	testkit.Unraced(t)
	class, err := syntax.Parse("["+literal.WordCharacter+"]", syntax.Perl)
	if err != nil || class.Op != syntax.OpCharClass {
		t.Fatalf("%s is no class of characters: %v", literal.WordCharacter, err)
	}
	next := class.Rune // pairs of first and last, in order
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || isUnassigned(r) && r%256 != 0 {
			continue
		}
		for len(next) > 0 && next[1] < r {
			next = next[2:]
		}
		if got := len(next) > 0 && next[0] <= r; got != isWordCharacter(r) {
			t.Errorf("%U is a word character: %v, want %v", r, got, !got)
		}
		if !isWordCharacter(r) && !norm.NFKC.PropertiesString(string(r)).BoundaryBefore() {
			t.Errorf("%U combines with what is before it and is no word character", r)
		}
		if r < utf8.RuneSelf && !literal.FoldsAlike(r) {
			t.Errorf("the cases of %q are indexed in different ways", r)
		}
	}
}

// isUnassigned reports whether the character is in a plane that has none, or is
// for private use: these are all alike, and most of all that there are.
func isUnassigned(r rune) bool { return r >= 0x40000 && r < 0xe0000 || r >= 0xe1000 }

// What a grep finds is what a plain reading finds: with an index, with one that
// is behind, and without.
func TestGrepAgainstPlainReading(t *testing.T) {
	used := 0 // how often the index said where to look
	rounds, patterns := testkit.HowMany(3, 6, 12), testkit.HowMany(30, 80, 150)
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		s := newGrepShelf(t)
		for i := range 1 + rng.IntN(4) {
			s.write(fmt.Sprintf("%d.jsonl", i), randomSession(rng, 1+rng.IntN(30)))
		}
		s.update(4 << 10)
		switch seed % 3 {
		case 1: // behind in every way
			s.write("1.jsonl", randomSession(rng, 20))
			s.write("new.jsonl", randomSession(rng, 10))
			data, err := os.ReadFile(filepath.Join(s.root, "0.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			more := randomSession(rng, 10)
			s.write("0.jsonl", append(data, more[bytes.IndexByte(more, '\n')+1:]...))
		case 2: // ends in the middle of a line, and with a line that is complete but for its newline
			data := randomSession(rng, 20)
			s.write("torn.jsonl", data[:len(data)-10])
			s.write("unended.jsonl", data[:len(data)-1])
			s.update(4 << 10)
		}
		s.read()
		for range patterns {
			req, matches := s.anyPattern(rng)
			want := s.plain(req.Scope.KindsOf(), matches)
			for _, indexed := range []bool{true, false} {
				list, sum := s.grep(req, indexed)
				if diff := testkit.Diff(want, places(list)); diff != "" {
					t.Fatalf("seed %d: grep %+q fixed %v word %v case %d scope %s, indexed %v, scanned %v (-plain +grep):\n%s",
						seed, req.Patterns, req.Fixed, req.Word, req.Case, req.Scope, indexed, sum.Scanned, diff)
				}
			}
			req.Brief = true
			list, sum := s.grep(req, true)
			if !sum.Scanned {
				used++
			}
			n := 0
			for _, m := range list {
				n += m.Matched
			}
			if n != len(want) {
				t.Fatalf("seed %d: grep %+q: %d lines match when brief, want %d", seed, req.Patterns, n, len(want))
			}
		}
	}
	if used < rounds*patterns/3 {
		t.Errorf("the index was used in %d of %d searches", used, rounds*patterns)
	}
}

// A grep that is given up ends with what its context says, whatever its goroutines
// are at.
func TestGrepGivenUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	s := newGrepShelf(t)
	for i := range 8 {
		s.write(fmt.Sprintf("%d.jsonl", i), randomSession(rng, 60))
	}
	var files []File
	for _, f := range indexer.Discover(pi.New(), s.roots(), nil).Files {
		files = append(files, File{Path: f.Path})
	}
	for n := range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		seen := 0
		req := Request{Spec: filter.Spec{Scope: scope.All}, Patterns: []string{"."}}
		if n%2 == 0 {
			req.Idle = cancel // before a file is done
		}
		_, err := Run(ctx, Input{nil, pi.New(), stories.Disk{}, files}, req, func(*Match) error {
			if seen++; seen > n {
				cancel()
			}
			return nil
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("given up after %d matches: %v", n, err)
		}
	}
}

// What is wrong with a pattern is said as it was typed, with the place.
func TestGrepPatternErrors(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{`a(b`, `pattern "a(b", at character 2: missing closing )`},
		{`é[`, `pattern "é[", at character 2: missing closing ] "["`},
		{`x\d{2000}`, `pattern "x\d{2000}", at character 4: invalid repeat count "{2000}"`},
		{`a\1`, `pattern "a\1", at character 2: invalid escape sequence "\1"`},
		{"\x1b[", `pattern "\x1b[", at character 2: missing closing ] "["`},
		{`a\nb`, `pattern "a\nb", at character 2: it has a newline, and lines are matched one by one`},
		{"a\xff", "pattern \"a\ufffd\": it is not UTF-8"},
		{`ab\`, `pattern "ab\", at character 3: trailing backslash at end of expression`},
	} {
		_, err := literal.Compile([]string{"fine", c.pattern}, literal.Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("grep %q: %v, want %s", c.pattern, err, c.want)
		}
	}
}

// An expression has a limit of states, a literal none.
func TestGrepLimitsStates(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x{1000}", 40)
	for _, c := range []struct {
		req Request
		try literal.Try
	}{
		{Request{Patterns: []string{large}}, literal.TryNothing},
		{Request{Patterns: []string{large}, MaxStates: 10_000}, literal.TrySmaller},
		{Request{Patterns: []string{strings.Repeat(large, 7)}}, literal.TrySmaller},
		{Request{Patterns: []string{strings.Repeat("x", 64<<10)}, MaxStates: 1}, literal.TryNothing},
		{Request{Patterns: []string{large}, Fixed: true, Word: true, MaxStates: 1}, literal.TryNothing},
	} {
		e, _ := errors.AsType[*literal.PatternError](c.req.Check())
		if got := e != nil && e.Try == literal.TrySmaller; got != (c.try == literal.TrySmaller) || got && len(e.Error()) > 500 {
			t.Errorf("%.10q, at most %d states: %v", c.req.Patterns[0], c.req.MaxStates, e)
		}
	}
}

// The same for pieces of words that occur often.
func TestGrepInManyWords(t *testing.T) {
	testkit.Unraced(t)
	rng := rand.New(rand.NewPCG(1, 7))
	s := newGrepShelf(t)
	s.write("few.jsonl", randomSession(rng, 20))
	s.write("many.jsonl", manyWords(rng))
	s.update(4 << 10)
	s.read()
	for range 20 {
		text := []rune(s.texts[rng.IntN(len(s.texts))].text)
		from := rng.IntN(len(text))
		piece := string(text[from:min(len(text), from+3+rng.IntN(8))])
		if strings.Contains(piece, "\n") {
			continue
		}
		req := Request{Patterns: []string{piece}, Fixed: true, Case: literal.CaseSensitive, limits: &limits{Limits: literal.Limits{MaxTerms: 20_000}, scanShare: 1}}
		req.Scope = scope.All
		list, sum := s.grep(req, true)
		if diff := testkit.Diff(s.plain(scope.All.KindsOf(), func(line string) bool { return strings.Contains(line, piece) }), places(list)); diff != "" {
			t.Errorf("grep %+q, scanned %v (-plain +grep):\n%s", piece, sum.Scanned, diff)
		}
	}
}

// readAll is a request that reads all lines of the files with a candidate.
func readAll(req Request) Request {
	req.limits = &limits{Limits: literal.DefaultLimits, window: 64 << 10}
	return req
}

// What every agent wrote is found the same with the index, by reading lines that it knows, and by
// reading files that it does not know.
func TestGrepOfAgents(t *testing.T) {
	testkit.Unraced(t)
	rng := rand.New(rand.NewPCG(9, 9))
	s := newGrepShelf(t)
	testkit.Check(t, os.CopyFS(s.root, os.DirFS(filepath.Join(testkit.Root(), "testdata", "agents"))))
	testkit.Check(t, filepath.WalkDir(s.root, func(path string, d os.DirEntry, err error) error {
		// stories.Disk does not open what is compressed; titles of Codex are those of sessions only with an index.
		if filepath.Ext(path) == ".zst" || filepath.Base(path) == "session_index.jsonl" {
			return os.Remove(path)
		}
		return err
	}))
	s.agents = adapter.NewRegistry(adapter.Environment{}, agents.All()...)
	s.update(1 << 20)
	all := Request{Spec: filter.Spec{Scope: scope.All}, Patterns: []string{`\w\w`}}
	matches, _ := s.grep(all, false)
	for range testkit.HowMany(40, 200, 1000) {
		req, lines := all, matches[rng.IntN(len(matches))].Lines
		text := []rune(lines[rng.IntN(len(lines))].Text)
		from := rng.IntN(len(text))
		req.Patterns, req.Fixed = []string{string(text[from:min(len(text), from+2+rng.IntN(6))])}, true
		want, _ := s.grep(req, false)
		for _, known := range []Request{req, readAll(req)} {
			got, _ := s.grep(known, true)
			if diff := testkit.Diff(want, got); diff != "" {
				t.Fatalf("grep %+q (-read +known):\n%s", req.Patterns, diff)
			}
		}
		s.compareCounts(req, want)
	}
}

// Both ways of searching tell everything about a match the same, and matches
// across lines are found in both. A brief search counts the same lines.
func TestGrepIndexedAndScannedAreTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	s := newGrepShelf(t)
	for i := range 3 {
		s.write(fmt.Sprintf("%d.jsonl", i), randomSession(rng, 60))
	}
	s.write("sound.jsonl", regexp.MustCompile(`(?m)^{broken.*\n`).ReplaceAll(randomSession(rng, 60), nil))
	s.update(4 << 10)
	s.read()
	for i := range 3 {
		s.write(fmt.Sprintf("odd%d.jsonl", i), oddSession(rng, 40))
	}
	s.update(32 << 10)
	for range testkit.HowMany(60, 300, 600) {
		req, _ := s.anyPattern(rng)
		req.Before, req.After, req.MaxCount = rng.IntN(3), rng.IntN(3), rng.IntN(4)
		if rng.IntN(2) == 0 {
			text := []rune(s.texts[rng.IntN(len(s.texts))].text)
			from := rng.IntN(len(text))
			req.Patterns, req.Fixed, req.Word, req.Multiline = []string{string(text[from:min(len(text), from+8)])}, true, false, true
		}
		indexed, _ := s.grep(req, true)
		scanned, _ := s.grep(req, false)
		if diff := testkit.Diff(scanned, indexed); diff != "" {
			t.Fatalf("grep %+q (-scanned +indexed):\n%s", req.Patterns, diff)
		}
		again, _ := s.grep(readAll(req), true)
		if diff := testkit.Diff(scanned, again); diff != "" {
			t.Fatalf("grep %+q (-scanned +scanned although indexed):\n%s", req.Patterns, diff)
		}
		if req.Multiline {
			text := req.Patterns[0]
			for _, m := range scanned {
				if req.MaxCount == 0 && !slices.ContainsFunc(m.Lines, func(l Line) bool { return l.Match }) {
					t.Errorf("grep -U %q: no line matches in %+v", text, m)
				}
			}
			if len(scanned) == 0 && req.Scope == scope.All {
				t.Errorf("grep -U %q found nothing", text)
			}
		}
		ended := req
		ended.Ahead, ended.Counted = 1, new(atomic.Bool)
		ended.Counted.Store(true)
		bare, _ := s.grep(ended, true)
		for _, m := range scanned {
			m.Lines, m.Matches = nil, 0
		}
		for _, m := range bare {
			m.Matches = 0
		}
		if diff := testkit.Diff(scanned, bare); diff != "" {
			t.Fatalf("grep %+q, only counted (-scanned +counted):\n%s", req.Patterns, diff)
		}
		s.compareCounts(req, scanned)
	}
}

// compareCounts compares a list of matches with brief ones, in each way to find them.
func (s *grepShelf) compareCounts(req Request, list []*Match) {
	s.t.Helper()
	want := map[string]int{}
	for _, m := range list {
		want[m.SessionPath] += m.Matched
	}
	for i, req := range []Request{req, req, readAll(req)} {
		got := map[string]int{}
		req.Brief = true
		counted, _ := s.grep(req, i > 0)
		for _, m := range counted {
			got[m.SessionPath] += m.Matched
		}
		if diff := testkit.Diff(want, got); diff != "" || len(counted) != len(want) {
			s.t.Fatalf("grep %+q, counted in way %d (-listed +counted):\n%s", req.Patterns, i, diff)
		}
	}
}

// Matches in real sessions are the same as in the entries that the adapter reads in order.
func TestGrepOfFixtures(t *testing.T) {
	testkit.Unraced(t)
	s := newGrepShelf(t)
	s.root = filepath.Join(testkit.Root(), "testdata", "sessions")
	if dir := testkit.Fixtures(); dir != "" {
		s.root = filepath.Join(dir, "real")
	}
	s.update(1 << 20)
	for _, f := range indexer.Discover(pi.New(), s.roots(), nil).Files {
		data, err := os.Open(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		p := pi.New().Parse(adapter.State{})
		lines := jsonl.NewReader(bufio.NewReader(data), 0, 0)
		for {
			line, err := lines.Next()
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			p.Parse(line, func(e *session.Entry) {
				for i := range e.Parts {
					s.texts = append(s.texts, grepText{f.Path, e.Offset, i, e.Parts[i].Kind, string(e.Parts[i].Text)})
				}
			})
		}
		data.Close()
	}
	rng := rand.New(rand.NewPCG(9, 9))
	for range testkit.HowMany(2, 8, 200) {
		req, matches := s.anyPattern(rng)
		want := s.plain(req.Scope.KindsOf(), matches)
		for _, indexed := range []bool{true, false} {
			list, sum := s.grep(req, indexed)
			if diff := testkit.Diff(want, places(list)); diff != "" {
				t.Fatalf("grep %+q fixed %v word %v case %d scope %s, indexed %v, scanned %v (-plain +grep):\n%s",
					req.Patterns, req.Fixed, req.Word, req.Case, req.Scope, indexed, sum.Scanned, diff)
			}
		}
	}
}
