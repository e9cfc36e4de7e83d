package printer

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/match"
	"pigrep/query/fix"
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
	out := NewSink(w)
	for _, path := range paths {
		if tty {
			out.Print(terminal.Clean(path), "\n")
		} else {
			out.Print(path, "\x00")
		}
	}
	return out.End()
}

func (s *Sessions) JSON(j *JSON) {
	l := s.List
	j.Stream(&Stream{
		Command: "sessions", Name: "sessions",
		lead: struct {
			Query string `json:"query,omitempty"`
		}{s.Query},
		Rows: rowsIn(l.Sessions, func(x *sessions.Session) any { return x.Row(s.Searched) }),
		end:  listTail{l.Total, listEnd{l.TotalIsExact, List(l.Warnings), l.DidYouMean, l.Words, l.Removed, l.Index}},
	})
}

// listTail ends the JSON of a list of sessions.
type listTail struct {
	Total int `json:"total"`
	listEnd
}

type listEnd struct {
	TotalIsExact bool               `json:"totalIsExact"`
	Warnings     []string           `json:"warnings"`
	DidYouMean   string             `json:"didYouMean,omitempty"`
	Words        []search.WordCount `json:"words,omitempty"`
	Removed      []search.Removed   `json:"removed,omitempty"`
	Index        search.IndexState  `json:"index"`
}

// The narrowest terminals that show a column, and widths of columns.
const (
	roomForCost     = 72
	roomForMessages = 84
	roomForTokens   = 96
	roomForModel    = 140
	mostModel       = 24
	minSessionTitle = 28
	leastDirectory  = 14
	narrowSessions  = 60 // below this width a session takes two lines
	candidateTitle  = 50
	maxIndent       = 8 // the deepest indentation of forks
	shownCalls      = 8 // of a session with an error: the first, and the last
)

func (s *Sessions) Sheet(layout Layout) table { return s.rows(layout) }

func (s *Sessions) rows(layout Layout) *sheet[sessions.Session] {
	type row = sessions.Session
	hosts := slices.ContainsFunc(s.List.Sessions, func(x row) bool { return x.Host != "" })
	age, where := "AGE", "DIRECTORY"
	if layout.Width < roomForTokens {
		where = "PROJECT"
	}
	if layout.Dates {
		age = "LAST MESSAGE"
	}
	return &sheet[row]{
		columns: []sheetColumn[row]{
			{column{Title: age, Right: true}, func(x *row) cell { return dimCell(human.When(x.Undated, "~") + layout.age(x.Modified.Time)) }},
			{column{Name: "id", Title: "ID"}, func(x *row) cell {
				return cell{Text: layout.sessionID(x.SessionID, x.SessionPath), Plain: layout.name(x.SessionID, x.SessionPath), Style: DimStyle}
			}},
			{column{Field: "agent", Title: human.When(layout.Several, "AGENT")}, func(x *row) cell { return dimCell(x.Agent) }},
			{column{Field: "host", Title: human.When(hosts, "HOST")}, func(x *row) cell { return dimCell(x.Host) }},
			{column{Name: "title", Title: "NAME OR FIRST PROMPT", Flex: true, Least: minSessionTitle}, sessionTitle},
			{column{Name: "last message (UTC)", Field: "modified"}, func(x *row) cell { return textCell(x.Modified.UTC().Format(time.RFC3339)) }},
			{column{Name: "messages"}, func(x *row) cell { return textCell(strconv.Itoa(x.Messages)) }},
			{column{Name: "working directory", Field: "cwd"}, func(x *row) cell { return textCell(x.CWD) }},
			{column{Title: where, Key: true}, func(x *row) cell {
				// Clipped before it is measured: titles need the room.
				dir := terminal.ClipPath(terminal.Clean(human.Path(x.CWD, layout.Home)), layout.Width/6)
				if layout.Width < roomForTokens {
					dir = terminal.Clip(terminal.Clean(human.Project(x.CWD)), leastDirectory)
				}
				return cell{Text: dir, Style: DimStyle, Link: x.CWD}
			}},
			{column{Name: "models", Title: "MODEL", From: roomForModel, Most: mostModel}, func(x *row) cell {
				return cell{Text: strings.Join(ModelNames(x.Models), ", "), Plain: strings.Join(x.Models, ","), Style: DimStyle}
			}},
			{column{Name: "labels"}, func(x *row) cell { return textCell(strings.Join(x.Labels, ",")) }},
			{column{Name: "parent session"}, func(x *row) cell { return textCell(x.ParentSession) }},
			{column{Title: "TOKENS", Right: true, From: roomForTokens}, func(x *row) cell { return textCell(human.When(x.Tokens > 0, human.Short(x.Tokens))) }},
			{column{Title: "COST", Right: true, From: roomForCost}, func(x *row) cell { return textCell(x.CostText()) }},
			{column{Name: "hits", Title: human.When(s.Searched, "HITS"), Right: true}, s.hits},
			{column{Title: "MSGS", Right: true, From: roomForMessages}, func(x *row) cell { return countCell(x.Messages) }},
			{column{Name: "session path"}, func(x *row) cell { return textCell(x.SessionPath) }},
			fieldColumn("sessionId", func(x *row) string { return x.SessionID }),
			fieldColumn("name", func(x *row) string { return x.Name }),
			fieldColumn("firstPrompt", func(x *row) string { return x.FirstPrompt }),
			fieldColumn("created", func(x *row) string { return stampUTC(x.Created.Time) }),
			fieldColumn("tokens", func(x *row) string { return strconv.FormatInt(x.Tokens, 10) }),
			fieldColumn("subagents", func(x *row) string { return strconv.Itoa(x.Subagents) }),
			fieldColumn("cost", func(x *row) string { return strconv.FormatFloat(x.Cost, 'g', -1, 64) }),
			fieldColumn("estimatedCost", func(x *row) string { return strconv.FormatFloat(x.Estimated, 'g', -1, 64) }),
			fieldColumn("size", func(x *row) string { return strconv.FormatInt(x.Size, 10) }),
			fieldColumn("unpriced", func(x *row) string { return strconv.Itoa(x.Unpriced) }),
		},
		rows: listed(s.List.Sessions),
	}
}

