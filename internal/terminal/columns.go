package terminal

import "strings"

// columnsWidth is the width of help texts on every terminal.
const columnsWidth = 80

// WriteColumns writes text next to a left column, wrapped at spaces.
func WriteColumns(b *strings.Builder, left, text string) {
	width := Width(left)
	b.WriteString(left)
	at := width
	for i, word := range strings.Fields(text) {
		n := Width(word)
		switch {
		case i == 0:
		case at+1+n > columnsWidth:
			b.WriteString("\n" + strings.Repeat(" ", width))
			at = width
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteByte('\n')
}
