package printer

import (
	"fmt"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/keep"
)

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
	Sessions int          `json:"sessions"` // files of which there are copies, and what they had before they were rewritten
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
func keepFacts(x *Keep, layout Layout) []fact {
	l := &factList{Layout: layout}
	limit := "without a limit"
	if x.Limit > 0 {
		limit = "of at most " + human.Bytes(x.Limit)
	}
	l.add("archive", "%s: %s %s", l.path(x.Dir), human.Bytes(x.Size), limit)
	for _, k := range x.Agents {
		text := "off"
		if k.On {
			text = "on"
		}
		if k.Sessions > 0 {
			text += fmt.Sprintf(": %s, %s, the oldest from %s", human.Plural(k.Sessions, "copy", "copies"), human.Bytes(k.Size), k.Oldest.Format(time.DateOnly))
		}
		if k.Gone > 0 {
			text += fmt.Sprintf("; %s all that is left", human.Plural(k.Gone, "is", "are"))
		}
		if k.Left > 0 {
			text += fmt.Sprintf("; %s left out: raise keep-limit, or use --older-than", human.Plural(k.Left, "file is", "files are"))
		}
		l.add("  "+k.Agent, "%s", text)
	}
	return l.facts
}

// Done says what a command did.
type Done struct {
	Command string `json:"-"`
	Line    string `json:"-"`
	Path    string `json:"path,omitempty"`
	Copies  int    `json:"copies,omitempty"`
	Bytes   int64  `json:"sizeBytes,omitempty"`
}

func (x *Done) JSON(j *JSON) { j.Object(x.Command, *x) }

func (x *Done) Text(t *Text) { t.Print(x.Line, "\n") }

func (x *Done) Plain(p *plain) { p.Print(x.Line, "\n") }
