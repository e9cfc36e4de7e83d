package printer

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query"
	"pigrep/query/sessions"
)

// Sessions is the answer of the sessions command.
type Sessions struct {
	Query    string
	Searched bool // there was a query: the sessions have a score and hits
	List     *sessions.Response
	ShortID  func(id string) string
}

// Paths writes the paths of the sessions, each ended by a zero byte: the one
// byte that a path cannot hold.
func Paths(w io.Writer, list *sessions.Response) error {
	for i := range list.Sessions {
		if _, err := io.WriteString(w, list.Sessions[i].SessionPath+"\x00"); err != nil {
			return err
		}
	}
	return nil
}

// sessionColumns lays the columns of a list out for a width. A column of width 0
// is left out.
type sessionColumns struct {
	age, id, title, dir, model, usage, hits, messages int
}

// The widths of columns that do not depend on what is in them.
const (
	ageColumn      = 4
	countColumn    = 5
	usageColumn    = 14
	minTitle       = 28
	minDir         = 8
	columnGap      = 2
	roomForUsage   = 96
	roomForModel   = 120
	mostModel      = 24
	narrowSessions = 60
)

func (t *text) columns(s *Sessions, rows []sessionRow) sessionColumns {
	c := sessionColumns{age: ageColumn, messages: countColumn}
	for i := range rows {
		r := &rows[i]
		c.id = max(c.id, len(r.id))
		c.dir = max(c.dir, terminal.Width(r.dir))
		c.model = max(c.model, terminal.Width(r.model))
		if r.usage != "" {
			c.usage = usageColumn
		}
	}
	if s.Searched {
		c.hits = countColumn
	}
	if t.Width < roomForUsage {
		c.usage = 0
	}
	if t.Width < roomForModel {
		c.model = 0
	}
	c.model = min(c.model, mostModel)
	c.dir = min(c.dir, t.Width/4)
	c.title = t.Width
	for _, w := range []int{c.age, c.id, c.dir, c.model, c.usage, c.hits, c.messages} {
		if w > 0 {
			c.title -= w + columnGap
		}
	}
	if lack := minTitle - c.title; lack > 0 {
		c.title, c.dir = minTitle, c.dir-lack
	}
	if c.dir < minDir && c.dir != 0 { // says nothing
		c.title, c.dir = c.title+c.dir+columnGap, 0
	}
	return c
}

// sessionRow is a row of the list as text, clean.
type sessionRow struct {
	age, id, title, dir, model, usage, hits, messages string
	named                                             bool
}

func (t *text) sessionRow(s *Sessions, x *sessions.Session) sessionRow {
	r := sessionRow{
		age: human.Age(t.Now, x.Modified.Time), id: terminal.Clean(x.SessionID), dir: terminal.Clean(human.Path(x.CWD, t.Home)),
		messages: human.Number(x.Messages), named: x.Name != "", usage: usageText(x),
	}
	if s.ShortID != nil {
		r.id = terminal.Clean(s.ShortID(x.SessionID))
	}
	r.title = title(x.Name, x.FirstPrompt)
	for _, l := range x.Labels {
		r.title += " [" + terminal.Clean(l) + "]"
	}
	if x.Depth > 0 {
		r.title = strings.Repeat("  ", min(x.Depth, maxIndent)-1) + "└ " + r.title
	}
	var models []string
	for _, m := range x.Models {
		models = append(models, m[strings.LastIndexByte(m, '/')+1:])
	}
	r.model = terminal.Clean(strings.Join(models, ", "))
	if s.Searched {
		r.hits = human.Number(x.Hits)
		if x.Hits == 0 {
			r.hits = "~" + human.Number(x.HitsAny)
		}
	}
	return r
}

// maxIndent is how deep forks are shown below one another.
const maxIndent = 8

// title is what a session is called: its name, else what it began with.
func title(name, prompt string) string {
	if s := terminal.Clean(name); s != "" {
		return s
	}
	if s := strings.TrimLeft(terminal.Clean(prompt), "# "); s != "" {
		return s
	}
	return "(no prompt)"
}

// Title is what a session is called, on one line.
func Title(name, prompt string) string { return title(name, prompt) }

// Candidate is a session in a list to choose from: what to type for it, and
// what it is.
func Candidate(typed string, s *session.Summary, now time.Time) string {
	facts := []string{human.Age(now, s.Modified()), terminal.Clip(title(s.Name, s.FirstPrompt), candidateTitle), terminal.Clean(s.CWD)}
	return terminal.Clean(typed) + "  " + strings.Join(slices.DeleteFunc(facts, func(f string) bool { return f == "" }), " · ")
}

const candidateTitle = 50

// usageText is the tokens and the cost of a session, as far as they are known.
func usageText(x *sessions.Session) string {
	var parts []string
	if x.Tokens > 0 {
		parts = append(parts, human.Short(x.Tokens))
	}
	switch {
	case x.Cost >= 0.005:
		parts = append(parts, fmt.Sprintf("$%.2f", x.Cost))
	case x.Cost > 0:
		parts = append(parts, "<$0.01")
	}
	return strings.Join(parts, " ")
}

