package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/adapter"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query/engine/literal"
	"pigrep/query/grep"
)

// GrepInput are the arguments of grep.
type GrepInput struct {
	Pattern   Words `json:"pattern" range:"0,20000" jsonschema:"regular expressions (RE2); any of them"`
	Fixed     bool  `json:"fixed,omitempty" jsonschema:"patterns are plain text"`
	Word      bool  `json:"word,omitempty" jsonschema:"whole words"`
	Multiline bool  `json:"multiline,omitempty" jsonschema:"matches may span lines"`
	Filters
	Case     string `json:"case,omitempty" jsonschema:"default smart"`
	MaxCount int    `json:"maxCount,omitempty" range:"1,1000000" jsonschema:"lines of a session"`
	Context  int    `json:"context,omitempty" range:"0,10" jsonschema:"lines around each match, default 0"`
	Limit    int    `json:"limit,omitempty" range:"1,1000" jsonschema:"lines a page, default 50"`
	Paging
}

// caseNames are the values of case.
var caseNames = []string{"smart", "sensitive", "ignore"}

var caseModes = map[string]literal.CaseMode{"": literal.SmartCase, "smart": literal.SmartCase, "sensitive": literal.CaseSensitive, "ignore": literal.IgnoreCase}

const (
	defaultLines = 50
	// countedLines is up to how many matching lines are counted if the page ends sooner.
	// Counting is what takes the time for a common word.
	countedLines = 100
	// matchesAhead is few: the call ends once enough lines are counted, and the matches that
	// were found ahead are dropped.
	matchesAhead = 16
	longestLine  = 400 // bytes that are kept of a line, around its first match
	// maxStates keeps a call in time: each byte of a text may take all states.
	maxStates = 10_000
)

// grepAnswer is the answer of grep: the lines below the entries they are in.
type grepAnswer struct {
	Entries []grepEntry `json:"entries"`
	Lines   int         `json:"total" jsonschema:"matching lines"`
	Inexact bool        `json:"inexact,omitempty" jsonschema:"the total may be larger"`
	Files   int         `json:"files" jsonschema:"session files with a match"`
	footer

	searched int // session files
}

// grepEntry is a part of an entry with lines.
type grepEntry struct {
	place
	Kind  session.Kind `json:"kind"`
	Tool  string       `json:"tool,omitempty"`
	Time  string       `json:"time,omitempty"`
	Lines []string     `json:"lines" jsonschema:"NUMBER:TEXT matches, NUMBER-TEXT is around a match, … is where a long line is cut"`
}

// grepRow is a line, and the part it is in.
type grepRow struct {
	in   *grepEntry // without its lines; the same for all of them
	line string
}

func (s *server) addGrep(m *mcp.Server) {
	add(m, s, tool[GrepInput]{
		name: "grep", title: "Find exact patterns in past sessions",
		description: "Every line of past sessions that a regular expression matches. Use it for exact messages, identifiers, paths and commands.",
		output:      open(schemaOf[grepAnswer]()),
		call: list(s, "grep", func(in *GrepInput) listing {
			return listing{filters: in.Filters, limit: in.Limit, rows: defaultLines, paging: &in.Paging}
		}, s.grep),
	})
}

// tries are the hints for patterns that are refused.
var tries = map[literal.Try]string{
	literal.TryFixed:     "to search for it literally, set fixed true",
	literal.TryMultiline: "to match across lines, set multiline true",
	literal.TrySmaller:   "repeat less: x{1000} needs a thousand states",
	literal.TryReplaced:  `for bytes that were not UTF-8 type \x{fffd}`,
}

// errCounted ends a search that has counted enough lines.
var errCounted = errors.New("counted enough")

