package audit

import "math/bits"

// entrySet is a set of entries by session.Entry.Copy, which duplicates share.
// It is an open hash table.
type entrySet struct {
	slots []uint64 // 0 is free
	used  int
}

// add adds an entry, and reports whether the set did not contain it.
func (s *entrySet) add(copy uint64) bool {
	if 2*s.used >= len(s.slots) {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	for i := copy & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case 0:
			s.slots[i] = copy
			s.used++
			return true
		case copy:
			return false
		}
	}
}

// grow enlarges the table; the first one has 16,384 slots, a power of two.
func (s *entrySet) grow() {
	old := s.slots
	s.slots, s.used = make([]uint64, max(1<<14, 4*len(old))), 0
	for _, c := range old {
		if c != 0 {
			s.add(c)
		}
	}
}

// entryBits says which entries a set may have, by a bit for several of them. It fits
// into a cache where an entrySet of all entries does not: without it, duplicates are
// half of the time of usage over 1 GB of session files.
type entryBits struct {
	bits  []uint64
	shift int
}

// newEntryBits returns an empty set with four bits for each of n entries.
func newEntryBits(n int) entryBits {
	log := max(6, bits.Len(uint(4*n-1)))
	return entryBits{make([]uint64, 1<<(log-6)), 64 - log}
}

// add adds an entry, and reports whether the set may have had it.
func (b *entryBits) add(copy uint64) bool {
	i := copy >> b.shift
	word, bit := &b.bits[i/64], uint64(1)<<(i%64)
	had := *word&bit != 0
	*word |= bit
	return had
}

// has reports whether the set may have an entry.
func (b *entryBits) has(copy uint64) bool {
	i := copy >> b.shift
	return b.bits[i/64]>>(i%64)&1 != 0
}

// firsts recognizes the first of the entries that are duplicates of one another.
type firsts struct {
	noted, repeated entryBits
	seen            entrySet // of those that may be repeated
	last            struct { // of these: the one that was asked for
		copy   uint64
		file   int
		offset int64
		first  bool
	}
}

// expect prepares for mayRepeat: each of n entries must be noted before the first is
// asked for.
func (c *firsts) expect(n int) { c.noted, c.repeated = newEntryBits(n), newEntryBits(n) }

func (c *firsts) note(copy uint64) {
	if copy != 0 && c.noted.add(copy) {
		c.repeated.add(copy)
	}
}

// came notes an entry of which a duplicate came before all others.
func (c *firsts) came(copy uint64) {
	c.noted.add(copy)
	c.repeated.add(copy)
	c.seen.add(copy)
}

// mayRepeat reports whether an entry may have duplicates.
func (c *firsts) mayRepeat(copy uint64) bool { return c.repeated.has(copy) }

// isFirst reports whether no duplicate of the entry at an offset came before. Nobody need
// ask for those that cannot have duplicates. All
// facts of one entry must be asked for one after another: they get the same answer.
func (c *firsts) isFirst(copy uint64, file int, offset int64) bool {
	if copy == 0 {
		return true
	}
	if l := &c.last; l.copy != copy || l.file != file || l.offset != offset {
		l.copy, l.file, l.offset, l.first = copy, file, offset, c.seen.add(copy)
	}
	return c.last.first
}

// orphans recognizes results whose call is in the session that a fork was made of: the
// fork copied the result only.
type orphans struct {
	noted entryBits // all results without a call
	seen  entrySet  // of these: those that came before, with a call or without
}

// note announces a result without a call of at most n; each must be noted before the
// first is asked for.
func (o *orphans) note(copy uint64, n int) {
	if o.noted.bits == nil {
		o.noted = newEntryBits(n)
	}
	o.noted.add(copy)
}

// exist reports whether there are any. If not, answers need not be recorded.
func (o *orphans) exist() bool { return o.noted.bits != nil }

// answer records the result of a call.
func (o *orphans) answer(copy uint64) {
	if copy != 0 && o.noted.has(copy) {
		o.seen.add(copy)
	}
}

// isFirst reports whether no duplicate of a result without a call came before.
func (o *orphans) isFirst(copy uint64) bool { return copy == 0 || o.seen.add(copy) }
