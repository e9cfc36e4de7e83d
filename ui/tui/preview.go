package tui

import (
	"context"
	"slices"

	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/terminal"
	"pigrep/query/engine/match"
	"pigrep/query/search"
)

// preview is a window on a conversation. Only a page of the conversation is in memory:
// the entries around an anchor, which moves with the scrolling.
type preview struct {
	want   request // what should be shown
	have   request // what page shows
	title  string  // of the session
	page   *Preview
	plain  []string    // the lines of page without colours
	starts map[int]int // the first line of each entry of page
	top    int         // the first line on the screen
	height int         // of the pane, when it was last drawn
	failed error

	unfolded []string // the lines of the entry before it was folded or unfolded; nil once unchanged has compared them
	folds    string   // the folds at that time

	entry int    // the index in the file of the entry that is read; -1 for none
	goal  func() // scrolls the next page; nil: what is at the top stays there

	marks []match.Mark // what the hit matched
	find  finding      // what is searched in the conversation
	hits  hitTour      // the hits of the query in the session

	touring context.CancelFunc // stops the job that looks for hits; nil if none runs

	running context.CancelFunc // stops the job that renders a page; nil if none runs
	loading request            // of that job
	cache   []cached           // the latest last
}

// request identifies a page: the place, its extent, and the generation of the index.
type request struct {
	Place
	Extent
	generation uint64
}

type cached struct {
	request
	page *Preview
}

// position is the line at the top of the screen.
type position struct {
	request
	entry, offset int
}

const (
	leastAround = 8        // entries on each side of the anchor
	cacheSize   = 16       // pages
	cacheBytes  = 16 << 20 // of text in them
	gutterWidth = 1        // cells left of the lines, which mark the entry that is read
)

// around returns how many entries on each side of the anchor surely fill the pane: each
// has at least a line.
func (p *preview) around() int { return (max(leastAround, p.height) + 7) &^ 7 }

// show sets what should be shown.
func (p *preview) show(want request, hit *search.Hit) {
	want.At, want.Around, want.All = AtPlace, p.around(), p.want.All
	if want.Path == p.want.Path {
		want.Folds = p.want.Folds
	} else {
		p.find.clear()
	}
	if want.Place == p.want.Place {
		want.At = p.want.At
	} else {
		p.goal, p.entry = p.toHit, -1
	}
	if marks := marksOf(hit); hit != nil && !slices.Equal(marks, p.marks) {
		p.marks, p.goal = marks, p.toHit
		want.At = AtPlace
	}
	p.ask(want)
}

// ask sets what should be shown. It is shown at once if it need not be rendered.
func (p *preview) ask(want request) {
	p.want, p.failed = want, nil
	page := p.page
	if want != p.have || page == nil {
		i := slices.IndexFunc(p.cache, func(c cached) bool { return c.request == want })
		if i < 0 {
			return
		}
		page = p.cache[i].page
	}
	p.put(want, page)
}

// marksOf returns what a hit matched.
func marksOf(h *search.Hit) []match.Mark {
	if h == nil {
		return nil
	}
	f := h.Fragment
	f.Text, f.Spans = terminal.CleanSpans(f.Text, f.Spans)
	return f.Marks()
}

// loaded caches a page, and shows it if it is the wanted one.
func (p *preview) loaded(r request, page *Preview) {
	p.cache = append(p.cache, cached{r, page})
	size := 0
	for i := len(p.cache) - 1; i >= 0; i-- {
		for _, l := range p.cache[i].page.Lines {
			size += len(l.Text)
		}
		if i < len(p.cache)-1 && (size > cacheBytes || len(p.cache)-i > cacheSize) {
			p.cache = slices.Clone(p.cache[i+1:])
			break
		}
	}
	if r == p.want {
		p.put(r, page)
	}
}

// put shows a page, and scrolls it to the goal.
func (p *preview) put(r request, page *Preview) {
	scroll := p.goal
	if scroll == nil && (p.page == nil || p.have.Path != r.Path) {
		scroll = p.toHit
	} else if scroll == nil {
		scroll = p.stay(p.topEntry())
	}
	p.goal = nil
	p.have, p.page, p.failed = r, page, nil
	p.plain = make([]string, len(page.Lines))
	p.starts = make(map[int]int)
	for i, l := range page.Lines {
		p.plain[i] = ansi.Strip(l.Text)
		if !p.shows(l.Entry) {
			p.starts[l.Entry] = i
		}
	}
	p.find.mark = p.matchCell()
	scroll()
	p.clamp()
	if !p.shows(p.entry) || p.entry < 0 {
		p.entry = -1
		p.follow(0)
	}
}

