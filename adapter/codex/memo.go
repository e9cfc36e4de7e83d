package codex

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// memo is what a parser remembers of earlier lines.
type memo struct {
	context    session.Context
	dialect    session.Dialect // of the shell
	hasDialect bool            // it is known

	begun   bool // a line was read
	hasMeta bool // a header was seen
	records bool // a token_usage_record was seen
	aborted bool // the last turn was

	tip    int64  // offset of the entry before; -1 if there is none
	group  int64  // offset of the first item of the response that the last one is of; -1 if it is of none
	turn   uint64 // hash of the id of the turn
	total  uint64 // hash of the last total of tokens
	prompt uint64 // key of the last prompt

	turns   []int64   // for each turn, the offset of the entry before it; -1 if there is none
	recent  []uint64  // keys of texts of items that no event has repeated
	pending []pending // events whose text no item has repeated
	runs    []run     // commands that have ended, but have no result yet
	polls   []poll    // calls that wait for a command in the background
	waiting []waiting // calls whose commands run in the background
}

type pending struct {
	key    uint64
	offset int64
	line   int
}

type run struct {
	call           uint64 // hash of its id
	exit, duration int32
}

type poll struct {
	call    uint64 // hash of its id
	process int64
}

type waiting struct {
	process int64
	call    string
}

// Limits of a memo, which keep its size below adapter.MaxMemo. Older entries are forgotten.
const (
	mostTurns    = 64
	mostRecent   = 32
	mostPending  = 32
	mostRuns     = 16
	mostWaiting  = 8
	longestID    = 64
	longestModel = 100 // and provider, and branch
	longestDir   = 400
	window       = 64 // lines between an event and its item
)

// code says what a State keeps of the memo.
func (m *memo) code(c *adapter.Coder) {
	for _, flag := range []*bool{&m.begun, &m.hasDialect, &m.hasMeta, &m.records, &m.aborted} {
		c.Flag(flag)
	}
	for _, s := range []*string{&m.context.Provider, &m.context.Model, &m.context.CWD, &m.context.Git} {
		c.Text(s)
	}
	adapter.Number(c, &m.dialect)
	adapter.Number(c, &m.tip)
	adapter.Number(c, &m.group)
	for _, h := range []*uint64{&m.turn, &m.total, &m.prompt} {
		c.Hash(h)
	}
	adapter.List(c, &m.turns, func(offset *int64) { adapter.Number(c, offset) })
	adapter.List(c, &m.recent, c.Hash)
	adapter.List(c, &m.pending, func(p *pending) {
		c.Hash(&p.key)
		adapter.Number(c, &p.offset)
		adapter.Number(c, &p.line)
	})
	adapter.List(c, &m.runs, func(r *run) {
		c.Hash(&r.call)
		adapter.Number(c, &r.exit)
		adapter.Number(c, &r.duration)
	})
	adapter.List(c, &m.polls, func(p *poll) {
		c.Hash(&p.call)
		adapter.Number(c, &p.process)
	})
	adapter.List(c, &m.waiting, func(w *waiting) {
		adapter.Number(c, &w.process)
		c.Text(&w.call)
	})
}

// bytes returns the memo as a State keeps it, nil before the first line.
func (m *memo) bytes() []byte {
	if !m.begun {
		return nil
	}
	c := adapter.Coder{Data: make([]byte, 0, 512)}
	m.code(&c)
	return c.Data
}

// read reads what bytes returned.
func (m *memo) read(data []byte) {
	*m = memo{tip: -1, group: -1, turns: m.turns[:0], recent: m.recent[:0], pending: m.pending[:0], runs: m.runs[:0], polls: m.polls[:0], waiting: m.waiting[:0]}
	if len(data) > 0 {
		m.code(adapter.NewDecoder(data))
	}
}

// Most events repeat an item, which comes before or after them. A text is compared by its
// key: a hash of it without the space around it, and of whose it is.

// Whose text it is.
const (
	ofUser byte = iota + 1
	ofAgent
	ofThought
	ofResult
	ofShell
	ofSearch
)

func keyOf(whose byte, text []byte) uint64 {
	return mix(xxhash.Sum64(bytes.TrimSpace(text)), uint64(whose))
}

// mix returns a hash of two hashes.
func mix(a, b uint64) uint64 {
	h := (a ^ b*0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// item says which earlier events an item with texts of these keys repeats, and remembers the
// others.
func (m *memo) item(e *session.Entry, keys []uint64) {
	for _, key := range keys {
		i := slices.IndexFunc(m.pending, func(p pending) bool { return p.key == key && e.Line-p.line <= window })
		if i < 0 {
			if !slices.Contains(m.recent, key) {
				m.recent = adapter.Remember(m.recent, key, mostRecent)
			}
			continue
		}
		e.Shadows = append(e.Shadows, m.pending[i].offset)
		m.pending = slices.Delete(m.pending, i, i+1)
	}
}

// event says whether an event with this key repeats an earlier item, or may be repeated by a
// later one.
func (m *memo) event(e *session.Entry, key uint64) {
	if i := slices.Index(m.recent, key); i >= 0 {
		m.recent = slices.Delete(m.recent, i, i+1)
		e.Repeats = true
		return
	}
	e.Pending = true
	m.pending = adapter.Remember(m.pending, pending{key, e.Offset, e.Line}, mostPending)
}
