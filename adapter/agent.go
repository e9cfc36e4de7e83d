package adapter

import (
	"pigrep/internal/session"
)

// Agent is a program whose session files can be read. What else it offers, it says
// by being a Viewer, Layout, Keeper, Resumer or Host.
type Agent interface {
	Adapter
	// Name identifies the agent and the format of its files, for instance
	// "pi.sessions_jsonl.v1". It changes when old files would be read
	// differently.
	Name() string
	// Roots lists where this agent keeps session files, in order of
	// precedence, given what the environment says. It does not look whether
	// they exist. With an error, the roots that are known still count.
	Roots(env Environment) ([]Root, error)
}

// Root is a place where session files may be.
type Root struct {
	Path   string // absolute
	Origin string // where the path came from, for people: "default", "$PI_CODING_AGENT_SESSION_DIR", "sessionDir in /…/settings.json", …
	Agent  string // Name of the agent whose files are there, which the Registry knows; "" when nobody does
	Usual  bool   // the agent uses it by itself: it is missing until the agent is first used
}

// Layout is an Adapter whose agent keeps sessions in a directory with other
// files, which are none of pigrep's business.
type Layout interface {
	// SessionDirs names the directories in an agent directory that hold
	// session files. A root in which the first of them exists is an agent
	// directory: of that, only these are read, and session files that lie
	// directly in it.
	SessionDirs(root string) []string
}

// Keeper is an Agent with a catalogue of what it keeps.
type Keeper interface {
	Stores(env Environment) []Store
}

// Resumer is an Agent that can go on with a session.
type Resumer interface {
	// ResumeCommand returns the command that resumes a session and the
	// directory to run it in, as far as the summary tells; no argv when the
	// agent cannot.
	ResumeCommand(env Environment, s *session.Summary) (dir string, argv []string)
	// Resume returns how to go on with a session, or with a copy of it. The
	// head is how the file begins, HeadLength bytes or all of it. The error is
	// an Obstacle when the agent would not open the file, or not as that
	// session.
	Resume(env Environment, rec *session.Record, head []byte, fork bool) (*Resumption, error)
}

// HeadLength is how much of a file Resume wants to see.
const HeadLength = 64 << 10

// Resumption is how to go on with a session.
type Resumption struct {
	Argv     []string // to be run in the directory where it is to go on
	Install  string   // the command that installs the program
	Warnings []string // what a person would not expect of it
}

// An Obstacle is why an agent does not open a session file, or not as that
// session.
type Obstacle struct {
	Program string
	Reason  string
	Hint    string // what helps, "" when nothing does
}

func (o *Obstacle) Error() string { return o.Program + " cannot resume it: " + o.Reason }

// Host is an Agent that pigrep can be used from.
type Host interface {
	// Variables lists the environment variables of the agent that are read.
	Variables() []Variable
	// Current returns the session that this process was started in, by id and
	// by path; either may be unknown.
	Current(env Environment) (id, path string)
	// SkillDir is the directory in which the agent looks for skills.
	SkillDir(env Environment) string
}

// Variable is an environment variable of an agent.
type Variable struct {
	Name string
	Use  string // for people; the same for variables that belong together
	Path bool   // its value says where session files are
}