// hits returns the cell with the number of hits in a session; ~ marks partial ones.
func (s *Sessions) hits(x *sessions.Session) cell {
	switch {
	case !s.Searched:
		return cell{}
	case x.Hits == 0:
		return cell{Text: "~" + human.Number(x.HitsAny), Plain: "0"}
	}
	return cell{Text: human.Number(x.Hits), Plain: strconv.Itoa(x.Hits)}
}

// sessionTitle returns the cell with the title and labels of a session; a fork is
// indented below its parent.
func sessionTitle(x *sessions.Session) cell {
	title := human.Title(x.Title) + human.When(x.Kept, " (kept)")
	for _, l := range x.Labels {
		title += " [" + terminal.Clean(l) + "]"
	}
	// Subagents stand before the title, which may be clipped.
	c := cell{Text: human.Joined(" · ", human.Some(x.Subagents, "subagent", "subagents"), human.When(x.Subagent, "subagent"), title), Plain: x.Title}
	if x.Depth > 0 {
		c.Indent = strings.Repeat("  ", min(x.Depth, maxIndent)-1) + "└ "
	}
	if x.Name != "" {
		c.Style = TitleStyle
	}
	return c
}

// ModelNames returns models without their providers.
func ModelNames(models []string) []string {
	return lists.Map(models, func(m string) string { return terminal.Clean(m[strings.LastIndexByte(m, '/')+1:]) })
}

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
		what := human.Joined(" · ", terminal.Clip(human.Title(c.Session.Title()), candidateTitle), terminal.Clean(c.Session.CWD))
		lines = append(lines, strings.TrimRight(terminal.Pad(names[i], name)+"  "+terminal.Pad(ages[i], age)+"  "+what, " "))
	}
	if n := len(list) - len(shown); n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
}

func widest(list []string) int { return slices.Max(append(lists.Map(list, terminal.Width), 0)) }

func (s *Sessions) Text(t *Text) {
	n := len(s.List.Sessions)
	switch {
	case n == 0:
		return
	case t.Width < narrowSessions:
		s.narrow(t)
	default:
		t.table(s.Sheet(t.Layout))
	}
	line := shownOf(n, s.List.Total, "session", "sessions")
	if !s.List.TotalIsExact {
		line = human.Plural(n, "session", "sessions") + " shown; more with -n"
	}
	partial := slices.ContainsFunc(s.List.Sessions, func(x sessions.Session) bool { return x.Hits == 0 && x.HitsAny > 0 })
	t.Print("\n", t.Dim(line+human.When(partial, "; ~ hits lack a word")), "\n")
}

