package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
)

// A line of any length is indexed and found again, and takes memory by its
// length: a line of 200 MB at most 900 MB, a shorter one less in proportion.
func TestLongLineTakesLittleMemory(t *testing.T) {
	size := testkit.HowMany(20, 20, 200) << 20
	home := t.TempDir()
	root := filepath.Join(home, "sessions")
	writeSession(t, filepath.Join(root, "x", "short.jsonl"), "the dunnart next door")
	if err := writeLongSession(filepath.Join(root, "x", "long.jsonl"), size); err != nil {
		t.Fatal(err)
	}
	where := []string{"--session-dir", root, "--index-dir", filepath.Join(home, "index")}
	cmd := command(t, home, append([]string{"index", "--quiet"}, where...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pigrep index: %v\n%s", err, out)
	}
	most := 200<<20 + 7*size/2
	if peak := int(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10; peak > most {
		t.Errorf("a line of %d MB takes %d MB, want at most %d", size>>20, peak>>20, most>>20)
	}
	for _, word := range []string{"dunnart", "firstword", "lastword", "numbat", fmt.Sprintf("word%d", size/64/2)} {
		if e, r := search(t, home, append(where, word)...); len(e.Hits) != 1 {
			t.Errorf("search for %q: %d hits, want 1\n%s", word, len(e.Hits), r.stderr)
		}
	}
}

// writeLongSession writes a session with one reply of about so many bytes, and a
// prompt after it.
func writeLongSession(path string, size int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	w.WriteString(`{"type":"session","version":3,"id":"long","timestamp":"2026-09-20T12:00:00.000Z","cwd":"/home/dev/long"}` + "\n")
	w.WriteString(`{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-09-20T12:00:01.000Z","message":{"role":"assistant","content":[{"type":"text","text":"firstword`)
	for i := range size / 64 {
		fmt.Fprintf(w, ` word%d %*s.\n`, i, 54-len(fmt.Sprint(i)), "some of the output of a long command")
	}
	w.WriteString(` lastword"}]}}` + "\n")
	w.WriteString(`{"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-09-20T12:00:02.000Z","message":{"role":"user","content":"the numbat behind it"}}` + "\n")
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// When the disk takes no more, indexing says so and ends; what is indexed is
// searched, and with space again the rest is.
func TestFullDisk(t *testing.T) {
	testkit.Slow(t)
	home, root, queries := someSessions(t, 2<<20)
	where := func(dir string) []string {
		return []string{"--session-dir", root, "--index-dir", filepath.Join(home, dir)}
	}
	want := answers(t, home, where("fresh"), queries)
	for _, kilobytes := range []int{0, 1, 20, 60, 150, 400} {
		dir := fmt.Sprintf("full-%d", kilobytes)
		// No file may grow beyond the limit, which looks to the program as a
		// full disk does.
		script := fmt.Sprintf(`ulimit -f %d && exec "$0" "$@"`, 2*kilobytes)
		cmd := exec.Command("sh", append([]string{"-c", script, binary(t), "index"}, where(dir)...)...)
		cmd.Env, cmd.Dir = command(t, home).Env, home
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		text := stderr.String()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(text, "file too large") || strings.Contains(text, "goroutine ") {
			t.Errorf("indexing with files of at most %d kB: %v\n%.2000s", kilobytes, err, text)
		}
		// What it says is indexed and what status says is missing add up to all files.
		var indexed, files int
		if m := regexp.MustCompile(`(?m)^pigrep: (\d+) of (\d+) session files? .* indexed and searchable$`).FindStringSubmatch(text); m == nil {
			t.Errorf("with files of at most %d kB nothing says what is indexed:\n%.2000s", kilobytes, text)
		} else {
			indexed, _ = strconv.Atoi(m[1])
			files, _ = strconv.Atoi(m[2])
		}
		var status struct{ Index struct{ PendingFiles int } }
		if out, err := command(t, home, append([]string{"status", "--json"}, where(dir)...)...).Output(); json.Unmarshal(out, &status) != nil || indexed+status.Index.PendingFiles != files {
			t.Errorf("with files of at most %d kB %d of %d files are indexed, and %d are pending (%v)", kilobytes, indexed, files, status.Index.PendingFiles, err)
		}
		if diff := cmp.Diff(want, answers(t, home, where(dir), queries)); diff != "" {
			t.Errorf("answers of a fresh index (-) and of one that lacked space at %d kB (+):\n%.2000s", kilobytes, diff)
		}
	}
}

// Where the address space is limited, each command answers as without a limit, or it says
// in a sentence that it cannot. Below 1.4 GB the runtime of Go cannot even start.
func TestLimitedAddressSpace(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	home, root, queries := someSessions(t, int64(testkit.HowMany(20, 20, 300))<<20)
	where := func(dir string) []string {
		return []string{"--session-dir", root, "--index-dir", filepath.Join(home, dir)}
	}
	want := answers(t, home, where("fresh"), queries[:2])
	for _, kilobytes := range []int{3_000_000, 1_500_000} {
		dir := strconv.Itoa(kilobytes)
		for _, args := range [][]string{{"index"}, {"search", "hyrax"}, {"grep", "-c", "hyrax"}} {
			script := fmt.Sprintf(`ulimit -v %d && exec "$0" "$@"`, kilobytes)
			cmd := exec.Command("sh", slices.Concat([]string{"-c", script, binary(t)}, args, where(dir))...)
			cmd.Env, cmd.Dir = command(t, home).Env, home
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			err := cmd.Run()
			if err != nil {
				t.Fatalf("pigrep %q with %d kB: %v\n%.2000s", args, kilobytes, err, stderr.String())
			}
		}
		if diff := cmp.Diff(want, answers(t, home, where(dir), queries[:2])); diff != "" {
			t.Errorf("answers without a limit (-) and with an index built in %d kB (+):\n%.2000s", kilobytes, diff)
		}
	}
}
