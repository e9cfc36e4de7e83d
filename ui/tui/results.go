package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
	"pigrep/query/search"
	"pigrep/ui/prose"
)

// results is the list of sessions, each with its best hits. Hits can be selected, and
// sessions that have none.
type results struct {
	groups []group
	rows   []row
	items  []int // the selectable rows
	at     int   // the selected one, an index in items
	top    int   // the first row on the screen

	height int  // of the pane, when it was last drawn
	whole  bool // no more sessions can be asked for
	brief  bool // one line for each session
	spacing
}

// spacing is how close the lines of a list are.
type spacing struct {
	airy bool // there are blank lines
	most int  // how many hits of a session are listed, unless it is open
}

// group is a session with its hits, best first.
type group struct {
	search.SessionHit
	hits []search.Hit
	open bool // all hits are listed, because the user has been here
}

// A pane with fewer lines than airyFrom, and more to show than fits, has no blank lines and
// shows fewer hits of each session that is not open.
const (
	airyFrom  = 16
	mostHits  = 3
	fewerHits = 2
)

// listed returns how many hits of a session are listed, if it is not more than most.
func (g *group) listed(most int) int {
	if g.open {
		return len(g.hits)
	}
	return min(most, len(g.hits))
}

// spaced returns how a list fits into a pane of this height. If there is room for all sessions, each has as
// many of its hits as fit.
func (r *results) spaced(height int) spacing {
	lines := func(most int) int {
		n := -1
		for i := range r.groups {
			g := &r.groups[i]
			for _, h := range g.hits[:g.listed(most)] {
				if n++; h.Answered != nil {
					n++
				}
			}
			n += 2
		}
		return n
	}
	if height < airyFrom && lines(mostHits) > height {
		return spacing{most: fewerHits}
	}
	most := mostHits
	for r.whole && lines(most+1) <= height && lines(most+1) > lines(most) {
		most++
	}
	return spacing{true, most}
}

// lacks reports whether a session has more hits than the answer.
func (r *results) lacks() bool {
	return !r.brief && slices.ContainsFunc(r.groups, func(g group) bool { return len(g.hits) < g.Hits })
}

// row is one line of the list.
type row struct {
	kind  rowKind
	group int
	hit   int // -1 for the session
}

type rowKind uint8

const (
	rowTitle rowKind = iota
	rowHit
	rowAnswer // below a hit in a prompt, if there is room
	rowBlank
)

func groupHits(r *search.Response) []group {
	hits, owner := make(map[string][]search.Hit, len(r.Sessions)), r.Owners()
	for _, h := range r.Hits {
		if s := owner(&h); s != nil {
			hits[s.SessionPath] = append(hits[s.SessionPath], h)
		}
	}
	return lists.Map(r.Sessions, func(s search.SessionHit) group { return group{SessionHit: s, hits: hits[s.SessionPath]} })
}

// set replaces the list. If keep is set, the selection stays on its hit as long as that
// is still in the list, and open sessions stay open. A single session is always open.
func (r *results) set(groups []group, keep bool) {
	for i := range groups {
		groups[i].open = len(groups) == 1 || keep && slices.ContainsFunc(r.groups, func(g group) bool { return g.open && g.SessionPath == groups[i].SessionPath })
	}
	r.fill(groups, keep)
}

// fill lists the sessions, each with as many hits as there is room for. If keep is set, the
// selection stays where it is.
func (r *results) fill(groups []group, keep bool) {
	before, had := r.selected()
	offset := 0
	if had {
		offset = r.items[r.at] - r.top
	}
	*r = results{groups: groups, height: r.height, whole: r.whole, brief: r.brief}
	r.spacing = r.spaced(r.height)
	for g := range groups {
		hits := groups[g].hits
		if g > 0 && !r.brief && r.airy && len(hits)+len(groups[g-1].hits) > 0 {
			r.rows = append(r.rows, row{rowBlank, g, -1})
		}
		if r.brief || len(hits) == 0 { // the line stands for the best hit, or for the session
			r.items = append(r.items, len(r.rows))
			r.rows = append(r.rows, row{rowTitle, g, min(0, len(hits)-1)})
			continue
		}
		r.rows = append(r.rows, row{rowTitle, g, -1})
		for h := range groups[g].listed(r.most) {
			r.items = append(r.items, len(r.rows))
			r.rows = append(r.rows, row{rowHit, g, h})
			if r.airy && hits[h].Answered != nil {
				r.rows = append(r.rows, row{rowAnswer, g, h})
			}
		}
	}
	if !keep || !had {
		return
	}
	for i := range r.items {
		if p := r.placeOf(i); p == before {
			r.at = i
			r.top = max(0, r.items[i]-offset)
			return
		}
	}
}

// open lists all hits of the selected session.
func (r *results) open() {
	if g := r.session(); g != nil && !g.open && !r.brief {
		g.open = true
		r.fill(r.groups, true)
	}
}

