package pi

import (
	"bytes"
	_ "embed"
	"path/filepath"
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
type Relative struct{ family }

//go:embed stores_omp.txt
var ohMyPiStores string

//go:embed stores_prime.txt
var primeStores string

// OhMyPi is oh-my-pi (omp), which has several profiles, and begins its files with the title.
type OhMyPi struct{ Relative }

// NewOhMyPi returns the adapter for oh-my-pi.
func NewOhMyPi() OhMyPi {
	return OhMyPi{Relative{family{&adapter.Profile{
		ID: OhMyPiName, Title: "oh-my-pi", Homes: "$" + agentDirVariable + " ~/$" + configNameVariable + "/agent ~/.omp/agent", Resuming: resuming("omp", "bun install -g @oh-my-pi/pi-coding-agent"), Kept: ohMyPiStores,
		Variables: []adapter.Variable{
			{Name: configNameVariable, Use: "oh-my-pi's directory below the home directory, in place of .omp; the sessions of all profiles in it are searched"},
			{Name: dataVariable, Use: "its omp/ has oh-my-pi's sessions, if oh-my-pi was told to keep them there"},
		},
	}}}}
}

// NewPrime returns the adapter for Prime Agent.
func NewPrime() Relative {
	return Relative{family{&adapter.Profile{
		ID: PrimeName, Title: "Prime Agent", Homes: "$" + primeDirVariable + " ~/.prime/agent", Resuming: resuming("prime-agent", "npm install -g prime-agent"), Kept: primeStores,
		Variables: []adapter.Variable{
			{Name: primeSessionsVariable, Use: "where Prime Agent keeps sessions, in place of ~/.prime/agent/sessions", Path: true},
			{Name: primeDirVariable, Use: "Prime Agent's directory, in place of ~/.prime/agent; its sessions/ is searched", Path: true},
		},
	}}}
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
func (OhMyPi) Recognize(head []byte) adapter.Sort {
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

// Roots implements adapter.Agent for Prime Agent.
func (Relative) Roots(env adapter.Environment) ([]adapter.Root, error) {
	return adapter.Places(env, "$"+primeSessionsVariable+" $"+primeDirVariable+"/sessions ~/.prime/agent/sessions"), nil
}

// Roots implements adapter.Agent: the directories of all profiles. The directory that oh-my-pi and pi share
// by a variable is pi's: what a file says decides whose it is.
func (OhMyPi) Roots(env adapter.Environment) ([]adapter.Root, error) {
	data := env.Getenv(dataVariable)
	if !filepath.IsAbs(data) {
		data = filepath.Join(env.Home, ".local", "share")
	}
	// It is there if a person asked for it; the variable is set for other reasons.
	roots := append(adapter.Places(env, "~/$"+configNameVariable+" ~/.omp"), adapter.Root{Path: filepath.Join(data, "omp"), Origin: "default", Usual: true})
	for i := range roots {
		roots[i].Layout = adapter.NewLayout("", profiles)
	}
	return roots, nil
}

// profiles are the sessions in oh-my-pi's directory. With XDG directories, agent is missing.
const profiles = `
	sessions/**/*.jsonl
	agent/sessions/**/*.jsonl
	profiles/*/sessions/**/*.jsonl
	profiles/*/agent/sessions/**/*.jsonl
`

// Home implements adapter.Homed.
func (a OhMyPi) Home(has func(name string) bool) adapter.Layout {
	if has("agent/sessions/") || has("profiles/") {
		return adapter.NewLayout("", profiles)
	}
	return a.Relative.Home(has)
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

// resuming is how a relative resumes sessions.
func resuming(program, install string) adapter.Resuming {
	return adapter.Resuming{
		Program: program, Install: install, Args: "--resume PATH", ForkArgs: "--fork ID", IsID: isID, IDs: "a UUID, or letters, digits, dots and dashes", Branches: "use /tree in " + program + " to go back to it",
		Refuses: func(_ adapter.Environment, s *session.Summary, _ *adapter.ResumeRequest) (reason, hint string) {
			if s.Version == libraryVersion {
				return "it is of format 4, which only pi's agent library writes", ""
			}
			return "", ""
		},
	}
}
