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
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/keep"
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

// Skipped is a line of a session file that could not be indexed.
type Skipped struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

// StatusJSON returns the JSON answer as a value, to embed it.
func StatusJSON(s *Status) any {
	answer := *s
	answer.Roots, answer.Changes = List(s.Roots), List(s.Changes)
	return struct {
		head
		Status
	}{head{SchemaVersion: SchemaVersion, Command: "status"}, answer}
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

// Index is the outcome of the index command; with DryRun, what it would do.
type Index struct {
	DryRun  bool              `json:"dryRun"`
	Dir     string            `json:"indexDir"`
	Rebuilt string            `json:"rebuilt,omitempty"` // why the index was rebuilt
	Changes []ChangeCount     `json:"changes"`
	Steps   []Step            `json:"steps,omitempty"` // with DryRun: the files that are not unchanged
	Bytes   int64             `json:"bytes"`           // read, or with DryRun to be read
	Entries int               `json:"entries"`
	Errors  []FileError       `json:"errors,omitempty"`
	State   search.IndexState `json:"index"`
}

// Pruned is the unused indexes that were removed.
type Pruned struct {
	Removed []index.Unused `json:"removed"`
}

func (p *Pruned) JSON(j *JSON) { j.Object("index", Pruned{List(p.Removed)}) }

func (p *Pruned) Sheet(layout Layout) table {
	return factSheet(unusedFacts("removed", p.Removed, layout))
}

func (p *Pruned) Text(t *Text) {
	if t.table(p.Sheet(t.Layout)) == 0 {
		t.Print("there is no unused index\n")
	}
}

// unusedFacts describes unused indexes, a line for each.
func unusedFacts(name string, unused []index.Unused, layout Layout) []Fact {
	l := &factList{Layout: layout}
	for _, x := range unused {
		roots := lists.Map(x.Roots, l.path)
		l.add(name, fmt.Sprintf("%s: %s, of %s, which is gone", l.path(x.Dir), l.Size(x.Size), strings.Join(roots, ", ")))
	}
	return l.facts
}

// ChangeCount is the number of files with a kind of change.
type ChangeCount struct {
	Change string `json:"change"`
	Files  int    `json:"files"`
}

// Step is what an update does about one file, and why.
type Step struct {
	Change string `json:"change"`
	Path   string `json:"path"`
	Reason string `json:"reason,omitempty"`
	Bytes  int64  `json:"bytes"`
}

// FileError is a file or directory that could not be used.
type FileError struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

func (x *Index) JSON(j *JSON) {
	answer := *x
	answer.Changes, answer.Steps = List(x.Changes), linesOf(j, "step", x.Steps)
	j.Object("index", answer)
}

// stepSheet returns the plan of an update.
func stepSheet(x *Index, layout Layout) *sheet[Step] {
	return &sheet[Step]{
		columns: []sheetColumn[Step]{
			{column{Name: "change", Title: "CHANGE"}, func(s *Step) cell { return textCell(s.Change) }},
			{column{Name: "bytes to read", Title: "TO READ", Right: true}, func(s *Step) cell {
				return cell{Text: human.Bytes(s.Bytes), Plain: strconv.FormatInt(s.Bytes, 10)}
			}},
			{column{Name: "session path", Title: "FILE", Flex: true, Left: true}, func(s *Step) cell { return layout.pathCell(s.Path) }},
			{column{Name: "reason"}, func(s *Step) cell { return textCell(s.Reason) }},
		},
		rows: listed(x.Steps),
		finish: func(s *Step, r *sheetRow) {
			if s.Reason != "" {
				r.below = []string{s.Reason}
			}
		},
	}
}

func (x *Index) Plain(p *Text) {
	if x.DryRun {
		p.records(stepSheet(x, Layout{}))
	} else {
		p.Print(indexLine(x), "\n")
	}
}

func (x *Index) Text(t *Text) {
	t.table(stepSheet(x, t.Layout))
	t.Print(indexLine(x), "\n")
}

// indexLine describes on one line what an update of the index did, or would do.
func indexLine(x *Index) string {
	var changes []string
	files := 0
	for _, c := range x.Changes {
		files += c.Files
		if c.Files > 0 && c.Change != "unchanged" {
			changes = append(changes, fmt.Sprintf("%s %s", human.Number(c.Files), c.Change))
		}
	}
	line := human.Plural(files, "file", "files")
	if len(changes) == 0 {
		return line + ", nothing new"
	}
	return line + " (" + strings.Join(changes, ", ") + "), " + human.Bytes(x.Bytes) + human.When(x.DryRun, " to") + " read"
}

// Doctor is the outcome of the doctor command.
type Doctor struct {
	Dir  string `json:"-"`
	Deep bool   `json:"deep"`
	indexer.Report
	Repaired string `json:"repaired,omitempty"` // what was done about the findings
}

// doctorLine returns the last line of the report.
func doctorLine(d *Doctor) string {
	compared := fmt.Sprintf("generation %d, %s, %s", d.Generation, human.Plural(d.Files, "file", "files"), human.Plural(d.Documents, "document", "documents"))
	if d.Deep {
		compared += ", " + human.Plural(d.Compared, "file", "files") + " compared with the index part by part"
	}
	return cmp.Or(human.Some(len(d.Findings), "finding", "findings"), "sound") + ": " + human.Joined("; ", compared,
		human.When(d.Changed > 0, human.Plural(d.Changed, "file", "files")+" not compared: new or changed since (run `pigrep index` first)"),
		human.When(d.Repaired != "", "repaired: "+d.Repaired))
}

func (d *Doctor) Text(t *Text) {
	for _, f := range d.Findings {
		t.Print(human.When(f.Path != "", terminal.Clean(human.Path(f.Path, t.Home))+"\n  "), terminal.Clean(f.What), "\n")
	}
	t.Print(doctorLine(d), "\n")
}

func (d *Doctor) Plain(p *Text) {
	for _, f := range d.Findings {
		p.record("finding", f.Path, f.What)
	}
	p.record("files", strconv.Itoa(d.Files))
	p.record("documents", strconv.Itoa(d.Documents))
	p.record("compared", strconv.Itoa(d.Compared))
	p.record("changed", strconv.Itoa(d.Changed))
	p.record("findings", strconv.Itoa(len(d.Findings)))
	if d.Repaired != "" {
		p.record("repaired", d.Repaired)
	}
}

func (d *Doctor) JSON(j *JSON) {
	answer := *d
	answer.Findings = linesOf(j, "finding", d.Findings)
	j.Object("doctor", map[string]any{"indexDir": d.Dir, "sound": len(d.Findings) == 0}, answer)
}

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

func watchLine(e *WatchEvent) string {
	changes := lists.Map(e.Changes, func(c ChangeCount) string { return fmt.Sprintf("%s %s", human.Number(c.Files), c.Change) })
	errors := lists.Map(e.Errors, func(f FileError) string { return f.Path + ": " + f.Reason })
	line, what := "", human.Joined(", ",
		strings.Join(changes, ", "),
		human.Some(e.Entries, "entry", "entries"),
		human.When(e.Bytes > 0, human.Bytes(e.Bytes)),
		human.When(e.Rebuilt != "", "rebuilt: "+e.Rebuilt),
		strings.Join(errors, ", "))
	switch e.Event {
	case "ready":
		line = fmt.Sprintf("watching %s in %s", human.Plural(e.State.Files, "file", "files"), human.Plural(e.Directories, "directory", "directories"))
	case "summary":
		line = "stopped after " + human.Plural(*e.Updates, "update", "updates")
	case "update":
		return what
	default:
		return e.Event + ": " + e.Message
	}
	return human.Joined(": ", line, what)
}

func (e *WatchEvent) Text(t *Text) {
	line := e.Time.Format(time.TimeOnly) + "  " + terminal.Clean(watchLine(e))
	room := t.Width - terminal.Width(line) - 2
	if others := len(e.Steps) - 1; others >= 0 && e.Event == "update" && room >= 20 {
		path := human.Path(e.Steps[0].Path, t.Home) + human.When(others > 0, fmt.Sprintf(" and %d more", others))
		line += "  " + t.Dim(terminal.ClipLeft(terminal.Clean(path), room))
	}
	t.Print(line, "\n")
}

// Sheet has a row for each event but the summary.
func (e *WatchEvent) Sheet(Layout) table {
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

// JSON writes a line for each event; without lines one object, at the end.
func (e *WatchEvent) JSON(j *JSON) {
	answer := *e
	answer.Changes = List(e.Changes)
	switch {
	case e.Event == "summary":
		j.Object("watch", answer)
	case j.lines:
		linesOf(j, e.Event, []WatchEvent{answer})
	}
}

// Keep is what the archive of kept sessions has.
type Keep struct {
	Dir    string `json:"archiveDir"`
	Size   int64  `json:"sizeBytes"`
	Limit  int64  `json:"limitBytes"` // 0: none
	Agents []Kept `json:"agents"`
}

// Kept is what the archive has of an agent.
type Kept struct {
	Agent    string       `json:"agent"`
	On       bool         `json:"on"`       // what is new is kept
	Sessions int          `json:"sessions"` // files with copies, and what they had before they were rewritten
	Gone     int          `json:"gone"`     // copies that are all that is left
	Left     int          `json:"leftOut"`  // files for which there is no room
	Size     int64        `json:"sizeBytes"`
	Oldest   session.Time `json:"oldest,omitzero"`
}

// KeptOf describes what the archive has of an agent.
func KeptOf(k *keep.Kind, on bool) Kept {
	x := Kept{Agent: k.Agent, On: on, Sessions: k.Sessions, Gone: k.Gone, Left: k.Left, Size: k.Bytes}
	if k.Oldest != 0 {
		x.Oldest = session.Time{Time: time.Unix(0, k.Oldest)}
	}
	return x
}

func (x *Keep) JSON(j *JSON) { j.Object("keep", *x) }

func (x *Keep) Sheet(layout Layout) table { return factSheet(keepFacts(x, layout)) }

func (x *Keep) Text(t *Text) { t.table(x.Sheet(t.Layout)) }

// keepFacts describes the archive, a line for each agent.
func keepFacts(x *Keep, layout Layout) []Fact {
	l := &factList{Layout: layout}
	limit := cmp.Or(human.When(x.Limit > 0, "of at most "+human.Bytes(x.Limit)), "without a limit")
	l.add("archive", l.path(x.Dir)+": "+human.Bytes(x.Size)+" "+limit)
	for _, k := range x.Agents {
		text := cmp.Or(human.When(k.On, "on"), "off")
		if k.Sessions > 0 {
			text += fmt.Sprintf(": %s, %s, the oldest from %s", human.Plural(k.Sessions, "copy", "copies"), human.Bytes(k.Size), k.Oldest.Format(time.DateOnly))
		}
		l.add("  "+k.Agent, human.Joined("; ", text,
			human.When(k.Gone > 0, human.Plural(k.Gone, "is", "are")+" all that is left"),
			human.When(k.Left > 0, human.Plural(k.Left, "file is", "files are")+" left out: raise keep-limit, or use --older-than")))
	}
	return l.facts
}

// Done is what a command of the archive did, for programs.
type Done struct {
	Path   string `json:"path,omitempty"`
	Copies int    `json:"copies,omitempty"`
	Bytes  int64  `json:"sizeBytes,omitempty"`
}

// Hosts is the answer of the hosts command.
type Hosts struct{ Rows []HostRow }

// HostRow is another machine of the user's.
type HostRow struct {
	Type     string       `json:"type"` // "host"
	Host     string       `json:"host"`
	Version  string       `json:"version,omitempty"` // of pigrep there
	Agents   []string     `json:"agents,omitempty"`
	Sessions int          `json:"sessions"`
	Bytes    int64        `json:"indexBytes"`
	Indexed  session.Time `json:"indexed,omitzero"` // when its index was last changed
	Latency  int32        `json:"latencyMs,omitempty"`
	Problem  string       `json:"problem,omitempty"`
	Hint     string       `json:"hint,omitempty"`
}

func (h *Hosts) Sheet(layout Layout) table {
	type row = HostRow
	// known is a cell of hosts that answer.
	known := func(c column, value func(x *row) cell) sheetColumn[row] {
		return sheetColumn[row]{c, func(x *row) cell {
			if x.Problem != "" {
				return cell{}
			}
			return value(x)
		}}
	}
	return &sheet[row]{rows: listed(h.Rows), columns: []sheetColumn[row]{
		{column{Name: "host", Title: "HOST", Key: true}, func(x *row) cell { return textCell(x.Host) }},
		{column{Name: "version", Title: "VERSION OR PROBLEM", Flex: true}, func(x *row) cell {
			return cell{Text: cmp.Or(x.Problem, x.Version), Plain: human.When(x.Problem == "", x.Version)}
		}},
		known(column{Name: "agents", Title: "AGENTS"}, func(x *row) cell { return textCell(strings.Join(x.Agents, ",")) }),
		known(column{Name: "sessions", Title: "SESSIONS", Right: true}, func(x *row) cell { return countCell(x.Sessions) }),
		known(column{Name: "index bytes", Title: "INDEX", Right: true}, func(x *row) cell { return bytesCell(x.Bytes) }),
		known(column{Name: "indexed (UTC)", Title: "AGE", Right: true}, func(x *row) cell {
			return cell{Text: layout.age(x.Indexed.Time), Plain: stampUTC(x.Indexed.Time)}
		}),
		known(column{Name: "latency ms", Title: "LATENCY", Right: true}, func(x *row) cell {
			return cell{Text: strconv.Itoa(int(x.Latency)) + "ms", Plain: strconv.Itoa(int(x.Latency))}
		}),
		recordColumn("problem", func(x *row) string { return x.Problem }),
	}, finish: func(x *row, r *sheetRow) {
		if x.Hint != "" {
			r.below = []string{"  " + x.Hint}
		}
	}}
}

// Line says the same in a line.
func (x *HostRow) Line(now time.Time) string {
	if x.Problem != "" {
		return x.Problem
	}
	return human.Joined(" · ", "pigrep "+x.Version, strings.Join(x.Agents, ", "), human.Plural(x.Sessions, "session", "sessions"),
		"index "+human.Bytes(x.Bytes)+", "+human.Ago(now, x.Indexed.Time), strconv.Itoa(int(x.Latency))+" ms")
}

func (h *Hosts) Text(t *Text) { t.table(h.Sheet(t.Layout)) }

func (h *Hosts) JSON(j *JSON) {
	j.Object("hosts", struct {
		Hosts []HostRow `json:"hosts"`
	}{linesOf(j, "host", h.Rows)})
}

// Told is an answer of a few lines: about archives, and about what was sent there.
type Told struct {
	Command string
	Lines   []string // without control characters
	Facts   any      // the same for programs: a struct
}

func (a *Told) Text(t *Text) {
	for _, line := range a.Lines {
		t.Print(line, "\n")
	}
}

func (a *Told) JSON(j *JSON) { j.Object(a.Command, a.Facts) }
