// Package timespec parses the times that people write after --since and --until:
// "2026-01-31", "36h", "yesterday", "2 weeks ago".
//
// Each text means a Span: "2026-01-31" is that whole day, "36h" the instant 36 hours
// ago. --since counts from the start of the span and --until to its end, so that both
// ends of "--since monday --until yesterday" are as expected.
//
// Precise forms are tried first: a loose parser would read "2026-01-02" as two minutes
// past one.
package timespec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	str2duration "github.com/xhit/go-str2duration/v2"
)

// Span is a period of time, both ends included. An instant has Start equal to End.
type Span struct{ Start, End time.Time }

// Examples are forms that Parse reads, for help texts and error messages.
var Examples = []string{
	"2026-01-31", "2026-01-31T15:04:05Z", "36h", "2w", "yesterday", `"2 weeks ago"`, `"last monday"`,
}

// Error says that Parse does not know the form of a text.
type Error struct{ Text string }

func (e *Error) Error() string {
	return fmt.Sprintf("cannot read %q as a time", e.Text)
}

// Parse parses s relative to now; dates without a zone are in now's zone. What could be
// in the past or in the future is in the past: "december", "5pm", "friday", "36h". Only
// words that say so refer to the future: "tomorrow", "next friday", "this sunday", "in 2
// hours". A text that can mean more than that is refused. The error is an *Error.
func Parse(s string, now time.Time) (Span, error) {
	text := strings.Join(strings.Fields(s), " ")
	if text != "" {
		for _, parse := range []func(string, time.Time) (Span, bool){layout, isoWeek, phrase, duration, english} {
			if span, ok := parse(text, now); ok {
				return span, nil
			}
		}
	}
	return Span{}, &Error{Text: s}
}

// layouts are the date and time formats, with the period that each covers.
var layouts = []struct {
	layout string
	unit   unit
}{
	{time.RFC3339Nano, instant},
	{"2006-01-02 15:04:05Z07:00", instant},
	{"2006-01-02T15:04:05.999999999", instant},
	{"2006-01-02 15:04:05", instant},
	{"2006-01-02T15:04", minute},
	{"2006-01-02 15:04", minute},
	{"2006-01-02", day},
	{"2006/01/02", day},
	{"2006-01", month},
	{"2006", year},
}

func layout(s string, now time.Time) (Span, bool) {
	for _, l := range layouts {
		if l.unit >= day {
			if date, err := time.Parse(l.layout, s); err == nil {
				return l.unit.period(date, now.Location()), true
			}
		} else if t, err := time.ParseInLocation(l.layout, s, now.Location()); err == nil {
			return l.unit.from(t), true
		}
	}
	return Span{}, false
}

// isoWeek reads "2026-W09", a week as ISO 8601 numbers them.
func isoWeek(s string, now time.Time) (Span, bool) {
	y, w, ok := strings.Cut(strings.ToUpper(s), "-W")
	number, err := strconv.Atoi(w)
	first, err2 := time.Parse("2006", y)
	if !ok || len(w) != 2 || err != nil || err2 != nil {
		return Span{}, false
	}
	// The 4th of January is always in the first week.
	start := week.begin(first.AddDate(0, 0, 3)).AddDate(0, 0, 7*(number-1))
	if year, n := start.ISOWeek(); year != first.Year() || n != number {
		return Span{}, false
	}
	return week.period(start, now.Location()), true
}

// duration reads "90m", "1d12h" as that long ago.
func duration(s string, now time.Time) (Span, bool) {
	d, err := str2duration.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if err != nil || d < 0 {
		return Span{}, false
	}
	return instant.from(now.Add(-d)), true
}

// unit is a calendar unit.
type unit int

const (
	instant unit = iota
	second
	minute
	hour
	day
	week
	month
	year
)

var units = map[string]unit{
	"second": second, "seconds": second, "sec": second, "secs": second, "s": second,
	"minute": minute, "minutes": minute, "min": minute, "mins": minute, "m": minute,
	"hour": hour, "hours": hour, "hr": hour, "hrs": hour, "h": hour,
	"day": day, "days": day, "d": day, "week": week, "weeks": week, "w": week,
	"month": month, "months": month, "mo": month, "year": year, "years": year, "y": year,
}

var numbers = []string{
	"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
}

