package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pgregory.net/rapid"

	"pigrep/lab/stories"
)

// vocabulary has words that folding, cutting and looser matches may get wrong.
var vocabulary = []string{
	"timeout", "kernel", "Quartz", "ECONNREFUSED", "café", "CAFÉ", "Straße", "naïve", "GitHub", "github", "GitHub Actions", "Github actions",
	"getUserName", "get_user_name", "getUserNameById", "user", "HTMLParser", "html_parser", "x9", "v1.2.3", "foo__bar", "_private", "__init__",
	"src/auth/login.ts", "login.ts", "src\\auth", "main.go:12", "--no-cache", "-race", "C++", "a->b", "don't", "exit code 137", "Exit  Code", "rm -rf", "a.b.c",
	"中文支持", "文支", "データ", "用getUser", "\x1b[31merror", "error: no", "[error]", "ﬁle", "file", "ＡＢＣ", "ΣΊΣΥΦΟΣ", "σίσυφος", "İstanbul", "🚀", "rename", "renaming", "conn", "connection",
	"the", "of", "127.0.0.1", "user@host", "#42", "$HOME", "100%", "\\\"quoted\\\"", "1e6", "iPhone15Pro", "aB", "ABc",
}

// Sessions draws session files. Each entry has its own time, apart from those that forks copy.
func Sessions() *rapid.Generator[Files] {
	return rapid.Custom(func(t *rapid.T) Files {
		w := writer{T: t}
		for i := range rapid.IntRange(1, 5).Draw(t, "sessions") {
			w.session(i)
		}
		return w.written
	})
}

type writer struct {
	*rapid.T
	written Files
	entries int
}

func (w *writer) session(i int) {
	s := stories.Story{
		Name: fmt.Sprintf("s%d", i), ID: fmt.Sprintf("01a1f%c-%d", "78"[i%2], i),
		CWD: rapid.SampledFrom([]string{"/home/ann/src/app", "/home/ann/src/app/web", "/home/bob/App", "/srv/data", ""}).Draw(w.T, "cwd"),
	}
	if i > 0 && rapid.Bool().Draw(w.T, "is a fork") {
		of := w.written[rapid.IntRange(0, i-1).Draw(w.T, "of")].Entries
		s.Entries = append(s.Entries, of[:rapid.IntRange(0, len(of)).Draw(w.T, "copied")]...)
	}
	for range rapid.IntRange(1, 8).Draw(w.T, "entries") {
		w.entries++
		turn := w.turn(s.Entries)
		turn.ID, turn.Minute = fmt.Sprintf("entry%03d", w.entries), 97*w.entries
		if len(s.Entries) > 1 && rapid.IntRange(0, 5).Draw(w.T, "branches") == 0 {
			turn.Parent = w.anEntry(s.Entries)
		}
		s.Entries = append(s.Entries, turn)
	}
	w.written = append(w.written, s)
}

func (w *writer) anEntry(of []stories.Turn) string {
	if len(of) == 0 {
		return "nothing"
	}
	return rapid.SampledFrom(of).Draw(w.T, "entry").ID
}

func (w *writer) text() string {
	words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 6).Draw(w.T, "text")
	return strings.Join(words, rapid.SampledFrom([]string{" ", " ", "\n", "  ", ", ", "", "_", ".", "\u00a0"}).Draw(w.T, "between"))
}

// turn draws an entry of any type.
func (w *writer) turn(before []stories.Turn) stories.Turn {
	text := w.text()
	fields := func(of string, more ...any) stories.Turn {
		turn := stories.Turn{Fields: map[string]any{"type": of}}
		for i := 0; i < len(more); i += 2 {
			turn.Fields[more[i].(string)] = more[i+1]
		}
		return turn
	}
	flag := func(what string) bool { return rapid.Bool().Draw(w.T, what) }
	switch rapid.IntRange(0, 17).Draw(w.T, "type") {
	case 0:
		return stories.Said(map[string]any{"type": "thinking", "thinking": text})
	case 1:
		return stories.Called("bash", map[string]any{"command": rapid.SampledFrom([]string{"go test -race ./...", "rm -rf /tmp/x", "cat main.go | grep timeout", text}).Draw(w.T, "command")})
	case 2:
		name := rapid.SampledFrom([]string{"main.go", "./src/auth/login.ts", "/srv/data/main.go", "../App/Login.ts"}).Draw(w.T, "path")
		return stories.Called("edit", map[string]any{"path": name, "newText": text})
	case 3, 4:
		return stories.Result(rapid.SampledFrom([]string{"bash", "edit", "read"}).Draw(w.T, "tool"), text, flag("failed"))
	case 5:
		return stories.Turn{Message: map[string]any{"role": "bashExecution", "command": "go test", "output": text, "exitCode": rapid.IntRange(0, 1).Draw(w.T, "code")}}
	case 6:
		return fields("compaction", "summary", text, "firstKeptEntryId", w.anEntry(before), "details", map[string]any{"readFiles": []string{"src/auth/login.ts"}, "modifiedFiles": []string{"main.go"}})
	case 7:
		return fields("custom_message", "customType", "note", "content", text)
	case 8:
		return fields("session_info", "name", text)
	case 9:
		return fields("label", "targetId", w.anEntry(before), "label", rapid.SampledFrom([]string{"keep", "Later", "kéep it", ""}).Draw(w.T, "label"))
	case 10:
		return fields("custom", "customType", "state", "data", map[string]any{"value": text})
	case 11:
		return fields("model_change", "provider", "acme", "modelId", "sonnet-4")
	case 12:
		return stories.Turn{Message: map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": text}, map[string]any{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
		}}}
	case 13:
		turn := stories.Reply(text)
		if flag("failed") {
			turn.Message["errorMessage"] = w.text()
		}
		turn.Message["model"] = "sonnet-4"
		return turn
	case 14, 15:
		return stories.Reply(text)
	}
	return stories.Prompt(text)
}

// Files are session files.
type Files []stories.Story

// Write writes the files into a directory, up to what share of each says, and returns their
// paths.
func (f Files) Write(dir string, share func() float64) (paths []string, err error) {
	for i := range f {
		path, text := filepath.Join(dir, f[i].Name+".jsonl"), f[i].Text()
		old, _ := os.ReadFile(path)
		n := max(len(old), int(float64(len(text))*share()))
		if err := os.WriteFile(path, []byte(text[:n]), 0o644); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// GoString writes the files as they are, for a failed check.
func (f Files) GoString() string {
	var b strings.Builder
	for i := range f {
		fmt.Fprintf(&b, "\n%s.jsonl:\n%s", f[i].Name, f[i].Text())
	}
	return b.String()
}
