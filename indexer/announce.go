package indexer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"pigrep/index"
)

// While the first index is built, commands of other processes wait for it instead of building
// another one: see Options.Await. So its writer announces how far it is, again and again, to
// show that it lives. The announcement stays if the writer dies or is interrupted, and the
// next one goes on with both. It is withdrawn when all files are indexed.

// announceEvery is the time between two announcements.
const announceEvery = 250 * time.Millisecond

// announcement is what the writer announces. No two in a row are equal.
type announcement struct {
	Progress
	Beat uint64
}

// announce announces the progress of a first build until end is called.
func (u *update) announce(w *index.Writer) (end func(complete bool)) {
	if !w.Empty() && index.Announcement(u.Dir) == "" {
		return func(bool) {}
	}
	var a announcement
	tell := func() {
		u.mu.Lock()
		a.Progress = u.done
		a.Left = u.pace.left(u.done, u.Now())
		u.mu.Unlock()
		a.Beat++
		text, err := json.Marshal(a)
		if err = errors.Join(err, w.Announce(string(text))); err != nil {
			u.logger().Debug("announce how far the index is", "error", err)
		}
	}
	tell()
	stop := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(announceEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell()
			case <-stop:
				return
			}
		}
	})
	return func(complete bool) {
		close(stop)
		telling.Wait()
		if complete {
			_ = w.Announce("") // otherwise the next update does
		}
	}
}

// Building returns how far another process is that builds the first index; nil if none does.
func Building(dir string) *Progress {
	text := index.Announcement(dir)
	pid, err := index.WriterPID(dir)
	if text == "" || pid == 0 || err != nil {
		return nil
	}
	var a announcement
	_ = json.Unmarshal([]byte(text), &a) // of another version, it may have anything
	a.First, a.By = true, pid
	return &a.Progress
}

// giveUp is how long a process that builds the first index may show no sign of life before the
// others give up, if there is too much to index in memory.
const giveUp = 10 * patience

// awaitBuild waits for the process that builds the first index while that lives, and then does
// what is left to do. If it shows no sign of life, what is pending is indexed in memory.
func (o Options) awaitBuild(ctx context.Context, r *Result, err error) (*Result, error) {
	alone := o
	alone.memory = aloneMemory
	enough := giveUp
	if alone.fitsMemory(r) {
		enough = patience
	}
	poll, dead := time.NewTicker(lockPoll), time.NewTimer(enough)
	defer poll.Stop()
	defer dead.Stop()
	last := index.Announcement(o.Dir)
	for errors.Is(err, index.ErrLocked) && (r.Reader == nil || last != "") {
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-dead.C:
			if r, err = alone.again(ctx, r); errors.Is(err, index.ErrLocked) {
				err = fmt.Errorf("%w, which shows no sign of life", err)
			}
			return r, err
		case <-poll.C:
		}
		if at := Building(o.Dir); at != nil && o.Progress != nil {
			o.Progress(*at)
		}
		said := index.Announcement(o.Dir)
		pid, lockErr := index.WriterPID(o.Dir)
		switch {
		case pid == 0 || lockErr != nil || said == "" && last != "":
			r, err = o.again(ctx, r)
		case said == last:
			continue
		}
		last = said
		dead.Reset(enough)
	}
	return r, err
}

// again is another updateNow.
func (o Options) again(ctx context.Context, r *Result) (*Result, error) {
	if r.Reader != nil {
		r.Reader.Close()
	}
	return updateNow(ctx, o)
}
