package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/terminal"
)

// choice makes an app on a terminal with three sessions that match "retry".
func choice(t *testing.T, typed string) (*App, func(...string) (code int, out, errs string)) {
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
	a.Streams = &terminal.Streams{In: strings.NewReader(typed), Out: out, Err: errs, InTTY: true, OutTTY: true, Width: 80}
	return a, func(args ...string) (int, string, string) {
		code := a.Run(context.Background(), args)
		return code, out.String(), errs.String()
	}
}

func TestResumeChoice(t *testing.T) {
	for _, test := range []struct {
		name, typed string
		code        int
		want        string // part of the command; "" for none
	}{
		{"the second", "2\n", exitDone, ".jsonl"},
		{"Enter is the first", "\n", exitDone, ".jsonl"},
		{"nonsense is asked again", "9\nx\n1\n", exitDone, ".jsonl"},
		{"none", "q\n", exitNothing, ""},
		{"the end of the input", "", exitNothing, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, run := choice(t, test.typed)
			code, out, errs := run("resume", "retry", "--quiet")
			if code != test.code || !strings.Contains(out, test.want) || test.want == "" && out != "" {
				t.Errorf("exit code %d, output %q, want %d and %q\n%s", code, out, test.code, test.want, errs)
			}
			if !strings.Contains(errs, "1 ") || !strings.Contains(errs, "which one? [1-3") || strings.Contains(errs, "owned") {
				t.Errorf("the choice is not as it should be: %q", errs)
			}
		})
	}
}

// An id that means several sessions is a choice for a person too.
func TestShowChoice(t *testing.T) {
	for _, args := range []string{"show 0195 --no-pager", "show e1e1 --no-pager", "export 0195 --format txt", "resume 0195"} {
		seen := map[string]bool{}
		for _, typed := range []string{"1\n", "2\n", "3\n"} {
			_, run := choice(t, typed)
			code, out, errs := run(strings.Fields(args + " --quiet")...)
			if code != exitDone || !strings.Contains(errs, "which one? [1-3") {
				t.Errorf("%s: exit code %d\n%s", args, code, errs)
			}
			for _, id := range []string{"0195aaaa", "0195bbbb", "0195cccc"} {
				if strings.Contains(out, id) {
					seen[id] = true
				}
			}
		}
		if len(seen) != 3 {
			t.Errorf("%s: three choices gave %v", args, seen)
		}
	}
	_, run := choice(t, "1\n")
	if code, out, errs := run("show", "0195", "--json"); code != exitError || out != "" || strings.Contains(errs, "which one") {
		t.Errorf("--json: exit code %d, %q\n%s", code, out, errs)
	}
}

// The one that was chosen is the one that is run.
func TestResumeChosen(t *testing.T) {
	var commands []string
	for _, typed := range []string{"1\n", "2\n", "3\n"} {
		_, run := choice(t, typed)
		_, out, _ := run("resume", "retry", "--quiet")
		commands = append(commands, out[strings.LastIndex(out, "/")+1:])
	}
	seen := map[string]bool{}
	for _, c := range commands {
		seen[c] = true
	}
	if len(seen) != 3 {
		t.Errorf("three choices gave %q", commands)
	}
}

func TestResumeExec(t *testing.T) {
	a, _ := choice(t, "")
	var gotDir string
	var gotArgv []string
	for _, fails := range []error{nil, errors.New("no such program")} {
		cmd := newResumeCommand(a, func(ctx context.Context, o *resumeOptions) error {
			o.lookPath = func(string) (string, error) { return "/bin/pi", nil }
			o.replace = func(dir string, argv []string) error { gotDir, gotArgv = dir, argv; return fails }
			return runResume(ctx, a, o)
		})
		cmd.SetArgs([]string{"0195aaaa", "--exec", "--quiet"})
		cmd.SetContext(context.Background())
		if err := cmd.Execute(); !errors.Is(err, fails) {
			t.Errorf("resume --exec: %v, want %v", err, fails)
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
