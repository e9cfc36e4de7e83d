package asking

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/snapshot"
)

// RunningIn returns the agents' sessions that this process runs in, as environment variables name them.
func RunningIn(a *app.App) []adapter.Running {
	list := a.Registry().Current()
	for i := range list {
		if real, err := filepath.EvalSymlinks(list[i].Path); err == nil && list[i].Path != "" {
			list[i].Path = real
		}
	}
	return list
}

// WithoutOwn asks a question, whose filters are spec, without what LeaveOutOwn leaves out. The answer says so.
func WithoutOwn[Req, Res any](ctx context.Context, x *snapshot.Snapshot, o *flags.Shared, kind remote.Kind[Req, Res], req *Req, spec *filter.Spec, texts bool) (*Res, error) {
	said := LeaveOutOwn(x, o, spec, texts)
	res, err := kind.Ask(ctx, x.Answers(), *req)
	if err == nil {
		ssh.Lack(res, func(*search.IndexState) {}, said...)
	}
	return res, err
}

// LeaveOutOwn changes the filters of a question so that an agent is not answered with its own words, as
// the MCP server does: they leave out its session with subagents and, if texts are searched, calls of
// pigrep. It does so only if an environment variable names the session and no person reads the answer. It
// returns a warning about what it left out.
func LeaveOutOwn(x *snapshot.Snapshot, o *flags.Shared, spec *filter.Spec, texts bool) []string {
	running := RunningIn(x.App)
	if len(running) == 0 || x.App.Streams.OutTTY {
		return nil
	}
	var left, back []string
	if !o.IncludeCurrent && len(o.Filters[filter.Session]) == 0 {
		var files []*session.Summary
		if x.Reader != nil {
			files = sessions.Running(x.Reader, running)
		}
		if len(files) > 0 {
			left, back = append(left, "the session that this runs in"), append(back, "--include-current")
		}
		spec.Excludes = slices.Concat(spec.Excludes, sessions.RunningGlobs(running, files))
	}
	if _, given := o.Filters[filter.Searches]; texts && !o.IncludeSearches && !given {
		spec.NoSearches = true
		if x.Reader != nil && search.HasSearches(x.Reader) {
			left, back = append(left, "calls of pigrep"), append(back, "--include-searches")
		}
	}
	if len(left) == 0 {
		return nil
	}
	return []string{"left out: " + strings.Join(left, " and ") + "; " + strings.Join(back, " and ") + human.When(len(back) == 1, " brings it back") + human.When(len(back) > 1, " bring them back")}
}
