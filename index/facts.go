package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"pigrep/internal/session"
)

// The facts of a session file are stored beside its record, in pieces of
// session.FactsChunk: of each piece what counting needs, and apart from it the
// details. Searching reads neither. The ids are
//
//	f:<file>:<piece>  g:<file>:<piece>  facts and details as of the checkpoint
//	f:<file>:tail     g:<file>:tail     all of them with an unterminated last line
//
// the latter when there is such a line; then they count. Each value is uint
// SchemaVersion, what follows, and the checksum. The facts:
//
//	uint    number of distinct strings, then these: sources, models, tools, programs
//	string  the uses of tokens
//	string  the calls
//
// of which the first is
//
//	uint    number of uses, then for each (numbers relative to the one before):
//	        int offset, int time, fixed copy, uint flags, uint source, uint model,
//	        uint input, output, cache read, cache write, fixed cost unless a flag says none
//
// and the second
//
//	uint    number of programs of all calls
//	uint    number of calls, then for each (offset and time relative to the one before):
//	        uint flags, int offset, int time, fixed copy unless the offset is the same,
//	        uint 1+part, uint tool, uint model, uint bytes,
//	        int result relative to the offset and fixed copy of it when flagged,
//	        int exit, uint duration, uint rules, uint number of programs and these, each when flagged
//
// The details:
//
//	uint    number of distinct strings, then these: paths
//	uint    number of calls, then for each:
//	        uint flags, string line, string id and uint number of paths and these, each when flagged
//	uint    number of files that summaries list, then for each (relative to the one before):
//	        int offset, int time, fixed copy, uint path, uint written
const (
	usageUnusable = 1 << iota
	usageFree
)

const (
	callKindMask  = 1<<2 - 1
	callHasResult = 1 << (iota + 1)
	callFailed
	callBroken
	callElsewhere // the result is in another entry
	callExit
	callDuration
	callRules
	callPrograms
)

const (
	detailCut = 1 << iota
	detailShell
	detailID
	detailPaths
)

const (
	minUsageLen  = 17 // of what is encoded, in bytes
	minCallLen   = 7
	minDetailLen = 2
	minTouchLen  = 12
)

// names numbers the distinct strings of an encoding.
type names struct {
	list   []string
	number map[string]uint64
}

func (n *names) of(s string) uint64 {
	if i, ok := n.number[s]; ok {
		return i
	}
	if n.number == nil {
		n.number = make(map[string]uint64)
	}
	i := uint64(len(n.list))
	n.number[s] = i
	n.list = append(n.list, s)
	return i
}

// The kinds of ids, and the last element of the id of what includes a tail.
const (
	factsKind   = "f"
	detailsKind = "g"
	tailPiece   = "tail"
)

func factsID(kind string, file uint32, piece string) string {
	return fmt.Sprintf("%s:%06x:%s", kind, file, piece)
}

// factTails lists the ids of facts with an unterminated last line.
func factTails(file uint32) []string {
	return []string{factsID(factsKind, file, tailPiece), factsID(detailsKind, file, tailPiece)}
}

// factKinds lists the kinds.
var factKinds = [...]string{factsKind, detailsKind}

// factIDs is the range of the facts of a kind of a file.
func factIDs(kind string, file uint32) idRange {
	return idRange{factsID(kind, file, ""), fmt.Sprintf("%s:%06x;", kind, file)}
}

// allFactIDs is the range of the facts of a kind of all files.
func allFactIDs(kind string) idRange { return idRange{kind + ":", kind + ";"} }

