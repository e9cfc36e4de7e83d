// Package snapshot is how commands get at the index: it brings it up to date, shows the
// progress, opens it for one answer or for as long as a process runs, and says what an
// answer lacks. A snapshot answers questions, from the index, or by asking archives or other
// machines.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/query/engine/entry"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
)

// Snapshot is a generation of the index that is open for one answer, with what is indexed
// in memory beside it, and what both lack of the session files.
type Snapshot struct {
	*location.Location
	Reader  *index.Reader       // nil without a usable index, for Files only
	Found   *indexer.Found      // the session files as they were when it was asked for
	State   search.IndexState   // for responses, which fill in the rest
	Missing indexer.Lag         // what Reader does not have
	Memory  indexer.Lag         // what Reader has in memory only
	Errors  []indexer.FileError // files and directories that it does not have in full
	Lacks   []string            // what it does not have of archives, as sentences
	Watcher *indexer.Watcher    // the process that updates the index instead; nil: none
	Asking  *ssh.Asking         // other machines, which answer instead; nil for none
	Sent    entry.Source        // opens what was sent, and other session files; nil: nothing was sent

	// Of a Live only:
	Number   uint64 // snapshots with the same number have the same content
	Updating bool   // what it lacks is being indexed
	Failed   error  // why the index could not be brought up to date; nil when it could
	live     *Live
	shared   *sharedReader

	closed func() // is called when the reader is closed; nil for nothing
}

// counted returns the snapshot with the state that follows from what it lacks.
func (x *Snapshot) counted() *Snapshot {
	x.State.PendingFiles, x.State.PendingBytes = x.Missing.Files+x.Memory.Files, x.Missing.Bytes+x.Memory.Bytes
	x.State.Complete = x.Missing.Files == 0 && len(x.Errors) == 0
	return x
}

// Source opens the session files.
func (x *Snapshot) Source() entry.Source {
	if x.Sent != nil {
		return x.Sent
	}
	return x.Disk()
}

// Close closes the reader, or gives it back.
func (x *Snapshot) Close() error {
	if x.shared != nil {
		x.live.give(x.shared)
		return nil
	}
	if x.closed != nil {
		defer x.closed()
	}
	if x.Reader == nil {
		return nil
	}
	return x.Reader.Close()
}

// Report completes the state of the index in an answer, and prints the warnings of the
// answer unless it is JSON, which includes them.
func (x *Snapshot) Report(answer *search.IndexState, warnings []string) {
	if x.Hosts != nil { // the answer says what each of them lacks
		x.State.Complete = x.State.Complete && answer.Complete
		answer.Complete = x.State.Complete
	} else {
		answer.PendingFiles, answer.PendingBytes, answer.Complete = x.State.PendingFiles, x.State.PendingBytes, x.State.Complete
	}
	if !x.App.JSON {
		x.App.WarnAll(warnings)
	}
}

// Lag says why an answer lacks files; "" if it has all.
func (x *Snapshot) Lag() string {
	lag := lagText(x.Missing)
	switch {
	case x.Missing.Files == 0:
		return ""
	case x.Watcher != nil:
		return fmt.Sprintf("%s not in this answer yet: the watcher (process %d) has not indexed it", lag, x.Watcher.PID)
	case x.Updating:
		return lag + " not in this answer yet, and being indexed"
	case x.Failed != nil:
		return fmt.Sprintf("%v: %s not in this answer", x.Failed, lag)
	}
	return "the index is behind: " + lag + " not in this answer"
}

// Open updates the index, unless --no-update is given, and opens its newest generation, or an index of the
// sessions with a name that others have.
func Open(ctx context.Context, p *location.Location, named remote.Named) (*Snapshot, error) {
	if p.Elsewhere != nil {
		return openElsewhere(ctx, p, named)
	}
	if p.NoUpdate {
		return openAsIs(p)
	}
	return openUpdated(ctx, p)
}

// Ask opens the index like Open and runs a question on it. Warnings name the machines that do not answer.
// Other machines answer themselves, unless the question is about sessions that are named.
func Ask(ctx context.Context, p *location.Location, named remote.Named, question func(context.Context, *Snapshot) error) (*Snapshot, error) {
	if p.Hosts != nil && !named.Any() {
		x := OfHosts(p)
		return x, x.Asked(question(ctx, x))
	}
	x, err := Open(ctx, p, named)
	if err != nil {
		return nil, err
	}
	if err := question(ctx, x); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// openUpdated updates the index and opens its newest generation.
func openUpdated(ctx context.Context, p *location.Location) (*Snapshot, error) {
	a := p.App
	res, err := updateToRead(ctx, p, true)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		if res.Reader != nil {
			res.Reader.Close()
		}
		return nil, ctx.Err()
	case res.Reader == nil:
		return nil, problem.OfIndex(err)
	case errors.Is(err, index.ErrLocked):
		a.Advise("run it again in a moment", "%v: the index is behind, %s not in this answer", err, lagText(res.Lag))
	default: // the indexed text can still be searched
		a.Advise(problem.IndexHint(err), "the index is behind, %s not in this answer: %v", lagText(res.Lag), err)
	}
	x := (&Snapshot{
		Location: p, Reader: res.Reader, Found: res.Found, Missing: res.Lag, Memory: res.InMemory, Errors: res.Errors, Watcher: res.Watcher,
	}).counted()
	x.State.Complete = x.State.Complete && err == nil
	if x.Watcher != nil && x.Missing.Files > 0 {
		a.Advise("run it again in a moment", "%s", x.Lag())
	}
	if res.Unwritten != nil {
		WarnUnwritten(a, res.Unwritten)
	}
	if res.Rebuilt != "" {
		a.Warn("%s: it was rebuilt", res.Rebuilt)
	}
	WarnUnusable(a, x.Errors, x.Found)
	if len(x.Found.Files) == 0 {
		WarnNoFiles(p)
	}
	return x, nil
}

