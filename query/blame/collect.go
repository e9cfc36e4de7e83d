package blame

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/diff"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/entry"
)

// An origin is the call that wrote a line.
type origin struct {
	session *session.Summary
	node    session.Node
	copy    uint64
	part    int
	tool    string
	path    string // of the file that it wrote, as far as that is known
	time    int64  // Unix milliseconds
	change  *change
	wrote   []line // of lines, once they are needed
}

// compare orders origins by time.
func (o *origin) compare(p *origin) int {
	return cmp.Or(cmp.Compare(o.time, p.time), session.CompareStarts(o.session.Timestamp, p.session.Timestamp),
		cmp.Compare(o.session.Path, p.session.Path), cmp.Compare(o.node.Offset, p.node.Offset), cmp.Compare(o.part, p.part))
}

// collector reads the calls that may have written lines.
type collector struct {
	ctx     context.Context
	reader  *index.Reader
	adapter adapter.Adapter
	src     entry.Source

	facts *record.FactSet
	files map[uint32]*session.Summary
	read  map[place]bool // calls that were read

	mu      sync.Mutex
	changes []*change
	looks   map[uint32][]look // by session, in the order of the file
	unread  int               // sessions that cannot be read
	reason  error
	leftOut int // calls beyond mostCalls
}

// A look is a call that names a file and may have printed it.
type look struct{ call, result int64 }

// place is where an entry is.
type place struct {
	file   uint32
	offset int64
}

// mostCalls is how many calls are read for one question.
const mostCalls = 4000

// A candidate is an entry that has all terms of some lists.
type candidate struct {
	place
	lists uint64 // their numbers, as bits
}

