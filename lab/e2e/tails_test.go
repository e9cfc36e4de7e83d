package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/query/grep"
	"pigrep/scope"
)

// grepped returns the matches in the only session of an index, which may lack its end.
func grepped(t *testing.T, opt indexer.Options, r *index.Reader, spec filter.Spec, pattern string) (list []string) {
	t.Helper()
	spec.Scope = scope.All
	var files []grep.File
	for _, s := range r.Summaries() {
		files = append(files, grep.File{Path: s.Path, Known: &s, Indexed: s.Checkpoint.Offset})
	}
	in := grep.Input{Reader: r, Adapter: opt.Adapter, Source: disk{}, Files: files}
	_, err := grep.Run(t.Context(), in, grep.Request{Spec: spec, Patterns: []string{pattern}}, func(m *grep.Match) error {
		line := fmt.Sprintf("%d.%d %s %s %s %+v", m.At.Offset, m.At.Part, m.Kind, m.Role, m.Timestamp.Format("15:04:05.000"), m.Lines)
		list = append(list, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// someWords returns words of a text, which may be found any number of times.
func someWords(text string) map[string]int {
	words := make(map[string]int)
	all := regexp.MustCompile(`\b[a-z]{7,12}\b`).FindAllString(text, -1)
	for i := 0; i < len(all); i += 1 + len(all)/6 {
		words[all[i]] = -1
	}
	return words
}

// every matches in most texts, so that whole files are scanned.
const every = "[a-z]{3}"

// tailStory is a session file that grows by a number of lines.
type tailStory struct {
	file, text string
	step       int
	words      map[string]int // how often each is found
}

// Whatever part of a session is indexed, the rest of it is searched as the index would have
// it: in memory, and by grep in the file.
func TestUnindexedTails(t *testing.T) {
	t.Parallel()
	step, steps := testkit.HowMany(3, 1, 1), testkit.HowMany(3, 8, 8)
	stories := map[string]tailStory{
		"chat":   {filepath.Join(".chat", "attic.jsonl"), surprises, step, surprisingWords},
		"claude": {filepath.Join(".claude", "projects", claudeDir, claudeID+".jsonl"), strings.Join(claudeStory(), "\n") + "\n", step, map[string]int{"aardvark": 1, "badger": 1, "capybara": 1, "echidna": 1, "ibex": 2, "jackal": 1, "quokka": 0}},
	}
	files, err := filepath.Glob(filepath.Join(testkit.Fixtures(), "agents", "claude", "projects", "*", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if base := filepath.Base(path); len(text) < testkit.HowMany(32_000, 150_000, 150_000) {
			stories[base] = tailStory{filepath.Join(".claude", "projects", "fixtures", base), string(text), 1 + strings.Count(string(text), "\n")/steps, someWords(string(text))}
		}
	}
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			a := newAttic(t, home)
			a.file = filepath.Join(home, story.file)
			var readers []*index.Reader
			lines := strings.SplitAfter(story.text, "\n")
			for at := 0; at < len(lines); at += story.step {
				if appendTo(t, a.file, strings.Join(lines[at:min(at+story.step, len(lines))], "")); at > 0 {
					o := a.opt
					o.Memory = true
					pending, err := indexer.Update(t.Context(), o)
					if err != nil {
						t.Fatal(err)
					}
					inMemory := state(t, pending.Reader)
					pending.Reader.Close()
					readers = append(readers, a.update(t))
					if diff := testkit.Diff(state(t, readers[len(readers)-1]), inMemory); diff != "" {
						t.Fatalf("line %d in memory (-on disk +in memory):\n%s", at, diff)
					}
					continue
				}
				readers = append(readers, a.update(t))
			}
			whole := readers[len(readers)-1]
			all := grepped(t, a.opt, whole, filter.Spec{}, every) // which scans the whole file
			for word, want := range story.words {
				in := func(line string) bool {
					_, text, _ := strings.Cut(line, "[{")
					return strings.Contains(strings.ToLower(text), word)
				}
				found := grepped(t, a.opt, whole, filter.Spec{}, word)
				if len(found) != want && want >= 0 || len(slices.DeleteFunc(slices.Clone(all), func(line string) bool { return !in(line) })) != len(found) {
					t.Errorf("%q matches in %q by the index, of %q", word, found, all)
				}
				for name, spec := range map[string]filter.Spec{"all": {}, "tool": {Tools: []string{"run", "Bash"}}, "model": {Models: []string{"oracle", "claude"}}, "active": {Branch: "active"}} {
					want := grepped(t, a.opt, whole, spec, word)
					for i, r := range readers {
						if diff := testkit.Diff(want, grepped(t, a.opt, r, spec, word)); diff != "" {
							t.Fatalf("%s, %s, with %d of %d steps in the index (-whole +tail scanned):\n%s", word, name, i+1, len(readers), diff)
						}
					}
				}
			}
		})
	}
}
