package cli

import (
	"time"

	"pigrep/indexer"

	"github.com/schollz/progressbar/v3"
)

// progressAfter is how long an update may take before it shows itself: what is
// quicker would only flicker.
const progressAfter = 200 * time.Millisecond

// progress shows how far an update is, on stderr and only on a terminal.
type progress struct {
	app   *App
	start time.Time
	bar   *progressbar.ProgressBar
}

// newProgress returns the function to tell the progress to, and the one that
// clears what was shown.
func (a *App) newProgress() (func(indexer.Progress), func()) {
	if !a.Streams.ErrTTY || a.quiet {
		return nil, func() {}
	}
	p := &progress{app: a, start: a.Now()}
	return p.tell, p.clear
}

func (p *progress) tell(at indexer.Progress) {
	if p.bar == nil {
		if p.app.Now().Sub(p.start) < progressAfter {
			return
		}
		p.bar = progressbar.NewOptions64(max(1, at.BytesTotal),
			progressbar.OptionSetWriter(p.app.Streams.Err),
			progressbar.OptionSetDescription("indexing"),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(max(10, min(40, p.app.Streams.Width-60))),
			progressbar.OptionThrottle(65*time.Millisecond),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(p.app.Getenv("TERM") != "dumb"),
		)
	}
	// A bar that cannot be drawn is no reason to stop indexing.
	_ = p.bar.Set64(min(at.Bytes, max(1, at.BytesTotal)-1))
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
