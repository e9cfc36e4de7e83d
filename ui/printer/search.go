package printer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/terminal"
	"pigrep/query/search"
	"pigrep/ui/prose"
)

// Search is the answer of the search command.
type Search struct {
	Context  context.Context // of reading hits that are read later
	Query    string
	Scope    string // "" when kinds were named
	AllWords bool
	Flat     bool
	Response *search.Response
	Title    func(sessionPath string) string // for a flat list; may be nil
	Shown    func(*search.Hit)               // is called with each hit before it is written; may be nil

	written int // hits
}

// Written returns how many hits were written.
func (s *Search) Written() int { return s.written }

func (s *Search) eachHit(visit func(*search.Hit) error) error {
	return s.Response.Each(s.Context, func(h *search.Hit) error {
		if s.written++; s.Shown != nil {
			s.Shown(h)
		}
		return visit(h)
	})
}

func (s *Search) JSON(j *JSON) {
	r := s.Response
	answer := &Stream{
		Command: "search",
		lead: struct {
			Query    string `json:"query"`
			Scope    string `json:"scope,omitempty"`
			AllWords bool   `json:"allWords,omitempty"`
		}{s.Query, s.Scope, s.AllWords},
		Name: "hits", Rows: func(visit func(any) error) error { return s.eachHit(func(h *search.Hit) error { return visit(h) }) }, owner: func(v any) string { return v.(*search.Hit).SessionPath },
		Tail: func(int) any {
			return struct {
				Total    int `json:"total"`
				TotalAny int `json:"totalAny"`
				TotalIn  int `json:"totalSessions"`
				Looser   int `json:"looser"`
				Similar  int `json:"similar,omitempty"`
				Named    int `json:"named,omitempty"`
				Folded   int `json:"folded,omitempty"`
				Weak     int `json:"minor,omitempty"`
				listEnd
			}{r.Total, r.TotalAny, r.TotalIn, r.Looser(), r.Similar, r.Named, r.Folded, r.Weak, listEnd{r.TotalIsExact, List(r.Warnings), r.DidYouMean, r.Words, r.Removed, r.Index}}
		},
	}
	if !s.Flat {
		answer.others = &Stream{
			Name: "sessions", Rows: rowsIn(r.Sessions, nil), owner: func(v any) string { return v.(*search.SessionHit).SessionPath },
		}
	}
	j.Stream(answer)
}

// Paths returns the session files of the hits, each once.
func (s *Search) Paths() (paths []string, err error) {
	listed := make(map[string]bool)
	err = s.eachHit(func(h *search.Hit) error {
		if !listed[h.SessionPath] {
			listed[h.SessionPath] = true
			paths = append(paths, h.SessionPath)
		}
		return nil
	})
	return paths, err
}

// searchRow is a hit, or an entry around one.
type searchRow struct {
	*search.Hit
	around *search.Neighbour
}

// rows visits the hits, each with the entries around it, in order.
func (s *Search) rows(visit func(*searchRow) error) error {
	return s.eachHit(func(h *search.Hit) error {
		rows := []searchRow{{Hit: h}}
		for j := range h.After {
			rows = append(rows, searchRow{h, &h.After[j]})
		}
		for j := range slices.Backward(h.Before) {
			rows = slices.Insert(rows, 0, searchRow{h, &h.Before[j]})
		}
		return listed(rows)(visit)
	})
}

