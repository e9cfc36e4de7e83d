package snapshot

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
	"pigrep/internal/human"
	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/remotes"
	"pigrep/ui/printer"
)

var _ remote.Answers = (*Snapshot)(nil)

// Answer implements remote.Answers: other machines answer if these are asked, or else the index.
func (x *Snapshot) Answer(ctx context.Context, kind string, request any) (any, error) {
	if x.Asking != nil {
		return x.Asking.Answer(ctx, kind, request)
	}
	return remote.Kinds[kind].FromIndex(ctx, x.Reader, x.Agents, x.Source(), request)
}

// Grep implements remote.Answers.
func (x *Snapshot) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	if x.Asking != nil {
		return x.Asking.Grep(ctx, req, visit)
	}
	sum, err := grep.Run(ctx, grep.Input{Reader: x.Reader, Adapter: x.Agents, Source: x.Source(), Files: x.Files()}, req, visit)
	if sum == nil {
		sum = &grep.Summary{}
	}
	res := &remote.Grepped{Summary: *sum, About: search.About{Index: StateOf(x.Reader)}}
	res.Index.Complete = true
	return res, err
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
	Open   func(context.Context) (*Snapshot, error)
	Zone   *time.Location // in which days begin; nil: as the question says
	Host   string         // what who asks calls this machine; "": filter.ThisHost
	Reveal bool           // secrets are not masked
	Spec   filter.Spec    // of this machine: what is excluded and whose sessions count in every answer
}

var _ remote.Answers = (*Opening)(nil)

