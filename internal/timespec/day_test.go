package timespec

import (
	"archive/zip"
	"cmp"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/lab/testkit"
)

// zones returns all time zones that the toolchain knows.
func zones(t *testing.T) (list []*time.Location) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output() // which -trimpath leaves out of this program
	r, open := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err := cmp.Or(err, open); err != nil {
		testkit.Missing(t, "there is no list of time zones: "+err.Error())
	}
	defer r.Close()
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		zone, err := time.LoadLocation(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, zone)
	}
	if len(list) < 400 {
		t.Fatalf("%d time zones", len(list))
	}
	return list
}

// transitions visits the instants from 1990 to 2040 at which the clocks of a zone change.
func transitions(zone *time.Location, visit func(time.Time)) {
	end := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	for t := time.Date(1990, 1, 1, 0, 0, 0, 0, zone); ; {
		_, next := t.ZoneBounds()
		if next.IsZero() || next.After(end) {
			return
		}
		visit(next)
		t = next
	}
}

// Around each change of the clocks, days begin and end where a scan of the minutes sees the
// date for the first time.
func TestDays(t *testing.T) {
	list := zones(t)
	odd := []string{"Africa/Cairo", "America/Havana", "America/Santiago", "America/Sao_Paulo", "America/St_Johns", "Asia/Beirut", "Pacific/Apia", "Europe/Berlin", "Australia/Lord_Howe"}
	for i, zone := range list {
		if i%testkit.HowMany(20, 1, 1) != 0 && !slices.Contains(odd, zone.String()) {
			continue
		}
		failed := false
		transitions(zone, func(at time.Time) {
			if failed {
				return
			}
			const around = 6 * time.Hour
			t0 := at.Add(-around).Truncate(time.Minute)
			y, m, d := t0.Date()
			date := time.Date(y, m, d, 0, 0, 0, 0, time.UTC) // the latest that was seen
			for ; t0.Before(at.Add(around)); t0 = t0.Add(time.Minute) {
				y, m, d := t0.Date()
				for seen := time.Date(y, m, d, 0, 0, 0, 0, time.UTC); date.Before(seen); {
					date = date.AddDate(0, 0, 1)
					if start := StartOfDay(date.Year(), date.Month(), date.Day(), zone); start.Sub(t0).Abs() >= time.Minute {
						t.Errorf("%s begins at %v, want %v", date.Format(time.DateOnly), start, t0)
						failed = true
					}
				}
				if day := DayOf(t0); !day.Date.Equal(date) || t0.Before(day.Start) || !t0.Before(day.End) {
					t.Errorf("%v is in the day %s from %v to %v, want %s", t0, day.Date.Format(time.DateOnly), day.Start, day.End, date.Format(time.DateOnly))
					failed = true
				}
				if failed {
					return
				}
			}
		})
	}
}

// What is written as a date means the day, and days follow each other without a gap.
func TestDaysThatBeginAtOne(t *testing.T) {
	for _, c := range []struct{ zone, text, start, end string }{
		{"Africa/Cairo", "2026-04-24", "2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00"},
		{"Africa/Cairo", "2026-04-23", "2026-04-23T00:00:00+02:00", "2026-04-24T01:00:00+03:00"},
		{"America/Havana", "2026-03-08", "2026-03-08T01:00:00-04:00", "2026-03-09T00:00:00-04:00"},
		{"America/Havana", "2026-03-07", "2026-03-07T00:00:00-05:00", "2026-03-08T01:00:00-04:00"},
		{"America/Havana", "8 march 2026", "2026-03-08T01:00:00-04:00", "2026-03-09T00:00:00-04:00"},
		{"America/Sao_Paulo", "2017-10", "2017-10-01T00:00:00-03:00", "2017-11-01T00:00:00-02:00"},
		{"Pacific/Apia", "2011-12-29", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		{"Pacific/Apia", "2011-12-30", "2011-12-31T00:00:00+14:00", "2011-12-31T00:00:00+14:00"},
		{"Pacific/Apia", "2011-12-31", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			testkit.Missing(t, err.Error())
		}
		got, err := Parse(c.text, time.Date(2026, 11, 1, 12, 0, 0, 0, zone))
		if err != nil {
			t.Fatal(err)
		}
		start, end := got.Start.Format(time.RFC3339), got.End.Add(1).Format(time.RFC3339)
		if start != c.start || end != c.end {
			t.Errorf("Parse(%q) in %s is from %s to %s, want from %s to %s", c.text, c.zone, start, end, c.start, c.end)
		}
	}
}

// Words count days, also from a time that another day does not have.
func TestYesterdayWithoutMidnight(t *testing.T) {
	zone, err := time.LoadLocation("America/Havana")
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	now := time.Date(2026, 3, 9, 0, 30, 0, 0, zone)
	for _, text := range []string{"yesterday", "last sunday", "1 day ago"} {
		got, err := Parse(text, now)
		if err != nil {
			t.Fatal(err)
		}
		if y, m, d := got.Start.Date(); y != 2026 || m != 3 || d != 8 || got.Start.Hour() != 1 {
			t.Errorf("Parse(%q) begins %v, want at 01:00 on 8 March", text, got.Start)
		}
	}
}
