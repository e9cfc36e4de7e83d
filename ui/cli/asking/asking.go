// Package asking is what commands that ask the index have in common: what is asked and where,
// as the shared flags say, and what an answer without hits says.
package asking

import (
	"context"
	"errors"
	"fmt"

	"pigrep/internal/human"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/remote"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

// Command is a command that asks the index a question, as its shared flags say.
type Command struct {
	*location.Location
	Out     *printer.Printer
	Request search.Request
	Named   remote.Named // the sessions that a question is about
}

// Begin turns the shared flags into how the answer is printed, what is asked, and where.
func Begin(a *app.App, o *flags.Shared) (*Command, error) {
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
	return &Command{Location: p, Out: out, Request: req}, nil
}

// Ask asks a question of whoever is asked: see snapshot.Ask.
func (q *Command) Ask(ctx context.Context, question func(context.Context, *snapshot.Snapshot) error) (*snapshot.Snapshot, error) {
	return snapshot.Ask(ctx, q.Location, q.Named, func(ctx context.Context, x *snapshot.Snapshot) error {
		return Problem(ctx, question(ctx, x))
	})
}

// Answer is like Ask for a question that has one answer. It logs what was done and how long it took, and
// counts of the answer, if counts is not nil.
func Answer[Res any](ctx context.Context, q *Command, done string, counts func(*Res) []any, question func(context.Context, *snapshot.Snapshot) (*Res, error)) (*Res, *snapshot.Snapshot, error) {
	var res *Res
	x, err := q.Ask(ctx, func(ctx context.Context, x *snapshot.Snapshot) (err error) {
		start := q.App.Now()
		if res, err = question(ctx, x); err != nil {
			return err
		}
		said := []any{"took", q.App.Now().Sub(start).String()}
		if counts != nil {
			said = append(said, counts(res)...)
		}
		q.App.Logger().Debug(done, said...)
		return nil
	})
	return res, x, err
}

// Problem adds hints to an error of a search.
func Problem(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*remote.Error](err); ok {
		return &problem.Error{Code: e.Code, Message: e.Message, Hint: e.Hint}
	}
	if e, ok := errors.AsType[*words.TextError](err); ok {
		hint := e.Hint
		if e.Grep {
			hint += ": pigrep grep -F"
		}
		return &problem.Error{Code: problem.CodeQuery, Message: e.Reason, Hint: hint}
	}
	return problem.OfIndex(err)
}

// Finish returns the outcome of a search whose answer has been printed. If nothing was found, it
// says what was not searched, or lets explain say more. unread is how many hits could not be
// read.
func Finish(x *snapshot.Snapshot, found bool, unread int, explain func()) error {
	complete := x.State.Complete && unread == 0
	switch {
	case found:
	case complete:
		explain()
	case x.Elsewhere != nil && unread == 0: // what is missing was said
	default:
		snapshot.WarnIncomplete(x.App, x.Missing.Files, len(x.Errors), unread)
	}
	return Outcome(found, complete)
}

// WarnSkipped says that lines of session files, which are no JSON, were not searched.
func WarnSkipped(a *app.App, lines int) {
	if lines > 0 {
		a.Advise("`pigrep status --skipped` lists them", "not searched: %s", human.Plural(lines, "malformed line", "malformed lines"))
	}
}

// Outcome returns the error of an answer that has been printed.
func Outcome(found, complete bool) error {
	switch {
	case found:
		return nil
	case complete:
		return problem.ErrNothingFound
	}
	return problem.ErrIncomplete
}

// Suggestion is what an answer without a full hit says about its query.
type Suggestion struct {
	Partial    bool // there are hits with some of the words
	DidYouMean string
	Words      []search.WordCount
	Removed    []search.Removed
}

// Suggest says why no hit has all words, and prints alternatives to the query. JSON has
// them in the answer.
func Suggest(o *flags.Shared, a *app.App, s Suggestion) {
	if a.JSON {
		return
	}
	if why := search.ExplainWords(s.Words, s.Removed, s.DidYouMean, o.Without); why != "" {
		a.Warn("%s", why)
	}
	if s.DidYouMean != "" {
		a.Warn("did you mean: %s", s.DidYouMean)
	}
	if len(s.Removed) > 0 {
		there, all := "there are %d hits%s %s", ""
		if s.Removed[0].Hits == 1 {
			there = "there is %d hit%s %s"
		}
		if s.Partial {
			all = " with every word"
		}
		text := fmt.Sprintf(there, s.Removed[0].Hits, all, o.Without(s.Removed[0].Filter))
		for _, r := range s.Removed[1:] {
			text += fmt.Sprintf(", %d %s", r.Hits, o.Without(r.Filter))
		}
		a.Warn("%s", text)
	}
}
