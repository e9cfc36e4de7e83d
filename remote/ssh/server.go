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

	"pigrep/query/audit"
	"pigrep/remote"
)

// Answerer is what a host answers from.
type Answerer interface {
	remote.Participant
	Status(context.Context, struct{}) (*remote.Status, error)
	Session(context.Context, SessionRequest, func(*Piece) error) (*remote.Coverage, error)
	Resume(context.Context, ResumeRequest) (*ResumeAnswer, error)
}

// Server answers the questions of a client.
type Server struct {
	Greeting
	// From returns who answers, with days beginning in a zone, to a client with a name for this host;
	// again if the question goes on with the one before.
	From func(zone *time.Location, host string, again bool) Answerer
	// Problem turns an error into one for the other side.
	Problem func(context.Context, error) *remote.Error
}

// asked answers one kind of question.
type asked func(ctx context.Context, from Answerer, request json.RawMessage, part func(any) error) (any, error)

// question is a question with one answer.
func question[Req, Res any](ask func(Answerer, context.Context, Req) (*Res, error)) asked {
	return func(ctx context.Context, from Answerer, request json.RawMessage, _ func(any) error) (any, error) {
		var req Req
		if err := json.Unmarshal(request, &req); err != nil {
			return nil, err
		}
		return ask(from, ctx, req)
	}
}

// stream is a question with parts.
func stream[Req, Part, Res any](ask func(Answerer, context.Context, Req, func(*Part) error) (*Res, error)) asked {
	return func(ctx context.Context, from Answerer, request json.RawMessage, part func(any) error) (any, error) {
		var req Req
		if err := json.Unmarshal(request, &req); err != nil {
			return nil, err
		}
		return ask(from, ctx, req, func(p *Part) error { return part(p) })
	}
}

// calls visits the rows of a list of calls as parts.
func calls(from Answerer, ctx context.Context, req audit.Request, visit func(*audit.CallRow) error) (*audit.CallList, error) {
	list, err := from.Calls(ctx, req)
	if err == nil {
		err = list.Each(ctx, visit)
	}
	return list, err
}

func unknown(context.Context, Answerer, json.RawMessage, func(any) error) (any, error) {
	return nil, errors.New("this pigrep does not know the question")
}

func ping(Answerer, context.Context, struct{}) (*struct{}, error) { return &struct{}{}, nil }

// questions are those that a host answers, by their names.
var questions = map[string]asked{
	"prepare":  question(Answerer.Prepare),
	"search":   question(Answerer.Search),
	"sessions": question(Answerer.Sessions),
	"facets":   question(Answerer.Facets),
	"values":   question(Answerer.Values),
	"count":    question(Answerer.Count),
	"grep":     stream(Answerer.Grep),
	"tools":    question(Answerer.Tools),
	"commands": question(Answerer.Commands),
	"calls":    stream(calls),
	"files":    question(Answerer.Touched),
	"usage":    question(Answerer.Usage),
	"fix":      question(Answerer.Fix),
	"entries":  question(Answerer.Entries),
	"weigh":    question(Answerer.Weigh),
	"compare":  question(Answerer.Compare),
	"ping":     question(ping),
	"status":   question(Answerer.Status),
	"session":  stream(Answerer.Session),
	"resume":   question(Answerer.Resume),
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
		v.begin(m.ID, cancel)
		answering.Go(func() {
			defer func() { v.cancel(m.ID); <-slots }()
			v.answer(asking, &m)
		})
	}
}

func (v *serving) begin(id int, cancel context.CancelFunc) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running[id] = cancel
}

func (v *serving) cancel(id int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if cancel := v.running[id]; cancel != nil {
		cancel()
		delete(v.running, id)
	}
}

// answer answers one question.
func (v *serving) answer(ctx context.Context, m *message) {
	ask := questions[m.Ask]
	if ask == nil {
		ask = unknown
	}
	zone, err := time.LoadLocation(m.Zone)
	if err != nil {
		zone = time.UTC
	}
	answer, err := ask(ctx, v.From(zone, m.Host, m.Goes), m.Request, func(part any) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := encode(m.ID, "part", part)
		if err != nil {
			return err
		}
		return v.write(line)
	})
	var line []byte
	if err == nil {
		line, err = encode(m.ID, "answer", answer)
	}
	if err != nil {
		line, _ = json.Marshal(reply{ID: m.ID, Error: v.Problem(ctx, err)}) // of texts
	}
	if err := v.write(line); err != nil {
		v.stop(err)
	}
}

// encode encodes a reply with a part or an answer, if it fits into a line.
func encode(id int, what string, content any) ([]byte, error) {
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

// write writes a line.
func (v *serving) write(data []byte) (err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, err = v.out.Write(append(data, '\n'))
	if err == nil {
		err = v.out.Flush()
	}
	return err
}