func (s *server) grep(ctx context.Context, q *question, in *GrepInput) (*rowPage[grepRow], error) {
	found := &grepRows{q: q}
	req := grep.Request{
		Spec: q.request.Spec, Redact: q.request.Redact, Patterns: in.Pattern, Fixed: in.Fixed, Word: in.Word, Multiline: in.Multiline, Case: caseModes[in.Case],
		Before: in.Context, After: in.Context, MaxCount: in.MaxCount, MaxStates: maxStates, Ahead: matchesAhead, Counted: &found.full,
	}
	sum, err := grep.Run(ctx, grep.Input{Reader: q.Reader, Adapter: s.Adapter, Source: s.Files, Files: q.Files()}, req, found.match)
	f := q.footer(nil)
	if sum != nil {
		f.leaveOut(sum.Searches)
	}
	// Files that are not indexed yet have been read too.
	f.Warnings = append([]string{}, q.Warnings...)
	switch pattern, refused := errors.AsType[*literal.PatternError](err); {
	case err == nil:
		found.files = sum.WithHits
		leavesOut := slices.ContainsFunc(q.Reader.Summaries(), func(s session.Summary) bool { return s.LeavesOut() })
		f.Complete = len(sum.Errors) == 0 && !leavesOut
		for _, e := range sum.Errors {
			warning := e.Path + " cannot be read"
			if tooLong, ok := errors.AsType[*adapter.TooLongError](e.Err); ok {
				warning = fmt.Sprintf("skipped %s: %v", e.Path, tooLong)
			}
			f.Warnings = append(f.Warnings, warning)
		}
	case errors.Is(err, context.DeadlineExceeded):
		f.Complete, f.Warnings = false, append(f.Warnings, late)
	case refused:
		return nil, &Error{codeQuery, pattern.Error(), tries[pattern.Try]}
	case !errors.Is(err, errCounted):
		return nil, err
	}
	return &rowPage[grepRow]{
		rows: found.rows, footer: f,
		line: func(r *grepRow) string { return r.line + r.line }, // it is in the structured answer too
		render: func(rows []grepRow, f footer) (any, string) {
			a := grepAnswer{grepEntries(rows), found.lines, err != nil, found.files, f, len(q.Reader.Summaries())}
			return a, a.text()
		},
	}, nil
}

// grepRows collects the rows of a page, and counts.
type grepRows struct {
	q            *question
	rows         []grepRow
	full         atomic.Bool // the page
	seen         int         // lines, with those around matches
	lines, files int         // that match
	last         string      // session path
}

func (g *grepRows) match(m *grep.Match) error {
	g.lines += m.Matched
	if m.SessionPath != g.last {
		g.last = m.SessionPath
		g.files++
	}
	var in *grepEntry
	for i := range m.Lines {
		if g.seen++; g.seen > g.q.at.At && len(g.rows) <= g.q.limit {
			if in == nil {
				in = &grepEntry{place: g.q.ids.place(m.SessionID, m.SessionPath, m.EntryID), Kind: m.Kind, Tool: m.Tool, Time: minute(m.Timestamp)}
			}
			g.rows = append(g.rows, grepRow{in, lineText(&m.Lines[i])})
		}
	}
	g.full.Store(len(g.rows) > g.q.limit)
	if g.lines > countedLines && g.full.Load() {
		return errCounted
	}
	return nil
}

// lineText is a line as grep prints it.
func lineText(l *grep.Line) string {
	mark := "-"
	if l.Match {
		mark = ":"
	}
	return fmt.Sprintf("%d%s%s", l.Number, mark, visible(around(l.Text, l.Spans, longestLine)))
}

// grepEntries groups rows by the parts they are in.
func grepEntries(rows []grepRow) []grepEntry {
	list := []grepEntry{}
	for i, r := range rows {
		if i == 0 || r.in != rows[i-1].in {
			list = append(list, *r.in)
		}
		last := &list[len(list)-1]
		last.Lines = append(last.Lines, r.line)
	}
	return list
}

// around shortens a text to about most bytes around its first span. Little more than
// that is left as it is.
func around(text string, spans [][2]int, most int) string {
	if len(text) <= most+most/4 {
		return text
	}
	start, end := grep.Window(text, spans, most)
	before, after := "", ""
	if start > 0 {
		before = "… "
	}
	if end < len(text) {
		after = " …"
	}
	return before + text[start:end] + after
}

// text is the answer as text.
func (a *grepAnswer) text() string {
	var b strings.Builder
	lines, files := atLeast(a.Inexact)+human.Plural(a.Lines, "line", "lines"), a.Files
	if a.Lines == 0 && !a.Inexact {
		lines, files = "No line matches", a.searched
	}
	fmt.Fprintf(&b, "%s in %s.\n", lines, human.Plural(files, "session file", "session files"))
	for i := range a.Entries {
		e := &a.Entries[i]
		fmt.Fprintf(&b, "\n%s\n", strings.Join(strings.Fields(fmt.Sprint(e.place, " ", e.Kind, " ", e.Tool, " ", e.Time)), " "))
		for _, line := range e.Lines {
			b.WriteString(line + "\n")
		}
	}
	a.footer.write(&b)
	return b.String()
}
