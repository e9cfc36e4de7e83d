package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pigrep/index"
	"pigrep/lab/testkit"
)

// moduleRoot is the directory of go.mod, scratch one that is removed at the end.
var moduleRoot, scratch string

func TestMain(m *testing.M) {
	if dir := os.Getenv(builderEnv); dir != "" {
		holdFirstBuild(dir)
		os.Exit(1)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if moduleRoot, err = filepath.Abs(filepath.Join("..", "..", "..")); err == nil {
		scratch, err = os.MkdirTemp("", "pigrep-program-")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	defer func() {
		if shared != nil {
			shared.reader.Close()
		}
	}()
	return m.Run()
}

// binary builds the program, the first time, and returns its path.
func binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var build = sync.OnceValues(func() (string, error) { return testkit.Build(scratch) })

// result is the output and exit code of one run of the program.
type result struct {
	stdout, stderr []byte
	exit           int
}

// pigrep runs the program with its own home directory.
func pigrep(t testing.TB, home string, args ...string) result {
	t.Helper()
	cmd := command(t, home, args...)
	var r result
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.exit = exit.ExitCode()
	case err != nil:
		t.Fatalf("run pigrep %q: %v", args, err)
	}
	r.stdout, r.stderr = stdout.Bytes(), stderr.Bytes()
	return r
}

func command(t testing.TB, home string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Dir = home
	cmd.Env = []string{
		"HOME=" + home, "USERPROFILE=" + home, "LocalAppData=" + filepath.Join(home, "cache"),
		"XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR"), "SystemRoot=" + os.Getenv("SystemRoot"),
	}
	return cmd
}

// envelope is the part of the JSON answer that the tests look at.
type envelope struct {
	SchemaVersion int
	Command       string
	Hits          []hit
	Total         int
	TotalAny      int
	TotalIsExact  bool
	Warnings      []string
	Index         struct {
		Generation, Files, PendingFiles, SkippedLines int
		PendingBytes                                  int64
		Complete                                      bool
	}
}

type hit struct {
	Type, Tier, Kind, Role, Tool, Branch, Label string
	Rank, Line, Length, Part                    int
	Offset                                      int64
	Missing                                     []string
	SessionPath, SessionID, EntryID             string
	IsError                                     bool
	Copies                                      []struct{ SessionPath, EntryID string }
	Fragment                                    struct {
		Text  string
		Spans [][2]int
	}
}

// search runs a flat search and reads its answer.
func search(t testing.TB, home string, args ...string) (envelope, result) {
	t.Helper()
	r := pigrep(t, home, append([]string{"search", "--json", "--flat", "-n", "1000"}, args...)...)
	var e envelope
	if len(bytes.TrimSpace(r.stdout)) == 0 {
		return e, r
	}
	if err := json.Unmarshal(r.stdout, &e); err != nil {
		t.Fatalf("pigrep search %q: not JSON: %v\n%.2000s\nstderr: %.2000s", args, err, r.stdout, r.stderr)
	}
	return e, r
}

// sessions is the directory of the sessions of our own.
func sessions() string { return filepath.Join(moduleRoot, "testdata", "sessions") }

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// The test binary runs itself as a process that builds the first index of this directory and
// never gets further, until it is killed.
const builderEnv = "PIGREP_TEST_BUILDER"

func holdFirstBuild(dir string) {
	w, err := index.OpenWriter(dir, index.WriterOptions{PID: os.Getpid()})
	for beat := 1; err == nil; beat++ {
		err = w.Announce(fmt.Sprintf(`{"FilesTotal":9,"Bytes":3000000,"BytesTotal":10000000,"Beat":%d}`, beat))
		if beat == 1 {
			fmt.Println("building")
		}
		time.Sleep(50 * time.Millisecond) // between two signs of life
	}
	fmt.Fprintln(os.Stderr, err)
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
