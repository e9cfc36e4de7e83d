package cli

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type indexOptions struct {
	flags.Shared
	rebuild bool
	dryRun  bool
	compact bool
	merge   bool
	prune   bool
	wait    time.Duration
}

func (o *indexOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.Add(f, "rebuild", "", "", "build the index from scratch", &o.rebuild)
	flags.Add(f, "dry-run", "", "", "show what would be done, and why", &o.dryRun)
	flags.Add(f, "compact", "", "", "also rewrite the index files, dropping the words of deleted sessions", &o.compact)
	flags.Add(f, "prune", "", "", "only remove the indexes of session directories that are gone", &o.prune)
	flags.Add(f, "merge", "", "", "only merge the segments that a large update left", &o.merge)
	f.Lookup("merge").Hidden = true // searches start it in the background
	snapshot.AddWait(f, &o.wait)
	o.Add(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput}, "no-update")
}

func runIndex(ctx context.Context, a *app.App, o *indexOptions, _ []string) error {
	if o.rebuild && o.dryRun {
		return problem.Usagef("a rebuild reads all files anyway", "--rebuild and --dry-run cannot be combined")
	}
	if o.compact && o.dryRun {
		return problem.Usagef("drop one of them", "--compact and --dry-run cannot be combined")
	}
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	if o.prune {
		return prune(a, out)
	}
	p, err := location.Find(&o.Shared, a)
	if o.merge && p != nil {
		if err := snapshot.Merge(ctx, p); err != nil {
			return problem.OfIndex(err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if o.dryRun {
		return dryRun(a, p, out)
	}
	opt := snapshot.Options(p)
	opt.Rebuild, opt.Replace, opt.Compact, opt.Store = o.rebuild, true, o.compact, true
	opt.Trust = true
	snapshot.WaitFor(a, &opt, o.wait)
	res, err := snapshot.Update(ctx, a, opt)
	if res.Reader != nil {
		defer res.Reader.Close()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		if res.Lag.Files > 0 {
			a.Warn("%s", snapshot.KeptText(res))
		}
		return problem.OfUpdate(err)
	}
	snapshot.WarnUnusable(a, res.Errors, res.Found)
	x := &printer.Index{
		Dir: p.IndexDir, Rebuilt: res.Rebuilt, Changes: changeCounts(res.Changes), Bytes: res.BytesRead,
		Entries: res.Entries, Errors: fileErrors(res.Errors), State: snapshot.StateOf(res.Reader),
	}
	x.State.PendingFiles, x.State.PendingBytes, x.State.Complete = res.Lag.Files, res.Lag.Bytes, res.Complete()
	if err := out.Print(x); err != nil {
		return err
	}
	if len(res.Errors) > 0 {
		return problem.ErrIncomplete
	}
	return nil
}

// prune removes the unused indexes among those of this user.
func prune(a *app.App, out *printer.Printer) error {
	unused, err := index.ListUnused(location.IndexesDir(a))
	var x printer.Pruned
	for _, u := range unused {
		if pruneErr := u.Prune(a.PID); pruneErr != nil {
			err = errors.Join(err, pruneErr)
			continue
		}
		x.Removed = append(x.Removed, u)
	}
	if err := out.Print(&x); err != nil {
		return err
	}
	if err != nil {
		return problem.OfIndex(err)
	}
	return nil
}

// dryRun prints the plan of an update and writes nothing.
func dryRun(a *app.App, p *location.Location, out *printer.Printer) error {
	found := indexer.Discover(p.Agents, p.Roots)
	snapshot.WarnUnusable(a, nil, found)
	x := &printer.Index{DryRun: true, Dir: p.IndexDir}
	reader, err := index.Open(p.IndexDir)
	var known indexer.Index
	switch {
	case err == nil:
		defer reader.Close()
		known, x.State = reader, snapshot.StateOf(reader)
	case errors.Is(err, index.ErrNoIndex):
	case errors.Is(err, index.ErrDamaged), errors.Is(err, index.ErrVersion):
		x.Rebuilt = err.Error()
		a.Warn("%v: it would be rebuilt", err)
	default:
		return problem.OfIndex(err)
	}
	counts := make(map[indexer.Change]int)
	for _, s := range indexer.Plan(found, known) {
		counts[s.Change]++
		x.Bytes += s.Pending
		switch s.Change {
		case indexer.Unchanged:
			continue
		case indexer.Unreadable:
			x.Errors = append(x.Errors, printer.FileError{Path: s.File.Path, Reason: s.Reason})
		case indexer.Touched:
		default:
			x.State.PendingFiles++
			x.State.PendingBytes += s.Pending
		}
		x.Steps = append(x.Steps, printer.Step{
			Change: s.Change.String(), Path: filepath.Clean(s.File.Path), Reason: s.Reason, Bytes: s.Pending,
		})
	}
	x.Changes = changeCounts(counts)
	x.State.Complete = x.State.PendingFiles == 0 && len(x.Errors) == 0
	return out.Print(x)
}

func fileErrors(list []indexer.FileError) []printer.FileError {
	var all []printer.FileError
	for _, e := range list {
		all = append(all, printer.FileError{Path: e.Path, Reason: snapshot.Reason(e.Err)})
	}
	return all
}

// changeCounts lists the changes that happened, in the order of indexer.Changes.
func changeCounts(counts map[indexer.Change]int) []printer.ChangeCount {
	var all []printer.ChangeCount
	for _, c := range indexer.Changes() {
		if n := counts[c]; n > 0 {
			all = append(all, printer.ChangeCount{Change: c.String(), Files: n})
		}
	}
	return all
}
