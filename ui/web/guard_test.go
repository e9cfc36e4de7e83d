package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pigrep/query/facets"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/ui/printer"
	"pigrep/ui/report"
)

const testHost = "127.0.0.1:4711"

// newServer returns a server without an index.
func newServer() *Server {
	return New(testHost, Options{
		Now: time.Now, Zone: time.UTC,
		Backend: Backend{
			Search:   func(context.Context, search.Request) (*search.Response, error) { return &search.Response{}, nil },
			Sessions: func(context.Context, sessions.Request) (*sessions.Response, error) { return &sessions.Response{}, nil },
			Facets:   func(context.Context, search.Request) (*facets.Response, error) { return &facets.Response{}, nil },
			Recap:    func(context.Context, recap.Request) (*recap.Response, error) { return &recap.Response{}, nil },
			Audits:   func(context.Context, func(*report.Source) error) error { return nil },
			Values:   func(context.Context) ([]sessions.Facet, error) { return nil, nil },
			Status:   func() (*printer.Status, error) { return &printer.Status{}, nil },
			Follow:   func(ctx context.Context, report func(State)) { report(State{Generation: 1}); <-ctx.Done() },
		},
	})
}

// answerTo returns the answer to a request with the cookie, modified by change.
func answerTo(s *Server, address string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://"+testHost+address, nil)
	r.AddCookie(&http.Cookie{Name: s.cookieName("key"), Value: s.secret})
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// The script is sent what some machines have answered, and then the answer of all; a page without the
// script has the latter alone. If that fails, the part says so.
func TestEarlyAnswers(t *testing.T) {
	s := newServer()
	some := errors.New("the server is on fire <b>")
	s.Search = func(ctx context.Context, req search.Request) (*search.Response, error) {
		if show := remote.Early(ctx); show != nil {
			show(&search.Response{Total: 1, TotalAny: 1, About: search.About{Warnings: []string{"waiting for server"}}})
			show(&search.Response{Total: 2, TotalAny: 2})
		}
		if req.Text == "failing" {
			return nil, some
		}
		return &search.Response{Total: 3, TotalAny: 3}, nil
	}
	const mark = `<template class="early"></template>`
	w := answerTo(s, "/?part=answer&q=x", nil)
	pieces := strings.Split(w.Body.String(), mark)
	if len(pieces) != 3 || w.Code != 200 || !strings.Contains(pieces[0], "waiting for server") || !strings.Contains(pieces[1], "2 hits") || !strings.Contains(pieces[2], "3 hits") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	if w := answerTo(s, "/?q=x", nil); strings.Contains(w.Body.String(), mark) || !strings.Contains(w.Body.String(), "3 hits") {
		t.Errorf("%s", w.Body)
	}
	if w := answerTo(s, "/?part=answer&q=failing", nil); !strings.Contains(w.Body.String(), "the server is on fire &lt;b&gt;") || strings.Contains(w.Body.String(), "<html") {
		t.Errorf("%s", w.Body)
	}
}

// Requests without the cookie, from other sites, or with a method that could change something
// are refused. Every answer has the Content-Security-Policy.
func TestGuard(t *testing.T) {
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		name, address string
		change        func(*http.Request)
		want          int
	}{
		{"the owner", "/", nil, 200},
		{"the owner by name", "/", func(r *http.Request) { r.Host = "localhost:4711" }, 200},
		{"HEAD", "/", func(r *http.Request) { r.Method = http.MethodHead }, 200},
		{"own origin", "/", header("Origin", "http://"+testHost), 200},
		{"own page", "/", header("Sec-Fetch-Site", "same-origin"), 200},
		{"typed address", "/", header("Sec-Fetch-Site", "none"), 200},
		{"no cookie", "/", func(r *http.Request) { r.Header.Del("Cookie") }, 403},
		{"no cookie, no page", "/nothing", func(r *http.Request) { r.Header.Del("Cookie") }, 403},
		{"no cookie, static file", "/static/web.css", func(r *http.Request) { r.Header.Del("Cookie") }, 403},
		{"wrong cookie", "/", header("Cookie", "pigrep-key-4711=x"), 403},
		{"empty cookie", "/", header("Cookie", "pigrep-key-4711="), 403},
		{"cookie of another port", "/", func(r *http.Request) {
			r.Header.Set("Cookie", strings.Replace(r.Header.Get("Cookie"), "4711", "4712", 1))
		}, 403},
		{"wrong token", "/enter?token=x", nil, 403},
		{"no token", "/enter", nil, 403},
		{"other name", "/", func(r *http.Request) { r.Host = "evil.example:4711" }, 403},
		{"other name without port", "/", func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"other port", "/", func(r *http.Request) { r.Host = "127.0.0.1:80" }, 403},
		{"other origin", "/", header("Origin", "http://evil.example"), 403},
		{"other port as origin", "/", header("Origin", "http://127.0.0.1:80"), 403},
		{"no origin", "/", header("Origin", "null"), 403},
		{"other site", "/", header("Sec-Fetch-Site", "cross-site"), 403},
		{"other port of this machine", "/", header("Sec-Fetch-Site", "same-site"), 403},
		{"another user", "/", func(r *http.Request) { *r = *r.WithContext(context.WithValue(r.Context(), foreignKey{}, true)) }, 403},
		{"POST", "/", func(r *http.Request) { r.Method = http.MethodPost }, 405},
		{"POST without a cookie", "/", func(r *http.Request) { r.Method = http.MethodPost; r.Header.Del("Cookie") }, 405},
		{"DELETE", "/", func(r *http.Request) { r.Method = http.MethodDelete }, 405},
		{"OPTIONS", "/", func(r *http.Request) { r.Method = http.MethodOptions }, 405},
		{"no such page", "/nothing", nil, 404},
		{"no such file", "/static/nothing", nil, 404},
		{"the source of a page", "/static/guard.go", nil, 404},
		{"dots", "/static/../guard.go", nil, 404},
		{"escaped dots", "/static/%2e%2e/guard.go", nil, 404},
		{"escaped slashes", "/static/..%2fguard.go", nil, 404},
		{"backslashes", `/static/..%5cguard.go`, nil, 404},
		{"NUL", "/static/web.css%00", nil, 404},
		{"two slashes", "//static/web.css", nil, 404},
		{"a long query", "/?q=" + strings.Repeat("x", maxQuery-2), nil, 200},
		{"a query that is too long", "/?q=" + strings.Repeat("x", maxQuery), nil, 414},
	} {
		w := answerTo(newServer(), c.address, c.change)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d: %s", c.name, w.Code, c.want, w.Body)
		}
		h := w.Header()
		if h.Get("Content-Security-Policy") != policy || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: the answer lacks the policy: %v", c.name, h)
		}
		if len(h.Values("Access-Control-Allow-Origin"))+len(h.Values("Set-Cookie")) > 0 {
			t.Errorf("%s: the answer gives something away: %v", c.name, h)
		}
	}
	for _, weak := range []string{"unsafe", "*", "http:", "https:"} {
		if strings.Contains(policy, weak) {
			t.Errorf("the policy has %s", weak)
		}
	}
}

