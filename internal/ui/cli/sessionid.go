package cli

import (
	"fmt"
	"slices"

	"pigrep/internal/session"
	"pigrep/query"
	"pigrep/scope"
)

// firstPrompts returns a function that knows the first prompt of each session.
func firstPrompts(sessions []session.Summary) func(string) string {
	return func(path string) string {
		i := slices.IndexFunc(sessions, func(s session.Summary) bool { return s.Path == path })
		if i < 0 {
			return ""
		}
		return sessions[i].FirstPrompt
	}
}

// whereSearched says what a search without hits looked through.
func whereSearched(r query.Request, files int) string {
	what := fmt.Sprintf("the %s of %d session files", scopeOf(r.Spec), files)
	switch {
	case len(r.Kinds) > 0:
		what = fmt.Sprintf("these kinds of text in %d session files", files)
	case scopeOf(r.Spec) == scope.All:
		what = fmt.Sprintf("all text of %d session files", files)
	case slices.Contains(scope.Scopes, scopeOf(r.Spec)):
		what += "; --scope all looks at everything"
	}
	return what
}
