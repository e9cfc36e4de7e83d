// Package testkit holds what the tests of several packages share: how large a test
// is, which programs it drives, and which session files it reads.
package testkit

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
)

// Long reports whether the long form of the tests runs, as `make torture` does.
func Long() bool { return os.Getenv("PIGREP_TORTURE") != "" }

// HowMany is the size of a test: with -short, as in `make check`; by default, as in
// `make check-all`; and in the long form.
func HowMany(short, usual, full int) int {
	switch {
	case Long():
		return full
	case testing.Short():
		return short
	}
	return usual
}

// Rounds is HowMany for how often something random is done, which the number in
// PIGREP_TORTURE multiplies: `make torture TIMES=5` draws five times as often.
func Rounds(short, usual, full int) int {
	if times, err := strconv.Atoi(os.Getenv("PIGREP_TORTURE")); err == nil {
		full *= max(1, times)
	}
	return HowMany(short, usual, full)
}

// Sequences sets how many random sequences each rapid check of a test binary draws.
// Call it from init: -rapid.checks on the command line comes later and wins.
func Sequences(usual int) {
	if Long() {
		return
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(usual)); err != nil {
		panic(err)
	}
}

// Programs are those that tests drive and that not every machine has. Continuous
// integration installs them (.ci/run).
var Programs = []string{"tmux", "zsh", "fish", "strace", "fzf", "jq", "vim", "chromium"}

// Program returns the path of a program that the test drives. Where it is missing,
// the test is skipped; with CI=true it fails, so that no promise goes unchecked
// unnoticed.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not installed")
	}
	return path
}

// Missing skips a test for what the machine lacks; with CI=true the test fails.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Check ends a test at an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Diff is cmp.Diff for values that are seldom different, of which that needs a hundred times as
// long as it takes to see that they are the same.
func Diff(want, got any, opts ...cmp.Option) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, opts...)
}

// Symlink makes a symbolic link. Where Windows does not let this user make any, the test
// is skipped.
func Symlink(t testing.TB, target, link string) {
	t.Helper()
	switch err := os.Symlink(target, link); {
	case err != nil && runtime.GOOS == "windows":
		t.Skip("no right to make a symbolic link:", err)
	case err != nil:
		t.Fatal(err)
	}
}

// Append appends text to a file, which must exist.
func Append(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	Check(t, err)
}

// Build builds the program in a directory and returns its path. PIGREP_PROGRAM names one
// that is built already.
func Build(dir string) (string, error) {
	if path := os.Getenv("PIGREP_PROGRAM"); path != "" {
		_, err := os.Stat(path) // so that `go test` runs again when the program has changed
		return path, err
	}
	path := filepath.Join(dir, "pigrep")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.Command("go", "build", "-o", path, "pigrep")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}

// Unraced skips a test in the short run with the race detector: one goroutine works on
// much data, or the program it runs is built without the race detector. The same
// `make check` runs it without.
func Unraced(t testing.TB) {
	t.Helper()
	if testing.Short() && raced {
		t.Skip("finds no races: runs without -race or -short")
	}
}

// Slow skips a test in the short run, which is `make check`, because it takes seconds.
// `make check-all` runs it.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds: runs without -short")
	}
}

// Terminal runs a script of testdata/tui, which drives the program in a terminal of tmux.
func Terminal(t *testing.T, program, script string, args ...string) {
	t.Helper()
	tmux := Program(t, "tmux")
	server := fmt.Sprintf("pigrep-%d-%d", os.Getpid(), time.Now().UnixNano())
	if out, err := exec.Command(tmux, "-f", "/dev/null", "-L", server, "new-session", "-d", "true").CombinedOutput(); err != nil {
		t.Fatalf("tmux cannot start: %v\n%s", err, out)
	}
	dir := filepath.Join(Root(), "testdata", "tui")
	cmd := exec.Command("bash", append([]string{filepath.Join(dir, script), program, filepath.Join(dir, "sessions")}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "driven\n") {
		t.Errorf("%s %v: %v\n%s", script, args, err, out)
	}
}

// Tree describes everything below a directory, by path: kind, mode, time of the last
// change, and content.
func Tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	tree := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var content []byte
		switch {
		case info.Mode().IsRegular():
			content, err = os.ReadFile(path)
		case info.Mode()&fs.ModeSymlink != 0:
			var target string
			target, err = os.Readlink(path)
			content = []byte(target)
		}
		tree[path] = fmt.Sprintf("%v %v %q", info.Mode(), info.ModTime(), content)
		return err
	})
	Check(t, err)
	return tree
}

// Truth is what one version of pi reports of a session file. Where pi made ids up
// (IDsFromFile is false), ids are indexes of entries.
type Truth struct {
	List *struct {
		ID, CWD, Name, FirstMessage string
		Created, Modified           session.Time
		MessageCount                int
	}
	OpenError           string
	ContextError        string
	PiHangsOnParentLoop bool `json:"piHangsOnParentCycle"`
	SessionID           string
	CWD                 string
	IDsFromFile         bool
	Entries             []TruthEntry
	LeafID              any
	SessionName         *string
	Labels              map[string]string
	TreeRoots           []any
	Branch              []any
	Context             struct {
		Messages []struct{ Role string }
	}
}