// The token of the first URL is exchanged for a cookie with another secret, which scripts and
// other sites cannot use. The URL that follows is on this server and has no token.
func TestEnter(t *testing.T) {
	s := newServer()
	first, err := url.Parse(s.Address("/?q=a+b"))
	if err != nil {
		t.Fatal(err)
	}
	w := answerTo(s, first.RequestURI(), func(r *http.Request) {
		r.Header.Del("Cookie")
		r.Header.Set("Sec-Fetch-Site", "cross-site") // a terminal in a browser
	})
	cookies := w.Result().Cookies()
	if w.Code != 200 || len(cookies) != 1 {
		t.Fatalf("%d with %d cookies", w.Code, len(cookies))
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Value == s.token || c.Domain != "" {
		t.Errorf("cookie %v", c)
	}
	if body := w.Body.String(); !strings.Contains(body, `content="0; url=/?q=a&#43;b"`) || strings.Contains(body, s.token) {
		t.Errorf("the page leads elsewhere: %s", body)
	}
	w = answerTo(s, "/", func(r *http.Request) { r.Header.Del("Cookie"); r.AddCookie(cookies[0]) })
	if w.Code != 200 {
		t.Errorf("with the cookie: %d", w.Code)
	}
	if other := newServer(); other.token == s.token || other.secret == s.secret || len(s.token) < 20 || len(s.secret) < 20 {
		t.Error("the secrets can be guessed")
	}
}

// A URL in a request never redirects to another site.
func TestLocal(t *testing.T) {
	for _, c := range [][2]string{
		{"/", "/"},
		{"/?q=a%2Fb&scope=all#x", "/?q=a%2Fb&scope=all#x"},
		{"", "/"},
		{"//evil.example/", "/"},
		{"/\\evil.example", "/"},
		{"http://evil.example/", "/"},
		{"javascript:alert(1)", "/"},
		{"evil", "/"},
		{"/\nx", "/"},
	} {
		if got := local(c[0]); got != c[1] {
			t.Errorf("local(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}

// The switch for masking secrets overrides the option of the server.
func TestRedactSwitch(t *testing.T) {
	s := newServer()
	var masked []bool
	s.Search = func(_ context.Context, r search.Request) (*search.Response, error) {
		masked = append(masked, r.Redact)
		return &search.Response{}, nil
	}
	answerTo(s, "/?q=x", nil)
	for _, address := range []string{"/redact?on=1&to=/?q=x", "/redact?to=//evil"} {
		w := answerTo(s, address, nil)
		c := w.Result().Cookies()
		if w.Code != http.StatusSeeOther || len(c) != 1 || strings.Contains(w.Header().Get("Location"), "evil") {
			t.Fatalf("%s: %d, %v", address, w.Code, w.Header())
		}
		answerTo(s, "/?q=x", func(r *http.Request) { r.AddCookie(c[0]) })
	}
	if want := []bool{false, true, false}; len(masked) != 3 || masked[0] != want[0] || masked[1] != want[1] || masked[2] != want[2] {
		t.Errorf("masked: %v, want %v", masked, want)
	}
}

// A server stops some time after the last request and the last open page.
func TestIdle(t *testing.T) {
	s := newServer()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.host, s.life.idle = l.Addr().String(), time.Second
	var end error
	ended := make(chan struct{})
	go func() {
		end = s.Serve(t.Context(), l)
		close(ended)
	}()
	r, err := http.NewRequest(http.MethodGet, "http://"+s.host+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: s.cookieName("key"), Value: s.secret})
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
		t.Fatal("the server ended although a page is open")
	case <-time.After(1500 * time.Millisecond):
	}
	w.Body.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the server does not end")
	}
	if !errors.Is(end, ErrIdle) {
		t.Errorf("it ended with %v", end)
	}
}
