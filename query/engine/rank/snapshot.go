package rank

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pigrep/index"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
)

// recency is the bonus of the newest session, and recencyHalf the age, relative to the
// newest entry of the index, at which half of the bonus is left.
const (
	recency     = 0.1
	recencyHalf = 30 * 24 * time.Hour
)

// snapshot has the files and segments of one generation of the index, with the state
// of a search for each.
type snapshot struct {
	reader  *index.Reader
	files   []file            // in the order of the summaries: by path
	heads   []int32           // of each file, the one in which its session goes on; nil: itself
	parts   map[int32][]int32 // the other files of these
	newest  time.Time         // entry
	fileOf  []int32           // indexes in files, by the number of the file; -1 for none
	segs    []*segmentState
	touched atomic.Int32          // segments that were read at random since the last trim
	failed  atomic.Pointer[error] // an outline could not be read
}

// file is the state of a session file in a search.
type file struct {
	number  uint32
	id      string                          // of the session; shares the memory of the index
	started time.Time                       // in the header
	newest  time.Time                       // entry
	summary atomic.Pointer[session.Summary] // nil until it is needed
	fileCount
	ids     uint64 // words that begin its session id
	recency float32

	rescued bool // looser hits are listed: it ranks among sessions with others

	loading sync.Mutex      // of outline and tree
	outline *record.Outline // nil until it is needed
	record  *session.Record // with its tree, for the neighbours of hits; nil until it is needed
	tree    *session.Tree
}

// segmentState is a segment of the index, with the state of a search.
type segmentState struct {
	*segment.Segment
	number int

	prepared bool // the fields below are set, except idHits and pending; false if the segment cannot have a hit

	files   segment.FileRuns
	owned   map[uint32]uint32 // documents about the session of another file, with that file: see index.Names
	allowed docset.Set        // nil: all
	fields  []docset.Set      // of each field in the text
	whole   []docset.Set      // of each word: documents that may have all its parts together
	pending [][]pending       // of each word, ascending by document
	idHits  map[uint32]uint64 // documents found by an id, with the words that are its prefix
	copied  docset.Set        // documents that may be duplicates of others; nil: all
	touched atomic.Bool       // by single hits since the last trim
	marks   *marks            // of the hits; nil: not wanted
	found   candidates
}

func newSnapshot(r *index.Reader, p *words.ResolvedQuery) *snapshot {
	s := &snapshot{reader: r}
	s.listFiles(p.Newest)
	for i, seg := range r.Segments() {
		s.segs = append(s.segs, &segmentState{Segment: seg, number: i, pending: make([][]pending, len(p.Words))})
	}
	return s
}

// listFiles lists the files. newest is the time of the newest entry of other indexes.
func (s *snapshot) listFiles(newest time.Time) {
	s.files = make([]file, s.reader.Table().Len())
	most := uint32(0)
	for i, sum := range s.reader.Beginnings() {
		f := &s.files[i]
		f.number, f.id, f.started, f.newest = sum.File, sum.ID, sum.Timestamp, sum.Newest
		most = max(most, sum.File)
		if sum.Newest.After(newest) {
			newest = sum.Newest
		}
	}
	s.newest = newest
	s.fileOf = make([]int32, most+1)
	for i := range s.fileOf {
		s.fileOf[i] = -1
	}
	for i := range s.files {
		f := &s.files[i]
		s.fileOf[f.number] = int32(i)
		f.recency = recencyOf(f.newest, newest)
	}
}

// recencyOf returns the factor of a file by the time of its newest entry, given the newest of all.
func recencyOf(of, newest time.Time) float32 {
	if of.IsZero() {
		return 1
	}
	return 1 + recency*float32(math.Exp2(-newest.Sub(of).Hours()/recencyHalf.Hours()))
}

