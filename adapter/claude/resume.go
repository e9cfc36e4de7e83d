package claude

import (
	"path/filepath"
	"strings"
	"unicode/utf16"

	"pigrep/adapter"
	"pigrep/internal/session"
)

const program = "claude"

// ResumeCommand implements adapter.Resumer. Claude Code finds a session by its id among those
// of the working directory. A subagent goes on in the session that it works for.
func (Agent) ResumeCommand(_ adapter.Environment, s *session.Summary) (dir string, argv []string) {
	id := session.BaseName(s.Path)
	if s.Relation == session.Spawned {
		id = s.ParentSession
	}
	if s.Version == 0 || !isUUID(id) {
		return "", nil
	}
	return s.CWD, []string{program, "--resume", id}
}

// Resume implements adapter.Resumer.
func (Agent) Resume(env adapter.Environment, q *adapter.ResumeRequest) (*adapter.Resumption, error) {
	r := &adapter.Resumption{Install: "npm install -g @anthropic-ai/claude-code"}
	s, o := q.Session(r)
	if o == nil {
		o = obstacle(env, s, q)
	}
	if o != nil {
		o.Program = program
		return nil, o
	}
	r.Argv = []string{program, "--resume", session.BaseName(s.Path)}
	if q.Fork {
		r.Argv = append(r.Argv, "--fork-session")
	}
	return r, nil
}

// obstacle returns why Claude Code does not find a session, nil if it does.
func obstacle(env adapter.Environment, s *session.Summary, q *adapter.ResumeRequest) *adapter.Obstacle {
	project := filepath.Dir(s.Path)
	home := filepath.Dir(filepath.Dir(project))
	switch {
	case q.Packed:
		return &adapter.Obstacle{Reason: "its file is compressed"}
	case !isUUID(session.BaseName(s.Path)):
		return &adapter.Obstacle{Reason: "its file is not named after the id of a session"}
	case s.Messages == 0:
		return &adapter.Obstacle{Reason: "it has no messages"}
	case s.CWD == "":
		return &adapter.Obstacle{Reason: "it does not say in which directory it began"}
	case q.Dir != "" && filepath.Clean(q.Dir) != filepath.Clean(s.CWD):
		return &adapter.Obstacle{Reason: "Claude Code finds a session only in the directory where it began", Hint: "continue it in " + s.CWD + "; if that directory is gone, make it again"}
	case home != homes(env)[0].Path:
		return &adapter.Obstacle{Reason: "Claude Code looks for sessions in " + homes(env)[0].Path, Hint: "set " + configDirVariable + "=" + home}
	case !isProject(filepath.Base(project), s.CWD) && filepath.Base(project) != env.Getenv("CLAUDE_CODE_PROJECT_DIR_NAME"):
		return &adapter.Obstacle{Reason: "its file is not in the directory of its project"}
	}
	return nil
}

// isProject reports whether a directory is that of the sessions of a working directory: its
// characters but letters and digits are dashes. A long name is cut, and ends with a hash.
func isProject(name, cwd string) bool {
	var want []byte
	for _, c := range utf16.Encode([]rune(cwd)) {
		if l := c | 0x20; l >= 'a' && l <= 'z' || c >= '0' && c <= '9' {
			want = append(want, byte(c))
		} else {
			want = append(want, '-')
		}
	}
	const longest = 200
	return name == string(want) || len(want) > longest && strings.HasPrefix(name, string(want[:longest])+"-")
}
