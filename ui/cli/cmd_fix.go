package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"pigrep/internal/human"
	"pigrep/query/fix"
	"pigrep/query/search"
	"pigrep/remote"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

// fixOptions lack some filters: errors occur in results, error messages, shell output and prompts, all of
// which are looked at, and which have no model.
type fixOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal format own -scope -kind -role -error -model" ignores:"filters files answer output -model"`
	text         string
	Limit        flags.Number
}

func runFix(ctx context.Context, a *app.App, o *fixOptions, args []string) error {
	o.text = strings.Join(args, " ")
	q, err := asking.Begin(a, &o.Shared)
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
	req := fix.Request{Text: o.text, Spec: q.Request.Spec, Env: q.Request.Env, Limit: o.Limit.Limit(), Redact: o.Redact, Resume: q.ResumeCommand}
	total := func(res *fix.Response) []any { return []any{"sessions", res.Total} }
	res, x, err := asking.Answer(ctx, q, "looked for the error", total, func(ctx context.Context, x *snapshot.Snapshot) (*fix.Response, error) {
		res, err := asking.WithoutOwn(ctx, x, &o.Shared, remote.Fix, &req, &req.Spec, true)
		if errors.Is(err, fix.ErrNoWords) {
			err = noErrorText(err.Error())
		}
		return res, err
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.Report(&res.Index, res.Warnings)
	o.Mask(res)
	x.Know(&q.Out.Layout)
	if err := q.Out.Print(&printer.Fix{Response: res}); err != nil {
		return err
	}
	if len(res.Missing) > 0 && q.Out.Format.Records() {
		a.Advise("", "no session has this error with %s; these are like it", strings.Join(res.Missing, ", "))
	}
	found := len(res.Sessions) > 0
	if !found {
		asking.WarnSkipped(a, res.Index.SkippedLines)
	}
	if !found && res.Index.Complete && !res.TotalIsExact {
		if o.Limit.Limit() != search.All {
			a.Explain("`-n 0` compares all", "nothing found, but not everything was compared")
		}
		return problem.ErrIncomplete
	}
	return asking.Finish(x, found, 0, func() {
		a.Explain("`pigrep WORDS` searches for some of its words", "no such error in %s", human.Plural(res.Index.Files, "session file", "session files"))
	})
}

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
