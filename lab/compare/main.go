// Command compare checks that two builds of pigrep give the same bytes. Each
// build indexes the same session files from scratch and answers the same queries;
// stdout, stderr and the exit code must be equal.
//
//	go run ./lab/compare -old OLD -new NEW -work DIR
//
// The session files are testdata/sessions, those below $PIGREP_FIXTURES, those
// below -roots, and a generated corpus. The makers build the queries from words
// and names that occur in these files; the list is the same in every run. -work
// keeps the generated corpus and the old build's answers for the next run.
//
// -only and -allow match the line of a query: the corpus, a colon, and the command
// as typed in a shell. The package imports none of the code that it compares.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"

	"pigrep/lab/must"
)

func main() {
	o := options{fixtures: os.Getenv("PIGREP_FIXTURES")}
	flag.StringVar(&o.old, "old", "", "the build whose answers are right")
	flag.StringVar(&o.new, "new", "", "the build to compare with it")
	flag.StringVar(&o.work, "work", "", "keep the generated corpus, the indexes and the old build's answers in this directory")
	flag.Int64Var(&o.megabytes, "corpus", 300, "size of the generated corpus in megabytes; 0 leaves it out")
	flag.StringVar(&o.roots, "roots", "", "more directories of session files, comma-separated")
	flag.StringVar(&o.only, "only", "", "run only the queries whose line matches this regular expression")
	flag.StringVar(&o.allow, "allow", "", "a file of intended differences, one a line: a regular expression for the line of a query, a tab, the reason")
	flag.BoolVar(&o.list, "list", false, "print the lines of the queries, run nothing")
	flag.BoolVar(&o.verbose, "v", false, "show every difference, not just the first of each command")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	same, err := compare(ctx, &o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

type options struct {
	old, new, work, fixtures, roots, only, allow string
	megabytes                                    int64
	list, verbose                                bool
}

// compare reports whether all answers are equal, intended differences aside.
func compare(ctx context.Context, o *options, out io.Writer) (same bool, err error) {
	defer must.Catch(&err)
	only, err := regexp.Compile(o.only)
	must.Do(err, "-only")
	allow := must.Get(readAllowances(o.allow))
	work := o.work
	if work == "" {
		work = must.Get(os.MkdirTemp("", "pigrep-compare"))
		defer os.RemoveAll(work)
	}
	work = must.Get(filepath.Abs(work))
	must.Do(os.MkdirAll(filepath.Join(work, "home"), 0o755))
	defer lock(work).Close()
	s := &suite{ctx: ctx, allow: allow, report: newReport(out, o.verbose)}
	if !o.list {
		s.old, s.new = newProgram(o.old, "old", work), newProgram(o.new, "new", work)
	}
	for _, t := range findTrees(work, o) {
		var asked []*query
		for _, q := range queries(takeSample(t)) {
			if only.MatchString(q.line()) {
				asked = append(asked, q)
			}
		}
		if !o.list {
			s.compareTree(t, asked)
			continue
		}
		for _, q := range asked {
			fmt.Fprintln(out, q.line())
		}
	}
	return o.list || s.report.finish(), nil
}

// lock keeps two runs out of the same work directory, until it is closed.
func lock(work string) *flock.Flock {
	l := flock.New(filepath.Join(work, "lock"))
	if !must.Get(l.TryLock()) {
		must.Fail("another run uses %s", work)
	}
	return l
}

// repository returns the directory of the module that the command runs in.
func repository() string {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	must.Do(err, "find the repository")
	return filepath.Dir(strings.TrimSpace(string(out)))
}

// allowance is an intended difference.
type allowance struct {
	line   *regexp.Regexp
	reason string
}

func readAllowances(path string) (list []allowance, err error) {
	defer must.Catch(&err)
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	must.Do(err, "-allow")
	for i, line := range strings.Split(string(data), "\n") {
		if text := strings.TrimSpace(line); text == "" || text[0] == '#' {
			continue
		}
		pattern, reason, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			must.Fail("%s:%d: want a regular expression, a tab and a reason", path, i+1)
		}
		re, err := regexp.Compile(pattern)
		must.Do(err, path, ":", i+1)
		list = append(list, allowance{re, strings.TrimSpace(reason)})
	}
	return list, nil
}

// suite compares two builds, one corpus after the other.
type suite struct {
	ctx      context.Context
	old, new *program
	allow    []allowance
	report   *report
}

// compareTree indexes a corpus with both builds and runs the queries.
func (s *suite) compareTree(t *corpusTree, asked []*query) {
	if len(asked) == 0 {
		return
	}
	for _, p := range []*program{s.old, s.new} {
		fmt.Fprintf(os.Stderr, "%s: indexing with the %s build\n", t.name, p.side)
		p.build(s.ctx, t)
	}
	results := make([]*result, len(asked))
	var done atomic.Int64
	start := time.Now()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		for {
			select {
			case <-finished:
				return
			case <-time.After(3 * time.Second):
				fmt.Fprintf(os.Stderr, "%s: %d of %d\n", t.name, done.Load(), len(asked))
			}
		}
	}()
	workers, ctx := errgroup.WithContext(s.ctx)
	workers.SetLimit(runtime.NumCPU())
	for i, q := range asked {
		workers.Go(func() (err error) {
			defer must.Catch(&err)
			results[i] = s.ask(ctx, t, q)
			done.Add(1)
			return nil
		})
	}
	must.Do(workers.Wait())
	fmt.Fprintf(os.Stderr, "%s: %d queries in %.1f s\n", t.name, len(asked), time.Since(start).Seconds())
	s.report.add(t, results)
}

