package automaton

import (
	"encoding/binary"
	"regexp/syntax"
)

// A cache has the states of one direction of a program that were needed so far. A state is
// a list of instructions to go on from, the most wanted first, and the context before.
// Conditions between two characters (^, $, \b) are evaluated with the second one, so that
// a match is found one character late. The cache is used by one goroutine.
type cache struct {
	*Matcher
	code
	backward bool // it reads texts from their end

	table []int32
	keys  []string // of the states, by row of the table
	rows  map[string]int32

	// Most characters begin no match: in the state idle, which has no instructions, the
	// bytes in stay lead back to it.
	idle int32
	stay [256]bool

	// The current list of instructions, where no state stands for it.
	list []uint32
	at   context

	read int // characters since the states were forgotten
	work int // since Ended was called

	// Scratch memory.
	next         []uint32
	queue        []uint32
	seen, listed []uint32 // by instruction, the round when it was
	round        uint32
	key          []byte
}

// A context is what is before a character, and whether matches may begin here.
type context uint8

const (
	atText    context = 1 << iota // the start of the text
	atLine                        // a newline, or the start of the text
	afterWord                     // a word character of \b
	afterEdge                     // a character of Options.Edge
	searching                     // matches may begin
)

// What the table says of a state and a class is the offset of the row of the next state. It
// is negative if a match ends before the class.
const (
	unknown = 0
	dead    = 1 // there is no state: no match is possible
)

// stateBytes is about what a state takes besides its key and its row.
const stateBytes = 128

func newCache(m *Matcher, c code, backward bool) *cache {
	k := &cache{Matcher: m, code: c, backward: backward}
	k.seen, k.listed = make([]uint32, len(c.insts)), make([]uint32, len(c.insts))
	k.forget()
	return k
}

// forget makes the cache empty.
func (k *cache) forget() {
	k.table = append(k.table[:0], make([]int32, len(k.classes))...)
	k.keys = append(k.keys[:0], "")
	k.rows = make(map[string]int32)
	k.stay, k.idle, k.read = [256]bool{}, dead, 0
}

// state returns the state of the current list. It makes one if there is room.
func (k *cache) state() (state int32, ok bool) {
	if len(k.list) == 0 && k.at&searching == 0 {
		return dead, true
	}
	k.encode()
	if n, ok := k.rows[string(k.key)]; ok {
		return n, true
	}
	row := len(k.classes)
	size := stateBytes + len(k.key) + 8*row // a growing table is copied
	if k.used+size > k.limit {
		return unknown, false
	}
	k.used += size
	n, key := int32(len(k.table)), string(k.key)
	for range row {
		k.table = append(k.table, unknown)
	}
	k.keys = append(k.keys, key)
	k.rows[key] = n
	if len(k.list) == 0 && k.at == searching {
		k.idle = n
	}
	return n, true
}

// encode writes the current list as a key: the context, then the instructions as
// differences. Repetitions have runs of instructions at the same distance, which take a
// few bytes whatever their length.
func (k *cache) encode() {
	b, last := append(k.key[:0], byte(k.at)), 0
	for i := 0; i < len(k.list); {
		difference, n, step := int(k.list[i])-last, 1, 0
		if i+1 < len(k.list) {
			step = int(k.list[i+1]) - int(k.list[i])
			for i+n < len(k.list) && int(k.list[i+n])-int(k.list[i+n-1]) == step {
				n++
			}
		}
		if n < 3 {
			n = 1
			b = binary.AppendVarint(b, int64(difference)<<1)
		} else {
			b = binary.AppendVarint(b, int64(difference)<<1|1)
			b = binary.AppendVarint(b, int64(step))
			b = binary.AppendUvarint(b, uint64(n))
		}
		i += n
		last = int(k.list[i-1])
	}
	k.key = b
}

// decode sets the current list from a key.
func (k *cache) decode(key string) {
	k.key = append(k.key[:0], key...)
	k.at, k.list = context(k.key[0]), k.list[:0]
	last := int64(0)
	for b := k.key[1:]; len(b) > 0; {
		head, size := binary.Varint(b)
		b = b[size:]
		last += head >> 1
		k.list = append(k.list, uint32(last))
		if head&1 == 0 {
			continue
		}
		step, size := binary.Varint(b)
		n, more := binary.Uvarint(b[size:])
		b = b[size+more:]
		for ; n > 1; n-- {
			last += step
			k.list = append(k.list, uint32(last))
		}
	}
}

