package timespec

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

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
