//go:build unix

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"pigrep/lab/browser"
	"pigrep/lab/testkit"
)

// What one machine has is on the page before another one answers: at the first load, and while
// somebody types. The navigation has the machines instead of the index of this one.
func TestEarlyAnswersInABrowser(t *testing.T) {
	dir := t.TempDir()
	program, err := testkit.Build(dir)
	testkit.Check(t, err)
	host := func(name string) string {
		home := filepath.Join(dir, name)
		copySessions(t, filepath.Join(home, ".pi", "agent", "sessions"), samples, home)
		testkit.Check(t, os.CopyFS(filepath.Join(home, ".pi", "agent", "sessions", "odd"), os.DirFS(odd)))
		said := strings.NewReplacer("NAME", name).Replace(`{"type":"session","version":3,"id":"0195-of-NAME","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/NAME"}
{"type":"message","id":"w1","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"the wombat of NAME"}}
{"type":"message","id":"w2","parentId":"w1","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"user","content":"the quoll of NAME"}}
`)
		testkit.Check(t, os.WriteFile(filepath.Join(home, ".pi", "agent", "sessions", name+".jsonl"), []byte(said), 0o644))
		return fmt.Sprintf("export HOME='%s' PATH='%s':\"$PATH\" XDG_CACHE_HOME= PIGREP_CONFIG=none; exec sh", home, filepath.Dir(program))
	}
	held := filepath.Join(dir, "held") // until somebody writes to it
	testkit.Check(t, syscall.Mkfifo(held, 0o600))
	letGo := func() { // for later logins, too
		testkit.Check(t, os.WriteFile(held, []byte("go\n"), 0o600))
		testkit.Check(t, os.Remove(held))
	}
	home := filepath.Join(dir, "client")
	testkit.Check(t, os.MkdirAll(home, 0o755))
	w := newWebTestIn(t, home, nil, "--wait", "1h", "--on", "near=cmd:"+host("near"), "--on", "far=cmd:read x <'"+held+"'; "+host("far"))
	shows := func(want ...string) {
		t.Helper()
		for _, text := range want {
			w.Until(text, fmt.Sprintf(`!!document.querySelector("[data-part=answer]")?.innerText.includes(%q)`, text))
		}
	}
	w.Run(chromedp.Navigate(w.host + "/?q=wombat"))
	shows("wombat of near", "waiting for far")
	w.Run(chromedp.SendKeys("#q", " OR quoll"))
	shows("waiting for far", "quoll of near")
	letGo()
	shows("quoll of near", "quoll of far")
	w.Until("facets", `!!document.querySelector("[data-part=facets] details.facets")`)
	w.Run(chromedp.Click(`nav a[href="/hosts"]`), chromedp.WaitReady("dl.status"))
	said := browser.Value[string](w.Browser, `document.querySelector("dl.status").innerText`)
	for _, name := range []string{"near", "far"} {
		if !strings.Contains(said, name) || strings.Contains(said, "does not") {
			t.Errorf("hosts:\n%s", said)
		}
	}
	w.quietly()
}
