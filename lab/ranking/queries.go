package ranking

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Classes are the ways in which people ask.
var Classes = []string{"few", "sentence", "several", "latest", "noise"}

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
func OpenMade(work, root string) (*Set, error) {
	dir := filepath.Join(root, "testdata", "ranking")
	queries, err := ReadQueries(filepath.Join(dir, "graded-made.txt"))
	if err != nil {
		return nil, err
	}
	list, err := ReadStories(filepath.Join(dir, "sessions.txt"), filepath.Join(dir, "graded-sessions.txt"))
	if err != nil {
		return nil, err
	}
	l, err := OpenStories(work, list)
	return &Set{"made", queries, l}, err
}

// OpenReal opens the set over the real session files below the directory fixtures. It
// returns ErrMissing if the queries or the files are not there.
func OpenReal(work, root, fixtures string) (*Set, error) {
	if fixtures == "" {
		return nil, fmt.Errorf("%w: PIGREP_FIXTURES is not set", ErrMissing)
	}
	sessions, path := filepath.Join(fixtures, "real"), filepath.Join(root, "testdata", "ranking", "graded-real.txt")
	for _, needed := range []string{sessions, path} {
		if _, err := os.Stat(needed); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMissing, err)
		}
	}
	queries, err := ReadQueries(path)
	if err != nil {
		return nil, err
	}
	l, err := Open(work, sessions)
	return &Set{"real", queries, l}, err
}
