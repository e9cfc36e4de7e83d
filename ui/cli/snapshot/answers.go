package snapshot

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/engine/filter"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/location"
	"pigrep/ui/printer"
)

// Answers returns who answers: other machines if these are asked, or else the index.
func (x *Snapshot) Answers() remote.Answers {
	if x.Asking != nil {
		return x.Asking
	}
	return &remote.Index{Reader: x.Reader, Agents: x.Agents, Source: x.Source(), Searched: x.Files}
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

// Opening answers from the index of this machine for who asks from elsewhere, or from an archive.
// It opens the index for each question, and an answer says what it lacks.
type Opening struct {
	*location.Location
	Open   func(context.Context) (*Snapshot, error)
	Zone   *time.Location // in which days begin; nil: as the question says
	Host   string         // what who asks calls this machine; "": filter.ThisHost
	Reveal bool           // secrets are not masked
	Spec   filter.Spec    // of this machine: what is excluded and whose sessions count in every answer
	Names  *sync.Map      // of sessions that were in answers, by path: as commands accept them; nil: nobody asks for these
}

var _ remote.Answers = (*Opening)(nil)

// open opens the index for a question. If that turns out to be damaged, it is rebuilt, and the
// question asked again. The caller closes the snapshot, if there is an answer.
func open[Res any](ctx context.Context, o *Opening, question func(*Snapshot) (*Res, error)) (*Res, *Snapshot, error) {
	for again := false; ; again = true {
		x, err := o.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		res, err := question(x)
		if err == nil {
			complete(res, x)
			o.name(res, naming(x))
			return res, x, nil
		}
		damaged := errors.Is(err, index.ErrDamaged) && !again
		if damaged {
			x.Damaged()
		}
		if x.Close(); !damaged {
			return res, nil, err
		}
	}
}

// answer opens the index for a question of a kind.
func answer[Req, Res any](ctx context.Context, o *Opening, kind remote.Kind[Req, Res], req Req) (*Res, error) {
	res, x, err := open(ctx, o, func(x *Snapshot) (*Res, error) { return kind.Ask(ctx, x.Answers(), req) })
	if x != nil {
		x.Close()
	}
	return res, err
}

func complete(answer any, x *Snapshot) {
	said := append(Unusable(x.Errors), x.Lacks...)
	if lag := x.Lag(); lag != "" {
		said = append(said, lag)
	}
	ssh.Lack(answer, func(s *search.IndexState) {
		s.PendingFiles, s.PendingBytes, s.Complete = x.State.PendingFiles, x.State.PendingBytes, x.State.Complete
		if x.Elsewhere != nil {
			s.Files = x.State.Files // not only those that were sent
		}
	}, said...)
}

// naming returns how commands call sessions; it takes a look at all of them if that is asked.
func naming(x *Snapshot) func() *sessions.Naming {
	return sync.OnceValue(func() *sessions.Naming { return sessions.NamesOf(x.Reader) })
}

// name says in an answer how commands call its sessions, and remembers it.
func (o *Opening) name(answer any, naming func() *sessions.Naming) {
	ssh.Walk(reflect.ValueOf(answer), func(of reflect.Value, f *reflect.StructField, v reflect.Value) {
		if f.Name != "SessionPath" || v.String() == "" {
			return
		}
		id := of.FieldByName("SessionID")
		if !id.IsValid() {
			return
		}
		name := naming().Name(id.String(), v.String())
		if o.Names != nil {
			o.Names.Store(v.String(), name)
		}
		if short := of.FieldByName("ShortID"); short.IsValid() {
			short.SetString(name)
		}
	})
}

// NameOf returns what commands accept as the name of a session that was in an answer; "" for another one.
func (o *Opening) NameOf(path string) string {
	name, _ := o.Names.Load(path)
	text, _ := name.(string)
	return text
}

// complete completes a question from elsewhere: with what this machine excludes, masks and knows of paths.
// resume may be nil.
func (o *Opening) complete(s *filter.Spec, e *filter.Env, redact *bool, resume *search.ResumeFunc) {
	if *redact = *redact || !o.Reveal; resume != nil {
		*resume = o.ResumeCommand
	}
	s.Excludes = slices.Concat(s.Excludes, o.Spec.Excludes)
	if len(s.Agents) == 0 {
		s.Agents = o.Spec.Agents
	}
	e.Host = o.Host
	if e.Expand = o.App.Absolute; o.Zone != nil {
		e.Now = e.Now.In(o.Zone)
	}
}

func (o *Opening) Search(ctx context.Context, req search.Request) (*search.Response, error) {
	req.Later = false
	o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	return answer(ctx, o, remote.Search, req)
}

func (o *Opening) Count(ctx context.Context, req search.Request) (*search.Tally, error) {
	o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	return answer(ctx, o, remote.Count, req)
}

func (o *Opening) Facets(ctx context.Context, req search.Request) (*facets.Response, error) {
	o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	return answer(ctx, o, remote.Facets, req)
}

func (o *Opening) Sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	return answer(ctx, o, remote.Sessions, req)
}

// Values has the host among the values of an index that is here.
func (o *Opening) Values(ctx context.Context, req struct{}) (*[]sessions.Facet, error) {
	values, err := answer(ctx, o, remote.Values, req)
	if err == nil && o.Elsewhere == nil {
		*values = append(*values, sessions.Facet{Field: filter.Host, Value: cmp.Or(o.Host, filter.ThisHost)})
	}
	return values, err
}

