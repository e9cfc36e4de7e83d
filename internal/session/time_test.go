package session

import (
	"testing"
	"time"
)

// Times have three decimals, which are cut off, not rounded, and are in UTC.
func TestTimeAsJSON(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 5*3600+1800)
	for _, at := range []time.Time{
		{}, time.UnixMilli(0), time.UnixMilli(1), time.UnixMilli(-1), time.UnixMilli(1_768_473_003_070).In(zone),
		time.Date(2026, 1, 15, 10, 30, 3, 999_999_999, zone), time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 120_000_000, time.UTC),
	} {
		want := at.UTC().Format(`"2006-01-02T15:04:05.000Z"`)
		if got, err := (Time{at}).MarshalJSON(); string(got) != want || err != nil {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// An entry without a time has that of the file, and is in the range of the times of its session: filters by
// time look at that first.
func TestTimeOfAnEntryWithoutOne(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 1, 15, 10, minute, 0, 0, time.UTC) }
	for _, header := range []time.Time{{}, at(10)} {
		for _, file := range []int{5, 15, 25} {
			s := Summary{Oldest: at(10), Newest: at(20)}
			s.Header.Timestamp, s.Mtime = header, at(file).UnixNano()
			first, last := s.Times()
			if got := s.TimeOf(&Node{}); got.Before(first) || got.After(last) {
				t.Errorf("header %s, file %s: %s is not from %s to %s", header, at(file), got, first, last)
			}
		}
	}
}
