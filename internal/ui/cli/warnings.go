package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query/filter"
)

// lagText describes what is missing in an answer, with a verb: "2 files (3 kB) are".
func lagText(lag indexer.Lag) string {
	size := human.Bytes(lag.Bytes)
	return human.Plural(lag.Files, "file ("+size+") is", "files ("+size+") are")
}

// keptText says what an unfinished update has indexed. Together with lagText it covers
// all files.
func keptText(res *indexer.Result) string {
	var all indexer.Lag
	if res.Found != nil {
		all = indexer.Behind(res.Found, nil)
	}
	have := indexer.Lag{}
	if res.Reader != nil {
		have.Files, have.Bytes = max(0, all.Files-res.Lag.Files), max(0, all.Bytes-res.Lag.Bytes)
	}
	return fmt.Sprintf("%s of %s (%s of %s) are indexed and searchable", human.Number(have.Files),
		human.Plural(all.Files, "session file", "session files"), human.Bytes(have.Bytes), human.Bytes(all.Bytes))
}

// warnUnwritten warns that this process can read the index, but not write it.
func (a *App) warnUnwritten(err error) {
	a.advise(indexHint(err), "the index cannot be updated, so each search takes longer: %v", err)
}

func isTooLong(err error) bool {
	_, ok := errors.AsType[*adapter.TooLongError](err)
	return ok
}

// maxNamed is how many unreadable files are listed one by one.
const maxNamed = 3

// warnUnusable lists files and directories that cannot be read.
func (a *App) warnUnusable(list []indexer.FileError) {
	for i, e := range list {
		hint := ""
		switch {
		case i < len(list)-1: // the last one has the hint
		case errors.Is(e.Err, fs.ErrPermission):
			hint = "make it readable: chmod u+rX PATH"
		case isTooLong(e.Err):
			hint = "--max-line MB, or the setting max-line, reads longer lines"
		default:
			hint = "`pigrep status` lists what cannot be read"
		}
		if i == maxNamed {
			a.advise("`pigrep status` lists them", "%s cannot be read", human.Plural(len(list)-i, "more file or directory", "more files or directories"))
			return
		}
		a.advise(hint, "skipped %s: %s", e.Path, reason(e.Err))
	}
}

// warnOutside names the links that were not followed.
func (a *App) warnOutside(found *indexer.Found) {
	if len(found.Outside) == 0 {
		return
	}
	more := ""
	if n := len(found.Outside) - 1; n > 0 {
		more = fmt.Sprintf(", and %s not followed either", human.Plural(n, "other link was", "other links were"))
	}
	a.advise("to follow such links: --follow, or the setting follow = true", "skipped %s: the link leads out of the session directories%s", found.Outside[0], more)
}

// warnNoFiles warns that there are no session files.
func (a *App) warnNoFiles(p *location) {
	a.advise("`pigrep status` says where they are looked for", "no session files below %s", p.roots[0].Path)
}

// noneBelow says that no session was started in a directory or below it, if so.
func (o *sharedOptions) noneBelow(list []session.Summary, dir string) []string {
	if dir == "" || len(list) == 0 {
		return nil
	}
	below := (&filter.Spec{CWD: dir}).Compile()
	if slices.ContainsFunc(list, func(s session.Summary) bool { return below.Session(&s) }) {
		return nil
	}
	return []string{fmt.Sprintf("no session was started in %s or below it; %s %s", dir,
		human.Plural(len(list), "session", "sessions"), o.without("cwd"))}
}

// warnIncomplete warns that nothing was found, but not everything was searched.
func (a *App) warnIncomplete(pending, unreadable, hits int) {
	var parts []string
	if pending > 0 {
		parts = append(parts, human.Plural(pending, "file is not indexed", "files are not indexed"))
	}
	if unreadable > 0 {
		parts = append(parts, human.Plural(unreadable, "file or directory cannot be read in full", "files or directories cannot be read in full"))
	}
	if hits > 0 {
		parts = append(parts, human.Plural(hits, "hit cannot be read", "hits cannot be read"))
	}
	a.advise("`pigrep status` lists what is missing", "nothing found, but the search was incomplete: %s", strings.Join(parts, ", "))
}

// reason returns the cause of a file's error without the path.
func reason(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
