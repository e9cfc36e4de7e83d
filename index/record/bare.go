package record

import (
	"slices"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// Bare lists the entries that have facts but no documents, so that nothing else knows of them.
// Each entry is listed once, however many facts it has. The list is stored as
//
//	uint     number of them, uint 1 if one is a result without a call
//	columns  copy
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

// A grouping has a value for each key, in the order in which the keys were first seen.
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
