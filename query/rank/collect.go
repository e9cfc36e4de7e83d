package rank

import (
	"context"
	"slices"
	"sort"

	"pigrep/query/docset"
	"pigrep/query/filter"
	"pigrep/query/words"
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
// best. The others are counted. What may be a duplicate, or has to be verified, may
// still go: it is kept, and not counted here.
type collector struct {
	scorer
	*snapshot
	ctx    context.Context
	filter *filter.Filter
	scores *scores
	eval   evaluator
	counts []fileCount // by file
	every  bool        // all candidates are kept

	best     topScores   // of all files
	bestHere topScores   // of the file in the run
	kept     []Candidate // of the run

	// Of the segment.
	others docset.Set // documents to look at whatever they have; nil: none
	run    int        // that the last document was in, -1 at first
	runEnd uint32     // the document behind it
	at     int32      // the file of the run, -1 for none
}

func (s *search) newCollector(sc *scores) *collector {
	c := &collector{
		scorer: newScorer(s.reader, s.plan), snapshot: s.snapshot, ctx: s.ctx, filter: s.filter, scores: sc,
		eval: newEvaluator(s.plan), counts: make([]fileCount, len(s.files)), every: s.every,
	}
	c.eval.covered = func(mask, weak uint64) float32 { return covered(s.plan, mask, weak) }
	c.best.most = rerankMost
	if s.opt.Flat {
		c.best.most += s.opt.Limit
	}
	c.bestHere.most = max(s.opt.PerSession, sharesOf)
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

// segment adds the candidates of a segment to its list. all includes documents
// without any word of the query.
func (c *collector) segment(seg *segment, all bool) error {
	sc := c.scores
	c.others = nil
	if all {
		var err error
		if c.others, err = docset.Live(seg.Segment); err != nil {
			return err
		}
		if seg.allowed != nil {
			c.others.And(seg.allowed)
		}
	}
	c.at, c.run, c.runEnd = -1, -1, 0
	for sc.begin(); sc.next(seg.Len()); {
		for _, p := range c.plan.Words {
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
		sc.seen.Or(c.others.Slice(sc.first, sc.end))
	}
	for doc := range seg.anchors {
		if sc.first <= doc && doc < sc.end {
			sc.seen.Add(doc - sc.first)
		}
	}
	unsure, unwanted := uint64(0), uint64(0)
	for _, p := range c.plan.Words {
		if len(seg.pending[p.Index]) > 0 {
			unsure |= p.Bit
			if !p.Scored {
				unwanted |= p.Bit
			}
		}
	}
	plain := len(c.plan.Query.Filters) == 0 && !c.filter.TestsEntries()
	var v evaluated // of the last document
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
			v = *c.eval.look(mask, weak)
		}
		if !v.hit && !(pending && c.eval.of(mask&^unwanted, weak).hit) {
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
		x := Candidate{
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
	for _, p := range c.plan.Words {
		if words&p.Bit != 0 {
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

// fieldBits adds the bits of the fields to mask and reports whether the entry is what
// the filters on entries ask for.
func (c *collector) fieldBits(seg *segment, doc uint32, at int32, mask *uint64) (bool, error) {
	if ok, err := c.entryPasses(c.filter, seg, doc, at); !ok || err != nil {
		return false, err
	}
	for i, f := range c.plan.Query.Filters {
		ok := seg.fields[i].Has(doc)
		if f.TestsEntries() {
			var err error
			if ok, err = c.entryPasses(f, seg, doc, at); err != nil {
				return false, err
			}
		}
		if ok {
			*mask |= words.FieldBit(i)
		}
	}
	return true, nil
}

// pendingOf returns what a word may be worth in a document where it has to be
// verified.
func (seg *segment) pendingOf(p *words.Planned, doc uint32) (pending, bool) {
	list := seg.pending[p.Index]
	i := sort.Search(len(list), func(i int) bool { return list[i].doc >= doc })
	if i < len(list) && list[i].doc == doc {
		return list[i], true
	}
	return pending{}, false
}
