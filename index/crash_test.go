package index_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/lab/testkit"
)

// The test binary runs itself as a writer that is killed, when this is set to
// the index directory.
const childEnv = "PIGREP_TEST_WRITER"

func TestMain(m *testing.M) {
	testkit.Sequences(25) // of the model
	flag.Parse()
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
		return
	}
	os.Exit(m.Run())
}

// child commits and publishes until it is killed, and prints each commit that was
// reported to be on disk.
func child(dir string) {
	w, err := index.OpenWriter(dir, index.WriterOptions{PID: os.Getpid()})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	var out sync.Mutex
	for writer := range 2 {
		wg.Go(func() {
			for i := 0; ; i++ {
				b := index.NewBatch()
				file := w.NextFile()
				putFile(b, file, fmt.Sprint("/new/", file), texts(int(file))...)
				if old := uint32(i); old > 0 && i%3 == writer {
					b.DeleteFile(old)
					putFile(b, old, fmt.Sprint("/replaced/", old), texts(int(old)+i)...)
				}
				err := w.Commit(b)
				if err == nil && i%4 == 0 {
					if _, err = w.Publish(); err == nil {
						err = w.Merge()
					}
				}
				out.Lock()
				if err != nil {
					fmt.Println("error:", err)
				} else {
					fmt.Println("done", file)
				}
				out.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		fmt.Println("close:", err)
	}
}

// texts returns 1 to 40 texts.
func texts(seed int) []string {
	rnd := rand.New(rand.NewPCG(uint64(seed), 1))
	list := make([]string, 1+rnd.IntN(40))
	for i := range list {
		list[i] = fmt.Sprint("word", rnd.IntN(50), " common number", seed, strings.Repeat(" filler", rnd.IntN(100)))
	}
	return list
}

// checkCounts checks that the summaries and the documents agree.
func checkCounts(t *testing.T, r *index.Reader) {
	t.Helper()
	for _, s := range r.Summaries() {
		n := 0
		for _, seg := range r.Segments() {
			n += int(seg.Bitmap(segment.FieldFile, []byte(segment.FileTerm(s.File))).GetCardinality())
		}
		if err := r.Fault(); err != nil {
			t.Fatal(err)
		}
		if n != s.Documents {
			t.Errorf("file %d: %d documents, the summary says %d", s.File, n, s.Documents)
		}
		if rec, err := r.Record(s.File); err != nil || rec == nil || len(rec.Nodes) != s.Documents {
			t.Errorf("record of file %d: %v, want one with %d nodes", s.File, err, s.Documents)
		}
	}
}

// A writer that is killed leaves an index that opens, in which every file has
// what its summary says, and which has all that was reported as done.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	done := make(map[uint32]bool)
	for range testkit.HowMany(4, 12, 200) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait := 1 + rand.IntN(30)
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			file, ok := strings.CutPrefix(lines.Text(), "done ")
			if !ok {
				t.Errorf("writer: %s", lines.Text())
				break
			}
			v, _ := strconv.Atoi(file)
			done[uint32(v)] = true
			if n == wait {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()

		w := openWriter(t, dir)
		have := make(map[uint32]bool)
		for _, s := range w.Summaries() {
			have[s.File] = true
		}
		for file := range done {
			if !have[file] {
				t.Errorf("file %d was reported as done and is gone", file)
			}
		}
		if r, err := index.Open(dir); err == nil {
			checkCounts(t, r) // of a generation of the killed writer
			_ = r.Close()
		} else if !errors.Is(err, index.ErrNoIndex) {
			t.Errorf("Open: %v", err)
		}
		publish(t, w)
		r := openReader(t, dir)
		checkCounts(t, r)
		if err := w.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if len(done) == 0 {
		t.Error("no commit was made")
	}
}

// Readers that open and ask in a loop see no error and no half of anything
// while a writer publishes.
func TestReadersWhilePublishing(t *testing.T) {
	generations, readers := testkit.HowMany(15, 50, 200), testkit.HowMany(3, 3, 8)
	dir := t.TempDir()
	w := openWriter(t, dir)
	b := index.NewBatch()
	putFile(b, w.NextFile(), "/0", "common")
	commit(t, w, b)
	publish(t, w)

	stop := make(chan struct{})
	var wg sync.WaitGroup
	opened := make([]int, readers)
	for i := range opened {
		wg.Go(func() {
			last := uint64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := index.Open(dir)
				if err != nil {
					t.Errorf("Open: %v", err)
					return
				}
				opened[i]++
				if r.Generation() < last {
					t.Errorf("generation %d after %d", r.Generation(), last)
				}
				last = r.Generation()
				if got := len(found(t, r, segment.FieldText, "common")); got != r.Documents() {
					t.Errorf("generation %d: %d found, %d documents", r.Generation(), got, r.Documents())
				}
				if err := r.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
		})
	}
	for i := range generations {
		b := index.NewBatch()
		putFile(b, w.NextFile(), fmt.Sprint("/", i), "common words", fmt.Sprint("common number ", i))
		if i > 5 {
			b.DeleteFile(uint32(i - 3))
		}
		commit(t, w, b)
		publish(t, w)
	}
	close(stop)
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for i, n := range opened {
		if n == 0 {
			t.Errorf("reader %d never opened", i)
		}
	}
	dirs, err := filepath.Glob(filepath.Join(dir, "gen-*"))
	if err != nil || len(dirs) > 3 {
		t.Errorf("generations left: %v", dirs)
	}
}

// listFiles lists the files of a directory, relative.
func listFiles(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an old generation, which the writer is removing
		}
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, rel)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

var damages = []struct {
	name string
	do   func(path string, rnd *rand.Rand) error
}{
	{"deleted", func(path string, _ *rand.Rand) error { return os.Remove(path) }},
	{"emptied", func(path string, _ *rand.Rand) error { return os.Truncate(path, 0) }},
	{"cut in half", func(path string, _ *rand.Rand) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}},
	{"zeroed", func(path string, _ *rand.Rand) error {
		return change(path, func(b []byte) { clear(b) })
	}},
	{"zeroed in the middle", func(path string, _ *rand.Rand) error {
		return change(path, func(b []byte) { clear(b[len(b)/3 : len(b)/3*2]) })
	}},
	{"flipped", func(path string, rnd *rand.Rand) error {
		return change(path, func(b []byte) {
			for range 1 + len(b)/200 {
				b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
			}
		})
	}},
	{"one bit flipped", func(path string, rnd *rand.Rand) error {
		return change(path, func(b []byte) { b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8) })
	}},
}

