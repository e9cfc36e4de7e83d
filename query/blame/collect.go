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
	most    int                                                         // calls that are read at a time, of the latest sessions; 0: all
	due     func(s *session.Summary, n *session.Node, name string) bool // the calls of an entry that names a file count
	keep    func(p place, list []*change, names []string)               // takes what the calls of an entry changed; several goroutines call it

	facts *record.FactSet
	files map[uint32]*session.Summary
	read  map[place]bool // whose changes are kept

	mu      sync.Mutex
	changes []*change
	looks   map[uint32][]look // by session, in the order of the file
	unread  int               // sessions that cannot be read
	reason  error
	leftOut int // calls beyond the most
}

// A look is a call that names a file and may have printed it.
type look struct{ call, result int64 }

// place is where an entry is.
type place struct {
	file   uint32
	offset int64
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.file, q.file), cmp.Compare(p.offset, q.offset))
}

// mostCalls is how many calls are read for one question.
const mostCalls = 4000

// A candidate is an entry that has all terms of some lists.
type candidate struct {
	place
	lists uint64 // their numbers, as bits
}

// candidates returns the entries that have a part of a kind with all terms of one of the lists, 64 at
// most. A list that more than most documents have finds nothing; over says that there is such a list.
func (c *collector) candidates(kind session.Kind, most int, lists ...[]string) (found []candidate, over bool, err error) {
	segments := c.reader.Segments()
	docs := make([][]*roaring.Bitmap, len(segments)) // by list
	docset.EachSegment(segments, func(number int, seg *segment.Segment) {
		of := seg.Bitmap(segment.FieldKind, []byte(kind))
		byTerm := make(map[string]*roaring.Bitmap)
		for _, terms := range lists {
			list := of
			for k := 0; k < len(terms) && !list.IsEmpty(); k++ {
				with := byTerm[terms[k]]
				if with == nil {
					with = seg.Bitmap(segment.FieldText, []byte(terms[k]))
					byTerm[terms[k]] = with
				}
				list = roaring.And(list, with)
			}
			docs[number] = append(docs[number], list)
		}
	})
	for number, seg := range segments {
		by := make(map[uint32]uint64) // documents
		for i := range lists {
			total := uint64(0)
			for _, d := range docs {
				total += d[i].GetCardinality()
			}
			if most > 0 && total > uint64(most) {
				over = true
				continue
			}
			for it := docs[number][i].Iterator(); it.HasNext(); {
				by[it.Next()] |= 1 << i
			}
		}
		for doc, lists := range by {
			id := seg.ID(doc)
			found = append(found, candidate{place{id.File, id.Offset}, lists})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.compare(b.place), cmp.Compare(a.lists, b.lists)) })
	return found, over, cmp.Or(c.reader.Fault(), c.ctx.Err())
}

// terms returns the terms of a text, without parts of identifiers.
func terms(text string) (list []string) {
	var a analysis.Analyzer
	a.Walk([]byte(text), func(t analysis.Token) {
		if !slices.Contains(list, string(t.Term)) {
			list = append(list, string(t.Term))
		}
	})
	return list
}

