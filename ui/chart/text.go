package chart

import (
	"cmp"
	"fmt"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
)

// Text draws a chart as lines for a terminal of this width, the title first: the latest periods as columns of
// blocks, or the names of a ranking with a bar each. The numbers are as in the other forms.
func (c *Chart) Text(width int) []string {
	if c.Kind == Ranking {
		return c.ranks(width)
	}
	from := max(0, len(c.Labels)-min(mostColumns, (width-1)/columnWidth))
	labels, most := c.Labels[from:], 0.0
	at := from
	for i := range labels {
		if sum := c.sum(from + i); sum > most {
			most, at = sum, from+i
		}
	}
	lines := []string{terminal.Clip(fmt.Sprintf("%s, at most %s in the %s", c.Title, c.Unit.text(most, most), longLabel(c.Labels[at])), width)}
	for row := columnHeight - 1; row >= 0; row-- {
		var b strings.Builder
		for i := range labels {
			level := 0
			if sum := c.sum(from + i); sum > 0 {
				level = max(1, int(sum/most*columnHeight*8+0.5)) - 8*row
			}
			b.WriteString(strings.Repeat(block(level), columnWidth-1) + " ")
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	first, last := shortLabel(labels[0], ""), shortLabel(labels[len(labels)-1], "")
	if gap := columnWidth*len(labels) - 1 - terminal.Width(first+last); gap > 0 {
		return append(lines, first+strings.Repeat(" ", gap)+last)
	}
	return append(lines, first+" – "+last)
}

const (
	columnHeight = 4  // lines
	columnWidth  = 3  // cells, one of them blank
	mostColumns  = 26 // half a year of weeks
	mostRanks    = 5
	longestRank  = 24 // cells of a name
)

// block returns a cell that is filled from below to so many eighths.
func block(level int) string {
	return string([]rune(" ▁▂▃▄▅▆▇█")[max(0, min(level, 8))])
}

// ranks draws the labels of a ranking with their sums, and a bar each.
func (c *Chart) ranks(width int) []string {
	lines, most := []string{terminal.Clip(c.Title, width)}, c.largestSum()
	name, number := 0, 0
	for i, label := range c.Labels {
		name, number = max(name, min(longestRank, terminal.Width(clean(label)))), max(number, len(c.Unit.text(c.sum(i), most)))
	}
	room := min(width-name-number-4, mostColumns*columnWidth/2)
	for i, label := range c.Labels {
		eighths := max(1, int(c.sum(i)/most*float64(8*room)+0.5))
		bar := strings.Repeat("█", eighths/8) + strings.TrimSpace(string([]rune(" ▏▎▍▌▋▊▉")[eighths%8]))
		lines = append(lines, fmt.Sprintf("%s  %*s  %s", terminal.Fit(clean(label), name), number, c.Unit.text(c.sum(i), most), bar))
	}
	return lines
}

// Failures returns the rows of tools with the most failed calls, as a ranking.
func Failures(t *audit.ToolTable, home string) *Chart {
	c := &Chart{Kind: Ranking, Title: "Failed calls by " + strings.Join(t.By, " and "), Head: t.By[0]}
	rows := append([]audit.ToolRow(nil), t.Rows...)
	lists.SortStable(rows, func(a, b audit.ToolRow) int { return cmp.Compare(b.Errors, a.Errors) })
	failed := Series{Name: "failed", Failed: true}
	for i := range rows[:min(len(rows), mostRanks)] {
		if rows[i].Errors > 0 {
			c.Labels = append(c.Labels, cmp.Or(names{t.By, home}.nameOf(&rows[i].Key), human.None))
			failed.Values = append(failed.Values, float64(rows[i].Errors))
		}
	}
	c.Series = []Series{failed}
	return c
}
