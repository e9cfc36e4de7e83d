package match

import (
	"cmp"
	"slices"
)

// Excerpt chooses the tokens of a line that are shown in a room. It returns them as ranges
// [from, to), in order. sizes has the size of each token with the space behind it. As much
// of the first must as fits is shown, then the other musts as long as there is room. The
// rest of the room goes to the tokens between the musts, where all of them fit, and then to
// the tokens around them: two behind for each one before. Each omission takes gap.
func Excerpt(sizes []int, musts [][2]int, room, gap int) (pieces [][2]int) {
	if len(sizes) == 0 {
		return nil
	}
	if len(musts) == 0 {
		musts = [][2]int{{0, 1}}
	}
	first := musts[0]
	for first[1] > first[0]+1 && taken(sizes, [][2]int{first}, gap) > room {
		first[1]--
	}
	pieces = [][2]int{first}
	for _, must := range musts[1:] {
		if with := joined(append(slices.Clone(pieces), must)); taken(sizes, with, gap) <= room {
			pieces = with
		}
	}
	for {
		i, size := shortestGap(sizes, pieces)
		if i == 0 || taken(sizes, pieces, gap)+size-gap > room {
			break
		}
		pieces[i-1][1] = pieces[i][0]
		pieces = joined(pieces)
	}
	left := room - taken(sizes, pieces, gap)
	for grown := true; grown; {
		grown = false
		for _, forward := range []bool{true, true, false} {
			for i := range pieces {
				if size, ok := next(sizes, pieces, i, forward, gap); ok && size <= left {
					left -= size
					grown = true
					if forward {
						pieces[i][1]++
					} else {
						pieces[i][0]--
					}
				}
			}
		}
		pieces = joined(pieces)
	}
	return pieces
}

// taken returns the room that pieces take.
func taken(sizes []int, pieces [][2]int, gap int) (room int) {
	end := 0
	for _, p := range pieces {
		if p[0] > end {
			room += gap
		}
		for _, size := range sizes[p[0]:p[1]] {
			room += size
		}
		end = p[1]
	}
	if end < len(sizes) {
		room += gap
	}
	return room
}

// shortestGap returns the piece with the smallest omission before it, and the size of the omission; 0 if
// there is only one piece.
func shortestGap(sizes []int, pieces [][2]int) (piece, least int) {
	for i := 1; i < len(pieces); i++ {
		size := 0
		for _, n := range sizes[pieces[i-1][1]:pieces[i][0]] {
			size += n
		}
		if piece == 0 || size < least {
			piece, least = i, size
		}
	}
	return piece, least
}

// next returns the room that one more token takes behind or before a piece, if there is a token.
func next(sizes []int, pieces [][2]int, i int, forward bool, gap int) (size int, ok bool) {
	from, to := 0, len(sizes) // what is left out on that side
	if forward {
		if from = pieces[i][1]; i+1 < len(pieces) {
			to = pieces[i+1][0]
		}
	} else {
		if to = pieces[i][0]; i > 0 {
			from = pieces[i-1][1]
		}
	}
	if from >= to {
		return 0, false
	}
	if size = sizes[to-1]; forward {
		size = sizes[from]
	}
	if to-from == 1 {
		size -= gap
	}
	return size, true
}

// joined returns pieces in order, and joins pieces that touch each other.
func joined(pieces [][2]int) [][2]int {
	slices.SortFunc(pieces, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	list := pieces[:0]
	for _, p := range pieces {
		if n := len(list); n > 0 && p[0] <= list[n-1][1] {
			list[n-1][1] = max(list[n-1][1], p[1])
		} else {
			list = append(list, p)
		}
	}
	return list
}
