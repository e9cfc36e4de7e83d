package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/ui/mcp"
	"pigrep/internal/ui/printer"
)

type mcpOptions struct {
	sharedOptions
	reveal      bool
	printConfig string
}

func (o *mcpOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addFlag(f, "reveal", "", "", "show what looks like a secret as it is", &o.reveal)
	addFlag(f, "print-config", "", "CLIENT", "print what to put into the settings of "+strings.Join(clientNames(), ", "), &o.printConfig)
	// It fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("print-config", cobra.FixedCompletions(clientNames(), cobra.ShellCompDirectiveNoFileComp))
	o.addShared(cmd, []flagGroup{groupWhere, groupOutput}, "json", "jsonl", "color")
	ignoreShared(cmd, []flagGroup{groupOutput}, "json", "jsonl")
}

func newMCPCommand(a *App) *cobra.Command {
	o := &mcpOptions{}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve agents that speak MCP, over stdin and stdout",
		Long: `Answer agents over the Model Context Protocol, on stdin and stdout: tools to
search, grep, list and read sessions, to list tool calls, for usage and status.
Nothing is ever written but the index, which is kept up to date.

Answers are short (maxBytes, 24 kB unless asked for more) and lead on with a
cursor. What looks like a secret is masked, and the session the agent runs in
(` + currentVariables() + `) is left out unless it asks.`,
		Example: `pigrep mcp --print-config pi
pigrep mcp --print-config claude > .mcp.json`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runMCP(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func runMCP(ctx context.Context, a *App, o *mcpOptions) error {
	if o.printConfig != "" {
		return o.printClient(a)
	}
	if a.Streams.InTTY {
		return usagef("pigrep mcp --print-config CLIENT prints what to put into its settings", "pigrep mcp talks to a program, not to a person")
	}
	p, err := o.place(a)
	if err != nil {
		return err
	}
	f := o.follow(ctx, a, p)
	defer f.Close()
	return mcp.Serve(ctx, a.mcpConfig(f, p, o.reveal), a.Streams.In, a.Streams.Out)
}

// mcpConfig is what a server answers from.
func (a *App) mcpConfig(f *follower, p *place, reveal bool) mcp.Config {
	zone := a.Zone()
	return mcp.Config{
		Version: buildVersion(a).Version, Adapter: p.agents, Files: disk{}, Logger: a.logger(), Now: func() time.Time { return a.Now().In(zone) }, Name: p.indexDir,
		Reveal: reveal, Current: a.currentSession(), Help: queryTopic,
		Open: func(ctx context.Context) (*mcp.Index, error) {
			l, err := f.open(ctx)
			if err != nil {
				return nil, agentError(ctx, indexProblem(err))
			}
			return l.forAgents(), nil
		},
		At: func(generation uint64) *mcp.Index {
			if l := f.at(generation); l != nil {
				return l.forAgents()
			}
			return nil
		},
		Resume: p.agents.ResumeCommand, Absolute: a.absolute,
		Status: func() (*mcp.Status, error) {
			s, err := a.status(p)
			if err != nil {
				return nil, agentError(context.Background(), err)
			}
			status := &mcp.Status{
				Built: s.Built, Damage: s.Damage, Sessions: s.Sessions, Entries: s.Entries, Newest: s.Newest, State: s.State,
				Answer: printer.StatusJSON(s),
			}
			for _, r := range s.Roots {
				status.Roots = append(status.Roots, mcp.Root{Path: r.Path, Files: r.Files})
			}
			return status, nil
		},
	}
}

// currentVariables names the variables by which agents tell the processes they
// start which session these are in.
func currentVariables() string {
	var names []string
	for _, v := range agentVariables() {
		if !v.Path {
			names = append(names, "$"+v.Name)
		}
	}
	return strings.Join(names, ", ")
}

// currentSession is the session that this process runs in.
func (a *App) currentSession() mcp.Session {
	id, path := a.registry().Current()
	if path != "" {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
	}
	return mcp.Session{ID: id, Path: path}
}

// agentError is an error of the index as an agent reads it.
func agentError(ctx context.Context, err error) error {
	p, ok := errors.AsType[*problem](err)
	if !ok || ctx.Err() != nil {
		return err
	}
	e := &mcp.Error{Code: p.code, Message: p.Error(), Hint: p.hint}
	if errors.Is(err, index.ErrLocked) {
		e.Message = "the first index is being built"
	}
	return e
}

// forAgents hands a lease over.
func (l *lease) forAgents() *mcp.Index {
	x := &mcp.Index{
		Reader: l.reader, State: l.state, Pin: l.pin,
		Files: (&knownFiles{reader: l.reader, found: l.found}).files,
		Close: func() { _ = l.Close() }, // it fails when the disk does, and has been read from
	}
	if lag := lagText(indexer.Lag{Files: l.state.PendingFiles, Bytes: l.state.PendingBytes}); l.state.PendingFiles > 0 {
		switch {
		case l.watcher != nil:
			x.Lag = fmt.Sprintf("%s not in this answer yet: process %d, which watches, is about to index it", lag, l.watcher.PID)
		case l.updating:
			x.Lag = lag + " not in this answer yet, and being indexed"
		case l.failed != nil:
			x.Lag = fmt.Sprintf("%v: %s not in this answer", l.failed, lag)
		default:
			x.Lag = "the index is behind: " + lag + " not in this answer"
		}
	}
	warn := func(format string, args ...any) { x.Warnings = append(x.Warnings, fmt.Sprintf(format, args...)) }
	for i, e := range l.errors {
		if i == maxNamed {
			warn("%d more files or directories cannot be read", len(l.errors)-i)
			break
		}
		warn("skipped %s: %s", e.Path, reason(e.Err))
	}
	return x
}

// client is a program that starts servers, and how it is told of one.
type client struct {
	name string
	file string // where it looks
	note string
	text func(started) (string, error)
}

// started is what starts a server.
type started struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

var clients = []client{
	{"pi", "~/.pi/agent/mcp.json, or .pi/mcp.json of a project",
		"pi reads it with an extension for MCP (pi-mcp-adapter, pi-mcp-extension); without one, `pigrep skill --install` lets it use the commands", serversJSON("mcpServers", false)},
	{"claude", ".mcp.json of a project; for all projects: claude mcp add --scope user pigrep -- pigrep mcp", "", serversJSON("mcpServers", true)},
	{"codex", "~/.codex/config.toml, or .codex/config.toml of a project that is trusted", "", codexTOML},
	{"cursor", "~/.cursor/mcp.json, or .cursor/mcp.json of a project", "", serversJSON("mcpServers", false)},
	{"vscode", ".vscode/mcp.json of a project, or the user's through `MCP: Open User Configuration`", "", serversJSON("servers", true)},
}

func clientNames() []string {
	var names []string
	for _, c := range clients {
		names = append(names, c.name)
	}
	return names
}

// printClient prints the snippet alone, so that it can go into a file; where that
// is comes on stderr.
func (o *mcpOptions) printClient(a *App) error {
	for _, c := range clients {
		if c.name != o.printConfig {
			continue
		}
		text, err := c.text(started{Command: a.ownCommand(), Args: o.serverArgs(a), Env: a.serverEnv()})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(a.out, text); err != nil {
			return err
		}
		a.warn("this goes into %s", c.file)
		if c.note != "" {
			a.warn("%s", c.note)
		}
		return nil
	}
	return usagef("there are "+strings.Join(clientNames(), ", "), "--print-config: there is no %q", o.printConfig)
}

// serverArgs are the arguments that start a server like this one.
func (o *mcpOptions) serverArgs(a *App) []string {
	args := []string{"mcp"}
	for _, dir := range o.sessionDir {
		args = append(args, "--session-dir", a.absolute(dir))
	}
	if o.indexDir != "" {
		args = append(args, "--index-dir", a.absolute(o.indexDir))
	}
	for _, f := range []struct {
		set  bool
		name string
	}{{o.noUpdate, "--no-update"}, {o.reveal, "--reveal"}} {
		if f.set {
			args = append(args, f.name)
		}
	}
	return args
}

// serverEnv is what a server must be told that says where things are: clients do
// not hand on all variables, nor have those of a shell when they are started
// elsewhere.
func (a *App) serverEnv() map[string]string {
	env := make(map[string]string)
	names := []string{envIndexDir}
	for _, v := range a.registry().Variables() {
		if v.Path {
			names = append(names, v.Name)
		}
	}
	for _, name := range names {
		if value := a.Getenv(name); value != "" {
			env[name] = a.absolute(value)
		}
	}
	return env
}

// ownCommand is what starts this program: its name where that finds it, else its
// path.
func (a *App) ownCommand() string {
	own, err := a.Executable()
	if err != nil {
		return "pigrep"
	}
	found, err := a.LookPath("pigrep")
	if err == nil && sameFile(own, found) {
		return "pigrep"
	}
	return own
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// serversJSON is the form that most clients read.
func serversJSON(key string, typed bool) func(started) (string, error) {
	return func(s started) (string, error) {
		if typed {
			s.Type = "stdio"
		}
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err := e.Encode(map[string]map[string]started{key: {"pigrep": s}})
		return b.String(), err
	}
}

func codexTOML(s started) (string, error) {
	quoted := make([]string, len(s.Args))
	for i, arg := range s.Args {
		quoted[i] = tomlString(arg)
	}
	text := fmt.Sprintf("[mcp_servers.pigrep]\ncommand = %s\nargs = [%s]\n", tomlString(s.Command), strings.Join(quoted, ", "))
	if len(s.Env) > 0 {
		text += "\n[mcp_servers.pigrep.env]\n"
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		text += fmt.Sprintf("%s = %s\n", name, tomlString(s.Env[name]))
	}
	return text, nil
}

// tomlString is a basic string of TOML, whose escapes are those of JSON.
func tomlString(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always can be
	}
	return string(data)
}
