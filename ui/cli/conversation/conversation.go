// Package conversation finds the session that the user named, reads it, and plans the command
// that resumes it.
package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/content"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
	"pigrep/ui/show"
)

// Error codes for names that match nothing, or several things, and for a session that its agent
// cannot resume.
const (
	CodeNotFound     = "not-found"
	CodeAmbiguous    = "ambiguous"
	codeCannotResume = "cannot-resume"
)

// Nearest begins the hint that names the ids which are most similar to a mistyped one.
const Nearest = "nearest: "

const (
	MaxCandidates = 10          // of an error
	maxForks      = 20          // of a session
	justNow       = time.Minute // the age below which a session may still be open elsewhere
)

// Target is a session that the user named, open for reading.
type Target struct {
	*entry.Conversation
	Agents  *adapter.Registry
	Lineage *sessions.Lineage // of the indexed sessions
	Index   int               // of the session in the lineage, -1 if it is not indexed
	Names   *sessions.Naming
	Entry   int // named with the session, -1 for none
	File    entry.File
	Missing string // the session that its history begins in, if that is missing; "" for none
}

func (t *Target) Close() error {
	t.Release()
	return t.File.Close()
}

// Find finds the session named by arg: SESSION or SESSION:ENTRY, where SESSION is a path, an
// id, the start or end of one, or Last. An entry id alone is enough if only one session has it.
func Find(x *snapshot.Snapshot, arg string) (*Target, error) {
	arg = content.Logical(arg)
	name, entry := sessions.SplitTarget(arg)
	if name = content.Logical(name); session.IsPath(arg) && location.IsFile(x.App.Absolute(arg)) {
		name, entry = arg, ""
	}
	if _, there := x.Reader.Table().Find(name); there && x.Elsewhere != nil { // HOST:PATH
		return Open(x, name, entry)
	}
	if session.IsPath(name) {
		return Open(x, asPrinted(x, x.App.Absolute(name)), entry)
	}
	if n := nthLast(name); n >= 0 {
		s, err := latest(x, n)
		if err != nil {
			return nil, err
		}
		return Open(x, s.Path, entry)
	}
	if name == "" && entry != "" {
		return nil, &problem.Error{Code: CodeNotFound, Message: "no session for the entry " + entry,
			Hint: "many sessions may have it; name the one of the hit: pigrep show SESSION:" + entry}
	}
	typed := name
	s, entry, err := sessions.FindPlace(x.Reader, name, entry)
	if err != nil {
		return nil, Problem(x, err)
	}
	if others := sessions.Namesakes(x.Reader, s, typed); len(others) > 0 {
		x.App.Advise("", "other sessions have the id %s too: %s; this is the latest one", typed, strings.Join(others[:min(len(others), MaxCandidates)], ", "))
	}
	return Open(x, s.Path, entry)
}

// asPrinted returns the path of the session whose path is printed like this one: text has no
// tabs, newlines and other control characters. Without such a session it returns the path.
func asPrinted(x *snapshot.Snapshot, path string) string {
	if location.IsFile(path) {
		return path
	}
	for i := range x.Reader.Summaries() {
		if s := &x.Reader.Summaries()[i]; s.Path != path && terminal.Clean(s.Path) == path {
			return s.Path
		}
	}
	return path
}

// nthLast returns N for last~N, 0 for last, and -1 for any other name.
func nthLast(name string) int {
	before, is := strings.CutPrefix(name, sessions.Last)
	if is && before == "" {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimPrefix(before, "~"))
	if !is || err != nil || before[0] != '~' || n < 0 {
		return -1
	}
	return n
}

// latest returns the session after the n latest ones of the working directory and the directories
// below it or, if they have none, of all. Sessions have the same order as for resume --last.
func latest(x *snapshot.Snapshot, n int) (*session.Summary, error) {
	here, lineage := (&filter.Spec{CWD: x.App.WorkDir}).Compile(), sessions.NewLineage(x.Reader)
	var list, all []*session.Summary
	for i := range x.Reader.Summaries() {
		s := &x.Reader.Summaries()[i]
		if !s.IsSession() || !lineage.Listed(i) {
			continue
		}
		if all = append(all, s); here.Session(s) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		list = all
	}
	if n >= len(list) {
		return nil, &problem.Error{Code: CodeNotFound, Message: fmt.Sprintf("no session %s~%d: there are %d", sessions.Last, n, len(list)), Hint: "`pigrep sessions` lists all sessions"}
	}
	slices.SortFunc(list, func(a, b *session.Summary) int {
		return cmp.Or(b.Modified().Compare(a.Modified()), strings.Compare(a.Path, b.Path))
	})
	return list[n], nil
}

