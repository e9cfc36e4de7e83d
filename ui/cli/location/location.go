// Package location finds the session files and their index, and opens session files.
package location

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/content"
	"pigrep/internal/files"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/keep"
	"pigrep/query/engine/entry"
	"pigrep/remote"
	"pigrep/remote/opensearch"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/remotes"
)

// The environment variables of pigrep itself. Adapters define the variables of agents.
const (
	EnvIndexDir = "PIGREP_INDEX_DIR"
)

// Location is where sessions are read from and where their index is, in a run.
type Location struct {
	App      *app.App
	NoUpdate bool // use the index as it is
	Roots    []adapter.Root
	Agents   *adapter.Registry // of the files in the roots
	IndexDir string
	Archive  *keep.Archive // of kept sessions; nil if there is no place for one
	Rules    keep.Rules    // whose sessions are kept

	// Hosts are the other machines that are asked, without any if archives are; nil if only this machine
	// is. Elsewhere has the hosts or archives as sources of sessions.
	Hosts     *ssh.Hosts
	Elsewhere *Elsewhere
}

// Elsewhere is the archives, or hosts, that a run asks.
type Elsewhere struct {
	Sources  []remote.Source       // of whole sessions
	Archives []*opensearch.Archive // those of Sources that are archives
	Here     bool                  // the sessions of this machine too
	Host     string                // the name of this machine
}

// Names says which archives are asked.
func (e *Elsewhere) Names() string {
	names := "archive " + strings.Join(lists.Map(e.Archives, (*opensearch.Archive).Name), ", ")
	if e.Here {
		names += " and this machine"
	}
	return names
}

// Find resolves the session roots and the index directory, and checks that there is
// a readable root.
func Find(o *flags.Shared, a *app.App) (*Location, error) {
	p := &Location{App: a, NoUpdate: o.NoUpdate, Roots: Roots(o, a)}
	if err := cmp.Or(p.findHosts(o), p.findElsewhere(o)); err != nil {
		return nil, err
	}
	var err error
	if p.Elsewhere == nil || p.Elsewhere.Here {
		err = p.check(len(o.SessionDir) > 0)
	}
	if len(o.SessionDir) == 0 && (err != nil || p.Elsewhere == nil) {
		if samples, ok := samples(a); ok && (err != nil || !hasFiles(p.Roots)) {
			a.Advise("name a directory with sessions: --session-dir DIR", "no sessions on this machine: searching the samples in %s", samples.Path)
			p.Roots, err = []adapter.Root{samples}, nil
		}
	}
	for i := range p.Roots {
		p.Roots[i].Follow = o.Follow
	}
	p.Agents = a.Registry().In(p.Roots).Limit(adapter.Limits{
		Line: int64(o.MaxLine.Or(flags.StandardMaxLine)) * flags.Megabyte, Text: int64(o.MaxSession.Or(flags.StandardMaxSession)) * flags.Gigabyte,
	})
	if err := p.findIndex(o); err != nil {
		return nil, err
	}
	if a.DataDir != "" {
		p.Archive = &keep.Archive{Dir: filepath.Join(a.DataDir, "pigrep", "kept")}
		p.Rules = keep.Rules{Agents: o.Keep, Limit: int64(o.KeepLimit.Or(flags.StandardKeepLimit)) * flags.Megabyte,
			Pack: time.Duration(o.KeepCompress.Or(flags.StandardKeepCompress)) * 24 * time.Hour}
		content.KeptAt(p.Archive.Where)
	}
	return p, err
}

func (p *Location) findElsewhere(o *flags.Shared) (err error) {
	if len(o.From) == 0 {
		return nil
	}
	return p.findArchives(o, "")
}

func (p *Location) findArchives(o *flags.Shared, as string) (err error) {
	p.Hosts, p.Elsewhere = &ssh.Hosts{}, &Elsewhere{}
	p.Elsewhere.Archives, p.Elsewhere.Here, err = remotes.Archives(p.App, o.From, o.Wait, as)
	p.Elsewhere.Sources = lists.Map(p.Elsewhere.Archives, func(a *opensearch.Archive) remote.Source { return a })
	p.nameHost()
	return err
}

// As returns the location of the same archives, which are asked with the rights of a user.
func (p *Location) As(o *flags.Shared, user string) (*Location, error) {
	as := *p
	return &as, as.findArchives(o, user)
}

