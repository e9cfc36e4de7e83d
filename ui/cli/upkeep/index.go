// Package upkeep is the commands about the index and the archive themselves: index, status, watch
// and keep.
package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/indexer"
	"pigrep/internal/content"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
	"pigrep/scope"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
)

type indexOptions struct {
	flags.Shared                           `takes:"files output -no-update"`
	Rebuild, DryRun, Compact, Merge, Prune bool
	Wait                                   time.Duration
}

func (o *indexOptions) AddFlags(cmd *cobra.Command) {
	o.Wait = snapshot.UsualWait
	flags.AddHidden(cmd.Flags(), "merge", "", "only merge the segments that a large update left", &o.Merge) // searches start it in the background
}

func RunIndex(ctx context.Context, a *app.App, o *indexOptions, _ []string) error {
	if o.Rebuild && o.DryRun {
		return problem.Usagef("a rebuild reads all files anyway", "--rebuild and --dry-run cannot be combined")
	}
	if o.Compact && o.DryRun {
		return problem.Usagef("drop one of them", "--compact and --dry-run cannot be combined")
	}
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	if o.Prune {
		return prune(a, out)
	}
	p, err := location.Find(&o.Shared, a)
	if o.Merge && p != nil {
		if err := snapshot.Merge(ctx, p); err != nil {
			return problem.OfIndex(err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if o.DryRun {
		return dryRun(a, p, out)
	}
	opt := snapshot.Options(p)
	opt.Rebuild, opt.Replace, opt.Compact, opt.Store = o.Rebuild, true, o.Compact, true
	snapshot.WaitFor(a, &opt, o.Wait)
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
	if !a.Quiet || a.JSON {
		if err := out.Print(x); err != nil {
			return err
		}
	}
	if len(res.Errors) > 0 {
		return problem.ErrIncomplete
	}
	return nil
}

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
	found := indexer.Discover(p.Agents, p.Roots, p.Archive)
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
	return lists.Map(list, func(e indexer.FileError) printer.FileError {
		return printer.FileError{Path: e.Path, Reason: snapshot.Reason(e.Err), Hint: snapshot.HintOf(e.Err)}
	})
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

// statusOptions ignore --no-update: the index is never updated.
type statusOptions struct {
	flags.Shared           `takes:"files output -no-update" ignores:"files"`
	Stores, Skipped, Sizes bool
	Check, Deep, Repair    bool
	Wait                   time.Duration
}

func (o *statusOptions) AddFlags(*cobra.Command) { o.Wait = snapshot.UsualWait }

func RunStatus(ctx context.Context, a *app.App, o *statusOptions, _ []string) error {
	if o.Check || o.Deep || o.Repair {
		return o.check(ctx, a)
	}
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	if o.Stores {
		return out.Print(stores(a))
	}
	p, placeErr := location.Find(&o.Shared, a)
	if p == nil {
		return placeErr
	}
	if o.Sizes {
		r, err := index.Open(p.IndexDir)
		if err != nil {
			return problem.OfIndex(err)
		}
		defer r.Close()
		return cmp.Or(out.Print(sizes(p.Agents, r.Summaries(), out.Format == printer.FormatText)), placeErr)
	}
	s, err := Status(p)
	if err != nil {
		return err
	}
	if o.Skipped && s.Built && s.Damage == "" {
		if s.Skipped, err = allSkipped(a, p); err != nil {
			return err
		}
	}
	if err := out.Print(s); err != nil {
		return err
	}
	o.adviseKeeping(p)
	if s.Damage != "" {
		return &problem.Error{Code: problem.CodeDamaged, Message: s.Damage, Hint: "rebuild it: pigrep index --rebuild"}
	}
	return placeErr
}

// adviseKeeping names agents that delete sessions by themselves, if these are not kept.
func (o *statusOptions) adviseKeeping(p *location.Location) {
	r, err := index.Open(p.IndexDir)
	if err != nil {
		return
	}
	defer r.Close()
	for _, x := range snapshot.AgentCounts(p.Agents, r) {
		if loses := p.Agents.Loses(x.Agent); loses != "" && !slices.Contains(o.Keep, x.Agent) {
			p.App.Advise("keep copies: pigrep keep "+x.Agent, "%s deletes %s", x.Label, loses)
		}
	}
}

// Status returns what is indexed and what is pending.
func Status(p *location.Location) (*printer.Status, error) {
	a := p.App
	s := &printer.Status{Dir: p.IndexDir}
	var found *indexer.Found
	var looking sync.WaitGroup
	looking.Go(func() { found = indexer.Discover(p.Agents, p.Roots, p.Archive) })
	reader, err := index.Open(p.IndexDir)
	looking.Wait()
	isAbsent := func(r indexer.RootState) bool { return r.Usual && errors.Is(r.Err, fs.ErrNotExist) }
	some := slices.ContainsFunc(found.Roots, func(r indexer.RootState) bool { return !isAbsent(r) })
	for _, r := range found.Roots {
		root := printer.Root{Agent: session.ShortAgent(r.Agent), Path: r.Path, Origin: r.Origin, Files: r.Files}
		switch {
		case isAbsent(r) && some:
			continue // nobody expects it
		case isAbsent(r):
			root.Absent = true
		case r.Err != nil:
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
		if counts := snapshot.AgentCounts(p.Agents, reader); len(counts) > 1 {
			s.Agents = counts
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
	if p.Archive != nil {
		if x, err := archiveFacts(p); err == nil && (x.Size > 0 || len(p.Rules.Agents) > 0) { // an error is listed with the errors of the files
			s.Archive = x
		}
	}
	return s, nil
}

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

const maxSkipped = 20

func fillStatus(s *printer.Status, r *index.Reader) error {
	s.Built, s.State, s.Documents = true, snapshot.StateOf(r), r.Documents()
	unknown := make(map[printer.UnknownName]int)
	for _, sum := range r.Summaries() {
		for _, x := range sum.Strange {
			unknown[printer.UnknownName{Agent: session.ShortAgent(sum.Agent), Name: x.Name}] += x.Count
		}
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
	for x, n := range unknown {
		x.Count = n
		s.Unknown = append(s.Unknown, x)
	}
	slices.SortFunc(s.Unknown, func(a, b printer.UnknownName) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Name, b.Name))
	})
	for _, row := range scope.Kinds {
		n := 0
		for _, seg := range r.Segments() {
			docs := seg.Bitmap(segment.FieldKind, []byte(row.Kind))
			n += int(docs.GetCardinality())
			if row.Kind == session.KindResult {
				s.Partial += int(docs.AndCardinality(seg.Bitmap(segment.FieldCustom, []byte(session.PartialResult))))
			}
		}
		if n > 0 {
			s.Kinds = append(s.Kinds, printer.KindCount{Kind: string(row.Kind), Documents: n})
		}
	}
	s.Copies, _ = r.Copies()
	var err error
	if s.Size, err = r.SizeOnDisk(); err == nil {
		err = r.Fault()
	}
	if err != nil {
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
		f, err := content.Open(sum.Path, p.Disk().Limits.Text)
		if err == nil {
			err = entry.Problems(p.Agents, sum.Path, f.Text(), func(p session.Problem) {
				list = append(list, printer.Skipped{Path: sum.Path, Line: p.Line, Offset: p.Offset, Reason: p.Reason})
			})
			f.Close()
		}
		if err != nil {
			a.Warn("skipped lines of %s: %s", sum.Path, snapshot.Reason(err))
		}
	}
	return list, nil
}

// compareFiles adds what changed in the files since they were indexed.
func compareFiles(s *printer.Status, found *indexer.Found, known indexer.Index) {
	s.Outside = found.Outside
	errs := found.Errors()
	counts := make(map[indexer.Change]int)
	for _, step := range indexer.Plan(found, known) {
		counts[step.Change]++
		end := step.Err
		switch step.Change {
		case indexer.Unchanged, indexer.Touched:
			end = adapter.EndOf(&step.Known.Checkpoint)
		case indexer.Unreadable:
			if step.File.Err != nil || step.File.Mtime == 0 { // discovery has it, or its directory
				end = nil
			}
		default:
			s.State.PendingFiles++
			s.State.PendingBytes += step.Pending
		}
		if end != nil {
			errs = append(errs, indexer.FileError{Path: step.File.Path, Err: end})
		}
	}
	s.Errors = fileErrors(errs)
	s.Changes = changeCounts(counts)
	// Without any readable root, nothing is known about the files.
	missing := !slices.ContainsFunc(found.Roots, func(r indexer.RootState) bool { return r.Err == nil })
	s.State.Complete = s.Built && s.Damage == "" && s.State.PendingFiles == 0 && len(s.Errors) == 0 && !missing &&
		(known == nil || !slices.ContainsFunc(known.Summaries(), func(s session.Summary) bool { return s.LeavesOut() })) // lines that are too long
}

// mostSizes is how many projects and months a person sees.
const mostSizes = 12

// sizes adds up the session files of agents, projects and months. A person sees the largest of them.
func sizes(agents *adapter.Registry, list []session.Summary, forPeople bool) printer.Sizes {
	groups := [3]map[printer.SizeRow]*printer.SizeRow{{}, {}, {}}
	for i := range list {
		s := &list[i]
		if s.Kept { // a copy of ours
			continue
		}
		a := agents.Agent(s.Agent)
		del := ""
		if own, ok := a.(interface{ Delete() string }); ok {
			del = own.Delete()
		}
		byDir := strings.TrimSuffix(del, "DIR")
		project := printer.SizeRow{By: "project", Name: cmp.Or(s.CWD, "unknown"), Agent: session.ShortAgent(s.Agent)}
		if byDir != del && s.CWD != "" {
			project.Delete = byDir + shellcmd.Here.Quote(s.CWD)
		}
		month := cmp.Or(human.When(!s.Modified().IsZero(), s.Modified().Format("2006-01")), "unknown")
		for i, row := range []printer.SizeRow{{By: "agent", Name: session.ShortAgent(s.Agent), Delete: del}, project, {By: "month", Name: month}} {
			sum := groups[i][row]
			if sum == nil {
				sum = &row
				groups[i][row] = sum
			}
			sum.Files++
			sum.Bytes += s.Checkpoint.Size
		}
	}
	var all printer.Sizes
	for i, group := range groups {
		rows := lists.Map(slices.Collect(maps.Values(group)), func(r *printer.SizeRow) printer.SizeRow { return *r })
		slices.SortFunc(rows, func(a, b printer.SizeRow) int {
			return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Name, b.Name), strings.Compare(a.Agent, b.Agent))
		})
		if i > 0 && forPeople {
			rows = rows[:min(len(rows), mostSizes)]
		}
		all = append(all, rows...)
	}
	return all
}

// stores lists the stores of agents and which of them exist. Private ones are not even
// stat'ed.
func stores(a *app.App) printer.Stores {
	var list printer.Stores
	for _, s := range a.Registry().Stores() {
		row := printer.Store{
			Agent: session.ShortAgent(s.Agent), Label: a.Registry().Agent(s.Agent).Label(), Name: s.Name, Role: s.Role, Format: s.Format, Coverage: string(s.Coverage), Path: s.Path,
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

func (o *statusOptions) check(ctx context.Context, a *app.App) error {
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	opt := snapshot.Options(q.Location)
	snapshot.WaitFor(a, &opt, o.Wait)
	report, err := indexer.Check(ctx, opt, o.Deep)
	if err != nil {
		return problem.OfIndex(err)
	}
	x := &printer.Doctor{Dir: q.IndexDir, Deep: o.Deep, Report: *report}
	sound := len(x.Findings) == 0
	if o.Repair && !sound {
		if x.Repaired, err = repair(ctx, a, opt, report, o.Deep); err != nil {
			return err
		}
		sound = true
	}
	if err := q.Out.Print(x); err != nil {
		return err
	}
	if !checkCopies(q.Location, o.Deep) || !sound {
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

type watchOptions struct {
	flags.Shared `takes:"files output -no-update"`
}

func RunWatch(ctx context.Context, a *app.App, o *watchOptions, _ []string) error {
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	v := &watchView{app: a, options: o, stop: stop}
	if out, ok := a.Streams.Out.(*os.File); ok && !a.Quiet {
		go system.WhenReaderGoes(watching, out, func() { stop(io.ErrClosedPipe) })
	}
	progress, end := snapshot.Progress(a)
	v.endProgress = end
	opt := indexer.WatchOptions{Options: snapshot.Options(q.Location), Tell: v.event}
	opt.Progress = func(at indexer.Progress) {
		// Only the first update has a progress bar; later ones print lines.
		if progress != nil && !v.begun {
			progress(at)
		}
	}
	err = indexer.Watch(watching, opt)
	v.begin()
	switch {
	case system.IsClosedPipe(context.Cause(watching)):
		return nil // as with `| head`
	case v.err != nil:
		return v.err
	case errors.Is(err, indexer.ErrWatched):
		return &problem.Error{Code: problem.CodeLocked, Message: err.Error(), Hint: "one watcher is enough; `pigrep status` shows its state"}
	case err != nil:
		return problem.OfIndex(err)
	}
	v.show(&printer.WatchEvent{
		Event: "summary", Time: session.Time{Time: a.Now()}, Updates: new(v.updates), Bytes: v.bytes, Entries: v.entries,
		Directories: v.last.Directories, State: v.last.State,
	})
	if v.err != nil {
		return v.err // of a closed pipe, nothing is said
	}
	if ctx.Err() != nil && context.Cause(ctx) != problem.ErrTerminated {
		return problem.ErrLeft
	}
	return nil
}

type watchView struct {
	app         *app.App
	options     *watchOptions
	stop        context.CancelCauseFunc // ends the watch when output fails
	endProgress func()
	begun       bool
	err         error

	last    printer.WatchEvent
	updates int
	bytes   int64
	entries int
}

func (v *watchView) begin() {
	if !v.begun {
		v.begun = true
		v.endProgress()
	}
}

func (v *watchView) event(e indexer.WatchEvent) {
	x := printer.WatchEvent{
		Event: e.Kind.String(), Time: session.Time{Time: e.Time}, Changes: changeCounts(e.Changes), Bytes: e.BytesRead, Entries: e.Entries,
		Directories: e.Dirs, Errors: fileErrors(e.Errors), Rebuilt: e.Rebuilt, State: v.last.State,
	}
	x.Steps = lists.Map(e.Steps, func(s indexer.Step) printer.Step {
		return printer.Step{Change: s.Change.String(), Path: s.File.Path, Reason: s.Reason, Bytes: s.Pending}
	})
	switch e.Kind {
	case indexer.WatchReady, indexer.WatchUpdated:
		v.begin()
		x.State = search.IndexState{Generation: e.Generation.Number, Files: e.Files, SkippedLines: e.Skipped, Complete: e.Complete}
		v.updates, v.bytes, v.entries = v.updates+1, v.bytes+e.BytesRead, v.entries+e.Entries
		if e.Kind == indexer.WatchReady {
			v.updates--   // the first update is not counted
			x.Steps = nil // it may list every file
		}
	case indexer.WatchPolling:
		x.Message = "looking at all files every " + e.Every.Round(time.Second).String() + ": " + e.Err.Error()
	default:
		v.begin()
		x.Message, x.State.Complete = e.Err.Error(), false
	}
	v.last = x
	v.show(&x)
}

// show prints an event immediately. Without --jsonl, problems go to stderr.
func (v *watchView) show(e *printer.WatchEvent) {
	a := v.app
	if !v.options.JSONL {
		switch e.Event {
		case "polling", "waiting", "failed":
			a.Warn("%s: %s", e.Event, e.Message)
			return
		}
	}
	if a.Quiet || v.err != nil {
		return
	}
	// The width of a terminal may have changed.
	out, err := v.options.Printer(a)
	if err == nil {
		err = out.Print(e)
	}
	if err == nil {
		err = a.Out.Flush()
	}
	if err != nil {
		v.err = err
		v.stop(err)
	}
}
