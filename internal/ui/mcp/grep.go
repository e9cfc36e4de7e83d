package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/grep"
	"pigrep/query/literal"
)

// GrepInput are the arguments of grep.
type GrepInput struct {
	Pattern   Words `json:"pattern" range:"0,20000" jsonschema:"regular expressions (RE2); a line must match one of them"`
	Fixed     bool  `json:"fixed,omitempty" jsonschema:"patterns are text, not regular expressions"`
	Word      bool  `json:"word,omitempty" jsonschema:"only whole words"`
	Multiline bool  `json:"multiline,omitempty" jsonschema:"matches may span lines"`
	Filters
	Case     string `json:"case,omitempty" jsonschema:"default smart: case matters if a pattern has an upper case letter"`
	MaxCount int    `json:"maxCount,omitempty" range:"1,1000000" jsonschema:"at most this many lines of each session"`
	Context  int    `json:"context,omitempty" range:"0,10" jsonschema:"lines shown before and after each match, default 0; read_session shows more"`
	Limit    int    `json:"limit,omitempty" range:"1,1000" jsonschema:"lines on a page, default 50"`
	Paging
}

// caseNames are the values of case.
var caseNames = []string{"smart", "sensitive", "ignore"}

var caseModes = map[string]literal.CaseMode{"": literal.SmartCase, "smart": literal.SmartCase, "sensitive": literal.CaseSensitive, "ignore": literal.IgnoreCase}

const (
	defaultLines = 50
	// countedLines is where counting the matching lines beyond a page ends.
	countedLines = 1_000
	longestLine  = 400 // bytes that are kept of a line, around its first match
)

// grepAnswer is the answer of the grep command, with paging.
type grepAnswer struct {
	head
	Patterns     []string  `json:"patterns"`
	Scope        string    `json:"scope,omitempty"`
	Matches      []grepRow `json:"matches"`
	Lines        int       `json:"total" jsonschema:"matching lines"`
	TotalMatches int       `json:"totalMatches"`
	TotalIsExact bool      `json:"totalIsExact" jsonschema:"false: counting stopped, there are more"`
	Files        int       `json:"files"`
	WithMatch    int       `json:"filesWithMatch"`
	tail
}

// grepRow is a line of a match, or a piece of a long line.
type grepRow struct {
	grep.Row
	Cut int `json:"cutBytes,omitempty" jsonschema:"bytes cut from the line"`
}

func (s *server) addGrep(m *mcp.Server) {
	add(m, s, tool[GrepInput]{
		name: "grep", title: "Find exact patterns in past sessions",
		description: "Every line of past sessions that a regular expression matches, complete and exact, in the order of files. Use it for exact error messages, identifiers, paths and commands.",
		output:      open(schemaOf[grepAnswer]()), call: s.grep,
	})
}

// tries are the hints for patterns that are refused.
var tries = map[literal.Try]string{
	literal.TryFixed:     "to search for it literally, set fixed true",
	literal.TryMultiline: "to match across lines, set multiline true",
}

// errCounted ends a search that has counted enough lines.
var errCounted = errors.New("counted enough")

