package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type hostsOptions struct {
	flags.Shared `takes:"files output on wait format -session-dir -index-dir -follow -max-line -max-session -no-update -keep -keep-limit -keep-compress"`
	Check        bool
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
	answer.Whole = o.Check
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

func hostRows(ctx context.Context, a *app.App, list []*ssh.Client, check bool) *printer.Hosts {
	answer := &printer.Hosts{Rows: make([]printer.HostRow, len(list))}
	var asking sync.WaitGroup
	for i, c := range list {
		asking.Go(func() { answer.Rows[i] = hostRow(ctx, a, c, check) })
	}
	asking.Wait()
	return answer
}

// hostRow asks a host twice: the first answer brings its index up to date. The second one takes as long as
// that of a command, which connects first.
func hostRow(ctx context.Context, a *app.App, c *ssh.Client, check bool) printer.HostRow {
	row := printer.HostRow{Type: "host", Host: c.Host.Name}
	status, err := c.Status(ctx)
	if err == nil {
		start, again := a.Now(), c.Again()
		defer again.Close()
		err = again.Ping(ctx)
		row.Latency = max(1, int32(a.Now().Sub(start).Milliseconds()))
	}
	if err != nil {
		row.Problem = err.Error()
		if e, ok := errors.AsType[*ssh.HostError](err); ok {
			row.Hint = e.Hint
		}
		if check { // which is what some hints say
			row.Hint = human.Joined("; ", human.When(!strings.Contains(row.Hint, "hosts --check"), row.Hint), c.Try())
		}
		return row
	}
	row.Version, row.Agents = c.Version(), slices.Sorted(maps.Keys(status.Agents))
	row.Sessions, row.Bytes, row.Indexed = status.Sessions, status.Bytes, session.Time{Time: status.Indexed}
	return row
}

// answerOptions has the flags of the hidden command that answers the pigrep of another machine.
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
	o.Add(cmd, "filters files output -json -jsonl")
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
		Reveal:   o.reveal,
		From: func(zone *time.Location, name string) ssh.Answerer {
			return &host{&snapshot.Opening{Location: p, Zone: zone, Host: name, Reveal: o.reveal, Spec: req.Spec, Open: live.Snapshot}}
		},
		Problem: func(ctx context.Context, err error) *remote.Error {
			if err = grepProblem(ctx, err); err != nil {
				err = asking.Problem(ctx, err)
			}
			if p, ok := errors.AsType[*problem.Error](err); ok {
				return &remote.Error{Code: p.Code, Message: p.Error(), Hint: p.Hint}
			}
			return &remote.Error{Code: problem.CodeIO, Message: err.Error()}
		},
	}
	return server.Serve(ctx, a.Streams.In, a.Streams.Out)
}

type host struct{ *snapshot.Opening }

// Status says what this machine has.
func (h *host) Status(ctx context.Context) (*remote.Status, error) {
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

// Session sends session files, masked line by line.
func (h *host) Session(ctx context.Context, req remote.Named, visit func(*ssh.Piece) error) (*remote.Coverage, error) {
	x, err := h.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	list, err := h.namedSessions(x.Reader, &req)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		summary := *s
		if !h.Reveal {
			summary = search.Masked(summary)
		}
		if err := visit(&ssh.Piece{Summary: &summary}); err != nil {
			return nil, err
		}
		if err := h.lines(ctx, s.Path, visit); err != nil {
			return nil, err
		}
	}
	return &remote.Coverage{Sessions: len(list), Sent: len(list)}, nil
}

// namedSessions returns the session files that a request names, with the other files of the same
// sessions.
func (h *host) namedSessions(r *index.Reader, req *remote.Named) (list []*session.Summary, err error) {
	all := r.Summaries()
	if len(req.Names) == 0 {
		for i := range all {
			if all[i].IsSession() {
				list = append(list, &all[i])
			}
		}
		slices.SortStableFunc(list, func(a, b *session.Summary) int { return b.Modified().Compare(a.Modified()) })
		return list[:min(req.Latest, len(list))], nil
	}
	spec := filter.Spec{Sessions: slices.Clone(req.Names)}
	for i, name := range spec.Sessions { // as the client was told
		if at := slices.IndexFunc(all, func(s session.Summary) bool { return redact.Masked(name) && redact.Text(s.Path) == name }); at >= 0 {
			spec.Sessions[i] = all[at].Path
		}
	}
	named, ids := spec.Compile(), make(map[string]bool)
	for i := range all {
		if named.Session(&all[i]) && all[i].ID != "" {
			ids[all[i].ID] = true
		}
	}
	for i := range all {
		if named.Session(&all[i]) || ids[all[i].ID] {
			list = append(list, &all[i])
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	for _, name := range req.Names { // of an entry
		places, err := sessions.FindEntries(r, name)
		if err != nil {
			return nil, err
		}
		list = append(list, lists.Map(places, func(p sessions.EntryLocation) *session.Summary { return p.Session })...)
	}
	return list, nil
}

func (h *host) lines(ctx context.Context, path string, visit func(*ssh.Piece) error) error {
	f, err := h.Disk().Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := adapter.Lines(h.Agents, io.NewSectionReader(f, 0, f.Size()), 0, 0)
	var piece []byte
	flush := func() error {
		text := string(piece)
		piece = piece[:0]
		return visit(&ssh.Piece{Lines: text})
	}
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return flush()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		data := bytes.TrimSuffix(line.Raw, []byte("\n"))
		if line.TooLong {
			data = nil // as here: it counts as a line, and is not read
		}
		if length := len(data); !h.Reveal {
			data = redact.JSON(data)
			// An offset is a place in the file, unless a mask is longer than its secret.
			data = append(data, bytes.Repeat([]byte(" "), max(0, length-len(data)))...)
		}
		piece = append(piece, data...)
		if line.Ended {
			piece = append(piece, '\n')
		}
		if len(piece) >= pieceSize {
			if err := flush(); err != nil {
				return err
			}
		}
	}
}

// resume plans the command that resumes a session here.
func (h *host) Resuming(ctx context.Context, req ssh.ResumeRequest) (*ssh.ResumeAnswer, error) {
	x, err := h.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	quiet := *h.App
	quiet.JSON = true // nobody can be asked which session is meant
	o := &resumeOptions{words: req.Words, named: req.Named, Last: req.Last, Manner: conversation.Manner{Fork: req.Fork, In: req.In}}
	o.Redact = !h.Reveal
	t, err := o.findQuietly(ctx, &quiet, x, req.Request)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	r, err := o.Plan(&quiet, t)
	if err != nil {
		return nil, err
	}
	hit := r.Session.SessionHit
	if !h.Reveal {
		hit.Redact()
		if runs := append([]string{r.Dir}, r.Argv...); slices.ContainsFunc(runs, func(s string) bool { return redact.Text(s) != s }) {
			return nil, problem.Usagef("--reveal lets the host send it", "the command that resumes the session seems to contain a secret")
		}
	}
	return &ssh.ResumeAnswer{Session: hit, Version: r.Session.Version, Entries: r.Session.Entries, EntryName: r.EntryName, Branch: r.Branch, InContext: r.InContext,
		Dir: r.Dir, Argv: r.Argv, Fork: r.Fork, Warnings: r.Warnings}, nil
}
