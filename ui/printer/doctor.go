package printer

import (
	"fmt"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
)

// Doctor is the outcome of the doctor command.
type Doctor struct {
	Dir        string    `json:"-"`
	Deep       bool      `json:"deep"`
	Generation uint64    `json:"generation"`
	Files      int       `json:"files"`
	Documents  int       `json:"documents"`
	Compared   int       `json:"compared"` // files read and compared part by part
	Changed    int       `json:"changed"`  // files not compared: new or changed since they were indexed
	Findings   []Finding `json:"findings"`
	Repaired   string    `json:"repaired,omitempty"` // what was done about the findings
}

// Finding is a defect of the index.
type Finding struct {
	Path string `json:"path,omitempty"` // of the session file; "" for the index as a whole
	What string `json:"what"`
}

// doctorLine is the last line of the report.
func doctorLine(d *Doctor) string {
	var b strings.Builder
	if len(d.Findings) == 0 {
		b.WriteString("sound")
	} else {
		b.WriteString(human.Plural(len(d.Findings), "finding", "findings"))
	}
	fmt.Fprintf(&b, ": generation %d, %s, %s", d.Generation, human.Plural(d.Files, "file", "files"), human.Plural(d.Documents, "document", "documents"))
	if d.Deep {
		fmt.Fprintf(&b, ", %s compared with the index part by part", human.Plural(d.Compared, "file", "files"))
	}
	if d.Changed > 0 {
		fmt.Fprintf(&b, "; %s not compared: new or changed since (run `pigrep index` first)", human.Plural(d.Changed, "file", "files"))
	}
	if d.Repaired != "" {
		b.WriteString("; repaired: " + d.Repaired)
	}
	return b.String()
}

func (d *Doctor) text(t *text) {
	for _, f := range d.Findings {
		if f.Path != "" {
			t.print(terminal.Clean(human.Path(f.Path, t.Home)), "\n  ")
		}
		t.print(terminal.Clean(f.What), "\n")
	}
	t.print(doctorLine(d), "\n")
}

func (d *Doctor) plain(p *plain) {
	for _, f := range d.Findings {
		p.record("finding", f.Path, f.What)
	}
	for _, r := range []struct {
		name string
		n    int
	}{{"files", d.Files}, {"documents", d.Documents}, {"compared", d.Compared}, {"changed", d.Changed}, {"findings", len(d.Findings)}} {
		p.record(r.name, strconv.Itoa(r.n))
	}
	if d.Repaired != "" {
		p.record("repaired", d.Repaired)
	}
}

func (d *Doctor) json(j *jsonWriter) {
	answer := *d
	answer.Findings = linesOf(j, "finding", d.Findings)
	j.object("doctor", struct {
		Dir   string `json:"indexDir"`
		Sound bool   `json:"sound"`
	}{d.Dir, len(d.Findings) == 0}, answer)
}
