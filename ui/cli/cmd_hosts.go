package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/printer"
)

type hostsOptions struct {
	flags.Shared
	Check bool
}

func (o *hostsOptions) AddFlags(cmd *cobra.Command) {
	o.AddOn()
	o.AddFormat(cmd.Flags(), func() []string { return printer.Fields(&printer.Hosts{}) })
	o.Add(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput}, "session-dir", "index-dir", "follow", "max-line", "max-session", "no-update", "keep", "keep-limit", "keep-compress", "reveal")
}

func runHosts(ctx context.Context, a *app.App, o *hostsOptions, _ []string) error {
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	list, _, err := location.Hosts(&o.Shared)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return problem.Usagef(`name one: pigrep hosts --on laptop; or list them in the settings file: hosts = ["laptop", "server"]`, "the setting hosts lists none")
	}
	options := location.HostOptions(a, &o.Shared)
	clients := lists.Map(list, func(h ssh.Host) *ssh.Client { return ssh.NewClient(h, options) })
	defer (&ssh.Hosts{Clients: clients}).Close()
	answer := hostRows(ctx, a, clients, o.Check)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := out.Print(answer); err != nil {
		return err
	}
	if slices.ContainsFunc(answer.Rows, func(r printer.HostRow) bool { return r.Problem != "" }) {
		return problem.ErrIncomplete
	}
	return nil
}

// hostRows asks hosts for what they have.
func hostRows(ctx context.Context, a *app.App, list []*ssh.Client, check bool) *printer.Hosts {
	answer := &printer.Hosts{Rows: make([]printer.HostRow, len(list))}
	var asking sync.WaitGroup
	for i, c := range list {
		asking.Go(func() { answer.Rows[i] = hostRow(ctx, a, c, check) })
	}
	asking.Wait()
	return answer
}

// hostRow asks a host twice: the first answer takes as long as connecting and bringing its index
// up to date do.
func hostRow(ctx context.Context, a *app.App, c *ssh.Client, check bool) printer.HostRow {
	row := printer.HostRow{Type: "host", Host: c.Host.Name}
	status, err := ssh.Status.Ask(ctx, c, struct{}{})
	if err == nil {
		start := a.Now()
		_, err = ssh.Ping.Ask(ctx, c, struct{}{})
		row.Latency = max(1, int32(a.Now().Sub(start).Milliseconds()))
	}
	if err != nil {
		row.Problem = err.Error()
		if e, ok := errors.AsType[*ssh.HostError](err); ok {
			row.Hint = e.Hint
		}
		if check {
			row.Hint = fmt.Sprintf("%s; %s", row.Hint, c.Try())
		}
		return row
	}
	row.Version, row.Agents = c.Version(), slices.Sorted(maps.Keys(status.Agents))
	row.Sessions, row.Bytes, row.Indexed = status.Sessions, status.Bytes, session.Time{Time: status.Indexed}
	return row
}
