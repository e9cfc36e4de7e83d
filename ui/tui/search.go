package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
)

// searching is the running search and the last answer.
type searching struct {
	seq     int  // of the newest request
	job     *job // nil when none runs
	again   bool // search again when the job has ended
	slow    bool // the job has run for a while
	early   bool // what is shown is what has come so far for the newest request
	limit   int  // sessions
	refresh bool // the newest request repeats the one before, on a newer generation

	answered   bool   // at least once
	known      uint64 // the newest generation at the time of the request
	generation uint64 // of the last answer that was no error
	several    bool   // it has sessions of several agents
	indexed    int    // sessions, when they were last listed
	summary
}

// summary is what an answer says besides its hits.
type summary struct {
	shown    string // the text that was searched
	total    int    // hits with every word
	looser   int
	folded   int
	exact    bool
	sessions int // that exist, or that are shown
	more     bool
	took     time.Duration
	notice   string // what was searched literally
	noWord   string // why there is nothing to search for
	why      string // why no hit has every word
	removed  []search.Removed
	warnings []string
	mean     string // the suggested query
	failed   error
}

// job is a running command that can be stopped.
type job struct {
	stop context.CancelFunc
}

const (
	leastLimit = 8 // sessions requested first, in a small window
	mostLimit  = 1280
	moreLimit  = 4 // factor of further requests
)

// firstLimit returns how many sessions fill the screen: each takes a line and, with a query,
// most have some hits.
func (m *Model) firstLimit() int {
	if m.isEmpty() {
		return max(leastLimit, m.height)
	}
	return max(leastLimit, m.height/4+2)
}

// slowAfter is when "searching" is shown; for shorter searches it would only flicker.
const slowAfter = 250 * time.Millisecond

// searched is the end of a search.
type searched struct {
	seq    int
	text   string
	answer *search.Response   // to a query
	list   *sessions.Response // without a query
	took   time.Duration
	err    error
}

// begin starts a search for the current query. A running search is stopped, and the
// new one starts when it has ended.
func (m *Model) begin(refresh bool) tea.Cmd {
	s := &m.search
	s.seq++
	s.early = false
	s.known = m.state.Generation
	s.refresh = refresh && (s.refresh || s.job == nil)
	if s.job != nil {
		s.job.stop()
		s.again = true
		return nil
	}
	ctx, stop := context.WithCancel(m.ctx)
	s.job = &job{stop}
	if m.post != nil {
		seq := s.seq
		m.post(slowAfter, func(m *Model) tea.Cmd {
			m.search.slow = m.search.job != nil && seq == m.search.seq
			return nil
		})
	}
	req := m.narrow(m.request)
	req.Text, req.Limit, req.Env.Now = strings.TrimSpace(m.query.text), s.limit, m.options.Now()
	end := searched{seq: s.seq, text: m.query.text}
	o := m.options
	if post := m.post; post != nil {
		some := end
		ctx = remote.WithEarly(ctx, func(answer any) {
			soon := some
			soon.answer, _ = answer.(*search.Response)
			soon.list, _ = answer.(*sessions.Response)
			post(0, func(m *Model) tea.Cmd { return m.showEarly(soon) })
		})
	}
	return command(func() then {
		defer stop()
		start := o.Now()
		if req.Text == "" {
			end.list, end.err = o.Sessions(ctx, sessions.FromSearch(req))
		} else {
			end.answer, end.err = o.Search(ctx, req)
		}
		end.took = o.Now().Sub(start)
		return func(m *Model) tea.Cmd { return m.showAnswer(end) }
	})
}

// outdated reports whether the list still answers an earlier query and the user has not
// chosen from it. An action then waits: typing a word and pressing Enter at once is about
// what the word finds.
func (m *Model) outdated() bool {
	return m.place() == inList && !m.moved && m.search.job != nil && !m.search.refresh && !m.search.early
}

// showEarly shows what some machines have answered while others still work.
func (m *Model) showEarly(msg searched) tea.Cmd {
	s := &m.search
	if s.job == nil || s.again || msg.seq != s.seq {
		return nil
	}
	s.early = true
	return m.present(msg)
}

// present shows the sessions of an answer.
func (m *Model) present(msg searched) tea.Cmd {
	s := &m.search
	m.moved = m.moved && msg.text == s.shown
	keep := s.answered && m.moved
	groups := m.read(msg)
	s.answered = true
	m.results.set(groups, keep)
	if len(groups) == 0 {
		m.reading, m.findFocus = false, false
	}
	cmd := m.showPreview()
	if do := m.waiting; do != nil && (len(groups) > 0 || s.job == nil) {
		m.waiting = nil
		if len(groups) > 0 {
			cmd = tea.Batch(cmd, do(m))
		}
	}
	return cmd
}

func (m *Model) showAnswer(msg searched) tea.Cmd {
	s := &m.search
	s.job, s.slow = nil, false
	if s.again {
		s.again = false
		return m.begin(s.refresh)
	}
	if msg.seq != s.seq {
		return nil
	}
	cmd := m.present(msg)
	if m.state.Generation != s.known {
		return tea.Batch(cmd, m.begin(true))
	}
	return tea.Batch(cmd, m.searchMore())
}

