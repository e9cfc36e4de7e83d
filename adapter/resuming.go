package adapter

import (
	"cmp"
	"path/filepath"
	"strings"

	"pigrep/internal/session"
)

// Resuming is how a program resumes sessions. In arguments, a word that ends with one of these stands
// for the session that goes on:
//
//	ID     its id
//	NAME   the name of its file, which is its id
//	PATH   the path of its file
//	DIR    the directory where it goes on; without one, this word and the one before it are left out
type Resuming struct {
	Program  string // "" if it cannot resume sessions
	Install  string // the command that installs it
	Args     string // that resume a session
	ForkArgs string // that begin a new session with the same history
	Branches string // see Resumption
	Restored string // a warning if the file has just been put back in its place
	Unpacks  bool   // it opens compressed files

	IsID func(string) bool // nil: IsUUID
	IDs  string            // what ids are, in a message; "" for a UUID

	// Refuses says why this program does not open a session, and what to do about it, beside what holds
	// for each; "" if it does. The request is nil if only the summary is known.
	Refuses func(env Environment, s *session.Summary, q *ResumeRequest) (reason, hint string)
}

func (r *Resuming) isID(id string) bool {
	if r.IsID != nil {
		return r.IsID(id)
	}
	return IsUUID(id)
}

// name returns what the arguments call a session, and whether that may stand on the command line.
func (r *Resuming) name(args string, s *session.Summary) (string, bool) {
	switch {
	case strings.Contains(args, "PATH"):
		return s.Path, s.ID != ""
	case strings.Contains(args, "NAME"):
		return session.BaseName(s.Path), r.isID(session.BaseName(s.Path))
	}
	return s.ID, r.isID(s.ID)
}

func (r *Resuming) command(args, name, dir string) []string {
	argv := []string{r.Program}
	for _, word := range strings.Fields(args) {
		for _, end := range [...]string{"ID", "NAME", "PATH"} {
			if before, ok := strings.CutSuffix(word, end); ok {
				word = before + name
				break
			}
		}
		switch {
		case word != "DIR":
			argv = append(argv, word)
		case dir != "" && dir[0] != '-': // or it would be an option
			argv = append(argv, dir)
		default:
			argv = argv[:len(argv)-1]
		}
	}
	return argv
}

// ResumeCommand implements Resumer. A subagent goes on in the session that it works for.
func (p *Profile) ResumeCommand(env Environment, s *session.Summary) (dir string, argv []string) {
	r := &p.Resuming
	name, ok := r.name(r.Args, s)
	if s.Relation == session.Spawned {
		name = s.ParentSession
		ok = r.isID(name) || strings.Contains(r.Args, "PATH") && filepath.IsAbs(name)
	}
	if r.Program == "" || s.Version == 0 || !ok {
		return "", nil
	}
	if r.Refuses != nil {
		if why, _ := r.Refuses(env, s, nil); why != "" {
			return "", nil
		}
	}
	return s.CWD, r.command(r.Args, name, s.CWD)
}

// Resume implements Resumer.
func (p *Profile) Resume(env Environment, q *ResumeRequest) (*Resumption, error) {
	how := &p.Resuming
	r := &Resumption{Install: how.Install, Branches: how.Branches}
	args, reason, hint := how.Args, "", ""
	if q.Fork {
		args = how.ForkArgs
	}
	if strings.Contains(args, "DIR") {
		r.Dir = q.Dir
	}
	s, gone := q.Session(r)
	name, ok := "", false
	if gone == nil {
		name, ok = how.name(args, s)
	}
	switch {
	case how.Args == "":
		return nil, &Obstacle{Program: p.Title, Reason: "sessions of this agent cannot be resumed"}
	case gone != nil:
		reason = gone.Reason
	case q.Packed && !how.Unpacks:
		reason = "its file is compressed"
	case s.Version == 0:
		reason = "it has no session header"
	case !ok && strings.Contains(args, "NAME"):
		reason = "its file is not named after the id of a session"
	case !ok && s.ID == "":
		reason = "its header has no id"
	case !ok: // it would stand on the command line
		reason = "its id is not one that " + p.Title + " writes: " + cmp.Or(how.IDs, "a UUID")
	case s.Messages == 0 && !strings.Contains(how.Args, "PATH"):
		reason = "it has no messages"
	case how.Refuses != nil:
		reason, hint = how.Refuses(env, s, q)
	}
	if reason == "" && args == "" {
		reason, hint = "it has no command that copies a session", "continue it without --fork"
	}
	if reason != "" {
		return nil, &Obstacle{Program: how.Program, Reason: reason, Hint: hint}
	}
	if q.Restored && how.Restored != "" {
		r.Warnings = append(r.Warnings, how.Restored)
	}
	r.Argv = how.command(args, name, cmp.Or(q.Dir, s.CWD))
	return r, nil
}
