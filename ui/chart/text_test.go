package chart

import (
	"slices"
	"strings"
	"testing"

	"pigrep/internal/terminal"
	"pigrep/query/audit"
)

// As lines, a chart has the largest value in full height, nothing for no value, something for any other, and
// fits every width.
func TestText(t *testing.T) {
	c := &Chart{Title: "Cost by week", Unit: Dollars, Labels: []string{"2026-W09", "2026-W10", "2026-W11", "2026-W12"}, Series: []Series{{Values: []float64{8, 0, 0.001, 4}}}}
	want := []string{
		"Cost by week, at most $8.00 in the week of 23 Feb 2026",
		"██", "██", "██       ██", "██    ▁▁ ██",
		"23 Feb 2026 – 16 Mar 2026",
	}
	if got := c.Text(80); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	name := func(s string) audit.Key { return audit.Key{Tool: &s} }
	failed := Failures(&audit.ToolTable{By: []string{"tool"}, Rows: []audit.ToolRow{
		{Key: name("read"), Calls: 9}, {Key: name("edit"), Calls: 9, Errors: 3}, {Key: name("a \x1b[2Jname " + strings.Repeat("漢", 300)), Calls: 2000, Errors: 1200},
	}}, "")
	if got := failed.Text(80); len(got) != 3 || !strings.HasPrefix(got[1], "a name 漢") || !strings.Contains(got[1], "  1,200  ██") || !strings.HasPrefix(got[2], "edit ") || !strings.HasSuffix(got[2], "      3  ▏") {
		t.Errorf("failures are\n%s", strings.Join(got, "\n"))
	}
	for len(c.Labels) < 60 {
		c.Labels, c.Series[0].Values = append(c.Labels, "2026-03"), append(c.Series[0].Values, float64(len(c.Labels)))
	}
	for width := 60; width <= 200; width++ {
		for _, line := range append(c.Text(width), failed.Text(width)...) {
			if terminal.Width(line) > width || strings.Contains(line, "\x1b") {
				t.Errorf("at %d columns: %q", width, line)
			}
		}
	}
}
