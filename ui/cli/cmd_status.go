package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/scope"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type statusOptions struct {
	flags.Shared
	stores  bool
	skipped bool
}

func (o *statusOptions) addFlags(cmd *cobra.Command) {
	flags.Add(cmd.Flags(), "stores", "", "", "list every kind of file that pi keeps, and which of them are searched", &o.stores)
	flags.Add(cmd.Flags(), "skipped", "", "", "list all skipped lines, not only the first ones", &o.skipped)
	o.Add(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput}, "no-update")
	flags.Ignore(cmd, []flags.Group{flags.GroupWhere}) // they never update the index
}

func runStatus(_ context.Context, a *app.App, o *statusOptions, _ []string) error {
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	if o.stores {
		return out.Print(stores(a))
	}
	p, placeErr := location.Find(&o.Shared, a)
	if p == nil {
		return placeErr
	}
	s, err := status(p)
	if err != nil {
		return err
	}
	if o.skipped && s.Built && s.Damage == "" {
		if s.Skipped, err = allSkipped(a, p); err != nil {
			return err
		}
	}
	if err := out.Print(s); err != nil {
		return err
	}
	if s.Damage != "" {
		return &problem.Error{Code: problem.CodeDamaged, Message: s.Damage, Hint: "rebuild it: pigrep index --rebuild"}
	}
	return placeErr
}

// status returns what is indexed and what is pending.
func status(p *location.Location) (*printer.Status, error) {
	a := p.App
	s := &printer.Status{Dir: p.IndexDir}
	var found *indexer.Found
	var looking sync.WaitGroup
	looking.Go(func() { found = indexer.Discover(p.Agents, p.Roots) })
	reader, err := index.Open(p.IndexDir)
	looking.Wait()
	for _, r := range found.Roots {
		root := printer.Root{Path: r.Path, Origin: r.Origin, Files: r.Files}
		if r.Err != nil {
			root.Error = snapshot.Reason(r.Err)
		}
		s.Roots = append(s.Roots, root)
	}
	var known indexer.Index
	switch {
	case err == nil:
		defer reader.Close()
		known = reader
		if err := fillStatus(s, reader); err != nil {
			s.Damage = err.Error()
		}
	case errors.Is(err, index.ErrNoIndex):
	case errors.Is(err, index.ErrDamaged), errors.Is(err, index.ErrVersion):
		s.Damage = err.Error()
	default:
		return nil, problem.OfIndex(err)
	}
	compareFiles(s, found, known)
	whoIsAtWork(a, s)
	if s.Foreign, err = index.Foreign(p.IndexDir); err != nil {
		a.Warn("%v", err)
	}
	if s.Unused, err = index.ListUnused(location.IndexesDir(a)); err != nil {
		a.Warn("%v", err)
	}
	return s, nil
}

// whoIsAtWork adds the processes that write and watch the index.
func whoIsAtWork(a *app.App, s *printer.Status) {
	pid, err := index.WriterPID(s.Dir)
	if err != nil {
		a.Warn("%v", err)
	}
	s.Writer = printer.Process(pid)
	now := a.Now()
	w, err := indexer.WatcherOf(s.Dir, now)
	if err != nil {
		a.Warn("%v", err)
	}
	if w != nil {
		s.Watcher = &printer.Watcher{
			PID: w.PID, Started: session.Time{Time: w.Started}, Scanned: session.Time{Time: w.Scanned}, Polling: w.Polling, Stuck: w.Stuck(now),
			IndexSchema: w.IndexSchema, OtherVersion: w.OtherVersion(),
		}
	}
}

// maxSkipped is how many skipped lines a status lists.
const maxSkipped = 20

