package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/lists"
	"pigrep/query/blame"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/ui/cli/amend"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/help"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/upkeep"
	"pigrep/ui/mcp"
	"pigrep/ui/printer"
)

type mcpOptions struct {
	flags.Shared `takes:"agent files output from on wait -json -jsonl -color -hyperlink" ignores:"output -json -jsonl"`
	PrintConfig  string
}

func (o *mcpOptions) AddFlags(cmd *cobra.Command) {
	flags.Words(cmd, "print-config", clientNames())
}

func runMCP(ctx context.Context, a *app.App, o *mcpOptions, _ []string) error {
	if o.PrintConfig != "" {
		return o.printClient(a)
	}
	if a.Streams.InTTY {
		return problem.Usagef("`pigrep mcp --print-config CLIENT` prints the configuration for a client", "pigrep mcp is started by an MCP client, not from a terminal")
	}
	req, err := o.Request(a)
	if err != nil {
		return err
	}
	within := mcp.AnswerWithin
	if len(o.On)+len(o.From) > 0 {
		within = max(within, o.Wait)
	}
	o.Wait = min(o.Wait, toOpen(within)) // the others still answer if one does not
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		return err
	}
	x := snapshot.OpenLive(ctx, p)
	defer x.Close()
	x.Patience = toOpen(within)
	config := mcpConfig(x, p, o.Reveal)
	config.Within = within
	config.Only = req.Agents
	return mcp.Serve(ctx, config, a.Streams.In, a.Streams.Out)
}

// toOpen is how much of the time for a call is for indexing what is new, or for waiting for other machines.
func toOpen(within time.Duration) time.Duration { return within * 3 / 5 }

func mcpConfig(x *snapshot.Live, p *location.Location, reveal bool) mcp.Config {
	a := p.App
	zone := a.Zone()
	c := mcp.Config{
		Version: buildVersion(a).Version, Adapter: p.Agents, Logger: a.Logger(), Now: func() time.Time { return a.Now().In(zone) }, Name: p.IndexDir,
		Reveal: reveal, Current: asking.RunningIn(a), Agents: p.Agents.ClientNames(), Dir: a.WorkDir, Started: a.Now(), Help: func() string { return help.Topic("query") },
		Open: func(ctx context.Context, _ []string) (*mcp.Index, error) {
			s, err := x.Snapshot(ctx)
			if at := indexer.Building(p.IndexDir); at != nil && errors.Is(err, index.ErrLocked) {
				return nil, &mcp.Error{Code: problem.CodeLocked, Message: "the first index is being built: " + snapshot.BuildingText(*at), Hint: "try again in a moment"}
			}
			if err != nil {
				return nil, agentError(ctx, problem.OfIndex(err))
			}
			return forAgents(s), nil
		},
		At: func(number uint64) *mcp.Index {
			if s := x.At(number); s != nil {
				return forAgents(s)
			}
			return nil
		},
		Resume: p.ResumeCommand, Absolute: a.Absolute,
		Lines: func(file string) (*blame.Request, error) {
			_, req, err := readLines(a, file)
			return req, err
		},
		Status: func() (*printer.Status, error) {
			s, err := upkeep.Status(p)
			if err != nil {
				return nil, agentError(context.Background(), err)
			}
			return s, nil
		},
	}
	if p.Elsewhere != nil {
		askElsewhere(&c, x, p)
	}
	return c
}

// askElsewhere makes a server ask archives or other machines. Each answer has another snapshot,
// which its pages do not notice unless something was added between.
func askElsewhere(c *mcp.Config, x *snapshot.Live, p *location.Location) {
	what, hint := "archives, which have no index here", "`pigrep remote status NAME` says how an archive is"
	if len(p.Hosts.Clients) > 0 {
		what, hint = "other machines", "`pigrep hosts` says what they have"
	}
	x.AnswerHere(p)
	c.At = func(uint64) *mcp.Index { return nil }
	open := c.Open
	c.Open = func(ctx context.Context, named []string) (at *mcp.Index, err error) {
		if len(named) > 0 { // sessions come as a whole
			s, err := snapshot.Open(ctx, p, remote.Named{Names: named})
			if err != nil {
				return nil, agentError(ctx, err)
			}
			return unnumbered(forAgents(s)), nil
		}
		s := snapshot.OfHosts(p)
		s.Asking.Tell = true
		if at = forAgents(s); p.Hosts.Here != nil {
			if at, err = open(ctx, nil); err != nil {
				return nil, err
			}
		}
		at.Answers, at.Others, at.Several = s.Answers(), true, true
		at.Named = func(_, path string) string { return cmp.Or(p.Hosts.NameOf(path), path) }
		return unnumbered(at), nil
	}
	c.Status = func() (*printer.Status, error) {
		return nil, &mcp.Error{Code: problem.CodeUsage, Message: "this server asks " + what, Hint: hint}
	}
}

// unnumbered returns an index that is always the same one to cursors.
func unnumbered(x *mcp.Index) *mcp.Index {
	x.Number, x.Pin = 1, func() {}
	return x
}

