package ssh

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
)

// Options are how hosts are asked.
type Options struct {
	Version string        // of this program
	Schema  int           // of its index
	Wait    time.Duration // for an answer, and for each part of it
	Zone    string        // in which days begin
	Now     func() time.Time
	Flags   []string // of the command on the host
	Environ []string // of the programs that reach hosts

	Dir    string        // for what a command leaves for the next ones: see keep.go; "" for nothing
	Glance time.Duration // how long to wait for a host that did not answer a moment ago; 0: as for others
}

// A HostError says in a line why a host does not answer, and what to do about it.
type HostError struct {
	Host, Reason, Hint string
	Some               bool // of its answer had come before
}

func (e *HostError) Error() string { return e.Reason }

// Client asks a host. It connects with the first question, and again with the next one after
// the connection is lost. It is safe for concurrent use.
type Client struct {
	Host
	options Options
	most    int64         // as of maxParts
	whole   time.Duration // how long all parts of an answer may take, without the time in which they are used

	names sync.Map // of sessions that were in answers, by path: as commands accept them there

	mu    sync.Mutex
	conn  *connection // nil before the first question
	alone bool        // connections are not kept for other commands
}

var _ remote.Answers = (*Client)(nil)

func NewClient(h Host, o Options) *Client {
	return &Client{Host: h, options: o, most: maxParts, whole: maxWaits * o.Wait}
}

// Again returns a client of the same host without a connection, as the next command would have.
func (c *Client) Again() *Client { return NewClient(c.Host, c.options) }

// Close ends the connection.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.conn.close()
		c.conn = nil
	}
}

// Version returns the version of pigrep on the host, "" before the first answer.
func (c *Client) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil || !c.conn.spoke.Load() {
		return ""
	}
	return said(c.conn.greeting.Version)
}

// connection is a pigrep that runs on the host.
type connection struct {
	command  *exec.Cmd
	stdin    io.WriteCloser
	stdout   io.ReadCloser
	lines    chan []byte // to be written to stdin
	stderr   *tail
	socket   string        // where ssh keeps the connection; "" for nowhere
	found    bool          // the socket was there before
	greeted  chan struct{} // closed when the host has said its greeting, or failed
	ended    chan struct{} // closed when the program that reaches the host has ended
	started  time.Time
	greeting Greeting
	spoke    atomic.Bool // it has greeted, and greeting is set

	mu     sync.Mutex // guards the fields below
	next   int
	asked  map[int]*pending
	failed error // why there are no more answers
}

// pending is a question without an answer.
type pending struct {
	replies chan reply
	done    <-chan struct{} // nobody waits any more
}

// connect returns the connection, which may still be without its greeting. A new one counts as begun at started.
func (c *Client) connect(started time.Time) (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil && c.conn.err() == nil {
		return c.conn, nil
	}
	pigrep := fmt.Sprint("pigrep ", Command, " --protocol ", Protocol, " ", strings.Join(c.options.Flags, " "))
	socket := c.socket()
	_, missing := os.Lstat(socket)
	argv, first := c.command(strings.TrimSpace(pigrep), max(1, int(c.options.Wait.Seconds())), keeping(socket)...)
	n := &connection{
		command: exec.Command(argv[0], argv[1:]...), lines: make(chan []byte, 1), stderr: &tail{}, socket: socket, found: missing == nil,
		greeted: make(chan struct{}), ended: make(chan struct{}), asked: make(map[int]*pending), started: started,
	}
	n.command.Env, n.command.Stderr, n.command.WaitDelay = c.options.Environ, n.stderr, time.Second
	var err error
	if n.stdin, err = n.command.StdinPipe(); err != nil {
		return nil, err
	}
	if n.stdout, err = n.command.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := n.command.Start(); err != nil {
		return nil, c.problem(argv[0]+" cannot be started: "+err.Error(), "install "+argv[0])
	}
	if first != "" {
		n.lines <- []byte(first)
	}
	go n.write()
	go n.read()
	c.conn = n
	return n, nil
}

