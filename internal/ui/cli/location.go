package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/indexer"
)

// The environment variables of pigrep itself; adapters define those of agents.
const (
	envIndexDir = "PIGREP_INDEX_DIR"
)

// environment is what adapters can see of the machine.
func (a *App) environment() adapter.Environment {
	return adapter.Environment{Home: a.Home, WorkDir: a.WorkDir, Getenv: a.Getenv, ReadFile: os.ReadFile}
}

// absolute resolves a path from the command line in the same way as pi.
func (a *App) absolute(path string) string { return adapter.Absolute(path, a.environment()) }

// registry returns the registry of agents. Before In sets the roots, it assigns every
// file to the first agent.
func (a *App) registry() *adapter.Registry {
	return adapter.NewRegistry(a.environment(), a.Agents...)
}

// location is where sessions are read from and where their index is.
type location struct {
	roots    []adapter.Root
	agents   *adapter.Registry // of the files in the roots
	indexDir string
}

// locate resolves the session roots and the index directory, and checks that there is
// a readable root.
func (o *sharedOptions) locate(a *App) (*location, error) {
	p := &location{roots: o.roots(a)}
	err := p.check(a, len(o.sessionDir) > 0)
	if err != nil && len(o.sessionDir) == 0 {
		if samples, ok := a.samples(); ok {
			a.advise("name a directory with sessions: --session-dir DIR", "no pi sessions on this machine: searching the samples in %s", samples.Path)
			p.roots, err = []adapter.Root{samples}, nil
		}
	}
	for i := range p.roots {
		p.roots[i].Follow = o.follow
	}
	p.agents = a.registry().In(p.roots).Limit(int64(o.maxLine.or(standardMaxLine)) * megabyte)
	p.indexDir = o.indexDir
	if p.indexDir == "" {
		p.indexDir = a.Getenv(envIndexDir)
	}
	if p.indexDir != "" {
		p.indexDir = a.absolute(p.indexDir)
		return p, err
	}
	var dirErr error
	if p.indexDir, dirErr = a.indexDir(p.roots); dirErr != nil {
		return nil, dirErr
	}
	return p, err
}

// roots returns the roots of --session-dir, or those of the agents.
func (o *sharedOptions) roots(a *App) []adapter.Root {
	var roots []adapter.Root
	for _, dir := range o.sessionDir {
		path := a.absolute(dir)
		roots = append(roots, adapter.Root{Path: path, Origin: "--session-dir", Agent: indexer.AgentOf(a.registry(), path)})
	}
	if len(roots) > 0 {
		return roots
	}
	roots, err := a.registry().Roots()
	if err != nil {
		// Roots from other sources are still valid.
		a.advise("fix it, or name the session directory: --session-dir DIR", "%v", err)
	}
	return roots
}

// indexDir returns the default index directory of these roots.
func (a *App) indexDir(roots []adapter.Root) (string, error) {
	if a.CacheDir == "" {
		return "", &problem{code: codeIO, message: "no place for the index: this user has no cache directory",
			hint: "name one: --index-dir DIR, or set $" + envIndexDir}
	}
	return filepath.Join(a.CacheDir, "pigrep", hashRoots(roots)), nil
}

// hashRoots returns a name for the index of these roots, independent of their order.
func hashRoots(roots []adapter.Root) string {
	var paths []string
	for _, r := range roots {
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
func (p *location) check(a *App, named bool) error {
	var missing, set []error
	for _, root := range p.roots {
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
	if len(missing) < len(p.roots) {
		for _, err := range set {
			a.advise("`pigrep status` lists the session directories", "%v", err)
		}
		return nil
	}
	if len(missing) == 0 {
		return &problem{code: codeNoSessions, message: "no session directory is known on this machine",
			hint: "name one: pigrep --session-dir DIR QUERY"}
	}
	if len(missing) == 1 {
		return missing[0]
	}
	return &problem{code: codeNoSessions, message: missing[0].Error() + fmt.Sprintf(" (and %d more)", len(missing)-1),
		hint: "`pigrep status` lists the session directories; --session-dir DIR names another one"}
}

func checkRoot(root adapter.Root) error {
	info, err := os.Stat(root.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &problem{code: codeNoSessions,
			message: fmt.Sprintf("no sessions: %s does not exist (%s)", root.Path, root.Origin),
			hint:    "start pi once, or name a directory with sessions: --session-dir DIR"}
	case err != nil:
		return &problem{code: codeNoSessions, message: fmt.Sprintf("read %s (%s)", root.Path, root.Origin), err: errors.Unwrap(err),
			hint: "check its permissions, or name another directory: --session-dir DIR"}
	case !info.IsDir():
		return &problem{code: codeNoSessions,
			message: fmt.Sprintf("%s is a file, not a directory (%s)", root.Path, root.Origin),
			hint:    "name its directory: --session-dir " + filepath.Dir(root.Path)}
	}
	if d, err := os.Open(root.Path); err != nil {
		return &problem{code: codeNoSessions, message: fmt.Sprintf("read %s (%s)", root.Path, root.Origin), err: errors.Unwrap(err),
			hint: "check its permissions, or name another directory: --session-dir DIR"}
	} else {
		d.Close()
	}
	return nil
}

// samples returns the sample sessions if pigrep runs in its own source tree, so that it
// can be tried without pi.
func (a *App) samples() (adapter.Root, bool) {
	mod, err := os.ReadFile(filepath.Join(a.WorkDir, "go.mod"))
	if err != nil || !strings.HasPrefix(string(mod), "module pigrep\n") {
		return adapter.Root{}, false
	}
	dir := filepath.Join(a.WorkDir, "testdata", "sessions")
	info, err := os.Stat(dir)
	return adapter.Root{Path: dir, Origin: "samples"}, err == nil && info.IsDir()
}
