package printer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/match"
	"pigrep/query/fix"
	"pigrep/query/search"
)

// Fix is the answer of the fix command.
type Fix struct{ Response *fix.Response }

func (f *Fix) json(j *jsonWriter) {
	r := f.Response
	j.stream(&stream{
		command: "fix", name: "sessions", rows: rowsIn(r.Sessions, nil),
		lead: struct {
			Query string `json:"query"`
		}{r.Text},
		tail: func(int) any {
			return struct {
				Missing []string `json:"missing,omitempty"`
				listTail
			}{r.Missing, listTail{Total: r.Total, TotalIsExact: r.TotalIsExact, Warnings: list(r.Warnings), Index: r.Index}}
		},
	})
}

func (f *Fix) sheet(layout Layout) table {
	type row = fix.Session
	return &sheet[row]{rows: listed(f.Response.Sessions), columns: []sheetColumn[row]{
		recordColumn("place", func(s *row) string { return layout.place(s.SessionID, s.SessionPath, s.Error.EntryID, s.Error.Offset) }),
		recordColumn("outcome", func(s *row) string { return string(s.Outcome) }),
		recordColumn("error", func(s *row) string { return s.Error.Text }),
		recordColumn("calls", func(s *row) string {
			var calls []string
			for _, c := range s.Calls {
				call := c.Tool + " " + c.Text
				if c.Status == "error" {
					call += " (failed)"
				}
				calls = append(calls, call)
			}
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
		fieldColumn("line", func(s *row) string { return strconv.Itoa(s.Error.Line) }),
	}}
}

// shownCalls is how many calls of a session are shown: the first, and the last.
const shownCalls = 8

func (f *Fix) text(t *text) {
	var hits []search.Hit
	for i := range f.Response.Sessions {
		s := &f.Response.Sessions[i]
		hits = append(hits, placeHit(&s.Error))
		if s.Reply != nil {
			hits = append(hits, placeHit(s.Reply))
		}
	}
	out := t.hitsOf(hits)
	if names := f.Response.Missing; len(names) > 0 {
		line := "no session has this error with " + terminal.Clean(strings.Join(names, ", ")) + "; these are like it:"
		t.print(ansi.Wordwrap(line, t.Width, ""), "\n\n")
	}
	for i := range f.Response.Sessions {
		if i > 0 {
			t.print("\n")
		}
		out.fix(&f.Response.Sessions[i], f.Response.Missing)
	}
	if line := f.closing(); line != "" {
		t.print(t.dim(ansi.Wordwrap("\n"+line, t.Width, "")), "\n")
	}
}

// fix writes a session: its title and facts, the error, the calls after it, the reply,
// and what is unusual. It does not mention missing, which all sessions lack.
func (t *hitText) fix(s *fix.Session, missing []string) {
	without := slices.DeleteFunc(slices.Clone(s.Lacks), func(name string) bool { return slices.Contains(missing, name) })
	lacks := ""
	if len(without) > 0 {
		lacks = "without " + strings.Join(without, ", ")
	}
	t.session(human.Title(s.Title), s.CWD, t.ago(s.Modified.Time), outcomeText(s), lacks, t.sessionID(s.SessionID, s.SessionPath))
	last := placeHit(&s.Error)
	t.when = s.Modified.Time
	last.IsError, last.Branch = true, s.Error.Branch
	last.Fragment.Text = deepPath().ReplaceAllString(within(s.Error.Text, s.CWD), "…/")
	t.hit(&last)
	calls := s.Calls
	if len(calls) > shownCalls {
		t.calls(s.CWD, calls[:shownCalls/2])
		t.print(t.dim("  → "+human.Plural(len(calls)-shownCalls, "more call", "more calls")), "\n")
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
		mark := ""
		if c.Status == "error" {
			mark = "  failed"
		}
		room := t.Width - terminal.Width(left) - len(mark)
		t.print(t.style(kindStyles[session.KindCall], left), terminal.Clip(terminal.Clean(within(c.Text, cwd)), max(room, 1)))
		if mark != "" {
			t.print("  ", t.style(errorStyle, mark[2:]))
		}
		t.print("\n")
	}
}

// entering matches a leading change of directory.
var entering = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^cd [^;&|\s]+ *(&&|;) *`) })

// deepPath matches the directories of a long path, which would leave no room for the
// error.
var deepPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:[A-Za-z]:)?(?:[/\\][\w.@+-]+){3,}[/\\]`) })

// within returns a call as seen from a directory.
func within(call, dir string) string {
	call = entering().ReplaceAllString(call, "")
	if dir = strings.TrimRight(dir, "/"); dir != "" {
		call = strings.ReplaceAll(call, dir+"/", "")
	}
	return call
}

// placeHit is a place in the form in which hits are written.
func placeHit(p *fix.Place) search.Hit {
	return search.Hit{Kind: p.Kind, Timestamp: p.Timestamp, EntryID: p.EntryID, InContext: true, Fragment: match.Fragment{Text: p.Text}}
}

// outcomeText describes how the error was resolved.
func outcomeText(s *fix.Session) string {
	text := ""
	switch s.Outcome {
	case fix.Fixed:
		text = "fixed"
	case fix.Gone:
		text = "not seen again after this"
	case fix.Unfixed:
		text = "nothing succeeded afterwards"
	}
	if s.Occurrences > 1 {
		text = "seen " + times(s.Occurrences) + ", " + text
	}
	if s.Later > 0 {
		text += ", seen " + times(s.Later) + " more later"
	}
	return text
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return human.Number(n) + " times"
}

func (f *Fix) closing() string {
	r := f.Response
	if r.Total == 0 {
		return ""
	}
	one, many := "session has this error", "sessions have this error"
	if len(r.Missing) > 0 {
		one, many = "session has an error like it", "sessions have errors like it"
	}
	return atLeast(r.TotalIsExact) + shown(len(r.Sessions), r.Total, one, many)
}
