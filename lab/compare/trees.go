package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pigrep/lab/corpus"
	"pigrep/lab/must"
)

// corpusTree is a set of session directories with one index.
type corpusTree struct {
	name  string
	roots []string
	files []string // sorted
	key   string   // a hash of paths, sizes and times
}

func newTree(name string, roots ...string) *corpusTree {
	t := &corpusTree{name: name, roots: roots}
	h := sha256.New()
	for _, root := range roots {
		fmt.Fprintln(h, root)
		must.Do(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, ".jsonl") {
				t.files = append(t.files, path)
			}
			fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
			return nil
		}))
	}
	if len(t.files) == 0 {
		must.Fail("no session files in %s", strings.Join(roots, ", "))
	}
	slices.Sort(t.files)
	t.key = fmt.Sprintf("%x", h.Sum(nil))[:16]
	return t
}

// findTrees returns the corpora in the order of comparison, the small ones first:
// most differences show there.
func findTrees(work string, o *options) (trees []*corpusTree) {
	add := func(name string, roots ...string) {
		if len(roots) > 0 {
			trees = append(trees, newTree(name, roots...))
		}
	}
	repository := repository()
	add("testdata", filepath.Join(repository, "testdata", "sessions"))
	add("examples", writeExamples(repository, filepath.Join(work, "examples")))
	if o.fixtures != "" {
		pi := filepath.Join(o.fixtures, "pi", "*", "home")
		add("fixtures", existing(filepath.Join(o.fixtures, "real"), filepath.Join(pi, ".pi", "agent", "sessions"), filepath.Join(pi, "flat-sessions"))...)
		add("lifecycle", lifecycle(o.fixtures, filepath.Join(work, "lifecycle"))...)
		add("agents", existing(filepath.Join(o.fixtures, "agents", "*"))...)
	}
	for _, root := range strings.FieldsFunc(o.roots, func(r rune) bool { return r == ',' }) {
		add(filepath.Base(root), must.Get(filepath.Abs(root)))
	}
	if o.megabytes > 0 {
		add("generated", generate(filepath.Join(work, fmt.Sprintf("corpus-%d", o.megabytes)), o.megabytes))
	}
	return trees
}

// existing returns the directories that match the patterns.
func existing(patterns ...string) []string {
	var dirs []string
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

// generate writes the corpus, unless it exists. A file beside it marks it as
// complete; it cannot be renamed into place, because forks name their parents by
// path.
func generate(dir string, megabytes int64) string {
	complete := dir + ".complete"
	if _, err := os.Stat(complete); err == nil {
		return dir
	}
	must.Do(os.RemoveAll(dir))
	must.Get(corpus.Generate(dir, corpus.Options{Seed: 1, Bytes: megabytes * 1_000_000}))
	must.Do(os.WriteFile(complete, nil, 0o644))
	return dir
}

// lifecycle copies the snapshots of changing files into one flat directory of
// session files, with their times, and returns it, if there are any.
func lifecycle(fixtures, dir string) []string {
	stages, _ := filepath.Glob(filepath.Join(fixtures, "pi", "lifecycle", "*", "*.snapshot"))
	for _, stage := range stages {
		story := filepath.Base(filepath.Dir(stage))
		to := filepath.Join(dir, story+"-"+strings.TrimSuffix(filepath.Base(stage), ".snapshot")+".jsonl")
		writeSession(to, must.Get(os.ReadFile(stage)), must.Get(os.Stat(stage)).ModTime())
	}
	return existing(dir)
}

// writeSession writes a session file with this time, unless it is there: to an
// index that exists, a file written again would be a changed one.
func writeSession(path string, data []byte, modified time.Time) {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) && must.Get(os.Stat(path)).ModTime().Equal(modified) {
		return
	}
	must.Do(os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(os.WriteFile(path, data, 0o644))
	must.Do(os.Chtimes(path, modified, modified))
}

// writeExamples turns the repository's examples of risky commands and of secrets
// into session files, one for each file of examples, and returns their directory. No other
// corpus has them.
func writeExamples(repository, dir string) string {
	number := 0
	for _, pattern := range []string{"testdata/risky/*.txt", "internal/redact/testdata/*.txt"} {
		files, _ := filepath.Glob(filepath.Join(repository, pattern))
		if len(files) == 0 {
			must.Fail("no examples in %s", pattern)
		}
		for _, file := range files {
			number++
			s := &exampleSession{now: time.Date(2026, 4, 1+number, 9, 0, 0, 0, time.UTC)}
			id := fmt.Sprintf("0196%04x-0000-7000-8000-%012x", number, s.now.Unix())
			s.line(map[string]any{"type": "session", "version": 3, "id": id, "cwd": "/home/dev/app"})
			s.entry("session_info", map[string]any{"name": "Examples of " + strings.TrimSuffix(filepath.Base(file), ".txt")})
			for line := range strings.Lines(string(must.Get(os.ReadFile(file)))) {
				s.example(strings.TrimSuffix(line, "\n"))
			}
			writeSession(filepath.Join(dir, "2026-04-01T09-00-00-000Z_"+id+".jsonl"), s.text.Bytes(), s.now)
		}
	}
	return dir
}

// exampleSession collects the lines of one session file.
type exampleSession struct {
	now  time.Time
	last string // id of the entry before
	text bytes.Buffer
}

func (s *exampleSession) line(fields map[string]any) {
	fields["timestamp"] = s.now.Format("2006-01-02T15:04:05.000Z")
	s.text.Write(append(must.Get(json.Marshal(fields)), '\n'))
	s.now = s.now.Add(1237 * time.Millisecond)
}

func (s *exampleSession) entry(kind string, fields map[string]any) {
	var parent any
	if s.last != "" {
		parent = s.last
	}
	s.last = fmt.Sprintf("%08x", 0xa0000000+s.text.Len())
	fields["type"], fields["id"], fields["parentId"] = kind, s.last, parent
	s.line(fields)
}

func (s *exampleSession) message(fields map[string]any) {
	s.entry("message", map[string]any{"message": fields})
}

// example adds a line of a file of examples: a sign and a command, or @tool and a
// path; or a text with a secret, after the name of the rule.
func (s *exampleSession) example(line string) {
	text := strings.NewReplacer("«", "", "»", "", "·", "", `\n`, "\n").Replace(line)
	switch {
	case line == "" || line[0] == '#':
	case line[0] == '+' || line[0] == '-':
		id, tool, args := fmt.Sprintf("call-%d", s.text.Len()), "bash", map[string]any{"command": text[2:]}
		if rest, ok := strings.CutPrefix(text[2:], "@"); ok {
			name, path, _ := strings.Cut(rest, " ")
			tool, args = name, map[string]any{"path": path}
		}
		s.message(map[string]any{"role": "assistant", "provider": "anthropic", "model": "claude-sonnet-4-5",
			"usage":   map[string]any{"input": len(line), "output": 7, "cost": map[string]any{"total": 0.001}},
			"content": []any{map[string]any{"type": "toolCall", "id": id, "name": tool, "arguments": args}}})
		s.message(map[string]any{"role": "toolResult", "toolCallId": id, "toolName": tool, "isError": len(line)%3 == 0,
			"content": []any{map[string]any{"type": "text", "text": "output of " + text[2:]}}})
	default:
		if _, secret, ok := strings.Cut(text, "\t"); ok {
			text = secret
		}
		s.message(map[string]any{"role": "user", "content": text})
	}
}
