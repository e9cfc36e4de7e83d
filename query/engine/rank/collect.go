package rank

import (
	"context"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sort"

	"pigrep/query/engine/docset"
	"pigrep/query/engine/words"
)

type fileCount struct {
	hits [LevelWhole + 1]int // by level
	mask uint64              // words and fields that some candidate has, at least in parts
	full uint64              // those that some candidate matches

	unfolded int // hits that are listed although their level is too low
}

// listed returns how many hits are listed.
func (t *fileCount) listed(least Level) int { return t.from(least) + t.unfolded }

// count adds a candidate; of one that was dropped only the words.
func (t *fileCount) count(mask, partial uint64, level Level, dropped bool) {
	t.mask |= mask
	t.full |= full(mask, partial)
	if !dropped {
		t.hits[level]++
	}
}

func (t *fileCount) add(o *fileCount) {
	for level, n := range o.hits {
		t.hits[level] += n
	}
	t.mask |= o.mask
	t.full |= o.full
}

// from returns how many hits have a level or a better one.
func (t *fileCount) from(least Level) (n int) {
	for _, hits := range t.hits[least:] {
		n += hits
	}
	return n
}

// A collector turns the scores of documents into candidates. A query of frequent words
// matches hundreds of thousands of documents, but few of them are read. The collector
// keeps those that may be shown for their file, or that may be among the best of all. It
// only counts the others. A candidate that may be a duplicate, or that has to be verified,
// may still be dropped: it is kept, and counted later. Each goroutine has its own
// collector.
type collector struct {
	*search
	scores   *scores
	verdicts evaluator
	hits     []fileCount // by file

	any   *ranking // of all candidates
	whole *ranking // of those that lack nothing; nil unless they may be the only ones listed

	runBest []Candidate // of the run, as far as they may be kept

	// Of the segment at work:
	others docset.Set // documents to test even without any word; nil: none
	run    int        // of documents of one file: that of the last document, -1 at first
	runEnd uint32     // the first document after the run
	at     int32      // the file of the run, -1 for none
}

func (s *search) newCollector(sc *scores) *collector {
	c := &collector{search: s, scores: sc, verdicts: newEvaluator(s.plan, s.eval.allWords), hits: make([]fileCount, len(s.files))}
	c.verdicts.covered = func(mask, partial uint64, v verdict) float32 { return covered(s.plan, mask, partial, v) }
	c.any = newRanking(&s.opt)
	if s.opt.Fold && s.opt.folds(s.plan.IsOpen) {
		c.whole = newRanking(&s.opt)
	}
	return c
}

// A ranking has the scores of the best candidates of a list.
type ranking struct {
	best topScores // of all files
	here topScores // of the run
}

func newRanking(opt *Options) *ranking {
	r := &ranking{}
	r.best.most = rerankCandidates
	if opt.Flat {
		r.best.most += opt.Limit
	}
	r.here.most = opt.kept()
	return r
}

// add adds a candidate, if it may be listed or read, and reports whether it may.
func (r *ranking) add(s standing) bool {
	if !r.admits(s) {
		return false
	}
	r.here.add(s)
	r.best.add(s)
	return true
}

// admits reports whether a candidate may be among the best of its file, or of all.
func (r *ranking) admits(s standing) bool { return r.here.admits(s) || r.best.admits(s) }

// A standing is the class and the score of a candidate as one number. A better candidate has a higher one.
type standing uint64

func (c *Candidate) standing() standing {
	return standing(^c.class)<<32 | standing(math.Float32bits(max(0, c.score)))
}

// score returns the score; ok says whether the standing is of this class.
func (s standing) score(class uint16) (score float32, ok bool) {
	return math.Float32frombits(uint32(s)), uint16(s>>32) == ^class
}

// rounding is the relative error that the factors of the second stage may add to a
// score.
const rounding = 1e-5

// topScores holds the highest scores, in ascending order.
type topScores struct {
	list []standing
	most int
}

