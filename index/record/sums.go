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
//	uint     number of sums, one for each source and model
//	columns  last time, entries, unusable entries, unpriced entries,
//	         input, output, cache read, cache write, the bits of the two parts of the cost
//	names    source, model
//
// and those of calls as
//
//	span
//	uint     number of sums, one for each tool and model
//	columns  last time, calls, failed calls, bytes, nested calls,
//	         calls without a result, results without a call
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

// AddSum adds another sum.
func (s *Sum) AddSum(o Sum) {
	s.Add(o.value)
	s.lost += o.lost
}

// Total returns the sum.
func (s *Sum) Total() float64 { return s.value + s.lost }

// SummedUsages are sums of uses of tokens, by source and model.
type SummedUsages struct {
	Span
	Len           int
	Source, Model Names

	Last, Entries, Unusable, Unpriced    format.Column
	Input, Output, CacheRead, CacheWrite format.Column

	value, lost format.Column // of the costs
}

// Cost returns the cost of sum i.
func (s *SummedUsages) Cost(i int) Sum {
	return Sum{math.Float64frombits(uint64(s.value.At(i))), math.Float64frombits(uint64(s.lost.At(i)))}
}

// SummedCalls are sums of calls, by tool and model.
type SummedCalls struct {
	Span
	Len         int
	Tool, Model Names

	Last, Calls, Failed, Bytes, Nested format.Column
	NoResult, NoCall                   format.Column // calls without a result, results without a call

	Commands, Broken int // shell commands, and those of these that cannot be parsed
	Programs         SummedPrograms

	durations struct {
		ends
		all format.Column
	}
}

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

// spanOf returns when n facts were.
func spanOf(n int, at func(int) int64) (s Span) {
	s.Known = n > 0
	for i := range n {
		t := at(i)
		if t == 0 {
			return Span{}
		}
		if i == 0 || t < s.First {
			s.First = t
		}
		if i == 0 || t > s.Last {
			s.Last = t
		}
	}
	return s
}

func appendSpan(b []byte, s Span) []byte {
	if !s.Known {
		return format.AppendUint(b, 0)
	}
	return format.AppendInt(format.AppendInt(format.AppendUint(b, 1), s.First), s.Last)
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
	return slices.ContainsFunc(f.Usages, func(u session.UsageFact) bool { return u.Bare }) || slices.ContainsFunc(f.Calls, func(c session.CallFact) bool { return c.Bare })
}

func appendBare(b []byte, f *session.Facts) []byte {
	var copies []uint64
	var seen grouping[int64, struct{}]
	orphan := false
	add := func(offset int64, copy uint64) {
		n := len(seen.list)
		if seen.at(offset); len(seen.list) > n {
			copies = append(copies, copy)
		}
	}
	for i := range f.Usages {
		if u := &f.Usages[i]; u.Bare {
			add(u.Offset, u.Copy)
		}
	}
	for i := range f.Calls {
		if c := &f.Calls[i]; c.Bare {
			add(c.Offset, c.Copy)
			orphan = orphan || c.Kind == session.CallMissing
		}
	}
	b = format.AppendUint(format.AppendUint(b, uint64(len(copies))), uint64(flag(orphan, 1)))
	return format.AppendColumn(b, len(copies), func(i int) int64 { return int64(copies[i]) })
}

func (d *factDecoder) bare() (b Bare) {
	n := d.Count()
	b.Orphan = d.Count() == 1
	b.Copy = d.Column(n)
	b.Len = n
	return b
}

// A grouping has values by a key, in the order in which the keys were first seen.
type grouping[K comparable, T any] struct {
	numbers map[K]int
	keys    []K
	list    []T
}

func (g *grouping[K, T]) at(key K) *T {
	i, ok := g.numbers[key]
	if !ok {
		if g.numbers == nil {
			g.numbers = make(map[K]int)
		}
		i = len(g.list)
		g.numbers[key] = i
		g.keys, g.list = append(g.keys, key), append(g.list, *new(T))
	}
	return &g.list[i]
}

// appendColumns appends a column of each figure of the values.
func (g *grouping[K, T]) appendColumns(b []byte, figures ...func(*T) int64) []byte {
	for _, figure := range figures {
		b = format.AppendColumn(b, len(g.list), func(i int) int64 { return figure(&g.list[i]) })
	}
	return b
}

type usageKey struct{ source, model string }

type usageSum struct {
	last, entries, unusable, unpriced    int64
	input, output, cacheRead, cacheWrite int64
	cost                                 Sum
}

