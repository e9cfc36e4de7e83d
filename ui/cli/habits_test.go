package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"pigrep/internal/terminal"
	"pigrep/ui/cli/problem"
)

// Every line that grep --vimgrep names exists in the file that it names, and has the match at
// that column. The file is a readable copy, not the session file.
func TestVimgrepNamesReadableLines(t *testing.T) {
	_, out, errs := runIn(t, t.Context(), false, "grep", "--vimgrep", "--scope", "all", "-i", "[a-z]{5,}")
	seen := 0
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 4)
		if len(fields) < 4 || filepath.Ext(fields[0]) != ".txt" {
			t.Fatalf("%q is not path:line:column:text", line)
		}
		data, err := os.ReadFile(fields[0])
		number, _ := strconv.Atoi(fields[1])
		lines := strings.Split(string(data), "\n")
		if err != nil || number < 1 || number > len(lines) || terminal.Clean(lines[number-1]) != terminal.Clean(fields[3]) {
			t.Errorf("%q is not in its file (%v)", line, err)
		}
		if info, err := os.Stat(fields[0]); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s may be read by others (%v)", fields[0], err)
		}
		seen++
	}
	if seen < 20 {
		t.Errorf("%d matches, stderr %q", seen, errs)
	}
}

// What users of other search tools type works, or one line says what to type.
func TestHabitsOfSearchTools(t *testing.T) {
	for _, test := range []struct {
		args     string
		code     int
		out, err string // in stdout, in stderr
	}{
		{"-i connection", problem.ExitError, "", "leave it out: case is ignored"},
		{"-r connection", problem.ExitError, "", "leave it out: all sessions are searched"},
		{"-l connection", problem.ExitError, "", "pigrep sessions WORDS"},
		{"-n connection", problem.ExitError, "", "pigrep grep -n PATTERN"},
		{"grep -rnE connection", problem.ExitDone, "connection", ""},
		{"grep connection -n 5", problem.ExitNothing, "", `searching for "connection 5": -n prints line numbers; for at most 5 lines: --limit 5`},
		{"grep zyzzyva", problem.ExitNothing, "", "no line matches in the conversations of "},
		{"show last --last 1", problem.ExitDone, "reply", ""},
		{"show last~1", problem.ExitDone, "0195", ""},
		{"show last~999", problem.ExitError, "", "no session last~999: there are"},
		{"show last --last 2 --tree", problem.ExitError, "", "--last cannot be combined"},
		{"export last --format txt", problem.ExitDone, "prompt", ""},
		{"similar last~1", -1, "", ""},
		{"resume last", problem.ExitDone, "pi ", "no longer exists"},
	} {
		code, out, errs := runIn(t, t.Context(), true, strings.Fields(test.args)...)
		if test.code >= 0 && code != test.code || code == problem.ExitError && test.code < 0 || !strings.Contains(out, test.out) || !strings.Contains(errs, test.err) {
			t.Errorf("pigrep %s: exit code %d, stderr %q, stdout\n%s", test.args, code, errs, out)
		}
	}
}

// last names the first session of a list, and last~1 the next one.
func TestLastIsTheFirstOfTheList(t *testing.T) {
	_, list, _ := runIn(t, t.Context(), false, "sessions", "--null")
	paths := strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
	if len(paths) < 2 {
		t.Fatalf("%d sessions", len(paths))
	}
	for n, path := range paths {
		if _, out, errs := runIn(t, t.Context(), false, "show", fmt.Sprintf("last~%d", n), "--json"); !strings.Contains(out, strconv.Quote(filepath.ToSlash(path))) {
			t.Errorf("last~%d is not %s: %.300s %s", n, path, out, errs)
		}
	}
}

// A file without a header and messages is no session in any list, name and count.
func TestWhatIsNoSession(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"headless.jsonl": `{"type":"message","id":"e1","timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"frobnicate"}}` + "\n",
		"header.jsonl":   `{"type":"session","version":3,"id":"01a1f7de","timestamp":"2026-03-02T10:00:00.000Z"}` + "\n{\"ty",
		"empty.jsonl":    "",
		"other.jsonl":    "no\nJSON\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := []string{"--session-dir", dir, "--index-dir", filepath.Join(t.TempDir(), "index")}
	a, _, _ := testApp(t)
	Run(t.Context(), a, append([]string{"index"}, options...))
	for args, want := range map[string]string{
		"status":             "sessions\t2\n",
		"tools --json":       `"coverage":{"sessions":2,`,
		"sessions --json":    `"total":2,`,
		"show last~0 --json": "header.jsonl",
		"show last~1 --json": "headless.jsonl",
	} {
		a, out, errs := testApp(t)
		if Run(t.Context(), a, append(strings.Fields(args), options...)); !strings.Contains(out.String(), want) {
			t.Errorf("pigrep %s: no %q in %s%s", args, want, out, errs)
		}
	}
}