func (p *Location) nameHost() {
	if p.App.Hostname != nil {
		p.Elsewhere.Host, _ = p.App.Hostname() // without a name, copies of sessions are known by their ids
	}
}

// ResumeCommand returns the command of the agent that resumes a session, and where to run it; none
// for a session that is on another machine or gone.
func (p *Location) ResumeCommand(s *session.Summary) (dir string, argv []string) {
	if _, _, there := remote.Split(s.Path); s.Kept || p.Elsewhere != nil && there {
		return "", nil
	}
	return p.Agents.ResumeCommand(s)
}

// findIndex resolves the index directory, and checks that it may be one.
func (p *Location) findIndex(o *flags.Shared) (err error) {
	a := p.App
	named := cmp.Or(o.IndexDir, a.Getenv(EnvIndexDir))
	standard, err := DefaultIndexDir(a, p.Roots)
	switch {
	case named != "":
		p.IndexDir = a.Absolute(named)
	case err != nil:
		return err
	default:
		p.IndexDir = standard
	}
	// The default directory may be below a session directory such as the user's home: all
	// that is there is pigrep's.
	if p.IndexDir != standard {
		if err := p.checkApart(); err != nil {
			return err
		}
	}
	if err := index.Check(p.IndexDir); errors.Is(err, index.ErrForeign) {
		return problem.OfIndex(err)
	}
	return nil
}

// checkApart fails if the index directory is in a session directory, or around one.
func (p *Location) checkApart() error {
	for _, r := range p.Roots {
		if inside(p.IndexDir, r.Path) {
			return problem.WithSessions(p.IndexDir, "it is in", r.Path)
		}
		if inside(r.Path, p.IndexDir) {
			return problem.WithSessions(p.IndexDir, "it contains", r.Path)
		}
	}
	return nil
}

