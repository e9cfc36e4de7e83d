//go:build linux

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// allowed is what must differ between two runs, and is made alike before two
// answers are compared. Everything else counts, the order of JSON fields too.
var allowed = []struct {
	why     string
	pattern *regexp.Regexp
	put     func(match string) string
}{
	{"--verbose says when and how long", regexp.MustCompile(`(?m)^time=\S+ level=`), constant("time=TIME level=")},
	{"--verbose says when and how long", regexp.MustCompile(`\btook=\S+`), constant("took=TIME")},
	{"how many batches an index took depends on how its workers shared the files", regexp.MustCompile(`"generations?":\d+`), constant(`"generation":0`)},
	{"how many batches an index took depends on how its workers shared the files", regexp.MustCompile(`\bgeneration \d+`), constant("generation 0")},
	{"so does its size, and status says when it was written", regexp.MustCompile(`"sizeBytes":\d+,("newest":"[^"]*",)?"updated":"[^"]*"`), constant(`"sizeBytes":0`)},
	{"so does its size, and status says when it was written", regexp.MustCompile(`(?m)^(size|share|updated)\t.*$`), constant("size\t0")},
	{"a server says which version it is", regexp.MustCompile(`"serverInfo":\{[^}]*\}`), constant(`"serverInfo":{}`)},
	{"a cursor holds a random number of the index", regexp.MustCompile(`(Next page: cursor |"nextCursor":")[\w-]+`), plainCursor},
}

func constant(text string) func(string) string { return func(string) string { return text } }

var cursorIndex = regexp.MustCompile(`"[gr]":\d+,`)

// plainCursor writes the position that a cursor stands for, without generation
// and number of its index and the checksum behind.
func plainCursor(match string) string {
	at := strings.LastIndexAny(match, ` "`) + 1
	data, err := base64.RawURLEncoding.DecodeString(match[at:])
	if err != nil {
		return match
	}
	position, _, _ := strings.Cut(string(data), "}")
	return match[:at] + cursorIndex.ReplaceAllString(position, "")
}

// normal returns the answer without what must differ. The two indexes are in
// different directories.
func normal(a answer, indexDir string) answer {
	for _, text := range []*string{&a.Stdout, &a.Stderr} {
		*text = strings.ReplaceAll(*text, indexDir, "INDEX")
		for _, n := range allowed {
			*text = n.pattern.ReplaceAllStringFunc(*text, n.put)
		}
	}
	return a
}

// difference describes how two answers differ, or is empty.
func difference(old, new answer) string {
	var b strings.Builder
	if old.Code != new.Code {
		fmt.Fprintf(&b, "exit code %d, now %d\n", old.Code, new.Code)
	}
	for _, stream := range []struct{ name, old, new string }{{"stdout", old.Stdout, new.Stdout}, {"stderr", old.Stderr, new.Stderr}} {
		if stream.old != stream.new {
			fmt.Fprintf(&b, "%s\n%s", stream.name, unified(stream.old, stream.new))
		}
	}
	return b.String()
}

// How much of a difference is shown.
const (
	around      = 3
	windowLines = 60
	shownLines  = 24
	shownRunes  = 200
)

// unified returns the lines around the first that differs. JSON is laid out with
// a field a line, unless it differs in nothing but its layout.
func unified(old, new string) string {
	a, b := layOut(old), layOut(new)
	at := firstDifference(a, b)
	if at == len(a) && at == len(b) {
		a, b = strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n")
		at = firstDifference(a, b)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "@@ line %d @@\n", at+1)
	shown := 0
	show := func(mark, line string, from int) {
		if shown++; shown <= shownLines {
			fmt.Fprintf(&out, "%s %s\n", mark, clip(line, from))
		}
	}
	for _, line := range a[max(0, at-around):at] {
		show(" ", line, 0)
	}
	a, b = a[at:min(len(a), at+windowLines)], b[at:min(len(b), at+windowLines)]
	length := common(a, b)
	after := 0
	for i, j := 0, 0; (i < len(a) || j < len(b)) && after < around; {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			show(" ", a[i], 0)
			i, j, after = i+1, j+1, after+1
		case i < len(a) && (j == len(b) || length[i+1][j] >= length[i][j+1]):
			from := 0
			if j < len(b) {
				from = samePrefix(a[i], b[j])
			}
			show("-", a[i], from)
			i, after = i+1, 0
		default:
			from := 0
			if i > 0 {
				from = samePrefix(a[i-1], b[j])
			}
			show("+", b[j], from)
			j, after = j+1, 0
		}
	}
	if shown > shownLines {
		fmt.Fprintf(&out, "… %d more lines\n", shown-shownLines)
	}
	return out.String()
}

// common returns the length of the longest common subsequence of each pair of
// tails.
func common(a, b []string) [][]int {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	return length
}

func firstDifference(a, b []string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

func samePrefix(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

// clip shortens a long line to what is around the byte that differs.
func clip(line string, from int) string {
	line = strings.TrimSuffix(line, "\n")
	start := 0
	if from > shownRunes/2 && len(line) > shownRunes {
		start = from - shownRunes/2
		for start > 0 && !utf8.RuneStart(line[start]) {
			start--
		}
	}
	text := line[start:]
	if start > 0 {
		text = "…" + text
	}
	if runes := []rune(text); len(runes) > shownRunes {
		text = string(runes[:shownRunes]) + "…"
	}
	return strings.NewReplacer("\x1b", "␛", "\r", "␍", "\x00", "␀").Replace(text)
}

// layOut returns the lines of a text, each JSON object among them with a field a
// line.
func layOut(text string) []string {
	var lines []string
	for _, line := range strings.SplitAfter(text, "\n") {
		var laid bytes.Buffer
		if strings.HasPrefix(line, "{") && json.Indent(&laid, []byte(line), "", "  ") == nil {
			lines = append(lines, strings.SplitAfter(laid.String(), "\n")...)
		} else if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
