package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/system"
	"pigrep/ui/cli/upkeep"
	"pigrep/ui/printer"
	"pigrep/ui/report"
	"pigrep/ui/tui"
	"pigrep/ui/web"
)

type webOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal -exclude -dates -max-bytes -json -jsonl -color -hyperlink" ignores:"output -json -jsonl"`
	query        string
	Port         flags.Number
	NoOpen       bool
	Idle         time.Duration

	Listen      string // for a team, with the flags below
	LoginHeader string
	Cert, Key   string
}

func (o *webOptions) AddFlags(cmd *cobra.Command) {
	o.Idle = 30 * time.Minute
}

func runWeb(ctx context.Context, a *app.App, o *webOptions, args []string) error {
	o.query = strings.Join(args, " ")
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	if o.Listen != "" || o.LoginHeader != "" || o.Cert != "" || o.Key != "" {
		return runTeamWeb(ctx, a, o, q)
	}
	listener, err := listen(o.Port.N)
	if err != nil {
		return err
	}
	b := newWebBackend(ctx, q.Location)
	defer b.index.Close()
	options := b.options(o)
	options.Agents = o.Filters.InQuery(filter.Lookup(filter.Agent), &q.Request.Spec)
	server := web.New(listener.Addr().String(), options)
	address := server.Address(web.SearchAddress(seed(&o.Shared, o.query, q.Request), wideEnough(q.Request)))
	desktop := hasDesktop(a)
	if !desktop {
		a.Warn("%s", howToOpen(a, listener.Addr().(*net.TCPAddr).Port))
	}
	fmt.Fprintln(a.Out, address)
	if err := a.Out.Flush(); err != nil {
		return err
	}
	a.Warn("Ctrl-C ends it")
	if desktop && !o.NoOpen {
		go func() {
			if err := a.Open(address); err != nil {
				a.Warn("cannot open a browser (%v): open the address yourself", err)
			}
		}()
	}
	switch err := server.Serve(ctx, listener); {
	case errors.Is(err, web.ErrIdle):
		a.Warn("%v for %v", err, o.Idle)
		return nil
	case err != nil:
		return &problem.Error{Code: problem.CodeIO, Message: "cannot serve " + listener.Addr().String(), Err: err}
	case context.Cause(ctx) == problem.ErrTerminated:
		return nil
	}
	return problem.ErrLeft
}

// listen listens on a port of this machine; 0 is any.
func listen(port int) (net.Listener, error) {
	if port < 0 || port > math.MaxUint16 {
		return nil, problem.Usagef("name one from 1 to 65535, or leave out --port for any that is free", "there is no port %d", port)
	}
	const local = "127.0.0.1"
	l, err := net.Listen("tcp4", net.JoinHostPort(local, strconv.Itoa(port)))
	if err == nil {
		return l, nil
	}
	p := &problem.Error{Code: problem.CodeIO, Message: fmt.Sprintf("cannot listen on port %d", port), Err: err, Hint: "leave out --port for any that is free"}
	if who := system.ListenerOf(port); who != "" {
		p.Message, p.Err = fmt.Sprintf("port %d is taken by %s", port, who), nil
	}
	if free, err := net.Listen("tcp4", net.JoinHostPort(local, "0")); err == nil {
		p.Hint = fmt.Sprintf("this one is free: --port %d", free.Addr().(*net.TCPAddr).Port)
		_ = free.Close() // nobody has used it
	}
	return nil, p
}

// hasDesktop reports whether a browser can be opened. Without a desktop, the program that opens
// one could start it in this terminal; over ssh, it would be on the other machine.
func hasDesktop(a *app.App) bool {
	if a.Getenv("SSH_CONNECTION") != "" {
		return false
	}
	desktop := cmp.Or(a.Getenv("DISPLAY"), a.Getenv("WAYLAND_DISPLAY"), a.Getenv("WSL_DISTRO_NAME"))
	return desktop != "" || runtime.GOOS == "windows" || runtime.GOOS == "darwin"
}

// howToOpen says how to open the address that follows it if there is no desktop. To open it on
// another machine, ssh forwards the port.
func howToOpen(a *app.App, port int) string {
	text := "there is no desktop to open a browser on: open this address yourself"
	host := "HOST"
	if from := strings.Fields(a.Getenv("SSH_CONNECTION")); len(from) == 4 { // of the client and its port, of this machine and its port
		text, host = "open this address in the browser of your own machine", from[2]
		if from[3] != "22" {
			host = "-p " + from[3] + " " + host
		}
	}
	return fmt.Sprintf("%s; from another machine, forward the port first: ssh -L %d:127.0.0.1:%d %s", text, port, port, host)
}

