// Package report lays audits out for browsers: sections with charts and tables, for the
// pages of the server and for a report, which is one file that needs no script and loads
// nothing; its Content-Security-Policy makes browsers enforce that.
//
// All text of a session is treated as hostile: html/template escapes it, hidden
// characters are made visible, and every class and attribute is fixed.
package report

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/internal/timespec"
	"pigrep/query/audit"
	"pigrep/query/fix"
	"pigrep/query/recap"
	"pigrep/query/sessions"
	"pigrep/ui/chart"
	"pigrep/ui/html"
	"pigrep/ui/printer"
)

// Report is a page about a period of time.
type Report struct {
	Title    string
	Facts    []Fact
	Sections []*Section
	Coverage string // what the figures cover
}

// Fact is a line of the table at the top, or a headline of a section.
type Fact struct {
	Name, Value string
	Link        string // of a headline; "" leads to its section
}

var (
	//go:embed report.html
	source string
	//go:embed report.css
	styleSource string

	templates = sync.OnceValue(func() *template.Template { return template.Must(template.New("").Parse(source)) })
	// style is the style sheet as it is between its tags.
	style = sync.OnceValue(func() string { return "\n" + html.Style() + Style() })
	// policy allows this style sheet, nothing else.
	policy = sync.OnceValue(func() string {
		sum := sha256.Sum256([]byte(style()))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	})
)

// Style returns the style sheet of sections. A page needs the style sheet of conversations besides
// it.
func Style() string { return chart.Style() + styleSource }

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	tidy(r.Sections)
	return templates().ExecuteTemplate(w, "report", struct {
		*Report
		Policy string
		Style  template.HTML
	}{r, policy(), template.HTML("<style>" + style() + "</style>")})
}

// HTML writes headlines and then the sections, as a part of a page.
func HTML(w io.Writer, sections []*Section) error {
	tidy(sections)
	parts := []string{"tiles", "parts", "sections"}
	if len(sections) < 2 {
		parts = []string{"tiles", "sections"}
	}
	for _, name := range parts {
		if err := templates().ExecuteTemplate(w, name, sections); err != nil {
			return err
		}
	}
	return nil
}

// tidy drops the columns of tables that no row has a value in, and writes one sign where a row has none.
func tidy(sections []*Section) {
	for _, s := range sections {
		for _, t := range s.Tables {
			for i := len(t.Head) - 1; i > 0; i-- {
				if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[i].Text != "" }) {
					continue
				}
				t.Head = slices.Delete(t.Head, i, i+1)
				for k := range t.Rows {
					t.Rows[k].Cells = slices.Delete(t.Rows[k].Cells, i, i+1)
				}
				if t.Total != nil {
					t.Total = slices.Delete(t.Total, i, i+1)
				}
			}
			for i := range t.Head {
				t.Head[i].Class = human.Joined(" ", human.When(t.Head[i].Number, "n"), human.When(!t.Calls, widths[t.Head[i].Text]))
			}
			for i := range t.Total {
				t.Total[i].Class = t.Head[i].Class
			}
			for _, r := range t.Rows {
				for i := range r.Cells {
					r.Cells[i].Class = t.Head[i].Class
					if c := &r.Cells[i]; c.Text == "" {
						c.Text, c.Code = human.None, false
					}
				}
			}
		}
	}
}

