package asking

import (
	"context"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

// onHosts asks other machines.
func onHosts(ctx context.Context, p *location.Location, question func(context.Context, remote.Answers) error) (*snapshot.Snapshot, error) {
	from, x := Hosts(p)
	if err := Asked(x, from, question(ctx, from)); err != nil {
		return nil, Problem(ctx, err)
	}
	return x, nil
}

// Hosts returns a question to other machines, and its snapshot. That has no sessions: what an
// answer says of them is all that is known here.
func Hosts(p *location.Location) (*ssh.Asking, *snapshot.Snapshot) {
	if p.Elsewhere.Here && p.Hosts.Here == nil {
		here := alone(p)
		p.Hosts.Here = &Opening{Location: here, Reveal: true, Open: func(ctx context.Context) (*snapshot.Snapshot, error) { return snapshot.OpenFiles(ctx, here, false) }}
	}
	x := &snapshot.Snapshot{Location: p, Reader: index.Empty(), Found: &indexer.Found{}}
	x.State.Complete = true
	return &ssh.Asking{Hosts: p.Hosts, Soon: p.App.Streams.OutTTY}, x
}

// alone is this machine alone.
func alone(p *location.Location) *location.Location {
	here := *p
	here.Hosts, here.Elsewhere = nil, nil
	return &here
}

// KeepOpen makes an index that stays open answer for this machine, if that is asked among others.
func KeepOpen(p *location.Location, x *snapshot.Live) {
	if p.Hosts != nil && p.Elsewhere.Here {
		p.Hosts.Here = &Opening{Location: alone(p), Reveal: true, Open: x.Snapshot}
	}
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
		from, x := Hosts(p)
		return from, x, nil
	}
	x, err := snapshot.OpenFiles(ctx, p, noIndex)
	if err != nil {
		return nil, nil, err
	}
	return From(x), x, nil
}

// Asked takes the outcome of a question. It names the hosts that did not answer.
func Asked(x *snapshot.Snapshot, from remote.Answers, err error) error {
	h, ok := from.(*ssh.Asking)
	if !ok {
		return err
	}
	missing := h.Missing()
	x.State.Complete = len(missing) == 0
	for _, e := range missing {
		what := "nothing"
		if e.Some {
			what = "not everything"
		}
		x.App.Advise(e.Hint, "%s from %s in this answer: %s", what, e.Host, e.Reason)
	}
	return err
}
