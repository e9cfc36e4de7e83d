package rank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
)

// Sort is an order of hits.
type Sort uint8

// The orders of hits.
const (
	Relevance Sort = iota
	Newest
	Oldest
)

// SortNames lists the names of the orders.
var SortNames = []string{"relevance", "newest", "oldest"}

// ParseSort returns the order of this name; "" is that by relevance.
func ParseSort(name string) (Sort, error) {
	if name == "" {
		return Relevance, nil
	}
	if i := slices.Index(SortNames, name); i >= 0 {
		return Sort(i), nil
	}
	return 0, fmt.Errorf("unknown order %q: use %s", name, strings.Join(SortNames, ", "))
}

// All is a limit that no index reaches.
const All = 1 << 30

// completeList is the limit from which on a list is meant to be complete.
const completeList = 100_000

// Options say which of the hits are wanted.
type Options struct {
	Sort       Sort
	Flat       bool // the best hits of all, not grouped by session
	Limit      int  // sessions, or with Flat hits; at least 1, All for no limit
	PerSession int  // hits of each session; at least 1
	ByFile     bool // the files of a session are apart
	ShowBest   bool // by relevance, each of the ten best hits of all is also among those of its session
	Fold       bool // looser hits are left out if there are enough others
}

// leastFolding is the number of hits with every word from which looser ones are folded.
const leastFolding = 5

// reserve is how many hits of a session, beyond those wanted, can take the place of some.
const reserve = 7

// kept is how many of the best hits of a session are kept.
func (o *Options) kept() int { return max(o.PerSession+reserve, sharesOf) }

// Input is what is searched.
type Input struct {
	Reader   *index.Reader
	Adapter  adapter.Adapter
	Files    entry.Source
	Plan     *words.ResolvedQuery
	Filter   *filter.Filter
	Misses   *Misses // of earlier searches of the same generation; may be nil
	AllWords bool    // only documents that lack nothing are hits

	// PhraseBytes is how many bytes of session files may be read to count hits of phrases
	// once the wanted hits are found; 0 for 32 MB.
	PhraseBytes int
}

// Result is the outcome of a search: which hits there are, how many, and in which
// order. Its candidates can be read again as long as the index reader is open.
type Result struct {
	Counts
	Sessions []Session    // best first; none with Options.Flat
	Hits     []*Candidate // best first, with Options.Flat alone

	s *search // to read hits later
}

// Session is a session with hits.
type Session struct {
	File     int    // place of its summary among those of the index; of several files, the one in which it goes on
	Class    uint16 // of its best hit
	Score    float64
	Hits     []*Candidate // the best ones, in order
	Reserve  []*Candidate // the next ones, for hits that are not shown after all
	Total    int          // its hits that lack nothing
	TotalAny int          // all its hits
	Listed   int          // as of Counts
}

// Run finds, ranks and selects. Session files are read only where a phrase or a
// compound has to be verified, and for the second stage of relevance.
func Run(ctx context.Context, in Input, opt Options) (*Result, error) {
	s := newSearch(ctx, in, opt)
	s.enough = opt.Limit
	if err := s.find(); err != nil {
		return nil, err
	}
	if opt.Sort == Relevance {
		if err := s.secondStage(); err != nil {
			return nil, err
		}
	}
	s.trim()
	r, err := s.selected()
	if err == nil {
		err = s.err()
	}
	return r, err
}

// Counts are the numbers of hits, duplicates counted once. A hit lacks nothing, or is looser;
// both may lack words that say little. A hit that a list leaves out is weak or folded.
type Counts struct {
	Total          int  // hits that lack nothing
	TotalAny       int  // all hits
	Parts          int  // hits whose missing words are all present in parts
	Weighty        int  // hits with a weighty word, or all parts of one
	Similar        int  // of these, looser hits that have a word only in a similar spelling
	Named          int  // and those that have it only as the name of an argument
	Weak           int  // hits without any weighty word, nor all parts of one, which are left out
	Listed         int  // hits that are not left out
	TotalSessions  int  // with hits that lack nothing
	ListedSessions int  // with hits that are not left out
	Inexact        bool // hits may be missing: not every phrase could be verified, or a prefix has more terms than were searched
}