// inside reports whether a directory, which may be missing, is another one or below it, by
// whatever names.
func inside(dir, other string) bool {
	of, err := os.Stat(other)
	if err != nil {
		return false
	}
	for resolved := false; ; {
		if !resolved {
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				dir, resolved = real, true
			}
		}
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, of) {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

func Roots(o *flags.Shared, a *app.App) []adapter.Root {
	var roots []adapter.Root
	for _, dir := range o.SessionDir {
		path := a.Absolute(dir)
		roots = append(roots, adapter.Root{Path: path, Origin: "--session-dir"})
	}
	if len(roots) > 0 {
		return roots
	}
	roots, err := a.Registry().Roots()
	if err != nil {
		// Roots from other sources are still valid.
		a.Advise("fix it, or name the session directory: --session-dir DIR", "%v", err)
	}
	return roots
}

// Present returns the roots that exist, or all of them if none does.
func Present(roots []adapter.Root) []adapter.Root {
	there := slices.DeleteFunc(slices.Clone(roots), func(r adapter.Root) bool { _, err := os.Stat(r.Path); return err != nil })
	if len(there) == 0 {
		return roots
	}
	return there
}

func DefaultIndexDir(a *app.App, roots []adapter.Root) (string, error) {
	if a.CacheDir == "" {
		return "", &problem.Error{Code: problem.CodeIO, Message: "no place for the index: this user has no cache directory",
			Hint: "name one: --index-dir DIR, or set $" + EnvIndexDir}
	}
	return filepath.Join(IndexesDir(a), hashRoots(roots, a.Agents[0].Name())), nil
}

// IndexesDir returns the directory of the default index directories, "" if there is none.
func IndexesDir(a *app.App) string {
	if a.CacheDir == "" {
		return ""
	}
	return filepath.Join(a.CacheDir, "pigrep")
}

// hashRoots returns a name for the index of these roots, independent of their order. Usual roots do
// not count, so that an agent that is new, to this program or on this machine, adds to the index
// that is there. The usual roots of the first agent do count, because they always have.
func hashRoots(roots []adapter.Root, first string) string {
	var paths []string
	for _, r := range roots {
		if r.Usual && r.Agent != first {
			continue
		}
		path := r.Path
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return fmt.Sprintf("%016x", xxhash.Sum64String(strings.Join(slices.Compact(paths), "\x00")))
}

// check fails if there is no directory to read. Every directory named with a flag must
// exist; of the agents' directories one is enough, and missing ones that were
// configured are a warning.
func (p *Location) check(named bool) error {
	var missing, set []error
	for _, root := range p.Roots {
		err := checkRoot(root)
		if err == nil {
			continue
		}
		if named {
			return err
		}
		missing = append(missing, err)
		if !root.Usual {
			set = append(set, err)
		}
	}
	if len(missing) < len(p.Roots) {
		for _, err := range set {
			p.App.Advise("`pigrep status` lists the session directories", "%v", err)
		}
		return nil
	}
	if len(missing) == 0 {
		return &problem.Error{Code: problem.CodeNoSessions, Message: "no session directory is known on this machine",
			Hint: "name one: pigrep --session-dir DIR QUERY"}
	}
	hint := "start an agent once, or name a directory with sessions: --session-dir DIR; `pigrep status` says where they are looked for"
	if len(set) == 0 {
		names := lists.Map(p.App.Agents, func(agent adapter.Agent) string { return agent.Label() })
		return &problem.Error{Code: problem.CodeNoSessions, Message: "no sessions on this machine of " + strings.Join(names, ", "), Hint: hint}
	}
	if len(set) == 1 {
		return set[0]
	}
	return &problem.Error{Code: problem.CodeNoSessions, Message: set[0].Error() + fmt.Sprintf(" (and %d more)", len(set)-1), Hint: hint}
}

func checkRoot(root adapter.Root) error {
	info, err := os.Stat(root.Path)
	if err == nil && info.IsDir() {
		var dir *os.File
		if dir, err = os.Open(root.Path); err == nil {
			dir.Close()
			return nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &problem.Error{Code: problem.CodeNoSessions,
			Message: fmt.Sprintf("no sessions: %s does not exist (%s)", root.Path, root.Origin),
			Hint:    "start an agent once, or name a directory with sessions: --session-dir DIR"}
	case err != nil:
		return &problem.Error{Code: problem.CodeNoSessions, Message: fmt.Sprintf("cannot read %s (%s)", root.Path, root.Origin), Err: errors.Unwrap(err),
			Hint: "check its permissions, or name another directory: --session-dir DIR"}
	}
	return &problem.Error{Code: problem.CodeNoSessions,
		Message: fmt.Sprintf("%s is a file, not a directory (%s)", root.Path, root.Origin),
		Hint:    "name its directory: --session-dir " + filepath.Dir(root.Path)}
}

// samples returns the sample sessions if pigrep runs in its own source tree, so that it
// can be tried without an agent.
func samples(a *app.App) (adapter.Root, bool) {
	mod, err := files.ReadSettings(filepath.Join(a.WorkDir, "go.mod"))
	if err != nil || !strings.HasPrefix(string(mod), "module pigrep\n") {
		return adapter.Root{}, false
	}
	dir := filepath.Join(a.WorkDir, "testdata", "sessions")
	info, err := os.Stat(dir)
	own := adapter.Within(files.RealPath(a.WorkDir), files.RealPath(dir)) // another repository may call itself so, and lead elsewhere
	return adapter.Root{Path: dir, Origin: "samples"}, err == nil && info.IsDir() && own
}

// hasFiles reports whether there is a file that may be a session below one of the roots.
func hasFiles(roots []adapter.Root) (found bool) {
	for _, r := range roots {
		_ = filepath.WalkDir(r.Path, func(path string, d fs.DirEntry, err error) error { // what cannot be read is said later
			found = found || err == nil && !d.IsDir() && (r.Layout == nil || r.Layout.File([]byte(session.Slashed(strings.TrimPrefix(path[len(r.Path):], string(filepath.Separator))))) != adapter.Foreign)
			if found || errors.Is(err, fs.ErrPermission) {
				found = true
				return filepath.SkipAll
			}
			return nil
		})
	}
	return found
}

// Disk opens session files for package query.
type Disk struct{ Limits adapter.Limits }

// Open implements entry.Source.
func (d Disk) Open(path string) (entry.File, error) {
	f, err := content.Open(path, d.Limits.Text)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Disk returns the source of the session files of this machine.
func (p *Location) Disk() Disk { return Disk{adapter.LimitsOf(p.Agents)} }

// IsFile reports whether there is a session at a path.
func IsFile(path string) bool {
	info, err := content.Stat(path)
	return err == nil && !info.IsDir()
}

// allHosts is what --on calls the hosts of the setting.
const allHosts = "all"

// findHosts reads --on.
func (p *Location) findHosts(o *flags.Shared) error {
	if len(o.On) == 0 {
		return nil
	}
	if len(o.From) > 0 {
		return problem.Usagef("ask one after the other", "--on and --from cannot be combined")
	}
	list, here, err := Hosts(o)
	if err != nil {
		return err
	}
	options := HostOptions(p.App, o)
	if options.Glance = 300 * time.Millisecond; len(list) == 1 && !here { // nobody else answers meanwhile
		options.Glance = time.Second
	}
	p.Hosts = &ssh.Hosts{Clients: lists.Map(list, func(h ssh.Host) *ssh.Client { return ssh.NewClient(h, options) })}
	p.Elsewhere = &Elsewhere{Sources: lists.Map(p.Hosts.Clients, func(c *ssh.Client) remote.Source { return c }), Here: here} // for whole sessions
	p.nameHost()
	return nil
}

// HostOptions returns the options for asking hosts; with them, each host is waited for.
func HostOptions(a *app.App, o *flags.Shared) ssh.Options {
	dir := ""
	if a.TempDir != "" {
		dir = filepath.Join(a.TempDir, fmt.Sprintf("pigrep-%d", os.Getuid()))
	}
	if own := a.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(own) {
		dir = filepath.Join(own, "pigrep")
	}
	options := ssh.Options{
		Dir: dir, Version: a.Version, Schema: index.SchemaVersion, Wait: o.Wait, Zone: a.Zone().String(), Environ: a.Environ(), Now: a.Now,
	}
	if o.Reveal {
		options.Flags = append(options.Flags, "--reveal")
	}
	if o.NoUpdate {
		options.Flags = append(options.Flags, "--no-update")
	}
	return options
}

// Hosts returns the hosts that --on names, and whether this machine is among them. Without --on it
// returns the hosts of the setting.
func Hosts(o *flags.Shared) (list []ssh.Host, here bool, err error) {
	known := make(map[string]ssh.Host) // of the setting
	var names []string
	for _, text := range o.Hosts {
		h, err := ssh.ParseHost(text)
		if err != nil {
			return nil, false, hostProblem("setting hosts", err)
		}
		known[h.Name] = h
		names = append(names, h.Name)
	}
	add := func(h ssh.Host) {
		if !slices.ContainsFunc(list, func(x ssh.Host) bool { return x.Name == h.Name }) {
			list = append(list, h)
		}
	}
	asked := o.On
	if len(asked) == 0 {
		asked = []string{allHosts}
	}
	for _, name := range split(asked) {
		switch h, ok := known[name]; {
		case name == remotes.Here:
			here = true
		case name == allHosts:
			for _, name := range names {
				add(known[name])
			}
		case ok:
			add(h)
		default:
			if h, err = ssh.ParseHost(name); err != nil {
				return nil, false, hostProblem("--on", err)
			}
			add(h)
		}
	}
	if len(list) == 0 && len(o.On) > 0 {
		if slices.Contains(o.On, allHosts) {
			return nil, here, problem.Usagef(`list them in the settings file: hosts = ["laptop", "server"]`, "--on all: the setting hosts lists none")
		}
		return nil, here, problem.Usagef("leave out --on for the sessions of this machine", "--on names no other machine")
	}
	return list, here, nil
}

// HostNames returns the names that --on takes: of the setting, and of the settings of ssh.
func HostNames(a *app.App, setting []string) []string {
	names := []string{remotes.Here, allHosts}
	for _, text := range setting {
		if h, err := ssh.ParseHost(text); err == nil {
			names = append(names, h.Name)
		}
	}
	config, err := files.Open(filepath.Join(a.Home, ".ssh", "config"))
	if err != nil {
		return names
	}
	defer config.Close()
	for _, name := range ssh.ConfigHosts(config) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// split splits values at their commas. A command has its own.
func split(values []string) (names []string) {
	for _, value := range values {
		if strings.Contains(value, "cmd:") {
			names = append(names, value)
			continue
		}
		names = append(names, lists.Map(strings.Split(value, ","), strings.TrimSpace)...)
	}
	return names
}

func hostProblem(where string, err error) error {
	if e, ok := errors.AsType[*ssh.NameError](err); ok {
		return problem.Usagef("write it as ssh takes it, such as laptop or me@server; docker:NAME and cmd:COMMAND reach containers", "%s: %v", where, e)
	}
	return err
}
