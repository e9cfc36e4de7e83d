//go:build unix

package index_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pigrep/index"
	"pigrep/index/segment"
)

func TestPermissions(t *testing.T) {
	for _, mask := range []int{0, 0o077} {
		t.Run(fmt.Sprintf("umask %03o", mask), func(t *testing.T) {
			top := t.TempDir()
			old := syscall.Umask(mask)
			defer syscall.Umask(old)
			dir := filepath.Join(top, "a", "index")
			w := openWriter(t, dir)
			for i := range 4 {
				b := index.NewBatch()
				putFile(b, w.NextFile(), fmt.Sprint("/", i), "words")
				commit(t, w, b)
				publish(t, w)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			checkModes(t, filepath.Join(top, "a"))
		})
	}
}

func checkModes(t *testing.T, dir string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: mode %o, want %o", path, info.Mode().Perm(), want)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// fullEnv makes the test binary a writer whose files may not grow beyond a size,
// which looks like a full disk but for the errno.
const fullEnv = "PIGREP_TEST_FULL"

func TestFullDiskChild(t *testing.T) {
	dir := os.Getenv(fullEnv)
	if dir == "" {
		t.Skip("TestFullDisk runs it in a process of its own")
	}
	signal.Ignore(syscall.SIGXFSZ)
	w := openWriter(t, dir)
	limit := syscall.Rlimit{Cur: 150 << 10, Max: 150 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		b := index.NewBatch()
		file := w.NextFile()
		var list []string
		for j := range 10 << (i / 2) {
			list = append(list, fmt.Sprintf("number%d in file%d", j, i))
		}
		putFile(b, file, fmt.Sprint("/", file), list...)
		if err := w.Commit(b); err != nil {
			fmt.Println("\nfailed", err)
			b := index.NewBatch()
			putFile(b, w.NextFile(), "/later", "later")
			if err := w.Commit(b); !errors.Is(err, index.ErrClosed) {
				t.Errorf("Commit after a failure: %v, want ErrClosed", err)
			}
			if err := w.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			return
		}
		fmt.Println("\ndone", file)
	}
	t.Error("no commit failed")
}

// When the disk is full a commit fails, and what is on disk is the last commit
// before it; with space the next writer continues.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDiskChild$", "-test.v")
	cmd.Env = append(os.Environ(), fullEnv+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("writer: %v\n%s", err, out)
	}
	done := strings.Count(string(out), "\ndone ")
	if done == 0 || !strings.Contains(string(out), "\nfailed ") {
		t.Fatalf("writer: no commit before the failure, or no failure:\n%s", out)
	}
	w := openWriter(t, dir)
	if got := len(w.Summaries()); got != done {
		t.Errorf("%d files, want the %d that were committed\n%s", got, done, out)
	}
	b := index.NewBatch()
	putFile(b, w.NextFile(), "/more", "more words")
	commit(t, w, b)
	publish(t, w)
	checkCounts(t, openReader(t, dir))
}

// The lock of a writer that is killed is free.
func TestLockOfKilledWriter(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var line [1]byte
	if _, err := out.Read(line[:]); err != nil { // it has committed
		t.Fatal(err)
	}
	_, err = index.OpenWriter(dir, index.WriterOptions{PID: 1})
	if want := fmt.Sprintf("pid %d", cmd.Process.Pid); !errors.Is(err, index.ErrLocked) || !strings.Contains(err.Error(), want) {
		t.Errorf("OpenWriter: %v, want ErrLocked that names %s", err, want)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	openWriter(t, dir)
}

// A segment that is cut while it is mapped faults on reading; that is an error
// and not the end of the process.
func TestSegmentCutUnderReader(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	b := index.NewBatch()
	for i := range 20 {
		putFile(b, w.NextFile(), fmt.Sprint("/", i), texts(i)...)
	}
	commit(t, w, b)
	publish(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	questions := map[string]func(s *segment.Segment){
		"Postings": func(s *segment.Segment) { s.Postings(segment.FieldText, []byte("common")) },
		"Bitmap":   func(s *segment.Segment) { s.Bitmap(segment.FieldKind, []byte("reply")) },
		"Mark":     func(s *segment.Segment) { s.Mark(1, make([]uint64, (s.Len()+63)/64)) },
		"Keywords": func(s *segment.Segment) { s.KeywordsOf(segment.FieldKind, []uint32{0}, func(int, []byte) {}) },
		"Terms":    func(s *segment.Segment) { s.Terms(segment.FieldText, nil, func([]byte, int) bool { return true }) },
		"Fuzzy":    func(s *segment.Segment) { s.Fuzzy(segment.FieldText, nil, []byte("comon"), 1, func([]byte) {}) },
		"Files":    func(s *segment.Segment) { s.Files() },
		"ID":       func(s *segment.Segment) { s.ID(0) },
	}
	r, readers := openReader(t, dir), map[string]*index.Reader{}
	for what := range questions {
		readers[what] = openReader(t, dir) // which has no fault yet
	}
	segments, err := filepath.Glob(filepath.Join(dir, "segments", "*.zap"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments: %v, %v", segments, err)
	}
	if err := os.Truncate(segments[0], 0); err != nil {
		t.Fatal(err)
	}
	for what, ask := range questions {
		ask(readers[what].Segments()[0])
		if err := readers[what].Fault(); !errors.Is(err, index.ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", what, err)
		}
	}
	if _, err := r.Record(1); !errors.Is(err, index.ErrDamaged) {
		t.Errorf("Record: %v, want ErrDamaged", err)
	}
	if err := errors.Join(r.Verify(t.Context())...); !errors.Is(err, index.ErrDamaged) {
		t.Errorf("Verify: %v, want ErrDamaged", err)
	}
}
