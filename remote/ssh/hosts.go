package ssh

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/internal/lists"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/merge"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
)

// Hosts are several machines that are asked at once. It is safe for concurrent use.
type Hosts struct {
	Clients []*Client
	Here    remote.Answers // this machine; nil if it is not asked

	mu       sync.Mutex
	sessions map[int]remote.Prepared // of hosts, by number
	last     agreement               // what they agreed on for the last question
}

// agreement is what hosts have agreed on for a question.
type agreement struct {
	about  string            // the question, as PrepareRequest says it
	shared *words.Statistics // the sum of theirs
	split
}

// split is how what hosts have is divided among them.
type split struct {
	of    string               // the numbers of what they have, as of Prepared; "" if these are not known
	parts map[int]search.Joint // by the numbers of hosts
	forks []merge.Fork
}

// Asking is a question to all hosts. It is answered as long as one of them does.
type Asking struct {
	*Hosts
	// Soon lets a grep visit the matches of that host first which finds some first, so that
	// the order of hosts may change; otherwise it is that of their names on the command line.
	Soon bool
	// Tell makes answers say which hosts are missing.
	Tell bool

	mu      sync.Mutex
	missing []*HostError
}

var _ remote.Answers = (*Asking)(nil)

// Missing returns the hosts that did not answer, and why.
func (h *Asking) Missing() []*HostError {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.missing)
}

// Each visits the sessions that were in answers, by their paths, with what commands accept as
// their names.
func (h *Hosts) Each(visit func(path, name string) bool) {
	for _, c := range h.Clients {
		c.names.Range(func(path, name any) bool { return visit(path.(string), name.(string)) })
	}
}

// NameOf returns what commands accept as the name of a session that was in an answer, by its
// path; "" if that is not known.
func (h *Hosts) NameOf(path string) string {
	for _, c := range h.Clients {
		if name, ok := c.names.Load(path); ok {
			return name.(string)
		}
	}
	return ""
}

// Close ends all connections.
func (h *Hosts) Close() {
	for _, c := range h.Clients {
		c.Close()
	}
}

// miss takes an error of a host. It returns those that are no fault of this host: they end the
// question.
func (h *Asking) miss(err error) error {
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

// none is the error of a question that no host has answered: why the first of them did not. It
// is then not missing from an answer.
func (h *Asking) none() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.missing[0]
	h.missing = h.missing[1:]
	return &remote.Error{Code: "io", Message: e.Host + ": " + e.Reason, Hint: e.Hint}
}

// tell says in an answer which hosts are missing, if that is wanted.
func tell[Res any](h *Asking, answer Res, err error) (Res, error) {
	if missing := h.Missing(); err == nil && h.Tell && len(missing) > 0 {
		Lack(answer, func(s *search.IndexState) { s.Complete = false },
			lists.Map(missing, func(e *HostError) string { return "nothing from " + e.Host + ": " + e.Reason })...)
	}
	return answer, err
}

// Lack says in an answer what it lacks: in the state of the index, and as warnings. Answers that
// say so have the same fields.
func Lack(answer any, state func(*search.IndexState), said ...string) {
	v := reflect.ValueOf(answer).Elem()
	if v.Kind() != reflect.Struct {
		return
	}
	if index := v.FieldByName("Index"); index.IsValid() {
		state(index.Addr().Interface().(*search.IndexState))
	}
	if field := v.FieldByName("Warnings"); field.IsValid() {
		warnings := field.Addr().Interface().(*[]string)
		*warnings = append(*warnings, said...)
	}
}

// asked is one of those who are asked, and what it is called.
type asked struct {
	name string
	remote.Answers
}

func (h *Hosts) all() (all []asked) {
	if h.Here != nil {
		all = append(all, asked{filter.ThisHost, h.Here})
	}
	for _, c := range h.Clients {
		all = append(all, asked{c.Host.Name, c})
	}
	return all
}

