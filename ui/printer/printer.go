// Package printer writes answers. A command makes an Answer, and a Printer writes
// it: as text for people, as plain records for pipes, as JSON or JSON Lines for
// programs. Each answer has a file here, with all its forms.
//
// Text fits the width of the terminal and may be coloured; it may change from version to
// version. Plain is one record a line, with the columns of Columns separated by tabs;
// columns are only ever added at the end, before the text. JSON is stable: fields are
// only ever added, and nothing depends on the terminal or the clock. Control characters
// of session files never get into text and plain; JSON escapes them.
package printer

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/sessions"
)

// Answer is the answer of a command, which can be written in every form. Its records are
// those of a recorder, the rows of a tabular one, or else its text as on no terminal.
type Answer interface {
	text(*text)
	json(*jsonWriter)
}

type recorder interface{ plain(*plain) }

type tabular interface{ sheet(Layout) table }

// Format is a form of output.
type Format int

// The forms of output. Only an Audit can be written as CSV.
const (
	FormatText Format = iota
	FormatPlain
	FormatJSON
	FormatJSONL
	FormatCSV
	FormatTemplate
)

// Records reports whether the form consists of records only.
func (f Format) Records() bool { return f == FormatPlain || f == FormatCSV || f == FormatTemplate }

// Layout is what text depends on: the terminal and its user.
type Layout struct {
	Width  int
	Colour bool
	Now    time.Time       // for ages
	Home   string          // shown as ~; "" for none
	Links  *terminal.Links // for paths and addresses; nil for none
	Dates  bool            // dates instead of ages
	Charts bool            // bars and lines of bars beside numbers
	Source bool            // Markdown as it was written

	ShortID func(id string) string       // as sessions.ShortIDs; nil for the full id
	Name    func(id, path string) string // as sessions.Names; nil for the full id
}

// sessionID is the id of a session in the form that commands accept, which also exists for a
// session without an id.
func (l Layout) sessionID(id, path string) string {
	handle := session.Handle(id, path)
	if l.ShortID == nil || handle == "" {
		return handle
	}
	return l.ShortID(handle)
}

// Know makes the layout use the short names of these sessions.
func (l *Layout) Know(list []session.Summary) {
	l.ShortID, l.Name = sessions.ShortIDs(list), sessions.Names(list)
}

// named is the layout of records, of which only the names of sessions depend on the layout.
func (l Layout) named() Layout { return Layout{ShortID: l.ShortID, Name: l.Name} }

// name is what commands accept as the name of a session.
func (l Layout) name(id, path string) string {
	if l.Name == nil {
		return session.Handle(id, path)
	}
	return l.Name(id, path)
}

// place is what commands accept as the name of an entry: SESSION:ENTRY.
func (l Layout) place(id, path, entry string, offset int64) string {
	return l.name(id, path) + ":" + sessions.EntryName(entry, offset)
}

// age is how old something is, or with Dates when it was.
func (l Layout) age(t time.Time) string {
	if l.Dates {
		return l.date(t)
	}
	return human.Age(l.Now, t)
}

// ago is age in running text, with the day unless it is today.
func (l Layout) ago(t time.Time) string {
	switch {
	case l.Dates:
		return l.date(t)
	case t.IsZero() || l.Now.Sub(t) < 24*time.Hour:
		return human.Ago(l.Now, t)
	}
	return human.Ago(l.Now, t) + " (" + l.dayOf(t) + ")"
}

// dayOf is the day of a time, to be shown beside its age; with Dates the time.
func (l Layout) dayOf(t time.Time) string {
	if t.IsZero() || l.Dates {
		return l.date(t)
	}
	return t.In(l.Now.Location()).Format(time.DateOnly)
}

// minuteForm is the form of a date in text, in the time zone of the user.
const minuteForm = "2006-01-02 15:04"

// stampForm is the form of a time with its zone.
const stampForm = "2006-01-02 15:04:05Z07:00"

func (l Layout) date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(l.Now.Location()).Format(minuteForm)
}

// Printer writes answers.
type Printer struct {
	Out    io.Writer
	Format Format
	Layout Layout
	// Template is that of FormatTemplate.
	Template *Template
	// MaxBytes bounds the JSON of all answers together: rows are dropped at the end
	// of an answer, and its "dropped" counts them. 0 means no bound.
	MaxBytes int

	written int
}

// New returns a printer without a bound on its output.
func New(w io.Writer, f Format, layout Layout) *Printer {
	return &Printer{Out: w, Format: f, Layout: layout}
}

// Print writes an answer.
func (p *Printer) Print(a Answer) error {
	out := newSink(p.Out)
	switch p.Format {
	case FormatText:
		a.text(&text{sink: out, Layout: p.Layout})
	case FormatPlain:
		switch a := a.(type) {
		case recorder:
			a.plain(&plain{sink: out, Layout: p.Layout.named()})
		case tabular:
			(&plain{sink: out}).table(a.sheet(p.Layout.named()))
		default:
			a.text(&text{sink: out})
		}
	case FormatTemplate:
		n := a.(tabular).sheet(p.Layout.named()).template(out, p.Template)
		if audit, ok := a.(*Audit); ok {
			audit.Rows = n
		}
	case FormatCSV:
		table, ok := a.(*Audit)
		if !ok {
			return fmt.Errorf("%T cannot be written as CSV", a)
		}
		table.csv(out)
	default:
		j := &jsonWriter{lines: p.Format == FormatJSONL, budget: &budget{sink: out}}
		if p.MaxBytes > 0 {
			j.max = max(1, p.MaxBytes-p.written)
		}
		a.json(j)
		p.written += j.written
	}
	return out.end()
}

// sink takes what is printed, until something fails: then it takes nothing more. What may
// print much looks at err.
type sink struct {
	buffer *bufio.Writer
	out    io.Writer
	err    error
}

// newSink returns a sink that writes to w, through a buffer unless w has one.
func newSink(w io.Writer) *sink { return &sink{buffer: bufio.NewWriter(w), out: w} }

func (s *sink) Write(b []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.buffer.Write(b)
	}
	return n, s.err
}

// print writes texts.
func (s *sink) print(texts ...string) {
	for _, text := range texts {
		if s.err == nil {
			_, s.err = s.buffer.WriteString(text)
		}
	}
}

// fail ends the printing, unless the error is nil.
func (s *sink) fail(err error) { s.err = cmp.Or(s.err, err) }

// end writes what is in a buffer of its own, and returns the first error.
func (s *sink) end() error {
	if s.out != s.buffer {
		s.err = cmp.Or(s.err, s.buffer.Flush())
	}
	return s.err
}
