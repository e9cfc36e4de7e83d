package chart

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/query/audit"
	"pigrep/query/facets"
)

var update = flag.Bool("update", false, "write the golden files again")

// hostile is a name that would do harm where it is not escaped.
const hostile = "</title></text><script>alert(1)</script>\" onload=\"alert(2)\x1b[31m\u202e\ufffe&amp;"

func file(t *testing.T, c *Chart) string {
	t.Helper()
	var b strings.Builder
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// shown is a value in an SVG file.
type shown struct{ Value, Title string }

// values returns the values of a file, which must be well-formed, and the elements in it.
func values(t *testing.T, svg string) (list []shown, elements map[string]bool) {
	t.Helper()
	elements = make(map[string]bool)
	d := xml.NewDecoder(strings.NewReader(svg))
	inTitle, ofValue := false, false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list, elements
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			elements[e.Name.Local] = true
			if e.Name.Local == "title" {
				inTitle = ofValue
				continue
			}
			ofValue = false
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" {
					t.Errorf("an element %s has the attribute %s", e.Name.Local, a.Name.Local)
				}
				if a.Name.Local == "data-value" {
					list, ofValue = append(list, shown{Value: a.Value}), true
				}
			}
		case xml.CharData:
			if inTitle {
				list[len(list)-1].Title = string(e)
			}
		case xml.EndElement:
			inTitle = false
		}
	}
}

func ptr(s string) *string { return &s }

func day(n int) string {
	return time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n).Format(time.DateOnly)
}

// spent is an answer by day and model.
func spent(rows ...audit.UsageRow) *audit.UsageTable {
	t := &audit.UsageTable{By: []string{"day", "model"}, Rows: rows}
	for _, r := range rows {
		t.Total.Cost += r.Cost
		t.Total.Tokens += r.Tokens
	}
	return t
}

func used(day, model string, cost float64, tokens int64) audit.UsageRow {
	return audit.UsageRow{Key: audit.Key{Day: day, Model: ptr(model)}, Cost: cost, Tokens: tokens}
}

func samples() map[string]*Chart {
	small := spent(used(day(3), "anthropic/opus", 1.25, 100), used(day(0), "anthropic/opus", 0.5, 50), used(day(0), hostile, 0.125, 10))
	calls := &audit.ToolTable{By: []string{"tool"}, Rows: []audit.ToolRow{
		{Key: audit.Key{Tool: ptr("bash")}, Calls: 1200, Errors: 30}, {Key: audit.Key{Tool: ptr(hostile)}, Calls: 7}, {Key: audit.Key{Tool: ptr("")}, Calls: 1, Errors: 1},
	}}
	calendar := Usage(spent(used("2025-12-31", "m", 1, 1), used("2026-01-01", "m", 2, 1), used("2026-03-05", "m", 0.5, 1)), "")
	calendar.Kind = Calendar
	links := Usage(spent(used(day(0), "", 0, 3), used(day(4), "", 0, 9)), "")
	links.Links = []string{"/?a=1&b=2", "", "", "", "javascript:alert(1)"}
	return map[string]*Chart{"bars": Usage(small, ""), "ranking": Tools(calls, ""), "calendar": calendar, "links": links}
}

// Files are XML with every value and its title, whatever names are in them.
func TestFiles(t *testing.T) {
	for name, c := range samples() {
		out := file(t, c)
		if name != "calendar" { // a cell for each day
			path := filepath.Join("testdata", name+".svg")
			if *update {
				if err := os.WriteFile(path, []byte(strings.Replace(out, Style(), "", 1)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), strings.Replace(out, Style(), "", 1)); diff != "" {
				t.Errorf("%s (-want +got), -update writes it again:\n%s", path, diff)
			}
		}
		list, elements := values(t, out)
		if len(list) == 0 {
			t.Errorf("%s has no values", name)
		}
		for _, v := range list {
			if v.Title == "" {
				t.Errorf("%s: %s has no title", name, v.Value)
			}
		}
		for element := range elements {
			if !slices.Contains([]string{"svg", "style", "rect", "text", "title", "line", "a"}, element) {
				t.Errorf("%s has an element %q", name, element)
			}
		}
		if strings.Contains(out, "javascript:") || strings.ContainsAny(out, "\x1b\u202e\ufffe") {
			t.Errorf("%s has a hostile character or address:\n%s", name, out)
		}
		html, err := c.HTML()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(html), "<script") || strings.Contains(string(html), "style=") || strings.Contains(string(html), "javascript:") {
			t.Errorf("%s: the page is not safe:\n%s", name, html)
		}
	}
}

