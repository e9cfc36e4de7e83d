package printer

import (
	"fmt"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/query/audit"
)

// sheet is the table of an audit with rows of T. It says of each column once what
// it is called and what stands in it, for all forms of output.
type sheet[T any] []sheetColumn[T]

type sheetColumn[T any] struct {
	AuditColumn
	cell func(*T) AuditCell
}

func (s sheet[T]) columns() []AuditColumn {
	list := make([]AuditColumn, len(s))
	for i := range s {
		list[i] = s[i].AuditColumn
	}
	return list
}

func (s sheet[T]) row(r *T) *AuditRow {
	row := &AuditRow{Value: r, Cells: make([]AuditCell, len(s))}
	for i := range s {
		row.Cells[i] = s[i].cell(r)
	}
	return row
}

// each hands over the rows of a list.
func (s sheet[T]) each(list []T) func(func(*AuditRow) error) error {
	return func(visit func(*AuditRow) error) error {
		for i := range list {
			if err := visit(s.row(&list[i])); err != nil {
				return err
			}
		}
		return nil
	}
}

// keyColumns are the columns of the dimensions that rows are made of. The total
// is of them all.
func keyColumns[T any](look Look, by []string, total *T, key func(*T) *audit.Key) sheet[T] {
	var columns sheet[T]
	labelled := false
	add := func(c AuditColumn, text func(k *audit.Key) AuditCell) {
		first := c.Title != "" && !labelled
		labelled = labelled || first
		columns = append(columns, sheetColumn[T]{c, func(r *T) AuditCell {
			switch {
			case r != total:
				return text(key(r))
			case first:
				return AuditCell{Text: "total"}
			}
			return AuditCell{}
		}})
	}
	named := func(s *string) AuditCell {
		if *s == "" {
			return AuditCell{Text: "(none)"}
		}
		return TextCell(*s)
	}
	for i, name := range by {
		c := AuditColumn{Name: name, Title: strings.ToUpper(name), Flex: i == 0}
		switch name {
		case "tool":
			add(c, func(k *audit.Key) AuditCell { return named(k.Tool) })
		case "model":
			add(c, func(k *audit.Key) AuditCell { return named(k.Model) })
		case "project":
			c.Left = true
			add(c, func(k *audit.Key) AuditCell {
				if *k.Project == "" {
					return named(k.Project)
				}
				return look.PathCell(*k.Project)
			})
		case "session":
			c.Name = "session name"
			add(AuditColumn{Name: "session path"}, func(k *audit.Key) AuditCell { return TextCell(k.SessionPath) })
			add(AuditColumn{Name: "session id"}, func(k *audit.Key) AuditCell { return TextCell(k.SessionID) })
			add(c, func(k *audit.Key) AuditCell {
				return AuditCell{Text: title(k.SessionName, ""), Plain: k.SessionName}
			})
		case "day", "week", "month":
			c.Flex = false
			add(c, func(k *audit.Key) AuditCell {
				return TextCell(map[string]string{"day": k.Day, "week": k.Week, "month": k.Month}[name])
			})
		}
	}
	return columns
}

func fixed(list []string) func() []string { return func() []string { return list } }

