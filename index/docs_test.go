package index

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/index/bleve"
	"pigrep/index/segment"
)

// docs/index-format.md names every field, and every file that may lie in an index.
func TestFormatIsWrittenDown(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "docs", "index-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	names := []string{markerName, lockName, currentName, manifestName, bleve.Dir + "/", segment.Ext, segment.TrigramsExt, "`" + duplicatesName + "`", "`" + segment.FlagError + "`", "`" + segment.FlagCut + "`"}
	for _, f := range segment.Fields() {
		names = append(names, "`"+string(f)+"`")
	}
	for _, name := range names {
		if !strings.Contains(page, name) {
			t.Errorf("docs/index-format.md does not say what %s is", name)
		}
	}
}
