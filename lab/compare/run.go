package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"hash"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pigrep/lab/must"
)

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