func (c *Client) problem(reason, hint string) *HostError {
	return &HostError{Host: c.Host.Name, Reason: reason, Hint: hint}
}

// read reads what the host says until it ends.
func (n *connection) read() {
	lines := bufio.NewReaderSize(n.stdout, 64<<10)
	err := n.greet(lines)
	close(n.greeted)
	var buf []byte
	for err == nil {
		var line []byte
		if line, err = readLine(lines, buf, maxLine); err != nil {
			break
		}
		var r reply
		if err = json.Unmarshal(line, &r); err == nil {
			n.deliver(r)
		} else {
			err = errGarbage
		}
	}
	n.mu.Lock()
	n.failed = err
	for _, p := range n.asked {
		close(p.replies)
	}
	n.asked = nil
	n.mu.Unlock()
	n.close()
	_ = n.command.Wait() // its outcome is in its state
	close(n.ended)
}

var errGarbage = errors.New("it sends what is no answer of pigrep")

// greet skips what the shell of the host prints, up to the greeting.
func (n *connection) greet(lines *bufio.Reader) error {
	for left := maxBefore; left > 0; {
		line, err := readLine(lines, nil, left)
		if errors.Is(err, errLine) {
			break
		}
		if err != nil {
			return err
		}
		left -= len(line)
		if !bytes.HasPrefix(line, []byte(greetingMark)) {
			continue
		}
		var g greeting
		if err := json.Unmarshal(line, &g); err != nil {
			return errGarbage
		}
		n.greeting = g.Pigrep
		n.spoke.Store(true)
		return nil
	}
	return errGarbage
}

// deliver hands a reply to who waits for it. Replies to questions that nobody asked, or whose
// answer nobody wants any more, are dropped.
func (n *connection) deliver(r reply) {
	n.mu.Lock()
	p := n.asked[r.ID]
	n.mu.Unlock()
	if p == nil {
		return
	}
	select {
	case p.replies <- r:
	case <-p.done:
	}
}

func (n *connection) err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failed
}

// close ends the connection, and nothing more of what the host sends is read. The host ends when its
// stdin does; a program that reaches it and does not end by itself is killed.
func (n *connection) close() {
	_ = n.stdin.Close()
	_ = n.stdout.Close()
	time.AfterFunc(time.Second, func() {
		select {
		case <-n.ended:
		default:
			_ = n.command.Process.Kill()
		}
	})
}

// write writes lines until the connection ends. Nobody waits for a host that does not read.
func (n *connection) write() {
	for {
		select {
		case line := <-n.lines:
			if _, err := n.stdin.Write(line); err != nil {
				return // what cannot be written to says so in its answer
			}
		case <-n.ended:
			return
		}
	}
}

// cancel tells the host that nobody waits for an answer any more, unless it does not read.
func (n *connection) cancel(id int) {
	select {
	case n.lines <- fmt.Appendf(nil, `{"cancel":%d}`+"\n", id):
	default:
	}
}

// begin returns where the replies to a question arrive, and the question as a line.
func (n *connection) begin(ctx context.Context, m *message) (p *pending, line []byte, err error) {
	p = &pending{make(chan reply), ctx.Done()}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failed != nil {
		return nil, nil, n.failed
	}
	n.next++
	m.ID = n.next
	if line, err = json.Marshal(m); err == nil {
		n.asked[m.ID] = p
	}
	return p, append(line, '\n'), err
}

func (n *connection) end(id int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.asked, id)
}

