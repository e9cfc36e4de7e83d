package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/internal/terminal"
	"pigrep/ui/cli/problem"
)

// What deletes copies says how many, and how many of them are all that is left, and deletes nothing unless the
// user says yes: on a terminal to the question, elsewhere with --yes.
func TestDeletingCopiesAsks(t *testing.T) {
	type answer struct {
		tty  bool
		in   string
		args string
	}
	tests := []struct {
		name    string
		answer  answer
		code    int
		deletes bool
		says    string
	}{
		{"elsewhere", answer{false, "y\n", "--older-than 90d"}, problem.ExitError, false, "without a terminal: delete 2 copies, "},
		{"elsewhere, what is lost", answer{false, "y\n", "--older-than 90d"}, problem.ExitError, false, "last changed 2025-01-01 to 2025-01-02; 1 is all that is left"},
		{"as JSON on a terminal", answer{true, "y\n", "--older-than 90d --json"}, problem.ExitError, false, "--yes"},
		{"lost", answer{true, "n\n", "--older-than 90d"}, problem.ExitNothing, false, "2 are all that is left"},
		{"no", answer{true, "n\n", "--older-than 90d"}, problem.ExitNothing, false, "delete 2 copies, "},
		{"nothing typed", answer{true, "", "--older-than 90d"}, problem.ExitNothing, false, "? 1 is all that is left [y/N]"},
		{"yes", answer{true, "y\n", "--older-than 90d"}, problem.ExitDone, true, "[y/N]"},
		{"--yes", answer{false, "", "--older-than 90d --yes"}, problem.ExitDone, true, ""},
		{"one session", answer{true, "\n", "--forget s000000"}, problem.ExitNothing, false, "delete 1 copy, "},
		{"minutes or months", answer{true, "y\n", "--older-than 6m --yes"}, problem.ExitError, false, "minutes or months"},
		{"hours", answer{true, "y\n", "--older-than 36h --yes"}, problem.ExitError, false, "a unit shorter than a day"},
		{"the future", answer{true, "y\n", "--older-than tomorrow --yes"}, problem.ExitError, false, "at least a day ago"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, out, errs := testApp(t)
			a.DataDir, a.ConfigDir = filepath.Join(a.Home, "data"), filepath.Join(a.Home, "config")
			root := filepath.Join(a.Home, ".pi", "agent", "sessions", "--p--")
			writeSessions(t, root, 2)
			for i, name := range []string{"s000000.jsonl", "s000001.jsonl"} {
				at := time.Date(2025, 1, 1+i, 12, 0, 0, 0, time.UTC)
				if err := os.Chtimes(filepath.Join(root, name), at, at); err != nil {
					t.Fatal(err)
				}
			}
			if code := Run(context.Background(), a, []string{"keep", "pi"}); code != problem.ExitDone {
				t.Fatal(errs)
			}
			if err := os.Remove(filepath.Join(root, "s000001.jsonl")); err != nil {
				t.Fatal(err)
			}
			if test.name == "lost" { // a file that is kept no more loses what the copy has
				if code := Run(context.Background(), a, []string{"keep", "--off", "pi"}); code != problem.ExitDone {
					t.Fatal(errs)
				}
				path := filepath.Join(root, "s000000.jsonl")
				at := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
				if err := errors.Join(os.Truncate(path, 300), os.Chtimes(path, at, at)); err != nil {
					t.Fatal(err)
				}
			}
			a.Streams = &terminal.Streams{In: strings.NewReader(test.answer.in), Out: out, Err: errs, InTTY: test.answer.tty, ErrTTY: test.answer.tty, Width: 80}
			errs.Reset()
			code := Run(context.Background(), a, append([]string{"keep"}, strings.Fields(test.answer.args)...))
			if code != test.code || !strings.Contains(errs.String(), test.says) {
				t.Errorf("exit code %d, want %d; stderr %q, want %q", code, test.code, errs, test.says)
			}
			left := 0
			_ = filepath.WalkDir(filepath.Join(a.DataDir, "pigrep", "kept", "pi"), func(_ string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					left++
				}
				return nil
			})
			if want := map[bool]int{true: 0, false: 2}[test.deletes]; left != want {
				t.Errorf("%d copies are left, want %d", left, want)
			}
		})
	}
}

// Deleting from an archive asks too, and an age that may mean minutes never reaches it.
func TestForgettingAsks(t *testing.T) {
	deleted := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		deleted = deleted || r.Method == http.MethodDelete || strings.Contains(r.URL.Path, "_delete_by_query")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"hits":{"hits":[]}}`)
	}))
	t.Cleanup(server.Close)
	for args, want := range map[string]string{
		"--before 1y":            "without a terminal: delete 0 session files from team",
		"--before 6m --yes":      "minutes or months",
		"--before 2h --yes":      "a unit shorter than a day",
		"--before 2100-01-01 -y": "at least a day ago",
	} {
		a, _, errs := testApp(t)
		a.ConfigDir = filepath.Join(a.Home, "config")
		if code := Run(context.Background(), a, []string{"remote", "add", "team", server.URL}); code != problem.ExitDone {
			t.Fatal(errs)
		}
		code := Run(context.Background(), a, append([]string{"remote", "forget", "team"}, strings.Fields(args)...))
		if code != problem.ExitError || !strings.Contains(errs.String(), want) || deleted {
			t.Errorf("%s: exit code %d, stderr %q, want %q; deleted: %t", args, code, errs, want, deleted)
		}
	}
}