// Open opens a session file with its session record, from the index or, if the
// file is not indexed, read from the file.
func Open(x *snapshot.Snapshot, path, entryID string) (_ *Target, err error) {
	t := &Target{Agents: x.Agents, Lineage: sessions.NewLineage(x.Reader), Index: -1, Entry: -1, Names: sessions.NamesOf(x.Reader)}
	file, err := x.Source().Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && t.Lineage.IndexOf(path) >= 0 {
			return nil, &problem.Error{Code: CodeNotFound, Message: path + " was deleted after it was indexed",
				Hint: "`pigrep sessions` lists the remaining sessions"}
		}
		p := &problem.Error{Code: CodeNotFound, Message: "cannot read the session", Err: err, Hint: "`pigrep sessions` lists all sessions"}
		if errors.Is(err, fs.ErrPermission) {
			p.Code, p.Hint = problem.CodeIO, "check its permissions"
		}
		return nil, p
	}
	t.File = file
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	var rec *session.Record
	if t.Index = t.Lineage.IndexOf(path); t.Index < 0 {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			t.Index = t.Lineage.IndexOf(real)
		}
	}
	if t.Index >= 0 {
		if rec, err = x.Reader.Record(x.Reader.Summaries()[t.Index].File); err != nil {
			return nil, problem.OfIndex(err)
		}
	}
	if rec == nil || file.Size() < rec.Checkpoint.Offset {
		rec, err = entry.ReadRecord(x.Agents, path, io.NewSectionReader(file, 0, file.Size()), file.ModTime())
		if err != nil {
			return nil, &problem.Error{Code: problem.CodeIO, Message: "cannot read the session", Err: err}
		}
		snapshot.WarnUnusable(x.App, indexer.LeftOutOf(rec, adapter.MaxLine(x.Agents)), nil)
	}
	t.Conversation = entry.NewConversation(x.Agents, rec, file)
	if t.Index >= 0 {
		var files []*session.Record
		if files, t.Missing, err = sessions.History(x.Reader, x.Source(), rec); err != nil {
			return nil, problem.OfIndex(err)
		}
		t.Join(x.Source(), files)
		rec = t.Record
	}
	if t.Index >= 0 {
		t.Short = entry.NewNaming(x.Reader).Of(t.Record.Path)
		t.Started(t.Lineage.Started(t.Index), t.Names.Name)
	}
	if entryID != "" {
		if t.Entry, err = sessions.FindEntry(rec, t.Tree, entryID); err != nil {
			if several, ok := errors.AsType[*sessions.AmbiguousError](err); ok {
				several.Entries = lists.Map(several.Entries, func(id string) string { return t.typed() + ":" + id })
			}
			return nil, Problem(x, err)
		}
	}
	return t, nil
}

// Named returns the name of entry i.
func (t *Target) Named(i int) session.EntryName {
	id := t.Record.Nodes[i].ID
	return session.NewEntryName(id, t.Short(id))
}

// OneSession checks the arguments of a command for a single session.
func OneSession(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	if len(args) == 0 {
		return problem.Usagef("`pigrep sessions` lists all sessions", "%s takes one session: a path, an id, or the start of an id", cmd.Name())
	}
	hint := "to search for these words: " + problem.SearchFor(append([]string{cmd.Name()}, args...))
	if len(args) == 2 && cmd.Name() != "export" && strings.ContainsAny(args[0], "0123456789") {
		hint = fmt.Sprintf("for an entry of that session: %s %s:%s", cmd.CommandPath(), args[0], args[1])
	}
	return problem.Usagef(hint, "%s takes one argument, but got %q and %q", cmd.Name(), args[0], args[1])
}

