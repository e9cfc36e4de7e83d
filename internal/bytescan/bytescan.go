// Package bytescan finds a pair of bytes, and quotes that end JSON strings. It looks at many
// bytes in a step, and does not stop at bytes that are only one of a pair: where those
// are common, it takes a fraction of the time of package bytes.
package bytescan

// A Pair is two bytes at a fixed distance.
type Pair struct {
	a, b     uint64 // each byte, repeated eight times
	anyCase  uint64 // the bit 0x20, repeated eight times, if one of them is a letter in any case, or 0
	distance int
}

const lowBits = 0x0101010101010101

// NewPair returns the pair of a, and of b at a distance after it. With fold, letters are in any
// case.
func NewPair(a, b byte, distance int, fold bool) Pair {
	p := Pair{a: uint64(a) * lowBits, b: uint64(b) * lowBits, distance: distance}
	if fold && ('a' <= a && a <= 'z' || 'a' <= b && b <= 'z') {
		p.anyCase = 0x20 * lowBits
	}
	return p
}

// step is how many offsets are looked at in a step.
const step = 32

// Next returns the first place of the pair from from on, len(text) when there is
// none. In any case it may also be the place of bytes that differ from the pair in
// the bit 0x20.
func (p *Pair) Next(text []byte, from int) int {
	i := from
	if n := (len(text) - p.distance - i) &^ (step - 1); n > 0 {
		k := indexPair(&text[i], &text[i+p.distance], n, p.a, p.b, p.anyCase)
		if i += k; k < n {
			return i
		}
	}
	for ; i+p.distance < len(text); i++ {
		if ((text[i]^byte(p.a))|(text[i+p.distance]^byte(p.b)))&^byte(p.anyCase) == 0 {
			return i
		}
	}
	return len(text)
}

// Quote returns the first place of a quote from from on that is not after a single backslash,
// len(data) when there is none. from is at least 2.
func Quote(data []byte, from int) int {
	i := from
	if n := (len(data) - i) &^ (step - 1); n > 0 {
		k := indexQuote(&data[i], n)
		if i += k; k < n {
			return i
		}
	}
	for ; i < len(data); i++ {
		if data[i] == '"' && (data[i-1] != '\\' || data[i-2] == '\\') {
			return i
		}
	}
	return len(data)
}
