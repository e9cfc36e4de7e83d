package ranking

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pigrep/lab/must"
	"pigrep/lab/stories"
)

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
