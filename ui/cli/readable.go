package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/grep"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/snapshot"
)

// Editors open the lines that grep --vimgrep names. Since a line of a session file is JSON,
// With --vimgrep, grep names the lines of a copy in the directory for temporary files. The copy has the text
// of each part, below a line that says what it is. It has the same name each time, and only
// its owner can read it.

// readable writes such copies.
type readable struct {
	x      *snapshot.Snapshot
	redact bool

	session string // the last one that was copied
	path    string // of its copy
	first   map[partOf]int
}

// partOf names a part of a session file. A readable maps it to the line before its text.
type partOf struct {
	offset int64
	part   int
}

// matches returns a visitor that passes each match on as lines of the copy of its session.
func (r *readable) matches(ctx context.Context, visit func(*grep.Match) error) func(*grep.Match) error {
	return func(m *grep.Match) error {
		if m.SessionPath != r.session {
			if err := r.copy(ctx, m.SessionPath); err != nil {
				return err
			}
		}
		before, ok := r.first[partOf{m.Offset, m.Part}]
		if !ok { // it was written after the copy
			return nil
		}
		for _, l := range m.Lines {
			line := *m
			line.SessionPath, line.Line, line.Lines = r.path, before+l.Number, []grep.Line{l}
			if err := visit(&line); err != nil {
				return err
			}
		}
		return nil
	}
}

// copy writes the copy of a session.
func (r *readable) copy(ctx context.Context, path string) error {
	t, err := conversation.Open(r.x, path, "")
	if err != nil {
		return err
	}
	defer t.Close()
	t.Redact = r.redact
	r.session, r.first = path, make(map[partOf]int)
	r.path = filepath.Join(r.x.App.TempDir, "pigrep-"+exportName("", session.Handle(t.Record.ID, path))+".txt")
	out, err := findOwnFile(r.path, true)
	if err != nil {
		return err
	}
	all := make([]int, len(t.Record.Nodes))
	for i := range all {
		all[i] = i
	}
	entries := conversation.ReadEntries(ctx, t, all, nil)
	return writeExport(ctx, out, func(w io.Writer) error {
		lines := 0
		for e, err := range entries.All {
			if err == nil {
				err = r.write(w, e, &lines)
			}
			if err != nil {
				return conversation.ReadProblem(ctx, err)
			}
		}
		return nil
	})
}

// write writes the parts of an entry, and counts their lines.
func (r *readable) write(w io.Writer, e *entry.Entry, lines *int) error {
	for i := range e.Parts {
		p := &e.Parts[i]
		text := p.Text
		if _, err := fmt.Fprintf(w, "── %s %s %s\n%s\n\n", p.Kind, e.ID, e.Time.Format(time.RFC3339), text); err != nil {
			return err
		}
		r.first[partOf{e.Offset, i}] = *lines + 1
		*lines += 3 + bytes.Count(text, []byte("\n"))
	}
	return nil
}
