package printer

import (
	"errors"
	"fmt"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query"
	"strconv"
	"strings"
)

// Status is what is indexed, how fresh it is and what was left out.
type Status struct {
	Dir       string // of the index
	Built     bool   // there is an index
	Damage    string // why the index cannot be read; "" when it can
	Roots     []Root
	Changes   []ChangeCount // files by what happened to them since they were indexed
	Sessions  int
	Entries   int
	Documents int
	Kinds     []KindCount
	Indexed   int64 // bytes of session files that are indexed
	Size      int64 // of the index on disk
	Newest    session.Time
	Updated   session.Time // when the newest generation was published
	Kept      int          // generations on disk
	Writer    int          // pid of the process that writes the index; 0: none, -1: not known
	Watcher   *Watcher     // nil: none
	Skipped   []Skipped    // the first of the skipped lines
	Errors    []FileError
	State     query.IndexState
}

// Watcher is the process that keeps the index up to date.
type Watcher struct {
	PID     int          `json:"pid"`
	Started session.Time `json:"started,omitzero"`
	Scanned session.Time `json:"scanned,omitzero"` // when it last looked at all files
	Polling string       `json:"polling,omitempty"`
	Stuck   bool         `json:"stuck"`
}

// Root is a session root and where its path came from.
type Root struct {
	Path   string `json:"path"`
	Origin string `json:"origin"`
	Files  int    `json:"files"`
	Error  string `json:"error,omitempty"`
}

// KindCount says how many documents are of a kind.
type KindCount struct {
	Kind      string `json:"kind"`
	Documents int    `json:"documents"`
}

// Skipped is a piece of a session file that was left out.
type Skipped struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

// process is somebody at work; without a pid when that is not known.
type process struct {
	PID int `json:"pid,omitempty"`
}

type statusJSON struct {
	Dir       string           `json:"indexDir"`
	Built     bool             `json:"built"`
	Damage    string           `json:"damage,omitempty"`
	Roots     []Root           `json:"roots"`
	Changes   []ChangeCount    `json:"files"`
	Sessions  int              `json:"sessions"`
	Entries   int              `json:"entries"`
	Documents int              `json:"documents"`
	Kinds     []KindCount      `json:"kinds,omitempty"`
	Indexed   int64            `json:"indexedBytes"`
	Size      int64            `json:"sizeBytes"`
	Newest    session.Time     `json:"newest,omitzero"`
	Updated   session.Time     `json:"updated,omitzero"`
	Kept      int              `json:"generations"`
	Writer    *process         `json:"writer,omitempty"`
	Watcher   *Watcher         `json:"watcher,omitempty"`
	Skipped   []Skipped        `json:"skipped,omitempty"`
	Errors    []FileError      `json:"errors,omitempty"`
	Index     query.IndexState `json:"index"`
}

func newStatusJSON(s *Status) statusJSON {
	var writer *process
	if s.Writer != 0 {
		writer = &process{max(0, s.Writer)}
	}
	return statusJSON{
		s.Dir, s.Built, s.Damage, list(s.Roots), list(s.Changes), s.Sessions, s.Entries, s.Documents, s.Kinds,
		s.Indexed, s.Size, s.Newest, s.Updated, s.Kept, writer, s.Watcher, s.Skipped, s.Errors, s.State,
	}
}

// StatusJSON is the answer as JSON has it, for those who put it into another one.
func StatusJSON(s *Status) any {
	return struct {
		head
		statusJSON
	}{head{SchemaVersion: SchemaVersion, Command: "status"}, newStatusJSON(s)}
}

func (s *Status) json(j *jsonWriter) error {
	answer := newStatusJSON(s)
	if j.lines {
		if err := errors.Join(rowsOf(j, "root", s.Roots), rowsOf(j, "skipped", s.Skipped)); err != nil {
			return err
		}
		answer.Roots, answer.Skipped = []Root{}, nil
	}
	return j.object("status", answer)
}

// fact is a line of a report: a name and a value.
type fact struct{ name, value string }

func factSheet(facts []fact) *sheet[fact] {
	return &sheet[fact]{
		columns: []sheetColumn[fact]{
			{column{Name: "name", Title: "NAME"}, func(f *fact) cell {
				name := strings.TrimLeft(f.name, " ")
				return cell{Indent: f.name[:len(f.name)-len(name)], Plain: name, Look: dimLook}
			}},
			{column{Name: "value", Title: "VALUE", Whole: true}, func(f *fact) cell { return textCell(f.value) }},
		},
		rows: listed(facts), bare: true,
	}
}

