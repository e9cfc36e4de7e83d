package query

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/query/docset"
	"pigrep/query/entry"
	"pigrep/query/filter"
)

// Search answers a request from one generation of the index. Session files are
// read only where a hit is shown and where a phrase or a compound has to be
// verified.
func Search(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Response, error) {
	return search(ctx, r, a, src, req, true)
}

// search is Search with both stages of ranking or the first alone.
func search(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request, both bool) (*Response, error) {
	q, err := compile(&req)
	if err != nil {
		return nil, err
	}
	s, err := newSearcher(ctx, r, a, src, &req, q)
	if err != nil {
		return nil, err
	}
	if err := s.find(); err != nil {
		return nil, err
	}
	if both && req.Sort == SortRelevance {
		if err := s.rerank(); err != nil {
			return nil, err
		}
	}
	s.trim()
	resp, err := s.respond()
	if err == nil && both && resp.TotalAny == 0 {
		resp.Removed, err = removed(ctx, r, a, src, req)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// recency is how much more than the oldest the newest session counts, and
// recencyHalf the age, counted from the newest entry of the index, at which half
// of that is left.
const (
	recency     = 0.1
	recencyHalf = 30 * 24 * time.Hour
)

// coverage is the share of a score that depends on how much of the query, each
// word weighted by its idf, a document has: without it a short text with half of
// the words would rank above a longer one with all of them.
const coverage = 0.3

// searcher is one search at work.
type searcher struct {
	ctx context.Context
	r   *index.Reader
	a   adapter.Adapter
	src entry.Source
	req *Request
	*compiled

	filtered *filter.Filter // of the request; those of fields in the text are query.filters
	files    []file         // in the order of the summaries: by path
	fileOf   []int32
	segs     []*segment
	touched  atomic.Int32 // how many of them single hits have touched since the last trim
	plans    []*plan
	worth    float64 // of all words together
	judge    judge

	documents    float64
	norm0, norm1 float32
	terms        map[string]*term
	longer       map[string]*longerTerms // by word

	searched int  // words for which similar ones were looked for
	every    bool // all candidates are kept, not only the best of each session
	found    candidates
	copies   map[int32][]int32 // by a candidate: those that it stands for
	factors  map[int32]factors // of the candidates that the second stage looked at
	inexact  bool

	changed       atomic.Int64          // hits left out because their session file is not what was indexed
	unreadable    atomic.Int64          // and because it cannot be read
	unreadableErr atomic.Pointer[error] // why, the first of them

	idle    sync.Mutex // of workers
	workers []*worker
}

// file is what a search knows of a session file.
type file struct {
	*session.Summary
	fileCount
	ids     uint64 // words that begin its session id
	recency float32

	loading sync.Mutex      // of outline
	outline *index.Outline  // nil until it is needed
	record  *session.Record // with its tree, for the neighbours of hits; nil until it is needed
	tree    *session.Tree
}

// segment is a segment of the index and what a search works out for it.
type segment struct {
	*index.Segment
	number  int
	files   index.FileRuns
	allowed docset.Set   // nil: all
	fields  []docset.Set // of each field in the text
	pending [][]pending
	anchors map[uint32]uint64 // documents that stand for an id, with the words that begin it
	terms   map[string]*term  // of the searcher
	copied  docset.Set        // documents that may be copies of others; nil: all
	touched atomic.Bool       // by single hits since the last trim
	found   candidates
}

func newSearcher(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req *Request, q *compiled) (*searcher, error) {
	s := &searcher{ctx: ctx, r: r, a: a, src: src, req: req, compiled: q, terms: map[string]*term{}, judge: newJudge(q), every: req.Sort != SortRelevance}
	s.documents = float64(r.Documents())
	average := 1.0
	if r.Documents() > 0 && r.Tokens() > 0 {
		average = float64(r.Tokens()) / float64(r.Documents())
	}
	s.norm0, s.norm1 = float32(k1*(1-b)), float32(k1*b/average)

	s.filtered = req.Spec.Compile()
	s.listFiles()
	for i, seg := range r.Segments() {
		s.segs = append(s.segs, &segment{Segment: seg, number: i, pending: make([][]pending, len(q.words)), terms: s.terms})
	}
	return s, nil
}

func (s *searcher) listFiles() {
	summaries := s.r.Summaries()
	s.files = make([]file, len(summaries))
	var newest time.Time
	most := uint32(0)
	for i := range summaries {
		sum := &summaries[i]
		s.files[i].Summary = sum
		most = max(most, sum.File)
		if sum.Newest.After(newest) {
			newest = sum.Newest
		}
	}
	s.fileOf = make([]int32, most+1)
	for i := range s.fileOf {
		s.fileOf[i] = -1
	}
	for i := range s.files {
		f := &s.files[i]
		s.fileOf[f.File] = int32(i)
		f.recency = 1
		if !f.Newest.IsZero() {
			f.recency += recency * float32(math.Exp2(-newest.Sub(f.Newest).Hours()/recencyHalf.Hours()))
		}
	}
}

// fileNumbered returns the index in files of the file that the index gave a number,
// -1 for that of a record.
func (s *searcher) fileNumbered(n uint32) int32 {
	if int64(n) < int64(len(s.fileOf)) {
		return s.fileOf[n]
	}
	return -1
}

// find fills found with the hits, one of each with copies, and counts those of each
// file. Of hits that can neither be shown nor read again there is nothing but the
// count.
func (s *searcher) find() error {
	if err := s.score(); err != nil {
		return err
	}
	s.joinCopies()
	s.trim()
	if err := s.verify(); err != nil {
		return err
	}
	for _, c := range s.found.all() {
		if !c.counted {
			s.files[c.file].count(c.mask, s.judge.of(c.mask, c.weak), c.dropped)
		}
	}
	return nil
}

// score fills found with every document that is a hit as far as the index can tell.
func (s *searcher) score() error {
	if err := s.prepare(); err != nil {
		return err
	}
	return s.scoreAll(s.window())
}

// scoreAll is score by windows of so many documents.
func (s *searcher) scoreAll(window int) error {
	words := slices.ContainsFunc(s.words, func(w *word) bool { return w.scored })
	idle := make(chan *collector, runtime.GOMAXPROCS(0)) // those that no segment uses
	err := s.eachSegment(func(seg *segment) error {
		var c *collector
		select {
		case c = <-idle:
		default:
			c = s.newCollector(newScores(window, s.plans))
		}
		if err := c.segment(seg, !words); err != nil {
			return err
		}
		idle <- c
		return seg.readCopies()
	})
	if err != nil {
		return err
	}
	close(idle)
	for c := range idle {
		for i := range c.counts {
			s.files[i].add(&c.counts[i])
		}
	}
	for _, seg := range s.segs {
		s.found = append(s.found, seg.found...)
	}
	return nil
}

// eachSegment works on several segments at a time, and lets go of what that has
// mapped of each.
func (s *searcher) eachSegment(work func(*segment) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, seg := range s.segs {
		g.Go(func() error {
			defer seg.Trim()
			return work(seg)
		})
	}
	return g.Wait()
}

// mostTouched is of how many segments what is read of single hits stays mapped.
const mostTouched = 6

// touch is called before a segment is read for a single hit.
func (s *searcher) touch(seg *segment) {
	if !seg.touched.Swap(true) && s.touched.Add(1) > mostTouched {
		s.trim()
	}
}

// trim lets go of what a phase of the search that goes by hits has mapped.
func (s *searcher) trim() {
	s.touched.Store(0)
	for _, seg := range s.segs {
		if seg.touched.Swap(false) {
			seg.Trim()
		}
	}
}

// filter works out which documents of a segment the filters let through.
func (s *searcher) filter(seg *segment) (err error) {
	if seg.allowed, err = s.filtered.Docs(seg.Segment, s.passing(s.filtered)); err != nil {
		return err
	}
	for _, f := range s.compiled.filters {
		var docs docset.Set
		if !f.OfEntries() {
			if docs, err = f.Docs(seg.Segment, s.passing(f)); err != nil {
				return err
			}
		}
		seg.fields = append(seg.fields, docs)
	}
	return nil
}

// passing returns what tells the files whose session a filter lets through.
func (s *searcher) passing(f *filter.Filter) func(file uint32) bool {
	if !f.OfSessions() {
		return nil
	}
	passes := make([]bool, len(s.files))
	for i := range s.files {
		passes[i] = f.Session(s.files[i].Summary)
	}
	return func(file uint32) bool {
		i := s.fileNumbered(file)
		return i >= 0 && passes[i]
	}
}

// rate sets the score of a candidate from the sum over its words.
func (s *searcher) rate(c *candidate) {
	c.score = c.base * s.files[c.file].recency * s.covered(c.mask, c.weak)
}

// covered is the factor for how much of the query a candidate with these words has.
func (s *searcher) covered(mask, weak uint64) float32 {
	if s.worth == 0 {
		return 1
	}
	has := 0.0
	for _, p := range s.plans {
		switch {
		case mask&p.bit != 0:
			has += p.worth
		case weak&p.bit != 0:
			has += p.worth * weightSome
		}
	}
	return float32(1 - coverage + coverage*has/s.worth)
}

func (seg *segment) pendingOf(p *plan, doc uint32) (pending, bool) {
	list := seg.pending[p.index]
	i := sort.Search(len(list), func(i int) bool { return list[i].doc >= doc })
	if i < len(list) && list[i].doc == doc {
		return list[i], true
	}
	return pending{}, false
}

// fieldBits adds the bits of the fields to mask and reports whether the entry is what
// the filters on entries ask for.
func (s *searcher) fieldBits(seg *segment, doc uint32, at int32, mask *uint64) (bool, error) {
	if ok, err := s.entryPasses(s.filtered, seg, doc, at); !ok || err != nil {
		return false, err
	}
	for i, f := range s.compiled.filters {
		ok := seg.fields[i].Has(doc)
		if f.OfEntries() {
			var err error
			if ok, err = s.entryPasses(f, seg, doc, at); err != nil {
				return false, err
			}
		}
		if ok {
			*mask |= fieldBit(i)
		}
	}
	return true, nil
}

// entryPasses asks a filter about the entry of a document: by what is known of all
// entries of the file where that tells, else by its session record.
func (s *searcher) entryPasses(f *filter.Filter, seg *segment, doc uint32, at int32) (bool, error) {
	if !f.OfEntries() {
		return true, nil
	}
	switch f.EntriesOf(s.files[at].Summary) {
	case filter.None:
		return false, nil
	case filter.All:
		return true, nil
	}
	id, ok := seg.ID(doc)
	if !ok {
		return false, nil
	}
	o, err := s.outline(at, seg)
	if err != nil {
		return false, err
	}
	e, ok := o.At(id.Offset)
	if !ok && !f.OnlyTimes() {
		return false, nil
	}
	return f.Entry(filter.Meta{Time: o.Record.TimeOf(&e.Node).UnixMilli(), Active: e.Active, Label: o.Record.Labels[e.ID]}), nil
}

// timeOf returns the time of an entry, with documents in the segment, in Unix
// milliseconds.
func (s *searcher) timeOf(at int32, seg *segment, offset int64) (int64, error) {
	o, err := s.outline(at, seg)
	if err != nil {
		return 0, err
	}
	e, ok := o.At(offset)
	if !ok {
		e = index.Entry{}
	}
	return o.Record.TimeOf(&e.Node).UnixMilli(), nil
}

// outline loads the session record of a file that has documents in the segment.
func (s *searcher) outline(at int32, seg *segment) (*index.Outline, error) {
	f := &s.files[at]
	f.loading.Lock()
	defer f.loading.Unlock()
	if f.outline == nil {
		s.touch(seg)
		o, err := s.r.Outline(f.File, seg.Segment)
		if err != nil {
			return nil, err
		}
		if o == nil {
			o = &index.Outline{Record: session.Record{Summary: *f.Summary}}
		}
		f.outline = o
	}
	return f.outline, nil
}

// outlineOf is outline for the file of a candidate.
func (s *searcher) outlineOf(c *candidate) (*index.Outline, error) {
	return s.outline(c.file, s.segs[c.segment])
}

// compare orders candidates, the best first: by score, then the newest session,
// then by path, offset and part. It never depends on where a document is in the
// index.
func (s *searcher) compare(a, b *candidate) int {
	if d := cmp.Compare(b.score, a.score); d != 0 {
		return d
	}
	if a.file != b.file {
		// Files are in the order of their paths.
		return cmp.Or(s.files[b.file].Newest.Compare(s.files[a.file].Newest), cmp.Compare(a.file, b.file))
	}
	x, y := s.resolve(a), s.resolve(b)
	return cmp.Or(cmp.Compare(y.offset, x.offset), cmp.Compare(x.part, y.part))
}
