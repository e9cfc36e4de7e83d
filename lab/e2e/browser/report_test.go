package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/lab/browser"
	"pigrep/ui/cli"
)

// A report fits every window in every scheme, can be read, and asks nothing of anyone.
func TestReport(t *testing.T) {
	b := browser.Open(t, func(address string) bool { return strings.HasPrefix(address, "file://"+os.TempDir()) })
	for name, sessions := range map[string]func(dir string){
		"usual":   func(dir string) { copySessions(t, dir, samples, filepath.Dir(dir)) },
		"years":   func(dir string) { writeCalls(t, dir, 400, strings.Repeat("long-name-", 40)) },
		"hostile": func(dir string) { writeCalls(t, dir, 3, hostile) },
	} {
		page := filepath.Join(t.TempDir(), "report.html")
		root := filepath.Join(t.TempDir(), "sessions")
		sessions(root)
		a, _, errs := newApp(filepath.Dir(root))
		if code := cli.Run(t.Context(), a, []string{"report", "-o", page, "--session-dir", root, "--since", "4y"}); code != 0 {
			t.Fatalf("%s: exit code %d, %s", name, code, errs)
		}
		for _, look := range browser.Looks {
			b.Show("file://"+page, look, "footer")
			for _, state := range []string{"folded", "open"} {
				if state == "open" {
					browser.Value[int](b, `document.querySelectorAll("details").forEach(d => d.open = true), 1`)
				}
				b.Check(fmt.Sprintf("%s, %s, %s", name, look, state))
			}
			checkCharts(b, t, name+", "+look.String())
		}
	}
	for _, c := range b.Complaints() {
		t.Error(c)
	}
}

// checkCharts checks that text in charts keeps its size, and that bars are inside.
func checkCharts(b *browser.Browser, t *testing.T, at string) {
	t.Helper()
	if size := browser.Value[string](b, `getComputedStyle(document.querySelector(".chart text")).fontSize`); size != "12px" {
		t.Errorf("%s: text in a chart has %s", at, size)
	}
	outside := browser.Value[int](b, `[...document.querySelectorAll(".chart rect")].filter(r => r.getBoundingClientRect().right > r.closest(".chart").getBoundingClientRect().right + 1).length`)
	if outside > 0 {
		t.Errorf("%s: %d bars are outside of their chart", at, outside)
	}
}

const hostile = `</title></td></table><script>alert(1)</script><img src=x onerror=alert(2)><svg onload="alert(3)">` + "\x1b[31m\u202e"

// writeCalls makes n sessions, three days apart, whose project, model and tool have this name.
func writeCalls(t *testing.T, root string, n int, name string) {
	t.Helper()
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		at := shownNow().AddDate(0, 0, -3*i-1).Format("2006-01-02T15:04:05.000Z")
		lines := fmt.Sprintf(`{"type":"session","version":3,"id":"s%06d","timestamp":%q,"cwd":%q}
{"type":"message","id":"e1","parentId":null,"timestamp":%q,"message":{"role":"user","content":%q}}
{"type":"message","id":"e2","parentId":"e1","timestamp":%q,"message":{"role":"assistant","provider":"p","model":%q,"usage":{"input":1000,"output":7,"cost":{"total":1.5}},"content":[{"type":"toolCall","id":"c","name":%q,"arguments":{"path":%q}},{"type":"toolCall","id":"d","name":"bash","arguments":{"command":%q}}]}}
{"type":"message","id":"e3","parentId":"e2","timestamp":%q,"message":{"role":"toolResult","toolCallId":"d","toolName":"bash","isError":true,"content":[{"type":"text","text":%q}]}}
`, i, at, "/home/dev/"+name, at, name, at, name, name, "/"+name, "sudo rm -rf /"+name, at, name)
		lines = strings.ReplaceAll(lines, `\x1b`, `\u001b`) // which is no escape in JSON
		path := filepath.Join(root, fmt.Sprintf("s%06d.jsonl", i))
		if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, shownNow(), shownNow().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}