// Looser returns the number of hits that lack something and are not weak.
func (n *Counts) Looser() int { return n.TotalAny - n.Weak - n.Total }

// Folded returns the number of looser hits that are left out.
func (n *Counts) Folded() int { return n.Total + n.Looser() - n.Listed }

// Count counts the hits, and those that a list with these options shows.
func Count(ctx context.Context, in Input, opt Options) (*Result, error) {
	s := newSearch(ctx, in, opt.counting())
	if err := s.find(); err != nil {
		return nil, err
	}
	return &Result{s: s, Counts: s.counts}, s.err()
}

// counting returns the options for a search whose hits are only counted.
func (o Options) counting() Options {
	return Options{Sort: o.Sort, Limit: 1, PerSession: 1, ByFile: o.ByFile, Fold: o.Fold}
}

// Every calls visit for every document with all words of the query, duplicates
// included, in no order. all is false when some phrase could not be verified.
func Every(ctx context.Context, in Input, visit func(file uint32, offset int64, part int)) (all bool, err error) {
	s := newSearch(ctx, in, Options{Sort: Newest, Limit: 1, PerSession: 1})
	if err := s.score(); err != nil {
		return false, err
	}
	if err := s.verify(); err != nil {
		return false, err
	}
	for c := range s.found.all() {
		if v := s.eval.evaluate(c.mask, c.partial); c.dropped || !v.whole || c.tier >= words.TierFuzzy {
			continue
		}
		s.resolve(c)
		visit(s.files[c.file].number, c.offset, int(c.part))
	}
	return !s.inexact(), s.err()
}

// search is the state that the phases of one search hand to each other: the snapshot of
// files and segments, and the candidates found so far. It only reads the plan.
type search struct {
	*snapshot
	ctx         context.Context
	plan        *words.ResolvedQuery
	filter      *filter.Filter
	opt         Options
	eval        evaluator
	showing     sync.Mutex // of eval, once hits are shown
	counts      Counts
	least       Level    // level of the hits that are listed; see countAll
	pool        Level    // level of the hits that are ranked with them, and folded unless they reach floor
	floor       standing // hits of the pool with at least this standing are listed
	wordless    bool     // documents without any word or id of the query may be hits
	keepAll     bool     // keep all candidates, not only the best of each session
	enough      int      // sessions (with Options.Flat, documents) with a strict word to find even beyond the budget
	phraseBytes int      // as of Input

	found      candidates
	duplicates duplicates
	factors    map[*Candidate]factors // of the candidates that the second stage ranked
	last       *Candidate             // the last word, if the query asks for it
	readers    readers
	losses     Losses
	misses     *Misses
	unverified bool        // some compound could not be verified
	named      []namedWord // compounds that were found only in names of arguments
	inText     uint64      // compounds that were found in other text
}

func newSearch(ctx context.Context, in Input, opt Options) *search {
	s := &search{
		snapshot: newSnapshot(in.Reader, in.Plan), ctx: ctx, plan: in.Plan, filter: in.Filter, opt: opt,
		eval: newEvaluator(in.Plan, in.AllWords), keepAll: opt.Sort != Relevance, readers: readers{in: in}, misses: in.Misses, phraseBytes: cmp.Or(in.PhraseBytes, verifyStrict), wordless: in.Plan.Query.Wordless(),
	}
	if in.Reader.Chains().Any() && !opt.ByFile {
		s.findHeads()
	}
	return s
}

func (s *search) inexact() bool { return s.plan.Inexact || s.unverified }

// Losses returns the count of hits that are left out because they cannot be read.
func (r *Result) Losses() *Losses { return &r.s.losses }

// secondStage reranks the best candidates.
func (s *search) secondStage() error {
	if s.plan.Weight == 0 {
		return nil
	}
	s.pool = s.least
	if s.least > LevelNamed && !s.plan.HasKey { // with a key, the class puts listed hits first
		s.pool = LevelNamed
	}
	var top []*Candidate
	for c := range s.from(s.pool) {
		top = s.insertBest(top, c, rerankCandidates)
	}
	if err := s.rerank(top); err != nil || s.pool == s.least {
		return err
	}
	s.unfold()
	return nil
}

