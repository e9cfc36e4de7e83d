package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"pigrep/index"
	"pigrep/internal/ui/printer"
	"pigrep/internal/ui/tui"
	"pigrep/internal/ui/web"
	"pigrep/query"
	"pigrep/query/facets"
	"pigrep/query/sessions"
)

// webBackend implements the functions of the page in the browser. It searches and follows
// the session files as the TUI does.
type webBackend struct {
	*tuiBackend
}

// newWebBackend returns the backend for an index. The caller closes the index.
func newWebBackend(ctx context.Context, a *App, o *webOptions, p *location) *webBackend {
	quiet := *a
	quiet.quiet = true // warnings go to pages
	return &webBackend{newTUIBackend(ctx, &quiet, &tuiOptions{sharedOptions: o.sharedOptions}, p)}
}

func (b *webBackend) options(o *webOptions) web.Options {
	a := b.app
	return web.Options{
		Backend: web.Backend{Search: b.search, Sessions: b.sessions, Facets: b.facets, Values: b.values, Status: b.status, Follow: b.follow},
		Redact:  o.redact, Idle: o.idle, Now: a.Now, Zone: a.Zone(), Home: a.Home, Foreign: foreign,
	}
}

// pageError turns an error into one for pages.
func pageError(err error) error {
	if errors.Is(err, tui.ErrNoIndex) {
		return &web.Error{Status: http.StatusServiceUnavailable, Message: "The index is being built.", Hint: "This page shows how far it is; load it again in a moment."}
	}
	p, ok := errors.AsType[*problem](err)
	if !ok {
		return err
	}
	e := &web.Error{Status: http.StatusInternalServerError, Message: p.Error(), Hint: p.hint}
	if p.code == codeNotFound {
		e.Status = http.StatusNotFound
	}
	return e
}

func (b *webBackend) search(ctx context.Context, req query.Request) (*query.Response, error) {
	req.Resume = b.location.agents.ResumeCommand
	req.Env.Expand = b.app.absolute
	res, err := b.tuiBackend.search(ctx, req)
	return res, pageError(err)
}

func (b *webBackend) sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	req.Env.Expand = b.app.absolute
	res, err := b.tuiBackend.sessions(ctx, req)
	return res, pageError(err)
}

func (b *webBackend) facets(ctx context.Context, req query.Request) (res *facets.Response, err error) {
	req.Env.Expand = b.app.absolute
	err = b.ask(ctx, func(r *index.Reader) (err error) {
		res, err = facets.Of(ctx, r, b.location.agents, disk{}, req)
		return err
	})
	return res, pageError(err)
}

func (b *webBackend) values(ctx context.Context) ([]sessions.Facet, error) {
	list, err := b.tuiBackend.facets(ctx)
	return list, pageError(err)
}

func (b *webBackend) status() (*printer.Status, error) {
	s, err := b.app.status(b.location)
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
	return ofAnotherUser(remote.Port)
}
