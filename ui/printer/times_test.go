package printer

import (
	"testing"
	"time"

	"pigrep/internal/timespec"
)

// Every form of time that is printed can be typed, and means the same.
func TestTimesCanBeTyped(t *testing.T) {
	zone := time.FixedZone("", 5*3600+1800)
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, zone)
	layout := Layout{Now: now}
	then := time.Date(2026, 3, 2, 15, 4, 0, 0, zone)
	for _, printed := range []string{
		layout.date(then), layout.timeCell(then).Plain, stampUTC(then), then.Format(time.RFC3339Nano),
		then.Format(dayForm), then.Format(dateForm), then.Format("2006-01-02"), then.Format("2006-01"), "2026-W10",
		(&factList{Layout: layout}).time(then), (&factList{}).time(then),
	} {
		span, err := timespec.Parse(printed, now)
		if err != nil || span.Start.After(then) || span.End.Before(then) {
			t.Errorf("%s means %v, %v, want %v in it", printed, span, err, then)
		}
	}
	layout.Dates = true
	if got := layout.age(then) + layout.Ago(then); got != layout.date(then)+layout.date(then) {
		t.Errorf("with Dates ages are %s", got)
	}
	if got := layout.age(time.Time{}); got != "" {
		t.Errorf("the age of an unknown time is %q", got)
	}
}
