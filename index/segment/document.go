package segment

import (
	"fmt"
	"math"

	"pigrep/internal/session"
)

// Document is what the index holds for one part.
type Document struct {
	ID
	Kind       session.Kind
	Role       string
	Tool       string
	Provider   string
	Model      string
	CustomType string
	EntryID    string // set on part 0 only, "" for made-up ids
	Error      bool
	Copy       uint64 // session.Entry.Copy
	Text       []byte
}

// ID addresses a document: file number, byte offset of its entry, part number.
type ID struct {
	File   uint32
	Offset int64
	Part   int
}

// NoFile stands for the file of something that is not a document.
const NoFile = ^uint32(0)

// The engine's id of a document is its ID as text, fixed in width so that the
// ids of a file sort by offset and then by part. Ids of
// stored values have another form, which is their writer's.

func (id ID) String() string {
	return fmt.Sprintf("%06x:%010x:%04x", id.File, id.Offset, id.Part)
}

// parseID is the inverse of ID.String; false for anything else, records included.
func parseID(b []byte) (ID, bool) {
	file, b, ok1 := cutHex(b)
	offset, b, ok2 := cutHex(b)
	part, b, ok3 := cutHex(b)
	if !ok1 || !ok2 || !ok3 || b != nil || file > math.MaxUint32 || offset > math.MaxInt64 || part > math.MaxInt32 {
		return ID{}, false
	}
	return ID{File: uint32(file), Offset: int64(offset), Part: int(part)}, true
}

// cutHex parses a number in front of a colon or the end, and returns what is
// behind it; nil when that is the end.
func cutHex(b []byte) (v uint64, rest []byte, ok bool) {
	for i, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case c == ':' && i > 0:
			return v, b[i+1:], true
		default:
			return 0, nil, false
		}
		if v >= 1<<60 {
			return 0, nil, false
		}
		v = v<<4 | uint64(c)
	}
	return v, nil, len(b) > 0
}

// An IDRange is the engine's ids from Start on, below End.
type IDRange struct{ Start, End string }

// DocumentIDs is the range of a file's documents from an offset on.
func DocumentIDs(file uint32, from int64) IDRange {
	return IDRange{fmt.Sprintf("%06x:%010x:", file, from), fmt.Sprintf("%06x;", file)} // ';' follows ':'
}

// OneID is the range of one id.
func OneID(id string) IDRange { return IDRange{id, id + "\x00"} }