// unfold lists the hits of the pool that stand before the last hit that is listed anyway.
func (s *search) unfold() {
	s.floor = math.MaxUint64
	for c := range s.from(s.least) {
		s.floor = min(s.floor, c.standing())
	}
	for c := range s.from(s.pool) {
		if s.levelOf(c) < s.least && c.standing() >= s.floor {
			s.files[s.head(c.file)].unfolded++
			s.counts.Listed++
		}
	}
	s.counts.ListedSessions = 0
	for i := range s.files {
		if s.files[i].listed(s.least) > 0 {
			s.counts.ListedSessions++
		}
	}
}

// find fills found with the hits, one for each group of duplicates, and counts the hits
// of each file. Hits that cannot be shown or reranked are only counted.
func (s *search) find() error {
	if err := s.score(); err != nil {
		return err
	}
	byDirectory := slices.ContainsFunc(s.plan.Words, func(p *words.ResolvedWord) bool { return p.Find != nil && p.Find.NeedsFacts })
	s.duplicates = s.found.joinDuplicates(s.snapshot, byDirectory)
	s.trim()
	if err := s.verify(); err != nil {
		return err
	}
	s.duplicates.settle(s.levelOf)
	for c := range s.found.all() {
		if !c.counted {
			v := s.eval.evaluate(c.mask, c.partial)
			level := v.level(c.tier)
			s.files[c.file].count(c.mask, c.partial, level, c.dropped)
			if !c.dropped {
				s.segs[c.segment].marks.add(c.doc, level)
			}
		}
	}
	s.countAll()
	return nil
}

func (s *search) levelOf(c *Candidate) Level { return s.eval.evaluate(c.mask, c.partial).level(c.tier) }

// score fills found with every document that is a hit as far as the index can tell.
func (s *search) score() error {
	s.prepare()
	if err := s.err(); err != nil {
		return err
	}
	return s.scoreAll(s.window())
}

// prepare finds the documents of each segment that pass the filters, and those whose
// ids begin with a word. It leaves out segments that cannot have a hit.
func (s *search) prepare() {
	passing := s.passing(s.filter)
	ofFields := make([]func(uint32) bool, len(s.plan.Query.Filters))
	for i, f := range s.plan.Query.Filters {
		ofFields[i] = s.passing(f)
	}
	prepare := func(seg *segmentState) {
		seg.prepared = true
		seg.files = seg.Files()
		seg.owned = s.reader.Names().Owned(seg.Segment)
		seg.allowed = s.filter.Docs(seg.Segment, seg.owned, passing)
		for i, f := range s.plan.Query.Filters {
			var docs docset.Set
			if !f.TestsEntries() {
				docs = f.Docs(seg.Segment, seg.owned, ofFields[i])
			}
			seg.fields = append(seg.fields, docs)
		}
		seg.setWhole(s.plan, s.misses)
	}
	ids := newIDs(s.plan)
	s.eachSegment(func(seg *segmentState) {
		if seg.number == 0 {
			seg.PossibleDuplicates() // loads it for all segments
		}
		ids.findIn(seg)
		if s.wordless || s.plan.Occurs(seg.number, seg.Segment) {
			prepare(seg)
		}
	})
	for _, seg := range s.segs {
		seg.copied = seg.PossibleDuplicates()
	}
	if !s.hasIDs(ids) {
		return
	}
	others := slices.DeleteFunc(slices.Clone(s.segs), func(seg *segmentState) bool { return seg.prepared })
	eachOf(others, prepare)
	s.findIDs(ids)
}

func (s *search) scoreAll(window int) error {
	idle := make(chan *collector, runtime.GOMAXPROCS(0)) // collectors that no segment uses
	prepared := slices.DeleteFunc(slices.Clone(s.segs), func(seg *segmentState) bool { return !seg.prepared })
	eachOf(prepared, func(seg *segmentState) {
		var c *collector
		select {
		case c = <-idle:
		default:
			c = s.newCollector(newScores(window, s.plan))
		}
		c.segment(seg)
		idle <- c
		seg.readDuplicates()
	})
	if err := cmp.Or(s.ctx.Err(), s.err()); err != nil {
		return err
	}
	close(idle)
	for c := range idle {
		for i := range c.hits {
			s.files[i].add(&c.hits[i])
		}
	}
	for _, seg := range s.segs {
		s.found = append(s.found, seg.found...)
	}
	return nil
}

