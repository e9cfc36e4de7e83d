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
// "jan 5", "half an hour ago". A day without a time of day is that whole day.
func english(s string, now time.Time) (Span, bool) {
	m := moment{time: now, unit: day, hour: -1}
	var parts []int
	for rest := strings.ToLower(s); rest != ""; {
		part, length := m.read(rest)
		if length == 0 || slices.Contains(parts, part) {
			return Span{}, false
		}
		parts, rest = append(parts, part), rest[length:]
	}
	switch {
	case m.hour >= 0:
		y, month, d := m.time.Date()
		return instant.from(time.Date(y, month, d, m.hour, m.minute, 0, 0, now.Location())), true
	case m.unit == instant:
		return instant.from(m.time), true
	}
	return m.unit.from(m.unit.begin(m.time)), true
}

// moment is what the parts of a phrase say together.
type moment struct {
	time         time.Time // now, moved by what was read
	unit         unit      // instant, day or month: how much of time is meant
	hour, minute int       // the time of day; hour is -1 if there is none
}

// read applies the part that a text begins with. It returns the number of the part and
// its length, 0 if there is none.
func (m *moment) read(text string) (part, length int) {
	for i, r := range rules() {
		if words := r.form.FindStringSubmatch(text); words != nil && r.apply(m, words[1:]) {
			return i, len(words[0])
		}
	}
	return 0, 0
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
	amount := `(half(?: an?)?|an? few|an?|` + strings.Join(numbers[1:], "|") + `|\d+)`
	return []rule{
		of(`(?:(this|last|past|next) ?)?(`+anyOf(weekdays())+`)`, (*moment).setWeekday),
		of(`(now|today|tonight|last night|tomorrow|tmr|yesterday)`, (*moment).setDay),
		of(`(?:this ?)?(`+anyOf(dayTimes)+`)`, (*moment).setDayTime),
		of(`(\d\d?)(?:[:：-]([0-5]\d))?(?: ?([ap])(?:m|\.m\.|\.)?)?`, (*moment).setClock),
		of(`(?:(in|within) )?`+amount+` ?(`+anyOf(units)+`)( ago)?`, (*moment).setDistance),
		of(dayOfMonth+` ?(?:of )?`+month, func(m *moment, words []string) bool { return m.setDate(words[1], words[0]) }),
		of(month+`(?: ?`+dayOfMonth+`)?`, func(m *moment, words []string) bool { return m.setDate(words[0], words[1]) }),
	}
})

// anyOf returns an expression that matches each of the words.
func anyOf[V any](words map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(words)), "|")
}

func (m *moment) setWeekday(words []string) bool {
	days := weekdays()[words[1]] - int(m.time.Weekday()) // this one: of the week that began on Sunday
	switch ahead := (days + 7) % 7; words[0] {
	case "next":
		days = cmp.Or(ahead, 7)
	case "last", "past", "": // a search means the last one
		days = ahead - 7
	}
	m.time = m.time.AddDate(0, 0, days)
	return true
}

func (m *moment) setDay(words []string) bool {
	switch words[0] {
	case "yesterday", "last night":
		m.time = m.time.AddDate(0, 0, -1)
	case "tomorrow", "tmr":
		m.time = m.time.AddDate(0, 0, 1)
	}
	if m.hour < 0 && strings.HasSuffix(words[0], "night") {
		m.hour = 23
	}
	return true
}

var dayTimes = map[string]int{"morning": 8, "noon": 12, "afternoon": 15, "evening": 18}

func (m *moment) setDayTime(words []string) bool {
	if m.hour < 0 {
		m.hour = dayTimes[words[0]]
	}
	return true
}

// setClock reads "5pm", "17:30" and "5:30 p.m.", which are more precise than "evening".
func (m *moment) setClock(words []string) bool {
	hour, _ := strconv.Atoi(words[0])
	minute, _ := strconv.Atoi(words[1])
	half := words[2]
	switch {
	case words[1] == "" && half == "", hour > 23, hour > 12 && half != "":
		return false
	case half == "a":
		hour %= 12
	case half == "p":
		hour = hour%12 + 12
	}
	m.hour, m.minute = hour, minute
	return true
}

// halves are half units as whole ones.
var halves = map[unit]struct {
	n    int
	unit unit
}{minute: {30, second}, hour: {30, minute}, day: {12, hour}, week: {7 * 12, hour}, month: {14, day}, year: {6, month}}

func (m *moment) setDistance(words []string) bool {
	n, ok := number(words[1])
	u := units[words[2]]
	switch {
	case strings.HasPrefix(words[1], "half"):
		n, u, ok = halves[u].n, halves[u].unit, halves[u].n > 0
	case strings.HasSuffix(words[1], "few"):
		n, ok = 3, true
	}
	past := words[3] != ""
	if !ok || past == (words[0] != "") {
		return false
	}
	if past {
		n = -n
	}
	m.time = u.add(m.time, n)
	if u < day {
		m.unit = instant
	}
	return true
}

// setDate reads a day of a month. A month alone is all of it.
func (m *moment) setDate(name, written string) bool {
	d, ok := ordinals()[written]
	switch {
	case written == "":
		d, m.unit = 1, month
	case !ok:
		d, _ = strconv.Atoi(written)
	}
	t := m.time
	m.time = time.Date(t.Year(), months()[name], d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	return m.time.Day() == d
}

var weekdays = sync.OnceValue(func() map[string]int {
	words := map[string]int{"thur": int(time.Thursday)}
	for d := range 7 {
		name := strings.ToLower(time.Weekday(d).String())
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
