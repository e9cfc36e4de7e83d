package pi

import (
	"bytes"
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// Names of the session files of pi's relatives.
const (
	OhMyPiName = "omp.sessions_jsonl.v1"
	PrimeName  = "prime.sessions_jsonl.v1"
)

// A Relative is a program that grew out of pi. It writes pi's format with lines of its own, to
// another place, and resumes in another way.
type Relative struct {
	Agent
	*relative
}

// relative is what differs between the relatives beside their profiles.
type relative struct {
	program, install string
	roots            func(adapter.Environment) []adapter.Root
}

//go:embed stores_omp.txt
var ohMyPiStores string

//go:embed stores_prime.txt
var primeStores string

// OhMyPi is oh-my-pi (omp), which has several profiles, and begins its files with the title.
type OhMyPi struct{ Relative }

// NewOhMyPi returns the adapter for oh-my-pi.
func NewOhMyPi() OhMyPi {
	return OhMyPi{Relative{Agent{&adapter.Profile{
		ID: OhMyPiName, Title: "oh-my-pi", Dir: ohMyPiDir, Kept: ohMyPiStores,
		Variables: []adapter.Variable{
			{Name: configNameVariable, Use: "oh-my-pi's directory below the home directory, in place of .omp; the sessions of all profiles in it are searched"},
			{Name: dataVariable, Use: "its omp/ has oh-my-pi's sessions, if oh-my-pi was told to keep them there"},
		},
	}}, &relative{program: "omp", install: "bun install -g @oh-my-pi/pi-coding-agent", roots: ohMyPiRoots}}}
}

// NewPrime returns the adapter for Prime Agent.
func NewPrime() Relative {
	return Relative{Agent{&adapter.Profile{
		ID: PrimeName, Title: "Prime Agent", Dir: primeDir, Kept: primeStores,
		Variables: []adapter.Variable{
			{Name: primeSessionsVariable, Use: "where Prime Agent keeps sessions, in place of ~/.prime/agent/sessions", Path: true},
			{Name: primeDirVariable, Use: "Prime Agent's directory, in place of ~/.prime/agent; its sessions/ is searched", Path: true},
		},
	}}, &relative{program: "prime-agent", install: "npm install -g prime-agent", roots: primeRoots}}
}

// Environment variables of the relatives.
const (
	configNameVariable    = "PI_CONFIG_DIR"
	dataVariable          = "XDG_DATA_HOME"
	primeSessionsVariable = "PRIME_AGENT_SESSION_DIR"
	primeDirVariable      = "PRIME_AGENT_CODING_AGENT_DIR"
)

// Recognize implements adapter.Agent. In its own directory, all files are of oh-my-pi; older
// versions leave no mark.
func (a OhMyPi) Recognize(head []byte) adapter.Sort {
	if of, _ := writerOf(head); of {
		return adapter.Transcript
	}
	return adapter.Foreign
}

// Volatile implements adapter.Overwriter.
func (OhMyPi) Volatile(head []byte) int64 {
	if !bytes.HasPrefix(head, []byte(`{"type":"`+typeTitle+`",`)) {
		return 0
	}
	return int64(bytes.IndexByte(head, '\n') + 1)
}

// Roots implements adapter.Agent.
func (a Relative) Roots(env adapter.Environment) ([]adapter.Root, error) { return a.roots(env), nil }

// ohMyPiRoots are the directories of all profiles. The directory that oh-my-pi and pi share
// by a variable is pi's: what a file says decides whose it is.
func ohMyPiRoots(env adapter.Environment) []adapter.Root {
	own := adapter.Root{Path: filepath.Join(env.Home, ".omp"), Origin: "default", Usual: true, Layout: profiles{}}
	roots := []adapter.Root{own}
	if name := env.Getenv(configNameVariable); name != "" && filepath.Join(env.Home, name) != own.Path {
		own.Path, own.Origin, own.Usual = filepath.Join(env.Home, name), "$"+configNameVariable, false
		roots = slices.Insert(roots, 0, own)
	}
	data := env.Getenv(dataVariable)
	if !filepath.IsAbs(data) {
		data = filepath.Join(env.Home, ".local", "share")
	}
	// It is there if a person asked for it; the variable is set for other reasons.
	return append(roots, adapter.Root{Path: filepath.Join(data, "omp"), Origin: "default", Usual: true, Layout: profiles{}})
}

func ohMyPiDir(env adapter.Environment) string {
	return dirNamed(env, agentDirVariable, filepath.Join(ohMyPiRoots(env)[0].Path, "agent"))
}

func primeRoots(env adapter.Environment) []adapter.Root {
	usual := filepath.Join(env.Home, ".prime", "agent", "sessions")
	roots := []adapter.Root{{Path: usual, Origin: "default", Usual: true}}
	for _, v := range []struct{ name, below string }{{primeDirVariable, "sessions"}, {primeSessionsVariable, ""}} {
		if dir := env.Getenv(v.name); dir != "" {
			r := adapter.Root{Path: filepath.Join(adapter.Absolute(dir, env), v.below), Origin: "$" + v.name}
			if !slices.ContainsFunc(roots, func(o adapter.Root) bool { return o.Path == r.Path }) {
				roots = slices.Insert(roots, 0, r)
			}
		}
	}
	return roots
}

func primeDir(env adapter.Environment) string {
	return dirNamed(env, primeDirVariable, filepath.Join(env.Home, ".prime", "agent"))
}

// Home implements adapter.Homed.
func (a OhMyPi) Home(has func(name string) bool) adapter.Layout {
	if has("agent/sessions/") || has("profiles/") {
		return profiles{}
	}
	return a.Relative.Home(has)
}

// profiles is the layout of oh-my-pi's directory. With XDG directories, agent is missing.
//
//	[profiles/NAME/][agent/]sessions/**.jsonl
type profiles struct{}

// inProfile returns what follows the directory of a profile, and the directory agent, in a
// path.
func inProfile(path []byte) []byte {
	first, rest, _ := bytes.Cut(path, []byte("/"))
	if string(first) == "profiles" {
		_, path, _ = bytes.Cut(rest, []byte("/"))
		first, rest, _ = bytes.Cut(path, []byte("/"))
	}
	if string(first) == "agent" {
		return rest
	}
	return path
}

// Enter implements adapter.Layout.
func (profiles) Enter(dir []byte) bool {
	first, _, _ := bytes.Cut(inProfile(dir), []byte("/"))
	return len(first) == 0 || string(first) == sessionDirs[0]
}

// File implements adapter.Layout.
func (profiles) File(path []byte) adapter.Sort {
	first, rest, _ := bytes.Cut(inProfile(path), []byte("/"))
	if string(first) == sessionDirs[0] && len(rest) > 0 && bytes.HasSuffix(path, []byte(session.Extension)) {
		return adapter.Transcript
	}
	return adapter.Foreign
}

// parentOf returns the file of the session that a session in a directory of artifacts works
// for, "" for others. Relatives of pi keep the artifacts of TIME_ID.jsonl, and the sessions of
// its subagents, in TIME_ID beside it; those of a subagent's subagents are one level deeper.
func parentOf(agent, path string) string {
	dir := filepath.Dir(path)
	if agent != OhMyPiName && agent != PrimeName {
		return ""
	}
	for above := dir; ; above = filepath.Dir(above) {
		if at, id, ok := strings.Cut(filepath.Base(above), "_"); ok && len(at) >= len("2006-01-02T15-04-05") && at[10] == 'T' && id != "" {
			return dir + session.Extension
		}
		if filepath.Dir(above) == above {
			return ""
		}
	}
}

// ResumeCommand implements adapter.Resumer. A subagent goes on in the session that it works
// for.
func (a Relative) ResumeCommand(_ adapter.Environment, s *session.Summary) (dir string, argv []string) {
	name := s.Path
	switch {
	case s.Version == 0 || s.Version == libraryVersion:
		return "", nil
	case s.Relation == session.Spawned:
		if name = s.ParentSession; !isID(name) && !filepath.IsAbs(name) {
			return "", nil
		}
	}
	return s.CWD, []string{a.program, "--resume", name}
}

// Resume implements adapter.Resumer.
func (a Relative) Resume(env adapter.Environment, q *adapter.ResumeRequest) (*adapter.Resumption, error) {
	r := &adapter.Resumption{Install: a.install, Branches: "use /tree in " + a.program + " to go back to it"}
	no := func(why string) (*adapter.Resumption, error) {
		return nil, &adapter.Obstacle{Program: a.program, Reason: why}
	}
	s, gone := q.Session(r)
	switch {
	case gone != nil:
		return no(gone.Reason)
	case q.Packed:
		return no("its file is compressed")
	case s.Version == 0:
		return no("it has no session header")
	case s.Version == libraryVersion:
		return no("it is of format 4, which only pi's agent library writes")
	case s.ID == "":
		return no("its header has no id")
	}
	if r.Argv = []string{a.program, "--resume", s.Path}; q.Fork {
		if !isID(s.ID) { // it would stand on the command line
			return no("its id is not one that " + a.Label() + " writes: a UUID, or letters, digits, dots and dashes")
		}
		r.Argv = []string{a.program, "--fork", s.ID}
	}
	return r, nil
}
