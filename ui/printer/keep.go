package printer

import (
	"cmp"
	"fmt"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/keep"
)

// Keep says which copies of session files are kept.
type Keep struct {
	Dir    string `json:"archiveDir"`
	Size   int64  `json:"sizeBytes"`
	Limit  int64  `json:"limitBytes"` // 0: none
	Agents []Kept `json:"agents"`
}

// Kept counts the kept copies of an agent.
type Kept struct {
	Agent    string       `json:"agent"`
	On       bool         `json:"on"`       // what is new is kept
	Sessions int          `json:"sessions"` // files with copies, and what they had before they were rewritten
	Gone     int          `json:"gone"`     // copies that are all that is left
	Left     int          `json:"leftOut"`  // files for which there is no room
	Size     int64        `json:"sizeBytes"`
	Oldest   session.Time `json:"oldest,omitzero"`
}

// KeptOf describes the kept copies of an agent.
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

// keepFacts describes the kept copies, a line for each agent.
func keepFacts(x *Keep, layout Layout) []Fact {
	l := &factList{Layout: layout}
	limit := cmp.Or(human.When(x.Limit > 0, "of at most "+human.Bytes(x.Limit)), "without a limit")
	l.add("kept copies", l.path(x.Dir)+": "+human.Bytes(x.Size)+" "+limit)
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

// Done is what a command about archives or copies did, for programs.
type Done struct {
	Path   string `json:"path,omitempty"`
	Copies int    `json:"copies,omitempty"`
	Bytes  int64  `json:"sizeBytes,omitempty"`
}
