package indexer

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"pigrep/index"
)

// Progress is the progress of an update.
type Progress struct {
	Files, FilesTotal int
	Bytes, BytesTotal int64
	Committed         int64         // bytes that are committed
	First             bool          // nothing was indexed before
	Left              time.Duration // estimated time left; 0 if unknown
	By                int           `json:"-"` // the process that this one waits for; 0 for this one
}

// Share is the share of the work that is done, from 0 to 1.
func (p Progress) Share() float64 {
	return (float64(p.Bytes) + commitCost*float64(p.Committed)) / (1 + commitCost) / float64(max(1, p.BytesTotal))
}

// commitCost is the cost of committing a byte relative to reading it, assumed until
// the first commit is measured.
const commitCost = 0.5

// pace measures how long reading and committing take. Workers do one or the other
// until there is nothing more to read.
type pace struct {
	start   time.Time
	workers int
	commits time.Duration // time of all workers in finished commits
	active  int           // commits in progress
	begun   time.Duration // sum of their start times, relative to start
}

func (p *pace) commitBegins(now time.Time) {
	p.active++
	p.begun += now.Sub(p.start)
}

func (p *pace) commitEnds(began, now time.Time) {
	p.active--
	p.begun -= began.Sub(p.start)
	p.commits += now.Sub(began)
}

// left estimates the remaining time.
func (p *pace) left(at Progress, now time.Time) time.Duration {
	since := now.Sub(p.start)
	active := time.Duration(p.active)*since - p.begun
	reading := float64(time.Duration(p.workers)*since - p.commits - active)
	if at.Bytes == 0 || reading <= 0 || at.Bytes < at.BytesTotal/100 {
		return 0
	}
	read := reading / float64(at.Bytes)
	commit := commitCost * read
	if at.Committed > 0 {
		commit = float64(p.commits) / float64(at.Committed)
	}
	work := read*float64(at.BytesTotal-at.Bytes) + commit*float64(at.BytesTotal-at.Committed) - float64(active)
	return time.Duration(max(work, 0)) / time.Duration(p.workers)
}

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

// announce announces the progress of a first build until end is called. Nobody need wait for
// one that replaces a complete index.
func (u *update) announce(w *index.Writer) (end func(complete bool)) {
	if (!w.Empty() || u.onlyWhole) && index.Announcement(u.Dir) == "" {
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
		tick := time.Tick(announceEvery)
		for {
			select {
			case <-tick:
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