// webBackend implements the functions of the page in the browser.
type webBackend struct {
	*backend
}

// keepPages is how long pages of the index stay mapped after a question: until long after
// the next key.
const keepPages = 10 * time.Second

// newWebBackend returns the backend for an index. The caller closes the index.
func newWebBackend(ctx context.Context, p *location.Location) *webBackend {
	b := &webBackend{newBackend(ctx, p)}
	b.index.Keep = keepPages
	return b
}

func (b *webBackend) options(o *webOptions) web.Options {
	a := b.App
	options := web.Options{
		Backend: web.Backend{
			Search: forPages(asks(b.backend, remote.Search)), Sessions: forPages(asks(b.backend, remote.Sessions)), Facets: forPages(asks(b.backend, remote.Facets)), Recap: forPages(asks(b.backend, remote.Recap)), Find: forPages(b.offsets),
			Values: func(ctx context.Context) ([]sessions.Facet, error) {
				list, err := b.values(ctx)
				return list, pageError(err)
			},
			Audits: b.audits, Open: b.openPage, Command: b.command, Export: b.export, Formats: exportFormats, Status: b.status, Follow: b.follow,
		},
		Redact: o.Redact, Idle: o.Idle, Now: a.Now, Zone: a.Zone(), Home: a.Home,
		Foreign: func(c net.Conn) bool {
			from, ok := c.RemoteAddr().(*net.TCPAddr)
			return ok && system.OfAnotherUser(from.Port)
		},
	}
	if b.Hosts != nil && len(b.Hosts.Clients) > 0 {
		options.Hosts = func(ctx context.Context) *printer.Hosts { return hostRows(ctx, a, b.Hosts.Clients, true) }
	}
	return options
}

func forPages[Q, A any](answer func(context.Context, Q) (A, error)) func(context.Context, Q) (A, error) {
	return func(ctx context.Context, question Q) (A, error) {
		res, err := answer(ctx, question)
		return res, pageError(err)
	}
}

func pageError(err error) error {
	if errors.Is(err, index.ErrNoIndex) {
		return &web.Error{Status: http.StatusServiceUnavailable, Message: "There is no index yet.", Hint: "Load the page again when it is built; with --no-update, build it: pigrep index"}
	}
	p, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return err
	}
	e := &web.Error{Status: http.StatusInternalServerError, Message: p.Error(), Hint: p.Hint}
	if p.Code == conversation.CodeNotFound {
		e.Status = http.StatusNotFound
	}
	return e
}