// ask asks a question, calls part with each part of the answer, and decodes the answer. It waits up to
// Wait for the answer or its first part, and again for each further part, within the limits of all parts.
func (c *Client) ask(ctx context.Context, question string, request any, part func(*reply) error, answer any) error {
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	late := time.NewTimer(c.options.Wait)
	defer late.Stop()
	n, err := c.reach(ctx)
	if err != nil {
		return err
	}
	m := &message{Ask: question, Zone: c.options.Zone, Host: c.Host.Name, Request: data}
	p, line, err := n.begin(ctx, m)
	if err != nil {
		return c.lost(ctx, n)
	}
	defer n.end(m.ID)
	if len(line) > maxRequest {
		return c.problem(fmt.Sprintf("the question has more than %d MB, too much to send", maxRequest>>20), "ask about less, such as fewer commits or a smaller file")
	}
	some, to := false, n.lines
	most, left, since := c.most, c.whole, c.options.Now()
	for {
		select {
		case to <- line:
			to, line = nil, nil
		case r, ok := <-p.replies:
			switch {
			case !ok:
				return c.lost(ctx, n)
			case r.Error != nil:
				return c.says(r.Error)
			case r.Answer != nil:
				_, err := decode(r.Answer, r.Beside, answer, maxAnswer)
				return c.refused(err)
			case r.Part == nil || part == nil:
				return c.refused(errGarbage)
			}
			left -= c.options.Now().Sub(since)
			if most -= int64(len(r.Part)+len(r.Beside)) + partCost; most < 0 || left <= 0 {
				return c.refused(errEndless)
			}
			if err := part(&r); err != nil {
				n.cancel(m.ID)
				return err
			}
			some, since = true, c.options.Now()
			late.Reset(c.options.Wait)
		case <-late.C:
			n.cancel(m.ID)
			return c.slow(some)
		case <-ctx.Done():
			n.cancel(m.ID)
			return ctx.Err()
		}
	}
}

var errEndless = errors.New("its answer does not end")

// says returns the error that a host has answered with. The hint of the host is quoted as its own words.
func (c *Client) says(e *remote.Error) error {
	text := c.Host.Name + " says: " + said(e.Message)
	if hint := said(e.Hint); hint != "" {
		text += fmt.Sprintf(" (and %q)", hint)
	}
	code := e.Code
	if !boxForm().MatchString(code) {
		code = "io"
	}
	return &remote.Error{Code: said(code), Message: text}
}

// parts asks a question with parts. size of a part is about how much memory it takes.
func parts[Part, Res any](ctx context.Context, c *Client, question string, req any, visit func(part *Part, size int64) error) (*Res, error) {
	res := new(Res)
	err := c.ask(ctx, question, req, func(r *reply) error {
		part := new(Part)
		size, err := decode(r.Part, r.Beside, part, maxAnswer)
		if err != nil {
			return c.refused(err)
		}
		c.adopt(part)
		return visit(part, size)
	}, res)
	if err != nil {
		return nil, err
	}
	c.adopt(res)
	return res, nil
}

// answer asks a question whose answer has no parts.
func answer[Res any](ctx context.Context, c *Client, question string, req any) (*Res, error) {
	res := new(Res)
	if err := c.ask(ctx, question, req, nil, res); err != nil {
		return nil, err
	}
	c.adopt(res)
	return res, nil
}

func (c *Client) Search(ctx context.Context, req search.Request) (*search.Response, error) {
	req.Later = false // an answer comes as a whole
	return answer[search.Response](ctx, c, remote.Search.Name, req)
}

func (c *Client) Count(ctx context.Context, req search.Request) (*search.Tally, error) {
	return answer[search.Tally](ctx, c, remote.Count.Name, req)
}

func (c *Client) Facets(ctx context.Context, req search.Request) (*facets.Response, error) {
	return answer[facets.Response](ctx, c, remote.Facets.Name, req)
}

func (c *Client) Sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	return answer[sessions.Response](ctx, c, remote.Sessions.Name, req)
}

func (c *Client) Values(ctx context.Context, req struct{}) (*[]sessions.Facet, error) {
	return answer[[]sessions.Facet](ctx, c, remote.Values.Name, req)
}

func (c *Client) Tools(ctx context.Context, req audit.Request) (*audit.ToolTable, error) {
	return answer[audit.ToolTable](ctx, c, remote.Tools.Name, req)
}

