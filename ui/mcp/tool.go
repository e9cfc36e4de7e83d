package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/index"
)

// A tool makes a result of its arguments, which it may change.
type tool[In any] struct {
	name, title, description string
	output                   *jsonschema.Schema
	call                     func(ctx context.Context, in *In) (*mcp.CallToolResult, error)
}

// add adds a tool to the server.
func add[In any](m *mcp.Server, s *server, t tool[In]) {
	input := inputSchema[In]()
	no := false
	described := &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: brief[In](input), OutputSchema: t.output,
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
		if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
			s.client.Store(&p.ClientInfo.Name)
		}
		var in In
		if err := decode(req.Params.Arguments, input, &in); err != nil {
			return failure(err), nil
		}
		result, err = t.call(ctx, &in)
		if errors.Is(err, index.ErrDamaged) { // opening the index again rebuilds it
			var again In
			if err = decode(req.Params.Arguments, input, &again); err == nil {
				result, err = t.call(ctx, &again)
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err() // the client does not wait any more
		case errors.Is(err, context.DeadlineExceeded):
			return failure(&Error{codeLate, fmt.Sprintf("not answered within %s", answerWithin), lateHint}), nil
		case err != nil:
			s.Logger.Debug("refused", "tool", t.name, "error", err)
			return failure(err), nil
		}
		return result, nil
	})
}

// briefly shortens errors of the protocol, which repeat the names and addresses in requests.
func briefly(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && len(e.Message)+len(e.Data) > longestWarning {
			err = &jsonrpc.Error{Code: e.Code, Message: beginning(e.Message, longestWarning)}
		} else if !ok && err != nil && len(err.Error()) > longestWarning {
			err = errors.New(beginning(err.Error(), longestWarning))
		}
		return result, err
	}
}

// failure is the result of a tool that failed, for the agent to read. It does not repeat long
// input. It has no structured part: clients check that against the schema of answers, and some
// reject the whole result.
func failure(err error) *mcp.CallToolResult {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Code: "internal", Message: err.Error()}
	}
	said := &Error{Message: beginning(e.Message, 500), Hint: beginning(e.Hint, 2000)}
	return &mcp.CallToolResult{IsError: true, Meta: mcp.Meta{codeKey: e.Code}, Content: []mcp.Content{&mcp.TextContent{Text: said.Error()}}}
}

// codeKey is where the metadata of a failed call has the code of the error.
const codeKey = "pigrep/code"

// encode writes JSON without escaping for HTML.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encodedLen is the length of a value on the wire, where the protocol escapes JSON
// for HTML.
func encodedLen(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(data)
}
