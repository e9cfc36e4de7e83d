package printer

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/search"
)

// Search is the answer of the search command.
type Search struct {
	Query    string
	Scope    string // "" when kinds were named
	AllWords bool
	Flat     bool
	Response *search.Response
	Title    func(sessionPath string) string // for a flat list; may be nil
}

func (s *Search) json(j *jsonWriter) error {
	r := s.Response
	answer := &stream{
		command: "search",
		lead: struct {
			Query    string `json:"query"`
			Scope    string `json:"scope,omitempty"`
			AllWords bool   `json:"allWords,omitempty"`
		}{s.Query, s.Scope, s.AllWords},
		name: "hits", rows: rowsIn(r.Hits, nil), owner: func(v any) string { return v.(*search.Hit).SessionPath },
		tail: func(int) any {
			return struct {
				Total        int                `json:"total"`
				TotalAny     int                `json:"totalAny"`
				Weak         int                `json:"minor,omitempty"`
				TotalIsExact bool               `json:"totalIsExact"`
				Warnings     []string           `json:"warnings"`
				DidYouMean   string             `json:"didYouMean,omitempty"`
				Words        []search.WordCount `json:"words,omitempty"`
				Removed      []search.Removed   `json:"removed,omitempty"`
				Index        search.IndexState  `json:"index"`
			}{r.Total, r.TotalAny, r.Weak, r.TotalIsExact, list(r.Warnings), r.DidYouMean, r.Words, r.Removed, r.Index}
		},
	}
	if !s.Flat {
		answer.others = &stream{
			name: "sessions", rows: rowsIn(r.Sessions, nil), owner: func(v any) string { return v.(*search.SessionHit).SessionPath },
		}
	}
	return j.stream(answer)
}

// searchColumns are the columns of a hit. They make no sheet: only hits have an
// explanation, and a separator has one column.
var searchColumns = []string{"session path", "line", "entry id", "kind", "timestamp (UTC)", "working directory", "fragment"}

// plain writes a record for each hit, with its explanation as an extra column. The
// entries around a hit have no session path and no directory; lines of -- separate
// the hits then.
func (s *Search) plain(p plain) error {
	var records [][]string
	neighbours := func(list []search.Neighbour) {
		for _, n := range list {
			records = append(records, []string{"", strconv.Itoa(n.Line), n.EntryID, string(n.Kind), stampUTC(n.Timestamp.Time), "", n.Text})
		}
	}
	hits := s.Response.Hits
	around := slices.ContainsFunc(hits, func(h search.Hit) bool { return len(h.Before)+len(h.After) > 0 })
	for i := range hits {
		h := &hits[i]
		if around && i > 0 {
			records = append(records, []string{"--"})
		}
		neighbours(h.Before)
		hit := []string{h.SessionPath, strconv.Itoa(h.Line), h.EntryID, string(h.Kind), stampUTC(h.Timestamp.Time), h.CWD, h.Fragment.Text}
		if h.Explain != nil {
			hit = append(hit, explanation(h))
		}
		records = append(records, hit)
		neighbours(h.After)
	}
	return p.records(records)
}

// narrow is the width below which hits have no gutter.
const narrow = 60

// The gutter of a hit: kind and age above, entry id below.
const (
	kindWidth = 8
	// maxID is how much of a long entry id is shown, enough to be unique in a
	// session.
	maxID = 13
)

func (l Layout) gutter() int { return 2 + kindWidth + 1 + l.ageWidth() + 2 }

