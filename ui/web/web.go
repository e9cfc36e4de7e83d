// Package web serves the page in the browser: search, conversations and audits, on this
// machine and for its owner alone.
//
//	browser ─► guard ─► a page: one handler, one template ─► functions of the Backend
//
// Every page has a URL, and works without JavaScript as forms and links. The script fetches
// single parts of the same URLs and puts them into the page, so that only the server renders
// HTML.
//
// All text of a session is hostile: html/template escapes it, and the policy of every answer
// forbids whatever does not come from this server (see guard.go).
package web

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"pigrep/query/facets"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/printer"
	"pigrep/ui/report"
)

// Options configure a server.
type Options struct {
	Backend

	Redact bool          // mask secrets, unless the user turns that off
	Idle   time.Duration // stop after this time without a request or an open page; 0 for never
	Now    func() time.Time
	Zone   *time.Location
	Home   string // shown as ~; "" for none
	Log    *slog.Logger

	// Foreign reports whether a connection belongs to another user of this machine, as far as
	// the system says.
	Foreign func(net.Conn) bool
}

// Backend does the work for the pages. Its functions may be called concurrently. The pages
// show the text of their errors; an *Error sets the HTTP status and adds a hint.
type Backend struct {
	// Search answers a request with a text, and Sessions lists sessions.
	Search   func(context.Context, search.Request) (*search.Response, error)
	Sessions func(context.Context, sessions.Request) (*sessions.Response, error)
	// Facets counts the hits of a request by day and by the values of fields.
	Facets func(context.Context, search.Request) (*facets.Response, error)
	// Values lists the known values of filters.
	Values func(context.Context) ([]sessions.Facet, error)
	// Open opens the conversation with a name (see ConversationName). If leaf is an entry id,
	// the page shows only the branch through that entry.
	Open func(ctx context.Context, name, leaf string, redact bool) (*Conversation, error)
	// Find returns the offsets of the entries that have every word of a request. The request
	// names one session.
	Find func(context.Context, search.Request) (offsets []int64, err error)
	// Command returns the command that resumes a session, quoted for the user's shell; "" if
	// it cannot be resumed where it was.
	Command func(*search.Resume) string
	// Export returns a file name for a conversation, without extension, and a function that
	// writes the conversation in one of the Formats.
	Export  func(ctx context.Context, name, format string, redact bool) (file string, write func(io.Writer) error, err error)
	Formats []string
	// Audits calls a function with the source of audits. If the index turns out to be damaged,
	// it calls the function again with the rebuilt index.
	Audits func(context.Context, func(*report.Source) error) error
	// Status describes the index.
	Status func() (*printer.Status, error)
	// Follow keeps the index up to date until the context ends, and reports each change
	// of its state.
	Follow func(ctx context.Context, report func(State))
}

// State is the state of the index.
type State struct {
	Generation uint64 // identifies the newest one; 0 if there is no index
	Note       string // that the index is being built, or why it is out of date; "" for neither
}

// Error is an error with an HTTP status and a hint.
type Error struct {
	Status  int
	Message string
	Hint    string // what to do; "" for none
}

func (e *Error) Error() string { return e.Message }

// Server serves the pages.
type Server struct {
	Options
	host   string // with the port
	token  string // in the first URL, to get the cookie
	secret string // in the cookie
	mux    *http.ServeMux
	turns  chan struct{} // one element for each running search
	life   life
}

// page is a page of the navigation.
type page struct {
	Path, Title string
	show        handler
}

// pages is the table of the pages in the navigation bar, in its order.
func pages() []page {
	return []page{
		{"/", "Search", (*Server).showSearch},
		{"/sessions", "Sessions", (*Server).showSessions},
		{"/audit", "Audit", (*Server).showAudit},
		{"/usage", "Usage", (*Server).showUsage},
		{"/status", "Status", (*Server).showStatus},
	}
}

// handler answers a request. If it returns an error, it must not have written anything.
type handler func(*Server, http.ResponseWriter, *http.Request) error

// New returns a server for an address, which includes the port.
func New(address string, opt Options) *Server {
	s := &Server{Options: opt, host: address, token: rand.Text(), secret: rand.Text(), mux: http.NewServeMux(), turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
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
	s.handle("/session/{name}/grown", (*Server).showGrown)
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