func (s *Status) plain(p plain) error {
	_, err := p.table(factSheet(statusFacts(s, "", forPrograms)))
	return err
}

func (s *Status) text(t *text) error {
	_, err := t.table(factSheet(statusFacts(s, t.Home, forPeople)))
	return err
}

// figures writes numbers and sizes.
type figures struct {
	count func(n int64) string
	size  func(n int64) string
}

var (
	forPeople   = figures{human.Number[int64], human.Bytes}
	forPrograms = figures{decimal, decimal}
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// statusFacts is the status as names and values; paths under home are shown
// with ~.
func statusFacts(s *Status, home string, figures figures) []fact {
	var facts []fact
	count := func(n int) string { return figures.count(int64(n)) }
	add := func(name, format string, args ...any) {
		facts = append(facts, fact{name, fmt.Sprintf(format, args...)})
	}
	for _, r := range s.Roots {
		state := human.Plural(r.Files, "file", "files")
		if r.Error != "" {
			state = r.Error
		}
		add("root", "%s (%s): %s", human.Path(r.Path, home), r.Origin, state)
	}
	add("index", "%s", human.Path(s.Dir, home))
	switch {
	case s.Damage != "":
		add("state", "%s", s.Damage)
		return facts
	case !s.Built:
		add("state", "not built yet")
	case s.State.Complete:
		add("state", "complete, generation %d", s.State.Generation)
	default:
		add("state", "behind, generation %d", s.State.Generation)
	}
	if s.Writer != 0 {
		add("writer", "%s", processText(s.Writer))
	}
	if w := s.Watcher; w != nil {
		add("watcher", "%s", watcherText(w))
	}
	var changes []string
	for _, c := range s.Changes {
		if c.Files > 0 {
			changes = append(changes, fmt.Sprintf("%s %s", count(c.Files), c.Change))
		}
	}
	if len(changes) > 0 {
		add("files", "%s", strings.Join(changes, ", "))
	}
	if s.State.PendingFiles > 0 {
		add("pending", "%s, %s", human.Plural(s.State.PendingFiles, "file", "files"), figures.size(s.State.PendingBytes))
	}
	if s.Built {
		add("sessions", "%s", count(s.Sessions))
		add("entries", "%s", count(s.Entries))
		add("documents", "%s", count(s.Documents))
		for _, k := range s.Kinds {
			add("  "+k.Kind, "%s", count(k.Documents))
		}
		add("indexed", "%s", figures.size(s.Indexed))
		add("size", "%s", figures.size(s.Size))
		if s.Indexed > 0 {
			add("share", "%d %% of the session files", (100*s.Size+s.Indexed/2)/s.Indexed)
		}
		if !s.Newest.IsZero() {
			add("newest", "%s", s.Newest.UTC().Format(statusTime))
		}
		if !s.Updated.IsZero() {
			add("updated", "%s, %s kept", s.Updated.UTC().Format(statusTime), human.Plural(s.Kept, "generation", "generations"))
		}
		add("skipped", "%s", human.Plural(s.State.SkippedLines, "line", "lines"))
	}
	for _, k := range s.Skipped {
		add("  line", "%s:%d (offset %d): %s", human.Path(k.Path, home), k.Line, k.Offset, k.Reason)
	}
	if more := s.State.SkippedLines - len(s.Skipped); more > 0 && s.Built {
		add("  more", "%s: pigrep status --skipped", human.Plural(more, "line", "lines"))
	}
	for _, e := range s.Errors {
		add("unreadable", "%s: %s", human.Path(e.Path, home), e.Reason)
	}
	return facts
}

// statusTime is how a status writes times, which are in UTC.
const statusTime = "2006-01-02 15:04:05Z"

func processText(pid int) string {
	if pid < 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}

func watcherText(w *Watcher) string {
	text := processText(w.PID)
	if !w.Started.IsZero() {
		text += " since " + w.Started.UTC().Format(statusTime)
	}
	switch {
	case w.Stuck:
		text += ", which does not move: other commands do its work"
	case w.Polling != "":
		text += ", without events: " + w.Polling
	}
	if !w.Scanned.IsZero() {
		text += "; looked at all files " + w.Scanned.UTC().Format(statusTime)
	}
	return text
}
