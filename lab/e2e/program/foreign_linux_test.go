//go:build linux && amd64

package program

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pigrep/lab/testkit"
)

// everyRun lists how each command is run, all that write files among them.
var everyRun = map[string][]string{
	"blame":      {"written.go"},
	"completion": {"bash", "zsh", "fish", "powershell"},
	"config":     {"", "--sample"},
	"export":     {"0195aaaa", "0195aaaa -o out.html", "0195aaaa -o out.md", "0195aaaa --open"},
	"fix":        {"timeout"},
	"grep":       {"login", "--vimgrep login"},
	"hosts":      {"", "--check --on lab"},
	"help":       {"", "scopes", "--man pages"},
	"index":      {"", "--rebuild", "--compact"},
	"init":       {"bash", "zsh", "fish"},
	"keep":       {"", "pi", "--off pi"},
	"log":        {"", "HEAD"},
	"mcp":        {"", "--print-config codex"},
	"push":       {"lab"},
	"recap":      {"", "--lessons --markdown"},
	"remote":     {"add lab http://127.0.0.1:9"},
	"report":     {"-o report.html", "-o all.html --with-sessions"},
	"resume":     {"0195aaaa"},
	"search":     {"login"},
	"secrets":    {""},
	"sessions":   {""},
	"setup":      {"--dry-run", "--yes", "--undo --yes", "--yes"},
	"show":       {"0195aaaa"},
	"similar":    {"0195aaaa"},
	"skill":      {"", "--install --yes"},
	"status":     {"", "--stores", "--repair"},
	"tools":      {"", "--svg tools.svg"},
	"tui":        {""},
	"usage":      {""},
	"version":    {""},
	"watch":      {"--jsonl"},
	"web":        {"--no-open --idle 1ms"},
}

// spot is a row of the table in docs/files.md.
type spot struct {
	row     string // how it begins
	pattern string // of paths below the ground
	users   bool   // the user named it
	force   bool   // a file is left alone without --force
	linked  bool   // the targets of links are written
	never   bool   // a file that is not ours is left alone
}

// The places that are directories.
const (
	sessionsDir = `work/all-sessions(/.*\.html)?`
	indexDir    = `home/cache(/pigrep.*)?`
	manDir      = `work/pages(/man[17](/.*)?)?`
	keptDir     = `home/\.local/share(/pigrep(/kept(/.*)?)?)?`
)

var spots = []spot{
	{row: "`-o FILE`", pattern: `work/(out|report|all)\.\w+`, users: true, force: true, linked: true},
	{row: "`--svg FILE`", pattern: `work/\w+\.svg`, users: true, linked: true, never: true},
	{row: "`NAME-sessions/`", pattern: sessionsDir, force: true},
	{row: "`TITLE-ID.md`", pattern: `work/login-timeouts-0195aaaa\.\w+`, never: true},
	{row: "`pigrep-SESSION.html`", pattern: `tmp/pigrep-0195aaaa\.html`},
	{row: "`pigrep-SESSION.txt`", pattern: `tmp/pigrep-[-0-9a-f]+\.txt`},
	{row: "`man1/` and `man7/` in DIR", pattern: manDir, linked: true},
	{row: "`~/.local/state/pigrep/history`", pattern: `home/\.local(/state(/pigrep(/history)?)?)?`, linked: true},
	{row: "`skills/pigrep/SKILL.md` in each agent", pattern: `home/\.pi/agent/skills(/pigrep(/SKILL\.md)?)?`, linked: true},
	{row: "`settings.json`, `hooks.json`", pattern: `home/\.pi/agent/(mcp\.json|extensions(/pigrep\.ts)?)`, linked: true, never: true},
	{row: "`~/.local/share/pigrep/setup.json`", pattern: `home/\.local/share/pigrep/setup\.json`, linked: true, never: true},
	{row: "`~/.cache/pigrep/ID/`", pattern: indexDir},
	{row: "`~/.config/pigrep/remotes.json`", pattern: `home/\.config(/pigrep(/remotes\.json)?)?`, never: true},
	{row: "`~/.config/pigrep/config.toml`", pattern: settings, linked: true},
	{row: "`~/.local/share/pigrep/kept/`", pattern: keptDir},
	{row: "`.NAME-123456789`", pattern: `.*/\.[^/]+-\d+`},
}

