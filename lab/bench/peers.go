//go:build linux

package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pigrep/internal/session"
	"pigrep/lab/decode"
	"pigrep/lab/must"
)

// fts5 is an index of the texts of a tree in SQLite.
type fts5 struct {
	suite     *suite
	texts, db string
}

// fts5 extracts the texts of a tree for the import; nil without sqlite3.
func (b *suite) fts5(t *tree) *fts5 {
	if !b.have("sqlite3") {
		return nil
	}
	f := &fts5{b, t.index + ".texts", t.index + ".db"}
	out := must.Get(os.Create(f.texts))
	defer out.Close()
	c := exec.Command(b.self, "-part", "texts", t.dir)
	c.Stdout, c.Stderr = out, os.Stderr
	must.Do(c.Run(), "texts of ", t.dir)
	return f
}

// load imports the texts. detail=column leaves out positions, which nothing here
// asks FTS5 for.
func (f *fts5) load() cost {
	f.removeIndex()
	return f.suite.run("sqlite3", "-batch", "-cmd", "PRAGMA journal_mode=WAL", "-cmd", "PRAGMA synchronous=off",
		"-cmd", "CREATE VIRTUAL TABLE t USING fts5(body, content='', detail=column, tokenize='unicode61')",
		"-cmd", ".mode ascii", "-cmd", ".separator \x1f \x1e", f.db, ".import "+f.texts+" t")
}

// loaded removes the texts, which only the import needs, and returns the size of the
// database.
func (f *fts5) loaded() int64 {
	must.Do(os.Remove(f.texts))
	return must.Get(os.Stat(f.db)).Size()
}

func (f *fts5) removeIndex() {
	for _, path := range []string{f.db, f.db + "-wal", f.db + "-shm"} {
		must.Do(os.RemoveAll(path))
	}
}

// remove removes what is there.
func (f *fts5) remove() {
	if f != nil {
		os.Remove(f.texts)
		f.removeIndex()
	}
}

// query is the best rows that have any of the words.
func (f *fts5) query(words []string) []string {
	quoted := make([]string, len(words))
	for i, w := range words {
		word, prefix := strings.CutSuffix(w, "*")
		quoted[i] = `"` + word + `"`
		if prefix {
			quoted[i] += "*"
		}
	}
	return []string{"-batch", f.db, fmt.Sprintf("SELECT rowid FROM t('%s') ORDER BY rank LIMIT 20", strings.Join(quoted, " OR "))}
}

func (f *fts5) search(words []string) cost { return f.suite.run("sqlite3", f.query(words)...) }

// found fails unless a search finds something.
func (f *fts5) found(words []string) {
	if len(output("sqlite3", f.query(words)...)) == 0 {
		must.Fail("FTS5 finds no row with any of %q", words)
	}
}

// writeTexts writes the text of every part, ended by the byte 0x1e and with
// that byte, 0x1f and NUL left out, for the import of sqlite3.
func writeTexts(dir string, w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<20)
	clean := func(r rune) rune {
		if r == 0x1e || r == 0x1f || r == 0 {
			return -1
		}
		return r
	}
	for _, path := range sessionFiles(dir) {
		must.Do(decode.Parts(path, func(p *session.Part) {
			out.Write(bytes.Map(clean, p.Text))
			out.WriteByte(0x1e)
		}))
	}
	return out.Flush()
}

//go:embed picker.mjs
var pickerScript []byte

// mostForPicker is the largest corpus, in megabytes, that pi lists: each list of 8 GB takes
// minutes.
const mostForPicker = 1024

// picker is pi's own list of sessions, run by node.
type picker struct {
	dir     string // of pi's package
	script  string
	version string
}

