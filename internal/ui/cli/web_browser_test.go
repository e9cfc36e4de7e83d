package cli

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"pigrep/indexer"
	"pigrep/internal/lab/browser"
	"pigrep/internal/ui/web"
)

// webTest is a server for a copy of the samples, and a browser that has its cookie.
type webTest struct {
	*browser.Browser
	t    *testing.T
	host string // with the scheme
	root string // of the session files
}

func newWebTest(t *testing.T, sessions string) *webTest {
	t.Helper()
	home := filepath.Join(t.TempDir(), "dev")
	root := filepath.Join(home, ".pi", "agent", "sessions")
	if err := os.CopyFS(root, os.DirFS(sessions)); err != nil {
		t.Fatal(err)
	}
	rewrite(t, root, "/home/dev", home)
	a, _, errs := testApp(t)
	a.Home, a.WorkDir = home, home
	a.Now = func() time.Time { return time.Date(2026, 9, 20, 12, 0, 0, 0, time.UTC) }
	o := &webOptions{}
	o.indexDir = filepath.Join(home, "index")
	p, err := o.locate(a)
	if err != nil {
		t.Fatal(err)
	}
	res, err := indexer.Update(t.Context(), a.indexing(p))
	if err != nil {
		t.Fatal(err)
	}
	res.Reader.Close()
	b := newWebBackend(t.Context(), a, o, p)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &webTest{t: t, host: "http://" + listener.Addr().String(), root: root}
	server := web.New(listener.Addr().String(), b.options(o))
	w.Browser = browser.Open(t, func(address string) bool { return strings.HasPrefix(address, w.host+"/") })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		b.index.Close()
		if errs.Len() > 0 {
			t.Errorf("stderr: %s", errs)
		}
	})
	w.Run(chromedp.Navigate(server.Address("/status")), chromedp.WaitReady("dl.status"))
	return w
}

func (w *webTest) quietly() {
	w.t.Helper()
	for _, c := range w.Complaints() {
		w.t.Error(c)
	}
}

// keepPictures is a directory for pictures of every page, to be looked at; "" for none.
func (w *webTest) picture(name string) {
	dir := os.Getenv("PIGREP_PICTURES")
	if dir == "" {
		return
	}
	data, err := chromedp.Run(w, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// Every page fits every window, can be read in both schemes, and does nothing that its
// policy forbids. With PIGREP_PICTURES, a directory, pictures of them are kept there.
func TestWebPagesInABrowser(t *testing.T) {
	w := newWebTest(t, samples)
	for _, p := range []struct{ name, address string }{
		{"search", "/?q=token"},
		{"start", "/"},
		{"nothing", "/?q=nosuchwordanywhere"},
		{"hostile", "/?q=script+project:hostile&scope=all"},
		{"conversation", "/session/0195562e-9a20-7c11-8f3a-5d2b6c7e8f90?q=token"},
		{"branches", "/session/01956691-0000-7a3c-b111-222233334444"},
		{"sessions", "/sessions"},
		{"status", "/status"},
		{"error", "/nothing"},
	} {
		for _, look := range browser.Looks {
			w.Show(w.host+p.address, look, "#keys")
			at := p.name + " at " + look.String()
			if found := browser.Value[[]string](w.Browser, browser.TooWide); len(found) > 0 {
				t.Errorf("%s: too wide: %v", at, found)
			}
			if found := browser.Value[[]string](w.Browser, browser.LowContrast); len(found) > 0 {
				t.Errorf("%s: low contrast: %v", at, found)
			}
			w.picture(p.name + strings.NewReplacer(" pixels, ", "-").Replace("-"+look.String()))
		}
		complaints := w.Complaints()
		if p.name == "error" { // browsers log the status
			continue
		}
		for _, c := range complaints {
			t.Errorf("%s: %s", p.name, c)
		}
	}
}
