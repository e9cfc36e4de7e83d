package asking

import (
	"context"
	"errors"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

// onHosts asks other machines.
func onHosts(ctx context.Context, p *location.Location, question func(context.Context, remote.Answers) error) (*snapshot.Snapshot, error) {
	x := hosts(p)
	err := Asked(x, question(ctx, p.Hosts))
	if err != nil {
		return nil, Problem(ctx, err)
	}
	return x, nil
}

// hosts returns the snapshot of other machines. It has no sessions: what an answer says of them
// is all that is known here.
func hosts(p *location.Location) *snapshot.Snapshot {
	if p.Elsewhere.Here && p.Hosts.Here == nil {
		p.Hosts.Here = OnThis(p, func(ctx context.Context) (*snapshot.Snapshot, error) {
			here := *p
			here.Hosts, here.Elsewhere = nil, nil
			return snapshot.OpenFiles(ctx, &here, false)
		})
	}
	x := &snapshot.Snapshot{Location: p, Reader: index.Empty(), Found: &indexer.Found{}}
	x.State.Complete = true
	return x
}

// OnThis answers for this machine among others.
func OnThis(p *location.Location, open func(context.Context) (*snapshot.Snapshot, error)) *Opening {
	here := *p
	here.Hosts, here.Elsewhere = nil, nil
	return &Opening{Location: &here, Reveal: true, Open: open}
}

// Know makes a layout use the short names of the sessions of whoever answers.
func Know(l *printer.Layout, p *location.Location, r *index.Reader) {
	if l.Know(r); p.Hosts != nil {
		l.Known = p.Hosts.NameOf
	}
}

// OpenFiles is snapshot.OpenFiles with who searches the files.
func OpenFiles(ctx context.Context, p *location.Location, noIndex bool) (remote.Answers, *snapshot.Snapshot, error) {
	if p.Hosts != nil {
		return p.Hosts, hosts(p), nil
	}
	x, err := snapshot.OpenFiles(ctx, p, noIndex)
	if err != nil {
		return nil, nil, err
	}
	return Index{p, x.Reader, x}, x, nil
}

// Asked takes the outcome of a question. It names the hosts that did not answer.
func Asked(x *snapshot.Snapshot, err error) error {
	if x.Hosts == nil {
		return err
	}
	missing := x.Hosts.Missing()
	if x.State.Complete = len(missing) == 0; errors.Is(err, ssh.ErrNone) {
		e := missing[0]
		missing, err = missing[1:], &problem.Error{Code: problem.CodeIO, Message: e.Host + ": " + e.Reason, Hint: e.Hint}
	}
	for _, e := range missing {
		what := "nothing"
		if e.Some {
			what = "not everything"
		}
		x.App.Advise(e.Hint, "%s from %s in this answer: %s", what, e.Host, e.Reason)
	}
	return err
}
