package index

import "pigrep/internal/session"

// SchemaVersion says how documents, records and summaries are written. It must
// change with anything that makes an index differ, the analysis of texts
// included: an index of another version is rebuilt.
const SchemaVersion = 14

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
