package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

// In a transcript an edit is a diff, which its result does not repeat. The structured
// answer has the texts as they are indexed.
func TestMCPReadsEditsAsDiffs(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat(`line\n`, 2000)
	data := `{"type":"session","version":3,"id":"01a1f7de-bbbb","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"edit","arguments":{"path":"a.go","edits":[{"oldText":"alpha","newText":"two"}],"dryRun":true}},{"type":"toolCall","id":"c2","name":"write","arguments":{"path":"b.txt","content":"` + long + `"}}]}}
{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"edit","content":[{"type":"text","text":"Done."}],"details":{"diff":" 6 x\n-7 alpha\n+7 two","note":"by hand"}}}
{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-03-01T10:00:03.000Z","message":{"role":"toolResult","toolCallId":"c2","toolName":"write","content":[{"type":"text","text":"Wrote it."}]}}
`
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	g := newAgent(t, dir)
	const edit = "(call edit)\ndryRun: true\na.go +1 -1\n@@ -6,2 +6,2 @@\n x\n-alpha\n+two\n"
	a, text, _ := g.call("read_session", `{"session":"01a1f7de","transcript":true}`)
	for _, want := range []string{edit, "(call write)\nb.txt +2000 -0\n@@ -0,0 +1,2000 @@\n+line\n+line\n", "bytes left out", "(details)\nby hand\n"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the transcript has %q %d times, want once:\n%.2000s", want, strings.Count(text, want), text)
		}
	}
	if n := strings.Count(text, "alpha"); n != 1 {
		t.Errorf("the transcript has the removed line %d times", n)
	}
	if len(a.Entries) != 3 || !strings.Contains(a.Entries[0].Parts[0].Text, "edits.0.oldText: alpha") {
		t.Errorf("the structured answer has changed: %+v", a.Entries)
	}

	// A result without its call shows what it has.
	if _, text, _ := g.call("read_session", `{"session":"01a1f7de:e2","around":0,"transcript":true}`); !strings.Contains(text, "-alpha\n+two\nby hand\n") {
		t.Errorf("the result alone is read as\n%s", text)
	}

	// A diff that is larger than a page comes as the pieces of its text.
	var whole strings.Builder
	cursor := ""
	for range 100 {
		a, text, size := g.call("read_session", fmt.Sprintf(`{"session":"01a1f7de","full":true,"transcript":true,"maxBytes":6000,"cursor":%q}`, cursor))
		if size > 6000 {
			t.Fatalf("%d bytes for a budget of 6000", size)
		}
		whole.WriteString(text)
		if cursor = a.NextCursor; cursor == "" {
			break
		}
	}
	if n := strings.Count(whole.String(), "line\n"); cursor != "" || n < 2000 {
		t.Errorf("the pages have %d of 2000 lines", n)
	}
}