// Problem adds hints to the error for a name that matches nothing, or several
// things.
func Problem(x *snapshot.Snapshot, err error) error {
	if e, ok := errors.AsType[*sessions.NotFoundError](err); ok {
		hint := "`pigrep sessions` lists all sessions; to search for the word: pigrep " + e.Name
		if e.What == "entry" {
			hint = "`pigrep show SESSION --tree` lists the entries"
		}
		if len(e.Nearest) > 0 {
			hint = Nearest + strings.Join(e.Nearest, ", ")
		}
		return &problem.Error{Code: CodeNotFound, Message: e.Error(), Hint: hint}
	}
	e, ok := errors.AsType[*sessions.AmbiguousError](err)
	if !ok {
		return problem.OfIndex(err)
	}
	name := sessions.NamesOf(x.Reader).Name
	lines, entries := Candidates(x, e.Sessions), entry.NewNaming(x.Reader)
	places := lists.Map(e.Locations, func(p sessions.EntryLocation) printer.Candidate {
		return printer.Candidate{Typed: name(p.Session.ID, p.Session.Path) + ":" + entries.Short(p.Session.Path, p.EntryID), Session: p.Session}
	})
	lines = append(lines, printer.Candidates(places, MaxCandidates, x.App.Now())...)
	if len(e.Entries) > 0 {
		lines = append(lines, terminal.Clean(strings.Join(e.Entries[:min(len(e.Entries), MaxCandidates)], ", ")))
	}
	return &problem.Error{Code: CodeAmbiguous, Message: e.Error(), Hint: "use one of these", Candidates: lines}
}

// Candidates lists sessions that a name or a query may refer to, each with its name for
// the command line.
func Candidates(x *snapshot.Snapshot, list []*session.Summary) []string {
	name := sessions.NamesOf(x.Reader).Name
	found := lists.Map(list, func(s *session.Summary) printer.Candidate {
		return printer.Candidate{Typed: name(s.ID, s.Path), Session: s}
	})
	return printer.Candidates(found, MaxCandidates, x.App.Now())
}

// Entries is a sequence of entries, read lazily.
type Entries struct {
	All      iter.Seq2[*entry.Entry, error]
	Filtered bool // a filter applies
	passed   int  // entries that passed the filters so far
}

