package printer

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
)

// Sessions is the answer of the sessions command.
type Sessions struct {
	Query    string
	Searched bool // there was a query: sessions have a score and hits
	List     *sessions.Response
}

// Paths writes only paths, each with a NUL byte after it, for xargs -0. On a terminal, each
// path is a line that is safe to print.
func Paths(w io.Writer, paths []string, tty bool) error {
	out := newSink(w)
	for _, path := range paths {
		if tty {
			out.print(terminal.Clean(path), "\n")
		} else {
			out.print(path, "\x00")
		}
	}
	return out.end()
}

func (s *Sessions) json(j *jsonWriter) {
	l := s.List
	j.stream(&stream{
		command: "sessions", name: "sessions",
		lead: struct {
			Query string `json:"query,omitempty"`
		}{s.Query},
		rows: rowsIn(l.Sessions, func(x *sessions.Session) any { return x.Row(s.Searched) }),
		tail: func(int) any {
			return listTail{l.Total, l.TotalIsExact, list(l.Warnings), l.DidYouMean, l.Words, l.Removed, l.Index}
		},
	})
}

// listTail ends the JSON of a list of sessions.
type listTail struct {
	Total        int                `json:"total"`
	TotalIsExact bool               `json:"totalIsExact"`
	Warnings     []string           `json:"warnings"`
	DidYouMean   string             `json:"didYouMean,omitempty"`
	Words        []search.WordCount `json:"words,omitempty"`
	Removed      []search.Removed   `json:"removed,omitempty"`
	Index        search.IndexState  `json:"index"`
}

// The narrowest terminals that show a column, and widths of columns.
const (
	roomForUsage    = 96
	roomForModel    = 140
	mostModel       = 24
	minSessionTitle = 28
	leastDirectory  = 14
	narrowSessions  = 60 // below this width a session takes two lines
)

func (s *Sessions) sheet(layout Layout) table { return s.rows(layout) }

func (s *Sessions) rows(layout Layout) *sheet[sessions.Session] {
	type row = sessions.Session
	age, hits := "AGE", ""
	if layout.Dates {
		age = "LAST MESSAGE"
	}
	if s.Searched {
		hits = "HITS"
	}
	return &sheet[row]{
		columns: []sheetColumn[row]{
			{column{Title: age, Right: true}, func(x *row) cell { return dimCell(layout.age(x.Modified.Time)) }},
			{column{Name: "id", Title: "ID"}, func(x *row) cell {
				return cell{Text: layout.sessionID(x.SessionID, x.SessionPath), Plain: layout.name(x.SessionID, x.SessionPath), Style: dimStyle}
			}},
			{column{Name: "title", Title: "NAME OR FIRST PROMPT", Flex: true, Least: minSessionTitle}, sessionTitle},
			{column{Name: "last message (UTC)", Field: "modified"}, func(x *row) cell { return textCell(x.Modified.UTC().Format(time.RFC3339)) }},
			{column{Name: "messages"}, func(x *row) cell { return textCell(strconv.Itoa(x.Messages)) }},
			{column{Name: "working directory", Field: "cwd"}, func(x *row) cell { return textCell(x.CWD) }},
			{column{Title: "DIRECTORY", Left: true}, func(x *row) cell {
				// Clipped before it is measured: titles need the room.
				dir := terminal.ClipPath(terminal.Clean(human.Path(x.CWD, layout.Home)), max(leastDirectory, layout.Width/6))
				return cell{Text: dir, Style: dimStyle, Link: x.CWD}
			}},
			{column{Name: "models", Title: "MODEL", From: roomForModel, Most: mostModel}, func(x *row) cell {
				return cell{Text: strings.Join(modelNames(x.Models), ", "), Plain: strings.Join(x.Models, ","), Style: dimStyle}
			}},
			{column{Name: "labels"}, func(x *row) cell { return textCell(strings.Join(x.Labels, ",")) }},
			{column{Name: "parent session"}, func(x *row) cell { return textCell(x.ParentSession) }},
			{column{Title: "TOKENS COST", Right: true, From: roomForUsage}, func(x *row) cell { return textCell(usageText(x)) }},
			{column{Name: "hits", Title: hits, Right: true}, s.hits},
			{column{Title: "MSGS", Right: true}, func(x *row) cell { return countCell(x.Messages) }},
			{column{Name: "session path"}, func(x *row) cell { return textCell(x.SessionPath) }},
			fieldColumn("sessionId", func(x *row) string { return x.SessionID }),
			fieldColumn("name", func(x *row) string { return x.Name }),
			fieldColumn("firstPrompt", func(x *row) string { return x.FirstPrompt }),
			fieldColumn("created", func(x *row) string { return stampUTC(x.Created.Time) }),
			fieldColumn("tokens", func(x *row) string { return strconv.FormatInt(x.Tokens, 10) }),
			fieldColumn("cost", func(x *row) string { return strconv.FormatFloat(x.Cost, 'g', -1, 64) }),
		},
		rows: listed(s.List.Sessions),
	}
}

