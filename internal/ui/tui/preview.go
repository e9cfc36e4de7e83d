package tui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/terminal"
	"pigrep/query"
)

// preview is the conversation around the selection.
type preview struct {
	want   request // what should be shown
	have   request // what page shows
	page   *Preview
	plain  []string // the lines of page without colours, in lower case
	top    int      // the first line on the screen
	height int      // of the pane, when it was last drawn
	failed error

	marks []string // what the hit matched, in lower case
	jump  bool     // scroll the next page to the match, instead of keeping the position
	find  input    // the text to find in the conversation
	found []int    // the lines that contain it
	at    int      // the current one, an index in found

	running *job
	loading request  // of the running job
	cache   []cached // the latest last
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

const (
	firstAround = 8   // entries on each side, initially
	mostAround  = 512 // and at most
	cacheSize   = 16  // pages
)

// show sets what should be shown, and reports whether it must be rendered first.
func (p *preview) show(want request, hit *query.Hit) bool {
	if want.Place != p.want.Place {
		want.Around = firstAround
		p.find.set("")
		p.found = nil
		p.jump = true
	} else {
		want.Around = p.want.Around
	}
	if marks := marksOf(hit); !slices.Equal(marks, p.marks) {
		p.marks, p.jump = marks, true
	}
	p.want, p.failed = want, nil
	if p.want == p.have && p.page != nil {
		p.put(p.have, p.page)
		return false
	}
	for _, c := range p.cache {
		if c.request == want {
			p.put(want, c.page)
			return false
		}
	}
	return true
}

// marksOf returns the distinct texts that a hit matched.
func marksOf(h *query.Hit) []string {
	if h == nil {
		return nil
	}
	var marks []string
	seen := make(map[string]bool)
	for _, s := range h.Fragment.Spans {
		m := strings.ToLower(terminal.Clean(h.Fragment.Text[s[0]:s[1]]))
		if m != "" && !seen[m] {
			seen[m] = true
			marks = append(marks, m)
		}
	}
	return marks
}

// loaded caches a page, and shows it if it is the wanted one.
func (p *preview) loaded(r request, page *Preview) {
	p.cache = append(p.cache, cached{r, page})
	if len(p.cache) > cacheSize {
		p.cache = p.cache[1:]
	}
	if r == p.want {
		p.put(r, page)
	}
}

// put shows a page. It scrolls to the match, or keeps the position when the page is of
// the same place.
func (p *preview) put(r request, page *Preview) {
	stay := !p.jump && p.page != nil && p.have.Place == r.Place && p.have.Width == r.Width
	from := 0
	if stay {
		from = p.top - p.page.Focus
	}
	p.jump = false
	p.have, p.page, p.failed = r, page, nil
	p.plain = make([]string, len(page.Lines))
	for i, l := range page.Lines {
		p.plain[i] = strings.ToLower(ansi.Strip(l))
	}
	switch {
	case stay:
		p.top = page.Focus + from
	case r.EntryID == "":
		p.top = len(page.Lines) // its end
	default:
		p.top = p.matchLine() - p.height/4
		if p.matchLine() == page.Focus {
			p.top = page.Focus - 1
		}
	}
	p.look()
}

// matchLine returns the line of the entry that contains the most marks.
func (p *preview) matchLine() int {
	best, most := p.page.Focus, 0
	for i := p.page.Focus; i < len(p.plain) && most < len(p.marks); i++ {
		line := p.plain[i]
		if i > p.page.Focus && line != "" && line[0] != ' ' {
			break // the next entry
		}
		n := 0
		for _, m := range p.marks {
			if strings.Contains(line, m) {
				n++
			}
		}
		if n > most && i > p.page.Focus {
			best, most = i, n
		}
	}
	return best
}

// scroll scrolls by n lines, and reports whether more must be rendered.
func (p *preview) scroll(n int) bool {
	p.top += n
	return p.more()
}

// more widens the wanted extent when an end of the page is near, and reports whether
// it did.
func (p *preview) more() bool {
	if p.page == nil || p.want != p.have || p.have.Around >= mostAround {
		return false
	}
	if p.page.Before && p.top < p.height/2 || p.page.After && p.top+p.height > len(p.page.Lines)-p.height/2 {
		p.want.Around *= 4
		return true
	}
	return false
}

// look finds the lines that contain the find text.
func (p *preview) look() {
	p.found = p.found[:0]
	text := strings.ToLower(p.find.text)
	if text == "" {
		return
	}
	for i, l := range p.plain {
		if strings.Contains(l, text) {
			p.found = append(p.found, i)
		}
	}
	p.at = max(0, min(p.at, len(p.found)-1))
}

// findFrom goes to the first match on the screen or below.
func (p *preview) findFrom() {
	p.look()
	for i, l := range p.found {
		if l >= p.top {
			p.at = i
			p.toFound()
			return
		}
	}
	p.at = 0
	p.toFound()
}

// next goes n matches further.
func (p *preview) next(n int) {
	if len(p.found) > 0 {
		p.at = (p.at + n + len(p.found)) % len(p.found)
		p.toFound()
	}
}

func (p *preview) toFound() {
	if len(p.found) == 0 {
		return
	}
	if l := p.found[p.at]; l < p.top || l >= p.top+p.height {
		p.top = l - p.height/3
	}
}

// render returns height lines, each width cells wide.
func (p *preview) render(v view, width, height int) []string {
	p.height = height
	var lines []string
	switch {
	case p.failed != nil:
		lines = append(lines, terminal.Clip(v.problem.Render(terminal.Clean(p.failed.Error())), width))
	case p.page != nil && p.have.Place == p.want.Place:
		p.top = max(0, min(p.top, len(p.page.Lines)-height))
		for i := p.top; i < len(p.page.Lines) && len(lines) < height; i++ {
			lines = append(lines, p.line(v, i))
		}
	case p.want.Path != "":
		lines = append(lines, v.dim.Render(terminal.Clip(reading, width)))
	}
	for i := range lines {
		lines[i] = terminal.Fit(lines[i], width)
	}
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines
}

// line returns a line with the matches of the query, or of the find text, marked.
func (p *preview) line(v view, i int) string {
	line := p.page.Lines[i]
	plain := ansi.Strip(line)
	// Lower case can change the number of bytes; then nothing is marked.
	if len(plain) != len(p.plain[i]) {
		return line
	}
	look, marks := v.match, p.marks
	if p.find.text != "" {
		look, marks = v.found, []string{strings.ToLower(p.find.text)}
	}
	var ranges []lipgloss.Range
	for at := 0; at < len(plain); {
		start, end := -1, 0
		for _, m := range marks {
			if k := strings.Index(p.plain[i][at:], m); k >= 0 && (start < 0 || at+k < start) {
				start, end = at+k, at+k+len(m)
			}
		}
		if start < 0 {
			break
		}
		ranges = append(ranges, lipgloss.NewRange(terminal.Width(plain[:start]), terminal.Width(plain[:end]), look))
		at = end
	}
	return lipgloss.StyleRanges(line, ranges...)
}
