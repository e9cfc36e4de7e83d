package audit

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/filter"
)

// FileRow is a file that tools touched.
type FileRow struct {
	Type      string       `json:"type"` // "file"
	Path      string       `json:"path"`
	Reads     int          `json:"reads"`
	Writes    int          `json:"writes"`
	Edits     int          `json:"edits"`
	Deletes   int          `json:"deletes,omitempty"`
	Others    int          `json:"others"`             // by tools that list files, or whose action is not known
	Summaries int          `json:"summaries"`          // that list the file
	Failed    int          `json:"failed"`             // calls
	Rejected  int          `json:"rejected,omitempty"` // calls that the person did not let run
	Sessions  int          `json:"sessions"`
	First     session.Time `json:"first,omitzero"`
	Last      session.Time `json:"last,omitzero"`
}

// TouchRow is one touch: a call that names a file, or a summary that lists it.
type TouchRow struct {
	Type      string       `json:"type"` // "touch"
	Path      string       `json:"path"`
	Action    string       `json:"action"` // read, write, edit, delete, other; with a summary read or edit
	Timestamp session.Time `json:"timestamp,omitzero"`
	session.EntryPlace
	Offset int64  `json:"offset"`
	Tool   string `json:"tool,omitempty"` // absent when a summary lists the file
	Status string `json:"status"`         // as of CallRow; "summary"

	Title string `json:"-"` // of the session
}

// FileTable is the answer of Files: rows by file, or with a path its history.
type FileTable struct {
	Rows    []FileRow
	Touches []TouchRow // the latest first
	Covered
}

// fileGroup is a row of the table under construction.
type fileGroup struct {
	row         FileRow
	files       fileCount
	first, last int64 // Unix milliseconds
}

func (g *fileGroup) add(f *file, ms int64) {
	g.files.add(f)
	at := max(0, f.millis(ms))
	if g.first == 0 || at != 0 && at < g.first {
		g.first = at
	}
	g.last = max(g.last, at)
}

// Files counts how often tools touched each file. With a path it lists each touch of
// the files that match it: with an absolute path the file itself, else every file
// whose path ends with these elements, and in both cases the files below it.
func Files(ctx context.Context, r *index.Reader, req Request, name string) (*FileTable, error) {
	req.Text = ""
	x, err := newAuditor(ctx, r, &req, record.CallFacts, record.DetailFacts)
	if err != nil {
		return nil, err
	}
	c := &fileCounter{x: x, history: name != "", want: path.Clean(session.Slashed(name)), t: &FileTable{}, table: newGroups(func(name string) *fileGroup {
		return &fileGroup{row: FileRow{Type: "file", Path: name}}
	})}
	if strings.HasPrefix(c.want, "/") || len(c.want) > 1 && c.want[1] == ':' {
		c.dir = filter.NewDirectory(name)
	}
	err = x.eachPiece(x.facts.All, func(f *file, p *record.Piece) error {
		if err := c.summaries(f, p); err != nil {
			return err
		}
		return x.visitCalls(f, p, func(i int) { c.call(f, p, i) })
	})
	if err = errors.Join(err, c.unread); err != nil {
		return nil, err
	}
	t := c.t
	for _, g := range c.table.rows {
		g.row.Sessions = g.files.n
		g.row.First, g.row.Last = timeAt(g.first), timeAt(g.last)
		t.Rows = append(t.Rows, g.row)
	}
	t.Sort()
	t.Covered = x.covered()
	req.mask(t)
	return t, nil
}

// Sort puts the rows and the touches in order.
func (t *FileTable) Sort() {
	lists.Sort(t.Rows, func(a, b FileRow) int {
		times := func(r FileRow) int { return r.Reads + r.Writes + r.Edits + r.Deletes + r.Others + r.Summaries }
		return cmp.Or(cmp.Compare(times(b), times(a)), cmp.Compare(a.Path, b.Path))
	})
	lists.SortStable(t.Touches, func(a, b TouchRow) int {
		return cmp.Or(b.Timestamp.Compare(a.Timestamp.Time), cmp.Compare(a.SessionPath, b.SessionPath), cmp.Compare(b.Offset, a.Offset))
	})
}