// change writes a changed copy of a file in its place.
func change(path string, f func([]byte)) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(b) > 0 {
		f(b)
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := tempDir(t)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// Whatever happens to a file of the index, a reader gives the right answers or
// ErrDamaged, and a writer continues or fails with ErrDamaged and can rebuild.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	for i := range 3 {
		b := index.NewBatch()
		for j := range 5 {
			file := w.NextFile()
			putFile(b, file, fmt.Sprint("/", i, "/", j), texts(int(file))...)
		}
		if i > 0 {
			b.DeleteFile(uint32(i))
		}
		commit(t, w, b)
		publish(t, w)
	}
	r := openReader(t, dir)
	want := readContents(t, r)
	current := fmt.Sprintf("gen-%06d", r.Generation())
	b := index.NewBatch()
	putFile(b, w.NextFile(), "/later", "not published")
	commit(t, w, b)
	later := fmt.Sprintf("gen-%06d", r.Generation()+1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for _, file := range listFiles(t, dir) {
		if at := filepath.Dir(file); at != current && at != later && at != "segments" && at != "." {
			continue
		}
		for _, damage := range damages {
			t.Run(file+" "+damage.name, func(t *testing.T) {
				dir := copyDir(t, dir)
				if err := damage.do(filepath.Join(dir, file), rnd); err != nil {
					t.Fatal(err)
				}
				readDamaged(t, dir, want)
				writeDamaged(t, dir)
			})
		}
	}
}

