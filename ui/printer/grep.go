package printer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/terminal"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// GrepMode says what grep prints for its matches.
type GrepMode int

// The modes. JSON and JSON Lines always print lines.
const (
	GrepLines  GrepMode = iota // matching lines and those around them
	GrepOnly                   // each match on a line
	GrepVim                    // path:line:column:text for each match
	GrepFiles                  // files with a match
	GrepCounts                 // the number of matching lines of each file
)

// Grep is the answer of the grep command. Matches are printed as they are found.
type Grep struct {
	Mode     GrepMode
	Numbers  bool // print line numbers within the part; text always does
	Heading  bool // the session above its lines, instead of its name on each line
	Paths    bool // the path of the session on each line, instead of its name
	Context  bool // separate groups of lines
	Patterns []string
	Scope    string // "" when kinds were named

	// Session returns the title and the short id of a session, for headings; "" for what
	// is not known. It may be nil.
	Session func(m *grep.Match) (title, id string)

	// Each calls visit for each match; End is called after the last one.
	Each func(visit func(*grep.Match) error) error
	End  func() (*grep.Summary, search.About)
}

func (g *Grep) Text(t *Text) { g.lines(&grepText{Text: t, Grep: g}) }

func (g *Grep) Plain(p *Text) { g.lines(&grepText{Text: p, Grep: g, plain: true}) }

// grepLine is a line of a template: a line of a part or, with GrepOnly, a match in it.
type grepLine struct {
	*grep.Match
	number int
	text   string
}

func (g *Grep) rows(visit func(*grepLine) error) error {
	return g.Each(func(m *grep.Match) error {
		var rows []grepLine
		for _, l := range m.Lines {
			spans := l.Spans
			if g.Mode != GrepOnly {
				spans = [][2]int{{0, len(l.Text)}}
			}
			for _, s := range spans {
				rows = append(rows, grepLine{m, l.Number + strings.Count(l.Text[:s[0]], "\n"), l.Text[s[0]:s[1]]})
			}
		}
		return listed(rows)(visit)
	})
}

func (g *Grep) Sheet(layout Layout) table {
	type row = grepLine
	return &sheet[row]{rows: g.rows, columns: []sheetColumn[row]{
		fieldColumn("place", func(r *row) string { return layout.place(r.SessionID, r.SessionPath, r.Entry(), r.Offset) }),
		fieldColumn("kind", func(r *row) string { return string(r.Kind) }),
		fieldColumn("number", func(r *row) string { return strconv.Itoa(r.number) }),
		fieldColumn("text", func(r *row) string { return r.text }),
		fieldColumn("timestamp", func(r *row) string { return stampUTC(r.Timestamp.Time) }),
		fieldColumn("sessionPath", func(r *row) string { return r.SessionPath }),
		fieldColumn("id", func(r *row) string { return layout.name(r.SessionID, r.SessionPath) }),
		fieldColumn("sessionId", func(r *row) string { return r.SessionID }),
		fieldColumn("title", func(r *row) string {
			if g.Session == nil {
				return ""
			}
			title, _ := g.Session(r.Match)
			return title
		}),
		fieldColumn("entryId", func(r *row) string { return r.EntryID }),
		fieldColumn("line", func(r *row) string { return strconv.Itoa(r.Line) }),
		fieldColumn("tool", func(r *row) string { return r.Tool }),
		fieldColumn("agent", func(r *row) string { return r.Agent }),
		fieldColumn("host", func(r *row) string { return r.Host }),
	}}
}

func (g *Grep) lines(out *grepText) {
	out.Fail(g.Each(out.match))
	out.endFile()
}

// grepText writes lines of text:
//
//	SESSION:ENTRY:kind:number:text    with - for : around a match, after ENTRY
//
// SESSION is a name or a path. With a heading, these lines are without it.
type grepText struct {
	*Text
	*Grep
	plain bool

	path    string // of the current file
	session string // before its lines
	count   int
	started bool
	last    lastLine
}

type lastLine struct {
	path         string
	offset       int64
	part, number int
}

