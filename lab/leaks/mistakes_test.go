package leaks

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pigrep/internal/redact"
	"pigrep/lab/corpus"
)

// harmless has forms of text that look generated but are not secret.
var harmless = []struct {
	what string
	form *regexp.Regexp
}{
	{"hashes", regexp.MustCompile(`\b(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})\b`)},
	{"UUIDs", regexp.MustCompile(`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)},
	{"base64", regexp.MustCompile(`[A-Za-z0-9+/]{42,}={0,2}`)},
	{"minified", regexp.MustCompile(`[^\s"]*[;{(,][^\s]{200,}`)}, // by pieces of 64 bytes
}

// mistakes counts the harmless texts that are masked.
type mistakes struct {
	all, masked [4]int
	examples    []string
}

const piece = 64

func (m *mistakes) look(text string) {
	spans := redact.Find(text)
	for i, h := range harmless {
		for _, at := range h.form.FindAllStringIndex(text, -1) {
			if i == 3 {
				m.all[i] += (at[1] - at[0]) / piece
			} else {
				m.all[i]++
			}
			for _, s := range spans {
				if s.Start >= at[1] || s.End <= at[0] {
					continue
				}
				m.masked[i]++
				if len(m.examples) < 40 {
					m.examples = append(m.examples, fmt.Sprintf("%s: %q in %.160q", s.Rule, text[s.Start:min(s.End, s.Start+60)], text[max(0, s.Start-60):min(len(text), s.End+40)]))
				}
				break
			}
		}
	}
}

// session looks at the strings of a session file.
func (m *mistakes) session(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			m.look(v)
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	for line := range strings.Lines(string(data)) {
		var v any
		if json.Unmarshal([]byte(line), &v) == nil {
			walk(v)
		}
	}
}

// report fails if more than one in 1,000 is masked.
func (m *mistakes) report(t *testing.T) {
	all, masked := 0, 0
	for i, h := range harmless {
		t.Logf("%-9s %d of %d masked", h.what, m.masked[i], m.all[i])
		all += m.all[i]
		masked += m.masked[i]
	}
	if all == 0 || masked*1000 > all {
		t.Errorf("%d of %d are masked, want 1 of 1,000 at most", masked, all)
	}
	for _, x := range m.examples {
		t.Log(x)
	}
}

func sessions(t *testing.T, dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".jsonl") {
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		t.Fatalf("no session files in %s", dir)
	}
	return files
}

func TestRealSessionsStayAsTheyAre(t *testing.T) {
	dir := os.Getenv("PIGREP_FIXTURES")
	if dir == "" { // real sessions are not in the repository; the generated ones are always tested
		t.Skip("PIGREP_FIXTURES names no sessions")
	}
	var m mistakes
	for _, file := range sessions(t, filepath.Join(dir, "real")) {
		m.session(t, file)
	}
	m.report(t)
}

// The size of the generated sessions is LEAKS_MB.
func TestGeneratedSessionsStayAsTheyAre(t *testing.T) {
	mb, err := strconv.ParseInt(os.Getenv("LEAKS_MB"), 10, 64)
	if err != nil {
		mb = 20
	}
	dir := t.TempDir()
	if _, err := corpus.Generate(dir, corpus.Options{Seed: 1, Bytes: mb * 1e6}); err != nil {
		t.Fatal(err)
	}
	var m mistakes
	for _, file := range sessions(t, dir) {
		m.session(t, file)
	}
	m.report(t)
}

// Checksums of modules and packages, and minified scripts of Go's own tools.
func TestFilesOfOthersStayAsTheyAre(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSpace(string(out))
	var m mistakes
	for _, pattern := range []string{"../../go.sum", "go.sum", "../../packaging/go.sum", "../../extensions/pi/package-lock.json",
		root + "/src/internal/trace/traceviewer/static/*", root + "/src/cmd/vendor/golang.org/x/telemetry/package-lock.json"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m.look(string(data))
		}
	}
	m.report(t)
}
