package cli

import (
	"fmt"
	"slices"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
)

// suggestion is what an answer without a full hit says about its query.
type suggestion struct {
	partial    bool // there are hits with some of the words
	didYouMean string
	words      []search.WordCount
	removed    []search.Removed
}

// suggest says why no hit has all words, and prints alternatives to the query. JSON has
// them in the answer.
func suggest(o *flags.Shared, a *app.App, s suggestion) {
	if a.JSON {
		return
	}
	if why := search.ExplainWords(s.words, s.removed, o.Without); why != "" {
		a.Warn("%s", why)
	}
	if s.didYouMean != "" {
		a.Warn("did you mean: %s", s.didYouMean)
	}
	if len(s.removed) > 0 {
		there, all := "there are %d hits%s %s", ""
		if s.removed[0].Hits == 1 {
			there = "there is %d hit%s %s"
		}
		if s.partial {
			all = " with every word"
		}
		text := fmt.Sprintf(there, s.removed[0].Hits, all, o.Without(s.removed[0].Filter))
		for _, r := range s.removed[1:] {
			text += fmt.Sprintf(", %d %s", r.Hits, o.Without(r.Filter))
		}
		a.Warn("%s", text)
	}
}

// noneBelow says that no session was started in a directory or below it, if so.
func noneBelow(o *flags.Shared, list []session.Summary, dir string) []string {
	if dir == "" || len(list) == 0 {
		return nil
	}
	below := (&filter.Spec{CWD: dir}).Compile()
	if slices.ContainsFunc(list, func(s session.Summary) bool { return below.Session(&s) }) {
		return nil
	}
	return []string{fmt.Sprintf("no session was started in %s or below it; %s %s", dir,
		human.Plural(len(list), "session", "sessions"), o.Without("cwd"))}
}
