package printer

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
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

// grepSeparator separates groups of lines.
const grepSeparator = "--"

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
	End  func() (*grep.Summary, search.IndexState)
}

func (g *Grep) text(t *text) error { return g.lines(&grepText{text: t, Grep: g}) }

func (g *Grep) plain(p plain) error {
	return g.lines(&grepText{text: &text{w: p.w, Layout: p.Layout}, Grep: g, plain: true})
}

// grepLine is a line of a template: a line of a part or, with GrepOnly, a match in it.
type grepLine struct {
	*grep.Match
	number int
	text   string
}

func (g *Grep) rows(visit func(*grepLine) error) error {
	return g.Each(func(m *grep.Match) error {
		var rows []grepLine
		for i := range m.Lines {
			l := &m.Lines[i]
			if g.Mode != GrepOnly {
				rows = append(rows, grepLine{m, l.Number, l.Text})
				continue
			}
			for _, s := range l.Spans {
				rows = append(rows, grepLine{m, l.Number + strings.Count(l.Text[:s[0]], "\n"), l.Text[s[0]:s[1]]})
			}
		}
		return listed(rows)(visit)
	})
}

func (g *Grep) sheet(layout Layout) table {
	type row = grepLine
	return &sheet[row]{rows: g.rows, columns: []sheetColumn[row]{
		fieldColumn("place", func(r *row) string { return layout.place(r.SessionID, r.SessionPath, r.EntryID, r.Offset) }),
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
	}}
}

func (g *Grep) lines(out *grepText) error {
	if err := g.Each(out.match); err != nil {
		return err
	}
	return out.endFile()
}

// grepText writes lines of text:
//
//	SESSION:ENTRY:kind:number:text    with - for : around a match, after ENTRY
//
// SESSION is a name or a path. With a heading, these lines are without it.
type grepText struct {
	*text
	*Grep
	plain bool

	path    string // of the current file
	session string // before its lines
	count   int
	started bool
	last    lastLine
}

// lastLine is the line that was written last.
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
		if err := g.endFile(); err != nil {
			return err
		}
		g.path, g.session = m.SessionPath, g.cleanPath(m.SessionPath)
		if !g.Paths {
			g.session = g.style(grepPathStyle, terminal.Clean(g.name(m.SessionID, m.SessionPath)))
		}
	}
	g.count += m.Matched
	if g.Mode == GrepFiles || g.Mode == GrepCounts {
		return nil
	}
	b := bufio.NewWriterSize(g.w, grepBuffer) // g.w itself if that has a buffer
	for i := range m.Lines {
		l := &m.Lines[i]
		switch {
		case g.Mode == GrepVim:
			g.jumps(b, m, l)
		case g.Mode == GrepOnly:
			number, seen := l.Number, 0
			for _, s := range l.Spans {
				number, seen = number+strings.Count(l.Text[seen:s[0]], "\n"), s[0]
				number := number
				for piece := range strings.SplitSeq(l.Text[s[0]:s[1]], "\n") {
					g.head(b, m, number, true)
					b.WriteString(g.style(matchStyle, safeLine(piece)) + "\n")
					number++
				}
			}
		default:
			g.separate(b, m, l.Number)
			g.printed(b, m, l)
		}
	}
	if b == g.w {
		_, err := b.Write(nil) // the error of all writes
		return err
	}
	return b.Flush()
}

const grepBuffer = 64 << 10

// separate writes the separator between groups of lines.
func (g *grepText) separate(b *bufio.Writer, m *grep.Match, number int) {
	next := lastLine{m.SessionPath, m.Offset, m.Part, number}
	before := g.last
	before.number++
	if g.Context && g.started && next != before && (!g.Heading || g.last.path == m.SessionPath) {
		b.WriteString(g.dim(grepSeparator) + "\n")
	}
}

// head writes the columns before the text of a line.
func (g *grepText) head(b *bufio.Writer, m *grep.Match, number int, match bool) {
	sep := ":"
	if !match {
		sep = "-"
	}
	if !g.Heading {
		b.WriteString(g.session + ":")
	} else if !g.started || g.last.path != m.SessionPath {
		if g.started {
			b.WriteByte('\n')
		}
		b.WriteString(g.Links.File(g.heading(m), m.SessionPath) + "\n")
	}
	sep = g.dim(sep)
	b.WriteString(g.style(grepEntryStyle, sessions.EntryName(m.EntryID, m.Offset)) + g.dim(":"))
	b.WriteString(g.style(kindStyles[m.Kind], string(m.Kind)) + sep)
	if g.Numbers || !g.plain {
		b.WriteString(g.style(grepNumberStyle, strconv.Itoa(number)) + sep)
	}
	g.started, g.last = true, lastLine{m.SessionPath, m.Offset, m.Part, number}
}

