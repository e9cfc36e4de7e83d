package web

import (
	"context"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// What keeps others out:
//
//   - The server listens on this machine only, and refuses connections of its other users,
//     where the system says whose they are.
//   - The first address has an unguessable token. Whoever knows it gets a cookie with
//     another secret, so that the token, which lists of processes and histories may show,
//     is in no further address. Scripts cannot read the cookie, and no other site can make
//     the browser send it.
//   - A page of another site that has its own name point to this machine (DNS rebinding)
//     sends its name as the host, and is refused; so are requests that another origin makes.
//   - Nothing can be changed: only GET and HEAD are answered.
//   - Browsers are told to run and load nothing that is not from here, and to show the
//     pages in no frame.

// policy forbids inline scripts and styles, and everything from elsewhere. Pictures of a
// session are part of its page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// enterPath is the path of the first address.
const enterPath = "/enter"

// Address returns the first address, which leads to a page of the server.
func (s *Server) Address(to string) string {
	return "http://" + s.host + enterPath + "?" + url.Values{"token": {s.token}, "to": {to}}.Encode()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.life.use()()
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch status, why := s.refuses(r); {
	case status == http.StatusMethodNotAllowed:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, why, status)
	case status != 0:
		http.Error(w, why, status)
	case r.URL.Path == enterPath:
		s.enter(w, r)
	case !s.knows(r):
		http.Error(w, "This page is for the user who started it: open the address that `pigrep web` printed.", http.StatusForbidden)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// refuses returns with which status, and why, a request is refused, whatever cookie it
// has; 0 if it is not.
func (s *Server) refuses(r *http.Request) (status int, why string) {
	foreign, _ := r.Context().Value(foreignKey{}).(bool)
	site := r.Header.Get("Sec-Fetch-Site")
	switch origin := r.Header.Get("Origin"); {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, "Only GET and HEAD are answered."
	case foreign:
		return http.StatusForbidden, "This page is for the user who started it."
	case !s.isHost(r.Host):
		return http.StatusForbidden, "This page has another address."
	case origin != "" && origin != "http://"+r.Host, site != "" && site != "none" && site != "same-origin" && r.URL.Path != enterPath:
		return http.StatusForbidden, "Another page must not ask for this one."
	case path.Clean(r.URL.Path) != r.URL.Path || strings.ContainsAny(r.URL.Path, "\\\x00"):
		return http.StatusNotFound, errNoPage.Message
	}
	return 0, ""
}

// isHost reports whether a host is a name of this server.
func (s *Server) isHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	_, own, _ := net.SplitHostPort(s.host)
	return err == nil && port == own && (name == "127.0.0.1" || name == "localhost")
}

// cookieName has the port, because browsers send a cookie to all ports of a machine.
func (s *Server) cookieName(what string) string {
	_, port, _ := net.SplitHostPort(s.host)
	return "pigrep-" + what + "-" + port
}

func (s *Server) setCookie(w http.ResponseWriter, what, value string) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(what), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

func (s *Server) cookie(r *http.Request, what string) string {
	c, err := r.Cookie(s.cookieName(what))
	if err != nil {
		return ""
	}
	return c.Value
}

// knows reports whether a request has the cookie.
func (s *Server) knows(r *http.Request) bool { return equal(s.cookie(r, "key"), s.secret) }

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// enter gives the cookie for the token, and leads on to an address without it. It does so
// with a page, not with a redirect: after a redirect the browser still remembers from where
// the user came, such as a terminal in a browser, and would not send the cookie.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if !equal(r.URL.Query().Get("token"), s.token) {
		http.Error(w, "The token in this address is not that of this server: open the address that `pigrep web` printed last.", http.StatusForbidden)
		return
	}
	s.setCookie(w, "key", s.secret)
	s.write(w, http.StatusOK, "enter", local(r.URL.Query().Get("to")))
}

// local returns an address of this server, or that of its first page if it is none.
func local(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") || strings.Contains(address, "\\") {
		return "/"
	}
	return u.String()
}

// foreignKey is the key in the context of a connection for whether it is of another user.
type foreignKey struct{}

func (s *Server) connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, foreignKey{}, s.Foreign != nil && s.Foreign(c))
}

// switchRedact masks secrets from now on, or no longer, and leads back.
func (s *Server) switchRedact(w http.ResponseWriter, r *http.Request) error {
	on := "off"
	if r.URL.Query().Get("on") != "" {
		on = "on"
	}
	s.setCookie(w, "redact", on)
	http.Redirect(w, r, local(r.URL.Query().Get("to")), http.StatusSeeOther)
	return nil
}

// redacts reports whether secrets are masked in the answer to a request.
func (s *Server) redacts(r *http.Request) bool {
	switch s.cookie(r, "redact") {
	case "on":
		return true
	case "off":
		return false
	}
	return s.Redact
}
