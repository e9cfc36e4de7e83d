// Package printer writes answers. A command makes an Answer, and a Printer writes
// it: as text for people, as plain records for pipes, as JSON or JSON Lines for
// programs. Each answer has all its forms in one file.
//
// Text fits the width of the terminal and may be coloured; it may change from version to
// version. Plain is one record a line, with the columns of Columns separated by tabs;
// columns are only ever added at the end, before the text. JSON is stable: fields are
// only ever added, and nothing depends on the terminal or the clock. Control characters
// of session files never get into text and plain; JSON escapes them.
package printer

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/fix"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/ui/prose"
)

// Answer is the answer of a command, which can be written in every form. Its records come from a
// recorder, or are the rows of a tabular answer, or else its text as without a terminal.
type Answer interface {
	Text(*Text)
	JSON(*JSON)
}

type recorder interface{ Plain(*Text) }

type tabular interface{ Sheet(Layout) table }

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

	Several bool // agents are indexed: each session is shown with its own

	ShortID func(id string) string       // as sessions.Naming; nil for the full id
	Known   func(path string) string     // the same for sessions of other machines, "" for others; may be nil
	Name    func(id, path string) string // as sessions.Naming; nil for the full id
}

// sessionID returns the id of a session in the form that commands accept, which also exists for a
// session without an id.
func (l Layout) sessionID(id, path string) string {
	handle := session.Handle(id, path)
	if name := l.known(path); name != "" {
		return name
	}
	if l.ShortID == nil || handle == "" {
		return handle
	}
	if l.Name != nil {
		if name := l.Name(id, path); !session.IsPath(name) {
			return name
		}
	}
	return l.ShortID(handle)
}

// Know makes the layout use the short names of the sessions of a reader, which must stay open, and show
// agents if they are of several.
func (l *Layout) Know(r *index.Reader) {
	l.Several = len(r.Table().Agents()) > 1
	names := sessions.NamesOf(r)
	l.ShortID, l.Name = names.ShortID, names.Name
}

func (l Layout) Badge(host, agent string, kept bool) string {
	return terminal.Clean(human.Badge(host, agent, l.Several, kept))
}

// namesOnly returns the layout of records: only the names of sessions depend on the layout.
func (l Layout) namesOnly() Layout { return Layout{ShortID: l.ShortID, Name: l.Name, Known: l.Known} }

// known returns the name of a session of another machine.
func (l Layout) known(path string) string {
	if l.Known == nil {
		return ""
	}
	name := l.Known(path)
	if session.IsPath(name) { // there; here it begins with the machine
		return ""
	}
	return name
}

// name returns what commands accept as the name of a session.
func (l Layout) name(id, path string) string {
	if name := l.known(path); name != "" {
		return name
	}
	if l.Name == nil {
		return session.Handle(id, path)
	}
	return l.Name(id, path)
}

// place returns what commands accept as the name of an entry: SESSION:ENTRY.
func (l Layout) place(id, path, entry string, offset int64) string {
	return l.name(id, path) + ":" + sessions.EntryName(entry, offset)
}

// age returns how old something is, or with Dates when it was.
func (l Layout) age(t time.Time) string {
	if l.Dates {
		return l.date(t)
	}
	return human.Age(l.Now, t)
}

// Ago is age in running text, with the day unless it is today.
func (l Layout) Ago(t time.Time) string {
	switch {
	case l.Dates:
		return l.date(t)
	case t.IsZero() || l.Now.Sub(t) < 24*time.Hour:
		return human.Ago(l.Now, t)
	}
	return human.Ago(l.Now, t) + " (" + l.dayOf(t) + ")"
}

// dayOf returns the day of a time, to be shown beside its age; with Dates the time.
func (l Layout) dayOf(t time.Time) string {
	if t.IsZero() || l.Dates {
		return l.date(t)
	}
	return t.In(l.Now.Location()).Format(time.DateOnly)
}

// The forms of times in text, in the time zone of the user.
const (
	dayForm    = "2 Jan"
	dateForm   = "2 Jan 2006"
	minuteForm = "2006-01-02 15:04"
	StampForm  = "2006-01-02 15:04:05Z07:00"
)

func (l Layout) date(t time.Time) string {
	return human.When(!t.IsZero(), t.In(l.Now.Location()).Format(minuteForm))
}

