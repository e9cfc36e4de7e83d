package printer

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/terminal"
)

// sheet is a table with a row for each T. It defines each column once, for text,
// plain and CSV.
type sheet[T any] struct {
	columns []sheetColumn[T]
	rows    func(visit func(*T) error) error
	total   *T                  // the last row in text; nil for none
	finish  func(*T, *sheetRow) // sets the style of a row and the lines below it; may be nil
	bare    bool                // no titles
}

type sheetColumn[T any] struct {
	column
	cell func(*T) cell
}

// column says how a column is laid out.
type column struct {
	Name  string // in plain and CSV; "" omits it there
	Field string // in templates; "" for the words of Name in one
	Title string // in text; "" omits it there
	Right bool   // aligned
	Left  bool   // a path: clipped at the beginning
	Share bool   // with a bar: the share of the sum of the column
	Flex  bool   // takes the remaining width
	Key   bool   // what rows are grouped by: never hidden
	Weak  bool   // gives way before the Flex column is cut
	Whole bool   // never clipped; the others of the row give up the room
	Width int    // fixed, so that rows can be written as they come; 0 measures the cells
	Most  int    // the widest that is measured; 0 for maxMeasured
	Least int    // the narrowest of a Flex column; 0 for minFlex or minPath
	From  int    // the narrowest terminal that shows it
}

// cell is a cell of a row.
type cell struct {
	Text   string  // in text; "" shows Plain
	Plain  string  // in plain and CSV
	Number float64 // of a share
	Indent string  // before Text
	Style  ansi.Style
	Link   string // path of the file that Text leads to

	width int // of Text, once shown
}

// sheetRow is a row of text.
type sheetRow struct {
	cells  []cell
	style  ansi.Style // of the whole line
	below  []string   // lines below it
	bright int        // how many of the first of them are not dim
}

// table is a sheet of any type. people selects the columns of text, otherwise the columns of plain
// and CSV.
type table interface {
	shownColumns(people bool) []column
	eachRow(visit func(*sheetRow) error) error        // in text; a row is valid until the next one
	records(visit func(columns []string) error) error // in plain and CSV; likewise
	values(visit func(any) error) error
	sum() *sheetRow
	titled() bool
	fields() []string
	template(s *Sink, t *Template) (n int)
	sortBy(column string, limit int) (columns []string, ok bool)
}

// isIn reports whether a form has the column.
func (c *column) isIn(people bool) bool {
	return people && c.Title != "" || !people && c.Name != ""
}

func (s *sheet[T]) shownColumns(people bool) []column {
	var list []column
	for i := range s.columns {
		if c := &s.columns[i].column; c.isIn(people) {
			list = append(list, *c)
		}
	}
	return list
}

func (s *sheet[T]) fill(r *sheetRow, v *T) {
	*r = sheetRow{cells: r.cells[:0]}
	for i := range s.columns {
		if c := &s.columns[i]; c.isIn(true) {
			shown := c.cell(v)
			shown.Text = shown.Indent + cmp.Or(terminal.Clean(cmp.Or(shown.Text, shown.Plain)), human.When(c.Right, human.None))
			shown.width = terminal.Width(shown.Text)
			r.cells = append(r.cells, shown)
		}
	}
	if s.finish != nil {
		s.finish(v, r)
	}
}

func (s *sheet[T]) eachRow(visit func(*sheetRow) error) error {
	r := &sheetRow{}
	return s.rows(func(v *T) error {
		s.fill(r, v)
		return visit(r)
	})
}

func (s *sheet[T]) records(visit func(columns []string) error) error {
	var columns []string
	return s.rows(func(v *T) error {
		columns = columns[:0]
		for i := range s.columns {
			if c := &s.columns[i]; c.isIn(false) {
				columns = append(columns, c.cell(v).Plain)
			}
		}
		return visit(columns)
	})
}

func (s *sheet[T]) values(visit func(any) error) error {
	return s.rows(func(v *T) error { return visit(v) })
}

func (s *sheet[T]) sum() *sheetRow {
	if s.total == nil {
		return nil
	}
	r := &sheetRow{}
	s.fill(r, s.total)
	r.style = TitleStyle
	return r
}

