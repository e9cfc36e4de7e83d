package mcp

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The URIs of resources. Their SESSION and ENTRY are those of read_session.
const (
	helpURI    = "pigrep://help/query"
	sessionURI = "pigrep://session/"
)

// resourceBytes bounds a resource, since all of it gets into the context.
const resourceBytes = 64_000

func (s *server) addResources(m *mcp.Server) {
	m.AddResource(&mcp.Resource{
		URI: helpURI, Name: "query-language", Title: "The query language", MIMEType: "text/plain",
		Description: "How to phrase a query of search: fields, phrases, alternatives, what each does.",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return textResource(req.Params.URI, s.Help()), nil
	})
	m.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: sessionURI + "{session}", Name: "session", Title: "A past session", MIMEType: "text/plain",
		Description: "The transcript of a session from its beginning, long results cut. read_session reads on.",
	}, s.sessionResource)
	m.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: sessionURI + "{session}/{entry}", Name: "entry", Title: "An entry of a past session", MIMEType: "text/plain",
		Description: "One entry of a session, its texts whole.",
	}, s.sessionResource)
}

func textResource(uri, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}}}
}

func (s *server) sessionResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	name, entry, one := strings.Cut(strings.TrimPrefix(uri, sessionURI), "/")
	var err error
	if name, err = url.PathUnescape(name); err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if entry, err = url.PathUnescape(entry); err != nil || name == "" || one && entry == "" {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	in := &ReadInput{Session: name, Entry: entry, Full: one, Transcript: true, Paging: Paging{MaxBytes: 2 * resourceBytes}}
	if one {
		in.Around = new(int)
	}
	result, err := s.read(ctx, in)
	if e, ok := errors.AsType[*Error](err); ok && (e.Code == codeNotFound || e.Code == codeAmbiguous) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	return textResource(uri, result.Content[0].(*mcp.TextContent).Text), nil
}

// promptTexts has the text of each prompt, by its name.
//
//go:embed prompts
var promptTexts embed.FS

// promptRow is a prompt about a topic.
type promptRow struct{ name, title, description, argument, about string }

var prompts = []promptRow{
	{
		"find_where_we_solved", "Find where we solved…", "Find the past session in which a problem was solved, and how.",
		"problem", "the problem: an error message, a symptom, a task",
	},
	{
		"summarise_what_was_tried", "Summarise what was tried about…", "Tell what past sessions tried about a topic, what worked and what did not.",
		"topic", "the topic: a feature, a bug, a tool",
	},
}

func addPrompts(m *mcp.Server) {
	for _, p := range prompts {
		text, err := promptTexts.ReadFile("prompts/" + p.name + ".txt")
		if err != nil {
			panic(err) // each prompt has a file
		}
		described := &mcp.Prompt{
			Name: p.name, Title: p.title, Description: p.description,
			Arguments: []*mcp.PromptArgument{{Name: p.argument, Description: p.about, Required: true}},
		}
		m.AddPrompt(described, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			about := req.Params.Arguments[p.argument]
			if about == "" {
				return nil, fmt.Errorf("the argument %q is missing: %s", p.argument, p.about)
			}
			return &mcp.GetPromptResult{
				Description: p.description,
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprintf(string(text), about)}}},
			}, nil
		})
	}
}
