package printer

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
)

// Hosts is the answer of the hosts command.
type Hosts struct {
	Rows  []HostRow
	Whole bool // problems and hints are printed as a whole, below the rows
}

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
		for _, text := range []string{human.When(h.Whole, x.Problem), x.Hint} {
			if h.Whole {
				text = ansi.Wordwrap(terminal.Clean(text), max(layout.Width-6, 20), "")
			}
			if text != "" {
				r.below = append(r.below, lists.Map(strings.Split(text, "\n"), func(line string) string { return "  " + line })...)
			}
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
