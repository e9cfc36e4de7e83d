package printer

import (
	"fmt"
	"strconv"
	"strings"

	"pigrep/index"
	"pigrep/internal/human"
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

func (p *Pruned) json(j *jsonWriter) { j.object("index", Pruned{list(p.Removed)}) }

func (p *Pruned) sheet(layout Layout) table {
	return factSheet(unusedFacts("removed", p.Removed, layout))
}

func (p *Pruned) text(t *text) {
	if t.table(p.sheet(t.Layout)) == 0 {
		t.print("there is no unused index\n")
	}
}

// unusedFacts describes unused indexes, a line for each.
func unusedFacts(name string, unused []index.Unused, layout Layout) []fact {
	l := &factList{Layout: layout}
	for _, x := range unused {
		var roots []string
		for _, r := range x.Roots {
			roots = append(roots, l.path(r))
		}
		l.add(name, "%s: %s, of %s, which is gone", l.path(x.Dir), l.size(x.Size), strings.Join(roots, ", "))
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
}

func (x *Index) json(j *jsonWriter) {
	answer := *x
	answer.Changes, answer.Steps = list(x.Changes), linesOf(j, "step", x.Steps)
	j.object("index", answer)
}

// stepSheet is the plan of an update.
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

func (x *Index) plain(p *plain) {
	if x.DryRun {
		p.table(stepSheet(x, Layout{}))
	} else {
		p.print(indexLine(x), "\n")
	}
}

func (x *Index) text(t *text) {
	t.table(stepSheet(x, t.Layout))
	t.print(indexLine(x), "\n")
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
	line += " (" + strings.Join(changes, ", ") + ")"
	if x.DryRun {
		return line + ", " + human.Bytes(x.Bytes) + " to read"
	}
	return line + ", " + human.Bytes(x.Bytes) + " read"
}
