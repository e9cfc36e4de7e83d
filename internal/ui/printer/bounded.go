package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Bounded passes JSON on to a writer, no more than so many bytes of it: whole
// items of the answer are left out at its end, and "dropped" says how many. Of a
// search the sessions stay that the hits are of. It works on the bytes of JSON and
// of JSON Lines as the printers write them, an item at a time, so that an answer
// of any length can be bounded; what is not an item (the facts around them) is
// always written, even where that alone is too much.
type Bounded struct {
	w     io.Writer
	max   int
	lines bool // JSON Lines

	scan scanner
	cur  []byte // of the item, or of what stands between items

	before, after []byte // the items: the beginning of the envelope, and what follows the list
	items         [][]byte
	size          int             // of items
	dropped       int             // that were not even kept to choose from
	sessions      [][]byte        // of the hits
	paths         map[string]bool // of the sessions that kept hits are of
	inSessions    bool            // the list that is read is that of the sessions
	named         bool            // a list of items has begun
}

// NewBounded returns a writer that bounds what the printer of this format writes;
// its Close writes what is left.
func NewBounded(w io.Writer, max int, f Format) *Bounded {
	return &Bounded{w: w, max: max, lines: f == FormatJSONL, paths: make(map[string]bool)}
}

// itemLists are the members of an envelope that hold items.
var itemLists = map[string]bool{"hits": true, "matches": true, "entries": true, "sessions": true, "rows": true, "tree": true}

// scanner follows the structure of JSON.
type scanner struct {
	depth             int
	inString, escaped bool
	key               []byte // the last string at depth 1
	inKey             bool
}

// next takes a byte and reports whether it is structure, not part of a string.
func (s *scanner) next(c byte) bool {
	if s.inString {
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.inString, s.inKey = false, false
		}
		if s.inKey {
			s.key = append(s.key, c)
		}
		return false
	}
	switch c {
	case '"':
		s.inString = true
		if s.inKey = s.depth == 1; s.inKey {
			s.key = s.key[:0]
		}
		return false
	case '{', '[':
		s.depth++
	case '}', ']':
		s.depth--
	}
	return true
}

func (b *Bounded) Write(p []byte) (int, error) {
	for _, c := range p {
		if b.lines {
			if b.cur = append(b.cur, c); c == '\n' {
				b.line()
			}
			continue
		}
		b.byte(c)
	}
	return len(p), nil
}

// line takes a line of JSON Lines. The last one is the summary, which stays.
func (b *Bounded) line() {
	if b.after != nil {
		b.item(b.after, isType(b.after, "session") && len(b.items) > 0 && isType(b.items[0], "hit"))
	}
	b.after, b.cur = b.cur, nil
}

func isType(line []byte, name string) bool {
	return bytes.HasPrefix(line, []byte(`{"type":"`+name+`"`))
}

// byte takes a byte of an envelope.
func (b *Bounded) byte(c byte) {
	inList := b.named && b.scan.depth >= 2
	structure := b.scan.next(c)
	switch {
	case inList && structure && b.scan.depth == 1: // the end of the list
		b.endItem()
		b.named = false
		b.cur = append(b.cur, c)
	case inList && structure && c == ',' && b.scan.depth == 2:
		b.endItem()
	case inList:
		b.cur = append(b.cur, c)
	case structure && c == '[' && b.scan.depth == 2 && itemLists[string(b.scan.key)]:
		b.cur = append(b.cur, c)
		b.inSessions = b.before != nil // they follow the hits
		if b.inSessions {
			b.after = append(b.after, b.cur...)
		} else {
			b.before = b.cur
		}
		b.cur, b.named = nil, true
	default:
		b.cur = append(b.cur, c)
	}
}

func (b *Bounded) endItem() {
	if item := bytes.TrimSpace(b.cur); len(item) > 0 {
		b.item(item, b.inSessions)
	}
	b.cur = nil
}

// item takes an item, as long as there is any room for it.
func (b *Bounded) item(item []byte, isSession bool) {
	switch {
	case isSession:
		if b.paths[pathOf(item)] {
			b.sessions = append(b.sessions, item)
		}
	case b.dropped > 0 || b.size+len(item) > b.max:
		b.dropped++
	default:
		b.items = append(b.items, item)
		b.size += len(item) + 1
		if path := pathOf(item); path != "" {
			b.paths[path] = true
		}
	}
}

// pathOf is the session that an item names.
func pathOf(item []byte) string {
	var s struct {
		SessionPath string `json:"sessionPath"`
	}
	if json.Unmarshal(item, &s) != nil {
		return ""
	}
	return s.SessionPath
}

// Close writes the answer. It does not close what that is written to.
func (b *Bounded) Close() error {
	n := len(b.items)
	out := b.answer(n)
	// The parts of an answer that are left out differ in length: look again.
	for len(out) > b.max && n > 0 {
		n = max(0, n-max(1, b.excess(n, len(out))))
		out = b.answer(n)
	}
	_, err := b.w.Write(out)
	return err
}

// excess is how many of the first n items are certainly too many.
func (b *Bounded) excess(n, size int) int {
	k := 0
	for over := size - b.max; k < n && over > 0; k++ {
		over -= len(b.items[n-1-k]) + 1 + longestSession
	}
	return k
}

// longestSession is more than what leaving out an item can save beside the item.
const longestSession = 4 << 10

// answer is the answer with the first n items.
func (b *Bounded) answer(n int) []byte {
	var sessions [][]byte
	if len(b.sessions) > 0 {
		used := make(map[string]bool)
		for _, item := range b.items[:n] {
			used[pathOf(item)] = true
		}
		for _, s := range b.sessions {
			if used[pathOf(s)] {
				sessions = append(sessions, s)
			}
		}
	}
	dropped := ""
	if d := b.dropped + len(b.items) - n; d > 0 {
		dropped = fmt.Sprintf(`,"dropped":%d`, d)
	}
	var out []byte
	if b.lines {
		for _, line := range append(b.items[:n:n], sessions...) {
			out = append(out, line...)
		}
		return append(out, withMember(b.after, dropped)...)
	}
	out = append(out, b.before...)
	out = append(out, bytes.Join(b.items[:n], []byte(","))...)
	out = append(out, b.after...)
	if len(b.after) > 0 {
		out = append(out, bytes.Join(sessions, []byte(","))...)
	}
	return append(out, withMember(b.cur, dropped)...)
}

// withMember puts a member at the end of an object.
func withMember(object []byte, member string) []byte {
	i := bytes.LastIndexByte(object, '}')
	if i < 0 || member == "" {
		return object
	}
	return append(append(append([]byte{}, object[:i]...), member...), object[i:]...)
}
