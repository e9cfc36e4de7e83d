package sessions

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"pigrep/index"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
)

// Lineage records which session was forked from which or works for which, and which files are
// parts of one session, as the headers say. A parent that was moved is recognized by its file
// name or id. It is used by one goroutine.
type Lineage struct {
	all      Source
	sessions []member
	chains   *session.Chains
	parents  []int // -1: none, or not indexed
	forks    map[int][]int
	owners   []int       // of subagents, the session that started it; -1: none, or not indexed. Built by Owner, like the next
	workers  map[int]int // how many subagents work for a session in the end
}

// Source has the summaries of all files, ordered by path. It must not change.
type Source interface {
	Beginnings() iter.Seq2[int, *session.Summary] // at least their headers
	Summary(i int) *session.Summary
	Chains() *session.Chains
}

// member is what a lineage knows of every file, however many there are.
type member struct {
	path, id, part, parent string
	relation               session.Relation
}

// NewLineage returns the lineage of the sessions of an index. It shares the memory of that.
func NewLineage(all Source) *Lineage {
	l := &Lineage{all: all, chains: all.Chains(), forks: make(map[int][]int)}
	for _, s := range all.Beginnings() {
		l.sessions = append(l.sessions, member{s.Path, s.ID, s.Part, s.ParentSession, s.Relation})
	}
	sessions := l.sessions
	l.parents = make([]int, len(sessions))
	for i := range sessions {
		l.parents[i] = -1
	}
	found := l.findParents()
	for i := range sessions {
		s := &sessions[i]
		if s.parent == "" || s.relation == session.Reverted {
			continue
		}
		if p := l.Head(found[s.parent]); p >= 0 && p != i {
			l.parents[i] = p
			if s.relation != session.Spawned {
				l.forks[p] = append(l.forks[p], i)
			}
		}
	}
	return l
}

// Head returns the file where the session of file i goes on: for most files, i itself.
func (l *Lineage) Head(i int) int {
	if i < 0 {
		return i
	}
	path := l.sessions[i].path
	if head := l.chains.Head(path); head != path {
		return l.IndexOf(head)
	}
	return i
}

// Owner returns the session that started subagent i; -1 for others, or if it is not indexed.
// Files in a directory NAME are subagents of NAME.jsonl beside it, unless they say otherwise.
func (l *Lineage) Owner(i int) int {
	if l.owners == nil {
		l.findOwners()
	}
	return l.owners[i]
}

// Root returns the session that a subagent works for in the end; for others i.
func (l *Lineage) Root(i int) int {
	for at := l.Owner(i); at >= 0; at = l.owners[i] {
		i = at
	}
	return i
}

// Started returns the subagents that session i started itself, in the order of their paths.
func (l *Lineage) Started(i int) (list []*session.Summary) {
	if l.Subagents(i) == 0 {
		return nil
	}
	for k, owner := range l.owners {
		if owner == i && l.Head(k) == k {
			list = append(list, l.all.Summary(k))
		}
	}
	return list
}

func (l *Lineage) Session(i int) *session.Summary { return l.all.Summary(i) }

// Subagents returns how many subagents work for session i in the end.
func (l *Lineage) Subagents(i int) int {
	l.Owner(i)
	return l.workers[i]
}

// Whole returns the summary of session i, of all of its files if there are several.
func (l *Lineage) Whole(i int) *session.Summary {
	return l.chains.Whole(l.all.Summary(i), func(path string) *session.Summary { return l.all.Summary(l.IndexOf(path)) })
}

// Listed reports whether file i stands for its session in lists: it is neither an earlier part
// of it nor a subagent of another one.
func (l *Lineage) Listed(i int) bool { return l.Owner(i) < 0 && l.Head(i) == i }