func (v *View) Sessions(list *sessions.Response) *Section {
	s := &Section{ID: "sessions", Title: "Sessions", Note: "No session has a message in this time."}
	if len(list.Sessions) == 0 {
		return s
	}
	s.Note = human.Plural(len(list.Sessions), "session", "sessions")
	t := &Table{Head: []Cell{{Text: "session"}, {Text: "project"}, {Text: "last message"}, {Text: "messages", Number: true}, {Text: "tokens", Number: true}, {Text: "cost", Number: true}}}
	agent := func(h *sessions.Session) string { return human.Joined(" ", h.Host, h.Agent) }
	several := slices.ContainsFunc(list.Sessions, func(h sessions.Session) bool { return h.Host != "" || h.Agent != list.Sessions[0].Agent })
	if several {
		t.Head = slices.Insert(t.Head, 1, Cell{Text: "agent"})
	}
	for i := range list.Sessions[:min(len(list.Sessions), mostSessions)] {
		h := &list.Sessions[i]
		cells := []Cell{
			{Text: html.Line(human.Headline(h.Title)), Link: v.session(h.SessionPath, h.SessionID, "")},
			{Text: html.Line(human.Path(h.CWD, v.Home)), Front: true}, {Text: v.minute(h.Modified)},
			{Text: human.Number(h.Messages), Number: true}, {Text: human.When(h.Tokens > 0, human.Short(h.Tokens)), Number: true}, {Text: h.CostText(), Number: true},
		}
		if several {
			cells = slices.Insert(cells, 1, Cell{Text: html.Line(agent(h))})
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	v.leave(t, s.ID, len(list.Sessions)-len(t.Rows), "session", "pigrep sessions")
	s.Tables = []*Table{t}
	return s
}

// Recap returns what was done in sessions, the latest first.
func (v *View) Recap(r *recap.Response) *Section {
	s := &Section{ID: "done", Title: "What was done", Note: "Nothing was changed, failed or left open in this time."}
	for i := range r.Sessions {
		h := &r.Sessions[i]
		t := &Table{
			Title: html.Line(human.Headline(h.Title)), Note: human.Joined(" · ", html.Line(h.Host), html.Line(human.Path(h.CWD, v.Home)), human.Plural(h.Prompts, "turn", "turns")),
			Head: []Cell{{Text: "what"}, {Text: "in short"}},
		}
		for _, b := range printer.Briefly(h) {
			t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: b.Label, Link: v.session(h.SessionPath, h.SessionID, b.Entry)}, cut(b.Text)}})
		}
		if len(t.Rows) > 0 {
			s.Note, s.Tables = "Counted and quoted, the latest session first", append(s.Tables, t)
		}
	}
	if left := r.Total - len(r.Sessions); left > 0 {
		s.Note += "; " + human.Plural(left, "earlier session", "earlier sessions") + " (pigrep recap)"
	}
	return s
}

// Source answers audits. Their functions may be called one after another.
type Source struct {
	Usage    func(context.Context, audit.Request) (*audit.UsageTable, error)
	Tools    func(context.Context, audit.Request) (*audit.ToolTable, error)
	Commands func(context.Context, audit.Request) (*audit.CommandTable, error)
	Files    func(context.Context, audit.Request) (*audit.FileTable, error)
	// Calls visits calls, the latest first, and returns how many there are.
	Calls func(ctx context.Context, req audit.Request, visit func(*audit.CallRow) error) (int, error)
}

// View says how sections are shown.
type View struct {
	Home string // written ~
	Now  time.Time
	// Session returns the address of a session, and of an entry of it unless that is "";
	// "" for none. It may be nil.
	Session func(path, id, entry string) string
	// Period returns the address of a day, week or month of a section; nil for none.
	Period func(label string) string
	// Filter returns the address of the sections for a value of a field; nil for none.
	Filter func(field, value string) string
	// More returns the address of the section with an id alone; nil for none.
	More func(id string) string
	Only string // the id of the only section to show, with all its rows; "" for all sections
}

// Section is a part of a page: what it says, a chart, tables.
type Section struct {
	ID, Title string
	Note      string
	Figures   []Fact // its headlines
	Charts    []template.HTML
	Tables    []*Table
}

// Table is a table of texts.
type Table struct {
	Title, Note string
	Calls       bool // all tables of calls have the same columns
	Head        []Cell
	Rows        []Row
	Total       []Cell
	More        string // what is left out; "" for nothing
	Rest        string // the address of what is left out; "" for none
}

// Row is a row of a table.
type Row struct {
	Cells  []Cell
	Failed bool
}

