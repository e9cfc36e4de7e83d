package remote

import (
	"context"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/engine/entry"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
)

// Index answers from an index, given the agents and the files of its sessions.
type Index struct {
	Reader   *index.Reader // nil: files are searched, and nothing else is answered
	Agents   adapter.Adapter
	Source   entry.Source       // opens session files
	Searched func() []grep.File // the files to search, and how much of each Reader covers
}

var _ Answers = (*Index)(nil)

func (x *Index) Search(ctx context.Context, req search.Request) (*search.Response, error) {
	return search.Run(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Count(ctx context.Context, req search.Request) (*search.Tally, error) {
	return search.Count(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Facets(ctx context.Context, req search.Request) (*facets.Response, error) {
	return facets.Of(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	req.Costs = audit.Costs
	return sessions.List(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Values(context.Context, struct{}) (*[]sessions.Facet, error) {
	list, err := sessions.Facets(x.Reader)
	return &list, err
}

func (x *Index) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*Grepped, error) {
	sum, err := grep.Run(ctx, grep.Input{Reader: x.Reader, Adapter: x.Agents, Source: x.Source, Files: x.Searched()}, req, visit)
	if sum == nil {
		sum = &grep.Summary{}
	}
	res := &Grepped{Summary: *sum}
	if x.Reader != nil {
		res.Index = search.StateOf(x.Reader)
	}
	res.Index.Complete = true
	return res, err
}

func (x *Index) Tools(ctx context.Context, req audit.Request) (*audit.ToolTable, error) {
	return audit.Tools(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Commands(ctx context.Context, req audit.Request) (*audit.CommandTable, error) {
	return audit.Commands(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Calls(ctx context.Context, req audit.Request) (*audit.CallList, error) {
	return audit.Calls(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Files(ctx context.Context, req FilesRequest) (*audit.FileTable, error) {
	return audit.Files(ctx, x.Reader, req.Request, req.Name)
}

func (x *Index) Usage(ctx context.Context, req audit.Request) (*audit.UsageTable, error) {
	return audit.Usage(ctx, x.Reader, req)
}

func (x *Index) Fix(ctx context.Context, req fix.Request) (*fix.Response, error) {
	return fix.Find(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Similar(ctx context.Context, req similar.Request) (*similar.Response, error) {
	return similar.Find(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Blame(ctx context.Context, req blame.Request) (*blame.Response, error) {
	return blame.Run(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Commits(ctx context.Context, req blame.CommitRequest) (*blame.CommitResponse, error) {
	return blame.Commits(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Recap(ctx context.Context, req recap.Request) (*recap.Response, error) {
	return recap.Run(ctx, x.Reader, x.Agents, x.Source, req)
}

func (x *Index) Lessons(ctx context.Context, req recap.Request) (*recap.Lessons, error) {
	return recap.Learn(ctx, x.Reader, x.Agents, x.Source, req)
}
