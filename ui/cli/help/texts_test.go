package help

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every text has the parts that help and manual need, its lines fit, and the tables that it
// names exist. Every file belongs to a topic or a command.
func TestTexts(t *testing.T) {
	placeholder := regexp.MustCompile(`(?m)^\{([a-z-]+)\}$`)
	root := []string{"commands", "main-flags"} // those of the help of pigrep, which knows the commands
	files, err := fs.Glob(texts, "*/*.txt")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d texts, error %v", len(files), err)
	}
	for _, file := range files {
		line, text := read(file)
		if line == "" || strings.Contains(line, "\n") || strings.HasSuffix(line, ".") || strings.TrimSpace(text) == "" {
			t.Errorf("%s: begins with %q, then %d bytes", file, line, len(text))
		}
		for l := range strings.Lines(text) {
			if len([]rune(l)) > 80+1 || strings.TrimRight(l, " \n") != strings.TrimSuffix(l, "\n") {
				t.Errorf("%s: a line is too wide, or ends in a space: %q", file, l)
			}
		}
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			if tables[m[1]] == nil && !slices.Contains(root, m[1]) {
				t.Errorf("%s: there is no table %s", file, m[1])
			}
		}
		if topic, ok := strings.CutPrefix(file, "topics/"); ok && Topic(strings.TrimSuffix(topic, ".txt")) == "" {
			t.Errorf("%s is no topic", file)
		}
	}
	for _, topic := range Topics {
		if text := Topic(topic); text == "" || placeholder.MatchString(text) {
			t.Errorf("topic %s: %q", topic, text)
		}
	}
}
