// Package ranking measures which entries pigrep puts first.
//
// A Set, the central type, is a Library and the Queries that were judged over it. A
// Library is an index of session files, with all their documents in memory for a plain
// search without pigrep's ranking. A Query has a grade for each entry that was judged;
// Figures say how well an Answer agrees with the grades. testdata/ranking/README.md
// describes the files and the measures.
package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/lab/decode"
	"pigrep/lab/must"
	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// Depth is how many hits of a flat list count: an entry further down was not found.
const Depth = 50

// now is later than all sessions, so that no answer depends on the clock.
var now = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

// Entry is an entry of a session file. All copies of an entry are the same Entry.
type Entry struct {
	Path string
	Line int
}

// Answer is what a search found.
type Answer struct {
	Entries  []Entry              // best first, each once
	Sessions []string             // paths, best first
	Hits     map[Entry]search.Hit // the first of each entry; nil for a plain search
}

// Library is an index of session files.
type Library struct {
	Corpus *stories.Corpus
	reader *index.Reader
	agents adapter.Adapter

	paths []string           // of the session files, sorted
	lead  map[Entry]Entry    // the first copy of each physical entry
	in    map[Entry][]string // the sessions with a copy
	ids   map[string]Entry   // by entry id
	names map[name]Entry     // as answers name them
}

// name is a session, by its id and its path, and the name of an entry in it.
type name struct{ id, path, entry string }

// Open indexes the session files of pi below root. The index goes to the directory work. The
// caller closes the Library.
func Open(work, root string) (*Library, error) {
	return open(work, pi.New(), adapter.Root{Path: root, Origin: "ranking"})
}

