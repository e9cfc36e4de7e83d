package automaton

import "unicode/utf8"

// A Matcher finds the matches of a Program. It is used by one goroutine.
type Matcher struct {
	*Program
	limit, used     int    // bytes of all states
	forward, mirror *cache // nil until needed

	// Ended is called after every askEvery steps of a search. Once it is true, nothing more
	// is found. It may be nil.
	Ended func() bool
}

// Matcher returns a Matcher whose states take up to limit bytes.
func (p *Program) Matcher(limit int) *Matcher { return &Matcher{Program: p, limit: limit} }

// Line returns an offset in the first matching line that begins at or after at, -1 if there
// is none. at is the start of a line. With Multiline the text is one line.
func (m *Matcher) Line(text []byte, at int) int {
	end := len(text)
	if !m.multiline && end > 0 && text[end-1] == '\n' {
		end-- // no line begins after it
	}
	if at > end || at == len(text) && !m.multiline {
		return -1
	}
	if m.literal != nil {
		if start, _, ok := m.literal.nextMatch(text, at, m.Ended); ok {
			return start
		}
		return -1
	}
	p := pass{text: text, at: at, end: end, early: true}
	m.begin(searching | atText | atLine).run(&p)
	return p.match
}

// begin returns the cache that reads forward, before the first character.
func (m *Matcher) begin(at context) *cache {
	if m.forward == nil {
		m.forward = newCache(m, m.Program.forward, false)
	}
	m.forward.list, m.forward.at = m.forward.list[:0], at&(m.tested|searching)
	return m.forward
}

// Spans returns the first matches in a text that is a line or, with Multiline, several lines: up to
// most unless that is negative. It finds the matches of regexp.FindAllIndex, or, with Edge, all
// that begin after the one before.
func (m *Matcher) Spans(text []byte, most int) (spans [][2]int) {
	last := -1
	for at := 0; at <= len(text) && len(spans) != most; {
		start, end, ok := m.nextMatch(text, at)
		if !ok {
			break
		}
		if start < end || start != last || m.word {
			spans = append(spans, [2]int{start, end})
		}
		at, last = end, end
		if start == end {
			_, size := utf8.DecodeRune(text[at:])
			at += max(size, 1)
		}
	}
	return spans
}

// nextMatch returns the first match that begins at or after at.
func (m *Matcher) nextMatch(text []byte, at int) (start, end int, ok bool) {
	if m.literal != nil {
		return m.literal.nextMatch(text, at, m.Ended)
	}
	p := pass{text: text, at: at, end: len(text)}
	r, size := utf8.DecodeLastRune(text[:at])
	m.begin(searching | m.contextBeside(r, size)).run(&p)
	if p.match < 0 {
		return 0, 0, false
	}
	if m.mirror == nil {
		m.mirror = newCache(m, m.Program.mirror, true)
	}
	r, size = utf8.DecodeRune(text[p.match:])
	m.mirror.list, m.mirror.at = append(m.mirror.list[:0], m.mirror.start), m.contextBeside(r, size)&m.tested
	back := pass{text: text, at: p.match, end: at}
	m.mirror.run(&back)
	return back.match, p.match, back.match >= 0
}

// forget makes the caches empty.
func (m *Matcher) forget() {
	for _, k := range []*cache{m.forward, m.mirror} {
		if k != nil {
			k.forget()
		}
	}
	m.used = 0
}

// contextBeside returns the context of a place beside a character, or at an end of the text.
func (m *Matcher) contextBeside(r rune, size int) context {
	if size == 0 {
		return atText | atLine
	}
	return m.classes[m.class(r)].after
}
