package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/sessions"
)

// codeNotFound is the error of a name that nothing has, codeAmbiguous that of one
// that several things have.
const (
	codeNotFound  = "not-found"
	codeAmbiguous = "ambiguous"
)

// target is a session that a person named, open for reading.
type target struct {
	*entry.Conversation
	agents  *adapter.Registry
	lineage *sessions.Lineage // of the indexed sessions
	index   int               // of the session in the lineage, -1 when it is not indexed
	shortID func(id string) string
	entry   int // that was named with it, -1 for none
	file    *os.File
}

func (t *target) Close() error { return t.file.Close() }

// findTarget finds the session that arg names: SESSION or SESSION:ENTRY, where
// SESSION is a path, an id or the beginning of one. An entry id alone will do
// where it is in one session only.
func findTarget(a *App, x *answerer, arg string) (*target, error) {
	name, entry := sessions.SplitTarget(arg)
	if sessions.IsPath(arg) && isFile(a.absolute(arg)) {
		name, entry = arg, ""
	}
	if sessions.IsPath(name) {
		return openTarget(a, x, a.absolute(name), entry)
	}
	s, err := sessions.FindSession(x.reader.Summaries(), name)
	if err == nil {
		return openTarget(a, x, s.Path, entry)
	}
	if _, ok := errors.AsType[*sessions.NotFoundError](err); !ok || entry != "" {
		return nil, targetProblem(a, x, err)
	}
	places, placesErr := sessions.FindEntries(x.reader, name)
	switch {
	case placesErr != nil:
		return nil, indexProblem(placesErr)
	case len(places) == 1:
		return openTarget(a, x, places[0].Session.Path, places[0].EntryID)
	case len(places) > 1:
		return nil, targetProblem(a, x, &sessions.AmbiguousError{What: "entry", Name: name, Locations: places})
	}
	return nil, targetProblem(a, x, err)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// openTarget opens the session file and, of its session record, the one that the
// index has or, when the file is not indexed, one made now.
func openTarget(a *App, x *answerer, path, entryID string) (*target, error) {
	t := &target{agents: x.agents, lineage: sessions.NewLineage(x.reader.Summaries()), index: -1, entry: -1, shortID: sessions.ShortIDs(x.reader.Summaries())}
	file, info, err := openSession(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && t.lineage.IndexOf(path) >= 0 {
			return nil, &problem{code: codeNotFound, message: path + " was deleted since it was indexed",
				hint: "`pigrep sessions` lists what is there"}
		}
		p := &problem{code: codeNotFound, message: "read the session", err: err, hint: "`pigrep sessions` lists the sessions there are"}
		if errors.Is(err, fs.ErrPermission) {
			p.code, p.hint = codeIO, "check its permissions"
		}
		return nil, p
	}
	t.file = file
	var rec *session.Record
	if t.index = t.lineage.IndexOf(path); t.index < 0 {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			t.index = t.lineage.IndexOf(real)
		}
	}
	if t.index >= 0 {
		rec, err = x.reader.Record(x.reader.Summaries()[t.index].File)
		if err != nil {
			file.Close()
			return nil, indexProblem(err)
		}
	}
	if rec == nil || rec.Size != info.Size() && info.Size() < rec.Checkpoint.Offset {
		rec, err = entry.ReadRecord(x.agents, path, bufio.NewReaderSize(file, 1<<20), info.ModTime())
		if err != nil {
			file.Close()
			return nil, &problem{code: codeIO, message: "read the session", err: err}
		}
	}
	t.Conversation = entry.NewConversation(x.agents, rec, file)
	if entryID != "" {
		if t.entry, err = sessions.FindEntry(rec, t.Tree, entryID); err != nil {
			file.Close()
			return nil, targetProblem(a, x, err)
		}
	}
	return t, nil
}

// openSession opens a session file for reading; nothing else than a regular file
// is one.
func openSession(path string) (*os.File, fs.FileInfo, error) {
	// Opening what has become a pipe meanwhile would wait for a writer.
	if info, err := os.Stat(path); err != nil {
		return nil, nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("read %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// oneSession checks the arguments of a command that takes one session.
func oneSession(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("`pigrep sessions` lists the sessions there are", "%s takes one session: its path, its id, or the beginning of that", cmd.Name())
	}
	return nil
}

// targetProblem explains a name that means no session or entry, or several.
func targetProblem(a *App, x *answerer, err error) error {
	short := sessions.ShortIDs(x.reader.Summaries())
	if e, ok := errors.AsType[*sessions.NotFoundError](err); ok {
		hint := "`pigrep sessions` lists the sessions, `pigrep " + e.Name + "` searches for the word"
		if e.What == "entry" {
			hint = "`pigrep show SESSION --tree` lists the entries"
		}
		if len(e.Nearest) > 0 {
			hint = "nearest: " + strings.Join(e.Nearest, ", ")
		}
		return &problem{code: codeNotFound, message: e.Error(), hint: hint}
	}
	e, ok := errors.AsType[*sessions.AmbiguousError](err)
	if !ok {
		return err
	}
	lines := a.candidates(x, e.Sessions)
	for i, p := range e.Locations {
		if i == maxCandidates {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.Locations)-i))
			break
		}
		lines = append(lines, printer.Candidate(short(p.Session.ID)+":"+p.EntryID, p.Session, a.Now()))
	}
	if len(e.Entries) > 0 {
		lines = append(lines, strings.Join(e.Entries[:min(len(e.Entries), maxCandidates)], ", "))
	}
	return &problem{code: codeAmbiguous, message: e.Error(), hint: "name one of them", candidates: lines}
}

