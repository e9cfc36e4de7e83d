package timespec

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
)

// noon is a Friday.
var noon = time.Date(2026, 3, 20, 12, 30, 15, 0, time.UTC)

func TestParse(t *testing.T) {
	const form = "2006-01-02 15:04:05"
	tests := []struct{ text, start, end string }{
		{"2026-01-31T10:20:30Z", "2026-01-31 10:20:30", "2026-01-31 10:20:30"},
		{"2026-01-31T10:20:30.5+02:00", "2026-01-31 08:20:30", "2026-01-31 08:20:30"},
		{"2026-01-31 10:20", "2026-01-31 10:20:00", "2026-01-31 10:20:59"},
		{"2026-01-02", "2026-01-02 00:00:00", "2026-01-02 23:59:59"},
		{"2026/01/02", "2026-01-02 00:00:00", "2026-01-02 23:59:59"},
		{"2026-02", "2026-02-01 00:00:00", "2026-02-28 23:59:59"},
		{"2025", "2025-01-01 00:00:00", "2025-12-31 23:59:59"},
		{"36h", "2026-03-19 00:30:15", "2026-03-19 00:30:15"},
		{"2w", "2026-03-06 12:30:15", "2026-03-06 12:30:15"},
		{"1d12h", "2026-03-19 00:30:15", "2026-03-19 00:30:15"},
		{"90m", "2026-03-20 11:00:15", "2026-03-20 11:00:15"},
		{"0s", "2026-03-20 12:30:15", "2026-03-20 12:30:15"},
		{"2026-W12", "2026-03-16 00:00:00", "2026-03-22 23:59:59"},
		{"2026-w01", "2025-12-29 00:00:00", "2026-01-04 23:59:59"},
		{"2020-W53", "2020-12-28 00:00:00", "2021-01-03 23:59:59"},
		{"now", "2026-03-20 12:30:15", "2026-03-20 12:30:15"},
		{"just now", "2026-03-20 12:30:15", "2026-03-20 12:30:15"},
		{"2026-01-31 10:20:30+02:00", "2026-01-31 08:20:30", "2026-01-31 08:20:30"},
		{"2026-01-31 10:20:30Z", "2026-01-31 10:20:30", "2026-01-31 10:20:30"},
		{"today", "2026-03-20 00:00:00", "2026-03-20 23:59:59"},
		{"Yesterday", "2026-03-19 00:00:00", "2026-03-19 23:59:59"},
		{"2 weeks ago", "2026-03-06 12:30:15", "2026-03-06 12:30:15"},
		{"  2   weeks  ago ", "2026-03-06 12:30:15", "2026-03-06 12:30:15"},
		{"2 weeks", "2026-03-06 12:30:15", "2026-03-06 12:30:15"},
		{"an hour ago", "2026-03-20 11:30:15", "2026-03-20 11:30:15"},
		{"three days ago", "2026-03-17 12:30:15", "2026-03-17 12:30:15"},
		{"14 months ago", "2025-01-20 12:30:15", "2025-01-20 12:30:15"},
		{"3mo", "2025-12-20 12:30:15", "2025-12-20 12:30:15"},
		{"1y", "2025-03-20 12:30:15", "2025-03-20 12:30:15"},
		{"6mo ago", "2025-09-20 12:30:15", "2025-09-20 12:30:15"},
		{"5m ago", "2026-03-20 12:25:15", "2026-03-20 12:25:15"},
		{"last 7d", "2026-03-13 12:30:15", "2026-03-20 12:30:15"},
		{"1 year ago", "2025-03-20 12:30:15", "2025-03-20 12:30:15"},
		{"this week", "2026-03-16 00:00:00", "2026-03-22 23:59:59"},
		{"last week", "2026-03-09 00:00:00", "2026-03-15 23:59:59"},
		{"last month", "2026-02-01 00:00:00", "2026-02-28 23:59:59"},
		{"last year", "2025-01-01 00:00:00", "2025-12-31 23:59:59"},
		{"last monday", "2026-03-16 00:00:00", "2026-03-16 23:59:59"},
		{"monday", "2026-03-16 00:00:00", "2026-03-16 23:59:59"},
		{"Friday", "2026-03-13 00:00:00", "2026-03-13 23:59:59"},
		{"wednesday 5pm", "2026-03-18 17:00:00", "2026-03-18 17:00:00"},
		{"yesterday 10:15", "2026-03-19 10:15:00", "2026-03-19 10:15:00"},
		{"yesterday at 5pm", "2026-03-19 17:00:00", "2026-03-19 17:00:00"},
		{"5 P.M., yesterday", "2026-03-19 17:00:00", "2026-03-19 17:00:00"},
		{"thur 5:30 pm", "2026-03-19 17:30:00", "2026-03-19 17:30:00"},
		{"today 12am", "2026-03-20 00:00:00", "2026-03-20 00:00:00"},
		{"today 12:05pm", "2026-03-20 12:05:00", "2026-03-20 12:05:00"},
		{"on friday", "2026-03-13 00:00:00", "2026-03-13 23:59:59"},
		{"this friday", "2026-03-20 00:00:00", "2026-03-20 23:59:59"},
		{"this saturday", "2026-03-21 00:00:00", "2026-03-21 23:59:59"},
		{"next friday", "2026-03-27 00:00:00", "2026-03-27 23:59:59"},
		{"this morning", "2026-03-20 08:00:00", "2026-03-20 08:00:00"},
		{"last monday afternoon", "2026-03-16 15:00:00", "2026-03-16 15:00:00"},
		{"last night", "2026-03-19 23:00:00", "2026-03-19 23:00:00"},
		{"9pm tonight", "2026-03-20 21:00:00", "2026-03-20 21:00:00"},
		{"tomorrow evening", "2026-03-21 18:00:00", "2026-03-21 18:00:00"},
		{"half an hour ago", "2026-03-20 12:00:15", "2026-03-20 12:00:15"},
		{"a few hours ago", "2026-03-20 09:30:15", "2026-03-20 09:30:15"},
		{"a few days ago", "2026-03-17 00:00:00", "2026-03-17 23:59:59"},
		{"half a year ago", "2025-09-20 00:00:00", "2025-09-20 23:59:59"},
		{"in 10 months", "2027-01-20 00:00:00", "2027-01-20 23:59:59"},
		{"within an hour", "2026-03-20 11:30:15", "2026-03-20 12:30:15"},
		{"jan 5", "2026-01-05 00:00:00", "2026-01-05 23:59:59"},
		{"Sept. 3rd", "2025-09-03 00:00:00", "2025-09-03 23:59:59"},
		{"1st of february 5 pm", "2026-02-01 17:00:00", "2026-02-01 17:00:00"},
		{"twenty-first march", "2025-03-21 00:00:00", "2025-03-21 23:59:59"},
		{"february", "2026-02-01 00:00:00", "2026-02-28 23:59:59"},

		// What could be before or after now is before.
		{"march", "2026-03-01 00:00:00", "2026-03-31 23:59:59"},
		{"december", "2025-12-01 00:00:00", "2025-12-31 23:59:59"},
		{"march 20", "2026-03-20 00:00:00", "2026-03-20 23:59:59"},
		{"march 21 10:30", "2025-03-21 10:30:00", "2025-03-21 10:30:00"},
		{"5pm", "2026-03-19 17:00:00", "2026-03-19 17:00:00"},
		{"at 12:30", "2026-03-20 12:30:00", "2026-03-20 12:30:00"},
		{"12:30:14", "2026-03-20 12:30:14", "2026-03-20 12:30:14"},
		{"yesterday 10:15:16", "2026-03-19 10:15:16", "2026-03-19 10:15:16"},
		{"12:31", "2026-03-19 12:31:00", "2026-03-19 12:31:00"},
		{"noon", "2026-03-20 12:00:00", "2026-03-20 12:00:00"},
		{"evening", "2026-03-19 18:00:00", "2026-03-19 18:00:00"},
		{"midnight", "2026-03-20 00:00:00", "2026-03-20 00:00:00"},

		// What says so is after now.
		{"today 5pm", "2026-03-20 17:00:00", "2026-03-20 17:00:00"},
		{"this evening", "2026-03-20 18:00:00", "2026-03-20 18:00:00"},
		{"in 2 hours", "2026-03-20 14:30:15", "2026-03-20 14:30:15"},
		{"dec 2026", "2026-12-01 00:00:00", "2026-12-31 23:59:59"},

		// The week begins on Monday, the night ends in the morning.
		{"this monday", "2026-03-16 00:00:00", "2026-03-16 23:59:59"},
		{"this sunday", "2026-03-22 00:00:00", "2026-03-22 23:59:59"},
		{"sunday", "2026-03-15 00:00:00", "2026-03-15 23:59:59"},
		{"last night at 2am", "2026-03-20 02:00:00", "2026-03-20 02:00:00"},
		{"11pm last night", "2026-03-19 23:00:00", "2026-03-19 23:00:00"},
		{"monday night 1:30", "2026-03-17 01:30:00", "2026-03-17 01:30:00"},
		{"2am", "2026-03-20 02:00:00", "2026-03-20 02:00:00"},

		{"last 3 days", "2026-03-17 12:30:15", "2026-03-20 12:30:15"},
		{"past 24 hours", "2026-03-19 12:30:15", "2026-03-20 12:30:15"},
		{"last few weeks", "2026-02-27 12:30:15", "2026-03-20 12:30:15"},
		{"last hour", "2026-03-20 11:30:15", "2026-03-20 12:30:15"},
		{"past half hour", "2026-03-20 12:00:15", "2026-03-20 12:30:15"},
		{"jan 5, 2025", "2025-01-05 00:00:00", "2025-01-05 23:59:59"},
		{"5 Jan 2025", "2025-01-05 00:00:00", "2025-01-05 23:59:59"},
		{"January 5th 2025 at 17:30", "2025-01-05 17:30:00", "2025-01-05 17:30:00"},
		{"march 2025", "2025-03-01 00:00:00", "2025-03-31 23:59:59"},
		{"feb 29 2024", "2024-02-29 00:00:00", "2024-02-29 23:59:59"},
		{"jan 5, monday", "2026-01-05 00:00:00", "2026-01-05 23:59:59"},
		{"Mon, 5 Jan 2026, 9:15", "2026-01-05 09:15:00", "2026-01-05 09:15:00"},
		{"tues", "2026-03-17 00:00:00", "2026-03-17 23:59:59"},
		{"thurs", "2026-03-19 00:00:00", "2026-03-19 23:59:59"},
	}
	for _, test := range tests {
		span, err := Parse(test.text, noon)
		if err != nil {
			t.Errorf("Parse(%q): %v", test.text, err)
			continue
		}
		got := []string{span.Start.UTC().Format(form), span.End.UTC().Format(form)}
		if diff := cmp.Diff([]string{test.start, test.end}, got); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"2026-W00", "2026-W54", "2025-W53", "2026-W1", "W12", "-W12",
		"", " ", "soon", "2026-13-01", "2026-02-30", "-36h", "36", "h", "12 parsecs ago",
		"yesterday or so", "see you monday maybe", "the 36h", "2 weeks ago in Paris", "last", "ago",
		"feb 30", "may 45", "1 may 2", "13pm", "24:00", "5", "yesterday 5", "half a second ago", "in 2 days ago",
		"monday tuesday", "yesterday at", "5pm 6pm", "may2st",
		"11-20", "01-15", "march 5pm", "may 10:30", "5pm march 2025", "feb morning", "feb 29", "feb 29 2025",
		"jan 5, tuesday", "jan 5, last monday", "january, monday", "yesterday thursday", "2 weeks ago monday", "yesterday jan 5",
		"monday midnight", "midnight yesterday", "midnight 5pm", "last night at 10:30", "this morning at 5pm", "last morning",
		"tomorning", "last 3 days 5pm", "monday last hour", "last 3 days ago", "within hour", "in hour", "hour ago", "hour", "3 last days",
	} {
		span, err := Parse(text, noon)
		if e, ok := errors.AsType[*Error](err); !ok || e.Text != text {
			t.Errorf("Parse(%q) = %v, %v, want an *Error that holds the text", text, span, err)
		}
	}
}

