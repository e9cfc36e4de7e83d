package printer

import (
	"context"
	"io"
	"time"

	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/sessions"
	"pigrep/query/similar"
)

// plain writes a record a line, for pipes.
type plain struct {
	w    io.Writer
	line []byte // reused
}

// record writes the columns on one line. White space within a column, including
// tabs and newlines, becomes one space.
func (p *plain) record(columns ...string) error {
	p.line = p.line[:0]
	for i, c := range columns {
		if i > 0 {
			p.line = append(p.line, '\t')
		}
		p.line = append(p.line, terminal.Clean(c)...)
	}
	p.line = append(p.line, '\n')
	_, err := p.w.Write(p.line)
	return err
}

func (p *plain) records(list [][]string) error {
	for _, columns := range list {
		if err := p.record(columns...); err != nil {
			return err
		}
	}
	return nil
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
		{"search", searchColumns},
		{"sessions", names((&Sessions{List: &sessions.Response{}}).sheet(Look{}))},
		{"similar", names((&Similar{Response: &similar.Response{}}).sheet(Look{}))},
		{"fix", fixColumns},
		{"tools", names(NewToolsAudit(&audit.ToolTable{By: []string{"tool"}}, nil, 0, Look{}).table)},
		{"tools calls", names(NewCallsAudit(context.Background(), "", &audit.CallList{}, false, Look{}).table)},
		{"tools commands", names(NewCommandsAudit(&audit.CommandTable{}, 0, Look{}).table)},
		{"tools files", names(NewFilesAudit(&audit.FileTable{}, false, 0, Look{}).table)},
		{"usage", names(NewUsageAudit(&audit.UsageTable{By: []string{"model"}}, nil, 0, Look{}).table)},
		{"index --dry-run", names(stepSheet(&Index{}, Look{}))},
		{"watch", watchColumns},
		{"config", names((&Settings{}).sheet(Look{}))},
		{"status --stores", names(Stores{}.sheet(Look{}))},
	}
}

// CommandColumns are the columns of the records of a command.
type CommandColumns struct {
	Command string
	Columns []string
}
