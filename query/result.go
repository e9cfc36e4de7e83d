package query

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pigrep/internal/session"
	"pigrep/scope"
)

// Request is one search: the text of the query and the filters that flags give.
// Within one filter any value is enough; all filters must hold.
type Request struct {
	Text  string
	Scope scope.Scope // "" is scope.Default; not used when Kinds is set

	Kinds    []session.Kind
	Roles    []string // message roles, whole
	Tools    []string // tool names, whole
	Models   []string // part of the model's name, or of provider/model
	Sessions []string // session ids or their beginnings, or session paths
	Projects []string // a path, or the last element of one
	Excludes []string // globs on session paths
	CWD      string   // absolute: that directory or below; "" for any

	Since, Until time.Time // both inside; zero: open
	Error        bool      // only parts of entries that say error
	Branch       string    // only entries of this branch, BranchActive or BranchAbandoned; "" for any

	Limit      int  // sessions when grouped (0: 10), hits when flat (0: 20)
	PerSession int  // hits shown of one session when grouped (0: 3)
	Flat       bool // hits by score, not grouped by session
	Sort       Sort
	Before     int  // entries shown before each hit
	After      int  // and after it
	Explain    bool // hits say how they came to their scores
	Redact     bool // what looks like a secret is masked in what is shown

	Now    time.Time  // what relative dates in the text count from
	Resume ResumeFunc // how a session is resumed; nil leaves that out

	Expand func(path string) string // makes a path in the text absolute; nil leaves it as it is
}

// Sort is an order of hits.
type Sort uint8

// The orders of hits.
const (
	SortRelevance Sort = iota
	SortNewest
	SortOldest
)

// SortNames lists the names of the orders.
var SortNames = []string{"relevance", "newest", "oldest"}

// ParseSort returns the order of this name; "" is that by relevance.
func ParseSort(name string) (Sort, error) {
	if name == "" {
		return SortRelevance, nil
	}
	if i := slices.Index(SortNames, name); i >= 0 {
		return Sort(i), nil
	}
	return 0, fmt.Errorf("unknown order %q: use %s", name, strings.Join(SortNames, ", "))
}

// The limits of a request that names none.
const (
	DefaultLimit      = 10
	DefaultFlatLimit  = 20
	DefaultPerSession = 3
)

// Response is the answer to a request. It depends on nothing but the index, the
// session files and the request.
type Response struct {
	Hits         []Hit        // grouped: by the rank of their session; flat: by score
	Sessions     []SessionHit // the sessions of Hits, best first; none when flat
	Total        int          // hits that lack nothing, copies counted once
	TotalAny     int          // all hits, copies counted once
	TotalIsExact bool         // false when some phrase could not be verified everywhere, or a prefix was cut short
	Warnings     []string     // for people, one line each
	DidYouMean   string       // the query with similar words for those that are in no document; "" for none
	Removed      []Removed    // what the filters took away from an empty answer
	Index        IndexState   // Generation, Files and SkippedLines are filled; the caller knows the rest
}

// IndexState says which state of the index answered, and how far it is behind
// the session files.
type IndexState struct {
	Generation   uint64 `json:"generation"`
	Files        int    `json:"files"`
	PendingFiles int    `json:"pendingFiles"`
	PendingBytes int64  `json:"pendingBytes"`
	SkippedLines int    `json:"skippedLines"`
	Complete     bool   `json:"complete"`
}

// Tier is the loosest way in which a word of a hit matched.
type Tier string

// The tiers, each looser than the one before.
const (
	TierExact  Tier = "exact"
	TierParts  Tier = "parts"  // parts of an identifier or path, or another spelling of it
	TierForms  Tier = "forms"  // another English form
	TierPrefix Tier = "prefix" // a longer word
	TierFuzzy  Tier = "fuzzy"  // within one or two edits
)

