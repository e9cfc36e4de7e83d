package printer

import (
	"bytes"
	"fmt"
)

// Fit returns how many of the first items fit into an answer of at most max bytes,
// and whether the answer fits at all. size estimates what an item adds; whole is
// the exact size of the answer with the first n items.
func Fit(max, items int, size func(i int) int, whole func(n int) int) (n int, fits bool) {
	if fits = whole(items) <= max; fits || items == 0 {
		return items, fits
	}
	for used := whole(0); n < items-1 && used < max; n++ {
		used += size(n)
	}
	for ; n > 0; n-- {
		if whole(n) <= max {
			return n, true
		}
	}
	return 0, whole(0) <= max
}

// budget writes an answer piece by piece. Without a bound it writes each piece
// immediately; with a bound it waits for the end and then writes as many whole rows as
// fit. Everything but rows is always written, even if it alone exceeds the bound.
type budget struct {
	*sink
	max     int // 0 for no bound
	written int

	// A bounded answer: around[0], rows, around[1], others, around[2].
	around       [3]bytes.Buffer
	at           int // index of the current piece in around
	rows, others []boundedRow
	size         int // of the rows
	dropped      int // rows beyond the bound, which are not kept

	begun bool // a row of the current list has been written
}

type boundedRow struct {
	data  []byte
	owner string
}

// piece takes a piece that is not a row.
func (b *budget) piece(data []byte) {
	b.begun = false
	if b.max > 0 {
		b.around[b.at].Write(data)
		return
	}
	b.pass(data)
}

// row takes a row.
func (b *budget) row(data []byte, owner string) {
	switch {
	case b.max == 0:
		b.next(data)
	case b.dropped > 0 || b.size+len(data) > b.max:
		b.drop()
	default:
		b.at = 1
		b.rows = append(b.rows, boundedRow{bytes.Clone(data), owner})
		b.size += len(data)
	}
}

// other takes a row that is kept only if a row with the same owner is kept.
func (b *budget) other(data []byte, owner string) {
	if b.max == 0 {
		b.next(data)
		return
	}
	b.at = 2
	b.others = append(b.others, boundedRow{bytes.Clone(data), owner})
}

// last takes the last piece, an object without its closing brace, and writes what
// is kept.
func (b *budget) last(data []byte) {
	if b.max == 0 {
		b.pass(append(data, "}\n"...))
		return
	}
	b.around[b.at].Write(data)
	n, _ := Fit(b.max, len(b.rows), func(i int) int { return len(b.rows[i].data) + 1 }, func(n int) int { return len(b.answer(n)) })
	b.pass(b.answer(n))
}

// answer is the bounded answer with its first n rows.
func (b *budget) answer(n int) []byte {
	out := bytes.Clone(b.around[0].Bytes())
	owners := make(map[string]bool)
	join := func(rows []boundedRow, stays func(owner string) bool) {
		first := true
		for _, r := range rows {
			if !stays(r.owner) {
				continue
			}
			if !first && !endsLine(r.data) {
				out = append(out, ',')
			}
			out = append(out, r.data...)
			first = false
		}
	}
	join(b.rows[:n], func(owner string) bool { owners[owner] = true; return true })
	out = append(out, b.around[1].Bytes()...)
	join(b.others, func(owner string) bool { return owners[owner] })
	out = append(out, b.around[2].Bytes()...)
	if d := b.dropped + len(b.rows) - n; d > 0 {
		out = fmt.Appendf(out, `,"dropped":%d`, d)
	}
	return append(out, "}\n"...)
}

// next writes a row and what separates it from the one before.
func (b *budget) next(data []byte) {
	b.separate(endsLine(data))
	b.pass(data)
}

// separate writes what separates a row, which ends its line or not, from the one before.
func (b *budget) separate(endsLine bool) {
	if b.begun && !endsLine {
		b.pass([]byte{','})
	}
	b.begun = true
}

// drop leaves a row out of a bounded answer.
func (b *budget) drop() {
	b.at = 1
	b.dropped++
}

// endsLine reports whether a row ends its line. Other rows need commas.
func endsLine(row []byte) bool { return row[len(row)-1] == '\n' }

func (b *budget) pass(data []byte) {
	n, _ := b.Write(data)
	b.written += n
}
