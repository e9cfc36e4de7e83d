package printer

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query"
)

// text prints for people.
type text struct {
	w io.Writer
	Look
}

// The looks. Only attributes and the sixteen colours are used.
var (
	titleLook = ansi.NewStyle().Bold()
	dimLook   = ansi.NewStyle().Faint()
	matchLook = ansi.NewStyle().Bold().ForegroundColor(ansi.Red)
	errorLook = ansi.NewStyle().ForegroundColor(ansi.Red)
)

// kindLooks colours the kinds that a reader tells apart at a glance: who spoke.
var kindLooks = map[session.Kind]ansi.Style{
	session.KindPrompt:   ansi.NewStyle().ForegroundColor(ansi.Green),
	session.KindReply:    ansi.NewStyle().ForegroundColor(ansi.Blue),
	session.KindThinking: ansi.NewStyle().ForegroundColor(ansi.Magenta),
	session.KindCall:     ansi.NewStyle().ForegroundColor(ansi.Yellow),
	session.KindResult:   ansi.NewStyle().ForegroundColor(ansi.Cyan),
	session.KindShell:    ansi.NewStyle().ForegroundColor(ansi.Yellow),
	session.KindError:    errorLook,
}

func (t *text) style(s ansi.Style, text string) string {
	if !t.Colour || text == "" {
		return text
	}
	return s.Styled(text)
}

func (t *text) dim(s string) string { return t.style(dimLook, s) }

// narrow is the width below which a hit has no column of its own for kind and
// age.
const narrow = 60

// The gutter of a hit, when there is one: kind and age above, entry id below.
const (
	kindWidth = 8
	ageWidth  = 4
	gutter    = 2 + kindWidth + 1 + ageWidth + 2
	// maxID is how much of a long entry id is shown: it begins the id of no
	// other entry of a session.
	maxID = gutter - 4
)