// hits is the cell with the number of hits in a session; ~ marks partial ones.
func (s *Sessions) hits(x *sessions.Session) cell {
	switch {
	case !s.Searched:
		return cell{}
	case x.Hits == 0:
		return cell{Text: "~" + human.Number(x.HitsAny), Plain: "0"}
	}
	return cell{Text: human.Number(x.Hits), Plain: strconv.Itoa(x.Hits)}
}

// sessionTitle is the cell with the title and labels of a session; a fork is
// indented below its parent.
func sessionTitle(x *sessions.Session) cell {
	c := cell{Text: human.Title(x.Title), Plain: x.Title}
	for _, l := range x.Labels {
		c.Text += " [" + terminal.Clean(l) + "]"
	}
	if x.Depth > 0 {
		c.Indent = strings.Repeat("  ", min(x.Depth, maxIndent)-1) + "└ "
	}
	if x.Name != "" {
		c.Style = titleStyle
	}
	return c
}

// modelNames returns models without their providers.
func modelNames(models []string) []string {
	var list []string
	for _, m := range models {
		list = append(list, terminal.Clean(m[strings.LastIndexByte(m, '/')+1:]))
	}
	return list
}

// maxIndent is the deepest indentation of forks.
const maxIndent = 8

// A Candidate is a session that the user may have meant, and what to type for it.
type Candidate struct {
	Typed   string
	Session *session.Summary
}

// Candidates describes candidates in columns, a line each, and counts those that exceed most.
func Candidates(list []Candidate, most int, now time.Time) (lines []string) {
	shown := list[:min(len(list), most)]
	var names, ages []string
	for _, c := range shown {
		names, ages = append(names, terminal.Clean(c.Typed)), append(ages, human.Age(now, c.Session.Modified()))
	}
	name, age := widest(names), widest(ages)
	for i, c := range shown {
		what := []string{terminal.Clip(human.Title(c.Session.Title()), candidateTitle), terminal.Clean(c.Session.CWD)}
		what = slices.DeleteFunc(what, func(f string) bool { return f == "" })
		lines = append(lines, strings.TrimRight(terminal.Pad(names[i], name)+"  "+terminal.Pad(ages[i], age)+"  "+strings.Join(what, " · "), " "))
	}
	if n := len(list) - len(shown); n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
}

func widest(list []string) (width int) {
	for _, s := range list {
		width = max(width, terminal.Width(s))
	}
	return width
}

const candidateTitle = 50

// usageText is the tokens and the cost of a session, if known.
func usageText(x *sessions.Session) string {
	var parts []string
	if x.Tokens > 0 {
		parts = append(parts, human.Short(x.Tokens))
	}
	switch {
	case x.Cost >= 0.005:
		parts = append(parts, human.Cents.Text(x.Cost))
	case x.Cost > 0:
		parts = append(parts, "<$0.01")
	}
	return strings.Join(parts, " ")
}

