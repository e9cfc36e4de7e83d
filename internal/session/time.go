package session

import "time"

// Time is a time whose JSON is in UTC with milliseconds, as in pi's files.
type Time struct{ time.Time }

// MarshalJSON writes 2026-01-15T10:30:03.000Z.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(`"2006-01-02T15:04:05.000Z"`))
	b = t.UTC().AppendFormat(append(b, '"'), time.RFC3339) // much faster than a layout with a fraction
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-len("Z")], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"'), nil
}
