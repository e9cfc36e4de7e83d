package query

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"pigrep/index"
	"pigrep/internal/audit"
	"pigrep/internal/session"
)

// FileRow is a file that tools touched.
type FileRow struct {
	Type      string       `json:"type"` // "file"
	Path      string       `json:"path"`
	Reads     int          `json:"reads"`
	Writes    int          `json:"writes"`
	Edits     int          `json:"edits"`
	Others    int          `json:"others"`    // by tools of which it is not known what they do
	Summaries int          `json:"summaries"` // that list it
	Failed    int          `json:"failed"`    // calls
	Sessions  int          `json:"sessions"`
	First     session.Time `json:"first,omitzero"`
	Last      session.Time `json:"last,omitzero"`
}

// TouchRow is one time that a file was touched.
type TouchRow struct {
	Type        string       `json:"type"` // "touch"
	Path        string       `json:"path"`
	Action      string       `json:"action"` // read, write, edit, other; with a summary read or edit
	Timestamp   session.Time `json:"timestamp,omitzero"`
	SessionPath string       `json:"sessionPath"`
	SessionID   string       `json:"sessionId,omitempty"`
	SessionName string       `json:"sessionName,omitempty"`
	CWD         string       `json:"cwd,omitempty"`
	EntryID     string       `json:"entryId,omitempty"`
	Offset      int64        `json:"offset"`
	Tool        string       `json:"tool,omitempty"` // absent when a summary lists the file
	Status      string       `json:"status"`         // ok, error, none; "summary"
}

// FileTable is the answer to a request for the files that were touched: rows by
// file, or with a path its history.
type FileTable struct {
	Rows     []FileRow
	Touches  []TouchRow // the latest first
	Coverage Coverage
	Warnings []string
	Index    IndexState
}

type fileGroup struct {
	row         FileRow
	files       fileSet
	first, last int64
}

func (g *fileGroup) add(f *auditFile, ms int64) {
	g.files.add(f.File)
	at := f.timeOf(ms).UnixMilli()
	if g.first == 0 || at < g.first {
		g.first = at
	}
	g.last = max(g.last, at)
}

// Files counts which files tools touched. With a path it lists every time that
// one was touched: the file itself when the path is absolute, else every file
// whose path ends with these elements, and those below it.
func Files(ctx context.Context, r *index.Reader, req AuditRequest, file string) (*FileTable, error) {
	req.Text = ""
	x, err := newAuditor(ctx, r, nil, nil, &req, index.FactDetails)
	if err != nil {
		return nil, err
	}
	want := path.Clean(session.Slashed(file))
	history := file != ""
	t := &FileTable{}
	var table groups[fileGroup]
	var key [1]string
	group := func(name string) *fileGroup {
		key[0] = name
		return table.of(key[:], func(keys []string) *fileGroup { return &fileGroup{row: FileRow{Type: "file", Path: keys[0]}} })
	}
	var last *auditFile // of the touches so far, and its outline
	var outline *index.Outline
	var unread error
	touch := func(f *auditFile, name string, ms, offset int64) TouchRow {
		if f != last && unread == nil {
			last = f
			outline, unread = r.Outline(f.File, nil)
		}
		return TouchRow{
			Type: "touch", Path: name, Timestamp: session.Time{Time: f.timeOf(ms)}, SessionPath: f.Path, SessionID: f.ID, SessionName: x.shown(f.Name), CWD: f.CWD,
			EntryID: entryID(outline, offset), Offset: offset,
		}
	}
	var summaries claims
	summary := func(f *auditFile, p *index.Piece) error {
		for i := range p.Touches {
			s := &p.Touches[i]
			first := summaries.first(s.Copy, p.File, s.Offset)
			if !f.wanted || !x.inTime(f, s.Time) || !first || len(req.Tools) > 0 || req.Failed || req.Error {
				continue
			}
			if ok, err := x.onBranch(f, s.Offset); err != nil {
				return err
			} else if !ok {
				continue
			}
			name := audit.Resolve(s.Path, f.CWD)
			if !history {
				g := group(name)
				g.add(f, s.Time)
				g.row.Summaries++
			} else if isFile(name, want) {
				row := touch(f, name, s.Time, s.Offset)
				row.Action, row.Status = "read", "summary"
				if s.Write {
					row.Action = "edit"
				}
				t.Touches = append(t.Touches, row)
			}
		}
		return nil
	}
	call := func(f *auditFile, _ int, c *session.CallFact) {
		if c.Kind == session.CallMissing {
			return
		}
		action := audit.Action(c.Tool)
		for i, named := range c.Paths {
			if slices.Contains(c.Paths[:i], named) {
				continue // several edits of one file are one touch
			}
			name := audit.Resolve(named, f.CWD)
			if history {
				if isFile(name, want) {
					row := touch(f, name, c.Time, c.Offset)
					row.Action, row.Tool, row.Status = action, c.Tool, x.row(f, c).Status
					t.Touches = append(t.Touches, row)
				}
				continue
			}
			g := group(name)
			g.add(f, c.Time)
			switch action {
			case "read":
				g.row.Reads++
			case "write":
				g.row.Writes++
			case "edit":
				g.row.Edits++
			default:
				g.row.Others++
			}
			if c.Failed {
				g.row.Failed++
			}
		}
	}
	err = x.eachPiece(func(f *auditFile, p *index.Piece) error {
		if err := summary(f, p); err != nil {
			return err
		}
		return x.callsOf(f, p, call)
	})
	if err = errors.Join(err, unread); err != nil {
		return nil, err
	}
	for _, g := range table.rows {
		g.row.Sessions = g.files.n
		g.row.First, g.row.Last = session.Time{Time: time.UnixMilli(g.first).UTC()}, session.Time{Time: time.UnixMilli(g.last).UTC()}
		t.Rows = append(t.Rows, g.row)
	}
	slices.SortFunc(t.Rows, func(a, b FileRow) int {
		times := func(r FileRow) int { return r.Reads + r.Writes + r.Edits + r.Others + r.Summaries }
		return cmp.Or(cmp.Compare(times(b), times(a)), cmp.Compare(a.Path, b.Path))
	})
	slices.SortStableFunc(t.Touches, func(a, b TouchRow) int {
		return cmp.Or(b.Timestamp.Compare(a.Timestamp.Time), cmp.Compare(a.SessionPath, b.SessionPath), cmp.Compare(b.Offset, a.Offset))
	})
	t.Coverage, t.Warnings, t.Index = x.cover, x.warnings, StateOf(x.r)
	return t, nil
}

// isFile reports whether a path is the one that is wanted.
func isFile(name, want string) bool {
	if strings.HasPrefix(want, "/") || len(want) > 1 && want[1] == ':' {
		return name == want || strings.HasPrefix(name, strings.TrimSuffix(want, "/")+"/")
	}
	return name == want || strings.HasSuffix(name, "/"+want) || strings.Contains("/"+name+"/", "/"+want+"/")
}
