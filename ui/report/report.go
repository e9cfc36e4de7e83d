// Package report lays audits out for browsers: sections with charts and tables, for the
// pages of the server and for a report, which is one file that needs no script and loads
// nothing; its Content-Security-Policy makes browsers enforce that.
//
// All text of a session is treated as hostile: html/template escapes it, hidden
// characters are made visible, and every class and attribute is fixed.
package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"sync"

	"pigrep/internal/human"
	"pigrep/query/sessions"
	"pigrep/ui/chart"
	"pigrep/ui/html"
)

// Report is a page about a period of time.
type Report struct {
	Title    string
	Facts    []Fact
	Sections []*Section
	Coverage string // what the figures cover
}

// Fact is a line of the table at the top.
type Fact struct{ Name, Value string }

var (
	//go:embed report.html
	source string
	//go:embed report.css
	styleSource string

	templates = sync.OnceValue(func() *template.Template { return template.Must(template.New("").Parse(source)) })
	// style is the style sheet as it is between its tags.
	style = sync.OnceValue(func() string { return "\n" + html.Style() + Style() })
	// policy allows this style sheet, nothing else.
	policy = sync.OnceValue(func() string {
		sum := sha256.Sum256([]byte(style()))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	})
)

// Style is the style sheet of sections, which a page needs in addition to that of
// conversations.
func Style() string { return chart.Style() + styleSource }

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	return templates().ExecuteTemplate(w, "report", struct {
		*Report
		Policy string
		Style  template.HTML
	}{r, policy(), template.HTML("<style>" + style() + "</style>")})
}

// HTML writes sections as a part of a page.
func HTML(w io.Writer, sections []*Section) error {
	return templates().ExecuteTemplate(w, "sections", sections)
}

// Sessions lists sessions, with what each used.
func (v *View) Sessions(list *sessions.Response) *Section {
	s := &Section{ID: "sessions", Title: "Sessions", Note: "No session has a message in this time."}
	if len(list.Sessions) == 0 {
		return s
	}
	s.Note = human.Plural(len(list.Sessions), "session", "sessions")
	t := &Table{Head: []Head{{Text: "session"}, {Text: "project"}, {Text: "last message"}, {Text: "messages", Number: true}, {Text: "tokens", Number: true}, {Text: "cost", Number: true}}}
	for i := range list.Sessions {
		h := &list.Sessions[i]
		cost, at := "–", ""
		if h.Cost > 0 {
			cost = human.Cents.Text(h.Cost)
		}
		if !h.Modified.IsZero() {
			at = h.Modified.In(v.Now.Location()).Format("2006-01-02 15:04")
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{
			{Text: html.Line(human.Headline(h.Title)), Link: v.session(h.SessionPath, h.SessionID, "")},
			{Text: html.Line(human.Path(h.CWD, v.Home))}, {Text: at},
			{Text: human.Number(h.Messages), Number: true}, {Text: human.Number(h.Tokens), Number: true}, {Text: cost, Number: true},
		}})
	}
	s.Tables = []*Table{t}
	return s
}