// putFacts stores the pieces of the facts that are not stored yet, and with an
// unterminated last line all of them.
func (b *Batch) putFacts(base, full *session.Record) {
	put := func(file uint32, piece string, f *session.Facts) {
		for _, kind := range factKinds {
			encode := appendFacts
			if kind == detailsKind {
				encode = appendDetails
			}
			id := factsID(kind, file, piece)
			b.builder.put(id, seal(encode(appendUint(nil, SchemaVersion), f)))
			b.change(file).stored = append(b.change(file).stored, id)
		}
	}
	if full != nil && full.Facts.Chunks() > 0 {
		put(full.File, tailPiece, full.Facts)
	}
	for i := range base.Facts.Chunks() {
		if !base.Facts.IsStored(i) {
			put(base.File, fmt.Sprintf("%06x", i), base.Facts.Chunk(i))
		}
	}
	if base.Facts != nil {
		base.Facts.Stored()
	}
}

// openFacts returns what is in a stored value.
func openFacts(b []byte) (string, error) {
	s, ok := unseal(b)
	if !ok {
		return "", damaged("session facts: wrong checksum")
	}
	d := &decoder{s: s}
	if v := d.uint(); v != SchemaVersion || d.bad {
		if d.bad {
			return "", damaged("session facts: unreadable")
		}
		return "", versionError(v)
	}
	return s[d.pos:], nil
}

func appendFacts(b []byte, f *session.Facts) []byte {
	var table names
	programs := 0
	for i := range f.Usages {
		table.of(f.Usages[i].Source)
		table.of(f.Usages[i].Model)
	}
	for i := range f.Calls {
		table.of(f.Calls[i].Tool)
		table.of(f.Calls[i].Model)
		programs += len(f.Calls[i].Programs)
		for _, p := range f.Calls[i].Programs {
			table.of(p)
		}
	}
	b = appendStrings(b, table.list)
	b = appendString(b, string(appendUsages(nil, f.Usages, &table)))
	return appendString(b, string(appendCalls(nil, f.Calls, programs, &table)))
}

func appendUsages(b []byte, list []session.UsageFact, table *names) []byte {
	b = appendUint(b, uint64(len(list)))
	offset, at := int64(0), int64(0)
	for i := range list {
		u := &list[i]
		b = appendInt(b, u.Offset-offset)
		b = appendInt(b, u.Time-at)
		offset, at = u.Offset, u.Time
		b = binary.LittleEndian.AppendUint64(b, u.Copy)
		flags := uint64(0)
		if u.Unusable {
			flags |= usageUnusable
		}
		if u.Cost == 0 {
			flags |= usageFree
		}
		b = appendUint(b, flags)
		b = appendUint(b, table.of(u.Source))
		b = appendUint(b, table.of(u.Model))
		for _, n := range [...]int64{u.Input, u.Output, u.CacheRead, u.CacheWrite} {
			b = appendUint(b, uint64(n))
		}
		if u.Cost != 0 {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(u.Cost))
		}
	}
	return b
}

func appendCalls(b []byte, list []session.CallFact, programs int, table *names) []byte {
	b = appendUint(b, uint64(programs))
	b = appendUint(b, uint64(len(list)))
	offset, at := int64(-1), int64(0)
	for i := range list {
		c := &list[i]
		flags := uint64(c.Kind)
		set := func(flag uint64, on bool) {
			if on {
				flags |= flag
			}
		}
		set(callHasResult, c.HasResult)
		set(callFailed, c.Failed)
		set(callBroken, c.Broken)
		set(callElsewhere, c.HasResult && c.Result != c.Offset)
		set(callExit, c.Exit != session.Unknown)
		set(callDuration, c.Duration != session.Unknown)
		set(callRules, c.Rules != 0)
		set(callPrograms, len(c.Programs) > 0)
		b = appendUint(b, flags)
		b = appendInt(b, c.Offset-offset)
		b = appendInt(b, c.Time-at)
		if c.Offset != offset {
			b = binary.LittleEndian.AppendUint64(b, c.Copy)
		}
		offset, at = c.Offset, c.Time
		b = appendUint(b, uint64(c.Part+1))
		b = appendUint(b, table.of(c.Tool))
		b = appendUint(b, table.of(c.Model))
		b = appendUint(b, uint64(c.Bytes))
		if flags&callElsewhere != 0 {
			b = appendInt(b, c.Result-c.Offset)
			b = binary.LittleEndian.AppendUint64(b, c.ResultCopy)
		}
		if flags&callExit != 0 {
			b = appendInt(b, int64(c.Exit))
		}
		if flags&callDuration != 0 {
			b = appendUint(b, uint64(c.Duration))
		}
		if flags&callRules != 0 {
			b = appendUint(b, uint64(c.Rules))
		}
		if flags&callPrograms != 0 {
			b = appendUint(b, uint64(len(c.Programs)))
			for _, p := range c.Programs {
				b = appendUint(b, table.of(p))
			}
		}
	}
	return b
}

