package session

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Join returns the record of a whole history: that of its last file, with the entries of the
// files in which it began, the oldest first, before its own. What such a file has beyond the
// Base of the next one is left out, or stays as an abandoned branch if the session is the same.
// starts has the number of the first entry of each file. Entries are as in their files, but
// for their parents, and an id that a later file has too.
func Join(files []*Record) (joined *Record, starts []int) {
	own := files[len(files)-1]
	r := *own
	r.Nodes, r.Hidden, r.Dead, r.Labels, r.Known, r.Numbers = nil, nil, nil, make(map[string]string), nil, nil
	r.Version = max(r.Version, 2)
	parts, ids := make([]Record, len(files)), make(map[string]bool)
	whole, until := own.Tree().Leaf() >= 0, int64(math.MaxInt64) // an empty branch would end in the abandoned one
	for i := len(files) - 1; i >= 0; i-- {
		parts[i] = *files[i]
		f := &parts[i]
		if i < len(files)-1 {
			until = min(until, files[i+1].Base.Ordinal)
			line := f.LineOf(until)
			if f.Dead = nil; whole && files[i+1].Relation == Reverted {
				f.Abandon(line)
			} else {
				f.Nodes, whole = f.Nodes[:f.before(line)], false
			}
		}
		f.qualify(ids)
	}
	tip := ""
	for i := range parts {
		starts = append(starts, len(r.Nodes))
		tip = r.join(&parts[i], tip, ids)
	}
	r.Inherited = starts[len(starts)-1]
	return &r, starts
}

// Unite returns the record of a session whose files have copies of some entries: that of the last
// file, with the entries that only other files have before its own. The conversation ends like the
// last file; what other files have beyond that is on branches. same reports whether two entries that look
// alike are the same. left has the records of the files with the entries that are left of each.
func Unite(files []*Record, same func(a *Record, i int, b *Record, j int) bool) (joined *Record, left []*Record, starts []int) {
	type place struct {
		of *Record
		at int
	}
	alike, ids := make(map[string][]place), make(map[string]bool)
	left = make([]*Record, len(files))
	parts := make([]Record, len(files))
	for k := len(files) - 1; k >= 0; k-- {
		of := files[k]
		f, t := *of, of.Tree()
		f.Nodes, f.Contexts, f.Hidden, f.Dead, f.Known, f.Numbers = nil, nil, nil, nil, nil, nil
		copies := make(map[string]string) // what other files call the copies of entries that this file calls otherwise
		for i := range of.Nodes {
			n := of.Nodes[i]
			key := n.Looks()
			at := slices.IndexFunc(alike[key], func(p place) bool { return p.of != of && same(p.of, p.at, of, i) })
			if at >= 0 {
				if first := alike[key][at]; first.of.Nodes[first.at].ID != n.ID {
					copies[n.ID] = first.of.Nodes[first.at].ID
				}
				continue
			}
			alike[key] = append(alike[key], place{of, i})
			if p := t.parent(i); t.list {
				if n.HasParent, n.ParentID = true, ""; p >= 0 {
					n.ParentID = of.Nodes[p].ID
				}
			}
			n.ParentID = cmp.Or(copies[n.ParentID], n.ParentID)
			if len(of.Contexts) > 0 {
				f.Contexts = append(f.Contexts, ContextsFrom{len(f.Nodes), of.Contexts.At(i)})
			}
			if of.Hidden.Has(i) {
				f.Hidden = f.Hidden.with(len(f.Nodes))
			}
			f.Nodes = append(f.Nodes, n)
		}
		f.Version = max(f.Version, 2)
		left[k], parts[k] = &f, f
		parts[k].qualify(ids)
	}
	r := *files[len(files)-1]
	r.Nodes, r.Hidden, r.Dead, r.Labels, r.Known, r.Numbers = nil, nil, nil, make(map[string]string), nil, nil
	r.Version = max(r.Version, 2)
	for i := range parts {
		starts = append(starts, len(r.Nodes))
		r.join(&parts[i], "", nil)
	}
	r.Inherited = starts[len(starts)-1]
	return &r, left, starts
}

// Looks returns what copies of an entry have in common, as far as the record says it.
func (n *Node) Looks() string {
	if strings.HasPrefix(n.ID, "@") {
		return fmt.Sprintf("%s/%s %d %d", n.Type, n.Role, n.Time, n.Length)
	}
	return fmt.Sprintf("%s %d", n.ID, n.Time) // a later version may write it with other space
}

// AgainID is what an entry is called in a joined record if a later file has an entry with its
// id: with number 2, or the next one that no entry has.
func AgainID(id string, number int) string { return id + "~" + strconv.Itoa(number) }

// qualify gives entries whose ids are among others their AgainID, and adds all to these.
func (r *Record) qualify(ids map[string]bool) {
	r.Nodes = slices.Clone(r.Nodes)
	other := make(map[string]string)
	for i := range r.Nodes {
		if id := r.Nodes[i].ID; ids[id] && other[id] == "" {
			number := 2
			for ids[AgainID(id, number)] {
				number++
			}
			other[id] = AgainID(id, number)
		}
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		for _, id := range []*string{&n.ID, &n.ParentID, &n.TargetID, &n.FirstKept} {
			*id = cmp.Or(other[*id], *id)
		}
		ids[n.ID] = true
	}
	labels := make(map[string]string, len(r.Labels))
	for id, label := range r.Labels {
		labels[cmp.Or(other[id], id)] = label
	}
	r.Labels = labels
}

// join appends the entries of a file; those of its branch follow the entry tip. It returns the
// last of them, or tip.
func (r *Record) join(f *Record, tip string, ids map[string]bool) string {
	t, first := f.Tree(), len(r.Nodes)
	for i := range f.Nodes {
		n := f.Nodes[i]
		if t.list {
			n.HasParent, n.ParentID = true, ""
			if p := t.parent(i); p >= 0 {
				n.ParentID = f.Nodes[p].ID
			}
		}
		r.Nodes = append(r.Nodes, n)
	}
	if path := t.branch(t.Leaf()); len(path) > 0 {
		if n := &r.Nodes[first+path[0]]; tip != "" && (n.ParentID == "" || !ids[n.ParentID] || t.parent(path[0]) >= 0) {
			n.HasParent, n.ParentID = true, tip
		}
		tip = f.Nodes[path[len(path)-1]].ID
	}
	shifted := func(to, runs Runs) Runs {
		for _, at := range runs {
			to = append(to, first+min(at, len(f.Nodes)))
		}
		return to
	}
	r.Hidden, r.Dead = shifted(r.Hidden, f.Hidden), shifted(r.Dead, f.Dead)
	maps.Copy(r.Labels, f.Labels)
	return tip
}
