package near

import "testing"

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"python", "python", 0},
		{"pyhton", "python", 1},
		{"conection", "connection", 1},
		{"color", "colour", 1},
		{"kitten", "sitting", 3},
		{"abc", "xyz", 3},
		{"café", "cafe", 1},
	} {
		if got := Distance(c.a, c.b, 3); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Distance(c.b, c.a, 1); got != min(c.want, 2) {
			t.Errorf("editDistance(%q, %q) up to 1 = %d, want %d", c.b, c.a, got, min(c.want, 2))
		}
	}
}
