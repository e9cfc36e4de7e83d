package printer

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/lab/testkit"
	"pigrep/query/audit"
)

func toolTable() *audit.ToolTable {
	name := func(s string) audit.Key { return audit.Key{Tool: &s} }
	ms := func(n int32) *int32 { return &n }
	last := session.Time{Time: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)}
	return &audit.ToolTable{
		By: []string{"tool"},
		Rows: []audit.ToolRow{
			{Type: "tool", Key: name("bash"), Calls: 1200, Errors: 60, ErrorRate: 0.05, Sessions: 4, P50: ms(90), P95: ms(61000), Bytes: 2_500_000, Last: last},
			{Type: "tool", Key: name("evil\x1b[31m\nname\t=1"), Calls: 300, Sessions: 1, NoResult: 2, Last: last},
			{Type: "tool", Key: name(""), Calls: 0, NoCall: 1, Last: last},
		},
		Total:   audit.ToolRow{Type: "total", Calls: 1500, Errors: 60, ErrorRate: 0.04, Sessions: 4, NoResult: 2, NoCall: 1, Last: last},
		Covered: audit.Covered{Coverage: audit.Coverage{Sessions: 4, First: last, Last: last, Copies: 3, SkippedLines: 1}},
	}
}

func TestAuditText(t *testing.T) {
	var b bytes.Buffer
	layout := Layout{Width: 100, Charts: true, Now: time.Date(2026, 3, 2, 0, 0, 0, 0, time.FixedZone("x", 3600))}
	if err := New(&b, FormatText, layout).Print(NewToolsAudit(toolTable(), nil, 0, layout)); err != nil {
		t.Fatal(err)
	}
	want := `TOOL          CALLS                    FAILED  RATE  SESSIONS   P50    P95  OUTPUT  LAST USED
bash          1,200 █████████████▋         60  5.0%         4  90ms  1m01s  2.5 MB  2026-03-01 10:30
evil name =1    300 ███▍                    0     –         1     –      –     0 B  2026-03-01 10:30
(none)            0                         0     –         0     –      –     0 B  2026-03-01 10:30
total         1,500                        60  4.0%         4     –      –     0 B  2026-03-01 10:30
4 sessions · 2026-03-01 10:30 to 2026-03-01 10:30
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// Bars take only what columns leave: with them every line has the same columns, as wide
// as without them, at each width.
func TestBarsPushNothingOut(t *testing.T) {
	bars := regexp.MustCompile(`[▏▎▍▌▋▊▉█]+`)
	for width := 30; width <= 220; width++ {
		var lines [2][]string
		for i, charts := range []bool{false, true} {
			var b bytes.Buffer
			layout := Layout{Width: width, Charts: charts, Now: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)}
			if err := New(&b, FormatText, layout).Print(NewToolsAudit(toolTable(), nil, 0, layout)); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if charts && terminal.Width(strings.TrimSpace(line)) > max(width, 60) {
					t.Errorf("at %d columns: %q is too long", width, line)
				}
				if charts && width >= 100 && strings.HasPrefix(line, "bash") && !bars.MatchString(line) {
					t.Errorf("at %d columns there is no bar: %q", width, line)
				}
				lines[i] = append(lines[i], strings.Join(strings.Fields(bars.ReplaceAllString(line, "")), " "))
			}
		}
		if diff := cmp.Diff(lines[0], lines[1]); diff != "" {
			t.Errorf("at %d columns (-without bars +with them):\n%s", width, diff)
		}
	}
}

// A wide terminal shows when the rows were used.
func TestTrend(t *testing.T) {
	table, days := toolTable(), toolTable()
	days.Rows = nil
	for i, calls := range map[int]int{1: 4, 2: 8, 9: 1} {
		row := table.Rows[0]
		row.Day, row.Calls = fmt.Sprintf("2026-03-%02d", i), calls
		days.Rows = append(days.Rows, row)
	}
	layout := Layout{Width: 120, Charts: true, Now: time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)}
	if !layout.TakesTrend(table.By) || layout.TakesTrend([]string{"week", "tool"}) {
		t.Error("the rows by day are not asked for where they are needed")
	}
	var b bytes.Buffer
	if err := New(&b, FormatText, layout).Print(NewToolsAudit(table, days, 0, layout)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  BY DAY\n", "  ▅█······▂\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
	if strings.Count(b.String(), "▅█······▂\n") != 2 { // of bash and the total
		t.Errorf("the rows that were not used have a line:\n%s", b.String())
	}
	layout.Width = 119
	b.Reset()
	if err := New(&b, FormatText, layout).Print(NewToolsAudit(table, days, 0, layout)); err != nil || strings.Contains(b.String(), "BY DAY") {
		t.Errorf("%v, at %d columns:\n%s", err, layout.Width, b.String())
	}
}

// Many days share a bar, and every value is in one.
func TestTrendOfYears(t *testing.T) {
	for _, n := range []int{2, 24, 25, 1000, 100_000} {
		day := func(i int) string { return time.Date(1800, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }
		x := newTrend(2, func(i int) (*audit.Key, float64) { return &audit.Key{Day: day(i * (n - 1))}, 3 })
		if x == nil || len(x.total) > trendWidth || x.total[0] != 3 || x.total[len(x.total)-1] != 3 {
			t.Errorf("%d days: %+v", n, x)
		}
	}
	if x := newTrend(1, func(int) (*audit.Key, float64) { return &audit.Key{Day: "2026-03-01"}, 3 }); x != nil {
		t.Errorf("one day has a trend: %+v", x)
	}
}

// What rows are grouped by is visible at each width.
func TestAuditKeys(t *testing.T) {
	model := "anthropic/claude-sonnet-4-5"
	key := audit.Key{Model: &model, SessionID: "01a1f7e5", SessionName: "A session with quite a long title, of which the beginning is enough"}
	usage := &audit.UsageTable{By: []string{"session", "model"}, Rows: []audit.UsageRow{{
		Key: key, Input: 7_428_393, Output: 670_166, CacheRead: 173_433_781, CacheWrite: 7_898_755, Cost: 130.11, Sessions: 1,
	}}}
	for width, want := range map[int]string{40: "-4-5", 80: model, 120: model, 200: model} {
		var b bytes.Buffer
		layout := Layout{Width: width, Now: now}
		a := NewUsageAudit(usage, nil, nil, 0, layout)
		if err := New(&b, FormatText, layout).Print(a); err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{want, "A sess", "MODEL"} {
			if !strings.Contains(b.String(), s) {
				t.Errorf("width %d: %q is missing:\n%s", width, s, b.String())
			}
		}
		if strings.Contains(b.String(), "SESSIONS") {
			t.Errorf("width %d: a column counts the one session of each row:\n%s", width, b.String())
		}
		for line := range strings.Lines(b.String()) {
			if w := terminal.Width(strings.TrimRight(line, "\n")); w > width {
				t.Errorf("width %d: a line of %d cells: %s", width, w, line)
			}
		}
	}
}

// No line is wider than the terminal, whatever its width.
func TestAuditWidths(t *testing.T) {
	model := "opencode-go/a-model-with-a-long-name"
	row := audit.UsageRow{
		Key: audit.Key{Day: "2026-06-27", Model: &model}, Input: 7_428_393, Output: 670_166, CacheRead: 173_433_781, CacheWrite: 7_898_755, Cost: 130.11, Sessions: 10,
	}
	for width := 40; width < 200; width += 7 {
		var b bytes.Buffer
		layout := Layout{Width: width, Now: now}
		calls := &audit.CallList{Each: func(_ context.Context, visit func(*audit.CallRow) error) error {
			return visit(&audit.CallRow{
				Timestamp: session.Time{Time: now}, EntryPlace: session.EntryPlace{SessionID: "01a1f7e5", CWD: "/home/u/a-project-with-a-long-name"}, Tool: "a_tool_with_a_name", Status: "missing", Command: true,
				Arguments: strings.Repeat("long ", 50) + "&& rm -rf x", Rules: []string{"recursive-delete", "superuser"},
				Matches: []audit.RuleMatch{{Rule: "recursive-delete", Severity: "high", Clause: strings.Repeat("long ", 50)}, {Rule: "superuser", Severity: "high", Clause: "rm -rf x"}},
			})
		}}
		for _, a := range []*Audit{
			NewCallsAudit(t.Context(), "tools calls", calls, false, layout),
			NewCallsAudit(t.Context(), "tools calls", calls, true, layout),
			NewRiskyAudit(t.Context(), calls, 0, layout),
			NewToolsAudit(toolTable(), nil, 0, layout),
			NewUsageAudit(&audit.UsageTable{By: []string{"day"}, Rows: []audit.UsageRow{row}}, nil, nil, 0, layout),
			NewUsageAudit(&audit.UsageTable{By: []string{"day", "model"}, Rows: []audit.UsageRow{row}}, nil, nil, 0, layout),
		} {
			if err := New(&b, FormatText, layout).Print(a); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(b.String(), "recursive-delete"); n != 2 {
			t.Errorf("width %d: the rule is shown %d times, want 2:\n%s", width, n, b.String())
		}
		for line := range strings.Lines(b.String()) {
			if w := terminal.Width(strings.TrimRight(line, "\n")); w > width {
				t.Errorf("width %d: a line of %d cells: %s", width, w, line)
			}
		}
	}
}

// A session id that is wider than its column is shown whole, and its row still fits.
func TestLongSessionIDs(t *testing.T) {
	t.Parallel()
	const id = "a-subagent-with-a-long-name-36-cells"
	for _, width := range []int{60, 80, 100} {
		layout := Layout{Width: width, Now: now}
		calls := &audit.CallList{Each: func(_ context.Context, visit func(*audit.CallRow) error) error {
			return visit(&audit.CallRow{
				Timestamp: session.Time{Time: now}, EntryPlace: session.EntryPlace{SessionID: id, CWD: "/home/u/a-project-with-a-long-name"}, Tool: "a_tool_with_a_name", Status: "missing", Command: true,
				Arguments: strings.Repeat("long ", 50), Rules: []string{"superuser"},
				Matches: []audit.RuleMatch{{Rule: "superuser", Severity: "high", Clause: strings.Repeat("long ", 50)}},
			})
		}}
		for name, a := range map[string]*Audit{
			"tools calls":            NewCallsAudit(t.Context(), "tools calls", calls, false, layout),
			"tools calls --risky":    NewCallsAudit(t.Context(), "tools calls", calls, true, layout),
			"tools commands --risky": NewRiskyAudit(t.Context(), calls, 0, layout),
		} {
			var b bytes.Buffer
			if err := New(&b, FormatText, layout).Print(a); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), id) {
				t.Errorf("%s: the id is not shown: %s", name, b.String())
			}
			for line := range strings.Lines(b.String()) {
				if w := terminal.Width(strings.TrimRight(line, "\n")); w > width {
					t.Errorf("%s, width %d: a line of %d cells: %s", name, width, w, line)
				}
			}
		}
	}
}

func TestAuditCSV(t *testing.T) {
	var b bytes.Buffer
	table := toolTable()
	bad := "=cmd|' /C calc'!A0"
	table.Rows[1].Tool = &bad
	if err := New(&b, FormatCSV, Layout{}).Print(NewToolsAudit(table, nil, 0, Layout{})); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if rows[0][0] != "tool" || rows[1][1] != "1200" || rows[2][0] != "'"+bad || len(rows) != 4 {
		t.Errorf("rows %q", rows)
	}
	for _, test := range []struct{ cell, want string }{
		{"=1+1", "'=1+1"}, {"+cmd", "'+cmd"}, {"-x", "'-x"}, {"@sum", "'@sum"}, {"\t=1", "'=1"}, {"-5", "-5"}, {"1e9", "1e9"}, {"a=b", "a=b"},
		{"", ""}, {"＝1", "'＝1"}, {"a\nb", "a b"}, {"-5+cmd|' /C calc'!A0", "'-5+cmd|' /C calc'!A0"}, {"|x", "'|x"},
	} {
		if got := csvCell(test.cell); got != test.want {
			t.Errorf("csvCell(%q) = %q, want %q", test.cell, got, test.want)
		}
	}
}

// JSON and JSON Lines have the same rows, and nothing but JSON.
func TestAuditJSON(t *testing.T) {
	var one, many bytes.Buffer
	for _, out := range []struct {
		b *bytes.Buffer
		f Format
	}{{&one, FormatJSON}, {&many, FormatJSONL}} {
		if err := New(out.b, out.f, Layout{}).Print(NewToolsAudit(toolTable(), nil, 0, Layout{})); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(out.b.Bytes(), "\x1b\t") {
			t.Errorf("control characters in %q", out.b)
		}
	}
	var envelope struct {
		SchemaVersion int
		Command       string
		Rows          []map[string]any
		Total         map[string]any
		Coverage      map[string]any
		Warnings      []any
		Index         map[string]any
	}
	if err := json.Unmarshal(one.Bytes(), &envelope); err != nil {
		t.Fatalf("%v in %s", err, one.Bytes())
	}
	var rows []map[string]any
	for d := json.NewDecoder(&many); d.More(); {
		var row map[string]any
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	last := rows[len(rows)-1]
	if diff := cmp.Diff(envelope.Rows, rows[:len(rows)-1]); diff != "" {
		t.Errorf("rows of the envelope and the lines differ:\n%s", diff)
	}
	if last["type"] != "summary" || !cmp.Equal(last["total"], any(envelope.Total)) || envelope.SchemaVersion != 1 || envelope.Warnings == nil || envelope.Coverage["copies"] != 3.0 {
		t.Errorf("summary %v, envelope %+v", last, envelope)
	}
	if tool := envelope.Rows[2]["tool"]; tool != "" {
		t.Errorf("a tool without a name is %v", tool)
	}
}

// Columns of records are only ever added at the end, before the text.
func TestColumns(t *testing.T) {
	var b bytes.Buffer
	for _, c := range Columns() {
		fmt.Fprintf(&b, "%s: %s\n", c.Command, strings.Join(c.Columns, ", "))
	}
	golden(t, "columns", b.Bytes())
}

// The notes of a table are one line: all of them in few words, then in full as far as there is room.
func TestNotes(t *testing.T) {
	list := []note{{"four of nine rows", "4 of 9 rows"}, {}, {"one model without a price: p/m", "1 model"}, {"two sessions", "two sessions"}}
	for width, want := range map[int]string{
		100: "four of nine rows · one model without a price: p/m · two sessions",
		60:  "four of nine rows · 1 model · two sessions (--verbose)",
		50:  "4 of 9 rows · 1 model · two sessions (--verbose)",
		40:  "four of nine rows · 1 model (--verbose)",
		10:  "4 of 9 rows (--verbose)",
	} {
		if got := notes(list, width); got != want {
			t.Errorf("at %d columns: %q, want %q", width, got, want)
		}
	}
}

// On a terminal a table begins with its picture, if that compares something and there is room; never without
// charts.
func TestPictureAboveATable(t *testing.T) {
	table := toolTable()
	table.Rows[1].Errors = 15
	first := func(layout Layout, errors int) string {
		table.Rows[1].Errors = errors
		var b bytes.Buffer
		testkit.Check(t, New(&b, FormatText, layout).Print(NewToolsAudit(table, nil, 0, layout)))
		line, _, _ := strings.Cut(b.String(), "\n")
		return line
	}
	for _, x := range []struct {
		width, errors int
		charts, want  bool
	}{{80, 15, true, true}, {60, 1, true, true}, {59, 15, true, false}, {80, 0, true, false}, {80, 15, false, false}} {
		if got := first(Layout{Width: x.width, Charts: x.charts}, x.errors); (got == "Failed calls by tool") != x.want {
			t.Errorf("%+v: the first line is %q", x, got)
		}
	}
}
