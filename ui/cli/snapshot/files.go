package snapshot

import (
	"context"
	"errors"
	"time"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/update"
)

// Files are the session files found, and what the index knows about them.
type Files struct {
	Reader *index.Reader // nil without an index
	Found  *indexer.Found
	Memory indexer.Lag // what the reader has in memory only
	Errors []indexer.FileError
	State  search.IndexState
}

// KnownFiles finds the session files and opens the index, updated if possible. Without a
// usable index, or with noIndex, the files themselves are searched.
func KnownFiles(ctx context.Context, o *flags.Shared, a *app.App, p *location.Location, noIndex bool) (*Files, error) {
	k := &Files{}
	var err error
	switch {
	case noIndex:
		k.Found = indexer.Discover(p.Agents, p.Roots)
	case o.NoUpdate:
		k.Reader, err = index.Open(p.IndexDir)
		k.Found = indexer.Discover(p.Agents, p.Roots)
	default:
		var res *indexer.Result
		res, err = update.ToRead(ctx, a, p, nil)
		k.Reader, k.Found, k.Memory = res.Reader, res.Found, res.InMemory
		if res.Rebuilt != "" && err == nil {
			a.Warn("%s: it was rebuilt", res.Rebuilt)
		}
	}
	if ctx.Err() != nil {
		if k.Reader != nil {
			k.Reader.Close()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		a.Logger().Debug("the files are read", "because", err.Error())
		if !errors.Is(err, index.ErrLocked) && !errors.Is(err, index.ErrNoIndex) {
			a.Advise(problem.IndexHint(err), "reading all files instead of the index: %v", err)
		}
	}
	for _, d := range k.Found.Unreadable {
		k.Errors = append(k.Errors, indexer.FileError{Path: d.Dir, Err: d.Err})
	}
	if k.Reader != nil {
		k.Errors = append(k.Errors, indexer.TooLong(k.Reader, k.Found.MaxLine)...)
	}
	k.State = StateOf(k.Reader)
	k.State.Files = len(k.Found.Files)
	if k.Reader != nil {
		lag := indexer.Behind(k.Found, k.Reader.Table())
		k.State.PendingFiles, k.State.PendingBytes = lag.Files+k.Memory.Files, lag.Bytes+k.Memory.Bytes
	} else if !noIndex {
		lag := indexer.Behind(k.Found, nil)
		k.State.PendingFiles, k.State.PendingBytes = lag.Files, lag.Bytes
	}
	return k, nil
}

// Files returns, for every session file, how much of it the index covers.
func (k *Files) Files() []grep.File {
	var known indexer.Index
	if k.Reader != nil {
		known = k.Reader
	}
	var files []grep.File
	for _, s := range indexer.Plan(k.Found, known) {
		f := grep.File{Path: s.File.Path, Time: time.Unix(0, s.File.Mtime)}
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
