package indexer

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/content"
	"pigrep/internal/lists"
)

// maxFalseAlarms is how often a path that is not a session file may cause a check of all
// files between two rescans: another program may be writing there.
const maxFalseAlarms = 5

// maxLooks bounds how often look starts over because new directories appeared.
const maxLooks = 5

// missedAfter is how long ago a file must have changed for a missing event to count
// as lost.
const missedAfter = 2 * time.Second

// pollShare bounds the cost of polling: 1/pollShare of a core.
const pollShare = 100

// pollMax bounds the time between two polls.
const pollMax = 30 * time.Second

// note adds an event to the hints, and reports whether it is relevant.
func (w *watcher) note(e fsnotify.Event) bool {
	e.Name = content.Logical(e.Name)
	w.trust.eventFor(e.Name)
	h := &w.schedule.hints
	if e.Name == "" || within(e.Name, w.Dir) {
		return false
	}
	if w.found.isOfDatabase(e.Name) {
		h.all, h.fromEvents = true, true
		return true
	}
	_, known := w.at[e.Name]
	onlyBytes := e.Op&^(fsnotify.Write|fsnotify.Chmod) == 0
	dir, isSession := filepath.Dir(e.Name), w.found.sort(e.Name) != adapter.Foreign
	switch {
	case known && onlyBytes:
		h.file(e.Name)
		h.fromEvents = true
		return true
	case w.dirs[e.Name] || w.homes[e.Name].Layout != nil: // the directory itself
	case w.dirs[dir]:
		if !isSession && e.Op == fsnotify.Write {
			return false // not a session file
		}
	case w.homes[dir].Layout != nil:
		if !w.homes[dir].concerns(filepath.Base(e.Name)) {
			return false
		}
	default:
		if !slices.ContainsFunc(w.Roots, func(r adapter.Root) bool { return within(r.Path, e.Name) }) {
			return false
		}
	}
	if !known && onlyBytes && isSession {
		if w.trust.falseAlarms[e.Name] >= maxFalseAlarms {
			return false
		}
		w.trust.falseAlarms[e.Name]++
	}
	if (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) && (w.dirs[e.Name] || w.homes[e.Name].Layout != nil) {
		h.moved = append(h.moved, e.Name)
	}
	h.all, h.fromEvents = true, true
	return true
}

// file adds a session file.
func (h *hints) file(path string) {
	if h.files == nil {
		h.files = make(map[string]bool)
	}
	h.files[path] = true
}

// pass follows the hints and updates the index.
func (w *watcher) pass(ctx context.Context, h hints) error {
	r := &Result{Changes: make(map[Change]int)}
	if w.passing != nil {
		return w.passing(h)
	}
	start := w.Now()
	if !h.all && w.found != nil {
		if files, ok := w.restat(h.files); ok {
			if r.Keeping = w.keep(ctx, w.found, 0); r.Keeping.Earlier == 0 {
				return w.index(ctx, r, func(ix *index.Writer) []Step { return planFiles(files, w.found, ix) })
			}
		}
	}
	before := w.found
	w.look(h)
	if more := w.keep(ctx, w.found, 0); more != (Keeping{}) {
		if r.Keeping = more; more.Earlier > 0 { // there are more sessions now
			w.look(h)
		}
	}
	r.Found = w.found
	r.noteUnusable()
	changed := before == nil || !slices.Equal(before.Files, w.found.Files) || len(w.found.Unreadable) != len(before.Unreadable)
	onTimer := h.verify && !h.fromEvents
	if changed && before != nil && onTimer && !w.trust.polling && w.trouble.reported == "" {
		w.noteMissed(before, start)
	}
	needed, err := w.needed(changed, h.verify)
	if err != nil {
		return err
	}
	if needed {
		err = w.index(ctx, r, func(ix *index.Writer) []Step { return plan(w.found, ix, planOptions{}) })
	} else {
		w.report(r, nil)
	}
	if err == nil {
		w.presence.state.Scanned = start
	}
	return err
}

// restat stats these files again. ok is false if one of them is no longer a regular
// file; then all files must be checked.
func (w *watcher) restat(paths map[string]bool) (files []File, ok bool) {
	for path := range paths {
		i, known := w.at[path]
		if !known {
			return nil, false
		}
		f := File{Path: path, Packed: w.found.Files[i].Packed}
		info, err := os.Stat(f.stored())
		if err != nil || !info.Mode().IsRegular() {
			return nil, false
		}
		f.setStat(info)
		// The stat cannot show that a file is unchanged: file times are coarse.
		w.found.Files[i] = f
		files = append(files, f)
	}
	return files, true
}

// look discovers all files. Every directory is watched before it is read for the
// last time, so that no change is missed in between.
func (w *watcher) look(h hints) {
	if h.verify {
		clear(w.trust.falseAlarms)
	}
	for range maxLooks {
		start := w.Now()
		roots := idsOf(w.Roots)
		if !slices.Equal(roots, w.trust.roots) { // what is watched at a root may be elsewhere by now
			h.moved = append(h.moved, pathsOf(w.Roots)...)
			w.trust.roots = roots
		}
		w.found = Discover(w.Adapter, w.Roots, w.Archive)
		cost := w.Now().Sub(start)
		w.trust.every = min(pollMax, max(w.times.poll, pollShare*cost))
		if w.trust.polling && !h.verify {
			break // watching has just failed
		}
		want := w.found.watched()
		maps.DeleteFunc(want, func(dir string, _ bool) bool { return within(dir, w.Dir) }) // which we write
		added, err := reconcile(w.notifier, want, h.moved)
		h.moved = nil
		if err != nil {
			w.giveUp(err)
		}
		if !added {
			break
		}
	}
	w.at = make(map[string]int, len(w.found.Files))
	for i, f := range w.found.Files {
		w.at[f.Path] = i
		delete(w.trust.falseAlarms, f.Path)
	}
	w.dirs, w.homes = set(w.found.Dirs), make(map[string]rootLayout)
	for _, l := range w.found.layouts {
		w.homes[l.path] = l
	}
	w.presence.state.Files, w.presence.state.Dirs = len(w.found.Files), len(w.notifier.WatchList())
}

