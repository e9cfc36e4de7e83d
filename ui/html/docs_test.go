package html

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestDocs writes docs/export.png with -update. It is not compared with what a browser
// shows now, because the fonts of each machine are different.
func TestDocs(t *testing.T) {
	const most = 200_000
	path := filepath.Join("..", "..", "docs", "export.png")
	if *update {
		session := filepath.Join("..", "..", "testdata", "sessions", "--home-dev-atlas--", "2026-03-02T09-15-00-000Z_0195562e-9a20-7c11-8f3a-5d2b6c7e8f90.jsonl")
		data, err := os.ReadFile(session)
		if err != nil {
			t.Fatal(err)
		}
		b := openBrowser(t)
		open(t, b, render(t, pageOf(t, session, string(data))), 1100, "light")
		picture, err := chromedp.Run(b, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > most {
		t.Errorf("%s has %d bytes, more than %d", path, info.Size(), most)
	}
}
