// Package facets answers: how are the hits of a request distributed? It counts them by
// kind, tool, model, project and day, from the index alone: no session file is read.
package facets

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/timespec"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
)

// Response says how many hits have each value. They are the hits that a list shows for the
// same request.
type Response struct {
	Counted

	// With Request.Together:
	Tally  *search.Tally `json:",omitempty"` // of the search, if there is a text
	Whole  *Counted      `json:",omitempty"` // the same for the hits that lack nothing, if a list has other hits too
	Held   []search.Held `json:",omitempty"`
	Agents []string      `json:",omitempty"` // of the index
}

// Counted says how many hits there are, and how they are distributed.
type Counted struct {
	Hits   int
	Fields []Field // in the order of the table of fields
	Days   []Day   // with hits, in order
}

// Field has the values of a field of the query language, the most frequent first.
type Field struct {
	Name   string
	Values []Value
}

// Value is a value of a field.
type Value struct {
	Name string `wire:"exact"`
	Hits int
}

// Day is a day, in the time zone of the request.
type Day struct {
	Start time.Time
	Hits  int
}

// The fields that count sessions of several agents or machines only.
const agent, host = "agent", "host"

// tool is the field whose values are names of tools.
const tool = "tool"

// keywords are the fields that documents have, by their names in the query language.
var keywords = []struct {
	name  string
	field segment.Field
}{
	{"kind", segment.FieldKind},
	{tool, segment.FieldTool},
	{"model", segment.FieldModel},
}

// Of returns the facets of a request: the counts of its hits. Without a text, every
// document that passes the filters counts, duplicates included.
func Of(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req search.Request) (*Response, error) {
	found, tally, err := hits(ctx, r, a, src, req)
	if err != nil {
		return nil, err
	}
	counted, err := count(ctx, r, found.Sets, req)
	if err != nil {
		return nil, err
	}
	res := &Response{Counted: *counted}
	if !req.Together {
		return res, nil
	}
	res.Tally, res.Held, res.Agents = tally, search.HeldBy(r), r.Table().Agents()
	if found.Whole != nil {
		res.Whole, err = count(ctx, r, found.Whole, req)
	}
	return res, err
}

// count counts documents of each segment.
func count(ctx context.Context, r *index.Reader, sets []docset.Set, req search.Request) (*Counted, error) {
	c := &counter{own: req.Env.Host, all: req.Together, ctx: ctx, reader: r, zone: req.Env.Now.Location(), values: make([]map[string]int, len(keywords)), files: make(map[uint32]int), days: make(map[time.Time]int)}
	for i := range c.values {
		c.values[i] = make(map[string]int)
	}
	c.summaries = make(map[uint32]*session.Summary)
	for i := range r.Summaries() {
		c.summaries[r.Summaries()[i].File] = &r.Summaries()[i]
	}
	docset.EachSegment(r.Segments(), func(i int, seg *segment.Segment) {
		if sets[i] != nil {
			c.segment(seg, sets[i])
		}
	})
	if err := cmp.Or(c.err, r.Fault(), ctx.Err()); err != nil {
		return nil, err
	}
	return c.response(), nil
}

// hits returns the documents of each segment that are hits.
func hits(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req search.Request) (found *rank.Documents, tally *search.Tally, err error) {
	if len(req.Without) > 0 {
		only := req.Only
		req.Only = func(s *session.Summary) bool {
			return !req.IsWithout(s.Identity()) && (only == nil || only(s))
		}
	}
	if req.Text != "" {
		in, err := req.Resolve(ctx, r, a, src)
		if err != nil {
			return nil, nil, err
		}
		d, err := rank.Collect(ctx, in, req.Options())
		if err != nil {
			return nil, nil, err
		}
		return d, &search.Tally{Counts: d.Counts, Open: in.Plan.IsOpen}, nil
	}
	f := req.Spec.Compile().WithSessions(req.Only)
	found = &rank.Documents{Sets: make([]docset.Set, len(r.Segments()))}
	docset.EachSegment(r.Segments(), func(i int, seg *segment.Segment) { found.Sets[i] = passing(r, f, seg) })
	return found, nil, r.Fault()
}

// passing returns the live documents of a segment that pass a filter.
func passing(r *index.Reader, f *filter.Filter, seg *segment.Segment) docset.Set {
	passes := make(map[uint32]bool)
	if f.TestsSessions() {
		for i := range r.Summaries() {
			s := &r.Summaries()[i]
			passes[s.File] = f.Session(s)
		}
	}
	docs := f.Docs(seg, r.Names().Owned(seg), func(file uint32) bool { return passes[file] })
	return docset.Both(docset.Live(seg), docs)
}

// counter counts the hits of all segments.
type counter struct {
	own       string // of filter.HostOf
	all       bool   // count fields with a single value too: other indexes may have other values
	ctx       context.Context
	reader    *index.Reader
	zone      *time.Location
	summaries map[uint32]*session.Summary

	mu     sync.Mutex
	values []map[string]int // of each of keywords
	files  map[uint32]int
	days   map[time.Time]int
	err    error // of an outline
}

