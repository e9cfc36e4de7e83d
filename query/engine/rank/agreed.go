package rank

import (
	"cmp"
	"slices"
)

// Several indexes can answer together, as if they were one. Each ranks its own candidates, with
// words.Statistics of all. What depends on the candidates of all is agreed on: each says what it
// has (Share), and all are told what follows (Agreed).

// Agreed is what indexes that answer together decide together. Its zero value decides nothing
// but the level.
type Agreed struct {
	Least    Level `json:"least,omitempty"`  // of the hits that are listed
	Second   bool  `json:"second,omitempty"` // the fields below decide the second stage
	Ranked   int   `json:"ranked,omitempty"` // so many of Share.Top are among the best candidates of all
	Read     int   `json:"read,omitempty"`   // and so many of these are read
	Latest   []int `json:"latest,omitempty"` // of each of these, its place in time among those that have about as much of the query, from 0; -1: it has less
	LatestOf int   `json:"latestOf,omitempty"`
	NotLast  bool  `json:"notLast,omitempty"` // another index has the best session, whose last word comes first

	Lost []Copied `json:"lost,omitempty"` // hits of Common that others have better or in older sessions
}

// LostEntries returns the number of hits that are left to others.
func (a *Agreed) LostEntries() int {
	if a == nil {
		return 0
	}
	return len(a.Lost)
}

// ranked returns how many of n candidates the second stage ranks.
func (a *Agreed) ranked(n int) int {
	if !a.Second {
		return n
	}
	return min(max(a.Ranked, 0), n)
}

// A Share is what an index says of its candidates to others.
type Share struct {
	Top         []Top   `json:"top,omitempty"`    // its best candidates of the first stage, in order
	Ranked      int     `json:"ranked"`           // so many of these it ranked in the second stage
	Read        int     `json:"read"`             // and so many of these it read
	WantsLatest bool    `json:"latest,omitempty"` // the query asks for the latest
	Best        float32 `json:"best,omitempty"`   // with WantsLatest: the best score, before the last word came first
	Last        bool    `json:"last,omitempty"`   // a last word did come first
	Agreed      bool    `json:"agreed,omitempty"` // it is what was agreed on
}

// Top is one of the best candidates of the first stage.
type Top struct {
	Place
	Share float64 `json:"share,omitempty"` // of the query that it has, with WantsLatest
	Size  int     `json:"size,omitempty"`  // of its entry, if that was read
}

// shareOf returns what others are told of the best candidates, some of which are ranked.
func (s *search) shareOf(top []*Candidate, ranked int) *Share {
	x := &Share{Ranked: ranked, WantsLatest: s.plan.WantsLatest, Agreed: s.opt.Agreed.Second}
	for _, c := range top {
		t := Top{Place: s.placeOf(c)}
		if x.WantsLatest {
			t.Share = s.weightOf(c.mask)
		}
		x.Top = append(x.Top, t)
	}
	return x
}

// Agree returns for each of several indexes what all together decide of the second stage.
func Agree(least Level, shares []*Share) []Agreed {
	type candidate struct {
		*Top
		index, number int
	}
	var all []candidate
	agreed := make([]Agreed, len(shares))
	latest := false
	for i, s := range shares {
		agreed[i] = Agreed{Least: least, Second: true}
		if s == nil {
			continue
		}
		latest = latest || s.WantsLatest
		for k := range s.Top[:min(len(s.Top), rerankCandidates)] {
			all = append(all, candidate{&s.Top[k], i, k})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.Compare(&b.Place, Relevance) })
	all = all[:min(len(all), rerankCandidates)]
	budget := rerankBytes
	for batch := range slices.Chunk(all, rerankBatch) {
		read := budget > 0
		for _, c := range batch {
			a := &agreed[c.index]
			if a.Ranked++; read {
				a.Read = a.Ranked
				budget -= min(max(c.Size, 0), rerankBytes)
			}
		}
	}
	if !latest {
		return agreed
	}
	most := 0.0
	for i, c := range all {
		most = max(most, c.Share)
		agreed[c.index].Latest = append(agreed[c.index].Latest, -1)
		all[i].number = len(agreed[c.index].Latest) - 1
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return c.Share < latestShare*most })
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.Newest, b.Newest), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Part, b.Part))
	})
	for n, c := range all {
		agreed[c.index].Latest[c.number] = n
	}
	for i := range agreed {
		agreed[i].LatestOf = len(all)
	}
	return agreed
}

