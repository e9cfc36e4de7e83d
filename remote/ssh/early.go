package ssh

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"time"

	"pigrep/query/search"
	"pigrep/remote"
)

// early asks hosts for answers with the first round trip, before they agree on what counts: on what
// they have agreed on for the same question before, if that is known, or else each on its own. It
// shows what has come as soon as all have answered, or earlier if some take long.
type early[Req request, Res any] struct {
	h        *Asking
	display  func(answer any)
	req      Req
	q        joint[Req, Res]
	expects  agreement
	patience *time.Timer // nil: nobody wants them

	mu      sync.Mutex
	answers map[int]Res // by the numbers of hosts
	late    bool        // what has come is shown
	shown   bool        // something is
	over    bool        // nothing is
}

// soon is how long what has come waits to be shown with the rest: a list that changes with each host
// is no help to a reader.
const soon = 150 * time.Millisecond

func newEarly[Req request, Res any](ctx context.Context, h *Asking, req Req, q joint[Req, Res]) *early[Req, Res] {
	e := &early[Req, Res]{h: h, display: remote.Early(ctx), req: req, q: q, answers: make(map[int]Res)}
	if e.display == nil || q.early == nil {
		return e
	}
	h.Hosts.mu.Lock()
	if e.expects.split = h.last.split; h.last.about == aboutOf(&q.words) {
		e.expects = h.last
	}
	h.Hosts.mu.Unlock()
	e.patience = time.AfterFunc(soon, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.late = true
		e.show()
	})
	return e
}

// ask adds the request to the first that a host is asked.
func (e *early[Req, Res]) ask(number int, to *remote.PrepareRequest) {
	if e.patience == nil {
		return
	}
	at, _ := e.q.early(to, &remote.Prepared{})
	*at = e.q.know(e.req, &e.expects, number)
}

// arrived takes what a host has answered.
func (e *early[Req, Res]) arrived(number int, p *remote.Prepared) {
	if e.patience == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, answer := e.q.early(&remote.PrepareRequest{}, p); !isNil(*answer) {
		e.answers[number] = *answer
		e.show()
	}
}

func (e *early[Req, Res]) show() {
	var list []Res
	var waiting []string
	for number, host := range e.h.all() {
		if answer, ok := e.answers[number]; ok {
			list = append(list, answer)
		} else {
			waiting = append(waiting, host.name)
		}
	}
	if e.over || len(list) == 0 || len(waiting) > 0 && !e.late {
		return
	}
	answer := e.q.merge(e.q.know(e.req, &e.expects, none), list)
	if len(waiting) > 0 {
		Lack(answer, func(s *search.IndexState) { s.Complete = false }, "waiting for "+strings.Join(waiting, ", "))
	}
	e.shown = true
	e.display(answer)
}

// expected returns the answers of hosts if they have agreed on what was expected; nil otherwise.
func (e *early[Req, Res]) expected(agreed agreement, hosts []int) (list []Res) {
	if e.patience == nil || e.expects.shared == nil || !reflect.DeepEqual(agreed, e.expects) {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, number := range hosts {
		answer, ok := e.answers[number]
		if !ok {
			return nil
		}
		list = append(list, answer)
	}
	return list
}

// pause waits before hosts are asked again if something is shown: somebody who types is about to ask
// something else, which ends the question.
func (e *early[Req, Res]) pause(ctx context.Context) error {
	if e.patience == nil {
		return nil
	}
	e.mu.Lock()
	shown := e.shown
	e.mu.Unlock()
	if !shown {
		return nil
	}
	select {
	case <-time.After(soon):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end makes it show nothing any more.
func (e *early[Req, Res]) end() {
	if e.patience == nil {
		return
	}
	e.patience.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
}
