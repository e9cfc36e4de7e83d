package sessions_test

import (
	"testing"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/query/sessions"
)

// The session that an agent runs in is left out by its path, and by its id wherever its file is, also
// before it is indexed. Other sessions are not, whatever characters of globs the paths have.
func TestRunningSessionsAreExcluded(t *testing.T) {
	const id = "0b1c2d3e-0000-4000-8000-000000000001"
	globs := sessions.RunningGlobs([]adapter.Running{{Path: "/s/a[1]*.jsonl"}, {ID: id}, {ID: "short"}}, []*session.Summary{{Path: "/s/found.jsonl"}})
	for path, want := range map[string]bool{
		"/s/a[1]*.jsonl": false, "/s/a1x.jsonl": true, "/s/found.jsonl": false, "/s/2026_" + id + ".jsonl": false, "/s/short.jsonl": true, "/s/other.jsonl": true,
	} {
		if got := (&filter.Spec{Excludes: globs}).Compile().Session(&session.Summary{Path: path}); got != want {
			t.Errorf("%s passes: %v, want %v", path, got, want)
		}
	}
}
