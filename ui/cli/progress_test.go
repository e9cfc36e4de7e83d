package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pigrep/indexer"
	"pigrep/ui/cli/snapshot"
)

// A bar on a terminal, with bytes, rate and time left, and nothing of it left
// behind; elsewhere two lines about a first build, and none about others.
func TestProgress(t *testing.T) {
	const total = 100_000_000
	first := []indexer.Progress{
		{FilesTotal: 2, Bytes: 1000, BytesTotal: total, First: true},
		{FilesTotal: 2, Files: 1, Bytes: total / 2, Committed: total / 2, BytesTotal: total, First: true, Left: 95 * time.Second},
		{FilesTotal: 2, Files: 2, Bytes: total, Committed: total, BytesTotal: total, First: true},
	}
	failed := indexer.Progress{FilesTotal: 2, Files: 2, Bytes: total, Committed: total / 2, BytesTotal: total, First: true}
	small := []indexer.Progress{{FilesTotal: 1, Files: 1, Bytes: 1000, BytesTotal: 1000, First: true}}
	other := []indexer.Progress{
		{FilesTotal: 2, Bytes: 40, Committed: 40, BytesTotal: total, First: true, By: 4711},
		{FilesTotal: 2, Bytes: total / 2, Committed: total / 2, BytesTotal: total, First: true, Left: 95 * time.Second, By: 4711},
	}
	again := []indexer.Progress{{FilesTotal: 1, Files: 1, Bytes: total, BytesTotal: total}}
	for _, test := range []struct {
		name        string
		tty, quiet  bool
		json        bool
		reports     bool
		steps       []indexer.Progress
		want, lacks []string
		lines       int
	}{
		{name: "terminal", tty: true, steps: first, want: []string{"indexing 50 MB of 100 MB, 25 MB/s,", "95 s left", " 50% "}},
		{name: "terminal, quiet", tty: true, quiet: true, steps: first, lacks: []string{"indexing"}},
		{name: "first build", steps: first, lines: 2, want: []string{
			"pigrep: building the index of 2 session files (100 MB)\n", "pigrep: built the index of 2 session files (100 MB) in 3s\n",
		}},
		{name: "first build, stopped", steps: first[:2], lines: 1, lacks: []string{"built"}},
		{name: "first build, read and not written", steps: append(first[:2:2], failed), lines: 1, lacks: []string{"built"}},
		{name: "first build, quiet", quiet: true, steps: first},
		{name: "first build, for programs", json: true, steps: first},
		{name: "first build, for programs that ask", json: true, reports: true, steps: first, lines: 3, want: []string{
			`{"progress":{"files":2,"bytes":50000000,"bytesTotal":100000000,"secondsLeft":95,"first":true}}` + "\n",
		}},
		{name: "first build, quiet, for programs that ask", quiet: true, json: true, reports: true, steps: first},
		{name: "first build of another", tty: true, steps: other, want: []string{"process 4711 indexes 50 MB of 100 MB,", "95 s left", " 50% "}},
		{name: "first build of another, no terminal", steps: other, lines: 1, want: []string{
			"pigrep: waiting for process 4711, which builds the index of 2 session files (100 MB)\n",
		}},
		{name: "first build of another, taken over", steps: append(other[:2:2], first...), lines: 3},
		{name: "first build of another, for programs", json: true, steps: other},
		{name: "small build", steps: small},
		{name: "later update", steps: again},
	} {
		a, _, errs := testApp(t)
		now := a.Now()
		a.Now = func() time.Time { return now }
		a.Streams.ErrTTY, a.Quiet, a.JSON, a.Reports = test.tty, test.quiet, test.json, test.reports
		progress, end := snapshot.Progress(a)
		for _, at := range test.steps {
			now = now.Add(time.Second)
			if progress != nil {
				progress(at)
			}
		}
		end()
		got := errs.String()
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %q", test.name, want, got)
			}
		}
		for _, lacks := range test.lacks {
			if strings.Contains(got, lacks) {
				t.Errorf("%s: %q in %q", test.name, lacks, got)
			}
		}
		if lines := bytes.Count(errs.Bytes(), []byte("\n")); lines != test.lines {
			t.Errorf("%s: %d lines, want %d: %q", test.name, lines, test.lines, got)
		}
		if test.tty && !test.quiet && !strings.HasSuffix(got, "\r") {
			t.Errorf("%s: the bar is left behind: %q", test.name, got[max(0, len(got)-40):])
		}
	}
}
