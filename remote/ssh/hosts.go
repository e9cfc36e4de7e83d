package ssh

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"pigrep/query/audit"
	"pigrep/query/engine/words"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/merge"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
)

// Hosts asks several machines at once and merges their answers. It answers as long as one of
// them does.
type Hosts struct {
	Clients []*Client
	Here    remote.Participant // this machine; nil if it is not asked
	// Soon lets a grep visit the matches of that host first which finds some first, so that
	// the order of hosts may change; otherwise it is that of their names on the command line.
	Soon bool

	mu       sync.Mutex
	missing  []*HostError
	sessions map[int]remote.Prepared // of hosts, by number
}

var _ remote.Answers = (*Hosts)(nil)

// Missing returns the hosts that did not answer since the last call, and why.
func (h *Hosts) Missing() []*HostError {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.missing
	h.missing = nil
	return list
}

// Close ends all connections.
func (h *Hosts) Close() {
	for _, c := range h.Clients {
		c.Close()
	}
}

// miss takes an error of a host. It returns those that are no fault of this host: they end the
// question.
func (h *Hosts) miss(err error) error {
	host, ok := errors.AsType[*HostError](err)
	if !ok {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.missing, func(e *HostError) bool { return e.Host == host.Host }) {
		h.missing = append(h.missing, host)
	}
	return nil
}

// ErrNone means that no host has answered.
var ErrNone = errors.New("no host answers")

// all returns who is asked.
func (h *Hosts) all() (all []remote.Participant) {
	if h.Here != nil {
		all = append(all, h.Here)
	}
	for _, c := range h.Clients {
		all = append(all, c)
	}
	return all
}

// each asks some hosts, by their numbers, and returns what those answer that do, with their
// numbers.
func each[T any](ctx context.Context, h *Hosts, hosts []int, ask func(ctx context.Context, number int, from remote.Participant) (*T, error)) (answers []*T, answered []int, err error) {
	all := h.all()
	list := make([]*T, len(all))
	asking, ctx := errgroup.WithContext(ctx)
	for _, i := range hosts {
		asking.Go(func() error {
			answer, err := ask(ctx, i, all[i])
			if err != nil {
				return h.miss(err)
			}
			list[i] = answer
			return nil
		})
	}
	if err := asking.Wait(); err != nil {
		return nil, nil, err
	}
	for _, i := range hosts {
		if list[i] != nil {
			answers, answered = append(answers, list[i]), append(answered, i)
		}
	}
	if len(answers) == 0 {
		return nil, nil, ErrNone
	}
	return answers, answered, nil
}

// numbers are those of all hosts.
func (h *Hosts) numbers() (list []int) {
	for i := range h.all() {
		list = append(list, i)
	}
	return list
}

// ask asks all hosts and merges their answers.
func ask[Req, Res any](ctx context.Context, h *Hosts, question func(remote.Answers, context.Context, Req) (*Res, error), req Req, merge func([]*Res) *Res) (*Res, error) {
	list, _, err := each(ctx, h, h.numbers(), func(ctx context.Context, _ int, from remote.Participant) (*Res, error) {
		return question(from, ctx, req)
	})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 1:
		return list[0], nil
	}
	return merge(list), nil
}

// together is what several hosts must know to answer a request as one index would.
type together struct {
	hosts     []int // that answered so far
	shared    *words.Statistics
	elsewhere map[int][]uint64 // by host
}

// prepare asks all hosts for what they must know of each other.
func (h *Hosts) prepare(ctx context.Context, req *search.Request) (*together, error) {
	list, hosts, err := each(ctx, h, h.numbers(), func(ctx context.Context, number int, from remote.Participant) (*remote.Prepared, error) {
		return from.Prepare(ctx, remote.PrepareRequest{Request: *req, Known: h.known(number).Number})
	})
	if err != nil {
		return nil, err
	}
	t := &together{hosts: hosts, shared: &words.Statistics{}, elsewhere: make(map[int][]uint64)}
	identities := make([][]search.Identity, len(list))
	for i, p := range list {
		t.shared.Add(&p.Statistics)
		identities[i] = h.know(hosts[i], p).Sessions
	}
	for i, ids := range merge.Elsewhere(identities) {
		t.elsewhere[hosts[i]] = ids
	}
	return t, nil
}

// known returns the sessions of a host, as far as they are known.
func (h *Hosts) known(number int) remote.Prepared {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[number]
}

// know remembers the sessions of a host.
func (h *Hosts) know(number int, p *remote.Prepared) remote.Prepared {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.sessions[number]; p.Number == 0 || p.Number != known.Number {
		if h.sessions == nil {
			h.sessions = make(map[int]remote.Prepared)
		}
		h.sessions[number] = remote.Prepared{Number: p.Number, Sessions: p.Sessions}
	}
	return h.sessions[number]
}

// Search answers in two steps, or a few more if the hosts decide together on what none of them
// could decide alone: see package merge.
func (h *Hosts) Search(ctx context.Context, req search.Request) (*search.Response, error) {
	if len(h.all()) == 1 {
		return ask(ctx, h, remote.Answers.Search, req, nil)
	}
	req.Later = false
	t, err := h.prepare(ctx, &req)
	if err != nil {
		return nil, err
	}
	req.Shared = t.shared
	one := func(ctx context.Context, number int, from remote.Participant, req search.Request) (*search.Response, error) {
		req.Elsewhere = t.elsewhere[number]
		return from.Search(ctx, req)
	}
	answers, hosts, err := each(ctx, h, t.hosts, func(ctx context.Context, number int, from remote.Participant) (*search.Response, error) {
		return one(ctx, number, from, req)
	})
	if err != nil {
		return nil, err
	}
	for range merge.Rounds {
		again := make(map[int]*search.Request)
		for i, more := range merge.Again(&req, answers) {
			if more != nil {
				again[hosts[i]] = more
			}
		}
		if len(again) == 0 {
			break
		}
		before := answers
		answers, hosts, err = each(ctx, h, hosts, func(ctx context.Context, number int, from remote.Participant) (*search.Response, error) {
			if more := again[number]; more != nil {
				return one(ctx, number, from, *more)
			}
			return before[slices.Index(hosts, number)], nil
		})
		if err != nil {
			return nil, err
		}
	}
	return merge.Search(&req, answers), nil
}

