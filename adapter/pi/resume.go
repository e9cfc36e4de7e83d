package pi

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// libraryVersion is the format that only the agent library writes. The pi
// command refuses such files, and old versions of it empty them on opening.
const libraryVersion = 4

// currentVersion is the format that pi writes. It rewrites files of an older one
// when it opens them.
const currentVersion = 3

const program = "pi"

// ResumeCommand implements adapter.Resumer.
//
// Pi accepts the path of a session file anywhere, and runs its tools in the session's
// working directory. New sessions started from there go to pi's default directory
// unless --session-dir names another. Files directly in the agent directory must be
// named by id: pi moves them when it starts, and would then create an empty session
// at the old path.
func (Agent) ResumeCommand(env adapter.Environment, s *session.Summary) (dir string, argv []string) {
	if s.Version == 0 || s.Version == libraryVersion {
		return "", nil
	}
	agentDir := agentDir(env)
	if filepath.Dir(s.Path) == agentDir {
		if s.ID == "" {
			return "", nil
		}
		return s.CWD, []string{program, "--session", s.ID}
	}
	return s.CWD, resumeArgs(s.Path, agentDir, "--session")
}

// Resume implements adapter.Resumer.
func (Agent) Resume(env adapter.Environment, q *adapter.ResumeRequest) (*adapter.Resumption, error) {
	rec, agentDir := q.Record, agentDir(env)
	if why := obstacle(rec, q.Head, agentDir); why != "" {
		o := &adapter.Obstacle{Program: program, Reason: why}
		if filepath.Dir(rec.Path) == agentDir && rec.Version > 0 && rec.Version != libraryVersion {
			o.Hint = "start pi once, then: pigrep resume " + rec.ID
		}
		return nil, o
	}
	r := &adapter.Resumption{
		Install:  "npm install -g @earendil-works/pi-coding-agent",
		Branches: "use /tree in pi to go back to it",
	}
	old := rec.Version > 0 && rec.Version < currentVersion
	if q.Fork {
		r.Argv = resumeArgs(rec.Path, agentDir, "--fork")
		if old {
			r.Warnings = append(r.Warnings, fmt.Sprintf("this session is in pi's old format %d: a fork may lose entries", rec.Version))
			r.BeforeFork = "resume it once without --fork to convert it"
		}
		return r, nil
	}
	r.Argv = resumeArgs(rec.Path, agentDir, "--session")
	if old {
		r.Warnings = append(r.Warnings, fmt.Sprintf("this session is in pi's old format %d: pi converts the file when it opens it", rec.Version))
	}
	return r, nil
}

func resumeArgs(path, agentDir, flag string) []string {
	argv := []string{program}
	if !strings.HasPrefix(path, sessionsIn(agentDir)+string(filepath.Separator)) {
		argv = append(argv, "--session-dir", filepath.Dir(path))
	}
	return append(argv, flag, path)
}

// headerReach is the number of bytes in which pi looks for the header.
const headerReach = 1 << 20

// obstacle returns why pi does not open a session file, or not as that session; ""
// when it does.
func obstacle(rec *session.Record, head []byte, agentDir string) string {
	switch h := &rec.Header; {
	case h.Version == libraryVersion && !saysSession(head, h.Offset):
		return "it is of format 4, which pi's agent library wrote and the pi command does not open"
	case h.Version == 0:
		return "it has no session header"
	case bytes.HasPrefix(head, jsonl.ByteOrderMark):
		return "it begins with a byte order mark, and so is no session to pi"
	case h.ID == "":
		return "its header has no id"
	case startsOtherwise(rec):
		return "something else stands before its header, and so it is no session to pi"
	case h.Offset > headerReach:
		return "its header is not in the first MiB, which is as far as pi looks"
	case filepath.Dir(rec.Path) == agentDir:
		return "it lies in the agent directory itself: pi moves it into sessions/ when it starts, and would begin a new session under the old path"
	}
	return ""
}

// saysSession reports whether the type of the header is "session". It is in files of all
// versions of pi, but not in those of the agent library.
func saysSession(head []byte, offset int64) bool {
	if offset >= int64(len(head)) {
		return false
	}
	var json jsonl.Scanner
	json.Reset(head[offset:])
	v, err := json.Check(0)
	return err == nil && json.String(json.Fields(v).Find("type")) == "session"
}

// startsOtherwise reports whether the first thing that pi can parse is not the
// header.
func startsOtherwise(rec *session.Record) bool {
	if len(rec.Nodes) > 0 {
		first := &rec.Nodes[0]
		if first.Offset < rec.Header.Offset || first.Line == 1 && rec.Header.Offset == 0 && first.Offset > 0 {
			return true // before it, or on one line with it
		}
	}
	return slices.ContainsFunc(rec.Problems, func(p session.Problem) bool {
		return p.Offset < rec.Header.Offset && p.Reason == adapter.NotObject
	})
}
