package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
	"pigrep/ui/printer"
)

// several makes an app with three sessions that match "retry", on a terminal or in a
// pipe.
func several(t *testing.T, tty bool) (*app.App, func(...string) (code int, out, errs string)) {
	t.Helper()
	a, out, errs := testApp(t)
	root := filepath.Join(a.Home, ".pi", "agent", "sessions", "--p--")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	project := t.TempDir()
	for _, s := range []struct{ id, text string }{
		{"0195aaaa", "retry retry retry"}, {"0195bbbb", "retry, and much more that makes this a longer text than the other one"}, {"0195cccc", "retry \x1b]0;owned\x07 too, with words and words and words around it"},
	} {
		data := `{"type":"session","version":3,"id":"` + s.id + `","timestamp":"2026-03-01T10:00:00.000Z","cwd":"` + filepath.ToSlash(project) + `"}` + "\n" +
			`{"type":"message","id":"e1e1e1e1","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"` + strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`).Replace(s.text) + `"}}` + "\n"
		if err := os.WriteFile(filepath.Join(root, s.id+".jsonl"), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a.Streams = &terminal.Streams{In: strings.NewReader(""), Out: out, Err: errs, InTTY: tty, OutTTY: tty, Width: 80}
	return a, func(args ...string) (int, string, string) {
		code := Run(context.Background(), a, args)
		return code, out.String(), errs.String()
	}
}

// Of several sessions that words match, a pipe and JSON get the best one. On a terminal the
// user chooses, which testdata/tui/resume.sh tries.
func TestResumeOfSeveral(t *testing.T) {
	_, run := several(t, false)
	if code, out, errs := run("resume", "retry", "--quiet"); code != problem.ExitDone || !strings.Contains(out, ".jsonl") {
		t.Errorf("in a pipe: exit code %d, output %q\n%s", code, out, errs)
	}
	_, run = several(t, true)
	if code, out, errs := run("resume", "retry", "--json"); code != problem.ExitDone || !strings.Contains(out, `"argv"`) {
		t.Errorf("as JSON: exit code %d, output %q\n%s", code, out, errs)
	}
}

// Without words there is no best session: what could be resumed is listed.
func TestResumeWithoutWords(t *testing.T) {
	for _, args := range []string{"resume", "resume --since 2026-01-01", "resume --json"} {
		_, run := several(t, false)
		code, out, errs := run(strings.Fields(args)...)
		if code != problem.ExitError || out != "" || strings.Contains(errs, "owned") {
			t.Errorf("%s: exit code %d, output %q\n%s", args, code, out, errs)
		}
		for _, want := range []string{"resume needs a session", "0195aaaa", "0195bbbb", "0195cccc", "pigrep resume --last"} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: stderr lacks %q\n%s", args, want, errs)
			}
		}
	}
}

// An id that means several sessions is an error that lists them, on a terminal too.
func TestAmbiguousSessions(t *testing.T) {
	for _, args := range []string{"show 0195 --no-pager", "show e1e1 --no-pager", "export 0195 --format txt", "resume 0195", "show 0195 --json"} {
		_, run := several(t, true)
		code, out, errs := run(strings.Fields(args + " --quiet")...)
		if code != problem.ExitError || out != "" {
			t.Errorf("%s: exit code %d, output %q", args, code, out)
		}
		for _, id := range []string{"0195aaaa", "0195bbbb", "0195cccc"} {
			if !strings.Contains(errs, id) {
				t.Errorf("%s: stderr does not name %s: %s", args, id, errs)
			}
		}
	}
}

func TestResumeExec(t *testing.T) {
	a, run := several(t, true)
	var gotDir string
	var gotArgv []string
	for _, fails := range []error{nil, errors.New("no such program")} {
		a.LookPath = func(string) (string, error) { return "/bin/pi", nil }
		a.Replace = func(dir string, argv []string) error { gotDir, gotArgv = dir, argv; return fails }
		want := problem.ExitDone
		if fails != nil {
			want = problem.ExitError
		}
		if code, _, errs := run("resume", "0195aaaa", "--exec", "--quiet"); code != want {
			t.Errorf("resume --exec: exit code %d, want %d\n%s", code, want, errs)
		}
	}
	if gotDir == "" || !filepath.IsAbs(gotDir) {
		t.Errorf("run in %q", gotDir)
	}
	want := []string{"pi", "--session", filepath.Join(a.Home, ".pi", "agent", "sessions", "--p--", "0195aaaa.jsonl")}
	if diff := cmp.Diff(want, gotArgv); diff != "" {
		t.Errorf("argv (-want +got):\n%s", diff)
	}
}

// A file that cannot be opened is written all the same, and said to be.
func TestExportOpenFails(t *testing.T) {
	a, run := several(t, true)
	a.Open = func(string) error { return errors.New("no desktop") }
	code, _, errs := run("export", "0195aaaa", "--open")
	path := filepath.Join(a.TempDir, "pigrep-0195aaaa.html")
	if code != problem.ExitError || !strings.Contains(errs, "open "+path+": no desktop") || !strings.Contains(errs, "the file is complete") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// A report is opened when it is written; one that goes to stdout cannot be.
func TestReportOpens(t *testing.T) {
	a, run := several(t, true)
	opened := ""
	a.Open = func(path string) error { opened = path; return nil }
	path := filepath.Join(t.TempDir(), "week.html")
	for _, c := range []struct {
		args []string
		code int
		errs string
		want string // what is opened
	}{
		{[]string{"report", "--open"}, problem.ExitError, "--open needs a file", ""},
		{[]string{"report", "--open", "-o", "-"}, problem.ExitError, "hint: add -o FILE", ""},
		{[]string{"report", "-o", path}, 0, "wrote " + path, ""},
		{[]string{"report", "-o", path, "--open"}, problem.ExitError, "already exists", ""},
		{[]string{"report", "-o", path, "--force", "--open"}, 0, "wrote " + path, path},
	} {
		opened = ""
		code, _, errs := run(c.args...)
		if code != c.code || opened != c.want || !strings.Contains(errs, c.errs) {
			t.Errorf("%v: exit code %d, opened %q\n%s", c.args, code, opened, errs)
		}
	}
}

// Candidates stand in columns, whatever their names, and odd characters in a title do no harm.
func TestCandidatesAlign(t *testing.T) {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	at := func(age time.Duration, title string) *session.Summary {
		s := &session.Summary{Name: title, LastMessage: now.Add(-age)}
		s.CWD = "/p"
		return s
	}
	got := printer.Candidates([]printer.Candidate{
		{Typed: "01a1f7de", Session: at(3*24*time.Hour, "one")}, {Typed: "01a1f7de-3c:a1", Session: at(time.Hour, "two\x1b[31m\nred")},
		{Typed: "b", Session: at(0, "")}, {Typed: "c", Session: at(0, "four")},
	}, 3, now)
	want := []string{"01a1f7de        3d   one · /p", "01a1f7de-3c:a1  1h   two red · /p", "b               now  (no prompt) · /p", "and 1 more"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
