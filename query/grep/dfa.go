package grep

import (
	"encoding/binary"
	"fmt"
	"regexp/syntax"
	"slices"
	"sort"
	"unicode"
	"unicode/utf8"
)

// A lazyDFA finds the lines, or texts, that an expression matches, but not where in
// them. Its states are sets of instructions of a regexp/syntax program. They are made
// when they are first needed, so that a step is usually one look into a table. It is
// used by one goroutine.
//
// A state includes the context before it: the start of the text or of a line, a word
// character, or another. Conditions between two characters (^, $, \b) are evaluated with
// the second one. A match is therefore found one character late, and at the end of the
// text with one more step.
//
// Without multiline each line of a text is matched by itself: a newline leads to the
// start state.
type lazyDFA struct {
	prog      *syntax.Prog
	multiline bool

	ascii   [utf8.RuneSelf]uint16
	bounds  []rune // first characters of the intervals that the program may distinguish
	classOf []uint16
	samples []rune // one character of each class
	stride  int    // number of classes, plus one for the end of the text

	table  []int32 // of each state, what each class leads to
	states []dfaState
	byKey  map[string]int32
	start  int32

	// Most characters begin no match: in the state idle, which has only the first
	// instruction, the bytes in stay lead back to it.
	idle int32
	stay [256]bool

	tested before // the parts of the context that the program tests

	// Steps of large expressions take long: each stopEvery of them, a search asks whether to
	// end without a match.
	stopped func() bool // may be nil
	steps   int

	// Scratch memory of step.
	seen  []uint32
	round uint32
	queue []uint32
	next  []uint32
}

// A dfaState is the instructions to continue from, in order, and the context before.
type dfaState struct {
	pcs    []uint32
	before before
}

type before uint8

const (
	beforeText before = 1 << iota // nothing
	beforeLine                    // a newline, or nothing
	beforeWord                    // a word character
)

// Entries of the table that are not states.
const (
	dfaUnknown = 0
	dfaMatch   = 1
)

const (
	maxTable   = 1 << 20 // entries of the table; beyond them it is cleared
	stopEvery  = 256
	maxCompare = 1 << 22 // comparisons of intervals with instructions; beyond them intervals are not merged
)

func newLazyDFA(prog *syntax.Prog, multiline bool) *lazyDFA {
	d := &lazyDFA{prog: prog, multiline: multiline, seen: make([]uint32, len(prog.Inst))}
	for i := range prog.Inst {
		if in := &prog.Inst[i]; in.Op == syntax.InstEmptyWidth {
			switch op := syntax.EmptyOp(in.Arg); {
			case op&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0:
				d.tested |= beforeWord
			case op&(syntax.EmptyBeginLine|syntax.EmptyBeginText) != 0:
				d.tested |= beforeLine | beforeText
			}
		}
	}
	d.findClasses()
	d.reset()
	return d
}

func (d *lazyDFA) reset() {
	d.table = append(d.table[:0], make([]int32, max(d.stride, 2))...)
	d.states = append(d.states[:0], dfaState{})
	d.byKey = make(map[string]int32)
	d.start = d.stateFor([]uint32{uint32(d.prog.Start)}, beforeText|beforeLine)
	d.idle = d.stateFor([]uint32{uint32(d.prog.Start)}, 0)
	d.stay = [256]bool{}
}

// findClasses assigns one class to all characters that no instruction distinguishes.
func (d *lazyDFA) findClasses() {
	starts := map[rune]bool{0: true, '\n': true, '\n' + 1: true, '0': true, '9' + 1: true, 'A': true, 'Z' + 1: true,
		'_': true, '_' + 1: true, 'a': true, 'z' + 1: true}
	interval := func(lo, hi rune) { starts[lo], starts[hi+1] = true, true }
	var insts []*syntax.Inst
	known := map[string]bool{}
	for i := range d.prog.Inst {
		in := &d.prog.Inst[i]
		switch in.Op {
		case syntax.InstRune, syntax.InstRune1:
			if len(in.Rune) == 1 {
				interval(in.Rune[0], in.Rune[0])
				for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
					interval(r, r)
				}
			}
			for k := 0; k+1 < len(in.Rune); k += 2 {
				interval(in.Rune[k], in.Rune[k+1])
			}
			if key := fmt.Sprint(in.Arg, in.Rune); !known[key] {
				known[key] = true
				insts = append(insts, in)
			}
		}
	}
	for r := range starts {
		if r <= unicode.MaxRune {
			d.bounds = append(d.bounds, r)
		}
	}
	slices.Sort(d.bounds)
	merge := len(insts)*len(d.bounds) <= maxCompare
	classes := make(map[string]uint16)
	for i, r := range d.bounds {
		key := []byte{b2i(r == '\n') | b2i(syntax.IsWordChar(r))<<1}
		if merge {
			for _, in := range insts {
				key = append(key, b2i(in.MatchRune(r)))
			}
		} else {
			key = binary.LittleEndian.AppendUint32(key, uint32(i))
		}
		c, ok := classes[string(key)]
		if !ok {
			c = uint16(len(d.samples))
			classes[string(key)] = c
			d.samples = append(d.samples, r)
		}
		d.classOf = append(d.classOf, c)
	}
	for r := range d.ascii {
		d.ascii[r] = d.class(rune(r))
	}
	d.stride = len(d.samples) + 1
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (d *lazyDFA) class(r rune) uint16 {
	i := sort.Search(len(d.bounds), func(i int) bool { return d.bounds[i] > r })
	return d.classOf[i-1]
}

