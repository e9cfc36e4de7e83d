package cli

import "testing"

func TestPagerCommand(t *testing.T) {
	for _, test := range []struct {
		name    string
		env     map[string]string
		tty     bool
		noPager bool
		want    string
	}{
		{"default", nil, true, false, "less -RFX"},
		{"pipe", nil, false, false, ""},
		{"flag", nil, true, true, ""},
		{"PAGER", map[string]string{"PAGER": "most"}, true, false, "most"},
		{"PIGREP_PAGER before PAGER", map[string]string{"PAGER": "most", "PIGREP_PAGER": "bat -p"}, true, false, "bat -p"},
		{"cat is none", map[string]string{"PIGREP_PAGER": "cat"}, true, false, ""},
		{"dumb terminal", map[string]string{"TERM": "dumb"}, true, false, ""},
	} {
		a, _, _ := testApp(t)
		a.Getenv = func(name string) string { return test.env[name] }
		a.Streams.OutTTY, a.Streams.InTTY = test.tty, test.tty
		if got := a.pagerCommand(&pagerOptions{noPager: test.noPager}); got != test.want {
			t.Errorf("%s: pagerCommand = %q, want %q", test.name, got, test.want)
		}
	}
}
