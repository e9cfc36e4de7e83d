package ssh

import (
	"context"

	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/query/similar"
	"pigrep/remote"
)

var _ Answerer = (*Client)(nil)

// parts asks a question with parts.
func parts[Part, Res any](ctx context.Context, c *Client, question string, req any, visit func(*Part) error) (*Res, error) {
	res := new(Res)
	err := c.ask(ctx, question, req, func(r *reply) error {
		part := new(Part)
		if err := decode(r.Part, r.Beside, part); err != nil {
			return c.garbage(err)
		}
		c.adopt(part)
		return visit(part)
	}, res)
	if err != nil {
		return nil, err
	}
	c.adopt(res)
	return res, nil
}

// Answer implements remote.Answers.
func (c *Client) Answer(ctx context.Context, kind string, req any) (any, error) {
	switch req := req.(type) {
	case *search.Request:
		req.Later = false // an answer comes as a whole
	case *similar.Weighing:
		req.Path = c.there(req.Path)
	case *similar.Comparison:
		req.Of.Path = c.there(req.Of.Path)
	}
	if kind == remote.Calls.Name {
		return c.calls(ctx, req)
	}
	_, res := remote.Kinds[kind].New()
	if err := c.ask(ctx, kind, req, nil, res); err != nil {
		return nil, err
	}
	c.adopt(res)
	return res, nil
}

// there returns how the host calls a session file of it.
func (c *Client) there(path string) string {
	if host, there, ok := remote.Split(path); ok && host == c.Host.Name {
		return there
	}
	return ""
}

// calls keeps the rows of a list of calls until they are visited.
func (c *Client) calls(ctx context.Context, req any) (*audit.CallList, error) {
	var rows []*audit.CallRow
	size := 0
	list, err := parts[audit.CallRow, audit.CallList](ctx, c, remote.Calls.Name, req, func(row *audit.CallRow) error {
		if size += len(row.Arguments) + 512; size > maxAnswer {
			return remote.ErrTooMuch
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	list.Each = func(_ context.Context, visit func(*audit.CallRow) error) error {
		for _, row := range rows {
			if err := visit(row); err != nil {
				return err
			}
		}
		return nil
	}
	return list, nil
}

func (c *Client) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	return parts[grep.Match, remote.Grepped](ctx, c, askGrep, req, visit)
}

// Version returns the version of pigrep on the host, "" before the first answer.
func (c *Client) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return ""
	}
	return terminal.Clip(terminal.Clean(c.conn.greeting.Version), maxReason)
}
