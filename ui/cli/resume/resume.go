// Package resume plans the command that resumes a session, and checks that it will work.
package resume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/shell"
	"pigrep/ui/printer"
)

// Manner is how a session is resumed.
type Manner struct {
	Exec bool
	Fork bool
	In   string
}

// Plan builds the command and checks that it will work. It returns the
// command with a DirectoryGoneError too, so that it can be changed.
func (o *Manner) Plan(a *app.App, t *conversation.Target) (*printer.Resume, error) {
	rec := t.Record
	r := &printer.Resume{Session: printer.SessionFacts{
		SessionHit: search.Describe(&rec.Summary, t.Agents.ResumeCommand), Version: rec.Version, Entries: len(rec.Nodes), Skipped: rec.Skipped,
	}}
	head := make([]byte, adapter.HeadLength)
	if n, err := t.File.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, &problem.Error{Code: problem.CodeIO, Message: "cannot read the session", Err: err}
	} else {
		head = head[:n]
	}
	r.Fork = o.Fork || o.In != ""
	how, err := t.Agents.Resume(&adapter.ResumeRequest{Record: rec, Head: head, Fork: r.Fork})
	if obstacle, ok := errors.AsType[*adapter.Obstacle](err); ok {
		return nil, &problem.Error{Code: codeCannotResume, Message: obstacle.Program + " cannot resume " + rec.Path + ": " + obstacle.Reason,
			Hint: cmp.Or(obstacle.Hint, "`pigrep show` and `pigrep export` can still read it")}
	}
	if err != nil {
		return nil, err
	}
	r.Argv = how.Argv
	gone := o.chooseDir(a, t, r)
	if gone != nil && r.Dir == "" {
		return nil, gone
	}
	if _, err := a.LookPath(r.Argv[0]); err != nil {
		if o.Exec {
			return nil, &problem.Error{Code: codeCannotResume, Message: r.Argv[0] + " is not on your PATH", Hint: how.Install}
		}
		r.Warnings = append(r.Warnings, r.Argv[0]+" is not on your PATH")
	}
	if how.BeforeFork != "" && CheckDir(rec.CWD) == nil {
		how.Warnings = append(how.Warnings, how.BeforeFork)
	}
	warnings, err := o.warnings(a, t, r)
	r.Warnings = slices.Concat(r.Warnings, how.Warnings, warnings)
	r.Command = shell.Of(runtime.GOOS).Command(r.Dir, r.Argv)
	return r, cmp.Or(err, gone)
}

// codeCannotResume is the error code of a session that its agent cannot resume.
const codeCannotResume = "cannot-resume"

// chooseDir sets the directory to run pi in.
func (o *Manner) chooseDir(a *app.App, t *conversation.Target, r *printer.Resume) error {
	rec := t.Record
	if o.In != "" {
		dir := a.Absolute(o.In)
		if err := CheckDir(dir); err != nil {
			return &problem.Error{Code: codeCannotResume, Message: "--in", Err: err, Hint: "name the directory the project has moved to"}
		}
		r.Dir = dir
		return nil
	}
	err := CheckDir(rec.CWD)
	switch {
	case err == nil:
		r.Dir = rec.CWD
	case rec.CWD == "" && !r.Fork:
		// Old sessions have no directory; pi runs in the current one.
	case r.Fork:
		// A fork belongs to the directory where it is created.
		r.Warnings = append(r.Warnings, "the session's directory no longer exists ("+rec.CWD+"): the fork is created in the current directory")
	default:
		name := rec.Path
		if t.Index >= 0 && rec.ID != "" && len(t.Lineage.Twins(t.Index)) == 0 {
			name = t.ShortID(rec.ID)
		}
		r.Dir = rec.CWD
		again := "pigrep resume " + shell.Of(runtime.GOOS).Quote(name)
		return &problem.Error{Code: codeCannotResume, Message: fmt.Sprintf("%s (%s)", name, terminal.Clip(human.Title(rec.Title()), 50)), Err: &DirectoryGoneError{program: r.Argv[0], err: err},
			Hint: "to fork it in the current directory: " + again + " --fork --exec; if the project has moved: " + again + " --in DIR --exec"}
	}
	return nil
}

// DirectoryGoneError means that the directory of a session does not exist any more.
type DirectoryGoneError struct {
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

// justNow is the age below which a session may still be open in another pi.
const justNow = time.Minute

// warnings lists surprises in resuming the session.
func (o *Manner) warnings(a *app.App, t *conversation.Target, r *printer.Resume) ([]string, error) {
	var list []string
	rec := t.Record
	info, err := t.File.Stat()
	if err != nil {
		return nil, err
	}
	if age := a.Now().Sub(info.ModTime()); age < justNow && !r.Fork {
		list = append(list, "it was written to in the last minute: if another pi has it open, both will write to the same file")
	}
	if t.Entry >= 0 {
		n := &rec.Nodes[t.Entry]
		switch {
		case !t.Tree.Active(t.Entry):
			list = append(list, fmt.Sprintf("entry %s is on an abandoned branch: pi continues at the last entry; use /tree in pi to go back to it", n.ID))
		case !t.Tree.InContext(t.Entry):
			list = append(list, fmt.Sprintf("entry %s is no longer in context (compacted): it is in the file, but pi does not restore it for the model", n.ID))
		}
		r.EntryID, r.Branch, r.InContext = n.ID, entry.BranchOf(t.Tree, t.Entry), new(t.Tree.InContext(t.Entry))
	}
	open, err := t.OpenCalls()
	if err != nil {
		return nil, conversation.ReadProblem(context.Background(), err)
	}
	if n := len(open); n > 0 {
		list = append(list, fmt.Sprintf("its last turn was cut off: %d tool calls have no result (%s)", n, strings.Join(open, ", ")))
	}
	if o.In != "" && !o.Fork {
		list = append(list, "pi will fork the session there; the original is unchanged")
	}
	return list, nil
}
