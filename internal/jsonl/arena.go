package jsonl

// arena allocates memory for decoded text and frees all of it at once.
type arena struct {
	blocks [][]byte
	small  int // the block that small requests are served from
	last   int // the block that room chose
}

const (
	arenaFirst   = 8 << 10 // the first block: many parsers read one entry
	arenaBlock   = 64 << 10
	arenaSmall   = 4 << 10
	arenaKept    = 4 << 20 // reset releases larger blocks
	arenaMaxKept = 8       // blocks
)

// reset frees everything that was allocated.
func (a *arena) reset() {
	kept := a.blocks[:0]
	for _, b := range a.blocks {
		if cap(b) <= arenaKept && len(kept) < arenaMaxKept {
			kept = append(kept, b[:0])
		}
	}
	clear(a.blocks[len(kept):])
	a.blocks = kept
	a.small = 0
}

// room returns an empty slice with space for n bytes. keep must follow before
// the next room.
func (a *arena) room(n int) []byte {
	// A small request that does not fit abandons the rest of a block, which is
	// little. A large request leaves that rest to small ones.
	first := 0
	if n <= arenaSmall {
		first = a.small
	}
	for k := first; k < len(a.blocks); k++ {
		if b := a.blocks[k]; cap(b)-len(b) >= n {
			if n <= arenaSmall {
				a.small = k
			}
			a.last = k
			return b[len(b):len(b):cap(b)]
		}
	}
	a.last = len(a.blocks)
	if n <= arenaSmall {
		a.small = a.last
	}
	size := arenaBlock
	if len(a.blocks) == 0 {
		size = arenaFirst
	}
	a.blocks = append(a.blocks, make([]byte, 0, max(n, size)))
	return a.blocks[a.last]
}

// keep claims a text that was appended to the last result of room. A text that outgrew
// its room is in other memory and is returned unchanged.
func (a *arena) keep(text []byte) []byte {
	b := a.blocks[a.last]
	if n := len(b) + len(text); n <= cap(b) && len(text) > 0 && &b[:n][len(b)] == &text[0] {
		a.blocks[a.last] = b[:n]
	}
	return text[:len(text):len(text)]
}

// Room returns an empty slice with space for n bytes of text. Call Keep before anything
// else is read.
func (s *Scanner) Room(n int) []byte { return s.arena.room(n + decodeSlack) }

// Keep claims a text that was appended to the last result of Room. The text is valid
// until the next Check.
func (s *Scanner) Keep(text []byte) []byte { return s.arena.keep(text) }
