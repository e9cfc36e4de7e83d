//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pigrep/lab/must"
)

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