func (t *text) Search(s *Search) error {
	var b strings.Builder
	sessions := make(map[string]*query.SessionHit, len(s.Response.Sessions))
	for i := range s.Response.Sessions {
		sessions[s.Response.Sessions[i].SessionPath] = &s.Response.Sessions[i]
	}
	last := ""
	for i := range s.Response.Hits {
		h := &s.Response.Hits[i]
		if h.SessionPath != last {
			if last != "" {
				b.WriteByte('\n')
			}
			t.heading(&b, s, h, sessions[h.SessionPath])
			last = h.SessionPath
		}
		t.neighbours(&b, h.Before)
		t.hit(&b, h)
		t.neighbours(&b, h.After)
		if h.Explain != nil {
			b.WriteString(t.dim(ansi.Wordwrap("    "+explanation(h), t.Width, "")) + "\n")
		}
	}
	if line := closing(s); line != "" {
		for line := range strings.Lines(ansi.Wordwrap("\n"+line, t.Width, "")) {
			b.WriteString(t.dim(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// heading writes who and where a session is: its name or first prompt, then
// its directory, age, hits and id. Without sh, in a flat list, what the hit
// knows has to do.
func (t *text) heading(b *strings.Builder, s *Search, h *query.Hit, sh *query.SessionHit) {
	title, cwd, id, when := h.SessionName, h.CWD, h.SessionID, h.Timestamp.Time
	var hits string
	if sh != nil {
		when = sh.Modified.Time
		if title == "" {
			title = sh.FirstPrompt
		}
		hits = human.Plural(sh.Hits, "hit", "hits")
		switch partial := sh.HitsAny - sh.Hits; {
		case sh.Hits == 0:
			hits = fmt.Sprintf("%s partial", human.Number(partial))
		case partial > 0:
			hits += fmt.Sprintf(", %s partial", human.Number(partial))
		}
	}
	if title == "" && s.FirstPrompt != nil {
		title = s.FirstPrompt(h.SessionPath)
	}
	if s.ShortID != nil && id != "" {
		id = s.ShortID(id)
	}
	if title = terminal.Clean(title); title == "" {
		title = "(no prompt)"
	}
	fmt.Fprintln(b, t.style(titleLook, terminal.Clip(title, t.Width)))

	var facts []string
	for _, fact := range []string{human.Ago(t.Now, when), hits, terminal.Clean(id)} {
		if fact != "" {
			facts = append(facts, fact)
		}
	}
	rest := strings.Join(facts, " · ")
	dir := terminal.Clean(human.Path(cwd, t.Home))
	if room := t.Width - terminal.Width(rest) - 3; dir != "" && room >= 8 {
		rest = terminal.ClipLeft(dir, room) + " · " + rest
	} else if dir != "" {
		fmt.Fprintln(b, t.dim(terminal.ClipLeft(dir, t.Width)))
	}
	fmt.Fprintln(b, t.dim(terminal.Clip(rest, t.Width)))
}

// hit writes one hit in one or two lines, and its notes, if any, in another.
func (t *text) hit(b *strings.Builder, h *query.Hit) {
	look := kindLooks[h.Kind]
	if h.IsError {
		look = errorLook
	}
	kind := string(h.Kind)
	age := human.Age(t.Now, h.Timestamp.Time)
	id := terminal.Clip(terminal.Clean(h.EntryID), maxID)

	indent := gutter
	if t.Width < narrow {
		indent = 4
		fmt.Fprintf(b, "  %s %s\n", t.style(look, kind), t.dim(strings.TrimSpace(age+" "+id)))
	}
	lines := fragmentLines(h.Fragment, t.Width-indent, 2)
	notes := hitNotes(h)
	for i, line := range lines {
		switch {
		case t.Width < narrow:
			b.WriteString("    ")
		case i == 0:
			fmt.Fprintf(b, "  %s %s  ", t.style(look, terminal.Pad(kind, kindWidth)), t.dim(fmt.Sprintf("%*s", ageWidth, age)))
		default:
			fmt.Fprintf(b, "  %s", t.dim(terminal.Pad(id, gutter-2)))
		}
		b.WriteString(t.marked(line))
		room := t.Width - indent - cellsOf(line)
		switch w := terminal.Width(id); {
		case i < len(lines)-1:
		case t.Width >= narrow && len(lines) == 1 && room >= w+2 && notes == "":
			b.WriteString(strings.Repeat(" ", room-w) + t.dim(id))
		case t.Width >= narrow && len(lines) == 1:
			fmt.Fprintf(b, "\n  %s", t.dim(strings.TrimRight(terminal.Pad(id, gutter-2)+terminal.Clip(notes, t.Width-indent), " ")))
			notes = ""
		case notes != "" && room >= terminal.Width(notes)+2:
			b.WriteString("  " + t.dim(notes))
			notes = ""
		}
		b.WriteByte('\n')
	}
	if notes != "" {
		fmt.Fprintf(b, "%s%s\n", strings.Repeat(" ", indent), t.dim(terminal.Clip(notes, t.Width-indent)))
	}
}

// neighbours writes the entries beside a hit, one a line.
func (t *text) neighbours(b *strings.Builder, list []query.Neighbour) {
	for i := range list {
		n := &list[i]
		left := fmt.Sprintf("  %s %*s  ", terminal.Pad(string(n.Kind), kindWidth), ageWidth, human.Age(t.Now, n.Timestamp.Time))
		b.WriteString(t.dim(terminal.Clip(left+terminal.Clean(n.Text), t.Width)) + "\n")
	}
}

// explanation writes the parts of a score.
func explanation(h *query.Hit) string {
	e := h.Explain
	var words []string
	for _, w := range e.Words {
		mark := ""
		if !w.Found {
			mark = " missing"
		}
		words = append(words, fmt.Sprintf("%s %.1f%s", terminal.Clean(w.Word), w.Weight, mark))
	}
	s := fmt.Sprintf("score %.2f = text %.2f × coverage %.2f × recency %.2f × kind %.2f × closeness %.2f × exactness %.2f × session %.2f",
		h.Score, e.Text, e.Coverage, e.Recency, e.Kind, e.Closeness, e.Exactness, e.Session)
	if len(words) > 0 {
		s += "; words: " + strings.Join(words, ", ")
	}
	return s
}

// marked writes the clusters, the marked ones highlighted.
func (t *text) marked(line []cluster) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		j := i
		var run strings.Builder
		for ; j < len(line) && line[j].marked == line[i].marked; j++ {
			run.WriteString(line[j].text)
		}
		if line[i].marked {
			b.WriteString(t.style(matchLook, run.String()))
		} else {
			b.WriteString(run.String())
		}
		i = j
	}
	return b.String()
}

// hitNotes says what is unusual about a hit.
func hitNotes(h *query.Hit) string {
	var notes []string
	if len(h.Missing) > 0 {
		note := "without " + strings.Join(h.Missing, ", ")
		if len(h.Elsewhere) > 0 && len(h.Elsewhere) == len(h.Missing) {
			note += " (elsewhere in the session)"
		} else if len(h.Elsewhere) > 0 {
			note += " (" + strings.Join(h.Elsewhere, ", ") + " elsewhere in the session)"
		}
		notes = append(notes, note)
	}
	if h.TargetID != "" {
		notes = append(notes, "on "+h.TargetID)
	}
	if h.Label != "" {
		notes = append(notes, "label "+h.Label)
	}
	if h.Branch == "abandoned" {
		notes = append(notes, "on an abandoned branch")
	} else if !h.InContext && h.Branch != "" {
		notes = append(notes, "compacted away")
	}
	if n := len(h.Copies); n > 0 {
		notes = append(notes, "also in "+human.Plural(n, "other place", "other places"))
	}
	return terminal.Clean(strings.Join(notes, " · "))
}

// closing is the last line of a search: how much there is, and how to see it.
func closing(s *Search) string {
	r := s.Response
	if r.TotalAny == 0 {
		return ""
	}
	line := ""
	if !r.TotalIsExact {
		line = "about "
	}
	switch partial := r.TotalAny - r.Total; {
	case partial == 0:
		line += human.Plural(r.Total, "hit", "hits")
	case r.Total == 0:
		line += fmt.Sprintf("%s with some of the words, none with all", human.Plural(partial, "hit", "hits"))
	default:
		line += fmt.Sprintf("%s with every word, %s with some", human.Plural(r.Total, "hit", "hits"), human.Number(partial))
	}
	sessions := ""
	if !s.Flat {
		sessions = " in " + human.Plural(len(r.Sessions), "session", "sessions")
	}
	if len(r.Hits) < r.TotalAny {
		return line + fmt.Sprintf("; %s shown%s (more: -n)", human.Number(len(r.Hits)), sessions)
	}
	return line + sessions
}