func open(work string, agents adapter.Adapter, roots ...adapter.Root) (*Library, error) {
	res, err := indexer.Update(context.Background(), indexer.Options{
		Dir: filepath.Join(work, "index"), Adapter: agents, Roots: roots,
		Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
	})
	if err != nil {
		return nil, err
	}
	l := &Library{
		Corpus: stories.NewCorpus(), reader: res.Reader, agents: agents,
		lead: map[Entry]Entry{}, in: map[Entry][]string{}, ids: map[string]Entry{}, names: map[name]Entry{},
	}
	list := slices.Clone(l.reader.Summaries())
	slices.SortFunc(list, func(a, b session.Summary) int { return cmp.Compare(a.Path, b.Path) })
	copies := map[uint64]Entry{}
	for i := range list {
		if err := l.read(&list[i], copies); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// OpenStories writes stories to files below the directory work, and indexes them there.
func OpenStories(work string, list []stories.Story) (l *Library, err error) {
	defer must.Catch(&err)
	root := filepath.Join(work, "sessions")
	must.Do(os.MkdirAll(root, 0o755))
	for i := range list {
		must.Do(os.WriteFile(filepath.Join(root, list[i].Name+".jsonl"), []byte(list[i].Text()), 0o644))
	}
	return Open(work, root)
}

// Close closes the index.
func (l *Library) Close() error { return l.reader.Close() }

// read adds the entries and documents of a session file. copies has the first of the
// entries that may be copied.
func (l *Library) read(s *session.Summary, copies map[uint64]Entry) error {
	l.paths = append(l.paths, s.Path)
	state := adapter.State{Path: s.Path, Header: session.Header{Agent: s.Agent, Notes: s.Notes}}
	_, err := decode.With(l.agents, state, func(e *session.Entry) {
		at := Entry{s.Path, e.Line}
		lead := at
		if first, ok := copies[e.Copy]; ok {
			lead = first
		} else if e.Copy != 0 {
			copies[e.Copy] = at
		}
		l.lead[at] = lead
		l.in[lead] = append(l.in[lead], s.Path)
		l.ids[strings.Clone(e.ID)] = lead
		l.names[name{s.ID, s.Path, strings.Clone(sessions.EntryName(e.ID, e.Offset))}] = lead
		for i := range e.Parts {
			id := segment.ID{File: s.File, Offset: e.Offset, Part: i}
			l.Corpus.Add(stories.Doc{ID: id, Path: s.Path, Line: e.Line, Kind: e.Parts[i].Kind, Text: string(e.Parts[i].Text), Names: e.Parts[i].Names})
		}
	})
	return err
}

// EntryOf returns the entry of a document.
func (l *Library) EntryOf(d *stories.Doc) Entry { return l.lead[Entry{d.Path, d.Line}] }

// Find returns the entry at a position: an entry id, or a part of the name of one
// session file, a colon, and the number of the line.
func (l *Library) Find(position string) (Entry, error) {
	if e, ok := l.ids[position]; ok {
		return e, nil
	}
	i := strings.LastIndexByte(position, ':')
	if i < 0 {
		return Entry{}, fmt.Errorf("no entry has the id %s", position)
	}
	n, err := strconv.Atoi(position[i+1:])
	if err != nil {
		return Entry{}, fmt.Errorf("%s does not end with the number of a line", position)
	}
	var found []string
	for _, path := range l.paths {
		if strings.Contains(filepath.Base(path), position[:i]) {
			found = append(found, path)
		}
	}
	if len(found) != 1 {
		return Entry{}, fmt.Errorf("%s: %d session files have this in their names, want one", position, len(found))
	}
	e, ok := l.lead[Entry{found[0], n}]
	if !ok {
		return Entry{}, fmt.Errorf("%s: no entry begins on this line", position)
	}
	return e, nil
}

// Position returns the file and line of an entry, as Find reads it.
func (l *Library) Position(e Entry) string {
	return fmt.Sprintf("%s:%d", strings.TrimSuffix(filepath.Base(e.Path), ".jsonl"), e.Line)
}

// Flat returns the best hits.
func (l *Library) Flat(text string) (Answer, error) {
	return l.search(search.Request{Text: text, Flat: true, Limit: Depth, Explain: true})
}

// Grouped returns the hits by session, as `pigrep search --json -n 20` prints them.
func (l *Library) Grouped(text string) (Answer, error) {
	return l.search(search.Request{Text: text, Limit: 20})
}

func (l *Library) search(req search.Request) (a Answer, err error) {
	resp, err := l.run(req)
	if err != nil {
		return a, err
	}
	return l.AnswerOf(resp), nil
}

func (l *Library) run(req search.Request) (*search.Response, error) {
	req.Env = filter.Env{Now: now}
	resp, err := search.Run(context.Background(), l.reader, l.agents, stories.Disk{}, req)
	if err != nil {
		return nil, fmt.Errorf("search for %q: %w", req.Text, err)
	}
	return resp, nil
}

// AnswerOf returns the answer that a response is.
func (l *Library) AnswerOf(resp *search.Response) (a Answer) {
	a.Hits = map[Entry]search.Hit{}
	for _, h := range resp.Hits {
		e := l.lead[Entry{h.SessionPath, h.Line}]
		if _, ok := a.Hits[e]; !ok {
			a.Hits[e] = h
			a.Entries = append(a.Entries, e)
		}
	}
	for _, s := range resp.Sessions {
		a.Sessions = append(a.Sessions, s.SessionPath)
	}
	return a
}

// Paths returns the session files.
func (l *Library) Paths() []string { return l.paths }

// Plain ranks the documents by BM25 with any of the words as typed, and the sessions by
// their best document.
func (l *Library) Plain(text string) (a Answer) {
	terms := Terms(text)
	scores := map[*stories.Doc]float64{}
	for i := range l.Corpus.Docs {
		d := &l.Corpus.Docs[i]
		sum := 0.0
		for _, term := range terms {
			if f := d.Freq[term]; f > 0 {
				sum += l.Corpus.IDF(l.Corpus.DF[term]) * l.Corpus.TF(float64(f), d.Length)
			}
		}
		if sum > 0 {
			scores[d] = math.Round(sum*1e9) / 1e9
		}
	}
	found := map[Entry]bool{}
	for _, d := range slices.SortedFunc(maps.Keys(scores), func(x, y *stories.Doc) int {
		return cmp.Or(cmp.Compare(scores[y], scores[x]), cmp.Compare(x.Path, y.Path),
			cmp.Compare(x.ID.Offset, y.ID.Offset), cmp.Compare(x.ID.Part, y.ID.Part))
	}) {
		if e := l.EntryOf(d); !found[e] && len(found) < Depth {
			found[e] = true
			a.Entries = append(a.Entries, e)
			a.Sessions = append(a.Sessions, e.Path)
		}
	}
	return a
}

// Terms returns the terms of a text, each once.
func Terms(text string) (terms []string) {
	var a analysis.Analyzer
	a.Walk([]byte(text), func(t analysis.Token) { terms = append(terms, string(t.Term)) })
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Measures are the names of the Figures.
var Measures = [...]string{"hit@1", "hit@3", "MRR", "nDCG@10", "grouped", "session"}

// Indexes of Figures.
const (
	Hit1    = iota // the first hit has the best grade
	Hit3           // one of the first three has
	MRR            // 1/rank of the first that has
	NDCG           // of the first ten hits
	Grouped        // nDCG@10 of the hits grouped by session, in the order shown
	Session        // the first session contains an entry with the best grade
)

// Figures are the measures of one answer, or their means.
type Figures [len(Measures)]float64

// cutoff is how many hits nDCG looks at.
const cutoff = 10

// Measure compares the answers to a query, flat and grouped, with the grades. Entries
// that were not judged have grade 0.
func (l *Library) Measure(grades map[Entry]int, flat, grouped Answer) (f Figures) {
	switch rank := Rank(flat.Entries, grades); {
	case rank == 1:
		f[Hit1] = 1
		fallthrough
	case rank == 2 || rank == 3:
		f[Hit3] = 1
		fallthrough
	case rank > 3:
		f[MRR] = 1 / float64(rank)
	}
	f[NDCG] = ndcg(flat.Entries, grades)
	f[Grouped] = ndcg(grouped.Entries, grades)
	if len(grouped.Sessions) > 0 {
		for e, grade := range grades {
			if grade == Best && slices.Contains(l.in[e], grouped.Sessions[0]) {
				f[Session] = 1
			}
		}
	}
	return f
}

// Rank returns the 1-based rank of the first entry with the best grade, 0 if there is
// none.
func Rank(list []Entry, grades map[Entry]int) int {
	return slices.IndexFunc(list, func(e Entry) bool { return grades[e] == Best }) + 1
}

// ndcg is the discounted gain of the first hits, relative to that of the ideal order of
// all judged entries. The gain is 2^grade - 1.
func ndcg(list []Entry, grades map[Entry]int) float64 {
	discounted := func(list []int) (sum float64) {
		for i, grade := range list[:min(cutoff, len(list))] {
			sum += (math.Exp2(float64(grade)) - 1) / math.Log2(float64(i+2))
		}
		return sum
	}
	var have []int
	for _, e := range list {
		have = append(have, grades[e])
	}
	ideal := slices.SortedFunc(maps.Values(grades), func(a, b int) int { return b - a })
	return discounted(have) / discounted(ideal)
}

// Result is how one query was answered.
type Result struct {
	Set    string  `json:"set"`
	Class  string  `json:"class"`
	Held   bool    `json:"held"`
	Query  string  `json:"query"`
	Pigrep Figures `json:"pigrep"` // in the order of Measures
	Plain  Figures `json:"plain"`  // of plain BM25; without Grouped

	Grades map[Entry]int `json:"-"`
	Flat   Answer        `json:"-"`
}

// Run answers all queries of a set.
func (s *Set) Run() (list []Result, err error) {
	defer must.Catch(&err)
	for _, q := range s.Queries {
		r := Result{Set: s.Name, Class: q.Class, Held: q.Held, Query: q.Text, Grades: map[Entry]int{}}
		for position, grade := range q.Grades {
			e, err := s.Find(position)
			must.Do(err, s.Name, fmt.Sprintf(" set, %q", q.Text))
			r.Grades[e] = max(r.Grades[e], grade)
		}
		r.Flat = must.Get(s.Flat(q.Text))
		plain := s.Plain(q.Text)
		r.Pigrep = s.Measure(r.Grades, r.Flat, must.Get(s.Grouped(q.Text)))
		r.Plain = s.Measure(r.Grades, plain, plain)
		list = append(list, r)
	}
	return list, nil
}

// Mean returns the means of the figures of results, pigrep's and those of plain BM25.
func Mean(list []Result) (pigrep, plain Figures) {
	for _, r := range list {
		for i := range Measures {
			pigrep[i] += r.Pigrep[i] / float64(len(list))
			plain[i] += r.Plain[i] / float64(len(list))
		}
	}
	return pigrep, plain
}

// resamples is how often Bootstrap draws.
const resamples = 10_000

// Bootstrap returns the mean of paired differences, and the interval that contains the
// mean of 95 of 100 resamples. It gives the same interval for the same differences.
func Bootstrap(differences []float64) (mean, low, high float64) {
	r := rand.New(rand.NewPCG(20, 26))
	n := len(differences)
	means := make([]float64, resamples)
	for i := range means {
		for range n {
			means[i] += differences[r.IntN(n)] / float64(n)
		}
	}
	slices.Sort(means)
	for _, d := range differences {
		mean += d / float64(n)
	}
	return mean, means[resamples*25/1000], means[resamples*975/1000-1]
}

// Classes are the ways in which people ask.
var Classes = []string{"few", "sentence", "several", "latest", "noise", "topic"}

// Best is the grade of an entry that answers the query.
const Best = 3

// Query is a query with its judgements.
type Query struct {
	Class  string
	Held   bool // not to be looked at while tuning
	Text   string
	Grades map[string]int // by position, 0 to Best
}

// ReadQueries reads graded queries; testdata/ranking/README.md describes the format.
func ReadQueries(path string) ([]Query, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []Query
	var q *Query
	seen := map[string]bool{}
	for i, line := range strings.Split(string(data), "\n") {
		wrong := func(what string) error { return fmt.Errorf("%s:%d: %s", filepath.Base(path), i+1, what) }
		line = strings.TrimSpace(line)
		first, rest, _ := strings.Cut(line, " ")
		switch grade, err := strconv.Atoi(first); {
		case line == "":
			q = nil
		case line[0] == '#':
		case q == nil:
			split, text, ok := strings.Cut(rest, " ")
			if !ok || !slices.Contains(Classes, first) || split != "h" && split != "t" {
				return nil, wrong("a query begins with its class, one of " + strings.Join(Classes, ", ") + ", and with h or t")
			}
			if seen[text] {
				return nil, wrong("the query occurs twice")
			}
			seen[text] = true
			list = append(list, Query{Class: first, Held: split == "h", Text: text, Grades: map[string]int{}})
			q = &list[len(list)-1]
		case err != nil || grade < 0 || grade > Best || strings.Contains(rest, " "):
			return nil, wrong("want a grade from 0 to 3 and one position; a blank line ends a query")
		default:
			if _, ok := q.Grades[rest]; ok {
				return nil, wrong("the entry is judged twice")
			}
			q.Grades[rest] = grade
		}
	}
	for _, q := range list {
		if !slices.Contains(slices.Collect(maps.Values(q.Grades)), Best) {
			return nil, fmt.Errorf("%s: no entry has grade 3 for %q", filepath.Base(path), q.Text)
		}
	}
	return list, nil
}

// Set is graded queries and the sessions over which they were judged.
type Set struct {
	Name    string
	Queries []Query
	*Library
}

// ErrMissing means that the set over real session files is not there.
var ErrMissing = errors.New("no graded queries over real sessions")

// OpenMade opens the set over the stories below the root of the repository. Its index
// goes to the directory work. The caller closes the Library.
func OpenMade(work, root string) (s *Set, err error) {
	defer must.Catch(&err)
	dir := filepath.Join(root, "testdata", "ranking")
	queries := must.Get(ReadQueries(filepath.Join(dir, "graded-made.txt")))
	list := must.Get(ReadStories(filepath.Join(dir, "sessions.txt"), filepath.Join(dir, "graded-sessions.txt")))
	return &Set{"made", queries, must.Get(OpenStories(work, list))}, nil
}

// OpenReal opens the set over the real session files below the directory fixtures. It
// returns ErrMissing if the queries or the files are not there.
func OpenReal(work, root, fixtures string) (s *Set, err error) {
	defer must.Catch(&err)
	if fixtures == "" {
		return nil, fmt.Errorf("%w: PIGREP_FIXTURES is not set", ErrMissing)
	}
	sessions, path := filepath.Join(fixtures, "real"), filepath.Join(root, "testdata", "ranking", "graded-real.txt")
	for _, needed := range []string{sessions, path} {
		if _, err := os.Stat(needed); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMissing, err)
		}
	}
	queries := must.Get(ReadQueries(path))
	return &Set{"real", queries, must.Get(Open(work, sessions))}, nil
}

// ReadStories reads sessions that were written by hand; testdata/ranking/README.md
// describes the format.
func ReadStories(paths ...string) (list []stories.Story, err error) {
	defer must.Catch(&err)
	for _, path := range paths {
		for i, line := range strings.Split(string(must.Get(os.ReadFile(path))), "\n") {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				list, err = addLine(list, line)
				must.Do(err, filepath.Base(path), ":", i+1)
			}
		}
	}
	return list, nil
}

