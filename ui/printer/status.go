package printer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/search"
)

// Status is what is indexed, how fresh it is, and what was skipped.
type Status struct {
	Dir       string            `json:"indexDir"`
	Built     bool              `json:"built"`            // there is an index
	Damage    string            `json:"damage,omitempty"` // why the index cannot be read
	Roots     []Root            `json:"roots"`
	Agents    []AgentCount      `json:"agents,omitempty"` // that have sessions, if there are several
	Changes   []ChangeCount     `json:"files"`            // files by their change since they were indexed
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
	Foreign   []string          `json:"foreign,omitempty"`        // what is in the index directory, and not made by pigrep
	Unused    []index.Unused    `json:"unused,omitempty"`         // indexes of session directories that are gone
	Copies    int               `json:"-"`                        // entries that are elsewhere, too
	Partial   int               `json:"partialResults,omitempty"` // results with only the beginning of an output: see session.PartialResult
	Skipped   []Skipped         `json:"skipped,omitempty"`        // the first of the skipped lines
	Unknown   []UnknownName     `json:"unknown,omitempty"`        // names that no adapter knows; what they name is searchable as other
	Errors    []FileError       `json:"errors,omitempty"`
	Outside   []string          `json:"notFollowed,omitempty"` // links that lead out of the session directories
	Archive   *Keep             `json:"archive,omitempty"`     // of kept sessions, if some are to be kept, or were
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

// AgentCount is the number of sessions of an agent.
type AgentCount struct {
	Agent    string `json:"agent"` // as of session.ShortAgent
	Label    string `json:"label"`
	Sessions int    `json:"sessions"`
}

// Root is a session root and the origin of its path.
type Root struct {
	Agent  string `json:"agent,omitempty"` // "" if files of any may be there
	Path   string `json:"path"`
	Origin string `json:"origin"`
	Files  int    `json:"files"`
	Absent bool   `json:"absent,omitempty"` // its agent has written nothing yet
	Error  string `json:"error,omitempty"`
}

// KindCount is the number of documents of a kind.
type KindCount struct {
	Kind      string `json:"kind"`
	Documents int    `json:"documents"`
}

// UnknownName is a name in lines of an agent that its adapter does not know, and how often it occurs.
type UnknownName struct {
	Agent string `json:"agent"`
	Name  string `json:"name"` // "line foo", "role bar"
	Count int    `json:"count"`
}

// Skipped is a line of a session file that could not be indexed.
type Skipped struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

func (s *Status) JSON(j *JSON) {
	answer := *s
	answer.Roots, answer.Changes, answer.Skipped = linesOf(j, "root", s.Roots), List(s.Changes), linesOf(j, "skipped", s.Skipped)
	j.Object("status", answer)
}

// Fact is a line of a report.
type Fact struct{ Name, Value string }

func factSheet(facts []Fact) *sheet[Fact] {
	return &sheet[Fact]{
		columns: []sheetColumn[Fact]{
			{column{Name: "name", Title: "NAME"}, func(f *Fact) cell {
				name := strings.TrimLeft(f.Name, " ")
				return cell{Indent: f.Name[:len(f.Name)-len(name)], Plain: name, Style: DimStyle}
			}},
			{column{Name: "value", Title: "VALUE", Whole: true}, func(f *Fact) cell { return textCell(f.Value) }},
		},
		rows: listed(facts), bare: true,
	}
}

func (s *Status) Sheet(layout Layout) table { return factSheet(statusFacts(s, layout)) }

func (s *Status) Text(t *Text) { t.table(s.Sheet(t.Layout)) }

// Facts returns the lines of the text. Some names are indented below the one before.
func (s *Status) Facts(home string, now time.Time) []Fact {
	return statusFacts(s, Layout{Home: home, Now: now})
}

// factList collects the lines of a report. Without a time, numbers and times are written for
// programs.
type factList struct {
	Layout
	facts []Fact
}

// add adds a line, unless its value is empty.
func (l *factList) add(name, value string) {
	if value != "" {
		l.facts = append(l.facts, Fact{name, value})
	}
}

func (l *factList) path(path string) string { return human.Path(path, l.Home) }

func (l *factList) count(n int) string {
	if l.Now.IsZero() {
		return strconv.Itoa(n)
	}
	return human.Number(n)
}

func (l *factList) Size(n int64) string {
	if l.Now.IsZero() {
		return strconv.FormatInt(n, 10)
	}
	return human.Bytes(n)
}

func (l *factList) time(t time.Time) string {
	return human.When(!t.IsZero(), t.In(l.Now.Location()).Format(StampForm))
}

// statusFacts returns the status as names and values.
func statusFacts(s *Status, layout Layout) []Fact {
	l := &factList{Layout: layout}
	l.roots(s)
	l.add("index", l.path(s.Dir))
	if s.Damage != "" {
		l.add("state", s.Damage)
		return l.facts
	}
	l.state(s)
	if s.Built {
		l.content(s)
	}
	l.problems(s)
	return l.facts
}

// roots adds where sessions are, by their agent if there are several.
func (l *factList) roots(s *Status) {
	add := func(name string, passes func(agent string) bool) {
		for _, r := range s.Roots {
			if !passes(r.Agent) {
				continue
			}
			state := human.Plural(r.Files, "file", "files")
			switch {
			case r.Absent:
				state = "not there"
			case r.Error != "":
				state = r.Error
			}
			l.add(name, fmt.Sprintf("%s (%s): %s", l.path(r.Path), r.Origin, state))
		}
	}
	for _, x := range s.Agents {
		l.add(x.Label, human.Plural(x.Sessions, "session", "sessions")+" (--agent "+x.Agent+")")
		add("  root", func(agent string) bool { return agent == x.Agent })
	}
	add("root", func(agent string) bool {
		return !slices.ContainsFunc(s.Agents, func(x AgentCount) bool { return x.Agent == agent })
	})
}

// state adds how fresh the index is, and who keeps it so.
func (l *factList) state(s *Status) {
	generation := fmt.Sprintf(", generation %d", s.State.Generation)
	switch {
	case !s.Built:
		l.add("state", "not built yet")
	case s.State.Complete:
		l.add("state", "complete"+generation)
	case s.State.PendingFiles == 0:
		l.add("state", "incomplete"+generation)
	default:
		l.add("state", "behind"+generation)
	}
	l.add("writer", human.When(s.Writer != 0, s.Writer.String()))
	if s.Watcher != nil {
		l.add("watcher", l.watcher(s.Watcher))
	}
	changes := human.Joined(", ", lists.Map(s.Changes, func(c ChangeCount) string { return human.When(c.Files > 0, l.count(c.Files)+" "+c.Change) })...)
	l.add("files", changes)
	l.add("pending", human.When(s.State.PendingFiles > 0, human.Plural(s.State.PendingFiles, "file", "files")+", "+l.Size(s.State.PendingBytes)))
}

// content adds what is in the index, and what it takes on disk.
func (l *factList) content(s *Status) {
	l.add("sessions", l.count(s.Sessions))
	l.add("entries", l.count(s.Entries))
	l.add("documents", l.count(s.Documents))
	for _, k := range s.Kinds {
		l.add("  "+k.Kind, l.count(k.Documents))
	}
	l.add("indexed", l.Size(s.Indexed))
	l.add("size", l.Size(s.Size))
	if s.Indexed > 0 {
		l.add("share", fmt.Sprintf("%d %% of the session files", (100*s.Size+s.Indexed/2)/s.Indexed))
	}
	l.add("bleve", cmp.Or(l.path(s.Store), "no store: updates make one where the file system has hard links"))
	l.add("newest", l.time(s.Newest.Time))
	l.add("updated", human.When(!s.Updated.IsZero(), l.time(s.Updated.Time)+", "+human.Plural(s.Kept, "generation", "generations")+" kept"))
	l.add("copies", human.Some(s.Copies, "entry copied by a fork counts once", "entries copied by forks count once"))
	l.add("partial", human.Some(s.Partial, "result has only the beginning of an output; the rest is in files that are not read",
		"results have only the beginning of an output; the rest is in files that are not read"))
	l.add("skipped", human.Plural(s.State.SkippedLines, "line", "lines"))
}

// problems adds what could not be read, and what is not pigrep's.
func (l *factList) problems(s *Status) {
	for _, k := range s.Skipped {
		l.add("  line", fmt.Sprintf("%s:%d (offset %d): %s", l.path(k.Path), k.Line, k.Offset, k.Reason))
	}
	for i, u := range s.Unknown {
		l.add(human.When(i == 0, "unknown")+human.When(i > 0, "  more"), u.Name+" of "+u.Agent+": "+human.Number(u.Count))
	}
	more := s.State.SkippedLines - len(s.Skipped)
	l.add("  more", human.When(more > 0 && s.Built, human.Plural(more, "line", "lines")+": pigrep status --skipped"))
	for i, e := range s.Errors {
		l.add("unreadable", l.path(e.Path)+": "+e.Reason)
		if i == len(s.Errors)-1 || s.Errors[i+1].Hint != e.Hint {
			l.add("  hint", e.Hint)
		}
	}
	for _, path := range s.Foreign {
		l.add("foreign", l.path(path)+": not made by pigrep, left alone")
	}
	if s.Archive != nil {
		l.facts = append(l.facts, keepFacts(s.Archive, l.Layout)...)
	}
	l.facts = append(l.facts, unusedFacts("unused", s.Unused, l.Layout)...)
	l.add("  more", human.When(len(s.Unused) > 0, "remove them: pigrep index --prune"))
	for _, path := range s.Outside {
		l.add("link", l.path(path)+": not followed, it leads out of the session directories")
	}
}

func (l *factList) watcher(w *Watcher) string {
	how := human.When(w.Polling != "", ", without events: "+w.Polling)
	switch {
	case w.OtherVersion:
		how = ", of another version: restart it"
	case w.Stuck:
		how = ", which does not move: other commands do its work"
	}
	since := human.When(!w.Started.IsZero(), " since "+l.time(w.Started.Time))
	return Process(w.PID).String() + since + how + human.When(!w.Scanned.IsZero(), "; looked at all files "+l.time(w.Scanned.Time))
}

// Sizes say which agents, projects and months take the room, the largest of each first.
type Sizes []SizeRow

// SizeRow is the room that the session files of an agent, a project of an agent or a month take.
type SizeRow struct {
	By     string `json:"by"` // agent, project or month
	Name   string `json:"name"`
	Agent  string `json:"agent,omitempty"` // of a project
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	Delete string `json:"delete,omitempty"` // how a person deletes them with the agent
}

func (s Sizes) JSON(j *JSON) {
	j.Object("status", j.inObject("sizes", linesOf(j, "size", s)), j.InLines("total", len(s)))
}

func (s Sizes) Sheet(layout Layout) table {
	return &sheet[SizeRow]{
		columns: []sheetColumn[SizeRow]{
			{column{Name: "by", Title: "BY"}, func(r *SizeRow) cell { return textCell(r.By) }},
			{column{Name: "name", Title: "NAME", Flex: true, Left: true}, func(r *SizeRow) cell { return layout.pathCell(r.Name) }},
			{column{Name: "agent", Title: "AGENT"}, func(r *SizeRow) cell { return textCell(r.Agent) }},
			{column{Name: "files", Title: "FILES", Right: true}, func(r *SizeRow) cell { return countCell(r.Files) }},
			{column{Name: "bytes", Title: "SIZE", Right: true}, func(r *SizeRow) cell { return bytesCell(r.Bytes) }},
			{column{Name: "delete"}, func(r *SizeRow) cell { return textCell(r.Delete) }},
		},
		rows: listed(s),
		finish: func(r *SizeRow, row *sheetRow) {
			if r.By == "agent" && r.Delete != "" {
				row.below = []string{"to delete some: " + r.Delete}
			}
		},
	}
}

func (s Sizes) Text(t *Text) {
	t.table(s.Sheet(t.Layout))
	t.Print("\n", t.Dim("single sessions: pigrep sessions --sort size · pigrep deletes no session file"), "\n")
}

// Stores are the kinds of file that an agent keeps.
type Stores []Store

// Store is a kind of file.
type Store struct {
	Agent    string `json:"agent"`
	Label    string `json:"-"` // of the agent
	Name     string `json:"name"`
	Role     string `json:"role"`
	Format   string `json:"format"`
	Path     string `json:"path"`
	Coverage string `json:"coverage"`
	Exists   *bool  `json:"exists,omitempty"` // nil for a private file, which is never checked
}

func (s Stores) JSON(j *JSON) {
	j.Object("status", j.inObject("stores", linesOf(j, "store", s)), j.InLines("total", len(s)))
}

func (s Stores) Sheet(layout Layout) table {
	several := slices.ContainsFunc(s, func(x Store) bool { return x.Agent != s[0].Agent })
	return &sheet[Store]{
		columns: []sheetColumn[Store]{
			{column{Field: "agent", Title: human.When(several, "AGENT")}, func(s *Store) cell { return cell{Text: s.Label, Plain: s.Agent} }},
			{column{Name: "name", Title: "STORE"}, func(s *Store) cell { return textCell(s.Name) }},
			{column{Name: "coverage", Title: "COVERAGE"}, func(s *Store) cell { return textCell(s.Coverage) }},
			{column{Name: "there", Title: "THERE"}, func(s *Store) cell { return textCell(existsText(s)) }},
			{column{Name: "format"}, func(s *Store) cell { return textCell(s.Format) }},
			{column{Name: "path", Title: "PATH", Flex: true, Left: true}, func(s *Store) cell { return layout.pathCell(s.Path) }},
			{column{Name: "role"}, func(s *Store) cell { return textCell(s.Role) }},
		},
		rows:   listed(s),
		finish: func(s *Store, r *sheetRow) { r.below = []string{s.Role + " (" + s.Format + ")"} },
	}
}

func (s Stores) Text(t *Text) { t.table(s.Sheet(t.Layout)) }

func existsText(s *Store) string {
	if s.Exists == nil {
		return "not looked at"
	}
	return cmp.Or(human.When(*s.Exists, "yes"), "no")
}
