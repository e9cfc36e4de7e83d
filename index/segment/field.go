package segment

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"

	engine "github.com/blevesearch/bleve_index_api"

	"pigrep/internal/session"
)

// Field names a field of the index.
type Field string

// The fields. FieldText is analyzed and has frequencies and lengths; every other
// one holds whole values that are looked up exactly.
const (
	FieldText      Field = "text"
	FieldFile      Field = "file" // FileTerm of the file number
	FieldKind      Field = "kind"
	FieldRole      Field = "role"
	FieldTool      Field = "tool"
	FieldProvider  Field = "provider"
	FieldModel     Field = "model"
	FieldCustom    Field = "custom" // customType
	FieldEntry     Field = "eid"    // entry id, on the first part of an entry only
	FieldFlag      Field = "flag"   // FlagError, FlagCut
	FieldSearch    Field = "search" // Yes, on calls and results of this program
	FieldImage     Field = "image"  // the type of the entry's first image, or UnknownImage
	FieldEntryHash Field = "copy"   // EntryHashTerm of the entry; duplicates share it
)

// Internal fields.
const (
	fieldID     Field = "_id"
	fieldRecord Field = "record" // of stored values; its only term is recordTerm
)

// recordTerm is a term of every stored value and of no document, so that its postings
// tell them apart.
const recordTerm = "1"

// Values of FieldFlag.
const (
	FlagError = "error" // the document reports a failure
	FlagCut   = "cut"   // some term of the text was longer than analysis.MaxTerm and cut
)

// Yes is the only value of FieldSearch.
const Yes = "yes"

// UnknownImage is the value of FieldImage for an image without a type.
const UnknownImage = "image"

// MaxKeyword is the length in bytes at which keywords are cut.
const MaxKeyword = 256

const (
	textOptions    = engine.IndexField
	keywordOptions = engine.IndexField | engine.SkipFreqNorm
	// Terms that mostly occur in one document: with a frequency, such a posting is
	// kept in the dictionary itself.
	uniqueOptions = engine.IndexField
	idOptions     = engine.IndexField | engine.StoreField
	recordOptions = engine.IndexField | engine.SkipFreqNorm | engine.StoreField
)

// keyword describes a keyword field: how it is indexed, and its value in a
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
	{FieldSearch, keywordOptions, func(d *Document) string {
		if d.Search {
			return Yes
		}
		return ""
	}},
	{FieldImage, keywordOptions, func(d *Document) string { return d.Image }},
	{FieldEntryHash, uniqueOptions | engine.DocValues, func(d *Document) string { return EntryHashTerm(d.Copy) }},
}

// fieldSpec is a field of every segment, and how it is indexed.
type fieldSpec struct {
	name    Field
	options engine.FieldIndexingOptions
}

// specs returns all fields in the order of the format: _id, then the others by name.
func specs() []fieldSpec {
	list := []fieldSpec{{FieldText, textOptions}, {fieldRecord, recordOptions}}
	for _, k := range keywords {
		list = append(list, fieldSpec{k.name, k.options})
	}
	slices.SortFunc(list, func(x, y fieldSpec) int { return cmp.Compare(x.name, y.name) })
	return slices.Insert(list, 0, fieldSpec{fieldID, idOptions})
}

// storedID is the number of fieldRecord, the only field that has stored values.
var storedID = slices.IndexFunc(specs(), func(f fieldSpec) bool { return f.name == fieldRecord })

// Fields lists the fields by which documents are found.
func Fields() []Field {
	fields := []Field{FieldText}
	for i := range keywords {
		fields = append(fields, keywords[i].name)
	}
	return fields
}

// Options returns how the field is indexed.
func (f Field) Options() engine.FieldIndexingOptions {
	for i := range keywords {
		if keywords[i].name == f {
			return keywords[i].options
		}
	}
	return textOptions
}

// ImageTerm returns the term of FieldImage for the images of an entry, "" for none.
func ImageTerm(images []session.Image) string {
	if len(images) == 0 {
		return ""
	}
	return cmp.Or(images[0].MimeType, UnknownImage)
}

// FileTerm returns the term of FieldFile for a file number.
func FileTerm(file uint32) string { return fmt.Sprintf("%06x", file) }

// EntryHashTerm returns the term of FieldEntryHash for a hash; "" for 0, which is
// no hash.
func EntryHashTerm(hash uint64) string {
	if hash == 0 {
		return ""
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], hash)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

var strictBase64 = base64.RawURLEncoding.Strict()

// parseEntryHash is the inverse of EntryHashTerm; false for anything else.
func parseEntryHash(term []byte) (hash uint64, ok bool) {
	var b [9]byte // what Decode may write for 11 characters
	if len(term) != 11 {
		return 0, false
	}
	n, err := strictBase64.Decode(b[:], term)
	hash = binary.BigEndian.Uint64(b[:])
	return hash, n == 8 && err == nil && hash != 0
}

// cut shortens a keyword to MaxKeyword bytes.
func cut(s string) string {
	if len(s) > MaxKeyword {
		return s[:MaxKeyword]
	}
	return s
}
