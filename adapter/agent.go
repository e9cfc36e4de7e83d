package adapter

import (
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"pigrep/internal/session"
)

// Agent is a program whose session files can be read. It may also implement Viewer,
// Layout, Keeper, Resumer and Host.
type Agent interface {
	Adapter
	// Name identifies the agent and the format of its files, for instance
	// "pi.sessions_jsonl.v1".
	Name() string
	// Roots lists where this agent keeps session files in this environment, in
	// order of precedence. It does not check whether they exist. The roots
	// returned with an error are valid.
	Roots(env Environment) ([]Root, error)
}

// Root is a place where session files may be.
type Root struct {
	Path   string // absolute
	Origin string // the source of the path, for people: "default", "$VARIABLE", "setting in /…/settings.json", …
	Agent  string // Name of the agent whose files are there, set by the Registry; "" when unknown
	Usual  bool   // the agent's own choice, which does not exist until the agent is first used
	Follow bool   // follow symbolic links that lead out of the session directories
}

// Layout is an Adapter for an agent that keeps sessions in a directory with other
// files, which must not be read.
type Layout interface {
	// SessionDirs returns the names of the directories in an agent directory
	// that contain session files. A root with the first of them is an agent
	// directory: only these directories are read, and session files directly
	// in it.
	SessionDirs(root string) []string
}

// Keeper is an Agent with a catalogue of what it keeps.
type Keeper interface {
	Stores(env Environment) []Store
}

// Resumer is an Agent that can resume a session.
type Resumer interface {
	// ResumeCommand returns the command that resumes a session and the
	// directory to run it in. It uses only the summary. argv is nil if the
	// agent cannot resume the session.
	ResumeCommand(env Environment, s *session.Summary) (dir string, argv []string)
	// Resume returns how to continue a session, or a fork of it. The head is
	// the start of the file, up to HeadLength bytes. The error is an *Obstacle
	// if the agent would not open the file, or not as that session.
	Resume(env Environment, rec *session.Record, head []byte, fork bool) (*Resumption, error)
}

// HeadLength is how much of a file Resume needs.
const HeadLength = 64 << 10

// Resumption is how to continue a session.
type Resumption struct {
	Argv       []string // to be run in the directory where the session continues
	Install    string   // the command that installs the program
	Warnings   []string // effects that a person would not expect
	BeforeFork string   // what to do first, if the session can be resumed as it is; "" for nothing
}

// An Obstacle is the reason why an agent does not open a session file, or not as that
// session.
type Obstacle struct {
	Program string
	Reason  string
	Hint    string // what to do about it, "" when nothing helps
}

func (o *Obstacle) Error() string { return o.Program + " cannot resume it: " + o.Reason }

// Host is an Agent from whose sessions pigrep can be run.
type Host interface {
	// Variables lists the agent's environment variables that pigrep reads.
	Variables() []Variable
	// Current returns the id and the path of the session that this process
	// was started in; either may be unknown.
	Current(env Environment) (id, path string)
	// ClientNames lists how the agent names itself as a client of MCP servers.
	ClientNames() []string
	// SkillDir returns the directory where the agent looks for skills.
	SkillDir(env Environment) string
	// HasPackage reports whether a settings file of the agent lists a package of this
	// name.
	HasPackage(env Environment, name string) bool
}

// Variable is an environment variable of an agent.
type Variable struct {
	Name string
	Use  string // for people; variables that belong together share it
	Path bool   // its value is a directory with session files
}

// Coverage says what pigrep does with a store.
type Coverage string

// Coverages.
const (
	Searched   Coverage = "searched"
	Catalogued Coverage = "catalogued" // listed, with whether it is there
	Private    Coverage = "private"    // listed by name only: never opened, never stat'ed
)

// Store is a kind of file that an agent keeps.
type Store struct {
	Name     string
	Role     string // what it is for
	Format   string
	Path     string // absolute
	Coverage Coverage
}

// Environment is what an adapter may know of the machine.
type Environment struct {
	Home     string                            // the user's home directory
	WorkDir  string                            // the process's working directory, absolute
	Getenv   func(name string) string          // environment variables
	ReadFile func(path string) ([]byte, error) // settings files only; fs.ErrNotExist when absent
}

// Absolute expands a path as agents do: a leading ~ is the home directory, file: URLs
// are paths, and relative paths start at the working directory.
func Absolute(path string, env Environment) string {
	switch {
	case path == "~":
		path = env.Home
	case strings.HasPrefix(path, "~/"), runtime.GOOS == "windows" && strings.HasPrefix(path, `~\`):
		path = filepath.Join(env.Home, path[2:])
	case strings.HasPrefix(path, "file://"):
		if u, err := url.Parse(path); err == nil && (u.Host == "" || u.Host == "localhost") {
			path = u.Path
			if runtime.GOOS == "windows" {
				path = filepath.FromSlash(strings.TrimPrefix(path, "/"))
			}
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.WorkDir, path)
	}
	return filepath.Clean(path)
}
