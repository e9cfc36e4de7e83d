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
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// DayExamples are examples of what ParseDays accepts.
var DayExamples = []string{"90d", "12w", "6mo", "1y", "2026-01-31"}

// ParseDays is like Parse for deleting what is older than a time: it returns the start of the span.
// It accepts only days and longer units, and only times at least a day ago. It refuses "6m", which may
// mean minutes or months.
func ParseDays(s string, now time.Time) (time.Time, error) {
	span, err := Parse(s, now)
	if err != nil {
		return time.Time{}, err
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return r < 'a' || r > 'z' }) {
		u, ok := units[word]
		switch {
		case word == "m":
			return time.Time{}, fmt.Errorf("%q may mean minutes or months; months are mo, as in 6mo", s)
		case ok && u < day, word == "ms", word == "us", word == "ns":
			return time.Time{}, fmt.Errorf("%q has a unit shorter than a day", s)
		}
	}
	if span.Start.After(day.add(now, -1)) {
		return time.Time{}, fmt.Errorf("%q is not at least a day ago", s)
	}
	return span.Start, nil
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

// english reads phrases made of parts in any order: "last monday", "friday 5pm",
// "jan 5, 2025", "half an hour ago". One part names the day, another the time of day.
func english(s string, now time.Time) (Span, bool) {
	m := moment{now: now, day: now, unit: day, past: true, hour: -1, during: anyTime}
	parts := 0
	for rest := strings.ToLower(s); rest != ""; parts++ {
		length := m.read(rest)
		if length == 0 {
			return Span{}, false
		}
		rest = rest[length:]
	}
	if m.period != (Span{}) {
		return m.period, parts == 1
	}
	return m.span()
}

// moment is the combined meaning of the parts of a phrase.
type moment struct {
	now    time.Time
	period Span // what a phrase of one part means: "last 3 days"

	day   time.Time // today, unless the phrase names a day
	unit  unit      // day or month: how much of time day means
	named bool      // the phrase names the day
	dated bool      // as a date, which a weekday can confirm
	past  bool      // the day before is meant if the time is after now

	weekday              []string // the words of setWeekday
	hour, minute, second int      // the time of day; hour is -1 if there is none
	during               dayTime
}

// read applies the part that a text begins with and returns its length, 0 if there is none.
func (m *moment) read(text string) int {
	for _, r := range rules() {
		if words := r.form.FindStringSubmatch(text); words != nil && r.apply(m, words[1:]) {
			return len(words[0])
		}
	}
	return 0
}

// span combines the parts. A day without a time of day is that whole day.
func (m *moment) span() (Span, bool) {
	if m.weekday != nil && !m.applyWeekday() {
		return Span{}, false
	}
	hour := m.hour
	if hour < 0 {
		hour = m.during.usual
	}
	if hour < 0 {
		return m.unit.from(m.unit.begin(m.day)), true
	}
	if hour+24 < m.during.to { // the night continues after midnight
		hour += 24
	}
	if m.unit != day || hour < m.during.from || hour >= m.during.to {
		return Span{}, false
	}
	at := func(day time.Time) time.Time {
		y, month, d := day.Date()
		return time.Date(y, month, d, hour, m.minute, m.second, 0, m.now.Location())
	}
	t := at(m.day)
	if m.past && t.After(m.now) {
		t = at(day.add(m.day, -1))
	}
	return instant.from(t), true
}

// rule reads one part of a phrase.
type rule struct {
	form  *regexp.Regexp
	apply func(m *moment, words []string) bool // words are the groups of form; false: they mean no time
}

// rules are compiled when the first phrase is read: most runs read none.
var rules = sync.OnceValue(func() []rule {
	of := func(form string, apply func(*moment, []string) bool) rule {
		return rule{regexp.MustCompile(`^(?:(?:at|on) )?` + form + `(?:[ ,]+|$)`), apply}
	}
	month := `(` + anyOf(months()) + `)\.?`
	dayOfMonth := `(` + anyOf(ordinals()) + `|\d\d?)`
	year := `(?:[ ,]+((?:19|20)\d\d))?`
	amount := `(half(?: an?)?|(?:an? )?few|an?|` + strings.Join(numbers[1:], "|") + `|\d+)`
	return []rule{
		of(`(?:(this|last|past|next) ?)?(`+anyOf(weekdays())+`)`, (*moment).setWeekday),
		of(`(midnight|today|tomorrow|tmr|yesterday)`, (*moment).setDay),
		of(`(this |last |to)?(`+anyOf(dayTimes)+`)`, (*moment).setDayTime),
		of(`(\d\d?)(?:[:：]([0-5]\d)(?::([0-5]\d))?)?(?: ?([ap])(?:m|\.m\.|\.)?)?`, (*moment).setClock),
		of(`(?:(in|within|last|past|previous) )?(?:`+amount+` ?)?(`+anyOf(units)+`)( ago)?`, (*moment).setDistance),
		of(dayOfMonth+` ?(?:of )?`+month+year, func(m *moment, words []string) bool { return m.setDate(words[1], words[0], words[2]) }),
		of(month+`(?: ?`+dayOfMonth+`)?`+year, func(m *moment, words []string) bool { return m.setDate(words[0], words[1], words[2]) }),
	}
})

// anyOf returns an expression that matches each of the words.
func anyOf[V any](words map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(words)), "|")
}