// countAll counts the hits, and decides which are listed. A list that is not meant to be
// complete leaves out hits without any weighty word, if there are others. Looser hits are
// left out if there are enough others before them. A list by time leaves them out if there is
// any other, because they would stand between the others.
func (s *search) countAll() {
	for i, head := range s.heads {
		if f := &s.files[i]; int(head) != i {
			s.files[head].add(&f.fileCount)
			f.fileCount = fileCount{}
		}
	}
	var all fileCount
	n := Counts{Inexact: s.inexact()}
	for i := range s.files {
		f := &s.files[i].fileCount
		all.add(f)
		if f.hits[LevelWhole] > 0 {
			n.TotalSessions++
		}
	}
	n.Total, n.Parts, n.Weighty, n.TotalAny = all.hits[LevelWhole], all.hits[LevelParts], all.from(LevelNamed), all.from(LevelWeak)
	n.Similar, n.Named = all.hits[LevelSimilar], all.hits[LevelNamed]
	n.Weak = s.opt.WeakOf(&n)
	s.least = s.opt.LeastOf(&n, s.plan.IsOpen)
	for i := range s.files {
		if listed := s.files[i].listed(s.least); listed > 0 {
			n.Listed += listed
			n.ListedSessions++
		}
	}
	s.counts = n
}

// LeastOf returns the least level of hits that are listed if there are so many, for a query
// that may be open.
func (o *Options) LeastOf(n *Counts, open bool) Level {
	byTime := o.Sort != Relevance
	switch {
	case o.Fold && (byTime && n.Total > 0 || !byTime && n.Total >= leastFolding && o.folds(open)):
		return LevelWhole
	case o.Fold && byTime && n.Parts > 0:
		return LevelParts
	case o.Fold && n.Total > 0 && n.Similar+n.Named > 0 && o.folds(open):
		return LevelWeighty
	case n.Weighty > 0 && o.Limit < completeList:
		return LevelNamed
	}
	return LevelWeak
}

// WeakOf returns how many hits are left out because they are weak.
func (o *Options) WeakOf(n *Counts) int {
	if o.Limit < completeList && n.Weighty > 0 {
		return n.TotalAny - n.Weighty
	}
	return 0
}

// folds reports whether looser hits may be folded. They may not for an open question, which
// they may answer better than others, nor in a complete list, which has all hits.
func (o *Options) folds(open bool) bool { return !open && o.Limit < completeList }

// entryPasses reports whether the entry of a document passes a filter. It reads the
// session record only when the summary of the file cannot decide.
func (s *snapshot) entryPasses(f *filter.Filter, seg *segmentState, doc uint32, at int32) bool {
	if !f.TestsEntries() {
		return true
	}
	switch f.EntryVerdict(s.summary(at)) {
	case filter.None:
		return false
	case filter.All:
		return true
	}
	o := s.outline(at, seg)
	e, ok := o.At(seg.ID(doc).Offset)
	if !ok && !f.TestsOnlyTime() {
		return false
	}
	return f.Entry(filter.Meta{Time: o.Record.TimeOf(&e.Node).UnixMilli(), Active: e.Active, Label: o.Record.Labels[e.ID]})
}

// Losses counts hits that are left out because their entries cannot be read. It is safe
// for concurrent use.
type Losses struct {
	changed, unreadable atomic.Int64
	reason              atomic.Pointer[error] // of the first unreadable one
}

// add counts a hit whose entry could not be read.
func (l *Losses) add(err error) {
	if errors.Is(err, entry.ErrChanged) {
		l.changed.Add(1)
		return
	}
	l.unreadable.Add(1)
	l.reason.CompareAndSwap(nil, &err)
}

func (l *Losses) Changed() int { return int(l.changed.Load()) }

// Unreadable counts the hits whose session file the system refuses to read, and
// returns the first reason.
func (l *Losses) Unreadable() (int, error) {
	n := int(l.unreadable.Load())
	if n == 0 {
		return 0, nil
	}
	return n, *l.reason.Load()
}
