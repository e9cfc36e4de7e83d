package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/internal/ui/printer"
	"pigrep/query/entry"
	"pigrep/query/sessions"
)

// Error codes for names that match nothing, or several things.
const (
	codeNotFound  = "not-found"
	codeAmbiguous = "ambiguous"
)

// target is a session that the user named, open for reading.
type target struct {
	*entry.Conversation
	agents  *adapter.Registry
	lineage *sessions.Lineage // of the indexed sessions
	index   int               // of the session in the lineage, -1 if it is not indexed
	shortID func(id string) string
	entry   int // named with the session, -1 for none
	file    *os.File
}

func (t *target) Close() error { return t.file.Close() }

// findTarget finds the session named by arg: SESSION or SESSION:ENTRY, where SESSION is
// a path, an id or the start of one. An entry id alone is enough if only one session has
// it.
func findTarget(a *App, x *snapshot, arg string) (*target, error) {
	name, entry := sessions.SplitTarget(arg)
	if sessions.IsPath(arg) && isFile(a.absolute(arg)) {
		name, entry = arg, ""
	}
	if sessions.IsPath(name) {
		return openTarget(a, x, a.absolute(name), entry)
	}
	if name == "" && entry != "" {
		return nil, &problem{code: codeNotFound, message: "no session for the entry " + entry,
			hint: "many sessions may have it; name the one of the hit: pigrep show SESSION:" + entry}
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

// openTarget opens a session file with its session record, from the index or, if the
// file is not indexed, read from the file.
func openTarget(a *App, x *snapshot, path, entryID string) (*target, error) {
	t := &target{agents: x.agents, lineage: sessions.NewLineage(x.reader.Summaries()), index: -1, entry: -1, shortID: sessions.ShortIDs(x.reader.Summaries())}
	file, info, err := openSession(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && t.lineage.IndexOf(path) >= 0 {
			return nil, &problem{code: codeNotFound, message: path + " was deleted after it was indexed",
				hint: "`pigrep sessions` lists the remaining sessions"}
		}
		p := &problem{code: codeNotFound, message: "read the session", err: err, hint: "`pigrep sessions` lists all sessions"}
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
		rec, err = entry.ReadRecord(x.agents, path, file, info.ModTime())
		if err != nil {
			file.Close()
			return nil, &problem{code: codeIO, message: "read the session", err: err}
		}
		a.warnUnusable(indexer.TooLongIn(rec, adapter.MaxLine(x.agents)))
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

// oneSession checks the arguments of a command for a single session.
func oneSession(cmd *cobra.Command, args []string) error {
	if len(args) == 2 && cmd.Name() != "export" {
		return usagef(fmt.Sprintf("for an entry of that session: %s %s:%s", cmd.CommandPath(), args[0], args[1]), "%s takes one argument, but got %q and %q", cmd.Name(), args[0], args[1])
	}
	if len(args) != 1 {
		return usagef("`pigrep sessions` lists all sessions", "%s takes one session: a path, an id, or the start of an id", cmd.Name())
	}
	return nil
}

// targetProblem adds hints to the error for a name that matches nothing, or several
// things.
func targetProblem(a *App, x *snapshot, err error) error {
	short := sessions.ShortIDs(x.reader.Summaries())
	if e, ok := errors.AsType[*sessions.NotFoundError](err); ok {
		hint := "`pigrep sessions` lists all sessions; to search for the word: pigrep " + e.Name + ""
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
	return &problem{code: codeAmbiguous, message: e.Error(), hint: "use one of these", candidates: lines}
}

// candidates lists sessions that a name or a query may refer to, each with its name for
// the command line.
func (a *App) candidates(x *snapshot, list []*session.Summary) []string {
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

// nameAmong returns the name of one of several sessions: its id, or its path if another
// one has the same id.
func nameAmong(list []*session.Summary, s *session.Summary, short func(string) string) string {
	if s.ID == "" || slices.ContainsFunc(list, func(other *session.Summary) bool { return other != s && other.ID == s.ID }) {
		return s.Path
	}
	return short(s.ID)
}

// maxCandidates is how many candidates an error lists.
const maxCandidates = 10
