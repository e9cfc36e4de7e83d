package match

import "testing"

// A fragment is never cut inside of what people see as one character.
func TestIsBoundary(t *testing.T) {
	for _, cluster := range []string{
		"e\u0301", "\U0001F469\u200d\U0001F4BB", "\U0001F44D\U0001F3FD", "\U0001F1E9\U0001F1EA", "\u1112\u1161\u11ab", "\u0915\u094d\u0937", "\u2764\ufe0f",
	} {
		text := "a" + cluster + cluster + "b"
		for i := range len(text) + 1 {
			want := i <= 1 || i == 1+len(cluster) || i >= 1+2*len(cluster)
			if got := IsBoundary(text, i); got != want {
				t.Errorf("IsBoundary(%q, %d) = %t, want %t", text, i, got, want)
			}
		}
	}
}