// ReadEntries reads the entries of the list that pass the filter, and folds steps, as
// entry.Conversation.Entries does.
func ReadEntries(ctx context.Context, t *Target, list []int, pass func(*entry.Entry) bool, shows entry.Unfolded) *Entries {
	c := &Entries{Filtered: pass != nil}
	c.All = func(yield func(*entry.Entry, error) bool) {
		for e, err := range UntilDone(ctx, t.Entries(list, c.Count(pass), shows)) {
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
	return c
}

// Count returns a filter that counts what it passes; nil for nil.
func (c *Entries) Count(pass func(*entry.Entry) bool) func(*entry.Entry) bool {
	if pass == nil {
		return nil
	}
	return func(e *entry.Entry) bool {
		ok := pass(e)
		if ok {
			c.passed++
		}
		return ok
	}
}

// End returns the error of the command. err comes from printing the entries.
func (c *Entries) End(ctx context.Context, a *app.App, err error) error {
	if err == nil && c.Filtered && c.passed == 0 {
		a.Explain("", "no entry passes the filters; --branch any includes all branches")
		return problem.ErrNothingFound
	}
	return ReadProblem(ctx, err)
}

// UntilDone ends a sequence with the error of the context when that is done.
func UntilDone[T any](ctx context.Context, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// ReadHeader returns the header line of the session.
func ReadHeader(t *Target) ([]byte, error) {
	end := t.Record.Checkpoint.Offset + t.Record.TailBytes
	if own := t.Record.Nodes[t.Record.Inherited:]; len(own) > 0 {
		if first := own[0].Offset; first > t.Record.Header.Offset {
			end = first
		}
	} else if t.Record.Checkpoint.Length > 0 {
		end = t.Record.Checkpoint.Length
	}
	return t.Header(end)
}

// ReadProblem adds hints to an error of reading a session file.
func ReadProblem(ctx context.Context, err error) error {
	switch {
	case err == nil, system.IsClosedPipe(err):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, entry.ErrChanged):
		return &problem.Error{Code: problem.CodeIO, Message: err.Error(), Hint: "run it again; without --no-update the index is updated first"}
	}
	return err
}

// Facts returns the header of a conversation: the session and its relatives.
func (t *Target) Facts(ctx context.Context, x *snapshot.Snapshot) (f show.SessionFacts, err error) {
	rec := t.Record
	if t.Redact {
		defer redact.Strings(&f)
	}
	f = show.SessionFacts{
		SessionHit: search.Describe(&rec.Summary, x.ResumeCommand),
		Version:    rec.Version, Entries: len(rec.Nodes), Skipped: rec.Skipped,
	}
	if t.Index >= 0 {
		whole := t.Lineage.Whole(t.Index)
		f.SessionHit = search.Describe(whole, x.ResumeCommand)
		costs, err := audit.Costs(ctx, x.Reader, []*session.Summary{whole})
		if err != nil {
			return f, err
		}
		f.Spent = costs[whole.Path]
	}
	f.Missing, f.Label = t.Missing, x.Agents.Agent(rec.Agent).Label()
	f.ShortID = t.Names.Name(rec.ID, rec.Path)
	if f.Begun = f.Created.Time; !rec.Oldest.IsZero() && rec.Oldest.Before(f.Begun) {
		f.Begun = rec.Oldest
	}
	_, f.Abandoned = t.Count()
	if t.Redact {
		f.Redact()
	}
	err = t.addRelatives(ctx, x.Reader, &f)
	return f, err
}

func (t *Target) addRelatives(ctx context.Context, r *index.Reader, f *show.SessionFacts) error {
	var own, parent *session.Summary
	if t.Index >= 0 {
		own, parent = &r.Summaries()[t.Index], t.Lineage.Parent(t.Index)
	}
	named := t.Record.ParentSession
	switch {
	case t.Record.Relation == session.Reverted:
	case parent != nil:
		p := t.relative(parent)
		var err error
		if p.Shared, err = shared(ctx, r, own, parent); err != nil {
			return err
		}
		if parent.Path != named && session.IsPath(named) && !location.IsFile(named) {
			p.State = "moved"
		}
		f.Parent = &p
	case named != "":
		f.Parent = &show.Relative{SessionPath: named}
		if !location.IsFile(named) {
			f.Parent.State = "missing"
		}
	}
	if own == nil {
		return nil
	}
	forks := t.Lineage.Forks(t.Index)
	f.Forks = len(forks)
	for _, s := range forks[:min(len(forks), maxForks)] {
		fork := t.relative(s)
		var err error
		if fork.Shared, err = shared(ctx, r, s, own); err != nil {
			return err
		}
		f.Children = append(f.Children, fork)
	}
	for _, s := range t.Lineage.Started(t.Index) {
		if f.Started++; f.Started <= maxForks {
			f.Subagents = append(f.Subagents, t.relative(s))
		}
	}
	f.Twins = r.Chains().SameID(own.Path)
	f.Files = r.Chains().Twins(own.Path)
	f.Namesakes = lists.Map(r.Chains().Namesakes(own.Path), func(path string) string { return t.Names.Name(own.ID, path) })
	return nil
}

func (t *Target) relative(s *session.Summary) show.Relative {
	s = t.Lineage.Whole(t.Lineage.IndexOf(s.Path))
	r := show.Relative{
		SessionPath: s.Path, SessionID: s.ID, ShortID: t.Names.Short(s.ID, s.Path),
		Title: s.Title(), Created: session.Time{Time: s.Created()},
	}
	if t.Redact {
		r.Title = redact.Beginning(r.Title) // it may have been cut
	}
	return r
}

// shared counts the entries that a fork shares with its parent.
func shared(ctx context.Context, r *index.Reader, fork, parent *session.Summary) (int, error) {
	records := [2]*session.Record{}
	for i, s := range []*session.Summary{fork, parent} {
		var err error
		if records[i], err = r.Record(s.File); err != nil || records[i] == nil {
			return 0, err
		}
	}
	return sessions.Shared(records[0], sessions.Marks(records[1])), ctx.Err()
}

// Manner is how a session is resumed.
type Manner struct {
	Exec     bool
	Fork     bool
	In       string
	Restored bool // see adapter.ResumeRequest
}

// Plan builds the command and checks that it will work. It returns the
// command with a DirectoryGoneError too, so that it can be changed.
func (o *Manner) Plan(a *app.App, t *Target) (*show.Resume, error) {
	rec := t.Record
	r := &show.Resume{Session: show.SessionFacts{
		SessionHit: search.Describe(&rec.Summary, t.Agents.ResumeCommand), Version: rec.Version, Entries: len(rec.Nodes), Skipped: rec.Skipped,
	}}
	head := make([]byte, adapter.HeadLength)
	if n, err := t.File.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, &problem.Error{Code: problem.CodeIO, Message: "cannot read the session", Err: err}
	} else {
		head = head[:n]
	}
	if rec.Kept {
		return nil, &problem.Error{Code: codeCannotResume, Message: rec.Path + " is gone, and this is a copy that was kept",
			Hint: "put it back: pigrep keep --restore " + t.typed()}
	}
	file, here := t.File.(*content.File)
	if host, path, _ := remote.Split(rec.Path); !here {
		return nil, &problem.Error{Code: codeCannotResume, Message: path + " is on " + host, Hint: "there: pigrep resume " + shellcmd.Quote(cmp.Or(human.When(session.IsTypable(rec.ID), t.Names.ShortID(rec.ID)), path))}
	}
	r.Fork = o.Fork || o.In != ""
	ask := func(fork bool, dir string) (*adapter.Resumption, error) {
		how, err := t.Agents.Resume(&adapter.ResumeRequest{Record: rec, Root: t.root(), Head: head, Fork: fork, Dir: dir, Packed: file.Packed() && file.Virtual() == nil, Restored: o.Restored})
		if obstacle, ok := errors.AsType[*adapter.Obstacle](err); ok {
			err = &problem.Error{Code: codeCannotResume, Message: obstacle.Program + " cannot resume " + rec.Path + ": " + obstacle.Reason, Reason: obstacle.Reason,
				Hint: cmp.Or(obstacle.Hint, "`pigrep show` and `pigrep export` can still read it")}
		}
		return how, err
	}
	how, err := ask(r.Fork, o.dir(a))
	if err != nil {
		return nil, err
	}
	how, gone := o.chooseDir(a, t, r, how, ask)
	if gone != nil && r.Dir == "" {
		return nil, gone
	}
	r.Argv = how.Argv
	if _, err := a.LookPath(r.Argv[0]); err != nil {
		if o.Exec {
			return nil, &problem.Error{Code: codeCannotResume, Message: r.Argv[0] + " is not on your PATH", Hint: how.Install}
		}
		r.Warnings = append(r.Warnings, r.Argv[0]+" is not on your PATH")
	}
	if how.BeforeFork != "" && CheckDir(cmp.Or(how.Dir, rec.CWD)) == nil {
		how.Warnings = append(how.Warnings, how.BeforeFork)
	}
	warnings, err := o.warnings(a, t, r, how)
	r.Warnings = slices.Concat(r.Warnings, how.Warnings, warnings)
	r.Command = shellcmd.Here.Command(r.Dir, r.Argv)
	if _, missing := errors.AsType[*missingDirError](gone); missing {
		r.Command = shellcmd.Here.Remake(r.Dir, r.Argv)
	} else if gone != nil {
		return nil, gone // no command works
	}
	return r, cmp.Or(err, gone)
}

// root returns the session that a subagent works for in the end; nil for others, or if it is
// not indexed.
func (t *Target) root() *session.Summary {
	if t.Index < 0 || t.Record.Relation != session.Spawned {
		return nil
	}
	root := t.Lineage.Root(t.Index)
	if s := t.Lineage.Session(root); root != t.Index && s.Relation != session.Spawned {
		return s
	}
	return nil
}

// chooseDir sets the directory to run the agent in. It returns how the session continues
// there, which ask asks the agent for another directory than the session's own.
func (o *Manner) chooseDir(a *app.App, t *Target, r *show.Resume, how *adapter.Resumption, ask func(fork bool, dir string) (*adapter.Resumption, error)) (*adapter.Resumption, error) {
	rec := t.Record
	if dir := o.dir(a); dir != "" {
		if err := CheckDir(dir); err != nil {
			return nil, &problem.Error{Code: codeCannotResume, Message: "--in", Err: err, Hint: "name the directory the project has moved to"}
		}
		r.Dir = dir
		return how, nil
	}
	own := cmp.Or(how.Dir, rec.CWD)
	err := CheckDir(own)
	switch {
	case err == nil:
		r.Dir = own
		return how, nil
	case own == "": // old sessions have no directory; the agent runs in the current one
		return how, nil
	}
	here, cannot := ask(true, a.WorkDir)
	if r.Fork { // which belongs to the directory where it is created
		r.Warnings = append(r.Warnings, "the session's directory no longer exists ("+own+"): the fork is created in the current directory")
		return here, cannot
	}
	name := t.typed()
	r.Dir = own
	again := "pigrep resume " + name
	gone := &DirectoryGoneError{program: how.Argv[0], err: err}
	hint := "to fork it in the current directory: " + again + " --fork --exec; if the project has moved: " + again + " --in DIR --exec"
	if p, ok := errors.AsType[*problem.Error](cannot); ok {
		hint, gone.Bound = p.Hint, true
	}
	return how, &problem.Error{Code: codeCannotResume, Message: fmt.Sprintf("%s (%s)", name, terminal.Clip(human.Title(rec.Title()), 50)), Err: gone, Hint: hint, Reason: gone.Error()}
}

// typed returns the session as people name it on a command line: by its short id if it has one of
// its own that can be typed, else by its path.
func (t *Target) typed() string {
	name := t.Record.Path
	if t.Index >= 0 {
		name = t.Names.Name(t.Record.ID, name)
	}
	return shellcmd.Here.Quote(name)
}

// dir returns the other directory to continue in, "" for the session's own.
func (o *Manner) dir(a *app.App) string {
	if o.In == "" {
		return ""
	}
	return a.Absolute(o.In)
}

// DirectoryGoneError means that the directory of a session does not exist any more.
type DirectoryGoneError struct {
	Bound   bool // the agent continues the session nowhere else
	program string
	err     error
}

func (e *DirectoryGoneError) Error() string {
	if gone, ok := errors.AsType[*missingDirError](e.err); ok {
		return "the session's directory no longer exists: " + gone.dir
	}
	return e.program + " cannot start in the session's directory: " + e.err.Error()
}

func (e *DirectoryGoneError) Unwrap() error { return e.err }

// missingDirError means that a directory does not exist.
type missingDirError struct{ dir string }

func (e *missingDirError) Error() string { return e.dir + " does not exist" }

func CheckDir(dir string) error {
	if dir == "" {
		return errors.New("the session names no directory")
	}
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s is not a directory on this machine", dir)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &missingDirError{dir}
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}

// warnings lists surprises in resuming the session.
func (o *Manner) warnings(a *app.App, t *Target, r *show.Resume, how *adapter.Resumption) ([]string, error) {
	var list []string
	rec := t.Record
	agent := t.Agents.Agent(rec.Agent).Label()
	if age := a.Now().Sub(t.File.ModTime()); age < justNow && !r.Fork {
		list = append(list, "it was written to in the last minute: if another "+agent+" has it open, both will write to the same file")
	}
	if t.Entry >= 0 {
		n := &rec.Nodes[t.Entry]
		switch {
		case !t.Tree.Active(t.Entry):
			text := fmt.Sprintf("entry %s is on an abandoned branch: %s continues at the last entry", t.Short(n.ID), agent)
			if how.Branches != "" {
				text += "; " + how.Branches
			}
			list = append(list, text)
		case !t.Tree.InContext(t.Entry):
			list = append(list, fmt.Sprintf("entry %s is no longer in context (compacted): it is in the file, but %s does not restore it for the model", t.Short(n.ID), agent))
		}
		r.EntryName, r.Branch, r.InContext = t.Named(t.Entry), entry.BranchOf(t.Tree, t.Entry), new(t.Tree.InContext(t.Entry))
	}
	open, err := t.OpenCalls()
	if err != nil {
		return nil, ReadProblem(context.Background(), err)
	}
	if n := len(open); n > 0 {
		list = append(list, fmt.Sprintf("its last turn was cut off: %d tool calls have no result (%s)", n, strings.Join(open, ", ")))
	}
	if o.In != "" && !o.Fork {
		list = append(list, agent+" will fork the session there; the original is unchanged")
	}
	return list, nil
}
