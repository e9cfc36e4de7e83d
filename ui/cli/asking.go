package cli

import (
	"context"
	"fmt"
	"slices"

	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

// asking is a command that asks the index a question, as its shared flags say.
type asking struct {
	*location.Location
	out     *printer.Printer
	request search.Request
}

// begin turns the shared flags into how the answer is printed, what is asked, and where.
func begin(a *app.App, o *flags.Shared) (*asking, error) {
	out, err := o.Printer(a)
	if err != nil {
		return nil, err
	}
	req, err := o.Request(a)
	if err != nil {
		return nil, err
	}
	p, err := location.Find(o, a)
	if err != nil {
		return nil, err
	}
	return &asking{p, out, req}, nil
}

// ask opens the index and runs a question on it; see snapshot.Ask.
func (q *asking) ask(ctx context.Context, question func(context.Context, *index.Reader) error) (*snapshot.Snapshot, error) {
	return snapshot.Ask(ctx, q.Location, func(ctx context.Context, r *index.Reader) error {
		if err := question(ctx, r); err != nil {
			return searchProblem(ctx, err)
		}
		return nil
	})
}

// finish is the outcome of a search whose answer has been printed. If nothing was found, it
// says what was not searched, or lets explain say more. unread is how many hits could not be
// read.
func finish(x *snapshot.Snapshot, found bool, unread int, explain func()) error {
	complete := x.State.Complete && unread == 0
	switch {
	case found:
	case complete:
		explain()
	default:
		snapshot.WarnIncomplete(x.App, x.Missing.Files, len(x.Errors), unread)
	}
	return outcome(found, complete)
}

// outcome is the error of an answer that has been printed.
func outcome(found, complete bool) error {
	switch {
	case found:
		return nil
	case complete:
		return problem.ErrNothingFound
	}
	return problem.ErrIncomplete
}

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
