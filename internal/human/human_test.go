package human_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pigrep/internal/human"
	"pigrep/internal/timespec"
	"pigrep/lab/testkit"
)

func TestAge(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		ago      time.Duration
		age, run string
	}{
		{-time.Hour, "now", "now"}, {30 * time.Second, "now", "now"}, {5 * time.Minute, "5m", "5m ago"}, {23 * time.Hour, "23h", "23h ago"},
		{day, "1d", "1d ago"}, {13 * day, "13d", "13d ago"}, {20 * day, "2w", "2w ago"}, {58 * day, "8w", "8w ago"}, {59 * day, "2mo", "2mo ago"},
		{364 * day, "11mo", "11mo ago"}, {800 * day, "2y", "2y ago"},
	}
	for _, test := range tests {
		if got := human.Age(now, now.Add(-test.ago)); got != test.age || len(got) > human.AgeWidth {
			t.Errorf("age of %v = %q, want %q", test.ago, got, test.age)
		}
		if got := human.Ago(now, now.Add(-test.ago)); got != test.run {
			t.Errorf("%v ago is %q, want %q", test.ago, got, test.run)
		}
		for _, text := range []string{test.age, test.run} {
			if _, err := timespec.Parse(text, now); err != nil {
				t.Errorf("what is printed can be typed: %v", err)
			}
		}
	}
	if got := human.Age(now, time.Time{}) + human.Ago(now, time.Time{}); got != "" {
		t.Errorf("the age of an unknown time is %q, want none", got)
	}
}

// What Age prints is typed after --since and means the last instant with that age, also
// where the clocks change and months are short.
func TestAgesCanBeTyped(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			testkit.Missing(t, "no time zone database: "+err.Error())
		}
		rapid.Check(t, func(t *rapid.T) {
			now := time.Unix(rapid.Int64Range(1_500_000_000, 2_000_000_000).Draw(t, "now"), 0).In(zone)
			longest := rapid.SampledFrom([]time.Duration{time.Hour, 48 * time.Hour, 2000 * time.Hour, 24 * 365 * 20 * time.Hour}).Draw(t, "longest")
			then := now.Add(-time.Duration(rapid.Int64Range(0, int64(longest)).Draw(t, "ago")))
			for _, printed := range []string{human.Age(now, then), human.Ago(now, then)} {
				span, err := timespec.Parse(printed, now)
				if err != nil {
					t.Fatalf("%s is printed and cannot be typed: %v", printed, err)
				}
				if span.Start != span.End || span.Start.Before(then) {
					t.Fatalf("%s means %v, after which %v is", printed, span, then)
				}
				if got := human.Age(now, span.Start); got != human.Age(now, then) {
					t.Fatalf("%s means %v, which is %s old", printed, span.Start, got)
				}
			}
		})
	}
}

func TestPath(t *testing.T) {
	for path, want := range map[string]string{
		"/home/u": "~", "/home/u/a": "~/a", "/home/user/a": "/home/user/a", "/a": "/a", "": "",
	} {
		path, want, home := filepath.FromSlash(path), filepath.FromSlash(want), filepath.FromSlash("/home/u")
		if got := human.Path(path, home); got != want {
			t.Errorf("Path(%q) = %q, want %q", path, got, want)
		}
	}
	if got := human.Path("/home/u", ""); got != "/home/u" {
		t.Errorf("without a home it is %q", got)
	}
}

func TestNumbers(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{human.Number(1234567), "1,234,567"}, {human.Number(int64(-5)), "-5"}, {human.Plural(1, "file", "files"), "1 file"}, {human.Plural(0, "file", "files"), "0 files"},
		{human.Plural(1234, "file", "files"), "1,234 files"}, {human.Short(9999), "9,999"}, {human.Short(56_789), "57k"}, {human.Short(999_499), "999k"}, {human.Short(999_500), "1.0M"}, {human.Short(7_850_001), "7.9M"}, {human.Short(999_949_999), "999.9M"}, {human.Short(1_206_100_000), "1.2B"},
		{human.Bytes(1500), "1.5 kB"}, {human.Bytes(-1), "0 B"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

func TestTitle(t *testing.T) {
	for _, test := range []struct{ title, want string }{
		{"Fix\x1b[31m\n it", "Fix it"}, {"# 1", "# 1"}, {"\x1b[2J", "(no prompt)"},
	} {
		if got := human.Title(test.title); got != test.want {
			t.Errorf("Title(%q) = %q, want %q", test.title, got, test.want)
		}
	}
}

// The amounts of a table have as many decimals as each other, and none looks like nothing.
func TestDollars(t *testing.T) {
	for _, test := range []struct {
		most float64
		want string
	}{{92.3, "$0.00 <$0.01 $0.06 $92.30"}, {0.0647, "$0.0000 $0.0020 $0.0647 $92.3000"}} {
		d := human.DollarsUpTo(test.most)
		var got []string
		for _, cost := range []float64{0, 0.002, 0.0647, 92.3} {
			got = append(got, d.Text(cost))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("up to %v: %s, want %s", test.most, got, test.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 0.0001: "0.0%", 0.0444: "4.4%", 0.0994: "9.9%", 0.0999: "10%", 0.571: "57%", 0.9999: "99%", 1: "100%"} {
		if got := human.Percent(share); got != want {
			t.Errorf("Percent(%g) = %q, want %q", share, got, want)
		}
	}
}

// A duration never shows as many of a unit as make the next one.
func TestDuration(t *testing.T) {
	for ms, want := range map[int]string{0: "0ms", 999: "999ms", 1000: "1.0s", 59_999: "59.9s", 60_000: "1m00s", 169_400: "2m49s", 3_599_999: "59m59s", 3_900_000: "1h05m"} {
		if got := human.Duration(time.Duration(ms) * time.Millisecond); got != want {
			t.Errorf("Duration(%d ms) = %q, want %q", ms, got, want)
		}
	}
}
