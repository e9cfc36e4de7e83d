package printer

import (
	"fmt"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/terminal"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/ui/prose"
)

// Lessons are errors that came back, and what repaired them.
type Lessons struct {
	Response *recap.Lessons
	Markdown bool // as a list of Markdown, wherever there is no JSON
}

func (a *Lessons) JSON(j *JSON) {
	r := a.Response
	j.Stream(&Stream{
		Command: "recap", Name: "lessons", Rows: rowsIn(r.Lessons, nil),
		Tail: func(int) any {
			return struct {
				Total int `json:"total"`
				search.About
			}{r.Total, about(r.About)}
		},
	})
}

// lessonRow is a session that is evidence of a lesson.
type lessonRow struct {
	*recap.Lesson
	*recap.Evidence
}

func (a *Lessons) Sheet(layout Layout) table {
	type row = lessonRow
	var rows []row
	for i := range a.Response.Lessons {
		l := &a.Response.Lessons[i]
		for k := range l.Evidence {
			rows = append(rows, row{l, &l.Evidence[k]})
		}
	}
	place := func(r *row, p *recap.Pass) string {
		return layout.place(r.SessionID, r.SessionPath, p.EntryID, p.Offset)
	}
	return &sheet[row]{rows: listed(rows), columns: []sheetColumn[row]{
		recordColumn("place", func(r *row) string { return place(r, &r.Failed) }),
		recordColumn("sessions", func(r *row) string { return strconv.Itoa(r.Sessions) }),
		recordColumn("error", func(r *row) string { return r.Evidence.Error }),
		recordColumn("by", func(r *row) string { return string(r.By) }),
		recordColumn("repair", func(r *row) string { return r.Evidence.Repair.Text }),
		recordColumn("place of the repair", func(r *row) string { return place(r, &r.Evidence.Repair) }),
		recordColumn("timestamp (UTC)", func(r *row) string { return stampUTC(r.Timestamp.Time) }),
		recordColumn("session path", func(r *row) string { return r.SessionPath }),
		fieldColumn("cwd", func(r *row) string { return r.CWD }),
	}}
}

func (a *Lessons) Plain(p *plain) {
	if !a.Markdown {
		p.table(a.Sheet(p.Layout))
		return
	}
	for i := range a.Response.Lessons {
		l := &a.Response.Lessons[i]
		seen := lists.Map(evidence(l, p.Layout), prose.CodeSpan)
		p.Print(fmt.Sprintf("- %s failed: %s. It passed after %s, in %s: %s\n",
			prose.CodeSpan(terminal.Clean(l.Evidence[0].Failed.Text)), prose.CodeSpan(terminal.Clean(l.Error)), repairText(l, prose.CodeSpan),
			human.Plural(l.Sessions, "session", "sessions"), strings.Join(seen, ", ")))
	}
}

// repairText is a repair with its command or file in the form of a code.
func repairText(l *recap.Lesson, code func(string) string) string {
	text := code(terminal.Clean(l.Repair))
	if l.By == recap.ByFile {
		return "a change in " + text
	}
	return text
}

// evidence lists the entries of the calls that failed.
func evidence(l *recap.Lesson, layout Layout) (list []string) {
	for i := range l.Evidence {
		e := &l.Evidence[i]
		list = append(list, terminal.Clean(layout.place(e.SessionID, e.SessionPath, e.Failed.EntryID, e.Failed.Offset)))
	}
	return list
}

// Text writes each lesson with its evidence.
func (a *Lessons) Text(t *Text) {
	for i := range a.Response.Lessons {
		l := &a.Response.Lessons[i]
		if i > 0 {
			t.Print("\n")
		}
		t.Print(t.Style(TitleStyle, terminal.Clip(terminal.Clean(l.Error), t.Width)), "\n")
		t.fact("failed", l.Evidence[0].Failed.Text)
		t.fact("repair", repairText(l, func(s string) string { return s }))
		t.fact("seen", fmt.Sprintf("%s: %s", human.Plural(l.Sessions, "session", "sessions"), strings.Join(evidence(l, t.Layout), " ")))
	}
}
