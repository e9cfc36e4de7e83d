package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"pigrep/adapter"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/engine/literal"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/recap"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/ui/printer"
)

type SessionsInput struct {
	Query string `json:"query,omitempty" range:"0,20000" jsonschema:"as of search; best match first"`
	Filters
	Named     bool `json:"named,omitempty" jsonschema:"only those with a name"`
	Forks     bool `json:"forks,omitempty" jsonschema:"only forks and their parents"`
	Subagents bool `json:"subagents,omitempty" jsonschema:"subagents too"`
	Limit     int  `json:"limit,omitempty" range:"1,1000" jsonschema:"sessions a page, default 20"`
	Paging
}

type sessionsAnswer struct {
	Sessions []listedSession `json:"sessions"`
	Total    int             `json:"total"`
	Inexact  bool            `json:"inexact,omitempty" jsonschema:"there are more"`
	footer
}

type listedSession struct {
	sessionRow
	Named  bool     `json:"named,omitempty" jsonschema:"the title is a name"`
	Labels []string `json:"labels,omitempty"`
	Depth  int      `json:"depth,omitempty" jsonschema:"with forks: a fork of the last one above with a smaller depth"`
	Entry  string   `json:"entry,omitempty" jsonschema:"of the best hit"`

	Subagents int `json:"subagents,omitempty" jsonschema:"that worked for it"`
}

func (s *server) sessions(ctx context.Context, q *question, in *SessionsInput) (*rowPage[listedSession], error) {
	req := sessions.FromSearch(q.request)
	req.Named, req.Forks, req.Subagents = in.Named, in.Forks, in.Subagents
	req.NoSearches = req.NoSearches && req.Text != "" // a session is more than its searches
	req.Limit = q.at.At + q.limit + 1
	list, err := remote.Sessions.Ask(ctx, q, req)
	if err != nil {
		return nil, err
	}
	p := &rowPage[listedSession]{footer: q.footer(&list.Index, list.Warnings), line: (*listedSession).text}
	p.rows = rowsFrom(q, list.Sessions, func(x *sessions.Session) listedSession {
		row := listedSession{sessionRow: q.row(q.Named(x.SessionID, x.SessionPath), &x.SessionHit), Named: x.Name != "", Labels: x.Labels, Depth: x.Depth, Subagents: x.Subagents}
		if x.Hit != nil {
			row.Entry = x.Hit.Entry()
		}
		return row
	})
	p.head = human.When(!list.TotalIsExact, "at least ") + human.Plural(list.Total, "session", "sessions") + "."
	p.answer = func(rows []listedSession, f footer) any {
		return sessionsAnswer{rows, list.Total, !list.TotalIsExact, f}
	}
	return p, nil
}

func (r *listedSession) text() string {
	subagents := human.When(r.Subagents > 0, human.Plural(r.Subagents, "subagent", "subagents"))
	return strings.Repeat("  ", r.Depth) + human.Joined(" · ", r.sessionRow.text(), human.When(r.Entry != "", "best at "+r.Entry), subagents)
}

// FixInput are the arguments of find_fix.
type FixInput struct {
	Error string `json:"error" range:"0,65536" jsonschema:"as it was printed, several lines are fine"`
	Where
	Limit int `json:"limit,omitempty" range:"1,100" jsonschema:"sessions a page, default 5"`
	Paging
}

type fixAnswer struct {
	Sessions []fixRow `json:"sessions"`
	Total    int      `json:"total"`
	Inexact  bool     `json:"inexact,omitempty" jsonschema:"there may be more"`
	footer
}

// fixRow is a session with the error, at its last occurrence, and what followed.
type fixRow struct {
	place
	Outcome fix.Outcome `json:"outcome"`
	Title   string      `json:"title,omitempty"`
	Agent   string      `json:"agent,omitempty"`
	CWD     string      `json:"cwd,omitempty"`
	Time    string      `json:"time,omitempty"`
	Error   string      `json:"error"`
	Calls   []fixCall   `json:"calls,omitempty"`
	Reply   *fixReply   `json:"reply,omitempty"`
}

