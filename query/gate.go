package query

import (
	"bytes"
	"unicode/utf8"
)

// gateLen is how many bytes of a term its key is made of.
const gateLen = 3

// A gate tells of most pieces of a text, from white space to white space, that they
// have none of some terms, in a fraction of what it takes to cut them into terms. It
// goes by the first bytes of terms, which stand somewhere in the piece when that is
// ASCII: in either case, and with underscores between them that are no part of a
// term.
type gate struct {
	open bool // some term is too short to be told
	keys [1 << 7]uint64
}

func (g *gate) add(term string) {
	switch {
	case term[0] >= utf8.RuneSelf: // no piece that is ASCII has it
	case len(term) < gateLen:
		g.open = true
	default:
		key := uint32(0)
		for _, c := range []byte(term[:gateLen]) {
			key = gateKey(key, c)
		}
		i := gatePlace(key)
		g.keys[i/64] |= 1 << (i % 64)
	}
}

// gateKey is the key with one more byte, which forgets the first one.
func gateKey(key uint32, c byte) uint32 { return (key<<8 | uint32(c|0x20)) & 0xffffff }

// gatePlace returns the bit of a key.
func gatePlace(key uint32) uint32 { return key * 0x9e3779b1 >> (32 - 13) }

// pieces visits the pieces of a text that may have some of the terms, in order, or
// the whole of it.
func (g *gate) pieces(text []byte, visit func(start, end int)) {
	// What follows the sequences of a terminal is a word of its own.
	if g.open || bytes.IndexByte(text, 0x1b) >= 0 {
		visit(0, len(text))
		return
	}
	for i := 0; i < len(text); i++ {
		if text[i] <= ' ' {
			continue
		}
		start, may := i, false
		for key := uint32(0); i < len(text) && text[i] > ' ' && !may; i++ {
			c := text[i]
			if c == '_' {
				continue
			}
			key = gateKey(key, c)
			place := gatePlace(key)
			may = c >= utf8.RuneSelf || g.keys[place/64]>>(place%64)&1 != 0
		}
		if !may {
			continue
		}
		for i < len(text) && text[i] > ' ' {
			i++
		}
		visit(start, i)
	}
}
