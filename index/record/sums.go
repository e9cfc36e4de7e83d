package record

import (
	"math"
	"slices"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// Sums are what most answers need of a piece: its facts are read only if a filter cuts
// through them, or another file may have some of its entries. Those of uses of tokens are
// stored as
//
//	span
//	uint     number of sums, one for each source and model, and for files that name costs or none
//	columns  last time, entries, unusable entries, unpriced entries,
//	         input, output, cache read, cache write, the part of that for an hour, the bits of the
//	         two parts of the cost,
//	         1 if the files name no costs
//	names    source, model
//
// and those of calls as
//
//	span
//	uint     number of sums, one for each tool, model and deed
//	columns  last time, calls, failed calls, bytes, nested calls,
//	         calls without a result, results without a call, rejected calls, deed
//	names    tool, model
//	ends     of the known durations of each sum, and a column of them
//	uint     number of shell commands, uint number of these that cannot be parsed
//	strings  programs
//	columns  last time, runs, calls, failed calls
//
// A span is a uint, 1 if the times of all facts are known, and then two ints: the first
// time and the last. The entries without documents are stored as
//
//	uint     number of them, uint 1 if one is a result without a call
//	columns  copy

// Span says when the facts of a piece were.
type Span struct {
	Known       bool // the times of all of them
	First, Last int64
}

// Sum is a compensated sum (Kahan-Babuska). A plain one of 100,000 costs is wrong by
// more than the ten digits that are shown.
type Sum struct{ value, lost float64 }

// Add adds a number.
func (s *Sum) Add(v float64) {
	t := s.value + v
	if math.Abs(s.value) >= math.Abs(v) {
		s.lost += s.value - t + v
	} else {
		s.lost += v - t + s.value
	}
	s.value = t
}

func (s *Sum) AddSum(o Sum) {
	s.Add(o.value)
	s.lost += o.lost
}

func (s *Sum) Total() float64 { return s.value + s.lost }

// SummedUsages are sums of uses of tokens, by source and model.
type SummedUsages struct {
	Span
	Len           int
	Source, Model Names

	Last, Entries, Unusable, Unpriced    format.Column
	input, output, cacheRead, cacheWrite format.Column

	longWrite, value, lost, noCost format.Column
}

// At returns what the uses of sum i used, without its cost.
func (s *SummedUsages) At(i int) session.Usage {
	return session.Usage{
		Input: s.input.At(i), Output: s.output.At(i), CacheRead: s.cacheRead.At(i), CacheWrite: s.cacheWrite.At(i), LongWrite: s.longWrite.At(i),
		NoCost: s.noCost.At(i) != 0,
	}
}

func (s *SummedUsages) Cost(i int) Sum {
	return Sum{math.Float64frombits(uint64(s.value.At(i))), math.Float64frombits(uint64(s.lost.At(i)))}
}

// SummedCalls are sums of calls, by tool, model and deed.
type SummedCalls struct {
	Span
	Len         int
	Tool, Model Names

	Last, Calls, Failed, Bytes, Nested format.Column
	NoResult, NoCall, Rejected         format.Column // calls without a result, results without a call, rejected calls

	Commands, Broken int // shell commands, and those of these that cannot be parsed
	Programs         SummedPrograms

	deed      format.Column
	durations struct {
		ends
		all format.Column
	}
}

func (s *SummedCalls) Deed(i int) session.Deed { return session.Deed(s.deed.At(i)) }

// AppendDurations appends the durations of the calls of sum i that are known.
func (s *SummedCalls) AppendDurations(list []int32, i int) []int32 {
	from, to := s.durations.bounds(i)
	if n := to - from; n > cap(list)-len(list) {
		list = slices.Grow(list, max(n, len(list), 64)) // append would grow it in more steps
	}
	return s.durations.all.AppendInt32(list, from, to)
}

// SummedPrograms are sums of the programs that shell commands ran.
type SummedPrograms struct {
	Names                     []string
	Last, Runs, Calls, Failed format.Column
}

// appendSpan appends when the facts were.
func appendSpan[T any](b []byte, facts []T, timeOf func(*T) int64) []byte {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range facts {
		t := timeOf(&facts[i])
		if t == 0 {
			return format.AppendUint(b, 0)
		}
		first, last = min(first, t), max(last, t)
	}
	if len(facts) == 0 {
		return format.AppendUint(b, 0)
	}
	return format.AppendInt(format.AppendInt(format.AppendUint(b, 1), first), last)
}

func (d *factDecoder) span() (s Span) {
	if s.Known = d.Count() == 1; s.Known {
		s.First, s.Last = d.Int(), d.Int()
	}
	return s
}

// Bare are the entries with facts that have no documents, which therefore nothing else
// knows of. It is not said twice that facts are of the same entry.
type Bare struct {
	Len    int
	Copy   format.Column
	Orphan bool // one is a result without a call
}

func hasBare(f *session.Facts) bool {
	return slices.ContainsFunc(f.Usages, func(u session.UsageFact) bool { return u.Bare }) ||
		slices.ContainsFunc(f.Calls, func(c session.CallFact) bool { return c.Bare })
}

func appendBare(b []byte, f *session.Facts) []byte {
	var copies grouping[int64, uint64] // by offset, as facts of the same entry have the same copy
	orphan := false
	for i := range f.Usages {
		if u := &f.Usages[i]; u.Bare {
			*copies.at(u.Offset) = u.Copy
		}
	}
	for i := range f.Calls {
		if c := &f.Calls[i]; c.Bare {
			*copies.at(c.Offset) = c.Copy
			orphan = orphan || c.Kind == session.CallMissing
		}
	}
	b = format.AppendUint(format.AppendUint(b, uint64(len(copies.list))), uint64(flag(orphan, 1)))
	return appendColumn(b, copies.list)
}

func (d *factDecoder) bare() (b Bare) {
	b.Len = d.Count()
	b.Orphan = d.Count() == 1
	b.Copy = d.Column(b.Len)
	return b
}

// A grouping has values by a key, in the order in which the keys were first seen.
type grouping[K comparable, T any] struct {
	numbers map[K]int
	keys    []K
	list    []T
}

// number returns the number of a key, which may be new.
func (g *grouping[K, T]) number(key K) int {
	i, ok := g.numbers[key]
	if !ok {
		if g.numbers == nil {
			g.numbers = make(map[K]int)
		}
		i = len(g.list)
		g.numbers[key] = i
		g.keys, g.list = append(g.keys, key), append(g.list, *new(T))
	}
	return i
}

func (g *grouping[K, T]) at(key K) *T {
	i := g.number(key)
	return &g.list[i]
}

type usageKey struct {
	source, model string
	noCost        bool
}

type usageSum struct {
	last, entries, unusable, unpriced int64
	session.Usage                     // but for its cost
	cost                              Sum
}

func appendUsageSums(b []byte, list []session.UsageFact) []byte {
	b = appendSpan(b, list, func(u *session.UsageFact) int64 { return u.Time })
	var sums grouping[usageKey, usageSum]
	for i := range list {
		u := &list[i]
		s := sums.at(usageKey{u.Source, u.Model, u.NoCost && !u.Unusable})
		if s.entries == 0 || u.Time > s.last {
			s.last = u.Time
		}
		s.entries++
		s.unusable += flag(u.Unusable, 1)
		s.unpriced += flag(u.Unpriced(), 1)
		s.Input += u.Input
		s.Output += u.Output
		s.CacheRead += u.CacheRead
		s.CacheWrite += u.CacheWrite
		s.LongWrite += u.LongWrite
		s.cost.Add(u.Cost)
	}
	b = format.AppendUint(b, uint64(len(sums.list)))
	b = appendColumns(b, sums.list, func(rows []int64, s *usageSum) []int64 {
		return append(rows, s.last, s.entries, s.unusable, s.unpriced, s.Input, s.Output, s.CacheRead, s.CacheWrite, s.LongWrite,
			int64(math.Float64bits(s.cost.value)), int64(math.Float64bits(s.cost.lost)))
	})
	b = appendColumns(b, sums.keys, func(rows []int64, k *usageKey) []int64 { return append(rows, flag(k.noCost, 1)) })
	b = appendNames(b, sums.keys, func(k *usageKey) string { return k.source })
	return appendNames(b, sums.keys, func(k *usageKey) string { return k.model })
}

func (d *factDecoder) usageSums() (s SummedUsages) {
	s.Span = d.span()
	s.Len = d.Count()
	d.columns(s.Len, &s.Last, &s.Entries, &s.Unusable, &s.Unpriced)
	d.columns(s.Len, &s.input, &s.output, &s.cacheRead, &s.cacheWrite, &s.longWrite, &s.value, &s.lost, &s.noCost)
	s.Source, s.Model = d.names(s.Len), d.names(s.Len)
	return s
}

type callKey struct {
	tool, model string
	deed        session.Deed
}

type callSum struct {
	last, calls, failed, bytes, nested, noResult, noCall, rejected int64
	durations                                                      []int32
}

type programSum struct{ last, runs, calls, failed int64 }

func appendCallSums(b []byte, list []session.CallFact) []byte {
	b = appendSpan(b, list, func(c *session.CallFact) int64 { return c.Time })
	var sums grouping[callKey, callSum]
	var programs grouping[string, programSum]
	commands, broken := uint64(0), uint64(0)
	for i := range list {
		c := &list[i]
		sums.at(callKey{c.Tool, c.Model, c.Deed}).add(c)
		if c.Rejected { // its programs did not run
			continue
		}
		if c.Broken {
			broken++
		}
		if c.Broken || len(c.Programs) > 0 {
			commands++
		}
		for k, name := range c.Programs {
			p := programs.at(name)
			if p.runs == 0 || c.Time > p.last {
				p.last = c.Time
			}
			p.runs++
			if !slices.Contains(c.Programs[:k], name) {
				p.calls++
				p.failed += flag(c.MadeFail(name), 1)
			}
		}
	}
	b = format.AppendUint(b, uint64(len(sums.list)))
	b = appendColumns(b, sums.list, func(rows []int64, s *callSum) []int64 {
		return append(rows, s.last, s.calls, s.failed, s.bytes, s.nested, s.noResult, s.noCall, s.rejected)
	})
	b = appendColumns(b, sums.keys, func(rows []int64, k *callKey) []int64 { return append(rows, int64(k.deed)) })
	b = appendNames(b, sums.keys, func(k *callKey) string { return k.tool })
	b = appendNames(b, sums.keys, func(k *callKey) string { return k.model })
	var durations []int32
	b = appendEnds(b, sums.list, func(s *callSum) int {
		durations = append(durations, s.durations...)
		return len(s.durations)
	})
	b = appendColumn(b, durations)
	b = format.AppendUint(format.AppendUint(b, commands), broken)
	b = format.AppendStrings(b, programs.keys)
	return appendColumns(b, programs.list, func(rows []int64, p *programSum) []int64 {
		return append(rows, p.last, p.runs, p.calls, p.failed)
	})
}

func (s *callSum) add(c *session.CallFact) {
	if s.calls+s.noCall == 0 || c.Time > s.last {
		s.last = c.Time
	}
	if c.Kind == session.CallMissing {
		s.noCall++
		return
	}
	s.calls++
	s.failed += flag(c.Failed, 1)
	s.rejected += flag(c.Rejected, 1)
	s.bytes += c.Bytes
	s.nested += flag(c.Kind == session.CallNested, 1)
	s.noResult += flag(!c.HasResult, 1)
	if c.Duration >= 0 {
		s.durations = append(s.durations, c.Duration)
	}
}

func (d *factDecoder) callSums() (s SummedCalls) {
	s.Span = d.span()
	s.Len = d.Count()
	d.columns(s.Len, &s.Last, &s.Calls, &s.Failed, &s.Bytes, &s.Nested, &s.NoResult, &s.NoCall, &s.Rejected)
	s.deed = d.deeds(s.Len)
	s.Tool, s.Model = d.names(s.Len), d.names(s.Len)
	var timed int
	s.durations.ends, timed = d.ends(s.Len)
	s.durations.all = d.Column(timed)
	s.Commands, s.Broken = d.Count(), d.Count()
	from := len(d.lists)
	d.lists = d.AppendStrings(d.lists)
	p := &s.Programs
	p.Names = d.lists[from:]
	d.columns(len(p.Names), &p.Last, &p.Runs, &p.Calls, &p.Failed)
	return s
}