// candidates returns the entries that have a part of a kind with all terms of one of the lists, 64 at
// most. If a segment has more than most for a list, it has none.
func (c *collector) candidates(kind session.Kind, most int, lists ...[]string) ([]candidate, error) {
	var mu sync.Mutex
	var found []candidate
	err := docset.EachSegment(c.reader.Segments(), func(_ int, seg *segment.Segment) error {
		of, err := seg.Bitmap(segment.FieldKind, []byte(kind))
		if err != nil {
			return err
		}
		byTerm, by := make(map[string]*roaring.Bitmap), make(map[uint32]uint64) // documents
		for i, terms := range lists {
			docs := of
			for k := 0; k < len(terms) && !docs.IsEmpty(); k++ {
				with := byTerm[terms[k]]
				if with == nil {
					if with, err = seg.Bitmap(segment.FieldText, []byte(terms[k])); err != nil {
						return err
					}
					byTerm[terms[k]] = with
				}
				docs = roaring.And(docs, with)
			}
			if most == 0 || docs.GetCardinality() <= uint64(most) {
				for it := docs.Iterator(); it.HasNext(); {
					by[it.Next()] |= 1 << i
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for doc, lists := range by {
			id, err := seg.ID(doc)
			if err != nil {
				return err
			}
			found = append(found, candidate{place{id.File, id.Offset}, lists})
		}
		return c.ctx.Err()
	})
	return found, err
}

// terms returns the terms of a text, without those of parts of identifiers.
func terms(text string) (list []string) {
	var a analysis.Analyzer
	a.Walk([]byte(text), func(t analysis.Token) {
		if !slices.Contains(list, string(t.Term)) {
			list = append(list, string(t.Term))
		}
	})
	return list
}

// named reads the calls that have the name of a file in their arguments.
func (c *collector) named(name string) error {
	words := terms(name)
	if len(words) == 0 {
		return nil
	}
	list, err := c.candidates(session.KindCall, 0, words)
	if err != nil {
		return err
	}
	return c.readAll(list, []byte(name))
}

// open loads what is known of all sessions.
func (c *collector) open() (err error) {
	if c.facts != nil {
		return nil
	}
	if c.facts, err = c.reader.Facts(c.ctx, record.CallFacts); err != nil {
		return err
	}
	summaries := c.reader.Summaries()
	c.files = make(map[uint32]*session.Summary, len(summaries))
	for i := range summaries {
		c.files[summaries[i].File] = &summaries[i]
	}
	return nil
}

// readAll reads calls that were not read before, those whose bytes have the text if it is not empty.
func (c *collector) readAll(list []candidate, with []byte) error {
	list = slices.DeleteFunc(list, func(p candidate) bool {
		read := c.read[p.place]
		c.read[p.place] = true
		return read
	})
	if len(list) == 0 {
		return nil
	}
	if err := c.open(); err != nil {
		return err
	}
	byFile := make(map[uint32][]int64)
	for _, p := range list {
		if s := c.files[p.file]; s != nil && !s.Notes {
			byFile[p.file] = append(byFile[p.file], p.offset)
		}
	}
	var files []*session.Summary
	for file := range byFile {
		files = append(files, c.files[file])
	}
	slices.SortFunc(files, func(a, b *session.Summary) int {
		return cmp.Or(b.Newest.Compare(a.Newest), cmp.Compare(a.Path, b.Path))
	})
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	left := mostCalls
	for _, s := range files {
		offsets := byFile[s.File]
		if left -= len(offsets); left < 0 {
			c.leftOut += len(offsets)
			continue
		}
		g.Go(func() error {
			slices.Sort(offsets)
			err := c.readSession(s, offsets, with)
			if err != nil && c.ctx.Err() == nil && !errors.Is(err, index.ErrDamaged) {
				c.mu.Lock()
				defer c.mu.Unlock()
				if c.unread++; c.reason == nil || err.Error() < c.reason.Error() {
					c.reason = err
				}
				return nil
			}
			return err
		})
	}
	return cmp.Or(g.Wait(), c.ctx.Err())
}

// outcome is what the facts say of a call.
type outcome struct {
	deed   session.Deed
	failed bool
	result int64
}

// outcomes returns those of the calls of a session that may have written something, by the entry
// and the part, and the calls that may have printed something.
func (c *collector) outcomes(file uint32) (all map[int64]map[int]outcome, looks []look, err error) {
	all = make(map[int64]map[int]outcome)
	for p, err := range c.facts.WithoutDetails([]uint32{file}) {
		if err != nil {
			return nil, nil, err
		}
		for i := range p.Calls.Len {
			deed, flags := p.Calls.Deed(i), p.Calls.Flags(i)
			if (deed == session.DeedRead || deed == session.DeedRun) && p.Calls.Answered(i) {
				looks = append(looks, look{p.Calls.Offset.At(i), p.Calls.Result(i)})
			}
			if flags.Rejected() || !deed.Writes() && deed != session.DeedRun && deed != session.DeedOther {
				continue
			}
			at := p.Calls.Offset.At(i)
			if all[at] == nil {
				all[at] = make(map[int]outcome)
			}
			all[at][int(p.Calls.Part.At(i))] = outcome{deed, flags.Failed(), p.Calls.Result(i)}
		}
	}
	return all, looks, nil
}

// readSession reads calls of a session.
func (c *collector) readSession(s *session.Summary, offsets []int64, with []byte) error {
	made, looks, err := c.outcomes(s.File)
	if err != nil {
		return err
	}
	if len(with) > 0 {
		looks = slices.DeleteFunc(looks, func(l look) bool { _, ok := slices.BinarySearch(offsets, l.call); return !ok })
		c.mu.Lock()
		c.looks[s.File] = append(c.looks[s.File], looks...)
		c.mu.Unlock()
	}
	offsets = slices.DeleteFunc(slices.Compact(offsets), func(at int64) bool { return made[at] == nil })
	if len(offsets) == 0 {
		return nil
	}
	outline, err := c.reader.Outline(s.File, nil)
	if err != nil || outline == nil {
		return err
	}
	r := entry.NewReader(c.src, c.adapter)
	r.Facts = true
	r.Use(s)
	defer r.Use(nil)
	walk := outline.Walk()
	for _, at := range offsets {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		n, ok := walk.At(at)
		if !ok {
			continue
		}
		ref := entry.RefOf(&n.Node, n.Context)
		if data, err := r.JSON(ref); err != nil {
			return err
		} else if !bytes.Contains(data, with) {
			continue
		}
		n.Node.ID = strings.Clone(n.Node.ID)
		var list []*change
		err := r.View(ref, entry.Identity{ID: n.ID}, func(e *session.Entry, v *session.View) {
			list = c.changesOf(s, &n.Node, e, v, made[at], string(with))
		})
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.changes = append(c.changes, list...)
		c.mu.Unlock()
	}
	return nil
}

// changesOf returns what the calls of an entry did to files.
func (c *collector) changesOf(s *session.Summary, n *session.Node, e *session.Entry, v *session.View, made map[int]outcome, name string) (list []*change) {
	var facts []session.EntryCall
	if e.Facts != nil {
		facts = e.Facts.Calls
	}
	number := -1
	for i := range v.Blocks {
		call := v.Blocks[i].Call
		if call == nil {
			continue
		}
		if number++; number >= len(facts) {
			return list
		}
		f := &facts[number]
		done, ok := made[f.Part]
		if !ok || call.Failed || done.failed && call.Command == nil {
			continue
		}
		cwd := cmp.Or(e.Context.CWD, s.CWD)
		dir := cwd
		if f.Dir != "" {
			dir = shellcmd.Resolve(f.Dir, cwd)
		}
		by := origin{session: s, node: *n, copy: e.Copy, part: f.Part, tool: strings.Clone(call.Tool), time: s.TimeOf(n).UnixMilli()}
		for _, x := range changesBy(call, dir, name) {
			own := by
			own.path, own.change, x.by = x.path, x, &own
			at := n.Offset
			x.printed = sync.OnceValue(func() map[string]bool { return c.printed(s, at) })
			if done.result != n.Offset && x.name != "" {
				x.recorded = sync.OnceValue(func() []diff.File { return c.recorded(s, done.result, x.name) })
			}
			list = append(list, x)
		}
	}
	return list
}

// changesBy returns what a call did to files, with copies of all texts. Of a command whose effects
// are not known, the lines may be those of the named file.
func changesBy(call *session.Call, dir, name string) (list []*change) {
	add := func(f *diff.File, name string) *change {
		x := &change{path: shellcmd.Resolve(name, dir), name: name, file: f}
		list = append(list, x)
		return x
	}
	if len(call.Diff) > 0 {
		for _, f := range diff.Of(call) {
			add(&f, f.Path)
		}
	}
	if len(list) == 0 {
		for i := range call.Edits {
			e := &call.Edits[i]
			if n := len(list); n == 0 || list[n-1].name != e.Path || e.Whole || list[n-1].edits[0].Whole {
				add(nil, strings.Clone(e.Path))
			}
			x := list[len(list)-1]
			x.edits = append(x.edits, session.Edit{Path: x.name, Old: bytes.Clone(e.Old), New: bytes.Clone(e.New), All: e.All, Whole: e.Whole})
		}
	}
	if len(list) > 0 || call.Command == nil {
		return list
	}
	command := string(call.Command)
	effects := shellcmd.Effects(command, dir)
	for i := range effects {
		x := &effects[i]
		if !x.Patch {
			list = append(list, &change{path: x.Path, effect: x})
			continue
		}
		for _, f := range diff.Of(&session.Call{Diff: []byte(x.Text)}) {
			add(&f, f.Path).name = ""
		}
	}
	if at := strings.Index(command, name); name != "" && at >= 0 && len(effects) == 0 && strings.Contains(command, "\n") {
		from := strings.LastIndexAny(command[:at], " \t\n'\"`=<>()") + 1
		list = append(list, &change{path: shellcmd.Resolve(command[from:at+len(name)], dir), mentions: splitLines(command)})
	}
	return list
}

// recorded returns what the tool recorded in the result of a call that changed a file.
func (c *collector) recorded(s *session.Summary, result int64, name string) (files []diff.File) {
	c.result(s, result, func(_ *session.Entry, v *session.View) {
		if len(v.Diff) > 0 {
			files = diff.Of(&session.Call{Edits: []session.Edit{{Path: name}}, Diff: v.Diff})
		}
	})
	return files
}

// mostLooks is how many calls before a write are looked at.
const mostLooks = 4

// printed returns the keys of the lines that a session had seen of the file before a call: those it
// did not write.
func (c *collector) printed(s *session.Summary, before int64) map[string]bool {
	seen := make(map[string]bool)
	looks, _ := slices.BinarySearchFunc(c.looks[s.File], before, func(l look, at int64) int { return cmp.Compare(l.call, at) })
	for _, l := range c.looks[s.File][max(0, looks-mostLooks):looks] {
		c.result(s, l.result, func(e *session.Entry, _ *session.View) {
			for i := range e.Parts {
				for line := range strings.Lines(string(e.Parts[i].Text)) {
					seen[squeezed(line)] = true
					if rest := strings.TrimLeft(line, " 0123456789"); rest != line { // the number of the line
						seen[squeezed(strings.TrimLeft(rest, "→|:\t"))] = true
					}
				}
			}
		})
	}
	return seen
}

// node returns the entry at an offset of a session; false if it cannot be read.
func (c *collector) node(s *session.Summary, at int64) (record.Entry, bool) {
	outline, err := c.reader.Outline(s.File, nil)
	if err != nil || outline == nil {
		return record.Entry{}, false
	}
	return outline.At(at)
}

// result reads the entry at an offset. What cannot be read says nothing.
func (c *collector) result(s *session.Summary, at int64, use func(*session.Entry, *session.View)) {
	n, ok := c.node(s, at)
	if !ok {
		return
	}
	r := entry.NewReader(c.src, c.adapter)
	r.Limit = mostResult
	r.Use(s)
	defer r.Use(nil)
	_ = r.View(entry.RefOf(&n.Node, n.Context), entry.Identity{ID: n.ID}, use)
}

// mostResult is the longest result that is read, in bytes.
const mostResult = 4 << 20

// ordered returns the changes in the order of time, each once: forks have copies of calls.
func (c *collector) ordered() []*change {
	slices.SortStableFunc(c.changes, func(a, b *change) int { return a.by.compare(b.by) })
	type identity struct {
		copy uint64
		part int
		path string
	}
	seen := make(map[identity]*origin)
	return slices.DeleteFunc(slices.Clone(c.changes), func(x *change) bool {
		if x.by.copy == 0 {
			return false
		}
		id := identity{x.by.copy, x.by.part, path.Base(x.path)}
		first, ok := seen[id]
		if !ok {
			seen[id] = x.by
		}
		return ok && (first.session != x.by.session || first.node.Offset != x.by.node.Offset)
	})
}