// The values in a picture are those of the rows.
func TestValues(t *testing.T) {
	rows := []audit.UsageRow{used(day(3), "a", 0.1+0.2, 7), used(day(3), "b", 1e-7, 7), used(day(1), "b", 12345.678, 7), used(day(0), "a", 0, 7)}
	for name, table := range map[string]*audit.UsageTable{"cost": spent(rows...), "tokens": spent(used(day(1), "a", 0, 123456789), used(day(0), "b", 0, 1))} {
		var want, got []string
		for _, r := range table.Rows {
			switch v := max(r.Cost, 0); {
			case name == "tokens":
				want = append(want, strconv.FormatInt(r.Tokens, 10))
			case v > 0:
				want = append(want, strconv.FormatFloat(v, 'g', -1, 64))
			}
		}
		list, _ := values(t, file(t, Usage(table, "")))
		for _, v := range list {
			n, err := strconv.ParseFloat(v.Value, 64)
			if err != nil {
				t.Fatal(err)
			}
			if name == "tokens" {
				v.Value = strconv.FormatInt(int64(n), 10)
			}
			got = append(got, v.Value)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-rows +picture):\n%s", name, diff)
		}
	}
}

// Numbers that cannot be drawn are refused; none, one and equal ones are drawn.
func TestNumbers(t *testing.T) {
	for _, kind := range []Kind{Bars, Calendar, Ranking} {
		for _, v := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			c := &Chart{Kind: kind, Title: "t", Labels: []string{day(0)}, Series: []Series{{Values: []float64{v}}}}
			if err := c.Write(io.Discard); err == nil || !strings.Contains(err.Error(), day(0)) {
				t.Errorf("kind %d draws %v: %v", kind, v, err)
			}
		}
		huge := &Chart{Kind: kind, Labels: []string{day(0)}, Series: []Series{{Values: []float64{math.MaxFloat64}}, {Values: []float64{math.MaxFloat64}}}}
		if err := huge.Write(io.Discard); err == nil {
			t.Errorf("kind %d draws a sum that is infinite", kind)
		}
		short := &Chart{Kind: kind, Labels: []string{day(0), day(1)}, Series: []Series{{Values: []float64{1}}}}
		if err := short.Write(io.Discard); err == nil {
			t.Errorf("kind %d draws a value for two labels", kind)
		}
		for name, c := range map[string]*Chart{
			"nothing": {Kind: kind, Title: "t"},
			"zero":    {Kind: kind, Title: "t", Labels: []string{day(0)}, Series: []Series{{Values: []float64{0}}}},
		} {
			if out := file(t, c); !strings.Contains(out, "Nothing to draw.") || strings.Contains(out, "NaN") {
				t.Errorf("kind %d of %s:\n%s", kind, name, out)
			}
		}
		for name, list := range map[string][]float64{"one": {3}, "tiny": {5e-324}, "large": {largest}, "equal": {2, 2, 2, 2}} {
			c := &Chart{Kind: kind, Title: "t", Unit: Dollars, Series: []Series{{Values: list}}}
			for i := range list {
				c.Labels = append(c.Labels, day(i))
			}
			out := file(t, c)
			if got, _ := values(t, out); len(got) != len(list) || strings.Contains(out, "NaN") || strings.Contains(out, "Inf") {
				t.Errorf("kind %d of %s: %d values\n%s", kind, name, len(got), out)
			}
		}
	}
}

// Three years of days stay a picture of moderate size, and a calendar has a block a year.
func TestYears(t *testing.T) {
	var rows []audit.UsageRow
	for i := range 3 * 365 {
		if i%7 < 5 {
			rows = append(rows, used(day(i), "m"+strconv.Itoa(i%11), float64(i%13)+0.5, 1))
		}
	}
	c := Usage(spent(rows...), "")
	if len(c.Labels) < 3*365-3 || len(c.Series) != colours || c.Series[colours-1].Name != "4 others" {
		t.Errorf("%d labels, %d series", len(c.Labels), len(c.Series))
	}
	sum, want := 0.0, 0.0
	list, _ := values(t, file(t, c))
	for _, v := range list {
		n, _ := strconv.ParseFloat(v.Value, 64)
		sum += n
	}
	for _, r := range rows {
		want += r.Cost
	}
	if math.Abs(sum-want) > 1e-6 {
		t.Errorf("the bars add up to %v, want %v", sum, want)
	}
	c.Kind = Calendar
	out := file(t, c)
	for _, year := range []string{">2026<", ">2027<", ">2028<"} {
		if !strings.Contains(out, year) {
			t.Errorf("the calendar lacks %s", year)
		}
	}
	if list, _ := values(t, out); len(list) != len(rows) {
		t.Errorf("%d days in the calendar, want %d", len(list), len(rows))
	}
}

// A long ranking has its first labels; the others are counted, without a bar.
func TestTop(t *testing.T) {
	table := &audit.ToolTable{By: []string{"tool"}}
	for i := range 100 {
		table.Rows = append(table.Rows, audit.ToolRow{Key: audit.Key{Tool: ptr(strconv.Itoa(i))}, Calls: 1000 - i, Errors: 1})
	}
	c := Tools(table, "")
	c.Top(10, 0)
	out := file(t, c)
	if list, _ := values(t, out); len(list) != 20 || !strings.Contains(out, ">90 others<") || !strings.Contains(out, ">85,095<") || !strings.Contains(out, `width="99.900%"`) {
		t.Errorf("%d values:\n%s", len(list), out)
	}
	if c.total() != 95050 {
		t.Errorf("the total is %v", c.total())
	}
}

