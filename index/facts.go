package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"golang.org/x/sync/errgroup"

	"pigrep/internal/session"
)

// The facts of a session file are stored beside its record, in two documents of
// their own: what counting needs, and the details. Searching reads neither. Both
// are
//
//	uint    SchemaVersion
//	string  the facts as of the checkpoint
//	string  the facts with an unterminated last line, empty when they are the same
//
// and the checksum. The facts:
//
//	uint    number of distinct strings, then these: sources, models, tools, programs
//	uint    number of uses of tokens, then for each (numbers relative to the one before):
//	        int offset, int time, fixed copy, uint flags, uint source, uint model,
//	        uint input, output, cache read, cache write, fixed cost unless a flag says none
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

// putFacts stores the facts of the records, unless there are none.
func (b *Batch) putFacts(base, full *session.Record) {
	if full == nil {
		full = base
	}
	if isEmpty(base.Facts) && isEmpty(full.Facts) {
		return
	}
	var more *session.Facts
	if full != base {
		more = full.Facts
	}
	file := full.File
	b.builder.put(factsID(file), encodeFacts(base.Facts, more, appendFacts))
	b.builder.put(detailsID(file), encodeFacts(base.Facts, more, appendDetails))
}

func isEmpty(f *session.Facts) bool {
	return f == nil || len(f.Usages)+len(f.Calls)+len(f.Touches) == 0
}

// encodeFacts encodes facts for storage. full is nil when they are the same.
func encodeFacts(base, full *session.Facts, encode func([]byte, *session.Facts) []byte) []byte {
	b := appendUint(nil, SchemaVersion)
	if base == nil {
		base = &session.Facts{}
	}
	b = appendString(b, string(encode(nil, base)))
	if full == nil {
		b = appendString(b, "")
	} else {
		b = appendString(b, string(encode(nil, full)))
	}
	return seal(b)
}

