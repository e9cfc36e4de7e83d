package cli

import (
	"context"
	"errors"
	"time"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/query"
	"pigrep/query/grep"
)

// knownFiles are the session files found, and what the index knows about them.
type knownFiles struct {
	reader *index.Reader // nil without an index
	found  *indexer.Found
	memory indexer.Lag // what the reader has in memory only
	errors []indexer.FileError
	state  query.IndexState
}

// known finds the session files and opens the index, updated if possible. Without a
// usable index, the files themselves are searched.
func (o *grepOptions) known(ctx context.Context, a *App, p *location) (*knownFiles, error) {
	k := &knownFiles{}
	var err error
	switch {
	case o.noIndex:
		k.found = indexer.Discover(p.agents, p.roots)
	case o.noUpdate:
		k.reader, err = index.Open(p.indexDir)
		k.found = indexer.Discover(p.agents, p.roots)
	default:
		var res *indexer.Result
		res, err = a.updateToRead(ctx, p, nil)
		k.reader, k.found, k.memory = res.Reader, res.Found, res.InMemory
		if res.Rebuilt != "" && err == nil {
			a.warn("%s: it was rebuilt", res.Rebuilt)
		}
	}
	if ctx.Err() != nil {
		if k.reader != nil {
			k.reader.Close()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		a.logger().Debug("the files are read", "because", err.Error())
		if !errors.Is(err, index.ErrLocked) && !errors.Is(err, index.ErrNoIndex) {
			a.advise(indexHint(err), "reading all files instead of the index: %v", err)
		}
	}
	for _, d := range k.found.Unreadable {
		k.errors = append(k.errors, indexer.FileError{Path: d.Dir, Err: d.Err})
	}
	if k.reader != nil {
		k.errors = append(k.errors, indexer.TooLong(k.reader, k.found.MaxLine)...)
	}
	k.state = stateOf(k.reader)
	k.state.Files = len(k.found.Files)
	if k.reader != nil {
		lag := indexer.Behind(k.found, k.reader.Table())
		k.state.PendingFiles, k.state.PendingBytes = lag.Files+k.memory.Files, lag.Bytes+k.memory.Bytes
	} else if !o.noIndex {
		lag := indexer.Behind(k.found, nil)
		k.state.PendingFiles, k.state.PendingBytes = lag.Files, lag.Bytes
	}
	return k, nil
}

// files returns, for every session file, how much of it the index covers.
func (k *knownFiles) files() []grep.File {
	var known indexer.Index
	if k.reader != nil {
		known = k.reader
	}
	var files []grep.File
	for _, s := range indexer.Plan(k.found, known) {
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
