package record

import (
	"maps"
	"slices"
	"sync"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// FactSet holds the facts of many files. Once everything is added, it may be used by
// several goroutines.
type FactSet struct {
	kinds []FactKind
	mu    sync.Mutex
	files map[uint32]map[string]*Piece // by the name of the piece
}

// Piece is the facts of a piece of a file, as far as they are of the kinds that were
// asked for. They are columns, read in place.
type Piece struct {
	Usages  Usages
	Calls   Calls
	Details Details
	Touches Touches
}

// NewFactSet returns an empty set for these kinds of facts.
func NewFactSet(kinds ...FactKind) *FactSet {
	return &FactSet{kinds: kinds, files: make(map[uint32]map[string]*Piece)}
}

// Add adds a stored piece of a file, whose memory the set keeps. It may be called
// by several goroutines.
func (s *FactSet) Add(kind FactKind, file uint32, name string, stored []byte) error {
	var read Piece
	if err := read.decode(kind, stored); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pieces := s.files[file]
	if pieces == nil {
		pieces = make(map[string]*Piece)
		s.files[file] = pieces
	}
	p := pieces[name]
	if p == nil {
		p = &Piece{}
		pieces[name] = p
	}
	switch kind {
	case UsageFacts:
		p.Usages = read.Usages
	case CallFacts:
		p.Calls = read.Calls
	case DetailFacts:
		p.Details, p.Touches = read.Details, read.Touches
	}
	return nil
}

// Has reports whether the set has facts of a file.
func (s *FactSet) Has(file uint32) bool { return len(s.files[file]) > 0 }

// Pieces returns the pieces of a file that count, in order.
func (s *FactSet) Pieces(file uint32) ([]*Piece, error) {
	stored := s.files[file]
	var list []*Piece
	if tail, ok := stored[Tail]; ok {
		list = []*Piece{tail}
	} else {
		for _, name := range slices.Sorted(maps.Keys(stored)) {
			list = append(list, stored[name])
		}
	}
	if slices.Contains(s.kinds, CallFacts) && slices.Contains(s.kinds, DetailFacts) {
		for _, p := range list {
			if p.Calls.Len != p.Details.Len {
				return nil, format.Damaged("session facts: the details are of others")
			}
		}
	}
	return list, nil
}

// Facts returns the facts of a file, an unterminated last line included. Those of kinds
// that the set does not have are left out.
func (s *FactSet) Facts(file uint32) (*session.Facts, error) {
	pieces, err := s.Pieces(file)
	if err != nil {
		return nil, err
	}
	f := &session.Facts{}
	for _, p := range pieces {
		f.Usages = p.Usages.appendTo(f.Usages)
		f.Calls = p.Calls.appendTo(f.Calls, &p.Details)
		f.Touches = p.Touches.appendTo(f.Touches)
	}
	return f, nil
}