type fixCall struct {
	Entry  string `json:"entry,omitempty"`
	Tool   string `json:"tool"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

type fixReply struct {
	Entry string `json:"entry,omitempty"`
	Text  string `json:"text"`
}

func (s *server) fix(ctx context.Context, q *question, in *FixInput) (*rowPage[fixRow], error) {
	res, err := remote.Fix.Ask(ctx, q, fix.Request{
		Text: in.Error, Spec: q.request.Spec, Env: q.request.Env, Limit: q.at.At + q.limit + 1, Resume: s.Resume, Redact: q.request.Redact,
	})
	if errors.Is(err, fix.ErrNoWords) {
		return nil, &Error{codeQuery, err.Error(), "give the error as it was printed"}
	}
	if err != nil {
		return nil, err
	}
	p := &rowPage[fixRow]{rows: rowsFrom(q, res.Sessions, q.fix), footer: q.footer(&res.Index, res.Warnings), line: (*fixRow).text}
	inexact := !res.TotalIsExact && res.Total > 0
	found := human.When(inexact, "at least ") + human.Plural(res.Total, "session", "sessions")
	if p.head = found + " with this error."; len(res.Missing) > 0 {
		p.head = "No session has this error with " + strings.Join(res.Missing, ", ") + ". " + found + " with an error like it."
	}
	p.answer = func(rows []fixRow, f footer) any { return fixAnswer{rows, res.Total, inexact, f} }
	return p, nil
}

func (q *question) fix(x *fix.Session) fixRow {
	row := fixRow{
		place: q.place(x.SessionID, x.SessionPath, x.Error.Entry()), Outcome: x.Outcome, Title: beginning(x.Title, longestTitle), Agent: human.Badge(x.Host, x.Agent, q.Several, x.Kept), CWD: x.CWD,
		Time: minute(x.Error.Timestamp), Error: beginning(x.Error.Text, 300),
	}
	row.Calls = lists.Map(x.Calls, func(c fix.Call) fixCall {
		return fixCall{c.Entry(), c.Tool, beginning(c.Text, 200), c.Status == "error"}
	})
	if x.Reply != nil {
		row.Reply = &fixReply{x.Reply.Entry(), beginning(x.Reply.Text, 300)}
	}
	return row
}

// text returns a session with the error, the calls and the reply, one a line, below an empty one.
func (r *fixRow) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s · %s\n   error: %s", r.place, r.Outcome, human.Joined(" · ", r.Agent, r.Time, r.CWD, r.Title), r.Error)
	for _, c := range r.Calls {
		fmt.Fprintf(&b, "\n   → %s %s%s", c.Tool, c.Text, human.When(c.Failed, " (failed)"))
	}
	if r.Reply != nil {
		fmt.Fprintf(&b, "\n   reply: %s", r.Reply.Text)
	}
	return b.String()
}

// CallsInput are the arguments of tool_calls.
type CallsInput struct {
	Query           string `json:"query,omitempty" range:"0,20000" jsonschema:"with these words"`
	Tool            Words  `json:"tool,omitempty" jsonschema:"of these tools; ! is commands typed by the user"`
	Where           `reach:"calls"`
	Failed          bool  `json:"failed,omitempty" jsonschema:"only failures"`
	Rejected        bool  `json:"rejected,omitempty" jsonschema:"refused by the user"`
	Risky           bool  `json:"risky,omitempty" jsonschema:"that match a rule"`
	Rule            Words `json:"rule,omitempty" jsonschema:"of these rules"`
	IncludeSearches bool  `json:"includeSearches,omitempty" jsonschema:"with query: calls of pigrep too"`

	Results bool `json:"results,omitempty" jsonschema:"with the first lines of results"`
	Limit   int  `json:"limit,omitempty" range:"1,1000" jsonschema:"calls a page, default 30"`
	Paging
}

const defaultCalls = 30

type callsAnswer struct {
	Calls []callRow `json:"calls"`
	Total int       `json:"total"`
	footer
}

type callRow struct {
	place
	Result string   `json:"result,omitempty" jsonschema:"the entry with its result"`
	Time   string   `json:"time,omitempty"`
	Tool   string   `json:"tool"`
	Status string   `json:"status" jsonschema:"ok, error, rejected, no match (the exit code only says no), none (no result) or missing (no call)"`
	Exit   int32    `json:"exit,omitempty"`
	Rules  []string `json:"rules,omitempty"`
	Text   string   `json:"text" jsonschema:"arguments, or the command"`
	Lines  []string `json:"lines,omitempty" jsonschema:"of the result"`
}

// UsageInput are the arguments of usage.
type UsageInput struct {
	By    Words `json:"by,omitempty" jsonschema:"default model"`
	Where `reach:"calls"`
	Limit int `json:"limit,omitempty" range:"1,1000" jsonschema:"rows a page, default 50"`
	Paging
}

type usageAnswer struct {
	Total    usageRow   `json:"total"`
	Today    *spent     `json:"today,omitempty"`
	Week     *spent     `json:"thisWeek,omitempty"`
	Rows     []usageRow `json:"rows"`
	TimeZone string     `json:"timeZone" jsonschema:"of days, weeks and months"`
	Unpriced []string   `json:"unpricedModels,omitempty" jsonschema:"costs lack these"`
	Estimate string     `json:"estimate,omitempty" jsonschema:"which costs are estimated"`
	footer
}

type spent struct {
	Tokens int64   `json:"tokens"`
	Cost   float64 `json:"cost"`
}

// usageRow is tokens and cost by the dimensions that were asked for.
type usageRow struct {
	Day        string  `json:"day,omitempty"`
	Week       string  `json:"week,omitempty"`
	Month      string  `json:"month,omitempty"`
	Block      string  `json:"block,omitempty"`
	Model      *string `json:"model,omitempty"`
	Agent      *string `json:"agent,omitempty"`
	Project    *string `json:"project,omitempty"`
	Session    string  `json:"session,omitempty"`
	Title      string  `json:"title,omitempty"`
	Tokens     int64   `json:"tokens"`
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost" jsonschema:"in dollars; 0 if unknown"`
	Sessions   int     `json:"sessions"`

	unpriced bool // the cost lacks something
}

