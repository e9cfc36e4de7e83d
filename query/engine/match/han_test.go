package match

import "testing"

func TestHanTables(t *testing.T) {
	simplified, _ := hanTables()
	for trad, simp := range simplified {
		if trad == simp || simplified[simp] != 0 || len(string(trad)) != 3 || len(string(simp)) != 3 {
			t.Errorf("simplified[%c] = %c", trad, simp)
		}
	}
	if got := HanForms("后台"); len(got) < 3 {
		t.Errorf("hanForms(后台) = %q, want 後臺 and mixed ones", got)
	}
}