func addLine(list []stories.Story, line string) ([]stories.Story, error) {
	if head, ok := strings.CutPrefix(line, "== "); ok {
		f := strings.Split(head, " | ")
		if len(f) != 3 {
			return nil, fmt.Errorf("want a name, a directory and a date")
		}
		start, err := time.Parse(time.DateOnly, f[2])
		return append(list, stories.Story{Name: f[0], ID: "0000-" + f[0], CWD: f[1], Start: start}), err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("a session begins with ==")
	}
	s := &list[len(list)-1]
	mark, text, _ := strings.Cut(line, " ")
	id := unnamed(s)
	if mark == "~" {
		n, err := strconv.Atoi(text)
		talk(s, n)
		return list, err
	}
	if rest, ok := strings.CutPrefix(text, "["); ok {
		id, text, _ = strings.Cut(rest, "] ")
	}
	text = strings.ReplaceAll(text, " / ", "\n")
	if body, amount, ok := strings.Cut(text, " +++ "); ok {
		more, err := bulk(id, amount)
		if err != nil {
			return nil, err
		}
		text = body + "\n" + more
	}
	e, err := entryOf(mark, text)
	if err != nil {
		return nil, err
	}
	if mark == "L" {
		e.Fields["targetId"] = s.Entries[len(s.Entries)-1].ID
	}
	e.Minute = len(s.Entries)
	s.Entries = append(s.Entries, e.Named(id))
	return list, nil
}