// fillStatus adds the contents of the index to the status.
func fillStatus(s *printer.Status, r *index.Reader) error {
	s.Built, s.State, s.Documents = true, snapshot.StateOf(r), r.Documents()
	for _, sum := range r.Summaries() {
		s.Entries += sum.Entries
		s.Indexed += sum.Checkpoint.Offset + sum.TailBytes
		if sum.IsSession() {
			s.Sessions++
		}
		if sum.Newest.After(s.Newest.Time) {
			s.Newest = session.Time{Time: sum.Newest}
		}
		if sum.Skipped == 0 || len(s.Skipped) >= maxSkipped {
			continue
		}
		rec, err := r.Record(sum.File)
		if err != nil {
			return err
		}
		for _, p := range rec.Problems[:min(len(rec.Problems), maxSkipped-len(s.Skipped))] {
			s.Skipped = append(s.Skipped, printer.Skipped{Path: sum.Path, Line: p.Line, Offset: p.Offset, Reason: p.Reason})
		}
	}
	for _, row := range scope.Kinds {
		n := 0
		for _, seg := range r.Segments() {
			docs, err := seg.Bitmap(segment.FieldKind, []byte(row.Kind))
			if err != nil {
				return err
			}
			n += int(docs.GetCardinality())
		}
		if n > 0 {
			s.Kinds = append(s.Kinds, printer.KindCount{Kind: string(row.Kind), Documents: n})
		}
	}
	s.Copies, _ = r.Copies()
	var err error
	if s.Size, err = r.SizeOnDisk(); err != nil {
		return err
	}
	s.Store = r.Store()
	var updated time.Time
	s.Kept, updated, err = r.Generations()
	s.Updated = session.Time{Time: updated}
	return err
}

// allSkipped lists every skipped line. Session records keep only the first ones, so it
// reads the files again.
func allSkipped(a *app.App, p *location.Location) ([]printer.Skipped, error) {
	r, err := index.Open(p.IndexDir)
	if err != nil {
		return nil, problem.OfIndex(err)
	}
	defer r.Close()
	var list []printer.Skipped
	for _, sum := range r.Summaries() {
		if sum.Skipped == 0 {
			continue
		}
		err := skippedLines(p.Agents, sum.Path, func(p session.Problem) {
			list = append(list, printer.Skipped{Path: sum.Path, Line: p.Line, Offset: p.Offset, Reason: p.Reason})
		})
		if err != nil {
			a.Warn("skipped lines of %s: %s", sum.Path, snapshot.Reason(err))
		}
	}
	return list, nil
}

func skippedLines(ad adapter.Adapter, path string, emit func(session.Problem)) error {
	f, _, err := location.OpenSession(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return entry.Problems(ad, path, f, emit)
}

// compareFiles adds what changed in the files since they were indexed.
func compareFiles(s *printer.Status, found *indexer.Found, known indexer.Index) {
	s.Outside = found.Outside
	for _, d := range found.Unreadable {
		s.Errors = append(s.Errors, printer.FileError{Path: d.Dir, Reason: snapshot.Reason(d.Err)})
	}
	counts := make(map[indexer.Change]int)
	for _, step := range indexer.Plan(found, known) {
		counts[step.Change]++
		switch step.Change {
		case indexer.Unchanged, indexer.Touched:
		case indexer.Unreadable:
			if step.File.Err != nil || step.Known == nil {
				s.Errors = append(s.Errors, printer.FileError{Path: step.File.Path, Reason: snapshot.Reason(step.Err)})
			}
		default:
			s.State.PendingFiles++
			s.State.PendingBytes += step.Pending
		}
	}
	s.Changes = changeCounts(counts)
	// Without any readable root, nothing is known about the files.
	missing := !slices.ContainsFunc(found.Roots, func(r indexer.RootState) bool { return r.Err == nil })
	s.State.Complete = s.Built && s.Damage == "" && s.State.PendingFiles == 0 && len(s.Errors) == 0 && !missing && !leavesOut(known)
}

// leavesOut reports whether an index, which may be nil, lacks lines that are too long.
func leavesOut(known indexer.Index) bool {
	return known != nil && slices.ContainsFunc(known.Summaries(), func(s session.Summary) bool { return s.LeavesOut() })
}

// stores lists the stores of agents and which of them exist. Private ones are not even
// stat'ed.
func stores(a *app.App) printer.Stores {
	var list printer.Stores
	for _, s := range a.Registry().Stores() {
		row := printer.Store{
			Name: s.Name, Role: s.Role, Format: s.Format, Coverage: string(s.Coverage), Path: s.Path,
		}
		if s.Coverage != adapter.Private {
			_, err := os.Stat(row.Path)
			exists := err == nil
			row.Exists = &exists
		}
		list = append(list, row)
	}
	return list
}
