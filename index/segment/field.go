package segment

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

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
	FieldName      Field = "name"   // terms of the text that it has only in names of arguments
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

// fieldSpec describes a field: how it is indexed.
type fieldSpec struct {
	name    Field
	options engine.FieldIndexingOptions
}

// keyword is a keyword field, and its value in a document. An empty value is not indexed.
type keyword struct {
	fieldSpec
	value func(*Document) string
}

// keywords is the one table of keyword fields.
var keywords = []keyword{
	{fieldSpec{FieldFile, keywordOptions}, func(d *Document) string { return FileTerm(d.File) }},
	{fieldSpec{FieldKind, keywordOptions}, func(d *Document) string { return string(d.Kind) }},
	{fieldSpec{FieldRole, keywordOptions}, func(d *Document) string { return d.Role }},
	{fieldSpec{FieldTool, keywordOptions}, func(d *Document) string { return d.Tool }},
	{fieldSpec{FieldProvider, keywordOptions}, func(d *Document) string { return d.Provider }},
	{fieldSpec{FieldModel, keywordOptions}, func(d *Document) string { return d.Model }},
	{fieldSpec{FieldCustom, keywordOptions}, func(d *Document) string { return d.CustomType }},
	{fieldSpec{FieldEntry, uniqueOptions}, func(d *Document) string { return d.EntryID }},
	{fieldSpec{FieldFlag, keywordOptions}, func(d *Document) string { return termIf(d.Error, FlagError) }},
	{fieldSpec{FieldSearch, keywordOptions}, func(d *Document) string { return termIf(d.Search, Yes) }},
	{fieldSpec{FieldImage, keywordOptions}, func(d *Document) string { return d.Image }},
	{fieldSpec{FieldEntryHash, uniqueOptions | engine.DocValues}, func(d *Document) string { return EntryHashTerm(d.Copy) }},
}

func termIf(is bool, term string) string {
	if is {
		return term
	}
	return ""
}

// specs has all fields in the order of the format: _id, then the others by name.
var specs = func() []fieldSpec {
	list := []fieldSpec{{FieldText, textOptions}, {fieldRecord, recordOptions}, {FieldName, keywordOptions}}
	for _, k := range keywords {
		list = append(list, k.fieldSpec)
	}
	slices.SortFunc(list, func(x, y fieldSpec) int { return cmp.Compare(x.name, y.name) })
	return slices.Insert(list, 0, fieldSpec{fieldID, idOptions})
}()

// storedID is the number of fieldRecord, the only field that has stored values.
var storedID = slices.IndexFunc(specs, func(f fieldSpec) bool { return f.name == fieldRecord })

// Fields lists the fields by which documents are found.
func Fields() []Field {
	fields := []Field{FieldText}
	for _, k := range keywords {
		fields = append(fields, k.name)
	}
	return fields
}

func (f Field) Options() engine.FieldIndexingOptions {
	return specs[slices.IndexFunc(specs, func(spec fieldSpec) bool { return spec.name == f })].options
}

// ImageTerm returns the term of FieldImage for the images of an entry, "" for none.
func ImageTerm(images []session.Image) string {
	if len(images) == 0 {
		return ""
	}
	return cmp.Or(images[0].MimeType, UnknownImage)
}

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

func cut(s string) string {
	if len(s) > MaxKeyword {
		return s[:MaxKeyword]
	}
	return s
}

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
	Names      [][2]int // session.Part.Names
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
	digits, rest, _ := bytes.Cut(b, []byte(":"))
	file, err1 := strconv.ParseUint(string(digits), 16, 32)
	digits, rest, _ = bytes.Cut(rest, []byte(":"))
	offset, err2 := strconv.ParseUint(string(digits), 16, 63)
	part, err3 := strconv.ParseUint(string(rest), 16, 31)
	return ID{File: uint32(file), Offset: int64(offset), Part: int(part)}, err1 == nil && err2 == nil && err3 == nil
}

// IDRange is the ids from Start on, below End, in byte order.
type IDRange struct{ Start, End string }

// DocumentIDs returns the range of a file's documents from an offset on.
func DocumentIDs(file uint32, from int64) IDRange {
	return IDRange{fmt.Sprintf("%06x:%010x:", file, from), fmt.Sprintf("%06x;", file)} // ';' follows ':'
}

func EntryIDs(file uint32, offset int64) IDRange {
	entry := fmt.Sprintf("%06x:%010x", file, offset)
	return IDRange{entry + ":", entry + ";"}
}

// OneID returns the range of one id.
func OneID(id string) IDRange { return IDRange{id, id + "\x00"} }
