// Package prose says where texts are broken and cut to fit a width, and what of them may be
// printed: the lines of what was said, the ends of long outputs, the fragments of hits.
package prose

import (
	"bytes"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/lists"
	"pigrep/internal/terminal"
	"pigrep/query/engine/match"
	"pigrep/ui/transcript"
)

type lineStyle uint8

const (
	LinePlain lineStyle = iota
	LineHeading
	LineCode
	LineFence
)

type Line struct {
	Text  string
	Style lineStyle
}

const tabWidth = 4

// TidyLines yields the lines of Tidy(text) without empty ones at its ends.
func TidyLines(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		begun, empty := false, 0
		for piece := range terminal.Pieces(shared(text), true) {
			for line := range strings.SplitSeq(strings.TrimSuffix(tidyText(piece), "\n"), "\n") {
				if line == "" {
					empty++
					continue
				}
				for ; begun && empty > 0; empty-- {
					if !yield("") {
						return
					}
				}
				if begun, empty = true, 0; !yield(line) {
					return
				}
			}
		}
		if !begun {
			yield("")
		}
	}
}

// Tidy is like terminal.CleanLines with tabs as spaces. A lone carriage return starts a
// new line. The result may share the memory of the text.
func Tidy(text []byte) string { return tidyText(shared(text)) }

