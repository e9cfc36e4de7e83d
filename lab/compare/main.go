// Command compare checks that two builds of pigrep give the same bytes. Each
// build indexes the same session files from scratch and answers the same queries;
// stdout, stderr and the exit code must be equal.
//
//	go run ./lab/compare -old OLD -new NEW
//
// The session files are testdata/sessions, the examples of risky commands and of
// secrets, those below $PIGREP_FIXTURES, those below -roots, and a generated corpus.
// queries.txt says what is asked, with words and names that the old build finds in
// these files; the list is the same in every run.
//
// -only and -allow match the line of a query: the corpus, a colon, and the command
// as typed in a shell. The package imports none of the code that it compares.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/lab/corpus"
	"pigrep/lab/must"
)

type options struct {
	old, new, work, fixtures, roots, only, allow string
	megabytes                                    int64
	list, verbose                                bool
}

func main() {
	o := options{fixtures: os.Getenv("PIGREP_FIXTURES")}
	flag.StringVar(&o.old, "old", "", "the build whose answers are right")
	flag.StringVar(&o.new, "new", "", "the build to compare with it")
	flag.StringVar(&o.work, "work", "", "keep the generated corpus and the indexes in this directory")
	flag.Int64Var(&o.megabytes, "corpus", 300, "size of the generated corpus in megabytes; 0 leaves it out")
	flag.StringVar(&o.roots, "roots", "", "more directories of session files, comma-separated")
	flag.StringVar(&o.only, "only", "", "run only the queries whose line matches this regular expression")
	flag.StringVar(&o.allow, "allow", "^$", "differences are intended where the line of a query matches this regular expression")
	flag.BoolVar(&o.list, "list", false, "print the lines of the queries and do not compare")
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

// compare reports whether all answers are equal, intended differences aside.
func compare(ctx context.Context, o *options, out io.Writer) (same bool, err error) {
	defer must.Catch(&err)
	only, err := regexp.Compile(o.only)
	must.Do(err, "-only")
	allow, err := regexp.Compile(o.allow)
	must.Do(err, "-allow")
	work := o.work
	if work == "" {
		work = must.Get(os.MkdirTemp("", "pigrep-compare"))
		defer os.RemoveAll(work)
	}
	work = must.Get(filepath.Abs(work))
	must.Do(os.MkdirAll(filepath.Join(work, "home"), 0o755))
	r := &report{out: out, all: o.verbose, allow: allow}
	for _, t := range findTrees(work, o) {
		old, new := newProgram(ctx, o.old, "old", work, t), newProgram(ctx, o.new, "new", work, t)
		results := []*result{{query: &old.build}}
		results[0].difference = difference(old.built, new.built)
		var asked []*query
		for _, q := range queries(t.name, old.values()) {
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
		start := time.Now()
		r.add(t, append(results, ask(old, new, asked)...))
		fmt.Fprintf(os.Stderr, "%s: %d queries in %.1f s\n", t.name, len(asked), time.Since(start).Seconds())
	}
	return o.list || r.finish(), nil
}

// ask asks both builds, and again if their answers differ: an age ("2 weeks ago") may
// have changed in between.
func ask(old, new *program, asked []*query) []*result {
	results := make([]*result, len(asked))
	var workers errgroup.Group
	workers.SetLimit(runtime.NumCPU())
	for i, q := range asked {
		workers.Go(func() (err error) {
			defer must.Catch(&err)
			r := &result{query: q, commands: [2]string{old.typed(q), new.typed(q)}}
			for range 2 {
				if r.difference = difference(old.run(q), new.run(q)); r.difference == "" {
					break
				}
			}
			results[i] = r
			return nil
		})
	}
	must.Do(workers.Wait())
	return results
}

// answer is everything a run of pigrep outputs.
type answer struct {
	Stdout, Stderr string
	Code           int
}

// program is one of the two builds, with its index of a corpus.
type program struct {
	ctx                         context.Context
	path, home, index, sessions string
	build                       query
	built                       answer
}

// newProgram indexes a corpus. The sides, old and new, are of equal length, because
// --max-bytes counts paths.
func newProgram(ctx context.Context, path, side, work string, t *tree) *program {
	p := &program{
		ctx: ctx, path: must.Get(filepath.Abs(path)), home: filepath.Join(work, "home"), index: filepath.Join(work, "index", side, t.name),
		build: query{corpus: t.name, words: []string{"index"}, args: []string{"--json"}}, sessions: strings.Join(t.roots, "\x00"),
	}
	must.Do(os.RemoveAll(p.index))
	p.built = p.run(&p.build)
	return p
}

const timeLimit = 2 * time.Minute

// run runs a query, and leaves out what two runs of one build may answer differently.
func (p *program) run(q *query) answer {
	ctx, cancel := context.WithTimeout(p.ctx, timeLimit)
	defer cancel()
	c := exec.CommandContext(ctx, p.path, p.command(q)...)
	c.Dir, c.Env, c.Stdin = p.home, p.environment(q), strings.NewReader(q.stdin)
	var stdout, stderr strings.Builder
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	must.Do(p.ctx.Err())
	if ctx.Err() != nil {
		return answer{Stderr: "stopped after " + timeLimit.String(), Code: -1}
	}
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		must.Do(err, "run ", p.path)
	}
	return answer{p.normal(stdout.String()), p.normal(stderr.String()), c.ProcessState.ExitCode()}
}

// command returns the arguments of a query with the directory flags added right
// after the command's name, before any -- ends the flags.
func (p *program) command(q *query) []string {
	args := append([]string{}, q.words...)
	for root := range strings.SplitSeq(p.sessions, "\x00") {
		args = append(args, "--session-dir", root)
	}
	return append(append(args, "--index-dir", p.index), q.args...)
}

// environment fixes everything an answer may depend on. The time zone differs from
// that of the data, so that a missing conversion shows. GOMAXPROCS sets the number
// of workers that build the index.
func (p *program) environment(q *query) []string {
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + p.home, "TZ=Europe/Berlin", "LANG=C.UTF-8", "COLUMNS=100", "TERM=xterm-256color", "PIGREP_CONFIG=none", "GOMAXPROCS=2"}
	if q.people {
		env = append(env, "FORCE_COLOR=1")
	}
	return env
}

