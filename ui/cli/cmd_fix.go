package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/query/fix"
	"pigrep/query/search"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/printer"
)

type fixOptions struct {
	flags.Shared
	text  string
	limit flags.Number
}

// noFixFilters are the filters that fix does not have: errors occur in results, error
// messages, shell output and prompts, and it looks at all of them; these have no model.
var noFixFilters = []string{"scope", "kind", "role", "error", "model"}

func (o *fixOptions) addFlags(cmd *cobra.Command) {
	flags.Add(cmd.Flags(), "limit", "n", "N", fmt.Sprintf("show at most N sessions; 0 for all (default %d)", fix.DefaultLimit), &o.limit)
	o.AddFormat(cmd.Flags(), func() []string { return printer.Fields(&printer.Fix{Response: &fix.Response{}}) })
	groups := flags.SharedGroups
	o.Add(cmd, groups, noFixFilters...)
	flags.Ignore(cmd, groups, "model")
}

func runFix(ctx context.Context, a *app.App, o *fixOptions, args []string) error {
	o.text = strings.Join(args, " ")
	q, err := begin(a, &o.Shared)
	if err != nil {
		return err
	}
	if o.text == "-" {
		a.Final = true
		if o.text, err = readEnd(a.Streams.In, fix.MaxText+1); err != nil { // one more byte shows that there is more
			return fmt.Errorf("cannot read the error from stdin: %w", err)
		}
	}
	if strings.TrimSpace(o.text) == "" {
		return noErrorText("the error is empty")
	}
	req := fix.Request{Text: o.text, Spec: q.request.Spec, Env: q.request.Env, Limit: o.limit.Limit(), Redact: o.Redact, Resume: q.Agents.ResumeCommand}
	var res *fix.Response
	x, err := q.ask(ctx, func(ctx context.Context, r *index.Reader) (err error) {
		start := a.Now()
		if res, err = fix.Find(ctx, r, q.Agents, location.Disk{}, req); errors.Is(err, fix.ErrNoWords) {
			return noErrorText(err.Error())
		}
		if err == nil {
			a.Logger().Debug("looked for the error", "took", a.Now().Sub(start).String(), "sessions", res.Total)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.Report(&res.Index, res.Warnings)
	o.Mask(res)
	q.out.Layout.Know(x.Reader.Summaries())
	if err := q.out.Print(&printer.Fix{Response: res}); err != nil {
		return err
	}
	if len(res.Missing) > 0 && q.out.Format.Records() {
		a.Advise("", "no session has this error with %s; these are like it", strings.Join(res.Missing, ", "))
	}
	found := len(res.Sessions) > 0
	if !found && res.Index.Complete && !res.TotalIsExact {
		if o.limit.Limit() != search.All {
			a.Explain("`-n 0` compares all", "nothing found, but not everything was compared")
		}
		return problem.ErrIncomplete
	}
	return finish(x, found, 0, func() {
		a.Explain("`pigrep WORDS` searches for some of its words", "no such error in %s", human.Plural(res.Index.Files, "session file", "session files"))
	})
}

// readEnd reads a stream to its end, and returns its last n bytes.
func readEnd(r io.Reader, n int) (string, error) {
	var kept []byte
	buf := make([]byte, n)
	for {
		k, err := r.Read(buf)
		kept = append(kept, buf[:k]...)
		kept = kept[max(0, len(kept)-n):]
		if err == io.EOF {
			return string(kept), nil
		}
		if err != nil {
			return "", err
		}
	}
}

func noErrorText(message string) error {
	return &problem.Error{Code: problem.CodeQuery, Message: message, Hint: `give the text as it was printed: pigrep fix "No module named 'yaml'"`}
}