func appendUsageSums(b []byte, list []session.UsageFact) []byte {
	b = appendSpan(b, spanOf(len(list), func(i int) int64 { return list[i].Time }))
	var sums grouping[usageKey, usageSum]
	for i := range list {
		u := &list[i]
		s := sums.at(usageKey{u.Source, u.Model})
		if s.entries == 0 || u.Time > s.last {
			s.last = u.Time
		}
		s.entries++
		s.unusable += flag(u.Unusable, 1)
		s.unpriced += flag(u.Unpriced(), 1)
		s.input += u.Input
		s.output += u.Output
		s.cacheRead += u.CacheRead
		s.cacheWrite += u.CacheWrite
		s.cost.Add(u.Cost)
	}
	b = format.AppendUint(b, uint64(len(sums.list)))
	b = sums.appendColumns(b,
		func(s *usageSum) int64 { return s.last },
		func(s *usageSum) int64 { return s.entries },
		func(s *usageSum) int64 { return s.unusable },
		func(s *usageSum) int64 { return s.unpriced },
		func(s *usageSum) int64 { return s.input },
		func(s *usageSum) int64 { return s.output },
		func(s *usageSum) int64 { return s.cacheRead },
		func(s *usageSum) int64 { return s.cacheWrite },
		func(s *usageSum) int64 { return int64(math.Float64bits(s.cost.value)) },
		func(s *usageSum) int64 { return int64(math.Float64bits(s.cost.lost)) },
	)
	b = appendNames(b, len(sums.keys), func(i int) string { return sums.keys[i].source })
	return appendNames(b, len(sums.keys), func(i int) string { return sums.keys[i].model })
}

func (d *factDecoder) usageSums() (s SummedUsages) {
	s.Span = d.span()
	n := d.Count()
	s.Last, s.Entries, s.Unusable, s.Unpriced = d.Column(n), d.Column(n), d.Column(n), d.Column(n)
	s.Input, s.Output, s.CacheRead, s.CacheWrite = d.Column(n), d.Column(n), d.Column(n), d.Column(n)
	s.value, s.lost = d.Column(n), d.Column(n)
	s.Source, s.Model = d.names(n), d.names(n)
	s.Len = n
	return s
}

type callKey struct{ tool, model string }

type callSum struct {
	last, calls, failed, bytes, nested, noResult, noCall int64
	seen                                                 bool
	durations                                            []int32
}

type programSum struct{ last, runs, calls, failed int64 }

func appendCallSums(b []byte, list []session.CallFact) []byte {
	b = appendSpan(b, spanOf(len(list), func(i int) int64 { return list[i].Time }))

	var sums grouping[callKey, callSum]
	var programs grouping[string, programSum]
	commands, broken := uint64(0), uint64(0)
	for i := range list {
		c := &list[i]
		sums.at(callKey{c.Tool, c.Model}).add(c)
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
				p.failed += flag(c.Failed, 1)
			}
		}
	}
	b = format.AppendUint(b, uint64(len(sums.list)))
	b = sums.appendColumns(b,
		func(s *callSum) int64 { return s.last },
		func(s *callSum) int64 { return s.calls },
		func(s *callSum) int64 { return s.failed },
		func(s *callSum) int64 { return s.bytes },
		func(s *callSum) int64 { return s.nested },
		func(s *callSum) int64 { return s.noResult },
		func(s *callSum) int64 { return s.noCall },
	)
	b = appendNames(b, len(sums.keys), func(i int) string { return sums.keys[i].tool })
	b = appendNames(b, len(sums.keys), func(i int) string { return sums.keys[i].model })
	var durations []int32
	b = appendEnds(b, len(sums.list), func(i int) int {
		durations = append(durations, sums.list[i].durations...)
		return len(sums.list[i].durations)
	})
	b = format.AppendColumn(b, len(durations), func(i int) int64 { return int64(durations[i]) })
	b = format.AppendUint(format.AppendUint(b, commands), broken)
	b = format.AppendStrings(b, programs.keys)
	return programs.appendColumns(b,
		func(p *programSum) int64 { return p.last },
		func(p *programSum) int64 { return p.runs },
		func(p *programSum) int64 { return p.calls },
		func(p *programSum) int64 { return p.failed },
	)
}

func (s *callSum) add(c *session.CallFact) {
	if !s.seen || c.Time > s.last {
		s.last = c.Time
	}
	s.seen = true
	if c.Kind == session.CallMissing {
		s.noCall++
		return
	}
	s.calls++
	s.failed += flag(c.Failed, 1)
	s.bytes += c.Bytes
	s.nested += flag(c.Kind == session.CallNested, 1)
	s.noResult += flag(!c.HasResult, 1)
	if c.Duration >= 0 {
		s.durations = append(s.durations, c.Duration)
	}
}

func (d *factDecoder) callSums() (s SummedCalls) {
	s.Span = d.span()
	n := d.Count()
	s.Last, s.Calls, s.Failed, s.Bytes, s.Nested, s.NoResult, s.NoCall = d.Column(n), d.Column(n), d.Column(n), d.Column(n), d.Column(n), d.Column(n), d.Column(n)
	s.Tool, s.Model = d.names(n), d.names(n)
	var timed int
	s.durations.ends, timed = d.ends(n)
	s.durations.all = d.Column(timed)
	s.Len = n
	s.Commands, s.Broken = d.Count(), d.Count()
	from := len(d.lists)
	d.lists = d.AppendStrings(d.lists)
	p := &s.Programs
	p.Names = d.lists[from:]
	n = len(p.Names)
	p.Last, p.Runs, p.Calls, p.Failed = d.Column(n), d.Column(n), d.Column(n), d.Column(n)
	return s
}
