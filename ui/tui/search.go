package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
)

// searching is the running search and the last answer.
type searching struct {
	seq     int                // of the newest request
	running context.CancelFunc // stops the search; nil when none runs
	again   bool               // search again when it has ended
	slow    bool               // it has run for a while
	early   bool               // what is shown is what has come so far for the newest request
	limit   int                // sessions
	room    int                // lines that hits of sessions may fill; 0 asks for the usual number
	refresh bool               // the newest request repeats the one before, on a newer generation

	answered   bool   // at least once
	known      uint64 // the newest generation at the time of the request
	generation uint64 // of the last answer without an error
	several    bool   // it has sessions of several agents
	indexed    int    // sessions, when they were last listed
	summary
}

// summary is what an answer says besides its hits.
type summary struct {
	shown    string           // the text that was searched
	found    *search.Response // by a query; empty without one
	sessions int              // that exist, or that are shown
	more     bool
	took     time.Duration
	noWord   string // why there is nothing to search for
	why      string // why no hit has every word
	failed   error
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
	s.refresh = refresh && (s.refresh || s.running == nil)
	if s.running != nil {
		s.running()
		s.again = true
		return nil
	}
	req := m.narrow(m.request)
	req.Text, req.Limit, req.Env.Now = strings.TrimSpace(m.query.text), s.limit, m.options.Now()
	end := searched{seq: s.seq, text: m.query.text}
	if req.PerSession == 0 {
		req.PerSession = s.room
	}
	o, post := m.options, m.post
	post(slowAfter, func(m *Model) tea.Cmd {
		m.search.slow = m.search.running != nil && end.seq == m.search.seq
		return nil
	})
	return m.start(&s.running, func(ctx context.Context) then {
		some := end
		ctx = remote.WithEarly(ctx, func(answer any) {
			soon := some
			soon.answer, _ = answer.(*search.Response)
			soon.list, _ = answer.(*sessions.Response)
			post(0, func(m *Model) tea.Cmd { // some machines have answered, others still work
				s := &m.search
				if s.running == nil || s.again || soon.seq != s.seq {
					return nil
				}
				s.early = true
				return m.present(soon)
			})
		})
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
	return m.place() == inList && !m.moved && m.search.running != nil && !m.search.refresh && !m.search.early
}

// present shows the sessions of an answer.
func (m *Model) present(msg searched) tea.Cmd {
	s := &m.search
	m.moved = m.moved && msg.text == s.shown
	keep := s.answered && m.moved
	groups := m.read(msg)
	s.answered = true
	m.results.whole, m.results.height = !s.more, m.layout().list.height
	m.results.set(groups, keep)
	if len(groups) == 0 {
		m.reading, m.findFocus = false, false
	}
	cmd := m.showPreview()
	if do := m.waiting; do != nil && (len(groups) > 0 || s.running == nil) {
		m.waiting = nil
		if len(groups) > 0 {
			cmd = tea.Batch(cmd, do(m))
		}
	}
	return cmd
}

func (m *Model) showAnswer(msg searched) tea.Cmd {
	s := &m.search
	s.slow = false
	if s.again {
		s.again = false
		return m.begin(s.refresh)
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
	s.summary = summary{shown: msg.text, took: msg.took, found: new(search.Response)}
	textError, isTextError := errors.AsType[*words.TextError](msg.err)
	switch r := msg.answer; {
	case isTextError:
		s.noWord = human.Joined(" — ", textError.Reason, textError.Hint)
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
		s.found, s.sessions, s.more = r, len(groups), len(groups) == s.limit
		s.why = search.ExplainWords(r.Words, r.Removed, r.DidYouMean, m.withoutFilter)
		s.generation, s.several = r.Index.Generation, r.Index.Several
	}
	return groups
}

// searchMore requests more sessions when the end of the list is near, and more of their hits when there is
// room below all of them.
func (m *Model) searchMore() tea.Cmd {
	s, height := &m.search, m.layout().list.height
	free := len(m.results.rows) < height
	switch {
	case s.running != nil:
		return nil
	case s.more && s.limit < mostLimit && (free || m.results.at >= len(m.results.items)-5):
		s.limit *= moreLimit
	case !s.more && free && s.room < height && m.results.lacks():
		s.room = height
	default:
		return nil
	}
	return m.begin(true)
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
	p.show(want, hit)
	return m.load()
}

// load renders what the preview wants and does not have, or more of the conversation when an
// end of it is near. As with searches there is one job at a time.
func (m *Model) load() tea.Cmd {
	p := &m.preview
	p.askForMore()
	if p.want == p.have && p.page != nil || p.want.Path == "" || p.failed != nil || m.ctx.Err() != nil {
		return nil
	}
	if p.running != nil {
		if p.loading != p.want {
			p.running()
		}
		return nil
	}
	p.loading = p.want
	want, render := p.want, m.options.Preview
	return m.start(&p.running, func(ctx context.Context) then {
		page, err := render(ctx, want.Place, want.Extent)
		return func(m *Model) tea.Cmd { return m.previewed(want, page, err) }
	})
}

func (m *Model) previewed(asked request, page *Preview, err error) tea.Cmd {
	p := &m.preview
	switch {
	case err == nil:
		newer := p.page != nil && asked.generation != p.have.generation
		p.loaded(asked, page)
		m.folded()
		if newer && asked == p.want && p.find.known != "" { // count again what may have changed
			return tea.Batch(m.findText(), m.load())
		}
	case asked == p.want && !errors.Is(err, context.Canceled):
		p.failed = err
	}
	return m.load()
}
