package indexer

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/keep"
)

// Keeping is what an update did for the archive of kept sessions. An error of it is none of
// the index.
type Keeping struct {
	keep.Report
	Err error
}

// addKept adds what the archive has of files below the roots that are not there any more. A
// copy stands where its original was, and looks like that, so that the index of it stays as
// it is.
func (f *Found) addKept(a *keep.Archive) {
	if a == nil {
		return
	}
	rows, err := a.Copies()
	if err != nil {
		f.Unkept = err
		return
	}
	var roots []string
	for _, r := range f.Roots {
		if r.Err == nil || errors.Is(r.Err, fs.ErrNotExist) {
			roots = append(roots, filepath.Clean(r.Path)+string(filepath.Separator))
		}
	}
	// reaches reports whether a file would have been found if it were there.
	reaches := func(path string) bool {
		return slices.ContainsFunc(roots, func(r string) bool { return strings.HasPrefix(path, r) }) && f.unreadable(path) == nil
	}
	var kept []File
	for i := range rows {
		c := &rows[i]
		_, there := f.find(c.Path)
		if (!there || c.Earlier) && c.State == keep.Kept && reaches(c.Path) {
			kept = append(kept, File{Path: c.Name(), Size: c.Size, Mtime: c.Mtime, Ctime: c.Ctime, Inode: c.Inode, Packed: c.Packed, Kept: true})
		}
	}
	if kept != nil {
		f.Files = append(f.Files, kept...)
		slices.SortFunc(f.Files, byPath)
	}
}

// keep copies what is new in the files of the agents whose sessions are kept, at most so many
// bytes; 0 for no limit.
func (o Options) keep(ctx context.Context, found *Found, most int64) (k Keeping) {
	if o.Archive == nil || len(o.Rules.Agents) == 0 {
		return k
	}
	type place struct{ prefix, agent string }
	var places []place
	for _, r := range o.Roots {
		if agent := session.ShortAgent(r.Agent); agent != "" {
			places = append(places, place{filepath.Clean(r.Path) + string(filepath.Separator), agent})
		}
	}
	lists.SortStable(places, func(a, b place) int { return len(b.prefix) - len(a.prefix) }) // the deepest first
	var list []keep.File
	for _, f := range found.Files {
		at := slices.IndexFunc(places, func(p place) bool { return strings.HasPrefix(f.Path, p.prefix) })
		if at < 0 || f.Kept || f.Err != nil || !slices.Contains(o.Rules.Agents, places[at].agent) || found.sort(f.Path) == adapter.Notes {
			continue
		}
		list = append(list, keep.File{Path: f.Path, Agent: places[at].agent, Stamp: keep.Stamp{Size: f.Size, Mtime: f.Mtime, Ctime: f.Ctime, Inode: f.Inode, Packed: f.Packed}})
	}
	o.Rules.Now, o.Rules.Volatile = o.Now, o.volatile
	k.Report, k.Err = o.Archive.Update(ctx, list, o.Rules, most)
	if errors.Is(k.Err, keep.ErrBusy) || ctx.Err() != nil {
		k.Err = nil // the other process copies it, or the next update
	}
	return k
}

func (o Options) volatile(agent string, head []byte) (n int64) {
	for _, x := range adapter.Agents(o.Adapter) {
		if w, ok := x.(adapter.Overwriter); ok && session.ShortAgent(x.Name()) == agent {
			n = max(n, w.Volatile(head))
		}
	}
	return n
}
