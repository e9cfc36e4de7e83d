package query

import (
	"bytes"
	"cmp"
	"errors"
	"runtime"
	"slices"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index/analysis"
	"pigrep/internal/session"
)

// How many bytes of session files may be read to verify, in the order of the
// scores. What is quoted or left out decides whether a document is a hit at all,
// other compounds where it stands, and the spelling of an identifier does so only
// a little.
const (
	verifyStrict   = 32 << 20
	verifyRegexp   = 16 << 20 // divided by the number of expressions
	verifyLoose    = 6 << 20
	verifySpelling = 1 << 20
)

// errChanged says that a session file no longer holds what was indexed.
var errChanged = errors.New("the session file has changed since it was indexed")

// verify reads the candidates that may have a phrase or compound and settles
// whether they do. Without a budget left, a compound counts as found by its
// parts, and a phrase as not found.
func (s *searcher) verify() error {
	var list []int32
	for i, c := range s.found.all() {
		if c.pending && !c.dropped {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(i, j int32) int { return s.compare(s.found.at(i), s.found.at(j)) })

	budget, strict := verifySpelling, false
	expressions := 0
	for _, p := range s.plans {
		if _, ok := p.find.(*expressionTest); ok {
			expressions++
		}
		switch {
		case p.verify && p.strict():
			budget, strict = verifyStrict, true
		case p.verify && !p.spell:
			budget = max(budget, verifyLoose)
		}
	}
	if expressions > 0 {
		budget = min(budget, verifyRegexp/expressions)
	}
	read := 0 // candidates that the budget is enough for
	for _, i := range list {
		c := s.found.at(i)
		o, err := s.outlineOf(c)
		if err != nil {
			return err
		}
		if e, ok := o.At(s.resolve(c).offset); ok {
			if budget -= e.Length; budget < 0 && read > 0 {
				break
			}
		}
		read++
	}
	whole := make([]uint64, s.found.bound()) // words found in the text
	if err := s.readWords(slices.Clone(list[:read]), whole); err != nil {
		return err
	}
	for at, i := range list {
		c := s.found.at(i)
		for _, p := range s.plans {
			if p.verify && c.mask&p.bit != 0 && whole[i]&p.bit == 0 {
				s.fallBack(c, p, at < read)
			}
		}
		s.inexact = s.inexact || strict && at >= read
		c.dropped = c.dropped || !s.judge.of(c.mask, c.weak).hit
	}
	return nil
}

// fallBack takes back that a candidate has a compound whole. known is false when
// that was not looked at.
func (s *searcher) fallBack(c *candidate, p *plan, known bool) {
	worth, ok := s.segs[c.segment].pendingOf(p, c.doc)
	if !ok {
		return
	}
	switch {
	case !p.scored:
		if known {
			c.mask &^= p.bit
		}
	case p.strict():
		c.mask &^= p.bit
		c.base -= worth.whole
	default:
		c.base -= worth.whole - worth.parts
		c.tier = max(c.tier, tierParts)
	}
	s.rate(c)
}

// readWords sets the bits of the verified words that the text of each candidate
// has. A candidate that cannot be read any more is dropped.
func (s *searcher) readWords(list []int32, whole []uint64) error {
	slices.SortFunc(list, func(i, j int32) int {
		a, b := s.found.at(i), s.found.at(j)
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset))
	})
	g, ctx := errgroup.WithContext(s.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	changed := make([]bool, s.found.bound())
	for start := 0; start < len(list); {
		end := start + 1
		for end < len(list) && end-start < 256 && s.found.at(list[end]).file == s.found.at(list[start]).file {
			end++
		}
		some := list[start:end]
		start = end
		g.Go(func() error {
			var f, g folder
			var lower []byte
			read := s.reader(some[0])
			for len(some) > 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
				n := 1
				for n < len(some) && s.found.at(some[n]).offset == s.found.at(some[0]).offset {
					n++
				}
				read.reject = s.rejects(some[:n], &lower)
				err := read.parse(s.found.at(some[0]), func(line adapter.Line, e *session.Entry) {
					for _, i := range some[:n] {
						part := int(s.found.at(i).part)
						if part >= len(e.Parts) {
							changed[i] = true
							continue
						}
						v := partView{file: read.file, line: line, parser: read.parser, entry: e, part: part, folder: &f, commands: &g}
						for _, p := range s.plans {
							if p.verify && s.found.at(i).mask&p.bit != 0 && p.holds(&v) {
								whole[i] |= p.bit
							}
						}
					}
				})
				if errors.Is(err, errChanged) {
					for _, i := range some[:n] {
						changed[i] = true
					}
				} else if err != nil {
					return err
				}
				some = some[n:]
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, i := range list {
		if changed[i] {
			s.found.at(i).dropped = true
			s.changed.Add(1)
		}
	}
	return nil
}

// rejects returns a look at the JSON of an entry that tells that no candidate in
// it has a word to be verified. It is nil when that cannot be told so.
func (s *searcher) rejects(some []int32, lower *[]byte) func(raw []byte) bool {
	words := uint64(0)
	for _, i := range some {
		words |= s.found.at(i).mask
	}
	var needles []*rawNeedle
	for _, p := range s.plans {
		if !p.verify || words&p.bit == 0 {
			continue
		}
		if p.find != nil || p.raw == nil {
			return nil
		}
		needles = append(needles, p.raw)
	}
	return func(raw []byte) bool {
		text, sure := lowerRaw(*lower, raw)
		*lower = text
		return sure && !slices.ContainsFunc(needles, func(n *rawNeedle) bool {
			// The index says that all the words are there. Without one of them, the
			// file may have changed: parsing finds out.
			return n.may(text) || !n.hasRuns(text)
		})
	}
}

// holds reports whether a part has a word that has to be verified.
func (p *plan) holds(v *partView) bool {
	if p.find != nil {
		return p.find.holds(v)
	}
	text := v.fold()
	if p.needle.han {
		text = bytes.Clone(text)
		simplify(text)
	}
	_, _, ok := p.needle.find(text, 0)
	return ok
}

// errTooLong says that an entry is longer than a reader takes.
var errTooLong = errors.New("the entry is too long")

// entryReader reads entries of one session file again. It is used by one
// goroutine. It needs no session record: an entry ends where its line does.
type entryReader struct {
	src    Source
	a      adapter.Adapter
	file   *file
	parser adapter.Parser // of entries after the header

	most   int                   // bytes of an entry; 0 for any
	reject func(raw []byte) bool // of what an entry need not be parsed for; nil for nothing
	size   int                   // of the line last read
}

// reader returns a reader for the file of a candidate.
func (s *searcher) reader(i int32) *entryReader {
	return &entryReader{src: s.src, a: s.a, file: &s.files[s.found.at(i).file]}
}

// How much is read at first of an entry whose length is not known, and how much
// more each time.
const (
	firstRead  = 16 << 10
	readGrowth = 8
)

// line reads the line from offset on.
func (r *entryReader) line(offset int64) ([]byte, error) {
	if offset >= r.file.Size {
		return nil, errChanged
	}
	left := r.file.Size - offset
	var data []byte
	for n := int64(firstRead); ; n *= readGrowth {
		if r.most > 0 {
			n = min(n, int64(r.most))
		}
		n = min(n, left)
		more, err := r.src.ReadAt(r.file.Path, offset+int64(len(data)), int(n)-len(data))
		if err != nil || len(more) != int(n)-len(data) {
			return nil, errChanged // gone, unreadable, or shorter now
		}
		if i := bytes.IndexByte(more, '\n'); i >= 0 {
			return append(data, more[:i]...), nil
		}
		if data = append(data, more...); n == left {
			return data, nil
		}
		if r.most > 0 && n == int64(r.most) {
			r.size = r.most
			return nil, errTooLong
		}
	}
}

// bytes reads the JSON of the entry at offset, or more of its line.
func (r *entryReader) bytes(offset int64) ([]byte, int, error) {
	if o := r.file.outline; o != nil {
		e, ok := o.At(offset)
		if !ok {
			return nil, 0, errChanged
		}
		if r.most > 0 && e.Length > r.most {
			r.size = r.most
			return nil, 0, errTooLong
		}
		if data, err := r.src.ReadAt(r.file.Path, offset, e.Length); err == nil && len(data) == e.Length {
			return data, e.Line, nil
		}
		return nil, 0, errChanged
	}
	data, err := r.line(offset)
	return data, 1, err
}

// entry reads the entry of a candidate, whose id must be resolved, and hands it
// over, or fails with errChanged.
func (r *entryReader) entry(c *candidate, use func(*session.Entry)) error {
	return r.parse(c, func(_ adapter.Line, e *session.Entry) { use(e) })
}

// parse is entry, with the line that the entry is parsed from.
func (r *entryReader) parse(c *candidate, use func(adapter.Line, *session.Entry)) error {
	offset := c.offset
	data, number, err := r.bytes(offset)
	if err != nil {
		return err
	}
	r.size = len(data)
	if r.reject != nil && r.reject(data) {
		return nil
	}
	header := r.file.Header
	parser := r.parser
	if parser == nil || offset < header.Offset {
		state := adapter.State{Lines: number - 1}
		if header.Offset <= offset {
			state.Header = header
		}
		parser = r.a.Parse(state)
		if header.Offset <= offset {
			r.parser = parser
		}
	}
	same := false
	line := adapter.Line{Data: data, Raw: data, Offset: offset, Number: number, Ended: true}
	parser.Parse(line, func(e *session.Entry) {
		if e.Offset == offset && !same && int(c.part) < len(e.Parts) && (c.copy == 0 || e.Copy == c.copy) && r.isNode(e) {
			same = true
			use(line, e)
		}
	})
	if !same {
		return errChanged
	}
	return nil
}

// isNode reports whether an entry is what the session record, if it is there,
// says of it.
func (r *entryReader) isNode(e *session.Entry) bool {
	if r.file.outline == nil {
		return true
	}
	n, ok := r.file.outline.At(e.Offset)
	return ok && n.ID == e.ID && n.Length == e.Length
}

// folder folds texts for needles to be found in.
type folder struct {
	analyzer analysis.Analyzer
	buf      []byte
}

// plainASCII maps the ASCII characters but for white space and NUL to themselves,
// letters to lower case, and everything else to 0.
var plainASCII = func() (table [256]byte) {
	for c := byte(1); c < utf8.RuneSelf; c++ {
		switch {
		case c == ' ' || '\t' <= c && c <= '\r':
		case 'A' <= c && c <= 'Z':
			table[c] = c + 'a' - 'A'
		default:
			table[c] = c
		}
	}
	return table
}()

// fold returns what FoldText has as its text, faster: only what is not ASCII, and
// the character before it, which a mark may belong to, goes through FoldText.
// The result is valid until the next call.
func (f *folder) fold(text []byte) []byte {
	to := slices.Grow(f.buf[:0], len(text))
	space := false
	for i := 0; i < len(text); i++ {
		if plainASCII[text[i]] != 0 {
			n := len(to)
			end := i
			for end < len(text) && plainASCII[text[end]] != 0 {
				to = append(to, plainASCII[text[end]])
				end++
			}
			if end < len(text) && text[end] >= utf8.RuneSelf {
				to = to[:len(to)-1] // the last one may have a mark
				end--
			}
			if space = space && len(to) == n; end > i {
				i = end - 1
				continue
			}
		}
		c := text[i]
		if i+1 < len(text) && text[i+1] >= utf8.RuneSelf || c >= utf8.RuneSelf {
			start := i
			for i+1 < len(text) && text[i+1] >= utf8.RuneSelf {
				i++
			}
			some := f.analyzer.FoldText(text[start : i+1]).Text
			if space && len(some) > 0 && some[0] == ' ' {
				some = some[1:]
			}
			to = append(to, some...)
			space = len(to) > 0 && to[len(to)-1] == ' '
			continue
		}
		switch {
		case c == ' ' || '\t' <= c && c <= '\r':
			if space {
				continue
			}
			c, space = ' ', true
		default:
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			space = false
		}
		to = append(to, c)
	}
	f.buf = to
	return to
}