func (l *Lineage) findOwners() {
	l.owners, l.workers = make([]int, len(l.sessions)), make(map[int]int)
	enclosing := make(map[string]int)
	for i := range l.sessions {
		s := &l.sessions[i]
		l.owners[i] = -1
		switch {
		case s.relation == session.Spawned && l.parents[i] >= 0:
			l.owners[i] = l.parents[i]
		case s.relation == session.Unrelated:
			l.owners[i] = l.Head(l.enclosing(parentDir(s.path), enclosing))
		}
	}
	for i, owner := range l.owners {
		if head := l.Head(i); head != i && l.owners[head] < 0 && owner != head {
			l.owners[head] = owner // what goes on elsewhere does not say again whose it is
		}
	}
	roots := make([]int, len(l.sessions)) // and one more; 0 while it is not known, -1 while it is searched for
	var way []int
	for i := range roots {
		at := i
		way = way[:0]
		for ; roots[at] == 0 && l.owners[at] >= 0; at = l.owners[at] {
			roots[at], way = -1, append(way, at)
		}
		if roots[at] < 0 { // a circle
			l.owners[at] = -1
		}
		if l.owners[at] < 0 {
			roots[at] = at + 1
		}
		for _, k := range way {
			if roots[k] = roots[at]; k != at && l.Head(k) == k {
				l.workers[roots[at]-1]++
			}
		}
	}
}

// enclosing returns the session beside dir that has its name, or beside a directory above; -1
// for none. known has earlier results.
func (l *Lineage) enclosing(dir string, known map[string]int) int {
	if dir == "" {
		return -1
	}
	at, ok := known[dir]
	if !ok {
		if at = l.IndexOf(dir + session.Extension); at < 0 {
			at = l.enclosing(parentDir(dir), known)
		}
		known[dir] = at
	}
	return at
}