func entryOf(mark, text string) (stories.Turn, error) {
	fields := func(f map[string]any) (stories.Turn, error) { return stories.Turn{Fields: f}, nil }
	message := func(m map[string]any) (stories.Turn, error) { return stories.Turn{Message: m}, nil }
	switch mark {
	case ">":
		return stories.Prompt(text), nil
	case "<":
		return stories.Reply(text), nil
	case "?":
		return stories.Said(map[string]any{"type": "thinking", "thinking": text}), nil
	case "$":
		return stories.Called("bash", map[string]any{"command": text}), nil
	case "@":
		tool, path, _ := strings.Cut(text, " ")
		path, written, ok := strings.Cut(path, " => ")
		arguments := map[string]any{"path": path}
		if ok {
			arguments["content"] = written
		}
		return stories.Called(tool, arguments), nil
	case "=", "=!":
		return stories.Result("bash", text, mark == "=!"), nil
	case "!":
		command, output, _ := strings.Cut(text, " => ")
		return message(map[string]any{"role": "bashExecution", "command": command, "output": output, "exitCode": 0})
	case "E":
		return message(map[string]any{"role": "assistant", "content": []any{}, "stopReason": "error", "errorMessage": text})
	case "T":
		return fields(map[string]any{"type": "session_info", "name": text})
	case "L":
		return fields(map[string]any{"type": "label", "label": text})
	case "S":
		return fields(map[string]any{"type": "compaction", "summary": text, "tokensBefore": 1000})
	}
	return stories.Turn{}, fmt.Errorf("no entry begins with %s", mark)
}

