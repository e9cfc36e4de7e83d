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

// Access control:
//
//   - The server listens on the loopback interface only. Where the system says which user a
//     connection belongs to, it refuses other users.
//   - The first URL has a random token. The server exchanges it for a cookie with another
//     secret, so that the token, which process lists and browser histories may show, is in
//     no later URL. The cookie is HttpOnly and SameSite=Strict: scripts cannot read it, and
//     requests from other sites do not carry it.
//   - Behind a proxy, a Team takes the place of the three above: see team.go.
//   - Requests with another host (DNS rebinding) or from another origin are refused.
//   - Only GET and HEAD are answered, and neither changes anything but cookies.
//   - The Content-Security-Policy limits pages to scripts, styles and requests of this
//     server, and forbids frames.

// policy forbids inline scripts and styles, and everything from other servers. Images of a
// session are data URLs in its page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxQuery is the length of the longest query part of a URL, in bytes. Pages repeat it in each
// of their links.
const maxQuery = 8 << 10

// enterPath is the path of the first URL.
const enterPath = "/enter"

// Address returns the first URL, which sets the cookie and then opens the page to.
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
	case r.URL.Path == enterPath && !s.SignedIn:
		s.exchangeToken(w, r)
	case !s.SignedIn && !equal(s.cookie(r, "key"), s.secret):
		http.Error(w, "This page is for the user who started it: open the address that `pigrep web` printed.", http.StatusForbidden)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// refuses returns the status and the reason for refusing a request whatever cookie it has, or
// 0 to accept it.
func (s *Server) refuses(r *http.Request) (status int, why string) {
	foreign, _ := r.Context().Value(foreignKey{}).(bool)
	site := r.Header.Get("Sec-Fetch-Site")
	if s.SignedIn && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		site = "" // a colleague's link, in whatever page it stands
	}
	switch origin := r.Header.Get("Origin"); {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, "Only GET and HEAD are answered."
	case foreign:
		return http.StatusForbidden, "This page is for the user who started it."
	case !s.SignedIn && !s.isHost(r.Host):
		return http.StatusForbidden, "This server does not answer for this host name."
	case origin != "" && origin != "http://"+r.Host && !(s.SignedIn && origin == "https://"+r.Host), site != "" && site != "none" && site != "same-origin" && r.URL.Path != enterPath:
		return http.StatusForbidden, "Requests from other sites are refused."
	case path.Clean(r.URL.Path) != r.URL.Path || strings.ContainsAny(r.URL.Path, "\\\x00"):
		return http.StatusNotFound, errNoPage.Message
	case len(r.URL.RawQuery) > maxQuery:
		return http.StatusRequestURITooLong, "The query is too long: go back and shorten it."
	}
	return 0, ""
}

func (s *Server) isHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	_, own, _ := net.SplitHostPort(s.host)
	return err == nil && port == own && (name == "127.0.0.1" || name == "localhost")
}

// cookieName includes the port, because browsers send a cookie to all ports of a host.
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

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// exchangeToken exchanges the token for the cookie, and forwards to a URL without the token. It uses
// a page with a refresh instead of a redirect: if the user came from another site, such as a
// terminal in the browser, a redirect still counts as cross-site and would not carry the
// cookie.
func (s *Server) exchangeToken(w http.ResponseWriter, r *http.Request) {
	if !equal(r.URL.Query().Get("token"), s.token) {
		http.Error(w, "The token in this address belongs to another server: open the address that `pigrep web` printed last.", http.StatusForbidden)
		return
	}
	s.setCookie(w, "key", s.secret)
	s.write(w, http.StatusOK, "enter", local(r.URL.Query().Get("to")))
}

// local returns address if it is a path on this server, otherwise "/".
func local(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") || strings.Contains(address, "\\") {
		return "/"
	}
	return u.String()
}

// foreignKey is the context key of a connection for whether it belongs to another user.
type foreignKey struct{}

func (s *Server) connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, foreignKey{}, s.Foreign != nil && s.Foreign(c))
}

// switchRedact turns the masking of secrets on or off, and returns to the page.
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
	chosen := s.cookie(r, "redact")
	return chosen == "on" || chosen != "off" && s.Redact
}
