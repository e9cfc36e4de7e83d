package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pigrep/index"
	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/timespec"
)

// Key has the values of the dimensions that a row was grouped by.
type Key struct {
	Tool        *string  `json:"tool,omitempty"`                   // of names that differ in case only: as of session.ToolName
	ToolNames   []string `json:"toolNames,omitempty" wire:"exact"` // as written, if they are several
	Action      string   `json:"action,omitempty"`                 // what calls do: session.Deeds
	Day         string   `json:"day,omitempty"`
	Week        string   `json:"week,omitempty"`
	Month       string   `json:"month,omitempty"`
	Block       string   `json:"block,omitempty"` // when it began, in UTC
	Model       *string  `json:"model,omitempty"` // "" when none is named
	Agent       *string  `json:"agent,omitempty"` // as of session.ShortAgent
	Project     *string  `json:"project,omitempty"`
	SessionPath string   `json:"sessionPath,omitempty" wire:"session"`
	SessionID   string   `json:"sessionId,omitempty"`
	SessionName string   `json:"sessionName,omitempty" wire:"lines"`
}

// field returns where the key has the value of a dimension: one that may be empty is absent without the
// dimension.
func (k *Key) field(by string) (text *string, absent **string) {
	texts := map[string]*string{"action": &k.Action, "day": &k.Day, "week": &k.Week, "month": &k.Month, "block": &k.Block, "session": &k.SessionPath}
	return texts[by], map[string]**string{"tool": &k.Tool, "model": &k.Model, "agent": &k.Agent, "project": &k.Project}[by]
}

// key returns the values of the dimensions as the columns of a row.
func (req *Request) key(r *index.Reader, values []string) (k Key) {
	for i, by := range req.By {
		if text, absent := k.field(by); absent != nil {
			*absent = &values[i]
		} else {
			*text = values[i]
		}
	}
	if i, ok := r.Table().Find(k.SessionPath); ok {
		s := r.Summary(i)
		k.SessionID, k.SessionName = s.ID, req.maskIfAsked(s.Title())
	}
	return k
}

// addNames adds names of the tool, as they are written.
func (k *Key) addNames(names []string) {
	if k.Tool == nil {
		return
	}
	all := append(slices.Concat(k.ToolNames, names), *k.Tool)
	slices.Sort(all)
	all = slices.Compact(all)
	name := session.ToolName(all)
	if k.Tool, k.ToolNames = &name, nil; len(all) > 1 {
		k.ToolNames = all
	}
}

// Join adds the names by which another key calls the same tool.
func (k *Key) Join(o *Key) {
	if o.Tool != nil {
		k.addNames(append(slices.Clone(o.ToolNames), *o.Tool))
	}
}

// Value returns the value of a dimension, "" if it has none.
func (k *Key) Value(by string) string {
	text, absent := k.field(by)
	if absent != nil {
		text = *absent
	}
	if text == nil {
		return ""
	}
	return *text
}

// Values returns the values of the dimensions of a row.
func (k *Key) Values(by []string) []string { return lists.Map(by, k.Value) }

// A table has rows under construction by the values of their dimensions.
type table[T any] struct {
	by       []string
	location *time.Location
	build    func(values []string) *T
	rows     map[string]*T   // by the values; what sorts them must order any two
	keys     map[*T][]string // the values of a row
	written  map[*T][]string // the names of the tool of a row

	file   *file // of the facts that are added
	owner  *file // the session that they count for
	times  *format.Column
	tools  *record.Names
	deed   func(i int) session.Deed // of fact i; nil if rows have none
	models *record.Names
	recent map[[3]int]*T // of the facts of the piece and the day, by the numbers of tool, deed and model
	day    day
	timed  bool   // some dimension depends on the time
	blocks blocks // nil without the dimension of this name

	values []string // memory of find
	key    []byte
}

// day is a calendar day, or its part in a block, with the labels of that day, its week, its month and
// the block.
type day struct {
	from, to                int64 // Unix milliseconds
	day, week, month, block string
}

func newTable[T any](req *Request, build func(values []string) *T) *table[T] {
	return &table[T]{
		by: req.By, location: cmp.Or(req.Location, time.UTC), build: build, rows: make(map[string]*T), keys: make(map[*T][]string), written: make(map[*T][]string), recent: make(map[[3]int]*T),
		timed: slices.ContainsFunc(req.By, IsPeriod),
	}
}

