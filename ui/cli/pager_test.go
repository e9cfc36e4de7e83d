package cli

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"pigrep/ui/cli/pager"
	"pigrep/ui/printer"
)

func TestPagerCommand(t *testing.T) {
	for _, test := range []struct {
		name    string
		env     map[string]string
		tty     bool
		noPager bool
		want    string
	}{
		{"default", nil, true, false, "less"},
		{"pipe", nil, false, false, ""},
		{"flag", nil, true, true, ""},
		{"PAGER", map[string]string{"PAGER": "most"}, true, false, "most"},
		{"PIGREP_PAGER before PAGER", map[string]string{"PAGER": "most", "PIGREP_PAGER": "bat -p"}, true, false, "bat -p"},
		{"cat is none", map[string]string{"PIGREP_PAGER": "cat"}, true, false, ""},
		{"dumb terminal", map[string]string{"TERM": "dumb"}, true, false, ""},
	} {
		a, _, _ := testApp(t)
		a.LookPath = func(program string) (string, error) { return "/bin/" + program, nil }
		a.Getenv = func(name string) string { return test.env[name] }
		a.Streams.OutTTY, a.Streams.InTTY = test.tty, test.tty
		if got := pager.Command(a, &pager.Options{NoPager: test.noPager}); got != test.want {
			t.Errorf("%s: pagerCommand = %q, want %q", test.name, got, test.want)
		}
	}
}

// A pager that is not installed is reported if the user named it; the output is shown
// without one.
func TestPagerNotFound(t *testing.T) {
	for _, test := range []struct {
		pager, want, warning string
	}{
		{"", "", ""},
		{"bat -p", "", "no pager: bat ($PAGER) was not found"},
		{"BAT_STYLE=plain bat", "BAT_STYLE=plain bat", ""}, // only a shell knows
	} {
		a, _, errs := testApp(t)
		a.LookPath = func(string) (string, error) { return "", errors.New("not found") }
		a.Getenv = func(name string) string { return map[string]string{"PAGER": test.pager}[name] }
		a.Streams.OutTTY = true
		if got := pager.Command(a, &pager.Options{}); got != test.want {
			t.Errorf("PAGER=%q: pagerCommand = %q, want %q", test.pager, got, test.want)
		}
		if got := errs.String(); (got == "") != (test.warning == "") || !strings.Contains(got, test.warning) {
			t.Errorf("PAGER=%q: stderr %q, want %q", test.pager, got, test.warning)
		}
	}
}

// An answer that fits on the screen needs no pager, and so none that is missing.
func TestShortAnswerNeedsNoPager(t *testing.T) {
	a, out, errs := testApp(t)
	a.LookPath = func(string) (string, error) { return "", errors.New("not found") }
	a.Getenv = func(name string) string { return map[string]string{"PAGER": "bat"}[name] }
	a.Streams.OutTTY, a.Streams.Height = true, 24
	a.Out = bufio.NewWriter(a.Results())
	answer := &printer.Version{Version: "1.2.3"}
	if err := pager.ShowIfLong(a, &pager.Options{}, &printer.Printer{Out: a.Out}, answer); err != nil {
		t.Fatal(err)
	}
	if err := a.Out.Flush(); err != nil || out.Len() == 0 || errs.Len() > 0 {
		t.Errorf("stdout %q, stderr %q, %v", out, errs, err)
	}
	a.Streams.Height = 1
	if err := pager.ShowIfLong(a, &pager.Options{}, &printer.Printer{Out: a.Out}, answer); err != nil || errs.Len() == 0 {
		t.Errorf("a long answer: stderr %q, %v", errs, err)
	}
}

func TestPagerEnvironment(t *testing.T) {
	for own, want := range map[string]string{"": "LESS=FRX", "-i": "LESS=-R -i", "iP%f": "LESS=-R iP%f"} {
		a, _, _ := testApp(t)
		a.Getenv = func(string) string { return own }
		if got := pager.Environment(a)[0]; got != want {
			t.Errorf("with LESS=%q: %s, want %s", own, got, want)
		}
	}
}
