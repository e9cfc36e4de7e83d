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

func (e *WatchEvent) text(t *text) error {
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
	_, err := fmt.Fprintln(t.w, line)
	return err
}

// watchColumns are the columns of an event.
var watchColumns = []string{"time (UTC)", "event", "files that changed", "entries read", "bytes read", "generation", "first session path", "reason"}

func (e *WatchEvent) plain(p plain) error {
	if e.Event == "summary" {
		return nil
	}
	path, detail, files := "", e.Message, 0
	for _, c := range e.Changes {
		files += c.Files
	}
	if len(e.Steps) > 0 {
		path = e.Steps[0].Path
	}
	if len(e.Errors) > 0 {
		path, detail = e.Errors[0].Path, e.Errors[0].Reason
	}
	return p.record(e.Time.UTC().Format(time.RFC3339), e.Event, strconv.Itoa(files), strconv.Itoa(e.Entries),
		strconv.FormatInt(e.Bytes, 10), strconv.FormatUint(e.State.Generation, 10), path, detail)
}

// json writes a line for each event; without lines one object, at the end.
func (e *WatchEvent) json(j *jsonWriter) error {
	answer := *e
	answer.Changes = list(e.Changes)
	switch {
	case e.Event == "summary":
		return j.object("watch", answer)
	case j.lines:
		return rowsOf(j, e.Event, []WatchEvent{answer})
	}
	return nil
}
