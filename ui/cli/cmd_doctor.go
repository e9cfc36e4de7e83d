package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type doctorOptions struct {
	flags.Shared
	deep   bool
	repair bool
	wait   time.Duration
}

func (o *doctorOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.Add(f, "deep", "", "", "also read all session files and look up each part in the index", &o.deep)
	flags.Add(f, "repair", "", "", "re-index what is wrong", &o.repair)
	snapshot.AddWait(f, &o.wait)
	o.Add(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput}, "no-update")
	flags.Ignore(cmd, []flags.Group{flags.GroupWhere}) // they never update the index
}

func runDoctor(ctx context.Context, a *app.App, o *doctorOptions, _ []string) error {
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		return err
	}
	opt := snapshot.Options(p)
	snapshot.WaitFor(a, &opt, o.wait)
	report, err := indexer.Check(ctx, opt, o.deep)
	if err != nil {
		return problem.OfIndex(err)
	}
	x := &printer.Doctor{
		Dir: p.IndexDir, Deep: o.deep, Generation: report.Generation, Files: report.Files,
		Documents: report.Documents, Compared: report.Compared, Changed: report.Changed,
	}
	for _, f := range report.Findings {
		x.Findings = append(x.Findings, printer.Finding{Path: f.Path, What: f.What})
	}
	sound := len(x.Findings) == 0
	if o.repair && !sound {
		if x.Repaired, err = repair(ctx, a, opt, report, o.deep); err != nil {
			return err
		}
		sound = true
	}
	if err := out.Print(x); err != nil {
		return err
	}
	if !sound {
		return problem.ErrIncomplete
	}
	return nil
}

// repair re-indexes the files named by the findings, or everything if one concerns the
// whole index, and checks the result.
func repair(ctx context.Context, a *app.App, opt indexer.Options, report *indexer.Report, deep bool) (string, error) {
	opt.Again = make(map[string]bool)
	for _, f := range report.Findings {
		opt.Again[f.Path] = true
	}
	done := human.Plural(len(opt.Again), "file was", "files were") + " indexed again"
	if opt.Again[""] {
		opt.Rebuild, done = true, "the index was rebuilt"
	}
	progress, clear := snapshot.Progress(a)
	opt.Progress = progress
	res, err := indexer.Update(ctx, opt)
	clear()
	if res != nil && res.Reader != nil {
		res.Reader.Close()
	}
	if err != nil {
		return "", problem.OfIndex(err)
	}
	again, err := indexer.Check(ctx, opt, deep)
	if err != nil {
		return "", problem.OfIndex(err)
	}
	if n := len(again.Findings); n > 0 {
		return "", &problem.Error{
			Code: problem.CodeDamaged, Message: fmt.Sprintf("the index is not repaired: %s left; the first: %s", human.Plural(n, "problem is", "problems are"), again.Findings[0].What),
			Hint: "try `pigrep index --rebuild`; if that does not help, check the disk",
		}
	}
	return done, nil
}
