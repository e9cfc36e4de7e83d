package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
)

// answerOptions are those of the hidden command that answers the pigrep of another machine.
type answerOptions struct {
	flags.Shared
	protocol flags.Number
	reveal   bool
}

func newAnswerCommand(a *app.App) *cobra.Command {
	o := &answerOptions{}
	cmd := &cobra.Command{Use: ssh.Command, Hidden: true, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return runAnswer(cmd.Context(), a, o)
	}}
	flags.Add(cmd.Flags(), "protocol", "", "N", "the protocol that the client speaks", &o.protocol)
	flags.Add(cmd.Flags(), "reveal", "", "", "do not mask what looks like a secret", &o.reveal)
	o.Add(cmd, []flags.Group{flags.GroupFilter, flags.GroupWhere, flags.GroupOutput}, "json", "jsonl")
	return cmd
}

func runAnswer(ctx context.Context, a *app.App, o *answerOptions) error {
	req, err := o.Request(a)
	if err != nil {
		return err
	}
	quiet := *a
	quiet.Quiet = true // answers say what they lack
	p, err := location.Find(&o.Shared, &quiet)
	if err != nil {
		return err
	}
	live := snapshot.OpenLive(ctx, p)
	defer live.Close()
	server := &ssh.Server{
		Greeting: ssh.Greeting{Protocol: ssh.Protocol, Version: a.Version, Schema: index.SchemaVersion},
		From: func(zone *time.Location) ssh.Answerer {
			return &host{&asking.Opening{Location: p, Zone: zone, Reveal: o.reveal, Spec: req.Spec, Open: live.Snapshot}}
		},
		Problem: answerProblem,
	}
	return server.Serve(ctx, a.Streams.In, a.Streams.Out)
}

// answerProblem turns an error into one for the other machine.
func answerProblem(ctx context.Context, err error) *remote.Error {
	if err = grepProblem(ctx, err); err != nil {
		err = asking.Problem(ctx, err)
	}
	if p, ok := errors.AsType[*problem.Error](err); ok {
		return &remote.Error{Code: p.Code, Message: p.Error(), Hint: p.Hint}
	}
	return &remote.Error{Code: problem.CodeIO, Message: err.Error()}
}

// host answers for this machine.
type host struct{ *asking.Opening }

// Status says what this machine has.
func (h *host) Status(ctx context.Context, _ struct{}) (*remote.Status, error) {
	x, err := h.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	s := &remote.Status{Agents: make(map[string]int)}
	for _, n := range snapshot.AgentCounts(h.Agents, x.Reader) {
		s.Agents[n.Agent] = n.Sessions
		s.Sessions += n.Sessions
	}
	disk, err := index.Open(h.IndexDir)
	if errors.Is(err, index.ErrNoIndex) { // all is in memory so far
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer disk.Close()
	if s.Bytes, err = disk.SizeOnDisk(); err == nil {
		_, s.Indexed, err = disk.Generations()
	}
	return s, err
}

// pieceSize is about how much of a session is sent at once.
const pieceSize = 256 << 10

var _ = fmt.Sprint
var _ = redact.JSON
var _ session.Summary
var _ filter.Spec
var _ conversation.Manner

// Session sends session files, masked line by line.
func (h *host) Session(ctx context.Context, req ssh.SessionRequest, visit func(*ssh.Piece) error) (*remote.Coverage, error) {
	return nil, errors.New("not yet")
}

// Resume plans the command that resumes a session here.
func (h *host) Resume(ctx context.Context, req ssh.ResumeRequest) (*ssh.ResumeAnswer, error) {
	return nil, errors.New("not yet")
}
