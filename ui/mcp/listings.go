package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/ui/printer"
)

type SessionsInput struct {
	Query     string `json:"query,omitempty" range:"0,20000" jsonschema:"as of search; best match first"`
	Filters   `told:"sessions"`
	Named     bool `json:"named,omitempty" jsonschema:"only those with a name"`
	Forks     bool `json:"forks,omitempty" jsonschema:"only forks and their parents"`
	Subagents bool `json:"subagents,omitempty" jsonschema:"subagents too"`
	Limit     int  `json:"limit,omitempty" range:"1,1000" jsonschema:"sessions a page, default 10"`
	Paging
}

const listedSessions = 10

type sessionsAnswer struct {
	about
	Sessions []listedSession `json:"sessions"`
	Total    int             `json:"total"`
	Inexact  bool            `json:"inexact,omitempty" jsonschema:"there are more"`
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
	list, err := q.Sessions(ctx, req)
	if err != nil {
		return nil, err
	}
	p := &rowPage[listedSession]{about: q.about(&list.Index, list.Warnings), line: (*listedSession).text}
	p.rows = rowsFrom(q, list.Sessions, func(x *sessions.Session) listedSession {
		row := listedSession{sessionRow: q.row(q.Named(x.SessionID, x.SessionPath), &x.SessionHit), Named: x.Name != "", Labels: x.Labels, Depth: x.Depth, Subagents: x.Subagents}
		if x.Hit != nil {
			row.Entry = x.Hit.Entry()
		}
		return row
	})
	p.head = human.When(!list.TotalIsExact, "at least ") + human.Plural(list.Total, "session", "sessions") + "."
	p.answer = func(rows []listedSession, f about) any {
		return sessionsAnswer{f, rows, list.Total, !list.TotalIsExact}
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
	Limit int `json:"limit,omitempty" range:"1,100" jsonschema:"sessions a page, default 3"`
	Paging
}

type fixAnswer struct {
	about
	Sessions []fixRow `json:"sessions"`
	Total    int      `json:"total"`
	Inexact  bool     `json:"inexact,omitempty" jsonschema:"there may be more"`
}

// fixRow is a session with the error, at its last occurrence, and what followed.
type fixRow struct {
	place
	Outcome fix.Outcome `json:"outcome"`
	Title   string      `json:"title,omitempty"`
	Agent   string      `json:"agent,omitempty"`
	CWD     string      `json:"cwd,omitempty"`
	Time    string      `json:"time,omitempty"`
	Error   string      `json:"error,omitempty" jsonschema:"if it is not as given"`
	Steps   []string    `json:"steps,omitempty" jsonschema:"calls after it: ENTRY TOOL TEXT"`
	Reply   string      `json:"reply,omitempty" jsonschema:"ENTRY TEXT"`
}

// The defaults of find_fix: sessions, steps of each, and bytes of a text.
const (
	fixSessions = 3
	mostSteps   = 7
	longestStep = 120
)

func (s *server) fix(ctx context.Context, q *question, in *FixInput) (*rowPage[fixRow], error) {
	res, err := q.Fix(ctx, fix.Request{
		Text: in.Error, Spec: q.request.Spec, Env: q.request.Env, Limit: q.at.At + q.limit + 1, Resume: s.Resume, Redact: q.request.Redact,
	})
	if errors.Is(err, fix.ErrNoWords) {
		return nil, &Error{codeQuery, err.Error(), "give the error as it was printed"}
	}
	if err != nil {
		return nil, err
	}
	fix := func(x *fix.Session) fixRow {
		row := q.fix(x)
		if row.Error == beginning(in.Error, longestStep) {
			row.Error = ""
		}
		return row
	}
	p := &rowPage[fixRow]{rows: rowsFrom(q, res.Sessions, fix), about: q.about(&res.Index, res.Warnings), line: (*fixRow).text}
	inexact := !res.TotalIsExact && res.Total > 0
	found := human.When(inexact, "at least ") + human.Plural(res.Total, "session", "sessions")
	if p.head = found + " with this error."; len(res.Missing) > 0 {
		p.head = "No session has this error with " + strings.Join(res.Missing, ", ") + ". " + found + " with an error like it."
	}
	p.answer = func(rows []fixRow, f about) any { return fixAnswer{f, rows, res.Total, inexact} }
	return p, nil
}

func (q *question) fix(x *fix.Session) fixRow {
	row := fixRow{
		place: q.place(x.SessionID, x.SessionPath, x.Error.Entry()), Outcome: x.Outcome, Title: beginning(x.Title, longestTitle), Agent: human.Badge(x.Host, x.Agent, q.Several, x.Kept), CWD: x.CWD,
		Time: minute(x.Error.Timestamp), Error: beginning(x.Error.Text, longestStep),
	}
	row.Steps = lists.Map(x.Calls, func(c fix.Call) string {
		return sessions.EntryName(c.Entry(), c.Offset) + " " + beginning(c.Told(), longestStep) + human.When(c.Status == "error", " (failed)")
	})
	if n := len(row.Steps) - mostSteps; n > 0 {
		row.Steps = slices.Replace(row.Steps, mostSteps/2, mostSteps/2+n, fmt.Sprintf("… %d more", n))
	}
	if x.Reply != nil {
		row.Reply = sessions.EntryName(x.Reply.Entry(), x.Reply.Offset) + " " + beginning(x.Reply.Text, 2*longestStep)
	}
	return row
}

// text returns a session with the error, the calls and the reply, one a line, below an empty one.
func (r *fixRow) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s · %s", r.place, r.Outcome, human.Joined(" · ", r.Agent, r.Time, r.CWD, r.Title))
	b.WriteString(human.When(r.Error != "", "\n   error: "+r.Error))
	for _, step := range r.Steps {
		b.WriteString("\n   → " + step)
	}
	b.WriteString(human.When(r.Reply != "", "\n   reply: "+r.Reply))
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
	Rule            Words `json:"rule,omitempty" jsonschema:"of these rules, such as superuser"`
	IncludeSearches bool  `json:"includeSearches,omitempty" jsonschema:"with query: calls of pigrep too" rare:"yes"`

	Results bool `json:"results,omitempty" jsonschema:"with the first lines of results"`
	Limit   int  `json:"limit,omitempty" range:"1,1000" jsonschema:"calls a page, default 20"`
	Paging
}