// candidates lists sessions that a name or a query may mean, each with what to type
// for it.
func (a *App) candidates(x *answerer, list []*session.Summary) []string {
	short := sessions.ShortIDs(x.reader.Summaries())
	var lines []string
	for i, s := range list {
		if i == maxCandidates {
			return append(lines, fmt.Sprintf("and %d more", len(list)-i))
		}
		lines = append(lines, printer.Candidate(nameAmong(list, s, short), s, a.Now()))
	}
	return lines
}

// nameAmong returns what to type for one of several sessions: its id, or its path
// when another one has the same id.
func nameAmong(list []*session.Summary, s *session.Summary, short func(string) string) string {
	if s.ID == "" || slices.ContainsFunc(list, func(other *session.Summary) bool { return other != s && other.ID == s.ID }) {
		return s.Path
	}
	return short(s.ID)
}

// maxCandidates is how many meanings of a name an error lists.
const maxCandidates = 10

// facts returns what stands above a conversation.
func (t *target) facts(ctx context.Context, a *App, x *answerer) (printer.SessionFacts, error) {
	rec := t.Record
	f := printer.SessionFacts{
		SessionHit: query.Describe(&rec.Summary, x.agents.ResumeCommand),
		ShortID:    t.shortID(rec.ID), Version: rec.Version, Entries: len(rec.Nodes), Skipped: rec.Skipped,
	}
	for i := range rec.Nodes {
		if !t.Tree.Active(i) {
			f.Abandoned++
		}
	}
	if t.Redact {
		f.Redact()
	}
	if t.index < 0 {
		if rec.ParentSession != "" {
			f.Parent = &printer.Relative{SessionPath: rec.ParentSession, State: missingUnless(isFile(rec.ParentSession))}
		}
		return f, nil
	}
	relative := func(s *session.Summary) printer.Relative {
		r := printer.Relative{SessionPath: s.Path, SessionID: s.ID, Title: s.Name, Created: session.Time{Time: s.Created()}, ShortID: t.shortID(s.ID)}
		if r.Title == "" {
			r.Title = s.FirstPrompt
		}
		if t.Redact {
			r.Title = redact.Beginning(r.Title) // it may be cut
		}
		return r
	}
	shared := func(fork, parent *session.Summary) (int, error) {
		records := [2]*session.Record{}
		for i, s := range []*session.Summary{fork, parent} {
			var err error
			if records[i], err = x.reader.Record(s.File); err != nil || records[i] == nil {
				return 0, err
			}
		}
		return sessions.Shared(records[0], records[1]), ctx.Err()
	}
	own := &x.reader.Summaries()[t.index]
	switch parent := t.lineage.Parent(t.index); {
	case parent != nil:
		r := relative(parent)
		var err error
		if r.Shared, err = shared(own, parent); err != nil {
			return f, err
		}
		if parent.Path != rec.ParentSession && !isFile(rec.ParentSession) {
			r.State = "moved"
		}
		f.Parent = &r
	case rec.ParentSession != "":
		f.Parent = &printer.Relative{SessionPath: rec.ParentSession, State: missingUnless(isFile(rec.ParentSession))}
	}
	forks := t.lineage.Forks(t.index)
	f.Forks = len(forks)
	for i, s := range forks {
		if i == maxForks {
			break
		}
		r := relative(s)
		var err error
		if r.Shared, err = shared(s, own); err != nil {
			return f, err
		}
		f.Children = append(f.Children, r)
	}
	for _, s := range t.lineage.Twins(t.index) {
		f.Twins = append(f.Twins, s.Path)
	}
	return f, nil
}

// maxForks is how many forks of a session are named.
const maxForks = 20

func missingUnless(there bool) string {
	if there {
		return ""
	}
	return "missing"
}

// hitLine is what is read of a hit, or of a session, on stdin.
type hitLine struct {
	Type        string          `json:"type"`
	SessionPath string          `json:"sessionPath"`
	EntryID     string          `json:"entryId"`
	Offset      *int64          `json:"offset"`
	Hits        json.RawMessage `json:"hits"` // of an envelope; a number in a session
	Data        json.RawMessage `json:"data"` // of a message of grep
}

// namedHits are hits that were read: their sessions in order, each with its
// entries in order.
type namedHits struct {
	paths   []string
	entries map[string][]hitLine
}

func (n *namedHits) add(h *hitLine) {
	var data hitLine
	if json.Unmarshal(h.Data, &data) == nil {
		n.add(&data)
	}
	var hits []hitLine
	if json.Unmarshal(h.Hits, &hits) == nil {
		for i := range hits {
			n.add(&hits[i])
		}
	}
	if h.SessionPath == "" {
		return
	}
	if _, ok := n.entries[h.SessionPath]; !ok {
		n.paths = append(n.paths, h.SessionPath)
		n.entries[h.SessionPath] = nil
	}
	if h.EntryID != "" {
		n.entries[h.SessionPath] = append(n.entries[h.SessionPath], *h)
	}
}

// readHits reads hits as JSON, one object a line: hits, sessions, messages of
// grep or whole envelopes.
func readHits(r io.Reader) (namedHits, error) {
	found := namedHits{entries: make(map[string][]hitLine)}
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		data, readErr := in.ReadBytes('\n')
		if len(bytes.TrimSpace(data)) > 0 {
			var h hitLine
			if err := json.Unmarshal(data, &h); err != nil {
				return found, &problem{code: codeUsage, message: fmt.Sprintf("line %d of the input is no hit", n), err: err,
					hint: "give hits as JSON lines: pigrep --jsonl QUERY | pigrep show -"}
			}
			found.add(&h)
		}
		if errors.Is(readErr, io.EOF) {
			return found, nil
		}
		if readErr != nil {
			return found, fmt.Errorf("read the hits: %w", readErr)
		}
	}
}
