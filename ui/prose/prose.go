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
	broken, _ := wrap(rest, max(1, width-max(terminal.Width(first), terminal.Width(next))), len(rest)+1, 0)
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
// around wide characters where possible; a word is broken at the end of the line if it is
// longer than a line, or if the line would have less than the least cells. taken is the
// number of clusters in the lines.
func wrap(list []Cluster, width, n, least int) (lines [][]Cluster, taken int) {
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
		case end < len(list) && list[end].Text != " " && breakAt > taken && wordCells(list[breakAt:]) <= width && CellsOf(TrimSpace(list[taken:breakAt])) >= least:
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

var Ellipsis, space = Cluster{Text: "…", width: 1}, Cluster{Text: " ", width: 1}

// FragmentLines lays out a fragment in at most n lines of at most width cells. If the fragment
// does not fit, the lines show pieces of it: one around each marked text, as long as there is
// room. At least one marked text is visible.
func FragmentLines(f match.Fragment, width, n int) [][]Cluster {
	text, spans := terminal.CleanSpans(f.Text, f.Spans)
	list := TrimSpace(clusters(text, spans))
	least := (7*width + 9) / 10
	lines, taken := wrap(list, width, n, least)
	if taken == len(list) {
		return lines
	}
	var pieces []Cluster
	for room := n * (width + 1); room > 0; room-- {
		pieces = excerpt(list, room)
		if lines, taken = wrap(pieces, width, n, least); taken == len(pieces) {
			return lines
		}
	}
	if last := len(lines) - 1; last >= 0 { // not even a word fits
		line := lines[last]
		for len(line) > 0 && CellsOf(line) >= width {
			line = line[:len(line)-1]
		}
		lines[last] = append(line[:len(line):len(line)], Ellipsis)
	}
	return lines
}

// excerpt returns the pieces of a fragment that fit into a room of cells, with an ellipsis for each
// omission.
func excerpt(list []Cluster, room int) []Cluster {
	starts := tokens(list)
	sizes := make([]int, len(starts)-1)
	for i := range sizes {
		sizes[i] = CellsOf(list[starts[i]:starts[i+1]])
	}
	var musts [][2]int
	last := 0 // the end of the last one
	for _, m := range match.Choose(marks(list), room) {
		from, found := slices.BinarySearch(starts, m.Start)
		if !found {
			from--
		}
		to, _ := slices.BinarySearch(starts, m.End)
		musts = append(musts, [2]int{from, max(to, from+1)})
		last = max(last, to)
	}
	if size := CellsOf(list[:starts[last]]); 6*size <= 5*room { // it reads best from its beginning
		musts = [][2]int{{0, max(last, 1)}}
	}
	var shown []Cluster
	end := 0
	for _, p := range match.Excerpt(sizes, musts, room, 1) {
		piece := TrimSpace(list[starts[p[0]]:starts[p[1]]])
		switch {
		case p[0] > end && len(shown) == 0 && piece[0].Text != Ellipsis.Text:
			shown = append(shown, Ellipsis)
		case p[0] > end && len(shown) > 0 && shown[len(shown)-1].Text != Ellipsis.Text && piece[0].Text != Ellipsis.Text:
			shown = append(shown, space, Ellipsis, space)
		case len(shown) > 0:
			shown = append(shown, space)
		}
		shown, end = append(shown, piece...), p[1]
	}
	if end < len(sizes) && shown[len(shown)-1].Text != Ellipsis.Text {
		shown = append(shown, Ellipsis)
	}
	return shown
}

// tokens returns where the words of a list, and the pieces of long words, begin, and where
// the last one ends.
func tokens(list []Cluster) []int {
	starts := []int{0}
	for at := 0; at < len(list); {
		end := at
		for end < len(list) && list[end].Text != " " && (end == at || list[end].width < 2 && list[end-1].width < 2) {
			end++
		}
		for longWord := end-at > longToken; longWord && at+shortPiece < end; {
			at += shortPiece
			starts = append(starts, at)
		}
		for at = end; at < len(list) && list[at].Text == " "; {
			at++
		}
		starts = append(starts, at)
	}
	return starts
}

// A word of more than longToken clusters may be cut after each shortPiece clusters.
const longToken, shortPiece = 24, 4

// marks returns the marked texts of a list. Texts that differ only in case are one word.
func marks(list []Cluster) (found []match.Span) {
	words := map[string]int{}
	for at := 0; at < len(list); at++ {
		start, word := at, ""
		for ; at < len(list) && list[at].Marked; at++ {
			word += strings.ToLower(list[at].Text)
		}
		if word == "" {
			continue
		}
		if _, ok := words[word]; !ok {
			words[word] = len(words)
		}
		found = append(found, match.Span{Start: start, End: at, Word: words[word], Part: -1, Weight: 1})
	}
	return found
}

// Styled returns the text of clusters, with each run of marked ones, and of others, in its style.
func Styled(line []Cluster, style func(text string, marked bool) string) string {
	var b strings.Builder
	for len(line) > 0 {
		n, run := 0, ""
		for ; n < len(line) && line[n].Marked == line[0].Marked; n++ {
			run += line[n].Text
		}
		b.WriteString(style(run, line[0].Marked))
		line = line[n:]
	}
	return b.String()
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
