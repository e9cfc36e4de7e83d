package index

import (
	"pigrep/index/format"
	"pigrep/internal/session"
)

// SchemaVersion is the version of everything in an index.
const SchemaVersion = format.SchemaVersion

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
