package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
	"path"
	"strings"
	"sync"

	"pigrep/ui/html"
	"pigrep/ui/report"
)

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
	return &frame{Title: title, Pages: pages(), Here: r.URL.Path, Redact: s.redacts(r), Back: r.URL.RequestURI(), Note: state.Note, Data: data}
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
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
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
		e = &Error{Status: http.StatusInternalServerError, Message: err.Error(), Hint: "`pigrep doctor` checks the index"}
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