// typed returns the complete command, ready to paste into a shell.
func (p *program) typed(q *query) string {
	return shellLine(q.stdin, p.environment(q)[1:], p.path, p.command(q))
}

// tree is a corpus: directories of session files with one index.
type tree struct {
	name  string
	roots []string
}

// findTrees returns the corpora in the order of comparison, the small ones first:
// most differences show there.
func findTrees(work string, o *options) (trees []*tree) {
	add := func(name string, roots ...string) {
		if len(roots) > 0 {
			trees = append(trees, &tree{name, roots})
		}
	}
	gomod, err := exec.Command("go", "env", "GOMOD").Output()
	must.Do(err, "find the repository")
	repository := filepath.Dir(strings.TrimSpace(string(gomod)))
	add("testdata", filepath.Join(repository, "testdata", "sessions"))
	add("examples", writeExamples(repository, filepath.Join(work, "examples")))
	if o.fixtures != "" {
		pi := filepath.Join(o.fixtures, "pi", "*", "home")
		add("fixtures", existing(filepath.Join(o.fixtures, "real"), filepath.Join(pi, ".pi", "agent", "sessions"), filepath.Join(pi, "flat-sessions"))...)
		add("agents", existing(filepath.Join(o.fixtures, "agents", "*"))...)
		add("lifecycle", copyStages(o.fixtures, filepath.Join(work, "lifecycle"))...)
	}
	for root := range strings.FieldsFuncSeq(o.roots, func(r rune) bool { return r == ',' }) {
		add(filepath.Base(root), must.Get(filepath.Abs(root)))
	}
	if o.megabytes > 0 {
		dir := filepath.Join(work, fmt.Sprintf("corpus-%d", o.megabytes))
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			must.Get(corpus.Generate(dir, corpus.Options{Seed: 1, Bytes: o.megabytes * 1_000_000}))
		}
		add("generated", dir)
	}
	return trees
}

