package sessions

import (
	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/session"
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
