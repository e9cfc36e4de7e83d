package adapter

import (
	"cmp"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"pigrep/internal/session"
)

// Agent is a program whose session files can be read. It may also implement Homed,
// Overwriter and Resumer, and embed a Profile.
type Agent interface {
	Adapter
	// Name identifies the agent and the format of its files, for instance
	// "pi.sessions_jsonl.v1". It stands in the record of each file that the agent's parser
	// read: it never changes, and no two agents have the same. What it begins with, up to a
	// dot, is the agent's name on command lines and in JSON (see session.ShortAgent): lower-case
	// letters and digits. Agents of one family may share that.
	Name() string
	// Label is the agent's name for people, such as "Claude Code".
	Label() string
	// Revision is raised when files that are already indexed would be read differently.
	// The files of this agent, and no others, are then read again.
	Revision() int
	// Recognize says by the start of a file, up to HeadLength bytes, what it is to this
	// agent: a Transcript or Notes, or Foreign if the format is not this agent's. It may
	// see a head that is cut within a line, is damaged, or begins in the middle of a
	// session. It is asked once about each new file, and decides about files that no root
	// assigns, and against the root if the root's agent does not recognize a file and
	// another agent does. It is strict: a file of another agent must be Foreign.
	Recognize(head []byte) Sort
	// Roots lists where this agent keeps session files in this environment, in
	// order of precedence. It does not check whether they exist. The roots
	// returned with an error are valid.
	Roots(env Environment) ([]Root, error)
}

// A Profile is what an Agent says of itself, and of where people run it: tables. An agent that
// embeds it need say no more than how it parses.
type Profile struct {
	ID      string // see Agent.Name
	Title   string // see Agent.Label
	Reading int    // see Agent.Revision

	Homes     string     // where it keeps its files, the one in use first, as words of Places
	Sessions  string     // the directory below them with the sessions, with slashes; "" if they are themselves that
	Files     string     // which files below Sessions are sessions, as of NewLayout
	Marks     string     // by which its files are recognized, as of NewMarks
	Kept      string     // what it keeps, as a table: see Stores
	Variables []Variable // of the environment, that pigrep reads
	Resuming

	CurrentID   string   // the variable with the id of the session that a process was started in; "" for none
	CurrentPath string   // that with its path
	ClientNames []string // how it names itself as a client of MCP servers
	Servers     Servers  // how it is told of MCP servers
	Loses       string   // which sessions the agent deletes by itself, whatever a person does; "" for none
	Deleting    string   // how a person deletes sessions with it, DIR for all of a project; "" if it has no way

	Hooks Hooks // of no file: it has none

	// HasPackage reports whether a settings file lists a package of this name. It is nil if there
	// are no packages of this program for the agent.
	HasPackage func(env Environment, name string) bool

	compile sync.Once
	marks   *Marks
}

// Hooks says how an agent is told to run a program at an event of a session.
type Hooks struct {
	File    string // below Dir, with forward slashes: JSON with hooks as Claude Code has them, or Text
	Failure string // the event after a command, that failed if there is such an event
	Note    string // what a person has to do besides
	Text    string // a file that has nothing else, with "PROGRAM" for the program; "" for JSON
}

// Name implements Agent.
func (p *Profile) Name() string { return p.ID }

// Label implements Agent.
func (p *Profile) Label() string { return p.Title }

// Revision implements Agent.
func (p *Profile) Revision() int { return p.Reading }

// Current returns the id and the path of the session that this process was started in; either
// may be unknown.
func (p *Profile) Current(env Environment) (id, path string) {
	if p.CurrentPath != "" {
		path = env.Getenv(p.CurrentPath)
	}
	if path != "" {
		path = Absolute(path, env)
	}
	if p.CurrentID != "" {
		id = env.Getenv(p.CurrentID)
	}
	return id, path
}

// Delete says how a person deletes sessions with the agent, DIR for all of a project; "" if it has no way.
func (p *Profile) Delete() string { return p.Deleting }

// SkillDir returns the directory where the agent looks for skills.
func (p *Profile) SkillDir(env Environment) string { return filepath.Join(p.Dir(env), "skills") }

// Stores lists what the agent keeps. In the table of it, lines have the fields of a Store, with |
// between them. Paths are below Dir, or below ~/, with forward slashes; the format of the
// sessions is not said.
func (p *Profile) Stores(env Environment) (list []Store) {
	for line := range strings.Lines(p.Kept) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if line[0] == '#' || len(fields) < 5 {
			continue
		}
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		dir, path := p.Dir(env), fields[3]
		if below, ok := strings.CutPrefix(path, "~/"); ok {
			dir, path = env.Home, below
		}
		list = append(list, Store{
			Agent: p.ID, Name: fields[0], Role: fields[1], Format: cmp.Or(fields[2], p.ID), Path: filepath.Join(dir, filepath.FromSlash(path)), Coverage: Coverage(fields[4]),
		})
	}
	return list
}

// profile is of those that have one.
func (p *Profile) profile() *Profile { return p }