// openFacts returns the encoded facts of a stored value: of the whole file, or
// as of the checkpoint.
func openFacts(b []byte, base bool) (string, error) {
	s, ok := unseal(b)
	if !ok {
		return "", damaged("session facts: wrong checksum")
	}
	d := &decoder{s: s}
	if v := d.uint(); v != SchemaVersion && !d.bad {
		return "", versionError(v)
	}
	first, second := d.string(), d.string()
	if d.bad || d.pos != len(d.s) {
		return "", damaged("session facts: unreadable")
	}
	if second == "" || base {
		return first, nil
	}
	return second, nil
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

	b = appendUint(b, uint64(len(f.Usages)))
	offset, at := int64(0), int64(0)
	for i := range f.Usages {
		u := &f.Usages[i]
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

	b = appendUint(b, uint64(programs))
	b = appendUint(b, uint64(len(f.Calls)))
	offset, at = -1, 0
	for i := range f.Calls {
		c := &f.Calls[i]
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

// decodeFacts decodes what appendFacts made, into facts whose memory it uses again.
func decodeFacts(s string, f *session.Facts) error {
	d := &decoder{s: s}
	table := d.strings()
	name := func() string {
		i := d.uint()
		if i >= uint64(len(table)) {
			d.fail()
			return ""
		}
		return table[i]
	}

	f.Usages = resize(f.Usages, d.items(minUsageLen))
	offset, at := int64(0), int64(0)
	for i := range f.Usages {
		u := &f.Usages[i]
		offset += d.int()
		at += d.int()
		u.Offset, u.Time = offset, at
		u.Copy = d.fixed()
		flags := d.uint()
		u.Unusable = flags&usageUnusable != 0
		u.Source, u.Model = name(), name()
		u.Input, u.Output, u.CacheRead, u.CacheWrite = int64(d.uint()), int64(d.uint()), int64(d.uint()), int64(d.uint())
		u.Cost = 0
		if flags&usageFree == 0 {
			u.Cost = math.Float64frombits(d.fixed())
		}
		if d.bad {
			break
		}
	}

	programs := make([]string, 0, d.items(1))
	f.Calls = resize(f.Calls, d.items(minCallLen))
	offset, at = -1, 0
	hash := uint64(0)
	for i := range f.Calls {
		flags := d.uint()
		by := d.int()
		at += d.int()
		if offset += by; by != 0 {
			hash = d.fixed()
		}
		c := &f.Calls[i]
		*c = session.CallFact{
			Offset: offset, Time: at, Copy: hash, Kind: session.CallKind(flags & callKindMask),
			Part: int(d.count()) - 1, Tool: name(), Model: name(), HasResult: flags&callHasResult != 0, Broken: flags&callBroken != 0,
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
				programs = append(programs, name())
			}
			c.Programs = programs[from:len(programs):len(programs)]
		}
		if d.bad {
			break
		}
	}
	f.Touches = f.Touches[:0]
	if d.bad || d.pos != len(d.s) {
		return damaged("session facts: unreadable")
	}
	return nil
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

// decodeDetails adds what appendDetails made to the facts.
func decodeDetails(s string, f *session.Facts) error {
	d := &decoder{s: s}
	table := d.strings()
	name := func() string {
		i := d.uint()
		if i >= uint64(len(table)) {
			d.fail()
			return ""
		}
		return table[i]
	}
	if d.items(minDetailLen) != len(f.Calls) {
		return damaged("session facts: the details are of others")
	}
	for i := range f.Calls {
		c := &f.Calls[i]
		flags := d.uint()
		c.Cut, c.Shell = flags&detailCut != 0, flags&detailShell != 0
		c.Line = d.string()
		if flags&detailID != 0 {
			c.ID = d.string()
		}
		if flags&detailPaths != 0 {
			c.Paths = make([]string, d.items(1))
			for k := range c.Paths {
				c.Paths[k] = name()
			}
		}
		if d.bad {
			break
		}
	}
	f.Touches = resize(f.Touches, d.items(minTouchLen))
	offset, at := int64(0), int64(0)
	for i := range f.Touches {
		offset += d.int()
		at += d.int()
		f.Touches[i] = session.TouchFact{Offset: offset, Time: at, Copy: d.fixed(), Path: name(), Write: d.uint() != 0}
		if d.bad {
			break
		}
	}
	if d.bad || d.pos != len(d.s) {
		return damaged("session facts: unreadable")
	}
	return nil
}

// resize returns a slice of n items, in the memory of s when that is enough.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n)
}

// readFacts reads the facts of a file as of its checkpoint, with the details; nil
// when there are none.
func readFacts(s *scorch.IndexSnapshot, file uint32) (*session.Facts, error) {
	b, err := stored(s, factsID(file))
	if err != nil || b == nil {
		return nil, err
	}
	f := &session.Facts{}
	text, err := openFacts(b, true)
	if err == nil {
		err = decodeFacts(text, f)
	}
	if err != nil {
		return nil, err
	}
	if b, err = stored(s, detailsID(file)); err != nil {
		return nil, err
	}
	if text, err = openFacts(b, true); err != nil {
		return nil, err
	}
	return f, decodeDetails(text, f)
}

// FactSet holds the facts of all files of a generation, encoded.
type FactSet struct {
	facts, details map[uint32]string // by file
}

// Facts reads the facts of all files, and with details those. The set may be
// used after the reader is closed.
func (r *Reader) Facts(ctx context.Context, details bool) (*FactSet, error) {
	set := &FactSet{facts: make(map[uint32]string), details: make(map[uint32]string)}
	kinds := map[string]map[uint32]string{"f": set.facts}
	if details {
		kinds["g"] = set.details
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, seg := range r.snapshot.Segments() {
		for kind, into := range kinds {
			g.Go(func() (err error) {
				defer contain("read the facts of sessions", &err)()
				if err := ctx.Err(); err != nil {
					return err
				}
				found, err := storedOf(seg, kind)
				mu.Lock()
				defer mu.Unlock()
				for file, text := range found {
					into[file] = text
				}
				return err
			})
		}
	}
	return set, g.Wait()
}

// storedOf returns what is stored in a segment under ids of a kind, opened, by
// file.
func storedOf(seg *scorch.SegmentSnapshot, kind string) (map[uint32]string, error) {
	dict, err := seg.Segment().Dictionary(string(fieldID))
	if err != nil {
		return nil, damaged("list the facts of sessions: %v", err)
	}
	var ids []string
	it := termIterator(dict, []byte(kind+":"), []byte(kind+";"))
	for {
		entry, err := it.Next()
		if err != nil {
			return nil, damaged("list the facts of sessions: %v", err)
		}
		if entry == nil {
			break
		}
		ids = append(ids, strings.Clone(entry.Term))
	}
	docs, err := seg.DocNumbers(ids)
	if err != nil {
		return nil, damaged("find the facts of sessions: %v", err)
	}
	found := make(map[uint32]string, len(ids))
	for it := docs.Iterator(); it.HasNext(); {
		var id string
		var value []byte
		err := seg.Segment().VisitStoredFields(uint64(it.Next()), func(name string, _ byte, v []byte, _ []uint64) bool {
			switch name {
			case string(fieldID):
				id = string(v)
			case string(fieldRecord):
				value = append([]byte(nil), v...)
			}
			return true
		})
		if err != nil {
			return nil, damaged("read the facts of sessions: %v", err)
		}
		var file uint32
		if _, err := fmt.Sscanf(id, kind+":%x", &file); err != nil {
			return nil, damaged("read the facts of sessions: %q is no id of any", id)
		}
		if found[file], err = openFacts(value, false); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Of decodes the facts of a file, an unterminated last line included, into facts
// whose memory it uses again. Of a set without details it leaves these out.
func (s *FactSet) Of(file uint32, f *session.Facts) error {
	*f = session.Facts{Usages: f.Usages[:0], Calls: f.Calls[:0], Touches: f.Touches[:0]}
	text, ok := s.facts[file]
	if !ok {
		return nil
	}
	if err := decodeFacts(text, f); err != nil {
		return err
	}
	if text, ok = s.details[file]; ok {
		return decodeDetails(text, f)
	}
	return nil
}

// Size returns the number of bytes that the facts take, encoded.
func (s *FactSet) Size() (n int) {
	for _, set := range []map[uint32]string{s.facts, s.details} {
		for _, text := range set {
			n += len(text)
		}
	}
	return n
}
