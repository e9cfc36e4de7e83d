package printer

import (
	"bytes"
	"context"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/fix"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
)

// text writes for people.
type text struct {
	*sink
	Layout
	line bytes.Buffer // the current row of a table
}

// The styles. They only use attributes and the sixteen basic colours.
var (
	titleStyle = ansi.NewStyle().Bold()
	dimStyle   = ansi.NewStyle().Faint()
	matchStyle = ansi.NewStyle().Bold().ForegroundColor(ansi.Red)
	errorStyle = ansi.NewStyle().ForegroundColor(ansi.Red)
)

// kindStyles are the colours of kinds: they show who spoke.
var kindStyles = map[session.Kind]ansi.Style{
	session.KindPrompt:   ansi.NewStyle().ForegroundColor(ansi.Green),
	session.KindReply:    ansi.NewStyle().ForegroundColor(ansi.Blue),
	session.KindThinking: ansi.NewStyle().ForegroundColor(ansi.Magenta),
	session.KindCall:     ansi.NewStyle().ForegroundColor(ansi.Yellow),
	session.KindResult:   ansi.NewStyle().ForegroundColor(ansi.Cyan),
	session.KindShell:    ansi.NewStyle().ForegroundColor(ansi.Yellow),
	session.KindError:    errorStyle,
}

func (t *text) style(s ansi.Style, text string) string {
	if !t.Colour || text == "" {
		return text
	}
	return s.Styled(text)
}

func (t *text) dim(s string) string { return t.style(dimStyle, s) }

// plain writes a record a line, for pipes.
type plain struct {
	*sink
	Layout
	line []byte // reused
}

// record writes the columns on one line. White space within a column, including
// tabs and newlines, becomes one space.
func (p *plain) record(columns ...string) {
	p.line = p.line[:0]
	for i, c := range columns {
		if i > 0 {
			p.line = append(p.line, '\t')
		}
		p.line = append(p.line, terminal.Clean(c)...)
	}
	_, _ = p.Write(append(p.line, '\n'))
}

// stampUTC is a time in a column; "" for none.
func stampUTC(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Columns lists the columns of the records of each command, for help and docs.
func Columns() []CommandColumns {
	return []CommandColumns{
		{"search", names((&Search{Response: &search.Response{}}).sheet(Layout{}))},
		{"sessions", names((&Sessions{List: &sessions.Response{}}).sheet(Layout{}))},
		{"similar", names((&Similar{Response: &similar.Response{}}).sheet(Layout{}))},
		{"fix", names((&Fix{Response: &fix.Response{}}).sheet(Layout{}))},
		{"tools", names(NewToolsAudit(&audit.ToolTable{By: []string{"tool"}}, nil, 0, Layout{}).table)},
		{"tools calls", names(NewCallsAudit(context.Background(), "", &audit.CallList{}, false, Layout{}).table)},
		{"tools commands", names(NewCommandsAudit(&audit.CommandTable{}, 0, Layout{}).table)},
		{"tools files", names(NewFilesAudit(&audit.FileTable{}, false, 0, Layout{}).table)},
		{"usage", names(NewUsageAudit(&audit.UsageTable{By: []string{"model"}}, nil, 0, Layout{}).table)},
		{"index --dry-run", names(stepSheet(&Index{}, Layout{}))},
		{"watch", names((&WatchEvent{}).sheet(Layout{}))},
		{"config", names((&Settings{}).sheet(Layout{}))},
		{"status --stores", names(Stores{}.sheet(Layout{}))},
	}
}

// CommandColumns are the columns of the records of a command.
type CommandColumns struct {
	Command string
	Columns []string
}