func (c *Client) Commands(ctx context.Context, req audit.Request) (*audit.CommandTable, error) {
	return answer[audit.CommandTable](ctx, c, remote.Commands.Name, req)
}

func (c *Client) Files(ctx context.Context, req remote.FilesRequest) (*audit.FileTable, error) {
	return answer[audit.FileTable](ctx, c, remote.Files.Name, req)
}

func (c *Client) Usage(ctx context.Context, req audit.Request) (*audit.UsageTable, error) {
	return answer[audit.UsageTable](ctx, c, remote.Usage.Name, req)
}

func (c *Client) Fix(ctx context.Context, req fix.Request) (*fix.Response, error) {
	return answer[fix.Response](ctx, c, remote.Fix.Name, req)
}

func (c *Client) Similar(ctx context.Context, req similar.Request) (*similar.Response, error) {
	req.Path = c.there(req.Path)
	return answer[similar.Response](ctx, c, remote.Similar.Name, req)
}

func (c *Client) Blame(ctx context.Context, req blame.Request) (*blame.Response, error) {
	return answer[blame.Response](ctx, c, remote.Blame.Name, req)
}

func (c *Client) Commits(ctx context.Context, req blame.CommitRequest) (*blame.CommitResponse, error) {
	return answer[blame.CommitResponse](ctx, c, remote.Commits.Name, req)
}

func (c *Client) Recap(ctx context.Context, req recap.Request) (*recap.Response, error) {
	return answer[recap.Response](ctx, c, remote.Recap.Name, req)
}

func (c *Client) Lessons(ctx context.Context, req recap.Request) (*recap.Lessons, error) {
	return answer[recap.Lessons](ctx, c, remote.Lessons.Name, req)
}

// Status asks a host what it has.
func (c *Client) Status(ctx context.Context) (*remote.Status, error) {
	return answer[remote.Status](ctx, c, askStatus, struct{}{})
}

// Ping asks a host for nothing.
func (c *Client) Ping(ctx context.Context) error {
	_, err := answer[struct{}](ctx, c, askPing, struct{}{})
	return err
}

// Resuming asks a host how it resumes a session.
func (c *Client) Resuming(ctx context.Context, req ResumeRequest) (*ResumeAnswer, error) {
	return answer[ResumeAnswer](ctx, c, askResume, req)
}

// there returns how the host calls a session file of it.
func (c *Client) there(path string) string {
	if host, there, ok := remote.Split(path); ok && host == c.Host.Name {
		return there
	}
	return ""
}

