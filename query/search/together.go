package search

import (
	"slices"

	"pigrep/index"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
)

// Among is the part of a request that several indexes answer, each on its own.
type Among struct {
	Together bool     `json:",omitempty"` // the answer has the data for joining it with others
	Without  []uint64 `json:",omitempty"` // for tables: the session.Summary.Identity of sessions that another index answers for
}

// IsWithout reports whether another index answers for a session.
func (a *Among) IsWithout(identity uint64) bool {
	return len(a.Without) > 0 && slices.Contains(a.Without, identity)
}

// A Tally is what a response to a request with Together has besides its hits.
type Tally struct {
	Counts   Counts
	Open     bool          `json:",omitempty"` // the query is an open question
	Unknown  []string      `json:",omitempty"` // warnings that hold only if no index has a hit
	Words    *words.Rarity `json:",omitempty"` // of the query, in the index
	Sessions []Counted     `json:",omitempty"` // sessions with hits, if they have an id

	Hits   []rank.Place `json:",omitempty"` // the places of the hits of the response
	Listed []rank.Place `json:",omitempty"` // the places of its sessions; their Copy is session.Summary.Identity
}

// Counted says how many hits of each level a session has, the worst level first.
type Counted struct {
	ID   uint64               `json:"i"` // as of session.Summary.Identity
	Hits [rank.LevelWhole]int `json:"n"`
}

// Held says that an index has a session, and how much of it.
type Held struct {
	ID   uint64 `json:"i"` // as of session.Summary.Identity
	Size int64  `json:"n"`
}

// HeldBy returns the sessions of an index that have an id.
func HeldBy(r *index.Reader) (list []Held) {
	for i, s := range r.Beginnings() {
		if id := s.Identity(); id != 0 && !s.Notes {
			list = append(list, Held{id, r.Table().Checkpoint(i).Length})
		}
	}
	return list
}

// Identities is the set of sessions that were counted, by session.Summary.Identity.
type Identities map[uint64]bool

// Again counts sessions, and returns how many of them were counted before.
func (c Identities) Again(ids []uint64) (n int) {
	for _, id := range ids {
		if id != 0 && c[id] {
			n++
		}
		c[id] = true
	}
	return n
}

// Rescale returns a function that makes places comparable (see rank.Rescale), given how rare the words of
// the request are in all indexes; nil if the request cannot be compiled.
func (r *Request) Rescale(all *words.Rarity) func(*rank.Place) {
	q, err := r.compile(r.Text)
	if err != nil {
		return nil
	}
	return rank.Rescale(q.WeighedBy(all), r.AllWords)
}

func newTally(r *index.Reader, found *rank.Result, bySession bool) *Tally {
	t := &Tally{Counts: found.Counts, Open: found.IsOpen()}
	if !bySession {
		return t
	}
	t.Words = found.Rarity()
	for i, of := range r.Beginnings() {
		if hits := found.HitsOf(i); hits != (Counted{}).Hits && of.ID != "" {
			t.Sessions = append(t.Sessions, Counted{of.Identity(), hits})
		}
	}
	return t
}