// heading is the title and the id of a session, or else its path.
func (g *grepText) heading(m *grep.Match) string {
	title, id := "", ""
	if g.Session != nil {
		title, id = g.Session(m)
	}
	if title == "" || id == "" {
		return g.cleanPath(m.SessionPath)
	}
	id = " · " + terminal.Clean(id)
	title = terminal.Clean(title)
	if !g.plain {
		title = terminal.Clip(title, max(minTitle, g.Width-terminal.Width(id)))
	}
	return g.style(grepPathStyle, title) + g.dim(id)
}

// minTitle is the minimum width of the title in a heading.
const minTitle = 10

// printed writes a line, or all lines of a match that spans several.
func (g *grepText) printed(b *bufio.Writer, m *grep.Match, l *grep.Line) {
	number, start, spans := l.Number, 0, l.Spans
	for line := range strings.SplitSeq(l.Text, "\n") {
		g.head(b, m, number, l.Match)
		end := start + len(line)
		var marked [][2]int
		for _, s := range spans {
			if s[0] <= end && s[1] >= start {
				marked = append(marked, [2]int{max(s[0], start) - start, min(s[1], end) - start})
			}
		}
		if l.From > 0 && start == 0 {
			b.WriteString(g.dim("…"))
		}
		g.marked(b, line, marked)
		if l.From+len(l.Text) < l.Whole && end == len(l.Text) {
			b.WriteString(g.dim("…"))
		}
		b.WriteByte('\n')
		number++
		start = end + 1
	}
}

// In text, a line longer than longLine bytes is shown from leadBytes before its
// first match.
const (
	longLine  = 2000
	leadBytes = 200
)

// marked writes the line safe to print, with its matches marked.
func (g *grepText) marked(b *bufio.Writer, line string, spans [][2]int) {
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
		if from > 0 {
			b.WriteString(g.dim("…"))
		}
	}
	at := from
	for _, s := range spans {
		if s[0] < at || s[1] > to || s[0] == s[1] {
			continue
		}
		b.WriteString(safeLine(line[at:s[0]]))
		b.WriteString(g.style(matchStyle, safeLine(line[s[0]:s[1]])))
		at = s[1]
	}
	b.WriteString(safeLine(line[at:to]))
	if to < len(line) {
		b.WriteString(g.dim("…"))
	}
}

// safeLine makes a line safe to print and keeps its tabs.
func safeLine(s string) string {
	return strings.ReplaceAll(terminal.CleanLines(s), "\n", "")
}

func (g *grepText) cleanPath(path string) string {
	if g.plain {
		return g.style(grepPathStyle, terminal.Clean(path))
	}
	return g.Links.File(g.style(grepPathStyle, terminal.Clean(human.Path(path, g.Home))), path)
}

// jumps writes a line for each match, with the text around it: a line of many matches
// would otherwise be written as many times.
func (g *grepText) jumps(b *bufio.Writer, m *grep.Match, l *grep.Line) {
	path, start, seen := g.cleanPath(m.SessionPath), 0, 0
	for _, s := range l.Spans {
		if i := strings.LastIndexByte(l.Text[seen:s[0]], '\n'); i >= 0 {
			start = seen + i + 1
		}
		seen = s[0]
		fmt.Fprintf(b, "%s:%d:%d:", path, m.Line, s[0]-start+1)
		from, to := max(start, s[0]-leadBytes), min(len(l.Text), s[0]+2*leadBytes)
		line, _, _ := strings.Cut(strings.ToValidUTF8(l.Text[from:to], ""), "\n")
		b.WriteString(safeLine(line))
		b.WriteByte('\n')
	}
}

// endFile writes the output that depends on all matches of a file.
func (g *grepText) endFile() error {
	if g.path == "" {
		return nil
	}
	var err error
	switch g.Mode {
	case GrepFiles:
		_, err = fmt.Fprintln(g.w, g.cleanPath(g.path))
	case GrepCounts:
		_, err = fmt.Fprintf(g.w, "%s:%d\n", g.cleanPath(g.path), g.count)
	}
	g.path, g.count = "", 0
	return err
}
