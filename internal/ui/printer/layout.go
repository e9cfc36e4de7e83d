package printer

import (
	"pigrep/internal/terminal"
	"pigrep/query/match"
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

// wrap breaks the clusters into at most n lines of at most width cells, at spaces
// or around wide characters where possible. taken is how many clusters are in the
// lines.
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
		case end < len(list) && list[end].text != " " && breakAt > taken:
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

var ellipsis = cluster{text: "…", width: 1}

// fragmentLines lays a fragment out in at most n lines of at most width cells. The
// first match is always visible.
func fragmentLines(f match.Fragment, width, n int) [][]cluster {
	s, spans := terminal.CleanSpans(f.Text, f.Spans)
	list := trimSpace(clusters(s, spans))
	lines, taken := wrap(list, width, n)
	if taken < len(list) {
		first, end := firstMarked(list)
		if end > taken-1 {
			// Put the match a third into the first line, from the beginning of a word.
			from, cells := first, 0
			for from > 0 && cells < width/3 {
				from--
				cells += list[from].width
			}
			for at := from; at < first; at++ {
				if list[at].text == " " {
					from = at + 1
					break
				}
			}
			if from > 0 {
				list = append([]cluster{ellipsis}, list[from:]...)
			}
			lines, taken = wrap(list, width, n)
		}
	}
	if taken < len(list) && len(lines) > 0 {
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

// firstMarked returns where the first run of marked clusters begins and ends.
func firstMarked(list []cluster) (start, end int) {
	for start < len(list) && !list[start].marked {
		start++
	}
	if start == len(list) {
		return 0, 0
	}
	end = start
	for end < len(list) && list[end].marked {
		end++
	}
	return start, end
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