// audit completes a question about calls and tokens.
func (o *Opening) audit(req *audit.Request) {
	o.complete(&req.Spec, &req.Env, &req.Redact, nil)
	if o.Zone != nil {
		req.Location = o.Zone
	}
}

func (o *Opening) Tools(ctx context.Context, req audit.Request) (*audit.ToolTable, error) {
	o.audit(&req)
	return answer(ctx, o, remote.Tools, req)
}

func (o *Opening) Commands(ctx context.Context, req audit.Request) (*audit.CommandTable, error) {
	o.audit(&req)
	return answer(ctx, o, remote.Commands, req)
}

// Calls closes the index when the rows have been visited.
func (o *Opening) Calls(ctx context.Context, req audit.Request) (*audit.CallList, error) {
	o.audit(&req)
	list, x, err := open(ctx, o, func(x *Snapshot) (*audit.CallList, error) { return x.Answers().Calls(ctx, req) })
	if err != nil {
		return nil, err
	}
	each := list.Each
	list.Each = func(ctx context.Context, visit func(*audit.CallRow) error) error {
		defer x.Close()
		naming := naming(x)
		return each(ctx, func(row *audit.CallRow) error {
			o.name(row, naming)
			return visit(row)
		})
	}
	return list, nil
}

func (o *Opening) Files(ctx context.Context, req remote.FilesRequest) (*audit.FileTable, error) {
	o.audit(&req.Request)
	return answer(ctx, o, remote.Files, req)
}

func (o *Opening) Usage(ctx context.Context, req audit.Request) (*audit.UsageTable, error) {
	o.audit(&req)
	return answer(ctx, o, remote.Usage, req)
}

func (o *Opening) Fix(ctx context.Context, req fix.Request) (*fix.Response, error) {
	o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	return answer(ctx, o, remote.Fix, req)
}

func (o *Opening) Similar(ctx context.Context, req similar.Request) (*similar.Response, error) {
	o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	return answer(ctx, o, remote.Similar, req)
}

func (o *Opening) Blame(ctx context.Context, req blame.Request) (*blame.Response, error) {
	o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	return answer(ctx, o, remote.Blame, req)
}

func (o *Opening) Commits(ctx context.Context, req blame.CommitRequest) (*blame.CommitResponse, error) {
	o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	return answer(ctx, o, remote.Commits, req)
}

func (o *Opening) Recap(ctx context.Context, req recap.Request) (*recap.Response, error) {
	o.complete(&req.Spec, &filter.Env{}, &req.Redact, nil)
	return answer(ctx, o, remote.Recap, req)
}

func (o *Opening) Lessons(ctx context.Context, req recap.Request) (*recap.Lessons, error) {
	o.complete(&req.Spec, &filter.Env{}, &req.Redact, nil)
	return answer(ctx, o, remote.Lessons, req)
}

func (o *Opening) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	o.complete(&req.Spec, &filter.Env{}, &req.Redact, nil)
	res, x, err := open(ctx, o, func(x *Snapshot) (*remote.Grepped, error) {
		title, naming := Titles(x.Reader, req.Redact), naming(x)
		return x.Answers().Grep(ctx, req, func(m *grep.Match) error {
			m.Title = title(m.SessionPath)
			o.name(m, naming)
			return visit(m)
		})
	})
	if x != nil {
		x.Close()
	}
	return res, err
}

// OfHosts is the snapshot of other machines. It has no sessions: what an answer says of them is all
// that is known here.
func OfHosts(p *location.Location) *Snapshot {
	saveMemory()
	x := &Snapshot{Location: p, Reader: index.Empty(), Found: &indexer.Found{}, Asking: askHosts(p)}
	x.State.Complete = true
	return x
}

// askHosts returns a question to other machines; nil if none are asked.
func askHosts(p *location.Location) *ssh.Asking {
	if p.Hosts == nil {
		return nil
	}
	p.Hosts.Ready.Do(func() {
		if p.Elsewhere.Here && p.Hosts.Here == nil {
			here := alone(p)
			p.Hosts.Here = &Opening{Location: here, Reveal: true, Names: &sync.Map{}, Open: func(ctx context.Context) (*Snapshot, error) { return OpenFiles(ctx, here, false) }}
		}
		if len(p.Hosts.Clients) == 0 {
			p.Hosts.Others = archives(p)
		}
	})
	return &ssh.Asking{Hosts: p.Hosts, Soon: p.App.Streams.OutTTY, Tell: p.App.JSON}
}

// alone is this machine alone.
func alone(p *location.Location) *location.Location {
	here := *p
	here.Hosts, here.Elsewhere = nil, nil
	return &here
}

// AnswerHere makes an index that stays open answer for this machine, if that is asked among others.
func (x *Live) AnswerHere(p *location.Location) {
	if p.Hosts != nil && p.Elsewhere.Here {
		p.Hosts.Here = &Opening{Location: alone(p), Reveal: true, Names: &sync.Map{}, Open: x.Snapshot}
	}
}

// Know makes a layout use the short names of the sessions of whoever answers.
func (x *Snapshot) Know(l *printer.Layout) {
	l.Know(x.Reader)
	if x.Hosts != nil {
		l.Known = x.Hosts.NameOf
	}
}

// Asked takes the outcome of a question. It names the hosts that did not answer.
func (x *Snapshot) Asked(err error) error {
	if x.Asking == nil {
		return err
	}
	missing := x.Asking.Missing()
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