// Cell is a cell of a row.
type Cell struct {
	Text   string
	Link   string // "" for none
	Number bool
	Code   bool
	Front  bool   // cut at the beginning where there is no room
	Note   string // a remark behind the text
	Full   string // where Text is cut
	Class  string // in the style sheet, of the column
}

// widths has the columns that narrow windows leave out.
var widths = map[string]string{
	"rate": "mid", "sessions": "mid", "output": "mid", "p95": "mid", "written": "mid", "messages": "mid", "project": "mid",
	"p50": "broad", "rejected": "broad", "input": "broad", "cache read": "broad", "cache write": "broad", "last used": "broad", "last": "broad", "deleted": "broad", "other": "broad", "last message": "broad",
}

// How many rows sections have.
const (
	mostSessions = 1000 // more make a page that browsers take seconds to show
	MostTold     = 12   // sessions of a recap

	mostRows   = 25
	mostCalls  = 30 // of a list of calls
	mostRanked = 12 // bars of a ranking

	leastShare = 0.01 // of a bar in a ranking

	longest     = 120 // cells of a text
	longestFull = 2000
)

// wide is the width for which printers lay out rows, so that no column is shortened.
const wide = 200

func (v *View) layout() printer.Layout { return printer.Layout{Width: wide, Now: v.Now, Home: v.Home} }

// fromAudit makes a table of the rows of an answer.
func fromAudit(a *printer.Audit, title string, link func(row int) string) (*Table, error) {
	grid, err := a.Grid()
	if err != nil {
		return nil, err
	}
	t := &Table{Title: title}
	first := 0
	if grid.Columns[0].Title == printer.IDTitle && len(grid.Columns) > 1 {
		first = 1 // the title beside it leads to the session
	}
	for _, c := range grid.Columns[first:] {
		t.Head = append(t.Head, Cell{Text: strings.ToLower(c.Title), Number: c.Right})
	}
	cells := func(texts []string) []Cell {
		list := lists.Map(texts[first:], cut)
		for i := range list {
			c := &grid.Columns[first+i]
			if list[i].Number = c.Right; c.Left {
				list[i].Text, list[i].Front = terminal.ClipPath(html.Line(texts[first+i]), longest), true
			}
		}
		return list
	}
	for i, row := range grid.Rows {
		list := cells(row)
		if link != nil && len(list) > 0 {
			list[0].Link = link(i)
		}
		t.Rows = append(t.Rows, Row{Cells: list})
	}
	if grid.Total != nil && len(grid.Rows) > 1 {
		t.Total = cells(grid.Total)
		t.Total[0].Text = "total"
	}
	return t, nil
}

func (v *View) session(path, id, entry string) string {
	if v.Session == nil || path == "" { // a row of no session
		return ""
	}
	return v.Session(path, id, entry)
}

// draft is a section that is being made. Its error is the first one, if any.
type draft struct {
	*View
	*Section
	err error
}

func (v *View) draft(id, title string) *draft {
	return &draft{View: v, Section: &Section{ID: id, Title: title}}
}

// draw adds a chart whose labels lead to their periods.
func (d *draft) draw(c *chart.Chart) {
	if d.Period != nil && c.Kind != chart.Ranking {
		for _, label := range c.Labels {
			c.Links = append(c.Links, d.Period(label))
		}
	}
	picture, err := c.HTML()
	d.Charts, d.err = append(d.Charts, picture), cmp.Or(d.err, err)
}

// table adds the rows of an answer; all is how many there are. link, if not nil, leads from the
// first cell of a row.
func (d *draft) table(a *printer.Audit, title string, all int, link func(row int) string) {
	t, err := fromAudit(a, title, link)
	if d.err = cmp.Or(d.err, err); d.err != nil {
		return
	}
	d.leave(t, d.ID, all-len(t.Rows), "row", "")
	d.Tables = append(d.Tables, t)
}

