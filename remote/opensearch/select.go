package opensearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pigrep/adapter"
	"pigrep/internal/lists"
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
	held    int64        // bytes of states, in memory
	taken   atomic.Int64 // bytes of records and of lines without them, in memory

	turn    sync.Mutex      // held while lines are read that were asked for later
	mu      sync.Mutex      // guards the fields below
	damaged map[string]bool // ids of states that this package has not written, and keys of files with such lines
	next    *reading        // lines that are asked for while others are read; nil for none
}

// damage notes what this package has not written.
func (s *selection) damage(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.damaged[id] = true
	}
}

// mostHeld is how many bytes of states a question takes.
const mostHeld = 64 << 20

// states is that of the archive.
func (s *selection) states(ctx context.Context, query object, visit func(*state) error) error {
	damaged, err := s.archive.states(ctx, s.archive.allSessions(), query, func(st *state) error {
		if s.held += st.bytes(); s.held > mostHeld {
			return s.archive.wrap(ctx, fmt.Errorf("%w: the names of the sessions take more than %d MB", remote.ErrTooMuch, mostHeld>>20))
		}
		return visit(st)
	})
	s.damage(damaged...)
	return err
}

// latest sets the latest states that pass a query: as many as are wanted, or as there is room for.
func (s *selection) latest(ctx context.Context, query object) error {
	err := s.states(ctx, query, func(st *state) error {
		if s.list = append(s.list, st); len(s.list) == s.q.Wanted || len(s.list) == mostStates {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
		if s.q.Wanted == 0 {
			s.found.files, err = s.archive.counted(ctx, s.archive.allSessions(), query)
			s.found.files -= len(s.list)
		}
	}
	return err
}

// statesOf sets the states of files, in the order of their keys.
func (s *selection) statesOf(ctx context.Context, keys []string) error {
	byKey := make(map[string]*state, len(keys))
	for some := range slices.Chunk(keys, pageSize) {
		if err := s.states(ctx, object{"ids": object{"values": some}}, func(st *state) error {
			byKey[st.FileKey] = st
			return nil
		}); err != nil {
			return err
		}
	}
	for _, key := range keys {
		if st := byKey[key]; st != nil {
			s.list = append(s.list, st)
		}
	}
	return nil
}

// others adds the other files of the same sessions, without which they are not whole. It returns these.
func (s *selection) others(ctx context.Context) (added []*state, err error) {
	if len(s.q.Names) == 0 && s.q.Text == "" {
		return nil, nil
	}
	there, wanted := make(map[string]bool), make(map[[2]string]bool)
	for _, st := range s.list {
		there[st.FileKey], wanted[[2]string{st.Host, st.Session}] = true, st.Session != ""
	}
	for some := range slices.Chunk(s.list, pageSize) {
		keys := lists.Map(some, func(st *state) string { return st.FileKey })
		ids := lists.Map(some, func(st *state) string { return st.Session })
		others := object{"bool": object{"filter": object{"terms": object{"session": ids}}, "must_not": object{"terms": object{"file_key": keys}}}}
		err := s.states(ctx, others, func(st *state) error {
			if !there[st.FileKey] && wanted[[2]string{st.Host, st.Session}] {
				there[st.FileKey], added = true, append(added, st)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	s.list = append(slices.Clip(s.list), added...)
	return added, nil
}

// hasRecords reports whether the records of sessions stand for their lines.
func (s *selection) hasRecords() bool { return !s.q.Brief && (s.q.Facts || s.asked.lines) }

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
	parts := func(ctx context.Context, put func([]*state) error) error {
		if err := each(slices.Collect(slices.Chunk(s.list, together)))(ctx, put); err != nil {
			return err
		}
		others, err := s.others(ctx) // while the first ones are read
		if err != nil {
			return err
		}
		return each(slices.Collect(slices.Chunk(others, together)))(ctx, put)
	}
	err = inOrder(ctx, fetchers, parts, s.choose, func(_ []*state, some []*chosen) error {
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
			if c.recall(d); c.record != nil {
				byKey[st.FileKey] = c
			}
		}
		if c.record == nil {
			if c.text, err = s.whole(ctx, st); err != nil {
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
	for key, c := range byKey {
		if s.found.gens[key] == c.Gen {
			c.wanted = s.found.lines[key]
		}
		slices.Sort(c.wanted)
		c.wanted = slices.Compact(c.wanted)
	}
	return all, s.read(ctx, all)
}

func (s *selection) read(ctx context.Context, all []*chosen) error {
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
	return inOrder(ctx, fetchers, each(requests), s.linesOf, func(of map[*chosen][]int, found map[string][]adapter.Line) error {
		for c := range of {
			c.lines = append(c.lines, found[c.FileKey]...)
		}
		return nil
	})
}

// linesOf returns lines by the keys of their files.
func (s *selection) linesOf(ctx context.Context, wanted map[*chosen][]int) (map[string][]adapter.Line, error) {
	var files []object
	var keys []string
	months := make(map[string]bool)
	count := 0
	for c, lines := range wanted {
		files = append(files, all(term("file_key", c.FileKey), term("gen", c.Gen), object{"terms": object{"line": lines}}))
		keys, months[s.archive.monthly(c.Month)] = append(keys, c.FileKey), true
		count += len(lines)
	}
	where := strings.Join(slices.Sorted(maps.Keys(months)), ",") // other shards need not be asked
	body := object{
		"size": min(2*count, pageHits), "track_total_hits": false, // a line may have two documents, of which the first counts
		"query": all(object{"exists": object{"field": "at"}}, either(files...)),
		"sort":  []object{by("line", "integer"), by("at", "long")},
	}
	page, err := find[document](ctx, s.archive, where, "&routing="+strings.Join(keys, ","), body)
	if err != nil {
		return nil, err
	}
	progress(ctx)
	found := make(map[string][]adapter.Line)
	for i := range page.Hits.Hits {
		d := &page.Hits.Hits[i].Source
		if page.Hits.Hits[i].err != nil {
			s.damage(d.FileKey)
			continue
		}
		list := found[d.FileKey]
		if d.At == nil || len(list) > 0 && list[len(list)-1].Number == d.Line {
			continue
		}
		found[d.FileKey] = append(list, d.line())
	}
	return found, nil
}

// line returns the line that a document has.
func (d *document) line() adapter.Line {
	data := []byte(strings.ReplaceAll(d.Raw, "\n", " "))
	return adapter.Line{Data: data, Raw: data, Offset: *d.At, Length: int64(len(data)), Number: d.Line, Ended: true}
}

// reading is lines of several files that are read together.
type reading struct {
	of   []*chosen
	read func() error // reads them once
}

// line returns a line of a file. What several goroutines ask for while others are read is read
// together: a request costs more than a line.
func (s *selection) line(ctx context.Context, of *chosen, number int) ([]adapter.Line, error) {
	c := &chosen{state: of.state, record: of.record, wanted: []int{number}}
	s.mu.Lock()
	r := s.next
	if r == nil {
		r = &reading{}
		r.read = sync.OnceValue(func() error {
			s.turn.Lock()
			defer s.turn.Unlock()
			s.mu.Lock()
			s.next = nil
			s.mu.Unlock()
			return s.read(ctx, r.of)
		})
		s.next = r
	}
	r.of = append(r.of, c)
	s.mu.Unlock()
	err := r.read()
	return c.lines, err
}

// sendWhole reads the lines of sessions, several at a time, and sends these in order until there
// is no room for more.
func (s *selection) sendWhole(ctx context.Context, visit func(*remote.Session) error) (sent int, err error) {
	n := 0
	for ; n < len(s.list) && (s.room-s.list[n].Offset >= 0 || n == 0); n++ {
		s.room -= s.list[n].Offset
	}
	return n, inOrder(ctx, fetchers, each(s.list[:n]), s.whole, func(st *state, text []byte) error {
		return visit(&remote.Session{Host: st.Host, Path: st.Path, Summary: st.summary(), Text: text})
	})
}

// whole returns what the archive has of a session file. Lines that it does not have are empty,
// so that the others have their numbers.
func (s *selection) whole(ctx context.Context, st *state) ([]byte, error) {
	perLine := st.Offset/max(int64(st.Lines), 1) + 1
	size := int(min(max(pageText/(2*perLine), 1), pageSize))
	body := object{
		"size": size, "track_total_hits": false,
		"query": all(term("file_key", st.FileKey), term("gen", st.Gen), object{"exists": object{"field": "at"}}),
		"sort":  []object{by("line", "integer"), by("offset", "long")},
	}
	text := bytes.NewBuffer(make([]byte, 0, min(st.Offset+st.Offset/8, remote.DefaultBytes)))
	number := 1
	err := pages(ctx, s.archive, s.archive.monthly(st.Month), "&routing="+st.FileKey, body, func(h *hit[document]) error {
		d := &h.Source
		if h.err != nil {
			s.damage(st.FileKey)
			return nil
		}
		if d.Line < number { // another document of the same line
			return nil
		}
		for range min(d.Line-number, maxGap) {
			text.WriteByte('\n')
		}
		text.WriteString(strings.ReplaceAll(d.Raw, "\n", " "))
		text.WriteByte('\n')
		if number = d.Line + 1; text.Len() > mostText {
			return s.archive.wrap(ctx, fmt.Errorf("%s is longer than %d MB", remote.Name(st.Host, st.Path), mostText>>20))
		}
		return nil
	})
	return text.Bytes(), err
}

// mostText is how much is read of a session file.
const mostText = 1 << 30

// maxGap is how many missing lines are kept as empty ones, whatever an archive says.
const maxGap = 1 << 20
