package index

import (
	"slices"
	"strings"

	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// Names are what Notes call the sessions of their agents. They take the place of the names
// in the session files, wherever a reader returns summaries. They are joined when they are
// read: what is stored of a session does not depend on other files.
type Names struct {
	names  map[uint32]string           // by the file of the session; "" for one that lost its name
	owners map[uint32]map[int64]uint32 // file of the session, by that of the Notes and the offset of the line
}

// Names returns the names; nil if there are no Notes. The first call reads them.
func (r *Reader) Names() *Names {
	r.naming.Do(func() {
		if r.table.HasNotes() {
			r.names = r.readNames()
		}
	})
	return r.names
}

// Unnamed makes the reader return summaries as they are stored. Call it first.
func (r *Reader) Unnamed() { r.naming.Do(func() {}) }

// Owner returns the file of the session that a line of Notes is about, if it is the last one
// about it.
func (n *Names) Owner(notes uint32, offset int64) (file uint32, ok bool) {
	if n != nil {
		file, ok = n.owners[notes][offset]
	}
	return file, ok
}

// Owned returns the documents of a segment that are about sessions in other files, with those
// files; nil if there are none.
func (n *Names) Owned(seg *segment.Segment) (owned map[uint32]uint32) {
	if n == nil {
		return nil
	}
	runs := seg.Files()
	for i, run := range runs {
		if n.owners[run.File] == nil {
			continue
		}
		for doc := run.First; doc < min(runs.End(i), uint32(seg.Len())); doc++ {
			if file, ok := n.owners[run.File][seg.ID(doc).Offset]; ok {
				if owned == nil {
					owned = make(map[uint32]uint32)
				}
				owned[doc] = file
			}
		}
	}
	return owned
}

func (n *Names) apply(s *session.Summary) {
	if n != nil {
		if name, ok := n.names[s.File]; ok {
			s.Name = name
		}
	}
}

// readNames reads the records of the Notes, and finds the sessions that they are about. Of
// several Notes about one session, the newest count. Notes whose record is damaged give no
// names; whatever shows the file reports that.
func (r *Reader) readNames() *Names {
	isNotes := r.table.ReadBy(func(x record.Reader) bool { return x.Notes })
	var notes []*session.Record
	for i := range r.table.Len() {
		if isNotes(i) {
			if o, err := r.outline(r.table.File(i), nil); err == nil && o != nil {
				notes = append(notes, &o.Record)
			}
		}
	}
	slices.SortStableFunc(notes, func(a, b *session.Record) int { return a.Newest.Compare(b.Newest) })
	type owner struct{ agent, id string }
	type line struct {
		notes uint32
		*session.Pending
	}
	lines := make(map[owner]line)
	for _, rec := range notes {
		for i := range rec.Pending {
			p := &rec.Pending[i]
			lines[owner{rec.Agent, p.About}] = line{rec.File, p}
		}
	}
	n := &Names{names: make(map[uint32]string), owners: make(map[uint32]map[int64]uint32)}
	for _, s := range r.table.Beginnings() {
		l, ok := lines[owner{s.Agent, s.ID}]
		if !ok || s.ID == "" || s.Notes {
			continue
		}
		n.names[s.File] = strings.Clone(l.Name)
		if n.owners[l.notes] == nil {
			n.owners[l.notes] = make(map[int64]uint32)
		}
		n.owners[l.notes][l.Offset] = s.File
	}
	return n
}
