package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/query/engine/filter"
	"pigrep/ui/printer"
)

var update = flag.Bool("update", false, "write the golden files")

// connect returns a client of a server that has nothing to answer from.
func connect(t *testing.T, c Config) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	server, err := New(c).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		server.Wait()
	})
	return client
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s is not as agents know it (-want +got); -update accepts:\n%s", name, diff)
	}
}

// What agents read of every tool, prompt and resource: a change of it is seen.
func TestSchemas(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{})
	tools, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	input, output := 0, 0
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		input += len(marshal(t, map[string]any{"name": tool.Name, "description": tool.Description, "input_schema": tool.InputSchema}))
		output += len(marshal(t, tool.OutputSchema))
		golden(t, tool.Name, tool)
		if a := tool.Annotations; a == nil || !a.ReadOnlyHint || a.DestructiveHint == nil || *a.DestructiveHint {
			t.Errorf("%s does not say that it only reads", tool.Name)
		}
		if tool.OutputSchema == nil || tool.Description == "" || tool.Title == "" {
			t.Errorf("%s is not described", tool.Name)
		}
		checkDescribed(t, tool)
	}
	slices.Sort(names)
	if want := []string{"blame", "find_fix", "grep", "list_sessions", "read_session", "recap", "search", "status", "tool_calls", "usage"}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	// Models read the list of tools before every answer: at most 2,500 tokens of four bytes. Programs
	// read the schemas of answers.
	if input > 2_500*4 || output > 16_000 {
		t.Errorf("the list of tools takes %d bytes, and %d for the answers", input, output)
	}
	prompts, err := client.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "prompts", prompts.Prompts)
	resources, err := client.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	templates, err := client.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "resources", []any{resources.Resources, templates.ResourceTemplates})
	golden(t, "instructions", client.InitializeResult().Instructions)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkDescribed looks for arguments that say nothing of themselves.
func checkDescribed(t *testing.T, tool *mcp.Tool) {
	t.Helper()
	data := marshal(t, tool.InputSchema)
	var s struct {
		Properties map[string]struct{ Description, Type string }
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for name, p := range s.Properties {
		if p.Description == "" || p.Type == "" {
			t.Errorf("%s: the argument %s has no description or type: %+v", tool.Name, name, p)
		}
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{})
	for _, p := range prompts {
		got, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.name, Arguments: map[string]string{p.argument: "50 % of <x>"}})
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Messages[0].Content.(*mcp.TextContent).Text; !strings.Contains(text, "50 % of <x>") || strings.Contains(text, "%!") {
			t.Errorf("%s: %s", p.name, text)
		}
		if _, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.name}); err == nil {
			t.Errorf("%s without its argument is no error", p.name)
		}
	}
}