// narrow writes a session on two lines.
func (s *Sessions) narrow(t *Text) {
	for i := range s.List.Sessions {
		x := &s.List.Sessions[i]
		c := sessionTitle(x)
		name := terminal.Clip(c.Indent+c.Text, t.Width)
		if c.Style != nil {
			name = t.Style(c.Style, name)
		}
		count := human.Plural(x.Messages, "message", "messages")
		if s.Searched {
			count = "hits " + s.hits(x).Text
		}
		line := ""
		for _, fact := range []string{human.When(x.Undated, "~") + t.age(x.Modified.Time), terminal.Clean(t.sessionID(x.SessionID, x.SessionPath)), t.Badge(x.Host, x.Agent, false), t.Links.File(terminal.Clip(terminal.Clean(human.Project(x.CWD)), leastDirectory), x.CWD), count} {
			if longer := human.Joined(" · ", line, fact); terminal.Width(longer) <= t.Width-2 {
				line = longer
			}
		}
		t.Print(name, "\n", t.Dim("  "+line), "\n")
	}
}

// Similar is the answer of the similar command.
type Similar struct {
	SessionPath, SessionID string // that others are compared with
	session.EntryName             // none for the whole session
	Response               *similar.Response
}

func (s *Similar) JSON(j *JSON) {
	r := s.Response
	j.Stream(&Stream{
		Command: "similar", Name: "sessions",
		lead: struct {
			SessionPath string `json:"sessionPath"`
			SessionID   string `json:"sessionId,omitempty"`
			session.EntryName
			Terms []string `json:"terms"`
		}{s.SessionPath, s.SessionID, s.EntryName, List(r.Terms)},
		Rows: rowsIn(r.Sessions, func(x *similar.Session) any { return x.Row() }),
		end:  listTail{r.Total, listEnd{TotalIsExact: r.TotalIsExact, Warnings: List(r.Warnings), Index: r.Index}},
	})
}