// ask runs one query on both builds. When the answers differ, both run it again:
// the cached answer may contain an age ("2 weeks ago") that has changed since.
// Otherwise a difference counts even if it does not come twice.
func (s *suite) ask(ctx context.Context, t *corpusTree, q *query) *result {
	r := &result{query: q}
	old := s.old.ask(ctx, t, q)
	if r.difference = s.differ(t, old, s.new.run(ctx, t, q)); r.difference == "" {
		return r
	}
	oldAgain := s.old.askAgain(ctx, t, q)
	again := s.differ(t, oldAgain, s.new.run(ctx, t, q))
	if dir := s.old.indexDir(t); normal(oldAgain, dir) != normal(old, dir) {
		r.difference = again
	}
	if r.difference == "" {
		return r
	}
	r.unsteady = again != r.difference
	r.commands = [2]string{s.old.typed(t, q), s.new.typed(t, q)}
	if i := slices.IndexFunc(s.allow, func(a allowance) bool { return a.line.MatchString(q.line()) }); i >= 0 {
		r.reason = s.allow[i].reason
	}
	return r
}

func (s *suite) differ(t *corpusTree, old, new answer) string {
	return difference(normal(old, s.old.indexDir(t)), normal(new, s.new.indexDir(t)))
}

// answer is everything a run of pigrep outputs.
type answer struct {
	Stdout, Stderr string
	Code           int
}

// program is one of the two builds under comparison.
type program struct {
	path, key string // key is a hash of its bytes
	side      string // old or new: of equal length, because --max-bytes counts paths
	work      string
}

func newProgram(path, side, work string) *program {
	data, err := os.ReadFile(path)
	must.Do(err, "-", side)
	return &program{path: must.Get(filepath.Abs(path)), key: fmt.Sprintf("%x", sha256.Sum256(data))[:16], side: side, work: work}
}

func (p *program) indexDir(t *corpusTree) string {
	return filepath.Join(p.work, "index", p.side, t.name)
}

// command returns the arguments of a query with the directory flags added right
// after the command's name, before any -- ends the flags.
func (p *program) command(t *corpusTree, q *query) []string {
	n := len(q.words)
	args := slices.Clone(q.args[:n])
	for _, root := range t.roots {
		args = append(args, "--session-dir", root)
	}
	return append(append(args, "--index-dir", p.indexDir(t)), q.args[n:]...)
}

const timeLimit = 2 * time.Minute

// run runs a query; for the one that builds the index it returns the answer of
// that build.
func (p *program) run(ctx context.Context, t *corpusTree, q *query) answer {
	if q.builds {
		return p.build(ctx, t)
	}
	return p.exec(ctx, t, q)
}

