// Package human writes numbers, sizes, ages, titles and paths as people read them. Every
// room that prints for people uses these forms, so that a count or an age looks
// the same wherever it appears.
package human

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"pigrep/internal/terminal"
)

// Number writes n with commas between thousands: 1,234.
func Number[T int | int64](n T) string {
	if n > -1000 && n < 1000 {
		return strconv.FormatInt(int64(n), 10) // most are
	}
	return humanize.Comma(int64(n))
}

// Plural is a number with its noun: 1 file, 1,234 files.
func Plural[T int | int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Short writes a large number in few characters: 1,234, 56k, 7.8M.
func Short(n int64) string {
	switch {
	case n < 10_000:
		return Number(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Bytes writes a size: 5.0 kB, 12 MB.
func Bytes(n int64) string { return humanize.Bytes(uint64(max(0, n))) }

// AgeWidth is the width of the widest age below 100 years.
const AgeWidth = 4

// Age is how long before now t was, in a form that --since takes: 5m, 3h, 2d, 4w,
// 6mo, 1y. It is "now" for the last minute and "" for a time that is not known.
func Age(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	const day = 24 * time.Hour
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < 14*day:
		return fmt.Sprintf("%dd", d/day)
	case d < 60*day:
		return fmt.Sprintf("%dw", d/(7*day))
	case d < 365*day:
		return fmt.Sprintf("%dmo", d/(30*day))
	default:
		return fmt.Sprintf("%dy", d/(365*day))
	}
}

// Ago is Age in running text: 4w ago.
func Ago(now, t time.Time) string {
	age := Age(now, t)
	if age == "" || age == "now" {
		return age
	}
	return age + " ago"
}

// Title is what a session is called, on one line: its name, else what it began
// with, without the marks of a Markdown heading.
func Title(name, prompt string) string {
	if s := terminal.Clean(name); s != "" {
		return s
	}
	if s := strings.TrimLeft(terminal.Clean(prompt), "# "); s != "" {
		return s
	}
	return "(no prompt)"
}

// Path writes the home directory as ~. An empty home changes nothing.
func Path(path, home string) string {
	if home == "" {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
		return filepath.Join("~", rest)
	}
	return path
}
