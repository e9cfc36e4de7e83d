package program

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pigrep/lab/testkit"
)

// confirming is a watcher over some sessions, and what was written there.
type confirming struct {
	t         *testing.T
	home      string
	root      string
	where     []string
	files     []string
	dirs      []string
	words     int
	confirmed int // answers for which the watcher confirmed
}

func newConfirming(t *testing.T) *confirming {
	v := &confirming{t: t, home: t.TempDir()}
	v.root = filepath.Join(v.home, "sessions")
	// Not below home: the path of a socket must be short.
	dir, err := os.MkdirTemp("", "pigrep-index-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	v.where = []string{"--session-dir", v.root, "--index-dir", dir}
	for i := range 4 {
		v.dirs = append(v.dirs, filepath.Join(v.root, fmt.Sprintf("--home-dev-p%d--", i)))
	}
	for i := range 12 {
		v.write(v.dirs[i%len(v.dirs)]) // all are there: they are moved
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(v.root, &st); err != nil {
		t.Fatal(err)
	}
	switch st.Type {
	case 0xEF53, 0x58465342, 0x9123683E, 0x01021994: // ext4, xfs, btrfs, tmpfs
	default:
		t.Skipf("a watcher confirms nothing for files on this file system (%#x)", st.Type)
	}
	return v
}

// word returns a word that no file has.
func (v *confirming) word() string {
	v.words++
	return fmt.Sprintf("uniqueword%dq", v.words)
}

// write writes a new session file and returns a word in it.
func (v *confirming) write(dir string) string {
	word := v.word()
	path := filepath.Join(dir, fmt.Sprintf("s%d.jsonl", v.words))
	writeSession(v.t, path, "some text", word)
	v.files = append(v.files, path)
	return word
}

// finds searches in a new process for a word that one session must have, or none.
func (v *confirming) finds(word string, want int, after string) {
	v.t.Helper()
	cmd := command(v.t, v.home, append([]string{"search", "--verbose", "--flat", word}, v.where...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // without a hit it fails
	if n := strings.Count(stdout.String(), word); n < want || want == 0 && n > 0 {
		v.t.Fatalf("after %s, a search for %s finds %d, want %d\n%s%s", after, word, n, want, &stdout, &stderr)
	}
	if strings.Contains(stderr.String(), "a watcher confirms") {
		v.confirmed++
	}
}

// settled waits until the watcher confirms.
func (v *confirming) settled() {
	v.t.Helper()
	before := v.confirmed
	eventually(v.t, "a watcher confirms the index", func() bool {
		v.finds("text", 1, "nothing")
		return v.confirmed > before
	})
}

// change does something at random and returns a word with the number of sessions that
// have it now.
func (v *confirming) change(rnd *rand.Rand) (what, word string, want int) {
	v.t.Helper()
	must := func(err error) {
		v.t.Helper()
		if err != nil {
			v.t.Fatal(err)
		}
	}
	at := rnd.IntN(len(v.files))
	path := v.files[at]
	switch rnd.IntN(9) {
	case 0:
		return "a new file", v.write(v.dirs[rnd.IntN(len(v.dirs))]), 1
	case 1:
		dir := filepath.Join(v.root, fmt.Sprintf("new%d", v.words), "below", "it")
		return "new directories", v.write(dir), 1
	case 2: // a file that is written elsewhere and moved here
		word := v.word()
		temp, path := filepath.Join(v.home, "temp.jsonl"), filepath.Join(v.dirs[0], fmt.Sprintf("m%d.jsonl", v.words))
		writeSession(v.t, temp, word)
		must(os.Rename(temp, path))
		v.files = append(v.files, path)
		return "a file moved in", word, 1
	case 3:
		to := filepath.Join(v.dirs[rnd.IntN(len(v.dirs))], fmt.Sprintf("r%d.jsonl", v.words))
		must(os.Rename(path, to))
		v.files[at] = to
		word := v.word()
		appendPrompt(v.t, to, v.words, word)
		return "a renamed file", word, 1
	case 4: // a directory that is moved, and written to under its new name
		i := rnd.IntN(len(v.dirs))
		from, to := v.dirs[i], fmt.Sprintf("%s-%d", strings.TrimSuffix(v.dirs[i], "--"), v.words)
		must(os.Rename(from, to))
		v.dirs[i] = to
		for j := range v.files {
			if strings.HasPrefix(v.files[j], from+"/") {
				v.files[j] = to + strings.TrimPrefix(v.files[j], from)
			}
		}
		return "a renamed directory", v.write(to), 1
	case 5: // the directory of the files in another's place
		i, j := rnd.IntN(len(v.dirs)), rnd.IntN(len(v.dirs))
		if i == j {
			return "nothing", "text", 1
		}
		a, b, temp := v.dirs[i], v.dirs[j], filepath.Join(v.root, "temporary")
		must(os.Rename(a, temp))
		must(os.Rename(b, a))
		must(os.Rename(temp, b))
		for k, f := range v.files {
			switch {
			case strings.HasPrefix(f, a+"/"):
				v.files[k] = b + strings.TrimPrefix(f, a)
			case strings.HasPrefix(f, b+"/"):
				v.files[k] = a + strings.TrimPrefix(f, b)
			}
		}
		return "directories changed places", v.write(a), 1
	case 6:
		if len(v.files) < 8 {
			return "nothing", "text", 1
		}
		word := v.word()
		appendPrompt(v.t, path, v.words, word)
		v.finds(word, 1, "appending before a removal")
		must(os.Remove(path))
		v.files[at] = v.files[len(v.files)-1]
		v.files = v.files[:len(v.files)-1]
		return "a removed file", word, 0
	}
	word = v.word()
	appendPrompt(v.t, path, v.words, word)
	return "an appended line", word, 1
}

// Whatever was written before a command began is in its answer, although a watcher confirms
// the files and the command does not look at them.
func TestConfirmedAnswersMissNothing(t *testing.T) {
	v := newConfirming(t)
	startWatcher(t, v.home, v.where)
	v.settled()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for i := range testkit.HowMany(12, 60, 60) {
		if i%4 == 0 {
			v.settled()
		} else if rnd.IntN(2) == 0 {
			time.Sleep(time.Duration(rnd.IntN(120)) * time.Millisecond) // the watcher is in the middle of an update, or not
		}
		what, word, want := v.change(rnd)
		v.finds(word, want, what)
	}
}

// A watcher that is stopped, has died, or lost events confirms nothing.
func TestNobodyConfirms(t *testing.T) {
	v := newConfirming(t)
	w := startWatcher(t, v.home, v.where)
	v.settled()
	signal := func(s os.Signal) {
		t.Helper()
		if err := w.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	silent := func(after string) {
		t.Helper()
		before := v.confirmed
		v.finds(v.write(v.dirs[0]), 1, after)
		if v.confirmed != before {
			t.Errorf("after %s a watcher confirms", after)
		}
	}
	signal(syscall.SIGSTOP)
	silent("SIGSTOP")
	// More events than the system queues, so that some are lost.
	for range 20_000 {
		for _, f := range v.files[:2] {
			if err := os.Chtimes(f, time.Time{}, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
	word := v.write(filepath.Join(v.root, "not", "yet", "watched"))
	signal(syscall.SIGCONT)
	v.finds(word, 1, "lost events")
	v.settled()
	v.finds(v.write(filepath.Join(v.root, "not", "yet", "watched")), 1, "lost events")

	// A directory above the root is replaced: the watcher still watches the old one.
	v.settled()
	moved := v.home + "-moved"
	t.Cleanup(func() { os.RemoveAll(moved) })
	if err := os.Rename(v.root, moved); err != nil {
		t.Fatal(err)
	}
	v.finds("text", 0, "the root was moved away")
	if err := os.Rename(moved, v.root); err != nil {
		t.Fatal(err)
	}
	v.finds("text", 1, "the root was moved back")
	v.settled()
	v.finds(v.write(v.dirs[0]), 1, "the root was moved back")

	// A second name, through which a file can change without an event.
	v.settled()
	if err := os.Link(v.files[0], filepath.Join(v.dirs[1], "second.jsonl")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the watcher knows of the second name", func() bool {
		before := v.confirmed
		v.finds("text", 1, "a second name")
		return v.confirmed == before
	})
	time.Sleep(600 * time.Millisecond) // twice as long as the watcher collects events before it updates
	silent("a second name")

	signal(syscall.SIGKILL)
	<-w.ended
	silent("SIGKILL")
}