// Periods without a row are drawn too, but not centuries of them.
func TestFilled(t *testing.T) {
	for _, test := range []struct {
		list []string
		want string
	}{
		{[]string{"2026-02-27", "2026-03-02"}, "2026-02-27 2026-02-28 2026-03-01 2026-03-02"},
		{[]string{"2026-W52", "2027-W01"}, "2026-W52 2026-W53 2027-W01"},
		{[]string{"2025-11", "2026-01"}, "2025-11 2025-12 2026-01"},
		{[]string{"0001-01-01", "9999-12-31"}, "0001-01-01 9999-12-31"},
		{[]string{"2026-02-27"}, "2026-02-27"},
		{nil, ""},
	} {
		if got := strings.Join(filled(test.list), " "); got != test.want {
			t.Errorf("filled(%q) = %s, want %s", test.list, got, test.want)
		}
	}
}

// Ticks are round and the last is not below the largest value.
func TestAxis(t *testing.T) {
	for _, test := range []struct {
		unit Unit
		most float64
		want string
	}{
		{Count, 1, "0 1"}, {Count, 3, "0 1 2 3"}, {Count, 37, "0 10 20 30 40"}, {Count, 1200, "0 500 1,000 1,500"}, {Count, 51_234, "0 20k 40k 60k"},
		{Tokens, 1_500_000, "0 500k 1M 1.5M"}, {Tokens, 3.2e9, "0 1B 2B 3B 4B"},
		{Dollars, 0.0003, "$0 $0.0001 $0.0002 $0.0003"}, {Dollars, 0.7, "$0 $0.20 $0.40 $0.60 $0.80"}, {Dollars, 12.5, "$0 $5 $10 $15"}, {Dollars, 4000, "$0 $1k $2k $3k $4k"},
	} {
		step, steps := test.unit.axis(test.most)
		var got []string
		for i := range steps + 1 {
			got = append(got, test.unit.tick(step*float64(i), step))
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("axis(%v) = %s, want %s", test.most, s, test.want)
		}
	}
}

// A period has a first day, and one after its last.
func TestSpan(t *testing.T) {
	const none = "0001-01-01"
	for label, want := range map[string]string{"2026-03-01": "2026-03-01 2026-03-02", "2026-W01": "2025-12-29 2026-01-05", "2024-02": "2024-02-01 2024-03-01", "bash": none + " " + none} {
		first, end := Span(label)
		if got := first.Format(time.DateOnly) + " " + end.Format(time.DateOnly); got != want {
			t.Errorf("Span(%s) = %s, want %s", label, got, want)
		}
	}
}

// Hits are counted by day, week or month, as the time between the first and the last asks for.
func TestHits(t *testing.T) {
	at := func(date string, hits int) facets.Day {
		start, err := time.Parse(time.DateOnly, date)
		if err != nil {
			t.Fatal(err)
		}
		return facets.Day{Start: start, Hits: hits}
	}
	for _, test := range []struct {
		days []facets.Day
		want string
	}{
		{nil, "Hits: [] []"},
		{[]facets.Day{at("2026-03-02", 3), at("2026-03-04", 1)}, "Hits by day: [2026-03-02 2026-03-03 2026-03-04] [3 0 1]"},
		{[]facets.Day{at("2025-12-29", 3), at("2026-01-04", 4), at("2026-04-19", 1)}, "Hits by week: 16 7"},
		{[]facets.Day{at("2023-12-31", 3), at("2026-01-04", 4)}, "Hits by month: 26 3"},
	} {
		c := Hits(test.days)
		var values []float64
		for i := range c.Labels {
			values = append(values, c.sum(i))
		}
		got := fmt.Sprintf("%s: %v %v", c.Title, c.Labels, values)
		if len(values) > 3 {
			got = fmt.Sprintf("%s: %d %v", c.Title, len(values), values[0])
		}
		if got != test.want {
			t.Errorf("Hits(%v) = %s, want %s", test.days, got, test.want)
		}
	}
}

// Weeks are those of ISO 8601, as audits name them.
func TestParsePeriod(t *testing.T) {
	for d := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2032; d = d.AddDate(0, 0, 1) {
		year, week := d.ISOWeek()
		label := fmt.Sprintf("%04d-W%02d", year, week)
		if week, form := parsePeriod(label); form != "week" || week.Start.Weekday() != time.Monday || d.Before(week.Start) || d.After(week.End) {
			t.Fatalf("parsePeriod(%s) = %v, %s for %v", label, week, form, d)
		}
	}
}

// A few bars of a histogram do not fill its width.
func TestHistogramBarsAreSlim(t *testing.T) {
	day := func(n int) facets.Day { return facets.Day{Start: time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC), Hits: n} }
	d, err := Hits([]facets.Day{day(1), day(2), day(4)}).draw()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range d.Groups {
		for _, m := range g.Marks {
			if width, err := strconv.ParseFloat(strings.TrimSuffix(m.Width, "%"), 64); err != nil || width > 100.0/24 {
				t.Errorf("the bar %q is %s wide", m.Title, m.Width)
			}
		}
	}
}