var (
	grepPathStyle   = ansi.NewStyle().ForegroundColor(ansi.Magenta)
	grepNumberStyle = ansi.NewStyle().ForegroundColor(ansi.Green)
	grepEntryStyle  = ansi.NewStyle().Faint()
)

func (g *grepText) match(m *grep.Match) error {
	if m.SessionPath != g.path {
		g.endFile()
		g.path, g.session = m.SessionPath, g.cleanPath(m.SessionPath)
		if !g.Paths {
			g.session = g.Style(grepPathStyle, terminal.Clean(g.name(m.SessionID, m.SessionPath)))
		}
	}
	g.count += m.Matched
	if g.Mode == GrepFiles || g.Mode == GrepCounts {
		return g.Err
	}
	for i := range m.Lines {
		l := &m.Lines[i]
		switch {
		case g.Mode == GrepVim:
			g.jumps(m, l)
		case g.Mode == GrepOnly:
			number, seen := l.Number, 0
			for _, s := range l.Spans {
				number, seen = number+strings.Count(l.Text[seen:s[0]], "\n"), s[0]
				number := number
				for piece := range strings.SplitSeq(l.Text[s[0]:s[1]], "\n") {
					g.head(m, number, true)
					g.Print(g.Style(MatchStyle, safeLine(piece)), "\n")
					number++
				}
			}
		default:
			next := lastLine{m.SessionPath, m.Offset, m.Part, l.Number}
			before := g.last
			before.number++
			if g.Context && g.started && next != before && (!g.Heading || g.last.path == m.SessionPath) {
				g.Print(g.Dim(GrepSeparator), "\n")
			}
			g.printed(m, l)
		}
	}
	return g.Err
}

// head writes the columns before the text of a line.
func (g *grepText) head(m *grep.Match, number int, match bool) {
	sep := g.Dim(cmp.Or(human.When(!match, "-"), ":"))
	if !g.Heading {
		g.Print(g.session, ":")
	} else if !g.started || g.last.path != m.SessionPath {
		g.Print(human.When(g.started, "\n"))
		g.Print(g.Links.File(g.heading(m), m.SessionPath), "\n")
	}
	g.Print(g.Style(grepEntryStyle, sessions.EntryName(m.Entry(), m.Offset)), g.Dim(":"), g.Style(KindStyles[m.Kind], string(m.Kind)), sep)
	if g.Numbers || !g.plain {
		g.Print(g.Style(grepNumberStyle, strconv.Itoa(number)), sep)
	}
	g.started, g.last = true, lastLine{m.SessionPath, m.Offset, m.Part, number}
}

// heading returns the title and the id of a session, or else its path.
func (g *grepText) heading(m *grep.Match) string {
	title, id := "", ""
	if g.Session != nil {
		title, id = g.Session(m)
	}
	if title == "" || id == "" {
		return g.cleanPath(m.SessionPath)
	}
	id = " · " + human.Joined(" · ", g.Badge(m.Host, m.Agent, m.Kept), terminal.Clean(id))
	title = terminal.Clean(title)
	if !g.plain {
		title = terminal.Clip(title, max(minTitle, g.Width-terminal.Width(id)))
	}
	return g.Style(grepPathStyle, title) + g.Dim(id)
}

// printed writes a line, or all lines of a match that spans several.
func (g *grepText) printed(m *grep.Match, l *grep.Line) {
	number, start, spans := l.Number, 0, l.Spans
	for line := range strings.SplitSeq(l.Text, "\n") {
		g.head(m, number, l.Match)
		end := start + len(line)
		var marked [][2]int
		for _, s := range spans {
			if s[0] <= end && s[1] >= start {
				marked = append(marked, [2]int{max(s[0], start) - start, min(s[1], end) - start})
			}
		}
		g.Print(g.Dim(human.When(l.From > 0 && start == 0, "…")))
		g.marked(line, marked)
		g.Print(g.Dim(human.When(l.From+len(l.Text) < l.Whole && end == len(l.Text), "…")), "\n")
		number++
		start = end + 1
	}
}