func (s *Search) Sheet(layout Layout) table {
	type row = searchRow
	// ofHit is a value that entries around a hit do not have.
	ofHit := func(c column, value func(h *search.Hit) string) sheetColumn[row] {
		return sheetColumn[row]{c, func(r *row) cell {
			if r.around != nil {
				return cell{}
			}
			return textCell(value(r.Hit))
		}}
	}
	entry := func(r *row) search.Neighbour {
		if r.around != nil {
			return *r.around
		}
		h := r.Hit
		return search.Neighbour{EntryName: h.EntryName, Kind: h.Kind, Timestamp: h.Timestamp, Line: h.Line, Text: h.Fragment.Text}
	}
	sheet := &sheet[row]{rows: s.rows, columns: []sheetColumn[row]{
		recordColumn("place", func(r *row) string { return layout.place(r.SessionID, r.SessionPath, entry(r).Entry(), r.Offset) }),
		recordColumn("kind", func(r *row) string { return string(entry(r).Kind) }),
		recordColumn("text", func(r *row) string { return entry(r).Text }),
		recordColumn("timestamp (UTC)", func(r *row) string { return stampUTC(entry(r).Timestamp.Time) }),
		ofHit(column{Name: "working directory", Field: "cwd"}, func(h *search.Hit) string { return h.CWD }),
		ofHit(column{Name: "session path"}, func(h *search.Hit) string { return h.SessionPath }),
		fieldColumn("id", func(r *row) string { return layout.name(r.SessionID, r.SessionPath) }),
		fieldColumn("sessionId", func(r *row) string { return r.SessionID }),
		fieldColumn("title", func(r *row) string { return s.title(r.Hit) }),
		fieldColumn("entryId", func(r *row) string { return entry(r).EntryID }),
		fieldColumn("line", func(r *row) string { return strconv.Itoa(entry(r).Line) }),
		ofHit(column{Field: "agent"}, func(h *search.Hit) string { return h.Agent }),
		ofHit(column{Field: "host"}, func(h *search.Hit) string { return h.Host }),
		ofHit(column{Field: "rank"}, func(h *search.Hit) string { return strconv.Itoa(h.Rank) }),
		ofHit(column{Field: "tier"}, func(h *search.Hit) string { return string(h.Tier) }),
		ofHit(column{Field: "role"}, func(h *search.Hit) string { return h.Role }),
		ofHit(column{Field: "tool"}, func(h *search.Hit) string { return h.Tool }),
		ofHit(column{Field: "model"}, func(h *search.Hit) string { return h.Model }),
		ofHit(column{Field: "branch"}, func(h *search.Hit) string { return h.Branch }),
		ofHit(column{Field: "label"}, func(h *search.Hit) string { return h.Label }),
	}}
	if hits := s.Response.Hits; len(hits) > 0 && hits[0].Explain != nil {
		sheet.columns = append(sheet.columns, ofHit(column{Name: "score"}, explanation))
	}
	return sheet
}

func (s *Search) title(h *search.Hit) string {
	if s.Title == nil {
		return h.SessionName
	}
	return cmp.Or(s.Title(h.SessionPath), h.SessionName)
}

// Plain writes the rows. Lines of -- separate hits with entries around them.
func (s *Search) Plain(p *Text) {
	hits := s.Response.Hits // none that are read later have entries around them
	around := slices.ContainsFunc(hits, func(h search.Hit) bool { return len(h.Before)+len(h.After) > 0 })
	if !around {
		p.records(s.Sheet(p.Layout))
		return
	}
	for i := range hits {
		if i > 0 {
			p.record(GrepSeparator)
		}
		one, all := *s, *s.Response
		all.Hits, one.Response = hits[i:i+1], &all
		s.written++
		p.records(one.Sheet(p.Layout))
	}
}

const (
	narrow    = 60 // the width below which hits have no gutter
	kindWidth = 8
	maxWord   = 24 // the maximum width of a word in the last line of a search

	compacted = "no longer in context (compacted)" // the remark on sessions; that on a hit is shorter
)

// hitText writes hits, each with its kind and its entry id before the text.
type hitText struct {
	*Text
	idWidth int
	when    time.Time // of the session; hits of another age have their day
	said    []string  // remarks that stand above the hits
}

// widen makes room for the id of a hit.
func (t *hitText) widen(h *search.Hit) {
	t.idWidth = max(t.idWidth, terminal.Width(terminal.Clean(h.Entry())))
	if h.Answered != nil {
		t.idWidth = max(t.idWidth, terminal.Width(terminal.Clean(h.Answered.Entry())))
	}
}

func (t *hitText) gutter() int {
	if t.Width < narrow {
		return 4
	}
	return 2 + kindWidth + 1 + t.idWidth + 2
}