// Filler is what generated texts consist of.
var Filler = strings.Fields(`the a of to in is for with that on as it by from at be this was are or an we can has not all more when
value list name path item line file count result status total entry field level state group node type mode step part
update create remove change move copy merge apply start finish open keep send return handle process select
module package version release branch review ticket report sample example detail notes draft summary option default
north green seven little yellow river window garden letter paper market winter corner bridge silver`)

// spoken is what the bulk of a pasted text has in common with questions.
var spoken = strings.Fields(`how did do does what why where which i you my our me say said only just last time again now then so but if
there still get got make use want need before after first one into out up no yes`)

// unnamed returns the id of the next entry of a story, if it has no name. It contains no
// word: a query finds an id by its beginning.
func unnamed(s *stories.Story) string {
	return fmt.Sprintf("%08x", random(fmt.Sprint(s.Name, " ", len(s.Entries))).Uint32())
}

// random draws the same numbers for the same name.
func random(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(20, h.Sum64()))
}

// chat returns n words, so many of a hundred of them spoken.
func chat(r *rand.Rand, n, percent int) []string {
	words := make([]string, n)
	for i := range words {
		from := Filler
		if r.IntN(100) < percent {
			from = spoken
		}
		words[i] = from[r.IntN(len(from))]
	}
	return words
}

