package match

import (
	"cmp"
	"slices"
)

// Excerpt returns which tokens [from, to) of a line are shown in a room, in their order.
// sizes has the size of each token, with the space behind it. The first of the musts is
// shown, as much of it as fits, and the others as long as there is room. What is left of
// the room goes to the tokens between them, where all of these fit, and then to the tokens
// around them: two behind for each one before. Each place where something is left out takes
// a room of gap.
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

// shortestGap returns the piece that has the least before it that is left out, and how much; 0 if there is
// only one piece.
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

// next returns the room that one more token behind or before a piece takes, if there is one.
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

// joined returns pieces in order, with those that touch each other as one.
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