// Span returns the part of the covered time that a request asks for.
func Span(req audit.Request, c *audit.Coverage) (first, last time.Time) {
	first, last = c.First.Time, c.Last.Time
	if req.Since.After(first) {
		first = req.Since
	}
	if !req.Until.IsZero() && req.Until.Before(last) {
		last = req.Until.Add(-1)
	}
	return first, last
}

// groupedBy returns the request with other dimensions.
func groupedBy(req audit.Request, by ...string) audit.Request {
	req.By = by
	return req
}

// Usage returns what tokens and money went into: over time, by model, project and
// session.
func (v *View) Usage(ctx context.Context, src *Source, req audit.Request) ([]*Section, error) {
	models, err := src.Usage(ctx, groupedBy(req, "model"))
	if err != nil {
		return nil, err
	}
	d := v.draft("usage", "Tokens and cost")
	if len(models.Rows) == 0 {
		d.Note = "Nothing was used in this time."
		return []*Section{d.Section}, nil
	}
	d.Note = human.Joined("; ", "In "+human.Plural(models.Total.Sessions, "session", "sessions"), models.Estimate())
	spent := Fact{Name: "cost", Value: "unknown"}
	if models.Total.HasCost() {
		spent = Fact{Name: "cost" + human.When(models.Total.Unpriced > 0, ", at least"), Value: human.Cents.Text(models.Total.Cost)}
	}
	recent, err := v.recent(ctx, src, req)
	if err != nil {
		return nil, err
	}
	d.Figures = append(recent, spent, Fact{Name: "tokens", Value: human.Short(models.Total.Tokens)})
	programs, err := src.Commands(ctx, req)
	if err != nil {
		return nil, err
	}
	if cost := models.Total.Cost; cost > 0 {
		d.Figures = append(d.Figures, Fact{Name: "per session", Value: human.Cents.Text(cost / float64(max(1, models.Total.Sessions)))})
		if n := commits(programs); n > 0 {
			d.Figures = append(d.Figures, Fact{Name: "per commit", Value: human.Cents.Text(cost / float64(n))})
		}
	}
	if v.Only == "" {
		if err := d.drawUsage(ctx, src, req, models); err != nil {
			return nil, err
		}
	}
	for _, by := range []string{"model", "agent", "project", "session"} {
		t := models
		if by != "model" {
			shown := groupedBy(req, by)
			if by == "session" { // of many
				shown.Rows = v.rows(mostRows)
			}
			if t, err = src.Usage(ctx, shown); err != nil {
				return nil, err
			}
		}
		if by == "agent" && len(t.Rows) < 2 {
			continue
		}
		d.table(printer.NewUsageAudit(t, nil, nil, v.rows(mostRows), v.layout()), "By "+by, len(t.Rows)+t.More, func(i int) string {
			if by == "session" {
				return v.session(t.Rows[i].SessionPath, t.Rows[i].SessionID, "")
			}
			return v.filter(by, t.Rows[i].Value(by))
		})
		if d.err == nil && len(t.Rows) > 1 {
			d.Tables[len(d.Tables)-1].addShares(t)
		}
		if by == "project" && len(t.Rows) > 1 && v.Only == "" {
			projects := chart.Usage(t, v.Home)
			projects.Top(mostRanked, leastShare)
			if v.Filter != nil {
				projects.Links = lists.Map(t.Rows[:len(projects.Labels)], func(r audit.UsageRow) string { return v.filter(by, r.Value(by)) })
			}
			d.draw(projects)
		}
	}
	return []*Section{d.Section}, d.err
}

// filter returns the address of the sections for a value of a field; "" for none.
func (v *View) filter(field, value string) string {
	if v.Filter == nil || value == "" {
		return ""
	}
	return v.Filter(field, value)
}