// Calls keeps the rows of a list of calls until they are visited.
func (c *Client) Calls(ctx context.Context, req audit.Request) (*audit.CallList, error) {
	var rows []*audit.CallRow
	left := int64(maxAnswer)
	list, err := parts[audit.CallRow, audit.CallList](ctx, c, remote.Calls.Name, req, func(row *audit.CallRow, size int64) error {
		if left -= size; left < 0 {
			return c.refused(remote.ErrTooMuch)
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, warning := range list.Warnings {
		list.Warnings[i] = quotation([]string{c.Host.Name}, warning)
	}
	list.Each = func(_ context.Context, visit func(*audit.CallRow) error) error {
		for _, row := range rows {
			if err := visit(row); err != nil {
				return err
			}
		}
		return nil
	}
	return list, nil
}

func (c *Client) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	return parts[grep.Match, remote.Grepped](ctx, c, askGrep, req, func(m *grep.Match, _ int64) error { return visit(m) })
}

// awaitGreeting waits for the greeting and checks it. It waits until Wait after the connection
// began, so that a later question waits no longer for a host that says nothing.
func (c *Client) awaitGreeting(ctx context.Context, n *connection) error {
	select {
	case <-n.greeted: // whenever that was
	default:
		wait, since := c.patience()
		if n.found && since == 0 { // half of the time is for logging in again
			wait /= 2
		}
		select {
		case <-n.greeted:
			c.remember(n, n.spoke.Load())
		case <-time.After(wait - c.options.Now().Sub(n.started)):
			if since > 0 {
				return c.notWaited(since)
			}
			if !n.found { // otherwise it logs in again
				c.remember(n, false)
			}
			return c.slow(false)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	g, o := &n.greeting, &c.options
	switch {
	case !n.spoke.Load():
		return c.lost(ctx, n)
	case g.Protocol != Protocol || g.Schema != o.Schema:
		there := terminal.Clip(terminal.Clean(g.Version), 40)
		update := "update pigrep there"
		if g.Protocol > Protocol || g.Protocol == Protocol && g.Schema > o.Schema {
			update = "update pigrep here"
		}
		return c.problem(fmt.Sprintf("pigrep %s there and %s here do not understand each other", there, o.Version), update)
	}
	return nil
}

// slow returns the error that no answer came in time, or no more after some of it.
func (c *Client) slow(some bool) error {
	// What it still sends is dropped, and the connection stays: the next answer may be in time.
	return c.problem(fmt.Sprintf("no %s in %v", human.When(some, "more ")+"answer", c.options.Wait), "wait longer: --wait 30s")
}

// refused ends the connection, and returns why an answer is refused; nil without an error.
func (c *Client) refused(err error) error {
	if err == nil {
		return nil
	}
	c.Close()
	if errors.Is(err, remote.ErrTooMuch) {
		return c.problem(fmt.Sprintf("its answer takes more than %d MB of memory", maxAnswer>>20), "narrow it: --since, --project, -n, or ask on that machine")
	}
	return c.problem(said(err.Error()), "is pigrep there the same as here? `pigrep hosts --check` looks")
}

// interrupting is how long it takes to notice a Ctrl-C, which also ends the program that reaches a host.
const interrupting = 50 * time.Millisecond

// lost says why the connection has ended.
func (c *Client) lost(ctx context.Context, n *connection) error {
	code := -1
	select {
	case <-n.ended:
		code = n.command.ProcessState.ExitCode()
	case <-time.After(2 * time.Second):
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(interrupting):
	}
	said, err := n.stderr.last(), n.err()
	isSSH := c.ssh != ""
	switch {
	case isSSH && code == 255 && n.stderr.has("REMOTE HOST IDENTIFICATION HAS CHANGED"):
		return c.problem("its key is not the one that ssh knows: it was set up anew, or another machine answers in its place", "ask who manages it; then: ssh-keygen -R "+c.ssh)
	case isSSH && code == 255 && strings.Contains(said, "Host key verification failed"):
		return c.problem("ssh does not know its key", "connect once by hand: ssh "+c.ssh)
	case isSSH && code == 255 && strings.Contains(said, "Permission denied"):
		return c.problem(said, "log in with a key that needs no password, or with ssh-agent; try: ssh "+c.ssh+" true")
	case isSSH && code == 255 && !n.spoke.Load():
		return c.problem(cmp.Or(said, "ssh: no connection"), "try: ssh "+c.ssh+" true")
	case n.spoke.Load() && (errors.Is(err, errLine) || errors.Is(err, errGarbage)):
		return c.problem(err.Error(), "`pigrep hosts --check` says more")
	case n.spoke.Load():
		return c.problem("the connection ended in the middle of an answer"+human.When(said != "", ": "+said), "ask again")
	case code == 127 || code == 126 && strings.Contains(said, "not found"):
		return c.problem("there is no pigrep on its PATH", "install pigrep there")
	case strings.Contains(said, "unknown flag") || strings.Contains(said, "unknown command"):
		return c.problem("pigrep there is too old to be asked", "update pigrep there")
	case errors.Is(err, errGarbage):
		return c.problem("it prints more than 1 MB before pigrep answers", "its shell must print nothing when it runs a command")
	}
	said = strings.TrimPrefix(said, "pigrep: ")
	return c.problem("pigrep does not answer there"+human.When(said != "", ": "+said), "`pigrep hosts --check` says more")
}

// tail keeps the end of what a program writes.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const maxTail = 4 << 10

// Write implements io.Writer; it never blocks.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	t.end = t.end[max(0, len(t.end)-maxTail):]
	return len(p), nil
}

// has reports whether the end has a text.
func (t *tail) has(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.end, []byte(text))
}

// last returns the last line that says something, as it may be shown. A hint of the pigrep
// there is none.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, line := range slices.Backward(strings.Split(string(t.end), "\n")) {
		if line = strings.TrimSpace(terminal.Clean(line)); line != "" && !strings.HasPrefix(line, "hint: ") {
			return terminal.Clip(line, maxReason)
		}
	}
	return ""
}

