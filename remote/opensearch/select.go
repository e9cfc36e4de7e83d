package opensearch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/remote"
)

// selection sends, of sessions whose records the archive has, only the lines with parts that may
// be hits; of others all lines.
type selection struct {
	archive *Archive
	q       *remote.Question
	asked   compiled
	found   *places
	list    []*state
	room    int64        // bytes of lines and records that may still be sent
	taken   atomic.Int64 // bytes of records and of lines without them, in memory

	mu      sync.Mutex // guards the fields below
	reading bool
	next    *reading // lines that are asked for while others are read; nil for none
}

// chosen is what is sent of a session.
type chosen struct {
	*state
	record *session.Record // nil if the archive has none that can be used
	facts  int             // bytes of the record
	wanted []int           // numbers of lines
	lines  []adapter.Line
	text   []byte // without a record
	full   bool   // there is no room for it
}

func (c *chosen) size() (n int64) {
	n = int64(len(c.text) + c.facts)
	for i := range c.lines {
		n += int64(len(c.lines[i].Data))
	}
	return n
}

// send sends the sessions in order until there is no room for more.
func (s *selection) send(ctx context.Context, visit func(*remote.Session) error) (sent int, err error) {
	parts := slices.Collect(slices.Chunk(s.list, together))
	err = inOrder(ctx, fetchers, each(parts), s.choose, func(_ []*state, some []*chosen) error {
		for _, c := range some {
			if s.room -= c.size(); c.full || s.room < 0 && sent > 0 {
				return errFull
			}
			sent++
			if err := visit(s.session(c)); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return sent, err
}

var errFull = errors.New("there is no room for more")

func (s *selection) session(c *chosen) *remote.Session {
	sum := c.summary()
	out := &remote.Session{Host: c.Host, Path: c.Path, Summary: sum, Text: c.text}
	if c.record == nil {
		return out
	}
	r := c.record
	if r.Name == "" {
		r.Name, r.NameRank = sum.Name, sum.NameRank
	}
	r.Agent, r.Notes, r.Size, r.Mtime = sum.Agent, sum.Notes, r.Checkpoint.Length, sum.Mtime
	out.Record, out.Lines = r, c.lines
	if s.q.Required == nil { // who looks for lines does not ask what is around them
		out.Read = func(ctx context.Context, number int) ([]adapter.Line, error) { return s.line(ctx, c, number) }
	}
	return out
}

// choose reads what is needed of some sessions.
func (s *selection) choose(ctx context.Context, list []*state) ([]*chosen, error) {
	records, err := s.archive.records(ctx, list)
	if err != nil {
		return nil, err
	}
	all := make([]*chosen, len(list))
	byKey := make(map[string]*chosen)
	for i, st := range list {
		c := &chosen{state: st}
		all[i] = c
		if d := records[st.FileKey]; d != nil {
			var rec *session.Record
			if rec, c.facts, err = unpack(d, st); err == nil && rec.Lines == st.Lines {
				c.record, byKey[st.FileKey] = rec, c
			}
		}
		if c.record == nil {
			if c.text, err = s.archive.lines(ctx, st); err != nil {
				return nil, err
			}
		}
		if c.full = s.taken.Add(c.size()) > 2*s.q.Bytes && i > 0; c.full { // a part of them is read ahead
			all = all[:i+1]
			break
		}
	}
	if s.q.Facts || len(byKey) == 0 {
		return all, nil
	}
	if s.found.lines == nil {
		if err := s.find(ctx, byKey); err != nil {
			return nil, err
		}
	}
	for key, c := range byKey {
		if s.found.lines != nil && s.found.gens[key] == c.Gen {
			c.wanted = s.found.lines[key]
		}
		slices.Sort(c.wanted)
		c.wanted = slices.Compact(c.wanted)
	}
	return all, s.archive.read(ctx, all)
}

// find sets the numbers of all lines with parts that may be hits.
func (s *selection) find(ctx context.Context, byKey map[string]*chosen) error {
	keys := slices.Collect(maps.Keys(byKey))
	body := object{
		"size": pageHits, "query": s.asked.query(object{"terms": object{"file_key": keys}}), "stored_fields": "_none_", "track_total_hits": false,
		"docvalue_fields": []string{"file_key", "line", "gen"},
		"sort":            []object{{"file_key": "asc"}, {"line": object{"order": "asc", "unmapped_type": "integer"}}, {"part": object{"order": "asc", "unmapped_type": "integer"}}},
	}
	return pages(ctx, s.archive, s.archive.alias(), "", body, func(h *hit[struct{}]) error {
		key, line, gen := h.Fields.place()
		if c := byKey[key]; c != nil && line > 0 && gen == c.Gen {
			c.wanted = append(c.wanted, line)
		}
		return nil
	})
}

// read reads the lines that are wanted.
func (a *Archive) read(ctx context.Context, all []*chosen) error {
	var requests []map[*chosen][]int
	size, count := int64(0), 0
	for _, c := range all {
		node := 0
		for _, line := range c.wanted {
			if len(requests) == 0 || size > pageText || count == pageSize {
				requests, size, count = append(requests, make(map[*chosen][]int)), 0, 0
			}
			last := requests[len(requests)-1]
			last[c] = append(last[c], line)
			count++
			for nodes := c.record.Nodes; node < len(nodes) && nodes[node].Line <= line; node++ {
				if nodes[node].Line == line {
					size += int64(nodes[node].Length)
				}
			}
		}
	}
	return inOrder(ctx, fetchers, each(requests), a.linesOf, func(of map[*chosen][]int, found map[string][]adapter.Line) error {
		for c := range of {
			c.lines = append(c.lines, found[c.FileKey]...)
		}
		return nil
	})
}

// linesOf returns lines by the keys of their files.
func (a *Archive) linesOf(ctx context.Context, wanted map[*chosen][]int) (map[string][]adapter.Line, error) {
	var files []object
	var keys []string
	months := make(map[string]bool)
	count := 0
	for c, lines := range wanted {
		files = append(files, all(term("file_key", c.FileKey), term("gen", c.Gen), object{"terms": object{"line": lines}}))
		keys, months[a.monthly(c.Month)] = append(keys, c.FileKey), true
		count += len(lines)
	}
	where := strings.Join(slices.Sorted(maps.Keys(months)), ",") // other shards need not be asked
	body := object{
		"size": min(2*count, pageHits), "track_total_hits": false, // a line may have two documents, of which the first counts
		"query": all(object{"exists": object{"field": "at"}}, either(files...)),
		"sort":  []object{{"line": object{"order": "asc", "unmapped_type": "integer"}}, {"at": object{"order": "asc", "unmapped_type": "long"}}},
	}
	page, err := find[document](ctx, a, where, "&routing="+strings.Join(keys, ","), body)
	if err != nil {
		return nil, err
	}
	found := make(map[string][]adapter.Line)
	for i := range page.Hits.Hits {
		d := &page.Hits.Hits[i].Source
		list := found[d.FileKey]
		if d.At == nil || len(list) > 0 && list[len(list)-1].Number == d.Line {
			continue
		}
		data := []byte(strings.ReplaceAll(d.Raw, "\n", " "))
		found[d.FileKey] = append(list, adapter.Line{Data: data, Raw: data, Offset: *d.At, Length: int64(len(data)), Number: d.Line, Ended: true})
	}
	return found, nil
}

// reading is lines of several files that are read together.
type reading struct {
	of   []*chosen
	done chan struct{} // closed when they have their lines
	err  error
}

// line returns a line of a file. What several goroutines ask for while others are read is read
// together: a request costs more than a line.
func (s *selection) line(ctx context.Context, of *chosen, number int) ([]adapter.Line, error) {
	c := &chosen{state: of.state, record: of.record, wanted: []int{number}}
	s.mu.Lock()
	if s.next == nil {
		s.next = &reading{done: make(chan struct{})}
	}
	r := s.next
	r.of = append(r.of, c)
	if !s.reading {
		s.reading = true
		go s.readOn(ctx)
	}
	s.mu.Unlock()
	<-r.done
	return c.lines, r.err
}

// readOn reads what is asked for until that is nothing.
func (s *selection) readOn(ctx context.Context) {
	for {
		s.mu.Lock()
		r := s.next
		s.next, s.reading = nil, r != nil
		s.mu.Unlock()
		if r == nil {
			return
		}
		r.err = s.archive.read(ctx, r.of)
		close(r.done)
	}
}
