package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/internal/ui/cli/live"
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
	addFlag(f, "reveal", "", "", "do not mask what looks like a secret", &o.reveal)
	addFlag(f, "print-config", "", "CLIENT", "print the configuration for "+strings.Join(clientNames(), ", "), &o.printConfig)
	// It fails only for an undefined flag.
	_ = cmd.RegisterFlagCompletionFunc("print-config", cobra.FixedCompletions(clientNames(), cobra.ShellCompDirectiveNoFileComp))
	o.addShared(cmd, []flagGroup{groupWhere, groupOutput}, "json", "jsonl", "color", "hyperlink")
	ignoreShared(cmd, []flagGroup{groupOutput}, "json", "jsonl")
}

func newMCPCommand(a *App) *cobra.Command {
	o := &mcpOptions{}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve agents over MCP on stdin and stdout",
		Long: `Serve agents over the Model Context Protocol on stdin and stdout, with tools to
search, grep, list and read sessions, list tool calls, and show usage and
status. Only the index is written; it is kept up to date.

Answers are short (maxBytes, default 24 kB) and paged with a cursor. What looks
like a secret is masked, and the session the agent runs in
(` + currentVariables() + `) is excluded
unless the agent asks for it.`,
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
		return usagef("`pigrep mcp --print-config CLIENT` prints the configuration for a client", "pigrep mcp is started by an MCP client, not from a terminal")
	}
	p, err := o.locate(a)
	if err != nil {
		return err
	}
	x := live.Open(ctx, a.indexing(p), o.noUpdate)
	defer x.Close()
	return mcp.Serve(ctx, a.mcpConfig(x, p, o.reveal), a.Streams.In, a.Streams.Out)
}

// mcpConfig returns the configuration of a server.
func (a *App) mcpConfig(x *live.Index, p *location, reveal bool) mcp.Config {
	zone := a.Zone()
	return mcp.Config{
		Version: buildVersion(a).Version, Adapter: p.agents, Files: disk{}, Logger: a.logger(), Now: func() time.Time { return a.Now().In(zone) }, Name: p.indexDir,
		Reveal: reveal, Current: a.currentSession(), Agents: p.agents.Names(), Dir: a.WorkDir, Started: a.Now(), Help: queryTopic,
		Open: func(ctx context.Context) (*mcp.Index, error) {
			s, err := x.Snapshot(ctx)
			if err != nil {
				return nil, agentError(ctx, indexProblem(err))
			}
			return forAgents(s), nil
		},
		At: func(number uint64) *mcp.Index {
			if s := x.At(number); s != nil {
				return forAgents(s)
			}
			return nil
		},
		Resume: p.agents.ResumeCommand, Absolute: a.absolute,
		Status: func() (*printer.Status, error) {
			s, err := a.status(p)
			if err != nil {
				return nil, agentError(context.Background(), err)
			}
			return s, nil
		},
	}
}

// currentVariables names the variables in which agents pass their session to the
// processes they start.
func currentVariables() string {
	var names []string
	for _, v := range agentVariables() {
		if !v.Path {
			names = append(names, "$"+v.Name)
		}
	}
	return strings.Join(names, ", ")
}

// currentSession returns the session that this process runs in.
func (a *App) currentSession() mcp.Session {
	id, path := a.registry().Current()
	if path != "" {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
	}
	return mcp.Session{ID: id, Path: path}
}

// agentError turns an error of the index into one for agents.
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

// forAgents turns a snapshot into the index of one answer.
func forAgents(s *live.Snapshot) *mcp.Index {
	x := &mcp.Index{
		Reader: s.Reader, Number: s.Number, State: s.State, Pin: s.Pin, Damaged: s.Damaged,
		Files: (&knownFiles{reader: s.Reader, found: s.Found}).files,
		Close: func() { _ = s.Close() }, // reading is done, so an error does not matter
	}
	if lag := lagText(s.Missing); s.Missing.Files > 0 {
		switch {
		case s.Watcher != nil:
			x.Lag = fmt.Sprintf("%s not in this answer yet: the watcher (process %d) has not indexed it", lag, s.Watcher.PID)
		case s.Updating:
			x.Lag = lag + " not in this answer yet, and being indexed"
		case s.Failed != nil:
			x.Lag = fmt.Sprintf("%v: %s not in this answer", s.Failed, lag)
		default:
			x.Lag = "the index is behind: " + lag + " not in this answer"
		}
	}
	warn := func(format string, args ...any) { x.Warnings = append(x.Warnings, fmt.Sprintf(format, args...)) }
	for i, e := range s.Errors {
		if i == maxNamed {
			warn("%d more files or directories cannot be read", len(s.Errors)-i)
			break
		}
		warn("skipped %s: %s", e.Path, reason(e.Err))
	}
	return x
}
