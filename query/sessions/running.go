package sessions

import (
	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
)

// Running returns the files of the sessions that an agent runs in, and of their subagents.
func Running(r *index.Reader, list []adapter.Running) (files []*session.Summary) {
	l, own := NewLineage(r), make(map[int]bool)
	for i := range r.Summaries() {
		for _, running := range list {
			if s := r.Summary(i); s.Path == running.Path || running.ID != "" && s.ID == running.ID {
				own[l.Head(i)] = true
			}
		}
	}
	for i := range r.Summaries() {
		for at := i; at >= 0 && len(own) > 0; at = l.Owner(l.Head(at)) {
			if own[l.Head(at)] {
				files = append(files, r.Summary(i))
				break
			}
		}
	}
	return files
}

// RunningGlobs returns globs that exclude the sessions of a list, which may not be indexed yet, and the files
// that Running has found.
func RunningGlobs(list []adapter.Running, files []*session.Summary) []string {
	globs := lists.Map(files, func(s *session.Summary) string { return filter.LiteralGlob(s.Path) })
	for _, own := range list {
		if own.Path != "" {
			globs = append(globs, filter.LiteralGlob(own.Path))
		}
		if len(own.ID) > near.ShortID {
			globs = append(globs, "*"+filter.LiteralGlob(own.ID)+"*")
		}
	}
	return globs
}
