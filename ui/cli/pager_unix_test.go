//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/match"
	"pigrep/query/search"
	"pigrep/ui/cli/pager"
	"pigrep/ui/printer"
	"pigrep/ui/tui"
)

// fakeProgram makes a shell script that is found under this name, and returns the environment
// with it.
func fakeProgram(t *testing.T, name, script string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return os.Environ()
}

// Hyperlinks go only to pagers that take them: less does since version 566.
func TestPagerTakesLinks(t *testing.T) {
	for version, want := range map[string]bool{"less 551 (GNU regular expressions)": false, "less 566": true, "less 668.1": true, "BusyBox v1.36": false} {
		a, out, _ := testApp(t)
		env := fakeProgram(t, "less", `[ "$1" = --version ] && echo '`+version+`' || cat`)
		a.Environ = func() []string { return env }
		a.Getenv = func(string) string { return "" }
		a.Streams.OutTTY, a.Streams.Height = true, 1
		a.Out = bufio.NewWriter(a.Results())
		p := printer.New(a.Out, printer.FormatText, printer.Layout{Width: 80, Colour: true, Links: &terminal.Links{}})
		answer := &printer.Search{Response: &search.Response{Hits: []search.Hit{{EntryPlace: session.EntryPlace{SessionPath: "/s", CWD: "/p"}, Fragment: match.Fragment{Text: "a hit"}}}}}
		print := map[string]func() error{
			"paged":       func() error { return pager.Show(a, &pager.Options{}, p, func() error { return p.Print(answer) }) },
			"pagedIfLong": func() error { return pager.ShowIfLong(a, &pager.Options{}, p, answer) },
		}
		for _, name := range []string{"pagedIfLong", "paged"} {
			out.Reset()
			if err := errors.Join(print[name](), a.Out.Flush()); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(out.String(), "\x1b]8;"); got != want || strings.Count(out.String(), "a hit") != 1 {
				t.Errorf("%s, %s: links %t in %q, want %t", version, name, got, out, want)
			}
		}
	}
}

// In the TUI, less shows the conversation if the pager that is named is missing; without less
// either, the error names both.
func TestTUIShowsInLess(t *testing.T) {
	b := newTestBackend(t)
	env := fakeProgram(t, "less", `echo "as less $*"; cat >/dev/null`)
	b.App.Environ = func() []string { return env }
	b.App.Getenv = func(name string) string { return map[string]string{"PAGER": "no-such-pager"}[name] }
	place := tui.Place{Path: summariesOf(t, b)[0]}
	var out bytes.Buffer
	if err := b.show(place, strings.NewReader(""), &out); err != nil || !strings.Contains(out.String(), "as less -+F") {
		t.Errorf("shown %q, %v", &out, err)
	}
	b.App.LookPath = func(string) (string, error) { return "", exec.ErrNotFound }
	if err := b.show(place, strings.NewReader(""), &out); err == nil || err.Error() != "no pager: neither no-such-pager nor less was found" {
		t.Errorf("without any pager: %v", err)
	}
}

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
		a.Out = bufio.NewWriter(a.Results())
		answer := &printer.Search{Response: &search.Response{}}
		for i := range test.hits {
			answer.Response.Hits = append(answer.Response.Hits, search.Hit{EntryPlace: session.EntryPlace{SessionPath: fmt.Sprint(i)}, Fragment: match.Fragment{Text: "a hit"}})
		}
		p := printer.New(a.Out, printer.FormatText, printer.Layout{Width: 80})
		if err := errors.Join(pager.ShowIfLong(a, &pager.Options{NoPager: test.noPager}, p, answer), a.Out.Flush()); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(marker)
		if paged := err == nil; paged != test.want || strings.Count(out.String(), "a hit") != test.hits {
			t.Errorf("%+v: paged %v, printed %q", test, paged, out)
		}
	}
}
