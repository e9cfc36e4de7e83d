package timespec_test

import (
	"fmt"
	"time"

	"pigrep/internal/timespec"
)

// A day is the whole of it; an age is an instant.
func ExampleParse() {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{"2026-01-31", "36h", "yesterday", "2 weeks ago"} {
		span, err := timespec.Parse(text, now)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(span.Start.Format(time.DateTime), "to", span.End.Format(time.DateTime))
	}
	// Output:
	// 2026-01-31 00:00:00 to 2026-01-31 23:59:59
	// 2026-03-19 00:00:00 to 2026-03-19 00:00:00
	// 2026-03-19 00:00:00 to 2026-03-19 23:59:59
	// 2026-03-06 12:00:00 to 2026-03-06 12:00:00
}
