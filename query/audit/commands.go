package audit

import (
	"cmp"
	"context"
	"slices"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
)

// CommandRow is a program that shell commands ran, with its subcommand.
type CommandRow struct {
	Type     string       `json:"type"` // "command"
	Program  string       `json:"program"`
	Runs     int          `json:"runs"`   // how often commands run it
	Calls    int          `json:"calls"`  // commands that run it
	Failed   int          `json:"failed"` // commands of these
	Sessions int          `json:"sessions"`
	Last     session.Time `json:"lastUsed,omitzero"`
}

// CommandTable is the answer of Commands.
type CommandTable struct {
	Rows     []CommandRow
	Calls    int // shell commands
	Unparsed int // commands of these that cannot be parsed; their first word counts as the program
	Coverage Coverage
	Warnings []string
	Index    search.IndexState
}

// commandGroup is a row of the table under construction.
type commandGroup struct {
	row   CommandRow
	files fileCount
	last  int64 // Unix milliseconds
	call  int   // number of the last command that ran it
}

// addSum adds sum i.
func (g *commandGroup) addSum(f *file, s *record.SummedPrograms, i int) {
	g.row.Runs += int(s.Runs.At(i))
	g.row.Calls += int(s.Calls.At(i))
	g.row.Failed += int(s.Failed.At(i))
	g.files.add(f)
	g.last = max(g.last, s.Last.At(i))
}

// Commands counts the programs that shell commands ran.
func Commands(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*CommandTable, error) {
	req.Commands = true
	x, err := newAuditor(ctx, r, &req, record.CallFacts, record.CallSums)
	if err != nil {
		return nil, err
	}
	if err := x.matchText(a, src); err != nil {
		return nil, err
	}
	t := &CommandTable{}
	table := groups[commandGroup]{}
	row := func(program string) *commandGroup {
		return table.row(program, func(name string) *commandGroup {
			return &commandGroup{row: CommandRow{Type: "command", Program: name}}
		})
	}
	var programs []*commandGroup // of a piece, by their numbers there
	each := func(visit func(*file, *record.Piece) error) error { return x.eachPiece(x.facts.All, visit) }
	if len(req.Tools)+len(req.Models) == 0 { // which the sums of programs do not name
		each = func(visit func(*file, *record.Piece) error) error { return x.eachSum(nil, visit) }
	}
	err = each(func(f *file, p *record.Piece) error {
		if s := &p.CallSums; p.Summed {
			t.Calls += s.Commands
			t.Unparsed += s.Broken
			for i, name := range s.Programs.Names {
				row(name).addSum(f, &s.Programs, i)
			}
			return nil
		}
		c := &p.Calls
		names := c.Programs.Names()
		programs = emptied(programs, len(names))
		return x.visitCalls(f, p, func(i int) {
			t.Calls++
			if c.Flags(i).Broken() {
				t.Unparsed++
			}
			c.Programs.Numbers(i, func(number int) {
				if programs[number] == nil {
					programs[number] = row(names[number])
				}
				g := programs[number]
				g.row.Runs++
				if g.call == t.Calls {
					return
				}
				g.call = t.Calls
				g.row.Calls++
				if c.Flags(i).Failed() {
					g.row.Failed++
				}
				g.files.add(f)
				g.last = max(g.last, f.millis(c.Time.At(i)))
			})
		})
	})
	if err != nil {
		return nil, err
	}
	rows := table.sorted(func(a, b *commandGroup) int {
		if a.row.Runs != b.row.Runs { // most rows: names are compared only where they decide
			return cmp.Compare(b.row.Runs, a.row.Runs)
		}
		return cmp.Compare(a.row.Program, b.row.Program)
	})
	t.Rows = slices.Grow(t.Rows, len(rows))
	for _, g := range rows {
		g.row.Sessions, g.row.Last = g.files.n, session.Time{Time: time.UnixMilli(g.last).UTC()}
		t.Rows = append(t.Rows, g.row)
	}
	t.Coverage, t.Warnings, t.Index = x.coverage, x.warnings, search.StateOf(x.r)
	req.mask(t)
	return t, nil
}
