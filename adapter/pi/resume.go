package pi

import (
	"bytes"
	"path/filepath"
	"strings"

	"pigrep/adapter/jsonl"
	"pigrep/internal/session"
)

// libraryVersion is the format that only the agent library writes. The pi
// command refuses such files, and old versions of it empty them on opening.
const libraryVersion = 4

// currentVersion is the format that pi writes. It rewrites files of an older one
// when it opens them.
const currentVersion = 3

// ResumeCommand returns the command that resumes a session and the directory to
// run it in; no argv when pi cannot resume it. The default root is
// <agentDir>/sessions, absolute.
//
// Pi takes the path of a session file wherever it lies, and runs its tools in the
// working directory of the session. What it begins from there, it puts into its
// default place, unless it is told of another. Only files in the agent directory
// itself go by their id: on its start, pi moves them away and would then begin an
// empty session under the old path.
func ResumeCommand(s session.Summary, defaultRoot string) (dir string, argv []string) {
	if s.Version == 0 || s.Version == libraryVersion {
		return "", nil
	}
	if inAgentDir(s.Path, defaultRoot) {
		if s.ID == "" {
			return "", nil
		}
		return s.CWD, []string{"pi", "--session", s.ID}
	}
	return s.CWD, resumeArgs(s.Path, defaultRoot, "--session")
}

// OpenCommand returns the command that resumes a session which pi opens, to be
// run where it belongs.
func OpenCommand(s session.Summary, defaultRoot string) []string {
	return resumeArgs(s.Path, defaultRoot, "--session")
}

// ForkCommand returns the command that goes on with a copy of a session, in
// whatever directory it is run.
func ForkCommand(s session.Summary, defaultRoot string) []string {
	return resumeArgs(s.Path, defaultRoot, "--fork")
}

func resumeArgs(path, defaultRoot, flag string) []string {
	argv := []string{"pi"}
	if !strings.HasPrefix(path, filepath.Clean(defaultRoot)+string(filepath.Separator)) {
		argv = append(argv, "--session-dir", filepath.Dir(path))
	}
	return append(argv, flag, path)
}

func inAgentDir(path, defaultRoot string) bool {
	return filepath.Dir(path) == filepath.Dir(filepath.Clean(defaultRoot))
}

// headerReach is how far into a file pi looks for the header.
const headerReach = 1 << 20

// Obstacle says why pi does not open a session file, or not as that session; ""
// when it does. The head is how the file begins, HeadLength bytes or all of it.
func Obstacle(rec *session.Record, head []byte, defaultRoot string) string {
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
	case inAgentDir(rec.Path, defaultRoot):
		return "it lies in the agent directory itself: pi moves it into sessions/ when it starts, and would begin a new session under the old path"
	}
	return ""
}

// HeadLength is how much of a file Obstacle wants to see.
const HeadLength = 64 << 10

// saysSession reports whether the header calls itself a session, as pi's own do
// whatever their version. Those of the agent library do not.
func saysSession(head []byte, offset int64) bool {
	if offset >= int64(len(head)) {
		return false
	}
	p := &parser{obj: jsonl.Object{Data: head[offset:]}}
	end, err := p.obj.Check(&p.scan, 0)
	if err != nil {
		return false
	}
	return p.string(find(p.collect(jsonl.At(0, end)), "type")) == "session"
}

// startsOtherwise reports whether the first thing that pi can parse is not the
// header.
func startsOtherwise(rec *session.Record) bool {
	if len(rec.Nodes) > 0 {
		first := &rec.Nodes[0]
		if first.Offset < rec.Header.Offset || first.Line == 1 && rec.Header.Offset == 0 {
			return true // before it, or on one line with it
		}
	}
	for _, p := range rec.Problems {
		if p.Offset < rec.Header.Offset && p.Reason == reasonNotObject {
			return true
		}
	}
	return false
}

// Rewrites reports whether pi rewrites the session file when it opens it.
func Rewrites(s session.Summary) bool { return s.Version > 0 && s.Version < currentVersion }
