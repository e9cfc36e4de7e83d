package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/index"
	"pigrep/query"
)

// A tool turns its arguments, which it may change, into a result.
type tool[In any] struct {
	name, title, description string
	output                   *jsonschema.Schema
	call                     func(ctx context.Context, in *In) (*mcp.CallToolResult, error)
}

// add offers a tool.
func add[In any](m *mcp.Server, s *server, t tool[In]) {
	input := inputSchema[In]()
	no := false
	described := &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: input, OutputSchema: t.output,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}
	s.catalogue = append(s.catalogue, described)
	m.AddTool(described, func(ctx context.Context, req *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if r := recover(); r != nil {
				s.Logger.Error("panic", "tool", t.name, "value", r)
				result, err = failure(fmt.Errorf("internal error: %v", r)), nil
			}
		}()
		var in In
		if err := decode(req.Params.Arguments, input, &in); err != nil {
			return failure(err), nil
		}
		result, err = t.call(ctx, &in)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err() // nobody waits for the answer
		case err != nil:
			s.Logger.Debug("refused", "tool", t.name, "error", err)
			return failure(err), nil
		}
		return result, nil
	})
}

// failure is an error as the result of a tool, which the agent reads.
func failure(err error) *mcp.CallToolResult {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Code: "internal", Message: err.Error()}
	}
	data, encodeErr := encode(struct {
		Error *Error `json:"error"`
	}{e})
	if encodeErr != nil {
		data = nil
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: e.Error()}}, StructuredContent: data}
}

// encode writes JSON as all of pigrep does.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encodedLen is how long a value is in JSON as it goes over the wire, where the
// protocol escapes what HTML would read.
func encodedLen(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(data)
}

// head begins every answer.
type head struct {
	SchemaVersion int    `json:"schemaVersion"`
	Command       string `json:"command" jsonschema:"the command of pigrep that answers the same"`
}

// schemaVersion is that of the JSON of the commands.
const schemaVersion = 1

// tail ends every answer that has pages.
type tail struct {
	Warnings   []string         `json:"warnings"`
	LeftOut    *leftOut         `json:"leftOut,omitempty" jsonschema:"the session you are running in, which includeCurrent brings back"`
	Dropped    int              `json:"dropped,omitempty" jsonschema:"items left out at the end because of maxBytes"`
	NextCursor string           `json:"nextCursor,omitempty" jsonschema:"leads to what comes next; absent at the end"`
	Index      query.IndexState `json:"index"`
}

// leftOut names a session that was not searched.
type leftOut struct {
	SessionPath string `json:"sessionPath,omitempty"`
	SessionID   string `json:"sessionId,omitempty"`
}

// page is an answer that is cut to a budget: the first so many of its items.
type page struct {
	max   int
	items int
	size  func(i int) int // bytes of an item, about
	// result makes the answer with the first n items.
	result func(n int) (structured any, text string)
}

// cut returns the answer with as many whole items as the budget has room for.
func (p *page) cut() (*mcp.CallToolResult, error) {
	none, used, err := p.render(0)
	if err != nil || p.items == 0 {
		return none, err
	}
	n := 0
	for n < p.items && used < p.max {
		used += p.size(n)
		n++
	}
	for ; n > 0; n-- {
		r, size, err := p.render(n)
		if err != nil || size <= p.max {
			return r, err
		}
	}
	_, size, err := p.render(1)
	if err != nil {
		return nil, err
	}
	return nil, &Error{codeBudget, fmt.Sprintf("the first item takes %d bytes, more than maxBytes (%d)", size, p.max),
		fmt.Sprintf("ask with maxBytes %d or more", min(mostBytes, size+size/4))}
}

// envelopeBytes is what the protocol puts around a result, at most.
const envelopeBytes = 160

func (p *page) render(n int) (*mcp.CallToolResult, int, error) {
	structured, text := p.result(n)
	data, err := encode(structured)
	if err != nil {
		return nil, 0, err
	}
	text = strings.TrimRight(text, "\n")
	r := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: data}
	return r, encodedLen(r) + envelopeBytes, nil
}

// indexed opens the index for a request, that of its cursor if it has one.
func (s *server) indexed(ctx context.Context, tool string, input any, p Paging) (*Index, *cursor, error) {
	// To the minute: what relative times mean does not change between two calls.
	at := &cursor{Request: hashRequest(s.Name, tool, input), Now: s.Now().Truncate(time.Minute).UnixMilli()}
	if p.Cursor == "" {
		x, err := s.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		at.Generation = x.Reader.Generation()
		return x, at, nil
	}
	now := at.Now
	at, err := decodeCursor(p.Cursor, at.Request)
	if err != nil {
		return nil, nil, err
	}
	if at.Now == 0 {
		at.Now = now
	}
	if x := s.At(at.Generation); x != nil {
		return x, at, nil
	}
	x, err := s.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	if x.Reader.Generation() == at.Generation {
		return x, at, nil
	}
	defer x.Close()
	return nil, nil, expired(at, x.Reader.Generation())
}

// next returns the cursor to a place of the same answer.
func (s *server) next(x *Index, at *cursor, set func(*cursor)) string {
	c := *at
	if !c.relative {
		c.Now = 0
	}
	set(&c)
	x.Pin()
	return c.encode()
}

// request makes the request of a tool from its filters and the text of its query,
// and leaves out the session in which the agent runs.
func (s *server) request(f Filters, text string, x *Index, at *cursor) (query.Request, *leftOut, error) {
	at.relative = f.Since != "" || f.Until != "" || strings.Contains(text, "after:") || strings.Contains(text, "before:")
	req, err := s.Request(f, time.UnixMilli(at.Now))
	if err != nil {
		return req, nil, err
	}
	req.Text, req.Redact = strings.TrimSpace(text), !s.Reveal
	if f.IncludeCurrent || len(f.Session) > 0 {
		return req, nil, nil
	}
	out, globs := s.current(x.Reader)
	req.Excludes = append(req.Excludes, globs...)
	return req, out, nil
}

// current returns the session in which the agent runs, as far as it is known, and
// the globs that leave its files out.
func (s *server) current(r *index.Reader) (*leftOut, []string) {
	if s.Current == (Session{}) {
		return nil, nil
	}
	out := &leftOut{SessionPath: s.Current.Path, SessionID: s.Current.ID}
	var globs []string
	for i := range r.Summaries() {
		sum := &r.Summaries()[i]
		if sum.Path == s.Current.Path || s.Current.ID != "" && sum.ID == s.Current.ID {
			globs = append(globs, literalGlob(sum.Path))
			out.SessionPath, out.SessionID = sum.Path, sum.ID
		}
	}
	if s.Current.Path != "" {
		globs = append(globs, literalGlob(s.Current.Path)) // it may not be indexed yet
	}
	return out, globs
}

// literalGlob is a glob that matches this path only.
func literalGlob(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}