// existing returns the directories that match the patterns.
func existing(patterns ...string) (dirs []string) {
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern)
		for _, dir := range found {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// copyStages copies the snapshots of changing files into one directory of session
// files, and returns it, if there are any.
func copyStages(fixtures, dir string) []string {
	stages, _ := filepath.Glob(filepath.Join(fixtures, "pi", "lifecycle", "*", "*.snapshot"))
	for _, stage := range stages {
		name := filepath.Base(filepath.Dir(stage)) + "-" + strings.TrimSuffix(filepath.Base(stage), ".snapshot")
		writeSession(filepath.Join(dir, name+".jsonl"), must.Get(os.ReadFile(stage)))
	}
	return existing(dir)
}

// sessionTime is the time of session files that compare writes.
var sessionTime = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

func writeSession(path string, data []byte) {
	must.Do(os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(os.WriteFile(path, data, 0o644))
	must.Do(os.Chtimes(path, sessionTime, sessionTime))
}

// writeExamples turns the repository's examples of risky commands and of secrets into a
// session, and returns its directory. No other corpus has them.
func writeExamples(repository, dir string) string {
	var text strings.Builder
	var last any // id of the entry before
	message := func(role string, content map[string]any, more map[string]any) {
		m := map[string]any{"role": role, "content": []any{content}}
		maps.Copy(m, more)
		id := fmt.Sprintf("%08x", text.Len())
		at := sessionTime.Add(time.Duration(text.Len()) * time.Millisecond)
		text.Write(must.Get(json.Marshal(map[string]any{"type": "message", "id": id, "parentId": last, "timestamp": at, "message": m})))
		text.WriteByte('\n')
		last = id
	}
	text.WriteString(`{"type":"session","version":3,"id":"01960001-0000-7000-8000-000000000001","timestamp":"2026-04-01T09:00:00.000Z","cwd":"/home/dev/app"}` + "\n")
	plain := strings.NewReplacer("«", "", "»", "", "·", "", `\n`, "\n")
	for _, pattern := range []string{"testdata/risky/*.txt", "internal/redact/testdata/*.txt"} {
		for _, file := range must.Get(filepath.Glob(filepath.Join(repository, pattern))) {
			for line := range strings.Lines(string(must.Get(os.ReadFile(file)))) {
				line = plain.Replace(strings.TrimSuffix(line, "\n"))
				switch {
				case line == "" || line[0] == '#':
				case strings.HasPrefix(pattern, "testdata"): // a sign, and a command or @tool and a path
					id, tool, args := fmt.Sprint(text.Len()), "bash", map[string]any{"command": line[2:]}
					if rest, ok := strings.CutPrefix(line[2:], "@"); ok {
						name, path, _ := strings.Cut(rest, " ")
						tool, args = name, map[string]any{"path": path}
					}
					message("assistant", map[string]any{"type": "toolCall", "id": id, "name": tool, "arguments": args},
						map[string]any{"provider": "anthropic", "model": "claude-sonnet-4-5", "usage": map[string]any{"input": len(line), "cost": map[string]any{"total": 0.001}}})
					message("toolResult", map[string]any{"type": "text", "text": "output of " + line[2:]},
						map[string]any{"toolCallId": id, "toolName": tool, "isError": len(line)%3 == 0})
				default:
					message("user", map[string]any{"type": "text", "text": line}, nil)
				}
			}
		}
	}
	writeSession(filepath.Join(dir, "examples.jsonl"), []byte(text.String()))
	return dir
}
