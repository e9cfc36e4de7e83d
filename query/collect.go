package query

import (
	"slices"

	"pigrep/query/docset"
)

// A fileCount is what is counted of the candidates of a file.
type fileCount struct {
	hits, all int    // those that lack nothing, and all that are hits
	mask      uint64 // words and fields that some candidate has
}

// count adds a candidate, of which only the words count when it is dropped.
func (t *fileCount) count(mask uint64, v verdict, dropped bool) {
	t.mask |= mask
	if v.hit && !dropped {
		t.all++
		if v.whole {
			t.hits++
		}
	}
}

func (t *fileCount) add(o *fileCount) {
	t.hits += o.hits
	t.all += o.all
	t.mask |= o.mask
}

// A collector turns the scores of segments into candidates. A query of frequent
// words has hundreds of thousands, of which a few are looked at again: of a file
// it keeps those that may be shown, and of all files those that may be among the
// best. The others are counted. What may be a copy, or has to be verified, may go
// yet, and is kept and counts for nothing here.
type collector struct {
	*searcher
	scores *scores
	judge  judge
	counts []fileCount // by file

	best     topScores   // of all files
	bestHere topScores   // of the file in the run
	kept     []candidate // of the run

	// Of the segment.
	others docset.Set // documents that are to be looked at whatever they have; nil: none
	run    int        // that the last document was in, -1 at first
	runEnd uint32     // the document behind it
	at     int32      // the file of the run, -1 for none
}

func (s *searcher) newCollector(sc *scores) *collector {
	c := &collector{searcher: s, scores: sc, judge: newJudge(s.compiled), counts: docset.Make[fileCount](len(s.files))}
	c.judge.covered = s.covered
	c.best.most = rerankMost
	if s.req.Flat {
		c.best.most += s.limit()
	}
	c.bestHere.most = max(s.perSession(), sharesOf)
	return c
}

// rounding is how much of a score the factors of the second stage may blur.
const rounding = 1e-5

// topScores holds the highest scores, in ascending order.
type topScores struct {
	list []float32
	most int
}

func (t *topScores) add(score float32) {
	switch {
	case len(t.list) < t.most:
		at, _ := slices.BinarySearch(t.list, score)
		t.list = slices.Insert(t.list, at, score)
	case score > t.list[0]: // mostly not by much
		at := 0
		for ; at+1 < len(t.list) && t.list[at+1] < score; at++ {
			t.list[at] = t.list[at+1]
		}
		t.list[at] = score
	}
}

// has reports whether a score may be one of the highest.
func (t *topScores) has(score float32) bool {
	return len(t.list) < t.most || score >= t.list[0]*(1-rounding)
}

// segment adds the candidates of a segment to its list. everybody says that a document
// may be one without any of the words.
func (c *collector) segment(seg *segment, everybody bool) error {
	sc := c.scores
	c.others = nil
	if everybody {
		var err error
		if c.others, err = docset.Live(seg.Segment); err != nil {
			return err
		}
		if seg.allowed != nil {
			c.others.And(seg.allowed)
		}
	}
	for _, p := range c.plans {
		if len(p.parts) > 0 && p.strict() && seg.allowed != nil {
			p.whole[seg.number].And(seg.allowed)
		}
	}
	c.at, c.run, c.runEnd = -1, -1, 0
	for sc.begin(); sc.next(seg.Len()); {
		for _, p := range c.plans {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			if err := c.scoreWord(sc, seg, p); err != nil {
				return err
			}
		}
		if err := c.collect(seg); err != nil {
			return err
		}
	}
	c.flush(seg)
	return nil
}

// collect adds the candidates of a window and clears the scores.
func (c *collector) collect(seg *segment) error {
	sc := c.scores
	if c.others != nil {
		sc.seen.Or(c.others.Part(sc.first, sc.end))
	}
	for doc := range seg.anchors {
		if sc.first <= doc && doc < sc.end {
			sc.seen.Add(doc - sc.first)
		}
	}
	unsure, unwanted := uint64(0), uint64(0)
	for _, p := range c.plans {
		if len(seg.pending[p.index]) > 0 {
			unsure |= p.bit
			if !p.scored {
				unwanted |= p.bit
			}
		}
	}
	plain := len(c.compiled.filters) == 0 && !c.filtered.OfEntries()
	var v judged // of the last document
	for i := range sc.seen.All() {
		doc := sc.first + i
		mask := sc.mask[i]
		weak := uint64(0)
		if sc.weak != nil {
			weak = sc.weak[i]
			sc.weak[i] = 0
		}
		base, tier := sc.score[i], sc.tier[i]
		sc.mask[i], sc.score[i], sc.tier[i] = 0, 0, 0
		if doc >= c.runEnd {
			c.enter(seg, doc)
		}
		at := c.at
		if at < 0 {
			continue
		}
		f := &c.files[at]
		mask |= f.ids
		if len(seg.anchors) > 0 {
			if anchored := seg.anchors[doc]; anchored != 0 {
				mask |= anchored
				base += anchorScore
			}
		}
		if !plain {
			if ok, err := c.fieldBits(seg, doc, at, &mask); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		pending := unsure&mask != 0 && c.isPending(seg, doc, unsure&mask)
		if mask != v.mask || weak != v.weak || !v.known {
			v = *c.judge.look(mask, weak)
		}
		if !v.hit && !(pending && c.judge.of(mask&^unwanted, weak).hit) {
			continue
		}
		score := base * f.recency * v.covered
		sure := !pending && !c.every && !seg.copied.Has(doc)
		if sure {
			c.counts[at].count(mask, v.verdict, false)
			if !c.bestHere.has(score) && !c.best.has(score) {
				continue
			}
			c.bestHere.add(score)
			c.best.add(score)
		}
		x := candidate{
			segment: int32(seg.number), file: at, doc: doc,
			base: base, score: score, mask: mask, weak: weak, tier: tier, pending: pending, counted: sure,
		}
		if sure {
			c.kept = append(c.kept, x)
		} else {
			seg.found.add(x)
		}
	}
	clear(sc.seen)
	return nil
}

// enter goes to the run that a document is in.
func (c *collector) enter(seg *segment, doc uint32) {
	for c.run++; doc >= seg.files.End(c.run); c.run++ {
	}
	c.runEnd = seg.files.End(c.run)
	c.at = c.fileNumbered(seg.files[c.run].File)
	c.flush(seg)
}

// isPending reports whether some of the words are to be verified in a document.
func (c *collector) isPending(seg *segment, doc uint32, words uint64) bool {
	for _, p := range c.plans {
		if words&p.bit != 0 {
			if _, ok := seg.pendingOf(p, doc); ok {
				return true
			}
		}
	}
	return false
}

// flush keeps the best candidates of a run of documents in one file.
func (c *collector) flush(seg *segment) {
	for i := range c.kept {
		if x := &c.kept[i]; c.bestHere.has(x.score) || c.best.has(x.score) {
			seg.found.add(*x)
		}
	}
	c.kept, c.bestHere.list = c.kept[:0], c.bestHere.list[:0]
}
