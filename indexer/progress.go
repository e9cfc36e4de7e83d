package indexer

import "time"

// Progress is how far an update has come.
type Progress struct {
	Files, FilesTotal int
	Bytes, BytesTotal int64
	Committed         int64         // bytes that are in the index for good
	First             bool          // nothing was indexed before
	Left              time.Duration // an estimate of how long it will still take; 0 when there is none
}

// Share is how much of the work is done, from 0 to 1.
func (p Progress) Share() float64 {
	return (float64(p.Bytes) + commitCost*float64(p.Committed)) / (1 + commitCost) / float64(max(1, p.BytesTotal))
}

// commitCost is what it costs to commit a byte, in terms of what reading it
// does, as long as nothing has been committed yet to tell.
const commitCost = 0.5

// pace measures how long reading and committing take. Workers spend all their
// time on one or the other until there is nothing more to read.
type pace struct {
	start   time.Time
	workers int
	commits time.Duration // of all workers, in commits that have ended
	active  int           // commits under way
	begun   time.Duration // sum of when those began, since start
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

// left estimates how long the rest will take.
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