// findMasked returns the only session whose name, made of its masked path as rows of audits
// have it, is name; -1 if there is none, or several.
func findMasked(list []session.Summary, name string) int {
	found := -1
	for i := range list {
		if web.ConversationName(redact.Text(list[i].Path), redact.Text(list[i].ID)) != name {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// find opens the session with a name in addresses. The caller calls done.
func (b *webBackend) find(ctx context.Context, name string) (x *snapshot.Snapshot, t *conversation.Target, done func(), err error) {
	path, err := b.pathOf(ctx, name)
	if err == nil {
		x, t, done, err = b.openSession(ctx, path)
	}
	return x, t, done, pageError(err)
}

func (b *webBackend) pathOf(ctx context.Context, name string) (string, error) {
	var named []string
	if b.Hosts != nil { // which do not say what else they have
		path := ""
		b.Hosts.Each(func(p, _ string) bool {
			if strings.HasSuffix(name, web.ConversationName(p, "")) {
				path = p
			}
			return path == ""
		})
		if path != "" {
			return path, nil
		}
		named = []string{name[:max(0, strings.LastIndexByte(name, '.'))]}
	}
	x, err := b.open(ctx, named)
	if err != nil {
		return "", err
	}
	defer x.Close()
	summaries := x.Reader.Summaries()
	i := slices.IndexFunc(summaries, func(s session.Summary) bool { return web.ConversationName(s.Path, s.ID) == name })
	if i < 0 {
		i = findMasked(summaries, name)
	}
	if i >= 0 {
		return summaries[i].Path, nil
	}
	s, err := sessions.FindSession(x.Reader, name)
	if err != nil {
		return "", &web.Error{Status: http.StatusNotFound, Message: "There is no session " + name + ".", Hint: "It may have been deleted."}
	}
	return s.Path, nil
}

func (b *webBackend) command(r *search.Resume) string {
	if conversation.CheckDir(r.Dir) != nil {
		return ""
	}
	return shellcmd.Here.Command(r.Dir, r.Argv)
}

func (b *webBackend) openPage(ctx context.Context, name, leaf string, masked bool) (c *web.Conversation, err error) {
	x, t, done, err := b.find(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	t.Redact = masked
	facts, err := t.Facts(ctx, x)
	if err != nil {
		return nil, pageError(problem.OfIndex(err))
	}
	var branch []int
	if leaf != "" {
		i := t.Tree.Find(leaf)
		if i < 0 {
			return nil, &web.Error{Status: http.StatusNotFound, Message: "There is no entry " + leaf + " in this session."}
		}
		branch = t.Tree.Through(i)
	}
	o := &exportOptions{Leaf: leaf}
	o.Redact = masked
	c = &web.Conversation{Page: o.page(b.App, t, facts, branch, nil), Path: t.Record.Path, Leaf: leaf != "", Close: done}
	switch r, err := (&conversation.Manner{}).Plan(b.App, t); {
	case err == nil:
		c.Command, c.Notes = r.Command, r.Warnings
	default:
		p, ok := errors.AsType[*problem.Error](err)
		if !ok {
			return nil, err
		}
		c.Notes = append(c.Notes, strings.TrimSuffix(p.Error()+"; "+p.Hint, "; "))
	}
	if masked {
		c.Command = redact.Text(c.Command)
		redact.Strings(&c.Notes)
	}
	return c, nil
}

func (b *webBackend) offsets(ctx context.Context, req search.Request) (list []int64, err error) {
	req.Env.Expand = b.App.Absolute
	err = b.ask(ctx, req.Sessions, func(x *snapshot.Snapshot) error {
		list = nil
		in, err := req.Resolve(ctx, x.Reader, b.Agents, x.Source())
		if err != nil {
			return err
		}
		found, err := rank.Collect(ctx, in, req.Options())
		if err != nil {
			return err
		}
		sets := found.Sets
		if found.Counts.Total > 0 && found.Whole != nil { // looser hits are folded
			sets = found.Whole
		}
		for i, seg := range x.Reader.Segments() {
			if sets[i] == nil {
				continue
			}
			for doc := range sets[i].All() {
				list = append(list, seg.ID(doc).Offset)
			}
		}
		return x.Reader.Fault()
	})
	return list, err
}

func (b *webBackend) export(ctx context.Context, name, format string, masked bool) (file string, write func(io.Writer) error, err error) {
	x, t, done, err := b.find(ctx, name)
	if err != nil {
		return "", nil, err
	}
	title := search.Describe(&t.Record.Summary, nil).Title
	if masked {
		title = t.Record.ID
	}
	file = exportName(title, t.Names.Short(t.Record.ID, t.Record.Path))
	return file, func(w io.Writer) error {
		defer done()
		out := bufio.NewWriter(w)
		o := &exportOptions{Format: format}
		o.Redact = masked
		if err := o.export(ctx, x, t, search.Request{}, out); err != nil {
			return err
		}
		return out.Flush()
	}, nil
}

func (b *webBackend) audits(ctx context.Context, answer func(*report.Source) error) error {
	return pageError(b.ask(ctx, nil, func(x *snapshot.Snapshot) error { return answer(auditSource(x.Answers())) }))
}

func (b *webBackend) status() (*printer.Status, error) {
	s, err := upkeep.Status(b.Location)
	return s, pageError(err)
}

func (b *webBackend) follow(ctx context.Context, report func(web.State)) {
	b.backend.follow(ctx, func(s tui.State) {
		state := web.State{Generation: s.Generation, Note: s.Problem}
		switch {
		case s.Problem != "" && s.Hint != "":
			state.Note += "; " + s.Hint
		case s.Problem == "" && s.Indexing && s.First:
			state.Note = human.Percent(s.Share) + " of the session files are indexed"
		case s.Problem == "":
			state.Note = s.Lag
		}
		report(state)
	})
}
