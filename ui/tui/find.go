package tui

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/match"
	"pigrep/query/search"
)

// Find searches the whole conversation for one text. The backend counts the matches in
// the session file; the page on the screen only shows where they are.

// finding is the find text and its matches.
type finding struct {
	line  input
	found []Found // with at least one match, in the order of the file
	total int     // matches
	known string  // the text that found is for
	err   error

	at, nth int   // the current match: the nth one of found[at], from 0
	mark    *cell // where that is on the page; nil if only the text of the entry has it
	unseen  bool  // the last match visited is not on the page

	running context.CancelFunc // stops the job that searches; nil if none runs
	asked   string             // the text that this job searches for
	from    int                // the entry that was read when it began
	back    position
	fresh   bool // the text was edited: go to its first match as if it had just been typed as a whole
}

func (f *finding) text() string { return f.line.text }

// current returns the entry with the current match; nil without one.
func (f *finding) current() *Found {
	if f.at < 0 || f.at >= len(f.found) {
		return nil
	}
	return &f.found[f.at]
}

// number returns the number of the current match among all, from 1.
func (f *finding) number() int {
	n := f.nth + 1
	for i := range f.at {
		n += f.found[i].Matches
	}
	return n
}

// label says which match is the current one, "" when nothing is searched.
func (f *finding) label() string {
	switch {
	case f.text() == "":
		return ""
	case f.err != nil:
		return "cannot search"
	case f.known != f.text():
		return "…"
	case f.total == 0:
		return "not found"
	}
	label := human.Number(f.number()) + " of " + human.Number(f.total)
	if f.unseen {
		label += ", in the source"
	}
	return label
}

// clear drops the find text and cancels its search. The next search starts once that has
// stopped.
func (f *finding) clear() {
	if f.running != nil {
		f.running()
	}
	*f = finding{running: f.running}
}

func (m *Model) openFind() tea.Cmd {
	p := &m.preview
	m.findFocus = true
	entry, offset := p.topEntry()
	p.find = finding{running: p.find.running, from: p.entry, back: position{p.want, entry, offset}}
	return nil
}

// findText searches the conversation for the find text, and cancels a running search for
// another text.
func (m *Model) findText() tea.Cmd {
	p := &m.preview
	f := &p.find
	text := f.text()
	if text == "" {
		f.found, f.total, f.known, f.err = nil, 0, "", nil
		return nil
	}
	if f.running != nil {
		if f.asked != text {
			f.running()
		}
		return nil
	}
	f.asked = text
	place, wide, find := p.want.Place, m.scope(), m.options.Find
	return m.start(&f.running, func(ctx context.Context) then {
		found, err := find(ctx, place, text, wide)
		return func(m *Model) tea.Cmd { return m.showFound(place.Path, text, found, err) }
	})
}

// showFound goes to the first match at or after the entry being read, or keeps the
// current match.
func (m *Model) showFound(path, text string, found []Found, err error) tea.Cmd {
	p := &m.preview
	f := &p.find
	if path != p.want.Path || text != f.text() || errors.Is(err, context.Canceled) {
		return m.findText()
	}
	again, from := f.known == text, f.from
	if c := f.current(); again && c != nil {
		from = c.Entry
	} else {
		f.nth = 0
	}
	f.found, f.total, f.known, f.err = found, 0, text, err
	for _, e := range f.found {
		f.total += e.Matches
	}
	if f.total == 0 {
		return nil
	}
	f.at = max(0, slices.IndexFunc(f.found, func(e Found) bool { return e.Entry >= from }))
	if again { // on a newer generation
		f.nth = min(f.nth, f.current().Matches-1)
		return nil
	}
	f.fresh = true
	return m.goFound()
}

// goFound shows the current match, unfolded.
func (m *Model) goFound() tea.Cmd {
	p := &m.preview
	c := p.find.current()
	if c == nil {
		return nil
	}
	want := p.want
	if p.find.fresh {
		want.Folds = p.find.back.Folds
	}
	if open, _ := want.Unfolded(c.Entry); !open && !want.All {
		want.Folds = setFold(want.Folds, c.Entry, true)
	}
	if !p.shows(c.Entry) || p.want != p.have {
		want.At = c.Entry
	}
	p.goal = p.toFound
	p.ask(want)
	return m.load()
}

// cell is the place on a page where a match begins.
type cell struct{ line, from int }

// matchCell returns where the current match is on the page; nil if its lines do not show it.
func (p *preview) matchCell() *cell {
	c := p.find.current()
	if c == nil || !p.shows(c.Entry) {
		return nil
	}
	start, end := p.starts[c.Entry], p.end(c.Entry)
	if p.isHeading(start) { // its matches are not counted
		start++
	}
	var cells []cell
	for i, spans := range p.spans(start, end, []match.Mark{{Text: p.find.text(), Anywhere: true}}) {
		for _, s := range spans {
			if !s.rest {
				cells = append(cells, cell{start + i, s.from})
			}
		}
	}
	if len(cells) == 0 {
		return nil
	}
	return &cells[min(p.find.nth, len(cells)-1)]
}

