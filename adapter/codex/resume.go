package codex

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/session"
)

const program = "codex"

// ResumeCommand implements adapter.Resumer. Codex finds a session by its id. A subagent goes
// on in the session that it works for.
func (Agent) ResumeCommand(_ adapter.Environment, s *session.Summary) (dir string, argv []string) {
	id := s.ID
	if s.Relation == session.Spawned {
		id = s.ParentSession
	}
	if s.Version < version || id == "" || isArchived(s.Path) {
		return "", nil
	}
	return s.CWD, command("resume", id, s.CWD)
}

// command returns the command that continues a session in a directory.
func command(verb, id, dir string) []string {
	argv := []string{program, verb, id}
	if dir != "" {
		argv = append(argv, "-C", dir)
	}
	return argv
}

// Resume implements adapter.Resumer.
func (Agent) Resume(env adapter.Environment, q *adapter.ResumeRequest) (*adapter.Resumption, error) {
	r := &adapter.Resumption{Install: "npm install -g @openai/codex", Dir: q.Dir}
	s, o := q.Session(r)
	if o == nil {
		o = obstacle(env, s, q)
	}
	if o != nil {
		o.Program = program
		return nil, o
	}
	if q.Restored {
		r.Warnings = append(r.Warnings, "Codex lists sessions from a database of its own: it may not list or resume this one (`codex doctor`)")
	}
	verb := "resume"
	if q.Fork {
		verb = "fork"
	}
	r.Argv = command(verb, s.ID, cmp.Or(q.Dir, s.CWD))
	return r, nil
}

// obstacle returns why Codex does not open a session, nil if it does. It opens compressed
// files.
func obstacle(env adapter.Environment, s *session.Summary, q *adapter.ResumeRequest) *adapter.Obstacle {
	switch {
	case s.Version == versionFlat:
		return &adapter.Obstacle{Reason: "a version before 0.34 wrote it, and later ones do not open its format"}
	case s.Version == 0 || s.ID == "":
		return &adapter.Obstacle{Reason: "it has no session header"}
	case s.Messages == 0:
		return &adapter.Obstacle{Reason: "it has no messages"}
	case isArchived(s.Path):
		return &adapter.Obstacle{Reason: "it is archived", Hint: "codex unarchive " + s.ID}
	}
	dir, ok := homeOf(s.Path)
	switch {
	case !ok:
		return &adapter.Obstacle{Reason: "its file is not where Codex looks: in " + filepath.Join(home(env), sessionsDir)}
	case dir != filepath.Clean(home(env)):
		return &adapter.Obstacle{Reason: "Codex looks for sessions in " + home(env), Hint: "set " + homeVariable + "=" + dir}
	}
	return nil
}

// isArchived reports whether a file is among those of archived sessions.
func isArchived(file string) bool { return path.Base(path.Dir(session.Slashed(file))) == archivedDir }

// homeOf returns Codex's directory that a session file is in: four directories above it.
func homeOf(file string) (string, bool) {
	day := filepath.Dir(file)
	sessions := filepath.Dir(filepath.Dir(filepath.Dir(day)))
	return filepath.Dir(sessions), filepath.Base(sessions) == sessionsDir && strings.HasPrefix(filepath.Base(file), "rollout-")
}