// decodeFacts adds the parts of what appendFacts made to the facts.
func decodeFacts(s string, f *session.Facts, parts FactParts) error {
	d := &decoder{s: s}
	table := d.strings()
	usages, calls := &decoder{s: d.string()}, &decoder{s: d.string()}
	if parts&FactUsages != 0 {
		usages.usages(f, table)
	} else {
		usages.pos = len(usages.s)
	}
	if parts&FactCalls != 0 {
		calls.calls(f, table)
	} else {
		calls.pos = len(calls.s)
	}
	for _, d := range []*decoder{d, usages, calls} {
		if d.bad || d.pos != len(d.s) {
			return damaged("session facts: unreadable")
		}
	}
	return nil
}

// named reads the number of a string of the table.
func (d *decoder) named(table []string) string {
	i := d.uint()
	if i >= uint64(len(table)) {
		d.fail()
		return ""
	}
	return table[i]
}

func (d *decoder) usages(f *session.Facts, table []string) {
	usages := grow(&f.Usages, d.items(minUsageLen))
	offset, at := int64(0), int64(0)
	for i := range usages {
		u := &usages[i]
		offset += d.int()
		at += d.int()
		u.Offset, u.Time = offset, at
		u.Copy = d.fixed()
		flags := d.uint()
		u.Unusable = flags&usageUnusable != 0
		u.Source, u.Model = d.named(table), d.named(table)
		u.Input, u.Output, u.CacheRead, u.CacheWrite = int64(d.uint()), int64(d.uint()), int64(d.uint()), int64(d.uint())
		u.Cost = 0
		if flags&usageFree == 0 {
			u.Cost = math.Float64frombits(d.fixed())
		}
		if d.bad {
			return
		}
	}
}

func (d *decoder) calls(f *session.Facts, table []string) {
	programs := make([]string, 0, d.items(1))
	calls := grow(&f.Calls, d.items(minCallLen))
	offset, at := int64(-1), int64(0)
	hash := uint64(0)
	for i := range calls {
		flags := d.uint()
		by := d.int()
		at += d.int()
		if offset += by; by != 0 {
			hash = d.fixed()
		}
		c := &calls[i]
		*c = session.CallFact{
			Offset: offset, Time: at, Copy: hash, Kind: session.CallKind(flags & callKindMask),
			Part: int(d.count()) - 1, Tool: d.named(table), Model: d.named(table), HasResult: flags&callHasResult != 0, Broken: flags&callBroken != 0,
			Outcome: session.Outcome{Failed: flags&callFailed != 0, Bytes: int64(d.uint()), Exit: session.Unknown, Duration: session.Unknown},
		}
		if c.HasResult {
			c.Result, c.ResultCopy = offset, hash
		}
		if flags&callElsewhere != 0 {
			c.Result = offset + d.int()
			c.ResultCopy = d.fixed()
		}
		if flags&callExit != 0 {
			c.Exit = int32(d.int())
		}
		if flags&callDuration != 0 {
			c.Duration = int32(d.count())
		}
		if flags&callRules != 0 {
			c.Rules = uint32(d.uint())
		}
		if flags&callPrograms != 0 {
			from := len(programs)
			for range d.items(1) {
				programs = append(programs, d.named(table))
			}
			c.Programs = programs[from:len(programs):len(programs)]
		}
		if d.bad {
			return
		}
	}
}

