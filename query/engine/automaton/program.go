package automaton

import (
	"fmt"
	"regexp/syntax"
	"slices"
)

// A Program is a compiled expression. It is immutable and safe for concurrent use.
type Program struct {
	*alphabet
	forward, mirror code
	literal         *literal // the whole expression, if it is one; then there is no code

	multiline bool
	word      bool
	tested    context // the parts of a context that the code tests
}

// Options say what counts as a match.
type Options struct {
	Multiline bool   // a match may span lines; otherwise texts are matched line by line
	Edge      []rune // if not empty, ranges of characters that must not be beside a match
	Most      int    // instructions
}

// TooLargeError says that an expression has too many instructions.
type TooLargeError struct{ Most int }

func (e TooLargeError) Error() string { return fmt.Sprintf("it needs more than %d states", e.Most) }

// code is a program as instructions.
type code struct {
	start uint32
	insts []inst
}

type inst struct {
	op       op
	out, arg uint32
}

type op uint8

const (
	opFail  op = iota
	opMatch    // a match ends here
	opNop      // go on at out
	opAlt      // go on at out, or else at arg
	opIf       // go on at out under the conditions arg
	opChar     // a character of the set arg leads to out
)

// Conditions besides the conditions of package syntax.
const (
	edgeBefore syntax.EmptyOp = 1 << 6 // no character of Options.Edge is before
	edgeAfter  syntax.EmptyOp = 1 << 7 // or after
)

// Size returns the number of instructions, 0 for a literal.
func (p *Program) Size() int { return len(p.forward.insts) }

// Compile compiles an expression. It fails with a TooLargeError.
func Compile(re *syntax.Regexp, o Options) (*Program, error) {
	p := &Program{multiline: o.Multiline, word: len(o.Edge) > 0}
	if re.Op == syntax.OpLiteral {
		p.literal = newLiteral(re, o.Edge)
		return p, nil
	}
	if size(re) > o.Most {
		return nil, TooLargeError{o.Most}
	}
	b := builder{Options: o}
	var err error
	if p.forward, err = b.compile(re); err != nil {
		return nil, err
	}
	if p.mirror, err = b.compile(mirrored(re)); err != nil {
		return nil, err
	}
	p.alphabet = b.alphabet()
	p.tested = b.tested
	return p, nil
}

// size returns about how many instructions an expression has, or fewer.
func size(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpEmptyMatch, syntax.OpConcat, syntax.OpAlternate, syntax.OpRepeat:
		n = 0
	}
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// mirrored returns the expression that matches the same texts backwards.
func mirrored(re *syntax.Regexp) *syntax.Regexp {
	m := *re
	m.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		m.Sub[i] = mirrored(sub)
	}
	switch re.Op {
	case syntax.OpBeginLine:
		m.Op = syntax.OpEndLine
	case syntax.OpEndLine:
		m.Op = syntax.OpBeginLine
	case syntax.OpBeginText:
		m.Op = syntax.OpEndText
	case syntax.OpEndText:
		m.Op = syntax.OpBeginText
	case syntax.OpConcat:
		slices.Reverse(m.Sub)
	case syntax.OpLiteral:
		m.Rune = slices.Clone(re.Rune)
		slices.Reverse(m.Rune)
	}
	return &m
}

// A builder compiles expressions over one alphabet.
type builder struct {
	Options
	sets   sets
	tested context
}

func (b *builder) compile(re *syntax.Regexp) (code, error) {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return code{}, err
	}
	if len(prog.Inst) > b.Most {
		return code{}, TooLargeError{b.Most}
	}
	c := code{start: uint32(prog.Start), insts: make([]inst, len(prog.Inst), len(prog.Inst)+2)}
	for i := range prog.Inst {
		c.insts[i] = b.translate(&prog.Inst[i])
	}
	if len(b.Edge) > 0 {
		b.addEdges(&c)
	}
	return c, nil
}

func (b *builder) translate(in *syntax.Inst) inst {
	switch in.Op {
	case syntax.InstMatch:
		return inst{op: opMatch}
	case syntax.InstAlt, syntax.InstAltMatch:
		return inst{opAlt, in.Out, in.Arg}
	case syntax.InstCapture, syntax.InstNop:
		return inst{op: opNop, out: in.Out}
	case syntax.InstEmptyWidth:
		switch op := syntax.EmptyOp(in.Arg); {
		case op&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0:
			b.tested |= afterWord
		case op&(syntax.EmptyBeginLine|syntax.EmptyBeginText) != 0:
			b.tested |= atLine | atText
		}
		return inst{opIf, in.Out, in.Arg}
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return inst{opChar, in.Out, b.sets.add(in)}
	}
	return inst{op: opFail}
}

// addEdges makes the code match only where no character of Edge is beside the match.
func (b *builder) addEdges(c *code) {
	b.tested |= afterEdge
	for i := range c.insts {
		if c.insts[i].op == opMatch {
			c.insts[i] = inst{opIf, uint32(len(c.insts)), uint32(edgeAfter)}
		}
	}
	c.insts = append(c.insts, inst{op: opMatch}, inst{opIf, c.start, uint32(edgeBefore)})
	c.start = uint32(len(c.insts) - 1)
}