// audit returns the question as one about calls and tokens.
func (q *question) audit() audit.Request {
	return audit.Request{Text: q.request.Text, Spec: q.request.Spec, Env: q.request.Env, Redact: q.request.Redact, Location: q.s.Now().Location()}
}

func (s *server) calls(ctx context.Context, q *question, in *CallsInput) (*rowPage[callRow], error) {
	req := q.audit()
	req.Failed, req.Rejected, req.Risky, req.Rules, req.Results, req.Limit = in.Failed, in.Rejected, in.Risky, in.Rule, in.Results, q.at.At+q.limit+1
	list, err := remote.Calls.Ask(ctx, q, req)
	if err != nil {
		return nil, err
	}
	p := &rowPage[callRow]{line: (*callRow).text}
	seen := 0
	err = list.Each(ctx, func(r *audit.CallRow) error {
		if seen++; seen > q.at.At {
			p.rows = append(p.rows, q.call(r))
		}
		return nil
	})
	p.footer = q.footer(&list.Index, list.Warnings)
	p.head = human.Plural(list.Total, "call", "calls") + " in " + human.Plural(list.Coverage.Sessions, "session", "sessions") + "."
	p.answer = func(rows []callRow, f footer) any { return callsAnswer{rows, list.Total, f} }
	return p, err
}

func (q *question) call(r *audit.CallRow) callRow {
	row := callRow{
		place: q.place(r.SessionID, r.SessionPath, r.Entry()), Result: cmp.Or(r.ShortResultID, r.ResultEntryID), Time: minute(r.Timestamp), Tool: r.Tool, Status: r.Status,
		Rules: r.Rules, Text: beginning(r.Arguments, 200),
	}
	if r.ExitCode != nil {
		row.Exit = *r.ExitCode
	}
	row.Lines = lists.Map(r.Result, func(line string) string { return beginning(line, 200) })
	return row
}

func (r *callRow) text() string {
	exit := human.When(r.Exit != 0, fmt.Sprintf(" exit %d", r.Exit))
	rules := human.When(len(r.Rules) > 0, " ["+strings.Join(r.Rules, ", ")+"]")
	head := fmt.Sprintf("%s %s %s %s%s%s: %s", r.place, r.Time, r.Status, r.Tool, exit, rules, r.Text)
	return strings.Join(append([]string{head}, r.Lines...), "\n   ")
}