const defaultCalls = 20

type callsAnswer struct {
	about
	Calls []callRow `json:"calls"`
	Total int       `json:"total"`
}

type callRow struct {
	place
	Result string   `json:"result,omitempty" jsonschema:"the entry with its result"`
	Time   string   `json:"time,omitempty"`
	Tool   string   `json:"tool"`
	Status string   `json:"status,omitempty" jsonschema:"if not ok: error, rejected, no match (the exit code only says no), none (no result) or missing (no call)"`
	Exit   int32    `json:"exit,omitempty"`
	Rules  []string `json:"rules,omitempty"`
	Text   string   `json:"text" jsonschema:"arguments, or the command"`
	Lines  []string `json:"lines,omitempty" jsonschema:"of the result"`
}

// UsageInput are the arguments of usage.
type UsageInput struct {
	By    Words `json:"by,omitempty" jsonschema:"model (default), agent, project, session, month, week, day or block"`
	Where `reach:"calls"`
	Limit int `json:"limit,omitempty" range:"1,1000" jsonschema:"rows a page, default 30"`
	Paging
}

type usageAnswer struct {
	about
	Total    usageRow   `json:"total"`
	Today    *spent     `json:"today,omitempty"`
	Week     *spent     `json:"thisWeek,omitempty"`
	Rows     []usageRow `json:"rows"`
	TimeZone string     `json:"timeZone,omitempty" jsonschema:"of days, weeks and months"`
	Unpriced []string   `json:"unpricedModels,omitempty" jsonschema:"costs lack these"`
	Estimate string     `json:"estimate,omitempty" jsonschema:"which costs are estimated"`
}

// spent is tokens and cost, as people write them.
type spent struct {
	Tokens string `json:"tokens,omitempty"`
	Cost   string `json:"cost,omitempty" jsonschema:"≥ if it lacks something"`
}

// usageRow is tokens and cost by the dimensions that were asked for.
type usageRow struct {
	Day     string  `json:"day,omitempty"`
	Week    string  `json:"week,omitempty"`
	Month   string  `json:"month,omitempty"`
	Block   string  `json:"block,omitempty"`
	Model   *string `json:"model,omitempty"`
	Agent   *string `json:"agent,omitempty"`
	Project *string `json:"project,omitempty"`
	Session string  `json:"session,omitempty"`
	Title   string  `json:"title,omitempty"`
	spent
	Input      string `json:"input,omitempty"`
	Output     string `json:"output,omitempty"`
	CacheRead  string `json:"cacheRead,omitempty"`
	CacheWrite string `json:"cacheWrite,omitempty"`
	Sessions   int    `json:"sessions"`
}