// Piece is a piece of a session file, masked on its host: its summary comes first, then its
// lines.
type Piece struct {
	Summary *session.Summary `json:",omitempty"`
	Lines   string           `json:",omitempty" redact:"-" wire:"exact"` // each was masked as JSON
}

// Name implements remote.Source.
func (c *Client) Name() string { return c.Host.Name }

// Whole implements remote.Source.
func (c *Client) Whole(ctx context.Context, named remote.Named, visit func(*remote.Session) error) (remote.Coverage, error) {
	req := remote.Named{Latest: named.Latest}
	for _, name := range named.Names {
		host, path, ok := remote.Split(name)
		switch {
		case !ok:
			req.Names = append(req.Names, name)
		case host == c.Host.Name:
			req.Names = append(req.Names, path)
		}
	}
	if !req.Any() { // they are of other hosts
		return remote.Coverage{}, nil
	}
	var now *remote.Session
	left := int64(maxText)
	done := func() error {
		if now == nil {
			return nil
		}
		return visit(now)
	}
	got, err := parts[Piece, remote.Coverage](ctx, c, askSession, req, func(p *Piece, size int64) error {
		if left -= size; left < 0 {
			return c.problem(fmt.Sprintf("it sends more than %d MB of sessions", maxText>>20), "ask on that machine")
		}
		if p.Summary != nil {
			if err := done(); err != nil {
				return err
			}
			now = &remote.Session{Host: c.Host.Name, Path: p.Summary.Path, Summary: *p.Summary, Text: []byte{}}
			now.Summary.Path = remote.Name(now.Host, now.Path)
		}
		if now != nil {
			now.Text = append(now.Text, p.Lines...)
		}
		return nil
	})
	if err == nil {
		err = done()
	}
	if err != nil {
		return remote.Coverage{}, err
	}
	return *got, nil
}

// ResumeRequest asks how a session is resumed.
type ResumeRequest struct {
	search.Request
	Words []string
	Named bool // the words are the name of the session, and nothing is searched
	Last  bool
	Fork  bool
	In    string
}

// ResumeAnswer is the command that resumes a session on its host.
type ResumeAnswer struct {
	Session search.SessionHit
	Version int
	Entries int
	session.EntryName
	Branch    string
	InContext *bool
	Dir       string   `wire:"exact"`
	Argv      []string `wire:"exact"`
	Fork      bool
	Warnings  []string `wire:"say"`
}

// Resume asks all hosts how the session is resumed that a request names. Those that do not have
// it say so with an error.
func (h *Asking) Resume(ctx context.Context, req ResumeRequest) (found []*ResumeAnswer, on []*Host, refused []error) {
	answers, errs := make([]*ResumeAnswer, len(h.Clients)), make([]error, len(h.Clients))
	var asking sync.WaitGroup
	for i, c := range h.Clients {
		asking.Go(func() { answers[i], errs[i] = c.Resuming(ctx, req) })
	}
	asking.Wait()
	for i, answer := range answers {
		if errs[i] == nil {
			for k, warning := range answer.Warnings {
				answer.Warnings[k] = quotation([]string{h.Clients[i].Host.Name}, warning)
			}
			found, on = append(found, answer), append(on, &h.Clients[i].Host)
		} else if err := h.miss(errs[i]); err != nil {
			refused = append(refused, err)
		}
	}
	return found, on, refused
}
