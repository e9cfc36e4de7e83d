package index

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	engine "github.com/blevesearch/bleve_index_api"
)

// Field names a field of the index.
type Field string

// The fields. FieldText is analyzed and has frequencies and lengths; every other
// one holds whole values that are looked up exactly.
const (
	FieldText     Field = "text"
	FieldFile     Field = "file" // FileTerm of the file's number
	FieldKind     Field = "kind"
	FieldRole     Field = "role"
	FieldTool     Field = "tool"
	FieldProvider Field = "provider"
	FieldModel    Field = "model"
	FieldCustom   Field = "custom" // customType
	FieldEntry    Field = "eid"    // entry id, on the first part of an entry only
	FieldFlag     Field = "flag"   // FlagError, FlagCut
	FieldCopy     Field = "copy"   // CopyTerm of the entry, empty when it is no copy of anything
)

// Internal fields.
const (
	fieldID     Field = "_id"
	fieldRecord Field = "record" // stored, on session records only
)

// Values of FieldFlag.
const (
	FlagError = "error" // what has gone wrong
	FlagCut   = "cut"   // some term of the text was longer than analysis.MaxTerm and cut
)

// MaxKeyword is the length in bytes at which keywords are cut.
const MaxKeyword = 256

// NoFile stands for the file of something that is not a document.
const NoFile = ^uint32(0)

const (
	keywordOptions = engine.IndexField | engine.SkipFreqNorm
	// Terms that are mostly in one document only: with a frequency, the engine
	// keeps such a posting in the dictionary itself.
	uniqueOptions = engine.IndexField
	idOptions     = engine.IndexField | engine.StoreField
)

// keyword describes one keyword field: how it is indexed, and its value in a
// document. An empty value is not indexed.
type keyword struct {
	name    Field
	options engine.FieldIndexingOptions
	value   func(*Document) string
}

// keywords is the one table of keyword fields.
var keywords = []keyword{
	{FieldFile, keywordOptions, func(d *Document) string { return FileTerm(d.File) }},
	{FieldKind, keywordOptions, func(d *Document) string { return string(d.Kind) }},
	{FieldRole, keywordOptions, func(d *Document) string { return d.Role }},
	{FieldTool, keywordOptions, func(d *Document) string { return d.Tool }},
	{FieldProvider, keywordOptions, func(d *Document) string { return d.Provider }},
	{FieldModel, keywordOptions, func(d *Document) string { return d.Model }},
	{FieldCustom, keywordOptions, func(d *Document) string { return d.CustomType }},
	{FieldEntry, uniqueOptions, func(d *Document) string { return d.EntryID }},
	{FieldFlag, keywordOptions, func(d *Document) string {
		if d.Error {
			return FlagError
		}
		return ""
	}},
	{FieldCopy, uniqueOptions | engine.DocValues, func(d *Document) string { return CopyTerm(d.Copy) }},
}

// FileTerm is the term of FieldFile for a file number.
func FileTerm(file uint32) string { return fmt.Sprintf("%06x", file) }

// CopyTerm is the term of FieldCopy for session.Entry.Copy; "" for 0.
func CopyTerm(hash uint64) string {
	if hash == 0 {
		return ""
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], hash)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// copyDigits are the values of the characters of a CopyTerm; 64 for all others.
var copyDigits = func() (table [256]byte) {
	for i := range table {
		table[i] = 64
	}
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range len(digits) {
		table[digits[i]] = byte(i)
	}
	return table
}()

// copyLen is the length of a CopyTerm: 8 bytes, 6 bits a character.
const copyLen = 11

// parseCopy is the inverse of CopyTerm; false for anything else.
func parseCopy(term []byte) (hash uint64, ok bool) {
	if len(term) != copyLen {
		return 0, false
	}
	bad := byte(0)
	for _, c := range term[:copyLen-1] {
		d := copyDigits[c]
		bad |= d
		hash = hash<<6 | uint64(d)
	}
	d := copyDigits[term[copyLen-1]] // the last character has 4 bits and two zeros
	return hash<<4 | uint64(d>>2), bad&64 == 0 && d&0b1000011 == 0
}

// cut shortens a keyword to MaxKeyword bytes.
func cut(s string) string {
	if len(s) > MaxKeyword {
		return s[:MaxKeyword]
	}
	return s
}

// The engine's id of a document is its ID as text, fixed in width so that the
// ids of a file sort by offset and then by part. A session record has the id
// "r:" and the file number; those of its facts are in facts.go.

func (id ID) String() string {
	return fmt.Sprintf("%06x:%010x:%04x", id.File, id.Offset, id.Part)
}

func recordID(file uint32) string { return fmt.Sprintf("r:%06x", file) }

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

// An idRange is the engine's ids from start on, below end.
type idRange struct{ start, end string }

// documentIDs is the range of a file's documents from an offset on.
func documentIDs(file uint32, from int64) idRange {
	return idRange{fmt.Sprintf("%06x:%010x:", file, from), fmt.Sprintf("%06x;", file)} // ';' follows ':'
}

// oneID is the range of one id.
func oneID(id string) idRange { return idRange{id, id + "\x00"} }
