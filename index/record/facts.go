package record

import (
	"fmt"
	"math"
	"slices"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// FactKind is one of the two encodings that the facts of a session file have: what
// counting needs, and apart from it the details, which few answers need. Both are
// cut into pieces of session.FactsChunk calls, so that an appended line rewrites
// the last piece only.
type FactKind byte

// The kinds of facts.
const (
	Facts   FactKind = 'f'
	Details FactKind = 'g'
)

// FactKinds lists the kinds.
var FactKinds = [...]FactKind{Facts, Details}

// Tail is the name of the piece with all facts of a file, those of an unterminated
// last line included. It exists only when there is such a line, and then no other
// piece of the file counts. The other pieces are named by their number.
const Tail = "tail"

// PieceName returns the name of the piece with that number, from 0. Names sort as
// the numbers do.
func PieceName(number int) string { return fmt.Sprintf("%06x", number) }

// Each piece is uint SchemaVersion, what follows, and the checksum. Facts:
//
//	strings  sources, models, tools, programs, without repetition
//	string   the uses of tokens
//	string   the calls
//
// The uses of tokens, numbers relative to the use before:
//
//	uint    number of uses, then for each:
//	        int offset, int time, fixed copy, uint flags, uint source, uint model,
//	        uint input, output, cache read, cache write, fixed cost unless a flag says none
//
// The calls, offset and time relative to the call before:
//
//	uint    number of programs of all calls
//	uint    number of calls, then for each:
//	        uint flags, int offset, int time, fixed copy unless the offset is the same,
//	        uint 1+part, uint tool, uint model, uint bytes,
//	        int result relative to the offset and fixed copy of it when flagged,
//	        int exit, uint duration, uint number of programs and these, each when flagged
//
// Details:
//
//	strings  paths, without repetition
//	uint     number of calls, then for each:
//	         uint flags, string line, string id and uint number of paths and these, each when flagged
//	uint     number of files that summaries list, then for each, relative to the one before:
//	         int offset, int time, fixed copy, uint path, uint written
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
	callPrograms
)

const (
	detailCut = 1 << iota
	detailShell
	detailID
	detailPaths
)

const (
	minUsageLen  = 17 // of an encoding, in bytes
	minCallLen   = 7
	minDetailLen = 2
	minTouchLen  = 12
)

// stringTable numbers the distinct strings of an encoding.
type stringTable struct {
	list    []string
	numbers map[string]uint64
}

func (t *stringTable) number(s string) uint64 {
	if i, ok := t.numbers[s]; ok {
		return i
	}
	if t.numbers == nil {
		t.numbers = make(map[string]uint64)
	}
	i := uint64(len(t.list))
	t.numbers[s] = i
	t.list = append(t.list, s)
	return i
}

// EncodeFacts returns the stored form of a piece.
func EncodeFacts(kind FactKind, f *session.Facts) []byte {
	b := format.AppendUint(nil, format.SchemaVersion)
	if kind == Details {
		return format.Seal(appendDetails(b, f))
	}
	return format.Seal(appendFacts(b, f))
}

// openPiece returns what a stored piece holds.
func openPiece(b []byte) (string, error) {
	s, ok := format.Unseal(b)
	if !ok {
		return "", format.Damaged("session facts: wrong checksum")
	}
	d := format.NewDecoder(s)
	if v := d.Uint(); v != format.SchemaVersion || d.Failed() {
		if d.Failed() {
			return "", errFacts
		}
		return "", format.OtherVersion(v)
	}
	return s[d.Offset():], nil
}

var errFacts = format.Damaged("session facts: unreadable")

func appendFacts(b []byte, f *session.Facts) []byte {
	var table stringTable
	programs := 0
	for i := range f.Usages {
		table.number(f.Usages[i].Source)
		table.number(f.Usages[i].Model)
	}
	for i := range f.Calls {
		table.number(f.Calls[i].Tool)
		table.number(f.Calls[i].Model)
		programs += len(f.Calls[i].Programs)
		for _, p := range f.Calls[i].Programs {
			table.number(p)
		}
	}
	b = format.AppendStrings(b, table.list)
	b = format.AppendString(b, string(appendUsages(nil, f.Usages, &table)))
	return format.AppendString(b, string(appendCalls(nil, f.Calls, programs, &table)))
}