// GrepSeparator separates groups of lines.
const GrepSeparator = "--"

// In text, a line longer than longLine bytes is shown from leadBytes before its
// first match.
const (
	longLine  = 2000
	leadBytes = 200
	minTitle  = 10 // the minimum width of the title in a heading
)

// marked writes the line safe to print, with its matches marked.
func (g *grepText) marked(line string, spans [][2]int) {
	from, to := 0, len(line)
	if !g.plain && to > longLine {
		if len(spans) > 0 {
			from = max(0, spans[0][0]-leadBytes)
		}
		to = min(to, from+longLine)
		for from > 0 && !utf8.RuneStart(line[from]) {
			from--
		}
		for to < len(line) && !utf8.RuneStart(line[to]) {
			to--
		}
		g.Print(g.Dim(human.When(from > 0, "…")))
	}
	at := from
	for _, s := range spans {
		if s[0] < at || s[1] > to || s[0] == s[1] {
			continue
		}
		g.Print(safeLine(line[at:s[0]]), g.Style(MatchStyle, safeLine(line[s[0]:s[1]])))
		at = s[1]
	}
	g.Print(safeLine(line[at:to]), g.Dim(human.When(to < len(line), "…")))
}

// safeLine makes a line safe to print and keeps its tabs.
func safeLine(s string) string {
	return strings.ReplaceAll(terminal.CleanLines(s), "\n", "")
}

func (g *grepText) cleanPath(path string) string {
	if g.plain {
		return g.Style(grepPathStyle, terminal.Clean(path))
	}
	return g.Links.File(g.Style(grepPathStyle, terminal.Clean(human.Path(path, g.Home))), path)
}

// jumps writes a line for each match, with the text around it: a line of many matches
// would otherwise be written as many times.
func (g *grepText) jumps(m *grep.Match, l *grep.Line) {
	path, start, seen := g.cleanPath(m.SessionPath), 0, 0
	for _, s := range l.Spans {
		if i := strings.LastIndexByte(l.Text[seen:s[0]], '\n'); i >= 0 {
			start = seen + i + 1
		}
		seen = s[0]
		from, to := max(start, s[0]-leadBytes), min(len(l.Text), s[0]+2*leadBytes)
		line, _, _ := strings.Cut(strings.ToValidUTF8(l.Text[from:to], ""), "\n")
		g.Print(fmt.Sprintf("%s:%d:%d:", path, m.Line, s[0]-start+1), safeLine(line), "\n")
	}
}

// endFile writes the output that depends on all matches of a file.
func (g *grepText) endFile() {
	switch {
	case g.path == "":
	case g.Mode == GrepFiles:
		g.Print(g.cleanPath(g.path), "\n")
	case g.Mode == GrepCounts:
		g.Print(g.cleanPath(g.path), ":", strconv.Itoa(g.count), "\n")
	}
	g.path, g.count = "", 0
}

// grepStats are the statistics of ripgrep that depend neither on the clock nor on
// how the search was done.
type grepStats struct {
	Searches          int `json:"searches"`
	SearchesWithMatch int `json:"searches_with_match"`
	MatchedLines      int `json:"matched_lines"`
	Matches           int `json:"matches"`
}

type grepString struct {
	Text string `json:"text"`
}

type grepMessage struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

func (g *Grep) JSON(j *JSON) {
	lead := grepLead{List(g.Patterns), g.Scope}
	if j.lines {
		g.messages(&grepLines{JSON: j}, lead)
		return
	}
	j.Stream(&Stream{
		Command: "grep", lead: lead, Name: "matches",
		Rows: func(visit func(any) error) error {
			return g.Each(func(m *grep.Match) error {
				return rowsIn(m.Rows(), func(r *grep.Row) any { return grepRow{*r} })(visit)
			})
		},
		Tail: func(int) any {
			sum, about := g.End()
			return struct {
				Lines    int  `json:"total"`
				Matches  int  `json:"totalMatches"`
				Files    int  `json:"files"`
				WithHits int  `json:"filesWithMatch"`
				Limited  bool `json:"limited,omitempty"`
				search.About
			}{sum.Lines, sum.Matches, sum.Files, sum.WithHits, sum.Limited, listedAbout(about)}
		},
	})
}

