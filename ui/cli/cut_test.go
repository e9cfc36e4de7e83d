package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"pigrep/lab/testkit"
	"pigrep/ui/cli/problem"
	"pigrep/ui/printer"
)

// Of compressed sessions that were indexed and are cut afterwards, status lists each: which file, what
// is wrong, and what to type. It does so before and after the index says so itself, and searches find
// what they found before.
func TestStatusListsFilesThatWereCut(t *testing.T) {
	a, out, errs := testApp(t)
	a.Now = func() time.Time { return time.Now().Add(time.Hour) } // no file is young
	dir := filepath.Join(a.Home, ".pi", "agent", "sessions")
	writeSessions(t, dir, 5)
	enc, err := zstd.NewWriter(nil)
	testkit.Check(t, err)
	cuts := map[string]func(packed []byte) []byte{
		"s000000.jsonl": func(b []byte) []byte { return b[:len(b)/2] },
		"s000001.jsonl": func(b []byte) []byte { return b[:2] },
		"s000002.jsonl": func([]byte) []byte { return nil },
		"s000003.jsonl": func(b []byte) []byte { return b[:len(b)-1] },
	}
	packed := make(map[string][]byte)
	for name := range cuts {
		text, err := os.ReadFile(filepath.Join(dir, name))
		testkit.Check(t, err)
		if name == "s000003.jsonl" { // its last line is not terminated
			text = text[:len(text)-1]
		}
		packed[name] = enc.EncodeAll(text, nil)
		testkit.Check(t, os.Remove(filepath.Join(dir, name)))
		testkit.Check(t, os.WriteFile(filepath.Join(dir, name+".zst"), packed[name], 0o644))
	}
	run := func(want int, args ...string) string {
		t.Helper()
		out.Reset()
		errs.Reset()
		if code := Run(t.Context(), a, args); code != want {
			t.Fatalf("%v ends with %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out.String()
	}
	status := func() (list []printer.FileError) {
		t.Helper()
		var answer struct {
			Errors []printer.FileError
			Index  struct{ Complete bool }
		}
		testkit.Check(t, json.Unmarshal([]byte(run(problem.ExitDone, "status", "--json")), &answer))
		if answer.Index.Complete != (len(answer.Errors) == 0) {
			t.Errorf("complete %t, errors %v: %s", answer.Index.Complete, answer.Errors, out)
		}
		return answer.Errors
	}
	run(problem.ExitDone, "index")
	if list := status(); len(list) > 0 {
		t.Fatalf("before: %v", list)
	}
	for name, cut := range cuts {
		testkit.Check(t, os.WriteFile(filepath.Join(dir, name+".zst"), cut(packed[name]), 0o644))
	}
	for i, what := range [][]string{nil, {"needle4"}, {"index"}, {"needle4"}, {"index"}} {
		if what != nil {
			run([]int{problem.ExitDone, problem.ExitDone, problem.ExitError, problem.ExitDone, problem.ExitError}[i], what...)
			if !strings.Contains(errs.String(), "skipped ") {
				t.Errorf("%v does not warn: %s", what, errs)
			}
		}
		list := status()
		for name := range cuts {
			if !slices.ContainsFunc(list, func(e printer.FileError) bool {
				return e.Path == filepath.Join(dir, name) && strings.Contains(e.Reason, "cannot be decompressed") && strings.Contains(e.Hint, "zstd -t")
			}) {
				t.Errorf("after %v, status does not list %s: %v", what, name, list)
			}
		}
		if text := run(problem.ExitDone, "status"); strings.Count(text, "unreadable\t") != len(cuts) || !strings.Contains(text, "zstd -t") {
			t.Errorf("after %v, status:\n%s", what, text)
		}
	}
	for name := range cuts {
		testkit.Check(t, os.WriteFile(filepath.Join(dir, name+".zst"), packed[name], 0o644))
	}
	run(problem.ExitDone, "index")
	if list := status(); len(list) > 0 {
		t.Errorf("once they are whole again: %v", list)
	}
	for _, word := range []string{"needle0", "needle1", "needle2", "needle3"} {
		run(problem.ExitDone, word)
	}
}
