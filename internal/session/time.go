package session

import "time"

// Time is a time whose JSON is in UTC with milliseconds, as in pi's files.
type Time struct{ time.Time }

// MarshalJSON writes 2026-01-15T10:30:03.000Z.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}
