package printer

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query"
	"pigrep/query/audit"
)

// Audit is the answer of an audit command: rows of one kind.
type Audit struct {
	Command string
	Columns []AuditColumn
	// Each hands the rows over, in order. It is called once.
	Each     func(visit func(*AuditRow) error) error
	Total    *AuditRow // below the rows; nil when there is none
	Facts    any       // fields of JSON beside the rows, a struct; nil when there are none
	Closing  func(rows int) string
	Coverage *audit.Coverage
	Warnings func() []string // asked for when all rows are printed
	State    query.IndexState
}

// AuditColumn is a column of the rows.
type AuditColumn struct {
	Name  string // of CSV and of the docs
	Title string // for people; "" leaves the column out there
	Right bool
	Left  bool // shortened at the beginning
	Share bool // with a bar that says how much of the whole this is
	Flex  bool // takes the room that is left
	Width int  // 0: as wide as its cells; else it is known before the rows are
}

// AuditRow is a row of an audit.
type AuditRow struct {
	Cells []AuditCell // one for each column
	Value any         // the row in JSON
	Below []string    // lines below the row, for people
	Alarm bool        // something failed
}

// AuditCell is a cell: for people, and for programs.
type AuditCell struct {
	Text   string // "" shows Plain
	Plain  string
	Number float64 // of a share
}

// TextCell is a cell with a text.
func TextCell(s string) AuditCell { return AuditCell{Plain: s} }

// CountCell is a cell with a number.
func CountCell[T int | int64](n T) AuditCell {
	return AuditCell{Text: human.Number(n), Plain: strconv.FormatInt(int64(n), 10), Number: float64(n)}
}

// CostCell is a cell with an amount of money.
func CostCell(cost float64) AuditCell {
	text := fmt.Sprintf("%.2f", cost)
	if cost > 0 && cost < 0.1 {
		text = fmt.Sprintf("%.4f", cost)
	}
	return AuditCell{Text: text, Plain: strconv.FormatFloat(cost, 'g', -1, 64), Number: cost}
}

const minuteForm = "2006-01-02 15:04"

// TimeCell is a cell with a time.
func (l Look) TimeCell(t time.Time) AuditCell {
	if t.IsZero() {
		return AuditCell{}
	}
	return AuditCell{Text: t.In(l.Now.Location()).Format(minuteForm), Plain: t.UTC().Format(time.RFC3339Nano)}
}

// lastCell is a cell with the time of the last of many, the day where there is
// little room.
func (l Look) lastCell(t time.Time) AuditCell {
	c := l.TimeCell(t)
	if day, _, _ := strings.Cut(c.Text, " "); l.Width < roomForTimes {
		c.Text = day
	}
	return c
}

// MillisCell is a cell with a duration; nil when it is not known.
func MillisCell(ms *int32) AuditCell {
	if ms == nil {
		return AuditCell{}
	}
	c := AuditCell{Plain: strconv.Itoa(int(*ms))}
	switch d := time.Duration(*ms) * time.Millisecond; {
	case d < time.Second:
		c.Text = fmt.Sprintf("%dms", *ms)
	case d < time.Minute:
		c.Text = fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		c.Text = fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		c.Text = fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return c
}

// PathCell is a cell with a path.
func (l Look) PathCell(path string) AuditCell {
	return AuditCell{Text: human.Path(path, l.Home), Plain: path}
}

const (
	barWidth     = 8
	minBar       = 3
	minFlex      = 16
	minPath      = 28 // of a column that is shortened at the beginning
	roomForTimes = 100
	maxMeasured  = 48 // cells of a column that is as wide as its cells
	maxBelowLine = 400
)

// bar draws a share of a whole in so many cells.
func bar(share float64, width int) string {
	eighths := int(share*float64(width)*8 + 0.5)
	eighths = min(max(eighths, 0), width*8)
	if share > 0 && eighths == 0 {
		eighths = 1
	}
	s := strings.Repeat("█", eighths/8)
	if r := eighths % 8; r > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[r-1])
	}
	return terminal.Pad(s, width)
}

// auditLayout is how wide the columns are, 0 those that are left out.
type auditLayout struct {
	widths []int
	bar    int       // of a share
	whole  []float64 // of which the shares are; nil when there are none
}

