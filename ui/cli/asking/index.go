package asking

import (
	"context"
	"fmt"

	"pigrep/index"
	"pigrep/query/audit"
	"pigrep/query/engine/words"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/snapshot"
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