// openAsIs opens the index without updating it and counts what is pending.
func openAsIs(p *location.Location) (*Snapshot, error) {
	reader, err := index.Open(p.IndexDir)
	if err != nil {
		return nil, problem.OfIndex(err)
	}
	found := indexer.Discover(p.Agents, p.Roots, p.Archive)
	x := asIs(p, reader, found, indexer.Behind(found, reader.Table()))
	if x.Missing.Files > 0 {
		p.App.Advise("run it without --no-update to search them as well", "the index is behind, %s not in this answer", lagText(x.Missing))
	}
	WarnUnusable(p.App, x.Errors, found)
	return x, nil
}

// asIs returns the snapshot of a reader that lacks so much of the files found.
func asIs(p *location.Location, r *index.Reader, found *indexer.Found, missing indexer.Lag) *Snapshot {
	errs := append(found.Errors(), indexer.LeftOut(r, found.Limits.Line)...)
	return (&Snapshot{Location: p, Reader: r, Found: found, Missing: missing, Errors: errs}).counted()
}

// OpenFiles finds the session files and opens the index, updated if possible. Without a
// usable index, or with noIndex, the snapshot has no reader: the files are searched. Errors
// of files are left to reading them. Other machines search their own.
func OpenFiles(ctx context.Context, p *location.Location, noIndex bool) (*Snapshot, error) {
	if p.Hosts != nil {
		return OfHosts(p), nil
	}
	x := &Snapshot{Location: p}
	var err error
	switch {
	case noIndex:
		x.Found = indexer.Discover(p.Agents, p.Roots, p.Archive)
	case p.NoUpdate:
		x.Reader, err = index.Open(p.IndexDir)
		x.Found = indexer.Discover(p.Agents, p.Roots, p.Archive)
	default:
		var res *indexer.Result
		res, err = updateToRead(ctx, p, false)
		x.Reader, x.Found, x.Memory = res.Reader, res.Found, res.InMemory
		if res.Rebuilt != "" && err == nil {
			p.App.Warn("%s: it was rebuilt", res.Rebuilt)
		}
	}
	if ctx.Err() != nil {
		x.Close()
		return nil, ctx.Err()
	}
	if err != nil {
		p.App.Logger().Debug("the files are read", "because", err.Error())
		if !errors.Is(err, index.ErrLocked) && !errors.Is(err, index.ErrNoIndex) {
			p.App.Advise(problem.IndexHint(err), "reading all files instead of the index: %v", err)
		}
	}
	x.Errors = append(x.Errors, x.Found.Unreadable...)
	x.State = StateOf(x.Reader)
	x.State.Files = len(x.Found.Files)
	switch {
	case x.Reader != nil:
		x.Errors = append(x.Errors, indexer.LeftOut(x.Reader, x.Found.Limits.Line)...)
		x.Missing = indexer.Behind(x.Found, x.Reader.Table())
	case !noIndex:
		x.Missing = indexer.Behind(x.Found, nil)
	}
	return x.counted(), nil
}

// Files returns, for every session file, how much of it the reader covers.
func (x *Snapshot) Files() []grep.File {
	if x.Elsewhere != nil {
		return x.everything()
	}
	var known indexer.Index
	if x.Reader != nil {
		known = x.Reader
	}
	var files []grep.File
	for _, s := range indexer.Plan(x.Found, known) {
		f := grep.File{Path: s.File.Path, Time: time.Unix(0, s.File.Mtime), Kept: s.File.Kept}
		switch s.Change {
		case indexer.Gone:
			continue
		case indexer.Unchanged, indexer.Touched:
			f.Known, f.Indexed = s.Known, grep.Whole
			f.Time = s.Known.Modified()
		case indexer.Grown:
			f.Known, f.Indexed = s.Known, s.Known.Checkpoint.Offset
		case indexer.Unreadable:
			if s.File.Err == nil && s.File.Mtime == 0 {
				continue // its directory is reported instead
			}
		}
		files = append(files, f)
	}
	return files
}

// StateOf returns the state of the reader's generation; nil has none.
func StateOf(r *index.Reader) search.IndexState {
	if r == nil {
		return search.IndexState{}
	}
	return search.StateOf(r)
}
