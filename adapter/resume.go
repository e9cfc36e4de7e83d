package adapter

import (
	"path/filepath"

	"pigrep/internal/session"
)

// libraryVersion is the format that only the agent library writes. The pi
// command refuses such files, and old versions of it empty them on opening.
const libraryVersion = 4

// ResumeCommand returns the command that resumes a session and the directory to
// run it in; no argv when pi cannot resume it. The default root is
// <agentDir>/sessions, absolute.
//
// Pi takes the path of a session file wherever it lies, and runs its tools in the
// working directory of the session. Only files in the agent directory itself go
// by their id: on its start, pi moves them away and would then begin an empty
// session under the old path.
func ResumeCommand(s session.Summary, defaultRoot string) (dir string, argv []string) {
	if s.Version == 0 || s.Version == libraryVersion {
		return "", nil
	}
	target := s.Path
	if filepath.Dir(s.Path) == filepath.Dir(defaultRoot) {
		target = s.ID
	}
	if target == "" {
		return "", nil
	}
	return s.CWD, []string{"pi", "--session", target}
}