// Hit is a document that matches. Its JSON is the hit of the contract.
type Hit struct {
	Type      string   `json:"type"` // "hit"
	Rank      int      `json:"rank"` // 1-based, in the order of Response.Hits
	Score     float64  `json:"score"`
	Tier      Tier     `json:"tier"`
	Missing   []string `json:"missing,omitempty"`   // words of the query it lacks
	Elsewhere []string `json:"elsewhere,omitempty"` // those of Missing that its session has in another part

	Kind        session.Kind `json:"kind"`
	Role        string       `json:"role,omitempty"`
	SessionPath string       `json:"sessionPath"`
	SessionID   string       `json:"sessionId,omitempty"`
	SessionName string       `json:"sessionName,omitempty"`
	CWD         string       `json:"cwd,omitempty"`
	EntryID     string       `json:"entryId,omitempty"`
	ParentID    string       `json:"parentId,omitempty"`
	Timestamp   Time         `json:"timestamp,omitzero"`
	Line        int          `json:"line"`
	Offset      int64        `json:"offset"`
	Length      int          `json:"length"`
	Part        int          `json:"part"`

	Tool       string   `json:"tool,omitempty"`
	ToolCallID string   `json:"toolCallId,omitempty"`
	IsError    bool     `json:"isError"`
	Provider   string   `json:"provider,omitempty"`
	Model      string   `json:"model,omitempty"`
	CustomType string   `json:"customType,omitempty"`
	Branch     string   `json:"branch,omitempty"` // "active" or "abandoned"
	InContext  bool     `json:"inContext"`
	Label      string   `json:"label,omitempty"`
	Copies     []Copy   `json:"copies,omitempty"`
	TargetID   string   `json:"targetId,omitempty"` // of a label: the entry it is on
	Fragment   Fragment `json:"fragment"`
	Resume     *Resume  `json:"resume,omitempty"`

	Before []Neighbour `json:"before,omitempty"` // when asked for, as the next two
	After  []Neighbour `json:"after,omitempty"`

	Explain *Explanation `json:"explain,omitempty"`
}

// Copy is another place where the same entry stands.
type Copy struct {
	SessionPath string `json:"sessionPath"`
	EntryID     string `json:"entryId,omitempty"`
}

// Fragment is the piece of a document's text that is shown: one line, without
// control characters, with "… " and " …" where it was cut.
type Fragment struct {
	Text  string   `json:"text"`
	Spans [][2]int `json:"spans,omitempty"` // matched bytes of Text, [start, end), in order, not overlapping
}

// Resume is the command that resumes a session.
type Resume struct {
	Dir  string   `json:"dir,omitempty"`
	Argv []string `json:"argv"`
}

// ResumeFunc returns the command that resumes a session, and the directory to run
// it in; no argv when it cannot be resumed.
type ResumeFunc func(*session.Summary) (dir string, argv []string)

func (f ResumeFunc) command(s *session.Summary) (dir string, argv []string) {
	if f == nil {
		return "", nil
	}
	return f(s)
}

// SessionHit is a session with hits. Its JSON is the session of the contract.
type SessionHit struct {
	Type          string   `json:"type"` // "session"
	SessionPath   string   `json:"sessionPath"`
	SessionID     string   `json:"sessionId,omitempty"`
	Name          string   `json:"name,omitempty"`
	CWD           string   `json:"cwd,omitempty"`
	Created       Time     `json:"created,omitzero"`
	Modified      Time     `json:"modified,omitzero"`
	Messages      int      `json:"messages"`
	FirstPrompt   string   `json:"firstPrompt,omitempty"`
	Labels        []string `json:"labels,omitempty"` // in force, in order of the text
	Models        []string `json:"models,omitempty"`
	ParentSession string   `json:"parentSession,omitempty"`
	Forks         int      `json:"forks,omitempty"`  // indexed sessions that name this one as their parent
	Tokens        int64    `json:"tokens,omitempty"` // 0 when not known
	Cost          float64  `json:"cost,omitempty"`   // 0 when not known
	Score         float64  `json:"score"`
	Hits          int      `json:"hits"`    // its hits that lack nothing
	HitsAny       int      `json:"hitsAny"` // all its hits
	Resume        *Resume  `json:"resume,omitempty"`
}

// Time is a moment that JSON writes in UTC with milliseconds, as pi does.
type Time struct{ time.Time }

// MarshalJSON writes 2026-01-15T10:30:03.000Z.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}

// Source opens session files for reading.
type Source interface {
	Open(path string) (SessionFile, error)
}

// SessionFile is an open session file.
type SessionFile interface {
	io.ReaderAt
	io.Closer
	Size() int64        // when it was opened
	ModTime() time.Time // stands in for the time of an entry that has none
}

// TextError says that the text of a query leaves nothing to search for.
type TextError struct {
	Reason string // what is wrong
	Hint   string // what to type instead
}

func (e *TextError) Error() string { return e.Reason }
