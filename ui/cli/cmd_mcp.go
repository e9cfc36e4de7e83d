package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/help"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/mcp"
	"pigrep/ui/printer"
)

type mcpOptions struct {
	flags.Shared
	reveal      bool
	printConfig string
}

func (o *mcpOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.Add(f, "reveal", "", "", "do not mask what looks like a secret", &o.reveal)
	flags.AddWords(cmd, "print-config", "CLIENT", "print the configuration for "+strings.Join(clientNames(), ", "), clientNames(), &o.printConfig)
	o.Add(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput}, "json", "jsonl", "color", "hyperlink")
	flags.Ignore(cmd, []flags.Group{flags.GroupOutput}, "json", "jsonl")
}

func runMCP(ctx context.Context, a *app.App, o *mcpOptions, _ []string) error {
	if o.printConfig != "" {
		return o.printClient(a)
	}
	if a.Streams.InTTY {
		return problem.Usagef("`pigrep mcp --print-config CLIENT` prints the configuration for a client", "pigrep mcp is started by an MCP client, not from a terminal")
	}
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		return err
	}
	x := snapshot.OpenLive(ctx, p)
	defer x.Close()
	return mcp.Serve(ctx, mcpConfig(x, p, o.reveal), a.Streams.In, a.Streams.Out)
}

// mcpConfig returns the configuration of a server.
func mcpConfig(x *snapshot.Live, p *location.Location, reveal bool) mcp.Config {
	a := p.App
	zone := a.Zone()
	return mcp.Config{
		Version: buildVersion(a).Version, Adapter: p.Agents, Files: location.Disk{}, Logger: a.Logger(), Now: func() time.Time { return a.Now().In(zone) }, Name: p.IndexDir,
		Reveal: reveal, Current: currentSession(a), Agents: p.Agents.ClientNames(), Dir: a.WorkDir, Started: a.Now(), Help: func() string { return help.Topic("query") },
		Open: func(ctx context.Context) (*mcp.Index, error) {
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
		Resume: p.Agents.ResumeCommand, Absolute: a.Absolute,
		Status: func() (*printer.Status, error) {
			s, err := status(p)
			if err != nil {
				return nil, agentError(context.Background(), err)
			}
			return s, nil
		},
	}
}

// currentSession returns the session that this process runs in.
func currentSession(a *app.App) mcp.Session {
	id, path := a.Registry().Current()
	if path != "" {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
	}
	return mcp.Session{ID: id, Path: path}
}

// agentError turns an error of the index into one for agents.
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
		Reader: s.Reader, Number: s.Number, State: s.State, Lag: s.Lag(), Warnings: snapshot.Unusable(s.Errors), Files: s.Files, Pin: s.Pin, Damaged: s.Damaged,
		Close: func() { _ = s.Close() }, // reading is done, so an error does not matter
	}
}