// named reads the calls that have one of some names of files in their arguments.
func (c *collector) named(names ...string) error {
	by := make(map[place][]string)
	for chunk := range slices.Chunk(names, 64) {
		var lists [][]string
		chunk = slices.DeleteFunc(slices.Clone(chunk), func(name string) bool {
			words := terms(name)
			if len(words) > 0 {
				lists = append(lists, words)
			}
			return len(words) == 0
		})
		list, _, err := c.candidates(session.KindCall, 0, lists...)
		if err != nil {
			return err
		}
		for _, p := range list {
			for i, name := range chunk {
				if p.lists>>i&1 == 1 && !slices.Contains(by[p.place], name) { // another part of the entry may have named it
					by[p.place] = append(by[p.place], name)
				}
			}
		}
	}
	return c.readAll(by)
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

// readAll reads calls. If names are given for a call, it is read only if its bytes have one of them.
func (c *collector) readAll(list map[place][]string) error {
	if len(list) == 0 {
		return nil
	}
	if err := c.open(); err != nil {
		return err
	}
	byFile := make(map[uint32][]int64)
	for p := range list {
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
	left := c.most
	for _, s := range files {
		offsets := byFile[s.File]
		if left -= len(offsets); left < 0 && c.most > 0 {
			c.leftOut += len(offsets)
			continue
		}
		g.Go(func() error {
			slices.Sort(offsets)
			err := c.readSession(s, offsets, list)
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
	ran    bool // and may have written something
}

// outcomes returns the calls of a session by entry, those of entries that may have written something, and
// the calls that may have printed something.
func (c *collector) outcomes(file uint32) (all map[int64][]outcome, looks []look, err error) {
	all = make(map[int64][]outcome)
	var list []outcome
	at, some := int64(-1), false
	keep := func() {
		if some {
			all[at] = list
		}
		list, some = nil, false
	}
	for p, err := range c.facts.WithoutDetails([]uint32{file}) {
		if err != nil {
			return nil, nil, err
		}
		for i := range p.Calls.Len {
			deed, flags := p.Calls.Deed(i), p.Calls.Flags(i)
			if flags.Kind() == session.CallMissing {
				continue
			}
			if (deed == session.DeedRead || deed == session.DeedRun) && p.Calls.Answered(i) {
				looks = append(looks, look{p.Calls.Offset.At(i), p.Calls.Result(i)})
			}
			if next := p.Calls.Offset.At(i); next != at {
				keep()
				at = next
			}
			x := outcome{deed, flags.Failed(), p.Calls.Result(i), !flags.Rejected() && (deed.Writes() || deed == session.DeedRun || deed == session.DeedOther)}
			list, some = append(list, x), some || x.ran
		}
	}
	keep()
	return all, looks, nil
}

// readSession reads the calls of a session at these offsets, for these names.
func (c *collector) readSession(s *session.Summary, offsets []int64, names map[place][]string) error {
	made, looks, err := c.outcomes(s.File)
	if err != nil {
		return err
	}
	looks = slices.DeleteFunc(looks, func(l look) bool {
		_, ok := slices.BinarySearch(offsets, l.call)
		return !ok || len(names[place{s.File, l.call}]) == 0
	})
	c.mu.Lock()
	looks = append(looks, c.looks[s.File]...) // of other names
	slices.SortFunc(looks, func(a, b look) int { return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.result, b.result)) })
	c.looks[s.File] = slices.Compact(looks)
	c.mu.Unlock()
	offsets = slices.DeleteFunc(offsets, func(at int64) bool { return made[at] == nil })
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
		p := place{s.File, at}
		all := names[p]
		due := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return c.due != nil && !c.due(s, &n.Node, name) })
		if len(due) == 0 && len(all) > 0 {
			continue
		}
		ref := entry.RefOf(&n.Node, n.Context)
		data, err := r.JSON(ref)
		if err != nil {
			return err
		}
		due = slices.DeleteFunc(due, func(name string) bool { return !bytes.Contains(data, []byte(name)) })
		if len(due) == 0 && len(all) > 0 {
			continue
		}
		n.Node.ID = strings.Clone(n.Node.ID)
		var list []*change
		err = r.View(ref, entry.Identity{ID: n.ID}, func(e *session.Entry, v *session.View) {
			list = c.changesOf(s, &n.Node, e, v, made[at], due)
		})
		if err != nil {
			return err
		}
		c.keep(p, list, due)
	}
	return nil
}

// collect keeps each change once. If an entry was already read for another name, it keeps only the
// changes that were not found then.
func (c *collector) collect(p place, list []*change, _ []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read[p] {
		list = slices.DeleteFunc(list, func(x *change) bool { return x.mentions == nil })
	}
	c.read[p] = true
	c.changes = append(c.changes, list...)
}

// changesOf returns what the calls of an entry did to files.
func (c *collector) changesOf(s *session.Summary, n *session.Node, e *session.Entry, v *session.View, made []outcome, names []string) (list []*change) {
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
		if number++; number >= min(len(facts), len(made)) {
			return list
		}
		f, done := &facts[number], made[number]
		if !done.ran || call.Failed || done.failed && call.Command == nil {
			continue
		}
		cwd := cmp.Or(e.Context.CWD, s.CWD)
		dir := cwd
		if f.Dir != "" {
			dir = shellcmd.Resolve(f.Dir, cwd)
		}
		by := origin{session: s, node: *n, copy: e.Copy, part: f.Part, tool: strings.Clone(call.Tool), time: s.TimeOf(n).UnixMilli()}
		for _, x := range changesBy(call, dir, names...) {
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

// changesBy returns what a call did to files, with copies of all texts. If the effects of a command
// are not known, the lines may be in any of the files with these names.
func changesBy(call *session.Call, dir string, names ...string) (list []*change) {
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
	if len(effects) > 0 || !strings.Contains(command, "\n") {
		return list
	}
	for _, name := range names {
		if at := strings.Index(command, name); at >= 0 {
			from := strings.LastIndexAny(command[:at], " \t\n'\"`=<>()") + 1
			list = append(list, &change{path: shellcmd.Resolve(command[from:at+len(name)], dir), mentions: splitLines(command)})
		}
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
	return slices.DeleteFunc(slices.Clone(c.changes), repeated(func(x *change) (*origin, string) { return x.by, x.path }))
}

// repeated returns a function that reports whether an element is a copy of an earlier one, in any
// session. of returns the origin and the path of an element.
func repeated[T any](of func(T) (*origin, string)) func(T) bool {
	type identity struct {
		copy uint64
		part int
		path string
	}
	seen := make(map[identity]*origin)
	return func(x T) bool {
		by, name := of(x)
		if by.copy == 0 {
			return false
		}
		id := identity{by.copy, by.part, path.Base(name)}
		first, ok := seen[id]
		if !ok {
			seen[id] = by
		}
		return ok && (first.session != by.session || first.node.Offset != by.node.Offset)
	}
}
