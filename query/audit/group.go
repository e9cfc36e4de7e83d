package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"pigrep/index"
	"pigrep/internal/session"
)

// Key has the values of the dimensions that a row was grouped by.
type Key struct {
	Tool        *string `json:"tool,omitempty"`
	Day         string  `json:"day,omitempty"`
	Week        string  `json:"week,omitempty"`
	Month       string  `json:"month,omitempty"`
	Model       *string `json:"model,omitempty"` // "" when none is named
	Project     *string `json:"project,omitempty"`
	SessionPath string  `json:"sessionPath,omitempty"`
	SessionID   string  `json:"sessionId,omitempty"`
	SessionName string  `json:"sessionName,omitempty"`
}

// key returns the values of the dimensions as the columns of a row.
func (req *Request) key(r *index.Reader, values []string) Key {
	var k Key
	for i, by := range req.By {
		v := values[i]
		switch by {
		case "tool":
			k.Tool = &v
		case "day":
			k.Day = v
		case "week":
			k.Week = v
		case "month":
			k.Month = v
		case "model":
			k.Model = &v
		case "project":
			k.Project = &v
		case "session":
			k.SessionPath = v
			k.SessionID, k.SessionName = sessionNames(r.Summaries(), v)
			k.SessionName = req.shown(k.SessionName)
		}
	}
	return k
}

// sessionNames returns the id and the name of a session by its path.
func sessionNames(sorted []session.Summary, path string) (id, name string) {
	i := sort.Search(len(sorted), func(i int) bool { return sorted[i].Path >= path })
	if i < len(sorted) && sorted[i].Path == path {
		return sorted[i].ID, cmp.Or(sorted[i].Name, sorted[i].FirstPrompt)
	}
	return "", ""
}

// A keyer returns the values of dimensions for facts.
type keyer struct {
	by       []string
	location *time.Location
	values   []string
	periods  map[string]period // by dimension: the last one that was asked for
}

func newKeyer(req *Request) *keyer {
	return &keyer{by: req.By, location: cmp.Or(req.Location, time.UTC), periods: map[string]period{}}
}

// valuesOf returns the values for a fact. They are valid until the next call.
func (k *keyer) valuesOf(f *file, ms int64, tool, model string) []string {
	k.values = k.values[:0]
	for _, by := range k.by {
		v := ""
		switch by {
		case "tool":
			v = tool
		case "model":
			v = model
		case "project":
			v = f.CWD
		case "session":
			v = f.Path
		default:
			v = k.period(by, f.timeOf(ms))
		}
		k.values = append(k.values, v)
	}
	return k.values
}

// period is one day, with the name of it, of its week or of its month.
type period struct {
	from, to time.Time
	name     string
}

// period names the day, week or month of a time. Entries mostly follow one another,
// so the last answer of each dimension is kept.
func (k *keyer) period(by string, t time.Time) string {
	if p, ok := k.periods[by]; ok && !t.Before(p.from) && t.Before(p.to) {
		return p.name
	}
	t = t.In(k.location)
	from := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, k.location)
	p := period{from: from, to: from.AddDate(0, 0, 1), name: t.Format("2006-01-02")}
	switch by {
	case "week":
		year, week := t.ISOWeek()
		p.name = fmt.Sprintf("%04d-W%02d", year, week)
	case "month":
		p.name = t.Format("2006-01")
	}
	k.periods[by] = p
	return p.name
}

// groups are rows by the values of their dimensions.
type groups[T any] map[string]*T

// row returns the row with these values, and makes it with build when it is new.
func (g groups[T]) row(values []string, build func(values []string) *T) *T {
	joined := strings.Join(values, "\x00")
	row, ok := g[joined]
	if !ok {
		row = build(slices.Clone(values))
		g[joined] = row
	}
	return row
}

// sorted returns the rows in an order that must be total.
func (g groups[T]) sorted(compare func(a, b *T) int) []*T {
	return slices.SortedFunc(maps.Values(g), compare)
}

// comparePeriods orders rows by their first dimension, the latest first, when that is
// a period of time.
func comparePeriods(by, a, b []string) int {
	if !slices.Contains([]string{"day", "week", "month"}, by[0]) {
		return 0
	}
	return cmp.Compare(b[0], a[0])
}

// fileCount counts files. The facts of a file must come one after another.
type fileCount struct {
	last *file
	n    int
}

func (c *fileCount) add(f *file) {
	if c.last != f {
		c.last = f
		c.n++
	}
}
