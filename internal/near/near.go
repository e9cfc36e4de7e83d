// Package near compares names as people type them: without regard to case, cut
// short, or with a typing error. It imports nothing of the project.
package near

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNearest is the number of ids that an error suggests.
const maxNearest = 3

// Nearest returns up to three ids that are most similar to name: within a third of its
// length in edits, as a whole or cut to its length, or with the same first four
// characters.
func Nearest(ids []string, name string) []string {
	type near struct {
		id       string
		distance int
		common   int
	}
	var list []near
	most := max(1, utf8.RuneCountInString(name)/3)
	for _, id := range ids {
		if id == "" || strings.HasPrefix(id, "@") {
			continue
		}
		common := 0
		for common < len(id) && common < len(name) && id[common]|0x20 == name[common]|0x20 {
			common++
		}
		low, typed := strings.ToLower(id), strings.ToLower(name)
		d := min(Distance(low, typed, most+1), Distance(low[:min(len(low), len(typed))], typed, most+1))
		if d <= most || common >= 4 {
			list = append(list, near{id, d, common})
		}
	}
	slices.SortFunc(list, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.common, a.common), cmp.Compare(a.id, b.id))
	})
	var found []string
	for _, n := range list {
		if !slices.Contains(found, n.id) {
			found = append(found, n.id)
		}
		if len(found) == maxNearest {
			break
		}
	}
	return found
}

// Unlike says how little a word is like another one: Typo or less within so many edits, more for
// other words, the less of their beginning they have in common.
func Unlike(word, other string) int {
	if d := Distance(word, other, Typo); d <= Typo {
		return d
	}
	common := 0
	for common < min(len(word), len(other)) && word[common] == other[common] {
		common++
	}
	return max(Typo+1, 1<<10-common)
}

// Typo is how many edits make a typing error at most.
const Typo = 2

// Distance returns the number of insertions, deletions, replacements and swaps of
// neighbours between two words, limit+1 if it is above limit.
func Distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > limit || -d > limit {
		return limit + 1
	}
	var before, last, row []int
	last, row, before = make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d := min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], limit+1)
}

// ContainsFold reports whether s contains part, ignoring case. No string contains the
// empty part.
func ContainsFold(s, part string) bool {
	return part != "" && strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

// HasPrefixFold reports whether s begins with prefix, ignoring case. No string begins
// with the empty prefix.
func HasPrefixFold(s, prefix string) bool {
	return prefix != "" && len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// ShortID is how many characters of an id are shown. That many from its end name it too.
const ShortID = 8

// IsID reports whether typed names the thing with this id: whether it is the id, its
// beginning, or at least eight characters of its end. Case does not matter.
func IsID(id, typed string) bool {
	from := len(id) - len(typed)
	return HasPrefixFold(id, typed) || len(typed) >= ShortID && from >= 0 && strings.EqualFold(id[from:], typed)
}

// SharedStart returns the length of the longest common prefix of s and another string of a
// sorted list.
func SharedStart(sorted []string, s string) (n int) {
	at, found := slices.BinarySearch(sorted, s)
	others := []int{at - 1, at}
	for ; found && others[1] < len(sorted) && sorted[others[1]] == s; others[1]++ { // it may be there twice
	}
	for _, i := range others {
		if i >= 0 && i < len(sorted) {
			k := 0
			for k < len(s) && k < len(sorted[i]) && s[k] == sorted[i][k] {
				k++
			}
			n = max(n, k)
		}
	}
	return n
}
