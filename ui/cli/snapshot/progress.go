package snapshot

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/ui/cli/app"
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