func appendDetails(b []byte, f *session.Facts) []byte {
	var table names
	for i := range f.Calls {
		for _, p := range f.Calls[i].Paths {
			table.of(p)
		}
	}
	for i := range f.Touches {
		table.of(f.Touches[i].Path)
	}
	b = appendStrings(b, table.list)
	b = appendUint(b, uint64(len(f.Calls)))
	for i := range f.Calls {
		c := &f.Calls[i]
		flags := uint64(0)
		if c.Cut {
			flags |= detailCut
		}
		if c.Shell {
			flags |= detailShell
		}
		if c.ID != "" {
			flags |= detailID
		}
		if len(c.Paths) > 0 {
			flags |= detailPaths
		}
		b = appendUint(b, flags)
		b = appendString(b, c.Line)
		if c.ID != "" {
			b = appendString(b, c.ID)
		}
		if len(c.Paths) > 0 {
			b = appendUint(b, uint64(len(c.Paths)))
			for _, p := range c.Paths {
				b = appendUint(b, table.of(p))
			}
		}
	}
	b = appendUint(b, uint64(len(f.Touches)))
	offset, at := int64(0), int64(0)
	for i := range f.Touches {
		t := &f.Touches[i]
		b = appendInt(b, t.Offset-offset)
		b = appendInt(b, t.Time-at)
		offset, at = t.Offset, t.Time
		b = binary.LittleEndian.AppendUint64(b, t.Copy)
		b = appendUint(b, table.of(t.Path))
		written := uint64(0)
		if t.Write {
			written = 1
		}
		b = appendUint(b, written)
	}
	return b
}

// decodeDetails adds what appendDetails made to the facts, of which the calls from
// this one on are there already.
func decodeDetails(s string, f *session.Facts, from int) error {
	d := &decoder{s: s}
	table := d.strings()
	calls := f.Calls[from:]
	if d.items(minDetailLen) != len(calls) {
		return damaged("session facts: the details are of others")
	}
	for i := range calls {
		c := &calls[i]
		flags := d.uint()
		c.Cut, c.Shell = flags&detailCut != 0, flags&detailShell != 0
		c.Line = d.string()
		if flags&detailID != 0 {
			c.ID = d.string()
		}
		if flags&detailPaths != 0 {
			c.Paths = make([]string, d.items(1))
			for k := range c.Paths {
				c.Paths[k] = d.named(table)
			}
		}
		if d.bad {
			break
		}
	}
	touches := grow(&f.Touches, d.items(minTouchLen))
	offset, at := int64(0), int64(0)
	for i := range touches {
		offset += d.int()
		at += d.int()
		touches[i] = session.TouchFact{Offset: offset, Time: at, Copy: d.fixed(), Path: d.named(table), Write: d.uint() != 0}
		if d.bad {
			break
		}
	}
	if d.bad || d.pos != len(d.s) {
		return damaged("session facts: unreadable")
	}
	return nil
}

// grow makes a slice longer by n items, and returns these.
func grow[T any](s *[]T, n int) []T {
	*s = slices.Grow(*s, n)
	*s = (*s)[:len(*s)+n]
	return (*s)[len(*s)-n:]
}

// readFacts reads the facts of a file as of its checkpoint, with the details; nil
// when there are none.
func readFacts(segments []*Segment, file uint32) (f *session.Facts, err error) {
	defer contain("read the facts of a session", &err)()
	set := newFactSet(FactUsages | FactCalls | FactDetails)
	for _, s := range segments {
		for _, kind := range factKinds {
			if err := set.read(s, kind, factIDs(kind, file)); err != nil {
				return nil, err
			}
		}
		s.Trim()
	}
	for _, m := range []map[uint32]pieces{set.facts, set.details} {
		delete(m[file], tailPiece)
	}
	if len(set.facts[file]) == 0 {
		return nil, nil
	}
	f = &session.Facts{}
	if err := set.Of(file, f); err != nil {
		return nil, err
	}
	f.Stored()
	return f, nil
}