// begin is called before the facts of a piece are added; tools and deed are both nil
// when they have none.
func (t *table[T]) begin(f, owner *file, times *format.Column, tools *record.Names, deed func(i int) session.Deed, models *record.Names) {
	t.file, t.owner, t.times, t.tools, t.deed, t.models = f, owner, times, tools, deed, models
	clear(t.recent)
	if t.blocks != nil {
		t.day = day{} // the day may belong to another agent
	}
}

// row returns the row of fact i of the piece.
func (t *table[T]) row(i int) *T {
	if t.timed {
		if ms := t.file.millis(t.times.At(i)); ms < t.day.from || ms >= t.day.to {
			t.day = dayOf(time.UnixMilli(ms).In(t.location))
			if t.blocks != nil {
				t.blocks.narrow(&t.day, t.file.Agent, ms)
			}
			clear(t.recent)
		}
	}
	numbers := [3]int{2: t.models.Number(i)}
	if t.tools != nil {
		numbers[0], numbers[1] = t.tools.Number(i), int(t.deed(i))
	}
	row := t.recent[numbers]
	if row == nil {
		row = t.find(i)
		t.recent[numbers] = row
	}
	return row
}

// find returns the row of fact i, and makes it when it is new.
func (t *table[T]) find(i int) *T {
	t.values, t.key = t.values[:0], t.key[:0]
	for _, by := range t.by {
		v, same := "", ""
		switch by {
		case "tool":
			if t.tools != nil {
				v = t.tools.At(i)
				same = session.ToolKey(v)
			}
		case "action":
			if t.deed != nil {
				v = t.deed(i).String()
			}
		case "agent":
			v = session.ShortAgent(t.owner.Agent)
		case "model":
			v = t.models.At(i)
		case "project":
			v = t.owner.CWD
		case "session":
			v = t.owner.sessionFile().Path
		case "day":
			v = t.day.day
		case "week":
			v = t.day.week
		case "month":
			v = t.day.month
		case "block":
			v = t.day.block
		}
		t.values = append(t.values, v)
		t.key = append(append(t.key, cmp.Or(same, v)...), 0)
	}
	row := t.rows[string(t.key)]
	if row == nil {
		values := slices.Clone(t.values)
		for k, v := range values {
			values[k] = strings.Clone(v) // the piece's own
		}
		row = t.build(values)
		t.rows[string(t.key)], t.keys[row] = row, values
	}
	if at := slices.Index(t.by, "tool"); at >= 0 && !slices.Contains(t.written[row], t.values[at]) {
		t.written[row] = append(t.written[row], strings.Clone(t.values[at]))
		t.keys[row][at] = session.ToolName(t.written[row])
	}
	return row
}

// dayOf returns the day of a time.
func dayOf(t time.Time) day {
	d := timespec.DayOf(t)
	year, week := d.Date.ISOWeek()
	return day{
		from: d.Start.UnixMilli(), to: d.End.UnixMilli(),
		day: d.Date.Format("2006-01-02"), week: fmt.Sprintf("%04d-W%02d", year, week), month: d.Date.Format("2006-01"),
	}
}

// groups are rows by a name, which are made when they are first asked for.
type groups[T any] struct {
	rows  map[string]*T // what sorts them must order any two
	build func(name string) *T
}

func newGroups[T any](build func(name string) *T) groups[T] {
	return groups[T]{make(map[string]*T), build}
}

// row returns the row with a name.
func (g groups[T]) row(name string) *T {
	row, ok := g.rows[name]
	if !ok {
		name = strings.Clone(name)
		row = g.build(name)
		g.rows[name] = row
	}
	return row
}

// ComparePeriods orders rows by their first dimension, the latest first, when that is
// a period of time.
func ComparePeriods(by, a, b []string) int {
	if !IsPeriod(by[0]) {
		return 0
	}
	return cmp.Compare(b[0], a[0])
}

// IsPeriod reports whether a dimension is a period of time.
func IsPeriod(by string) bool { return by == "day" || by == "week" || by == "month" || by == "block" }

// fileCount counts files; the files of one session count as one. The facts of a file must come one
// after another, unless the count has a set of the files that it counted.
type fileCount struct {
	last *file
	n    int
	seen map[*file]bool
}

func (c *fileCount) add(f *file) {
	if c.last == f {
		return
	}
	if c.last = f; f.session != nil { // its files do not come one after another
		if f = f.session; c.seen == nil {
			c.seen = make(map[*file]bool)
		}
	}
	if c.seen != nil {
		if c.seen[f] {
			return
		}
		c.seen[f] = true
	}
	c.n++
}
