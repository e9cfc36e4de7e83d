package printer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pigrep/internal/human"
	"pigrep/query/audit"
)

// touchSheet is the history of a file as rows.
func touchSheet(rows []audit.TouchRow, look Look) table {
	type row = audit.TouchRow
	columns := []sheetColumn[row]{
		{column{Name: "timestamp", Title: "TIME"}, func(r *row) cell { return look.timeCell(r.Timestamp.Time) }},
		{column{Name: "action", Title: "ACTION"}, func(r *row) cell { return textCell(r.Action) }},
		{column{Name: "status", Title: "STATUS"}, func(r *row) cell { return textCell(r.Status) }},
		{column{Name: "path", Title: "FILE", Flex: true, Left: true}, func(r *row) cell { return look.pathCell(r.Path) }},
		{column{Name: "tool", Title: "TOOL"}, func(r *row) cell { return textCell(r.Tool) }},
		{column{Name: "session path"}, func(r *row) cell { return textCell(r.SessionPath) }},
		{column{Name: "session id", Title: "SESSION"}, func(r *row) cell { return look.idCell(r.SessionID, r.SessionPath) }},
		{column{Name: "working directory"}, func(r *row) cell { return textCell(r.CWD) }},
		{column{Name: "offset"}, func(r *row) cell { return countCell(r.Offset) }},
	}
	return &sheet[row]{columns: columns, rows: listed(rows), finish: func(t *row, r *sheetRow) { alarm(r, t.Status) }}
}

// touches writes the history of a file grouped by session, the last one to touch it
// first. The column ENTRY is what show takes.
func (t *text) touches(rows []audit.TouchRow) error {
	type row = audit.TouchRow
	var paths []string // of the sessions, in their order
	ofSession := make(map[string][]row)
	for _, r := range rows {
		if ofSession[r.SessionPath] == nil {
			paths = append(paths, r.SessionPath)
		}
		ofSession[r.SessionPath] = append(ofSession[r.SessionPath], r)
	}
	some := ""
	differ := slices.ContainsFunc(rows, func(r row) bool { some = cmp.Or(some, r.Path); return r.Path != some })
	columns := append(groupColumns(t.Look, func(r *row) callPlace {
		return callPlace{r.Timestamp, r.SessionID, r.SessionPath, r.EntryID, r.Offset}
	}), []sheetColumn[row]{
		{column{Title: "ACTION", Width: 7}, func(r *row) cell { return textCell(touchAction(r)) }},
		{column{Title: "STATUS", Width: 7}, func(r *row) cell { return textCell(r.Status) }},
	}...)
	if differ {
		columns = append(columns, sheetColumn[row]{column{Title: "FILE", Flex: true, Left: true}, func(r *row) cell { return t.pathCell(r.Path) }})
	}
	for i, path := range paths {
		list := ofSession[path]
		var head strings.Builder
		if i > 0 {
			head.WriteByte('\n')
		}
		last := &list[0]
		t.session(&head, human.Title(last.Title), last.CWD, t.ago(last.Timestamp.Time), human.Plural(len(list), "call", "calls"), t.idCell(last.SessionID, path).Text)
		if _, err := fmt.Fprint(t.w, head.String()); err != nil {
			return err
		}
		s := &sheet[row]{columns: columns, bare: true, rows: listed(list), finish: func(r *row, to *sheetRow) { alarm(to, r.Status) }}
		if _, err := t.table(s); err != nil {
			return err
		}
	}
	return nil
}

// touchAction is what happened to the file, or the tool if the action is unknown.
func touchAction(r *audit.TouchRow) string {
	if r.Action == "other" && r.Tool != "" {
		return r.Tool
	}
	return r.Action
}
