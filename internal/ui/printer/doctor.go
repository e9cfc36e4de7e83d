package printer

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
)

// Doctor is the outcome of the doctor command.
type Doctor struct {
	Dir        string
	Deep       bool
	Generation uint64
	Files      int
	Documents  int
	Compared   int // files read and compared part by part
	Changed    int // files that could not be, new or changed since they were indexed
	Findings   []Finding
	Repaired   string // what was done about the findings; "" when nothing was
}

// Finding is something that is wrong with the index.
type Finding struct {
	Path string `json:"path,omitempty"` // the session file; "" when it is about the index as a whole
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
		fmt.Fprintf(&b, "; %s not, new or changed since (`pigrep index` first)", human.Plural(d.Changed, "file", "files"))
	}
	if d.Repaired != "" {
		b.WriteString("; repaired: " + d.Repaired)
	}
	return b.String()
}

func (t *text) Doctor(d *Doctor) error {
	var b strings.Builder
	for _, f := range d.Findings {
		if f.Path != "" {
			fmt.Fprintf(&b, "%s\n  ", terminal.Clean(human.Path(f.Path, t.Home)))
		}
		fmt.Fprintln(&b, terminal.Clean(f.What))
	}
	fmt.Fprintln(&b, doctorLine(d))
	_, err := io.WriteString(t.w, b.String())
	return err
}

func (p plain) Doctor(d *Doctor) error {
	for _, f := range d.Findings {
		if err := p.record("finding", f.Path, f.What); err != nil {
			return err
		}
	}
	for _, r := range []struct {
		name string
		n    int
	}{{"files", d.Files}, {"documents", d.Documents}, {"compared", d.Compared}, {"changed", d.Changed}, {"findings", len(d.Findings)}} {
		if err := p.record(r.name, strconv.Itoa(r.n)); err != nil {
			return err
		}
	}
	if d.Repaired != "" {
		return p.record("repaired", d.Repaired)
	}
	return nil
}

type doctorJSON struct {
	head
	Dir        string    `json:"indexDir"`
	Sound      bool      `json:"sound"`
	Deep       bool      `json:"deep"`
	Generation uint64    `json:"generation"`
	Files      int       `json:"files"`
	Documents  int       `json:"documents"`
	Compared   int       `json:"compared"`
	Changed    int       `json:"changed"`
	Findings   []Finding `json:"findings"`
	Repaired   string    `json:"repaired,omitempty"`
}

func newDoctorJSON(h head, d *Doctor) doctorJSON {
	return doctorJSON{h, d.Dir, len(d.Findings) == 0, d.Deep, d.Generation, d.Files, d.Documents, d.Compared, d.Changed, list(d.Findings), d.Repaired}
}

func (p jsonEnvelope) Doctor(d *Doctor) error {
	return encode(p.w, newDoctorJSON(envelope("doctor"), d))
}

func (p jsonLines) Doctor(d *Doctor) error {
	for _, f := range d.Findings {
		if err := encode(p.w, struct {
			typed
			Finding
		}{typed{"finding"}, f}); err != nil {
			return err
		}
	}
	last := newDoctorJSON(summary("doctor"), d)
	last.Findings = []Finding{}
	return encode(p.w, last)
}
