package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"pigrep/adapter"
	"pigrep/indexer"
	"pigrep/internal/content"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
)

// lagText describes what is missing in an answer, with a verb: "2 files (3 kB) are". How much
// of a file of the same length has changed is unknown before it is read.
func lagText(lag indexer.Lag) string {
	size := " "
	if lag.Bytes > 0 {
		size = " (" + human.Bytes(lag.Bytes) + ") "
	}
	return human.Plural(lag.Files, "file"+size+"is", "files"+size+"are")
}

// KeptText says what an unfinished update has indexed. Together with lagText it covers
// all files.
func KeptText(res *indexer.Result) string {
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

// WarnUnwritten warns that this process can read the index, but not write it.
func WarnUnwritten(a *app.App, err error) {
	a.Advise(problem.IndexHint(err), "the index cannot be updated, so each search takes longer: %v", err)
}

func IsTooLong(err error) bool {
	_, ok := errors.AsType[*adapter.TooLongError](err)
	return ok || content.Ends(err)
}

const maxNamed = 3

// WarnUnusable lists files and directories that cannot be read, and links that were not
// followed to those found, which may be nil.
func WarnUnusable(a *app.App, list []indexer.FileError, found *indexer.Found) {
	for i, line := range Unusable(list) {
		hint, err := "", list[i].Err
		switch {
		case i == maxNamed:
			hint = "`pigrep status` lists them"
		case i < len(list)-1: // the last one has the hint
		case errors.Is(err, fs.ErrPermission):
			hint = "make it readable: chmod u+rX PATH"
		case errors.Is(err, content.ErrDamaged):
			hint = "what comes before that place is searched; `zstd -t FILE` says what is wrong"
		case content.Ends(err):
			hint = "--max-session GB, or the setting max-session, reads longer text"
		case IsTooLong(err):
			hint = "--max-line MB, or the setting max-line, reads longer lines"
		default:
			hint = "`pigrep status` lists what cannot be read"
		}
		a.Advise(hint, "%s", line)
	}
	if found == nil || len(found.Outside) == 0 {
		return
	}
	more := ""
	if n := len(found.Outside) - 1; n > 0 {
		more = fmt.Sprintf(", and %s not followed either", human.Plural(n, "other link was", "other links were"))
	}
	a.Advise("to follow such links: --follow, or the setting follow = true", "skipped %s: the link leads out of the session directories%s", found.Outside[0], more)
}

func WarnNoFiles(p *location.Location) {
	paths := lists.Map(location.Present(p.Roots), func(r adapter.Root) string { return r.Path })
	p.App.Advise("`pigrep status` says where they are looked for", "no session files below %s", strings.Join(paths, ", "))
}

// WarnIncomplete warns that nothing was found, but not everything was searched.
func WarnIncomplete(a *app.App, pending, unreadable, hits int) {
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
	a.Advise("`pigrep status` lists what is missing", "nothing found, but the search was incomplete: %s", strings.Join(parts, ", "))
}

// Unusable lists files and directories that cannot be read, as sentences.
func Unusable(list []indexer.FileError) (lines []string) {
	for i, e := range list {
		if i == maxNamed {
			return append(lines, human.Plural(len(list)-i, "more file or directory", "more files or directories")+" cannot be read")
		}
		lines = append(lines, fmt.Sprintf("skipped %s: %s", e.Path, Reason(e.Err)))
	}
	return lines
}

// Reason returns the cause of a file's error without the path.
func Reason(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// WarnKeeping says what an update could not keep.
func WarnKeeping(a *app.App, res *indexer.Result) {
	if err := res.Keeping.Err; err != nil {
		a.Advise("`pigrep keep` says what is kept", "sessions are not kept: %v", err)
	}
	if n := res.Keeping.Dropped; n > 0 {
		a.Advise("raise keep-limit, or delete old copies: pigrep keep --older-than 1y", "there is no room for copies of %s", human.Plural(n, "session", "sessions"))
	}
}
