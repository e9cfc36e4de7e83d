package query

import (
	"bytes"
	"unicode/utf8"
)

// A rawNeedle tells of the JSON of an entry, without parsing it, that a needle
// cannot be in a string of it. It looks for the runs of letters and digits of
// the needle, one behind the other. The needle's other characters, and how JSON
// may write them, are passed over.
type rawNeedle struct {
	runs [][]byte // of ASCII letters, digits and _
	gaps []rawGap // between them
}

// rawGap is what stands between two runs.
type rawGap struct {
	space bool // white space, any amount of it
	punct bool // other characters
	most  int  // bytes that the others take at most
}

// newRawNeedle returns nil when the needle has nothing to look for.
func newRawNeedle(n *needle) *rawNeedle {
	if n.han {
		return nil
	}
	r := &rawNeedle{}
	var gap rawGap
	for i := 0; i < len(n.text); {
		start := i
		for i < len(n.text) && isRunByte(n.text[i]) {
			i++
		}
		if i > start {
			if len(r.runs) > 0 {
				r.gaps = append(r.gaps, gap)
			}
			r.runs = append(r.runs, n.text[start:i])
			gap = rawGap{}
			continue
		}
		if n.text[i] == ' ' {
			gap.space = true
		} else {
			gap.punct = true
			gap.most += 6 // when it is escaped
		}
		i++
	}
	if len(r.runs) == 0 {
		return nil
	}
	return r
}

func isRunByte(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' }

// mayHave reports whether some string of the JSON may have the needle. lower is
// the JSON in lower case.
func (r *rawNeedle) mayHave(lower []byte) bool {
	for from := 0; ; {
		i := bytes.Index(lower[from:], r.runs[0])
		if i < 0 {
			return false
		}
		if r.follows(lower, from+i+len(r.runs[0]), 0) {
			return true
		}
		from += i + 1
	}
}

// hasRuns reports whether all runs are there, wherever.
func (r *rawNeedle) hasRuns(lower []byte) bool {
	for _, run := range r.runs {
		if !bytes.Contains(lower, run) {
			return false
		}
	}
	return true
}

// follows reports whether the runs from gap k on may stand at a place.
func (r *rawNeedle) follows(lower []byte, at, k int) bool {
	if k == len(r.gaps) {
		return true
	}
	gap, run := r.gaps[k], r.runs[k+1]
	switch {
	case gap.space && gap.punct:
		return true
	case gap.space:
		for at < len(lower) {
			n := spaceLength(lower[at:])
			if n == 0 {
				break
			}
			at += n
		}
		return bytes.HasPrefix(lower[at:], run) && r.follows(lower, at+len(run), k+1)
	}
	window := lower[at:min(len(lower), at+gap.most+len(run))]
	for from := 0; ; {
		i := bytes.Index(window[from:], run)
		if i < 0 {
			return false
		}
		if r.follows(lower, at+from+i+len(run), k+1) {
			return true
		}
		from += i + 1
	}
}

// mayCross reports whether the needle may be in a text that is made of several
// strings of the JSON, with white space between them and punctuation between
// names and values: then one of its runs stands at the beginning of a string.
func (r *rawNeedle) mayCross(lower []byte) bool {
	for k, gap := range r.gaps {
		if gap.punct {
			return true
		}
		run := r.runs[k+1]
		for from := 0; ; {
			i := bytes.Index(lower[from:], run)
			if i < 0 {
				break
			}
			if beginsString(lower[:from+i]) {
				return true
			}
			from += i + 1
		}
	}
	return false
}

// beginsString reports whether nothing but white space stands between the last
// quote and the end.
func beginsString(b []byte) bool {
	for n := len(b); n > 0; n = len(b) {
		switch c := b[n-1]; {
		case c == '"':
			return true
		case c == ' ' || c >= utf8.RuneSelf:
			b = b[:n-1]
		case n > 1 && b[n-2] == '\\':
			b = b[:n-2]
		case n > 5 && b[n-6] == '\\' && b[n-5] == 'u':
			b = b[:n-6]
		default:
			return false
		}
	}
	return true
}

// spaceLength returns the length of what may be white space at the beginning:
// a space, an escape that is no quote, slash or backslash, or anything that is
// not ASCII.
func spaceLength(b []byte) int {
	switch {
	case b[0] == ' ':
		return 1
	case b[0] >= utf8.RuneSelf:
		return 1
	case b[0] != '\\' || len(b) < 2:
		return 0
	case b[1] == 'u':
		return min(6, len(b))
	case b[1] == '"' || b[1] == '\\' || b[1] == '/':
		return 0
	}
	return 2
}

// lowerRaw copies JSON in lower case. ok is false when the JSON has characters
// that folding may make ASCII letters or digits of, or that vanish: then nothing
// can be told without parsing.
func lowerRaw(to, data []byte) (lower []byte, ok bool) {
	lower = append(to[:0], data...)
	for i := 0; i < len(lower); i++ {
		c := lower[i]
		if t := plainJSON[c]; t != 0 {
			lower[i] = t
			continue
		}
		switch {
		case c == '\\':
			if i+5 < len(lower) && lower[i+1] == 'u' {
				if lower[i+2] != '0' || lower[i+3] != '0' || lower[i+4] > '1' {
					return lower, false
				}
			}
			i++ // what is escaped begins no escape
			if i < len(lower) && 'A' <= lower[i] && lower[i] <= 'Z' {
				lower[i] += 'a' - 'A'
			}
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(lower[i:])
			if !foldsApart(r) {
				return lower, false
			}
			i += size - 1
		}
	}
	return lower, true
}

// plainJSON maps ASCII characters to lower case, but backslashes and all others
// to 0.
var plainJSON = func() (table [256]byte) {
	for c := byte(1); c < utf8.RuneSelf; c++ {
		table[c] = c
		if 'A' <= c && c <= 'Z' {
			table[c] = c + 'a' - 'A'
		}
	}
	table['\\'] = 0
	return table
}()

// foldsApart reports whether folding makes no ASCII letter or digit of the
// character and does not drop it. It knows the frequent ones only.
func foldsApart(r rune) bool {
	switch {
	case r < 0x100:
		return r == 0xA0 || r == 0xA9 || r == 0xAB || r == 0xAE || r == 0xB0 || r == 0xB1 || r == 0xB7 || r == 0xBB || r == 0xD7 || r == 0xF7
	case 0x391 <= r && r <= 0x3C9, 0x410 <= r && r <= 0x44F: // Greek, Cyrillic
		return true
	case 0x2010 <= r && r <= 0x2027, 0x2190 <= r && r <= 0x22FF, 0x2300 <= r && r <= 0x23FF, 0x2500 <= r && r <= 0x27BF:
		return true
	case 0x3001 <= r && r <= 0x3029, 0x3041 <= r && r <= 0x3096, 0x30A1 <= r && r <= 0x30FE, 0x3400 <= r && r <= 0x9FFF, 0xAC00 <= r && r <= 0xD7A3:
		return true
	}
	return 0x1F300 <= r && r <= 0x1FAFF
}