// drawUsage draws cost and tokens over time, and the days of the last year.
func (d *draft) drawUsage(ctx context.Context, src *Source, req audit.Request, models *audit.UsageTable) error {
	first, last := Span(req, &models.Coverage)
	over, err := src.Usage(ctx, groupedBy(req, chart.PeriodFor(first, last), "model"))
	if err != nil {
		return err
	}
	drawn := func(c *chart.Chart) *chart.Chart {
		for i := range c.Series {
			if name := c.Series[i].Name; slices.ContainsFunc(models.Rows, func(r audit.UsageRow) bool { return r.Value("model") == name }) {
				c.Series[i].Link = d.filter("model", name)
			}
		}
		return c
	}
	cost := drawn(chart.Usage(over, d.Home))
	d.draw(cost)
	if over.Total.Cost > 0 {
		tokens := drawn(chart.UsedTokens(over, d.Home))
		tokens.ColourLike(cost)
		d.draw(tokens)
	}
	if last.Sub(first) <= shortest {
		return nil
	}
	days, err := src.Usage(ctx, groupedBy(req, "day"))
	if err != nil {
		return err
	}
	if year := last.In(d.Now.Location()).Format("2006-"); d.Period != nil { // the years before have addresses of their own
		days.Rows = slices.DeleteFunc(days.Rows, func(r audit.UsageRow) bool { return !strings.HasPrefix(r.Day, year) })
	}
	calendar := chart.Usage(days, d.Home)
	calendar.Kind, calendar.Title = chart.Calendar, "Calendar of days"
	d.draw(calendar)
	return nil
}

// recent returns what was used today, in this week and in this month; nil if the request names a time, or sections have no
// addresses.
func (v *View) recent(ctx context.Context, src *Source, req audit.Request) (list []Fact, err error) {
	if v.Period == nil || !req.Since.IsZero() || !req.Until.IsZero() {
		return nil, nil
	}
	for _, name := range []string{"today", "this week", "this month"} {
		span, err := timespec.Parse(name, v.Now)
		if err != nil {
			return nil, err
		}
		during := groupedBy(req, "model")
		during.Since, during.Until = span.Start, span.End
		t, err := src.Usage(ctx, during)
		if err != nil {
			return nil, err
		}
		value := human.Cents.Text(t.Total.Cost)
		if t.Total.Cost == 0 && t.Total.Tokens > 0 {
			value = human.Short(t.Total.Tokens) + " tokens"
		}
		year, week := v.Now.ISOWeek()
		label := map[string]string{"today": v.Now.Format(time.DateOnly), "this week": fmt.Sprintf("%04d-W%02d", year, week), "this month": v.Now.Format("2006-01")}[name]
		list = append(list, Fact{Name: name, Value: value, Link: v.Period(label)})
	}
	return list, nil
}

// commits returns how many commands made a commit.
func commits(t *audit.CommandTable) (n int) {
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Program == "git commit" {
			n += r.Calls - r.Failed
		}
	}
	return n
}

// addShares adds the share of each row: of the cost, or of the tokens if no cost is known.
func (t *Table) addShares(usage *audit.UsageTable) {
	t.Head = append(t.Head, Cell{Text: "share", Number: true})
	for i := range t.Rows {
		share := float64(usage.Rows[i].Tokens) / float64(max(1, usage.Total.Tokens))
		if usage.Total.Cost > 0 {
			share = usage.Rows[i].Cost / usage.Total.Cost
		}
		text := human.When(share > 0, human.Percent(share))
		if text == "0.0%" {
			text = "<0.1%"
		}
		t.Rows[i].Cells = append(t.Rows[i].Cells, Cell{Text: text, Number: true})
	}
	if t.Total != nil {
		t.Total = append(t.Total, Cell{Text: "100%", Number: true})
	}
}

// shortest is the least time for a calendar to say more than bars.
const shortest = 35 * 24 * time.Hour

