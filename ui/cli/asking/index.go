package asking

import (
	"context"

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

func (x Index) Prepare(ctx context.Context, req remote.PrepareRequest) (*remote.Prepared, error) {
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

func (x Index) Search(ctx context.Context, req search.Request) (*search.Response, error) {
	return search.Run(ctx, x.Reader, x.Agents, x.Source(), req)
}

func (x Index) Sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	return sessions.List(ctx, x.Reader, x.Agents, x.Source(), req)
}

func (x Index) Facets(ctx context.Context, req search.Request) (*facets.Response, error) {
	return facets.Of(ctx, x.Reader, x.Agents, x.Source(), req)
}

func (x Index) Values(context.Context, struct{}) (*[]sessions.Facet, error) {
	list, err := sessions.Facets(x.Reader)
	return &list, err
}

func (x Index) Count(ctx context.Context, req search.Request) (*search.Counts, error) {
	n, err := search.Count(ctx, x.Reader, x.Agents, x.Source(), req)
	return &n, err
}

func (x Index) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	sum, err := grep.Run(ctx, grep.Input{Reader: x.Reader, Adapter: x.Agents, Source: x.Source(), Files: x.Files.Files()}, req, visit)
	if sum == nil {
		sum = &grep.Summary{}
	}
	res := &remote.Grepped{Summary: *sum, Index: snapshot.StateOf(x.Reader)}
	res.Index.Complete = true
	return res, err
}

func (x Index) Tools(ctx context.Context, req audit.Request) (*audit.ToolTable, error) {
	return audit.Tools(ctx, x.Reader, x.Agents, x.Source(), req)
}

func (x Index) Commands(ctx context.Context, req audit.Request) (*audit.CommandTable, error) {
	return audit.Commands(ctx, x.Reader, x.Agents, x.Source(), req)
}

func (x Index) Calls(ctx context.Context, req audit.Request) (*audit.CallList, error) {
	return audit.Calls(ctx, x.Reader, x.Agents, x.Source(), req)
}

func (x Index) Touched(ctx context.Context, req remote.FilesRequest) (*audit.FileTable, error) {
	return audit.Files(ctx, x.Reader, req.Request, req.Name)
}

func (x Index) Usage(ctx context.Context, req audit.Request) (*audit.UsageTable, error) {
	return audit.Usage(ctx, x.Reader, req)
}

func (x Index) Fix(ctx context.Context, req fix.Request) (*fix.Response, error) {
	return fix.Find(ctx, x.Reader, x.Agents, x.Source(), req)
}

func (x Index) Entries(ctx context.Context, of []uint64) (*[]sessions.Entries, error) {
	list, err := sessions.EntriesOf(ctx, x.Reader, of)
	return &list, err
}

func (x Index) Weigh(ctx context.Context, req similar.Weighing) (*similar.Weighed, error) {
	return x.similar().Weigh(ctx, req)
}

func (x Index) Compare(ctx context.Context, req similar.Comparison) (*similar.Compared, error) {
	return x.similar().Compare(ctx, req)
}

func (x Index) similar() *similar.Local {
	return &similar.Local{Reader: x.Reader, Adapter: x.Agents, Source: x.Source()}
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