func (t *topScores) add(score standing) {
	switch {
	case t.most >= All: // every score is admitted
	case len(t.list) < t.most:
		at, _ := slices.BinarySearch(t.list, score)
		t.list = slices.Insert(t.list, at, score)
	case score > t.list[0]: // usually it belongs near the start
		at := 0
		for ; at+1 < len(t.list) && t.list[at+1] < score; at++ {
			t.list[at] = t.list[at+1]
		}
		t.list[at] = score
	}
}

// session returns the class and the score of the session with these best hits. Hits of looser classes
// add nothing to the score.
func (t *topScores) session() (class uint16, sum float64) {
	class = ^uint16(t.list[len(t.list)-1] >> 32)
	part := 1.0
	for _, s := range slices.Backward(t.list) {
		score, ok := s.score(class)
		if !ok {
			break
		}
		sum += part * float64(score)
		part *= share
	}
	return class, sum
}

// admits reports whether a score may be one of the highest, once the second stage has
// changed it.
func (t *topScores) admits(s standing) bool {
	if len(t.list) < t.most || s >= t.list[0] {
		return true
	}
	class := ^uint16(s >> 32)
	last, ok := t.list[0].score(class)
	score, _ := s.score(class)
	return ok && score >= last*(1-rounding)
}

// segment adds the candidates of a segment to its list.
func (c *collector) segment(seg *segmentState) {
	c.others = nil
	if c.wordless {
		all := docset.Live(seg.Segment)
		if seg.allowed != nil {
			all.And(seg.allowed)
		}
		c.others = c.plan.Query.Root.Wordless(all, func(bit uint64) docset.Set { return c.withField(seg, bit, all) })
	}
	c.at, c.run, c.runEnd = -1, -1, 0
	for c.scores.begin(seg); c.scores.next(); {
		for _, p := range c.plan.Words {
			if c.ctx.Err() != nil {
				return
			}
			c.scores.addWord(p)
		}
		c.collect(seg)
	}
	c.flush(seg)
}

// withField returns the documents that match the field with a bit, or all if their entries
// decide that. The words of the plan find those of a field on the text.
func (c *collector) withField(seg *segmentState, bit uint64, all docset.Set) docset.Set {
	for i, docs := range seg.fields {
		if bit == words.FieldBit(i) && docs != nil {
			return docs
		} else if bit == words.FieldBit(i) {
			return all
		}
	}
	return make(docset.Set, len(all))
}

// addUnscored adds the documents of a window that are tested without any word: those
// of c.others, and those found by an id.
func (c *collector) addUnscored(seg *segmentState) {
	sc := c.scores
	if c.others != nil {
		sc.seen.Or(c.others.Slice(sc.first, sc.end))
	}
	for doc := range seg.idHits {
		if sc.first <= doc && doc < sc.end {
			sc.seen.Add(doc - sc.first)
		}
	}
}

// pendingWords returns the words that have to be verified in some document of the
// segment, and those of them that are negated.
func (c *collector) pendingWords(seg *segmentState) (unsure, negated uint64) {
	for _, p := range c.plan.Words {
		if len(seg.pending[p.Index]) > 0 {
			unsure |= p.Bit
			if !p.Scored {
				negated |= p.Bit
			}
		}
	}
	return unsure, negated
}