func (t *text) Sessions(s *Sessions) error {
	rows := make([]sessionRow, len(s.List.Sessions))
	for i := range rows {
		rows[i] = t.sessionRow(s, &s.List.Sessions[i])
	}
	if t.Width < narrowSessions {
		if err := t.narrowSessions(s, rows); err != nil {
			return err
		}
	} else if len(rows) > 0 {
		c := t.columns(s, rows)
		head := sessionRow{
			age: "AGE", id: "ID", title: "NAME OR FIRST PROMPT", dir: "DIRECTORY", model: "MODEL", usage: "TOKENS COST",
			hits: "HITS", messages: "MSGS",
		}
		line := t.sessionLine(nil, &head, c, false)
		if _, err := io.WriteString(t.w, t.dim(strings.TrimRight(string(line), " "))+"\n"); err != nil {
			return err
		}
		for i := range rows {
			line = append(t.sessionLine(line[:0], &rows[i], c, true), '\n')
			if _, err := t.w.Write(line); err != nil {
				return err
			}
		}
	}
	n := len(rows)
	if n == 0 {
		return nil
	}
	line := human.Plural(s.List.Total, "session", "sessions")
	switch {
	case !s.List.TotalIsExact:
		line = human.Plural(n, "session", "sessions") + ", perhaps more (-n)"
	case n < s.List.Total:
		line += "; " + human.Number(n) + " shown (more: -n)"
	}
	_, err := io.WriteString(t.w, "\n"+t.dim(line)+"\n")
	return err
}

// sessionLine appends a row, laid out in the columns, to b.
func (t *text) sessionLine(b []byte, r *sessionRow, c sessionColumns, styled bool) []byte {
	begun := false
	column := func(s string, width int, right bool, look *ansi.Style) {
		if width == 0 {
			return
		}
		if begun {
			b = append(b, "  "...)
		}
		begun = true
		s, wide := fit(s, width)
		if styled && look != nil {
			s = t.style(*look, s)
		}
		if !right {
			b = append(b, s...)
		}
		for range width - wide {
			b = append(b, ' ')
		}
		if right {
			b = append(b, s...)
		}
	}
	titleStyle := (*ansi.Style)(nil)
	if r.named {
		titleStyle = &titleLook
	}
	column(r.age, c.age, true, &dimLook)
	column(r.id, c.id, false, &dimLook)
	column(r.title, c.title, false, titleStyle)
	column(terminal.ClipLeft(r.dir, c.dir), c.dir, false, &dimLook)
	column(r.model, c.model, false, &dimLook)
	column(r.usage, c.usage, true, nil)
	column(r.hits, c.hits, true, nil)
	column(r.messages, c.messages, true, nil)
	return b
}

func (t *text) narrowSessions(s *Sessions, rows []sessionRow) error {
	for i := range rows {
		r := &rows[i]
		name := terminal.Clip(r.title, t.Width)
		if r.named {
			name = t.style(titleLook, name)
		}
		facts := []string{r.age, r.id, human.Plural(s.List.Sessions[i].Messages, "message", "messages")}
		if s.Searched {
			facts[2] = "hits " + r.hits
		}
		line := "  " + strings.Join(slices.DeleteFunc(facts, func(f string) bool { return f == "" }), " · ")
		if room := t.Width - terminal.Width(line) - 3; room >= 8 && r.dir != "" {
			line += " · " + terminal.ClipLeft(r.dir, room)
		}
		if _, err := io.WriteString(t.w, name+"\n"+t.dim(terminal.Clip(line, t.Width))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func (p plain) Sessions(s *Sessions) error {
	for i := range s.List.Sessions {
		x := &s.List.Sessions[i]
		hits := ""
		if s.Searched {
			hits = strconv.Itoa(x.Hits)
		}
		err := p.record(x.SessionPath, x.SessionID, x.Modified.UTC().Format(time.RFC3339), strconv.Itoa(x.Messages), x.CWD,
			strings.Join(x.Models, ","), strings.Join(x.Labels, ","), x.ParentSession, hits, x.Name, x.FirstPrompt)
		if err != nil {
			return err
		}
	}
	return nil
}

type sessionsTail struct {
	Total        int              `json:"total"`
	TotalIsExact bool             `json:"totalIsExact"`
	Warnings     []string         `json:"warnings"`
	DidYouMean   string           `json:"didYouMean,omitempty"`
	Removed      []query.Removed  `json:"removed,omitempty"`
	Index        query.IndexState `json:"index"`
}

type sessionsHead struct {
	head
	Query string `json:"query,omitempty"`
}

func newSessionsTail(l *sessions.Response) sessionsTail {
	return sessionsTail{l.Total, l.TotalIsExact, list(l.Warnings), l.DidYouMean, l.Removed, l.Index}
}

func (p jsonEnvelope) Sessions(s *Sessions) error {
	rows := make([]sessions.Row, len(s.List.Sessions))
	for i := range rows {
		rows[i] = s.List.Sessions[i].Row(s.Searched)
	}
	return encode(p.w, struct {
		sessionsHead
		Sessions []sessions.Row `json:"sessions"`
		sessionsTail
	}{sessionsHead{envelope("sessions"), s.Query}, rows, newSessionsTail(s.List)})
}

func (p jsonLines) Sessions(s *Sessions) error {
	for i := range s.List.Sessions {
		if err := encode(p.w, s.List.Sessions[i].Row(s.Searched)); err != nil {
			return err
		}
	}
	return encode(p.w, struct {
		sessionsHead
		sessionsTail
	}{sessionsHead{summary("sessions"), s.Query}, newSessionsTail(s.List)})
}

// fit is clip, with the cells that the outcome fills.
func fit(s string, width int) (string, int) {
	s = terminal.Clip(s, width)
	return s, terminal.Width(s)
}
