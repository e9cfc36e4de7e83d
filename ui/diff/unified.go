package diff

import (
	"fmt"
	"strings"
)

// Unified returns the hunks as a unified diff without file names. Hunks have headers if
// line numbers are known. clean makes text safe to print.
func (f *File) Unified(clean func(string) string) string {
	var b strings.Builder
	for i, h := range f.Hunks {
		if before, after := h.span(before), h.span(after); before != "" && after != "" {
			fmt.Fprintf(&b, "@@ -%s +%s @@\n", before, after)
		} else if i > 0 {
			b.WriteString("@@\n")
		}
		for _, l := range h.Lines {
			b.WriteByte(byte(l.Kind))
			b.WriteString(clean(l.Text))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// before and after return the number of a line on that side, and whether it exists
// there.
func before(l *Line) (int, bool) { return l.Old, l.Kind != Added }
func after(l *Line) (int, bool)  { return l.New, l.Kind != Removed }

// span returns the first line and the number of lines on one side, as in the header of a
// hunk; "" if they are unknown.
func (h Hunk) span(side func(*Line) (int, bool)) string {
	first, count := 0, 0
	for i := range h.Lines {
		n, there := side(&h.Lines[i])
		switch {
		case !there:
			continue
		case n == 0:
			return ""
		case count == 0:
			first = n
		}
		count++
	}
	return fmt.Sprintf("%d,%d", first, count)
}
