package ssh

import (
	"context"

	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
)

var _ Answerer = (*Client)(nil)

// answer asks a question with one answer.
func answer[Res any](ctx context.Context, c *Client, question string, req any) (*Res, error) {
	res := new(Res)
	if err := c.ask(ctx, question, req, nil, res); err != nil {
		return nil, err
	}
	c.adopt(res)
	return res, nil
}

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

func (c *Client) Prepare(ctx context.Context, req remote.PrepareRequest) (*remote.Prepared, error) {
	return answer[remote.Prepared](ctx, c, "prepare", req)
}

func (c *Client) Search(ctx context.Context, req search.Request) (*search.Response, error) {
	req.Later = false // an answer comes as a whole
	return answer[search.Response](ctx, c, "search", req)
}

func (c *Client) Sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	return answer[sessions.Response](ctx, c, "sessions", req)
}

func (c *Client) Facets(ctx context.Context, req search.Request) (*facets.Response, error) {
	return answer[facets.Response](ctx, c, "facets", req)
}

func (c *Client) Values(ctx context.Context, _ struct{}) (*[]sessions.Facet, error) {
	return answer[[]sessions.Facet](ctx, c, "values", struct{}{})
}

func (c *Client) Count(ctx context.Context, req search.Request) (*search.Counts, error) {
	return answer[search.Counts](ctx, c, "count", req)
}

func (c *Client) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	return parts[grep.Match, remote.Grepped](ctx, c, "grep", req, visit)
}

func (c *Client) Tools(ctx context.Context, req audit.Request) (*audit.ToolTable, error) {
	return answer[audit.ToolTable](ctx, c, "tools", req)
}

func (c *Client) Commands(ctx context.Context, req audit.Request) (*audit.CommandTable, error) {
	return answer[audit.CommandTable](ctx, c, "commands", req)
}

// Calls keeps the rows of the list until they are visited.
func (c *Client) Calls(ctx context.Context, req audit.Request) (*audit.CallList, error) {
	var rows []*audit.CallRow
	size := 0
	list, err := parts[audit.CallRow, audit.CallList](ctx, c, "calls", req, func(row *audit.CallRow) error {
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

func (c *Client) Touched(ctx context.Context, req remote.FilesRequest) (*audit.FileTable, error) {
	return answer[audit.FileTable](ctx, c, "files", req)
}

func (c *Client) Usage(ctx context.Context, req audit.Request) (*audit.UsageTable, error) {
	return answer[audit.UsageTable](ctx, c, "usage", req)
}

func (c *Client) Fix(ctx context.Context, req fix.Request) (*fix.Response, error) {
	return answer[fix.Response](ctx, c, "fix", req)
}

func (c *Client) Entries(ctx context.Context, of []uint64) (*[]sessions.Entries, error) {
	return answer[[]sessions.Entries](ctx, c, "entries", of)
}

func (c *Client) Weigh(ctx context.Context, req similar.Weighing) (*similar.Weighed, error) {
	req.Path = c.there(req.Path)
	return answer[similar.Weighed](ctx, c, "weigh", req)
}

func (c *Client) Compare(ctx context.Context, req similar.Comparison) (*similar.Compared, error) {
	req.Of.Path = c.there(req.Of.Path)
	return answer[similar.Compared](ctx, c, "compare", req)
}

// there returns how the host calls a session file of it.
func (c *Client) there(path string) string {
	if host, there, ok := remote.Split(path); ok && host == c.Host.Name {
		return there
	}
	return ""
}

func (c *Client) Status(ctx context.Context, _ struct{}) (*remote.Status, error) {
	return answer[remote.Status](ctx, c, "status", struct{}{})
}

// Ping asks for nothing.
func (c *Client) Ping(ctx context.Context) (*struct{}, error) {
	return answer[struct{}](ctx, c, "ping", struct{}{})
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