// TruthEntry is an entry as pi reports it.
type TruthEntry struct {
	Type, Role   string
	ID, ParentID any
	ParentIndex  *int
	Timestamp    any
}

// Readers are the versions of pi that reported, the one to believe first.
var Readers = []string{"1.5.2", "0.78.0", "0.61.1", "0.31.1", "0.30.2"}

// Reported is a session file with what versions of pi report of it.
type Reported struct {
	Name, Path string
	Readers    map[string]Truth
}

// Newest returns the report of the newest version of pi that could open the file;
// false if there is none.
func (r Reported) Newest() (Truth, bool) {
	for _, version := range Readers {
		if truth, ok := r.Readers[version]; ok && truth.OpenError == "" {
			return truth, true
		}
	}
	return Truth{}, false
}

// Absolute returns an absolute path with slashes as this system writes it: on Windows, on drive C:.
func Absolute(path string) string {
	if runtime.GOOS == "windows" {
		return "C:" + filepath.FromSlash(path)
	}
	return path
}

// Root is the absolute path of the directory of go.mod, above that of the test.
func Root() string {
	for dir := "."; ; dir = filepath.Join("..", dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || len(dir) > 60 {
			root, _ := filepath.Abs(dir)
			return root
		}
	}
}

// Fixtures is a directory with more session files, "" if there is none.
func Fixtures() string { return os.Getenv("PIGREP_FIXTURES") }

// SessionFiles lists the session files of the repository and of Fixtures, snapshots
// included.
func SessionFiles(t testing.TB) []string {
	t.Helper()
	testdata, more := filepath.Join(Root(), "testdata"), Fixtures()
	if more == "" {
		more = Written()
	}
	return Sessions(t, filepath.Join(testdata, "sessions"), filepath.Join(testdata, "realpi", "sessions"), more)
}

// Sessions lists the session files below directories.
func Sessions(t testing.TB, dirs ...string) []string {
	t.Helper()
	return below(t, dirs, func(path string) bool {
		return strings.HasSuffix(path, ".jsonl") || strings.HasSuffix(path, ".snapshot")
	})
}

func below(t testing.TB, dirs []string, want func(path string) bool) (files []string) {
	t.Helper()
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && want(path) {
				files = append(files, path)
			}
			return err
		})
		Check(t, err)
	}
	return files
}

// Written returns the directory with session files that several versions of pi wrote, and
// with what pi reports of them: the one in Fixtures, else the small one of the repository.
func Written() string {
	if Fixtures() != "" {
		return filepath.Join(Fixtures(), "pi")
	}
	return filepath.Join(Root(), "testdata", "pi")
}

// Story is what happened to one session file, step by step.
type Story struct {
	Name  string
	Steps []Step
}

// Step is a file after one step of a story.
type Step struct {
	Name string
	Data []byte // nil if the file does not exist
}

// Stories returns every story in which pi changed a file.
func Stories(t testing.TB) (stories []Story) {
	t.Helper()
	dir := filepath.Join(Written(), "lifecycle")
	var list []struct {
		Name  string
		Steps []struct {
			Step, File string
			Exists     bool
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "sequences.json"))
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	Check(t, err)
	for _, s := range list {
		story := Story{Name: s.Name}
		for _, step := range s.Steps {
			var data []byte
			if step.Exists {
				if data, err = os.ReadFile(filepath.Join(dir, s.Name, step.File)); err != nil {
					t.Fatal(err)
				}
			}
			story.Steps = append(story.Steps, Step{step.Step, data})
		}
		stories = append(stories, story)
	}
	if len(stories) < 6 {
		t.Fatalf("%d stories, want 6 or more", len(stories))
	}
	return stories
}

// Truths returns the files of the repository and of Fixtures of which pi reported
// something. testdata/realpi/truth.mjs writes the reports of the repository; those
// of Fixtures lie beside the files.
func Truths(t testing.TB) []Reported {
	t.Helper()
	realpi := filepath.Join(Root(), "testdata", "realpi")
	truth := filepath.Join(realpi, "truth")
	dirs := [][2]string{
		{filepath.Join(truth, "realpi"), filepath.Join(realpi, "sessions")},
		{filepath.Join(truth, "testdata"), filepath.Join(Root(), "testdata", "sessions")},
		{Written(), Written()},
	}
	var list []Reported
	for _, dir := range dirs {
		reports, sessions := dir[0], dir[1]
		for _, path := range below(t, []string{reports}, func(path string) bool {
			return strings.HasSuffix(path, ".truth.json") && !strings.HasPrefix(filepath.Base(path), "listall")
		}) {
			data, err := os.ReadFile(path)
			Check(t, err)
			name, err := filepath.Rel(reports, strings.TrimSuffix(path, ".truth.json"))
			Check(t, err)
			r := Reported{Name: filepath.ToSlash(name), Path: filepath.Join(sessions, name)}
			if err := json.Unmarshal(data, &r); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			list = append(list, r)
		}
	}
	if len(list) < 50 {
		t.Fatalf("%d files with a report of pi, want 50 or more", len(list))
	}
	return list
}
