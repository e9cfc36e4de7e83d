// Package printer turns answers into bytes. Commands decide what to say, and a
// Printer how it looks: Text for people, Plain for pipes, JSON and JSON Lines
// for programs.
//
// Text knows the width of a terminal and may be coloured; it may change from
// version to version. Plain is one record a line, its columns separated by tabs
// and listed in Columns; columns are only ever added at the end, before the
// text. JSON is a promise: fields are only ever added, nothing in it depends on
// the terminal or the clock. No control character that stood in a session file
// reaches the output of Text and Plain; JSON escapes them.
package printer

import (
	"fmt"
	"io"
	"time"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query"
)

// SchemaVersion is the version of the JSON output.
const SchemaVersion = 1

// Printer writes the answers of commands.
type Printer interface {
	Search(*Search) error
	Sessions(*Sessions) error
	Show(*Show) error
	Tree(*Tree) error
	Resume(*Resume) error
	Audit(*Audit) error
	Index(*Index) error
	Status(*Status) error
	Doctor(*Doctor) error
	Watch(*WatchEvent) error
	Stores([]Store) error
	Settings(*Settings) error
	Version(*Version) error
}

// Format is a form of output.
type Format int

// The forms of output.
const (
	FormatText Format = iota
	FormatPlain
	FormatJSON
	FormatJSONL
)

// Look is what Text needs to know of the terminal and of the reader.
type Look struct {
	Width  int
	Colour bool
	Now    time.Time // ages count from here
	Home   string    // shown as ~; "" when there is none
}

// New returns the printer of the form.
func New(w io.Writer, f Format, look Look) Printer {
	switch f {
	case FormatPlain:
		return plain{w}
	case FormatJSON:
		return jsonEnvelope{w}
	case FormatJSONL:
		return jsonLines{w}
	}
	return &text{w: w, Look: look}
}

// Search is the answer of the search command.
type Search struct {
	Query    string
	Scope    string // "" when kinds were named
	Flat     bool
	Response *query.Response

	// What a flat list shows of a session beyond what its hits know, and the
	// shortest form of a session id that names no other. Both may be nil.
	FirstPrompt func(sessionPath string) string
	ShortID     func(id string) string
}

// Index is the outcome of the index command, or with DryRun what it would do.
type Index struct {
	DryRun  bool
	Dir     string
	Rebuilt string // why the index was built anew; "" when it was not
	Changes []ChangeCount
	Steps   []Step // with DryRun: the files that are not unchanged
	Bytes   int64  // read, or with DryRun to be read
	Entries int
	Errors  []FileError
	State   query.IndexState
}

// ChangeCount says how many files changed in a way.
type ChangeCount struct {
	Change string `json:"change"`
	Files  int    `json:"files"`
}

// Step is what an update would do about one file, and why.
type Step struct {
	Change string `json:"change"`
	Path   string `json:"path"`
	Reason string `json:"reason,omitempty"`
	Bytes  int64  `json:"bytes"`
}

// FileError is a file or directory that could not be used.
type FileError struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Status is what is indexed, how fresh it is and what was left out.
type Status struct {
	Dir       string // of the index
	Built     bool   // there is an index
	Damage    string // why the index cannot be read; "" when it can
	Roots     []Root
	Changes   []ChangeCount // files by what happened to them since they were indexed
	Sessions  int
	Entries   int
	Documents int
	Kinds     []KindCount
	Indexed   int64 // bytes of session files that are indexed
	Size      int64 // of the index on disk
	Newest    session.Time
	Updated   session.Time // when the newest generation was published
	Kept      int          // generations on disk
	Writer    int          // pid of the process that writes the index; 0: none, -1: not known
	Watcher   *Watcher     // nil: none
	Skipped   []Skipped    // the first of the skipped lines
	Errors    []FileError
	State     query.IndexState
}

// Watcher is the process that keeps the index up to date.
type Watcher struct {
	PID     int          `json:"pid"`
	Started session.Time `json:"started,omitzero"`
	Scanned session.Time `json:"scanned,omitzero"` // when it last looked at all files
	Polling string       `json:"polling,omitempty"`
	Stuck   bool         `json:"stuck"`
}

// Root is a session root and where its path came from.
type Root struct {
	Path   string `json:"path"`
	Origin string `json:"origin"`
	Files  int    `json:"files"`
	Error  string `json:"error,omitempty"`
}

// KindCount says how many documents are of a kind.
type KindCount struct {
	Kind      string `json:"kind"`
	Documents int    `json:"documents"`
}

// Skipped is a piece of a session file that was left out.
type Skipped struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

// Store is a kind of file that pi keeps.
type Store struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	Format   string `json:"format"`
	Path     string `json:"path"`
	Coverage string `json:"coverage"`
	Exists   *bool  `json:"exists,omitempty"` // nil: nobody looked
}

// Version says which pigrep this is.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Adapter  string `json:"adapter"`
}

// Failure is an error for people or programs.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Candidates are what the person may have meant, one a line.
	Candidates []string `json:"candidates,omitempty"`
}

// Write writes the error, as one line and the hint as another, or as
// {"error":{…}} on one line.
func (f Failure) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return encode(w, struct {
			Error Failure `json:"error"`
		}{f})
	}
	s := "pigrep: " + terminal.Clean(f.Message) + "\n"
	for _, c := range f.Candidates {
		s += fmt.Sprintf("  %s\n", terminal.Clean(c))
	}
	_, err := io.WriteString(w, s+hintLine(f.Hint))
	return err
}

// Warning is something that is no result and stops nothing.
type Warning struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Write writes the warning as Failure.Write does an error, with the name warning.
func (n Warning) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return encode(w, struct {
			Warning Warning `json:"warning"`
		}{n})
	}
	_, err := io.WriteString(w, "pigrep: "+terminal.Clean(n.Message)+"\n"+hintLine(n.Hint))
	return err
}

func hintLine(hint string) string {
	if hint == "" {
		return ""
	}
	return "hint: " + terminal.Clean(hint) + "\n"
}
