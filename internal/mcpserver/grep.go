package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/query"
	"pigrep/scope"
)

// GrepInput are the arguments of grep.
type GrepInput struct {
	Pattern   Words `json:"pattern" jsonschema:"regular expressions (RE2); lines are found that match any of them"`
	Fixed     bool  `json:"fixed,omitempty" jsonschema:"patterns are text, not regular expressions"`
	Word      bool  `json:"word,omitempty" jsonschema:"only whole words"`
	Multiline bool  `json:"multiline,omitempty" jsonschema:"matches may go over lines"`
	Filters
	Case     string `json:"case,omitempty" jsonschema:"default smart: upper and lower case differ when a pattern has an upper case letter"`
	MaxCount int    `json:"maxCount,omitempty" jsonschema:"at most so many lines of each session"`
	Context  int    `json:"context,omitempty" jsonschema:"lines shown before and after each match, default 0"`
	Limit    int    `json:"limit,omitempty" jsonschema:"lines on a page, default 50"`
	Paging
}

// caseNames are the values of case; the numbers are those of query.CaseMode.
var caseNames = []string{"smart", "sensitive", "ignore"}

var caseModes = map[string]query.CaseMode{"": query.SmartCase, "smart": query.SmartCase, "sensitive": query.CaseSensitive, "ignore": query.IgnoreCase}

const (
	defaultLines = 50
	mostLines    = 1000
	// countedLines is how many matching lines are counted beyond a page: that
	// there are very many is all that matters of more.
	countedLines = 20_000
	longestLine  = 400 // bytes of a line around its first match
)

// grepAnswer is that of the grep command, with what belongs to pages.
type grepAnswer struct {
	head
	Patterns     []string  `json:"patterns"`
	Scope        string    `json:"scope,omitempty"`
	Matches      []grepRow `json:"matches"`
	Lines        int       `json:"total" jsonschema:"lines that match"`
	TotalMatches int       `json:"totalMatches"`
	TotalIsExact bool      `json:"totalIsExact" jsonschema:"false: counting was given up, there are more"`
	Files        int       `json:"files"`
	WithMatch    int       `json:"filesWithMatch"`
	tail
}

// grepRow is a line of a match. Of a long line a piece is shown.
type grepRow struct {
	query.GrepRow
	Cut int `json:"cutBytes,omitempty" jsonschema:"bytes of the line that are left out"`
}

func (s *server) addGrep(m *mcp.Server) {
	add(m, s, tool[GrepInput]{
		name: "grep", title: "Find exact patterns in past sessions",
		description: "Every line of past sessions that a regular expression matches, complete and exact, in order of files. Use it for error messages, identifiers, paths and commands known letter by letter.",
		output:      open(schemaOf[grepAnswer]()), call: s.grep,
	})
}

// errCounted ends a search of which more need not be known.
var errCounted = errors.New("counted enough")