// findHeads finds the sessions of several files.
func (s *snapshot) findHeads() {
	chains, table := s.reader.Chains(), s.reader.Table()
	s.heads, s.parts = make([]int32, len(s.files)), make(map[int32][]int32)
	for i := range s.files {
		s.heads[i] = int32(i)
		if path := table.Path(i); chains.Head(path) != path {
			head, _ := table.Find(chains.Head(path))
			s.heads[i] = int32(head)
			s.parts[int32(head)] = append(s.parts[int32(head)], int32(i))
		}
	}
}

// head returns the file that stands for the session of a file.
func (s *snapshot) head(at int32) int32 {
	if s.heads == nil {
		return at
	}
	return s.heads[at]
}

func (s *snapshot) summary(at int32) *session.Summary {
	f := &s.files[at]
	if f.summary.Load() == nil {
		f.summary.CompareAndSwap(nil, s.reader.Summary(int(at)))
	}
	return f.summary.Load()
}

// fileNumbered returns the index in files of the file with a number; -1 when it is not
// a session file.
func (s *snapshot) fileNumbered(n uint32) int32 {
	if int64(n) < int64(len(s.fileOf)) {
		return s.fileOf[n]
	}
	return -1
}

// ownerOf returns the index in files of the session of a document in a file at an index, which
// may be Notes about another session.
func (s *snapshot) ownerOf(seg *segmentState, doc uint32, at int32) int32 {
	if file, ok := seg.owned[doc]; ok {
		return s.fileNumbered(file)
	}
	return at
}

// source returns the index in files of the file that has the entry of a candidate. That is
// the file of its session, but for the Notes about it.
func (s *snapshot) source(c *Candidate) int32 {
	if seg := s.segs[c.segment]; s.isNoted(c) {
		return s.fileNumbered(seg.files.File(c.doc))
	}
	return c.file
}

// isNoted reports whether the entry of a candidate is in Notes about its session.
func (s *snapshot) isNoted(c *Candidate) bool {
	_, ok := s.segs[c.segment].owned[c.doc]
	return ok
}

// passing returns a test for the files whose session passes a filter; nil when the
// filter does not depend on sessions.
func (s *snapshot) passing(f *filter.Filter) func(file uint32) bool {
	if !f.TestsSessions() {
		return nil
	}
	summaries := s.reader.Summaries()
	passes := make([]bool, len(s.files))
	for i := range s.files {
		passes[i] = f.Session(&summaries[i])
	}
	return func(file uint32) bool {
		i := s.fileNumbered(file)
		return i >= 0 && passes[i]
	}
}

// eachSegment works on several segments at a time, and releases the pages of each.
func (s *snapshot) eachSegment(work func(*segmentState)) { eachOf(s.segs, work) }

func eachOf(segs []*segmentState, work func(*segmentState)) {
	list := make([]*segment.Segment, len(segs))
	for i, seg := range segs {
		list[i] = seg.Segment
	}
	docset.EachSegment(list, func(i int, _ *segment.Segment) { work(segs[i]) })
}

// setWhole sets the documents that may contain each word whole. For a strict word it
// leaves only those that pass the filters. It changes copies: the plan never changes.
func (seg *segmentState) setWhole(p *words.ResolvedQuery, misses *Misses) {
	seg.whole = make([]docset.Set, len(p.Words))
	for i, w := range p.Words {
		seg.whole[i] = w.Whole[seg.number]
		narrow := len(w.Parts) > 0 && w.Strict() && seg.allowed != nil
		known := misses.in(seg.number, w)
		if narrow || known != nil {
			seg.whole[i] = slices.Clone(seg.whole[i])
		}
		if narrow {
			seg.whole[i].And(seg.allowed)
		}
		if known != nil {
			seg.whole[i].Remove(known)
		}
	}
}

// maxTouched is how many segments may stay resident after random reads.
const maxTouched = 6

// touch must be called before a segment is read for a single hit.
func (s *snapshot) touch(seg *segmentState) {
	if !seg.touched.Swap(true) && s.touched.Add(1) > maxTouched {
		s.trim()
	}
}

