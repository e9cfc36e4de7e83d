package blame

import (
	"slices"
	"strings"
)

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

// match returns for each line of b the number of the line of a that it is, -1 for a new one.
// Lines keep their order. What is unique in both texts is matched first, and what lies between
// two matches after that.
func match(a, b []string) []int {
	m := make([]int, len(b))
	for i := range m {
		m[i] = -1
	}
	matchBetween(a, b, 0, len(a), 0, len(b), m)
	return m
}

// fewPairs is how many pairs of lines are compared with each other, where no line is unique.
const fewPairs = 1 << 18

func matchBetween(a, b []string, fromA, toA, fromB, toB int, m []int) {
	for fromA < toA && fromB < toB && a[fromA] == b[fromB] {
		m[fromB] = fromA
		fromA, fromB = fromA+1, fromB+1
	}
	for fromA < toA && fromB < toB && a[toA-1] == b[toB-1] {
		toA, toB = toA-1, toB-1
		m[toB] = toA
	}
	if fromA == toA || fromB == toB {
		return
	}
	pairs := uniquePairs(a, b, fromA, toA, fromB, toB)
	if len(pairs) == 0 {
		if (toA-fromA)*(toB-fromB) <= fewPairs {
			longest(a[fromA:toA], b[fromB:toB], func(i, k int) { m[fromB+k] = fromA + i })
		}
		return
	}
	for _, p := range pairs {
		m[p.b] = p.a
		matchBetween(a, b, fromA, p.a, fromB, p.b, m)
		fromA, fromB = p.a+1, p.b+1
	}
	matchBetween(a, b, fromA, toA, fromB, toB, m)
}

// pair is a line of a and the same line of b.
type pair struct{ a, b int }

// uniquePairs returns the lines that are unique in both ranges: the longest sequence that has the
// same order in both.
func uniquePairs(a, b []string, fromA, toA, fromB, toB int) []pair {
	const several = -2
	inA, inB := make(map[string]int, toA-fromA), make(map[string]int, toB-fromB)
	for at, lines := range map[*map[string]int][]string{&inA: a[fromA:toA], &inB: b[fromB:toB]} {
		for i, l := range lines {
			if _, ok := (*at)[l]; ok {
				(*at)[l] = several
			} else {
				(*at)[l] = i
			}
		}
	}
	var all []pair
	for i, l := range a[fromA:toA] {
		if k, ok := inB[l]; ok && k != several && inA[l] != several {
			all = append(all, pair{fromA + i, fromB + k})
		}
	}
	var ends []int // of the sequences of each length, the pair that ends earliest in b
	before := make([]int, len(all))
	for i, p := range all {
		n, _ := slices.BinarySearchFunc(ends, p.b, func(e, b int) int { return all[e].b - b })
		if before[i] = -1; n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	var pairs []pair
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			pairs = append(pairs, all[i])
		}
	}
	slices.Reverse(pairs)
	return pairs
}

// longest visits the pairs of a longest common subsequence.
func longest(a, b []string, visit func(i, k int)) {
	width := len(b) + 1
	length := make([]int32, (len(a)+1)*width) // of the rests of a and b
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			if a[i] == b[k] {
				length[i*width+k] = length[(i+1)*width+k+1] + 1
			} else {
				length[i*width+k] = max(length[(i+1)*width+k], length[i*width+k+1])
			}
		}
	}
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case a[i] == b[k]:
			visit(i, k)
			i, k = i+1, k+1
		case length[(i+1)*width+k] >= length[i*width+k+1]:
			i++
		default:
			k++
		}
	}
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