// tokens writes a number of tokens, "" for none.
func tokens(n int64) string { return human.When(n > 0, human.Short(n)) }

func spentOf(r *audit.UsageRow) spent {
	return spent{tokens(r.Tokens), human.When(r.Cost > 0, human.When(r.Unpriced > 0, "≥")+human.Cents.Text(r.Cost))}
}

// audit returns the question as one about calls and tokens.
func (q *question) audit() audit.Request {
	return audit.Request{Text: q.request.Text, Spec: q.request.Spec, Env: q.request.Env, Redact: q.request.Redact, Location: q.s.Now().Location()}
}

func (s *server) calls(ctx context.Context, q *question, in *CallsInput) (*rowPage[callRow], error) {
	req := q.audit()
	req.Error, req.Rejected, req.Risky, req.Rules, req.Results, req.Limit = in.Failed, in.Rejected, in.Risky, in.Rule, in.Results, q.at.At+q.limit+1
	list, err := q.Calls(ctx, req)
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
	p.about = q.about(&list.Index, list.Warnings)
	p.head = human.Plural(list.Total, "call", "calls") + " in " + human.Plural(list.Coverage.Sessions, "session", "sessions") + "."
	p.answer = func(rows []callRow, f about) any { return callsAnswer{f, rows, list.Total} }
	return p, err
}

