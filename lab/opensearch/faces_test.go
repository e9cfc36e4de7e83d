//go:build unix

package opensearch

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"pigrep/lab/browser"
	"pigrep/lab/testkit"
)

// facesShow asks an archive with odd sessions, of which none is on this machine any more, in a
// terminal and in a browser.
func facesShow(t *testing.T, url string) {
	odd := filepath.Join(testkit.Root(), "testdata", "odd")
	m := newMachine(t, odd)
	t.Run("terminal", func(t *testing.T) { testkit.Terminal(t, m.program, "archive.sh", url, "terminal") })
	t.Run("page", func(t *testing.T) {
		m.setUp(url, "--prefix", "page", "--as", "elsewhere")
		m.push()
		b := served(t, m)
		shows := func(address, wait, text string) {
			t.Helper()
			b.Show(address, browser.Looks[0], wait)
			if got := browser.Value[string](b, `document.querySelector("main").innerText`); !strings.Contains(got, text) {
				t.Errorf("%s lacks %q: %s", address, text, got)
			}
			b.Check(address)
		}
		host := browser.Value[string](b, `location.origin`)
		shows(host+"/sessions", "#keys", "quokka of a torn end")
		for _, text := range []string{"without a header", "without id, cwd, time", "of a torn end", "red"} {
			b.Show(host+"/?q=quokka", browser.Looks[0], "#keys")
			hit := `[...document.querySelectorAll("main a[href^='/session/']")].find(e => e.innerText.includes("` + text + `"))`
			b.Until("the hit "+text, "!!"+hit)
			shows(browser.Value[string](b, hit+".href"), "#keys", text)
		}
		for _, path := range []string{"/usage", "/audit"} {
			shows(host+path, "#keys", "")
		}
		for _, said := range b.Complaints() {
			t.Error(said)
		}
	})
}

// served opens the page of an archive, whose server runs for the time of the test.
func served(t *testing.T, m *machine) *browser.Browser {
	cmd := m.command("web", "--no-open", "--quiet", "--from", "team")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // it was interrupted
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address = strings.TrimSpace(address)
	host, _, _ := strings.Cut(address, "/enter")
	b := browser.Open(t, func(address string) bool { return strings.HasPrefix(address, host+"/") })
	b.Run(chromedp.Navigate(address), chromedp.WaitReady("#keys"))
	return b
}
