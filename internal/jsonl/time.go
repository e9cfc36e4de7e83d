package jsonl

import "time"

// The last instant of a JavaScript Date.
const maxTime = 8_640_000_000_000_000

// Programs in Go write their zero time, the beginning of the year 1, where they have none.
var noTime = time.Time{}.UnixMilli()

// Time reads a timestamp, ISO 8601 text or a number of milliseconds since 1970,
// and returns those milliseconds; 0 when it is absent, unreadable or Go's zero time.
func (s *Scanner) Time(v Value) int64 {
	ms := s.millis(v)
	if ms > maxTime || ms < -maxTime || ms == noTime {
		return 0
	}
	return ms
}

func (s *Scanner) millis(v Value) int64 {
	switch s.Kind(v) {
	case 0, 't', 'f', 'n', '{', '[':
		return 0
	case '"':
		text := s.Text(v)
		if ms, ok := plainTime(text); ok {
			return ms
		}
		t, err := time.Parse(time.RFC3339Nano, string(text))
		if err != nil {
			return 0
		}
		return t.UnixMilli()
	}
	ms, _ := s.Int(v)
	return ms
}

// plainTime reads the form that JavaScript writes, 2026-01-15T10:30:03.000Z.
func plainTime(b []byte) (int64, bool) {
	if len(b) != len("2026-01-15T10:30:03.000Z") ||
		b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return 0, false
	}
	year, month, day := decimal(b[0:4]), decimal(b[5:7]), decimal(b[8:10])
	hour, minute, second, milli := decimal(b[11:13]), decimal(b[14:16]), decimal(b[17:19]), decimal(b[20:23])
	if year < 0 || month < 1 || month > 12 || day < 1 || day > 28 ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 || milli < 0 {
		return 0, false // what is left, like the ends of months, goes the long way
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, milli*int(time.Millisecond), time.UTC)
	return t.UnixMilli(), true
}

// decimal reads digits; it returns -1 when there is another character.
func decimal(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}
