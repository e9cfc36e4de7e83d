//go:build linux

// Command compare proves that two builds of pigrep give the same bytes. Each
// indexes the same session files from nothing; then both answer the same
// questions, and standard output, standard error and exit code are compared.
//
//	go run ./internal/lab/compare -old OLD -new NEW -work DIR
//
// The files are testdata/sessions, those below $PIGREP_FIXTURES, those named with
// -roots, and a generated corpus. The questions are made by the table of makers
// from words and names that occur in them, and are the same in every run. With
// -work the corpus and the answers of the old build are kept for the next run.
//
// A line of the report, and what -only and -allow match, is the name of a corpus,
// a colon and the command as it can be typed. The command imports nothing of what
// it compares.
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
	var o options
	flag.StringVar(&o.old, "old", "", "the program whose answers are right")
	flag.StringVar(&o.new, "new", "", "the program to compare with it")
	flag.StringVar(&o.work, "work", "", "keep the generated corpus, the indexes and the old answers in this directory")
	flag.Int64Var(&o.megabytes, "corpus", 300, "megabytes of generated session files; 0 for none")
	flag.StringVar(&o.roots, "roots", "", "more directories with session files, separated by commas")
	flag.StringVar(&o.only, "only", "", "only commands whose line matches this expression")
	flag.StringVar(&o.allow, "allow", "", "a file of differences that are meant: an expression for the line of the command, a tab, the reason")
	flag.BoolVar(&o.list, "list", false, "print the lines of the commands and run none")
	flag.BoolVar(&o.verbose, "v", false, "show every difference, not the first ones of a command")
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
	old, new, work, roots, only, allow string
	megabytes                          int64
	list, verbose                      bool
}

// compare reports whether all answers are the same, but for those that are
// allowed to differ.
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
	trees, err := findTrees(o.work, repository, os.Getenv("PIGREP_FIXTURES"), o.megabytes, more)
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
		var asked []*question
		for _, q := range questions(sample) {
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

// lock keeps two runs from sharing a directory.
func lock(work string) (func(), error) {
	f, err := os.Create(filepath.Join(work, "lock"))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another run works in %s: %w", work, err)
	}
	return func() { f.Close() }, nil
}

// findRepository returns the directory above the present one that has go.mod.
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

// allowance is a difference that is meant.
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
			return nil, fmt.Errorf("%s:%d: want an expression, a tab and a reason", path, n)
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		list = append(list, allowance{re, strings.TrimSpace(reason)})
	}
	return list, lines.Err()
}

// suite compares two programs corpus by corpus.
type suite struct {
	ctx      context.Context
	old, new *program
	allow    []allowance
	report   *report
}

// compareTree has both programs index a corpus and asks them the questions.
func (s *suite) compareTree(t *corpusTree, asked []*question) error {
	if len(asked) == 0 {
		return nil
	}
	for _, p := range []*program{s.old, s.new} {
		fmt.Fprintf(os.Stderr, "%s: the %s program indexes\n", t.name, p.side)
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
			fmt.Fprintf(os.Stderr, "%s: %d questions in %.1f s\n", t.name, len(asked), time.Since(start).Seconds())
			s.report.add(t, results)
			return nil
		case <-time.After(3 * time.Second):
			fmt.Fprintf(os.Stderr, "%s: %d of %d\n", t.name, done.Load(), len(asked))
		}
	}
}

// ask puts one question to both programs, and once more when they differ: a
// difference that does not come again is still one, but another kind of mistake.
func (s *suite) ask(t *corpusTree, q *question) (*result, error) {
	r := &result{question: q}
	old, err := s.old.ask(s.ctx, t, q)
	if err != nil {
		return nil, err
	}
	new, err := s.new.askNow(s.ctx, t, q)
	if err != nil {
		return nil, err
	}
	r.difference = s.differ(t, old, new)
	if r.difference == "" {
		return r, nil
	}
	for _, a := range s.allow {
		if a.line.MatchString(q.line()) {
			r.reason = a.reason
			return r, nil
		}
	}
	again, err := s.new.askNow(s.ctx, t, q)
	if err != nil {
		return nil, err
	}
	r.unsteady = s.differ(t, old, again) != r.difference
	r.commands = [2]string{s.old.typed(t, q), s.new.typed(t, q)}
	return r, nil
}

func (s *suite) differ(t *corpusTree, old, new answer) string {
	return difference(normal(old, s.old.indexDir(t)), normal(new, s.new.indexDir(t)))
}
