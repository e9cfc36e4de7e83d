package chart

import (
	"math"
	"strconv"
	"time"

	"pigrep/internal/human"
)

// Unit is what values count.
type Unit int

// The units.
const (
	Count Unit = iota
	Tokens
	Dollars
)

// text writes a value exactly enough to be read beside others up to most.
func (u Unit) text(v, most float64) string {
	if u == Dollars {
		return human.DollarsUpTo(most).Text(v)
	}
	return human.Number(int64(math.Round(v)))
}

// tick writes a round value of an axis whose ticks are step apart.
func (u Unit) tick(v, step float64) string {
	switch {
	case u == Dollars && v == 0:
		return "$0"
	case u == Dollars && step < 1:
		return "$" + strconv.FormatFloat(v, 'f', max(2, int(math.Ceil(-math.Log10(step)-1e-9))), 64)
	}
	s, letter := v, ""
	for _, l := range []string{"k", "M", "G", "T"} {
		if v < 10_000 && u == Count || s < 1000 {
			break
		}
		s, letter = s/1000, l
	}
	text := strconv.FormatFloat(s, 'f', -1, 64) + letter
	if letter == "" {
		text = human.Number(int64(v))
	}
	if u == Dollars {
		text = "$" + text
	}
	return text
}

// mostSteps is how many steps an axis has at most.
const mostSteps = 4

// axis returns the distance of round ticks, 1, 2 or 5 times a power of ten, and how many
// steps there are from 0 to most or above it.
func (u Unit) axis(most float64) (step float64, steps int) {
	if most <= 0 {
		return 1, 1
	}
	power := math.Floor(math.Log10(most / mostSteps))
	if u != Dollars {
		power = max(power, 0)
	}
	power = max(power, -9)
	for ; ; power++ {
		for _, m := range []float64{1, 2, 5} {
			if step = m * math.Pow(10, power); step*mostSteps >= most*(1-1e-9) {
				return step, max(1, int(math.Ceil(most/step-1e-9)))
			}
		}
	}
}

// The forms of periods in a chart.
const (
	dayForm   = "2 Jan"
	dateForm  = "2 Jan 2006"
	monthForm = "Jan 2006"
)

// shortLabel is a label below an axis, with the year where it begins. A week is its Monday.
func shortLabel(label, before string) string {
	t, form := parsePeriod(label)
	if t.IsZero() {
		return label
	}
	other, _ := parsePeriod(before)
	switch {
	case form == "month" && t.Year() != other.Year():
		return t.Format(monthForm)
	case form == "month":
		return t.Format("Jan")
	case t.Year() != other.Year():
		return t.Format(dateForm)
	}
	return t.Format(dayForm)
}

// longLabel is a label that is read alone.
func longLabel(label string) string {
	switch t, form := parsePeriod(label); form {
	case "day":
		return t.Format(dateForm)
	case "week":
		return "week of " + t.Format(dateForm)
	case "month":
		return t.Format(monthForm)
	}
	return clean(label)
}

// parsePeriod returns the first day of a period, and whether it is a day, week or month;
// the zero time for any other label.
func parsePeriod(label string) (time.Time, string) {
	if t, err := time.Parse(time.DateOnly, label); err == nil {
		return t, "day"
	}
	if t, err := time.Parse("2006-01", label); err == nil {
		return t, "month"
	}
	if len(label) == len("2006-W01") && label[4:6] == "-W" {
		year, err := strconv.Atoi(label[:4])
		week, err2 := strconv.Atoi(label[6:])
		if err == nil && err2 == nil && week >= 1 && week <= 53 {
			fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC) // it is always in week 1
			return fourth.AddDate(0, 0, 7*(week-1)-(int(fourth.Weekday())+6)%7), "week"
		}
	}
	return time.Time{}, ""
}

// Span returns the first day of a period and the day after its last; zero times for any
// other label.
func Span(label string) (first, end time.Time) {
	first, form := parsePeriod(label)
	if first.IsZero() {
		return first, first
	}
	return first, nextPeriod(first, form)
}