// shared returns a text as a string without copying it: nothing may change the text.
func shared(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

func tidyText(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	s = terminal.CleanLines(s)
	if strings.IndexByte(s, '\t') < 0 {
		return s
	}
	var b strings.Builder
	column := 0
	for _, r := range s {
		switch r {
		case '\t':
			n := tabWidth - column%tabWidth
			b.WriteString(strings.Repeat(" ", n))
			column += n
		case '\n':
			b.WriteRune(r)
			column = 0
		default:
			b.WriteRune(r)
			column++
		}
	}
	return b.String()
}

// SourceLines lays Markdown out as it was written: paragraphs and lists are wrapped at width
// cells, lines of code blocks and tables are only broken where they are too long.
// Width 0 breaks nothing. Nothing is omitted.
func SourceLines(text []byte, width int) (lines []Line) {
	add := func(style lineStyle, texts iter.Seq[string]) {
		for text := range texts {
			lines = append(lines, Line{text, style})
		}
	}
	fence := ""
	blank := true // skip leading and repeated blank lines
	for s := range strings.SplitSeq(strings.TrimRight(Tidy(text), "\n "), "\n") {
		s = strings.TrimRight(s, " ")
		trimmed := strings.TrimLeft(s, " ")
		mark := fenceMark(trimmed)
		switch {
		case fence != "" && mark != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(trimmed) == mark:
			lines, fence = append(lines, Line{s, LineFence}), ""
		case fence != "":
			add(LineCode, BrokenLine(s, width))
		case mark != "":
			add(LineFence, BrokenLine(s, width))
			fence = mark
		case trimmed == "":
			if !blank {
				lines = append(lines, Line{})
			}
		case strings.HasPrefix(trimmed, "|"):
			add(LinePlain, BrokenLine(s, width))
		case isHeading(trimmed):
			add(LineHeading, wrappedLine(s, width))
		default:
			add(LinePlain, wrappedLine(s, width))
		}
		blank = trimmed == "" && fence == ""
	}
	return lines
}

// fenceMark returns the backticks or tildes that begin or end a code block on this line; "" if the
// line does neither.
func fenceMark(s string) string {
	if !strings.HasPrefix(s, "```") && !strings.HasPrefix(s, "~~~") {
		return ""
	}
	rest := strings.TrimLeft(s, s[:1])
	if s[0] == '`' && strings.Contains(rest, "`") {
		return ""
	}
	return s[:len(s)-len(rest)]
}

func isHeading(s string) bool {
	rest := strings.TrimLeft(s, "#")
	n := len(s) - len(rest)
	return n > 0 && n <= 6 && strings.HasPrefix(rest, " ")
}

// wrappedLine breaks a line at spaces. Continuation lines are indented like the text
// of the list item or quotation.
func wrappedLine(s string, width int) iter.Seq[string] {
	if width <= 0 || len(s) > maxWrapped || terminal.Width(s) <= width {
		return BrokenLine(s, width)
	}
	first := listItem().FindString(s)
	hang := len(first)
	if hang > width/2 {
		first, hang = s[:len(s)-len(strings.TrimLeft(s, " "))], 0
		if len(first) > width/2 {
			first = ""
		}
	}
	rest := clusters(strings.TrimLeft(s[len(first):], " "), nil)
	next := strings.Repeat(" ", hang)
	if strings.HasPrefix(first, "> ") || hang == 0 {
		next = first
	}
	broken, _ := wrap(rest, max(1, width-max(terminal.Width(first), terminal.Width(next))), len(rest)+1)
	return func(yield func(string) bool) {
		for _, b := range broken {
			text := strings.Join(lists.Map(b, func(c Cluster) string { return c.Text }), "")
			if !yield(strings.TrimRight(first+text, " ")) {
				return
			}
			first = next
		}
	}
}

// listItem matches the indentation and the marker of a line, which continuation lines indent by.
var listItem = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ *([-*+>] |[0-9]+[.)] )?`) })

// maxWrapped is the length in bytes of the longest line that is broken at spaces.
const maxWrapped = 64 << 10

// BrokenLine yields the lines of at most width cells into which a line is broken.
func BrokenLine(s string, width int) iter.Seq[string] {
	return func(yield func(string) bool) {
		left := len(s)
		for piece := range brokenText(s, width) {
			if left -= len(piece); left > 0 {
				piece = strings.TrimRight(piece, " ")
			}
			if !yield(piece) {
				return
			}
		}
	}
}

// BreakText breaks a text into pieces of at most width cells, not counting a trailing
// space. It breaks after a space if there is one in the second half of the line, so that
// long paths and base64 still fill lines. The pieces add up to the text.
func BreakText(s string, width int) []string { return slices.Collect(brokenText(s, width)) }

// brokenText yields the pieces of BreakText.
func brokenText(s string, width int) iter.Seq[string] {
	return func(yield func(string) bool) {
		if width <= 0 || len(s) < transcript.LongestLine && terminal.Width(s) <= width {
			yield(s)
			return
		}
		breakPieces(s, width, yield)
	}
}

func breakPieces(s string, width int, yield func(string) bool) {
	start, used := 0, 0
	space, kept := 0, 0 // the end of the last word, and the cells before it
	for at := 0; at < len(s); {
		c, wide := terminal.Cluster(s[at:])
		if used+wide > width && used > 0 {
			end, next := at, 0 // where the piece ends, and the cells after it
			switch {
			case c == " ":
				end = at + 1
			case space > start && kept >= width/2:
				end, next = space, used-kept
			}
			if !yield(s[start:end]) {
				return
			}
			if start, used = end, next; end > at {
				at = end
				continue
			}
		}
		at += len(c)
		used += wide
		if c == " " && strings.TrimLeft(s[start:at], " ") != "" {
			space, kept = at, used
		}
	}
	if start < len(s) {
		yield(s[start:])
	}
}

// Folded is the first and last lines of a text.
type Folded struct {
	Head, Tail []string
	Hidden     int // lines between them
}

// Fold returns the first and last lines of a text and the number of lines between them. It
// counts those by their newlines alone.
func Fold(text []byte, head, tail int) Folded {
	text = bytes.Trim(text, "\r\n")
	if len(bytes.TrimSpace(text)) == 0 {
		return Folded{}
	}
	total := bytes.Count(text, []byte{'\n'}) + 1
	if total <= head+tail+1 { // a note about one hidden line would take a line itself
		return Folded{Head: cutLines(text, total)}
	}
	f := Folded{Head: cutLines(text, head), Hidden: total - head - tail}
	if tail > 0 {
		at := len(text)
		for range tail {
			at = bytes.LastIndexByte(text[:at], '\n')
		}
		f.Tail = cutLines(text[at+1:], tail)
	}
	return f
}

func cutLines(text []byte, n int) []string {
	lines := make([]string, 0, n)
	for range n {
		var one []byte
		one, text, _ = bytes.Cut(text, []byte{'\n'})
		one = bytes.TrimRight(one, "\r")
		one = one[bytes.LastIndexByte(one, '\r')+1:] // what a terminal shows in the end
		if len(one) > transcript.LongestLine {
			one = append(one[:transcript.LongestLine:transcript.LongestLine], "…"...)
		}
		lines = append(lines, strings.TrimRight(strings.ReplaceAll(Tidy(one), "\n", " "), " "))
	}
	return lines
}

// Cluster is a grapheme cluster: what a reader sees as one character.
type Cluster struct {
	Text   string
	width  int
	Marked bool
}

func clusters(s string, spans [][2]int) []Cluster {
	list := make([]Cluster, 0, len(s))
	for at := 0; at < len(s); {
		c, width := terminal.Cluster(s[at:])
		for len(spans) > 0 && at >= spans[0][1] {
			spans = spans[1:]
		}
		marked := len(spans) > 0 && at >= spans[0][0]
		list = append(list, Cluster{c, width, marked})
		at += len(c)
	}
	return list
}

// wrap breaks the clusters into at most n lines of at most width cells, at spaces or
// around wide characters where possible; a word longer than a line is broken at the end
// of the line. taken is the number of clusters in the lines.
func wrap(list []Cluster, width, n int) (lines [][]Cluster, taken int) {
	for len(lines) < n && taken < len(list) {
		if list[taken].Text == " " && len(lines) > 0 {
			taken++
			continue
		}
		end, cells, breakAt := taken, 0, 0
		for end < len(list) && cells+list[end].width <= width {
			cells += list[end].width
			end++
			if list[end-1].Text == " " || list[end-1].width > 1 {
				breakAt = end
			}
		}
		switch {
		case end == taken: // not even one fits
			end++
		case end < len(list) && list[end].Text != " " && breakAt > taken && wordCells(list[breakAt:]) <= width:
			end = breakAt
		}
		lines = append(lines, TrimSpace(list[taken:end]))
		taken = end
	}
	for taken < len(list) && list[taken].Text == " " {
		taken++
	}
	return lines, taken
}

// wordCells returns the width of the first word of a list.
func wordCells(list []Cluster) int {
	if end := slices.IndexFunc(list, func(c Cluster) bool { return c.Text == " " || c.width > 1 }); end >= 0 {
		list = list[:end]
	}
	return CellsOf(list)
}

var Ellipsis = Cluster{Text: "…", width: 1}

// FragmentLines lays out a fragment in at most n lines of at most width cells, choosing
// the part with the most matches. The first of these is always visible.
func FragmentLines(f match.Fragment, width, n int) [][]Cluster {
	s, spans := terminal.CleanSpans(f.Text, f.Spans)
	list := TrimSpace(clusters(s, spans))
	lines, taken := wrap(list, width, n)
	shown := list
	most, all := matchesIn(list[:taken]), matchesIn(list)
	for at := range list {
		if most == all || !beginsMatch(list, at) {
			continue
		}
		from := list[leadOf(list, at, width):]
		if len(from) < len(list) {
			from = append([]Cluster{Ellipsis}, from...)
		}
		if l, t := wrap(from, width, n); matchesIn(from[:t]) > most {
			lines, taken, shown, most = l, t, from, matchesIn(from[:t])
		}
	}
	if taken < len(shown) && len(lines) > 0 {
		last := lines[len(lines)-1]
		for CellsOf(last)+1 > width && len(last) > 1 {
			last = last[:len(last)-1]
		}
		if len(last) == 0 || last[len(last)-1].Text != "…" {
			last = append(last[:len(last):len(last)], Ellipsis)
		}
		lines[len(lines)-1] = last
	}
	return lines
}

// leadOf returns where the text shown for a match begins: at the start of a word, about
// a third of a line before the match.
func leadOf(list []Cluster, match, width int) int {
	from, cells := match, 0
	for from > 0 && cells < width/3 {
		from--
		cells += list[from].width
	}
	if from == 0 {
		return 0
	}
	for at := from; at < match; at++ {
		if list[at].Text == " " {
			return at + 1
		}
	}
	return from
}

func beginsMatch(list []Cluster, at int) bool {
	return list[at].Marked && (at == 0 || !list[at-1].Marked)
}

// matchesIn returns the total length of the matches in a list, counting each word once.
func matchesIn(list []Cluster) (length int) {
	seen := map[string]bool{}
	for at := range list {
		if !beginsMatch(list, at) {
			continue
		}
		word := ""
		for ; at < len(list) && list[at].Marked; at++ {
			word += strings.ToLower(list[at].Text)
		}
		if !seen[word] {
			seen[word] = true
			length += len(word)
		}
	}
	return length
}

func TrimSpace(list []Cluster) []Cluster {
	for len(list) > 0 && list[0].Text == " " {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].Text == " " {
		list = list[:len(list)-1]
	}
	return list
}

func CellsOf(list []Cluster) int {
	n := 0
	for _, c := range list {
		n += c.width
	}
	return n
}

// FoldLine breaks a long line between its facts, and a long fact between words.
func FoldLine(line string, width int) (lines []string) {
	last := ""
	for fact := range strings.SplitSeq(line, " · ") {
		switch {
		case last == "":
			last = fact
		case terminal.Width(last)+3+terminal.Width(fact) <= width:
			last += " · " + fact
		default:
			lines, last = append(lines, last), fact
		}
		parts := FoldWords(last, width)
		lines, last = append(lines, parts[:len(parts)-1]...), parts[len(parts)-1]
	}
	return append(lines, last)
}

// FoldWords breaks a long line between words. A long word stays whole.
func FoldWords(line string, width int) (lines []string) {
	for terminal.Width(line) > width {
		i := strings.LastIndexByte(ansi.Truncate(line, width+1, ""), ' ')
		if i <= 0 {
			if i = strings.IndexByte(line, ' '); i <= 0 {
				break
			}
		}
		lines, line = append(lines, line[:i]), line[i+1:]
	}
	return append(lines, line)
}

// CodeSpan returns a line of text as inline code of Markdown.
func CodeSpan(s string) string {
	if s == "" {
		return "``"
	}
	mark := "`"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	if len(mark) > 1 || strings.HasPrefix(s, "`") {
		return mark + " " + s + " " + mark
	}
	return mark + s + mark
}
