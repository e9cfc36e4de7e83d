package diff_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/adapter/pi"
	"pigrep/internal/diff"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
)

// What pi recorded of an edit and what its arguments say is the same change. Only the
// first and last lines of the arguments may be pieces of lines, and old versions wrote
// "$" for "$$".
func TestRecordedAndComputedDiffsAgree(t *testing.T) {
	roots := []string{"../../testdata/pi", "../../testdata/sessions"}
	if dir := os.Getenv("PIGREP_FIXTURES"); dir != "" {
		roots = append(roots, filepath.Join(dir, "real"))
	}
	edits, pieces := 0, 0
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".jsonl") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rec, err := entry.ReadRecord(pi.New(), path, bytes.NewReader(data), time.Unix(1, 0))
			if err != nil {
				return err
			}
			c := entry.NewConversation(pi.New(), rec, bytes.NewReader(data))
			for i := range rec.Nodes {
				e, err := c.Read(i)
				if err != nil {
					return err
				}
				for k := range e.View.Blocks {
					call := e.View.Blocks[k].Call
					if call == nil || len(call.Edits) == 0 || call.Diff == nil {
						continue
					}
					recorded := diff.Of(call)
					call.Diff = nil
					computed := diff.Of(call)
					edits++
					switch agree(call, recorded, computed) {
					case different:
						t.Errorf("%s, entry %s: recorded %+v\ncomputed %+v", path, e.ID, recorded, computed)
					case inPieces:
						pieces++
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if edits < 4 {
		t.Errorf("only %d edits", edits)
	}
	t.Logf("%d edits, %d of them of pieces of lines", edits, pieces)
}

const (
	equal = iota
	inPieces
	different
)

// agree compares how often each line was added, less how often it was removed: where
// lines repeat, two diffs may match different ones of them.
func agree(c *session.Call, recorded, computed []diff.File) int {
	count := func(files []diff.File) map[string]int {
		n := make(map[string]int)
		for _, f := range files {
			for _, h := range f.Hunks {
				for _, l := range h.Lines {
					text := strings.ReplaceAll(l.Text, "$$", "$")
					switch l.Kind {
					case diff.Added:
						n[text]++
					case diff.Removed:
						n[text]--
					}
				}
			}
		}
		return n
	}
	edges := make(map[string]bool)
	for _, e := range c.Edits {
		for _, s := range []string{string(e.Old), string(e.New)} {
			lines := strings.Split(s, "\n")
			edges[lines[0]], edges[lines[len(lines)-1]] = true, true
		}
	}
	result := equal
	r, n := count(recorded), count(computed)
	for line := range n {
		if n[line] == r[line] {
			continue
		}
		if !edges[line] {
			return different
		}
		result = inPieces
	}
	for line := range r {
		if n[line] == r[line] {
			continue
		}
		whole := false
		for edge := range edges {
			whole = whole || strings.Contains(line, edge)
		}
		if !whole {
			return different
		}
		result = inPieces
	}
	return result
}