// fileCounter counts the touches of files, or with history lists the touches of files that match a
// path.
type fileCounter struct {
	x       *auditor
	history bool
	want    string            // the path, with history
	dir     *filter.Directory // the same if it is absolute: the file, or those below it
	t       *FileTable
	table   groups[fileGroup]
	listed  firsts // of the summaries

	last    *file // of the last touch, with its outline
	outline *record.Outline
	unread  error // the first one that came with an outline
}

// touch returns a row of the history. After an error of an outline, the rows are of no
// use any more.
func (c *fileCounter) touch(f *file, name string, ms, offset int64) TouchRow {
	if f != c.last && c.unread == nil {
		c.last = f
		c.outline, c.unread = c.x.r.Outline(f.File, nil)
	}
	row := TouchRow{
		Type: "touch", Path: strings.Clone(name), Timestamp: session.Time{Time: f.timeOf(ms)}, EntryPlace: f.EntryPlace(entryID(c.outline, offset)), Offset: offset, Title: c.x.req.maskIfAsked(f.Title()),
	}
	c.x.names.Name(f.Path, &row.EntryName)
	row.SessionName = c.x.req.maskIfAsked(f.Name)
	return row
}

// summaries counts the files that summaries list.
func (c *fileCounter) summaries(f *file, p *record.Piece) error {
	req, t := c.x.req, &p.Touches
	for i := range t.Len {
		at, offset := t.Time.At(i), t.Offset.At(i)
		first := c.listed.isFirst(uint64(t.Copy.At(i)), p.File, offset)
		if !f.wanted || !c.x.passesTime(f, at) || !first || len(req.Tools) > 0 || req.Error || req.Rejected {
			continue
		}
		if ok, err := c.x.branch.passes(f, offset); err != nil {
			return err
		} else if !ok {
			continue
		}
		name := shellcmd.Resolve(t.Path.At(i), f.CWD)
		if !c.history {
			g := c.table.row(name)
			g.add(f, at)
			g.row.Summaries++
		} else if c.isWanted(name) {
			row := c.touch(f, name, at, offset)
			row.Action, row.Status = "read", "summary"
			if t.Write(i) {
				row.Action = "edit"
			}
			c.t.Touches = append(c.t.Touches, row)
		}
	}
	return nil
}

// call counts the files that a call names. Several edits of one file in one call are one
// touch.
func (c *fileCounter) call(f *file, p *record.Piece, i int) {
	calls, flags := &p.Calls, p.Calls.Flags(i)
	if flags.Kind() == session.CallMissing {
		return
	}
	at, uses, dir := calls.Time.At(i), p.Details.Files(i), cmp.Or(p.Details.Dir.At(i), f.CWD)
	for k, use := range uses {
		if slices.Contains(uses[:k], use) {
			continue
		}
		name, action := shellcmd.Resolve(use.Path, dir), fileAction(calls.Deed(i), use.Deed)
		if c.history {
			if c.isWanted(name) {
				row := c.touch(f, name, at, calls.Offset.At(i))
				row.Action, row.Tool, row.Status = action.String(), strings.Clone(calls.Tool.At(i)), status(flags)
				c.t.Touches = append(c.t.Touches, row)
			}
			continue
		}
		g := c.table.row(name)
		g.add(f, at)
		g.count(action, flags)
	}
}

// fileAction returns what a call does to a file, as far as the table of files tells it apart.
// A search names where it looks, which counts as reading in no table.
func fileAction(call, use session.Deed) session.Deed {
	if call != session.DeedList && (use == session.DeedRead || use.Writes()) {
		return use
	}
	return session.DeedOther
}

func (g *fileGroup) count(action session.Deed, flags record.CallFlags) {
	switch {
	case flags.Rejected(): // nothing was done
		g.row.Rejected++
	case action == session.DeedRead:
		g.row.Reads++
	case action == session.DeedWrite:
		g.row.Writes++
	case action == session.DeedEdit:
		g.row.Edits++
	case action == session.DeedDelete:
		g.row.Deletes++
	default:
		g.row.Others++
	}
	if flags.Failed() {
		g.row.Failed++
	}
}

// isWanted reports whether a path matches the one that is wanted, as Files says.
func (c *fileCounter) isWanted(name string) bool {
	if c.dir != nil {
		return c.dir.Has(name)
	}
	return name == c.want || strings.HasSuffix(name, "/"+c.want) || strings.Contains("/"+name+"/", "/"+c.want+"/")
}
