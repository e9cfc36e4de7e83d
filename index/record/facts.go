package record

import (
	"fmt"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// FactKind is one of the encodings that the facts of a session file have, so that an
// answer reads only what it needs. Each is cut into pieces of session.FactsChunk facts,
// so that an appended line rewrites the last piece only.
type FactKind byte

// The kinds of facts.
const (
	UsageFacts  FactKind = 'u' // uses of tokens
	CallFacts   FactKind = 'f' // what counting calls needs
	DetailFacts FactKind = 'g' // the rest about calls, and the files that summaries list
	BareFacts   FactKind = 'b' // which entries with facts have no documents
)

// FactKinds lists the kinds.
var FactKinds = [...]FactKind{UsageFacts, CallFacts, DetailFacts, BareFacts}

// SourceKinds lists the kinds of facts from which the last kind is derived.
var SourceKinds = FactKinds[:3]

// Tail is the name of the piece with all facts of a file, those of an unterminated
// last line included. It exists only when there is such a line, and then no other
// piece of the file counts. The other pieces are named by their number, and sort before it.
const Tail = "tail"

// PieceName returns the name of the piece with that number, from 0. Names sort as
// the numbers do.
func PieceName(number int) string { return fmt.Sprintf("%06x", number) }

// EncodeFacts returns the stored form of a piece; nil when it has no facts of the kind,
// because then it is not stored. It is uint SchemaVersion, the columns of the kind, and
// the checksum.
func EncodeFacts(kind FactKind, f *session.Facts) []byte {
	b := format.AppendUint(nil, format.SchemaVersion)
	switch {
	case kind == UsageFacts && len(f.Usages) > 0:
		b = appendUsages(b, f.Usages)
	case kind == CallFacts && len(f.Calls) > 0:
		b = appendCalls(b, f.Calls)
	case kind == DetailFacts && len(f.Calls)+len(f.Touches) > 0:
		b = appendTouches(appendDetails(b, f.Calls), f.Touches)
	case kind == BareFacts && hasBare(f):
		b = appendBare(b, f)
	default:
		return nil
	}
	return format.Seal(format.AppendColumnEnd(b))
}

var errFacts = format.Damaged("session facts: unreadable")

// factDecoder decodes facts, which keep its lists.
type factDecoder struct {
	format.Decoder
	lists []string // of names
}

// decode decodes the stored form of a kind.
func (p *Piece) decode(kind FactKind, stored []byte) error {
	c, err := open(stored, "session facts")
	if err != nil {
		return err
	}
	d := &factDecoder{c.Decoder, p.lists}
	switch kind {
	case UsageFacts:
		p.Usages = d.usages()
	case CallFacts:
		p.Calls = d.calls()
	case DetailFacts:
		p.Details, p.Touches = d.details(), d.touches()
	case BareFacts:
		p.Bare = d.bare()
	}
	p.lists = d.lists
	d.ColumnEnd()
	if !d.Done() {
		return errFacts
	}
	return nil
}
