package printer

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"pigrep/internal/terminal"
	"pigrep/query"
)

// plain prints one record a line, for pipes.
type plain struct{ w io.Writer }

// Columns lists what the columns of Plain's records are, by command, for help
// and docs.
var Columns = []struct {
	Command string
	Columns []string
}{
	{"search", []string{"session path", "line", "entry id", "kind", "timestamp (UTC)", "working directory", "fragment"}},
	{"sessions", []string{"session path", "session id", "last message (UTC)", "messages", "working directory", "models", "labels", "parent session", "hits", "name", "first prompt"}},
	{"tools", []string{"tool", "calls", "errors", "error rate", "sessions", "p50 ms", "p95 ms", "output bytes", "last used", "without result", "result without call", "nested", "timed"}},
	{"tools calls", []string{"timestamp", "status", "exit code", "duration ms", "tool", "rules", "arguments", "project", "session id", "session path", "offset", "output bytes", "model", "kind"}},
	{"tools commands", []string{"program", "runs", "calls", "failed", "sessions", "last used"}},
	{"tools files", []string{"path", "reads", "writes", "edits", "others", "in summaries", "failed", "sessions", "first", "last"}},
	{"usage", []string{"model", "input", "output", "cache read", "cache write", "tokens", "cost", "entries", "sessions", "unusable"}},
	{"index --dry-run", []string{"change", "bytes to read", "session path", "reason"}},
	{"watch", []string{"time (UTC)", "event", "files that changed", "entries read", "bytes read", "generation", "first session path", "reason"}},
	{"config", []string{"key", "value", "source", "where"}},
	{"status --stores", []string{"name", "coverage", "there", "format", "path", "role"}},
}

// record writes the columns as one line. White space inside a column, tabs and
// newlines included, becomes one space.
func (p plain) record(columns ...string) error {
	size := len(columns)
	for i, c := range columns {
		columns[i] = terminal.Clean(c)
		size += len(columns[i])
	}
	line := make([]byte, 0, size)
	for i, c := range columns {
		if i > 0 {
			line = append(line, '\t')
		}
		line = append(line, c...)
	}
	_, err := p.w.Write(append(line, '\n'))
	return err
}

// Search prints a record for each hit, with its explanation as one more column.
// The entries around a hit have no session path and no directory, and a line
// with -- sets the hits apart then.
func (p plain) Search(s *Search) error {
	hits := s.Response.Hits
	around := slices.ContainsFunc(hits, func(h query.Hit) bool { return len(h.Before)+len(h.After) > 0 })
	for i := range hits {
		h := &hits[i]
		if around && i > 0 {
			if _, err := io.WriteString(p.w, "--\n"); err != nil {
				return err
			}
		}
		columns := []string{h.SessionPath, strconv.Itoa(h.Line), h.EntryID, string(h.Kind), stampUTC(h.Timestamp.Time), h.CWD, h.Fragment.Text}
		if h.Explain != nil {
			columns = append(columns, explanation(h))
		}
		if err := p.neighbours(h.Before); err != nil {
			return err
		}
		if err := p.record(columns...); err != nil {
			return err
		}
		if err := p.neighbours(h.After); err != nil {
			return err
		}
	}
	return nil
}

func (p plain) neighbours(list []query.Neighbour) error {
	for i := range list {
		n := &list[i]
		if err := p.record("", strconv.Itoa(n.Line), n.EntryID, string(n.Kind), stampUTC(n.Timestamp.Time), "", n.Text); err != nil {
			return err
		}
	}
	return nil
}

// stampUTC writes a time for a column, nothing when there is none.
func stampUTC(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func (p plain) Index(x *Index) error {
	if !x.DryRun {
		_, err := fmt.Fprintln(p.w, indexLine(x))
		return err
	}
	for _, s := range x.Steps {
		if err := p.record(s.Change, strconv.FormatInt(s.Bytes, 10), s.Path, s.Reason); err != nil {
			return err
		}
	}
	return nil
}

func (p plain) Status(s *Status) error {
	for _, row := range statusRows(s, "", forPrograms) {
		if err := p.record(row.name, row.value); err != nil {
			return err
		}
	}
	return nil
}

func (p plain) Stores(stores []Store) error {
	for _, s := range stores {
		if err := p.record(s.Name, s.Coverage, there(s), s.Format, s.Path, s.Role); err != nil {
			return err
		}
	}
	return nil
}

// there says whether the store exists.
func there(s Store) string {
	switch {
	case s.Exists == nil:
		return "not looked at"
	case *s.Exists:
		return "yes"
	}
	return "no"
}

func (p plain) Version(v *Version) error { return (&text{w: p.w}).Version(v) }