func agentError(ctx context.Context, err error) error {
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || ctx.Err() != nil {
		return err
	}
	return &mcp.Error{Code: p.Code, Message: p.Error(), Hint: p.Hint}
}

// forAgents turns a snapshot into the index of one answer.
func forAgents(s *snapshot.Snapshot) *mcp.Index {
	return &mcp.Index{
		Answers: s.Answers(), Several: len(s.Reader.Table().Agents()) > 1, Named: sessions.NamesOf(s.Reader).Name,
		Reader: s.Reader, Source: s.Source(), Number: s.Number, State: s.State, Lag: s.Lag(), Warnings: slices.Concat(snapshot.Unusable(s.Errors), s.Lacks), Pin: s.Pin, Damaged: s.Damaged,
		Close: func() { _ = s.Close() }, // reading is done, so an error does not matter
	}
}

type started struct {
	Type    string            `json:"type,omitempty" toml:"-"`
	Command string            `json:"command" toml:"command"`
	Args    []string          `json:"args" toml:"args"`
	Tools   []string          `json:"tools,omitempty" toml:"-"`
	Env     map[string]string `json:"env,omitempty" toml:"env,inline,omitempty"`
}

// clients are the programs that start MCP servers: the agents, and others.
var clients = append(adapter.ServersOf(agents.All()),
	adapter.Servers{Client: "vscode", File: ".vscode/mcp.json of a project, or the user's through `MCP: Open User Configuration`", Key: "servers", Type: "stdio"})

func clientNames() []string {
	return lists.Map(clients, func(c adapter.Servers) string { return c.Client })
}

// clientPath returns the file of the user, with the directory of the agent.
func clientPath(a *app.App, c *adapter.Servers, dir string) string {
	name, below := strings.CutPrefix(c.Own, "~/")
	if below && (dir == "" || dir == filepath.Join(a.Home, "."+c.Client)) { // no other directory was named
		dir = a.Home
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// printClient prints the configuration on stdout, and on stderr where to put it.
func (o *mcpOptions) printClient(a *app.App) error {
	for _, c := range clients {
		if c.Client != o.PrintConfig {
			continue
		}
		text, err := configuration(&c, started{Command: ownCommand(a), Args: o.serverArgs(a), Env: serverEnv(a)})
		if err != nil {
			return err
		}
		fmt.Fprint(a.Out, text)
		a.Warn("add this to %s", c.File)
		if c.Note != "" {
			a.Warn("%s", c.Note)
		}
		return nil
	}
	return problem.Usagef("use one of "+strings.Join(clientNames(), ", "), "--print-config: unknown client %q", o.PrintConfig)
}

func (o *mcpOptions) serverArgs(a *app.App) []string {
	args := []string{"mcp"}
	add := func(flag string, values ...string) {
		for _, value := range values {
			args = append(args, flag, value)
		}
	}
	add("--session-dir", lists.Map(o.SessionDir, a.Absolute)...)
	if o.IndexDir != "" {
		add("--index-dir", a.Absolute(o.IndexDir))
	}
	add("--from", o.From...)
	add("--on", o.On...)
	if o.Wait != flags.StandardWait {
		add("--wait", o.Wait.String())
	}
	if o.NoUpdate {
		args = append(args, "--no-update")
	}
	if o.Reveal {
		args = append(args, "--reveal")
	}
	return args
}

// serverEnv returns the variables that name directories. Clients do not pass on all
// variables, and they may not be started from a shell.
func serverEnv(a *app.App) map[string]string {
	env := make(map[string]string)
	names := []string{location.EnvIndexDir}
	for _, v := range a.Registry().Variables() {
		if v.Path {
			names = append(names, v.Name)
		}
	}
	for _, name := range names {
		if value := a.Getenv(name); value != "" {
			env[name] = a.Absolute(value)
		}
	}
	return env
}

// ownCommand returns the command that starts this program: its name if PATH finds it,
// otherwise its path.
func ownCommand(a *app.App) string {
	own, err := a.Executable()
	if err != nil {
		return "pigrep"
	}
	if found, err := a.LookPath("pigrep"); err == nil {
		x, err := os.Stat(own)
		y, otherErr := os.Stat(found)
		if err == nil && otherErr == nil && os.SameFile(x, y) {
			return "pigrep"
		}
	}
	return own
}

// configuration returns that of a client with no other server.
func configuration(c *adapter.Servers, s started) (string, error) {
	if c.Key == "" {
		return codexTOML(s)
	}
	list, err := amend.Member("", s.of(c), c.Key, "pigrep")
	return amend.Into("", list), err
}

// of returns the server with what the client wants to know of it.
func (s started) of(c *adapter.Servers) started {
	if s.Type = c.Type; c.Tools {
		s.Tools = []string{"*"}
	}
	return s
}

func codexTOML(s started) (string, error) {
	values, err := toml.Marshal(s)
	return "[mcp_servers.pigrep]\n" + string(values), err
}
