package printer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pigrep/query/audit"
)

const (
	trendWidth   = 24  // cells at most
	roomForTrend = 120 // the narrowest terminal with a trend
)

// TakesTrend reports whether an answer with these dimensions has a column that needs the
// rows by day: where there is room, and rows are no periods themselves.
func (l Layout) TakesTrend(by []string) bool {
	return l.Charts && l.Width >= roomForTrend && !slices.ContainsFunc(by, func(name string) bool {
		return name == "day" || name == "week" || name == "month"
	})
}

// trend is the values of each row by day, as lines of small bars. Each line has the scale
// of its largest value.
type trend struct {
	days  int // that a bar stands for
	lines map[string][]float64
	total []float64
}

// newTrend makes a trend of n rows that are grouped by day first; nil for a single day.
func newTrend(n int, row func(int) (*audit.Key, float64)) *trend {
	var first, last time.Time
	at := make([]time.Time, n)
	for i := range n {
		k, _ := row(i)
		day, err := time.Parse(time.DateOnly, k.Day)
		if err != nil {
			return nil
		}
		if at[i] = day; first.IsZero() || day.Before(first) {
			first = day
		}
		if day.After(last) {
			last = day
		}
	}
	all := int(last.Sub(first)/(24*time.Hour)) + 1
	if n == 0 || all < 2 {
		return nil
	}
	t := &trend{days: (all + trendWidth - 1) / trendWidth, lines: make(map[string][]float64)}
	bars := (all + t.days - 1) / t.days
	t.total = make([]float64, bars)
	for i := range n {
		k, v := row(i)
		id := rowID(k)
		if t.lines[id] == nil {
			t.lines[id] = make([]float64, bars)
		}
		bar := int(at[i].Sub(first)/(24*time.Hour)) / t.days
		t.lines[id][bar] += v
		t.total[bar] += v
	}
	return t
}

// rowID identifies a row by its dimensions, the day left out.
func rowID(k *audit.Key) string {
	id := k.SessionPath
	for _, s := range []*string{k.Tool, k.Model, k.Project} {
		if id += "\x00"; s != nil {
			id += *s
		}
	}
	return id
}

// trendColumn is the column of a trend; of nil one that is not shown.
func trendColumn[T any](t *trend, total *T, key func(*T) *audit.Key) sheetColumn[T] {
	if t == nil {
		return sheetColumn[T]{column{}, func(*T) cell { return cell{} }}
	}
	title := "BY DAY"
	if t.days > 1 {
		title = fmt.Sprintf("BY %d DAYS", t.days)
	}
	return sheetColumn[T]{column{Title: title, From: roomForTrend}, func(r *T) cell {
		if r == total {
			return cell{Text: sparkline(t.total)}
		}
		return cell{Text: sparkline(t.lines[rowID(key(r))])}
	}}
}

// sparkline draws values as small bars, and nothing as a dot.
func sparkline(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	most := slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		if v <= 0 {
			b.WriteRune('·')
			continue
		}
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[min(int(8*v/most), 7)])
	}
	return b.String()
}