// trim releases the pages that random reads have mapped.
func (s *snapshot) trim() {
	s.touched.Store(0)
	for _, seg := range s.segs {
		if seg.touched.Swap(false) {
			seg.Trim()
		}
	}
}

func (s *snapshot) outline(at int32, seg *segmentState) *record.Outline {
	f := &s.files[at]
	f.loading.Lock()
	defer f.loading.Unlock()
	if f.outline == nil {
		s.touch(seg)
		o, err := s.reader.Outline(f.number, seg.Segment)
		if err != nil {
			s.failed.Store(&err)
		}
		if o == nil {
			o = &record.Outline{Record: session.Record{Summary: *s.summary(at)}}
		}
		f.outline = o
	}
	return f.outline
}

// timeOf returns the time of an entry, with documents in the segment, in Unix
// milliseconds.
func (s *snapshot) timeOf(at int32, seg *segmentState, offset int64) int64 {
	o := s.outline(at, seg)
	e, ok := o.At(offset)
	if !ok {
		e = record.Entry{}
	}
	return o.Record.TimeOf(&e.Node).UnixMilli()
}

// compare orders candidates, the best first: by class, by score, then the newest session,
// then by path, offset and part. It never depends on where a document is in the
// index.
func (s *snapshot) compare(a, b *Candidate) int {
	if x, y := a.standing(), b.standing(); x != y {
		return cmp.Compare(y, x)
	}
	if a.file != b.file {
		// Files are in the order of their paths.
		return cmp.Or(s.files[b.file].newest.Compare(s.files[a.file].newest), cmp.Compare(a.file, b.file))
	}
	x, y := s.resolve(a), s.resolve(b)
	return cmp.Or(cmp.Compare(y.offset, x.offset), cmp.Compare(x.part, y.part))
}

// resolve sets the offset and the part of a candidate.
func (s *snapshot) resolve(c *Candidate) *Candidate {
	if !c.resolved {
		seg := s.segs[c.segment]
		s.touch(seg)
		seg.resolve(c)
	}
	return c
}

// err returns why a part of the index could not be read, nil if all could. It must be checked
// before an answer is given.
func (s *snapshot) err() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return s.reader.Fault()
}

// lengthOf guesses the length of the line of a resolved candidate: the distance to the
// next entry, if one of the next seven documents belongs to one; else 0.
func (s *snapshot) lengthOf(c *Candidate) int64 {
	seg := s.segs[c.segment]
	s.touch(seg)
	for doc := c.doc + 1; int(doc) < seg.Len() && doc < c.doc+8 && seg.files.File(doc) == s.files[c.file].number; doc++ {
		if id := seg.ID(doc); id.Offset > c.offset {
			return id.Offset - c.offset
		}
	}
	return 0
}

// indexed is a candidate of a list with its index.
type indexed struct {
	*Candidate
	index int
}

// bySegment works on the candidates of a list, grouped by segment and in the order of their
// documents, on several segments at a time. It releases their pages.
func (s *snapshot) bySegment(list []*Candidate, work func(*segmentState, []indexed)) {
	lists := make([][]indexed, len(s.segs))
	var segs []*segmentState
	for i, c := range list {
		if lists[c.segment] == nil {
			segs = append(segs, s.segs[c.segment])
		}
		lists[c.segment] = append(lists[c.segment], indexed{c, i})
	}
	eachOf(segs, func(seg *segmentState) {
		cs := lists[seg.number]
		slices.SortFunc(cs, func(a, b indexed) int { return cmp.Compare(a.doc, b.doc) })
		work(seg, cs)
	})
}

func (s *snapshot) resolveAll(list []*Candidate) []int64 {
	lengths := make([]int64, len(list))
	s.bySegment(list, func(_ *segmentState, cs []indexed) {
		for _, c := range cs {
			lengths[c.index] = s.lengthOf(s.resolve(c.Candidate))
		}
	})
	return lengths
}
