package match

import (
	"bytes"
	"unicode/utf8"
)

// termKeyLen is how many bytes of a term its key is made of.
const termKeyLen = 3

// A termPrefilter tells of most pieces of a text, from white space to white space, that they
// have none of some terms, in a fraction of what it takes to cut them into terms. It
// goes by the first bytes of terms, which stand somewhere in the piece when that is
// ASCII: in either case, and with underscores between them that are no part of a
// term.
type termPrefilter struct {
	disabled bool      // some term is too short to be told
	stops    [256]bool // the bytes at which to look: the first of a key, and what is not ASCII
	keys     [1 << 7]uint64
}

func newTermPrefilter() termPrefilter {
	g := termPrefilter{}
	for c := utf8.RuneSelf; c < len(g.stops); c++ {
		g.stops[c] = true
	}
	return g
}

func (g *termPrefilter) add(term string) {
	switch {
	case term[0] >= utf8.RuneSelf: // no piece that is ASCII has it
	case len(term) < termKeyLen:
		g.disabled = true
	default:
		key, _ := termKey([]byte(term))
		g.keys[key/64] |= 1 << (key % 64)
		g.stops[term[0]] = true
		if 'a' <= term[0] && term[0] <= 'z' {
			g.stops[term[0]-'a'+'A'] = true
		}
	}
}

// termKey returns the key of what begins a text, a number below 1<<13; false when
// there is none because it ends or has white space.
func termKey(text []byte) (key uint32, ok bool) {
	n := 0
	for _, c := range text {
		if c <= ' ' {
			return 0, false
		}
		if c == '_' {
			continue
		}
		key = key<<8 | uint32(c|0x20)
		if n++; n == termKeyLen {
			return key * 0x9e3779b1 >> (32 - 13), true
		}
	}
	return 0, false
}

// pieces visits the pieces of a text that may have some of the terms, in order, or
// the whole of it.
func (g *termPrefilter) pieces(text []byte, visit func(start, end int)) {
	// What follows the sequences of a terminal is a word of its own.
	if g.disabled || bytes.IndexByte(text, 0x1b) >= 0 {
		visit(0, len(text))
		return
	}
	for i := 0; i < len(text); i++ {
		if !g.stops[text[i]] {
			continue
		}
		if text[i] < utf8.RuneSelf {
			if key, ok := termKey(text[i:]); !ok || g.keys[key/64]>>(key%64)&1 == 0 {
				continue
			}
		}
		start, end := i, i+1
		for start > 0 && text[start-1] > ' ' {
			start--
		}
		for end < len(text) && text[end] > ' ' {
			end++
		}
		visit(start, end)
		i = end
	}
}
