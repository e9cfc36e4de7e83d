package redact

import "strings"

// A text is read with sets of characters, from a position to the end of a window: the
// text up to some length after what announced the secret.

type set [256]bool

func setOf(chars string) (s set) {
	for i := range len(chars) {
		s[chars[i]] = true
	}
	return s
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
	alnum   = digits + letters
)

var (
	blanks    = set{' ': true, '\t': true}
	breaks    = set{'\n': true, '\v': true} // \v is softBreak
	spaces    = set{' ': true, '\t': true, '\n': true, '\v': true}
	quotes    = set{'"': true, '\'': true, '`': true}
	marks     = set{'\\': true, '"': true, '\'': true, '`': true} // quotes, escaped or not
	backslash = set{'\\': true}
	wordEnds  = setOf(" \t\n\v\"'`<>")
	alnums    = setOf(alnum)
	nameChars = setOf(alnum + "_-.$")
)

// skip returns the end of the run of the set's bytes that begins at i.
func (c *set) skip(s string, i int) int {
	for i < len(s) && c[s[i]] {
		i++
	}
	return i
}

// until returns the position of the first byte of the set from i on, or the end.
func (c *set) until(s string, i int) int {
	for i < len(s) && !c[s[i]] {
		i++
	}
	return i
}

// back returns where the run of the set's bytes that ends at end begins. It does not
// look before low.
func (c *set) back(s string, end, low int) int {
	for end > max(0, low) && c[s[end-1]] {
		end--
	}
	return end
}

// after returns the position after the last byte of the set before end, but not one
// before low.
func (c *set) after(s string, end, low int) int {
	for end > max(0, low) && !c[s[end-1]] {
		end--
	}
	return end
}

// skipAny and untilAny are skip and until for a set that is used once.
func skipAny(s string, i int, chars string) int { return len(s) - len(strings.TrimLeft(s[i:], chars)) }
func untilAny(s string, i int, chars string) int {
	if n := strings.IndexAny(s[i:], chars); n >= 0 {
		return i + n
	}
	return len(s)
}

// backOver returns the start of the run of these characters that ends at end.
func backOver(s string, end int, chars string) int { return len(strings.TrimRight(s[:end], chars)) }

func oneOf(c byte, chars string) bool { return strings.IndexByte(chars, c) >= 0 }

// char returns the byte at i, or 0 outside the text.
func char(s string, i int) byte {
	if uint(i) < uint(len(s)) {
		return s[i]
	}
	return 0
}

// byteBefore returns the byte before i, or a newline at the start and after the end of the text.
func byteBefore(s string, i int) byte {
	if uint(i-1) < uint(len(s)) {
		return s[i-1]
	}
	return '\n'
}

// first returns at most n bytes of a text.
func first(s string, n int) string { return s[:min(len(s), n)] }

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool { return isDigit(c) || isLower(c|0x20) }

func lower(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}

// equalFold reports whether s equals the word, ignoring the case of s.
func equalFold(s, word string) bool {
	for i := range len(word) {
		if lower(s[i]) != word[i] {
			return false
		}
	}
	return true
}

// hasPrefixFold reports whether s begins with the word, ignoring the case of s.
func hasPrefixFold(s, word string) bool { return len(s) >= len(word) && equalFold(s, word) }

// hasSuffixFold reports whether s ends in the word, ignoring the case of s.
func hasSuffixFold(s, word string) bool {
	return len(s) >= len(word) && equalFold(s[len(s)-len(word):], word)
}