// open opens the index for a question. If that turns out to be damaged, it is rebuilt, and the
// question asked again.
func (o *Opening) open(ctx context.Context, question func(*Snapshot) (any, error)) (any, error) {
	for again := false; ; again = true {
		x, err := o.Open(ctx)
		if err != nil {
			return nil, err
		}
		res, err := question(x)
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

func complete(answer any, x *Snapshot) {
	said := Unusable(x.Errors)
	if lag := x.Lag(); lag != "" {
		said = append(said, lag)
	}
	ssh.Lack(answer, func(s *search.IndexState) {
		s.PendingFiles, s.PendingBytes, s.Complete = x.State.PendingFiles, x.State.PendingBytes, x.State.Complete
	}, said...)
}

// naming returns how commands call sessions; it takes a look at all of them if that is asked.
func naming(x *Snapshot) func() *sessions.Naming {
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

// Answer implements remote.Answers.
func (o *Opening) Answer(ctx context.Context, kind string, request any) (any, error) {
	switch req := request.(type) {
	case *search.Request:
		req.Later = false
		o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	case *sessions.Request:
		o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	case *audit.Request:
		o.audit(req)
	case *remote.FilesRequest:
		o.audit(&req.Request)
	case *fix.Request:
		o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	case *similar.Request:
		o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	case *blame.Request:
		o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	case *blame.CommitRequest:
		o.complete(&req.Spec, &req.Env, &req.Redact, &req.Resume)
	case *recap.Request:
		o.complete(&req.Spec, &filter.Env{}, &req.Redact, nil)
	}
	return o.open(ctx, func(x *Snapshot) (any, error) {
		answer, err := x.Answer(ctx, kind, request)
		if err != nil {
			return answer, err
		}
		if values, ok := answer.(*[]sessions.Facet); ok {
			*values = append(*values, sessions.Facet{Field: filter.Host, Value: cmp.Or(o.Host, filter.ThisHost)})
		}
		return answer, nil
	})
}

func (o *Opening) audit(req *audit.Request) {
	o.complete(&req.Spec, &req.Env, &req.Redact, nil)
	if o.Zone != nil {
		req.Location = o.Zone
	}
}

func (o *Opening) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	o.complete(&req.Spec, &filter.Env{}, &req.Redact, nil)
	res, err := o.open(ctx, func(x *Snapshot) (any, error) {
		title, naming := Titles(x.Reader, req.Redact), naming(x)
		return x.Grep(ctx, req, func(m *grep.Match) error {
			m.Title = title(m.SessionPath)
			name(m, naming)
			return visit(m)
		})
	})
	found, _ := res.(*remote.Grepped)
	return found, err
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
	if p.Elsewhere.Here && p.Hosts.Here == nil {
		here := alone(p)
		p.Hosts.Here = &Opening{Location: here, Reveal: true, Open: func(ctx context.Context) (*Snapshot, error) { return OpenFiles(ctx, here, remote.Question{}, false) }}
	}
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
		p.Hosts.Here = &Opening{Location: alone(p), Reveal: true, Open: x.Snapshot}
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

// openElsewhere opens an index in memory of what archives have for the question, with the
// sessions of this machine if they are asked for too.
func openElsewhere(ctx context.Context, p *location.Location, of remote.Question) (*Snapshot, error) {
	saveMemory()
	base := &Snapshot{Location: p, Reader: index.Empty(), Found: &indexer.Found{}}
	base.State.Complete = true
	if p.Elsewhere.Here {
		here := *p
		here.Elsewhere = nil
		var err error
		if base, err = Open(ctx, &here, of); err != nil {
			return nil, err
		}
	}
	defer base.Close()
	start := p.App.Now()
	got, err := remote.Gather(ctx, p.Agents, base.Reader, p.Disk(), p.Elsewhere.Host, p.Elsewhere.Sources, of)
	if err != nil {
		return nil, remotes.Problem(err)
	}
	p.App.Logger().Debug("asked archives", "took", p.App.Now().Sub(start).String(), "sessions", got.Known)
	x := *base
	x.Location, x.Reader, x.Asking = p, got.Reader, askHosts(p)
	x.State.Files = base.Reader.Table().Len() + got.Known
	if got.Statistics, err = wholeOf(ctx, p, of, base.Reader, got); err != nil {
		return nil, errors.Join(remotes.Problem(err), x.Close())
	}
	x.Sent = got
	for _, m := range got.Missing {
		text, hint := lack(&m)
		x.State.Complete, x.Lacks = false, append(x.Lacks, text)
		p.App.Advise(hint, "%s", text)
	}
	return &x, nil
}

// lack says what an answer lacks, and what to do about it.
func lack(m *remote.Missing) (text, hint string) {
	some := human.Plural(m.Sessions, "session file of "+m.Source+" is", "session files of "+m.Source+" are")
	switch {
	case m.Err == nil:
		return some + " not in this answer: there is no room for more", "narrow it: --since, --project, --session, or more words"
	case errors.Is(m.Err, remote.ErrDamaged):
		return some + " not in this answer, or in part: something else than pigrep has written there", "`pigrep remote status " + m.Source + "` names what it can"
	}
	if h, ok := errors.AsType[*ssh.HostError](m.Err); ok {
		hint = h.Hint
	}
	return fmt.Sprintf("nothing from %s in this answer: %v", m.Source, m.Err), hint
}

// wholeOf returns the statistics of all that may be asked; nil for a question without words.
func wholeOf(ctx context.Context, p *location.Location, q remote.Question, here *index.Reader, got *remote.Gathered) (*words.Statistics, error) {
	req := search.Request{Text: q.Text, Spec: q.Spec, Env: q.Env}
	sent, err := search.Statistics(ctx, got.Reader, req)
	if err != nil || q.Text == "" { // whoever asks is told what is wrong with the query
		return nil, nil
	}
	whole, err := got.Count(ctx, sent)
	if err == nil && p.Elsewhere.Here {
		var own *words.Statistics
		if own, err = search.Statistics(ctx, here, req); err == nil {
			whole.Add(own)
		}
	}
	return whole, err
}

// everything is the files of an index that has all of each.
func (x *Snapshot) everything() []grep.File {
	list := x.Reader.Summaries()
	files := make([]grep.File, len(list))
	for i := range list {
		files[i] = grep.File{Path: list[i].Path, Time: list[i].Modified(), Known: &list[i], Indexed: grep.Whole}
	}
	return files
}
