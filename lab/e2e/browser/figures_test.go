package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"pigrep/lab/browser"
	"pigrep/ui/cli"
)

// The charts of the page have the figures of `usage --json`; a bar leads to its period, a
// session to its conversation; filters are forms and addresses.
func TestWebFigures(t *testing.T) {
	w := newWebTest(t, samples)
	b, wide := w.Browser, browser.Looks[0]
	until := func(what, condition string) {
		t.Helper()
		b.Until(what, `document.readyState == "complete" && `+condition)
	}
	sumOf := func(figure int) float64 {
		return browser.Value[float64](b, fmt.Sprintf(`[...document.querySelectorAll(".chart")[%d].querySelectorAll("[data-value]")].reduce((sum, e) => sum + Number(e.dataset.value), 0)`, figure))
	}
	want := func(args ...string) (cost, tokens float64) {
		t.Helper()
		a, out, errs := newApp(w.home)
		args = append([]string{"usage", "--json", "--session-dir", w.root, "--index-dir", filepath.Join(t.TempDir(), "index")}, args...)
		if code := cli.Run(context.Background(), a, args); code != 0 {
			t.Fatalf("pigrep %v: exit code %d, %s", args, code, errs)
		}
		var answer struct {
			Total struct{ Cost, Tokens float64 }
		}
		if err := json.NewDecoder(bytes.NewReader(out.Bytes())).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return answer.Total.Cost, answer.Total.Tokens
	}
	compare := func(at string, args ...string) {
		t.Helper()
		cost, tokens := want(args...)
		if drawn := sumOf(0); math.Abs(drawn-cost) > 1e-9 {
			t.Errorf("%s: the bars add up to a cost of %v, want %v", at, drawn, cost)
		}
		if drawn := sumOf(1); drawn != tokens {
			t.Errorf("%s: the bars add up to %v tokens, want %v", at, drawn, tokens)
		}
	}
	w.Show(w.host+"/usage", wide, "#keys")
	compare("all")
	w.Show(w.host+"/usage?project=atlas&since=2026-03-01", wide, "#keys")
	compare("a project", "--project", "atlas", "--since", "2026-03-01")

	// By hand: a form, a bar, back, a session.
	w.Show(w.host+"/usage", wide, "#keys")
	browser.Value[string](b, `document.querySelector("main select[name=project]").value = "atlas"`)
	b.Click("main form.options button")
	until("a project", `location.search.includes("project=atlas") && document.querySelector("main select[name=project]").value == "atlas"`)
	b.Click(".chart a rect")
	until("a period of the project", `/project=atlas&since=20..-..-..&until=20..-..-../.test(location.search) && !!document.querySelector(".part")`)
	b.Run(chromedp.NavigateBack())
	until("back", `!location.search.includes("until=20") && location.search.includes("project=atlas")`)
	b.Click(".figures a[href^='/session/']")
	until("a conversation", `location.pathname.startsWith("/session/") && !!document.querySelector("article")`)
	w.Show(w.host+"/audit", wide, "#keys")
	b.Click("#failures .figures a")
	until("the entry of a call", `location.pathname.startsWith("/session/") && !!document.querySelector(":target")`)

	// What cannot be read is said.
	w.Show(w.host+"/usage?since=nonsense", wide, "#keys")
	if said := browser.Value[string](b, `document.querySelector(".problem")?.innerText ?? ""`); !strings.Contains(said, "nonsense") {
		t.Errorf("a time that is none is answered with %q", said)
	}
	w.Show(w.host+"/audit?since=2030-01-01", wide, "#keys")
	if said := browser.Value[string](b, `document.querySelector("main").innerText`); !strings.Contains(said, "No tool was called in this time.") {
		t.Errorf("an empty page says %q", said)
	}
	w.quietly()
}
