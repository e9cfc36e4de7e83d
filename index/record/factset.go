package record

import (
	"bytes"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// FactSet knows the facts of many files, and reads them piece by piece. Once everything
// is added, it may be used by several goroutines.
type FactSet struct {
	kinds []FactKind
	mu    sync.Mutex
	files [][]storedPiece // by file, ordered by name, the tail last
	bytes atomic.Int64    // as of Read
}

// Stored reads the stored form of a piece, into the given memory if it fits.
type Stored func(memory []byte) ([]byte, error)

type storedPiece struct {
	name string
	read [len(FactKinds)]Stored // by the index of the kind; nil where there are no facts
}

// Piece is the facts of a piece of a file, as far as they are of the kinds that were
// asked for. They are columns, and their strings are parts of its memory.
type Piece struct {
	File  int // index of the file in the list
	Index int // of the piece, among those of the file

	Usages  Usages
	Calls   Calls
	Details Details
	Touches Touches

	Bare Bare

	memory [len(FactKinds)][]byte // by the index of the kind
	lists  []string               // memory of the lists of names
	pooled bool                   // the memory is used again
}

// NewFactSet returns an empty set for these kinds of facts.
func NewFactSet(kinds ...FactKind) *FactSet {
	return &FactSet{kinds: kinds}
}

// Add adds a piece of a file. It may be called by several goroutines.
func (s *FactSet) Add(kind FactKind, file uint32, name string, read Stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := int(file) + 1; n > len(s.files) {
		s.files = slices.Grow(s.files, n-len(s.files))[:n]
	}
	pieces := s.files[file]
	i, found := slices.BinarySearchFunc(pieces, name, func(p storedPiece, name string) int {
		return strings.Compare(p.name, name)
	})
	if !found {
		pieces = slices.Insert(pieces, i, storedPiece{name: name})
		s.files[file] = pieces
	}
	pieces[i].read[slices.Index(s.kinds, kind)] = read
}

// leastRead is how many bytes the facts of a piece count at least.
const leastRead = 2 << 10

// Read returns about how many bytes of segments were read.
func (s *FactSet) Read() int64 { return s.bytes.Load() }

// Pieces returns the number of pieces of a file that count.
func (s *FactSet) Pieces(file uint32) int { return len(s.pieces(file)) }

// stored returns all pieces of a file, those that do not count included.
func (s *FactSet) stored(file uint32) []storedPiece {
	if int(file) >= len(s.files) {
		return nil
	}
	return s.files[file]
}

// pieces returns the pieces of a file that count, in order.
func (s *FactSet) pieces(file uint32) []storedPiece {
	list := s.stored(file)
	if last := len(list) - 1; last >= 0 && list[last].name == Tail {
		return list[last:]
	}
	return list
}

// A reading says which kinds of facts of a piece are read.
type reading func(FactKind) bool

// allFacts reads all kinds but Bare, which follows from the others; countedFacts reads those that count calls.
func allFacts(kind FactKind) bool     { return kind != BareFacts }
func countedFacts(kind FactKind) bool { return kind == UsageFacts || kind == CallFacts }

// read reads a piece into p, whose memory it uses again.
func (s *FactSet) read(stored *storedPiece, p *Piece, r reading) error {
	*p = Piece{File: p.File, Index: p.Index, memory: p.memory, lists: p.lists[:0], pooled: p.pooled}
	for i, kind := range s.kinds {
		if stored.read[i] == nil || !r(kind) {
			continue
		}
		if p.memory[i] == nil && p.pooled {
			p.memory[i] = make([]byte, pieceSize)
		}
		b, err := stored.read[i](p.memory[i])
		if err != nil {
			return err
		}
		s.bytes.Add(int64(max(len(b), leastRead)))
		p.memory[i] = b
		if err := p.decode(kind, b); err != nil {
			return err
		}
	}
	has := func(kind FactKind) bool { return r(kind) && slices.Contains(s.kinds, kind) }
	if has(CallFacts) && has(DetailFacts) && p.Calls.Len != p.Details.Len {
		return format.Damaged("session facts: the details belong to other facts")
	}
	return nil
}

// job is a piece to read.
type job struct {
	file   int
	index  int // of the piece, among those of the file
	stored *storedPiece
}

// batch is some pieces that are read together, because handing over each would take as
// long as reading it.
type batch struct {
	jobs   []job
	pieces [batchSize]Piece
	errs   [batchSize]error
	ready  chan struct{}
}

const batchSize = 4

// pieceSize has room for most pieces. Of the bytes, those that are not used are never
// touched, and so cost nothing.
const pieceSize = 64 << 10

// All reads the facts of files in this order, piece by piece, unterminated last lines
// included. A piece is valid until the next one, and so are its strings. Goroutines,
// which end with the loop, read ahead.
func (s *FactSet) All(files []uint32) iter.Seq2[*Piece, error] {
	return s.each(files, allFacts)
}

// WithoutDetails is All without DetailFacts, which are most of the bytes.
func (s *FactSet) WithoutDetails(files []uint32) iter.Seq2[*Piece, error] {
	return s.each(files, countedFacts)
}

// Bare has which entries of the files have no documents.
func (s *FactSet) Bare(files []uint32) iter.Seq2[*Piece, error] {
	return s.each(files, func(kind FactKind) bool { return kind == BareFacts })
}

// jobs returns the pieces of files that have something to read, in this order.
func (s *FactSet) jobs(files []uint32, how reading) (jobs []job) {
	for i, file := range files {
		pieces := s.pieces(file)
		for k := range pieces {
			for n, kind := range s.kinds {
				if stored := &pieces[k]; stored.read[n] != nil && how(kind) {
					jobs = append(jobs, job{i, k, stored})
					break
				}
			}
		}
	}
	return jobs
}

func (s *FactSet) each(files []uint32, how reading) iter.Seq2[*Piece, error] {
	return func(yield func(*Piece, error) bool) {
		jobs := s.jobs(files, how)
		batches := make([]batch, 2*runtime.GOMAXPROCS(0))
		var working sync.WaitGroup
		defer working.Wait()
		begin := func(b *batch) {
			n := min(len(jobs), batchSize)
			b.jobs, jobs = jobs[:n], jobs[n:]
			working.Go(func() {
				for i, job := range b.jobs {
					b.pieces[i].File, b.pieces[i].Index, b.pieces[i].pooled = job.file, job.index, true
					b.errs[i] = s.read(job.stored, &b.pieces[i], how)
				}
				b.ready <- struct{}{}
			})
		}
		for i := range batches {
			batches[i].ready = make(chan struct{}, 1)
			begin(&batches[i])
		}
		for i := 0; ; i++ {
			b := &batches[i%len(batches)]
			<-b.ready
			if len(b.jobs) == 0 {
				return
			}
			for k := range b.jobs {
				if !yield(&b.pieces[k], b.errs[k]) {
					return
				}
			}
			begin(b)
		}
	}
}

// Facts reads the facts of a file, including those of an unterminated last line. It
// returns only the kinds that the set was made for.
func (s *FactSet) Facts(file uint32) (*session.Facts, error) {
	f := &session.Facts{}
	pieces := s.pieces(file)
	for i := range pieces {
		if err := s.appendPiece(&pieces[i], f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// PieceFacts is Facts of one piece, with its Piece.Index.
func (s *FactSet) PieceFacts(file uint32, index int) (*session.Facts, error) {
	f := &session.Facts{}
	return f, s.appendPiece(&s.pieces(file)[index], f)
}

// appendPiece adds the facts of a piece to those of its file.
func (s *FactSet) appendPiece(stored *storedPiece, f *session.Facts) error {
	var p Piece // not used again: the facts share its memory
	if err := s.read(stored, &p, allFacts); err != nil {
		return err
	}
	p.appendTo(f)
	return nil
}

func (p *Piece) appendTo(f *session.Facts) {
	f.Usages = p.Usages.appendTo(f.Usages)
	f.Calls = p.Calls.appendTo(f.Calls, &p.Details)
	f.Touches = p.Touches.appendTo(f.Touches)
}

// BareFit reports whether the stored Bare of each piece of a file follows from the facts of the piece.
// That includes pieces that do not count because a tail replaces them. The set must have been made for
// all kinds.
func (s *FactSet) BareFit(file uint32) (bool, error) {
	at := slices.Index(s.kinds, BareFacts)
	pieces := s.stored(file)
	for i := range pieces {
		var p Piece
		if err := s.read(&pieces[i], &p, allFacts); err != nil {
			return false, err
		}
		var f session.Facts
		p.appendTo(&f)
		var stored []byte
		if read := pieces[i].read[at]; read != nil {
			var err error
			if stored, err = read(nil); err != nil {
				return false, err
			}
		}
		if !bytes.Equal(stored, EncodeFacts(BareFacts, &f)) {
			return false, nil
		}
	}
	return true, nil
}
