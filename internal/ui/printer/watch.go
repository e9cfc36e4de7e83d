package printer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query"
)

// WatchEvent is something that a watch tells: a line of its own, written when it
// happens.
type WatchEvent struct {
	Event       string // ready, update, polling, waiting, failed, or summary at the end
	Time        session.Time
	Changes     []ChangeCount
	Steps       []Step // what changed
	Bytes       int64  // read
	Entries     int
	Directories int         // that are watched
	Errors      []FileError // that were not told before
	Rebuilt     string      // why the index was built anew; "" when it was not
	Message     string      // of polling, waiting and failed: why
	Updates     int         // of a summary
	State       query.IndexState
}

// watchLine says in one line what happened.
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
		done = append(done, "built anew: "+e.Rebuilt)
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
		line := "stopped after " + human.Plural(e.Updates, "update", "updates")
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

type watchJSON struct {
	Time        session.Time     `json:"time,omitzero"`
	Updates     *int             `json:"updates,omitempty"`
	Changes     []ChangeCount    `json:"changes"`
	Steps       []Step           `json:"steps,omitempty"`
	Bytes       int64            `json:"bytes"`
	Entries     int              `json:"entries"`
	Directories int              `json:"directories"`
	Errors      []FileError      `json:"errors,omitempty"`
	Rebuilt     string           `json:"rebuilt,omitempty"`
	Message     string           `json:"message,omitempty"`
	Index       query.IndexState `json:"index"`
}

func newWatchJSON(e *WatchEvent) watchJSON {
	x := watchJSON{
		e.Time, nil, list(e.Changes), e.Steps, e.Bytes, e.Entries, e.Directories, e.Errors, e.Rebuilt, e.Message, e.State,
	}
	if e.Event == "summary" {
		x.Updates = &e.Updates
	}
	return x
}

// json writes a line for each event, or one object at the end.
func (e *WatchEvent) json(j *jsonWriter) error {
	switch {
	case e.Event == "summary":
		return j.object("watch", newWatchJSON(e))
	case j.lines:
		return rowsOf(j, e.Event, []watchJSON{newWatchJSON(e)})
	}
	return nil
}
