package opensearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/literal"
	"pigrep/query/engine/words"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/remote"
)

// A Question says what an answer needs. An archive may send more, because the answer is found in what
// it sends.
type Question struct {
	Text string      // a query, as of search.Request; "" for none
	Spec filter.Spec // the filters beside it
	Env  filter.Env

	// Required is what every hit contains, for a question about lines; nil for nothing.
	Required *literal.Required

	Names  []string   // only sessions with these names: ids, their beginnings or ends, or paths
	Brief  bool       // summaries are enough: no lines are sent
	Facts  bool       // records are enough: no lines are sent
	Newest bool       // the newest sessions first, not the best
	Wanted int        // how many sessions the answer will show; 0 for all
	Order  grep.Order // of the parts that answer
}

// A Part of an archive answers a question for some of the session files, from an index in memory.
type Part struct {
	archive *Archive
	q       *Question
	asked   compiled
	list    []*state       // nil: the engine, or the question, chooses
	counts  map[string]int // how many parts of each file may be hits, by file key
	divided bool           // list is chosen
	lost    int
	// unpacked is how many bytes the records take that were read.
	unpacked int64

	turn    sync.Mutex      // held while lines are read that were asked for later
	mu      sync.Mutex      // guards the fields below
	damaged map[string]bool // ids of states that this package has not written, and keys of files with such lines
	next    *reading        // lines that are asked for while others are read; nil for none
}

// damage notes what this package has not written.
func (p *Part) damage(ids ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		p.damaged[id] = true
	}
}

func (a *Archive) part(q *Question) *Part {
	return &Part{archive: a, q: q, asked: compile(q, false), damaged: make(map[string]bool)}
}

// Limits of a part. Its index takes about three times as much memory as what it is sent.
const (
	mostOfPart = 16 << 20 // bytes of lines and records, as far as they can be told; one file may have more
	filesOfAll = 500      // files
	shareFacts = 24       // bytes of a file for each of its record, which is also compressed
	mostHeld   = 64 << 20 // bytes of names of sessions
)

// Divide returns the parts that answer a question together. The engine finds the best parts of entries, so
// one part answers a search for these.
func (a *Archive) Divide(ctx context.Context, q *Question) ([]*Part, error) {
	first := a.part(q)
	if q.Brief || first.asked.isRanked(q) {
		return []*Part{first}, nil
	}
	ctx, stop, err := a.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	var failed error
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error { return a.check(both) })
	group.Go(func() (err error) {
		first.lost, err = a.gone(both)
		return err
	})
	group.Go(func() error {
		failed = first.choose(both)
		return nil // what is wrong with the archive says more
	})
	if err := cmp.Or(group.Wait(), failed); err != nil {
		return nil, err
	}
	list := first.list
	modified := make(map[*state]int64, len(list))
	for _, st := range list {
		sum := st.summary()
		modified[st] = sum.Modified().UnixNano()
	}
	lists.SortStable(list, func(x, y *state) int {
		newest := cmp.Compare(modified[y], modified[x])
		switch q.Order {
		case grep.OrderPath:
			newest = 0
		case grep.OrderOldest:
			newest = -newest
		}
		return cmp.Or(newest, cmp.Compare(remote.Name(x.Host, x.Path), remote.Name(y.Host, y.Path)))
	})
	first.list, first.divided = nil, true
	parts, size := []*Part{first}, int64(0)
	for _, st := range list {
		p, n := parts[len(parts)-1], first.weight(st)
		if len(p.list) == filesOfAll || len(p.list) > 0 && size+n > mostOfPart {
			p, size = a.part(q), 0
			p.asked, p.divided, p.counts = first.asked, true, first.counts
			parts = append(parts, p)
		}
		p.list, size = append(p.list, st), size+n
	}
	return parts, nil
}

// weight returns about how many bytes of a file are sent.
func (p *Part) weight(st *state) int64 {
	switch {
	case p.q.Facts:
		return st.Offset / shareFacts
	case p.asked.lines:
		line := st.Offset/max(int64(st.Lines), 1) + 1
		return min(st.Offset, 2*line*int64(p.counts[st.FileKey])) + st.Offset/(4*shareFacts)
	}
	return st.Offset
}

