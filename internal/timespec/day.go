package timespec

import "time"

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