func (s *Search) Text(t *Text) {
	owner := s.Response.Owners()
	out, all := s.overview(t)
	if note := strings.Join(slices.DeleteFunc(slices.Clone(all), s.closingSays), " · "); note != "" {
		t.Print(t.Folded("all hits · "+note, t.Width), "\n")
	}
	var hits []search.Hit // of one session
	write := func() {
		if len(hits) > 0 {
			out.said = nil
			for i := range hits {
				out.said = inCommon(out.said, &hits[i], i == 0)
			}
			s.session(out, hits, owner(&hits[0]), all)
			hits = hits[:0]
		}
	}
	t.Fail(s.eachHit(func(h *search.Hit) error {
		if len(hits) > 0 && hits[0].SessionPath != h.SessionPath && (owner(h) == nil || owner(&hits[0]) != owner(h)) {
			write()
			t.Print("\n")
		}
		hits = append(hits, *h)
		return t.Err
	}))
	write()
	if line := closing(s); line != "" {
		t.Print("\n", t.Folded(line, t.Width))
	}
}

// overview returns a writer of the hits, and the remarks that stand above all of them: those
// that all have, unless they are of one session, whose heading has them.
func (s *Search) overview(t *Text) (out *hitText, all []string) {
	out = &hitText{Text: t}
	n, first, last := 0, "", ""
	t.Fail(s.Response.Brief(s.Context, func(h *search.Hit) error {
		if s.Shown != nil {
			s.Shown(h)
		}
		out.widen(h)
		if last = h.SessionPath; n == 0 {
			first = last
		}
		all = inCommon(all, h, n == 0)
		n++
		return nil
	}))
	if first == last {
		all = nil
	}
	return out, all
}

// Folded cleans a line of facts, which may quote a session, and breaks it if it is too long.
func (t *Text) Folded(line string, width int) string {
	s := ""
	if line = terminal.Clean(line); line == "" {
		return ""
	}
	for _, part := range prose.FoldLine(line, width) {
		s += t.Dim(part) + "\n"
	}
	return s
}

// closingSays reports whether the last line of the answer makes a remark on all hits.
func (s *Search) closingSays(note string) bool {
	return s.Response.Total == 0 && strings.HasPrefix(note, search.OnlyParts)
}

// session writes the hits of one session, below its heading and the remarks on all of them,
// without the remarks that stand above all sessions.
func (s *Search) session(out *hitText, hits []search.Hit, sh *search.SessionHit, above []string) {
	s.heading(out, &hits[0], sh)
	notes := slices.DeleteFunc(slices.Clone(out.said), func(n string) bool { return slices.Contains(above, n) || s.closingSays(n) })
	elsewhere := func(h search.Hit) bool { // it lacks words, but its session has them
		missing, elsewhere := h.Told()
		return len(missing) > 0 && len(missing) == len(elsewhere)
	}
	if !slices.ContainsFunc(hits, func(h search.Hit) bool { return !elsewhere(h) }) {
		notes = append(notes, "the rest of the session has every word")
	}
	out.Print(out.Folded(strings.Join(notes, " · "), out.Width))
	for i := range hits {
		h := &hits[i]
		out.neighbours(h.Before)
		out.hit(h)
		if a := h.Answered; a != nil && !slices.ContainsFunc(hits, func(h search.Hit) bool { return h.Offset == a.Offset }) {
			out.answered(a)
		}
		out.neighbours(h.After)
		if h.Explain != nil {
			out.Print(out.Dim(ansi.Wordwrap("    "+explanation(h), out.Width, "")), "\n")
		}
	}
}

