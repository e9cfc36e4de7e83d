package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query"
	"pigrep/scope"
)

// jsonEnvelope prints one object for each answer.
type jsonEnvelope struct{ w io.Writer }

// jsonLines prints one object a line, each with a type, the summary last.
type jsonLines struct{ w io.Writer }

func encode(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeHidden(b.Bytes()))
	return err
}

// escapeHidden escapes what the encoder leaves as it is and a terminal may act
// on. Such characters stand in strings only, and mean the same when escaped.
func escapeHidden(data []byte) []byte {
	plain := true
	for _, c := range data {
		if c < ' ' && c != '\n' || c > '~' {
			plain = false
			break
		}
	}
	if plain {
		return data
	}
	hidden := func(r rune) bool { return r != '\n' && terminal.Hidden(r) }
	if !bytes.ContainsFunc(data, hidden) {
		return data
	}
	escaped := make([]byte, 0, len(data)+64)
	for _, r := range string(data) {
		if hidden(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = utf8.AppendRune(escaped, r)
		}
	}
	return escaped
}

// head begins every envelope, and with a type every summary.
type head struct {
	Type          string `json:"type,omitempty"`
	SchemaVersion int    `json:"schemaVersion"`
	Command       string `json:"command"`
}

func envelope(command string) head { return head{SchemaVersion: SchemaVersion, Command: command} }
func summary(command string) head  { return head{"summary", SchemaVersion, command} }

// searchHead and searchTail are what stands around the hits of a search.
type searchHead struct {
	head
	Query string `json:"query"`
	Scope string `json:"scope,omitempty"`
}

type searchTail struct {
	Total        int              `json:"total"`
	TotalAny     int              `json:"totalAny"`
	TotalIsExact bool             `json:"totalIsExact"`
	Warnings     []string         `json:"warnings"`
	DidYouMean   string           `json:"didYouMean,omitempty"`
	Removed      []query.Removed  `json:"removed,omitempty"`
	Index        query.IndexState `json:"index"`
}

func newSearchTail(r *query.Response) searchTail {
	return searchTail{r.Total, r.TotalAny, r.TotalIsExact, list(r.Warnings), r.DidYouMean, r.Removed, r.Index}
}

// list is s, [] instead of null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (p jsonEnvelope) Search(s *Search) error {
	var sessions []query.SessionHit // absent from a flat list
	if !s.Flat {
		sessions = list(s.Response.Sessions)
	}
	return encode(p.w, struct {
		searchHead
		Hits     []query.Hit        `json:"hits"`
		Sessions []query.SessionHit `json:"sessions,omitzero"`
		searchTail
	}{searchHead{envelope("search"), s.Query, s.Scope}, list(s.Response.Hits), sessions, newSearchTail(s.Response)})
}

func (p jsonLines) Search(s *Search) error {
	if err := lines(p.w, s.Response.Hits); err != nil {
		return err
	}
	if err := lines(p.w, s.Response.Sessions); err != nil {
		return err
	}
	return encode(p.w, struct {
		searchHead
		searchTail
	}{searchHead{summary("search"), s.Query, s.Scope}, newSearchTail(s.Response)})
}

func lines[T any](w io.Writer, list []T) error {
	for _, v := range list {
		if err := encode(w, v); err != nil {
			return err
		}
	}
	return nil
}

// typed puts a type in front of the fields of a line.
type typed struct {
	Type string `json:"type"`
}

type indexJSON struct {
	head
	DryRun  bool             `json:"dryRun"`
	Dir     string           `json:"indexDir"`
	Rebuilt string           `json:"rebuilt,omitempty"`
	Changes []ChangeCount    `json:"changes"`
	Steps   []Step           `json:"steps,omitempty"`
	Bytes   int64            `json:"bytes"`
	Entries int              `json:"entries"`
	Errors  []FileError      `json:"errors,omitempty"`
	Index   query.IndexState `json:"index"`
}