func TestHelpResource(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Help: func() string { return "the page" }})
	got, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: helpURI})
	if err != nil || got.Contents[0].Text != "the page" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Arguments that are wrong are refused with what is right.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Now: time.Now})
	for _, test := range []struct{ tool, arguments, want string }{
		{"search", `{}`, `"query" is missing`},
		{"search", `{"query":""}`, `"query" is missing`},
		{"search", `{"query":"x","limits":3}`, `nearest: limit;`},
		{"search", `{"query":"x","max_bytes":3}`, `nearest: maxBytes;`},
		{"search", `{"query":"x","per_session":3}`, `nearest: perSession;`},
		{"search", `{"query":"x","include_current":true}`, `nearest: includeCurrent`},
		{"search", `{"query":"x","zzz":true}`, `hint: there are agent, allWords, any, branch, context`},
		{"search", `{"query":3}`, `the argument "query" cannot be of type number`},
		{"search", `{"query":["x"]}`, "it is a string"},
		{"search", `{"query":"x","model":[1]}`, `the argument "model" cannot be`},
		{"search", `{"query":"x","model":[1]}`, "it is a list of strings"},
		{"search", `{"query":"x","limit":"many"}`, "it is a whole number"},
		{"search", `{"query":"x","limit":1e9}`, "limit"},
		{"search", `{"query":"x","limit":-1}`, "limit is -1, which is not between 1 and 200"},
		{"search", `{"query":"x","scope":"everything"}`, "prompts, conversations, all"},
		{"search", `{"query":"x","kind":["call","cal"]}`, `kind: there is no "cal"`},
		{"search", `{"query":"x","sort":"best"}`, "relevance, newest, oldest"},
		{"search", `{"query":"x","maxBytes":10}`, "between 1000 and 512000"},
		{"search", `{"query":"x","maxBytes":600000}`, "between 1000 and 512000"},
		{"search", `{"query":"x","context":100}`, "between 0 and 10"},
		{"grep", `{"pattern":"x","limit":1001}`, "between 1 and 1000"},
		{"grep", `{"pattern":["` + strings.Repeat("x", 15_000) + `","` + strings.Repeat("y", 15_000) + `"]}`, "pattern has 30000 characters, more than 20000"},
		{"grep", `{"pattern":"x","exclude":"` + strings.Repeat("x", 1<<20) + `"}`, "the arguments have"},
		{"search", `{"query":"x","cursor":"abc"}`, "not a cursor"},
		{"search", `{"query":"x","cursor":"` + (&cursor{Snapshot: 1}).encode() + `"}`, "another request"},
		{"search", `[1]`, "no JSON object"},
		{"grep", `{"pattern":[]}`, `"pattern" is missing`},
		{"grep", `{"pattern":"x","case":"lower"}`, "smart, sensitive, ignore"},
		{"find_fix", `{}`, `"error" is missing`},
		{"tool_calls", `{"rule":"rm"}`, "rule: there is no"},
		{"usage", `{"by":["tool"]}`, `by: there is no "tool"`},
		{"read_session", `{"session":"x","around":1000}`, "between 0 and 200"},
		{"read_session", `{"session":"x","all":true,"last":3}`, "exclude each other"},
		{"status", `{"x":1}`, `there is no argument "x"`},
		{"status", `{"x":1}`, `the tool takes none`},
	} {
		got, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: test.tool, Arguments: json.RawMessage(test.arguments)})
		if err != nil {
			t.Errorf("%s %s: %v", test.tool, test.arguments, err)
			continue
		}
		text := got.Content[0].(*mcp.TextContent).Text
		if !got.IsError || !strings.Contains(text, test.want) || got.StructuredContent != nil || got.Meta[codeKey] == nil {
			t.Errorf("%s %s: %q, want an error with %q", test.tool, test.arguments, text, test.want)
		}
	}
	if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "delete_everything"}); err == nil {
		t.Error("a tool that is not there is no error")
	}
}

// A bug in one tool ends neither the server nor the call.
func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Status: func() (*printer.Status, error) { panic("a bug") }})
	got, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "status"})
	if err != nil || !got.IsError {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := client.Ping(t.Context(), nil); err != nil {
		t.Errorf("the server is gone: %v", err)
	}
}

// Tools take every filter that reaches their questions, and read it as the flag is read.
func TestEveryFilterIsAnArgument(t *testing.T) {
	t.Parallel()
	for i := range filter.Table {
		row := &filter.Table[i]
		value := "some"
		switch _, example, _ := strings.Cut(row.Example, ":"); {
		case row.Agents == "":
			continue
		case row.Value == "":
			value = "true"
		case len(row.Values) > 0:
			value = row.Values[0]
		case example != "":
			value = example
		}
		raw := marshal(t, map[string]any{"query": "x", row.Name: value})
		if row.Value == "" {
			raw = marshal(t, map[string]any{"query": "x", row.Name: true})
		}
		var in SearchInput
		schema := inputSchema[SearchInput]()
		if err := decode(raw, schema, &in); err != nil || schema.Properties[row.Name].Description != row.Agents {
			t.Errorf("%s: %v, described as %+v", raw, err, schema.Properties[row.Name])
			continue
		}
		got, err := in.spec(filter.Env{})
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		want, _ := filter.Written{row.Name: {value}, filter.Searches: {"true"}}.Spec(filter.Env{})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is not read as a flag (-want +got):\n%s", raw, diff)
		}
		if taken := inputSchema[UsageInput]().Properties[row.Name] != nil; taken != (row.Reach <= filter.OfCalls) {
			t.Errorf("usage takes %s: %t", row.Name, taken)
		}
	}
}

// Warnings are the first thing in every answer, because a reader may read no further.
func TestWarningsComeFirst(t *testing.T) {
	w := about{Warnings: []string{"x"}, NextCursor: "y"}
	for _, a := range []any{searchAnswer{about: w}, grepAnswer{about: w}, fixAnswer{about: w}, sessionsAnswer{about: w}, readAnswer{about: w}, callsAnswer{about: w}, usageAnswer{about: w}, recapAnswer{about: w}, blameAnswer{about: w}} {
		if text := string(marshal(t, a)); !strings.HasPrefix(text, `{"warnings":["x"],"complete":false,`) {
			t.Errorf("%T begins with %.60s", a, text)
		}
	}
	if text := (&w).warning(); !strings.HasPrefix(text, "Warning: x\nNot complete: ") {
		t.Errorf("%q", text)
	}
}