// findPicker looks for pi on the PATH, as npm puts it there: a link to
// dist/cli.js of its package. Without it, or a node that runs it, it returns nil, and
// the page says so.
func (b *suite) findPicker() *picker {
	cli, err := exec.LookPath("pi")
	if err == nil {
		cli, err = filepath.EvalSymlinks(cli)
	}
	if err != nil || !b.have("node") {
		b.lacks("pi")
		return nil
	}
	p := &picker{dir: filepath.Dir(filepath.Dir(cli)), script: filepath.Join(b.work, "picker.mjs")}
	var about struct{ Name, Version string }
	data, err := os.ReadFile(filepath.Join(p.dir, "package.json"))
	if err == nil {
		err = json.Unmarshal(data, &about)
	}
	if err != nil || !strings.HasSuffix(about.Name, "/pi-coding-agent") {
		b.lacks(fmt.Sprintf("pi (%s is not of its package)", cli))
		return nil
	}
	p.version = about.Version
	must.Do(os.WriteFile(p.script, pickerScript, 0o644))
	if _, _, err := p.list(b, b.work, "", ""); err != nil {
		fmt.Fprintln(os.Stderr, "bench: pi is left out:", err)
		b.lacks(fmt.Sprintf("a node that runs pi %s", p.version))
		return nil
	}
	return p
}

// list has pi list the sessions below a directory, or of one working directory, or search
// them, and returns how many there were.
func (p *picker) list(b *suite, dir, cwd, query string) (took cost, found int, err error) {
	agent := filepath.Join(b.work, "agent-"+filepath.Base(dir))
	must.Do(os.MkdirAll(agent, 0o755))
	if err := os.Symlink(dir, filepath.Join(agent, "sessions")); !errors.Is(err, os.ErrExist) {
		must.Do(err)
	}
	c := exec.Command("node", p.script, p.dir, cwd, query)
	c.Env = append(os.Environ(), "PI_CODING_AGENT_DIR="+agent)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	var ms float64
	if err == nil {
		_, err = fmt.Sscan(string(out), &ms, &found)
	}
	if err != nil {
		return cost{}, 0, fmt.Errorf("node %s %s prints %q: %w\n%s", p.script, p.dir, out, err, &stderr)
	}
	return cost{wall: time.Duration(ms * float64(time.Millisecond)), rss: peakOf(c.ProcessState)}, found, nil
}

// sessions compares the list of sessions, and a search in it, with pi's picker.
// wanted is for the list of all directories.
func (b *suite) sessions(t *tree, wanted string) {
	dirs := t.directories()
	middle, largest := dirs[len(dirs)/2], dirs[len(dirs)-1]
	if b.about[t.name] != "" {
		b.about[t.name] += fmt.Sprintf(" Of %d directories, the median has %s, the largest %s.", len(dirs), middle, largest)
	}
	for _, l := range []struct{ name, cwd, query, wanted string }{
		{"sessions, median directory", middle.cwd, "", ""},
		{"sessions, largest directory", largest.cwd, "", ""},
		{"sessions, all directories", "", "", wanted},
		{"sessions, 2 words", "", "connection timeout", ""},
	} {
		args := strings.Fields(l.query)
		if l.cwd != "" {
			args = append(args, "--cwd", l.cwd)
		}
		listed := 0 // by pi
		var peers []peer
		if b.picker != nil && t.mb <= mostForPicker {
			peers = append(peers, peer{"pi", func() (took cost) {
				var err error
				took, listed, err = b.picker.list(b, t.dir, l.cwd, l.query)
				must.Do(err)
				return took
			}})
		}
		got := turns(b.slow(), func() cost { return b.program(t, "sessions", args...) }, peers...)
		r := rowOf(t, l.name, ms(got[0].wall)+", "+mb(got[0].rss), l.wanted)
		if len(got) > 1 {
			if l.query == "" { // pi searches other texts, by other rules
				b.lists(t, listed, args)
			}
			r = r.against("pi", ms(got[1].wall)+", "+mb(got[1].rss), ratio(got[0].wall, got[1].wall))
		}
		b.add(r)
	}
}

// lists fails unless this build lists so many sessions.
func (b *suite) lists(t *tree, n int, args []string) {
	if ours := bytes.Count(output(b.pigrep, t.command("sessions --print0", args...)...), []byte{0}); ours != n || ours == 0 {
		must.Fail("pigrep lists %d sessions of %s %q, pi %d", ours, t.name, args, n)
	}
}

