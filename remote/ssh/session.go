package ssh

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"pigrep/internal/session"
	"pigrep/query/search"
	"pigrep/remote"
)

// SessionRequest asks for session files.
type SessionRequest struct {
	Names  []string // of sessions: see remote.Question
	Latest int      // without names: so many, the latest first
	Brief  bool     // summaries are enough
}

// Piece is a piece of a session file, masked on its host: its summary comes first, then its
// lines.
type Piece struct {
	Summary *session.Summary `json:",omitempty"`
	Lines   string           `json:",omitempty"`
}

func (c *Client) Session(ctx context.Context, req SessionRequest, visit func(*Piece) error) (*remote.Coverage, error) {
	return parts[Piece, remote.Coverage](ctx, c, askSession, req, visit)
}

// Source returns the host as a source of whole sessions.
func (c *Client) Source() remote.Source { return source{c} }

type source struct{ *Client }

// Name implements remote.Source.
func (c source) Name() string { return c.Host.Name }

// errQuestion means that a host does not send its sessions for a question: it answers it itself.
var errQuestion = errors.New("a host sends only sessions that are named")

// Sessions implements remote.Source.
func (c source) Sessions(ctx context.Context, q *remote.Question, visit func(*remote.Session) error) (remote.Coverage, error) {
	req := SessionRequest{Latest: q.Wanted, Brief: q.Brief}
	for _, name := range q.Names {
		host, path, ok := remote.Split(name)
		switch {
		case !ok:
			req.Names = append(req.Names, name)
		case host == c.Host.Name:
			req.Names = append(req.Names, path)
		}
	}
	switch {
	case len(q.Names) > 0 && len(req.Names) == 0: // of other hosts
		return remote.Coverage{}, nil
	case len(req.Names) == 0 && req.Latest == 0:
		return remote.Coverage{}, errQuestion
	}
	var now *remote.Session
	var text strings.Builder
	done := func() error {
		if now == nil {
			return nil
		}
		if now.Text = []byte(text.String()); req.Brief {
			now.Text = nil
		}
		text = strings.Builder{}
		return visit(now)
	}
	got, err := c.Session(ctx, req, func(p *Piece) error {
		if p.Summary != nil {
			if err := done(); err != nil {
				return err
			}
			now = &remote.Session{Host: c.Host.Name, Path: p.Summary.Path, Summary: *p.Summary}
			now.Summary.Path = remote.Name(now.Host, now.Path)
		}
		if text.Len()+len(p.Lines) > maxSession {
			return fmt.Errorf("%w: a session of more than %d MB", remote.ErrTooMuch, maxSession>>20)
		}
		text.WriteString(p.Lines)
		return nil
	})
	if err == nil {
		err = done()
	}
	if err != nil {
		return remote.Coverage{}, err
	}
	return *got, nil
}

// ResumeRequest asks how a session is resumed.
type ResumeRequest struct {
	search.Request
	Words []string
	Last  bool
	Fork  bool
	In    string
}

// ResumeAnswer is the command that resumes a session on its host.
type ResumeAnswer struct {
	Session   search.SessionHit
	Version   int
	Entries   int
	EntryID   string
	Branch    string
	InContext *bool
	Dir       string
	Argv      []string
	Fork      bool
	Warnings  []string
}

// Resume asks all hosts how the session is resumed that a request names. Those that do not have
// it say so with an error.
func (h *Asking) Resume(ctx context.Context, req ResumeRequest) (found []*ResumeAnswer, on []*Host, refused error) {
	answers, errs := make([]*ResumeAnswer, len(h.Clients)), make([]error, len(h.Clients))
	var asking sync.WaitGroup
	for i, c := range h.Clients {
		asking.Go(func() { answers[i], errs[i] = Resuming.Ask(ctx, c, req) })
	}
	asking.Wait()
	for i, answer := range answers {
		if errs[i] == nil {
			found, on = append(found, answer), append(on, &h.Clients[i].Host)
		} else if err := h.miss(errs[i]); err != nil {
			refused = err
		}
	}
	if len(found) == 0 && refused == nil {
		refused = h.none()
	}
	return found, on, refused
}