func (s *Search) text(t *text) error {
	var b strings.Builder
	sessions := make(map[string]*search.SessionHit, len(s.Response.Sessions))
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

// heading writes the title of a session, then its directory, age, hits and id. In a flat
// list sh is nil, and only the hit describes its session.
func (t *text) heading(b *strings.Builder, s *Search, h *search.Hit, sh *search.SessionHit) {
	when := h.Timestamp.Time
	var hits, title string
	if sh != nil {
		when, title = sh.Modified.Time, sh.Title
		hits = human.Plural(sh.Hits, "hit", "hits")
		switch partial := sh.Partial(); {
		case sh.Hits == 0:
			hits = human.Number(partial) + " partial"
		case partial > 0:
			hits += ", " + human.Number(partial) + " partial"
		}
	}
	if title == "" && s.Title != nil {
		title = s.Title(h.SessionPath)
	}
	t.session(b, human.Title(cmp.Or(title, h.SessionName)), h.CWD, t.ago(when), hits, t.sessionID(h.SessionID, h.SessionPath))
}

// session writes the title of a session, then its directory and what else is known.
func (t *text) session(b *strings.Builder, title, cwd string, facts ...string) {
	fmt.Fprintln(b, t.style(titleStyle, terminal.Clip(title, t.Width)))
	facts = slices.DeleteFunc(facts, func(f string) bool { return f == "" })
	rest := terminal.Clean(strings.Join(facts, " · "))
	dir := terminal.Clean(human.Path(cwd, t.Home))
	if room := t.Width - terminal.Width(rest) - 3; dir != "" && room >= 8 {
		rest = t.Links.File(terminal.ClipPath(dir, room), cwd) + " · " + rest
	} else if dir != "" {
		fmt.Fprintln(b, t.dim(t.Links.File(terminal.ClipPath(dir, t.Width), cwd)))
	}
	fmt.Fprintln(b, t.dim(terminal.Clip(rest, t.Width)))
}

// hit writes a hit on one or two lines, and its notes on another if needed.
func (t *text) hit(b *strings.Builder, h *search.Hit) {
	style := kindStyles[h.Kind]
	if h.IsError {
		style = errorStyle
	}
	kind := string(h.Kind)
	age := t.age(h.Timestamp.Time)
	id := terminal.Clip(terminal.Clean(h.EntryID), maxID)

	indent := t.gutter()
	if t.Width < narrow {
		indent = 4
		fmt.Fprintf(b, "  %s %s\n", t.style(style, kind), t.dim(strings.TrimSpace(age+" "+id)))
	}
	lines := fragmentLines(h.Fragment, t.Width-indent, 2)
	notes := hitNotes(h)
	below := foldLine(notes, t.Width-indent) // where they do not fit beside the hit
	for i, line := range lines {
		switch {
		case t.Width < narrow:
			b.WriteString("    ")
		case i == 0:
			fmt.Fprintf(b, "  %s %s  ", t.style(style, terminal.Pad(kind, kindWidth)), t.dim(fmt.Sprintf("%*s", t.ageWidth(), age)))
		default:
			fmt.Fprintf(b, "  %s", t.dim(terminal.Pad(id, t.gutter()-2)))
		}
		b.WriteString(t.marked(line))
		room := t.Width - indent - cellsOf(line)
		switch w := terminal.Width(id); {
		case i < len(lines)-1:
		case t.Width >= narrow && len(lines) == 1 && room >= w+2 && notes == "":
			b.WriteString(strings.Repeat(" ", room-w) + t.dim(id))
		case t.Width >= narrow && len(lines) == 1:
			fmt.Fprintf(b, "\n  %s", t.dim(strings.TrimRight(terminal.Pad(id, t.gutter()-2)+terminal.Clip(below[0], t.Width-indent), " ")))
			below = below[1:]
		case notes != "" && room >= terminal.Width(notes)+2:
			b.WriteString("  " + t.dim(notes))
			below = nil
		}
		b.WriteByte('\n')
	}
	for _, line := range below {
		if line != "" {
			b.WriteString(strings.Repeat(" ", indent) + t.dim(terminal.Clip(line, t.Width-indent)) + "\n")
		}
	}
}

// neighbours writes the entries around a hit, one a line.
func (t *text) neighbours(b *strings.Builder, list []search.Neighbour) {
	for i := range list {
		n := &list[i]
		left := fmt.Sprintf("  %s %*s  ", terminal.Pad(string(n.Kind), kindWidth), t.ageWidth(), t.age(n.Timestamp.Time))
		b.WriteString(t.dim(terminal.Clip(left+terminal.Clean(n.Text), t.Width)) + "\n")
	}
}

// explanation is the factors of a score.
func explanation(h *search.Hit) string {
	e := h.Explain
	var words []string
	for _, w := range e.Words {
		mark := ""
		if w.Slight {
			mark = " (says little)"
		}
		if !w.Found {
			mark += " missing"
		}
		words = append(words, fmt.Sprintf("%s %.1f%s", terminal.Clean(w.Word), w.Weight, mark))
	}
	s := fmt.Sprintf("score %.2f = text %.2f × coverage %.2f × recency %.2f × kind %.2f × closeness %.2f × exactness %.2f × session %.2f × turn %.2f × asked %.2f",
		h.Score, e.Text, e.Coverage, e.Recency, e.Kind, e.Closeness, e.Exactness, e.Session, e.Turn, e.Asked)
	if len(words) > 0 {
		s += "; words: " + strings.Join(words, ", ")
	}
	return s
}

// marked is the text of clusters, with the marked ones highlighted.
func (t *text) marked(line []cluster) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		j := i
		var run strings.Builder
		for ; j < len(line) && line[j].marked == line[i].marked; j++ {
			run.WriteString(line[j].text)
		}
		if line[i].marked {
			b.WriteString(t.style(matchStyle, run.String()))
		} else {
			b.WriteString(run.String())
		}
		i = j
	}
	return b.String()
}