func appendUsages(b []byte, list []session.UsageFact, table *stringTable) []byte {
	b = format.AppendUint(b, uint64(len(list)))
	offset, at := int64(0), int64(0)
	for i := range list {
		u := &list[i]
		b = format.AppendInt(b, u.Offset-offset)
		b = format.AppendInt(b, u.Time-at)
		offset, at = u.Offset, u.Time
		b = format.AppendFixed(b, u.Copy)
		flags := uint64(0)
		if u.Unusable {
			flags |= usageUnusable
		}
		if u.Cost == 0 {
			flags |= usageFree
		}
		b = format.AppendUint(b, flags)
		b = format.AppendUint(b, table.number(u.Source))
		b = format.AppendUint(b, table.number(u.Model))
		for _, n := range [...]int64{u.Input, u.Output, u.CacheRead, u.CacheWrite} {
			b = format.AppendUint(b, uint64(n))
		}
		if u.Cost != 0 {
			b = format.AppendFixed(b, math.Float64bits(u.Cost))
		}
	}
	return b
}

func appendCalls(b []byte, list []session.CallFact, programs int, table *stringTable) []byte {
	b = format.AppendUint(b, uint64(programs))
	b = format.AppendUint(b, uint64(len(list)))
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
		set(callPrograms, len(c.Programs) > 0)
		b = format.AppendUint(b, flags)
		b = format.AppendInt(b, c.Offset-offset)
		b = format.AppendInt(b, c.Time-at)
		if c.Offset != offset {
			b = format.AppendFixed(b, c.Copy)
		}
		offset, at = c.Offset, c.Time
		b = format.AppendUint(b, uint64(c.Part+1))
		b = format.AppendUint(b, table.number(c.Tool))
		b = format.AppendUint(b, table.number(c.Model))
		b = format.AppendUint(b, uint64(c.Bytes))
		if flags&callElsewhere != 0 {
			b = format.AppendInt(b, c.Result-c.Offset)
			b = format.AppendFixed(b, c.ResultCopy)
		}
		if flags&callExit != 0 {
			b = format.AppendInt(b, int64(c.Exit))
		}
		if flags&callDuration != 0 {
			b = format.AppendUint(b, uint64(c.Duration))
		}
		if flags&callPrograms != 0 {
			b = format.AppendUint(b, uint64(len(c.Programs)))
			for _, p := range c.Programs {
				b = format.AppendUint(b, table.number(p))
			}
		}
	}
	return b
}

// decodeFacts appends the asked-for parts of what appendFacts encoded to the facts.
func decodeFacts(s string, f *session.Facts, parts FactParts) error {
	d := &decoder{format.NewDecoder(s)}
	table := d.Strings()
	usages, calls := &decoder{format.NewDecoder(d.String())}, &decoder{format.NewDecoder(d.String())}
	if parts&FactUsages != 0 {
		usages.usages(f, table)
	} else {
		usages.Skip()
	}
	if parts&FactCalls != 0 {
		calls.calls(f, table)
	} else {
		calls.Skip()
	}
	for _, d := range []*decoder{d, usages, calls} {
		if !d.Done() {
			return errFacts
		}
	}
	return nil
}

// named reads the number of a string in the table.
func (d *decoder) named(table []string) string {
	i := d.Uint()
	if i >= uint64(len(table)) {
		d.Fail()
		return ""
	}
	return table[i]
}

func (d *decoder) usages(f *session.Facts, table []string) {
	usages := grow(&f.Usages, d.Items(minUsageLen))
	offset, at := int64(0), int64(0)
	for i := range usages {
		u := &usages[i]
		offset += d.Int()
		at += d.Int()
		u.Offset, u.Time = offset, at
		u.Copy = d.Fixed()
		flags := d.Uint()
		u.Unusable = flags&usageUnusable != 0
		u.Source, u.Model = d.named(table), d.named(table)
		u.Input, u.Output, u.CacheRead, u.CacheWrite = int64(d.Uint()), int64(d.Uint()), int64(d.Uint()), int64(d.Uint())
		u.Cost = 0
		if flags&usageFree == 0 {
			u.Cost = math.Float64frombits(d.Fixed())
		}
		if d.Failed() {
			return
		}
	}
}