// toFound scrolls to the current match.
func (p *preview) toFound() {
	c := p.find.current()
	if c == nil || !p.shows(c.Entry) {
		return
	}
	p.entry = c.Entry
	if above, ok := p.starts[p.find.back.entry]; ok && p.find.fresh {
		p.top = above + p.find.back.offset
		p.clamp()
	}
	p.find.fresh = false
	line := p.starts[c.Entry]
	if p.find.unseen = p.find.mark == nil; !p.find.unseen {
		line = p.find.mark.line
	}
	if line <= p.top || line >= p.top+p.height-1 { // the head may cover the first line
		p.top = line - p.height/3
	}
}

// isHeading reports whether a line is the heading of an entry. The text of entries is
// indented.
func (p *preview) isHeading(line int) bool {
	return !strings.HasPrefix(p.plain[line], " ") && strings.Contains(p.plain[line], " · ")
}

// nextMatch moves by n matches of the find text or, if there is none, by n hits of the query.
func (m *Model) nextMatch(n int) tea.Cmd {
	f := &m.preview.find
	switch {
	case f.text() == "":
		return m.nextHit(n)
	case f.total == 0:
		return nil
	}
	f.nth += n
	if c := f.current(); f.nth >= c.Matches {
		f.at, f.nth = (f.at+1)%len(f.found), 0
	} else if f.nth < 0 {
		f.at = (f.at + len(f.found) - 1) % len(f.found)
		f.nth = f.current().Matches - 1
	}
	return m.goFound()
}

func (m *Model) closeFind() tea.Cmd {
	m.findFocus = false
	f := &m.preview.find
	if f.known != "" && f.known == f.text() && f.total == 0 {
		m.say("%q is not in this conversation", f.text())
	}
	return nil
}

// cancelFind goes back to what was shown before.
func (m *Model) cancelFind() tea.Cmd {
	m.findFocus = false
	p := &m.preview
	back, entry := p.find.back, p.find.from
	p.find.clear()
	if back.Path != p.want.Path || back.request == p.want {
		return nil
	}
	back.generation, p.entry = p.want.generation, entry
	p.goal = p.stay(back.entry, back.offset)
	p.ask(back.request)
	return m.load()
}

// hitTour is the hits of the query in one session, in the order of the conversation.
type hitTour struct {
	path, text string
	generation uint64
	list       []search.Hit
	at         int  // the current one; -1 before the first
	more       bool // list does not have all hits
}

// mostVisited is the largest number of hits of a session that can be visited one by one.
const mostVisited = 2000

// nextHit goes to the n-th next hit of the query in the session.
func (m *Model) nextHit(n int) tea.Cmd {
	p := &m.preview
	t := &p.hits
	if m.query.text == "" {
		m.say("there is no query; / searches this conversation")
		return nil
	}
	if p.touring != nil {
		return nil
	}
	if t.path == p.want.Path && t.text == m.search.shown && t.generation == m.search.generation {
		return m.goHit(n)
	}
	tour := hitTour{path: p.want.Path, text: m.search.shown, generation: m.search.generation}
	req := m.narrow(m.request)
	req.Text, req.Flat, req.Limit, req.Env.Now = tour.text, true, mostVisited, m.options.Now()
	req.Only = func(s *session.Summary) bool { return s.Path == tour.path }
	search := m.options.Search
	return m.start(&p.touring, func(ctx context.Context) then {
		r, err := search(ctx, req)
		if err == nil {
			tour.list, tour.more = inOrder(r)
		}
		return func(m *Model) tea.Cmd {
			switch {
			case tour.path != m.preview.want.Path: // another session is shown by now
				return nil
			case err != nil:
				m.complain(err)
				return nil
			}
			m.preview.hits = tour
			return m.goHit(n)
		}
	})
}

// inOrder returns one hit per entry in file order, preferring those with every word. It
// reports whether the response is incomplete.
func inOrder(r *search.Response) (hits []search.Hit, more bool) {
	hits = slices.Clone(r.Hits)
	total := r.TotalAny
	full := slices.DeleteFunc(slices.Clone(hits), func(h search.Hit) bool { return h.Loose })
	if len(full) > 0 {
		hits, total = full, r.Total
	}
	more = len(r.Hits) >= mostVisited && total > len(hits)
	lists.SortStable(hits, func(a, b search.Hit) int { return int(a.Offset - b.Offset) })
	return slices.CompactFunc(hits, func(a, b search.Hit) bool { return a.Offset == b.Offset }), more
}