// After midnight, "last night" can be the current night.
func TestParseInTheNight(t *testing.T) {
	now := time.Date(2026, 3, 20, 1, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"last night": "2026-03-19 23:00", "last night at 1am": "2026-03-20 01:00", "last night at 2am": "2026-03-19 02:00",
		"2am": "2026-03-19 02:00", "midnight": "2026-03-20 00:00",
	} {
		span, err := Parse(text, now)
		if got := span.Start.Format("2006-01-02 15:04"); err != nil || got != want {
			t.Errorf("Parse(%q) at half past one = %s, %v, want %s", text, got, err, want)
		}
	}
}

// A day of the calendar is not 24 hours when the clocks change.
func TestParseAcrossClockChange(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		testkit.Missing(t, "no time zone database: "+err.Error())
	}
	now := time.Date(2026, 3, 30, 9, 0, 0, 0, berlin) // the clocks went forward on the 29th
	span, err := Parse("yesterday", now)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := span.End.Sub(span.Start), 23*time.Hour-1; got != want {
		t.Errorf("yesterday lasts %v, want %v", got, want)
	}
	if got := span.Start.Format(time.RFC3339); got != "2026-03-29T00:00:00+01:00" {
		t.Errorf("yesterday begins %s", got)
	}
}

func TestExamples(t *testing.T) {
	for _, text := range Examples {
		if n := len(text); text[0] == '"' {
			text = text[1 : n-1]
		}
		if _, err := Parse(text, noon); err != nil {
			t.Errorf("example %s: %v", text, err)
		}
	}
}