// Audit returns what tools did: calls, failures, commands, risky ones, files.
func (v *View) Audit(ctx context.Context, src *Source, req audit.Request) ([]*Section, error) {
	tools, err := src.Tools(ctx, groupedBy(req, "tool"))
	if err != nil {
		return nil, err
	}
	d := v.draft("tools", "Tools")
	if len(tools.Rows) == 0 {
		d.Note = "No tool was called in this time."
		return []*Section{d.Section}, nil
	}
	d.Note = "In " + human.Plural(tools.Total.Sessions, "session", "sessions")
	d.Figures = []Fact{{Name: "calls", Value: human.Number(tools.Total.Calls)}}
	over, err := src.Tools(ctx, groupedBy(req, chart.PeriodFor(Span(req, &tools.Coverage))))
	if err != nil {
		return nil, err
	}
	calls := chart.Tools(over, v.Home)
	if v.More != nil {
		for i := range calls.Series {
			calls.Series[i].Link = v.More(map[bool]string{false: "tools", true: "failures"}[calls.Series[i].Failed])
		}
	}
	d.draw(calls)
	d.table(printer.NewToolsAudit(tools, nil, v.rows(mostRows), v.layout()), "By tool", len(tools.Rows), nil)
	actions, err := src.Tools(ctx, groupedBy(req, "action"))
	if err != nil {
		return nil, err
	}
	d.table(printer.NewToolsAudit(actions, nil, mostRows, v.layout()), "By action", len(actions.Rows), nil)
	if d.err != nil {
		return nil, d.err
	}
	sections := []*Section{d.Section}
	if v.Only != "" && v.Only != d.ID {
		sections = nil
	}
	for _, part := range []struct {
		id      string
		section func(context.Context, *Source, audit.Request) (*Section, error)
	}{{"failures", v.failures}, {"risky", v.risky}, {"commands", v.commands}, {"files", v.files}} {
		if v.Only != "" && v.Only != part.id {
			continue
		}
		s, err := part.section(ctx, src, req)
		if err != nil {
			return nil, err
		}
		sections = append(sections, s)
	}
	return sections, nil
}

// failures lists the latest calls that failed, with what they said.
func (v *View) failures(ctx context.Context, src *Source, req audit.Request) (*Section, error) {
	req.Error, req.Results, req.Limit = true, true, v.rows(mostCalls)
	t := &Table{Calls: true, Head: callHead("error")}
	all, err := src.Calls(ctx, req, func(r *audit.CallRow) error {
		t.Rows = append(t.Rows, v.call(r, r.Arguments, r.LastLine, false))
		return nil
	})
	if err != nil {
		return nil, err
	}
	s := &Section{ID: "failures", Title: "Failures", Note: "No call failed."}
	if len(t.Rows) > 0 {
		s.Note = "The latest first"
		s.Figures = []Fact{{Name: "failed", Value: human.Number(all)}}
		v.leave(t, s.ID, all-len(t.Rows), "call", moreCalls)
		s.Tables = []*Table{t}
	}
	return s, nil
}

