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
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/fix"
	"pigrep/query/sessions"
)

type fixOptions struct {
	sharedOptions
	text  string
	limit number
}

// noFixFilters are the filters that fix does not have: errors occur in results, error
// messages, shell output and prompts, and it looks at all of them; these have no model.
var noFixFilters = []string{"scope", "kind", "role", "error", "model"}

func (o *fixOptions) addFlags(cmd *cobra.Command) {
	addFlag(cmd.Flags(), "limit", "n", "N", fmt.Sprintf("show at most N sessions; 0 for all (default %d)", fix.DefaultLimit), &o.limit)
	groups := []flagGroup{groupFilter, groupWhere, groupAnswer, groupOutput}
	o.addShared(cmd, groups, noFixFilters...)
	ignoreShared(cmd, groups, "model")
}

func newFixCommand(a *App) *cobra.Command {
	o := &fixOptions{}
	cmd := &cobra.Command{
		Use:   "fix {ERROR... | -}",
		Short: "Find where an error occurred before, and what made it go away",
		Long: `Find the sessions in which an error occurred, and what followed in each until it
no longer did: the calls after its last occurrence, and the closing reply of the
model. ERROR is the text as it was printed, in quotes; "-" reads it from stdin,
also several lines. Numbers, paths, ids, hashes, quoted names and times need not
be the same, but sessions with the same ones are closer.

An error counts as fixed if the call that failed succeeds later on the same
branch, with the same programs and mostly the same operands. Sessions where it
was fixed come first, then the closest match, then the latest.`,
		Example: `pigrep fix "ModuleNotFoundError: No module named 'yaml'"
pigrep fix --here 'error TS2339: Property does not exist on type'
go test ./... 2>&1 | pigrep fix -
pigrep fix --json -n 1 -- "No module named 'yaml'"`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.text = strings.Join(args, " ")
			return runFix(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func runFix(ctx context.Context, a *App, o *fixOptions) error {
	out, err := o.printer(a)
	if err != nil {
		return err
	}
	base, err := o.request(a)
	if err != nil {
		return err
	}
	if o.text == "-" {
		a.final = true
		if o.text, err = readEnd(a.Streams.In, fix.MaxText+1); err != nil { // one more byte shows that there is more
			return fmt.Errorf("read the error from stdin: %w", err)
		}
	}
	if strings.TrimSpace(o.text) == "" {
		return noErrorText("the error is empty")
	}
	p, err := o.locate(a)
	if err != nil {
		return err
	}
	req := fix.Request{Text: o.text, Spec: base.Spec, Env: base.Env, Limit: o.limit.limit(), Redact: o.redact, Resume: p.agents.ResumeCommand}
	var res *fix.Response
	x, err := o.ask(ctx, a, p, func(ctx context.Context, r *index.Reader) (err error) {
		start := a.Now()
		if res, err = fix.Find(ctx, r, p.agents, disk{}, req); err != nil {
			if errors.Is(err, fix.ErrNoWords) {
				return noErrorText(err.Error())
			}
			return searchProblem(ctx, err)
		}
		a.logger().Debug("looked for the error", "took", a.Now().Sub(start).String(), "sessions", res.Total)
		return nil
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.report(a, &res.Index, res.Warnings)
	o.mask(res)
	if err := out.Print(&printer.Fix{Response: res, ShortID: sessions.ShortIDs(x.reader.Summaries())}); err != nil {
		return err
	}
	switch {
	case len(res.Sessions) > 0:
		return nil
	case res.Index.Complete && !res.TotalIsExact:
		if a.Streams.ErrTTY && !a.json && o.limit.limit() != query.All {
			a.advise("`-n 0` compares all", "nothing found, but not everything was compared")
		}
		return errIncomplete
	case res.Index.Complete:
		if a.Streams.ErrTTY && !a.json {
			a.advise("`pigrep WORDS` searches for some of its words", "no such error in %s", human.Plural(res.Index.Files, "session file", "session files"))
		}
		return errNothingFound
	}
	a.warnIncomplete(x.missing.Files, len(x.errors), 0)
	return errIncomplete
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
	return &problem{code: codeQuery, message: message, hint: `give the text as it was printed: pigrep fix "No module named 'yaml'"`}
}