func (h *Hosts) Sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	return ask(ctx, h, remote.Answers.Sessions, req, func(list []*sessions.Response) *sessions.Response { return mergeSessions(&req, list) })
}

func (h *Hosts) Facets(ctx context.Context, req search.Request) (*facets.Response, error) {
	return ask(ctx, h, remote.Answers.Facets, req, func(list []*facets.Response) *facets.Response { return list[0] })
}

func (h *Hosts) Values(ctx context.Context, _ struct{}) (*[]sessions.Facet, error) {
	return ask(ctx, h, remote.Answers.Values, struct{}{}, func(list []*[]sessions.Facet) *[]sessions.Facet { return list[0] })
}

func (h *Hosts) Count(ctx context.Context, req search.Request) (*search.Counts, error) {
	return ask(ctx, h, remote.Answers.Count, req, func(list []*search.Counts) *search.Counts { return list[0] })
}

func (h *Hosts) Tools(ctx context.Context, req audit.Request) (*audit.ToolTable, error) {
	return ask(ctx, h, remote.Answers.Tools, req, func(list []*audit.ToolTable) *audit.ToolTable { return list[0] })
}

func (h *Hosts) Commands(ctx context.Context, req audit.Request) (*audit.CommandTable, error) {
	return ask(ctx, h, remote.Answers.Commands, req, func(list []*audit.CommandTable) *audit.CommandTable { return list[0] })
}

func (h *Hosts) Calls(ctx context.Context, req audit.Request) (*audit.CallList, error) {
	return ask(ctx, h, remote.Answers.Calls, req, func(list []*audit.CallList) *audit.CallList { return list[0] })
}

func (h *Hosts) Touched(ctx context.Context, req remote.FilesRequest) (*audit.FileTable, error) {
	return ask(ctx, h, remote.Answers.Touched, req, func(list []*audit.FileTable) *audit.FileTable { return list[0] })
}

func (h *Hosts) Usage(ctx context.Context, req audit.Request) (*audit.UsageTable, error) {
	return ask(ctx, h, remote.Answers.Usage, req, func(list []*audit.UsageTable) *audit.UsageTable { return list[0] })
}

func (h *Hosts) Fix(ctx context.Context, req fix.Request) (*fix.Response, error) {
	return ask(ctx, h, remote.Answers.Fix, req, func(list []*fix.Response) *fix.Response { return list[0] })
}

// errEnough ends a grep whose limit is reached.
var errEnough = errors.New("enough")

// Grep visits the matches of one host after the other, while the others wait with theirs.
func (h *Hosts) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	turns := newTurns(len(h.Clients)+1, h.Soon)
	lines := 0 // visited
	list, _, err := each(ctx, h, h.numbers(), func(ctx context.Context, number int, from remote.Participant) (*remote.Grepped, error) {
		defer turns.end(number)
		return from.Grep(ctx, req, func(m *grep.Match) error {
			if err := turns.wait(ctx, number); err != nil {
				return err
			}
			if left := req.Limit - lines; req.Limit > 0 && m.Matched > left {
				if m.Keep(left, req.After); left == 0 {
					return errEnough
				}
			}
			lines += m.Matched
			return visit(m)
		})
	})
	if errors.Is(err, errEnough) {
		return &remote.Grepped{Summary: grep.Summary{Lines: lines, Limited: true}, Index: search.IndexState{Complete: true}}, nil
	}
	if err != nil {
		return nil, err
	}
	sum := list[0]
	for _, x := range list[1:] {
		sum.Files, sum.WithHits, sum.Lines, sum.Matches = sum.Files+x.Files, sum.WithHits+x.WithHits, sum.Lines+x.Lines, sum.Matches+x.Matches
		sum.Limited, sum.Searches, sum.Scanned = sum.Limited || x.Limited, sum.Searches+x.Searches, sum.Scanned || x.Scanned
		sum.Errors = append(sum.Errors, x.Errors...)
		addState(&sum.Index, &x.Index)
	}
	return sum, nil
}

// turns are those of hosts that answer piece by piece: one speaks until it has said all.
type turns struct {
	soon  bool
	token chan struct{}   // with soon: is full while a host has its turn
	has   []bool          // it
	ended []chan struct{} // without soon: by the number of the host
}

func newTurns(hosts int, soon bool) *turns {
	t := &turns{soon: soon, token: make(chan struct{}, 1), has: make([]bool, hosts)}
	for range hosts {
		t.ended = append(t.ended, make(chan struct{}))
	}
	return t
}

// wait waits for the turn of a host.
func (t *turns) wait(ctx context.Context, host int) error {
	if t.has[host] {
		return nil
	}
	before := t.ended[:host]
	if t.soon {
		before = nil
		select {
		case t.token <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, ended := range before {
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	t.has[host] = true
	return nil
}

func (t *turns) end(host int) {
	close(t.ended[host])
	if t.soon && t.has[host] {
		<-t.token
	}
}