// find returns an offset in the first matching line at or after at, -1 if there is none.
// With multiline it is an offset at or before the end of the match. at is the start of a
// line; with multiline it is the start of the text.
func (d *lazyDFA) find(text []byte, at int) int {
	state, idle, table, ascii, stay := d.start, d.idle, d.table, &d.ascii, &d.stay
	for i := at; i < len(text); {
		if state == idle {
			for i+4 <= len(text) && stay[text[i]] && stay[text[i+1]] && stay[text[i+2]] && stay[text[i+3]] {
				i += 4
			}
			for i < len(text) && stay[text[i]] {
				i++
			}
			if i == len(text) {
				break
			}
		}
		c := text[i]
		size := 1
		var class uint16
		if c < utf8.RuneSelf {
			class = ascii[c]
		} else {
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			class = d.class(r)
		}
		next := table[int(state)+int(class)]
		if next <= dfaMatch {
			if next == dfaUnknown {
				if d.steps++; d.steps%stopEvery == 0 && d.stopped != nil && d.stopped() {
					return -1
				}
				next = d.step(state, int(class))
				idle, table = d.idle, d.table
			}
			if next == dfaMatch {
				return i
			}
		}
		state = next
		i += size
	}
	if at >= len(text) || !d.multiline && text[len(text)-1] == '\n' {
		return -1
	}
	end := d.stride - 1
	next := d.table[int(state)+end]
	if next == dfaUnknown {
		next = d.step(state, end)
	}
	if next == dfaMatch {
		return len(text)
	}
	return -1
}

// step computes the state that a class leads to and enters it in the table, which it may
// clear before.
func (d *lazyDFA) step(from int32, class int) (next int32) {
	if len(d.table) > maxTable {
		s := d.states[d.index(from)]
		places := slices.Clone(s.pcs)
		d.reset()
		from = d.stateFor(places, s.before)
	}
	s := d.states[d.index(from)]
	atEnd := class == d.stride-1
	var c rune
	if !atEnd {
		c = d.samples[class]
	}
	newline := !atEnd && c == '\n'
	word := !atEnd && syntax.IsWordChar(c)

	var flags syntax.EmptyOp
	if s.before&beforeText != 0 {
		flags |= syntax.EmptyBeginText
	}
	if s.before&beforeLine != 0 {
		flags |= syntax.EmptyBeginLine
	}
	if atEnd || newline {
		flags |= syntax.EmptyEndLine
		if atEnd || !d.multiline {
			flags |= syntax.EmptyEndText
		}
	}
	if word != (s.before&beforeWord != 0) {
		flags |= syntax.EmptyWordBoundary
	} else {
		flags |= syntax.EmptyNoWordBoundary
	}

	d.round++
	d.next = d.next[:0]
	matched := false
	for _, place := range s.pcs {
		if d.advance(place, flags, c, !atEnd) {
			matched = true
			break
		}
	}
	switch {
	case matched:
		next = dfaMatch
	case newline && !d.multiline:
		next = d.start
	default:
		d.next = append(d.next, uint32(d.prog.Start))
		slices.Sort(d.next)
		d.next = slices.Compact(d.next)
		var b before
		if newline {
			b |= beforeLine
		}
		if word {
			b |= beforeWord
		}
		next = d.stateFor(d.next, b)
	}
	d.table[int(from)+class] = next
	if from == d.idle && next == from {
		for c, of := range d.ascii {
			d.stay[c] = d.stay[c] || int(of) == class
		}
	}
	return next
}

// advance follows the instructions from place that consume nothing under the conditions
// flags, and adds to d.next those that c leads to. It reports whether there is a match.
func (d *lazyDFA) advance(place uint32, flags syntax.EmptyOp, c rune, more bool) bool {
	d.queue = append(d.queue[:0], place)
	for len(d.queue) > 0 {
		pc := d.queue[len(d.queue)-1]
		d.queue = d.queue[:len(d.queue)-1]
		if d.seen[pc] == d.round {
			continue
		}
		d.seen[pc] = d.round
		in := &d.prog.Inst[pc]
		switch in.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			d.queue = append(d.queue, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			d.queue = append(d.queue, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags == 0 {
				d.queue = append(d.queue, in.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if more && in.MatchRune(c) {
				d.next = append(d.next, in.Out)
			}
		}
	}
	return false
}

// stateFor returns the state of the instructions and the context, made if it is new. A
// state is the offset of its row in the table.
func (d *lazyDFA) stateFor(places []uint32, b before) int32 {
	b &= d.tested
	key := make([]byte, 1, 1+4*len(places))
	key[0] = byte(b)
	for _, p := range places {
		key = binary.LittleEndian.AppendUint32(key, p)
	}
	if n, ok := d.byKey[string(key)]; ok {
		return n
	}
	n := int32(len(d.table))
	d.table = append(d.table, make([]int32, d.stride)...)
	d.states = append(d.states, dfaState{slices.Clone(places), b})
	d.byKey[string(key)] = n
	return n
}

// index returns the index of a state in states. The first row of the table belongs to no
// state.
func (d *lazyDFA) index(state int32) int {
	return 1 + (int(state)-max(d.stride, 2))/d.stride
}
