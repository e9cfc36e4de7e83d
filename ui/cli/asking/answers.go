package asking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

// Index answers from an open index of this machine.
type Index struct {
	*location.Location
	Reader *index.Reader
	Files  *snapshot.Snapshot // for Grep: what the reader has of the session files
}

var _ remote.Answers = Index{}

// From returns who answers further questions about a snapshot.
func From(x *snapshot.Snapshot) remote.Answers {
	if x.Hosts != nil {
		from, _ := Hosts(x.Location)
		return from
	}
	return Index{x.Location, x.Reader, x}
}

// Answer implements remote.Answers.
func (x Index) Answer(ctx context.Context, kind string, req any) (any, error) {
	switch kind {
	case remote.Search.Name:
		return search.Run(ctx, x.Reader, x.Agents, x.Source(), *req.(*search.Request))
	case remote.Sessions.Name:
		return sessions.List(ctx, x.Reader, x.Agents, x.Source(), *req.(*sessions.Request))
	case remote.Facets.Name:
		return facets.Of(ctx, x.Reader, x.Agents, x.Source(), *req.(*search.Request))
	case remote.Values.Name:
		list, err := sessions.Facets(x.Reader)
		return &list, err
	case remote.Count.Name:
		n, err := search.Count(ctx, x.Reader, x.Agents, x.Source(), *req.(*search.Request))
		return &n, err
	case remote.Tools.Name:
		return audit.Tools(ctx, x.Reader, x.Agents, x.Source(), *req.(*audit.Request))
	case remote.Commands.Name:
		return audit.Commands(ctx, x.Reader, x.Agents, x.Source(), *req.(*audit.Request))
	case remote.Calls.Name:
		return audit.Calls(ctx, x.Reader, x.Agents, x.Source(), *req.(*audit.Request))
	case remote.Files.Name:
		req := req.(*remote.FilesRequest)
		return audit.Files(ctx, x.Reader, req.Request, req.Name)
	case remote.Usage.Name:
		return audit.Usage(ctx, x.Reader, *req.(*audit.Request))
	case remote.Fix.Name:
		return fix.Find(ctx, x.Reader, x.Agents, x.Source(), *req.(*fix.Request))
	case remote.Weigh.Name:
		return x.similar().Weigh(ctx, *req.(*similar.Weighing))
	case remote.Compare.Name:
		return x.similar().Compare(ctx, *req.(*similar.Comparison))
	case remote.Prepare.Name:
		return x.prepare(ctx, req.(*remote.PrepareRequest))
	case remote.Entries.Name:
		list, err := sessions.EntriesOf(ctx, x.Reader, *req.(*[]uint64))
		return &list, err
	}
	return nil, fmt.Errorf("an index does not answer %q", kind)
}

func (x Index) similar() *similar.Local {
	return &similar.Local{Reader: x.Reader, Adapter: x.Agents, Source: x.Source()}
}

// prepare answers what it takes to answer a request together with others.
func (x Index) prepare(ctx context.Context, req *remote.PrepareRequest) (*remote.Prepared, error) {
	p := &remote.Prepared{}
	if x.Files != nil {
		p.Number = x.Files.Number
	}
	if p.Number == 0 || p.Number != req.Known {
		p.Sessions = search.Identities(x.Reader)
	}
	var found *words.Statistics
	var err error
	switch {
	case req.Search != nil:
		found, err = search.Statistics(ctx, x.Reader, *req.Search)
	case req.Fix != nil:
		found, err = fix.Statistics(x.Reader, *req.Fix)
	}
	if found != nil {
		p.Statistics = *found
	}
	return p, err
}

func (x Index) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	sum, err := grep.Run(ctx, grep.Input{Reader: x.Reader, Adapter: x.Agents, Source: x.Source(), Files: x.Files.Files()}, req, visit)
	if sum == nil {
		sum = &grep.Summary{}
	}
	res := &remote.Grepped{Summary: *sum, About: search.About{Index: snapshot.StateOf(x.Reader)}}
	res.Index.Complete = true
	return res, err
}

// ReaderOf returns the index that answers; an empty one if other machines do.
func ReaderOf(from remote.Answers) *index.Reader {
	if x, ok := from.(Index); ok {
		return x.Reader
	}
	return index.Empty()
}

// Titles returns the titles of sessions by their paths.
func Titles(r *index.Reader, redact bool) func(string) string {
	return func(path string) string {
		i, ok := r.Table().Find(path)
		if !ok {
			return ""
		}
		s := search.Describe(r.Summary(i), nil)
		if redact {
			s.Redact()
		}
		return s.Title
	}
}

// Opening answers from the index of this machine for who asks from elsewhere, or asks other
// machines too. It opens the index for each question, and an answer says what it lacks.
type Opening struct {
	*location.Location
	Open   func(context.Context) (*snapshot.Snapshot, error)
	Zone   *time.Location // in which days begin; nil: as the question says
	Host   string         // what who asks calls this machine; "": filter.ThisHost
	Reveal bool           // secrets are not masked
	Spec   filter.Spec    // of this machine: what is excluded and whose sessions count in every answer
}

var _ remote.Answers = (*Opening)(nil)

// open opens the index for a question. If that turns out to be damaged, it is rebuilt, and the
// question asked again.
func (o *Opening) open(ctx context.Context, question func(Index) (any, error)) (any, error) {
	for again := false; ; again = true {
		x, err := o.Open(ctx)
		if err != nil {
			return nil, err
		}
		res, err := question(Index{o.Location, x.Reader, x})
		switch {
		case err == nil:
			complete(res, x)
			name(res, naming(x))
		case errors.Is(err, index.ErrDamaged) && !again:
			x.Damaged()
			x.Close()
			continue
		}
		if list, ok := res.(*audit.CallList); ok && err == nil { // its rows are still to be read
			each := list.Each
			list.Each = func(ctx context.Context, visit func(*audit.CallRow) error) error {
				defer x.Close()
				naming := naming(x)
				return each(ctx, func(row *audit.CallRow) error {
					name(row, naming)
					return visit(row)
				})
			}
			return res, nil
		}
		x.Close()
		return res, err
	}
}