// name sets the day. A phrase names it once.
func (m *moment) name(day time.Time) bool {
	ok := !m.named
	m.day, m.named, m.past = day, true, false
	return ok
}

func (m *moment) setWeekday(words []string) bool {
	ok := m.weekday == nil
	m.weekday = words
	return ok
}

// applyWeekday finds the weekday, or compares it with the date beside it.
func (m *moment) applyWeekday() bool {
	which, weekday := m.weekday[0], weekdays()[m.weekday[1]]
	if m.named {
		return m.dated && which == "" && m.day.Weekday() == weekday
	}
	ahead := (int(weekday-m.now.Weekday()) + 7) % 7
	switch which {
	case "this":
		return m.name(day.add(week.begin(m.now), (int(weekday)+6)%7))
	case "next":
		return m.name(day.add(m.now, cmp.Or(ahead, 7)))
	}
	return m.name(day.add(m.now, ahead-7)) // a search means the last one
}

func (m *moment) setDay(words []string) bool {
	days := 0
	switch words[0] {
	case "yesterday":
		days = -1
	case "tomorrow", "tmr":
		days = 1
	case "midnight": // with a day it could be the start or the end
		if m.hour >= 0 {
			return false
		}
		m.hour = 0
	}
	return m.name(day.add(m.now, days))
}

// dayTime is a part of the day: the hour that is meant unless a clock says more, and
// the hours that a clock can say.
type dayTime struct{ usual, from, to int }

var (
	anyTime  = dayTime{-1, 0, 24}
	dayTimes = map[string]dayTime{
		"morning": {8, 0, 12}, "noon": {12, 12, 13}, "afternoon": {15, 12, 19}, "evening": {18, 16, 24}, "night": {23, 18, 30},
	}
)

func (m *moment) setDayTime(words []string) bool {
	which, part := words[0], words[1]
	if m.during != anyTime || part != "night" && (which == "last " || which == "to") {
		return false
	}
	m.during = dayTimes[part]
	switch which {
	case "":
		return true
	case "last ":
		ok := m.name(day.add(m.now, -1))
		m.past = true
		return ok
	}
	return m.name(m.now)
}

// setClock reads "5pm", "17:30" and "5:30 p.m.".
func (m *moment) setClock(words []string) bool {
	hour, _ := strconv.Atoi(words[0])
	minute, _ := strconv.Atoi(words[1])
	second, _ := strconv.Atoi(words[2])
	half := words[3]
	switch {
	case m.hour >= 0, words[1] == "" && half == "", hour > 23, hour > 12 && half != "":
		return false
	case half == "a":
		hour %= 12
	case half == "p":
		hour = hour%12 + 12
	}
	m.hour, m.minute, m.second = hour, minute, second
	return true
}

// halves are half units as whole ones.
var halves = map[unit]struct {
	n    int
	unit unit
}{minute: {30, second}, hour: {30, minute}, day: {12, hour}, week: {7 * 12, hour}, month: {14, day}, year: {6, month}}

func (m *moment) setDistance(words []string) bool {
	which, ago := words[0], words[3] != ""
	n, ok := number(words[1])
	u := units[words[2]]
	switch {
	case strings.HasPrefix(words[1], "half"):
		n, u, ok = halves[u].n, halves[u].unit, halves[u].n > 0
	case strings.HasSuffix(words[1], "few"):
		n, ok = 3, true
	case words[1] == "": // "last hour"
		n, ok = 1, which != "in" && which != "within"
	}
	if !ok || ago == (which != "") || ago && words[1] == "" {
		return false
	}
	if which != "in" {
		n = -n
	}
	t := u.add(m.now, n)
	switch {
	case which != "" && which != "in":
		m.period = Span{t, m.now}
	case u < day:
		m.period = instant.from(t)
	default:
		return m.name(t)
	}
	return true
}

// setDate reads a day of a month, the last one if there is no year. A month alone is all of it.
func (m *moment) setDate(name, written, year string) bool {
	d, ok := ordinals()[written]
	switch {
	case written == "":
		d, m.unit = 1, month
	case !ok:
		d, _ = strconv.Atoi(written)
	}
	y, err := strconv.Atoi(year)
	if err != nil {
		y = m.now.Year()
	}
	date := func() time.Time { return StartOfDay(y, months()[name], d, m.now.Location()) }
	if year == "" && date().After(m.now) {
		y--
	}
	m.dated = m.unit == day
	return time.Date(y, months()[name], d, 0, 0, 0, 0, time.UTC).Day() == d && m.name(date())
}

var weekdays = sync.OnceValue(func() map[string]time.Weekday {
	words := map[string]time.Weekday{"tues": time.Tuesday, "thur": time.Thursday, "thurs": time.Thursday}
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := strings.ToLower(d.String())
		words[name], words[name[:3]] = d, d
	}
	return words
})

var months = sync.OnceValue(func() map[string]time.Month {
	words := map[string]time.Month{"sept": time.September}
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		words[name], words[name[:3]] = m, m
	}
	return words
})

// ordinals are "first" to "thirty-first", "1st" to "31st".
var ordinals = sync.OnceValue(func() map[string]int {
	words := make(map[string]int)
	for i, word := range strings.Fields(`first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
		thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second
		twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first`) {
		words[word], words[strings.Replace(word, "-", " ", 1)] = i+1, i+1
		suffix := word[len(word)-2:] // as in 1st, 2nd, 3rd and 4th
		words[strconv.Itoa(i+1)+suffix] = i + 1
	}
	return words
})
