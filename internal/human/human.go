// Package human writes numbers, sizes, ages, titles and paths as people read them. Every
// room that prints for people uses these forms, so that a count or an age looks
// the same wherever it appears.
package human

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
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

// Some is Plural for what is only said if there is some: "" for none.
func Some[T int | int64](n T, one, many string) string {
	return When(n > 0, Plural(n, one, many))
}

// When is a text that is only said if something holds; "" otherwise.
func When(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// Joined joins the texts that are not empty.
func Joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" }), separator)
}

// Short writes a large number in few characters, rounded: 1,234, 57k, 7.8M, 1.2B.
func Short(n int64) string {
	switch {
	case n < 10_000:
		return Number(n)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n < 999_950_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1fB", float64(n)/1e9)
}

// Dollars writes amounts of money, all with the same number of decimals.
type Dollars struct{ decimals int }

// Cents writes single amounts.
var Cents = Dollars{2}

// DollarsUpTo returns the form of amounts up to this one: with four decimals if it is
// only a few cents.
func DollarsUpTo(most float64) Dollars {
	if most < 0.1 {
		return Dollars{4}
	}
	return Cents
}

// Text writes an amount: $12.30, and <$0.01 for one that would round to nothing.
func (d Dollars) Text(cost float64) string {
	s := fmt.Sprintf("$%.*f", d.decimals, cost)
	if least := fmt.Sprintf("$%.*f", d.decimals, 0.0); cost > 0 && s == least {
		return "<" + least[:len(least)-1] + "1"
	}
	return s
}

// None stands where a table has no value.
const None = "–"

// Percent writes a share of 1: 4.4%, 57%. What is not all is below 100%.
func Percent(share float64) string {
	if percent := 100 * share; percent > 0 && percent < 9.95 {
		return strconv.FormatFloat(percent, 'f', 1, 64) + "%"
	} else if percent < 100 {
		return strconv.Itoa(int(min(math.Round(percent), 99))) + "%"
	}
	return "100%"
}

// Duration writes how long something took: 340ms, 6.3s, 2m49s, 1h05m.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Bytes writes a size: 5.0 kB, 12 MB.
func Bytes(n int64) string { return humanize.Bytes(uint64(max(0, n))) }

// AgeWidth is the width of the widest age below 100 years.
const AgeWidth = 4

// Age is how long before now t was, in a form that --since takes: 5m, 3h, 2d, 4w,
// 6mo, 1y. It is "now" for the last minute and "" for a time that is not known. The
// number is that of whole units, and days, months and years are those of the calendar,
// as in package timespec: what Age prints means the last instant that has this age.
func Age(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	ago := now.Sub(t)
	if ago < time.Minute {
		return "now"
	}
	days := whole(now, t, int(ago/(24*time.Hour))+1, 0, 1)
	months := whole(now, t, 12*(now.Year()-t.Year())+int(now.Month()-t.Month())+1, 1, 0)
	switch {
	case days == 0 && ago < time.Hour:
		return fmt.Sprintf("%dm", ago/time.Minute)
	case days == 0:
		return fmt.Sprintf("%dh", ago/time.Hour)
	case days < 14:
		return fmt.Sprintf("%dd", days)
	case months < 2:
		return fmt.Sprintf("%dw", days/7)
	case months < 12:
		return fmt.Sprintf("%dmo", months)
	}
	return fmt.Sprintf("%dy", months/12)
}

// whole returns the largest number of periods, at most n, that are not longer than the
// time from t to now.
func whole(now, t time.Time, n, months, days int) int {
	for n > 0 && now.AddDate(0, -n*months, -n*days).Before(t) {
		n--
	}
	return n
}

// Ago is Age in running text: 4w ago.
func Ago(now, t time.Time) string {
	age := Age(now, t)
	if age == "" || age == "now" {
		return age
	}
	return age + " ago"
}

// Title is the title of a session on one line.
func Title(title string) string {
	return cmp.Or(terminal.Clean(title), "(no prompt)")
}

// Headline is the title of a session above its conversation.
func Headline(title string) string { return terminal.ClipWords(Title(title), headlineWidth) }

// headlineWidth is about one line.
const headlineWidth = 80

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

// Project returns the name of a project: the last element of its directory.
func Project(dir string) string {
	dir = strings.TrimRight(strings.ReplaceAll(dir, `\`, "/"), "/")
	return dir[strings.LastIndexByte(dir, '/')+1:]
}

// Badge says of a session in a list which other machine has it, which agent it is of, if there
// are several, and whether only a copy of its file is left.
func Badge(host, agent string, several, kept bool) string {
	words := []string{host}
	if several {
		words = append(words, agent)
	}
	if kept {
		words = append(words, "kept")
	}
	return strings.TrimSpace(strings.Join(words, " "))
}
