package printer

import (
	"fmt"
	"strconv"
	"strings"

	"pigrep/query"
)

// keyColumns are the columns of the dimensions that rows are made of.
func keyColumns(by []string) []AuditColumn {
	var columns []AuditColumn
	for i, name := range by {
		c := AuditColumn{Name: name, Title: strings.ToUpper(name), Flex: i == 0}
		switch name {
		case "project":
			c.Left = true
		case "day", "week", "month":
			c.Flex = false
		case "session":
			columns = append(columns, AuditColumn{Name: "session path"}, AuditColumn{Name: "session id"})
			c.Name = "session name"
		}
		columns = append(columns, c)
	}
	return columns
}

func (l Look) keyCells(by []string, k *query.AuditKey, total bool) []AuditCell {
	var row []AuditCell
	for i, name := range by {
		var c AuditCell
		named := func(s *string) AuditCell {
			switch {
			case s == nil:
				return AuditCell{}
			case *s == "":
				return AuditCell{Text: "(none)"}
			}
			return TextCell(*s)
		}
		switch name {
		case "tool":
			c = named(k.Tool)
		case "model":
			c = named(k.Model)
		case "project":
			if c = named(k.Project); c.Plain != "" {
				c = l.PathCell(c.Plain)
			}
		case "day":
			c = TextCell(k.Day)
		case "week":
			c = TextCell(k.Week)
		case "month":
			c = TextCell(k.Month)
		case "session":
			row = append(row, TextCell(k.SessionPath), TextCell(k.SessionID))
			c = AuditCell{Text: title(k.SessionName, ""), Plain: k.SessionName}
		}
		if total {
			c = AuditCell{}
			if i == 0 {
				c.Text = "total"
			}
		}
		row = append(row, c)
	}
	return row
}

// eachOf hands over the rows that a list makes.
func eachOf[T any](list []T, row func(*T) *AuditRow) func(func(*AuditRow) error) error {
	return func(visit func(*AuditRow) error) error {
		for i := range list {
			if err := visit(row(&list[i])); err != nil {
				return err
			}
		}
		return nil
	}
}

func fixed(list []string) func() []string { return func() []string { return list } }