func (s *server) grep(ctx context.Context, in *GrepInput) (*mcp.CallToolResult, error) {
	q, err := s.ask(ctx, in, listing{tool: "grep", filters: in.Filters, limit: in.Limit, rows: defaultLines, paging: &in.Paging})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	req := grep.Request{
		Spec: q.request.Spec, Redact: q.request.Redact, Patterns: in.Pattern, Fixed: in.Fixed, Word: in.Word, Multiline: in.Multiline, Case: caseModes[in.Case],
		Before: in.Context, After: in.Context, MaxCount: in.MaxCount,
	}
	var rows []grepRow
	seen, lines, matches, files := 0, 0, 0, 0
	last := ""
	sum, err := grep.Run(ctx, grep.Input{Reader: q.Reader, Adapter: s.Adapter, Source: s.Files, Files: q.Files()}, req, func(m *grep.Match) error {
		lines, matches = lines+m.Matched, matches+m.Matches
		if m.SessionPath != last {
			last = m.SessionPath
			files++
		}
		for _, row := range m.Rows() {
			if seen++; seen > q.at.At && len(rows) <= q.limit {
				r := grepRow{Row: row}
				r.Text, r.Spans, r.Cut = cutLine(row.Text, row.Spans)
				rows = append(rows, r)
			}
		}
		if lines > countedLines && len(rows) > q.limit {
			return errCounted
		}
		return nil
	})
	answer := grepAnswer{
		head: head{printer.SchemaVersion, "grep"}, Patterns: in.Pattern, Scope: in.scopeName(), Lines: lines, TotalMatches: matches,
		TotalIsExact: err == nil, WithMatch: files,
	}
	end := q.tail(nil, query.IndexState{Generation: q.Reader.Generation(), Files: len(q.Reader.Summaries())})
	for i := range q.Reader.Summaries() {
		end.Index.SkippedLines += q.Reader.Summaries()[i].Skipped
	}
	// Files that are not indexed yet have been read too.
	end.Warnings = append([]string{}, q.Warnings...)
	switch {
	case err == nil:
		answer.Files, answer.WithMatch = sum.Files, sum.WithHits
		end.Index.Complete = len(sum.Errors) == 0
		for _, e := range sum.Errors {
			end.Warnings = append(end.Warnings, fmt.Sprintf("%s cannot be read", e.Path))
		}
	case errors.Is(err, errCounted):
		answer.Files = len(q.Reader.Summaries())
	default:
		if e, ok := errors.AsType[*literal.PatternError](err); ok {
			return nil, &Error{codeQuery, e.Error(), tries[e.Try]}
		}
		return nil, err
	}
	return pageOf(q, rows, rowPage[grepRow]{
		tail: end,
		line: func(r *grepRow) string { return r.Text + "\n" },
		say: func(rows []grepRow, t tail) (any, string) {
			a := answer
			a.Matches, a.tail = rows, t
			return a, grepText(&a, q.short)
		},
	})
}

// cutLine shortens a long line to the text around its first span. It returns the
// spans within that and the number of bytes cut.
func cutLine(line string, spans [][2]int) (kept string, left [][2]int, cut int) {
	if len(line) <= longestLine+longestLine/4 {
		return line, spans, 0
	}
	start := 0
	if len(spans) > 0 {
		start = max(0, min(spans[0][0]-longestLine/4, len(line)-longestLine))
	}
	end := min(len(line), start+longestLine)
	for start > 0 && line[start]&0xC0 == 0x80 {
		start--
	}
	for end < len(line) && line[end]&0xC0 == 0x80 {
		end--
	}
	before, after := "", ""
	if start > 0 {
		before = "… "
	}
	if end < len(line) {
		after = " …"
	}
	for _, m := range spans {
		if m[0] >= start && m[0] < end {
			left = append(left, [2]int{m[0] - start + len(before), min(m[1], end) - start + len(before)})
		}
	}
	return before + line[start:end] + after, left, len(line) - (end - start)
}

// grepText is the answer as text: lines below the entries they are in.
func grepText(a *grepAnswer, short func(string) string) string {
	var b strings.Builder
	more := ""
	if !a.TotalIsExact {
		more = "more than "
	}
	fmt.Fprintf(&b, "%s%s in %s.\n", more, human.Plural(a.Lines, "line", "lines"), human.Plural(a.WithMatch, "session file", "session files"))
	last := ""
	for i := range a.Matches {
		r := &a.Matches[i]
		if place := fmt.Sprintf("%s %s %s", reference(short, r.SessionID, r.SessionPath, r.EntryID), r.Kind, r.Tool); place != last {
			last = place
			fmt.Fprintf(&b, "\n%s %s\n", strings.TrimSpace(place), dayOf(r.Timestamp))
		}
		mark := ":"
		if r.Type != "match" {
			mark = "-"
		}
		fmt.Fprintf(&b, "%d%s%s\n", r.Number, mark, r.Text)
	}
	a.tail.write(&b)
	return b.String()
}
