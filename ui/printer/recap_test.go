package printer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pigrep/internal/price"
	"pigrep/query/recap"
)

// A pipe gets the first 50 facts of each kind and how many more there are; with --all it gets all of them.
func TestRecapInAPipeIsBounded(t *testing.T) {
	res := &recap.Response{Sessions: []recap.Session{{}}, Total: 1}
	facts := &res.Sessions[0].Facts
	for i := range 2000 {
		*facts = append(*facts, recap.Fact{What: recap.Failed, Text: fmt.Sprintf("make %d", i), Times: 1, Error: "Error 2"})
	}
	*facts = append(*facts, recap.Fact{What: recap.Closing, Text: "All is well."})
	for _, c := range []struct {
		all   bool
		lines int
		want  string
	}{{false, 52, "\tfailed\t1,950 more\t--all\t"}, {true, 2001, "\tmake 1999\tError 2 → never passed\t"}} {
		var b bytes.Buffer
		p := New(&b, FormatPlain, Layout{ShortID: beginningOf})
		if err := p.Print(&Recap{Response: res, All: c.all}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.Count(got, "\n") != c.lines || !strings.Contains(got, c.want) || !strings.HasSuffix(got, "\n") || !strings.Contains(got, "\tends\tAll is well.\t") {
			t.Errorf("all %v: %d lines, want %d with %q", c.all, strings.Count(got, "\n"), c.lines, c.want)
		}
	}
}

// What a session cost is an estimate where its agent does not say it.
func TestRecapSaysWhatIsEstimated(t *testing.T) {
	var b bytes.Buffer
	s := recap.Session{}
	s.Spent = price.Spent{Tokens: 1e6, Cost: 4.44, Estimated: 4.44}
	if err := New(&b, FormatText, Layout{Width: 80}).Print(&Recap{Response: &recap.Response{Sessions: []recap.Session{s}, Total: 1, Cost: 4.44}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "~$4.44") {
		t.Errorf("the cost is not said to be an estimate:\n%s", b.String())
	}
}