// Printer writes answers.
type Printer struct {
	Out    io.Writer
	Format Format
	Layout Layout
	// Template belongs to FormatTemplate.
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
	out := NewSink(p.Out)
	switch p.Format {
	case FormatText:
		a.Text(&Text{Sink: out, Layout: p.Layout})
	case FormatPlain:
		switch a := a.(type) {
		case recorder:
			a.Plain(&Text{Sink: out, Layout: p.Layout.namesOnly()})
		case tabular:
			(&Text{Sink: out}).records(a.Sheet(p.Layout.namesOnly()))
		default:
			a.Text(&Text{Sink: out})
		}
	case FormatTemplate:
		n := a.(tabular).Sheet(p.Layout.namesOnly()).template(out, p.Template)
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
		j := &JSON{lines: p.Format == FormatJSONL, budget: &budget{Sink: out}}
		if p.MaxBytes > 0 {
			j.max = max(1, p.MaxBytes-p.written)
		}
		a.JSON(j)
		p.written += j.written
	}
	return out.End()
}

// sink takes what is printed, until something fails: then it takes nothing more. What may
// print much looks at err.
type Sink struct {
	buffer *bufio.Writer
	out    io.Writer
	Err    error
}

// NewSink returns a sink that writes to w, through a buffer unless w has one.
func NewSink(w io.Writer) *Sink { return &Sink{buffer: bufio.NewWriter(w), out: w} }

func (s *Sink) Write(b []byte) (n int, err error) {
	if s.Err == nil {
		n, s.Err = s.buffer.Write(b)
	}
	return n, s.Err
}

// Print writes texts.
func (s *Sink) Print(texts ...string) {
	for _, text := range texts {
		if s.Err == nil {
			_, s.Err = s.buffer.WriteString(text)
		}
	}
}

// Fail ends the printing, unless the error is nil.
func (s *Sink) Fail(err error) { s.Err = cmp.Or(s.Err, err) }

// End writes what is in a buffer of its own, and returns the first error.
func (s *Sink) End() error {
	if s.out != s.buffer {
		s.Err = cmp.Or(s.Err, s.buffer.Flush())
	}
	return s.Err
}

// Text writes for people; with the layout of records, lines for programs.
type Text struct {
	*Sink
	Layout
	line bytes.Buffer // the current row of a table
}

// The styles. They only use attributes and the sixteen basic colours.
var (
	TitleStyle = ansi.NewStyle().Bold()
	DimStyle   = ansi.NewStyle().Faint()
	MatchStyle = ansi.NewStyle().Bold().ForegroundColor(ansi.Red)
	ErrorStyle = ansi.NewStyle().ForegroundColor(ansi.Red)
)

// kindStyles are the colours of kinds: they show who spoke.
var KindStyles = map[session.Kind]ansi.Style{
	session.KindPrompt:   ansi.NewStyle().ForegroundColor(ansi.Green),
	session.KindReply:    ansi.NewStyle().ForegroundColor(ansi.Blue),
	session.KindThinking: ansi.NewStyle().ForegroundColor(ansi.Magenta),
	session.KindCall:     ansi.NewStyle().ForegroundColor(ansi.Yellow),
	session.KindResult:   ansi.NewStyle().ForegroundColor(ansi.Cyan),
	session.KindShell:    ansi.NewStyle().ForegroundColor(ansi.Yellow),
	session.KindError:    ErrorStyle,
}

func (t *Text) Style(s ansi.Style, text string) string {
	if !t.Colour || text == "" {
		return text
	}
	return s.Styled(text)
}

func (t *Text) Dim(s string) string { return t.Style(DimStyle, s) }

// record writes the columns on one line, for pipes. White space within a column, including
// tabs and newlines, becomes one space.
func (t *Text) record(columns ...string) {
	t.line.Reset()
	for i, c := range columns {
		if i > 0 {
			t.line.WriteByte('\t')
		}
		t.line.WriteString(terminal.Clean(c))
	}
	t.line.WriteByte('\n')
	_, _ = t.Write(t.line.Bytes())
}

// stampUTC returns a time in a column; "" for none.
func stampUTC(t time.Time) string { return human.When(!t.IsZero(), t.UTC().Format(time.RFC3339)) }

// lister is a command whose rows have the same columns whatever the answer is, and an answer of it.
type lister struct {
	command string
	empty   tabular
}

var listers = []lister{
	{"search", &Search{Response: &search.Response{}}},
	{"sessions", &Sessions{List: &sessions.Response{}}},
	{"similar", &Similar{Response: &similar.Response{}}},
	{"blame", &Blame{Response: &blame.Response{}}},
	{"recap", &Recap{Response: &recap.Response{}}},
	{"recap --lessons", &Lessons{Response: &recap.Lessons{}}},
	{"commit", &Commits{Response: &blame.CommitResponse{}}},
	{"log", &Commits{Response: &blame.CommitResponse{}}},
	{"secrets", Secrets{}},
	{"fix", &Fix{Response: &fix.Response{}}},
}