// segment adds the hits of a segment.
func (c *counter) segment(seg *segment.Segment, set docset.Set) {
	for i, k := range keywords {
		c.keyword(seg, set, k.field, c.values[i])
	}
	runs, owned := seg.Files(), c.reader.Names().Owned(seg)
	var docs []uint32 // of the run
	for k, run := range runs {
		docs = docs[:0]
		for doc := run.First; doc < min(runs.End(k), uint32(seg.Len())); doc++ {
			if !set.Has(doc) {
				continue
			}
			if file, ok := owned[doc]; ok { // its session is in another file
				c.note(c.summaries[file])
			} else {
				docs = append(docs, doc)
			}
		}
		if len(docs) > 0 && c.ctx.Err() == nil {
			c.run(seg, run.File, docs)
		}
	}
}

func (c *counter) keyword(seg *segment.Segment, set docset.Set, f segment.Field, counts map[string]int) {
	have := docset.New(seg.Len())
	for _, term := range docset.Keywords(seg, f) {
		clear(have)
		have.Mark(seg, f, term)
		have.And(set)
		if n := have.Count(); n > 0 {
			c.mu.Lock()
			counts[term] += n
			c.mu.Unlock()
		}
	}
}

// run adds hits of one file. The times of single entries are looked up only if the entries
// of the file are of several days.
func (c *counter) run(seg *segment.Segment, file uint32, docs []uint32) {
	s := c.summaries[file]
	if s == nil {
		return
	}
	days := make(map[time.Time]int)
	var latest timespec.Day // entries that follow each other are mostly of one day
	dayAt := func(t time.Time) time.Time {
		if t = t.In(c.zone); t.Before(latest.Start) || !t.Before(latest.End) {
			latest = timespec.DayOf(t)
		}
		return latest.Start
	}
	if first, last := dayAt(s.Oldest), dayAt(s.Newest); s.Oldest.IsZero() || first.Equal(last) {
		at := s.Newest
		if at.IsZero() {
			at = s.Modified()
		}
		days[dayAt(at)] = len(docs)
	} else {
		o, err := c.reader.Outline(file, seg)
		if err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
		}
		if o == nil {
			return
		}
		walk := o.Walk()
		for _, doc := range docs {
			if e, ok := walk.At(seg.ID(doc).Offset); ok {
				days[dayAt(o.Record.TimeOf(&e.Node))]++
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files[file] += len(docs)
	for day, n := range days {
		c.days[day] += n
	}
}

// note adds a hit in the name that Notes give a session, at its beginning.
func (c *counter) note(s *session.Summary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files[s.File]++
	c.days[timespec.DayOf(s.Created().In(c.zone)).Start]++
}

func (c *counter) response() *Counted {
	res := &Counted{}
	hosts, agents, projects := make(map[string]int), make(map[string]int), make(map[string]int)
	for file, n := range c.files {
		hosts[filter.HostOf(c.summaries[file], c.own)] += n
		res.Hits += n
		agents[session.ShortAgent(c.summaries[file].Agent)] += n
		if name := path.Base(session.Slashed(c.summaries[file].CWD)); c.summaries[file].CWD != "" && name != "/" {
			projects[name] += n
		}
	}
	if c.all || c.several() {
		res.Fields = append(res.Fields, Field{host, sorted(hosts)})
	}
	if c.all || len(c.reader.Table().Agents()) > 1 {
		res.Fields = append(res.Fields, Field{agent, sorted(agents)})
	}
	res.Fields = append(res.Fields, Field{"project", sorted(projects)})
	for i, k := range keywords {
		res.Fields = append(res.Fields, newField(k.name, c.values[i]))
	}
	for start, n := range c.days {
		res.Days = append(res.Days, Day{start, n})
	}
	lists.Sort(res.Days, func(a, b Day) int { return a.Start.Compare(b.Start) })
	return res
}

// several reports whether the index has sessions of several machines.
func (c *counter) several() bool {
	first := ""
	for _, s := range c.summaries {
		of := filter.HostOf(s, c.own)
		if first = cmp.Or(first, of); of != first {
			return true
		}
	}
	return false
}

// Merge adds up the hits of several indexes that have each value.
func Merge(list []*Response) *Response {
	m := &Response{}
	var names, agents []string
	values, days := make(map[string]map[string]int), make(map[int64]Day)
	for _, r := range list {
		m.Hits += r.Hits
		agents = append(agents, r.Agents...)
		for _, f := range r.Fields {
			if values[f.Name] == nil {
				values[f.Name] = make(map[string]int)
				names = append(names, f.Name)
			}
			for _, v := range f.Values {
				values[f.Name][v.Name] += v.Hits
			}
		}
		for _, d := range r.Days {
			at := d.Start.Unix()
			d.Hits += days[at].Hits
			days[at] = d
		}
	}
	slices.Sort(agents)
	agents = slices.Compact(agents)
	for _, name := range names {
		if (name != agent || len(agents) > 1) && (name != host || len(list) > 1) {
			m.Fields = append(m.Fields, newField(name, values[name]))
		}
	}
	m.Days = slices.Collect(maps.Values(days))
	lists.Sort(m.Days, func(a, b Day) int { return a.Start.Compare(b.Start) })
	return m
}

// newField returns a field. Names of a tool that differ in case only are one value.
func newField(name string, counts map[string]int) Field {
	if name == tool {
		counts = session.JoinTools(counts)
	}
	return Field{name, sorted(counts)}
}

func sorted(counts map[string]int) (list []Value) {
	for name, n := range counts {
		if name != "" {
			list = append(list, Value{name, n})
		}
	}
	lists.Sort(list, func(a, b Value) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), strings.Compare(a.Name, b.Name))
	})
	return list
}
