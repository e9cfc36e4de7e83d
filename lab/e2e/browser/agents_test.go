package browser

import (
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/browser"
)

// Every page is about the agents that the run names until the user chooses others, by hand, and
// shows which they are. Exports and conversations name their agent.
func TestWebAgents(t *testing.T) {
	home := filepath.Join(t.TempDir(), "dev")
	others := filepath.Join("..", "..", "..", "testdata", "agents")
	copySessions(t, filepath.Join(home, ".claude", "projects"), filepath.Join(others, "claude", "projects"), home)
	copySessions(t, filepath.Join(home, ".codex", "sessions"), filepath.Join(others, "codex", "sessions"), home)
	w := newWebTestIn(t, home, []string{samples, odd}, "--agent", "claude,codex")
	b, wide := w.Browser, browser.Looks[0]
	// agents are those of the sessions that the page lists.
	agents := func() string {
		return browser.Value[string](b, `[...new Set([...document.querySelectorAll(".plain td.agent, .found .facts > span:nth-of-type(1)")].map(e => e.innerText).filter(e => /^(pi|claude|codex)$/.test(e)))].sort().join()`)
	}
	for _, tab := range []struct{ path, selects, lists string }{
		{"/", "", "claude,codex"},
		{"/?q=&limit=100", "", "claude,codex,pi"},
		{"/sessions", "claude,codex", "claude,codex"},
		{"/sessions?agent=pi", "pi", "pi"},
		{"/sessions?agent=", "", "claude,codex,pi"},
		{"/usage", "claude,codex", ""},
		{"/audit", "claude,codex", ""},
	} {
		w.Show(w.host+tab.path, wide, "#keys")
		if got := browser.Value[string](b, `document.querySelector("select[name=agent]")?.value ?? ""`); got != tab.selects {
			t.Errorf("%s: %q is selected, want %q", tab.path, got, tab.selects)
		}
		if got := agents(); tab.lists != "" && got != tab.lists {
			t.Errorf("%s lists sessions of %q, want %q", tab.path, got, tab.lists)
		}
		if models := browser.Value[string](b, `document.querySelector("main").innerText`); tab.path == "/usage" && (strings.Contains(models, "quick-model") || !strings.Contains(models, "claude")) {
			t.Errorf("%s is about others: %s", tab.path, models)
		}
		w.Check(tab.path)
	}

	// Choose in the list of sessions: neither the words nor the page are lost.
	w.Show(w.host+"/sessions", wide, "#keys")
	choose := func(agent string) {
		browser.Value[bool](b, `(e => { e.value = "`+agent+`"; return e.dispatchEvent(new Event("change", {bubbles: true})) })(document.querySelector("select[name=agent]"))`)
	}
	listed := func(what string) {
		b.Until(what, `location.pathname == "/sessions" && location.search.includes("agent=`+what+`")`)
	}
	choose("codex")
	listed("codex")
	b.Until("sessions of one agent", `[...document.querySelectorAll(".plain td.agent")].every(e => e.innerText != "claude")`)
	choose("")
	listed("")
	b.Until("sessions of all agents", `[...document.querySelectorAll(".plain td.agent")].some(e => e.innerText == "pi")`)

	// In the search, the filter is part of the query: a click on the facet removes it.
	w.Show(w.host+"/", wide, "#keys")
	for _, name := range []string{"claude", "codex"} {
		b.Until("the chosen "+name, `[...document.querySelectorAll(".facets [aria-current]")].some(e => e.innerText.includes("`+name+`"))`)
	}
	b.Click(".facets [aria-current]")
	b.Until("all sessions", `document.readyState == "complete" && document.querySelector("#q")?.value == "" && document.querySelectorAll(".plain [data-item]").length > 0`)

	w.Show(w.host+"/session/67a8478e-78dc-44ab-82ea-f65c8ead85f6", wide, "#keys")
	if got := browser.Value[string](b, `document.querySelector(".meta").innerText`); !strings.Contains(got, "Claude Code") {
		t.Errorf("a conversation says of itself %q", got)
	}
	w.quietly()
}