// NewToolsAudit makes the answer of tools. A limit of 0 is none.
func NewToolsAudit(t *audit.ToolTable, limit int, look Look) *Audit {
	type row = audit.ToolRow
	s := append(keyColumns(look, t.By, &t.Total, func(r *row) *audit.Key { return &r.Key }), sheet[row]{
		{AuditColumn{Name: "calls", Title: "CALLS", Right: true, Share: true}, func(r *row) AuditCell { return CountCell(r.Calls) }},
		{AuditColumn{Name: "errors", Title: "ERRORS", Right: true}, func(r *row) AuditCell { return CountCell(r.Errors) }},
		{AuditColumn{Name: "error rate", Title: "RATE", Right: true}, rateCell},
		{AuditColumn{Name: "sessions", Title: "SESSIONS", Right: true}, func(r *row) AuditCell { return CountCell(r.Sessions) }},
		{AuditColumn{Name: "p50 ms", Title: "P50", Right: true}, func(r *row) AuditCell { return MillisCell(r.P50) }},
		{AuditColumn{Name: "p95 ms", Title: "P95", Right: true}, func(r *row) AuditCell { return MillisCell(r.P95) }},
		{AuditColumn{Name: "output bytes", Title: "OUTPUT", Right: true}, func(r *row) AuditCell { return bytesCell(r.Bytes) }},
		{AuditColumn{Name: "last used", Title: "LAST USED"}, func(r *row) AuditCell { return look.lastCell(r.Last.Time) }},
		{AuditColumn{Name: "without result"}, func(r *row) AuditCell { return CountCell(r.NoResult) }},
		{AuditColumn{Name: "result without call"}, func(r *row) AuditCell { return CountCell(r.NoCall) }},
		{AuditColumn{Name: "nested"}, func(r *row) AuditCell { return CountCell(r.Nested) }},
		{AuditColumn{Name: "timed"}, func(r *row) AuditCell { return CountCell(r.Timed) }},
	}...)
	return &Audit{
		Command: "tools", Columns: s.columns(), Total: s.row(&t.Total), Each: s.each(limited(t.Rows, limit)),
		Coverage: &t.Coverage, Warnings: fixed(t.Warnings), State: t.Index,
		Closing: func(rows int) string {
			var parts []string
			if rows < len(t.Rows) {
				parts = append(parts, shown(rows, len(t.Rows), "row", "rows"))
			}
			if n := t.Total.NoResult; n > 0 {
				parts = append(parts, human.Plural(n, "call has no result", "calls have no result"))
			}
			if n := t.Total.NoCall; n > 0 {
				parts = append(parts, human.Plural(n, "result has no call", "results have no call"))
			}
			if n := t.Total.Nested; n > 0 {
				parts = append(parts, human.Plural(n, "call was made by a tool", "calls were made by tools"))
			}
			return strings.Join(parts, " · ")
		},
	}
}

func rateCell(r *audit.ToolRow) AuditCell {
	c := AuditCell{Text: "-", Plain: strconv.FormatFloat(r.ErrorRate, 'g', 6, 64)}
	if r.Errors > 0 {
		c.Text = fmt.Sprintf("%.1f%%", 100*r.ErrorRate)
	}
	return c
}

func bytesCell(n int64) AuditCell {
	c := CountCell(n)
	switch {
	case n >= 1e9:
		c.Text = fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		c.Text = fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		c.Text = fmt.Sprintf("%.1f kB", float64(n)/1e3)
	default:
		c.Text = fmt.Sprintf("%d B", n)
	}
	return c
}

