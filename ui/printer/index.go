package printer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/search"
)

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

// unusedFacts describes unused indexes, with a line for each.
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

// Doctor is the outcome of status --check.
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