// Sum adds up the counts of several indexes. Of what they list it takes their word.
func (o *Options) Sum(list []Counts) (n Counts) {
	for i := range list {
		m := &list[i]
		n.Total += max(m.Total, 0)
		n.TotalAny += max(m.TotalAny, 0)
		n.Parts += max(m.Parts, 0)
		n.Weighty += max(m.Weighty, 0)
		n.Listed += max(m.Listed, 0)
		n.TotalSessions += max(m.TotalSessions, 0)
		n.ListedSessions += max(m.ListedSessions, 0)
		n.Inexact = n.Inexact || m.Inexact
	}
	n.Weak = o.weak(&n)
	return n
}

// lists returns how many hits are listed from a level on.
func (n *Counts) lists(least Level) int {
	switch least {
	case LevelWhole:
		return n.Total
	case LevelParts:
		return n.Total + n.Parts
	case LevelWeighty:
		return n.Weighty
	}
	return n.TotalAny
}

// Lists reports whether what an index lists is what all list from a level on.
func (n *Counts) Lists(least Level) bool { return n.lists(least) == n.Listed }

// A Place is where a candidate stands among those of several indexes, which are ordered as
// those of one.
type Place struct {
	Score  float32 `json:"score"`
	Time   int64   `json:"time,omitempty" wire:"signed"`   // of its entry, in Unix milliseconds; only in an order by time
	Newest int64   `json:"newest,omitempty" wire:"signed"` // entry of its file, in Unix milliseconds
	Path   string  `json:"path" wire:"exact"`              // of its file
	Offset int64   `json:"offset"`
	Part   int32   `json:"part"`
}

// Place returns the place of a candidate.
func (r *Result) Place(c *Candidate) (Place, error) {
	s := r.s
	p := s.placeOf(c)
	if s.opt.Sort == Relevance {
		return p, s.err()
	}
	list, err := s.withTimes([]*Candidate{c})
	if err != nil {
		return p, err
	}
	p.Time = list[0].at
	return p, s.err()
}

// placeOf returns the place of a candidate, without its time.
func (s *snapshot) placeOf(c *Candidate) Place {
	s.resolve(c)
	p := Place{Score: c.score, Path: s.summary(c.file).Path, Offset: c.offset, Part: c.part}
	if newest := s.files[c.file].newest; !newest.IsZero() {
		p.Newest = newest.UnixMilli()
	}
	return p
}

// Compare orders places as the candidates of one index.
func (p *Place) Compare(o *Place, order Sort) int {
	if order != Relevance {
		sign := order.sign()
		return cmp.Or(cmp.Compare(sign*p.Time, sign*o.Time), cmp.Compare(p.Path, o.Path), cmp.Compare(sign*p.Offset, sign*o.Offset), cmp.Compare(p.Part, o.Part))
	}
	if p.Score != o.Score || p.Path != o.Path {
		return cmp.Or(cmp.Compare(o.Score, p.Score), cmp.Compare(o.Newest, p.Newest), cmp.Compare(p.Path, o.Path))
	}
	return cmp.Or(cmp.Compare(o.Offset, p.Offset), cmp.Compare(p.Part, o.Part))
}

// NewestOf returns the newest entry of the file that stands for a session, in Unix
// milliseconds, and the path of the file.
func (r *Result) NewestOf(x *Session) (newest int64, path string) {
	f := &r.s.files[x.File]
	if !f.newest.IsZero() {
		newest = f.newest.UnixMilli()
	}
	return newest, r.s.summary(int32(x.File)).Path
}

// IsOpen reports whether the query is an open question.
func (r *Result) IsOpen() bool { return r.s.plan.IsOpen }

// Common returns the hits in entries of Input.Common.
func (r *Result) Common() []Common { return r.s.common.list() }

// Share returns what the index says of its candidates to others, with Options.Part.
func (r *Result) Share() *Share { return r.s.share }
