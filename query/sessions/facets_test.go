package sessions

import (
	"testing"
	"time"

	"pigrep/internal/timespec"
)

// The dates that the filter menu writes can be read.
func TestFacetTimesCanBeRead(t *testing.T) {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for _, value := range facetTimes {
		if span, err := timespec.Parse(value, now); err != nil || !span.Start.Before(now) {
			t.Errorf("after:%s begins at %v, %v", value, span.Start, err)
		}
	}
}