// stay returns what scrolls the next page so that this line of an entry is at the top.
func (p *preview) stay(entry, offset int) func() {
	before, width := p.firstRun(entry), p.have.Width
	return func() {
		start, ok := p.starts[entry]
		switch {
		case !ok:
			p.top = p.page.Focus - p.height/3
		case width != p.have.Width:
			p.top = start + sameLine(before, p.firstRun(entry), offset)
		default:
			p.top = start + min(offset, max(0, p.end(entry)-start-1))
		}
	}
}

// toHit scrolls to what the hit matched, or to the end if a session is shown.
func (p *preview) toHit() {
	p.entry = p.entryAt(p.page.Focus)
	if p.want.EntryID == "" {
		p.top = len(p.page.Lines)
		p.entry = -1
		return
	}
	line := p.matchLine()
	p.top = line - p.height/4
	if line == p.page.Focus || p.top < p.page.Focus-1 {
		p.top = max(p.page.Focus-1, line-p.height+2)
	}
}

// topEntry returns the entry at the top of the screen, and how many of its lines are
// above the screen.
func (p *preview) topEntry() (entry, offset int) {
	entry = p.entryAt(p.top)
	return entry, p.top - p.starts[entry]
}

// entryAt returns the entry of a line, -1 for none.
func (p *preview) entryAt(line int) int {
	if p.page == nil || len(p.page.Lines) == 0 {
		return -1
	}
	return p.page.Lines[max(0, min(line, len(p.page.Lines)-1))].Entry
}

// sample is how many bytes of text identify a place in an entry.
const sample = 48

// sameLine returns the line that has the text of line n after the same text was wrapped at
// another width. White space does not count, so that the text is the same.
func sameLine(before, after []string, n int) int {
	if n <= 0 || n >= len(before) || len(after) == 0 {
		return 0
	}
	dense := func(lines []string) string { return strings.Join(strings.Fields(strings.Join(lines, " ")), "") }
	from, text := len(dense(before[:n])), dense(after)
	want := dense(before[n:])
	want = want[:min(len(want), sample)]
	place := min(from, len(text)) // or where the text is the nearest
	above := strings.LastIndex(text[:min(from+len(want), len(text))], want)
	if below := strings.Index(text[place:], want); below >= 0 && (above < 0 || below < from-above) {
		place += below
	} else if above >= 0 {
		place = above
	}
	for line := range after {
		if place -= len(dense(after[line : line+1])); place < 0 {
			return line
		}
	}
	return len(after) - 1
}

// firstRun returns the first run of lines of an entry, without colours.
func (p *preview) firstRun(entry int) []string {
	if p.page == nil {
		return nil
	}
	return p.plain[p.starts[entry]:p.end(entry)]
}

// end returns the line after the first run of lines of an entry. A call and its result
// may alternate; only the first run counts.
func (p *preview) end(entry int) int {
	start, ok := p.starts[entry]
	if !ok {
		return 0
	}
	end := start
	for end < len(p.page.Lines) && p.page.Lines[end].Entry == entry {
		end++
	}
	return end
}

// current returns the index in the page of the entry that is read; -1 for none.
func (p *preview) current() int {
	if p.page == nil {
		return -1
	}
	return slices.IndexFunc(p.page.Entries, func(e Entry) bool { return e.Index == p.entry })
}

// reading returns the entry that has the bar at its left; nil for none.
func (p *preview) reading() *Entry {
	i := p.current()
	if i < 0 {
		return nil
	}
	return &p.page.Entries[i]
}

// matchLine returns the line of the hit's entry that contains the most marks.
func (p *preview) matchLine() int {
	best, most := p.page.Focus, 0
	end := p.end(p.page.Lines[p.page.Focus].Entry)
	for i, spans := range p.spans(p.page.Focus, end, p.marks) {
		distinct := make(map[int]bool)
		for _, s := range spans {
			distinct[s.needle] = true
		}
		if len(distinct) > most && i > 0 {
			best, most = p.page.Focus+i, len(distinct)
		}
	}
	return best
}

// shows reports whether the page has a line of an entry.
func (p *preview) shows(entry int) bool {
	_, ok := p.starts[entry]
	return ok
}