func (s *server) grep(ctx context.Context, in *GrepInput) (*mcp.CallToolResult, error) {
	paging, err := in.take()
	if err != nil {
		return nil, err
	}
	switch {
	case len(strings.Join(in.Pattern, "")) > longestText:
		return nil, tooLong("pattern", len(strings.Join(in.Pattern, "")))
	case in.Limit < 0 || in.Limit > mostLines || in.MaxCount < 0:
		return nil, &Error{codeInput, fmt.Sprintf("limit is a number from 1 to %d", mostLines), "follow nextCursor for more"}
	case in.Context < 0 || in.Context > mostContext:
		return nil, &Error{codeInput, fmt.Sprintf("context is a number from 0 to %d", mostContext), "read_session shows more"}
	}
	x, at, err := s.indexed(ctx, "grep", in, paging)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	filters, out, err := s.request(in.Filters, "", x, at)
	if err != nil {
		return nil, err
	}
	req := query.GrepRequest{
		Request: filters, Patterns: in.Pattern, Fixed: in.Fixed, Word: in.Word, Multiline: in.Multiline, Case: caseModes[in.Case],
		Before: in.Context, After: in.Context, MaxCount: in.MaxCount,
	}
	limit := in.Limit
	if limit == 0 {
		limit = defaultLines
	}
	var rows []grepRow
	seen, lines, matches, files := 0, 0, 0, 0
	last := ""
	sum, err := query.Grep(ctx, x.Reader, s.Adapter, s.Files, x.Files(), req, func(m *query.GrepMatch) error {
		lines, matches = lines+m.Matched, matches+m.Matches
		if m.SessionPath != last {
			last = m.SessionPath
			files++
		}
		for _, row := range m.Rows() {
			if seen++; seen > at.At && len(rows) <= limit {
				rows = append(rows, cutLine(row))
			}
		}
		if lines > countedLines && len(rows) > limit {
			return errCounted
		}
		return nil
	})
	answer := grepAnswer{
		head: head{schemaVersion, "grep"}, Patterns: in.Pattern, Lines: lines, TotalMatches: matches, TotalIsExact: err == nil, WithMatch: files,
		tail: tail{Warnings: append([]string{}, x.Warnings...), LeftOut: out, Index: x.State},
	}
	switch {
	case err == nil:
		answer.Files, answer.WithMatch = sum.Files, sum.WithHits
		// Files that are not indexed yet have been read.
		answer.Index.Complete = len(sum.Errors) == 0
		for _, e := range sum.Errors {
			answer.Warnings = append(answer.Warnings, fmt.Sprintf("%s cannot be read", e.Path))
		}
	case errors.Is(err, errCounted):
		answer.Files = len(x.Reader.Summaries())
	default:
		if e, ok := errors.AsType[*query.PatternError](err); ok {
			return nil, &Error{codeQuery, e.Error(), e.Hint}
		}
		return nil, err
	}
	answer.Index.Generation, answer.Index.Files = x.Reader.Generation(), len(x.Reader.Summaries())
	for i := range x.Reader.Summaries() {
		answer.Index.SkippedLines += x.Reader.Summaries()[i].Skipped
	}
	if len(in.Kind) == 0 {
		answer.Scope = string(scope.Default)
		if in.Scope != "" {
			answer.Scope = in.Scope
		}
	}
	more := len(rows) > limit
	rows = rows[:min(len(rows), limit)]
	short := query.ShortIDs(x.Reader.Summaries())
	p := page{max: paging.MaxBytes, items: len(rows)}
	p.size = func(i int) int { return encodedLen(&rows[i]) + len(rows[i].Text) + 4 }
	p.result = func(n int) (any, string) {
		a := answer
		a.Matches = append([]grepRow{}, rows[:n]...)
		a.Dropped = len(rows) - n
		if n < len(rows) || more {
			a.NextCursor = s.next(x, at, func(c *cursor) { c.At = at.At + n })
		}
		return a, grepText(&a, short)
	}
	return p.cut()
}

// cutLine keeps of a long line what is around its first match.
func cutLine(r query.GrepRow) grepRow {
	if len(r.Text) <= longestLine+longestLine/4 {
		return grepRow{r, 0}
	}
	start := 0
	if len(r.Spans) > 0 {
		start = max(0, min(r.Spans[0][0]-longestLine/4, len(r.Text)-longestLine))
	}
	end := min(len(r.Text), start+longestLine)
	for start > 0 && r.Text[start]&0xC0 == 0x80 {
		start--
	}
	for end < len(r.Text) && r.Text[end]&0xC0 == 0x80 {
		end--
	}
	cut := len(r.Text) - (end - start)
	before, after := "", ""
	if start > 0 {
		before = "… "
	}
	if end < len(r.Text) {
		after = " …"
	}
	text := before + r.Text[start:end] + after
	var spans [][2]int
	for _, m := range r.Spans {
		if m[0] >= start && m[0] < end {
			spans = append(spans, [2]int{m[0] - start + len(before), min(m[1], end) - start + len(before)})
		}
	}
	r.Text, r.Spans = text, spans
	return grepRow{r, cut}
}

// grepText is the answer in words: the lines below the entries they are in.
func grepText(a *grepAnswer, short func(string) string) string {
	var b strings.Builder
	more := ""
	if !a.TotalIsExact {
		more = "more than "
	}
	fmt.Fprintf(&b, "%s%s in %s.\n", more, count(a.Lines, "line"), count(a.WithMatch, "session file"))
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
