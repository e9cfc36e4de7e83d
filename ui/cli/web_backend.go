package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"pigrep/index"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/rank"
	"pigrep/query/facets"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/resume"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
	"pigrep/ui/report"
	"pigrep/ui/tui"
	"pigrep/ui/web"
)

// webBackend implements the functions of the page in the browser. It searches and follows
// the session files as the TUI does.
type webBackend struct {
	*tuiBackend
}

// keepPages is how long pages of the index stay mapped after a question: until long after
// the next key.
const keepPages = 10 * time.Second

// newWebBackend returns the backend for an index. The caller closes the index.
func newWebBackend(ctx context.Context, a *app.App, o *webOptions, p *location.Location) *webBackend {
	quiet := *a
	quiet.Quiet = true // warnings go to pages
	b := &webBackend{newTUIBackend(ctx, &quiet, &tuiOptions{Shared: o.Shared}, p)}
	b.index.Keep = keepPages
	return b
}

func (b *webBackend) options(o *webOptions) web.Options {
	a := b.app
	return web.Options{
		Backend: web.Backend{
			Search: b.search, Sessions: b.sessions, Facets: b.facets, Values: b.values, Audits: b.audits,
			Open: b.open, Find: b.offsets, Export: b.export, Formats: exportFormats,
			Status: b.status, Follow: b.follow,
		},
		Redact: o.Redact, Idle: o.idle, Now: a.Now, Zone: a.Zone(), Home: a.Home, Foreign: foreign,
	}
}

// pageError turns an error into one for pages.
func pageError(err error) error {
	if errors.Is(err, tui.ErrNoIndex) {
		return &web.Error{Status: http.StatusServiceUnavailable, Message: "There is no index yet.", Hint: "Load the page again when it is built; with --no-update, build it: pigrep index"}
	}
	p, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return err
	}
	e := &web.Error{Status: http.StatusInternalServerError, Message: p.Error(), Hint: p.Hint}
	if p.Code == conversation.CodeNotFound {
		e.Status = http.StatusNotFound
	}
	return e
}

func (b *webBackend) search(ctx context.Context, req search.Request) (*search.Response, error) {
	req.Resume = b.location.Agents.ResumeCommand
	req.Env.Expand = b.app.Absolute
	res, err := b.tuiBackend.search(ctx, req)
	return res, pageError(err)
}

func (b *webBackend) sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	req.Env.Expand = b.app.Absolute
	res, err := b.tuiBackend.sessions(ctx, req)
	return res, pageError(err)
}

func (b *webBackend) facets(ctx context.Context, req search.Request) (res *facets.Response, err error) {
	req.Env.Expand = b.app.Absolute
	err = b.ask(ctx, func(r *index.Reader) (err error) {
		res, err = facets.Of(ctx, r, b.location.Agents, location.Disk{}, req)
		return err
	})
	return res, pageError(err)
}

func (b *webBackend) values(ctx context.Context) ([]sessions.Facet, error) {
	list, err := b.tuiBackend.facets(ctx)
	return list, pageError(err)
}