// spotOf returns the spot of a path below the ground, nil for none.
func spotOf(path string) *spot {
	for i := range spots {
		if regexp.MustCompile(`^(` + spots[i].pattern + `)$`).MatchString(path) {
			return &spots[i]
		}
	}
	return nil
}

// ground is a tree in which every command runs: home, working directory and directory for
// temporary files.
type ground struct {
	t   *testing.T
	dir string
	old map[string]bool // paths that no command has made
}

func newGround(t *testing.T) *ground {
	t.Helper()
	g := &ground{t: t, dir: t.TempDir(), old: map[string]bool{}}
	copyTree(t, filepath.Join(moduleRoot, "ui", "cli", "testdata", "sessions"), filepath.Join(g.dir, "home", ".pi", "agent", "sessions"))
	for _, name := range []string{"work", "tmp", "outside"} {
		if err := os.Mkdir(filepath.Join(g.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(g.dir, "work", "written.go"), []byte("package login // with a timeout\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range g.paths() {
		g.old[path] = true
	}
	return g
}

// commands returns every run of every command.
func (g *ground) commands() (all [][]string) {
	all = [][]string{{"index"}} // others need it
	listed := pigrep(g.t, g.t.TempDir(), "__complete", "")
	for line := range strings.Lines(string(listed.stdout)) {
		name, _, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		if len(everyRun[name]) == 0 {
			g.t.Errorf("no run of the command %s", name)
		}
		for _, args := range everyRun[name] {
			all = append(all, append([]string{name}, strings.Fields(args)...))
		}
	}
	if len(all) < len(everyRun) {
		g.t.Fatalf("%d runs of %d commands", len(all), len(everyRun))
	}
	return all
}

// run runs a command to its end, by start, and returns what it printed.
func (g *ground) run(args []string, start func(*exec.Cmd)) string {
	g.t.Helper()
	cmd := command(g.t, filepath.Join(g.dir, "home"), args...)
	cmd.Dir = filepath.Join(g.dir, "work")
	cmd.Env = append(cmd.Env, "PATH=", "TMPDIR="+filepath.Join(g.dir, "tmp"), "TERM=xterm")
	in, out, err := os.Pipe()
	if args[0] == "tui" {
		in, out, err = openTerminal()
		cmd.Stdin = out
	}
	if err != nil {
		g.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	var printed bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.drive(args[0], in, &printed)
	}()
	start(cmd)
	out.Close()
	<-ended
	in.Close()
	return printed.String()
}

// drive reads what a command prints until it ends, and makes those end that would not.
func (g *ground) drive(name string, in *os.File, printed *bytes.Buffer) {
	steps := map[string][]struct{ shown, typed string }{
		"tui":   {{"type to search", "login"}, {"3 hits", "\x1bw"}, {"export 1 session", "\r"}, {"login-timeouts", "\x03"}},
		"watch": {{`"type":"ready"`, ""}},
	}[name]
	from, chunk := 0, make([]byte, 1<<16)
	for {
		n, err := in.Read(chunk)
		printed.Write(chunk[:n])
		if err != nil {
			return // the terminal or the pipe is closed
		}
		if len(steps) == 0 || !bytes.Contains(printed.Bytes()[from:], []byte(steps[0].shown)) {
			continue
		}
		from = printed.Len()
		if steps[0].typed == "" {
			in.Close() // a watcher without a reader ends
			return
		}
		_, _ = io.WriteString(in, steps[0].typed)
		steps = steps[1:]
	}
}

// openTerminal returns both ends of a new terminal.
func openTerminal() (near, far *os.File, err error) {
	near, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(near.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	far, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 160})
	}
	return near, far, err
}

// paths lists what is on the ground, without session files.
func (g *ground) paths() (all []string) {
	err := filepath.WalkDir(g.dir, func(path string, e fs.DirEntry, err error) error {
		if path == filepath.Join(g.dir, "home", ".pi", "agent", "sessions") {
			return fs.SkipDir
		}
		all = append(all, strings.TrimPrefix(path, g.dir+"/"))
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return all
}

// plainly runs a command without a trace.
func plainly(c *exec.Cmd) { _ = c.Run() } // what it wrote tells

// docs/files.md lists every place that any command writes to.
func TestWrittenPlacesAreListed(t *testing.T) {
	testkit.Slow(t)
	page := readFile(t, filepath.Join(moduleRoot, "docs", "files.md"))
	page, _, _ = strings.Cut(page, "\n## ")
	rows := strings.Split(page, "\n| ")[2:]
	if len(rows) != len(spots) {
		t.Errorf("%d rows, %d places", len(rows), len(spots))
	}
	for i, row := range rows {
		if i < len(spots) && !strings.HasPrefix(row, spots[i].row) {
			t.Errorf("row %d begins with %.40q, want %q", i, row, spots[i].row)
		}
	}
	g := newGround(t)
	used := map[*spot]bool{}
	for _, args := range g.commands() {
		g.run(args, func(c *exec.Cmd) {
			seen, _ := trace(t, c)
			for _, a := range seen {
				s := spotOf(strings.TrimPrefix(a.path, g.dir+"/"))
				if used[s] = true; s == nil && writes(a) {
					t.Errorf("pigrep %q: %s of %s, which no row of docs/files.md names", args, a.call, a.path)
				}
			}
		})
	}
	for i := range spots {
		if !used[&spots[i]] {
			t.Errorf("no command writes to %s: the trace is blind, or the row is wrong", spots[i].row)
		}
	}
	g.onlyKnown()
}

// writes reports whether a call changes something on a disk.
func writes(a access) bool {
	switch a.call {
	case "open", "openat":
		return a.flags&(syscall.O_WRONLY|syscall.O_RDWR|syscall.O_CREAT|syscall.O_TRUNC) != 0 && !strings.HasPrefix(a.path, "/dev/")
	case "openat2", "creat", "truncate", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat", "chmod", "fchmodat", "chown", "fchownat", "mkdir", "mkdirat", "symlink", "symlinkat", "mknodat":
		return true
	}
	return false
}

// thing is something foreign that may be at a place.
type thing struct {
	name string
	put  func(g *ground, path string) error
	// changes reports whether a place changes, without and with --force.
	changes func(s *spot, force bool) bool
}

func never(*spot, bool) bool { return false }

var things = []thing{
	{"file", func(_ *ground, path string) error { return os.WriteFile(path, []byte("# precious\n"), 0o640) },
		func(s *spot, force bool) bool { return !s.never && (force || !s.force) && s.pattern != sessionsDir }},
	{"link", func(g *ground, path string) error {
		target := g.outside(path)
		return errors.Join(os.WriteFile(target, []byte("# precious\n"), 0o640), os.Symlink(target, path))
	}, func(s *spot, force bool) bool { return s.linked && !s.never && (force || !s.force) }},
	{"pipe", func(_ *ground, path string) error { return syscall.Mkfifo(path, 0o640) }, never},
	{"dangling link", func(g *ground, path string) error { return os.Symlink(g.outside(path), path) },
		func(s *spot, _ bool) bool { return s.linked }},
	{"directory", func(_ *ground, path string) error { return os.Mkdir(path, 0o750) },
		func(s *spot, force bool) bool { return s.pattern == sessionsDir && force }},
	{"socket", func(_ *ground, path string) error {
		return syscall.Mknod(path, syscall.S_IFSOCK|0o640, 0)
	}, never},
	{"device", func(_ *ground, path string) error {
		return syscall.Mknod(path, syscall.S_IFCHR|0o640, int(unix.Mkdev(1, 3))) // null
	}, never},
	{"disk", func(_ *ground, path string) error {
		return syscall.Mknod(path, syscall.S_IFBLK|0o640, int(unix.Mkdev(240, 99))) // none has it
	}, never},
}

// outside is where a link at a path leads to.
func (g *ground) outside(path string) string {
	return filepath.Join(g.dir, "outside", strings.ReplaceAll(strings.TrimPrefix(path, g.dir+"/"), "/", "-"))
}

// state describes what is at a path, and at the end of a link that is there.
func (g *ground) state(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "nothing"
	}
	s := info.Sys().(*syscall.Stat_t)
	text := fmt.Sprint(info.Mode(), " ", s.Rdev, " ", s.Uid)
	switch {
	case info.Mode().IsRegular():
		text += fmt.Sprintf(" %x", sha256.Sum256([]byte(readFile(g.t, path))))
	case info.IsDir():
		list, _ := os.ReadDir(path)
		text += fmt.Sprint(" ", s.Ino, " ", len(list))
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		text += fmt.Sprint(" ", s.Ino, " ", target, ": ", g.state(target))
	default:
		text += fmt.Sprint(" ", s.Ino)
	}
	return text
}

// taken lists what the commands have made outside the index and the archive: files, and the directory of
// sessions without its page, because one stands in for the other.
func (g *ground) taken() (list []string) {
	for _, path := range g.paths() {
		s := spotOf(path)
		info, err := os.Stat(filepath.Join(g.dir, path))
		if err == nil && s != nil && s.pattern != indexDir && s.pattern != keptDir && s.pattern != settings && info.IsDir() == (path == "work/all-sessions") && !strings.HasPrefix(path, "work/all-sessions/") && path != "work/all.html" {
			list = append(list, path)
		}
	}
	return list
}

// settings is the path of the settings file.
const settings = "home/.config/pigrep/config.toml"

// notOurs are files with our name that only the user or a package writes.
var notOurs = []string{
	"home/.bashrc", "home/.config/fish/completions/pigrep.fish", "home/.local/share/bash-completion/completions/pigrep",
	"home/.local/share/man/man1/pigrep.1", "work/_pigrep", "work/pigrep.toml",
}

// Whatever is in a place that a command writes to is still there afterwards, unless it is a
// regular file that the command promises to replace.
func TestForeignFiles(t *testing.T) {
	testkit.Slow(t)
	first := newGround(t)
	for _, args := range first.commands() {
		first.run(args, plainly)
	}
	taken := first.taken()
	if len(taken) < 8 {
		t.Fatalf("only %q are written", taken)
	}
	taken = append(taken, notOurs...)
	for _, x := range things {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			testForeign(t, x, taken)
		})
	}
}