func (s *Sessions) text(t *text) {
	n := len(s.List.Sessions)
	switch {
	case n == 0:
		return
	case t.Width < narrowSessions:
		s.narrow(t)
	default:
		t.table(s.sheet(t.Layout))
	}
	line := shown(n, s.List.Total, "session", "sessions")
	if !s.List.TotalIsExact {
		line = human.Plural(n, "session", "sessions") + " shown; more with -n"
	}
	partial := func(x sessions.Session) bool { return x.Hits == 0 && x.HitsAny > 0 }
	if slices.ContainsFunc(s.List.Sessions, partial) {
		line += "; ~ hits lack a word"
	}
	t.print("\n", t.dim(line), "\n")
}

// narrow writes a session on two lines.
func (s *Sessions) narrow(t *text) {
	for i := range s.List.Sessions {
		x := &s.List.Sessions[i]
		c := sessionTitle(x)
		name := terminal.Clip(c.Indent+c.Text, t.Width)
		if c.Style != nil {
			name = t.style(c.Style, name)
		}
		facts := []string{t.age(x.Modified.Time), terminal.Clean(t.sessionID(x.SessionID, x.SessionPath)), human.Plural(x.Messages, "message", "messages")}
		if s.Searched {
			facts[2] = "hits " + s.hits(x).Text
		}
		line := "  " + strings.Join(slices.DeleteFunc(facts, func(f string) bool { return f == "" }), " · ")
		if dir := terminal.Clean(human.Path(x.CWD, t.Home)); dir != "" {
			if room := t.Width - terminal.Width(line) - 3; room >= 8 {
				line += " · " + t.Links.File(terminal.ClipPath(dir, room), x.CWD)
			}
		}
		t.print(name, "\n", t.dim(terminal.Clip(line, t.Width)), "\n")
	}
}

// Similar is the answer of the similar command.
type Similar struct {
	SessionPath, SessionID, EntryID string // that others are compared with; no entry for the whole session
	Response                        *similar.Response
}

func (s *Similar) json(j *jsonWriter) {
	r := s.Response
	j.stream(&stream{
		command: "similar", name: "sessions",
		lead: struct {
			SessionPath string   `json:"sessionPath"`
			SessionID   string   `json:"sessionId,omitempty"`
			EntryID     string   `json:"entryId,omitempty"`
			Terms       []string `json:"terms"`
		}{s.SessionPath, s.SessionID, s.EntryID, list(r.Terms)},
		rows: rowsIn(r.Sessions, func(x *similar.Session) any { return x.Row() }),
		tail: func(int) any {
			return listTail{Total: r.Total, TotalIsExact: r.TotalIsExact, Warnings: list(r.Warnings), Index: r.Index}
		},
	})
}

// sheet is that of a list of sessions, with what they share.
func (s *Similar) sheet(layout Layout) table {
	type row = sessions.Session
	shares := make(map[string][]string, len(s.Response.Sessions))
	plain := &sessions.Response{}
	for i := range s.Response.Sessions {
		x := &s.Response.Sessions[i]
		shares[x.SessionPath] = x.Shares
		plain.Sessions = append(plain.Sessions, x.Session)
	}
	sheet := (&Sessions{List: plain}).rows(layout)
	path := slices.IndexFunc(sheet.columns, func(c sheetColumn[row]) bool { return c.Name == "session path" })
	sheet.columns = slices.Insert(sheet.columns, path,
		sheetColumn[row]{column{Name: "similarity", Field: "score"}, func(x *row) cell { return textCell(fmt.Sprintf("%.3f", x.Score)) }},
		sheetColumn[row]{column{Name: "shares"}, func(x *row) cell { return textCell(strings.Join(shares[x.SessionPath], ", ")) }})
	sheet.finish = func(x *row, r *sheetRow) { r.below = []string{"shares: " + strings.Join(shares[x.SessionPath], ", ")} }
	return sheet
}

func (s *Similar) text(t *text) {
	if n := t.table(s.sheet(t.Layout)); n > 0 {
		t.print("\n", t.dim(atLeast(s.Response.TotalIsExact)+shown(n, s.Response.Total, "similar session", "similar sessions")), "\n")
	}
}
