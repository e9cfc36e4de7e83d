package html

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Edits are diffs, and nothing else that their calls and results have is lost.
func TestEdits(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "show", "testdata", "edits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	const lost = `{"type":"message","id":"r7","parentId":"` // answers no call of the session
	answer := result("r6", "r5", "c4", "edit", "Done.", `,"details":{"diff":"-1 first\n+1 zweite","note":"by an extension"}`)
	text := strings.Replace(string(data), lost+"r5", answer+lost+"r6", 1)
	out := strip(render(t, pageOf(t, "/s.jsonl", text)))
	for _, want := range []string{
		"return items[:0]", "dryRun", "Could not find the exact text", "b.go", "c.go, deleted",
		"no new text", "newText is missing", // of a call that makes no sense
		"alone", "together", // of a result without its call
		"zweite", "by an extension",
	} {
		if n := strings.Count(out, want); n != 1 {
			t.Errorf("the page has %q %d times, want once", want, n)
		}
	}
}