// NewToolsAudit makes the answer of tools.
func NewToolsAudit(t *query.ToolTable, look Look) *Audit {
	columns := append(keyColumns(t.By),
		AuditColumn{Name: "calls", Title: "CALLS", Right: true, Share: true},
		AuditColumn{Name: "errors", Title: "ERRORS", Right: true},
		AuditColumn{Name: "error rate", Title: "RATE", Right: true},
		AuditColumn{Name: "sessions", Title: "SESSIONS", Right: true},
		AuditColumn{Name: "p50 ms", Title: "P50", Right: true},
		AuditColumn{Name: "p95 ms", Title: "P95", Right: true},
		AuditColumn{Name: "output bytes", Title: "OUTPUT", Right: true},
		AuditColumn{Name: "last used", Title: "LAST USED"},
		AuditColumn{Name: "without result"},
		AuditColumn{Name: "result without call"},
		AuditColumn{Name: "nested"},
		AuditColumn{Name: "timed"},
	)
	make := func(r *query.ToolRow, total bool) *AuditRow {
		rate := AuditCell{Plain: strconv.FormatFloat(r.ErrorRate, 'g', 6, 64)}
		if rate.Text = fmt.Sprintf("%.1f%%", 100*r.ErrorRate); r.Errors == 0 {
			rate.Text = "-"
		}
		cells := append(look.keyCells(t.By, &r.AuditKey, total),
			CountCell(r.Calls), CountCell(r.Errors), rate, CountCell(r.Sessions), MillisCell(r.P50), MillisCell(r.P95),
			bytesCell(r.Bytes), look.TimeCell(r.Last.Time), CountCell(r.NoResult), CountCell(r.NoCall), CountCell(r.Nested), CountCell(r.Timed))
		return &AuditRow{Cells: cells, Value: r}
	}
	return &Audit{
		Command: "tools", Columns: columns, Total: make(&t.Total, true), Coverage: &t.Coverage, Warnings: fixed(t.Warnings), State: t.Index,
		Each: eachOf(t.Rows, func(r *query.ToolRow) *AuditRow { return make(r, false) }),
		Closing: func(int) string {
			var parts []string
			if n := t.Total.NoResult; n > 0 {
				parts = append(parts, plural(n, "call has no result", "calls have no result"))
			}
			if n := t.Total.NoCall; n > 0 {
				parts = append(parts, plural(n, "result has no call", "results have no call"))
			}
			if n := t.Total.Nested; n > 0 {
				parts = append(parts, plural(n, "call was made by a tool", "calls were made by tools"))
			}
			return strings.Join(parts, " · ")
		},
	}
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

// NewUsageAudit makes the answer of usage.
func NewUsageAudit(t *query.UsageTable, look Look) *Audit {
	columns := append(keyColumns(t.By),
		AuditColumn{Name: "input", Title: "INPUT", Right: true},
		AuditColumn{Name: "output", Title: "OUTPUT", Right: true},
		AuditColumn{Name: "cache read", Title: "CACHE READ", Right: true},
		AuditColumn{Name: "cache write", Title: "CACHE WRITE", Right: true},
		AuditColumn{Name: "tokens"},
		AuditColumn{Name: "cost", Title: "COST", Right: true, Share: true},
		AuditColumn{Name: "entries"},
		AuditColumn{Name: "sessions", Title: "SESSIONS", Right: true},
		AuditColumn{Name: "unusable"},
	)
	make := func(r *query.UsageRow, total bool) *AuditRow {
		return &AuditRow{Value: r, Cells: append(look.keyCells(t.By, &r.AuditKey, total),
			CountCell(r.Input), CountCell(r.Output), CountCell(r.CacheRead), CountCell(r.CacheWrite), CountCell(r.Tokens), CostCell(r.Cost),
			CountCell(r.Entries), CountCell(r.Sessions), CountCell(r.Unusable))}
	}
	return &Audit{
		Command: "usage", Columns: columns, Total: make(&t.Total, true), Coverage: &t.Coverage, Warnings: fixed(t.Warnings), State: t.Index,
		Facts: struct {
			TimeZone string            `json:"timeZone"`
			Sources  []query.SourceRow `json:"sources"`
		}{t.TimeZone, list(t.Sources)},
		Each: eachOf(t.Rows, func(r *query.UsageRow) *AuditRow { return make(r, false) }),
		Closing: func(int) string {
			if n := t.Total.Unusable; n > 0 {
				return plural(n, "entry has a figure that cannot be right, counted as 0", "entries have figures that cannot be right, counted as 0")
			}
			return ""
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
		return plural(all, one, many) + "; " + thousands(int64(rows)) + " shown (more: -n)"
	}
	return plural(all, one, many)
}

// NewCommandsAudit makes the answer of tools commands. A limit of 0 is none.
func NewCommandsAudit(t *query.CommandTable, limit int, look Look) *Audit {
	return &Audit{
		Command: "tools commands", Coverage: &t.Coverage, Warnings: fixed(t.Warnings), State: t.Index,
		Columns: []AuditColumn{
			{Name: "program", Title: "PROGRAM", Flex: true},
			{Name: "runs", Title: "RUNS", Right: true, Share: true},
			{Name: "calls", Title: "CALLS", Right: true},
			{Name: "failed", Title: "FAILED", Right: true},
			{Name: "sessions", Title: "SESSIONS", Right: true},
			{Name: "risky", Title: "RISKY", Right: true},
			{Name: "last used", Title: "LAST USED"},
		},
		Facts: struct {
			Calls    int `json:"calls"`
			Unparsed int `json:"unparsed"`
		}{t.Calls, t.Unparsed},
		Each: eachOf(limited(t.Rows, limit), func(r *query.CommandRow) *AuditRow {
			return &AuditRow{Value: r, Cells: []AuditCell{
				TextCell(r.Program), CountCell(r.Runs), CountCell(r.Calls), CountCell(r.Failed), CountCell(r.Sessions), CountCell(r.Risky),
				look.TimeCell(r.Last.Time),
			}}
		}),
		Closing: func(rows int) string {
			line := shown(rows, len(t.Rows), "program", "programs") + " in " + plural(t.Calls, "command", "commands")
			if t.Unparsed > 0 {
				line += ", " + thousands(int64(t.Unparsed)) + " of them cannot be parsed (of these the first word counts)"
			}
			return line
		},
	}
}

// NewFilesAudit makes the answer of tools files: a table, or the history of a
// path. A limit of 0 is none.
func NewFilesAudit(t *query.FileTable, history bool, limit int, look Look) *Audit {
	a := &Audit{Command: "tools files", Coverage: &t.Coverage, Warnings: fixed(t.Warnings), State: t.Index}
	if !history {
		a.Columns = []AuditColumn{
			{Name: "path", Title: "FILE", Flex: true, Left: true},
			{Name: "reads", Title: "READ", Right: true},
			{Name: "writes", Title: "WRITTEN", Right: true},
			{Name: "edits", Title: "EDITED", Right: true},
			{Name: "others", Title: "OTHER", Right: true},
			{Name: "in summaries"},
			{Name: "failed", Title: "FAILED", Right: true},
			{Name: "sessions", Title: "SESSIONS", Right: true},
			{Name: "first", Title: ""},
			{Name: "last", Title: "LAST"},
		}
		a.Each = eachOf(limited(t.Rows, limit), func(r *query.FileRow) *AuditRow {
			return &AuditRow{Value: r, Cells: []AuditCell{
				look.PathCell(r.Path), CountCell(r.Reads), CountCell(r.Writes), CountCell(r.Edits), CountCell(r.Others), CountCell(r.Summaries),
				CountCell(r.Failed), CountCell(r.Sessions), look.TimeCell(r.First.Time), look.TimeCell(r.Last.Time),
			}}
		})
		a.Closing = func(rows int) string { return shown(rows, len(t.Rows), "file", "files") }
		return a
	}
	a.Columns = []AuditColumn{
		{Name: "timestamp", Title: "TIME"},
		{Name: "action", Title: "ACTION"},
		{Name: "status", Title: "STATUS"},
		{Name: "path", Title: "FILE", Flex: true, Left: true},
		{Name: "tool", Title: "TOOL"},
		{Name: "session path"},
		{Name: "session id", Title: "SESSION"},
		{Name: "working directory"},
		{Name: "offset"},
	}
	a.Each = eachOf(limited(t.Touches, limit), func(r *query.TouchRow) *AuditRow {
		id := AuditCell{Text: shortID(r.SessionID), Plain: r.SessionID}
		return &AuditRow{Value: r, Alarm: r.Status == "error", Cells: []AuditCell{
			look.TimeCell(r.Timestamp.Time), TextCell(r.Action), TextCell(r.Status), look.PathCell(r.Path), TextCell(r.Tool), TextCell(r.SessionPath),
			id, TextCell(r.CWD), CountCell(r.Offset),
		}}
	})
	a.Closing = func(rows int) string { return shown(rows, len(t.Touches), "time", "times") }
	return a
}

// shortID is the beginning of a session id, for a column.
func shortID(id string) string {
	if len(id) > 13 {
		return id[:13]
	}
	return id
}

// NewCallsAudit makes the answer of tools calls, and of commands as typed. The
// rows come as they are found.
func NewCallsAudit(command string, l *query.CallList, risky bool, look Look) *Audit {
	a := &Audit{
		Command: command, Coverage: &l.Coverage, State: l.Index,
		Warnings: func() []string { return l.Warnings },
		Columns: []AuditColumn{
			{Name: "timestamp", Title: "TIME", Width: len("2006-01-02 15:04")},
			{Name: "status", Title: "STATUS", Width: 7},
			{Name: "exit code", Title: "EXIT", Right: true, Width: 4},
			{Name: "duration ms", Title: "TOOK", Right: true, Width: 6},
			{Name: "tool", Title: "TOOL", Width: 10},
			{Name: "rules"},
			{Name: "arguments", Title: "ARGUMENTS", Flex: true},
			{Name: "project", Title: "PROJECT", Left: true, Width: 16},
			{Name: "session id", Title: "SESSION", Width: 13},
			{Name: "session path"},
			{Name: "offset"},
			{Name: "output bytes"},
			{Name: "model"},
			{Name: "kind"},
		},
		Facts: struct {
			Calls *int `json:"calls,omitempty"` // before the limit; absent with --arg
		}{counted(l.Total)},
		Closing: func(rows int) string {
			return shown(rows, max(rows, l.Total), "call", "calls")
		},
	}
	if risky {
		a.Columns[5].Title, a.Columns[5].Width = "RULE", 18
		a.Columns[2].Title, a.Columns[3].Title = "", ""
	}
	a.Each = func(visit func(*AuditRow) error) error {
		return l.Each(func(r *query.CallRow) error {
			exit := AuditCell{}
			if r.ExitCode != nil {
				exit = TextCell(strconv.Itoa(int(*r.ExitCode)))
			}
			arguments := r.Arguments
			if r.Cut {
				arguments += "…"
			}
			below := r.Result
			return visit(&AuditRow{Value: r, Below: below, Alarm: r.Status == "error", Cells: []AuditCell{
				look.TimeCell(r.Timestamp.Time), TextCell(r.Status), exit, MillisCell(r.Duration), TextCell(r.Tool), TextCell(strings.Join(r.Rules, ",")),
				{Plain: arguments}, {Text: projectName(r.CWD), Plain: r.CWD}, {Text: shortID(r.SessionID), Plain: r.SessionID}, TextCell(r.SessionPath),
				CountCell(r.Offset), CountCell(r.Bytes), TextCell(r.Model), TextCell(r.Kind),
			}})
		})
	}
	return a
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