// Root is a place where session files may be.
type Root struct {
	Path   string // absolute
	Origin string // the source of the path, for people: "default", "$VARIABLE", "setting in /…/settings.json", …
	Agent  string // Name of the agent whose files are there, set by the Registry; "" when unknown
	Usual  bool   // the agent's own choice, by the home directory alone: it may be missing, and the name of the index does not depend on it
	Follow bool   // follow symbolic links that lead out of the session directories

	// Layout says what is below the root. With nil, it is the layout of an agent's home
	// directory (see Homed) if the root is one; else every *.jsonl below it is a session.
	Layout Layout
}

// Layout says, by names alone, what is below a root. What it does not name is neither listed
// nor opened. It is asked once about each directory entry, so it must be fast and not
// allocate. Paths are relative to the root, with slashes; their bytes are valid during the
// call. A path of a file is without the suffix of a compression.
type Layout interface {
	// Enter reports whether files below the directory may be sessions or notes.
	Enter(dir []byte) bool
	File(path []byte) Sort
}

// Sort is what a file is to its agent.
type Sort uint8

// The sorts of files.
const (
	Foreign    Sort = iota // never opened
	Transcript             // a session, or a part of one
	Loose                  // a Transcript if an agent recognizes it, else Foreign; of a Layout only
	Database               // has sessions, as files below its path: see content.Database
	Notes                  // what an agent keeps about sessions outside of their files, such as their names: see session.Entry.About
)

// Homed is an Agent with a directory in which it keeps sessions among other files. A
// person may name it in place of the directories with sessions.
type Homed interface {
	// Home returns the layout of the agent's directory if the names in a directory permit
	// that it is one, else nil. has reports whether there is a file of a name, or with a
	// slash at its end a directory. Whoever asks makes sure that the agent recognizes files.
	Home(has func(name string) bool) Layout
}

// Overwriter is an Agent that overwrites bytes at the start of its files in place, while
// the rest only grows.
type Overwriter interface {
	// Volatile returns the length of these bytes, given the first HeadLength bytes of a file
	// or all of it: whole lines, each an entry that only names the session; 0 if there are
	// none. They are compared apart: if nothing else has changed, only they are read again.
	// What they say goes before other names: its NameRank is higher.
	Volatile(head []byte) int64
}

// Placer is an Agent whose files do not say in which directory a session began.
type Placer interface {
	// Place returns that directory as far as names beside the file say it, "" if it is not known. It is
	// asked when a file is new. The header has the directory from the beginning then.
	Place(env Environment, path string) string
}

// Resumer is an Agent that can resume a session.
type Resumer interface {
	// ResumeCommand returns the command that resumes a session and the
	// directory to run it in. It uses only the summary. argv is nil if the
	// agent cannot resume the session. For a session that only its parent can continue,
	// it is the parent's command.
	ResumeCommand(env Environment, s *session.Summary) (dir string, argv []string)
	// Resume returns how to continue a session, or a fork of it. The error is an *Obstacle
	// if the agent would not open the file, or not as that session.
	Resume(env Environment, r *ResumeRequest) (*Resumption, error)
}

// HeadLength is how much of a file Recognize, Volatile and Resume see at most, in bytes.
const HeadLength = 64 << 10

// ResumeRequest is a session that a person wants to continue.
type ResumeRequest struct {
	Record *session.Record  // of the file that the agent would open
	Root   *session.Summary // the session that a subagent works for in the end; nil for others, or if it is not indexed
	Head   []byte           // the start of the file, up to HeadLength bytes
	Fork   bool             // in a new session with the same history
	Dir    string           // to continue in another directory than the session's, absolute; "" for its own
	Packed bool             // the file is compressed

	Restored bool // its file has just been put back in its place
}

// Resumption is how to continue a session.
type Resumption struct {
	Argv       []string // to be run in the directory where the session continues
	Dir        string   // this directory, if it is not that of the session's header
	Install    string   // the command that installs the program
	Warnings   []string // effects that a person would not expect
	BeforeFork string   // what to do first, if the session can be resumed as it is; "" for nothing
	Branches   string   // how to go back to an entry of an abandoned branch: "use /tree in pi to go back to it"; "" if that is not possible
}

// An Obstacle is the reason why an agent does not open a session file, or not as that
// session.
type Obstacle struct {
	Program string
	Reason  string
	Hint    string // what to do about it, "" when nothing helps
}

func (o *Obstacle) Error() string { return o.Program + " cannot resume it: " + o.Reason }

// Session returns the session that goes on: in place of a subagent the one that it works for,
// which r then says.
func (q *ResumeRequest) Session(r *Resumption) (*session.Summary, *Obstacle) {
	switch {
	case q.Record.Relation != session.Spawned:
		return &q.Record.Summary, nil
	case q.Root == nil:
		return nil, &Obstacle{Reason: "it is a subagent, and the session that it worked for is gone"}
	}
	r.Dir = cmp.Or(q.Dir, q.Root.CWD)
	r.Warnings = append(r.Warnings, "it is a subagent: the session that it worked for goes on")
	return q.Root, nil
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
	Agent    string // Name of the agent
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
	RealPath func(path string) string          // a path, which may be missing, without symbolic links
	DirsIn   func(dir string) []string         // the names of the directories in a directory, as far as it can be listed
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
