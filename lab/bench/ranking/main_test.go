package main

import (
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/ranking"
	"pigrep/lab/testkit"
)

// No query that is held out is listed, and a file with figures can be compared with.
func TestRun(t *testing.T) {
	testkit.Slow(t) // lab/ranking asks the same queries
	t.Setenv("PIGREP_FIXTURES", "")
	file := filepath.Join(t.TempDir(), "figures.json")
	var out strings.Builder
	if err := run(options{json: file, losers: true, explain: true}, &out); err != nil {
		t.Fatal(err)
	}
	list := read(file)
	listed := 0
	for _, r := range list {
		switch shown := strings.Contains(out.String(), ": "+r.Query+"\n"); {
		case shown && r.Held:
			t.Error("a query that is held out is listed")
		case shown:
			listed++
		case !r.Held && r.Pigrep[ranking.Hit1] == 0:
			t.Errorf("%q is not listed", r.Query)
		}
	}
	if listed == 0 {
		t.Error("no query is listed")
	}

	base := append([]ranking.Result{}, list...)
	for i := range base {
		base[i].Pigrep[ranking.NDCG] -= 0.25
	}
	out.Reset()
	if err := printDifferences(&out, list, base[1:]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 of this run and 0 of the file", "+0.250 (+0.250 +0.250) *", "+0.000 (+0.000 +0.000) "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the differences lack %q:\n%s", want, &out)
		}
	}
	if err := printDifferences(&out, list, nil); err == nil {
		t.Error("a file without figures can be compared with")
	}
}