// phrase reads phrases whose meaning depends on the calendar: "yesterday", "3 months
// ago", "3mo", "5d", "last week". A day is a calendar day, even if the clocks change on it.
func phrase(s string, now time.Time) (Span, bool) {
	rest := strings.TrimLeft(s, "0123456789")
	words := strings.Fields(strings.ToLower(s[:len(s)-len(rest)] + " " + rest))
	switch len(words) {
	case 1:
		switch words[0] {
		case "now":
			return instant.from(now), true
		case "today":
			return day.from(day.begin(now)), true
		case "yesterday":
			return day.from(day.add(day.begin(now), -1)), true
		}
	case 2, 3:
		if words[0] == "just" && words[1] == "now" && len(words) == 2 {
			return instant.from(now), true
		}
		u, ok := units[words[1]]
		if !ok {
			break
		}
		if len(words) == 2 && u >= day {
			switch words[0] {
			case "this":
				return u.from(u.begin(now)), true
			case "last", "past", "previous":
				return u.from(u.add(u.begin(now), -1)), true
			}
		}
		n, ok := number(words[0])
		if ok && (len(words) == 2 || words[2] == "ago") {
			return instant.from(u.add(now, -n)), true
		}
	}
	return Span{}, false
}

func number(s string) (int, bool) {
	if s == "a" || s == "an" {
		return 1, true
	}
	if n := slices.Index(numbers, s); n > 0 {
		return n, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n < 1_000_000
}

// steps are the lengths of units: an amount of time, or of the calendar.
var steps = [...]struct {
	time                time.Duration
	years, months, days int
}{
	second: {time: time.Second}, minute: {time: time.Minute}, hour: {time: time.Hour},
	day: {days: 1}, week: {days: 7}, month: {months: 1}, year: {years: 1},
}

// add moves t by n units.
func (u unit) add(t time.Time, n int) time.Time {
	s := steps[u]
	if s.time > 0 {
		return t.Add(time.Duration(n) * s.time)
	}
	moved, date := u.addDate(t, n), u.addDate(DayOf(t).Date, n)
	if y, m, d := moved.Date(); y != date.Year() || m != date.Month() || d != date.Day() {
		return StartOfDay(date.Year(), date.Month(), date.Day(), t.Location()) // there is no such time on that day
	}
	return moved
}

// addDate is time.AddDate for n units of the calendar.
func (u unit) addDate(t time.Time, n int) time.Time {
	s := steps[u]
	return t.AddDate(n*s.years, n*s.months, n*s.days)
}

// begin returns the first instant of the day, week (from Monday), month or year
// that t is in.
func (u unit) begin(t time.Time) time.Time {
	date := DayOf(t).Date
	y, m, d := date.Date()
	switch u {
	case week:
		d -= (int(date.Weekday()) + 6) % 7
	case month:
		d = 1
	case year:
		m, d = 1, 1
	}
	return StartOfDay(y, m, d, t.Location())
}

// period returns the days, weeks, months or years that begin on a date.
func (u unit) period(date time.Time, zone *time.Location) Span {
	next := u.addDate(date, 1)
	return Span{
		StartOfDay(date.Year(), date.Month(), date.Day(), zone),
		StartOfDay(next.Year(), next.Month(), next.Day(), zone).Add(-1),
	}
}

// from returns the span of one unit that begins at t.
func (u unit) from(t time.Time) Span {
	switch {
	case u == instant:
		return Span{t, t}
	case u < day:
		return Span{t, u.add(t, 1).Add(-1)}
	}
	return u.period(DayOf(t).Date, t.Location())
}

// Day is a calendar day of a time zone. Where the clocks go back over midnight, it goes on
// until the date comes for the first time after it; a day that a zone leaves out is empty.
type Day struct {
	Start, End time.Time // Start is in the day, End is the start of the next one
	Date       time.Time // midnight in UTC, for the name of the day
}

// DayOf returns the day that t is in, in its zone.
func DayOf(t time.Time) Day {
	y, m, d := t.Date()
	day := dayAt(y, m, d, t.Location())
	if !t.Before(day.End) { // the clocks have gone back to the date before
		day = dayAt(y, m, d+1, t.Location())
	}
	return day
}

func dayAt(y int, m time.Month, d int, zone *time.Location) Day {
	return Day{StartOfDay(y, m, d, zone), StartOfDay(y, m, d+1, zone), time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
}

// StartOfDay returns the first instant at which the date in a zone is this one or a later
// one. That is not always midnight, which some zones skip when daylight saving starts.
// Months and days are normalized as those of time.Date.
func StartOfDay(y int, m time.Month, d int, zone *time.Location) time.Time {
	midnight := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	t := midnight.Add(-24 * time.Hour).In(zone) // no zone is so far east
	for {
		_, offset := t.Zone()
		start := midnight.Add(-time.Duration(offset) * time.Second).In(zone)
		if start.Before(t) {
			start = t // the clocks went forward over midnight
		}
		_, end := t.ZoneBounds()
		if end.IsZero() || start.Before(end) {
			return start
		}
		t = end
	}
}
