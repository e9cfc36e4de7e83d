package segment

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"

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

// Fields lists the fields that documents are found by.
func Fields() []Field {
	fields := []Field{FieldText}
	for i := range keywords {
		fields = append(fields, keywords[i].name)
	}
	return fields
}

// Keywords calls visit for each keyword that the document is indexed with, but for
// FlagCut, which depends on its text.
func (d *Document) Keywords(visit func(f Field, term string)) {
	for i := range keywords {
		if v := keywords[i].value(d); v != "" {
			visit(keywords[i].name, cut(v))
		}
	}
}