func complete(answer any, x *snapshot.Snapshot) {
	said := snapshot.Unusable(x.Errors)
	if lag := x.Lag(); lag != "" {
		said = append(said, lag)
	}
	ssh.Lack(answer, func(s *search.IndexState) {
		s.PendingFiles, s.PendingBytes, s.Complete = x.State.PendingFiles, x.State.PendingBytes, x.State.Complete
	}, said...)
}

// naming returns how commands call sessions; it takes a look at all of them if that is asked.
func naming(x *snapshot.Snapshot) func() *sessions.Naming {
	return sync.OnceValue(func() *sessions.Naming { return sessions.NewNaming(x.Reader.Beginnings()) })
}

// name says in an answer how commands call its sessions.
func name(answer any, naming func() *sessions.Naming) {
	ssh.Walk(reflect.ValueOf(answer), func(of reflect.Value, f *reflect.StructField, v reflect.Value) {
		if f.Name == "ShortID" && of.FieldByName("SessionPath").String() != "" {
			v.SetString(naming().Name(of.FieldByName("SessionID").String(), of.FieldByName("SessionPath").String()))
		}
	})
}

// within completes a question from elsewhere: with what this machine excludes, and with its paths.
func (o *Opening) within(s *filter.Spec, e *filter.Env) {
	s.Excludes = slices.Concat(s.Excludes, o.Spec.Excludes)
	if len(s.Agents) == 0 {
		s.Agents = o.Spec.Agents
	}
	e.Host = o.Host
	if e.Expand = o.App.Absolute; o.Zone != nil {
		e.Now = e.Now.In(o.Zone)
	}
}

// Answer implements remote.Answers.
func (o *Opening) Answer(ctx context.Context, kind string, request any) (any, error) {
	switch req := request.(type) {
	case *search.Request:
		o.search(req)
	case *sessions.Request:
		o.list(req)
	case *audit.Request:
		o.audit(req)
	case *remote.FilesRequest:
		o.audit(&req.Request)
	case *fix.Request:
		req.Resume, req.Redact = o.ResumeCommand, req.Redact || !o.Reveal
		o.within(&req.Spec, &req.Env)
	case *similar.Comparison:
		o.search(&req.Request)
	case *remote.PrepareRequest:
		return o.prepare(ctx, req)
	}
	return o.open(ctx, func(x Index) (any, error) {
		answer, err := x.Answer(ctx, kind, request)
		if err != nil {
			return answer, err
		}
		switch answer := answer.(type) {
		case *[]sessions.Facet:
			*answer = append(*answer, sessions.Facet{Field: filter.Host, Value: cmp.Or(o.Host, filter.ThisHost)})
		case *similar.Compared:
			complete(answer.Found, x.Files)
		}
		return answer, nil
	})
}

// prepare answers the searches of a request, too.
func (o *Opening) prepare(ctx context.Context, req *remote.PrepareRequest) (any, error) {
	if req.Search != nil {
		one := *req.Search // others are asked with it too
		req.Search = &one
		o.within(&req.Search.Spec, &req.Search.Env)
	}
	if req.Fix != nil {
		one := *req.Fix
		req.Fix = &one
		o.within(&req.Fix.Spec, &req.Fix.Env)
	}
	if req.Found != nil {
		o.search(req.Found)
	}
	if req.Listed != nil {
		o.list(req.Listed)
	}
	return o.open(ctx, func(x Index) (any, error) {
		p, err := x.prepare(ctx, req)
		if err == nil && req.Found != nil {
			req.Found.Shared = cmp.Or(req.Found.Shared, &p.Statistics)
			if p.Found, err = remote.Search.Ask(ctx, x, *req.Found); err == nil {
				complete(p.Found, x.Files)
			}
		}
		if err == nil && req.Listed != nil {
			req.Listed.Shared = cmp.Or(req.Listed.Shared, &p.Statistics)
			if p.Listed, err = remote.Sessions.Ask(ctx, x, *req.Listed); err == nil {
				complete(p.Listed, x.Files)
			}
		}
		return p, err
	})
}

func (o *Opening) search(req *search.Request) {
	req.Resume, req.Redact, req.Later = o.ResumeCommand, req.Redact || !o.Reveal, false
	o.within(&req.Spec, &req.Env)
}

func (o *Opening) list(req *sessions.Request) {
	req.Resume, req.Redact = o.ResumeCommand, req.Redact || !o.Reveal
	o.within(&req.Spec, &req.Env)
}

func (o *Opening) audit(req *audit.Request) {
	req.Redact = req.Redact || !o.Reveal
	o.within(&req.Spec, &req.Env)
	if o.Zone != nil {
		req.Location = o.Zone
	}
}

func (o *Opening) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	req.Redact = req.Redact || !o.Reveal
	o.within(&req.Spec, &filter.Env{})
	res, err := o.open(ctx, func(x Index) (any, error) {
		title, naming := Titles(x.Reader, req.Redact), naming(x.Files)
		return x.Grep(ctx, req, func(m *grep.Match) error {
			m.Title = title(m.SessionPath)
			name(m, naming)
			return visit(m)
		})
	})
	found, _ := res.(*remote.Grepped)
	return found, err
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
	l.Know(r)
	if p.Hosts != nil {
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