func (s *sheet[T]) titled() bool { return !s.bare }

func listed[T any](list []T) func(func(*T) error) error {
	return func(visit func(*T) error) error {
		for i := range list {
			if err := visit(&list[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// sortBy sorts the rows by a column, given by its title or its name in records: numbers and times the largest
// first, texts from A to Z, and what is empty last. A limit of 0 means no limit. It returns the columns that
// there are, and whether this is one of them.
func (s *sheet[T]) sortBy(column string, limit int) (columns []string, ok bool) {
	same := func(a, b string) bool {
		return strings.EqualFold(strings.ReplaceAll(a, "-", " "), strings.ReplaceAll(b, "-", " "))
	}
	var by *sheetColumn[T]
	for i := range s.columns {
		c := &s.columns[i]
		if name := strings.ToLower(cmp.Or(c.Title, c.Name)); name != "" && !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
		if by == nil && (c.Title != "" && same(c.Title, column) || c.Name != "" && same(c.Name, column)) {
			by = c
		}
	}
	if by == nil {
		return columns, false
	}
	type keyed struct {
		row    *T
		number float64
		text   string
	}
	var rows []keyed
	_ = s.rows(func(v *T) error { // they are in memory: visiting them does not fail
		k, kept := by.cell(v), *v
		text := cmp.Or(k.Plain, k.Text)
		number, err := strconv.ParseFloat(text, 64)
		if at, timeErr := time.Parse(time.RFC3339Nano, text); timeErr == nil {
			number, err = float64(at.UnixMilli()), nil
		}
		number = cmp.Or(k.Number, number)
		switch {
		case err == nil:
			text = "" // before texts, which are not numbers
		case text == "":
			number = math.Inf(-1)
		}
		rows = append(rows, keyed{&kept, number, strings.ToLower(text)})
		return nil
	})
	lists.SortStable(rows, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(b.number, a.number), strings.Compare(a.text, b.text))
	})
	s.rows = listed(limited(lists.Map(rows, func(k keyed) T { return *k.row }), limit))
	return columns, true
}

// names lists the names of the columns of plain and CSV.
func names(s table) []string {
	return lists.Map(s.shownColumns(false), func(c column) string { return c.Name })
}

// table writes and counts the rows as records.
func (t *Text) records(s table) (n int) {
	t.Fail(s.records(func(columns []string) error {
		n++
		t.record(columns...)
		return t.Err
	}))
	return n
}

// recordColumn returns a column of records only.
func recordColumn[T any](name string, value func(*T) string) sheetColumn[T] {
	return sheetColumn[T]{column{Name: name}, func(v *T) cell { return cell{Plain: value(v)} }}
}

// fieldColumn returns a column of templates only.
func fieldColumn[T any](field string, value func(*T) string) sheetColumn[T] {
	return sheetColumn[T]{column{Field: field}, func(v *T) cell { return cell{Plain: value(v)} }}
}

func textCell(s string) cell { return cell{Plain: s} }

func dimCell(s string) cell { return cell{Plain: s, Style: DimStyle} }

func countCell[N int | int64](n N) cell {
	return cell{Text: human.Number(n), Plain: strconv.FormatInt(int64(n), 10), Number: float64(n)}
}

// tokenCell returns a number of tokens, in text in few characters.
func tokenCell(n int64) cell {
	c := countCell(n)
	c.Text = human.Short(n)
	return c
}

// dollars formats the amounts of an answer, all with the same number of decimals.
type dollars struct{ human.Dollars }

func (d dollars) cell(cost float64) cell {
	return cell{Text: d.Text(cost), Plain: strconv.FormatFloat(cost, 'g', -1, 64), Number: cost}
}

func (l Layout) timeCell(t time.Time) cell {
	return cell{Text: l.date(t), Plain: human.When(!t.IsZero(), t.UTC().Format(time.RFC3339Nano))}
}

// lastCell returns the time of the latest of several events; on a narrow terminal only the
// day.
func (l Layout) lastCell(t time.Time) cell {
	c := l.timeCell(t)
	if day, _, _ := strings.Cut(c.Text, " "); l.Width < roomForTimes {
		c.Text = day
	}
	return c
}

// millisCell returns a duration; nil if it is not known.
func millisCell(ms *int32) cell {
	if ms == nil {
		return cell{}
	}
	return cell{Text: human.Duration(time.Duration(*ms) * time.Millisecond), Plain: strconv.Itoa(int(*ms))}
}

func (l Layout) pathCell(path string) cell {
	return cell{Text: human.Path(path, l.Home), Plain: path, Link: path}
}

const (
	columnGap    = 2
	minBar       = 3
	maxBar       = 24
	minFlex      = 16
	minKey       = 6
	minPath      = 28 // for a column that is clipped at the beginning
	roomForTimes = 100
	maxMeasured  = 48 // the widest that a measured column gets
	maxBelowLine = 400
)

// tableLayout is the widths of the columns of a table; 0 hides a column.
type tableLayout struct {
	columns []column
	widths  []int
	bar     int       // of a share; 0 for none
	whole   []float64 // the sums that shares are parts of
}

// table writes and counts the rows, below the titles of their columns. Rows are
// measured first, unless a column has a fixed width: then they are written as they
// come.
func (t *Text) table(s table) (n int) {
	l := &tableLayout{columns: s.shownColumns(true)}
	l.widths = lists.Map(l.columns, func(c column) int { return c.Width })
	l.whole = make([]float64, len(l.columns))
	each, total := s.eachRow, s.sum()
	if !slices.ContainsFunc(l.widths, func(width int) bool { return width > 0 }) {
		var rows []sheetRow
		t.Fail(each(func(r *sheetRow) error {
			kept := *r
			kept.cells = slices.Clone(r.cells)
			rows = append(rows, kept)
			return nil
		}))
		l.measure(t.Width, rows, total, s.titled())
		each = listed(rows)
	}
	spare := l.spread(t.Width)
	if t.Charts {
		l.addBars(spare)
	}
	t.Fail(each(func(r *sheetRow) error {
		if n++; n == 1 && s.titled() {
			titles := lists.Map(l.columns, func(c column) cell { return cell{Text: c.Title, width: len(c.Title)} })
			t.tableRow(&sheetRow{cells: titles, style: DimStyle}, l, false)
		}
		t.tableRow(r, l, true)
		return t.Err
	}))
	if total != nil && n > 1 {
		t.tableRow(total, l, false)
	}
	return n
}

// measure makes each column as wide as its widest cell, up to a limit.
func (l *tableLayout) measure(width int, rows []sheetRow, total *sheetRow, titled bool) {
	for i, c := range l.columns {
		most := cmp.Or(c.Most, maxMeasured)
		if c.Flex {
			most = width
		}
		if titled {
			l.widths[i] = terminal.Width(c.Title)
		}
		fit := func(r *sheetRow) { l.widths[i] = max(l.widths[i], min(r.cells[i].width, most)) }
		for k := range rows {
			fit(&rows[k])
			l.whole[i] += rows[k].cells[i].Number
		}
		if total != nil {
			fit(total)
			l.whole[i] = total.cells[i].Number // also of rows that are not shown
		}
	}
}

// spread fits the columns to the terminal, and returns the width that is left. The Flex
// column grows or shrinks. Before it gets too narrow, columns are hidden from the right,
// and then the key columns shrink, the widest first.
func (l *tableLayout) spread(width int) (spare int) {
	room, flex := width, slices.IndexFunc(l.columns, func(c column) bool { return c.Flex })
	for i, c := range l.columns {
		switch {
		case i == flex:
		case width < c.From:
			l.widths[i] = 0
		case l.widths[i] > 0:
			room -= l.widths[i] + columnGap
		}
	}
	hide := func(i int) {
		room += l.widths[i] + columnGap
		l.widths[i] = 0
	}
	need := 0
	if flex < 0 {
		room += columnGap // there is none before the first column
	} else {
		need = cmp.Or(l.columns[flex].Least, minFlex)
		if l.columns[flex].Left {
			need = max(need, minPath)
		}
		if l.widths[flex] > 0 {
			need = min(need, l.widths[flex])
		}
		for i, c := range l.columns {
			if c.Weak && l.widths[i] > 0 && room < l.widths[flex] {
				hide(i)
			}
		}
	}
	for _, right := range []bool{false, true} {
		for i := len(l.widths) - 1; i > 1 && room < need; i-- {
			if c := &l.columns[i]; i != flex && l.widths[i] > 0 && c.Right == right && !c.Share && !c.Key {
				hide(i)
			}
		}
	}
	for room < min(need, minFlex/2) {
		widest := -1
		for i, c := range l.columns {
			if c.Key && !c.Flex && l.widths[i] > minKey && (widest < 0 || l.widths[i] > l.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		l.widths[widest]--
		room++
	}
	if flex < 0 {
		return room
	}
	least := max(room, min(need, minFlex/2)) // with all others hidden there may be less than it needs
	l.widths[flex] = min(cmp.Or(l.widths[flex], least), least)
	return room - l.widths[flex]
}

// addBars gives the spare width to bars, so that they never narrow or hide a column.
func (l *tableLayout) addBars(spare int) {
	shares := 0
	for i, c := range l.columns {
		if c.Share && l.widths[i] > 0 {
			shares++
		}
	}
	if bar := min(spare/max(shares, 1)-1, maxBar); bar >= minBar {
		l.bar = bar
	}
}

func (t *Text) tableRow(r *sheetRow, l *tableLayout, bars bool) {
	t.line.Reset()
	t.cells(r, l, bars)
	line := bytes.TrimRight(t.line.Bytes(), " ")
	if r.style != nil {
		line = []byte(t.Style(r.style, string(line)))
	}
	line = append(line, '\n')
	for i, below := range r.below {
		text := "    " + terminal.Clip(terminal.Clean(below), min(maxBelowLine, max(20, t.Width-4)))
		if i >= r.bright {
			text = t.Dim(text)
		}
		line = append(line, text+"\n"...)
	}
	_, _ = t.Write(line)
}

// widthsOf returns the widths of the cells of a row. Where a Whole cell is wider than its
// column, the others give up the room, from the right.
func (l *tableLayout) widthsOf(r *sheetRow) []int {
	over := 0
	for i, c := range l.columns {
		if c.Whole && l.widths[i] > 0 {
			over += max(0, r.cells[i].width-l.widths[i])
		}
	}
	if over == 0 {
		return l.widths
	}
	widths := slices.Clone(l.widths)
	for i := len(widths) - 1; i > 0 && over > 0; i-- {
		switch width := widths[i]; {
		case l.columns[i].Whole || width == 0:
		case width+columnGap <= over:
			widths[i] = 0
			over -= width + columnGap
		default:
			widths[i] = max(1, width-over)
			over -= width - widths[i]
		}
	}
	return widths
}

func (t *Text) cells(r *sheetRow, l *tableLayout, bars bool) {
	b, widths := &t.line, l.widthsOf(r)
	for i := range l.columns {
		c, width := &l.columns[i], widths[i]
		if width == 0 {
			continue
		}
		if b.Len() > 0 {
			spaces(b, columnGap)
		}
		s, wide := r.cells[i].Text, r.cells[i].width
		if wide > width && !c.Whole {
			clip := terminal.Clip
			if c.Left {
				clip = terminal.ClipPath
			}
			s = clip(s, width)
			wide = terminal.Width(s)
		}
		if style := r.cells[i].Style; style != nil {
			s = t.Style(style, s)
		}
		before, after := 0, width-wide
		if c.Right {
			before, after = after, 0
		}
		spaces(b, before)
		b.WriteString(t.Links.File(s, r.cells[i].Link))
		spaces(b, after)
		if c.Share && l.bar > 0 {
			share := 0.0
			if bars && l.whole[i] > 0 {
				share = r.cells[i].Number / l.whole[i]
			}
			b.WriteString(" " + bar(share, l.bar))
		}
	}
}

func spaces(b *bytes.Buffer, n int) {
	for range n {
		b.WriteByte(' ')
	}
}

// bar draws a share from 0 to 1 as a bar.
func bar(share float64, width int) string {
	eighths := min(max(int(share*float64(width)*8+0.5), 0), width*8)
	if share > 0 {
		eighths = max(eighths, 1)
	}
	parts := []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}
	return terminal.Pad(strings.Repeat("█", eighths/8)+parts[eighths%8], width)
}

// A Template writes a line for each row: its text, with the values of the row in place of
// {field}. {{ and }} stand for braces; \t, \n, \0 and \\ for a tab, a newline, a NUL byte
// and a backslash. Values are on one line, without control characters.
type Template struct {
	pieces []templatePiece
	end    string // after each row
}

// templatePiece is a text, then a field; "" for none.
type templatePiece struct{ text, field string }

// TemplateError says what is wrong with a template, and what would be right.
type TemplateError struct{ Message, Hint string }

func (e *TemplateError) Error() string { return e.Message }

// ParseTemplate reads a template for rows with these fields. Without fields, the fields of the
// template are checked when the rows are printed.
func ParseTemplate(s string, fields []string) (*Template, error) {
	t := &Template{end: "\n"}
	var text strings.Builder
	for s != "" {
		c, size := utf8.DecodeRuneInString(s)
		next := s[size:]
		switch {
		case (c == '{' || c == '}') && strings.HasPrefix(next, string(c)):
			text.WriteRune(c)
			next = next[1:]
		case c == '{':
			name, rest, ok := strings.Cut(next, "}")
			if !ok {
				return nil, &TemplateError{fmt.Sprintf("no } after %q", terminal.Clip(s, maxWord)), "{{ is a brace"}
			}
			t.pieces = append(t.pieces, templatePiece{text.String(), strings.TrimSpace(name)})
			text.Reset()
			next = rest
		case c == '\\' && next != "" && strings.ContainsRune(`tn0\`, rune(next[0])):
			text.WriteByte(map[byte]byte{'t': '\t', 'n': '\n', '0': 0, '\\': '\\'}[next[0]])
			next = next[1:]
		default:
			text.WriteRune(c)
		}
		s = next
	}
	if len(t.pieces) == 0 {
		return nil, &TemplateError{"the template names no field", "write fields in braces, as {id}; {} lists them"}
	}
	for _, p := range t.pieces {
		if fields != nil && !slices.Contains(fields, p.field) {
			return nil, unknownField(p.field, fields)
		}
	}
	t.pieces = append(t.pieces, templatePiece{text: text.String()})
	if strings.HasSuffix(text.String(), "\n") || strings.HasSuffix(text.String(), "\x00") {
		t.end = ""
	}
	return t, nil
}

// FieldList is what the template {} prints.
func FieldList(fields []string) string { return "{" + strings.Join(fields, "}\n{") + "}\n" }

func unknownField(name string, fields []string) error {
	return &TemplateError{fmt.Sprintf("no field {%s}", terminal.Clip(terminal.Clean(name), maxWord)), "fields: {" + strings.Join(fields, "} {") + "}"}
}

// field returns the name of a column in templates: the name of its value in JSON.
func (c *column) field() string {
	if c.Field != "" {
		return c.Field
	}
	name, _, _ := strings.Cut(c.Name, " (")
	var b strings.Builder
	for i, word := range strings.Fields(name) {
		if r, size := utf8.DecodeRuneInString(word); i > 0 {
			word = string(unicode.ToUpper(r)) + word[size:]
		}
		b.WriteString(word)
	}
	return b.String()
}

func (s *sheet[T]) fields() (list []string) {
	for i := range s.columns {
		if name := s.columns[i].field(); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// template writes the rows in the form of a template, and counts them.
func (s *sheet[T]) template(out *Sink, t *Template) (n int) {
	cells := make([]func(*T) cell, len(t.pieces))
	for i, p := range t.pieces[:len(t.pieces)-1] { // the last one has no field
		if p.field == "" {
			out.Print(FieldList(s.fields()))
			return 1
		}
		at := slices.IndexFunc(s.columns, func(c sheetColumn[T]) bool { return c.field() == p.field })
		if at < 0 {
			out.Fail(unknownField(p.field, s.fields()))
			return 0
		}
		cells[i] = s.columns[at].cell
	}
	var line []byte
	out.Fail(s.rows(func(v *T) error {
		n++
		line = line[:0]
		for i, p := range t.pieces {
			line = append(line, p.text...)
			if cells[i] != nil {
				line = append(line, terminal.Clean(cells[i](v).Plain)...)
			}
		}
		_, err := out.Write(append(line, t.end...))
		return err
	}))
	return n
}