func (s *Similar) Sheet(layout Layout) table {
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

func (s *Similar) Text(t *Text) {
	if n := t.table(s.Sheet(t.Layout)); n > 0 {
		t.Print("\n", t.Dim(atLeast(s.Response.TotalIsExact)+shownOf(n, s.Response.Total, "similar session", "similar sessions")), "\n")
	}
}

// Fix is the answer of the fix command.
type Fix struct{ Response *fix.Response }

func (f *Fix) JSON(j *JSON) {
	r := f.Response
	j.Stream(&Stream{
		Command: "fix", Name: "sessions", Rows: rowsIn(r.Sessions, nil),
		lead: map[string]any{"query": r.Text},
		end: struct {
			Missing []string `json:"missing,omitempty"`
			listTail
		}{r.Missing, listTail{r.Total, listEnd{TotalIsExact: r.TotalIsExact, Warnings: List(r.Warnings), Index: r.Index}}},
	})
}

func (f *Fix) Sheet(layout Layout) table {
	type row = fix.Session
	return &sheet[row]{rows: listed(f.Response.Sessions), columns: []sheetColumn[row]{
		recordColumn("place", func(s *row) string { return layout.place(s.SessionID, s.SessionPath, s.Error.Entry(), s.Error.Offset) }),
		recordColumn("outcome", func(s *row) string { return string(s.Outcome) }),
		recordColumn("error", func(s *row) string { return s.Error.Text }),
		recordColumn("calls", func(s *row) string {
			calls := lists.Map(s.Calls, func(c fix.Call) string { return c.Told() + human.When(c.Status == "error", " (failed)") })
			return strings.Join(calls, " → ")
		}),
		recordColumn("reply", func(s *row) string {
			if s.Reply == nil {
				return ""
			}
			return s.Reply.Text
		}),
		recordColumn("timestamp (UTC)", func(s *row) string { return stampUTC(s.Error.Timestamp.Time) }),
		{column{Name: "working directory", Field: "cwd"}, func(s *row) cell { return textCell(s.CWD) }},
		recordColumn("session path", func(s *row) string { return s.SessionPath }),
		fieldColumn("id", func(s *row) string { return layout.name(s.SessionID, s.SessionPath) }),
		fieldColumn("sessionId", func(s *row) string { return s.SessionID }),
		fieldColumn("title", func(s *row) string { return s.Title }),
		fieldColumn("entryId", func(s *row) string { return s.Error.EntryID }),
		fieldColumn("agent", func(s *row) string { return s.Agent }),
		fieldColumn("line", func(s *row) string { return strconv.Itoa(s.Error.Line) }),
	}}
}

func (f *Fix) Text(t *Text) {
	out := &hitText{Text: t}
	for i := range f.Response.Sessions {
		for _, p := range []*fix.Place{&f.Response.Sessions[i].Error, f.Response.Sessions[i].Reply} {
			if p != nil {
				hit := placeHit(p)
				out.widen(&hit)
			}
		}
	}
	if names := f.Response.Missing; len(names) > 0 {
		line := "no session has this error with " + terminal.Clean(strings.Join(names, ", ")) + "; these are like it:"
		t.Print(ansi.Wordwrap(line, t.Width, ""), "\n\n")
	}
	for i := range f.Response.Sessions {
		t.Print(human.When(i > 0, "\n"))
		out.fix(&f.Response.Sessions[i], f.Response.Missing)
	}
	r, one, many := f.Response, "session has this error", "sessions have this error"
	if len(r.Missing) > 0 {
		one, many = "session has an error like it", "sessions have errors like it"
	}
	if r.Total > 0 {
		line := atLeast(r.TotalIsExact) + shownOf(len(r.Sessions), r.Total, one, many)
		t.Print(t.Dim(ansi.Wordwrap("\n"+line, t.Width, "")), "\n")
	}
}

// fix writes a session: its title and facts, the error, the calls after it, the reply,
// and what is unusual. It does not mention missing, which all sessions lack.
func (t *hitText) fix(s *fix.Session, missing []string) {
	without := slices.DeleteFunc(slices.Clone(s.Lacks), func(name string) bool { return slices.Contains(missing, name) })
	lacks := human.When(len(without) > 0, "without "+strings.Join(without, ", "))
	outcome := map[fix.Outcome]string{fix.Fixed: "fixed", fix.Gone: "not seen again after this", fix.Unfixed: "nothing succeeded afterwards"}[s.Outcome]
	outcome = human.When(s.Occurrences > 1, "seen "+times(s.Occurrences)+", ") + outcome + human.When(s.Later > 0, ", seen "+times(s.Later)+" more later")
	t.session(human.Title(s.Title), s.CWD, t.Badge(s.Host, s.Agent, s.Kept), t.Ago(s.Modified.Time), outcome, lacks, t.sessionID(s.SessionID, s.SessionPath))
	last := placeHit(&s.Error)
	t.when = s.Modified.Time
	last.IsError, last.Branch = true, s.Error.Branch
	last.Fragment.Text = deepPath().ReplaceAllString(relativeTo(s.Error.Text, s.CWD), "…/")
	t.hit(&last)
	calls := s.Calls
	if len(calls) > shownCalls {
		t.calls(s.CWD, calls[:shownCalls/2])
		t.Print(t.Dim("  → "+human.Plural(len(calls)-shownCalls, "more call", "more calls")), "\n")
		calls = calls[len(calls)-shownCalls/2:]
	}
	t.calls(s.CWD, calls)
	if s.Reply != nil {
		reply := placeHit(s.Reply)
		t.hit(&reply)
	}
}

// calls writes one call per line. Paths are relative to the directory of the session.
func (t *hitText) calls(cwd string, list []fix.Call) {
	for i := range list {
		c := &list[i]
		left := "  → " + terminal.Clean(c.Tool)
		if t.Width >= narrow {
			left = terminal.Pad(terminal.Clip(left, t.gutter()-1), t.gutter())
		} else {
			left += " "
		}
		often := human.When(c.Times > 1, fmt.Sprintf(" ×%d", c.Times))
		mark, room := t.Dim(often), t.Width-terminal.Width(left)-terminal.Width(often)
		if c.Status == "error" {
			mark += "  " + t.Style(ErrorStyle, "failed")
			room -= len("  failed")
		}
		t.Print(t.Style(KindStyles[session.KindCall], left), terminal.Clip(terminal.Clean(relativeTo(c.Text, cwd)), max(room, 1)), mark, "\n")
	}
}

// entering matches a leading change of directory.
var entering = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^cd [^;&|\s]+ *(&&|;) *`) })

// deepPath matches the directories of a long path, which would leave no room for the
// error.
var deepPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:[A-Za-z]:)?(?:[/\\][\w.@+-]+){3,}[/\\]`) })

// relativeTo returns a call as seen from a directory.
func relativeTo(call, dir string) string {
	call = entering().ReplaceAllString(call, "")
	if dir = strings.TrimRight(dir, "/"); dir != "" {
		call = strings.ReplaceAll(call, dir+"/", "")
	}
	return call
}

// placeHit returns a place as a hit, to be written as hits are.
func placeHit(p *fix.Place) search.Hit {
	return search.Hit{Kind: p.Kind, Timestamp: p.Timestamp, EntryPlace: session.EntryPlace{EntryName: p.EntryName}, InContext: true, Fragment: match.Fragment{Text: p.Text}}
}

func times(n int) string {
	return cmp.Or(map[int]string{1: "once", 2: "twice"}[n], human.Number(n)+" times")
}
