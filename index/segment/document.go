package segment

import (
	"fmt"
	"math"

	"pigrep/internal/session"
)

// Document is one part of an entry, as it is indexed.
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
	Search     bool   // session.Part.Search
	Image      string // ImageTerm of the entry
	Copy       uint64 // session.Entry.Copy, a hash of the entry: equal for duplicates, 0 for none
	Text       []byte
}

// Keywords visits the keywords with which the document is indexed, except FlagCut,
// which depends on its text.
func (d *Document) Keywords(visit func(f Field, term string)) {
	for i := range keywords {
		if v := keywords[i].value(d); v != "" {
			visit(keywords[i].name, cut(v))
		}
	}
}

// ID addresses a document: file number, byte offset of its entry, part number.
type ID struct {
	File   uint32
	Offset int64
	Part   int
}

// NoFile is the file number of values that are not documents.
const NoFile = ^uint32(0)

// String returns the id under which the engine knows the document. It is fixed in
// width, so that the ids of a file sort by offset and then by part. Ids of stored
// values have other forms; none may be that of a document.
func (id ID) String() string {
	return fmt.Sprintf("%06x:%010x:%04x", id.File, id.Offset, id.Part)
}

// parseID is the inverse of ID.String; false for anything else.
func parseID(b []byte) (ID, bool) {
	file, b, ok1 := cutHex(b)
	offset, b, ok2 := cutHex(b)
	part, b, ok3 := cutHex(b)
	if !ok1 || !ok2 || !ok3 || b != nil || file > math.MaxUint32 || offset > math.MaxInt64 || part > math.MaxInt32 {
		return ID{}, false
	}
	return ID{File: uint32(file), Offset: int64(offset), Part: int(part)}, true
}

// cutHex parses a number that ends at a colon or at the end, and returns the bytes
// after it; nil at the end.
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

// IDRange is the ids from Start on, below End, in byte order.
type IDRange struct{ Start, End string }

// DocumentIDs returns the range of a file's documents from an offset on.
func DocumentIDs(file uint32, from int64) IDRange {
	return IDRange{fmt.Sprintf("%06x:%010x:", file, from), fmt.Sprintf("%06x;", file)} // ';' follows ':'
}

// OneID returns the range of one id.
func OneID(id string) IDRange { return IDRange{id, id + "\x00"} }
