package shellcmd

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"pigrep/internal/lists"
	"pigrep/internal/terminal"
)

// Line returns a command line that runs argv in a directory, "" for the current one. Words are
// quoted by Quote.
func Line(dir string, argv []string) string {
	line := strings.Join(lists.Map(argv, Quote), " ")
	if strings.HasPrefix(dir, "-") {
		dir = "./" + dir
	}
	if dir != "" {
		line = "cd " + Quote(dir) + " && " + line
	}
	return line
}

// Quote quotes a word so that sh, dash, bash, zsh and fish (since 3.4) read its bytes back, and a
// terminal shows it without interpreting it. Only fish knows \' and \\ between single quotes, so
// quotes and backslashes are put outside of them. A word with control characters, line feeds or
// other characters that do not show is written by printf, which all these shells have, unlike $'…'.
// Line feeds at the end of the word stand behind the printf, because shells remove them from its
// output.
func Quote(word string) string {
	text := strings.TrimRight(word, "\n")
	switch end := word[len(text):]; {
	case word == "":
		return "''"
	case isBare(word):
		return word
	case !utf8.ValidString(text), strings.ContainsFunc(text, terminal.Hidden):
		if end != "" {
			end = "'" + end + "'"
		}
		return printed(text) + end
	}
	var b strings.Builder
	open := false
	for _, r := range word {
		if quoted := r != '\'' && r != '\\'; quoted != open {
			b.WriteByte('\'')
			open = quoted
		}
		if !open {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	if open {
		b.WriteByte('\'')
	}
	return b.String()
}

// printed returns a call of printf that writes a text. Most characters are written as numbers, because
// some mean something to printf, and because fish expands a dollar sign next to the call even in quotes.
func printed(text string) string {
	var b strings.Builder
	b.WriteString(`"$(printf '`)
	number := true // a digit or a dash would be taken for a part of what is before it
	for i := range len(text) {
		c := text[i]
		if number = !isLetter(c) && (number || !isBare(text[i:i+1])); number {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteString(`')"`)
	return b.String()
}

// isBare reports whether every shell leaves a word as it is.
func isBare(word string) bool {
	for i := range len(word) {
		c := word[i]
		if !isLetter(c) && (c < '0' || c > '9') && strings.IndexByte("_-./", c) < 0 && (i == 0 || strings.IndexByte(":@+,=", c) < 0) {
			return false
		}
	}
	return word != ""
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
