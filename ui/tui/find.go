package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
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
	p.find = finding{running: p.find.running, from: p.entry, back: p.position()}
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
	keep := 0
	if c := f.current(); c != nil && f.known == text {
		keep = c.Entry
	} else {
		f.nth = 0
	}
	again := f.known == text
	f.found, f.total, f.known, f.err = found, 0, text, err
	for _, e := range f.found {
		f.total += e.Matches
	}
	if f.total == 0 {
		return nil
	}
	if again { // on a newer generation
		f.at = max(0, slices.IndexFunc(f.found, func(e Found) bool { return e.Entry >= keep }))
		f.nth = min(f.nth, f.current().Matches-1)
		return nil
	}
	f.at, f.fresh = max(0, slices.IndexFunc(f.found, func(e Found) bool { return e.Entry >= f.from })), true
	return m.goFound()
}

// refind counts again after the session has changed.
func (m *Model) refind() tea.Cmd {
	if m.preview.find.known == "" {
		return nil
	}
	return m.findText()
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
	if _, ok := p.starts[c.Entry]; !ok || p.want != p.have {
		want.At = c.Entry
	}
	p.goal = goalFound
	p.ask(want)
	return m.load()
}

// cell is the place on a page where a match begins.
type cell struct{ line, from int }

// matchCell returns where the current match is on the page; nil if its lines do not show it.
func (p *preview) matchCell() *cell {
	c := p.find.current()
	if c == nil {
		return nil
	}
	start, ok := p.starts[c.Entry]
	if !ok {
		return nil
	}
	end := p.end(c.Entry)
	if p.isHeading(start) { // its matches are not counted
		start++
	}
	var cells []cell
	for i, spans := range p.spans(start, end, []string{p.find.text()}) {
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
	if c == nil {
		return
	}
	start, ok := p.starts[c.Entry]
	if !ok {
		return
	}
	p.entry = c.Entry
	if above, ok := p.starts[p.find.back.entry]; ok && p.find.fresh {
		p.top = above + p.find.back.offset
		p.clamp()
	}
	p.find.fresh = false
	line := start
	if p.find.unseen = p.find.mark == nil; !p.find.unseen {
		line = p.find.mark.line
	}
	if line <= p.top || line >= p.top+p.height-1 { // the first line may be that of the head
		p.top = line - p.height/3
	}
}

// isHeading reports whether a line is the heading of an entry. The text of entries is
// indented.
func (p *preview) isHeading(line int) bool {
	return !strings.HasPrefix(p.plain[line], " ") && strings.Contains(p.plain[line], " · ")
}

// next moves by n matches of the find text or, if there is none, by n hits of the query.
func (m *Model) next(n int) tea.Cmd {
	f := &m.preview.find
	if f.text() == "" {
		return m.nextHit(n)
	}
	if f.total == 0 {
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
	p.goal, p.back = goalBack, back
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
	running    bool
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
	if t.path == p.want.Path && t.text == m.search.shown && t.generation == m.search.generation && !t.running {
		return m.goHit(n)
	}
	if t.running {
		return nil
	}
	*t = hitTour{path: p.want.Path, text: m.search.shown, generation: m.search.generation, running: true}
	tour := *t
	req := m.narrow(m.request)
	req.Text, req.Flat, req.Limit, req.Env.Now = tour.text, true, mostVisited, m.options.Now()
	req.Only = func(s *session.Summary) bool { return s.Path == tour.path }
	ctx, search := m.ctx, m.options.Search
	return command(func() then {
		r, err := search(ctx, req)
		if err == nil {
			tour.list, tour.more = inOrder(r)
		}
		return func(m *Model) tea.Cmd { return m.beginTour(tour, n, err) }
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

func (m *Model) beginTour(tour hitTour, n int, err error) tea.Cmd {
	t := &m.preview.hits
	if tour.path != m.preview.want.Path { // another session is shown by now
		*t = hitTour{}
		return nil
	}
	*t = tour
	t.running = false
	if err != nil {
		t.path = ""
		m.complain(err)
		return nil
	}
	return m.goHit(n)
}

// goHit moves by n hits from the current entry.
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
	switch {
	case exact:
		at += n
	case n > 0:
		at += n - 1
	default:
		at += n
	}
	t.at = (at + len(t.list)) % len(t.list)
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

// matcher finds needles in the lines of a conversation, also where wrapping has broken them.
// Case is ignored as pigrep grep -i ignores it.
type matcher struct {
	lines, needles []string // folded
	width          int      // to which lines are wrapped
	found          [][]span // by line
}

func (p *preview) spans(start, end int, needles []string) [][]span {
	m := matcher{lines: folded(p.plain[start:max(start, end)]), needles: folded(needles), width: p.have.Width}
	m.found = make([][]span, len(m.lines))
	for i := range m.lines {
		free := m.findWhole(i)
		for k := range m.needles {
			m.findBroken(i, free, k)
		}
	}
	return m.found
}

// findWhole finds the needles within line i. It returns the offset after the last match.
func (m *matcher) findWhole(i int) (free int) {
	line := m.lines[i]
	if n := len(m.found[i]); n > 0 { // a match from above ends here
		free = byteAt(line, m.found[i][n-1].to)
	}
	for {
		from, to, which := -1, 0, 0
		for k, n := range m.needles {
			if at := strings.Index(line[free:], n); n != "" && at >= 0 && (from < 0 || free+at < from) {
				from, to, which = free+at, free+at+len(n), k
			}
		}
		if from < 0 {
			return free
		}
		m.found[i] = append(m.found[i], span{terminal.Width(line[:from]), terminal.Width(line[:to]), which, false})
		free = to
	}
}

// findBroken finds a needle that begins on line i, at or after free, and was wrapped onto
// the lines below.
func (m *matcher) findBroken(i, free, which int) {
	needle := m.needles[which]
	if len(needle) < 2 || !m.continues(i) {
		return
	}
	line := strings.TrimRight(m.lines[i], " ")
	for from := max(free, len(line)-len(needle)+1); from < len(line); from++ {
		if !utf8.RuneStart(line[from]) || !strings.HasPrefix(needle, line[from:]) {
			continue
		}
		if rest := m.rest(i+1, which, needle[len(line)-from:]); rest != nil {
			m.found[i] = append(m.found[i], span{terminal.Width(line[:from]), terminal.Width(line), which, false})
			for n, s := range rest {
				m.found[i+1+n] = append(m.found[i+1+n], s)
			}
			return
		}
	}
}

// rest returns the spans of the rest of a broken needle, one on each line from line i on;
// nil if the lines do not go on like this.
func (m *matcher) rest(i, which int, rest string) (spans []span) {
	for ; ; i++ {
		rest = strings.TrimLeft(rest, " ") // wrapping replaces a space, or nothing
		text := strings.TrimLeft(m.lines[i], " ")
		indent := len(m.lines[i]) - len(text)
		if strings.HasPrefix(text, rest) {
			return append(spans, span{indent, indent + terminal.Width(rest), which, true})
		}
		if text == "" || !strings.HasPrefix(rest, text) || !m.continues(i) {
			return nil
		}
		spans = append(spans, span{indent, terminal.Width(m.lines[i]), which, true})
		rest = rest[len(text):]
	}
}

// continues reports whether line i may go on in the next one: the next one's first word had
// no room.
func (m *matcher) continues(i int) bool {
	if i+1 >= len(m.lines) || m.lines[i] == "" {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimLeft(m.lines[i+1], " "), " ")
	return word != "" && terminal.Width(m.lines[i])+1+terminal.Width(word) > m.width
}

// byteAt returns the offset in a text at which a cell begins.
func byteAt(s string, cell int) int {
	for i := range s {
		if terminal.Width(s[:i]) >= cell {
			return i
		}
	}
	return len(s)
}

// folded maps characters that differ only in case to the same character.
func folded(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.Map(foldRune, s)
	}
	return out
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
