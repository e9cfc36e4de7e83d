package blame

import "strings"

// shortest is how many bytes a line has at least that tells where it is from. Shorter ones
// stand anywhere.
const shortest = 12

// tells reports whether a line alone can tell where it is from.
func tells(line string) bool { return len(strings.TrimSpace(line)) >= shortest }

// telling reports which lines can tell where they are from: those that are long enough, and unique in
// the text. Without lines, the keys stand for them.
func telling(lines, keys []string) []bool {
	count := make(map[string]int, len(keys))
	for _, k := range keys {
		count[k]++
	}
	list := make([]bool, len(keys))
	for i, k := range keys {
		text := k
		if lines != nil {
			text = lines[i]
		}
		list[i] = count[k] == 1 && tells(text)
	}
	return list
}

// squeezed returns a line without its white space.
func squeezed(line string) string {
	line = strings.TrimSpace(line)
	if strings.IndexByte(line, ' ') < 0 && strings.IndexByte(line, '\t') < 0 {
		return line
	}
	b := make([]byte, 0, len(line))
	for i := range len(line) {
		if c := line[i]; c != ' ' && c != '\t' {
			b = append(b, c)
		}
	}
	return string(b)
}

// likeness says how alike two lines are, by the pairs of characters that they share: 1 if these
// are the same.
func likeness(a, b string) float64 {
	a, b = squeezed(a), squeezed(b)
	if len(a) < 2 || len(b) < 2 || 3*min(len(a), len(b)) < max(len(a), len(b)) {
		return 0
	}
	count := make(map[[2]byte]int, len(a))
	for i := 1; i < len(a); i++ {
		count[[2]byte{a[i-1], a[i]}]++
	}
	same := 0
	for i := 1; i < len(b); i++ {
		if p := [2]byte{b[i-1], b[i]}; count[p] > 0 {
			count[p]--
			same++
		}
	}
	return 2 * float64(same) / float64(len(a)+len(b)-2)
}
