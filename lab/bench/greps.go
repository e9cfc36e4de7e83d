//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pigrep/internal/session"
	"pigrep/lab/decode"
	"pigrep/lab/must"
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
	Grep, RG []string // commands that print path:line:rest for each match
	Expr     string

	Ours, Theirs int // lines
	NoText       int // of rg's, where bytes match that are no text: a key, an id, a signature
	Escaped      int // of grep's, where an escape of JSON hides the match from rg
}

// compared finds a pattern both ways, in a process of its own.
func (b *suite) compared(t *tree, p pattern) comparison {
	c := comparison{
		Grep: append([]string{b.pigrep}, t.command("grep --scope all --vimgrep", p.args...)...),
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
	ours, theirs := places(c.Grep), places(c.RG)
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

// places runs a command that prints path:line:rest for each match.
func places(command []string) map[place]bool {
	c := exec.Command(command[0], command[1:]...)
	c.Stderr = os.Stderr
	out := must.Get(c.StdoutPipe())
	must.Do(c.Start())
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