func newIndexJSON(h head, x *Index) indexJSON {
	return indexJSON{h, x.DryRun, x.Dir, x.Rebuilt, list(x.Changes), x.Steps, x.Bytes, x.Entries, x.Errors, x.State}
}

func (p jsonEnvelope) Index(x *Index) error {
	return encode(p.w, newIndexJSON(envelope("index"), x))
}

func (p jsonLines) Index(x *Index) error {
	for _, s := range x.Steps {
		if err := encode(p.w, struct {
			typed
			Step
		}{typed{"step"}, s}); err != nil {
			return err
		}
	}
	last := newIndexJSON(summary("index"), x)
	last.Steps = nil
	return encode(p.w, last)
}

// process is somebody at work; without a pid when that is not known.
type process struct {
	PID int `json:"pid,omitempty"`
}

type statusJSON struct {
	head
	Dir       string           `json:"indexDir"`
	Built     bool             `json:"built"`
	Damage    string           `json:"damage,omitempty"`
	Roots     []Root           `json:"roots"`
	Changes   []ChangeCount    `json:"files"`
	Sessions  int              `json:"sessions"`
	Entries   int              `json:"entries"`
	Documents int              `json:"documents"`
	Kinds     []KindCount      `json:"kinds,omitempty"`
	Indexed   int64            `json:"indexedBytes"`
	Size      int64            `json:"sizeBytes"`
	Newest    session.Time     `json:"newest,omitzero"`
	Updated   session.Time     `json:"updated,omitzero"`
	Kept      int              `json:"generations"`
	Writer    *process         `json:"writer,omitempty"`
	Watcher   *Watcher         `json:"watcher,omitempty"`
	Skipped   []Skipped        `json:"skipped,omitempty"`
	Errors    []FileError      `json:"errors,omitempty"`
	Index     query.IndexState `json:"index"`
}

func newStatusJSON(h head, s *Status) statusJSON {
	var writer *process
	if s.Writer != 0 {
		writer = &process{max(0, s.Writer)}
	}
	return statusJSON{
		h, s.Dir, s.Built, s.Damage, list(s.Roots), list(s.Changes), s.Sessions, s.Entries, s.Documents, s.Kinds,
		s.Indexed, s.Size, s.Newest, s.Updated, s.Kept, writer, s.Watcher, s.Skipped, s.Errors, s.State,
	}
}

// StatusJSON returns what a status is in JSON.
func StatusJSON(s *Status) any { return newStatusJSON(envelope("status"), s) }

func (p jsonEnvelope) Status(s *Status) error {
	return encode(p.w, StatusJSON(s))
}

func (p jsonLines) Status(s *Status) error {
	for _, r := range s.Roots {
		if err := encode(p.w, struct {
			typed
			Root
		}{typed{"root"}, r}); err != nil {
			return err
		}
	}
	for _, k := range s.Skipped {
		if err := encode(p.w, struct {
			typed
			Skipped
		}{typed{"skipped"}, k}); err != nil {
			return err
		}
	}
	last := newStatusJSON(summary("status"), s)
	last.Roots, last.Skipped = []Root{}, nil
	return encode(p.w, last)
}

func (p jsonEnvelope) Stores(stores []Store) error {
	return encode(p.w, struct {
		head
		Stores []Store `json:"stores"`
	}{envelope("status"), list(stores)})
}

func (p jsonLines) Stores(stores []Store) error {
	for _, s := range stores {
		if err := encode(p.w, struct {
			typed
			Store
		}{typed{"store"}, s}); err != nil {
			return err
		}
	}
	return encode(p.w, struct {
		head
		Total int `json:"total"`
	}{summary("status"), len(stores)})
}

func (p jsonEnvelope) Version(v *Version) error {
	return encode(p.w, struct {
		head
		Version
		Scopes []scope.Scope `json:"scopes"`
	}{envelope("version"), *v, scope.Scopes})
}

func (p jsonLines) Version(v *Version) error {
	return encode(p.w, struct {
		head
		Version
	}{summary("version"), *v})
}
