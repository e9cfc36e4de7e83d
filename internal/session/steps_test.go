package session

import "testing"

// Steps in a row are counted as people write numbers.
func TestStepsAreCountedInWords(t *testing.T) {
	var s Steps
	s.Add(StepEmpty)
	s.Add(StepTimer)
	for range 99998 {
		s.Add(StepHook)
	}
	if got, want := s.String(), "99,998 hooks · 1 timer"; got != want {
		t.Errorf("steps are %q, want %q", got, want)
	}
}
