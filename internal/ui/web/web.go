// Package web is the page in the browser: a server on this machine, for its owner alone,
// to search, to read conversations and to look at figures.
//
//	browser ─► guard ─► a page: one handler, one template ─► functions of the Backend
//
// Every page has an address, and works without its script as forms and links. The script
// fetches the same addresses and replaces parts of the page by the same parts of the
// answer, so that nothing is rendered twice in two languages.
//
// All text of a session is treated as hostile: html/template escapes it, and the policy
// of every answer forbids whatever does not come from this server (see guard.go).
package web

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"pigrep/internal/ui/printer"
	"pigrep/internal/ui/report"
	"pigrep/query"
	"pigrep/query/facets"
	"pigrep/query/sessions"
)

// Options configure a server.
type Options struct {
	Backend

	Redact bool          // mask what looks like a secret, unless the user switches that off
	Idle   time.Duration // the server ends after that long without a request or an open page; 0: never
	Now    func() time.Time
	Zone   *time.Location
	Home   string // shown as ~; "" when there is none
	Log    *slog.Logger

	// Foreign reports whether a connection comes from another user of this machine, as far
	// as the system says.
	Foreign func(net.Conn) bool
}

// Backend does the work for the pages. Its functions may be called concurrently. Their
// errors are shown as they are; an *Error has a status and a hint.
type Backend struct {
	// Search answers a request with a text, Sessions one without.
	Search   func(context.Context, query.Request) (*query.Response, error)
	Sessions func(context.Context, sessions.Request) (*sessions.Response, error)
	// Facets counts the hits of a request by the values of fields.
	Facets func(context.Context, query.Request) (*facets.Response, error)
	// Values lists the values that filters can have.
	Values func(context.Context) ([]sessions.Facet, error)
	// Open opens the conversation with a name; see ConversationName. A leaf is an entry on
	// the branch that is wanted alone.
	Open func(ctx context.Context, name, leaf string, redact bool) (*Conversation, error)
	// Find returns where the entries begin that have every word of a request. Its Sessions
	// are the path of one.
	Find func(context.Context, query.Request) (offsets []int64, err error)
	// Export returns the name of a file for a conversation, without its extension, and a
	// function that writes it in one of the Formats.
	Export  func(ctx context.Context, name, format string, redact bool) (file string, write func(io.Writer) error, err error)
	Formats []string
	// Audits calls a function with what answers audits, and again if the index was damaged.
	Audits func(context.Context, func(*report.Source) error) error
	// Status describes the index.
	Status func() (*printer.Status, error)
	// Follow keeps the index up to date until the context ends, and reports each change
	// of its state.
	Follow func(ctx context.Context, report func(State))
}

// State is the state of the index.
type State struct {
	Generation uint64 // the newest one, 0 when there is none
	Note       string // what the user should know: that it is being built, or why it is behind; "" for nothing
}

// Error is an error that a page shows.
type Error struct {
	Status  int // of HTTP
	Message string
	Hint    string // what to do; "" for nothing
}

func (e *Error) Error() string { return e.Message }

// Server serves the pages.
type Server struct {
	Options
	host   string // with the port, as in addresses
	token  string // in the first address, for which the cookie is given
	secret string // in the cookie
	mux    *http.ServeMux
	life   life
}

// page is a page of the navigation.
type page struct {
	Path, Title string
	show        handler
}

// pages is the only table of the pages of the navigation, in its order.
func pages() []page {
	return []page{
		{"/", "Search", (*Server).showSearch},
		{"/sessions", "Sessions", (*Server).showSessions},
		{"/audit", "Audit", (*Server).showAudit},
		{"/usage", "Usage", (*Server).showUsage},
		{"/status", "Status", (*Server).showStatus},
	}
}

// handler answers a request. It returns an error before it has written anything.
type handler func(*Server, http.ResponseWriter, *http.Request) error

// New returns a server for an address of this machine, with its port.
func New(address string, opt Options) *Server {
	s := &Server{Options: opt, host: address, token: rand.Text(), secret: rand.Text(), mux: http.NewServeMux()}
	s.life.idle = opt.Idle
	for _, p := range pages() {
		path := p.Path
		if path == "/" {
			path = "/{$}"
		}
		s.handle(path, p.show)
	}
	s.handle("/session/{name}", (*Server).showConversation)
	s.handle("/session/{name}/output/{entry}/{block}", (*Server).showOutput)
	s.handle("/session/{name}/export/{format}", (*Server).showExport)
	s.handle("/redact", (*Server).switchRedact)
	s.handle("/static/{name}", (*Server).showStatic)
	s.handle("/events", (*Server).showEvents)
	s.handle("/", func(*Server, http.ResponseWriter, *http.Request) error { return errNoPage })
	return s
}

var errNoPage = &Error{Status: http.StatusNotFound, Message: "There is no such page."}

func (s *Server) handle(pattern string, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h(s, w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}