// Each path for xargs -0 ends with a NUL byte, and none can change a terminal.
func TestPathsForXargs(t *testing.T) {
	for _, args := range []string{"sessions -0", "search -0 connection", "grep -l -0 connection", "sessions --print0"} {
		code, out, errs := runIn(t, t.Context(), false, strings.Fields(args)...)
		paths := strings.Split(out, "\x00")
		if code != 0 || len(paths) < 2 || paths[len(paths)-1] != "" {
			t.Errorf("pigrep %s: exit code %d, %q %s", args, code, out, errs)
		}
		for _, path := range paths[:len(paths)-1] {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("pigrep %s: %v", args, err)
			}
		}
	}
	a, out, errs := testApp(t)
	a.Streams.OutTTY = true
	dir := filepath.Join(t.TempDir(), "a\x1b[31mb")
	writeSessions(t, dir, 1)
	if code := Run(t.Context(), a, []string{"sessions", "-0", "--session-dir", dir}); code != 0 || strings.ContainsAny(out.String(), "\x1b\x00") || !strings.HasSuffix(out.String(), ".jsonl\n") {
		t.Errorf("on a terminal: exit code %d, %q %s", code, out, errs)
	}
}

// What search and grep print in a pipe is what show takes, however odd files and ids are.
func TestPlacesOfOddSessionsAreRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		// The names have control characters.
		t.Skip("Windows has no such names of files")
	}
	dir := t.TempDir()
	for name, lines := range map[string][]string{
		"tab\tand\nnewline.jsonl": {`{"type":"session","version":3,"timestamp":"2026-03-01T10:00:00.000Z"}`, `{"type":"message","id":"e1","message":{"role":"user","content":"frobnicate apple"}}`},
		"last.jsonl":              {`{"type":"session","version":3,"id":"last"}`, `{"type":"message","id":"a:b","timestamp":"2001-03-01T10:00:00.000Z","message":{"role":"user","content":"frobnicate plum"}}`},
		"no-header.jsonl":         {`{"type":"message","id":"a\tb","message":{"role":"user","content":"frobnicate cherry"}}`, `{"type":"message","id":"-n","message":{"role":"user","content":"frobnicate grape"}}`},
		"noid.jsonl":              {`{"type":"session","id":null}`, `{"type":"message","message":{"role":"user","content":"frobnicate lemon"}}`, `{"type":"mess`},
		"empty.jsonl":             nil,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"search", "grep"} {
		a, found, errs := testApp(t)
		Run(t.Context(), a, []string{command, "frobnicate", "--session-dir", dir})
		b, shown, more := testApp(t)
		b.Streams.In = strings.NewReader(found.String())
		code := Run(t.Context(), b, []string{"show", "-", "--around", "0", "--session-dir", dir})
		for _, word := range []string{"apple", "plum", "cherry", "grape", "lemon"} {
			if text := "frobnicate " + word; code != 0 || strings.Count(shown.String(), "  "+text+"\n") != 1 {
				t.Errorf("%s: exit code %d, %q is not shown once: %s%s\n%s\n%s", command, code, text, errs, more, found, shown)
			}
		}
	}
}

// A message repeats little of what was typed, and names the path of what is in the way.
func TestMessagesAreBrief(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, args := range [][]string{
		{"show", long}, {"--since", long, "w"}, {"--kind", long, "w"}, {"grep", "(" + long}, {"--session-dir", "/" + long, "w"}, {"config", long},
		{"sessions", "--sort" + long}, {"help", long}, {"usage", "--by", long}, {"resume", "--in", "/" + long, "last"}, {long + ".jsonl"}, {"export", "last", "--format", long},
	} {
		if _, _, errs := runIn(t, t.Context(), true, args...); len(errs) > 6000 {
			t.Errorf("%.40q…: %d bytes of messages", args, len(errs))
		}
	}
}

// If no directory can be made in the cache, the answer comes from memory and says why.
func TestCacheThatIsNoDirectory(t *testing.T) {
	file, link := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere/at/all", link); err != nil {
		// The link is what is tested.
		t.Skip("this user may make no links, as on Windows:", err)
	}
	for cache, why := range map[string]string{file: file + " is a file", link: link + " is a link to /nowhere/at/all"} {
		a, out, errs := testApp(t)
		a.CacheDir, a.Getenv = cache, func(string) string { return "" }
		code := Run(t.Context(), a, []string{"--session-dir", filepath.Join(must(os.Getwd()), "testdata", "sessions"), "connection"})
		if code != 0 || !strings.Contains(out.String(), "connection") || !strings.Contains(errs.String(), why) {
			t.Errorf("%s: exit code %d, stderr %q", cache, code, errs)
		}
	}
}