func (t *text) Audit(a *Audit) error {
	var rows []*AuditRow
	streaming := false
	for _, c := range a.Columns {
		streaming = streaming || c.Width > 0
	}
	n := 0
	lay := auditLayout{widths: make([]int, len(a.Columns)), bar: barWidth}
	if streaming {
		for i, c := range a.Columns {
			lay.widths[i] = c.Width
		}
		t.spread(a, &lay)
		err := a.Each(func(r *AuditRow) error {
			n++
			if n == 1 {
				if err := t.auditHead(a, &lay); err != nil {
					return err
				}
			}
			return t.auditRow(a, r, &lay)
		})
		if err != nil {
			return err
		}
	} else {
		if err := a.Each(func(r *AuditRow) error { rows = append(rows, r); return nil }); err != nil {
			return err
		}
		n = len(rows)
		whole, widths := make([]float64, len(a.Columns)), lay.widths
		all := rows
		if a.Total != nil {
			all = append(rows[:len(rows):len(rows)], a.Total)
		}
		for i, c := range a.Columns {
			if c.Title == "" {
				continue
			}
			widths[i] = terminal.Width(c.Title)
			for _, r := range all {
				widths[i] = max(widths[i], min(terminal.Width(cellText(&r.Cells[i])), maxMeasured))
			}
			for _, r := range rows {
				whole[i] += r.Cells[i].Number
			}
		}
		t.spread(a, &lay)
		if n > 0 {
			if err := t.auditHead(a, &lay); err != nil {
				return err
			}
		}
		lay.whole = whole
		for _, r := range rows {
			if err := t.auditRow(a, r, &lay); err != nil {
				return err
			}
		}
		lay.whole = nil
		if a.Total != nil && n > 1 {
			if err := t.auditRow(a, a.Total, &lay); err != nil {
				return err
			}
		}
	}
	for _, line := range auditClosing(a, n, t.Now.Location()) {
		for _, part := range foldLine(line, t.Width) {
			if _, err := fmt.Fprintln(t.w, t.dim(part)); err != nil {
				return err
			}
		}
	}
	return nil
}

// foldLine breaks a line between the facts in it, and these between words, where
// that is needed.
func foldLine(line string, width int) (lines []string) {
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
		for terminal.Width(last) > width {
			i := strings.LastIndexByte(ansi.Truncate(last, width+1, ""), ' ')
			if i <= 0 {
				break
			}
			lines, last = append(lines, last[:i]), last[i+1:]
		}
	}
	return append(lines, last)
}

// spread gives what room is left to the column that takes it, or takes room from
// it; then bars give way, and last the columns at the right are left out.
func (t *text) spread(a *Audit, lay *auditLayout) {
	room, flex, shares, widths := t.Width, -1, 0, lay.widths
	for i, c := range a.Columns {
		if c.Title == "" {
			widths[i] = 0
			continue
		}
		if c.Flex {
			flex = i
			continue
		}
		if widths[i] > 0 {
			room -= widths[i] + columnGap
		}
		if c.Share {
			shares++
			room -= barWidth + 1
		}
	}
	if flex < 0 {
		return
	}
	need := minFlex
	if a.Columns[flex].Left {
		need = minPath
	}
	if widths[flex] > 0 {
		need = min(need, widths[flex])
	}
	for ; room < need && lay.bar > minBar && shares > 0; lay.bar-- {
		room += shares
	}
	for _, right := range []bool{false, true} {
		for i := len(widths) - 1; i > 1 && room < need; i-- {
			if i != flex && widths[i] > 0 && a.Columns[i].Right == right && !a.Columns[i].Share {
				room += widths[i] + columnGap
				widths[i] = 0
			}
		}
	}
	if widths[flex] == 0 || widths[flex] > max(room, need) {
		widths[flex] = max(room, need)
	}
}

func cellText(c *AuditCell) string {
	if c.Text != "" {
		return terminal.Clean(c.Text)
	}
	return terminal.Clean(c.Plain)
}

func (t *text) auditHead(a *Audit, lay *auditLayout) error {
	head := &AuditRow{}
	for _, c := range a.Columns {
		head.Cells = append(head.Cells, AuditCell{Plain: c.Title})
	}
	titles := *lay
	titles.whole = nil
	line := strings.TrimRight(t.auditLine(a, head, &titles), " ")
	_, err := fmt.Fprintln(t.w, t.dim(line))
	return err
}

func (t *text) auditRow(a *Audit, r *AuditRow, lay *auditLayout) error {
	line := strings.TrimRight(t.auditLine(a, r, lay), " ")
	if r.Alarm {
		line = t.style(errorLook, line)
	}
	if r == a.Total {
		line = t.style(titleLook, line)
	}
	if _, err := fmt.Fprintln(t.w, line); err != nil {
		return err
	}
	for _, below := range r.Below {
		below = terminal.Clip(terminal.Clean(below), min(maxBelowLine, max(20, t.Width-4)))
		if _, err := fmt.Fprintln(t.w, t.dim("    "+below)); err != nil {
			return err
		}
	}
	return nil
}

func (t *text) auditLine(a *Audit, r *AuditRow, lay *auditLayout) string {
	var b strings.Builder
	widths, whole := lay.widths, lay.whole
	for i, c := range a.Columns {
		if widths[i] == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat(" ", columnGap))
		}
		s := cellText(&r.Cells[i])
		if c.Left {
			s = terminal.ClipLeft(s, widths[i])
		} else {
			s = terminal.Clip(s, widths[i])
		}
		space := strings.Repeat(" ", max(0, widths[i]-terminal.Width(s)))
		if c.Right {
			s = space + s
		} else {
			s += space
		}
		b.WriteString(s)
		if c.Share {
			b.WriteByte(' ')
			if whole != nil && whole[i] > 0 {
				b.WriteString(bar(r.Cells[i].Number/whole[i], lay.bar))
			} else {
				b.WriteString(strings.Repeat(" ", lay.bar))
			}
		}
	}
	return b.String()
}

