package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/engine/filter"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/merge"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
)

// Hosts are several machines that are asked at once. It is safe for concurrent use.
type Hosts struct {
	Clients []*Client
	Others  []Asked        // that are asked beside hosts, such as archives
	Here    remote.Answers // this machine; nil if it is not asked
	Ready   sync.Once      // Here and Others are set
}

// Asked is one of those who are asked, and what it is called.
type Asked struct {
	Name string
	remote.Answers
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
	for _, from := range h.all() {
		if of, ok := from.Answers.(interface{ NameOf(path string) string }); ok {
			if name := of.NameOf(path); name != "" {
				return name
			}
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

// None returns the error of a question that no host has answered: why the first host did not. That host
// is then not among those that an answer lacks.
func (h *Asking) None() error {
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

// aboutOf returns what an answer says beside its rows; nil if answers of its type say nothing.
func aboutOf(answer any) *search.About {
	if a, ok := answer.(interface{ Beside() *search.About }); ok {
		return a.Beside()
	}
	return nil
}

// Lack says in an answer what it lacks: in the state of the index, and as warnings.
func Lack(answer any, state func(*search.IndexState), said ...string) {
	if a := aboutOf(answer); a != nil {
		state(&a.Index)
		a.Warnings = append(a.Warnings, said...)
	}
}

func (h *Hosts) all() (all []Asked) {
	if h.Here != nil {
		all = append(all, Asked{filter.ThisHost, h.Here})
	}
	for _, c := range h.Clients {
		all = append(all, Asked{c.Host.Name, c})
	}
	return append(all, h.Others...)
}

// Divided answers a question in parts, whose answers are joined like those of several machines.
type Divided interface {
	Divide(ctx context.Context, request any) ([]remote.Answers, error)
}

// divided returns all that answer a request.
func (h *Asking) divided(ctx context.Context, request any) ([]Asked, error) {
	all := h.all()
	parts := make([][]Asked, len(all))
	asking, ctx := errgroup.WithContext(ctx)
	for i, x := range all {
		of, ok := x.Answers.(Divided)
		if !ok {
			parts[i] = all[i : i+1]
			continue
		}
		asking.Go(func() error {
			list, err := of.Divide(ctx, request)
			if err != nil {
				return h.miss(err)
			}
			parts[i] = lists.Map(list, func(part remote.Answers) Asked { return Asked{x.Name, part} })
			return nil
		})
	}
	err := asking.Wait()
	return slices.Concat(parts...), err
}

// A joint question is one that several hosts answer, each on its own.
type joint[Req, Res any] struct {
	kind  remote.Kind[Req, Res]
	among func(*Req) *search.Among // the part of the request for questions to several; nil: it has none
	held  func(*Res) []search.Held // the sessions of an answer; nil: merge joins copies
	merge func(*Req, []*Res) *Res
	early bool // what has come is shown while others take long
	one   bool // the answer of one host is merged, too: its texts are masked, and the request has them
}

// together asks all hosts a question once, and joins their answers. If the rows of an answer do not say
// which session they count, hosts with copies of sessions of other hosts are asked again, without these.
func together[Req, Res any](ctx context.Context, h *Asking, req Req, q joint[Req, Res]) (*Res, error) {
	all, err := h.divided(ctx, &req)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, h.None()
	}
	if q.among != nil {
		q.among(&req).Together = len(all) > 1
	}
	answers, err := each(ctx, h, all, slices.Repeat([]*Req{&req}, len(all)), q)
	if err != nil {
		return nil, err
	}
	if q.held != nil && len(all) > 1 {
		without := merge.Without(lists.Map(answers, func(r *Res) []search.Held {
			if r == nil {
				return nil
			}
			return q.held(r)
		}))
		again := make([]*Req, len(all))
		for i, ids := range without {
			if len(ids) > 0 {
				one := req
				q.among(&one).Without = ids
				again[i] = &one
			}
		}
		if without != nil {
			more, err := each(ctx, h, all, again, q)
			if err != nil {
				return nil, err
			}
			for i := range again {
				if again[i] != nil {
					answers[i] = more[i]
				}
			}
		}
	}
	came := slices.DeleteFunc(slices.Clone(answers), func(r *Res) bool { return r == nil })
	if len(came) == 0 {
		return nil, h.None()
	}
	answer := came[0]
	if len(all) > 1 || q.one {
		answer = q.merge(&req, came)
	}
	quote(all, answers, answer)
	return tell(h, answer, nil)
}

// quote quotes the warnings of a joint answer as words of the hosts whose answers have them. A warning
// that this machine has too is its own. The warnings of a list of calls, which come with its end, are
// quoted by the client of the host.
func quote[Res any](all []Asked, answers []*Res, answer *Res) {
	joint := aboutOf(answer)
	if _, calls := any(answer).(*audit.CallList); calls || joint == nil {
		return
	}
	quoted := slices.Clone(joint.Warnings)
	for i, warning := range quoted {
		var by []string
		own := false
		for k, from := range answers {
			if from != nil && slices.Contains(aboutOf(from).Warnings, warning) {
				by = append(by, all[k].Name)
				_, host := all[k].Answers.(*Client)
				own = own || !host
			}
		}
		if !own {
			quoted[i] = quotation(by, warning)
		}
	}
	joint.Warnings = quoted
}

// quotation returns a warning as the words of these hosts, or of all together if none is named.
func quotation(hosts []string, text string) string {
	return fmt.Sprintf("%s say%s: %q", cmp.Or(strings.Join(hosts, ", "), "all of them"), human.When(len(hosts) == 1, "s"), text)
}

// each asks each host, and returns the answers; nil for a host that does not answer or has no request.
func each[Req, Res any](ctx context.Context, h *Asking, all []Asked, requests []*Req, q joint[Req, Res]) ([]*Res, error) {
	answers := make([]*Res, len(all))
	show := newEarly(ctx, all, requests, q)
	defer show.end()
	asking, ctx := errgroup.WithContext(ctx)
	for i, req := range requests {
		if req == nil {
			continue
		}
		asking.Go(func() error {
			answer, err := q.kind.Ask(ctx, all[i].Answers, *req)
			if err != nil {
				return h.miss(err)
			}
			answers[i] = answer
			show.arrived(i, answer)
			return nil
		})
	}
	return answers, asking.Wait()
}

// early shows the answers that have come if some hosts take long.
type early[Req, Res any] struct {
	all      []Asked
	req      *Req
	q        joint[Req, Res]
	display  func(answer any)
	patience *time.Timer // nil: nobody wants it

	mu      sync.Mutex
	answers []*Res
	late    bool // patience is over: what has come is shown
	over    bool // nothing more is shown
}

// soon is how long the first answers wait for the others: a list that changes with each host does not
// help a reader.
const soon = 150 * time.Millisecond

func newEarly[Req, Res any](ctx context.Context, all []Asked, requests []*Req, q joint[Req, Res]) *early[Req, Res] {
	e := &early[Req, Res]{all: all, req: requests[0], q: q, display: remote.Early(ctx), answers: make([]*Res, len(all))}
	if e.display != nil && q.early && len(all) > 1 {
		e.patience = time.AfterFunc(soon, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.late = true
			e.show()
		})
	}
	return e
}

func (e *early[Req, Res]) arrived(i int, answer *Res) {
	if e.patience == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers[i] = answer
	e.show()
}

func (e *early[Req, Res]) show() {
	var list []*Res
	var waiting []string
	for i, answer := range e.answers {
		if answer != nil {
			copied := *answer // merging changes it
			list = append(list, &copied)
		} else if name := e.all[i].Name; !slices.Contains(waiting, name) { // an archive has several parts
			waiting = append(waiting, name)
		}
	}
	if e.over || !e.late || len(list) == 0 || len(waiting) == 0 {
		return
	}
	answer := e.q.merge(e.req, list)
	quote(e.all, e.answers, answer)
	Lack(answer, func(s *search.IndexState) { s.Complete = false }, "waiting for "+strings.Join(waiting, ", "))
	e.display(answer)
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

// alone is merging that does not depend on the request.
func alone[Req, Res any](merge func([]*Res) *Res) func(*Req, []*Res) *Res {
	return func(_ *Req, list []*Res) *Res { return merge(list) }
}

func amongOthers(r *search.Request) *search.Among { return &r.Among }

func (h *Asking) Search(ctx context.Context, req search.Request) (*search.Response, error) {
	req.Later = false
	return together(ctx, h, req, joint[search.Request, search.Response]{kind: remote.Search, among: amongOthers, merge: merge.Search, early: true})
}

func (h *Asking) Count(ctx context.Context, req search.Request) (*search.Tally, error) {
	return together(ctx, h, req, joint[search.Request, search.Tally]{kind: remote.Count, among: amongOthers, merge: merge.Count})
}

func (h *Asking) Facets(ctx context.Context, req search.Request) (*facets.Response, error) {
	return together(ctx, h, req, joint[search.Request, facets.Response]{
		kind: remote.Facets, among: amongOthers, held: func(r *facets.Response) []search.Held { return r.Held }, merge: merge.Facets,
	})
}

func (h *Asking) Sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	return together(ctx, h, req, joint[sessions.Request, sessions.Response]{
		kind: remote.Sessions, among: func(r *sessions.Request) *search.Among { return &r.Among }, merge: merge.Sessions, early: true,
	})
}

func (h *Asking) Values(ctx context.Context, req struct{}) (*[]sessions.Facet, error) {
	return together(ctx, h, req, joint[struct{}, []sessions.Facet]{kind: remote.Values, merge: func(_ *struct{}, list []*[]sessions.Facet) *[]sessions.Facet {
		all := merge.Values(lists.Map(list, func(v *[]sessions.Facet) []sessions.Facet { return *v }))
		return &all
	}})
}

// table asks for a table about calls or tokens.
func table[Res any, T interface {
	*Res
	Sums() *audit.Covered
}](ctx context.Context, h *Asking, req audit.Request, kind remote.Kind[audit.Request, Res], merge func(*audit.Request, []*Res) *Res) (*Res, error) {
	return together(ctx, h, req, joint[audit.Request, Res]{
		kind: kind, among: func(r *audit.Request) *search.Among { return &r.Among }, held: func(t *Res) []search.Held { return T(t).Sums().Held }, merge: merge,
	})
}

func (h *Asking) Tools(ctx context.Context, req audit.Request) (*audit.ToolTable, error) {
	return table(ctx, h, req, remote.Tools, alone[audit.Request](merge.Tools))
}

func (h *Asking) Commands(ctx context.Context, req audit.Request) (*audit.CommandTable, error) {
	return table(ctx, h, req, remote.Commands, merge.Commands)
}

func (h *Asking) Calls(ctx context.Context, req audit.Request) (*audit.CallList, error) {
	return table(ctx, h, req, remote.Calls, merge.Calls)
}

func (h *Asking) Usage(ctx context.Context, req audit.Request) (*audit.UsageTable, error) {
	return table(ctx, h, req, remote.Usage, merge.Usage)
}

func (h *Asking) Files(ctx context.Context, req remote.FilesRequest) (*audit.FileTable, error) {
	return together(ctx, h, req, joint[remote.FilesRequest, audit.FileTable]{
		kind: remote.Files, among: func(r *remote.FilesRequest) *search.Among { return &r.Among }, held: func(t *audit.FileTable) []search.Held { return t.Held }, merge: alone[remote.FilesRequest](merge.Files),
	})
}

func (h *Asking) Fix(ctx context.Context, req fix.Request) (*fix.Response, error) {
	return together(ctx, h, req, joint[fix.Request, fix.Response]{kind: remote.Fix, merge: merge.Fix})
}

func (h *Asking) Similar(ctx context.Context, req similar.Request) (*similar.Response, error) {
	return together(ctx, h, req, joint[similar.Request, similar.Response]{kind: remote.Similar, merge: merge.Similar})
}

func (h *Asking) Blame(ctx context.Context, req blame.Request) (*blame.Response, error) {
	return together(ctx, h, req, joint[blame.Request, blame.Response]{kind: remote.Blame, merge: merge.Blame, one: true})
}

func (h *Asking) Commits(ctx context.Context, req blame.CommitRequest) (*blame.CommitResponse, error) {
	return together(ctx, h, req, joint[blame.CommitRequest, blame.CommitResponse]{kind: remote.Commits, merge: merge.Commits, one: true})
}

func (h *Asking) Recap(ctx context.Context, req recap.Request) (*recap.Response, error) {
	return together(ctx, h, req, joint[recap.Request, recap.Response]{kind: remote.Recap, among: func(r *recap.Request) *search.Among { return &r.Among }, merge: merge.Recap})
}

func (h *Asking) Lessons(ctx context.Context, req recap.Request) (*recap.Lessons, error) {
	return together(ctx, h, req, joint[recap.Request, recap.Lessons]{kind: remote.Lessons, among: func(r *recap.Request) *search.Among { return &r.Among }, merge: alone[recap.Request](merge.Lessons)})
}

// Grep visits the matches in the order of the request. With Soon those of one host come after
// the other, the first that finds some first, while the others wait with theirs.
func (h *Asking) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	all := h.all()
	answered := make([]*remote.Grepped, len(all))
	var greppers []merge.Grepper
	for i, from := range all {
		greppers = append(greppers, func(ctx context.Context, visit func(*grep.Match) error) (*grep.Summary, error) {
			some := false
			found, err := from.Grep(ctx, req, func(m *grep.Match) error {
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
	res := &remote.Grepped{Summary: *sum}
	res.Index.Complete = true
	for _, x := range answered {
		if x != nil {
			res.Index.Files, res.Index.Complete = res.Index.Files+x.Index.Files, res.Index.Complete && x.Index.Complete
		}
	}
	if err == nil && sum.Lines == 0 && !slices.ContainsFunc(answered, func(x *remote.Grepped) bool { return x != nil }) {
		return nil, h.None()
	}
	_, _ = tell(h, res, nil) // also with lines of hosts that were lost after them, which are missing
	return res, err
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