func (s *server) usage(ctx context.Context, q *question, in *UsageInput) (*rowPage[usageRow], error) {
	req := q.audit()
	req.By = in.By.values()
	table, err := remote.Usage.Ask(ctx, q, req)
	if err != nil {
		return nil, err
	}
	recent, err := audit.RecentUsage(ctx, remote.Usage.Of(q), req, q.request.Env.Now)
	if err != nil {
		return nil, err
	}
	total := q.usage(&table.Total)
	a := usageAnswer{Total: total, TimeZone: table.TimeZone, Estimate: table.Estimate()}
	p := &rowPage[usageRow]{rows: rowsFrom(q, table.Rows, q.usage), footer: q.footer(&table.Index, table.Warnings), head: "Total: " + total.text(), line: (*usageRow).text}
	if recent != nil {
		of := func(r *audit.UsageRow) *spent { return &spent{r.Tokens, math.Round(r.Cost*1e4) / 1e4} }
		a.Today, a.Week = of(&recent.Today), of(&recent.Week)
		p.head += "; " + printer.RecentLine(recent, "this week")
	}
	a.Unpriced = lists.Map(table.Unpriced, func(model string) string { return cmp.Or(model, "(no model)") })
	p.head = human.Joined("; ", p.head, a.Estimate)
	p.answer = func(rows []usageRow, f footer) any {
		a.Rows, a.footer = rows, f
		return a
	}
	return p, nil
}

func (q *question) usage(r *audit.UsageRow) usageRow {
	row := usageRow{
		Day: r.Day, Week: r.Week, Month: r.Month, Block: r.Block, Model: r.Model, Agent: r.Agent, Project: r.Project, Title: beginning(r.SessionName, longestTitle), Tokens: r.Tokens, Input: r.Input,
		Output: r.Output, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, Cost: math.Round(r.Cost*1e4) / 1e4, Sessions: r.Sessions, unpriced: r.Unpriced > 0,
	}
	if r.SessionPath != "" {
		row.Session = q.Named(r.SessionID, r.SessionPath)
	}
	return row
}

func (r *usageRow) text() string {
	var key []string
	for _, k := range []*string{&r.Day, &r.Week, &r.Month, &r.Block, r.Model, r.Agent, r.Project, &r.Session, &r.Title} {
		if k != nil && *k != "" {
			key = append(key, *k)
		}
	}
	cost := fmt.Sprintf("cost $%.4f", r.Cost)
	switch {
	case r.Cost == 0:
		cost = "cost unknown"
	case r.unpriced:
		cost = fmt.Sprintf("cost at least $%.4f", r.Cost)
	}
	text := fmt.Sprintf("%d tokens (in %d, out %d, cache read %d, write %d), %s, %s", r.Tokens, r.Input, r.Output, r.CacheRead, r.CacheWrite, cost, human.Plural(r.Sessions, "session", "sessions"))
	if name := strings.TrimSpace(strings.Join(key, " ")); name != "" {
		text = name + ": " + text
	}
	return text
}

// RecapInput are the arguments of recap.
type RecapInput struct {
	Where `reach:"calls"`
	Limit int `json:"limit,omitempty" range:"1,1000" jsonschema:"lines a page, default 40"`
	Paging
}

const (
	recapLines    = 40 // of at most longestRecap bytes: 2,000 tokens
	longestRecap  = 150
	recapSessions = 8
)

type recapAnswer struct {
	Lines []recapLine `json:"lines"`
	Total int         `json:"total" jsonschema:"sessions"`
	footer
}

// recapLine is a session or a fact of it.
type recapLine struct {
	place
	What string `json:"what" jsonschema:"session, or a fact of the one before"`
	Text string `json:"text"`
}

func (l *recapLine) text() string { return fmt.Sprintf("%s %s: %s", l.place, l.What, l.Text) }

// recap tells of the latest sessions, the latest first, so that a page that ends early has these.
func (s *server) recap(ctx context.Context, q *question, _ *RecapInput) (*rowPage[recapLine], error) {
	res, err := remote.Recap.Ask(ctx, q, recap.Request{Spec: q.request.Spec, Limit: recapSessions, Redact: q.request.Redact})
	if err != nil {
		return nil, err
	}
	p := &rowPage[recapLine]{footer: q.footer(&res.Index, res.Warnings), line: (*recapLine).text}
	for i := len(res.Sessions) - 1; i >= 0; i-- {
		x := &res.Sessions[i]
		facts := []string{minute(x.Modified), human.Plural(x.Prompts, "turn", "turns"), x.CWD}
		if x.Cost > 0 {
			facts = append(facts, fmt.Sprintf("$%.2f", x.Cost))
		}
		p.rows = append(p.rows, recapLine{q.place(x.SessionID, x.SessionPath, ""), "session", beginning(x.Title, longestRecap/2) + " · " + strings.Join(facts, " · ")})
		for k := range x.Facts {
			f := &x.Facts[k]
			id, path := x.SessionID, x.SessionPath
			if f.SessionPath != "" {
				id, path = f.SessionID, f.SessionPath
			}
			text := printer.FactText(f, x.CWD, func(p *recap.Pass) string { return sessions.EntryName(p.Entry(), p.Offset) })
			p.rows = append(p.rows, recapLine{q.place(id, path, sessions.EntryName(f.Entry(), f.Offset)), string(f.What), beginning(text, longestRecap)})
		}
	}
	p.rows = p.rows[min(q.at.At, len(p.rows)):]
	latest := human.When(len(res.Sessions) < res.Total, fmt.Sprintf("; the latest %d", len(res.Sessions)))
	p.head = human.Plural(res.Total, "session", "sessions") + latest + "."
	p.answer = func(rows []recapLine, f footer) any { return recapAnswer{rows, res.Total, f} }
	return p, nil
}

