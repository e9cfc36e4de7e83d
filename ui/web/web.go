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
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"net"
	"net/http"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"pigrep/query/facets"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/html"
	"pigrep/ui/printer"
	"pigrep/ui/report"
)

// Options configure a server.
type Options struct {
	Backend

	Agents []string      // pages are about sessions of these agents until the user chooses others; nil for all
	Redact bool          // mask secrets, unless the user turns that off
	Idle   time.Duration // stop after this time without a request or an open page; 0 for never
	Now    func() time.Time
	Zone   *time.Location
	Home   string // shown as ~; "" for none

	// Foreign reports whether a connection belongs to another user of this machine, as far as
	// the system says.
	Foreign func(net.Conn) bool

	SignedIn bool // a Team passes on the requests of one person: no token and no cookie are needed
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
	// Recap tells what was done in sessions.
	Recap func(context.Context, recap.Request) (*recap.Response, error)
	// Find returns the offset of the entry of each hit that a list has. The request names one
	// session.
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
	// Hosts describes the other machines that answer; nil if the index does.
	Hosts func(context.Context) *printer.Hosts
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

// pages returns the table of the pages in the navigation bar, in its order.
func (s *Server) pages() []page {
	status := page{"/status", "Status", (*Server).showStatus}
	if s.Hosts != nil {
		status = page{"/hosts", "Hosts", (*Server).showHosts}
	}
	pages := []page{
		{"/", "Search", (*Server).showSearch},
		{"/sessions", "Sessions", (*Server).showSessions},
		{"/audit", "Audit", figures("Audit", (*report.View).Audit)}, // what tools did
		{"/usage", "Usage", figures("Usage", (*report.View).Usage)}, // tokens and cost
	}
	if s.SignedIn { // what this machine has is nobody's business
		return pages
	}
	return append(pages, status)
}

// handler answers a request. If it returns an error, it must not have written anything.
type handler func(*Server, http.ResponseWriter, *http.Request) error

// New returns a server for an address, which includes the port.
func New(address string, opt Options) *Server {
	s := &Server{Options: opt, host: address, token: rand.Text(), secret: rand.Text(), mux: http.NewServeMux(), turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
	s.life.idle = opt.Idle
	for _, p := range s.pages() {
		path := p.Path
		if path == "/" {
			path = "/{$}"
		}
		s.handle(path, p.show)
	}
	s.handle("/session/{name}", reading((*Server).showConversation))
	s.handle("/session/{name}/output/{entry}/{block}", reading((*Server).showOutput))
	s.handle("/session/{name}/grown", reading((*Server).showGrown))
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

// ErrIdle means that a server stopped because nobody used it.
var ErrIdle = errors.New("nobody has used the page")

// Serve answers requests until the context ends. It returns ErrIdle if the server was idle for
// too long.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if s.life.idle > 0 {
		s.life.end = time.AfterFunc(s.life.idle, func() { stop(ErrIdle) })
		defer s.life.end.Stop()
	}
	var following sync.WaitGroup
	following.Go(func() { s.Follow(ctx, s.life.report) })
	err := serve(ctx, l, s, s.connContext)
	stop(nil)
	following.Wait()
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, ErrIdle) {
		return cause
	}
	return err
}

// life stops an idle server, and notifies open pages of changes of the index.
type life struct {
	idle time.Duration

	mu      sync.Mutex
	end     *time.Timer // nil if the server never stops by itself
	users   int         // running requests; each open page has one, to /events
	state   State
	changed chan struct{} // closed at the next report of a state; nil if nobody waits
}

// use counts a running request until done is called.
func (l *life) use() (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users++; l.end != nil {
		l.end.Stop()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.users--; l.users == 0 && l.end != nil {
			l.end.Reset(l.idle)
		}
	}
}

func (l *life) report(state State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// watch returns the state, and a channel that is closed when the next one is reported.
func (l *life) watch() (State, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.state, l.changed
}

// showEvents sends an event for each change of the index as long as the page is open.
func (s *Server) showEvents(w http.ResponseWriter, r *http.Request) error {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		state, changed := s.life.watch()
		if _, err := fmt.Fprintf(w, "data: %d\n\n", state.Generation); err != nil || out.Flush() != nil {
			return nil // the page was closed
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-changed:
		}
	}
}

var (
	//go:embed templates
	templateFiles embed.FS
	//go:embed static
	staticFiles embed.FS

	templates = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("").Funcs(template.FuncMap{"static": staticAddress}).ParseFS(templateFiles, "templates/*.html"))
	})
)

// frame is the data of a template: what all pages have in common, and the data of the page.
type frame struct {
	Title  string
	Pages  []page
	Here   string // path of this page
	Redact bool
	Back   string // URL of this page
	Note   string // about the index
	Data   any    // what the page itself shows
}

func (s *Server) frame(r *http.Request, title string, data any) *frame {
	state, _ := s.life.watch()
	return &frame{Title: title, Pages: s.pages(), Here: r.URL.Path, Redact: s.redacts(r), Back: r.URL.RequestURI(), Note: state.Note, Data: data}
}

// show writes a page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, name, title string, data any) error {
	return s.write(w, http.StatusOK, name, s.frame(r, title, data))
}

// write executes a template and sends the result. After an error it has sent nothing.
func (s *Server) write(w http.ResponseWriter, status int, name string, data any) error {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	if w.Header().Get("Content-Type") == "" { // nothing was written before it
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
	}
	_, _ = w.Write(b.Bytes()) // fails only if the browser has disconnected
	return nil
}

// fail shows an error as a page.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the browser has disconnected
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Status: http.StatusInternalServerError, Message: err.Error(), Hint: "`pigrep status --check` checks the index"}
	}
	if e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Refresh", "1") // until there is an index
	}
	if err := s.write(w, e.Status, "error", s.frame(r, http.StatusText(e.Status), e)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// static returns a file that pages link to.
func static(name string) ([]byte, error) {
	switch name {
	case readerStyle:
		return []byte(html.Style()), nil
	case figuresStyle:
		return []byte(report.Style()), nil
	}
	return staticFiles.ReadFile("static/" + name)
}

// readerStyle is the style sheet of conversations. It defines the colours of all pages.
const readerStyle = "reader.css"

// figuresStyle is the style sheet of charts and their tables.
const figuresStyle = "figures.css"

// staticAddress returns the URL of a static file. It includes a hash of the content, so that
// browsers can cache the file forever.
func staticAddress(name string) (string, error) {
	data, err := static(name)
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	h.Write(data)
	return fmt.Sprintf("/static/%s?%x", name, h.Sum64()), nil
}

// contentTypes replaces mime.TypeByExtension, whose answers depend on the system.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

func (s *Server) showStatic(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	data, err := static(name)
	if err != nil || strings.ContainsAny(name, `/\`) {
		return errNoPage
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	_, _ = w.Write(data) // fails only if the browser has disconnected
	return nil
}