func (p *preview) clamp() {
	if p.page != nil {
		p.top = max(0, min(p.top, len(p.page.Lines)-p.height))
	}
}

func (p *preview) scroll(n int) {
	before := p.top
	p.top += n
	p.clamp()
	p.follow(n)
	if p.top != before || p.want != p.have || p.page == nil {
		return
	}
	// If the page ends here, its entries are large.
	if list := p.page.Entries; n > 0 && p.page.After {
		p.askAround(list[len(list)-1].Index)
	} else if n < 0 && p.page.Before {
		p.askAround(list[0].Index)
	}
}

// follow keeps the current entry on the screen: when it scrolls out of view, the nearest
// visible one takes its place.
func (p *preview) follow(n int) {
	if p.page == nil || len(p.page.Lines) == 0 {
		return
	}
	last := min(p.top+max(1, p.height), len(p.page.Lines)) - 1
	for i := p.top; i <= last; i++ {
		if p.page.Lines[i].Entry == p.entry && p.entry >= 0 {
			return
		}
	}
	line := p.top
	if n < 0 || p.entry < 0 && p.want.EntryID == "" {
		line = last
	}
	p.entry = p.entryAt(line)
	for i := p.top; i <= last && p.entry < 0; i++ { // above the first entry
		p.entry = p.entryAt(i)
	}
}

// click makes the entry at this line of the pane the current one.
func (p *preview) click(y int) {
	if p.page != nil && p.top+y < len(p.page.Lines) {
		if e := p.entryAt(p.top + y); e >= 0 {
			p.entry = e
		}
	}
}

func (p *preview) nextEntry(n int) {
	if p.page == nil {
		return
	}
	list, at := p.page.Entries, p.current()+n
	for at >= 0 && at < len(list) && (list[at].Steps || !p.shows(list[at].Index)) {
		at += n
	}
	if at < 0 || at >= len(list) {
		p.scroll(n * max(1, p.height/2))
		return
	}
	p.entry = list[at].Index

	start, end := p.starts[p.entry], p.end(p.entry)
	if start < p.top || end > p.top+p.height {
		p.top = start - 1
		if n > 0 {
			p.top = max(p.top, min(end-p.height, start-1))
		}
	}
	p.clamp()
}

// askForMore moves the anchor of the wanted page when an end of the page is near.
func (p *preview) askForMore() {
	if p.page == nil || p.want != p.have || len(p.page.Entries) == 0 {
		return
	}
	up := p.page.Before && p.top < p.height/2
	down := p.page.After && p.top+p.height > len(p.page.Lines)-p.height/2
	if at := p.entryAt(p.top + p.height/2); (up || down) && at >= 0 && at != p.page.Anchor {
		p.askAround(at)
	}
}

// askAround is ask for the same conversation around another entry.
func (p *preview) askAround(at int) {
	want := p.want
	want.At = at
	p.ask(want)
}

func (p *preview) jump(at int) {
	if p.page == nil {
		return
	}
	p.goal, p.entry = func() { p.top = 0 }, -1
	if at == AtEnd {
		p.goal = func() {
			p.top = len(p.page.Lines)
			p.entry = p.entryAt(p.top)
		}
	}
	there := at == AtStart && !p.page.Before || at == AtEnd && !p.page.After
	if there && p.want == p.have {
		p.put(p.have, p.page)
		return
	}
	p.askAround(at)
}

// foldable returns the entries that are folded or unfolded together: the one that is read,
// and if it has calls, their results.
func (p *preview) foldable() []Entry {
	i := p.current()
	if i < 0 {
		return nil
	}
	list := p.page.Entries[i : i+1 : i+1]
	if first := list[0]; first.Result || first.Steps {
		return list
	}
	for _, e := range p.page.Entries[i+1:] {
		switch {
		case e.Result:
			list = append(list, e)
		case !e.Steps:
			return list
		}
	}
	return list
}

// isOpen reports whether the current entry has nothing left to unfold.
func (p *preview) isOpen() bool {
	list := p.foldable()
	return len(list) > 0 && !slices.ContainsFunc(list, func(e Entry) bool { return !e.Open })
}

