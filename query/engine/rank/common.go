package rank

import (
	"cmp"
	"time"

	"pigrep/internal/session"
)

// Copied names the copies of a part in several indexes.
type Copied struct {
	Copy uint64 `json:"copy"` // as of session.Entry
	Part int32  `json:"part"`
}

// Common has the hits of a session in entries that other indexes have too. These hits are copies
// of each other: one of them counts, as of duplicates in one index.
type Common struct {
	Started time.Time   `json:"started,omitzero"` // as the header of the session says
	Path    string      `json:"path" wire:"exact"`
	Hits    []CommonHit `json:"hits"`
}

// CommonHit is a hit of Common.
type CommonHit struct {
	Copied
	Level Level `json:"level"`
}

// Compare orders copies of a part, the one that counts first.
func (a *Common) Compare(level Level, b *Common, other Level) int {
	return cmp.Or(cmp.Compare(other, level), session.CompareStarts(a.Started, b.Started), cmp.Compare(a.Path, b.Path))
}

// commons collects them.
type commons struct {
	copies map[uint64]bool
	lost   map[Copied]bool
	byFile map[int32]int // index in all
	all    []Common
}

func newCommons(copies map[uint64]bool, lost []Copied) *commons {
	x := &commons{copies: copies, lost: make(map[Copied]bool), byFile: make(map[int32]int)}
	for _, c := range lost {
		x.lost[c] = true
	}
	return x
}

func (x *commons) has(c *Candidate) bool { return x != nil && x.copies[c.copy] }

func (x *commons) list() []Common {
	if x == nil {
		return nil
	}
	return x.all
}

// note takes a hit, and reports whether it is left to another index.
func (x *commons) note(s *snapshot, c *Candidate, level Level) bool {
	at, ok := x.byFile[c.file]
	if !ok {
		at = len(x.all)
		x.byFile[c.file] = at
		x.all = append(x.all, Common{Started: s.files[c.file].started, Path: s.summary(c.file).Path})
	}
	part := Copied{c.copy, c.part}
	x.all[at].Hits = append(x.all[at].Hits, CommonHit{part, level})
	return x.lost[part]
}
