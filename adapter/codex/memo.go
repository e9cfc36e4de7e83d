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
	Begun      bool // a line was read
	HasDialect bool // that of the shell is known
	HasMeta    bool // a header was seen
	Records    bool // a token_usage_record was seen
	Aborted    bool // the last turn was
	Faster     bool // responses are served at a faster tier

	Context session.Context
	Dialect session.Dialect // of the shell

	Tip    int64  // offset of the entry before; -1 if there is none
	Group  int64  // offset of the first item of the response that the last one is of; -1 if it is of none
	Turn   uint64 // hash of the id of the turn
	Total  uint64 // hash of the last total of tokens
	Prompt uint64 // key of the last prompt

	Used tokens // the last total, of which only some lines have what was added

	Turns   []int64   // for each turn, the offset of the entry before it; -1 if there is none
	Recent  []uint64  // keys of texts of items that no event has repeated
	Pending []pending // events whose text no item has repeated
	Runs    []run     // commands that have ended, but have no result yet
	Polls   []poll    // calls that wait for a command in the background
	Waiting []waiting // calls whose commands run in the background
}

// tokens are the counts of a usage, in the words of Codex.
type tokens struct{ Input, Cached, Written, Output int64 }

type pending struct {
	Key    uint64
	Offset int64
	Line   int
}

type run struct {
	Call           uint64 // hash of its id
	Exit, Duration int32
}

type poll struct {
	Call    uint64 // hash of its id
	Process int64
}

type waiting struct {
	Process int64
	Call    string
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

func mix(a, b uint64) uint64 {
	h := (a ^ b*0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// item says which earlier events an item with texts of these keys repeats, and remembers the
// others.
func (m *memo) item(e *session.Entry, keys []uint64) {
	for _, key := range keys {
		i := slices.IndexFunc(m.Pending, func(p pending) bool { return p.Key == key && e.Line-p.Line <= window })
		if i < 0 {
			if !slices.Contains(m.Recent, key) {
				m.Recent = adapter.Remember(m.Recent, key, mostRecent)
			}
			continue
		}
		e.Shadows = append(e.Shadows, m.Pending[i].Offset)
		m.Pending = slices.Delete(m.Pending, i, i+1)
	}
}

// event says whether an event with this key repeats an earlier item, or may be repeated by a
// later one.
func (m *memo) event(e *session.Entry, key uint64) {
	if i := slices.Index(m.Recent, key); i >= 0 {
		m.Recent = slices.Delete(m.Recent, i, i+1)
		e.Repeats = true
		return
	}
	e.Pending = true
	m.Pending = adapter.Remember(m.Pending, pending{key, e.Offset, e.Line}, mostPending)
}