// idsOf returns which directories are at the roots now.
func idsOf(roots []adapter.Root) []fileID {
	return lists.Map(roots, func(r adapter.Root) (id fileID) {
		if info, err := os.Stat(r.Path); err == nil {
			id, _ = identity(info)
		}
		return id
	})
}

func set(list []string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, s := range list {
		m[s] = true
	}
	return m
}

// noteMissed records the files that have changed without an event. An event is
// delayed only for a moment, so one for a file that was written long ago, or is still
// being written to, must arrive soon.
func (w *watcher) noteMissed(before *Found, now time.Time) {
	for _, f := range w.found.Files {
		if at, ok := before.find(f.Path); (!ok || before.Files[at] != f) && f.Err == nil {
			w.trust.missed[f.Path] = time.Unix(0, max(f.Mtime, f.Ctime))
		}
	}
	w.pollIfMissed(now)
}

// eventFor notes an event: nothing at its path or below it is missed any more.
func (t *trust) eventFor(path string) {
	maps.DeleteFunc(t.missed, func(f string, _ time.Time) bool { return within(f, path) })
}

// pollIfMissed starts polling if an event is overdue.
func (w *watcher) pollIfMissed(now time.Time) {
	for _, changed := range w.trust.missed {
		if now.Sub(changed) > missedAfter {
			w.poll(errors.New("the system does not tell of all changes"))
		}
	}
	if w.trust.polling {
		clear(w.trust.missed)
	}
}

// needed reports whether there is anything to do after a check of all files. It opens
// the index only if something may be missing, or to verify that it still exists.
func (w *watcher) needed(changed, verify bool) (bool, error) {
	if w.keeper.writer != nil || w.trouble.reported != "" || w.trouble.failures > 0 {
		return true, nil
	}
	if !changed && !verify {
		return false, nil
	}
	reader, err := index.Open(w.Dir)
	switch {
	case err == nil:
		defer reader.Close()
		w.keeper.generation, w.keeper.skipped = reader.ID(), reader.Table().Skipped
		return Behind(w.found, reader.Table()) != (Lag{}), nil
	case errors.Is(err, index.ErrNoIndex), w.rebuildable(err):
		return true, nil
	}
	return false, err
}

// planFiles plans the steps for these files only.
func planFiles(files []File, found *Found, ix *index.Writer) []Step {
	steps := make([]Step, len(files))
	table := ix.Table()
	for i, f := range files {
		steps[i] = Step{File: f}
		if at, ok := table.Find(f.Path); ok {
			known := table.Summary(at)
			steps[i].Known = &known
		}
		steps[i].decide(ix, found, false)
	}
	return steps
}

// index executes the plan and reports the result. An index that is damaged or of
// another version is rebuilt.
func (w *watcher) index(ctx context.Context, r *Result, steps func(*index.Writer) []Step) error {
	if w.fault != nil {
		if err := w.fault(); err != nil {
			return err
		}
	}
	done, err := w.keeper.update(ctx, r, steps)
	if w.rebuildable(err) {
		r.Rebuilt = err.Error()
		_ = w.keeper.release()
		w.keeper.Rebuild = true
		done, err = w.keeper.update(ctx, r, func(ix *index.Writer) []Step { return plan(w.found, ix, planOptions{}) })
		w.keeper.Rebuild = false
	}
	if err != nil {
		return err
	}
	w.report(r, done)
	if r.BytesRead > DefaultBatch {
		// After a large build, a process that sleeps for hours should not keep
		// the memory.
		debug.FreeOSMemory()
	}
	return nil
}

// report reports what changed, if anything did.
func (w *watcher) report(r *Result, steps []Step) {
	e := WatchEvent{
		Kind: WatchUpdated, Generation: w.keeper.generation, BytesRead: r.BytesRead, Entries: r.Entries, Rebuilt: r.Rebuilt,
		Files: len(w.found.Files), Dirs: w.presence.state.Dirs, Changes: make(map[Change]int),
	}
	for _, s := range steps {
		switch s.Change {
		case Unchanged, Touched, Unreadable:
		default:
			e.Steps = append(e.Steps, s)
			e.Changes[s.Change]++
		}
	}
	unreadable := make(map[string]string, len(r.Errors))
	for _, f := range r.Errors {
		unreadable[f.Path] = f.Err.Error()
		if w.reported[f.Path] != f.Err.Error() {
			e.Errors = append(e.Errors, f)
		}
	}
	if why := r.Keeping.Err; why != nil && why.Error() != w.unkept {
		w.unkept = why.Error()
		e.Errors = append(e.Errors, FileError{w.Archive.Dir, why})
	}
	if r.Found != nil {
		clear(w.reported)
	}
	maps.Copy(w.reported, unreadable)
	e.Skipped, e.Complete = w.keeper.skipped, len(w.reported) == 0
	switch {
	case !w.ready:
		w.ready = true
		e.Kind = WatchReady
	case len(e.Steps) == 0 && len(e.Errors) == 0 && e.Rebuilt == "":
		return
	}
	w.tell(e)
}