// collect adds the candidates of a window and clears the scores.
func (c *collector) collect(seg *segmentState) {
	sc := c.scores
	c.addUnscored(seg)
	unsure, negated := c.pendingWords(seg)
	plain := len(c.plan.Query.Filters) == 0 && !c.filter.TestsEntries()
	files, hits, keepAll := c.files, c.hits, c.keepAll
	var v evaluated                // verdict on the last document: runs of documents often have equal masks
	for k, docs := range sc.seen { // docset.Set.All would call this as a function
		for ; docs != 0; docs &= docs - 1 {
			i := uint32(k<<6 + bits.TrailingZeros64(docs))
			doc := sc.first + i
			mask := sc.mask[i]
			partial := uint64(0)
			if sc.partial != nil {
				partial = sc.partial[i]
				sc.partial[i] = 0
			}
			base, tier, class := sc.score[i], sc.tier[i], sc.class[i]
			sc.mask[i], sc.score[i], sc.tier[i], sc.class[i] = 0, 0, 0, 0
			if doc >= c.runEnd {
				c.enter(seg, doc)
			}
			at := c.at
			if at < 0 {
				continue
			}
			if seg.owned != nil {
				at = c.ownerOf(seg, doc, at)
			}
			f := &files[at]
			byID, named := f.ids, false
			if len(seg.idHits) > 0 {
				if id := seg.idHits[doc]; id != 0 {
					byID |= id
					base += idScore
					named = true
				}
			}
			mask, partial = mask|byID, partial&^byID
			if !plain {
				if !c.fieldBits(seg, doc, c.at, &mask) {
					continue
				}
			}
			pending := unsure&mask != 0 && c.isPending(seg, doc, unsure&mask)
			if mask != v.mask || partial != v.partial || !v.known {
				v = *c.verdicts.lookup(mask, partial)
			}
			if !v.hit && !(pending && c.verdicts.evaluate(mask&^negated, partial).hit) {
				continue
			}
			final := !pending && !keepAll && !seg.copied.Has(doc)
			x := Candidate{
				segment: int32(seg.number), file: at, doc: doc, class: class | v.class,
				base: base, score: base * f.recency * v.covered, mask: mask, partial: partial, tier: tier, pending: pending, counted: final,
			}
			if named {
				x.class = 0
			}
			if final {
				level, s := v.level(tier), x.standing()
				hits[at].count(mask, partial, level, false)
				seg.marks.add(doc, level)
				kept := c.any.add(s)
				if v.whole && c.whole != nil {
					kept = c.whole.add(s) || kept
				}
				if !kept {
					continue
				}
			}
			if final {
				c.runBest = append(c.runBest, x)
			} else {
				seg.found.add(x)
			}
		}
	}
	clear(sc.seen)
}

// enter moves on to the run that contains a document.
func (c *collector) enter(seg *segmentState, doc uint32) {
	for c.run++; doc >= seg.files.End(c.run); c.run++ {
	}
	c.flush(seg)
	c.runEnd = seg.files.End(c.run)
	c.at = c.fileNumbered(seg.files[c.run].File)
}

// isPending reports whether some of the words have to be verified in a document.
func (c *collector) isPending(seg *segmentState, doc uint32, words uint64) bool {
	for _, p := range c.plan.Words {
		if words&p.Bit != 0 {
			if _, ok := seg.pendingOf(p, doc); ok {
				return true
			}
		}
	}
	return false
}

// flush adds the best candidates of a run to the segment.
func (c *collector) flush(seg *segmentState) {
	for _, x := range c.runBest {
		if s := x.standing(); c.any.admits(s) || c.whole != nil && c.whole.admits(s) && c.verdicts.evaluate(x.mask, x.partial).whole {
			seg.found.add(x)
		}
	}
	c.runBest = c.runBest[:0]
	c.any.here.list = c.any.here.list[:0]
	if c.whole != nil {
		c.whole.here.list = c.whole.here.list[:0]
	}
}

// fieldBits adds the bits of the fields to the mask, and reports whether the entry
// passes the filter.
func (c *collector) fieldBits(seg *segmentState, doc uint32, at int32, mask *uint64) bool {
	if !c.entryPasses(c.filter, seg, doc, at) {
		return false
	}
	for i, f := range c.plan.Query.Filters {
		ok := seg.fields[i].Has(doc)
		if f.TestsEntries() {
			ok = c.entryPasses(f, seg, doc, at)
		}
		if ok {
			*mask |= words.FieldBit(i)
		}
	}
	return true
}