// talk adds n entries that are about nothing: prompts, and what follows them.
func talk(s *stories.Story, n int) {
	r := random(s.Name)
	for i := range n {
		some := func(least, most int) string { return strings.Join(chat(r, least+r.IntN(most-least), 50), " ") }
		var e stories.Turn
		switch i % 5 {
		case 0:
			e = stories.Prompt(some(5, 30))
		case 1:
			e = stories.Said(map[string]any{"type": "thinking", "thinking": some(15, 80)})
		case 2:
			e = stories.Called("bash", map[string]any{"command": "grep -rn " + some(1, 6)})
		case 3:
			e = stories.Result("bash", some(20, 200), false)
		case 4:
			e = stories.Reply(some(10, 80))
		}
		e.Minute = len(s.Entries)
		s.Entries = append(s.Entries, e.Named(unnamed(s)))
	}
}

// bulk makes a long text, always the same for an entry: so many kB, a space, and words
// that occur here and there in it, each about every 2 kB.
func bulk(id, amount string) (string, error) {
	words := strings.Fields(amount)
	kB, err := strconv.Atoi(words[0])
	if err != nil {
		return "", fmt.Errorf("+++ %s: want a number of kB and words", amount)
	}
	r := random(id)
	var b strings.Builder
	for b.Len() < kB<<10 {
		text := chat(r, 350, 33) // about two kB
		for _, w := range words[1:] {
			text = slices.Insert(text, r.IntN(len(text)), w)
		}
		for i, w := range text {
			b.WriteString(w)
			b.WriteByte(" \n"[min(1, max(0, i%11-9))])
		}
	}
	return b.String(), nil
}