// choose sets the session files that a question needs.
func (p *Part) choose(ctx context.Context) (err error) {
	a, q := p.archive, p.q
	if p.asked.parts == nil && p.asked.scored == nil {
		p.list, err = p.states(ctx, all(p.asked.sessions, overlapping(q)), 0)
		return err
	}
	p.counts, err = a.files(ctx, p.asked.query(p.asked.sessions))
	if err == nil && len(p.counts) == 0 && q.Text != "" {
		p.asked = compile(q, true)
		p.counts, err = a.files(ctx, p.asked.query(p.asked.sessions))
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(p.counts)), pageSize) {
		if err != nil {
			break
		}
		var list []*state
		list, err = p.states(ctx, object{"ids": object{"values": some}}, 0)
		p.list = append(p.list, list...)
	}
	return err
}

// states returns the states that pass a query, as many as are wanted; 0 for all. Those of a question about more
// than summaries lack what their records say too.
func (p *Part) states(ctx context.Context, query object, wanted int) (list []*state, err error) {
	held := int64(0)
	damaged, err := p.archive.states(ctx, p.archive.allSessions(), query, !p.q.Brief, func(st *state) error {
		if held += st.bytes(); held > mostHeld && !p.q.Brief {
			return p.archive.wrap(ctx, fmt.Errorf("%w: the names of the sessions take more than %d MB", remote.ErrTooMuch, mostHeld>>20))
		}
		if list = append(list, st); len(list) == wanted || len(list) == mostStates || held > mostHeld {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	p.damage(damaged...)
	return list, err
}

var errFull = errors.New("there is no room for more")

// overlapping are the states of sessions that may have an entry within the times of a question.
func overlapping(q *Question) object {
	return all(
		either(within("newest", "gte", millis(q.Spec.Since)), without("newest")),
		either(within("oldest", "lte", millis(q.Spec.Until)), without("oldest")),
	)
}

// chosen is what is sent of a session file.
type chosen struct {
	*state
	record *session.Record // nil if the archive has none that can be used
	wanted []int           // numbers of lines
	lines  []adapter.Line
	text   []byte // all lines, of a question that needs them, and without a record
}

// sent is what is sent for a part.
type sent struct {
	list  []*chosen
	files int               // that may answer the question
	more  bool              // there are more hits than were sent
	words *words.Statistics // of the words of the question; nil: they have to be counted
}

// fetch reads what the index of the part is made of.
func (p *Part) fetch(ctx context.Context) (*sent, error) {
	ctx, stop, err := p.archive.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	if p.divided {
		s := &sent{files: len(p.list)}
		switch {
		case p.q.Facts:
			s.list, err = p.details(ctx, lists.Map(p.list, func(st *state) *fileHits { return &fileHits{key: st.FileKey, state: st} }))
		case p.asked.lines:
			var hits []*fileHits
			if hits, err = p.matching(ctx); err == nil {
				s.list, err = p.details(ctx, hits)
			}
		default:
			err = inOrder(ctx, fetchers, each(p.list), p.whole, func(st *state, text []byte) error {
				s.list = append(s.list, &chosen{state: st, text: text})
				return nil
			})
		}
		return s, err
	}
	lost := make(chan error, 1)
	go func() {
		n, err := p.archive.gone(ctx)
		p.lost = n
		lost <- err
	}()
	var s *sent
	if p.q.Brief {
		s, err = p.brief(ctx)
	} else {
		s, err = p.best(ctx)
	}
	return s, cmp.Or(err, <-lost)
}

// brief reads the summaries of the latest sessions.
func (p *Part) brief(ctx context.Context) (*sent, error) {
	query := all(p.asked.sessions, overlapping(p.q))
	var list []*state
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error { return p.archive.check(both) })
	var failed error
	group.Go(func() error {
		list, failed = p.states(both, query, p.q.Wanted)
		return nil
	})
	if err := cmp.Or(group.Wait(), failed); err != nil {
		return nil, err
	}
	s := &sent{files: len(list), list: lists.Map(list, func(st *state) *chosen { return &chosen{state: st} })}
	var err error
	if len(list) == mostStates {
		s.files, err = p.archive.counted(ctx, p.archive.allSessions(), all(term("sort", sortSession), query))
	}
	return s, err
}

// fileHits are parts of a session file that may be hits.
type fileHits struct {
	key   string
	index string // with the parts
	state *state // nil if it is not known yet
	hits  []*hit[document]
}

// matching reads the parts of the files that may be hits, with their lines.
func (p *Part) matching(ctx context.Context) ([]*fileHits, error) {
	byKey := make(map[string]*fileHits)
	months, lines, bytes := make(map[string]bool), int64(1), int64(1)
	list := lists.Map(p.list, func(st *state) *fileHits {
		f := &fileHits{key: st.FileKey, state: st}
		byKey[f.key], months[p.archive.monthly(st.Month)] = f, true
		lines, bytes = lines+int64(st.Lines), bytes+st.Offset
		return f
	})
	if len(list) == 0 {
		return nil, nil
	}
	body := object{
		"size": int(min(max(pageText*lines/bytes, 1), pageSize)), "track_total_hits": false, "_source": withoutRecords,
		"query": p.asked.query(object{"terms": object{"file_key": slices.Collect(maps.Keys(byKey))}}),
		"sort":  []object{by("file_key", "keyword"), by("line", "integer"), by("part", "integer")},
	}
	where := strings.Join(slices.Sorted(maps.Keys(months)), ",") // other shards need not be asked
	return list, pages(ctx, p.archive, where, "", body, func(h *hit[document]) error {
		if f := byKey[h.Source.FileKey]; f != nil {
			of := *h
			f.hits = append(f.hits, &of)
		}
		if h.err != nil {
			p.damage(cmp.Or(h.Source.FileKey, h.ID))
		}
		return nil
	})
}

var withoutRecords = object{"excludes": []string{"record", "facts", "terms"}}

// details returns session files with their records and the lines of their hits.
func (p *Part) details(ctx context.Context, files []*fileHits) (list []*chosen, err error) {
	a := p.archive
	var docs []object
	var ids, keys []string
	record := outlineID
	if p.q.Facts {
		record = recordID
	}
	for _, f := range files {
		keys = append(keys, f.key)
		if f.state != nil {
			f.index, ids = a.monthly(f.state.Month), append(ids, f.state.Session)
		}
		for _, h := range f.hits {
			d := &h.Source
			if d.Month != "" { // the state of a session
				f.index = cmp.Or(f.index, a.monthly(d.Month))
				continue
			}
			if ids, f.index = append(ids, d.Session), h.Index; h.err == nil && d.At == nil && d.Part > 0 { // the first part has the line
				docs = append(docs, object{"_index": h.Index, "_id": idOf(f.key, d.Offset, 0), "routing": f.key})
			}
		}
		if docs = append(docs, object{"_index": f.index, "_id": record(f.key), "routing": f.key}); f.state == nil {
			owner := ownerOf(strings.TrimPrefix(f.index, a.monthly("")))
			docs = append(docs, object{"_index": a.sessionsIndex(owner), "_id": f.key})
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	var answer hits[json.RawMessage]
	var others []*state
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error { return a.call(both, http.MethodPost, "_mget", object{"docs": docs}, &answer) })
	if p.q.Text != "" && !p.q.Facts {
		group.Go(func() (err error) { // other files of the same sessions
			slices.Sort(ids)
			others, err = p.states(both, object{"bool": object{
				"filter": object{"terms": object{"session": slices.Compact(ids)}}, "must_not": object{"terms": object{"file_key": keys}},
			}}, 0)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	progress(ctx)
	states, records, lines := p.sort(answer.Docs)
	var bare []*state // without the record that was asked for
	for _, f := range files {
		st := cmp.Or(f.state, states[f.key])
		if st == nil {
			continue
		}
		x := &chosen{state: st}
		if p.recall(x, records[f.key]); x.record == nil && !p.q.Facts {
			bare = append(bare, st)
		}
		for _, h := range f.hits {
			d := &h.Source
			if of := lines[idOf(f.key, d.Offset, 0)]; d.At == nil && of != nil && of.Line == d.Line {
				d = of
			}
			if h.err == nil && d.Line > 0 && d.Gen == st.Gen {
				x.take(d)
			}
		}
		list = append(list, x)
	}
	there := lists.Map(list, func(x *chosen) [2]string { return [2]string{x.Host, x.Session} })
	for _, st := range others {
		if st.Session != "" && slices.Contains(there, [2]string{st.Host, st.Session}) {
			list, bare = append(list, &chosen{state: st}), append(bare, st)
		}
	}
	more, err := a.records(ctx, bare) // an older pigrep has sent only whole records
	for _, x := range list {
		if p.unpacked > mostMemory { // only forged ones are that large
			return nil, p.archive.wrap(ctx, fmt.Errorf("%w: records of %d session files take more than %d MB", remote.ErrDamaged, len(files), mostMemory>>20))
		}
		if err == nil && x.record == nil {
			if p.recall(x, more[x.FileKey]); x.record == nil {
				x.wanted, x.lines = nil, nil
				x.text, err = p.whole(ctx, x.state)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return list, p.read(ctx, list) // lines that did not come
}

// sort returns the states, records and lines in documents: states and records by file key, lines by id.
func (p *Part) sort(docs []hit[json.RawMessage]) (states map[string]*state, records, lines map[string]*document) {
	a := p.archive
	states, records, lines = make(map[string]*state), make(map[string]*document), make(map[string]*document)
	for i := range docs {
		h := &docs[i]
		if strings.HasPrefix(h.Index, a.sessionsIndex("")) {
			st := &state{}
			switch err := json.Unmarshal(h.Source, st); {
			case len(h.Source) == 0:
			case err != nil || !a.isSound(&hit[state]{Index: h.Index, ID: h.ID, Source: *st}):
				p.damage(h.ID)
			default:
				states[h.ID] = st
			}
			continue
		}
		d := &document{}
		if len(h.Source) == 0 || json.Unmarshal(h.Source, d) != nil {
			continue
		}
		if d.Record != nil {
			records[d.FileKey] = d
		} else {
			lines[h.ID] = d
		}
	}
	return states, records, lines
}

// recall takes the record of a session file; nil, or one that cannot be used, is none.
func (p *Part) recall(c *chosen, d *document) {
	if d == nil {
		return
	}
	rec, size, err := unpack(d, c.state)
	if p.unpacked += int64(size); err == nil && rec.Lines == c.Lines {
		c.record = rec
	}
}

// take takes the line of a part, or wants it if the document does not have it.
func (c *chosen) take(d *document) {
	has := func(l adapter.Line) bool { return l.Number == d.Line }
	switch {
	case slices.ContainsFunc(c.lines, has):
	case d.At != nil:
		c.lines = append(c.lines, d.line())
		c.wanted = slices.DeleteFunc(c.wanted, func(n int) bool { return n == d.Line })
	case !slices.Contains(c.wanted, d.Line):
		c.wanted = append(c.wanted, d.Line)
	}
}

// read reads the lines that are wanted.
func (p *Part) read(ctx context.Context, all []*chosen) error {
	var requests []map[*chosen][]int
	size, count := int64(0), 0
	for _, c := range all {
		slices.Sort(c.wanted)
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
	return inOrder(ctx, fetchers, each(requests), p.linesOf, func(of map[*chosen][]int, found map[string][]adapter.Line) error {
		for c := range of {
			c.lines = append(c.lines, found[c.FileKey]...)
		}
		return nil
	})
}

// linesOf returns lines by the keys of their files.
func (p *Part) linesOf(ctx context.Context, wanted map[*chosen][]int) (map[string][]adapter.Line, error) {
	var files []object
	var keys []string
	months := make(map[string]bool)
	count := 0
	for c, lines := range wanted {
		files = append(files, all(term("file_key", c.FileKey), term("gen", c.Gen), object{"terms": object{"line": lines}}))
		keys, months[p.archive.monthly(c.Month)] = append(keys, c.FileKey), true
		count += len(lines)
	}
	where := strings.Join(slices.Sorted(maps.Keys(months)), ",")
	body := object{
		"size": min(2*count, pageHits), "track_total_hits": false, // a line may have two documents, of which the first counts
		"query": all(object{"exists": object{"field": "at"}}, either(files...)),
		"sort":  []object{by("line", "integer"), by("at", "long")},
	}
	page, err := find[document](ctx, p.archive, where, "&routing="+strings.Join(keys[:min(len(keys), routed)], ","), body)
	if err != nil {
		return nil, err
	}
	progress(ctx)
	found := make(map[string][]adapter.Line)
	for i := range page.Hits.Hits {
		d := &page.Hits.Hits[i].Source
		if page.Hits.Hits[i].err != nil {
			p.damage(d.FileKey)
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
func (p *Part) line(ctx context.Context, of *chosen, number int) ([]adapter.Line, error) {
	c := &chosen{state: of.state, record: of.record, wanted: []int{number}}
	p.mu.Lock()
	r := p.next
	if r == nil {
		r = &reading{}
		r.read = sync.OnceValue(func() error {
			p.turn.Lock()
			defer p.turn.Unlock()
			p.mu.Lock()
			p.next = nil
			p.mu.Unlock()
			return p.read(ctx, r.of)
		})
		p.next = r
	}
	r.of = append(r.of, c)
	p.mu.Unlock()
	err := r.read()
	return c.lines, err
}

// whole returns what the archive has of a session file. Lines that it does not have are empty,
// so that the others have their numbers.
func (p *Part) whole(ctx context.Context, st *state) ([]byte, error) {
	perLine := st.Offset/max(int64(st.Lines), 1) + 1
	size := int(min(max(pageText/(2*perLine), 1), pageSize))
	body := object{
		"size": size, "track_total_hits": false,
		"query": all(term("file_key", st.FileKey), term("gen", st.Gen), object{"exists": object{"field": "at"}}),
		"sort":  []object{by("line", "integer"), by("offset", "long")},
	}
	text := bytes.NewBuffer(make([]byte, 0, min(st.Offset+st.Offset/8, remote.MostText)))
	number := 1
	err := pages(ctx, p.archive, p.archive.monthly(st.Month), "&routing="+st.FileKey, body, func(h *hit[document]) error {
		d := &h.Source
		if h.err != nil {
			p.damage(st.FileKey)
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
			return p.archive.wrap(ctx, fmt.Errorf("%s is longer than %d MB", remote.Name(st.Host, st.Path), mostText>>20))
		}
		return nil
	})
	return text.Bytes(), err
}

const (
	mostText = 1 << 30 // how much is read of a session file
	maxGap   = 1 << 20 // how many missing lines are kept as empty ones, whatever an archive says
)

// Whole implements remote.Source.
func (a *Archive) Whole(ctx context.Context, named remote.Named, visit func(*remote.Session) error) (c remote.Coverage, err error) {
	ctx, stop, err := a.begin(ctx)
	if err != nil {
		return c, err
	}
	defer stop()
	if err := a.check(ctx); err != nil {
		return c, err
	}
	p := a.part(&Question{Names: named.Names})
	list, err := p.states(ctx, p.asked.sessions, named.Latest)
	if err == nil && len(named.Names) > 0 {
		var others []*state
		ids := lists.Map(list, func(st *state) string { return st.Session })
		keys := lists.Map(list, func(st *state) string { return st.FileKey })
		others, err = p.states(ctx, object{"bool": object{"filter": object{"terms": object{"session": ids}}, "must_not": object{"terms": object{"file_key": keys}}}}, 0)
		for _, st := range others {
			if st.Session != "" && slices.ContainsFunc(list, func(x *state) bool { return x.Host == st.Host && x.Session == st.Session }) {
				list = append(list, st)
			}
		}
	}
	if err == nil {
		c.Lost, err = a.gone(ctx)
	}
	if err != nil {
		return c, err
	}
	room := int64(remote.MostText)
	for c.Sessions = len(list); c.Sent < len(list) && (room-list[c.Sent].Offset >= 0 || c.Sent == 0); c.Sent++ {
		room -= list[c.Sent].Offset
	}
	err = inOrder(ctx, fetchers, each(list[:c.Sent]), p.whole, func(st *state, text []byte) error {
		return visit(&remote.Session{Host: st.Host, Path: st.Path, Summary: st.summary(), Text: text})
	})
	c.Damaged = len(p.damaged)
	return c, err
}

// An Excerpt is an index in memory of a part. It opens its session files as far as they were sent, and is
// the search.Excerpt of them.
type Excerpt struct {
	Reader  *index.Reader // the caller closes it
	Files   int           // session files that may answer the question
	Missing []remote.Missing

	words *words.Statistics
	files map[string]entry.File
}

// Open implements entry.Source.
func (x *Excerpt) Open(path string) (entry.File, error) {
	if f := x.files[path]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("%s was not sent", path)
}

// Whole implements search.Excerpt.
func (x *Excerpt) Whole() *words.Statistics { return x.words }

// Open makes the index of the part.
func (p *Part) Open(ctx context.Context, agents adapter.Adapter) (*Excerpt, error) {
	s, err := p.fetch(ctx)
	if err != nil {
		return nil, err
	}
	x := &Excerpt{Files: s.files, files: make(map[string]entry.File)}
	c := remote.Coverage{Lost: p.lost, Damaged: len(p.damaged)}
	if p.q.Brief {
		c.Sessions, c.Sent = s.files, len(s.list)
	}
	x.Missing = c.Lacks(p.archive.Name(), nil)
	to := indexer.NewElsewhere(agents, index.Empty())
	hosts := make(map[remote.Identity]string)
	for _, c := range s.list {
		sum := c.summary()
		id := remote.IdentityOf(&sum)
		if host, again := hosts[id]; again && sum.ID != "" && host != c.Host { // a copy
			continue
		}
		hosts[id] = c.Host
		switch {
		case c.record != nil:
			x.files[sum.Path] = p.file(ctx, c, &sum)
			to.AddLines(c.record, c.lines)
		case c.text != nil:
			sum.Size = int64(len(c.text))
			x.files[sum.Path] = remote.Text(c.text, sum.Modified())
			err = to.Add(ctx, sum, bytes.NewReader(c.text))
		default:
			err = to.Add(ctx, sum, nil)
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	if x.Reader, err = to.Reader(); err == nil && p.q.Text != "" {
		err = p.count(ctx, x, s)
	}
	if err != nil && x.Reader != nil {
		x.Reader.Close()
	}
	return x, err
}

// file returns a file of the lines that were sent, and completes its record.
func (p *Part) file(ctx context.Context, c *chosen, sum *session.Summary) *sparse {
	r := c.record
	if r.Name == "" {
		r.Name, r.NameRank = sum.Name, sum.NameRank
	}
	r.Agent, r.Notes, r.Size, r.Mtime = sum.Agent, sum.Notes, r.Checkpoint.Length, sum.Mtime
	c.lines = merged(c.lines)
	f := &sparse{ctx: ctx, record: r, lines: slices.Clone(c.lines)}
	if p.q.Required == nil { // who looks for lines does not ask what is around them
		f.more = func(ctx context.Context, number int) ([]adapter.Line, error) { return p.line(ctx, c, number) }
	}
	return f
}

// count sets how frequent the words of a question are in all that the archive has.
func (p *Part) count(ctx context.Context, x *Excerpt, s *sent) error {
	here, err := search.Statistics(ctx, x.Reader, search.Request{Text: p.q.Text, Spec: p.q.Spec, Env: p.q.Env})
	if err != nil {
		return nil // who asks is told what is wrong with the query
	}
	if x.words = s.words; x.words == nil {
		x.words, err = p.archive.Count(ctx, slices.Collect(maps.Keys(here.Terms)))
	} else {
		all, sent := 1, 1 // how often the words are there of which the engine says it
		for t, n := range here.Terms {
			if of := x.words.Terms[t]; of > 0 {
				all, sent = all+max(of, n), sent+n
			}
		}
		for t, n := range here.Terms { // for each of those that were sent, there are about as many of others
			of := x.words.Terms[t]
			if of == 0 {
				of = min(n*all/sent, x.words.Documents)
			}
			x.words.Terms[t] = max(of, n)
		}
	}
	if err == nil {
		x.words.More = s.more
	}
	return err
}