// pendingOf returns the values of a word in a document where it has to be verified.
func (seg *segmentState) pendingOf(p *words.ResolvedWord, doc uint32) (pending, bool) {
	list := seg.pending[p.Index]
	i := sort.Search(len(list), func(i int) bool { return list[i].doc >= doc })
	if i < len(list) && list[i].doc == doc {
		return list[i], true
	}
	return pending{}, false
}

// Documents are the hits of a search as documents of the index, to count them by what they
// are. Of duplicates they have one.
type Documents struct {
	Counts
	Sets  []docset.Set // of each segment; nil: none of it
	Whole []docset.Set // of these, the hits that lack nothing; nil: all do
}

// Collect returns the documents that a list with these options has.
func Collect(ctx context.Context, in Input, opt Options) (*Documents, error) {
	s := newSearch(ctx, in, opt.counting())
	for _, seg := range s.segs {
		seg.marks = &marks{}
		for level := LevelWeak; level <= LevelWhole; level++ {
			seg.marks[level] = docset.New(seg.Len())
		}
	}
	if err := s.find(); err != nil {
		return nil, err
	}
	d := &Documents{Counts: s.counts, Sets: s.marked(s.least)}
	if s.least < LevelWhole {
		d.Whole = s.marked(LevelWhole)
	}
	return d, s.err()
}

// marked returns the documents of each segment that have a level or a better one.
func (s *search) marked(least Level) (sets []docset.Set) {
	for _, seg := range s.segs {
		if !seg.prepared {
			sets = append(sets, nil)
			continue
		}
		set := slices.Clone(seg.marks[LevelWhole])
		for level := least; level < LevelWhole; level++ {
			set.Or(seg.marks[level])
		}
		sets = append(sets, set)
	}
	return sets
}

// marks are the hits of a segment, by their levels.
type marks [LevelWhole + 1]docset.Set

func (m *marks) add(doc uint32, level Level) {
	if m != nil && level > 0 {
		m[level].Add(doc)
	}
}

// Candidate is a document that matches, before and after verification. There may be
// many: it contains no pointers, and fills one line of the cache (64 bytes).
type Candidate struct {
	mask    uint64 // words and fields that it matches, and compounds of which it has all parts
	partial uint64 // compounds of which it has parts only: with a bit of mask all of them, else some; and words.ResolvedWord.ByName
	copy    uint64 // session.Entry.Copy of its entry; 0 until it is read, and for none

	offset int64 // of its entry; set by resolve
	part   int32 // in its entry; set by resolve, and by readDuplicates

	segment int32
	file    int32 // index in snapshot.files
	doc     uint32
	base    float32 // the sum over the words
	score   float32

	class    uint16 // what it lacks, and the ways of the weightiest words; lower classes come first
	tier     uint8
	resolved bool
	pending  bool // some word has to be verified
	dropped  bool // a duplicate of another candidate, or no hit
	counted  bool // included in the count of its file
}

// Session returns the number of the session of a candidate.
func (c *Candidate) Session() int32 { return c.file }

// full returns the words and fields that a candidate with these masks matches.
func full(mask, partial uint64) uint64 { return mask &^ partial }

// candidates is a list in chunks, so that it grows without being copied.
type candidates [][]Candidate

const chunkLen = 1 << 8 // candidates: 16 kB

func (l *candidates) add(c Candidate) {
	last := len(*l) - 1
	if last < 0 || len((*l)[last]) == chunkLen {
		*l = append(*l, make([]Candidate, 0, chunkLen))
		last++
	}
	(*l)[last] = append((*l)[last], c)
}

// all returns the candidates in the order of their addition.
func (l candidates) all() iter.Seq[*Candidate] {
	return func(yield func(*Candidate) bool) {
		for n := range l {
			for k := range l[n] {
				if !yield(&l[n][k]) {
					return
				}
			}
		}
	}
}

// resolve sets the offset and the part of a candidate.
func (seg *segmentState) resolve(c *Candidate) {
	id := seg.ID(c.doc)
	c.offset, c.part, c.resolved = id.Offset, int32(id.Part), true
}