// read sets the summary of an answer, and returns its sessions.
func (m *Model) read(msg searched) (groups []group) {
	s := &m.search
	s.summary = summary{shown: msg.text, took: msg.took, exact: true}
	textError, isTextError := errors.AsType[*words.TextError](msg.err)
	switch r := msg.answer; {
	case isTextError:
		s.noWord = textError.Reason
		if textError.Hint != "" {
			s.noWord += " — " + textError.Hint
		}
	case msg.err != nil:
		s.failed = msg.err
	case msg.list != nil:
		for _, l := range msg.list.Sessions {
			groups = append(groups, group{SessionHit: l.SessionHit})
		}
		s.sessions, s.more = msg.list.Total, len(groups) < msg.list.Total
		s.indexed, s.generation, s.several = msg.list.Index.Files, msg.list.Index.Generation, msg.list.Index.Several
	default:
		groups = groupHits(r)
		s.total, s.looser, s.folded, s.exact, s.sessions = r.Total, r.Looser(), r.Folded, r.TotalIsExact, len(groups)
		s.more = len(groups) == s.limit
		s.why, s.mean = search.ExplainWords(r.Words, r.Removed, r.DidYouMean, m.without), r.DidYouMean
		s.removed, s.warnings = r.Removed, r.Warnings
		if len(r.Warnings) > 0 && len(groups) > 0 { // else the list shows them all
			s.notice = r.Warnings[0]
		}
		s.generation, s.several = r.Index.Generation, r.Index.Several
	}
	return groups
}

// searchMore requests more sessions when the end of the list is near.
func (m *Model) searchMore() tea.Cmd {
	s := &m.search
	near := m.results.at >= len(m.results.items)-5 || len(m.results.rows) < m.layout().list.height
	if !s.more || s.job != nil || s.limit >= mostLimit || !near {
		return nil
	}
	s.limit *= moreLimit
	return m.begin(true)
}

// stateChanged repeats the search on a new generation.
func (m *Model) stateChanged(state State) tea.Cmd {
	m.state = state
	if state.Generation != m.search.known && m.search.job == nil {
		return m.begin(true)
	}
	return nil
}

func (m *Model) showPreview() tea.Cmd {
	p := &m.preview
	place, ok := m.results.selected()
	hit, title := m.results.hit(), ""
	if m.reading && p.want.Path != "" { // a refresh does not replace what the user is reading
		place, ok, hit = p.want.Place, true, nil
	} else if g := m.results.session(); g != nil {
		title = g.title()
	}
	var width int
	width, p.height = m.layout().preview.width-gutterWidth, m.layout().preview.height
	if !ok || width <= 0 {
		if !ok || place != p.want.Place { // what is shown next is the selection
			p.want, p.page, p.failed = request{}, nil, nil
		}
		return nil
	}
	want := request{Place: place, Extent: Extent{Width: width}, generation: m.search.generation}
	if want.Path != p.want.Path {
		m.findFocus = false
	}
	if title != "" {
		p.title = title
	}
	return m.showPage(p.show(want, hit))
}

// showPage renders what the preview wants, if it must be rendered, or else more of the
// conversation when an end of it is near.
func (m *Model) showPage(mustRender bool) tea.Cmd {
	return m.loadIf(mustRender || m.preview.more())
}

// loadIf renders what the preview wants, if it must be rendered.
func (m *Model) loadIf(mustRender bool) tea.Cmd {
	if !mustRender {
		return nil
	}
	return m.loadPreview()
}

// loadPreview renders what the preview wants. As with searches there is one job
// at a time.
func (m *Model) loadPreview() tea.Cmd {
	p := &m.preview
	if p.running != nil {
		if p.loading != p.want {
			p.running.stop()
		}
		return nil
	}
	ctx, stop := context.WithCancel(m.ctx)
	p.running, p.loading = &job{stop}, p.want
	want, render := p.want, m.options.Preview
	return command(func() then {
		defer stop()
		page, err := render(ctx, want.Place, want.Extent)
		return func(m *Model) tea.Cmd { return m.previewed(want, page, err) }
	})
}

// previewed shows a part of a conversation.
func (m *Model) previewed(asked request, page *Preview, err error) tea.Cmd {
	p := &m.preview
	p.running = nil
	cancelled := errors.Is(err, context.Canceled)
	switch {
	case err == nil:
		newer := p.page != nil && asked.generation != p.have.generation
		p.loaded(asked, page)
		m.folded()
		if newer && asked == p.want {
			return tea.Batch(m.refind(), m.showPage(false))
		}
	case asked == p.want && !cancelled:
		p.failed = err
	}
	switch {
	case (cancelled || asked != p.want) && p.want != p.have && p.want.Path != "" && m.ctx.Err() == nil:
		return m.loadPreview()
	case err == nil: // there may be room for more
		return m.showPage(false)
	}
	return nil
}
