package e2e

import (
	"path/filepath"
	"slices"
	"testing"

	"pigrep/adapter/claude"
	"pigrep/internal/session"
)

// A file that was empty at first, or had half a line, belongs to the agent that recognizes it
// when it can be recognized.
func TestFileThatIsRecognizedLate(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"empty": "", "half a line": claudeStory()[1][:100], "a blank line": "\n", "an unknown line": `{"neither":"nor"}` + "\n"} {
		h := homeOf(t, t.TempDir(), everyAgent()...)
		path := filepath.Join(h.dir, claudeID+".jsonl")
		appendTo(t, path, first)
		h.update(t)
		if name == "half a line" {
			appendTo(t, path, claudeStory()[1][100:]+"\n")
		}
		h.grow(t, path, claudeStory()[2]+"\n", claudeStory()[3]+"\n")
		if s := ofFile(h.update(t), path); !slices.ContainsFunc(s, func(s session.Summary) bool { return s.Agent == claude.Name && s.ID == claudeID }) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
