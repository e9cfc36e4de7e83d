package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
)

// CommandRow is a program that shell commands ran, with its subcommand.
type CommandRow struct {
	Type     string       `json:"type"` // "command"
	Program  string       `json:"program"`
	Runs     int          `json:"runs"`   // how often commands run it
	Calls    int          `json:"calls"`  // commands that run it
	Failed   int          `json:"failed"` // commands of these that it made fail, as far as can be known
	Sessions int          `json:"sessions"`
	Last     session.Time `json:"lastUsed,omitzero"`
}

// CommandTable is the answer of Commands.
type CommandTable struct {
	Rows     []CommandRow
	Calls    int // shell commands
	Unparsed int // commands of these that cannot be parsed; their first word counts as the program
	Unread   int // scripts that run further commands, which they compute
	Covered
}

// commandGroup is a row of the table under construction.
type commandGroup struct {
	row   CommandRow
	files fileCount
	last  int64 // Unix milliseconds
	call  int   // number of the last command that ran it
	fail  int   // number of the last command that it made fail
}

// addCall adds a program that call i of a piece runs, which is a command with this number.
func (g *commandGroup) addCall(f *file, c *record.Calls, i, command int, blamed bool) {
	g.row.Runs++
	if blamed && g.fail != command {
		g.fail = command
		g.row.Failed++
	}
	if g.call == command {
		return
	}
	g.call = command
	g.row.Calls++
	g.files.add(f)
	g.last = max(g.last, f.millis(c.Time.At(i)))
}

// Commands counts the programs that shell commands ran.
func Commands(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*CommandTable, error) {
	req.Commands = true
	x, err := newAuditor(ctx, r, &req, record.CallFacts)
	if err != nil {
		return nil, err
	}
	if err := x.matchText(a, src); err != nil {
		return nil, err
	}
	c := &commandCount{x: x, groups: newGroups(func(name string) *commandGroup {
		return &commandGroup{row: CommandRow{Type: "command", Program: name}}
	})}
	if err := x.eachPiece(x.facts.All, c.add); err != nil {
		return nil, err
	}
	t := &c.table
	failures := req.Error
	if failures { // of a call that failed, the other programs are not listed
		maps.DeleteFunc(c.groups.rows, func(_ string, g *commandGroup) bool { return g.row.Failed == 0 })
	}
	rows := slices.SortedFunc(maps.Values(c.groups.rows), func(a, b *commandGroup) int { return CompareCommands(&req, &a.row, &b.row) })
	t.Rows = slices.Grow(t.Rows, len(rows))
	for _, g := range rows {
		g.row.Sessions, g.row.Last = g.files.n, timeAt(g.last)
		t.Rows = append(t.Rows, g.row)
	}
	t.Covered = x.covered()
	req.mask(t)
	return t, nil
}

// CompareCommands orders the rows of a table.
func CompareCommands(req *Request, a, b *CommandRow) int {
	if req.Error && a.Failed != b.Failed {
		return cmp.Compare(b.Failed, a.Failed)
	}
	if a.Runs != b.Runs { // most rows: names are compared only where they decide
		return cmp.Compare(b.Runs, a.Runs)
	}
	return cmp.Compare(a.Program, b.Program)
}

// commandCount counts the shell commands of all sessions.
type commandCount struct {
	x      *auditor
	table  CommandTable // without its rows
	groups groups[commandGroup]
}

// add adds the facts of a piece.
func (t *commandCount) add(f *file, p *record.Piece) error {
	c := &p.Calls
	names := c.Programs.Names()
	programs := make([]*commandGroup, len(names))
	return t.x.visitCalls(f, p, func(i int) {
		if c.Flags(i).Rejected() && !t.x.req.Rejected { // it did not run
			return
		}
		if c.Flags(i).Unread() {
			t.table.Unread++
			return
		}
		t.table.Calls++
		if c.Flags(i).Broken() {
			t.table.Unparsed++
		}
		blamed := c.Blamed(i)
		c.Programs.Numbers(i, func(number int) {
			if programs[number] == nil {
				programs[number] = t.groups.row(names[number])
			}
			programs[number].addCall(f, c, i, t.table.Calls, blamed&1 != 0)
			blamed >>= 1
		})
	})
}
