//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

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
	rare := t.rare[len(t.rare)/2]
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
func (b *suite) greps(t *tree) error {
	here := func(args ...string) (cost, error) {
		return b.program(t, "grep", append([]string{"--scope", "all"}, args...)...)
	}
	for _, p := range t.patterns() {
		args := append([]string{"-c"}, p.args...)
		runs := b.runs
		if p.slow {
			runs = b.slow()
		}
		got, err := b.beside(runs,
			func() (cost, error) { return here(args...) },
			func() (cost, error) { return b.ripgrep(t, args...) })
		if err != nil {
			return err
		}
		r := rowOf(t, "grep: "+p.name, got[0].times(), t.atLarge(p.wanted))
		if len(got) > 1 {
			found, err := b.compared(t, p)
			if err != nil {
				return err
			}
			r.here += fmt.Sprintf(", %d lines", found.Ours)
			r = r.against("rg", fmt.Sprintf("%s, %d lines", got[1].times(), found.Theirs), ratio(got[0].wall, got[1].wall))
			r.peers = append(r.peers, found.why()...)
		}
		b.add(r)
	}
	first, err := turns(b.runs, func() (cost, error) {
		return b.firstByte("grep", "--scope", "all", "--session-dir", t.dir, "--index-dir", t.index, "-s", "timeout")
	})
	if err != nil {
		return err
	}
	b.add(timed(t, "grep: first line of a common word", first, ""))
	return nil
}

// comparison is two ways to find the same lines of session files, and what they find.
type comparison struct {
	Grep, RG []string // commands that print path:line:rest for each match
	Expr     string

	Ours, Theirs int // lines
	NoText       int // of rg's, where bytes match that are no text: a key, an id, a signature
	Escaped      int // of grep's, where an escape of JSON hides the match from rg
}

// compared finds a pattern both ways, in a process of its own.
func (b *suite) compared(t *tree, p pattern) (comparison, error) {
	c := comparison{
		Grep: append([]string{b.pigrep, "grep", "--scope", "all", "--vimgrep", "--session-dir", t.dir, "--index-dir", t.index}, p.args...),
		RG:   append(append([]string{"rg", "--no-ignore", "--hidden", "-n", "-o"}, p.args...), t.dir),
		Expr: p.expr,
	}
	question, err := json.Marshal(c)
	if err != nil {
		return c, err
	}
	cmd := exec.CommandContext(b.ctx, b.self, "-compare", string(question))
	cmd.Stderr = os.Stderr
	answer, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(answer, &c)
	}
	if err == nil && c.Ours == 0 {
		err = errors.New("there is none")
	}
	if err != nil {
		err = fmt.Errorf("compare the lines that grep and rg find of %q: %w", p.args, err)
	}
	return c, err
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
func (c *comparison) run(ctx context.Context) error {
	ours, err := places(ctx, c.Grep)
	if err != nil {
		return err
	}
	theirs, err := places(ctx, c.RG)
	if err != nil {
		return err
	}
	expr, err := regexp.Compile(c.Expr)
	if err != nil {
		return err
	}
	c.Ours, c.Theirs = len(ours), len(theirs)
	differ := map[string][]place{} // by file
	for at := range ours {
		if !theirs[at] {
			differ[at.path] = append(differ[at.path], at)
		}
	}
	for at := range theirs {
		if !ours[at] {
			differ[at.path] = append(differ[at.path], at)
		}
	}
	for path, places := range differ {
		lines, err := readLines(path)
		if err != nil {
			return err
		}
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

// places runs a command that prints path:line:rest for each match.
func places(ctx context.Context, command []string) (map[place]bool, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	all, last := map[place]bool{}, ""
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		path, rest, _ := strings.Cut(scanner.Text(), ":")
		number, _, _ := strings.Cut(rest, ":")
		if line, err := strconv.Atoi(number); err == nil {
			if path != last {
				last = strings.Clone(path) // not the whole line
			}
			all[place{last, line}] = true
		}
	}
	err = scanner.Err()
	if werr := c.Wait(); werr != nil && c.ProcessState.ExitCode() != 1 {
		err = werr
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, stderr.Bytes())
	}
	return all, err
}

// rawLine is a line of a session file, and each line of the texts in it.
type rawLine struct {
	data  []byte
	texts [][]byte
}

func readLines(path string) ([]rawLine, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []rawLine
	parser := pi.New().Parse(adapter.State{})
	r := jsonl.NewReader(bytes.NewReader(data), 0, 0)
	for raw := range bytes.Lines(data) {
		l := rawLine{data: bytes.TrimSuffix(raw, []byte("\n"))}
		line, err := r.Next()
		if err != nil {
			return nil, err
		}
		parser.Parse(line, func(e *session.Entry) {
			for _, p := range e.Parts {
				for text := range bytes.Lines(bytes.Clone(p.Text)) {
					l.texts = append(l.texts, bytes.TrimSuffix(text, []byte("\n")))
				}
			}
		})
		list = append(list, l)
	}
	return list, nil
}
