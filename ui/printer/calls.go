package printer

import (
	"context"
	"strconv"
	"strings"
	"time"

	"pigrep/query/audit"
)

// roomForExit is the narrowest terminal that shows exit codes and durations of calls.
const roomForExit = 90

// NewCallsAudit returns the answer of "tools calls" and of "tools commands --raw". Its rows
// are printed as they are found.
func NewCallsAudit(ctx context.Context, command string, l *audit.CallList, risky bool, look Look) *Audit {
	type row = audit.CallRow
	columns := []sheetColumn[row]{
		{column{Name: "timestamp", Title: "TIME", Width: len("2006-01-02 15:04")}, func(r *row) cell { return look.timeCell(r.Timestamp.Time) }},
		{column{Name: "status", Title: "STATUS", Width: 7}, func(r *row) cell { return textCell(r.Status) }},
		{column{Title: "SESSION", Width: look.idWidth(), Whole: true}, func(r *row) cell { return look.idCell(r.SessionID, r.SessionPath) }},
		{column{Name: "exit code", Title: "EXIT", Right: true, Width: 4, From: roomForExit}, func(r *row) cell {
			if r.ExitCode == nil {
				return cell{}
			}
			return textCell(strconv.Itoa(int(*r.ExitCode)))
		}},
		{column{Name: "duration ms", Title: "TOOK", Right: true, Width: 6, From: roomForExit}, func(r *row) cell { return millisCell(r.Duration) }},
		{column{Name: "tool", Title: "TOOL", Width: 10}, func(r *row) cell { return textCell(r.Tool) }},
		{column{Name: "rules"}, func(r *row) cell { return textCell(strings.Join(r.Rules, ",")) }},
		{column{Name: "arguments", Title: "ARGUMENTS", Flex: true}, argumentsCell},
		{column{Name: "project", Title: "PROJECT", Left: true, Width: 16}, func(r *row) cell { return cell{Text: projectName(r.CWD), Plain: r.CWD} }},
		{column{Name: "session id"}, func(r *row) cell { return textCell(r.SessionID) }},
		{column{Name: "session path"}, func(r *row) cell { return textCell(r.SessionPath) }},
		{column{Name: "offset"}, func(r *row) cell { return countCell(r.Offset) }},
		{column{Name: "output bytes"}, func(r *row) cell { return countCell(r.Bytes) }},
		{column{Name: "model"}, func(r *row) cell { return textCell(r.Model) }},
		{column{Name: "kind"}, func(r *row) cell { return textCell(r.Kind) }},
	}
	if risky {
		columns[3].Title, columns[4].Title = "", ""
		columns[7].Title = "" // rules and what matches them are on lines of their own
		columns[8].Flex, columns[8].Least = true, minFlex/2
	}
	return &Audit{
		command: command, Coverage: &l.Coverage, State: l.Index, Warnings: func() []string { return l.Warnings },
		table: &sheet[row]{columns: columns, rows: func(visit func(*row) error) error { return l.Each(ctx, visit) }, finish: func(c *row, r *sheetRow) {
			r.below = c.Result
			if risky {
				r.below = append(ruleLines(c, ""), c.Result...)
			}
			alarm(r, c.Status)
		}},
		last: func() (last time.Time, err error) {
			err = l.Each(ctx, func(r *row) error {
				if last.IsZero() {
					last = r.Timestamp.Time
				}
				return nil
			})
			return last, err
		},
		facts: struct {
			Calls *int `json:"calls,omitempty"` // before the limit; absent with --arg
		}{counted(l.Total)},
		closing: func(rows int) string { return shown(rows, max(rows, l.Total), "call", "calls") },
	}
}

// argumentsCell is the arguments of a call; in text ⏎ marks the ends of lines.
func argumentsCell(r *audit.CallRow) cell {
	text := r.Arguments
	if r.Cut {
		text += "…"
	}
	return cell{Text: strings.ReplaceAll(strings.TrimSpace(text), "\n", " ⏎ "), Plain: text}
}

func counted(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// projectName is the last element of a path.
func projectName(dir string) string {
	dir = strings.TrimRight(strings.ReplaceAll(dir, `\`, "/"), "/")
	return dir[strings.LastIndexByte(dir, '/')+1:]
}