func (r *results) placeOf(i int) Place {
	at := r.rows[r.items[i]]
	g := &r.groups[at.group]
	if at.hit < 0 {
		return Place{Path: g.SessionPath, ID: g.SessionID}
	}
	h := &g.hits[at.hit]
	return Place{Path: h.SessionPath, ID: g.SessionID, EntryID: h.EntryID, Offset: h.Offset, Line: h.Line}
}

// selected returns the place that is selected; false when there is nothing.
func (r *results) selected() (Place, bool) {
	if len(r.items) == 0 {
		return Place{}, false
	}
	return r.placeOf(r.at), true
}

// session returns the selected session; nil when there is none.
func (r *results) session() *group {
	if len(r.items) == 0 {
		return nil
	}
	return &r.groups[r.rows[r.items[r.at]].group]
}

// hit returns the selected hit; nil when there is none.
func (r *results) hit() *search.Hit {
	g := r.session()
	if g == nil || r.rows[r.items[r.at]].hit < 0 {
		return nil
	}
	return &g.hits[r.rows[r.items[r.at]].hit]
}

func (r *results) move(n int) {
	r.at = max(0, min(len(r.items)-1, r.at+n))
}

// page moves the selection by n screens.
func (r *results) page(n int) {
	if len(r.items) == 0 {
		return
	}
	before := r.at
	i, _ := slices.BinarySearch(r.items, r.items[r.at]+n*max(1, r.height-2))
	r.move(i - before)
	if r.at == before {
		r.move(n)
	}
}

// scroll scrolls the list by n rows, and moves the selection only to keep it visible.
func (r *results) scroll(n int) {
	r.top = max(0, min(len(r.rows)-r.height, r.top+n))
	for r.at > 0 && r.items[r.at] >= r.top+r.height {
		r.at--
	}
	for r.at < len(r.items)-1 && r.items[r.at] < r.top {
		r.at++
	}
}

// click selects the item on row y of the pane.
func (r *results) click(y int) {
	at := r.top + y
	if at < 0 || at >= len(r.rows) {
		return
	}
	if r.rows[at].kind == rowAnswer {
		at--
	}
	for i, item := range r.items {
		if item == at || r.rows[at].hit < 0 && r.rows[item].group == r.rows[at].group {
			r.at = i
			return
		}
	}
}

// follow scrolls the selection into view, with the heading of its session when it is
// the first hit of it.
func (r *results) follow(height int) {
	if r.height = height; r.spacing != r.spaced(height) {
		r.fill(r.groups, true)
	}
	if len(r.items) == 0 {
		r.top = 0
		return
	}
	first, last := r.items[r.at], r.items[r.at]
	if at := r.rows[first]; at.kind == rowHit && at.hit == 0 {
		first--
	}
	if last >= r.top+height {
		r.top = last - height + 1
	}
	if first < r.top {
		r.top = first
	}
	if last-first >= height { // no room for both: the hit matters more than its heading
		r.top = r.items[r.at]
	}
	r.top = max(0, min(r.top, len(r.rows)-height))
}

// view is what drawing needs to know.
type view struct {
	*styles
	now    time.Time
	home   string
	marked []Place
	links  *terminal.Links
	agents bool // sessions are shown with their agent
	costs  int  // the width of the column with what sessions cost
	chosen bool // the line is selected, which its background shows
}

// render returns height lines, each width cells wide.
func (r *results) render(v view, width, height int, focused bool) []string {
	r.follow(height)
	for i := range r.groups {
		if cost := r.groups[i].CostText(); cost != "" && width >= leastCosts {
			v.costs = max(v.costs, 2+terminal.Width(cost))
		}
	}
	lines := make([]string, 0, height)
	for i := r.top; i < len(r.rows) && len(lines) < height; i++ {
		lines = append(lines, r.line(v, i, width, focused))
	}
	return filled(lines, width, height)
}

func (r *results) line(v view, i, width int, focused bool) string {
	at := r.rows[i]
	g := &r.groups[at.group]
	chosen := len(r.items) > 0 && r.items[r.at] == i
	v.chosen = chosen && focused
	margin := "  "
	if chosen {
		margin = "▌ "
	}
	if at.kind == rowTitle && slices.ContainsFunc(v.marked, func(p Place) bool { return p.Path == g.SessionPath }) {
		margin = strings.TrimSuffix(margin, " ") + "✓"
	}
	line := v.paint(v.mark, margin)
	switch at.kind {
	case rowBlank:
		return strings.Repeat(" ", width)
	case rowTitle:
		facts := g.facts(v, width-2-v.costs) + human.When(v.costs > 0, fmt.Sprintf("%*s", v.costs, g.CostText()))
		room := width - 2 - terminal.Width(facts)
		title := terminal.Clip(g.title(), room-2)
		line = v.fill(line+v.paint(v.title, title), 2+room) + v.paint(v.dim, facts)
	case rowHit:
		line += hitLine(v, &g.hits[at.hit], width-2)
	case rowAnswer:
		column := kindColumn(width - 2)
		line += v.paint(v.dim, terminal.Fit("answered", column)+" ") + fragmentLine(v, g.hits[at.hit].Answered.Fragment, width-2-column-1)
	}
	return v.fill(line, width)
}

