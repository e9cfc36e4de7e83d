package rank

import (
	"slices"

	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
	"pigrep/query/engine/syntax"
	"pigrep/query/engine/words"
)

// A Hit is a candidate that is shown, with what the index knows about it.
type Hit struct {
	*Candidate
	Outline *record.Outline // of its session
	Node    record.Entry
	Score   float64
	Tier    uint8 // the loosest tier of any word: words.TierExact, …
	Part    int
	Missing []*words.Expr // what it lacks
	ofFile  uint64        // words and fields of its session
	loosely uint64        // words that it has, but lacks because others have them more tightly
}

// Hit looks up a candidate in the index. It returns false if the session record no
// longer contains the entry. Concurrent calls must be for different files.
func (r *Result) Hit(c *Candidate) (*Hit, bool, error) {
	r.s.resolve(c)
	r.s.readIdentity(c)
	o := r.s.outline(c.file, r.s.segs[c.segment])
	if err := r.s.err(); err != nil {
		return nil, false, err
	}
	node, ok := o.At(c.offset)
	if r.s.isNoted(c) { // no entry of the session has its name: its beginning stands for it
		node, _ = o.First()
		ok = true
	}
	return &Hit{
		Candidate: c, Outline: o, Node: node, Score: Rounded(float64(c.score)), Tier: c.tier, Part: int(c.part),
		Missing: r.s.plan.Query.Root.Missing(full(c.mask, c.partial), nil), ofFile: r.s.files[r.s.head(c.file)].full,
		loosely: r.s.eval.looselyIn(c.mask, c.partial),
	}, ok, nil
}

// Elsewhere reports whether another document of the session contains a missing word.
func (h *Hit) Elsewhere(e *words.Expr) bool { return e.Matches(h.ofFile) }

func (h *Hit) HasParts(e *words.Expr) bool { return e.Matches(h.mask) }

// HasLoosely reports whether the hit has a missing word in a similar spelling or as the name of an
// argument; Tier says which.
func (h *Hit) HasLoosely(e *words.Expr) bool { return e.Matches(h.loosely) }

// LacksRarest reports whether neither the hit nor another document of its session has the weightiest of
// several words, or all parts of it.
func (r *Result) LacksRarest(h *Hit) bool {
	return r.s.plan.RarestMask != 0 && (h.mask|h.ofFile)&r.s.plan.RarestMask == 0
}

func (r *Result) SaysLittle(e *words.Expr) bool { return r.s.plan.IsSlight(e) }

// Duplicate is a copy of the entry of a hit, in another session.
type Duplicate struct {
	SessionPath string `json:"sessionPath" wire:"session"`
	session.EntryName
}

// Duplicates returns the copies of the entry of a hit.
func (r *Result) Duplicates(h *Hit) (list []Duplicate) {
	for _, c := range r.s.duplicates.of(h.Candidate) {
		seg := r.s.segs[c.segment]
		o, id := r.s.outline(c.file, seg), seg.ID(c.doc) // another goroutine may resolve the candidate
		d := Duplicate{SessionPath: o.Record.Path}
		if e, ok := o.At(id.Offset); ok {
			d.EntryID = e.ID
		}
		list = append(list, d)
	}
	return list
}

// Read reads the entry of a hit and finds the words of the query in its part. exact is
// the mask of words that occur as typed. ok is false if the entry cannot be read, which
// counts as a loss.
func (r *Result) Read(w *Worker, h *Hit, use func(e *session.Entry, p *session.Part, spans []match.Span, exact uint64)) (ok bool) {
	w.use(r.s.snapshot, r.s.source(h.Candidate))
	w.Limit = 0
	err := w.entry(h.Candidate, 0, func(e *session.Entry) {
		p := &e.Parts[h.part]
		spans, exact := w.Finder.Find(p.Text)
		use(e, p, spans, exact)
	})
	if err != nil {
		r.s.losses.add(err)
	}
	return err == nil
}

// Lose counts a hit whose session record no longer contains the entry.
func (r *Result) Lose() { r.s.losses.add(entry.ErrChanged) }

// InOtherSpelling reports whether a hit contains some word only in another spelling
// than typed: get_user_name for getUserName.
func (r *Result) InOtherSpelling(h *Hit, spans []match.Span, exact uint64) bool {
	for _, p := range r.s.plan.Words {
		if full(h.mask, h.partial)&p.Bit == 0 || exact&p.Bit != 0 || p.Match != syntax.Literal {
			continue
		}
		if slices.ContainsFunc(spans, func(m match.Span) bool { return m.Word == p.Index }) {
			return true
		}
	}
	return false
}

// Path returns the entries on the branch of a hit, and the index of the hit among
// them; -1 if it is on no branch.
func (r *Result) Path(h *Hit) (rec *session.Record, path []int, at int, err error) {
	f := &r.s.files[h.file]
	f.loading.Lock()
	defer f.loading.Unlock()
	if f.record == nil {
		if f.record, err = r.s.reader.Record(f.number); err != nil || f.record == nil {
			return nil, nil, -1, err
		}
		f.tree = f.record.Tree()
	}
	rec = f.record
	n := rec.NodeAt(h.Node.Offset)
	if n < 0 {
		return rec, nil, -1, nil
	}
	path = f.tree.Through(n)
	return rec, path, slices.IndexFunc(path, func(i int) bool { return rec.Nodes[i].ID == rec.Nodes[n].ID }), nil
}

func (r *Result) Record(c *Candidate) *session.Record {
	return &r.s.outline(c.file, r.s.segs[c.segment]).Record
}

// Worker returns a Worker for Read. The caller must return it with Done.
func (r *Result) Worker() *Worker { return r.s.readers.Worker() }

// Done returns a Worker to the pool.
func (r *Result) Done(w *Worker) { r.s.readers.Done(w) }

// IsID reports whether a word is a prefix of the id of some session or entry.
func (r *Result) IsID(p *words.ResolvedWord) bool {
	for i := range r.s.files {
		if r.s.files[i].ids&p.Bit != 0 {
			return true
		}
	}
	return slices.ContainsFunc(r.s.segs, func(seg *segmentState) bool {
		for _, bits := range seg.idHits {
			if bits&p.Bit != 0 {
				return true
			}
		}
		return false
	})
}

// RecordsRead returns how many session records the search has read.
func (r *Result) RecordsRead() (n int) {
	for i := range r.s.files {
		if r.s.files[i].outline != nil {
			n++
		}
	}
	return n
}

// IsOpen reports whether the query is an open question.
func (r *Result) IsOpen() bool { return r.s.plan.IsOpen }

// HitsOf returns how many hits of each level a session has, the worst level first. file is the place of
// its summary.
func (r *Result) HitsOf(file int) [LevelWhole]int {
	return [LevelWhole]int(r.s.files[file].hits[LevelWeak:])
}
