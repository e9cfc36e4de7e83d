package ssh

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"pigrep/internal/redact"
	"pigrep/query/audit"
	"pigrep/remote"
)

// The questions beside those of remote.Kinds. The answers of some have parts, as remote.Calls has.
const (
	askGrep    = "grep"
	askSession = "session"
	askStatus  = "status"
	askPing    = "ping"
	askResume  = "resume"
)

// Answerer is what a host answers from.
type Answerer interface {
	remote.Answers
	Session(context.Context, remote.Named, func(*Piece) error) (*remote.Coverage, error)
	Status(context.Context) (*remote.Status, error)
	Resuming(context.Context, ResumeRequest) (*ResumeAnswer, error)
}

// Server answers the questions of a client.
type Server struct {
	Greeting
	Reveal bool // secrets are not masked
	// From returns who answers, with days beginning in a zone, to a client with a name for this host.
	From func(zone *time.Location, host string) Answerer
	// Problem turns an error into one for the other side.
	Problem func(context.Context, error) *remote.Error
}

// answerOf answers one question. What its answer has parts of is passed to part before.
func answerOf(ctx context.Context, from Answerer, m *message, part func(any) error) (any, error) {
	switch m.Ask {
	case askGrep:
		return stream(ctx, m, from.Grep, part)
	case askSession:
		return stream(ctx, m, from.Session, part)
	case askStatus:
		return from.Status(ctx)
	case askPing:
		return &struct{}{}, nil
	case askResume:
		var req ResumeRequest
		if err := json.Unmarshal(m.Request, &req); err != nil {
			return nil, err
		}
		return from.Resuming(ctx, req)
	}
	kind := remote.Kinds[m.Ask]
	if kind == nil {
		return nil, errors.New("this pigrep does not know the question")
	}
	answer, err := kind.AskEncoded(ctx, from, m.Request)
	if calls, ok := answer.(*audit.CallList); ok && err == nil {
		err = calls.Each(ctx, func(row *audit.CallRow) error { return part(row) })
	}
	return answer, err
}

func stream[Req, Part, Res any](ctx context.Context, m *message, ask func(context.Context, Req, func(*Part) error) (*Res, error), part func(any) error) (any, error) {
	var req Req
	if err := json.Unmarshal(m.Request, &req); err != nil {
		return nil, err
	}
	return ask(ctx, req, func(p *Part) error { return part(p) })
}

// serving is a Server with its client.
type serving struct {
	*Server
	stop context.CancelCauseFunc

	mu      sync.Mutex // guards the fields below
	out     *bufio.Writer
	running map[int]context.CancelFunc
}

// Serve greets the client and answers until its stdin ends or nobody reads the answers.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	v := &serving{Server: s, stop: stop, out: bufio.NewWriter(out), running: make(map[int]context.CancelFunc)}
	greeting, err := json.Marshal(greeting{s.Greeting})
	if err = cmp.Or(err, v.write(greeting)); err != nil {
		return err
	}
	var answering sync.WaitGroup
	defer answering.Wait()
	defer stop(nil)
	slots := make(chan struct{}, maxAtOnce)
	lines, buf := bufio.NewReaderSize(in, 64<<10), []byte(nil)
	for {
		line, err := readLine(lines, buf, maxRequest)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if m.Cancel != 0 {
			v.cancel(m.Cancel)
			continue
		}
		slots <- struct{}{}
		asking, cancel := context.WithCancel(ctx)
		v.mu.Lock()
		v.running[m.ID] = cancel
		v.mu.Unlock()
		answering.Go(func() {
			defer func() { v.cancel(m.ID); <-slots }()
			v.answer(asking, &m)
		})
	}
}

func (v *serving) cancel(id int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if cancel := v.running[id]; cancel != nil {
		cancel()
		delete(v.running, id)
	}
}

func (v *serving) answer(ctx context.Context, m *message) {
	zone, err := time.LoadLocation(m.Zone)
	if err != nil {
		zone = time.UTC
	}
	answer, err := answerOf(ctx, v.From(zone, m.Host), m, func(part any) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := v.encode(m.ID, "part", part)
		if err != nil {
			return err
		}
		return v.write(line)
	})
	var line []byte
	if err == nil {
		line, err = v.encode(m.ID, "answer", answer)
	}
	if err != nil {
		failed := v.Problem(ctx, err)
		v.mask(failed)
		line, _ = json.Marshal(reply{ID: m.ID, Error: failed}) // of texts
	}
	if err := v.write(line); err != nil {
		v.stop(err)
	}
}

// mask masks the secrets in all strings of what leaves this machine.
func (v *serving) mask(content any) {
	if !v.Reveal {
		redact.Strings(content)
	}
}

// encode encodes a reply with a part or an answer, masked, if it fits into a line.
func (v *serving) encode(id int, what string, content any) ([]byte, error) {
	v.mask(content)
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	beside, err := json.Marshal(unwritten(content))
	if len(data)+len(beside) > maxLine-1<<10 {
		err = remote.ErrTooMuch
	}
	return fmt.Appendf(nil, `{"id":%d,"%s":%s,"beside":%s}`, id, what, data, beside), err
}

func (v *serving) write(data []byte) (err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, err = v.out.Write(append(data, '\n'))
	if err == nil {
		err = v.out.Flush()
	}
	return err
}