// risky lists the calls that match rules, by the most severe rule of each.
func (v *View) risky(ctx context.Context, src *Source, req audit.Request) (*Section, error) {
	req.Risky, req.Limit = true, 0
	byRule, counts, all := make(map[string]*Table), make(map[string]int), 0
	_, err := src.Calls(ctx, req, func(r *audit.CallRow) error {
		all++
		m := r.Matches[0]
		t := byRule[m.Rule]
		if t == nil {
			t = &Table{Title: m.Rule, Calls: true, Head: callHead("")}
			byRule[m.Rule] = t
		}
		if counts[m.Rule]++; len(t.Rows) < v.rows(mostCalls) {
			var also []string
			for _, other := range r.Matches[1:] {
				if other.Rule != m.Rule && !slices.Contains(also, other.Rule) {
					also = append(also, other.Rule)
				}
			}
			row := v.call(r, m.Clause, "", r.Status == "error")
			row.Cells[3].Note = human.When(len(also) > 0, "also "+strings.Join(also, ", "))
			t.Rows = append(t.Rows, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s := &Section{ID: "risky", Title: "Risky calls", Note: "No call matches a rule."}
	if all > 0 {
		s.Note = "Calls that match a rule: worth a look, not proof of harm"
		s.Figures = []Fact{{Name: "risky", Value: human.Number(all)}}
	}
	rules := slices.Clone(shellcmd.Rules())
	lists.SortStable(rules, func(a, b shellcmd.Rule) int { return cmp.Compare(a.Severity, b.Severity) })
	for _, rule := range rules {
		if t := byRule[rule.ID]; t != nil {
			t.Note = rule.Severity.String() + ": " + rule.What
			v.leave(t, s.ID, counts[rule.ID]-len(t.Rows), "call", moreCalls)
			s.Tables = append(s.Tables, t)
		}
	}
	return s, nil
}

// leave says how many things a table of a section leaves out, and where they are: on a page, or in the answer of a command.
func (v *View) leave(t *Table, section string, n int, what, command string) {
	if n <= 0 {
		return
	}
	t.More = human.Plural(n, "more "+what, "more "+what+"s")
	if v.More != nil && v.Only == "" {
		t.Rest = v.More(section)
	} else if command != "" {
		t.More += " (" + command + ")"
	}
}

// rows returns how many rows a table may have that has most of them beside others.
func (v *View) rows(most int) int {
	if v.Only != "" {
		return mostSessions
	}
	return most
}

const moreCalls = "pigrep tools calls"

// minute returns a time of a table; "" if it is not known.
func (v *View) minute(t session.Time) string {
	return human.When(!t.IsZero(), t.In(v.Now.Location()).Format("2006-01-02 15:04"))
}

func callHead(last string) []Cell {
	return []Cell{{Text: "time"}, {Text: "project"}, {Text: "tool"}, {Text: "call"}, {Text: last}}
}

func (v *View) call(r *audit.CallRow, what, last string, failed bool) Row {
	code := func(s string) Cell {
		c := cut(s)
		c.Code = true
		return c
	}
	at := Cell{Text: v.minute(r.Timestamp), Link: v.session(r.SessionPath, r.SessionID, r.EntryID)}
	project := human.Path(r.CWD, v.Home)
	name := human.Joined(": ", r.Host, project[strings.LastIndexAny(strings.TrimRight(project, `/\`), `/\`)+1:])
	return Row{Failed: failed, Cells: []Cell{at, {Text: html.Line(name), Full: html.Line(project)}, cut(r.Tool), code(what), code(last)}}
}

// cut returns a cell with a text. A long text is truncated; the title has all of it.
func cut(s string) Cell {
	c := Cell{Text: html.Line(s)}
	if short := terminal.Clip(c.Text, longest); short != c.Text {
		c.Text, c.Full = short, terminal.Clip(c.Text, longestFull)
	}
	return c
}

func (v *View) commands(ctx context.Context, src *Source, req audit.Request) (*Section, error) {
	t, err := src.Commands(ctx, req)
	if err != nil {
		return nil, err
	}
	note, all := human.Plural(len(t.Rows), "program", "programs")+" in "+human.Plural(t.Calls, "command", "commands"), len(t.Rows)
	if v.Only == "" { // all are listed where the section is alone
		t.Rows = slices.DeleteFunc(t.Rows, func(r audit.CommandRow) bool { return fix.Prepares(r.Program) })
		note += human.When(len(t.Rows) < all, ", without cd, echo and the like")
	}
	return v.listing("commands", "Commands", "No command ran.", note, all, printer.NewCommandsAudit(t, v.rows(mostRows), v.layout()))
}

func (v *View) files(ctx context.Context, src *Source, req audit.Request) (*Section, error) {
	t, err := src.Files(ctx, req)
	if err != nil {
		return nil, err
	}
	note := human.Plural(len(t.Rows), "file was", "files were") + " read, written or edited"
	return v.listing("files", "Files", "No tool named a file.", note, len(t.Rows), printer.NewFilesAudit(t, false, v.rows(mostRows), v.layout()))
}

// listing returns a section with one table of rows, and what is said of some or of none.
func (v *View) listing(id, title, none, some string, rows int, a *printer.Audit) (*Section, error) {
	d := v.draft(id, title)
	if d.Note = none; rows > 0 {
		d.Note = some
		d.table(a, "", rows, nil)
	}
	return d.Section, d.err
}