func (q *question) call(r *audit.CallRow) callRow {
	row := callRow{
		place: q.place(r.SessionID, r.SessionPath, r.Entry()), Result: cmp.Or(r.ShortResultID, r.ResultEntryID), Time: minute(r.Timestamp), Tool: r.Tool, Status: r.Status,
		Rules: r.Rules, Text: beginning(r.Arguments, 150),
	}
	if row.Status == "ok" {
		row.Status = ""
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
	head := fmt.Sprintf("%s %s %s %s%s%s: %s", r.place, r.Time, cmp.Or(r.Status, "ok"), r.Tool, exit, rules, r.Text)
	return strings.Join(append([]string{head}, r.Lines...), "\n   ")
}

func (s *server) usage(ctx context.Context, q *question, in *UsageInput) (*rowPage[usageRow], error) {
	req := q.audit()
	req.By = in.By.values()
	table, err := q.Usage(ctx, req)
	if err != nil {
		return nil, err
	}
	recent, err := audit.RecentUsage(ctx, q.Usage, req, q.request.Env.Now)
	if err != nil {
		return nil, err
	}
	total := q.usage(&table.Total)
	a := usageAnswer{Total: total, Estimate: table.Estimate()}
	if slices.ContainsFunc(req.By, func(by string) bool { return slices.Contains([]string{"block", "day", "week", "month"}, by) }) {
		a.TimeZone = table.TimeZone
	}
	p := &rowPage[usageRow]{rows: rowsFrom(q, table.Rows, q.usage), about: q.about(&table.Index, table.Warnings), head: "Total: " + total.text(), line: (*usageRow).text}
	if recent != nil {
		of := func(r *audit.UsageRow) *spent {
			if r.Tokens == 0 {
				return nil
			}
			return new(spentOf(r))
		}
		a.Today, a.Week = of(&recent.Today), of(&recent.Week)
		p.head += "; " + printer.RecentLine(recent, "this week")
	}
	a.Unpriced = lists.Map(table.Unpriced, func(model string) string { return cmp.Or(model, "(no model)") })
	p.head = human.Joined("; ", p.head, a.Estimate)
	p.answer = func(rows []usageRow, f about) any {
		a.Rows, a.about = rows, f
		return a
	}
	return p, nil
}

func (q *question) usage(r *audit.UsageRow) usageRow {
	row := usageRow{
		Day: r.Day, Week: r.Week, Month: r.Month, Block: r.Block, Model: r.Model, Agent: r.Agent, Project: r.Project, Title: beginning(r.SessionName, longestTitle), spent: spentOf(r),
		Input: tokens(r.Input), Output: tokens(r.Output), CacheRead: tokens(r.CacheRead), CacheWrite: tokens(r.CacheWrite), Sessions: r.Sessions,
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
	part := func(what, n string) string { return human.When(n != "", what+" "+n) }
	parts := human.Joined(", ", part("in", r.Input), part("out", r.Output), part("cache read", r.CacheRead), part("write", r.CacheWrite))
	text := human.Joined(", ", human.Joined(" ", cmp.Or(r.Tokens, "no")+" tokens", human.When(parts != "", "("+parts+")")), cmp.Or(r.Cost, "cost unknown"), human.Plural(r.Sessions, "session", "sessions"))
	if name := strings.TrimSpace(strings.Join(key, " ")); name != "" {
		text = name + ": " + text
	}
	return text
}

// RecapInput are the arguments of recap.
type RecapInput struct {
	Where `reach:"calls"`
	Limit int `json:"limit,omitempty" range:"1,1000" jsonschema:"facts a page, default 20"`
	Paging
}

const (
	recapLines    = 20
	longestRecap  = 110 // bytes of a fact
	recapSessions = 8
	factsOfKind   = 5 // that a session has at most; the others are counted
)

type recapAnswer struct {
	about
	Sessions []recapRow `json:"sessions"`
	Total    int        `json:"total" jsonschema:"sessions"`
}

// recapRow is a session with facts.
type recapRow struct {
	sessionRow
	Turns int         `json:"turns,omitempty"`
	Cost  string      `json:"cost,omitempty"`
	Facts []recapFact `json:"facts,omitempty"`
}

// recapFact is a fact of a session, or of a subagent of it, which is then named.
type recapFact struct {
	place
	What string `json:"what"`
	Text string `json:"text"`

	of    *recapRow
	first bool // of its session
}

// text returns a fact, below its session if it is the first one of it.
func (f *recapFact) text() string {
	fact := human.When(f.What != "", "   "+human.Joined(" ", strings.TrimPrefix(f.place.String(), ":"), f.What+":", f.Text))
	if !f.first {
		return fact
	}
	return "\n" + human.Joined("\n", human.Joined(" · ", f.of.sessionRow.text(), human.Some(f.of.Turns, "turn", "turns"), f.of.Cost), fact)
}

// recapOrder is the order of facts: first what is open, and how a session ended.
var recapOrder = []recap.What{recap.Open, recap.Aborted, recap.Closing, recap.Failed, recap.Commit, recap.Pull, recap.Changed}

// recap tells of the latest sessions, the latest first, so that a page that ends early has these.
func (s *server) recap(ctx context.Context, q *question, _ *RecapInput) (*rowPage[recapFact], error) {
	res, err := q.Recap(ctx, recap.Request{Spec: q.request.Spec, Limit: recapSessions, Redact: q.request.Redact})
	if err != nil {
		return nil, err
	}
	p := &rowPage[recapFact]{about: q.about(&res.Index, res.Warnings), line: (*recapFact).text}
	for _, x := range res.Sessions {
		row := &recapRow{sessionRow: q.row(q.Named(x.SessionID, x.SessionPath), &search.SessionHit{SessionFacts: x.SessionFacts}), Turns: x.Prompts, Cost: x.CostText()}
		row.Messages = 0 // its turns say it
		facts := q.facts(&x)
		for i := range facts {
			facts[i].of, facts[i].first = row, i == 0
		}
		p.rows = append(p.rows, facts...)
	}
	p.rows = p.rows[min(q.at.At, len(p.rows)):]
	if len(p.rows) > 0 {
		p.rows[0].first = true
	}
	latest := human.When(len(res.Sessions) < res.Total, fmt.Sprintf("; the latest %d", len(res.Sessions)))
	p.head = human.Plural(res.Total, "session", "sessions") + latest + "."
	p.answer = func(facts []recapFact, f about) any {
		a := recapAnswer{f, []recapRow{}, res.Total}
		for _, fact := range facts {
			if fact.first {
				a.Sessions = append(a.Sessions, *fact.of)
			}
			if last := &a.Sessions[len(a.Sessions)-1]; fact.What != "" {
				last.Facts = append(last.Facts, fact)
			}
		}
		return a
	}
	return p, nil
}

// facts returns the facts of a session in recapOrder, a few of each kind. For a session without facts, it
// returns one that says nothing.
func (q *question) facts(x *recap.Session) (list []recapFact) {
	for _, what := range recapOrder {
		facts := slices.DeleteFunc(slices.Clone(x.Facts), func(f recap.Fact) bool { return f.What != what })
		rank := func(f *recap.Fact) int { // what never passed, and what changed most, comes first
			if f.Passed != nil {
				return 1
			}
			return -f.Edits - f.Writes - f.Deletes
		}
		slices.SortStableFunc(facts, func(a, b recap.Fact) int { return rank(&a) - rank(&b) })
		for i := range facts[:min(factsOfKind, len(facts))] {
			f := &facts[i]
			at := place{Entry: sessions.EntryName(f.Entry(), f.Offset)}
			if f.SessionPath != "" {
				at.Session = q.Named(f.SessionID, f.SessionPath)
			}
			text := printer.FactText(f, x.CWD, func(p *recap.Pass) string { return sessions.EntryName(p.Entry(), p.Offset) })
			list = append(list, recapFact{place: at, What: string(what), Text: beginning(text, longestRecap)})
		}
		if n := len(facts) - factsOfKind; n > 0 {
			list = append(list, recapFact{What: string(what), Text: fmt.Sprintf("%d more", n)})
		}
	}
	if list == nil {
		list = []recapFact{{}}
	}
	return list
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
	about
	Blocks  []blameRow `json:"blocks"`
	Lines   int        `json:"lines" jsonschema:"asked for"`
	Written int        `json:"written" jsonschema:"by sessions"`
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
	res, err := q.Blame(ctx, *req)
	if err != nil {
		return nil, err
	}
	blocks := slices.DeleteFunc(res.Blocks, func(b blame.Block) bool { return b.Blank() })
	p := &rowPage[blameRow]{about: q.about(&res.Index, res.Warnings), line: (*blameRow).text}
	p.rows = rowsFrom(q, blocks, func(b *blame.Block) blameRow {
		row := blameRow{Lines: fmt.Sprintf("%d-%d", b.From, b.To), Match: b.Match, Why: b.Why}
		if b.Origin != nil {
			row.place = q.place(b.SessionID, b.SessionPath, sessions.EntryName(b.Entry(), b.Offset))
			row.Agent, row.Time, row.Prompt, row.Reply = human.Joined(" ", b.Host, b.Agent), minute(b.Timestamp), beginning(b.Prompt.String(), 200), beginning(b.Reply.String(), 300)
		}
		return row
	})
	p.head = fmt.Sprintf("%d of %s written by sessions.", res.Written, human.Plural(res.Total, "line", "lines"))
	p.answer = func(rows []blameRow, f about) any { return blameAnswer{f, rows, res.Total, res.Written} }
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
	MaxCount int    `json:"maxCount,omitempty" range:"1,1000000" jsonschema:"lines of a session" rare:"yes"`
	Context  int    `json:"context,omitempty" range:"0,10" jsonschema:"lines around each match, default 0"`
	Limit    int    `json:"limit,omitempty" range:"1,1000" jsonschema:"lines a page, default 30"`
	Paging
}

var caseNames = []string{"smart", "sensitive", "ignore"}

var caseModes = map[string]literal.CaseMode{"": literal.SmartCase, "smart": literal.SmartCase, "sensitive": literal.CaseSensitive, "ignore": literal.IgnoreCase}

const (
	defaultLines = 30
	// countedLines is up to how many matching lines are counted if the page ends sooner.
	// Counting is what takes the time for a common word.
	countedLines = 100
	// matchesAhead is few: the call ends once enough lines are counted, and the matches that
	// were found ahead are dropped.
	matchesAhead = 16
	longestLine  = 240 // bytes that are kept of a line, around its first match
	// maxStates keeps a call in time: each byte of a text may take all states.
	maxStates = 10_000
)

// A grepAnswer groups the matching lines by entry.
type grepAnswer struct {
	about
	Entries []grepEntry `json:"entries"`
	Lines   int         `json:"total" jsonschema:"matching lines"`
	Inexact bool        `json:"inexact,omitempty" jsonschema:"the total may be larger"`
	Files   int         `json:"files,omitempty" jsonschema:"session files with a match"`
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
		Before: in.Context, After: in.Context, MaxCount: in.MaxCount, MaxStates: maxStates, Ahead: matchesAhead, Order: grep.OrderNewest,
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
	f := q.about(&sum.Index, nil)
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
		rows: found.rows, about: f, head: lines + " in " + human.Plural(files, "session file", "session files") + ".", line: (*grepRow).text,
		answer: func(rows []grepRow, f about) any {
			return grepAnswer{f, grepEntries(rows), found.lines, err != nil, found.files}
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
