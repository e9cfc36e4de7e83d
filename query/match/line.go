package match

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// hasText reports whether there is anything but white space; it looks at a
// little of it only.
func hasText(b []byte) bool {
	b = b[:min(len(b), 4096)]
	return len(strings.TrimSpace(string(b))) > 0
}

// A LineBuffer is the memory of a text on one line.
type LineBuffer struct {
	text    []byte
	offsets []int
}

var lines = sync.Pool{New: func() any { return new(LineBuffer) }}

// Flatten writes a text on one line: every run of white space is a space, control
// characters and terminal sequences go, and so do marks that turn the direction of
// writing. at maps each offset of the text, its end included, to one of the line.
// Both are valid until the next call.
func (l *LineBuffer) Flatten(text []byte) (line []byte, at []int) {
	line = slices.Grow(l.text[:0], len(text))
	at = slices.Grow(l.offsets[:0], len(text)+1)[:len(text)+1]
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == 0x1b {
			size = escapeLength(text[i:])
		}
		for k := range size {
			at[i+k] = len(line)
		}
		i += size
		switch {
		case unicode.IsSpace(r):
			if n := len(line); n > 0 && line[n-1] != ' ' {
				line = append(line, ' ')
			}
		case unicode.IsControl(r) || IsDirectionMark(r):
		default:
			line = utf8.AppendRune(line, r)
		}
	}
	at[len(text)] = len(line)
	l.text, l.offsets = line, at
	return line, at
}

// escapeLength returns the length of the terminal sequence that begins a text.
func escapeLength(text []byte) int {
	if len(text) < 2 {
		return 1
	}
	switch text[1] {
	case '[': // parameters, then a letter
		for i := 2; i < len(text) && i < 64; i++ {
			if c := text[i]; 0x40 <= c && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x3f {
				break
			}
		}
	case ']': // up to a bell or ESC \
		for i := 2; i < len(text) && i < 512; i++ {
			if text[i] == 7 {
				return i + 1
			}
			if text[i] == 0x1b {
				return min(i+2, len(text))
			}
			if text[i] < 0x20 {
				break
			}
		}
	}
	return 1
}

func IsDirectionMark(r rune) bool {
	return 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069 || r == 0x200E || r == 0x200F || r == 0x061C || r == 0xFEFF
}

// IsBoundary reports whether a text may be cut before offset i without parting
// what is shown as one character. It knows marks, joined and coloured emoji,
// flags and Hangul letters, and is careful with the rest.
func IsBoundary(text []byte, i int) bool {
	if i <= 0 || i >= len(text) {
		return true
	}
	if !utf8.RuneStart(text[i]) {
		return false
	}
	r, _ := utf8.DecodeRune(text[i:])
	before, _ := utf8.DecodeLastRune(text[:i])
	switch {
	case r < utf8.RuneSelf:
		return true
	case unicode.IsMark(r), r == 0x200D, before == 0x200D, 0x1F3FB <= r && r <= 0x1F3FF, 0xE0020 <= r && r <= 0xE007F:
		return false
	case 0x1160 <= r && r <= 0x11FF:
		return false
	case isFlag(r) && isFlag(before):
		n := 0
		for at := i; at > 0; n++ {
			b, size := utf8.DecodeLastRune(text[:at])
			if !isFlag(b) {
				break
			}
			at -= size
		}
		return n%2 == 0
	}
	return true
}

func isFlag(r rune) bool { return 0x1F1E6 <= r && r <= 0x1F1FF }
