package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"pigrep/adapter"
	"pigrep/indexer"
	"pigrep/internal/content"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/printer"
)

const (
	// progressAfter is the delay before progress is shown; shorter updates would only
	// flicker.
	progressAfter = 200 * time.Millisecond
	// linesFrom is the size in bytes from which a first build is announced without a
	// terminal.
	linesFrom = 4 << 20
	// progressEvery is the interval between updates of the bar.
	progressEvery = 100 * time.Millisecond
)

// Progress returns the functions that show the progress of an update and end it. On
// a terminal it is a bar, which is cleared at the end; elsewhere a first build prints a
// line at its start and end, because the first search takes longer.
func Progress(a *app.App) (progress func(indexer.Progress), end func()) {
	switch {
	case a.Quiet:
		return nil, func() {}
	case a.JSON && a.Reports: // for a program that waits for the answer
		return nowAndThen(a, func(at indexer.Progress, _ time.Duration) {
			// Progress that cannot be written does not stop the run.
			_ = printer.Progress{
				Files: at.FilesTotal, Bytes: doneOf(at), BytesTotal: at.BytesTotal,
				SecondsLeft: int(at.Left.Round(time.Second) / time.Second), First: at.First,
			}.Write(a.Streams.Err)
		}), func() {}
	case a.Streams.ErrTTY:
		return Bar(a, "indexing")
	case a.JSON:
		// Programs read stderr for errors and warnings only, unless they ask for more.
		return nil, func() {}
	}
	return announce(a)
}

// nowAndThen shows progress that takes longer, with the time since its start.
func nowAndThen(a *app.App, show func(indexer.Progress, time.Duration)) func(indexer.Progress) {
	start, last := a.Now(), time.Time{}
	return func(at indexer.Progress) {
		now := a.Now()
		if now.Sub(start) < progressAfter || now.Sub(last).Abs() < progressEvery {
			return
		}
		last = now
		show(at, now.Sub(start))
	}
}

func doneOf(at indexer.Progress) int64 { return int64(at.Share() * float64(at.BytesTotal)) }

// Bar shows bytes, rate and remaining time.
func Bar(a *app.App, doing string) (progress func(indexer.Progress), clear func()) {
	var bar *progressbar.ProgressBar
	progress = nowAndThen(a, func(at indexer.Progress, since time.Duration) {
		// One short of the end, where the bar would clear itself. Errors of drawing are
		// ignored.
		most := max(1, at.BytesTotal)
		done := min(doneOf(at), most-1)
		if bar == nil {
			bar = progressbar.NewOptions64(most,
				progressbar.OptionSetWriter(a.Streams.Err),
				progressbar.OptionSetPredictTime(false),
				progressbar.OptionSetElapsedTime(false),
				progressbar.OptionSetWidth(max(10, min(40, a.Streams.Width-66))),
				progressbar.OptionClearOnFinish(),
				progressbar.OptionUseANSICodes(a.Getenv("TERM") != "dumb"),
			)
		}
		if bar.GetMax64() != most { // after another process, this one goes on
			bar.ChangeMax64(most)
		}
		_ = bar.Set64(done)
		text := fmt.Sprintf("%s %s of %s, %s/s", doing, human.Bytes(done), human.Bytes(at.BytesTotal), human.Bytes(int64(float64(done)/since.Seconds())))
		if at.By != 0 {
			text = BuildingText(at)
		}
		bar.Describe(text + ", " + leftText(at.Left))
	})
	return progress, func() {
		if bar != nil {
			_ = bar.Clear()
		}
	}
}

// BuildingText says how far another process is that builds the first index.
func BuildingText(at indexer.Progress) string {
	return fmt.Sprintf("process %d indexes %s of %s", at.By, human.Bytes(doneOf(at)), human.Bytes(at.BytesTotal))
}

// leftText returns the remaining time in a fixed width.
func leftText(left time.Duration) string {
	text := "time left: ?"
	switch {
	case left >= time.Hour:
		text = fmt.Sprintf("%d h %d min left", left/time.Hour, left%time.Hour/time.Minute)
	case left >= 2*time.Minute:
		text = fmt.Sprintf("%d min left", left.Round(time.Minute)/time.Minute)
	case left > 0:
		text = fmt.Sprintf("%d s left", max(1, left.Round(time.Second)/time.Second))
	}
	return fmt.Sprintf("%12s", text)
}

// announce prints a line at the start and at the end of a first build, and one when
// another process is waited for that builds it.
func announce(a *app.App) (progress func(indexer.Progress), end func()) {
	start, last := a.Now(), indexer.Progress{}
	isLong := func(at indexer.Progress) bool { return at.First && at.BytesTotal >= linesFrom }
	files := func(at indexer.Progress) string {
		return fmt.Sprintf("%s (%s)", human.Plural(at.FilesTotal, "session file", "session files"), human.Bytes(at.BytesTotal))
	}
	progress = func(at indexer.Progress) {
		switch {
		case !isLong(at) || last.FilesTotal != 0 && last.By == at.By:
		case at.By != 0:
			a.Warn("waiting for process %d, which builds the index of %s", at.By, files(at))
		default:
			a.Warn("building the index of %s", files(at))
		}
		last = at
	}
	return progress, func() {
		interrupted := last.Files < last.FilesTotal || last.Committed < last.Bytes // KeptText says what can be searched
		if isLong(last) && last.By == 0 && !interrupted {
			a.Warn("built the index of %s in %v", files(last), a.Now().Sub(start).Round(100*time.Millisecond))
		}
	}
}

// lagText says what an answer lacks, with a verb: "2 files (3 kB) are". If a file has
// changed but not its length, the number of changed bytes is unknown until it is read.
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
	return ok || isFull(err) || content.Ends(err)
}

func isFull(err error) bool {
	_, ok := errors.AsType[*adapter.FullError](err)
	return ok
}

const maxNamed = 3

// WarnUnusable lists files and directories that cannot be read, and links that were not
// followed to those found, which may be nil.
func WarnUnusable(a *app.App, list []indexer.FileError, found *indexer.Found) {
	for i, line := range Unusable(list) {
		hint := ""
		switch {
		case i == maxNamed:
			hint = "`pigrep status` lists them"
		case i == len(list)-1: // the last one has the hint
			hint = cmp.Or(HintOf(list[i].Err), "`pigrep status` lists what cannot be read")
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

// HintOf says what to do about a file that cannot be read in full; "" if that is not known.
func HintOf(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "make it readable: chmod u+rX PATH"
	case errors.Is(err, content.ErrDamaged):
		return "what comes before that place is searched; `zstd -t FILE` says what is wrong"
	case content.Ends(err):
		return "--max-session GB, or the setting max-session, reads longer text"
	case isFull(err):
		return "`pigrep grep --no-index PATTERN` reads all of it. No agent writes such a file: move it elsewhere"
	case IsTooLong(err):
		return "--max-line MB, or the setting max-line, reads longer lines"
	}
	return ""
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
