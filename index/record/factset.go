package record

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// FactSet holds the facts of many files, encoded, and decodes them file by file.
// Once everything is added, it may be used by several goroutines.
type FactSet struct {
	parts          FactParts
	mu             sync.Mutex
	facts, details map[uint32]pieces // by file
}

// pieces are the stored facts of a file by name.
type pieces map[string]string

// FactParts are the parts of facts to decode.
type FactParts uint8

// The parts of facts. FactDetails are those of calls, and include these.
const (
	FactUsages FactParts = 1 << iota
	FactCalls
	FactDetails
)

// NewFactSet returns an empty set for these parts of facts.
func NewFactSet(parts FactParts) *FactSet {
	if parts&FactDetails != 0 {
		parts |= FactCalls
	}
	return &FactSet{parts: parts, facts: make(map[uint32]pieces), details: make(map[uint32]pieces)}
}

// Kinds lists the kinds of pieces that must be added.
func (s *FactSet) Kinds() []FactKind {
	if s.parts&FactDetails != 0 {
		return FactKinds[:]
	}
	return FactKinds[:1]
}

// Add adds a stored piece of a file, whose memory the set keeps. It may be called
// by several goroutines.
func (s *FactSet) Add(kind FactKind, file uint32, piece string, stored []byte) error {
	text, err := openPiece(stored)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.facts
	if kind == Details {
		m = s.details
	}
	if m[file] == nil {
		m[file] = make(pieces)
	}
	m[file][piece] = text
	return nil
}

// Has reports whether the set has facts of a file.
func (s *FactSet) Has(file uint32) bool { return len(s.facts[file]) > 0 }

// Piece is the facts of a piece of a file.
type Piece struct {
	File   int // index of the file in the list
	Number int // of the first call of the piece, among all calls of the file
	*session.Facts
}

// All decodes the facts of files in this order, piece by piece. A piece is valid until
// the next one. A goroutine, which ends with the loop, decodes ahead.
func (s *FactSet) All(files []uint32) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		const ahead = 2
		type decoded struct {
			Piece
			err error
		}
		spare, ready, stop := make(chan *session.Facts, ahead+1), make(chan decoded, ahead+1), make(chan struct{})
		defer close(stop)
		for range ahead + 1 {
			spare <- &session.Facts{}
		}
		go func() {
			defer close(ready)
			for i, file := range files {
				number := 0
				for _, piece := range s.pieces(file) {
					select {
					case f := <-spare:
						reset(f)
						err := s.decode(file, piece, f)
						ready <- decoded{Piece{i, number, f}, err} // there is room for all that are not spare
						number += len(f.Calls)
					case <-stop:
						return
					}
				}
			}
		}()
		for d := range ready {
			if !yield(d.Piece, d.err) {
				return
			}
			spare <- d.Facts
		}
	}
}

// Decode decodes the facts of a file, an unterminated last line included, into f, whose
// memory it uses again. Files and parts that the set does not have are left out.
func (s *FactSet) Decode(file uint32, f *session.Facts) error {
	reset(f)
	for _, piece := range s.pieces(file) {
		if err := s.decode(file, piece, f); err != nil {
			return err
		}
	}
	return nil
}

func reset(f *session.Facts) {
	*f = session.Facts{Usages: f.Usages[:0], Calls: f.Calls[:0], Touches: f.Touches[:0]}
}

// pieces lists the names of the pieces of a file that count, in order.
func (s *FactSet) pieces(file uint32) []string {
	facts := s.facts[file]
	if _, ok := facts[Tail]; ok {
		return []string{Tail}
	}
	return slices.Sorted(maps.Keys(facts))
}

// decode appends a piece to the facts.
func (s *FactSet) decode(file uint32, piece string, f *session.Facts) error {
	from := len(f.Calls)
	if err := decodeFacts(s.facts[file][piece], f, s.parts); err != nil {
		return err
	}
	if s.parts&FactDetails == 0 {
		return nil
	}
	details, ok := s.details[file][piece]
	if !ok {
		return format.Damaged("session facts: the details are missing")
	}
	return decodeDetails(details, f, from)
}
