package keep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/internal/content"
	"pigrep/lab/testkit"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("KEEP_IN"); dir != "" { // a process to be killed: see TestKilledWhileCopying
		a := &Archive{Dir: dir}
		for {
			files, err := list(os.Getenv("KEEP_FROM"))
			if err == nil {
				_, err = a.Update(context.Background(), files, rules(time.Now()), 0)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(3)
			}
		}
	}
	testkit.Sequences(100)
	os.Exit(m.Run())
}

func rules(now time.Time) Rules {
	return Rules{Agents: []string{"chat"}, Now: func() time.Time { return now }, Volatile: func(_ string, head []byte) int64 {
		if strings.HasPrefix(string(head), "title ") {
			return 17
		}
		return 0
	}}
}

// list returns the session files in a directory as discovery does.
func list(dir string) (files []File, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		f := File{Path: content.Logical(path), Agent: "chat"}
		f.Size, f.Mtime, f.Packed = info.Size(), info.ModTime().UnixNano(), f.Path != path
		f.Inode = 1 // every file may be the one that was there before
		files = append(files, f)
		return err
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

// texts returns the text of each copy, by its name.
func texts(t interface{ Fatal(...any) }, a *Archive) map[string]string {
	rows, err := a.Copies()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for i := range rows {
		c := &rows[i]
		if c.State != Kept {
			continue
		}
		if err := a.Check(c, true); err != nil {
			t.Fatal(c.Name(), err)
		}
		text, err := content.Open(a.Place(c), 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(io.NewSectionReader(text, 0, c.rest(0)))
		if err != nil {
			t.Fatal(err)
		}
		text.Close()
		all[c.Name()] = string(b)
	}
	return all
}

func keepAll(t interface{ Fatal(...any) }, a *Archive, dir string, r Rules) Report {
	files, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	report, err := a.Update(context.Background(), files, r, 0)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func write(t testing.TB, path, text string) {
	t.Helper()
	testkit.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testkit.Check(t, os.WriteFile(path, []byte(text), 0o644))
}

// Every text that an update saw stays, whatever becomes of its file: the last one under the
// name of the file, those before it was rewritten under names of their own.
func TestWhatBecomesOfAFile(t *testing.T) {
	dir, a := t.TempDir(), &Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	path := filepath.Join(dir, "x\ty\nz", strings.Repeat("n", 200)+".jsonl")
	before := path[:len(path)-6] + "~1.jsonl"
	write(t, path, "one\n")
	step := func(what string, want map[string]string) {
		t.Helper()
		keepAll(t, a, dir, rules(time.Now()))
		if diff := cmp.Diff(want, texts(t, a)); diff != "" {
			t.Fatalf("%s: %s", what, diff)
		}
		if again := keepAll(t, a, dir, rules(time.Now())); again != (Report{}) {
			t.Errorf("%s: a second update does %+v", what, again)
		}
	}
	step("new", map[string]string{path: "one\n"})
	testkit.Append(t, path, "two\n")
	step("grown", map[string]string{path: "one\ntwo\n"})
	write(t, path, "three, rewritten\n")
	step("rewritten", map[string]string{path: "three, rewritten\n", before: "one\ntwo\n"})
	testkit.Check(t, os.Remove(path))
	step("deleted", map[string]string{path: "three, rewritten\n", before: "one\ntwo\n"})
	got, err := a.Restore(a.Find(before))
	if err != nil || got != path {
		t.Fatalf("restored to %s, %v", got, err)
	}
	step("an earlier version restored", map[string]string{path: "one\ntwo\n", before: "one\ntwo\n", path[:len(path)-6] + "~2.jsonl": "three, rewritten\n"})
	for name, mode := range map[string]os.FileMode{a.Dir: 0o700 | fs.ModeDir, filepath.Dir(a.Place(a.Find(path))): 0o700 | fs.ModeDir, a.Place(a.Find(path)): 0o600, filepath.Join(a.Dir, catalogue): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// What an agent overwrites in place makes no new version.
func TestTitleThatIsOverwritten(t *testing.T) {
	dir, a := t.TempDir(), &Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	path := filepath.Join(dir, "x.jsonl")
	write(t, path, "title old       \nline\n")
	keepAll(t, a, dir, rules(time.Now()))
	write(t, path, "title new       \nline\nmore\n")
	keepAll(t, a, dir, rules(time.Now()))
	if diff := cmp.Diff(map[string]string{path: "title new       \nline\nmore\n"}, texts(t, a)); diff != "" {
		t.Error(diff)
	}
}

// A file that its agent compresses, and decompresses to go on, is the same file.
func TestFileThatItsAgentCompresses(t *testing.T) {
	dir, a := t.TempDir(), &Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	path, other := filepath.Join(dir, "x.jsonl"), filepath.Join(t.TempDir(), "x.jsonl")
	text := strings.Repeat("some text\n", 1000)
	write(t, path, text)
	write(t, other, text)
	keepAll(t, a, dir, rules(time.Now()))
	// The archive makes what the agent would.
	b := &Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	r := rules(time.Now().Add(time.Hour))
	r.Pack = time.Minute
	keepAll(t, b, filepath.Dir(other), r)
	keepAll(t, b, filepath.Dir(other), r)
	packed, err := os.ReadFile(b.Place(b.Find(other)) + content.Suffix)
	testkit.Check(t, err)
	testkit.Check(t, os.Remove(path))
	write(t, path+content.Suffix, string(packed))
	keepAll(t, a, dir, rules(time.Now()))
	if c := a.Find(path); !c.Zstd || !c.Packed || c.Version != 1 || int(c.Stored) != len(packed) {
		t.Errorf("compressed: %+v", c)
	}
	testkit.Check(t, os.Remove(path+content.Suffix))
	write(t, path, text+"more\n")
	keepAll(t, a, dir, rules(time.Now()))
	if diff := cmp.Diff(map[string]string{path: text + "more\n"}, texts(t, a)); diff != "" {
		t.Error(diff)
	}
}

// Of a file that has grown, only the beginning and the end are compared with its copy. If it was
// changed between them, both texts are there once the copy has been compressed.
func TestFileThatChangedInItsMiddle(t *testing.T) {
	dir, a := t.TempDir(), &Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	path := filepath.Join(dir, "x.jsonl")
	lines := strings.Repeat("a line of a long session\n", 100_000)
	write(t, path, lines+"old middle\n"+lines)
	now := time.Now()
	keepAll(t, a, dir, rules(now))
	changed := lines + "new middle\n" + lines + "more\n"
	write(t, path, changed)
	if report := keepAll(t, a, dir, rules(now)); report.Bytes != int64(len("more\n")) {
		t.Errorf("of what was appended, %d bytes were copied", report.Bytes)
	}
	r := rules(now.Add(time.Hour))
	r.Pack = time.Minute
	keepAll(t, a, dir, r)
	want := map[string]string{strings.TrimSuffix(path, ".jsonl") + "~1.jsonl": lines + "old middle\n" + lines + "more\n", path: changed}
	if diff := cmp.Diff(want, texts(t, a)); diff != "" {
		t.Error(diff)
	}
}

// A name may be as long as file systems allow, and say anything.
func TestLongNames(t *testing.T) {
	dir, a := t.TempDir(), &Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	want := make(map[string]string)
	for _, name := range []string{strings.Repeat("n", 249), strings.Repeat("n", 248) + "m", strings.Repeat("é", 120) + "\x1b[1m\t", "~1", "x~2.zst"} {
		path := filepath.Join(dir, name+".jsonl")
		if err := os.WriteFile(path, []byte("text of "+name), 0o600); err != nil {
			t.Logf("not on this system: %v", err)
			continue
		}
		want[path] = "text of " + name
	}
	keepAll(t, a, dir, rules(time.Now()))
	if diff := cmp.Diff(want, texts(t, a)); diff != "" {
		t.Error(diff)
	}
	testkit.Check(t, os.RemoveAll(dir))
	for path, text := range want {
		restored, err := a.Restore(a.Find(path))
		testkit.Check(t, err)
		if b, err := os.ReadFile(path); err != nil || restored != path || string(b) != text {
			t.Errorf("%s is restored as %s: %q, %v", path, restored, b, err)
		}
	}
	keepAll(t, a, dir, rules(time.Now()))
	if diff := cmp.Diff(want, texts(t, a)); diff != "" {
		t.Errorf("restored: %s", diff)
	}
}

// What a session had before it was rewritten has a name of its own, whether another session is called
// so, was kept and is gone, or comes later.
func TestEarlierVersionBesideASessionOfItsName(t *testing.T) {
	dir, a := t.TempDir(), &Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	put := func(name, text string) {
		testkit.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		keepAll(t, a, dir, rules(time.Now()))
	}
	check := func(want ...string) {
		t.Helper()
		rows, err := a.Copies()
		testkit.Check(t, err)
		got := make(map[string]string)
		for i := range rows {
			c := &rows[i]
			if f := a.Find(c.Name()); f == nil || a.Place(f) != a.Place(c) {
				t.Errorf("%s is found as %+v", c.Name(), f)
			}
			text, err := os.ReadFile(a.Place(c))
			testkit.Check(t, err)
			got[filepath.Base(c.Name())] = string(text)
		}
		all := make(map[string]string)
		for _, w := range want {
			name, text, _ := strings.Cut(w, ": ")
			all[name] = text
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	put("a.jsonl", "one\n")
	put("a.jsonl", "two\n")
	check("a~1.jsonl: one\n", "a.jsonl: two\n")
	put("a~1.jsonl", "other\n")
	check("a~~1.jsonl: one\n", "a.jsonl: two\n", "a~1.jsonl: other\n")
	testkit.Check(t, os.Remove(filepath.Join(dir, "a~1.jsonl")))
	check("a~~1.jsonl: one\n", "a.jsonl: two\n", "a~1.jsonl: other\n")
	put("a~1.jsonl", "again\n")
	check("a~~1.jsonl: one\n", "a.jsonl: two\n", "a~1~1.jsonl: other\n", "a~1.jsonl: again\n")
}

// Without its catalogue, an archive has the copies that lie in it, under the paths of their
// originals, with their times and versions.
func TestLostCatalogue(t *testing.T) {
	dir, a := t.TempDir(), &Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	gone, there := filepath.Join(dir, "a b", "gone.jsonl"), filepath.Join(dir, "there.jsonl")
	testkit.Check(t, os.Mkdir(filepath.Dir(gone), 0o700))
	write(t, gone, "first")
	write(t, there, "there")
	keepAll(t, a, dir, rules(time.Now()))
	write(t, gone, "another")
	at := time.UnixMilli(1_750_000_000_000)
	testkit.Check(t, os.Chtimes(gone, at, at))
	keepAll(t, a, dir, rules(time.Now()))
	want := texts(t, a)
	testkit.Check(t, os.Remove(gone))
	write(t, filepath.Join(a.Dir, "chat", "torn~1"+unwritten), "of a process that died")

	for _, damage := range []func(){
		func() { testkit.Check(t, os.Remove(filepath.Join(a.Dir, catalogue))) },
		func() {}, // it was not written again, as nothing has changed
	} {
		damage()
		a = &Archive{Dir: a.Dir}
		if diff := cmp.Diff(want, texts(t, a)); diff != "" {
			t.Fatal(diff)
		}
		if c := a.Find(gone); c.Agent != "chat" || c.Version != 2 || c.Mtime != at.UnixNano() || !c.Gone() {
			t.Errorf("%+v", c)
		}
	}
	keepAll(t, a, dir, rules(time.Now()))
	if _, err := os.Stat(filepath.Join(a.Dir, catalogue)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, texts(t, &Archive{Dir: a.Dir})); diff != "" {
		t.Error(diff)
	}
	if report := keepAll(t, a, dir, rules(time.Now())); report != (Report{}) {
		t.Errorf("once more: %+v", report)
	}
}

// model says what must be in an archive after random changes.
type model struct {
	dir     string
	archive *Archive
	now     time.Time
	rules   Rules
	files   map[string]string   // the originals
	seen    map[string]string   // what an update copied, unless it was forgotten
	before  map[string][]string // what was rewritten since
	count   int
}

func (m *model) path(t *rapid.T) string {
	return filepath.Join(m.dir, rapid.SampledFrom([]string{"a.jsonl", "b/c.jsonl", "b.jsonl", "é\t.jsonl"}).Draw(t, "file"))
}

func (m *model) write(t *rapid.T, path, text string) {
	m.count++
	m.now = m.now.Add(time.Minute)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, m.now, m.now)); err != nil {
		t.Fatal(err)
	}
	m.files[path] = text
}

func (m *model) words(t *rapid.T) string {
	m.count++
	return fmt.Sprintf("line %d %s\n", m.count, strings.Repeat("x", rapid.IntRange(0, 20_000).Draw(t, "length")))
}

func (m *model) Grow(t *rapid.T) { p := m.path(t); m.write(t, p, m.files[p]+m.words(t)) }

func (m *model) Rewrite(t *rapid.T) { m.write(t, m.path(t), m.words(t)) }

func (m *model) Truncate(t *rapid.T) {
	p := m.path(t)
	m.write(t, p, m.files[p][:rapid.IntRange(0, len(m.files[p])).Draw(t, "to")])
}

func (m *model) Delete(t *rapid.T) {
	p := m.path(t)
	_ = os.Remove(p)
	delete(m.files, p)
}

func (m *model) Restore(t *rapid.T) {
	p := m.path(t)
	c := m.archive.Find(p)
	if c == nil {
		return
	}
	_, there := m.files[p]
	_, err := m.archive.Restore(c)
	if (err == nil) == there || there && !errors.Is(err, fs.ErrExist) {
		t.Fatalf("restore: %v", err)
	}
	if !there {
		m.files[p] = m.seen[p]
	}
	info, err := os.Stat(p)
	if err != nil || !there && (info.Mode().Perm() != 0o600 || info.ModTime().UnixNano() != c.Mtime) {
		t.Fatalf("restored: %v, %v", info, err)
	}
}

func (m *model) Forget(t *rapid.T) {
	p := m.path(t)
	rows, err := m.archive.Copies()
	if err != nil {
		t.Fatal(err)
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(c Copy) bool { return c.Path != p })
	if _, _, err := m.archive.Forget(context.Background(), rows); err != nil {
		t.Fatal(err)
	}
	delete(m.before, p)
	delete(m.seen, p)
	m.Check(t)
	if _, ok := m.files[p]; ok { // it is copied again when it changes
		m.write(t, p, m.files[p]+"changed\n")
	}
}

func (m *model) LoseCatalogue(*rapid.T) {
	_ = os.Remove(filepath.Join(m.archive.Dir, catalogue))
	m.archive = &Archive{Dir: m.archive.Dir}
}

func (m *model) Wait(*rapid.T) { m.now = m.now.Add(time.Hour) }

func (m *model) Update(t *rapid.T) {
	m.rules.Now = func() time.Time { return m.now }
	keepAll(t, m.archive, m.dir, m.rules)
	for p, text := range m.files {
		was, ok := m.seen[p]
		if ok && !strings.HasPrefix(text, was) {
			m.before[p] = append(m.before[p], was)
		}
		if ok || text != "" {
			m.seen[p] = text
		}
	}
	m.Check(t)
}

func (m *model) Check(t *rapid.T) {
	want := make(map[string][]string)
	for p, text := range m.seen {
		want[p] = append(append(want[p], m.before[p]...), text)
	}
	got := make(map[string][]string)
	copies := texts(t, m.archive)
	rows, _ := m.archive.Copies()
	for i := range rows {
		if text, ok := copies[rows[i].Name()]; ok && rows[i].State == Kept {
			got[rows[i].Path] = append(got[rows[i].Path], text)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("kept: %s", diff)
	}
	for p, text := range m.files {
		if b, err := os.ReadFile(p); err != nil || string(b) != text {
			t.Fatalf("the original %s has %d bytes, %v", p, len(b), err)
		}
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "keep")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := &model{dir: filepath.Join(dir, "sessions"), archive: &Archive{Dir: filepath.Join(dir, "kept")}, now: time.Now().Add(-1000 * time.Hour),
			rules: rules(time.Time{}), files: map[string]string{}, seen: map[string]string{}, before: map[string][]string{}}
		m.rules.Pack = 30 * time.Minute
		if err := os.Mkdir(m.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Repeat(rapid.StateMachineActions(m))
		m.Update(t)
	})
}

// The copies never take up more than the limit, unless those that are all that is left do: they
// stay. Of what does not fit, the latest files are left out first.
func TestLimit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	dir, a := t.TempDir(), &Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	now := time.Now().Add(-time.Hour)
	size := func() (n int64) {
		_ = filepath.WalkDir(a.Dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && filepath.Base(path) != catalogue {
				info, _ := d.Info()
				n += info.Size()
			}
			return err
		})
		return n
	}
	onlyOnes := func() (size int64) {
		rows, _ := a.Copies()
		for i := range rows {
			if rows[i].State == Kept && rows[i].Gone() {
				size += rows[i].Stored
			}
		}
		return size
	}
	r := rules(now)
	for round := range testkit.HowMany(30, 100, 1000) {
		r.Limit = 10_000 + rnd.Int64N(50_000)
		for i := range 12 {
			path := filepath.Join(dir, fmt.Sprint(i)+".jsonl")
			switch rnd.IntN(6) {
			case 0:
				write(t, path, fmt.Sprintf("%d %s", round, strings.Repeat("y", rnd.IntN(9000))))
			case 1:
				_ = os.Remove(path)
			default:
				continue
			}
			now = now.Add(time.Second)
			_ = os.Chtimes(path, now, now)
		}
		only := onlyOnes()
		keepAll(t, a, dir, r)
		keepAll(t, a, dir, r) // what was rewritten needs room twice
		if got := onlyOnes(); got < only {
			t.Fatalf("round %d: %d bytes were all that is left of sessions, and now %d", round, only, got)
		} else if total := size(); total > max(r.Limit, got) {
			t.Fatalf("round %d: %d bytes, of which %d are all that is left, and the limit is %d", round, total, got, r.Limit)
		}
		rows, _ := a.Copies()
		var newestKept, oldestLeft int64 = 0, 1 << 62
		var smallest int64 = 1 << 62
		for i := range rows {
			c := &rows[i]
			if c.Gone() {
				continue
			}
			if c.State == Kept {
				newestKept = max(newestKept, c.Mtime)
			} else if c.State == Dropped {
				oldestLeft, smallest = min(oldestLeft, c.Mtime), min(smallest, c.Size)
			}
		}
		if free := r.Limit - size(); smallest <= free {
			t.Fatalf("round %d: a file of %d bytes is left out, and %d are free", round, smallest, free)
		}
		if again := keepAll(t, a, dir, r); again != (Report{}) {
			t.Fatalf("round %d: a second update does %+v", round, again)
		}
		texts(t, a)
	}
}

// A process that is killed at any moment leaves copies that are whole: each is what its
// file was at some time.
func TestKilledWhileCopying(t *testing.T) {
	dir, a := t.TempDir(), &Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	path, elsewhere := filepath.Join(dir, "x.jsonl"), filepath.Join(t.TempDir(), "x")
	write(t, path, "")
	self, err := os.Executable()
	testkit.Check(t, err)
	rnd := rand.New(rand.NewPCG(3, 4))
	text := ""
	for round := range testkit.Rounds(5, 20, 100) {
		child := testProcess(self, a.Dir, dir)
		testkit.Check(t, child.Start())
		for range 1 + rnd.IntN(20) {
			line := fmt.Sprintf("%d %s\n", round, strings.Repeat("z", rnd.IntN(1<<20)))
			text += line
			if rnd.IntN(10) == 0 {
				text = line
				write(t, elsewhere, text)
				testkit.Check(t, os.Rename(elsewhere, path))
				continue
			}
			testkit.Append(t, path, line)
		}
		testkit.Check(t, child.Process.Kill())
		if err := child.Wait(); err == nil || child.ProcessState.ExitCode() == 3 {
			t.Fatalf("the process ended by itself: %v %s", err, child.Stderr)
		}
		for name, got := range texts(t, a) {
			if strings.HasSuffix(name, "x.jsonl") && !strings.HasPrefix(text, got) && got != "" && !wholeLines(got) {
				t.Fatalf("round %d: %s has a torn text of %d bytes", round, name, len(got))
			}
		}
	}
	keepAll(t, a, dir, rules(time.Now()))
	if got := texts(t, a)[path]; got != text {
		t.Errorf("%d bytes are kept of %d", len(got), len(text))
	}
}

// wholeLines reports whether every line but the last is one that the test wrote.
func wholeLines(text string) bool {
	for line := range strings.Lines(text) {
		number, rest, ok := strings.Cut(line, " ")
		if !ok || strings.Trim(number, "0123456789") != "" || strings.Trim(rest, "z\n") != "" {
			return false
		}
	}
	return true
}

// testProcess returns a process that keeps what is in a directory until it is killed.
func testProcess(self, archive, from string) *exec.Cmd {
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "KEEP_IN="+archive, "KEEP_FROM="+from)
	cmd.Stderr = new(strings.Builder)
	return cmd
}