// unchanged reports, once after entries were folded or unfolded, whether that changed nothing. If so, it
// restores the folds.
func (p *preview) unchanged() bool {
	if p.unfolded == nil || p.want != p.have || p.page == nil {
		return false
	}
	same := slices.Equal(p.unfolded, p.linesOf(p.foldable()))
	p.unfolded = nil
	if same {
		want := p.want
		want.Folds = p.folds
		p.ask(want)
	}
	return same
}

// linesOf returns the lines of entries, without colours.
func (p *preview) linesOf(list []Entry) []string {
	lines := []string{}
	for i, l := range p.page.Lines {
		if slices.ContainsFunc(list, func(e Entry) bool { return e.Index == l.Entry }) {
			lines = append(lines, p.plain[i])
		}
	}
	return lines
}

// Folds are the entries that were folded or unfolded one by one: "+12 -40". They are a
// string because requests are compared with ==.

func setFold(folds string, entry int, open bool) string {
	kept := slices.DeleteFunc(strings.Fields(folds), func(f string) bool { return f[1:] == strconv.Itoa(entry) })
	sign := "-"
	if open {
		sign = "+"
	}
	return strings.Join(append(kept, sign+strconv.Itoa(entry)), " ")
}

// Unfolded reports whether an entry was folded or unfolded on its own, and whether it is
// open.
func (e Extent) Unfolded(entry int) (open, set bool) {
	for _, f := range strings.Fields(e.Folds) {
		if f[1:] == strconv.Itoa(entry) {
			return f[0] == '+', true
		}
	}
	return false, false
}

// render returns height lines, each width cells wide.
func (p *preview) render(v view, width, height int) []string {
	p.height = height
	var lines []string
	switch {
	case p.failed != nil:
		lines = append(lines, terminal.Clip(v.problem.Render(terminal.Clean(p.failed.Error())), width))
	case p.page != nil && p.have.Path == p.want.Path:
		p.clamp()
		end := min(p.top+height, len(p.page.Lines))
		lines = p.marked(v, p.top, end)
		if head := p.head(v); head != "" && len(lines) > 0 {
			lines[0] = head
		}
		for i := range lines {
			gutter := strings.Repeat(" ", gutterWidth)
			if n := p.top + i; p.entry >= 0 && p.entryAt(n) == p.entry && (p.plain[n] != "" || n+1 < len(p.plain) && p.entryAt(n+1) == p.entry) {
				gutter = v.mark.Render("▎")
			}
			lines[i] = gutter + lines[i]
		}
	case p.want.Path != "":
		lines = append(lines, v.dim.Render(terminal.Clip(reading, width)))
	}
	return fitted(lines, width, height)
}

// leastForHead is the least height of a pane that reserves a line for the head of an entry.
const leastForHead = 4

// head returns the first line of the current entry, with its date, if that line is above
// the screen; otherwise "".
func (p *preview) head(v view) string {
	e := p.reading()
	if e == nil || p.height < leastForHead || p.entryAt(p.top) != p.entry {
		return ""
	}
	line := p.starts[p.entry]
	if line >= p.top {
		return ""
	}
	if line > 0 && e.Result && p.plain[line-1] != "" {
		line-- // its call
	}
	head := p.page.Lines[line].Text
	if date := e.Time.In(v.now.Location()).Format(time.DateOnly); !e.Time.IsZero() && !strings.Contains(p.plain[line], date) {
		head = terminal.Clip(head, p.have.Width-len(" · ")-len(date)) + v.dim.Render(" · "+date)
	}
	return head
}

// marked returns the lines from start to end with the matches of the query marked, or those
// of the find text and among them the current one.
func (p *preview) marked(v view, start, end int) []string {
	look, needles := v.match, p.marks
	if p.find.text() != "" {
		look, needles = v.found, []match.Mark{{Text: p.find.text(), Anywhere: true}}
	}
	// A match may begin above the first line or end below the last one.
	from, to := max(0, start-1), min(len(p.plain), end+1)
	all := p.spans(from, to, needles)
	lines := make([]string, 0, end-start)
	for i := start; i < end; i++ {
		var ranges []lipgloss.Range
		for _, s := range all[i-from] {
			if p.find.text() != "" && p.isHeading(i) {
				break
			}
			style := look
			if at := p.find.mark; at != nil && *at == (cell{i, s.from}) {
				style = v.current
			}
			ranges = append(ranges, lipgloss.NewRange(s.from, s.to, style))
		}
		lines = append(lines, lipgloss.StyleRanges(p.page.Lines[i].Text, ranges...))
	}
	return lines
}
