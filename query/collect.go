package query

import (
	"cmp"
	"slices"

	"pigrep/index"
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

	best     topScores // of all files
	bestHere topScores // of the file in the run
	run      []candidate
}

func (s *searcher) newCollector(sc *scores) *collector {
	c := &collector{searcher: s, scores: sc, judge: newJudge(s.query), counts: make([]fileCount, len(s.files))}
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
	if len(t.list) == t.most {
		if score <= t.list[0] {
			return
		}
		t.list = slices.Delete(t.list, 0, 1)
	}
	at, _ := slices.BinarySearch(t.list, score)
	t.list = slices.Insert(t.list, at, score)
}

// has reports whether a score may be one of the highest.
func (t *topScores) has(score float32) bool {
	return len(t.list) < t.most || score >= t.list[0]*(1-rounding)
}

// collect adds the candidates of a segment to its list and clears the scores.
func (c *collector) collect(seg *segment, everybody bool) error {
	sc := c.scores
	seen := sc.seen[:(seg.Len()+63)/64]
	if everybody {
		all := test{field: index.FieldKind, keyword: func(string) bool { return false }}
		others, err := all.bits(seg, nil)
		if err != nil {
			return err
		}
		for i := range seen {
			seen[i] |= ^others[i]
		}
		if seg.allowed != nil {
			seen.and(seg.allowed)
		}
	}
	for doc := range seg.anchors {
		seen.add(doc)
	}
	unsure, unwanted := uint64(0), uint64(0)
	for _, p := range c.plans {
		if list := seg.pending[p.index]; len(list) > 0 {
			unsure |= p.bit
			if !p.scored {
				unwanted |= p.bit
			}
			slices.SortFunc(list, func(a, b pending) int { return cmp.Compare(a.doc, b.doc) })
		}
	}
	at, run := int32(-1), -1 // the file, and the run of its documents
	for doc := range seen.all() {
		mask := sc.mask[doc]
		weak := uint64(0)
		if sc.weak != nil {
			weak = sc.weak[doc]
			sc.weak[doc] = 0
		}
		score, tier := sc.score[doc], sc.tier[doc]
		sc.mask[doc], sc.score[doc], sc.tier[doc] = 0, 0, 0
		if run < 0 || doc >= seg.files.End(run) {
			for run++; doc >= seg.files.End(run); run++ {
			}
			at = c.fileNumbered(seg.files[run].File)
			c.flush(seg)
		}
		if at < 0 {
			continue
		}
		mask |= c.files[at].ids
		if anchored := seg.anchors[doc]; anchored != 0 {
			mask |= anchored
			score += anchorScore
		}
		ok, err := c.fieldBits(seg, doc, at, &mask)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		x := candidate{
			segment: int32(seg.number), file: at, doc: doc,
			base: score, mask: mask, weak: weak, tier: tier,
		}
		c.rate(&x)
		if unsure&mask != 0 {
			for _, p := range c.plans {
				if unsure&mask&p.bit != 0 {
					if _, ok := seg.pendingOf(p, doc); ok {
						x.pending = true
					}
				}
			}
		}
		v := c.judge.of(mask, weak)
		switch {
		case !v.hit && !(x.pending && c.judge.of(mask&^unwanted, weak).hit):
		case x.pending || c.every || seg.copied.has(doc):
			seg.found.add(x)
		default:
			c.counts[at].count(mask, v, false)
			if c.bestHere.has(x.score) || c.best.has(x.score) {
				c.bestHere.add(x.score)
				c.best.add(x.score)
				x.counted = true
				c.run = append(c.run, x)
			}
		}
	}
	c.flush(seg)
	clear(seen)
	return nil
}

// flush keeps the best candidates of a run of documents in one file.
func (c *collector) flush(seg *segment) {
	for i := range c.run {
		if x := &c.run[i]; c.bestHere.has(x.score) || c.best.has(x.score) {
			seg.found.add(*x)
		}
	}
	c.run, c.bestHere.list = c.run[:0], c.bestHere.list[:0]
}