// findMasked returns the only session whose name, made of its masked path as rows of audits
// have it, is name; -1 if there is none, or several.
func findMasked(list []session.Summary, name string) int {
	found := -1
	for i := range list {
		if web.ConversationName(redact.Text(list[i].Path), redact.Text(list[i].ID)) != name {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// find opens the session with a name in addresses. The caller calls done.
func (b *webBackend) find(name string) (x *snapshot.Snapshot, t *conversation.Target, done func(), err error) {
	x, give, err := b.tuiBackend.open()
	if err != nil {
		return nil, nil, nil, pageError(err)
	}
	summaries := x.Reader.Summaries()
	i := slices.IndexFunc(summaries, func(s session.Summary) bool { return web.ConversationName(s.Path, s.ID) == name })
	if i < 0 {
		i = findMasked(summaries, name)
	}
	path := ""
	if i >= 0 {
		path = summaries[i].Path
	} else if s, err := sessions.FindSession(summaries, name); err == nil {
		path = s.Path
	} else {
		give()
		return nil, nil, nil, &web.Error{Status: http.StatusNotFound, Message: "There is no session " + name + ".", Hint: "It may have been deleted."}
	}
	if t, err = conversation.Open(b.app, x, path, ""); err != nil {
		give()
		return nil, nil, nil, pageError(err)
	}
	return x, t, func() { t.Close(); give() }, nil
}

func (b *webBackend) open(ctx context.Context, name, leaf string, masked bool) (c *web.Conversation, err error) {
	x, t, done, err := b.find(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	t.Redact = masked
	facts, err := t.Facts(ctx, b.app, x)
	if err != nil {
		return nil, pageError(problem.OfIndex(err))
	}
	var branch []int
	if leaf != "" {
		i := t.Tree.Find(leaf)
		if i < 0 {
			return nil, &web.Error{Status: http.StatusNotFound, Message: "There is no entry " + leaf + " in this session."}
		}
		branch = t.Tree.Through(i)
	}
	o := &exportOptions{leaf: leaf}
	o.Redact = masked
	c = &web.Conversation{Page: o.page(b.app, t, facts, branch, nil), Path: t.Record.Path, Leaf: leaf != "", Close: done}
	switch r, err := (&resume.Manner{}).Plan(b.app, t); {
	case err == nil:
		c.Command, c.Notes = r.Command, r.Warnings
	default:
		p, ok := errors.AsType[*problem.Error](err)
		if !ok {
			return nil, err
		}
		c.Notes = append(c.Notes, p.Error())
	}
	if masked {
		c.Command = redact.Text(c.Command)
		redact.Strings(&c.Notes)
	}
	return c, nil
}

func (b *webBackend) offsets(ctx context.Context, req search.Request) (list []int64, err error) {
	req.Env.Expand = b.app.Absolute
	err = b.ask(ctx, func(r *index.Reader) error {
		list = nil
		in, err := req.Resolve(ctx, r, b.location.Agents, location.Disk{})
		if err != nil {
			return err
		}
		_, err = rank.Every(ctx, in, func(_ uint32, offset int64, _ int) { list = append(list, offset) })
		return err
	})
	return list, pageError(err)
}

func (b *webBackend) export(ctx context.Context, name, format string, masked bool) (file string, write func(io.Writer) error, err error) {
	x, t, done, err := b.find(name)
	if err != nil {
		return "", nil, err
	}
	title := search.Describe(&t.Record.Summary, nil).Title
	if masked {
		title = t.Record.ID
	}
	file = exportName(title, t.ShortID(session.Handle(t.Record.ID, t.Record.Path)))
	return file, func(w io.Writer) error {
		defer done()
		a := *b.app
		a.Out = bufio.NewWriter(w)
		o := &exportOptions{format: format}
		o.Redact = masked
		if err := o.export(ctx, &a, x, t, search.Request{}); err != nil {
			return err
		}
		return a.Out.Flush()
	}, nil
}

func (b *webBackend) audits(ctx context.Context, answer func(*report.Source) error) error {
	return pageError(b.ask(ctx, func(r *index.Reader) error { return answer(auditSource(r, b.location.Agents)) }))
}

func (b *webBackend) status() (*printer.Status, error) {
	s, err := status(b.app, b.location)
	return s, pageError(err)
}

func (b *webBackend) follow(ctx context.Context, report func(web.State)) {
	b.tuiBackend.follow(ctx, func(s tui.State) {
		state := web.State{Generation: s.Generation, Note: s.Problem}
		switch {
		case s.Problem != "" && s.Hint != "":
			state.Note += "; " + s.Hint
		case s.Problem == "" && s.Indexing && s.First:
			state.Note = fmt.Sprintf("%.0f %% of the session files are indexed", 100*s.Share)
		}
		report(state)
	})
}

func foreign(c net.Conn) bool {
	remote, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return false
	}
	return system.OfAnotherUser(remote.Port)
}
