//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
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

func newProgram(path, side, work string) (*program, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &program{path: path, key: fmt.Sprintf("%x", h.Sum(nil))[:16], side: side, work: work}, nil
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
func (p *program) run(ctx context.Context, t *corpusTree, q *query) (answer, error) {
	if q.builds {
		return p.build(ctx, t)
	}
	return p.exec(ctx, t, q)
}

func (p *program) exec(ctx context.Context, t *corpusTree, q *query) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	c := exec.CommandContext(ctx, p.path, p.command(t, q)...)
	home := filepath.Join(p.work, "home")
	c.Dir = home
	c.Env = environment(home, q.people)
	c.Stdin = strings.NewReader(q.stdin)
	stdout, stderr := newCapture(), newCapture()
	c.Stdout, c.Stderr = stdout, stderr
	err := c.Run()
	switch ctx.Err() {
	case context.DeadlineExceeded:
		return answer{Stderr: "stopped after " + timeLimit.String(), Code: -1}, nil
	case context.Canceled:
		return answer{}, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return answer{}, fmt.Errorf("run %s: %w", p.path, err)
	}
	return answer{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}, nil
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
func (p *program) build(ctx context.Context, t *corpusTree) (answer, error) {
	dir := p.indexDir(t)
	record := dir + ".built"
	var built struct {
		Key string
		answer
	}
	key := p.key + " " + t.key
	if load(record, &built) == nil && built.Key == key {
		return built.answer, nil
	}
	for _, old := range []string{record, dir} {
		if err := os.RemoveAll(old); err != nil {
			return answer{}, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return answer{}, err
	}
	a, err := p.exec(ctx, t, buildQuery(t.name))
	if err != nil {
		return answer{}, err
	}
	built.Key, built.answer = key, a
	return a, save(record, &built)
}

// cachePath returns the file that holds the answer.
func (p *program) cachePath(t *corpusTree, q *query) string {
	sum := sha256.Sum256([]byte(strings.Join(environment("", q.people), " ") + q.line()))
	return filepath.Join(p.work, "answers", p.key, t.key, fmt.Sprintf("%x", sum[:12]))
}

// ask returns the cached answer, or runs the query and caches its answer.
func (p *program) ask(ctx context.Context, t *corpusTree, q *query) (answer, error) {
	var a answer
	if load(p.cachePath(t, q), &a) == nil {
		return a, nil
	}
	return p.askAgain(ctx, t, q)
}

// askAgain runs the query and replaces the cached answer.
func (p *program) askAgain(ctx context.Context, t *corpusTree, q *query) (answer, error) {
	a, err := p.run(ctx, t, q)
	if err != nil {
		return a, err
	}
	return a, save(p.cachePath(t, q), &a)
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
func save(path string, value any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(value); err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// typed returns the complete command, ready to paste into a shell.
func (p *program) typed(t *corpusTree, q *query) string {
	var b strings.Builder
	if q.stdin != "" {
		b.WriteString("printf %s " + quote(q.stdin) + " | ")
	}
	for _, v := range environment(filepath.Join(p.work, "home"), q.people)[1:] {
		b.WriteString(v + " ")
	}
	b.WriteString(p.path)
	for _, a := range p.command(t, q) {
		b.WriteString(" " + quote(a))
	}
	return b.String()
}