// Fields lists the fields that a template for the rows of a command may have; nil if they depend on
// the answer.
func Fields(command string) []string {
	for _, l := range append(listers, lister{"grep", &Grep{}}, lister{"hosts", &Hosts{}}) {
		if l.command == command {
			return l.empty.Sheet(Layout{}).fields()
		}
	}
	return nil
}

// Columns lists the columns of the records of each command, for help and docs.
func Columns() (list []CommandColumns) {
	for _, l := range listers {
		list = append(list, CommandColumns{l.command, names(l.empty.Sheet(Layout{}))})
	}
	return append(list, []CommandColumns{
		{"tools", names(NewToolsAudit(&audit.ToolTable{By: []string{"tool"}}, nil, 0, Layout{}).table)},
		{"tools calls", names(NewCallsAudit(context.Background(), "", &audit.CallList{}, false, Layout{}).table)},
		{"tools commands", names(NewCommandsAudit(&audit.CommandTable{}, 0, Layout{}).table)},
		{"tools files", names(NewFilesAudit(&audit.FileTable{}, false, 0, Layout{}).table)},
		{"usage", names(NewUsageAudit(&audit.UsageTable{By: []string{"model"}}, nil, nil, 0, Layout{}).table)},
		{"index --dry-run", names(stepSheet(&Index{}, Layout{}))},
		{"watch", names((&WatchEvent{}).Sheet(Layout{}))},
		{"config", names((&Settings{}).Sheet(Layout{}))},
		{"status --stores", names(Stores{}.Sheet(Layout{}))},
		{"status --sizes", names(Sizes{}.Sheet(Layout{}))},
	}...)
}

// CommandColumns are the columns of the records of a command.
type CommandColumns struct {
	Command string
	Columns []string
}

// Message is an error, or a warning beside the results that stops nothing.
type Message struct {
	Code    string `json:"code,omitempty"` // of an error; a warning has none
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Reason  string `json:"reason,omitempty"` // the part of the message that says why, of a session that cannot be resumed
	// Candidates are what the user may have meant, safe to print.
	Candidates []string `json:"candidates,omitempty"`
}

// Write writes the message on one line and the hint on another, or both as
// {"error":{…}} or {"warning":{…}}. A width wraps lines between words; 0 is none.
func (m Message) Write(w io.Writer, asJSON bool, width int) error {
	m.Message, m.Hint = brief(m.Message), brief(m.Hint)
	if asJSON {
		kind := "warning"
		if m.Code != "" {
			kind = "error"
		}
		return encode(w, map[string]any{kind: m})
	}
	s := messageLine("pigrep: ", m.Message, width)
	for _, c := range m.Candidates {
		s += "  " + c + "\n"
	}
	_, err := io.WriteString(w, s+human.When(m.Hint != "", messageLine("hint: ", m.Hint, width)))
	return err
}

// Progress is how far indexing is.
type Progress struct {
	Files       int   `json:"files"` // to index
	Bytes       int64 `json:"bytes"`
	BytesTotal  int64 `json:"bytesTotal"`
	SecondsLeft int   `json:"secondsLeft,omitempty"` // absent if unknown
	First       bool  `json:"first"`                 // there is no index yet
}

// Write writes the progress as {"progress":{…}}.
func (p Progress) Write(w io.Writer) error { return encode(w, map[string]any{"progress": p}) }

// How many bytes of what was typed or read a message repeats.
const (
	wordBytes    = 300
	messageBytes = 2000
)

// brief shortens a message that repeats much. It cuts long words, such as paths, in the middle,
// since their ends say most, and then the end of the message.
func brief(s string) string {
	if len(s) <= wordBytes {
		return s
	}
	var b strings.Builder
	for word := range strings.SplitAfterSeq(s, " ") {
		if len(word) > wordBytes {
			word = strings.ToValidUTF8(word[:wordBytes/2], "") + "…" + strings.ToValidUTF8(word[len(word)-wordBytes/3:], "")
		}
		if b.Len()+len(word) > messageBytes {
			return b.String() + "…"
		}
		b.WriteString(word)
	}
	return b.String()
}

func messageLine(label, message string, width int) string {
	line := label + terminal.Clean(message)
	if width > 0 {
		line = strings.Join(prose.FoldWords(line, width), "\n")
	}
	return line + "\n"
}
