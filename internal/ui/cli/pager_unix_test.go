//go:build unix

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/match"
)

// Only what does not fit on the screen goes to a pager.
func TestPagedIfLong(t *testing.T) {
	for _, test := range []struct {
		hits, height int
		noPager      bool
		want         bool
	}{
		{1, 24, false, false}, {8, 24, false, true}, {8, 24, true, false}, {8, 200, false, false}, {1, 0, false, true},
	} {
		a, out, _ := testApp(t)
		marker := filepath.Join(t.TempDir(), "paged")
		a.LookPath = func(program string) (string, error) { return program, nil }
		a.Getenv = func(name string) string { return map[string]string{"PAGER": "tee $MARKER"}[name] }
		a.Environ = func() []string { return append(os.Environ(), "MARKER="+marker) }
		a.Streams.OutTTY, a.Streams.Height = true, test.height
		a.out = bufio.NewWriter(results{a})
		answer := &printer.Search{Response: &query.Response{}}
		for i := range test.hits {
			answer.Response.Hits = append(answer.Response.Hits, query.Hit{SessionPath: fmt.Sprint(i), Fragment: match.Fragment{Text: "a hit"}})
		}
		p := printer.New(a.out, printer.FormatText, printer.Look{Width: 80})
		if err := errors.Join(a.pagedIfLong(&pagerOptions{noPager: test.noPager}, p, answer), a.out.Flush()); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(marker)
		if paged := err == nil; paged != test.want || strings.Count(out.String(), "a hit") != test.hits {
			t.Errorf("%+v: paged %v, printed %q", test, paged, out)
		}
	}
}
