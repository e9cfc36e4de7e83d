package printer

import (
	"strings"

	"pigrep/internal/terminal"
	"pigrep/query/engine/match"
)

// cluster is a grapheme cluster: what a reader sees as one character.
type cluster struct {
	text   string
	width  int
	marked bool
}

func clusters(s string, spans [][2]int) []cluster {
	list := make([]cluster, 0, len(s))
	for at := 0; at < len(s); {
		c, width := terminal.Cluster(s[at:])
		for len(spans) > 0 && at >= spans[0][1] {
			spans = spans[1:]
		}
		marked := len(spans) > 0 && at >= spans[0][0]
		list = append(list, cluster{c, width, marked})
		at += len(c)
	}
	return list
}

// wrap breaks the clusters into at most n lines of at most width cells, at spaces or
// around wide characters where possible; a word longer than a line is broken at the end
// of the line. taken is the number of clusters in the lines.
func wrap(list []cluster, width, n int) (lines [][]cluster, taken int) {
	for len(lines) < n && taken < len(list) {
		if list[taken].text == " " && len(lines) > 0 {
			taken++
			continue
		}
		end, cells, breakAt := taken, 0, 0
		for end < len(list) && cells+list[end].width <= width {
			cells += list[end].width
			end++
			if list[end-1].text == " " || list[end-1].width > 1 {
				breakAt = end
			}
		}
		switch {
		case end == taken: // not even one fits
			end++
		case end < len(list) && list[end].text != " " && breakAt > taken && wordCells(list[breakAt:]) <= width:
			end = breakAt
		}
		lines = append(lines, trimSpace(list[taken:end]))
		taken = end
	}
	for taken < len(list) && list[taken].text == " " {
		taken++
	}
	return lines, taken
}

// wordCells is the width of the word at the beginning of a list.
func wordCells(list []cluster) (cells int) {
	for _, c := range list {
		if c.text == " " || c.width > 1 {
			break
		}
		cells += c.width
	}
	return cells
}

var ellipsis = cluster{text: "…", width: 1}

// fragmentLines lays out a fragment in at most n lines of at most width cells, choosing
// the part with the most matches. The first of these is always visible.
func fragmentLines(f match.Fragment, width, n int) [][]cluster {
	s, spans := terminal.CleanSpans(f.Text, f.Spans)
	list := trimSpace(clusters(s, spans))
	lines, taken := wrap(list, width, n)
	shown := list
	most := matchesIn(list[:taken])
	for at := range list {
		if taken == len(list) || most == matchesIn(list) || !beginsMatch(list, at) {
			continue
		}
		from := list[leadOf(list, at, width):]
		if len(from) < len(list) {
			from = append([]cluster{ellipsis}, from...)
		}
		if l, t := wrap(from, width, n); matchesIn(from[:t]) > most {
			lines, taken, shown, most = l, t, from, matchesIn(from[:t])
		}
	}
	if taken < len(shown) && len(lines) > 0 {
		last := lines[len(lines)-1]
		for cellsOf(last)+1 > width && len(last) > 1 {
			last = last[:len(last)-1]
		}
		if len(last) == 0 || last[len(last)-1].text != "…" {
			last = append(last[:len(last):len(last)], ellipsis)
		}
		lines[len(lines)-1] = last
	}
	return lines
}

// leadOf returns where the text shown for a match begins: at the start of a word, about
// a third of a line before the match.
func leadOf(list []cluster, match, width int) int {
	from, cells := match, 0
	for from > 0 && cells < width/3 {
		from--
		cells += list[from].width
	}
	if from == 0 {
		return 0
	}
	for at := from; at < match; at++ {
		if list[at].text == " " {
			return at + 1
		}
	}
	return from
}

func beginsMatch(list []cluster, at int) bool {
	return list[at].marked && (at == 0 || !list[at-1].marked)
}

// matchesIn returns the total length of the matches in a list, counting each word once.
func matchesIn(list []cluster) (length int) {
	seen := map[string]bool{}
	for at := range list {
		if !beginsMatch(list, at) {
			continue
		}
		word := ""
		for ; at < len(list) && list[at].marked; at++ {
			word += strings.ToLower(list[at].text)
		}
		if !seen[word] {
			seen[word] = true
			length += len(word)
		}
	}
	return length
}

func trimSpace(list []cluster) []cluster {
	for len(list) > 0 && list[0].text == " " {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].text == " " {
		list = list[:len(list)-1]
	}
	return list
}

func cellsOf(list []cluster) int {
	n := 0
	for _, c := range list {
		n += c.width
	}
	return n
}