// heading writes the title of a session, then its directory, age, hits and id. In a flat
// list sh is nil, and only the hit describes its session.
func (s *Search) heading(t *hitText, h *search.Hit, sh *search.SessionHit) {
	var hits, title, boss string
	t.when = h.Timestamp.Time
	if sh != nil {
		t.when, title = sh.Modified.Time, sh.Title
		boss = human.When(sh.Boss() != "", "subagent of "+t.sessionID(sh.Boss(), ""))
		hits = human.Plural(sh.Hits, "hit", "hits") + human.When(sh.Looser > 0, ", "+human.Number(sh.Looser)+" looser")
		if sh.Hits == 0 {
			hits = human.Plural(sh.Looser, "looser hit", "looser hits")
		}
	}
	t.session(human.Title(cmp.Or(title, s.title(h))), h.CWD, t.Badge(h.Host, h.Agent, h.Kept), t.Ago(t.when), hits, boss, t.sessionID(h.SessionID, h.SessionPath))
}

// session writes the title of a session, then its directory and what else is known.
func (t *Text) session(title, cwd string, facts ...string) {
	t.Print(t.Style(TitleStyle, terminal.Clip(title, t.Width)), "\n")
	t.origin(cwd, facts...)
}

// origin writes where a session ran, and what else is known of it.
func (t *Text) origin(cwd string, facts ...string) {
	rest := terminal.Clean(human.Joined(" · ", facts...))
	dir := terminal.Clean(human.Path(cwd, t.Home))
	if room := t.Width - terminal.Width(rest) - 3; dir != "" && room >= 8 {
		t.Print(t.Dim(t.Links.File(terminal.ClipPath(dir, room), cwd)+" · "+rest), "\n")
		return
	}
	t.Print(human.When(dir != "", t.Dim(t.Links.File(terminal.ClipPath(dir, t.Width), cwd))+"\n"), t.Folded(rest, t.Width))
}

// hit writes a hit on one or two lines, and its remarks on another if needed.
func (t *hitText) hit(h *search.Hit) {
	style := KindStyles[h.Kind]
	if h.IsError {
		style = ErrorStyle
	}
	notes := append(h.Notes(), human.When(h.TargetID != "", "on "+h.TargetID), human.When(h.Label != "", "label "+h.Label))
	notes = slices.DeleteFunc(append(notes, places(h)...), func(note string) bool { return slices.Contains(t.said, note) })
	if day := t.dayOf(h.Timestamp.Time); day != t.dayOf(t.when) && t.age(h.Timestamp.Time) != t.age(t.when) {
		notes = append(notes, day)
	}
	note := terminal.Clean(strings.ReplaceAll(human.Joined(" · ", notes...), compacted, "compacted"))
	kind, id, indent := string(h.Kind), terminal.Clean(h.Entry()), strings.Repeat(" ", t.gutter())
	if t.Width < narrow {
		t.Print("  ", t.Style(style, kind), " ", t.Dim(id), "\n", indent)
	} else {
		t.Print("  ", t.Style(style, terminal.Pad(kind, kindWidth)), " ", t.Dim(terminal.Pad(id, t.idWidth)), "  ")
	}
	room := t.Width - t.gutter()
	lines := prose.FragmentLines(h.Fragment, room, 2)
	if last := len(lines) - 1; note != "" && last >= 0 {
		if line, ok := shortened(lines[last], room-terminal.Width(note)-2); ok {
			lines[last], note = line, t.Dim("  "+note)
		} else {
			below := strings.ReplaceAll(t.Folded(note, room), "\n", "\n"+indent)
			note = "\n" + indent + strings.TrimSuffix(below, "\n"+indent)
		}
	}
	t.Print(strings.Join(lists.Map(lines, t.marked), "\n"+indent), note, "\n")
}

// answered writes the reply to a prompt on a line, with the id of its entry.
func (t *hitText) answered(a *search.Answered) {
	const begins = "answered: "
	indent := strings.Repeat(" ", t.gutter())
	if t.Width >= narrow {
		indent = strings.Repeat(" ", 2+kindWidth+1) + t.Dim(terminal.Pad(terminal.Clean(a.Entry()), t.idWidth)) + "  "
	}
	for _, line := range prose.FragmentLines(a.Fragment, t.Width-t.gutter()-len(begins), 1) {
		t.Print(indent, t.Dim(begins), t.marked(line), "\n")
	}
}