// Every byte of manifests and states is checked before it is believed.
func TestDamagedState(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	for i := range 2 {
		b := index.NewBatch()
		b.DeleteFile(1)
		putFile(b, 1, "/a", fmt.Sprint("some words ", i), "more")
		putFile(b, uint32(2+i), fmt.Sprint("/", i), "words")
		commit(t, w, b)
	}
	number := publish(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"state", "manifest"} {
		path := filepath.Join(dir, fmt.Sprintf("gen-%06d", number), name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := range good {
			bad := bytes.Clone(good)
			bad[at] ^= 4
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := index.OpenWriter(dir, index.WriterOptions{}); !errors.Is(err, index.ErrDamaged) && !errors.Is(err, index.ErrVersion) {
				t.Errorf("OpenWriter with byte %d of %s changed: %v, want ErrDamaged", at, name, err)
			}
			if _, err := index.Open(dir); !errors.Is(err, index.ErrDamaged) && !errors.Is(err, index.ErrVersion) {
				t.Errorf("Open with byte %d of %s changed: %v, want ErrDamaged", at, name, err)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	openReader(t, dir)
}

// readDamaged fails unless an index with a damaged file reads as it did before, or with
// an error that says so.
func readDamaged(t *testing.T, dir string, want contents) {
	r, err := index.Open(dir)
	if err != nil {
		if !errors.Is(err, index.ErrDamaged) && !errors.Is(err, index.ErrVersion) && !errors.Is(err, index.ErrNoIndex) {
			t.Errorf("Open: %v, want ErrDamaged", err)
		}
		return
	}
	defer r.Close()
	var failed fatal
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(&failed) {
				panic(p)
			}
		}()
		if diff := cmp.Diff(want, readContents(&failed, r)); diff != "" {
			t.Errorf("the damaged index reads differently (-want +got): %s", diff)
		}
	}()
	if failed.text != "" && !strings.Contains(failed.text, index.ErrDamaged.Error()) {
		t.Errorf("read: %s", failed.text)
	}
}

// fatal is a testing.T whose Fatalf ends a function.
type fatal struct{ text string }

func (f *fatal) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

// writeDamaged continues writing an index that may be damaged.
func writeDamaged(t *testing.T, dir string) {
	w, err := index.OpenWriter(dir, index.WriterOptions{})
	if err == nil {
		b := index.NewBatch()
		putFile(b, w.NextFile(), "/after", "something")
		if err = w.Commit(b); err == nil {
			_, err = w.Publish()
		}
		if err == nil {
			err = w.Merge()
		}
		_ = w.Close()
	}
	if err == nil {
		if r, err := index.Open(dir); err == nil {
			_ = r.Close()
		} else if !errors.Is(err, index.ErrDamaged) {
			t.Errorf("Open after writing on: %v", err)
		}
		return
	}
	if !errors.Is(err, index.ErrDamaged) && !errors.Is(err, index.ErrVersion) {
		t.Errorf("write: %v, want ErrDamaged", err)
	}
	before, beforeErr := index.Open(dir)
	if beforeErr == nil {
		defer before.Close()
	}
	w, err = index.OpenWriter(dir, index.WriterOptions{Rebuild: true})
	if err != nil {
		t.Fatalf("OpenWriter with Rebuild: %v", err)
	}
	defer w.Close()
	if n := len(w.Summaries()); n != 0 {
		t.Errorf("%d summaries after Rebuild", n)
	}
	if r, err := index.Open(dir); (err == nil) != (beforeErr == nil) {
		t.Errorf("Open before publishing: %v, was %v", err, beforeErr)
	} else if err == nil {
		_ = r.Close()
	}
	b := index.NewBatch()
	putFile(b, w.NextFile(), "/rebuilt", "something")
	commit(t, w, b)
	publish(t, w)
	r := openReader(t, dir)
	if got := found(t, r, segment.FieldText, "something"); len(got) != 1 {
		t.Errorf("after the rebuild: %v", got)
	}
}
