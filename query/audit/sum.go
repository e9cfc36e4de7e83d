package audit

import "math"

// Sum is a compensated sum (Kahan-Babuska). A plain one of 100,000 costs is wrong by
// more than the ten digits that are shown.
type Sum struct{ value, lost float64 }

// Add adds a number.
func (s *Sum) Add(v float64) {
	t := s.value + v
	if math.Abs(s.value) >= math.Abs(v) {
		s.lost += s.value - t + v
	} else {
		s.lost += v - t + s.value
	}
	s.value = t
}

func (s *Sum) AddSum(o Sum) {
	s.Add(o.value)
	s.lost += o.lost
}

func (s *Sum) Total() float64 { return s.value + s.lost }