func (p *program) exec(ctx context.Context, t *corpusTree, q *query) answer {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	c := exec.CommandContext(ctx, p.path, p.command(t, q)...)
	c.Dir = filepath.Join(p.work, "home")
	c.Env = environment(c.Dir, q.people)
	c.Stdin = strings.NewReader(q.stdin)
	stdout, stderr := newCapture(), newCapture()
	c.Stdout, c.Stderr = stdout, stderr
	err := c.Run()
	switch ctx.Err() {
	case context.DeadlineExceeded:
		return answer{Stderr: "stopped after " + timeLimit.String(), Code: -1}
	case context.Canceled:
		must.Do(ctx.Err())
	}
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		must.Do(err, "run ", p.path)
	}
	return answer{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
}

// capture keeps the beginning of a stream, and a hash of the rest: some queries
// return more than all session files together.
type capture struct {
	text []byte
	rest hash.Hash
	more int64 // bytes in rest
}

const captureBytes = 16 << 20

func newCapture() *capture { return &capture{rest: sha256.New()} }

func (c *capture) Write(p []byte) (int, error) {
	n := min(len(p), captureBytes-len(c.text))
	c.text = append(c.text, p[:n]...)
	c.rest.Write(p[n:])
	c.more += int64(len(p) - n)
	return len(p), nil
}

func (c *capture) String() string {
	if c.more == 0 {
		return string(c.text)
	}
	return fmt.Sprintf("%s\n… %d more bytes, SHA-256 %x\n", c.text, c.more, c.rest.Sum(nil))
}

// environment fixes everything an answer may depend on. The time zone differs from
// that of the data, so that a missing conversion shows. GOMAXPROCS sets the number
// of workers that build the index.
func environment(home string, people bool) []string {
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TZ=Europe/Berlin", "LANG=C.UTF-8", "COLUMNS=100", "TERM=xterm-256color", "PIGREP_CONFIG=none", "GOMAXPROCS=2"}
	if people {
		env = append(env, "FORCE_COLOR=1")
	}
	return env
}

// build indexes a corpus from scratch, unless the index of this program is already
// there, and returns the answer of the index command.
func (p *program) build(ctx context.Context, t *corpusTree) answer {
	dir := p.indexDir(t)
	record := dir + ".built"
	var built struct {
		Key string
		answer
	}
	key := p.key + " " + t.key
	if load(record, &built) == nil && built.Key == key {
		return built.answer
	}
	must.Do(errors.Join(os.RemoveAll(record), os.RemoveAll(dir), os.MkdirAll(filepath.Dir(dir), 0o755)))
	built.Key, built.answer = key, p.exec(ctx, t, buildQuery(t.name))
	save(record, &built)
	return built.answer
}

// cachePath returns the file that holds the answer.
func (p *program) cachePath(t *corpusTree, q *query) string {
	sum := sha256.Sum256([]byte(strings.Join(environment("", q.people), " ") + q.line()))
	return filepath.Join(p.work, "answers", p.key, t.key, fmt.Sprintf("%x", sum[:12]))
}

// ask returns the cached answer, or runs the query and caches its answer.
func (p *program) ask(ctx context.Context, t *corpusTree, q *query) (a answer) {
	if load(p.cachePath(t, q), &a) == nil {
		return a
	}
	return p.askAgain(ctx, t, q)
}

// askAgain runs the query and replaces the cached answer.
func (p *program) askAgain(ctx context.Context, t *corpusTree, q *query) answer {
	a := p.run(ctx, t, q)
	save(p.cachePath(t, q), &a)
	return a
}

func load(path string, value any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return gob.NewDecoder(f).Decode(value)
}

// save replaces the file in one step: an interrupted run leaves no partial answer.
func save(path string, value any) {
	must.Do(os.MkdirAll(filepath.Dir(path), 0o755))
	var b bytes.Buffer
	must.Do(gob.NewEncoder(&b).Encode(value))
	must.Do(os.WriteFile(path+".part", b.Bytes(), 0o644))
	must.Do(os.Rename(path+".part", path))
}

// typed returns the complete command, ready to paste into a shell.
func (p *program) typed(t *corpusTree, q *query) string {
	return shellLine(q.stdin, environment(filepath.Join(p.work, "home"), q.people)[1:], p.path, p.command(t, q))
}