// NewUsageAudit makes the answer of usage. A limit of 0 is none.
func NewUsageAudit(t *audit.UsageTable, limit int, look Look) *Audit {
	type row = audit.UsageRow
	s := append(keyColumns(look, t.By, &t.Total, func(r *row) *audit.Key { return &r.Key }), sheet[row]{
		{AuditColumn{Name: "input", Title: "INPUT", Right: true}, func(r *row) AuditCell { return CountCell(r.Input) }},
		{AuditColumn{Name: "output", Title: "OUTPUT", Right: true}, func(r *row) AuditCell { return CountCell(r.Output) }},
		{AuditColumn{Name: "cache read", Title: "CACHE READ", Right: true}, func(r *row) AuditCell { return CountCell(r.CacheRead) }},
		{AuditColumn{Name: "cache write", Title: "CACHE WRITE", Right: true}, func(r *row) AuditCell { return CountCell(r.CacheWrite) }},
		{AuditColumn{Name: "tokens"}, func(r *row) AuditCell { return CountCell(r.Tokens) }},
		{AuditColumn{Name: "cost", Title: "COST", Right: true, Share: true}, func(r *row) AuditCell { return CostCell(r.Cost) }},
		{AuditColumn{Name: "entries"}, func(r *row) AuditCell { return CountCell(r.Entries) }},
		{AuditColumn{Name: "sessions", Title: "SESSIONS", Right: true}, func(r *row) AuditCell { return CountCell(r.Sessions) }},
		{AuditColumn{Name: "unusable"}, func(r *row) AuditCell { return CountCell(r.Unusable) }},
	}...)
	return &Audit{
		Command: "usage", Columns: s.columns(), Total: s.row(&t.Total), Each: s.each(limited(t.Rows, limit)),
		Coverage: &t.Coverage, Warnings: fixed(t.Warnings), State: t.Index,
		Facts: struct {
			TimeZone string            `json:"timeZone"`
			Sources  []audit.SourceRow `json:"sources"`
		}{t.TimeZone, list(t.Sources)},
		Closing: func(rows int) string {
			var parts []string
			if rows < len(t.Rows) {
				parts = append(parts, shown(rows, len(t.Rows), "row", "rows"))
			}
			if len(t.Sources) > 1 {
				for _, source := range t.Sources {
					parts = append(parts, source.Source+" "+CostCell(source.Cost).Text)
				}
			}
			if n := t.Total.Unusable; n > 0 {
				parts = append(parts, human.Plural(n, "entry has a figure that cannot be right, counted as 0", "entries have figures that cannot be right, counted as 0"))
			}
			return strings.Join(parts, " · ")
		},
	}
}

// limited returns the first rows of a list, all of them without a limit.
func limited[T any](list []T, limit int) []T {
	if limit > 0 && limit < len(list) {
		return list[:limit]
	}
	return list
}

// shown says how many rows there are, and how many of them are shown.
func shown(rows, all int, one, many string) string {
	if rows < all {
		return human.Plural(all, one, many) + "; " + human.Number(rows) + " shown (more: -n)"
	}
	return human.Plural(all, one, many)
}

// NewCommandsAudit makes the answer of tools commands. A limit of 0 is none.
func NewCommandsAudit(t *audit.CommandTable, limit int, look Look) *Audit {
	type row = audit.CommandRow
	s := sheet[row]{
		{AuditColumn{Name: "program", Title: "PROGRAM", Flex: true}, func(r *row) AuditCell { return TextCell(r.Program) }},
		{AuditColumn{Name: "runs", Title: "RUNS", Right: true, Share: true}, func(r *row) AuditCell { return CountCell(r.Runs) }},
		{AuditColumn{Name: "calls", Title: "CALLS", Right: true}, func(r *row) AuditCell { return CountCell(r.Calls) }},
		{AuditColumn{Name: "failed", Title: "FAILED", Right: true}, func(r *row) AuditCell { return CountCell(r.Failed) }},
		{AuditColumn{Name: "sessions", Title: "SESSIONS", Right: true}, func(r *row) AuditCell { return CountCell(r.Sessions) }},
		{AuditColumn{Name: "last used", Title: "LAST USED"}, func(r *row) AuditCell { return look.lastCell(r.Last.Time) }},
	}
	return &Audit{
		Command: "tools commands", Columns: s.columns(), Each: s.each(limited(t.Rows, limit)),
		Coverage: &t.Coverage, Warnings: fixed(t.Warnings), State: t.Index,
		Facts: struct {
			Calls    int `json:"calls"`
			Unparsed int `json:"unparsed"`
		}{t.Calls, t.Unparsed},
		Closing: func(rows int) string {
			line := shown(rows, len(t.Rows), "program", "programs") + " in " + human.Plural(t.Calls, "command", "commands")
			if t.Unparsed > 0 {
				line += ", " + human.Number(t.Unparsed) + " of them cannot be parsed (of these the first word counts)"
			}
			return line
		},
	}
}