func testForeign(t *testing.T, x thing, taken []string) {
	g := newGround(t)
	before := map[string]string{}
	var pipes []*reading
	put := func(path string) {
		full := filepath.Join(g.dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), x.put(g, full)); errors.Is(err, syscall.EPERM) {
			t.Skip("only root makes devices")
		} else if err != nil {
			t.Fatal(err)
		}
		if x.name == "pipe" && path != settings {
			pipes = append(pipes, startReading(t, full))
		}
		before[path] = g.state(full)
		for ; path != "."; path = filepath.Dir(path) {
			g.old[path] = true
		}
	}
	for _, path := range taken {
		put(path)
	}
	for _, round := range []string{"", "--force", "settings"} {
		if round == "settings" {
			_ = os.Remove(filepath.Join(g.dir, settings)) // that keep wrote
			put(settings)                                 // few commands work with these
		}
		for _, args := range g.commands() {
			if round != "" && slices.Contains(args, "-o") {
				args = append(args, "--force")
			}
			g.run(args, plainly)
		}
		for path := range before {
			s, now := spotOf(path), g.state(filepath.Join(g.dir, path))
			if want := s != nil && x.changes(s, round != ""); (now != before[path]) != want {
				t.Errorf("round %q: %s is changed: %v, want %v\n%s\n%s", round, path, !want, want, before[path], now)
			}
			if was, is := before[path][0], now[0]; was != is {
				t.Errorf("round %q: %s is of another kind: %s", round, path, now)
			}
		}
	}
	for _, p := range pipes {
		s := spotOf(strings.TrimPrefix(p.file.Name(), g.dir+"/"))
		if got := p.stop(); got != (s != nil && s.users) {
			t.Errorf("the pipe %s is written into: %v", p.file.Name(), got)
		}
	}
	g.onlyKnown()
}

// onlyKnown fails if commands have made anything that no row lists.
func (g *ground) onlyKnown() {
	g.t.Helper()
	numbered := regexp.MustCompile(`-\d\.md$`)
	for _, path := range g.paths() {
		if !g.old[path] && spotOf(numbered.ReplaceAllString(path, ".md")) == nil && !strings.HasPrefix(path, "outside/") {
			g.t.Errorf("no row of docs/files.md names %s", path)
		}
	}
}

// reading reads a named pipe.
type reading struct {
	file *os.File
	last chan struct{}
	some bool
}

func startReading(t *testing.T, path string) *reading {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0) // reads without waiting for a writer
	if err != nil {
		t.Fatal(err)
	}
	r := &reading{file: f, last: make(chan struct{})}
	go func() {
		chunk := make([]byte, 1<<16)
		for {
			n, err := f.Read(chunk)
			if err != nil || n == 0 || chunk[n-1] == 0 {
				r.some = r.some || n > 1
				close(r.last)
				return
			}
			r.some = true
		}
	}()
	return r
}

// stop ends the reading and reports whether anybody has written.
func (r *reading) stop() bool {
	_, _ = r.file.Write([]byte{0})
	<-r.last
	r.file.Close()
	return r.some
}