func (m *Model) goHit(n int) tea.Cmd {
	p := &m.preview
	t := &p.hits
	if len(t.list) == 0 {
		m.say("no hit in this session")
		return nil
	}
	// Start at the current entry, which need not be a hit.
	offset := p.want.Offset
	if e := p.reading(); e != nil {
		offset = e.Offset
	}
	at, exact := slices.BinarySearchFunc(t.list, offset, func(h search.Hit, o int64) int { return int(h.Offset - o) })
	if !exact && n > 0 {
		at--
	}
	t.at = (at + n + len(t.list)) % len(t.list)
	h := &t.list[t.at]
	return m.goTo(Place{Path: h.SessionPath, EntryID: h.EntryID, Offset: h.Offset, Line: h.Line}, marksOf(h))
}

// label says which hit of the session is shown; "" until n or N is used.
func (t *hitTour) label(p *preview) string {
	if t.path != p.want.Path || len(t.list) == 0 || t.list[t.at].Offset != p.want.Offset {
		return ""
	}
	of := human.Number(len(t.list))
	if t.more {
		of += "+"
	}
	return "hit " + human.Number(t.at+1) + " of " + of
}

// span is a match on a line, in cells. A match that was wrapped has a span on each of its
// lines.
type span struct {
	from, to int
	needle   int  // which of the needles
	rest     bool // it began on a line above
}

// broken matches what stands between two lines that were one.
const broken = ` *\n *`

var breaks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(broken) })

// matcher returns an expression for texts, one in each of its groups. Case is ignored as
// pigrep grep -i ignores it.
func matcher(needles []string, expr func(needle string) string) *regexp.Regexp {
	return regexp.MustCompile("(?i)(" + strings.Join(lists.Map(needles, expr), ")|(") + ")")
}

// wrapped returns an expression for a text that also matches where wrapping has broken the text, at a
// space or within a word.
func wrapped(needle string) string {
	words := lists.Map(strings.Split(needle, " "), func(word string) string {
		return strings.Join(lists.Map([]rune(word), func(r rune) string { return regexp.QuoteMeta(string(r)) }), "(?:"+broken+")?")
	})
	return strings.Join(words, "(?: |"+broken+")")
}

// spans finds marks in the lines from start to end of a conversation.
func (p *preview) spans(start, end int, marks []match.Mark) [][]span {
	lines := p.plain[start:max(start, end)]
	found := make([][]span, len(lines))
	marks = slices.DeleteFunc(slices.Clone(marks), func(m match.Mark) bool { return m.Text == "" })
	if len(marks) == 0 {
		return found
	}
	needles := lists.Map(marks, func(m match.Mark) string { return m.Text })
	whole, broken, rough := matcher(needles, regexp.QuoteMeta), matcher(needles, wrapped), lists.Map(needles, roughly)
	for from, to := 0, 0; from < len(lines); from = to {
		for to = from + 1; to < len(lines) && p.goesOn(lines[to-1], lines[to]); to++ {
		}
		text := strings.Join(lines[from:to], "\n")
		look := roughly(text)
		if !slices.ContainsFunc(rough, func(needle string) bool { return strings.Contains(look, needle) }) {
			continue
		}
		expr := whole
		if to-from > 1 {
			expr = broken
		}
		line, start := from, 0 // of the line in the text
		for _, m := range expr.FindAllStringSubmatchIndex(text, -1) {
			needle := slices.IndexFunc(m[2:], func(offset int) bool { return offset >= 0 }) / 2
			if !marks[needle].Fits(text, m[0], m[1]) {
				continue
			}
			for ; m[0] > start+len(lines[line]); line++ {
				start += len(lines[line]) + 1
			}
			at := m[0] - start
			for i, piece := range breaks().Split(text[m[0]:m[1]], -1) {
				line := line + i
				if i > 0 {
					at = len(lines[line]) - len(strings.TrimLeft(lines[line], " "))
				}
				cell := terminal.Width(lines[line][:at])
				found[line] = append(found[line], span{cell, cell + terminal.Width(piece), needle, i > 0})
			}
		}
	}
	return found
}

// roughly returns a text without case and white space. Looking for needles in it is ten times as
// fast as matching them, and entries may have megabytes.
func roughly(s string) string {
	return strings.ToLower(strings.ToUpper(strings.Join(strings.Fields(s), "")))
}

// goesOn reports whether a line may go on in the next one: the next one's first word had no
// room.
func (p *preview) goesOn(line, next string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(next, " "), " ")
	return line != "" && word != "" && terminal.Width(line)+1+terminal.Width(word) > p.have.Width
}
