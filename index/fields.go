package index

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"

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
	FieldFlag     Field = "flag"   // FlagError
	FieldCopy     Field = "copy"   // CopyTerm of the entry, empty when it is no copy of anything
)

// Internal fields.
const (
	fieldID     Field = "_id"
	fieldRecord Field = "record" // stored, on session records only
)

// FlagError is the value of FieldFlag for what has gone wrong.
const FlagError = "error"

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
	s := string(b)
	i := 0
	for i < len(s) && s[i] != ':' {
		i++
	}
	j := i + 1
	for j < len(s) && s[j] != ':' {
		j++
	}
	if j >= len(s) {
		return ID{}, false
	}
	file, err1 := strconv.ParseUint(s[:i], 16, 32)
	offset, err2 := strconv.ParseInt(s[i+1:j], 16, 64)
	part, err3 := strconv.ParseUint(s[j+1:], 16, 31)
	if err1 != nil || err2 != nil || err3 != nil || offset < 0 {
		return ID{}, false
	}
	return ID{File: uint32(file), Offset: offset, Part: int(part)}, true
}

// idRange returns the bounds of the engine's ids of a file's documents from an
// offset on: start inclusive, end exclusive.
func idRange(file uint32, from int64) (start, end []byte) {
	return fmt.Appendf(nil, "%06x:%010x:", file, from), fmt.Appendf(nil, "%06x;", file) // ';' follows ':'
}