// An age in days or longer, or a date, at least a day ago. Whatever else Parse reads is refused with what to type
// instead: "6m" may be six minutes or six months, and what is deleted by it cannot be had again.
func TestParseDays(t *testing.T) {
	for text, want := range map[string]string{
		"90d": "2025-12-20", "1d": "2026-03-19", "12w": "2025-12-26", "6mo": "2025-09-20", "6 months": "2025-09-20", "6mo ago": "2025-09-20", "1y": "2025-03-20", "2 years ago": "2024-03-20",
		"a week ago": "2026-03-13", "yesterday": "2026-03-19", "last month": "2026-02-01", "last monday": "2026-03-16", "2w3d": "2026-03-03",
		"2026-01-31": "2026-01-31", "2026-01": "2026-01-01", "2025": "2025-01-01", "2026-W02": "2026-01-05", "january": "2026-01-01", "2026-01-31T15:04:05Z": "2026-01-31",
	} {
		got, err := ParseDays(text, noon)
		if err != nil || got.Format(time.DateOnly) != want {
			t.Errorf("ParseDays(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"6m": "minutes or months", "6M": "minutes or months", "6 m": "minutes or months", "6m ago": "minutes or months", "last 6m": "minutes or months",
		"36h": "a unit shorter than a day", "0s": "a unit shorter than a day", "90 minutes": "a unit shorter than a day", "2000h": "a unit shorter than a day", "40000min": "a unit shorter than a day",
		"last hour": "a unit shorter than a day", "half an hour ago": "a unit shorter than a day", "3d12h": "a unit shorter than a day", "100000000ms": "a unit shorter than a day",
		"tomorrow": "at least a day ago", "now": "at least a day ago", "today": "at least a day ago", "0d": "at least a day ago", "0y": "at least a day ago", "2027-01-01": "at least a day ago", "in 3 days": "at least a day ago",
		"2026-03-20": "at least a day ago", "9999": "at least a day ago",
		"": "cannot read", "soon": "cannot read", "-5d": "cannot read",
	} {
		if got, err := ParseDays(text, noon); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDays(%q) = %v, %v, want an error with %q", text, got, err, want)
		}
	}
	for _, text := range DayExamples {
		if _, err := ParseDays(text, noon); err != nil {
			t.Errorf("the example %q: %v", text, err)
		}
	}
}
