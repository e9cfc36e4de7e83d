package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pigrep/query/sessions"
)

// A team is answered through its proxy alone. Each person gets pages of their own, in which this machine does not
// occur; a link from elsewhere leads to them, and nothing else from other sites does.
func TestTeam(t *testing.T) {
	made := make(map[string]int)
	team := &Team{Header: "X-Forwarded-User", Secret: "a secret of the proxy", Server: func(login string) (*Server, error) {
		if login == "nobody" {
			return nil, errors.New("there is no archive")
		}
		made[login]++
		s := newServer()
		s.Options.SignedIn = true
		s.Options.Sessions = func(context.Context, sessions.Request) (*sessions.Response, error) {
			res := &sessions.Response{}
			res.Warnings = []string{"sessions of " + login}
			return res, nil
		}
		return New(testHost, s.Options), nil
	}}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	link := func(dest string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", dest)
		}
	}
	for _, c := range []struct {
		name, address string
		change        func(*http.Request)
		want          int
		text          string
	}{
		{"a person", "/sessions", nil, 200, "sessions of ann"},
		{"another person", "/sessions", header("X-Forwarded-User", "bob@example.com"), 200, "sessions of bob@example.com"},
		{"the host name of the proxy", "/", func(r *http.Request) { r.Host = "pigrep.example.com" }, 200, ""},
		{"own origin", "/", func(r *http.Request) {
			r.Host = "pigrep.example.com"
			r.Header.Set("Origin", "https://pigrep.example.com")
		}, 200, ""},
		{"a colleague's link", "/", link("document"), 200, ""},
		{"a frame of another site", "/", link("iframe"), 403, ""},
		{"a script of another site", "/", header("Sec-Fetch-Site", "cross-site"), 403, ""},
		{"other origin", "/", header("Origin", "https://evil.example"), 403, ""},
		{"POST", "/", func(r *http.Request) { r.Method = http.MethodPost }, 405, ""},
		{"this machine", "/status", nil, 404, ""},
		{"the address of an owner", "/enter", nil, 404, ""},
		{"no secret", "/", func(r *http.Request) { r.Header.Del(SecretHeader) }, 403, ""},
		{"wrong secret", "/", header(SecretHeader, "a secret of the prox"), 403, ""},
		{"nobody signed in", "/", func(r *http.Request) { r.Header.Del("X-Forwarded-User") }, 401, ""},
		{"an empty name", "/", header("X-Forwarded-User", ""), 401, ""},
		{"two names", "/", func(r *http.Request) { r.Header.Add("X-Forwarded-User", "root") }, 401, ""},
		{"two names in one", "/", header("X-Forwarded-User", "ann,root"), 401, ""},
		{"a control code", "/", header("X-Forwarded-User", "ann\x01"), 401, ""},
		{"a long name", "/", header("X-Forwarded-User", strings.Repeat("a", 257)), 401, ""},
		{"no archive", "/", header("X-Forwarded-User", "nobody"), 503, "there is no archive"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+testHost+c.address, nil)
		r.Header.Set("X-Forwarded-User", "ann")
		r.Header.Set(SecretHeader, team.Secret)
		if c.change != nil {
			c.change(r)
		}
		w := httptest.NewRecorder()
		team.ServeHTTP(w, r)
		if w.Code != c.want || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: %d, want %d with %q: %s", c.name, w.Code, c.want, c.text, w.Body)
		}
		if w.Code == 200 && strings.Contains(w.Body.String(), `href="/status"`) {
			t.Errorf("%s: there is a link to what this machine has", c.name)
		}
	}
	if made["ann"] != 1 || made["bob@example.com"] != 1 || len(made) != 2 {
		t.Errorf("servers were made for %v", made)
	}
}