// directory is a directory of session files, those of one working directory.
type directory struct {
	cwd   string
	files int
	size  int64
}

func (d *directory) String() string {
	return fmt.Sprintf("%d files of %.1f MB", d.files, float64(d.size)/1e6)
}

// directories lists those of a tree, the smallest first.
func (t *tree) directories() []*directory {
	found := map[string]*directory{}
	for _, path := range t.files {
		d := found[filepath.Dir(path)]
		if d == nil {
			d = &directory{cwd: cwdOf(path)}
			found[filepath.Dir(path)] = d
		}
		d.files++
		d.size += must.Get(os.Stat(path)).Size()
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *directory) int {
		return cmp.Or(cmp.Compare(a.size, b.size), strings.Compare(a.cwd, b.cwd))
	})
}

// cwdOf is the working directory that the header of a session file names.
func cwdOf(path string) string {
	f := must.Get(os.Open(path))
	defer f.Close()
	var header struct{ CWD string }
	must.Do(json.NewDecoder(f).Decode(&header), "header of ", path)
	return header.CWD
}

// pattern is something to look for exactly. A word of the texts is one of the
// file's bytes too, so both sides look for the same.
type pattern struct {
	name   string
	args   []string // flags and pattern, for both programs
	expr   string   // the same in RE2
	slow   bool     // takes long in a large corpus
	wanted string
}

func (t *tree) patterns() []pattern {
	rare := t.Rare[len(t.Rare)/2]
	piece := rare[1 : len(rare)-1]
	tail := "(^|[^a-z])" + rare + "(s|ed)?([^a-z]|$)" // \b is not the same for both
	return []pattern{
		{"rare word (-w)", []string{"-w", "-s", rare}, `\b` + rare + `\b`, false, "≤ 0.12"},
		{"piece of a rare word", []string{"-s", piece}, piece, false, "≤ 0.35"},
		{"expression with a rare word", []string{"-s", tail}, tail, false, "≤ 0.25"},
		{"common word", []string{"-s", "timeout"}, "timeout", false, "≤ 2"},
		{"very common word", []string{"-s", "error"}, "error", true, ""},
		{"no literal", []string{"-s", "[0-9a-f]{40}"}, "[0-9a-f]{40}", true, ""},
	}
}

// greps compares exact searches with ripgrep's: their time, and the lines of session
// files that they find.
func (b *suite) greps(t *tree) {
	for _, p := range t.patterns() {
		args := append([]string{"-c"}, p.args...)
		runs := b.runs
		if p.slow {
			runs = b.slow()
		}
		got := turns(runs, func() cost { return b.program(t, "grep --scope all", args...) }, b.ripgrep(t, func() []string { return args })...)
		r := rowOf(t, "grep: "+p.name, got[0].times(), t.atLarge(p.wanted))
		if len(got) > 1 {
			found := b.compared(t, p)
			r.here += fmt.Sprintf(", %d lines", found.Ours)
			r = r.against("rg", fmt.Sprintf("%s, %d lines", got[1].times(), found.Theirs), ratio(got[0].wall, got[1].wall))
			r.peers = append(r.peers, found.why()...)
		}
		b.add(r)
	}
	b.timed(t, "grep: first line of a common word", b.runs, "", func() cost {
		return b.firstByte(t.command("grep --scope all", "-s", "timeout")...)
	})
}

// comparison is two ways to find the same lines of session files, and what they find.
type comparison struct {
	Grep []string // prints JSON of each line with a match
	RG   []string // prints path:line:rest for each match
	Expr string

	Ours, Theirs int // lines
	NoText       int // of rg's, where bytes match that are no text: a key, an id, a signature
	Escaped      int // of grep's, where an escape of JSON hides the match from rg
}

// compared finds a pattern both ways, in a process of its own.
func (b *suite) compared(t *tree, p pattern) comparison {
	c := comparison{
		Grep: append([]string{b.pigrep}, t.command("grep --scope all --jsonl", p.args...)...),
		RG:   append(append([]string{"rg", "--no-ignore", "--hidden", "-n", "-o"}, p.args...), t.dir),
		Expr: p.expr,
	}
	b.part("compare", string(must.Get(json.Marshal(c))), &c)
	if c.Ours == 0 {
		must.Fail("grep finds no line of %q", p.args)
	}
	return c
}