// auditClosing is what stands below the rows: how many there are, what was
// looked at, and what was left out.
func auditClosing(a *Audit, rows int, zone *time.Location) []string {
	var lines []string
	if a.Closing != nil {
		if line := a.Closing(rows); line != "" {
			lines = append(lines, line)
		}
	}
	lines = append(lines, CoverageLine(a.Coverage, zone))
	return lines
}

// CoverageLine says what an audit has looked at.
func CoverageLine(c *audit.Coverage, zone *time.Location) string {
	parts := []string{human.Plural(c.Sessions, "session", "sessions")}
	if !c.First.IsZero() {
		parts = append(parts, c.First.In(zone).Format(minuteForm)+" to "+c.Last.In(zone).Format(minuteForm))
	}
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, human.Plural(n, one, many))
		}
	}
	add(c.Copies, "copy counted where it was first", "copies counted where they were first")
	add(c.SkippedLines, "line skipped", "lines skipped")
	add(c.Vanished, "file has gone since", "files have gone since")
	add(c.Changed, "file was rewritten or grew since", "files were rewritten or grew since")
	add(c.New, "file is not indexed yet", "files are not indexed yet")
	return strings.Join(parts, " · ")
}

// ForPrograms reports whether a printer writes one record a line, and nothing
// else.
func ForPrograms(p Printer) bool {
	_, ok := p.(plain)
	return ok
}

func (p plain) Audit(a *Audit) error {
	cells := make([]string, len(a.Columns))
	return a.Each(func(r *AuditRow) error {
		for i := range r.Cells {
			cells[i] = r.Cells[i].Plain
		}
		return p.record(cells...)
	})
}

// CSV prints an audit as comma-separated values. Cells that a spreadsheet would
// run as formulas begin with an apostrophe.
func CSV(w io.Writer, a *Audit) error {
	out := csv.NewWriter(w)
	names := make([]string, len(a.Columns))
	for i, c := range a.Columns {
		names[i] = c.Name
	}
	if err := out.Write(names); err != nil {
		return err
	}
	cells := make([]string, len(a.Columns))
	err := a.Each(func(r *AuditRow) error {
		for i := range r.Cells {
			cells[i] = csvCell(r.Cells[i].Plain)
		}
		return out.Write(cells)
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

// csvCell makes a cell harmless: control characters are left out, and what would
// be a formula is a text.
func csvCell(s string) string {
	s = terminal.Clean(s)
	if s == "" {
		return s
	}
	switch s[0] {
	case '=', '+', '-', '@', '\t', '\r', '|', '%':
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return "'" + s
		}
	}
	if strings.HasPrefix(s, "＝") || strings.HasPrefix(s, "＋") || strings.HasPrefix(s, "－") || strings.HasPrefix(s, "＠") {
		return "'" + s
	}
	return s
}

type auditTail struct {
	Total    any              `json:"total,omitempty"`
	Coverage *audit.Coverage  `json:"coverage"`
	Warnings []string         `json:"warnings"`
	Index    query.IndexState `json:"index"`
}

func newAuditTail(a *Audit) auditTail {
	t := auditTail{Coverage: a.Coverage, Warnings: []string{}, Index: a.State}
	if a.Total != nil {
		t.Total = a.Total.Value
	}
	if a.Warnings != nil {
		t.Warnings = list(a.Warnings())
	}
	return t
}

// members writes the members of JSON objects, without their braces.
func members(values ...any) ([]byte, error) {
	var b []byte
	for _, v := range values {
		if v == nil {
			continue
		}
		var s strings.Builder
		e := json.NewEncoder(&s)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return nil, err
		}
		inner := strings.TrimSpace(s.String())
		inner = strings.TrimSuffix(strings.TrimPrefix(inner, "{"), "}")
		if inner == "" {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, inner...)
	}
	return escapeHidden(b), nil
}

// Audit writes the envelope as the rows come: there may be many.
func (p jsonEnvelope) Audit(a *Audit) error {
	begin, err := members(envelope(a.Command), a.Facts)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.w, `{%s,"rows":[`, begin); err != nil {
		return err
	}
	n := 0
	err = a.Each(func(r *AuditRow) error {
		row, err := members(r.Value)
		if err != nil {
			return err
		}
		comma := ""
		if n++; n > 1 {
			comma = ","
		}
		_, err = fmt.Fprintf(p.w, "%s\n{%s}", comma, row)
		return err
	})
	if err != nil {
		return err
	}
	end, err := members(newAuditTail(a))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "],%s}\n", end)
	return err
}

func (p jsonLines) Audit(a *Audit) error {
	if err := a.Each(func(r *AuditRow) error { return encode(p.w, r.Value) }); err != nil {
		return err
	}
	last, err := members(summary(a.Command), a.Facts, newAuditTail(a))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "{%s}\n", last)
	return err
}
