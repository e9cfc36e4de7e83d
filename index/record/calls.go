package record

import (
	"math"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// Uses of tokens are stored as
//
//	uint     number of uses
//	columns  offset, time, copy, flags,
//	         input, output, cache read, cache write, the part of that for an hour, the bits of the cost
//	names    source, model
//
// calls as
//
//	uint     number of calls
//	columns  flags, offset, time, copy, part, bytes,
//	         exit code doubled plus 1, 0 if unknown; duration, -1 if unknown;
//	         offset of the result relative to the call, and copy of the result,
//	         rules, blamed programs, deed
//	names    tool, model
//	lists    programs
//
// and the details as
//
//	uint     number of calls
//	columns  flags
//	texts    line, id
//	names    directory
//	lists    paths
//	column   the deed to each of these
//	uint     number of files that summaries list
//	columns  offset, time, copy, 1 if written
//	names    path
const (
	callKindMask  = 1<<2 - 1
	callHasResult = 1 << (iota + 1)
	callFailed
	callBroken
	callSearch
	callBare
	callNoMatch
	callRejected
	callEscapes
	callUnread
)

const (
	usageUnusable = 1 << iota
	usageBare
	usageNoCost
	usageFaster
)

const (
	detailCut = 1 << iota
	detailShell
	detailDialect = iota // from this bit on
)

// Usages are uses of tokens.
type Usages struct {
	Len                int
	Offset, Time, Copy format.Column
	Source, Model      Names

	flags, input, output, cacheRead, cacheWrite, longWrite, cost format.Column
}

// At returns what use i used.
func (u *Usages) At(i int) session.Usage {
	return session.Usage{
		Input: u.input.At(i), Output: u.output.At(i), CacheRead: u.cacheRead.At(i), CacheWrite: u.cacheWrite.At(i), LongWrite: u.longWrite.At(i),
		Cost: math.Float64frombits(uint64(u.cost.At(i))), Unusable: u.flags.At(i)&usageUnusable != 0, NoCost: u.flags.At(i)&usageNoCost != 0, Faster: u.flags.At(i)&usageFaster != 0,
	}
}

func (u *Usages) appendTo(list []session.UsageFact) []session.UsageFact {
	for i := range u.Len {
		list = append(list, session.UsageFact{
			Offset: u.Offset.At(i), Time: u.Time.At(i), Copy: uint64(u.Copy.At(i)), Bare: u.flags.At(i)&usageBare != 0,
			Source: u.Source.At(i), Model: u.Model.At(i), Usage: u.At(i),
		})
	}
	return list
}

func (d *factDecoder) usages() (u Usages) {
	u.Len = d.Count()
	d.columns(u.Len, &u.Offset, &u.Time, &u.Copy, &u.flags, &u.input, &u.output, &u.cacheRead, &u.cacheWrite, &u.longWrite, &u.cost)
	u.Source, u.Model = d.names(u.Len), d.names(u.Len)
	return u
}

func appendUsages(b []byte, list []session.UsageFact) []byte {
	b = appendColumns(format.AppendUint(b, uint64(len(list))), list, func(rows []int64, u *session.UsageFact) []int64 {
		flags := flag(u.Unusable, usageUnusable) | flag(u.Bare, usageBare) | flag(u.NoCost, usageNoCost) | flag(u.Faster, usageFaster)
		return append(rows, u.Offset, u.Time, int64(u.Copy), flags,
			u.Input, u.Output, u.CacheRead, u.CacheWrite, u.LongWrite, int64(math.Float64bits(u.Cost)))
	})
	b = appendNames(b, list, func(u *session.UsageFact) string { return u.Source })
	return appendNames(b, list, func(u *session.UsageFact) string { return u.Model })
}

func flag(on bool, flag int64) int64 {
	if on {
		return flag
	}
	return 0
}

// Calls are calls of tools, without their details.
type Calls struct {
	Len                int
	Offset, Time, Copy format.Column
	Part, Bytes        format.Column
	ResultCopy         format.Column // of those with a result
	Tool, Model        Names
	Programs           Lists
	Rules              format.Column // a shellcmd.RuleSet each

	flags, exit, duration, result, blamed, deed format.Column
}

// CallFlags say what sort of call it is and how it ended.
type CallFlags uint16

func FlagsOf(c *session.CallFact) CallFlags {
	return CallFlags(int64(c.Kind) | flag(c.HasResult, callHasResult) | flag(c.Failed, callFailed) | flag(c.Broken, callBroken) | flag(c.Search, callSearch) |
		flag(c.Bare, callBare) | flag(c.NoMatch, callNoMatch) | flag(c.Rejected, callRejected) | flag(c.Escapes, callEscapes) | flag(c.Unread, callUnread))
}

func (c *Calls) Flags(i int) CallFlags { return CallFlags(c.flags.At(i)) }

// Kind returns who made the call.
func (f CallFlags) Kind() session.CallKind { return session.CallKind(f & callKindMask) }

func (c *Calls) Deed(i int) session.Deed { return session.Deed(c.deed.At(i)) }

func (f CallFlags) HasResult() bool { return f&callHasResult != 0 }

func (f CallFlags) Failed() bool { return f&callFailed != 0 }

// Rejected reports whether the person did not let the call run.
func (f CallFlags) Rejected() bool { return f&callRejected != 0 }

// NoMatch reports whether the exit code of the call only says no.
func (f CallFlags) NoMatch() bool { return f&callNoMatch != 0 }

// Broken reports whether the shell command of the call cannot be parsed.
func (f CallFlags) Broken() bool { return f&callBroken != 0 }

// Unread reports whether the call is a script that runs commands which are not literal.
func (f CallFlags) Unread() bool { return f&callUnread != 0 }

// Search reports whether the call asks this program.
func (f CallFlags) Search() bool { return f&callSearch != 0 }

// Answered reports whether call i has a result that is an entry of its own.
func (c *Calls) Answered(i int) bool { return c.Flags(i).HasResult() && c.result.At(i) != 0 }

// Result returns the offset of the entry with the result of call i, of the call itself if it has
// none.
func (c *Calls) Result(i int) int64 { return c.Offset.At(i) + c.result.At(i) }

// Blamed returns the programs that made call i fail, by bits; 0 if it did not fail.
func (c *Calls) Blamed(i int) uint64 {
	if !c.Flags(i).Failed() {
		return 0
	}
	return uint64(c.blamed.At(i))
}

// Exit returns the exit code of call i, or session.Unknown.
func (c *Calls) Exit(i int) int32 {
	v := c.exit.At(i)
	if v&1 == 0 {
		return session.Unknown
	}
	return int32(v >> 1)
}

// Duration returns how long call i took in milliseconds, or session.Unknown.
func (c *Calls) Duration(i int) int32 {
	v := c.duration.At(i)
	if v < 0 {
		return session.Unknown
	}
	return int32(v)
}

func (c *Calls) appendTo(list []session.CallFact, details *Details) []session.CallFact {
	for i := range c.Len {
		flags := c.Flags(i)
		f := session.CallFact{
			Offset: c.Offset.At(i), Time: c.Time.At(i), Copy: uint64(c.Copy.At(i)), Bare: flags&callBare != 0,
			Kind: flags.Kind(), Part: int(c.Part.At(i)), Tool: c.Tool.At(i), Deed: c.Deed(i), Model: c.Model.At(i),
			HasResult: flags.HasResult(), Programs: c.Programs.At(i), Blamed: uint64(c.blamed.At(i)), Rules: uint32(c.Rules.At(i)), Broken: flags.Broken(), Search: flags.Search(), Escapes: flags&callEscapes != 0, Unread: flags.Unread(),
			Outcome: session.Outcome{Failed: flags.Failed(), Rejected: flags.Rejected(), NoMatch: flags.NoMatch(), Bytes: c.Bytes.At(i), Exit: c.Exit(i), Duration: c.Duration(i)},
		}
		if f.HasResult {
			f.Result, f.ResultCopy = f.Offset+c.result.At(i), uint64(c.ResultCopy.At(i))
		}
		if details.Len > 0 {
			f.ID, f.Line, f.Dir, f.Files = details.id.at(i), details.line.at(i), details.Dir.At(i), details.Files(i)
			f.Cut, f.Shell, f.Dialect = details.flags.At(i)&detailCut != 0, details.Shell(i), session.Dialect(details.flags.At(i)>>detailDialect)
		}
		list = append(list, f)
	}
	return list
}

func (d *factDecoder) calls() (c Calls) {
	c.Len = d.Count()
	n := c.Len
	d.columns(n, &c.flags, &c.Offset, &c.Time, &c.Copy, &c.Part, &c.Bytes, &c.exit, &c.duration, &c.result, &c.ResultCopy, &c.Rules, &c.blamed)
	c.deed = d.deeds(n)
	c.Tool, c.Model, c.Programs = d.names(n), d.names(n), d.listsOf(n)
	return c
}

func appendCalls(b []byte, list []session.CallFact) []byte {
	b = appendColumns(format.AppendUint(b, uint64(len(list))), list, func(rows []int64, c *session.CallFact) []int64 {
		exit, result := int64(0), int64(0)
		if c.Exit != session.Unknown {
			exit = int64(c.Exit)<<1 | 1
		}
		if c.HasResult {
			result = c.Result - c.Offset
		}
		return append(rows, int64(FlagsOf(c)), c.Offset, c.Time, int64(c.Copy), int64(c.Part), c.Bytes,
			exit, max(int64(c.Duration), -1), result, int64(c.ResultCopy), int64(c.Rules), int64(c.Blamed), int64(c.Deed))
	})
	b = appendNames(b, list, func(c *session.CallFact) string { return c.Tool })
	b = appendNames(b, list, func(c *session.CallFact) string { return c.Model })
	return appendLists(b, list, func(c *session.CallFact) []string { return c.Programs })
}

// Details are what counting calls does not need.
type Details struct {
	Len int
	Dir Names

	flags    format.Column
	line, id texts
	paths    Lists
	uses     format.Column // the deeds to all paths
}

func (s *Details) Shell(i int) bool { return s.flags.At(i)&detailShell != 0 }

// Files returns the files that call i names, nil if there are none.
func (s *Details) Files(i int) (list []session.FileUse) {
	for from, to := s.paths.bounds(i); from < to; from++ {
		list = append(list, session.FileUse{Path: s.paths.names.At(from), Deed: session.Deed(s.uses.At(from))})
	}
	return list
}

func (d *factDecoder) details() (s Details) {
	n := d.Count()
	s.Len, s.flags, s.line, s.id, s.Dir, s.paths = n, d.Column(n), d.texts(n), d.texts(n), d.names(n), d.listsOf(n)
	paths := 0
	if n > 0 && !d.Failed() {
		_, paths = s.paths.bounds(n - 1)
	}
	s.uses = d.deeds(paths)
	return s
}

func (d *factDecoder) deeds(n int) format.Column {
	c := d.Column(n)
	if !d.Failed() && !c.Below(n, len(session.Deeds)) {
		d.Fail()
	}
	return c
}

func appendDetails(b []byte, list []session.CallFact) []byte {
	flags, uses := make([]int64, len(list)), []int64(nil)
	for i := range list {
		c := &list[i]
		flags[i] = flag(c.Cut, detailCut) | flag(c.Shell, detailShell) | int64(c.Dialect)<<detailDialect
		for _, u := range c.Files {
			uses = append(uses, int64(u.Deed))
		}
	}
	b = appendColumn(format.AppendUint(b, uint64(len(list))), flags)
	b = appendTexts(b, list, func(c *session.CallFact) string { return c.Line })
	b = appendTexts(b, list, func(c *session.CallFact) string { return c.ID })
	b = appendNames(b, list, func(c *session.CallFact) string { return c.Dir })
	b = appendLists(b, list, func(c *session.CallFact) (paths []string) {
		for _, u := range c.Files {
			paths = append(paths, u.Path)
		}
		return paths
	})
	return appendColumn(b, uses)
}

// Touches are files that summaries list.
type Touches struct {
	Len                int
	Offset, Time, Copy format.Column
	Path               Names

	written format.Column
}

// Write reports whether file i was changed, not only read.
func (t *Touches) Write(i int) bool { return t.written.At(i) != 0 }

func (t *Touches) appendTo(list []session.TouchFact) []session.TouchFact {
	for i := range t.Len {
		list = append(list, session.TouchFact{
			Offset: t.Offset.At(i), Time: t.Time.At(i), Copy: uint64(t.Copy.At(i)), Path: t.Path.At(i), Write: t.Write(i),
		})
	}
	return list
}

func (d *factDecoder) touches() (t Touches) {
	t.Len = d.Count()
	d.columns(t.Len, &t.Offset, &t.Time, &t.Copy, &t.written)
	t.Path = d.names(t.Len)
	return t
}

func appendTouches(b []byte, list []session.TouchFact) []byte {
	b = appendColumns(format.AppendUint(b, uint64(len(list))), list, func(rows []int64, t *session.TouchFact) []int64 {
		return append(rows, t.Offset, t.Time, int64(t.Copy), flag(t.Write, 1))
	})
	return appendNames(b, list, func(t *session.TouchFact) string { return t.Path })
}