// step returns the entry of the table for a state and a class, and enters it. If there is
// no room for the next state it returns unknown; the current list stands for that state.
func (k *cache) step(state int32, class uint32) (next int32, matched bool) {
	k.decode(k.keys[int(state)/len(k.classes)])
	matched = k.follow(class)
	next, ok := k.state()
	if !ok {
		return unknown, matched
	}
	if matched {
		next = -next
	}
	k.table[int(state)+int(class)] = next
	if state == k.idle && next == state {
		for c, of := range k.ascii {
			k.stay[c] = k.stay[c] || of == class
		}
	}
	return next, matched
}

// follow moves the current list over a character of a class. It reports whether a match
// ends before it. Forward, what is less wanted than this match is dropped; backward, where
// the longest match is wanted, nothing is.
func (k *cache) follow(class uint32) (matched bool) {
	if k.round++; k.round == 0 { // it wrapped around
		clear(k.seen)
		clear(k.listed)
		k.round = 1
	}
	k.next, k.work = k.next[:0], k.work+len(k.list)
	holds := k.conditions(class)
	for _, pc := range k.list {
		if in := &k.insts[pc]; in.op == opChar { // most are
			if k.seen[pc] != k.round {
				k.seen[pc] = k.round
				k.consume(in, class)
			}
			continue
		}
		matched = k.advance(pc, class, holds) || matched
		if matched && !k.backward {
			break
		}
	}
	if !matched && k.at&searching != 0 {
		matched = k.advance(k.start, class, holds)
	}
	c := &k.classes[class]
	at := c.after | k.at&searching
	switch {
	case c.newline && !k.multiline: // the next line is a text of its own
		k.next, at = k.next[:0], atText|atLine|searching
	case matched:
		at &^= searching
	}
	k.at = at & (k.tested | searching)
	k.list, k.next = k.next, k.list
	return matched
}

// conditions returns which conditions hold between the current context and a class.
func (k *cache) conditions(class uint32) (c syntax.EmptyOp) {
	now := &k.classes[class]
	end := class == k.end()
	if k.at&atText != 0 {
		c |= syntax.EmptyBeginText
	}
	if k.at&atLine != 0 {
		c |= syntax.EmptyBeginLine
	}
	if end || now.newline {
		c |= syntax.EmptyEndLine
	}
	if end || now.newline && !k.multiline {
		c |= syntax.EmptyEndText
	}
	if (now.after^k.at)&afterWord != 0 {
		c |= syntax.EmptyWordBoundary
	} else {
		c |= syntax.EmptyNoWordBoundary
	}
	if k.at&afterEdge == 0 {
		c |= edgeBefore
	}
	if now.after&afterEdge == 0 {
		c |= edgeAfter
	}
	return c
}

// consume adds the instruction after a character to next if the class leads there.
func (k *cache) consume(in *inst, class uint32) {
	if k.listed[in.out] != k.round && k.contains(in.arg, class) {
		k.listed[in.out] = k.round
		k.next = append(k.next, in.out)
	}
}

// advance follows an instruction and all that it leads to without a character, and adds
// to next those that the class leads to. It reports whether a match is among them.
func (k *cache) advance(pc, class uint32, holds syntax.EmptyOp) (matched bool) {
	k.queue = append(k.queue[:0], pc)
	for len(k.queue) > 0 {
		k.work++
		pc := k.queue[len(k.queue)-1]
		k.queue = k.queue[:len(k.queue)-1]
		if k.seen[pc] == k.round {
			continue
		}
		k.seen[pc] = k.round
		switch in := &k.insts[pc]; in.op {
		case opMatch:
			if matched = true; !k.backward {
				return true
			}
		case opNop:
			k.queue = append(k.queue, in.out)
		case opAlt:
			k.queue = append(k.queue, in.arg, in.out)
		case opIf:
			if syntax.EmptyOp(in.arg)&^holds == 0 {
				k.queue = append(k.queue, in.out)
			}
		case opChar:
			k.consume(in, class)
		}
	}
	return matched
}