// paint styles a part of a line, on the background of the line.
func (v view) paint(look lipgloss.Style, text string) string {
	if text == "" {
		return ""
	}
	switch {
	case v.chosen && v.selected == nil:
		look = v.plain.Reverse(true).Bold(look.GetBold()).Underline(look.GetBold())
	case v.chosen:
		look = look.Background(v.selected)
	}
	return look.Render(text)
}

// fill appends blanks to a line, on its background.
func (v view) fill(line string, width int) string {
	return line + v.paint(v.plain, strings.Repeat(" ", max(0, width-terminal.Width(line))))
}

func (g *group) title() string { return human.Title(g.Title) }

// The least widths that have the facts of a session beside its title, and its cost too.
const (
	leastFacts = 18
	leastCosts = 72
)

// facts returns what stands behind the title of a session in a line of this width: its project, agent, age and
// number of hits or messages. The number of messages gives way to a long title, then everything but age and
// project until half of the line is left for the title. The whole directory stands where there is room for it.
func (g *group) facts(v view, width int) string {
	left := width - 2 - terminal.Width(g.title())
	room := max(left, width/2)
	if room < leastFacts {
		return ""
	}
	count := human.Plural(g.Messages, "message", "messages")
	switch {
	case g.Hits > 0:
		count = human.Plural(g.Hits, "hit", "hits")
	case g.Looser > 0:
		count = human.Number(g.Looser) + " looser"
	}
	badge, boss := terminal.Clean(human.Badge(g.Host, g.Agent, v.agents, g.Kept)), human.When(g.Subagent, "subagent")
	project, dir := terminal.Clean(human.Project(g.CWD)), strings.TrimRight(terminal.Clean(human.Path(g.CWD, v.home)), `/\`)
	rest := func(dir string) string {
		return human.Joined(" · ", dir, badge, boss, human.Age(v.now, g.Modified.Time), count)
	}
	if g.Hits+g.Looser == 0 && terminal.Width(rest(project)) > left {
		count = ""
	}
	for _, fact := range []*string{&count, &badge, &boss} {
		if terminal.Width(rest(project)) > room {
			*fact = ""
		}
	}
	free := min(left, width/2) - terminal.Width(rest("")) - 3 // without " · "
	if dir = terminal.ClipPath(dir, max(1, free)); strings.HasPrefix(dir, "…") && (!strings.ContainsAny(dir, `/\`) || free <= 0) {
		dir = terminal.Clip(project, max(0, room-terminal.Width(rest(""))-3))
	}
	if dir == "" {
		return rest("")
	}
	return v.links.File(dir, g.CWD) + strings.TrimPrefix(rest(dir), dir)
}

// kindWidth is the width of the column with the kind, toolWidth that with the tool too. A line
// has the tool, and the age of the hit at its end, from these widths on.
const (
	kindWidth = 9
	toolWidth = 14
	leastTool = 64
	leastAge  = 40
)

func kindColumn(width int) int {
	if width >= leastTool {
		return toolWidth
	}
	return max(0, min(kindWidth, width-1))
}

func hitLine(v view, h *search.Hit, width int) string {
	look, kind := v.kinds[h.Kind], string(h.Kind)
	if h.IsError {
		look, kind = v.kinds["error"], "✗ "+kind
	}
	if width >= leastTool {
		kind = strings.TrimSpace(kind + " " + terminal.Clean(h.Tool))
	}
	age := ""
	if a := human.Age(v.now, h.Timestamp.Time); a != "" && width >= leastAge {
		age = fmt.Sprintf(" %*s", human.AgeWidth, a)
	}
	head := v.paint(look, terminal.Fit(kind, kindColumn(width))+" ")
	room := width - terminal.Width(head) - terminal.Width(age)
	note := human.When(h.Branch == entry.BranchAbandoned, "  abandoned branch")
	if notes := h.Notes(); len(notes) > 0 {
		note = "  " + terminal.Clean(strings.Join(notes, " · "))
	}
	if room-terminal.Width(note) < 30 {
		note = ""
	}
	room -= terminal.Width(note)
	line := head + fragmentLine(v, h.Fragment, room) + v.paint(v.dim, note)
	if age == "" {
		return line
	}
	return v.fill(line, width-terminal.Width(age)) + v.paint(v.dim, age)
}

// fragmentLine returns a fragment as one line of at most width cells, with its matches marked.
func fragmentLine(v view, f match.Fragment, width int) string {
	if width <= 0 {
		return ""
	}
	return strings.Join(lists.Map(prose.FragmentLines(f, width, 1), func(line []prose.Cluster) string {
		return prose.Styled(line, func(text string, marked bool) string {
			if marked {
				return v.paint(v.match, text)
			}
			return v.paint(v.plain, text)
		})
	}), "")
}