func parentDir(path string) string { return path[:max(0, strings.LastIndexAny(path, `/\`))] }

// findParents returns for each name of a parent in a header the session that it names, or -1.
// Few sessions are the parents of many: only what may be one is remembered.
func (l *Lineage) findParents() map[string]int {
	found := make(map[string]int)
	bases, ids := make(map[string][]int), make(map[string][]int) // the sessions with the file names and ids of parents
	fileOf := func(name string) (base, id string) {
		base = path.Base(session.Slashed(name))
		_, id, _ = strings.Cut(session.BaseName(base), "_")
		return base, id
	}
	for i := range l.sessions {
		name := l.sessions[i].parent
		if _, known := found[name]; known || name == "" {
			continue
		}
		if found[name] = l.IndexOf(name); found[name] < 0 {
			base, id := fileOf(name)
			bases[base], ids[id], ids[name] = nil, nil, nil // some headers name an id
		}
	}
	if len(bases) == 0 {
		return found
	}
	for i := range l.sessions {
		s := &l.sessions[i]
		base := path.Base(session.Slashed(s.path))
		if list, wanted := bases[base]; wanted {
			bases[base] = append(list, i)
		}
		if list, wanted := ids[s.id]; wanted && s.id != "" {
			ids[s.id] = append(list, i)
		}
	}
	for name, at := range found {
		base, id := fileOf(name)
		switch {
		case at >= 0:
		case len(bases[base]) == 1:
			found[name] = bases[base][0]
		case len(ids[name]) > 0:
			found[name] = ids[name][0]
		case len(ids[id]) > 0:
			found[name] = ids[id][0]
		}
	}
	return found
}

// Parent returns the session that session i was forked from; nil when its header
// names none, or one that is not indexed.
func (l *Lineage) Parent(i int) *session.Summary {
	if p := l.parents[i]; p >= 0 {
		return l.all.Summary(p)
	}
	return nil
}

// Forks returns the sessions that name session i as their parent, oldest first.
func (l *Lineage) Forks(i int) []*session.Summary {
	list := lists.Map(l.forks[i], l.all.Summary)
	slices.SortStableFunc(list, func(a, b *session.Summary) int { return a.Created().Compare(b.Created()) })
	return list
}

// Family returns session i, its ancestors and forks with theirs, and the other files with
// an id of them; none for -1.
func (l *Lineage) Family(i int) map[int]bool {
	family := make(map[int]bool)
	if i < 0 {
		return family
	}
	for left := []int{i}; len(left) > 0; {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		if family[at] {
			continue
		}
		family[at] = true
		left = append(append(left, l.forks[at]...), lists.Map(l.chains.SameID(l.sessions[at].path), l.IndexOf)...)
		if p := l.parents[at]; p >= 0 {
			left = append(left, p)
		}
	}
	return family
}

// IndexOf returns the number of the session with this path, or -1.
func (l *Lineage) IndexOf(path string) int {
	i := sort.Search(len(l.sessions), func(i int) bool { return l.sessions[i].path >= path })
	if i == len(l.sessions) || l.sessions[i].path != path {
		return -1
	}
	return i
}

// families orders sessions by family: a parent before its forks, the family with the
// latest activity first. depth has how many ancestors of each are among the members.
func (l *Lineage) families(members []int) (order, depth []int) {
	in := make(map[int]bool, len(members))
	for _, i := range members {
		in[i] = true
	}
	root := func(i int) int {
		for seen := map[int]bool{}; l.parents[i] >= 0 && in[l.parents[i]] && !seen[i]; i = l.parents[i] {
			seen[i] = true
		}
		return i
	}
	latest := make(map[int]int64)
	roots := make(map[int]bool)
	for _, i := range members {
		r := root(i)
		roots[r] = true
		latest[r] = max(latest[r], l.all.Summary(i).Modified().UnixNano())
	}
	first := slices.SortedFunc(maps.Keys(roots), func(a, b int) int { return cmp.Or(cmp.Compare(latest[b], latest[a]), cmp.Compare(a, b)) })
	var add func(i, ancestors int)
	add = func(i, ancestors int) {
		if !in[i] {
			return
		}
		in[i] = false // it is in the order
		order, depth = append(order, i), append(depth, ancestors)
		for _, f := range l.forks[i] {
			add(f, ancestors+1)
		}
	}
	for _, r := range first {
		add(r, 0)
	}
	return order, depth
}

// Marks returns for each entry of a session a hash of what it has in common with its copies in
// forks, which keep ids and times. Entries without an id of their own are told by time, type and
// length.
func Marks(rec *session.Record) []uint32 {
	marks := make([]uint32, len(rec.Nodes))
	for i := range rec.Nodes {
		n, h := &rec.Nodes[i], fnv.New32a()
		if strings.HasPrefix(n.ID, "@") {
			fmt.Fprintf(h, "%s/%s\x00%d\x00%d", n.Type, n.Role, n.Time, n.Length)
		} else {
			fmt.Fprintf(h, "%s\x00%d", n.ID, n.Time)
		}
		marks[i] = h.Sum32()
	}
	return marks
}

// Shared returns how many entries of a fork were copied from the session with these marks.
func Shared(fork *session.Record, parent []uint32) (shared int) {
	all := make(map[uint32]bool, len(parent))
	for _, m := range parent {
		all[m] = true
	}
	for _, m := range Marks(fork) {
		if all[m] {
			shared++
		}
	}
	return shared
}

// History returns the records of the files with the history of a session, the oldest first and its own
// last. missing is the session in which the history begins, if that session is not indexed or its file
// is gone.
func History(r *index.Reader, src entry.Source, own *session.Record) (files []*session.Record, missing string, err error) {
	if twins := r.Chains().Twins(own.Path); own.Base.Session == "" && len(twins) > 0 {
		for _, path := range slices.Backward(twins) {
			if i, ok := r.Table().Find(path); ok && isThere(src, path) {
				rec, err := r.Record(r.Table().File(i))
				if err != nil {
					return nil, "", err
				}
				if rec != nil {
					files = append(files, rec)
				}
			}
		}
		return append(files, own), "", nil
	}
	seen := make(map[string]bool)
	for rec := own; ; {
		files, seen[rec.Path] = append(files, rec), true
		base := r.Chains().Base(rec.Path)
		if rec.Base.Session == "" || seen[base] || rec.Base.Session == rec.ID && rec.Base.Part == rec.Part {
			break
		}
		missing = PartName(rec.Base.Session, rec.Base.Part)
		i, ok := r.Table().Find(base)
		if !ok || !isThere(src, base) {
			break
		}
		if rec, err = r.Record(r.Table().File(i)); err != nil || rec == nil {
			break
		}
		missing = ""
	}
	slices.Reverse(files)
	return files, missing, err
}

func isThere(src entry.Source, path string) bool {
	f, err := src.Open(path)
	if err == nil {
		f.Close()
	}
	return err == nil
}

func PartName(id, part string) string {
	if part == "" {
		return id
	}
	return id + "_" + part
}