func (d *decoder) calls(f *session.Facts, table []string) {
	programs := make([]string, 0, d.Items(1))
	calls := grow(&f.Calls, d.Items(minCallLen))
	offset, at := int64(-1), int64(0)
	hash := uint64(0)
	for i := range calls {
		flags := d.Uint()
		by := d.Int()
		at += d.Int()
		if offset += by; by != 0 {
			hash = d.Fixed()
		}
		c := &calls[i]
		*c = session.CallFact{
			Offset: offset, Time: at, Copy: hash, Kind: session.CallKind(flags & callKindMask),
			Part: int(d.Count()) - 1, Tool: d.named(table), Model: d.named(table), HasResult: flags&callHasResult != 0, Broken: flags&callBroken != 0,
			Outcome: session.Outcome{Failed: flags&callFailed != 0, Bytes: int64(d.Uint()), Exit: session.Unknown, Duration: session.Unknown},
		}
		if c.HasResult {
			c.Result, c.ResultCopy = offset, hash
		}
		if flags&callElsewhere != 0 {
			c.Result = offset + d.Int()
			c.ResultCopy = d.Fixed()
		}
		if flags&callExit != 0 {
			c.Exit = int32(d.Int())
		}
		if flags&callDuration != 0 {
			c.Duration = int32(d.Count())
		}
		if flags&callPrograms != 0 {
			from := len(programs)
			for range d.Items(1) {
				programs = append(programs, d.named(table))
			}
			c.Programs = programs[from:len(programs):len(programs)]
		}
		if d.Failed() {
			return
		}
	}
}

func appendDetails(b []byte, f *session.Facts) []byte {
	var table stringTable
	for i := range f.Calls {
		for _, p := range f.Calls[i].Paths {
			table.number(p)
		}
	}
	for i := range f.Touches {
		table.number(f.Touches[i].Path)
	}
	b = format.AppendStrings(b, table.list)
	b = format.AppendUint(b, uint64(len(f.Calls)))
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
		b = format.AppendUint(b, flags)
		b = format.AppendString(b, c.Line)
		if c.ID != "" {
			b = format.AppendString(b, c.ID)
		}
		if len(c.Paths) > 0 {
			b = format.AppendUint(b, uint64(len(c.Paths)))
			for _, p := range c.Paths {
				b = format.AppendUint(b, table.number(p))
			}
		}
	}
	b = format.AppendUint(b, uint64(len(f.Touches)))
	offset, at := int64(0), int64(0)
	for i := range f.Touches {
		t := &f.Touches[i]
		b = format.AppendInt(b, t.Offset-offset)
		b = format.AppendInt(b, t.Time-at)
		offset, at = t.Offset, t.Time
		b = format.AppendFixed(b, t.Copy)
		b = format.AppendUint(b, table.number(t.Path))
		written := uint64(0)
		if t.Write {
			written = 1
		}
		b = format.AppendUint(b, written)
	}
	return b
}

// decodeDetails adds what appendDetails encoded to the facts, which have the calls
// from this one on already.
func decodeDetails(s string, f *session.Facts, from int) error {
	d := &decoder{format.NewDecoder(s)}
	table := d.Strings()
	calls := f.Calls[from:]
	if d.Items(minDetailLen) != len(calls) {
		return format.Damaged("session facts: the details are of others")
	}
	for i := range calls {
		c := &calls[i]
		flags := d.Uint()
		c.Cut, c.Shell = flags&detailCut != 0, flags&detailShell != 0
		c.Line = d.String()
		if flags&detailID != 0 {
			c.ID = d.String()
		}
		if flags&detailPaths != 0 {
			c.Paths = make([]string, d.Items(1))
			for k := range c.Paths {
				c.Paths[k] = d.named(table)
			}
		}
		if d.Failed() {
			break
		}
	}
	touches := grow(&f.Touches, d.Items(minTouchLen))
	offset, at := int64(0), int64(0)
	for i := range touches {
		offset += d.Int()
		at += d.Int()
		touches[i] = session.TouchFact{Offset: offset, Time: at, Copy: d.Fixed(), Path: d.named(table), Write: d.Uint() != 0}
		if d.Failed() {
			break
		}
	}
	if !d.Done() {
		return errFacts
	}
	return nil
}

// grow makes a slice n items longer, and returns those.
func grow[T any](s *[]T, n int) []T {
	*s = slices.Grow(*s, n)
	*s = (*s)[:len(*s)+n]
	return (*s)[len(*s)-n:]
}
