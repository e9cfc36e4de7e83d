package cli

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"pigrep/indexer"
	"pigrep/internal/human"
)

const (
	// progressAfter is how long an update may take before it shows itself: what
	// is quicker would only flicker.
	progressAfter = 200 * time.Millisecond
	// linesFrom is how many bytes a first build must have to read to be told of
	// without a terminal: a smaller one is over before anybody wonders.
	linesFrom = 4 << 20
	// progressEvery is how often the bar is drawn.
	progressEvery = 100 * time.Millisecond
)

// newProgress returns the function to tell the progress of an update to, and
// the one that ends what was shown. On a terminal that is a bar, which is
// cleared; elsewhere a first build says on stderr that it begins and that it
// has ended, for those who wonder why the first search takes so long.
func (a *App) newProgress() (tell func(indexer.Progress), end func()) {
	switch {
	case a.quiet:
		return nil, func() {}
	case a.Streams.ErrTTY:
		p := &progressBar{app: a, start: a.Now()}
		return p.tell, p.clear
	case a.json:
		// What programs read of stderr is errors and warnings.
		return nil, func() {}
	}
	p := &progressLines{app: a, start: a.Now()}
	return p.tell, p.end
}

// progressBar shows how far an update is, with bytes, rate and time left.
type progressBar struct {
	app         *App
	start, last time.Time
	bar         *progressbar.ProgressBar
}

func (p *progressBar) tell(at indexer.Progress) {
	now := p.app.Now()
	if now.Sub(p.start) < progressAfter || now.Sub(p.last).Abs() < progressEvery {
		return
	}
	p.last = now
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(max(1, at.BytesTotal),
			progressbar.OptionSetWriter(p.app.Streams.Err),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionSetWidth(max(10, min(40, p.app.Streams.Width-66))),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(p.app.Getenv("TERM") != "dumb"),
		)
	}
	// Short of the end, at which the bar would clear itself. A bar that cannot
	// be drawn is no reason to stop indexing.
	done := min(int64(at.Share()*float64(at.BytesTotal)), max(1, at.BytesTotal)-1)
	_ = p.bar.Set64(done)
	p.bar.Describe(fmt.Sprintf("indexing %s of %s, %s/s, %s", human.Bytes(done), human.Bytes(at.BytesTotal),
		human.Bytes(int64(float64(done)/now.Sub(p.start).Seconds())), leftText(at.Left)))
}

// leftText says how long the rest will take, in a width that does not jump.
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

func (p *progressBar) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// progressLines is a line when a first build begins and one when it has ended.
type progressLines struct {
	app   *App
	start time.Time
	at    indexer.Progress
}

func (p *progressLines) tell(at indexer.Progress) {
	if p.told(at) && p.at.FilesTotal == 0 {
		p.app.warn("building the index of %s (%s)", human.Plural(at.FilesTotal, "session file", "session files"), human.Bytes(at.BytesTotal))
	}
	p.at = at
}

func (p *progressLines) told(at indexer.Progress) bool { return at.First && at.BytesTotal >= linesFrom }

func (p *progressLines) end() {
	at, took := p.at, p.app.Now().Sub(p.start).Round(100*time.Millisecond)
	switch {
	case !p.told(at):
	case at.Files < at.FilesTotal || at.Committed < at.Bytes:
		p.app.warn("stopped with %s of %s indexed", human.Bytes(at.Committed), human.Bytes(at.BytesTotal))
	default:
		p.app.warn("built the index of %s (%s) in %v", human.Plural(at.FilesTotal, "session file", "session files"), human.Bytes(at.BytesTotal), took)
	}
}
