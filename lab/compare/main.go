//go:build linux

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
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
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
func compare(ctx context.Context, o *options, out io.Writer) (bool, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return false, fmt.Errorf("-only: %w", err)
	}
	allow, err := readAllowances(o.allow)
	if err != nil {
		return false, err
	}
	if o.work == "" {
		if o.work, err = os.MkdirTemp("", "pigrep-compare"); err != nil {
			return false, err
		}
		defer os.RemoveAll(o.work)
	}
	if o.work, err = filepath.Abs(o.work); err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Join(o.work, "home"), 0o755); err != nil {
		return false, err
	}
	unlock, err := lock(o.work)
	if err != nil {
		return false, err
	}
	defer unlock()
	repository, err := findRepository()
	if err != nil {
		return false, err
	}
	var more []string
	for _, root := range strings.FieldsFunc(o.roots, func(r rune) bool { return r == ',' }) {
		root, err := filepath.Abs(root)
		if err != nil {
			return false, err
		}
		more = append(more, root)
	}
	trees, err := findTrees(o.work, repository, o.fixtures, o.megabytes, more)
	if err != nil {
		return false, err
	}
	s := &suite{ctx: ctx, allow: allow, report: newReport(out, o.verbose)}
	if !o.list {
		if s.old, err = newProgram(o.old, "old", o.work); err != nil {
			return false, fmt.Errorf("-old: %w", err)
		}
		if s.new, err = newProgram(o.new, "new", o.work); err != nil {
			return false, fmt.Errorf("-new: %w", err)
		}
	}
	for _, t := range trees {
		sample, err := takeSample(t)
		if err != nil {
			return false, err
		}
		var asked []*query
		for _, q := range queries(sample) {
			if only.MatchString(q.line()) {
				asked = append(asked, q)
			}
		}
		if o.list {
			for _, q := range asked {
				fmt.Fprintln(out, q.line())
			}
			continue
		}
		if err := s.compareTree(t, asked); err != nil {
			return false, err
		}
	}
	if o.list {
		return true, nil
	}
	return s.report.finish(), nil
}

// lock keeps two runs out of the same work directory.
func lock(work string) (func(), error) {
	f, err := os.Create(filepath.Join(work, "lock"))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another run uses %s: %w", work, err)
	}
	return func() { f.Close() }, nil
}

// findRepository returns the nearest directory with a go.mod, from here upwards.
func findRepository() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the repository: no go.mod here or above")
		}
	}
	return "", err
}

// allowance is an intended difference.
type allowance struct {
	line   *regexp.Regexp
	reason string
}

func readAllowances(path string) ([]allowance, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("-allow: %w", err)
	}
	defer f.Close()
	var list []allowance
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if text := strings.TrimSpace(lines.Text()); text == "" || text[0] == '#' {
			continue
		}
		pattern, reason, ok := strings.Cut(lines.Text(), "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: want a regular expression, a tab and a reason", path, n)
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		list = append(list, allowance{re, strings.TrimSpace(reason)})
	}
	return list, lines.Err()
}

// suite compares two builds, one corpus after the other.
type suite struct {
	ctx      context.Context
	old, new *program
	allow    []allowance
	report   *report
}

// compareTree indexes a corpus with both builds and runs the queries.
func (s *suite) compareTree(t *corpusTree, asked []*query) error {
	if len(asked) == 0 {
		return nil
	}
	for _, p := range []*program{s.old, s.new} {
		fmt.Fprintf(os.Stderr, "%s: indexing with the %s build\n", t.name, p.side)
		if _, err := p.build(s.ctx, t); err != nil {
			return err
		}
	}
	results := make([]*result, len(asked))
	errs := make([]error, runtime.NumCPU())
	var next, done atomic.Int64
	var workers sync.WaitGroup
	for w := range errs {
		workers.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(asked) {
					return
				}
				results[i], errs[w] = s.ask(t, asked[i])
				done.Add(1)
			}
			next.Store(int64(len(asked)))
		})
	}
	finished := make(chan struct{})
	go func() { workers.Wait(); close(finished) }()
	for start := time.Now(); ; {
		select {
		case <-finished:
			for _, err := range errs {
				if err != nil {
					return err
				}
			}
			fmt.Fprintf(os.Stderr, "%s: %d queries in %.1f s\n", t.name, len(asked), time.Since(start).Seconds())
			s.report.add(t, results)
			return nil
		case <-time.After(3 * time.Second):
			fmt.Fprintf(os.Stderr, "%s: %d of %d\n", t.name, done.Load(), len(asked))
		}
	}
}

// ask runs one query on both builds. When the answers differ, both run it again:
// the cached answer may contain an age ("2 weeks ago") that has changed since.
// Otherwise a difference counts even if it does not come twice.
func (s *suite) ask(t *corpusTree, q *query) (*result, error) {
	r := &result{query: q}
	old, err := s.old.ask(s.ctx, t, q)
	if err != nil {
		return nil, err
	}
	new, err := s.new.run(s.ctx, t, q)
	if err != nil {
		return nil, err
	}
	if r.difference = s.differ(t, old, new); r.difference == "" {
		return r, nil
	}
	oldAgain, err := s.old.askAgain(s.ctx, t, q)
	if err != nil {
		return nil, err
	}
	newAgain, err := s.new.run(s.ctx, t, q)
	if err != nil {
		return nil, err
	}
	again := s.differ(t, oldAgain, newAgain)
	if dir := s.old.indexDir(t); normal(oldAgain, dir) != normal(old, dir) {
		r.difference = again
	}
	if r.difference == "" {
		return r, nil
	}
	r.unsteady = again != r.difference
	r.commands = [2]string{s.old.typed(t, q), s.new.typed(t, q)}
	for _, a := range s.allow {
		if a.line.MatchString(q.line()) {
			r.reason = a.reason
			break
		}
	}
	return r, nil
}

func (s *suite) differ(t *corpusTree, old, new answer) string {
	return difference(normal(old, s.old.indexDir(t)), normal(new, s.new.indexDir(t)))
}
