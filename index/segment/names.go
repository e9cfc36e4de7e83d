package segment

// Methods under their old names, for package query until it uses the new ones.
// Nothing else may use them.

// Place is PostingsOffset.
func (s *Segment) Place(f Field, term []byte) (PostingsOffset, error) {
	return s.PostingsOffset(f, term)
}

// MayBeCopy is PossibleDuplicates.
func (s *Segment) MayBeCopy() []uint64 { return s.PossibleDuplicates() }

// Copies is EntryHashes.
func (s *Segment) Copies(docs []uint32, visit func(doc uint32, hash uint64)) error {
	return s.EntryHashes(docs, visit)
}

// Similar is Typos.
func (s *Segment) Similar(f Field, term []byte, visit func(term []byte)) error {
	return s.Typos(f, term, visit)
}

// Of is File.
func (r FileRuns) Of(doc uint32) uint32 { return r.File(doc) }