// why explains a difference.
func (c comparison) why() []string {
	var why []string
	if c.NoText > 0 {
		why = append(why, fmt.Sprintf("%d of rg's only in bytes that are no text", c.NoText))
	}
	if c.Escaped > 0 {
		why = append(why, fmt.Sprintf("%d hidden from rg by an escape", c.Escaped))
	}
	return why
}

// run runs both commands. A line that only one of them finds, and that NoText and
// Escaped do not explain, is an error of grep's.
func (c *comparison) run() (err error) {
	defer must.Catch(&err)
	ours, theirs := places(c.Grep, ofJSON), places(c.RG, ofText)
	expr := must.Get(regexp.Compile(c.Expr))
	c.Ours, c.Theirs = len(ours), len(theirs)
	differ := map[string][]place{} // by file
	for _, pair := range [][2]map[place]bool{{ours, theirs}, {theirs, ours}} {
		for at := range pair[0] {
			if !pair[1][at] {
				differ[at.path] = append(differ[at.path], at)
			}
		}
	}
	for path, places := range differ {
		lines := readLines(path)
		for _, at := range places {
			if at.line < 1 || at.line > len(lines) {
				return fmt.Errorf("%s has no line %d", path, at.line)
			}
			inText := slices.ContainsFunc(lines[at.line-1].texts, expr.Match)
			inBytes := expr.Match(lines[at.line-1].data)
			switch {
			case ours[at] && inText && !inBytes:
				c.Escaped++
			case theirs[at] && !inText:
				c.NoText++
			default:
				return fmt.Errorf("line %d of %s is found by grep: %t, by rg: %t; %q is in a text: %t, in the bytes: %t",
					at.line, at.path, ours[at], theirs[at], c.Expr, inText, inBytes)
			}
		}
	}
	return nil
}

// place is a line of a session file.
type place struct {
	path string
	line int
}

// ofText reads path:line:rest.
func ofText(printed []byte) (at place) {
	path, rest, _ := bytes.Cut(printed, []byte(":"))
	number, _, _ := bytes.Cut(rest, []byte(":"))
	at.line, _ = strconv.Atoi(string(number)) // what is no number names no line
	at.path = string(path)
	return at
}

// ofJSON reads an object of grep: those of matches name a line of the session file.
func ofJSON(printed []byte) place {
	var object struct {
		Data struct {
			SessionPath string
			Line        int
		}
	}
	must.Do(json.Unmarshal(printed, &object), string(printed))
	return place{object.Data.SessionPath, object.Data.Line}
}

// places runs a command and collects what the lines that it prints name.
func places(command []string, of func(printed []byte) place) map[place]bool {
	c := exec.Command(command[0], command[1:]...)
	c.Stderr = os.Stderr
	out := must.Get(c.StdoutPipe())
	must.Do(c.Start())
	all := map[place]bool{}
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		if at := of(scanner.Bytes()); at.line > 0 {
			all[at] = true
		}
	}
	must.Do(scanner.Err())
	if err := c.Wait(); c.ProcessState.ExitCode() != 1 { // nothing found
		must.Do(err, strings.Join(command, " "))
	}
	return all
}

// rawLine is a line of a session file, and each line of the texts in it.
type rawLine struct {
	data  []byte
	texts [][]byte
}

func readLines(path string) (list []rawLine) {
	for raw := range bytes.Lines(must.Get(os.ReadFile(path))) {
		list = append(list, rawLine{data: bytes.TrimSuffix(raw, []byte("\n"))})
	}
	must.Get(decode.File(path, false, func(e *session.Entry) {
		l := &list[e.Line-1]
		for _, p := range e.Parts {
			for text := range bytes.Lines(bytes.Clone(p.Text)) {
				l.texts = append(l.texts, bytes.TrimSuffix(text, []byte("\n")))
			}
		}
	}))
	return list
}
