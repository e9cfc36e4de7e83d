package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/terminal"
)

// input is one line of text with a cursor. The text field of bubbles is not used: its
// clipboard looks for programs on the PATH whenever the process starts.
type input struct {
	text string
	at   int    // byte offset of the cursor, between characters
	last string // the last text cut
}

func (i *input) set(text string) {
	i.text, _ = terminal.CleanSpans(text, nil)
	i.at = len(i.text)
}

// insert inserts text at the cursor. White space becomes spaces, and control
// characters are removed.
func (i *input) insert(text string) {
	text, _ = terminal.CleanSpans(text, nil)
	i.text = i.text[:i.at] + text + i.text[i.at:]
	i.at += len(text)
}

// previous returns the start of the character before the cursor.
func (i *input) previous() int {
	start := 0
	for at := 0; at < i.at; {
		start = at
		c, _ := ansi.FirstGraphemeCluster(i.text[at:], ansi.GraphemeWidth)
		at += max(1, len(c))
	}
	return start
}

// next returns the end of the character at the cursor.
func (i *input) next() int {
	c, _ := ansi.FirstGraphemeCluster(i.text[i.at:], ansi.GraphemeWidth)
	return i.at + len(c)
}

func (i *input) left()  { i.at = i.previous() }
func (i *input) right() { i.at = i.next() }
func (i *input) home()  { i.at = 0 }
func (i *input) end()   { i.at = len(i.text) }

func (i *input) wordLeft() {
	i.skipLeft(unicode.IsSpace)
	i.skipLeft(func(r rune) bool { return !unicode.IsSpace(r) })
}

func (i *input) skipLeft(skip func(rune) bool) {
	for i.at > 0 {
		r, n := utf8.DecodeLastRuneInString(i.text[:i.at])
		if !skip(r) {
			return
		}
		i.at -= n
	}
}

func (i *input) wordRight() {
	rest := i.text[i.at:]
	word := strings.TrimLeftFunc(rest, unicode.IsSpace)
	end := strings.IndexFunc(word, unicode.IsSpace)
	if end < 0 {
		end = len(word)
	}
	i.at += len(rest) - len(word) + end
}

func (i *input) backspace() { i.remove(i.previous(), i.at) }
func (i *input) delete()    { i.remove(i.at, i.next()) }
func (i *input) cutLeft()   { i.cut(0, i.at) }
func (i *input) cutRight()  { i.cut(i.at, len(i.text)) }
func (i *input) paste()     { i.insert(i.last) }

func (i *input) cutWordLeft() {
	end := i.at
	i.wordLeft()
	i.cut(i.at, end)
}

func (i *input) cutWordRight() {
	start := i.at
	i.wordRight()
	i.cut(start, i.at)
}

// cut removes text, which paste inserts again.
func (i *input) cut(from, to int) {
	if from < to {
		i.last = i.text[from:to]
	}
	i.remove(from, to)
}

func (i *input) remove(from, to int) {
	i.text = i.text[:from] + i.text[to:]
	i.at = from
}

// render returns the part of the text around the cursor that fits, and the cell of
// the cursor in it.
func (i *input) render(width int) (text string, cursor int) {
	if width <= 1 {
		return "", 0
	}
	cursor = terminal.Width(i.text[:i.at])
	if whole := terminal.Width(i.text); whole < width {
		return i.text, cursor
	}
	from := max(0, cursor-width*3/4)
	text = ansi.Cut(i.text, from, from+width-1)
	if from > 0 {
		text = "…" + ansi.Cut(i.text, from+1, from+width-1)
	}
	return text, min(cursor-from, width-1)
}
