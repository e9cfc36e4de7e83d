package sessions

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"pigrep/index"
	"pigrep/internal/session"
)

// Lineage records which session was forked from which, as the headers say. A parent
// that was moved is recognized by its file name or id. It is used by one goroutine.
type Lineage struct {
	sessions []session.Summary
	byPath   map[string]int   // built by IndexOf
	byBase   map[string]int   // by file name; -1: several. This and the next two are built by index
	byID     map[string]int   // the first of several
	twins    map[string][]int // by id, of ids that several files have
	parents  []int            // -1: none, or not indexed
	forks    map[int][]int
}

// NewLineage returns the lineage of the sessions, which must not change while it is
// in use.
func NewLineage(sessions []session.Summary) *Lineage {
	l := &Lineage{
		sessions: sessions,
		parents:  make([]int, len(sessions)),
		forks:    make(map[int][]int),
	}
	forked := false
	for i := range sessions {
		l.parents[i] = -1
		forked = forked || sessions[i].ParentSession != ""
	}
	if !forked {
		return l
	}
	for i := range sessions {
		if sessions[i].ParentSession == "" {
			continue
		}
		if p := l.find(sessions[i].ParentSession); p >= 0 && p != i {
			l.parents[i] = p
			l.forks[p] = append(l.forks[p], i)
		}
	}
	return l
}

// find returns the session that a header names as its parent, or -1.
func (l *Lineage) find(name string) int {
	if i := l.IndexOf(name); i >= 0 {
		return i
	}
	l.index()
	base := path.Base(session.Slashed(name))
	if i, ok := l.byBase[base]; ok && i >= 0 {
		return i
	}
	if i, ok := l.byID[name]; ok { // some headers name an id
		return i
	}
	if _, id, ok := strings.Cut(session.BaseName(base), "_"); ok {
		if i, ok := l.byID[id]; ok {
			return i
		}
	}
	return -1
}

func (l *Lineage) index() {
	if l.byID != nil {
		return
	}
	l.byBase, l.byID = make(map[string]int, len(l.sessions)), make(map[string]int, len(l.sessions))
	l.twins = make(map[string][]int)
	for i := range l.sessions {
		s := &l.sessions[i]
		base := path.Base(session.Slashed(s.Path))
		if _, ok := l.byBase[base]; ok {
			l.byBase[base] = -1
		} else {
			l.byBase[base] = i
		}
		if s.ID == "" {
			continue
		}
		if first, ok := l.byID[s.ID]; ok {
			if len(l.twins[s.ID]) == 0 {
				l.twins[s.ID] = []int{first}
			}
			l.twins[s.ID] = append(l.twins[s.ID], i)
		} else {
			l.byID[s.ID] = i
		}
	}
}

// Parent returns the session that session i was forked from; nil when its header
// names none, or one that is not indexed.
func (l *Lineage) Parent(i int) *session.Summary {
	if p := l.parents[i]; p >= 0 {
		return &l.sessions[p]
	}
	return nil
}

// Forks returns the sessions that name session i as their parent, oldest first.
func (l *Lineage) Forks(i int) []*session.Summary {
	var list []*session.Summary
	for _, f := range l.forks[i] {
		list = append(list, &l.sessions[f])
	}
	slices.SortStableFunc(list, func(a, b *session.Summary) int { return a.Created().Compare(b.Created()) })
	return list
}

// Twins returns the other files with the id of session i, which imports and exports
// leave behind.
func (l *Lineage) Twins(i int) []*session.Summary {
	l.index()
	var list []*session.Summary
	for _, t := range l.twins[l.sessions[i].ID] {
		if t != i {
			list = append(list, &l.sessions[t])
		}
	}
	return list
}

// Family returns session i, its ancestors and forks with theirs, and the other files with
// an id of them; none for -1.
func (l *Lineage) Family(i int) map[int]bool {
	family := make(map[int]bool)
	if i < 0 {
		return family
	}
	l.index()
	for left := []int{i}; len(left) > 0; {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		if family[at] {
			continue
		}
		family[at] = true
		left = append(append(left, l.forks[at]...), l.twins[l.sessions[at].ID]...)
		if p := l.parents[at]; p >= 0 {
			left = append(left, p)
		}
	}
	return family
}

// IndexOf returns the number of the session with this path, or -1.
func (l *Lineage) IndexOf(path string) int {
	if l.byPath == nil {
		l.byPath = make(map[string]int, len(l.sessions))
		for i := range l.sessions {
			l.byPath[l.sessions[i].Path] = i
		}
	}
	if i, ok := l.byPath[path]; ok {
		return i
	}
	return -1
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
		latest[r] = max(latest[r], l.sessions[i].Modified().UnixNano())
	}
	var first []int
	for r := range roots {
		first = append(first, r)
	}
	slices.SortFunc(first, func(a, b int) int { return cmp.Or(cmp.Compare(latest[b], latest[a]), cmp.Compare(a, b)) })
	done := make(map[int]bool)
	type at struct{ i, depth int }
	for _, r := range first {
		for stack := []at{{r, 0}}; len(stack) > 0; {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if done[top.i] || !in[top.i] {
				continue
			}
			done[top.i] = true
			order, depth = append(order, top.i), append(depth, top.depth)
			for _, f := range slices.Backward(l.forks[top.i]) {
				stack = append(stack, at{f, top.depth + 1})
			}
		}
	}
	return order, depth
}

// Shared returns how many entries of a fork were copied from its parent. A fork
// keeps ids and times; entries without an id of their own are compared by time, type
// and length.
func Shared(fork, parent *session.Record) int {
	type identity struct {
		id   string
		time int64
		size int
	}
	identify := func(n *session.Node) identity {
		if strings.HasPrefix(n.ID, "@") {
			return identity{n.Type + "/" + n.Role, n.Time, n.Length}
		}
		return identity{n.ID, n.Time, 0}
	}
	all := make(map[identity]bool, len(parent.Nodes))
	for i := range parent.Nodes {
		all[identify(&parent.Nodes[i])] = true
	}
	shared := 0
	for i := range fork.Nodes {
		if all[identify(&fork.Nodes[i])] {
			shared++
		}
	}
	return shared
}

// History returns the records of the files in which the history of a session is: the oldest
// first, and its own last. there reports whether a file still is. missing is the session in
// which the history begins, if that is not indexed or its file is gone.
func History(r *index.Reader, own *session.Record, there func(path string) bool) (files []*session.Record, missing string, err error) {
	seen := make(map[string]bool)
	for rec := own; ; {
		files, seen[rec.Path] = append(files, rec), true
		base := r.Chains().Base(rec.Path)
		if rec.Base.Session == "" || seen[base] || rec.Base.Session == rec.ID && rec.Base.Part == rec.Part {
			break
		}
		missing = PartName(rec.Base.Session, rec.Base.Part)
		i, ok := r.Table().Find(base)
		if !ok || !there(base) {
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

// PartName is what commands accept as the name of a part of a session.
func PartName(id, part string) string {
	if part == "" {
		return id
	}
	return id + "_" + part
}