// NewFilesAudit makes the answer of tools files: a table, or the history of a
// path. A limit of 0 is none.
func NewFilesAudit(t *audit.FileTable, history bool, limit int, look Look) *Audit {
	a := &Audit{Command: "tools files", Coverage: &t.Coverage, Warnings: fixed(t.Warnings), State: t.Index}
	if history {
		s := touchSheet(look)
		each := s.each(limited(t.Touches, limit))
		a.Columns = s.columns()
		a.Each = func(visit func(*AuditRow) error) error {
			return each(func(r *AuditRow) error {
				r.Alarm = r.Value.(*audit.TouchRow).Status == "error"
				return visit(r)
			})
		}
		a.Closing = func(rows int) string { return shown(rows, len(t.Touches), "time", "times") }
		return a
	}
	type row = audit.FileRow
	s := sheet[row]{
		{AuditColumn{Name: "path", Title: "FILE", Flex: true, Left: true}, func(r *row) AuditCell { return look.PathCell(r.Path) }},
		{AuditColumn{Name: "reads", Title: "READ", Right: true}, func(r *row) AuditCell { return CountCell(r.Reads) }},
		{AuditColumn{Name: "writes", Title: "WRITTEN", Right: true}, func(r *row) AuditCell { return CountCell(r.Writes) }},
		{AuditColumn{Name: "edits", Title: "EDITED", Right: true}, func(r *row) AuditCell { return CountCell(r.Edits) }},
		{AuditColumn{Name: "others", Title: "OTHER", Right: true}, func(r *row) AuditCell { return CountCell(r.Others) }},
		{AuditColumn{Name: "in summaries"}, func(r *row) AuditCell { return CountCell(r.Summaries) }},
		{AuditColumn{Name: "failed", Title: "FAILED", Right: true}, func(r *row) AuditCell { return CountCell(r.Failed) }},
		{AuditColumn{Name: "sessions", Title: "SESSIONS", Right: true}, func(r *row) AuditCell { return CountCell(r.Sessions) }},
		{AuditColumn{Name: "first"}, func(r *row) AuditCell { return look.TimeCell(r.First.Time) }},
		{AuditColumn{Name: "last", Title: "LAST"}, func(r *row) AuditCell { return look.lastCell(r.Last.Time) }},
	}
	a.Columns, a.Each = s.columns(), s.each(limited(t.Rows, limit))
	a.Closing = func(rows int) string { return shown(rows, len(t.Rows), "file", "files") }
	return a
}

func touchSheet(look Look) sheet[audit.TouchRow] {
	type row = audit.TouchRow
	return sheet[row]{
		{AuditColumn{Name: "timestamp", Title: "TIME"}, func(r *row) AuditCell { return look.TimeCell(r.Timestamp.Time) }},
		{AuditColumn{Name: "action", Title: "ACTION"}, func(r *row) AuditCell { return TextCell(r.Action) }},
		{AuditColumn{Name: "status", Title: "STATUS"}, func(r *row) AuditCell { return TextCell(r.Status) }},
		{AuditColumn{Name: "path", Title: "FILE", Flex: true, Left: true}, func(r *row) AuditCell { return look.PathCell(r.Path) }},
		{AuditColumn{Name: "tool", Title: "TOOL"}, func(r *row) AuditCell { return TextCell(r.Tool) }},
		{AuditColumn{Name: "session path"}, func(r *row) AuditCell { return TextCell(r.SessionPath) }},
		{AuditColumn{Name: "session id", Title: "SESSION"}, func(r *row) AuditCell { return idCell(r.SessionID) }},
		{AuditColumn{Name: "working directory"}, func(r *row) AuditCell { return TextCell(r.CWD) }},
		{AuditColumn{Name: "offset"}, func(r *row) AuditCell { return CountCell(r.Offset) }},
	}
}

