package printer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/search"
)

// WatchEvent is what a watch reports: a line, written when it happens.
type WatchEvent struct {
	Event       string            `json:"-"` // ready, update, polling, waiting, failed, or summary at the end
	Time        session.Time      `json:"time,omitzero"`
	Updates     *int              `json:"updates,omitempty"` // of a summary
	Changes     []ChangeCount     `json:"changes"`
	Steps       []Step            `json:"steps,omitempty"` // what changed
	Bytes       int64             `json:"bytes"`           // read
	Entries     int               `json:"entries"`
	Directories int               `json:"directories"`       // watched
	Errors      []FileError       `json:"errors,omitempty"`  // not reported before
	Rebuilt     string            `json:"rebuilt,omitempty"` // why the index was rebuilt
	Message     string            `json:"message,omitempty"` // of polling, waiting and failed: why
	State       search.IndexState `json:"index"`
}

// watchLine is an event on one line.
func watchLine(e *WatchEvent) string {
	var done []string
	for _, c := range e.Changes {
		done = append(done, fmt.Sprintf("%s %s", human.Number(c.Files), c.Change))
	}
	if e.Entries > 0 {
		done = append(done, human.Plural(e.Entries, "entry", "entries"))
	}
	if e.Bytes > 0 {
		done = append(done, human.Bytes(e.Bytes))
	}
	if e.Rebuilt != "" {
		done = append(done, "rebuilt: "+e.Rebuilt)
	}
	for _, f := range e.Errors {
		done = append(done, f.Path+": "+f.Reason)
	}
	what := strings.Join(done, ", ")
	switch e.Event {
	case "ready":
		line := fmt.Sprintf("watching %s in %s", human.Plural(e.State.Files, "file", "files"), human.Plural(e.Directories, "directory", "directories"))
		if what != "" {
			line += ": " + what
		}
		return line
	case "summary":
		line := "stopped after " + human.Plural(*e.Updates, "update", "updates")
		if what != "" {
			line += ": " + what
		}
		return line
	case "update":
		return what
	}
	return e.Event + ": " + e.Message
}

func (e *WatchEvent) text(t *text) {
	line := e.Time.Format(time.TimeOnly) + "  " + terminal.Clean(watchLine(e))
	if len(e.Steps) > 0 && e.Event == "update" {
		path := human.Path(e.Steps[0].Path, t.Home)
		if n := len(e.Steps) - 1; n > 0 {
			path += fmt.Sprintf(" and %d more", n)
		}
		room := t.Width - terminal.Width(line) - 2
		if room >= 20 {
			line += "  " + t.dim(terminal.ClipLeft(terminal.Clean(path), room))
		}
	}
	t.print(line, "\n")
}

// sheet has a row for each event but the summary.
func (e *WatchEvent) sheet(Layout) table {
	path, reason, files := "", e.Message, 0
	for _, c := range e.Changes {
		files += c.Files
	}
	if len(e.Steps) > 0 {
		path = e.Steps[0].Path
	}
	if len(e.Errors) > 0 {
		path, reason = e.Errors[0].Path, e.Errors[0].Reason
	}
	rows := []WatchEvent{*e}
	if e.Event == "summary" {
		rows = nil
	}
	type row = WatchEvent
	return &sheet[row]{rows: listed(rows), columns: []sheetColumn[row]{
		recordColumn("time (UTC)", func(e *row) string { return e.Time.UTC().Format(time.RFC3339) }),
		recordColumn("event", func(e *row) string { return e.Event }),
		recordColumn("files that changed", func(*row) string { return strconv.Itoa(files) }),
		recordColumn("entries read", func(e *row) string { return strconv.Itoa(e.Entries) }),
		recordColumn("bytes read", func(e *row) string { return strconv.FormatInt(e.Bytes, 10) }),
		recordColumn("generation", func(e *row) string { return strconv.FormatUint(e.State.Generation, 10) }),
		recordColumn("first session path", func(*row) string { return path }),
		recordColumn("reason", func(*row) string { return reason }),
	}}
}

// json writes a line for each event; without lines one object, at the end.
func (e *WatchEvent) json(j *jsonWriter) {
	answer := *e
	answer.Changes = list(e.Changes)
	switch {
	case e.Event == "summary":
		j.object("watch", answer)
	case j.lines:
		linesOf(j, e.Event, []WatchEvent{answer})
	}
}
