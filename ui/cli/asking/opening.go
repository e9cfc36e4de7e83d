package asking

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"pigrep/index"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
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
)

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

var _ remote.Participant = (*Opening)(nil)

// open opens the index for a question. If that turns out to be damaged, it is rebuilt, and the
// question asked again.
func open[Res any](ctx context.Context, o *Opening, question func(Index) (*Res, error)) (*Res, error) {
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
		if list, ok := any(res).(*audit.CallList); ok && err == nil { // its rows are still to be read
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

// complete adds to an answer what the index lacks.
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

func (o *Opening) Prepare(ctx context.Context, req remote.PrepareRequest) (*remote.Prepared, error) {
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
	return open(ctx, o, func(x Index) (p *remote.Prepared, err error) {
		if p, err = x.Prepare(ctx, req); err == nil && req.Found != nil {
			req.Found.Shared = cmp.Or(req.Found.Shared, &p.Statistics)
			if p.Found, err = x.Search(ctx, *req.Found); err == nil {
				complete(p.Found, x.Files)
			}
		}
		if err == nil && req.Listed != nil {
			req.Listed.Shared = cmp.Or(req.Listed.Shared, &p.Statistics)
			if p.Listed, err = x.Sessions(ctx, *req.Listed); err == nil {
				complete(p.Listed, x.Files)
			}
		}
		return p, err
	})
}

// search completes a search.
func (o *Opening) search(req *search.Request) {
	req.Resume, req.Redact, req.Later = o.ResumeCommand, req.Redact || !o.Reveal, false
	o.within(&req.Spec, &req.Env)
}

// list completes a request for a list of sessions.
func (o *Opening) list(req *sessions.Request) {
	req.Resume, req.Redact = o.ResumeCommand, req.Redact || !o.Reveal
	o.within(&req.Spec, &req.Env)
}

func (o *Opening) Search(ctx context.Context, req search.Request) (*search.Response, error) {
	o.search(&req)
	return open(ctx, o, func(x Index) (*search.Response, error) { return x.Search(ctx, req) })
}

func (o *Opening) Sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	o.list(&req)
	return open(ctx, o, func(x Index) (*sessions.Response, error) { return x.Sessions(ctx, req) })
}

func (o *Opening) Facets(ctx context.Context, req search.Request) (*facets.Response, error) {
	o.within(&req.Spec, &req.Env)
	return open(ctx, o, func(x Index) (*facets.Response, error) { return x.Facets(ctx, req) })
}

func (o *Opening) Values(ctx context.Context, _ struct{}) (*[]sessions.Facet, error) {
	return open(ctx, o, func(x Index) (*[]sessions.Facet, error) {
		list, err := x.Values(ctx, struct{}{})
		*list = append(*list, sessions.Facet{Field: filter.Host, Value: cmp.Or(o.Host, filter.ThisHost)})
		return list, err
	})
}

func (o *Opening) Count(ctx context.Context, req search.Request) (*search.Counts, error) {
	o.within(&req.Spec, &req.Env)
	return open(ctx, o, func(x Index) (*search.Counts, error) { return x.Count(ctx, req) })
}

func (o *Opening) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	req.Redact = req.Redact || !o.Reveal
	o.within(&req.Spec, &filter.Env{})
	return open(ctx, o, func(x Index) (*remote.Grepped, error) {
		title, naming := Titles(x.Reader, req.Redact), naming(x.Files)
		return x.Grep(ctx, req, func(m *grep.Match) error {
			m.Title = title(m.SessionPath)
			name(m, naming)
			return visit(m)
		})
	})
}

// audit completes a request for an audit.
func (o *Opening) audit(req *audit.Request) {
	req.Redact = req.Redact || !o.Reveal
	if o.within(&req.Spec, &req.Env); o.Zone != nil {
		req.Location = o.Zone
	}
}

func (o *Opening) Tools(ctx context.Context, req audit.Request) (*audit.ToolTable, error) {
	o.audit(&req)
	return open(ctx, o, func(x Index) (*audit.ToolTable, error) { return x.Tools(ctx, req) })
}

func (o *Opening) Commands(ctx context.Context, req audit.Request) (*audit.CommandTable, error) {
	o.audit(&req)
	return open(ctx, o, func(x Index) (*audit.CommandTable, error) { return x.Commands(ctx, req) })
}

func (o *Opening) Calls(ctx context.Context, req audit.Request) (*audit.CallList, error) {
	o.audit(&req)
	return open(ctx, o, func(x Index) (*audit.CallList, error) { return x.Calls(ctx, req) })
}

func (o *Opening) Touched(ctx context.Context, req remote.FilesRequest) (*audit.FileTable, error) {
	o.audit(&req.Request)
	return open(ctx, o, func(x Index) (*audit.FileTable, error) { return x.Touched(ctx, req) })
}

func (o *Opening) Usage(ctx context.Context, req audit.Request) (*audit.UsageTable, error) {
	o.audit(&req)
	return open(ctx, o, func(x Index) (*audit.UsageTable, error) { return x.Usage(ctx, req) })
}

func (o *Opening) Fix(ctx context.Context, req fix.Request) (*fix.Response, error) {
	req.Resume, req.Redact = o.ResumeCommand, req.Redact || !o.Reveal
	o.within(&req.Spec, &req.Env)
	return open(ctx, o, func(x Index) (*fix.Response, error) { return x.Fix(ctx, req) })
}

func (o *Opening) Entries(ctx context.Context, of []uint64) (*[]sessions.Entries, error) {
	return open(ctx, o, func(x Index) (*[]sessions.Entries, error) { return x.Entries(ctx, of) })
}

func (o *Opening) Weigh(ctx context.Context, req similar.Weighing) (*similar.Weighed, error) {
	return open(ctx, o, func(x Index) (*similar.Weighed, error) { return x.Weigh(ctx, req) })
}

func (o *Opening) Compare(ctx context.Context, req similar.Comparison) (*similar.Compared, error) {
	o.search(&req.Request)
	return open(ctx, o, func(x Index) (*similar.Compared, error) {
		found, err := x.Compare(ctx, req)
		if err == nil {
			complete(found.Found, x.Files)
		}
		return found, err
	})
}