// BlameInput are the arguments of blame.
type BlameInput struct {
	File string `json:"file" range:"1,4096" jsonschema:"FILE, FILE:LINE or FILE:LINE-LINE"`
	Where
	Limit int `json:"limit,omitempty" range:"1,1000" jsonschema:"blocks a page, default 20"`
	Paging
}

const blameBlocks = 20

type blameAnswer struct {
	Blocks  []blameRow `json:"blocks"`
	Lines   int        `json:"lines" jsonschema:"asked for"`
	Written int        `json:"written" jsonschema:"by sessions"`
	footer
}

// blameRow is adjacent lines of one call.
type blameRow struct {
	Lines string `json:"lines"`
	Match string `json:"match" jsonschema:"exact, space (but for white space), alike or none"`
	Why   string `json:"why,omitempty" jsonschema:"of none: other (sessions changed the file, none has this text), untouched (none changed it), before (it is older than all sessions), filtered or short"`
	place
	Agent  string `json:"agent,omitempty"`
	Time   string `json:"time,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	Reply  string `json:"reply,omitempty"`
}

func (r *blameRow) text() string {
	return fmt.Sprintf("%s %s", r.Lines, human.Joined(" · ", r.Match, r.Why, r.place.String(), r.Agent, r.Time, r.Prompt, r.Reply))
}

func (s *server) blame(ctx context.Context, q *question, in *BlameInput) (*rowPage[blameRow], error) {
	req, err := s.Lines(in.File)
	if err != nil {
		return nil, &Error{codeInput, err.Error(), "name a file as it is now, with lines or without: main.go:10-20"}
	}
	req.Spec, req.Env, req.Redact, req.Resume = q.request.Spec, q.request.Env, q.request.Redact, s.Resume
	res, err := remote.Blame.Ask(ctx, q, *req)
	if err != nil {
		return nil, err
	}
	blocks := slices.DeleteFunc(res.Blocks, func(b blame.Block) bool { return b.Blank() })
	p := &rowPage[blameRow]{footer: q.footer(&res.Index, res.Warnings), line: (*blameRow).text}
	p.rows = rowsFrom(q, blocks, func(b *blame.Block) blameRow {
		row := blameRow{Lines: fmt.Sprintf("%d-%d", b.From, b.To), Match: b.Match, Why: b.Why}
		if b.Origin != nil {
			row.place = q.place(b.SessionID, b.SessionPath, sessions.EntryName(b.Entry(), b.Offset))
			row.Agent, row.Time, row.Prompt, row.Reply = human.Joined(" ", b.Host, b.Agent), minute(b.Timestamp), beginning(b.Prompt.String(), 200), beginning(b.Reply.String(), 300)
		}
		return row
	})
	p.head = fmt.Sprintf("%d of %s written by sessions.", res.Written, human.Plural(res.Total, "line", "lines"))
	p.answer = func(rows []blameRow, f footer) any { return blameAnswer{rows, res.Total, res.Written, f} }
	return p, nil
}

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

// A grepAnswer groups the matching lines by entry.
type grepAnswer struct {
	Entries []grepEntry `json:"entries"`
	Lines   int         `json:"total" jsonschema:"matching lines"`
	Inexact bool        `json:"inexact,omitempty" jsonschema:"the total may be larger"`
	Files   int         `json:"files" jsonschema:"session files with a match"`
	footer
}

// grepEntry is a part of an entry with lines.
type grepEntry struct {
	place
	Kind  session.Kind `json:"kind"`
	Tool  string       `json:"tool,omitempty"`
	Time  string       `json:"time,omitempty"`
	Lines []string     `json:"lines" jsonschema:"NUMBER:TEXT matches, NUMBER-TEXT is around a match, … is where a long line is cut"`
}

// grepRow is a line.
type grepRow struct {
	in   *grepEntry // the part that it is the first line of, without its lines; nil if it is not the first
	line string
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

// request returns what is looked for, wherever that is.
func (in *GrepInput) request() grep.Request {
	return grep.Request{
		Patterns: in.Pattern, Fixed: in.Fixed, Word: in.Word, Multiline: in.Multiline, Case: caseModes[in.Case],
		Before: in.Context, After: in.Context, MaxCount: in.MaxCount, MaxStates: maxStates, Ahead: matchesAhead,
	}
}

func (s *server) grep(ctx context.Context, q *question, in *GrepInput) (*rowPage[grepRow], error) {
	found := &grepRows{q: q}
	req := in.request()
	req.Spec, req.Redact, req.Counted = q.request.Spec, q.request.Redact, &found.full
	sum, err := q.Grep(ctx, req, found.match)
	if sum == nil {
		sum = &remote.Grepped{}
	}
	f := q.footer(&sum.Index, nil)
	f.leaveOut(sum.Searches)
	// Files that are not indexed yet have been read too.
	f.Warnings = append(append([]string{}, q.Warnings...), sum.Warnings...)
	switch pattern, refused := errors.AsType[*literal.PatternError](err); {
	case err == nil:
		found.files = sum.WithHits
		leavesOut := slices.ContainsFunc(q.Reader.Summaries(), func(s session.Summary) bool { return s.LeavesOut() })
		f.Complete = len(sum.Errors) == 0 && !leavesOut && sum.Index.Complete
		for _, e := range sum.Errors {
			warning := e.Path + " cannot be read"
			if tooLong, ok := errors.AsType[*adapter.TooLongError](e.Err); ok {
				warning = fmt.Sprintf("skipped %s: %v", e.Path, tooLong)
			}
			f.Warnings = append(f.Warnings, warning)
		}
	case errors.Is(err, context.DeadlineExceeded):
		f.Complete, f.Warnings = false, append(f.Warnings, s.late())
	case refused:
		return nil, &Error{codeQuery, pattern.Error(), tries[pattern.Try]}
	case !errors.Is(err, errCounted):
		return nil, err
	}
	lines, files := human.When(err != nil, "at least ")+human.Plural(found.lines, "line", "lines"), found.files
	if found.lines == 0 && err == nil {
		lines, files = "No line matches", sum.Index.Files
	}
	return &rowPage[grepRow]{
		rows: found.rows, footer: f, head: lines + " in " + human.Plural(files, "session file", "session files") + ".", line: (*grepRow).text,
		answer: func(rows []grepRow, f footer) any {
			return grepAnswer{grepEntries(rows), found.lines, err != nil, found.files, f}
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
	in := &grepEntry{place: g.q.place(m.SessionID, m.SessionPath, m.Entry()), Kind: m.Kind, Tool: m.Tool, Time: minute(m.Timestamp)}
	for i := range m.Lines {
		if g.seen++; g.seen > g.q.at.At && len(g.rows) <= g.q.limit {
			l, mark := &m.Lines[i], "-"
			if l.Match {
				mark = ":"
			}
			g.rows = append(g.rows, grepRow{in, fmt.Sprintf("%d%s%s", l.Number, mark, visible(around(l.Text, l.Spans, longestLine)))})
			in = nil
		}
	}
	g.full.Store(len(g.rows) > g.q.limit)
	if g.lines > countedLines && g.full.Load() {
		return errCounted
	}
	return nil
}

// grepEntries groups rows by the parts they are in.
func grepEntries(rows []grepRow) []grepEntry {
	list := []grepEntry{}
	for _, r := range rows {
		if r.in != nil {
			list = append(list, *r.in)
		}
		last := &list[len(list)-1]
		last.Lines = append(last.Lines, r.line)
	}
	return list
}

// text returns a line, below its part if it is the first one of it.
func (r *grepRow) text() string {
	if r.in == nil {
		return r.line
	}
	part := strings.Fields(fmt.Sprint(r.in.place, " ", r.in.Kind, " ", r.in.Tool, " ", r.in.Time))
	return "\n" + strings.Join(part, " ") + "\n" + r.line
}

// around shortens a text to about most bytes around its first span. Little more than
// that is left as it is.
func around(text string, spans [][2]int, most int) string {
	if len(text) <= most+most/4 {
		return text
	}
	start, end := grep.Window(text, spans, most)
	return human.When(start > 0, "… ") + text[start:end] + human.When(end < len(text), " …")
}