// shortened cuts the end of a line to fit a width, if that loses no match and little text.
func shortened(line []prose.Cluster, width int) ([]prose.Cluster, bool) {
	if prose.CellsOf(line) <= width {
		return line, true
	}
	if prose.CellsOf(line) > 2*width {
		return nil, false
	}
	for prose.CellsOf(line) > width-1 || line[len(line)-1].Text == prose.Ellipsis.Text {
		if line[len(line)-1].Marked || len(line) == 1 {
			return nil, false
		}
		line = line[:len(line)-1]
	}
	line = prose.TrimSpace(line)
	return append(line[:len(line):len(line)], prose.Ellipsis), true
}

// neighbours writes the entries around a hit, one a line.
func (t *hitText) neighbours(list []search.Neighbour) {
	for i := range list {
		n := &list[i]
		left := fmt.Sprintf("  %s %s  ", terminal.Pad(string(n.Kind), kindWidth), terminal.Pad(terminal.Clean(n.Entry()), t.idWidth))
		t.Print(t.Dim(terminal.Clip(left+terminal.Clean(n.Text), t.Width)), "\n")
	}
}

// explanation returns the factors of a score.
func explanation(h *search.Hit) string {
	e := h.Explain
	var words []string
	for _, w := range e.Words {
		words = append(words, fmt.Sprintf("%s %.1f%s%s", terminal.Clean(w.Word), w.Weight, human.When(w.Slight, " (says little)"), human.When(!w.Found, " missing")))
	}
	s := fmt.Sprintf("score %.2f = text %.2f × coverage %.2f × recency %.2f × kind %.2f × closeness %.2f × exactness %.2f × session %.2f × turn %.2f × asked %.2f",
		h.Score, e.Text, e.Coverage, e.Recency, e.Kind, e.Closeness, e.Exactness, e.Session, e.Turn, e.Asked)
	return s + human.When(len(words) > 0, "; words: "+strings.Join(words, ", "))
}

// marked returns the text of clusters, with the marked ones highlighted.
func (t *Text) marked(line []prose.Cluster) string {
	return prose.Styled(line, func(text string, marked bool) string {
		if marked {
			return t.Style(MatchStyle, text)
		}
		return text
	})
}

// places returns the remarks on where a hit is.
func places(h *search.Hit) (notes []string) {
	switch {
	case h.Branch == "abandoned":
		notes = append(notes, "on an abandoned branch")
	case !h.InContext && h.Branch != "":
		notes = append(notes, compacted)
	}
	if n := len(h.Copies); n > 0 {
		notes = append(notes, "also in "+human.Plural(n, "other place", "other places"))
	}
	return notes
}

// inCommon returns the remarks on how and where hits matched that apply to this hit too; for the
// first hit, all of them.
func inCommon(notes []string, h *search.Hit, first bool) []string {
	own := append(h.MatchNotes(), places(h)...)
	if first {
		return own
	}
	return slices.DeleteFunc(notes, func(n string) bool { return !slices.Contains(own, n) })
}

// closing returns the last line of a search: the number of hits, and how to see more.
func closing(s *Search) string {
	r := s.Response
	if r.TotalAny == 0 {
		return ""
	}
	n := r.Counts()
	line := search.Found(n)
	switch {
	case r.Total > 0:
	case len(r.Words) == 1:
		all := human.When(r.Words[0].Parts == r.Looser(), "all ")
		line += fmt.Sprintf(", with %sparts of %s, none as written", all, terminal.Clip(terminal.Clean(r.Words[0].Word), maxWord))
	default:
		line += ", none with every word"
	}
	shown := max(s.written, len(r.Hits))
	told := shown // or counted by a hit that says the same
	for i := range r.Hits {
		told += r.Hits[i].NearDuplicates
	}
	apart := search.Apart(n)
	return line + human.When(apart != "" && r.Folded == 0, ", "+apart) +
		human.When(told < n.Listed, "; "+human.Number(shown)+" shown (more: -n)") +
		human.When(apart != "" && r.Folded > 0, "; "+apart+" (--any)")
}