// each asks some hosts, by their numbers, and returns what those answer that do, with their
// numbers.
func each[T any](ctx context.Context, h *Asking, hosts []int, ask func(ctx context.Context, number int, from remote.Answers) (T, error)) (answers []T, answered []int, err error) {
	all := h.all()
	list := make([]T, len(all))
	asking, ctx := errgroup.WithContext(ctx)
	for _, i := range hosts {
		asking.Go(func() error {
			answer, err := ask(ctx, i, all[i].Answers)
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
		if !isNil(list[i]) {
			answers, answered = append(answers, list[i]), append(answered, i)
		}
	}
	if len(answers) == 0 {
		return nil, nil, h.none()
	}
	return answers, answered, nil
}

func (h *Hosts) numbers() (list []int) {
	for i := range h.all() {
		list = append(list, i)
	}
	return list
}

// isNil compares pointers of a type without the constraint comparable, with which no two types would
// share code.
func isNil[T any](pointer T) bool { return any(pointer) == any(*new(T)) }

// A request to several hosts says what these know of each other.
type request interface{ Together() *search.Joint }

// A joint question is one that several hosts answer together. Requests and answers are pointers, so
// that all questions share the code of together.
type joint[Req request, Res any] struct {
	kind  string                  // of remote.Kinds
	words remote.PrepareRequest   // that all of them count
	kin   func(Req, []merge.Fork) // adds forks and parents on other hosts to a request; nil: it names no sessions
	again func(Req, []Res) []Req  // as merge.Again; nil: they are asked once
	merge func(Req, []Res) Res

	// early is where a request and its answer travel with what hosts say to agree; nil: nowhere.
	early func(*remote.PrepareRequest, *remote.Prepared) (*Req, *Res)
}

// know returns a copy of a request that says what all hosts know; that of no host for a negative
// number.
func (q *joint[Req, Res]) know(req Req, of *agreement, number int) Req {
	copied := reflect.New(reflect.TypeOf(req).Elem())
	copied.Elem().Set(reflect.ValueOf(req).Elem())
	known, part := copied.Interface().(Req), of.parts[number]
	part.Shared, part.Agreed = of.shared, req.Together().Agreed
	*known.Together() = part
	if q.kin != nil {
		q.kin(known, of.forks)
	}
	return known
}

func (q *joint[Req, Res]) ask(ctx context.Context, of remote.Answers, req Req) (res Res, err error) {
	answer, err := of.Answer(ctx, q.kind, req)
	res, _ = answer.(Res)
	return res, err
}

const none = -1 // the number of no host

// together asks all hosts what they must know of each other, then the question, and then again
// those that all together make answer again.
func together[Req request, Res any](ctx context.Context, h *Asking, req Req, q joint[Req, Res]) (answer Res, err error) {
	hosts := h.numbers()
	if len(hosts) == 1 {
		answers, _, err := each(ctx, h, hosts, func(ctx context.Context, _ int, from remote.Answers) (Res, error) { return q.ask(ctx, from, req) })
		if err == nil {
			answer = answers[0]
		}
		return tell(h, answer, err)
	}
	soon := newEarly(ctx, h, req, q)
	defer soon.end()
	hosts, agreed, err := h.prepare(ctx, q.words, soon.ask, soon.arrived)
	if err != nil {
		return answer, err
	}
	ctx = context.WithValue(ctx, goesOn{}, true)
	answers := soon.expected(agreed, hosts)
	// ask sends each host its request; without one it stays with its answer.
	ask := func(requests []Req) (err error) {
		before, of := answers, hosts
		answers, hosts, err = each(ctx, h, hosts, func(ctx context.Context, number int, from remote.Answers) (Res, error) {
			i := slices.Index(of, number)
			if isNil(requests[i]) {
				return before[i], nil
			}
			return q.ask(ctx, from, q.know(requests[i], &agreed, number))
		})
		return err
	}
	if answers == nil {
		if err := soon.pause(ctx); err != nil {
			return answer, err
		}
		if err := ask(slices.Repeat([]Req{req}, len(hosts))); err != nil {
			return answer, err
		}
	}
	req = q.know(req, &agreed, none)
	for round := 0; q.again != nil && round < merge.Rounds; round++ {
		requests := q.again(req, answers)
		if !slices.ContainsFunc(requests, func(r Req) bool { return !isNil(r) }) {
			break
		}
		if err := ask(requests); err != nil {
			return answer, err
		}
	}
	return tell(h, q.merge(req, answers), nil)
}

// prepare asks all hosts for what they must know of each other: it returns those that answer, and
// what they agree on. Each is asked what ask adds too; arrived is called when it has answered.
func (h *Asking) prepare(ctx context.Context, req remote.PrepareRequest, ask func(int, *remote.PrepareRequest), arrived func(int, *remote.Prepared)) (hosts []int, agreed agreement, err error) {
	list, hosts, err := each(ctx, h, h.numbers(), func(ctx context.Context, number int, from remote.Answers) (*remote.Prepared, error) {
		req := req
		req.Known = h.known(number).Number
		ask(number, &req)
		p, err := remote.Prepare.Ask(ctx, from, req)
		if err == nil {
			arrived(number, p)
		}
		return p, err
	})
	if err != nil {
		return nil, agreed, err
	}
	agreed = agreement{about: aboutOf(&req), shared: &words.Statistics{}}
	identities, of, known := make([][]search.Identity, len(list)), "", true
	for i, p := range list {
		agreed.shared.Add(&p.Statistics)
		identities[i] = h.know(hosts[i], p).Sessions
		of, known = of+fmt.Sprint(hosts[i], ":", p.Number, " "), known && p.Number != 0
	}
	h.Hosts.mu.Lock()
	agreed.split = h.last.split
	h.Hosts.mu.Unlock()
	if !known || agreed.of != of {
		if agreed.split, err = h.divide(ctx, hosts, identities); err != nil {
			return nil, agreed, err
		}
	}
	if agreed.of = ""; known {
		agreed.of = of
	}
	h.Hosts.mu.Lock()
	h.last = agreed
	h.Hosts.mu.Unlock()
	return hosts, agreed, nil
}

// divide divides what hosts have among them. If one has a fork of a session on another, it asks
// them for the entries of both.
func (h *Asking) divide(ctx context.Context, hosts []int, identities [][]search.Identity) (s split, err error) {
	s.parts = make(map[int]search.Joint)
	for i, ids := range merge.Elsewhere(identities) {
		s.parts[hosts[i]] = search.Joint{Elsewhere: ids}
	}
	s.forks = merge.Forks(identities)
	forked := make(map[int][]uint64)
	for _, f := range s.forks {
		forked[hosts[f.Host]] = append(forked[hosts[f.Host]], f.Session)
		forked[hosts[f.ParentHost]] = append(forked[hosts[f.ParentHost]], f.Parent)
	}
	if len(forked) == 0 {
		return s, nil
	}
	of, asked, err := each(ctx, h, slices.Sorted(maps.Keys(forked)), func(ctx context.Context, number int, from remote.Answers) (*[]sessions.Entries, error) {
		return remote.Entries.Ask(ctx, from, forked[number])
	})
	if err != nil {
		return s, err
	}
	common, lost := merge.Common(lists.Map(of, func(x *[]sessions.Entries) []sessions.Entries { return *x }))
	for i, number := range asked {
		p := s.parts[number]
		p.Common, p.Lost = common[i], lost[i]
		s.parts[number] = p
	}
	return s, nil
}

func aboutOf(req *remote.PrepareRequest) string {
	if req.Search != nil {
		return req.Search.Text
	}
	return ""
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

// wordsOf are those of a search, which are none without a text.
func wordsOf(req *search.Request) (p remote.PrepareRequest) {
	if req.Text != "" {
		p.Search = req
	}
	return p
}

// alone is merging that does not depend on the request.
func alone[Req request, Res any](merge func([]Res) Res) func(Req, []Res) Res {
	return func(_ Req, list []Res) Res { return merge(list) }
}

// Answer implements remote.Answers.
func (h *Asking) Answer(ctx context.Context, kind string, request any) (any, error) {
	switch req := request.(type) {
	case *search.Request:
		return h.search(ctx, kind, req)
	case *audit.Request:
		return h.audit(ctx, kind, req)
	case *sessions.Request:
		found := req.Search()
		return together(ctx, h, req, joint[*sessions.Request, *sessions.Response]{
			kind: kind, words: wordsOf(&found), again: merge.AgainSessions, merge: merge.Sessions,
			early: func(q *remote.PrepareRequest, p *remote.Prepared) (**sessions.Request, **sessions.Response) {
				return &q.Listed, &p.Listed
			},
		})
	case *remote.FilesRequest:
		return together(ctx, h, req, joint[*remote.FilesRequest, *audit.FileTable]{kind: kind, merge: alone[*remote.FilesRequest](merge.Files)})
	case *fix.Request:
		return together(ctx, h, req, joint[*fix.Request, *fix.Response]{
			kind: kind, words: remote.PrepareRequest{Fix: req}, again: merge.AgainFix, merge: merge.Fix,
		})
	case *similar.Weighing:
		return together(ctx, h, req, joint[*similar.Weighing, *similar.Weighed]{
			kind: kind, again: merge.AgainWeigh, merge: merge.Weigh,
			kin: func(known *similar.Weighing, forks []merge.Fork) { known.Known = merge.Kin(forks, known.Known) },
		})
	case *similar.Comparison:
		return together(ctx, h, req, joint[*similar.Comparison, *similar.Compared]{
			kind: kind, words: wordsOf(&req.Request), again: merge.AgainCompare, merge: merge.Compare,
			kin: func(known *similar.Comparison, forks []merge.Fork) { known.Of.Known = merge.Kin(forks, known.Of.Known) },
		})
	}
	list, _, err := each(ctx, h, h.numbers(), func(ctx context.Context, _ int, from remote.Answers) (*[]sessions.Facet, error) {
		return remote.Values.Ask(ctx, from, struct{}{})
	})
	if err != nil {
		return nil, err
	}
	return merge.Values(list), nil
}

// search answers a kind of question about the hits of a search.
func (h *Asking) search(ctx context.Context, kind string, req *search.Request) (any, error) {
	words := wordsOf(req)
	switch kind {
	case remote.Facets.Name:
		return together(ctx, h, req, joint[*search.Request, *facets.Response]{kind: kind, words: words, again: merge.AgainFacets, merge: alone[*search.Request](facets.Merge)})
	case remote.Count.Name:
		return together(ctx, h, req, joint[*search.Request, *search.Counts]{kind: kind, words: words, merge: merge.Count})
	}
	req.Later = false
	return together(ctx, h, req, joint[*search.Request, *search.Response]{
		kind: kind, words: words, again: merge.Again, merge: merge.Search,
		early: func(q *remote.PrepareRequest, p *remote.Prepared) (**search.Request, **search.Response) {
			return &q.Found, &p.Found
		},
	})
}

// audit answers a kind of question about calls and tokens.
func (h *Asking) audit(ctx context.Context, kind string, req *audit.Request) (any, error) {
	found := req.Picks()
	words := wordsOf(&found)
	switch kind {
	case remote.Tools.Name:
		return together(ctx, h, req, joint[*audit.Request, *audit.ToolTable]{kind: kind, words: words, merge: alone[*audit.Request](merge.Tools)})
	case remote.Commands.Name:
		return together(ctx, h, req, joint[*audit.Request, *audit.CommandTable]{kind: kind, words: words, merge: merge.Commands})
	case remote.Calls.Name:
		return together(ctx, h, req, joint[*audit.Request, *audit.CallList]{kind: kind, words: words, merge: merge.Calls})
	}
	return together(ctx, h, req, joint[*audit.Request, *audit.UsageTable]{kind: kind, words: words, merge: merge.Usage})
}

// Grep visits the matches in the order of the request. With Soon those of one host come after
// the other, the first that finds some first, while the others wait with theirs.
func (h *Asking) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	hosts := h.numbers()
	var agreed agreement
	if len(hosts) > 1 {
		var err error
		if hosts, agreed, err = h.prepare(ctx, remote.PrepareRequest{}, func(int, *remote.PrepareRequest) {}, func(int, *remote.Prepared) {}); err != nil {
			return nil, err
		}
	}
	all := h.all()
	answered := make([]*remote.Grepped, len(hosts))
	var greppers []merge.Grepper
	for i, number := range hosts {
		greppers = append(greppers, func(ctx context.Context, visit func(*grep.Match) error) (*grep.Summary, error) {
			one := req
			one.Elsewhere = agreed.parts[number].Elsewhere
			some := false
			found, err := all[number].Grep(ctx, one, func(m *grep.Match) error {
				some = true
				return visit(m)
			})
			if lost, ok := errors.AsType[*HostError](err); ok {
				lost.Some = some
			}
			if err != nil {
				return &grep.Summary{}, h.miss(err)
			}
			answered[i] = found
			return &found.Summary, nil
		})
	}
	if h.Soon && req.Order == "" {
		greppers = []merge.Grepper{inTurns(greppers)}
	}
	sum, err := merge.Grep(ctx, &req, greppers, visit)
	if err != nil {
		return nil, err
	}
	res := &remote.Grepped{Summary: *sum}
	res.Index.Complete = true
	for _, x := range answered {
		if x != nil {
			res.Index.Files, res.Index.Complete = res.Index.Files+x.Index.Files, res.Index.Complete && x.Index.Complete
		}
	}
	if sum.Lines == 0 && !slices.ContainsFunc(answered, func(x *remote.Grepped) bool { return x != nil }) {
		return nil, h.none()
	}
	return tell(h, res, nil) // also with lines of hosts that were lost after them, which are missing
}

// inTurns runs the greps of several hosts as one. From its first match to its last a host has
// its turn, and the others wait with theirs.
func inTurns(hosts []merge.Grepper) merge.Grepper {
	return func(ctx context.Context, visit func(*grep.Match) error) (*grep.Summary, error) {
		turn := make(chan struct{}, 1) // is full while a host has it
		sums := make([]*grep.Summary, len(hosts))
		running, ctx := errgroup.WithContext(ctx)
		for i, run := range hosts {
			running.Go(func() (err error) {
				mine := false
				sums[i], err = run(ctx, func(m *grep.Match) error {
					if !mine {
						select {
						case turn <- struct{}{}:
							mine = true
						case <-ctx.Done():
							return ctx.Err()
						}
					}
					return visit(m)
				})
				if mine {
					<-turn
				}
				return err
			})
		}
		if err := running.Wait(); err != nil {
			return nil, err
		}
		sum := &grep.Summary{}
		for _, x := range sums {
			sum.Files, sum.Searches, sum.Scanned = sum.Files+x.Files, sum.Searches+x.Searches, sum.Scanned || x.Scanned
		}
		return sum, nil
	}
}

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
