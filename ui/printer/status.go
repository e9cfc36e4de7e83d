package printer

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query/search"
)

// Status is what is indexed, how fresh it is, and what was skipped.
type Status struct {
	Dir       string            `json:"indexDir"`
	Built     bool              `json:"built"`            // there is an index
	Damage    string            `json:"damage,omitempty"` // why the index cannot be read
	Roots     []Root            `json:"roots"`
	Changes   []ChangeCount     `json:"files"` // files by their change since they were indexed
	Sessions  int               `json:"sessions"`
	Entries   int               `json:"entries"`
	Documents int               `json:"documents"`
	Kinds     []KindCount       `json:"kinds,omitempty"`
	Indexed   int64             `json:"indexedBytes"` // of session files
	Size      int64             `json:"sizeBytes"`    // of the index on disk
	Newest    session.Time      `json:"newest,omitzero"`
	Updated   session.Time      `json:"updated,omitzero"` // when the newest generation was published
	Kept      int               `json:"generations"`      // on disk
	Store     string            `json:"bleveStore"`       // the directory that Bleve opens; "" if there is none
	Writer    Process           `json:"writer,omitzero"`  // the process that writes the index
	Watcher   *Watcher          `json:"watcher,omitempty"`
	Foreign   []string          `json:"foreign,omitempty"` // what is in the index directory, and not made by pigrep
	Skipped   []Skipped         `json:"skipped,omitempty"` // the first of the skipped lines
	Errors    []FileError       `json:"errors,omitempty"`
	Outside   []string          `json:"notFollowed,omitempty"` // links that lead out of the session directories
	State     search.IndexState `json:"index"`
}

// Process is a process id: 0 for none, -1 if it is not known.
type Process int

// MarshalJSON writes an object, without a pid if that is not known.
func (p Process) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		PID int `json:"pid,omitempty"`
	}{max(0, int(p))})
}

func (p Process) String() string {
	if p < 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d", int(p))
}

// Watcher is the process that watches the session files.
type Watcher struct {
	PID     int          `json:"pid"`
	Started session.Time `json:"started,omitzero"`
	Scanned session.Time `json:"scanned,omitzero"` // when it last scanned all files
	Polling string       `json:"polling,omitempty"`
	Stuck   bool         `json:"stuck"`

	IndexSchema  uint64 `json:"indexSchema,omitempty"` // the version of the indexes that it writes, if it says so
	OtherVersion bool   `json:"-"`                     // than this program writes
}

// Root is a session root and the origin of its path.
type Root struct {
	Path   string `json:"path"`
	Origin string `json:"origin"`
	Files  int    `json:"files"`
	Error  string `json:"error,omitempty"`
}

// KindCount is the number of documents of a kind.
type KindCount struct {
	Kind      string `json:"kind"`
	Documents int    `json:"documents"`
}

// Skipped is a line of a session file that could not be indexed.
type Skipped struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

// StatusJSON is the JSON answer as a value, to embed it.
func StatusJSON(s *Status) any {
	return struct {
		head
		Status
	}{head{SchemaVersion: SchemaVersion, Command: "status"}, s.listed()}
}

// listed returns the status with [] instead of null.
func (s *Status) listed() Status {
	answer := *s
	answer.Roots, answer.Changes = list(s.Roots), list(s.Changes)
	return answer
}

func (s *Status) json(j *jsonWriter) error {
	answer := s.listed()
	if j.lines {
		if err := errors.Join(rowsOf(j, "root", s.Roots), rowsOf(j, "skipped", s.Skipped)); err != nil {
			return err
		}
		answer.Roots, answer.Skipped = []Root{}, nil
	}
	return j.object("status", answer)
}

// fact is a line of a report.
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
	_, err := t.table(factSheet(statusFacts(s, t.Home, forPeople(t.Now))))
	return err
}

// Facts visits the lines of the text as names and values. Some names are indented below
// the one before.
func (s *Status) Facts(home string, now time.Time) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, f := range statusFacts(s, home, forPeople(now)) {
			if !yield(f.name, f.value) {
				return
			}
		}
	}
}

// figures formats numbers, sizes and times.
type figures struct {
	count func(n int64) string
	size  func(n int64) string
	zone  *time.Location
}

// forPeople are figures in the time zone of now.
func forPeople(now time.Time) figures {
	return figures{human.Number[int64], human.Bytes, now.Location()}
}

var forPrograms = figures{decimal, decimal, time.UTC}

func (f figures) time(t time.Time) string { return t.In(f.zone).Format(stampForm) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// statusFacts returns the status as names and values. home is written as ~.
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
	case s.State.PendingFiles == 0:
		add("state", "incomplete, generation %d", s.State.Generation)
	default:
		add("state", "behind, generation %d", s.State.Generation)
	}
	if s.Writer != 0 {
		add("writer", "%s", s.Writer)
	}
	if w := s.Watcher; w != nil {
		add("watcher", "%s", watcherText(w, figures))
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
		if s.Store != "" {
			add("bleve", "%s", human.Path(s.Store, home))
		} else {
			add("bleve", "no store: updates make one where the file system has hard links")
		}
		if !s.Newest.IsZero() {
			add("newest", "%s", figures.time(s.Newest.Time))
		}
		if !s.Updated.IsZero() {
			add("updated", "%s, %s kept", figures.time(s.Updated.Time), human.Plural(s.Kept, "generation", "generations"))
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
	for _, path := range s.Foreign {
		add("foreign", "%s: not made by pigrep, left alone", human.Path(path, home))
	}
	for _, path := range s.Outside {
		add("link", "%s: not followed, it leads out of the session directories", human.Path(path, home))
	}
	return facts
}

func watcherText(w *Watcher, figures figures) string {
	text := Process(w.PID).String()
	if !w.Started.IsZero() {
		text += " since " + figures.time(w.Started.Time)
	}
	switch {
	case w.OtherVersion:
		text += ", of another version: restart it"
	case w.Stuck:
		text += ", which does not move: other commands do its work"
	case w.Polling != "":
		text += ", without events: " + w.Polling
	}
	if !w.Scanned.IsZero() {
		text += "; looked at all files " + figures.time(w.Scanned.Time)
	}
	return text
}