// grepRow is the row of a line of any length.
type grepRow struct{ grep.Row }

func (r grepRow) Size() int { return len(r.Text) }

func (r grepRow) Write(j *JSON) {
	text := r.Text
	r.Text = ""
	j.Filled(r, `"text":""`, func() { j.Inside(text) })
}

// grepLead begins the answer and the summary.
type grepLead struct {
	Patterns []string `json:"patterns"`
	Scope    string   `json:"scope,omitempty"`
}

// grepLines writes the messages of ripgrep's --json with our location fields added.
type grepLines struct {
	*JSON
	path  string
	stats grepStats // of the file
}

func (g *Grep) messages(out *grepLines, lead grepLead) {
	out.Fail(g.Each(out.match))
	out.endFile()
	if out.Err != nil {
		return
	}
	sum, about := g.End()
	message := out.encoded(grepMessage{"summary", struct {
		head
		grepLead
		Stats   grepStats `json:"stats"`
		Limited bool      `json:"limited,omitempty"`
		search.About
	}{head{SchemaVersion: SchemaVersion, Command: "grep"}, lead, grepStats{sum.Files, sum.WithHits, sum.Lines, sum.Matches}, sum.Limited, listedAbout(about)}})
	out.finish(message[:len(message)-1])
}

type grepSubmatch struct {
	Match grepString `json:"match"`
	Start int        `json:"start"`
	End   int        `json:"end"`
}

func (g *grepLines) match(m *grep.Match) error {
	path := grepString{m.SessionPath}
	if m.SessionPath != g.path {
		g.endFile()
		g.path = m.SessionPath
		g.line(grepMessage{"begin", struct {
			Path        grepString `json:"path"`
			SessionPath string     `json:"sessionPath"`
			SessionID   string     `json:"sessionId,omitempty"`
		}{path, m.SessionPath, m.SessionID}})
		g.stats = grepStats{Searches: 1, SearchesWithMatch: 1}
	}
	g.stats.MatchedLines += m.Matched
	g.stats.Matches += m.Matches
	for i := range m.Lines {
		g.lineOf(m, &m.Lines[i])
	}
	return g.Err
}

func (g *grepLines) lineOf(m *grep.Match, l *grep.Line) {
	kind, end := cmp.Or(human.When(l.Match, "match"), "context"), human.When(l.Ended, "\n")
	submatches := lists.Map(l.Spans, func(s [2]int) grepSubmatch { return grepSubmatch{grepString{l.Text[s[0]:s[1]]}, s[0], s[1]} })
	message := func(text string) grepMessage {
		return grepMessage{kind, struct {
			Path       grepString     `json:"path"`
			Lines      grepString     `json:"lines"`
			Number     int            `json:"line_number"`
			Absolute   int            `json:"absolute_offset"`
			Submatches []grepSubmatch `json:"submatches"`
			grep.Location
			grep.Cut
		}{grepString{m.SessionPath}, grepString{text}, l.Number, l.Offset, submatches, m.Location, l.Cut()}}
	}
	if len(l.Text) < longFrom {
		g.line(message(l.Text + end))
		return
	}
	g.long(longMessage{message(""), l.Text, end})
}

// longMessage is a message with a long line, given without its text.
type longMessage struct {
	grepMessage
	text, end string
}

func (m longMessage) Size() int { return len(m.text) }

func (m longMessage) Write(j *JSON) {
	j.Filled(m.grepMessage, `"lines":{"text":""`, func() {
		j.Inside(m.text)
		j.Inside(m.end)
	})
}

func (g *grepLines) endFile() {
	if g.path != "" {
		g.line(grepMessage{"end", struct {
			Path  grepString `json:"path"`
			Stats grepStats  `json:"stats"`
		}{grepString{g.path}, g.stats}})
	}
}