// idCell is a cell with a session id, of which people see the beginning.
func idCell(id string) AuditCell { return AuditCell{Text: id[:min(len(id), 13)], Plain: id} }

// NewCallsAudit makes the answer of tools calls, and of commands as typed. The
// rows come as they are found.
func NewCallsAudit(command string, l *audit.CallList, risky bool, look Look) *Audit {
	type row = audit.CallRow
	s := sheet[row]{
		{AuditColumn{Name: "timestamp", Title: "TIME", Width: len("2006-01-02 15:04")}, func(r *row) AuditCell { return look.TimeCell(r.Timestamp.Time) }},
		{AuditColumn{Name: "status", Title: "STATUS", Width: 7}, func(r *row) AuditCell { return TextCell(r.Status) }},
		{AuditColumn{Name: "exit code", Title: "EXIT", Right: true, Width: 4}, func(r *row) AuditCell {
			if r.ExitCode == nil {
				return AuditCell{}
			}
			return TextCell(strconv.Itoa(int(*r.ExitCode)))
		}},
		{AuditColumn{Name: "duration ms", Title: "TOOK", Right: true, Width: 6}, func(r *row) AuditCell { return MillisCell(r.Duration) }},
		{AuditColumn{Name: "tool", Title: "TOOL", Width: 10}, func(r *row) AuditCell { return TextCell(r.Tool) }},
		{AuditColumn{Name: "rules"}, func(r *row) AuditCell { return TextCell(strings.Join(r.Rules, ",")) }},
		{AuditColumn{Name: "arguments", Title: "ARGUMENTS", Flex: true}, argumentsCell},
		{AuditColumn{Name: "project", Title: "PROJECT", Left: true, Width: 16}, func(r *row) AuditCell { return AuditCell{Text: projectName(r.CWD), Plain: r.CWD} }},
		{AuditColumn{Name: "session id", Title: "SESSION", Width: 13}, func(r *row) AuditCell { return idCell(r.SessionID) }},
		{AuditColumn{Name: "session path"}, func(r *row) AuditCell { return TextCell(r.SessionPath) }},
		{AuditColumn{Name: "offset"}, func(r *row) AuditCell { return CountCell(r.Offset) }},
		{AuditColumn{Name: "output bytes"}, func(r *row) AuditCell { return CountCell(r.Bytes) }},
		{AuditColumn{Name: "model"}, func(r *row) AuditCell { return TextCell(r.Model) }},
		{AuditColumn{Name: "kind"}, func(r *row) AuditCell { return TextCell(r.Kind) }},
	}
	if risky {
		s[5].Title, s[5].Width = "RULE", 18
		s[2].Title, s[3].Title = "", ""
	}
	return &Audit{
		Command: command, Columns: s.columns(), Coverage: &l.Coverage, State: l.Index,
		Warnings: func() []string { return l.Warnings },
		Facts: struct {
			Calls *int `json:"calls,omitempty"` // before the limit; absent with --arg
		}{counted(l.Total)},
		Closing: func(rows int) string { return shown(rows, max(rows, l.Total), "call", "calls") },
		Each: func(visit func(*AuditRow) error) error {
			return l.Each(func(r *audit.CallRow) error {
				row := s.row(r)
				row.Below, row.Alarm = r.Result, r.Status == "error"
				return visit(row)
			})
		},
	}
}

// argumentsCell is a cell with the arguments of a call. People see where the lines
// of a command end.
func argumentsCell(r *audit.CallRow) AuditCell {
	text := r.Arguments
	if r.Cut {
		text += "…"
	}
	return AuditCell{Text: strings.ReplaceAll(strings.TrimSpace(text), "\n", " ⏎ "), Plain: text}
}

func counted(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// projectName is the last element of a directory.
func projectName(dir string) string {
	dir = strings.TrimRight(strings.ReplaceAll(dir, `\`, "/"), "/")
	return dir[strings.LastIndexByte(dir, '/')+1:]
}