// pieces are the stored facts of a file, by the last element of their ids.
type pieces map[string]string

// FactSet holds the facts of all files of a generation, encoded.
type FactSet struct {
	parts          FactParts
	mu             sync.Mutex
	facts, details map[uint32]pieces // by file
}

// FactParts says which of the facts are read.
type FactParts uint8

// The parts of facts. Details are those of calls.
const (
	FactUsages FactParts = 1 << iota
	FactCalls
	FactDetails
)

func newFactSet(parts FactParts) *FactSet {
	if parts&FactDetails != 0 {
		parts |= FactCalls
	}
	return &FactSet{parts: parts, facts: make(map[uint32]pieces), details: make(map[uint32]pieces)}
}

// Facts reads the facts of all files. The set may be used after the reader is
// closed.
func (r *Reader) Facts(ctx context.Context, parts FactParts) (*FactSet, error) {
	set := newFactSet(parts)
	kinds := []string{factsKind}
	if parts&FactDetails != 0 {
		kinds = append(kinds, detailsKind)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, seg := range r.segments {
		for _, kind := range kinds {
			g.Go(func() (err error) {
				defer contain("read the facts of sessions", &err)()
				defer seg.Trim()
				if err := ctx.Err(); err != nil {
					return err
				}
				return set.read(seg, kind, allFactIDs(kind))
			})
		}
	}
	return set, g.Wait()
}

// read adds what is stored in a segment under ids of a kind in a range, but for
// deleted documents.
func (s *FactSet) read(seg *Segment, kind string, ids idRange) error {
	var docs []uint32
	if err := seg.documentsOf(ids, func(doc uint32) { docs = append(docs, doc) }); err != nil {
		return err
	}
	for _, doc := range docs {
		if seg.deleted != nil && seg.deleted.Contains(doc) {
			continue
		}
		id, _, _, ok := seg.storedParts(doc)
		if !ok {
			return errStored
		}
		stored, err := seg.storedAt(doc)
		if err != nil {
			return err
		}
		text, err := openFacts(stored)
		if err != nil {
			return err
		}
		number, piece, _ := strings.Cut(strings.TrimPrefix(string(id), kind+":"), ":")
		file, err := strconv.ParseUint(number, 16, 32)
		if err != nil {
			return damaged("read the facts of sessions: %q is no id of any", id)
		}
		s.add(kind, uint32(file), piece, text)
	}
	return nil
}

func (s *FactSet) add(kind string, file uint32, piece, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.facts
	if kind == detailsKind {
		m = s.details
	}
	if m[file] == nil {
		m[file] = make(pieces)
	}
	m[file][piece] = text
}

// Piece is some of the facts of a file, as they are stored.
type Piece struct {
	File   int // place of the file in the list
	Number int // of the first call among those of the file
	*session.Facts
}

// All decodes the facts of files in this order, piece by piece. A piece is valid
// until the next one: a goroutine, which ends with the loop, decodes ahead.
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

// Of decodes the facts of a file, an unterminated last line included, into facts
// whose memory it uses again. What the set does not have is left out.
func (s *FactSet) Of(file uint32, f *session.Facts) error {
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

// pieces lists the pieces of a file that count, in order.
func (s *FactSet) pieces(file uint32) []string {
	facts := s.facts[file]
	if _, ok := facts[tailPiece]; ok {
		return []string{tailPiece}
	}
	return slices.Sorted(maps.Keys(facts))
}

// decode adds a piece to the facts.
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
		return damaged("session facts: the details are missing")
	}
	return decodeDetails(details, f, from)
}