// hitNotes is what is unusual about a hit.
func hitNotes(h *search.Hit) string {
	notes := h.Notes()
	if h.TargetID != "" {
		notes = append(notes, "on "+h.TargetID)
	}
	if h.Label != "" {
		notes = append(notes, "label "+h.Label)
	}
	if h.Branch == "abandoned" {
		notes = append(notes, "on an abandoned branch")
	} else if !h.InContext && h.Branch != "" {
		notes = append(notes, "no longer in context (compacted)")
	}
	if n := len(h.Copies); n > 0 {
		notes = append(notes, "also in "+human.Plural(n, "other place", "other places"))
	}
	return terminal.Clean(strings.Join(notes, " · "))
}

// maxWord is the maximum width of a word in the last line of a search.
const maxWord = 24

// closing returns the last line of a search: the number of hits, and how to see more.
func closing(s *Search) string {
	r := s.Response
	if r.TotalAny == 0 {
		return ""
	}
	line := atLeast(r.TotalIsExact)
	joined := " in "
	switch partial := r.Partial(); {
	case partial == 0:
		line += human.Plural(r.Total, "hit", "hits")
	case r.Total == 0 && len(r.Words) == 1:
		all := ""
		if r.Words[0].Parts == partial {
			all = "all "
		}
		line += fmt.Sprintf("%s with %sparts of %s, none as written", human.Plural(partial, "hit", "hits"), all, terminal.Clip(terminal.Clean(r.Words[0].Word), maxWord))
	case r.Total == 0:
		line += fmt.Sprintf("%s with some of the words, none with all", human.Plural(partial, "hit", "hits"))
	default:
		line += fmt.Sprintf("%s with every word, %s with some", human.Plural(r.Total, "hit", "hits"), human.Number(partial))
		joined = "; "
	}
	sessions := ""
	if !s.Flat {
		sessions = human.Plural(len(r.Sessions), "session", "sessions")
	}
	shown := human.Number(len(r.Hits)) + " shown"
	if sessions != "" {
		shown += " in " + sessions
	}
	told := len(r.Hits) // shown, or counted by a hit that says the same
	for i := range r.Hits {
		told += r.Hits[i].NearDuplicates
	}
	switch {
	case told < r.TotalAny-r.Weak:
		return line + fmt.Sprintf("; %s (more: -n)", shown)
	case r.Weak > 0:
		return line + fmt.Sprintf("; %s, %s left out", shown, human.Plural(r.Weak, "weaker hit", "weaker hits"))
	case sessions != "":
		return line + joined + sessions
	}
	return line
}
