package query

import (
	"cmp"

	"pigrep/internal/session"
	"pigrep/query/filter"
	"pigrep/query/match"
	"pigrep/query/rank"
)

// Request is one search: the text of the query and the filters that flags give.
// Within one filter any value is enough; all filters must hold.
type Request struct {
	Text string
	filter.Spec

	Limit      int  // sessions when grouped (0: 10), hits when flat (0: 20); All for no limit
	PerSession int  // hits shown of one session when grouped (0: 3); All for no limit
	Flat       bool // hits by score, not grouped by session
	Sort       rank.Sort
	Before     int  // entries shown before each hit
	After      int  // and after it
	Explain    bool // hits say how they came to their scores
	Redact     bool // what looks like a secret is masked in what is shown

	Env    filter.Env                    // what fields in the text are read with
	Resume ResumeFunc                    // how sessions are resumed; nil: hits say nothing of it
	Only   func(s *session.Summary) bool // nil: all; else the sessions that are searched
}

// All is the limit of a request that wants everything.
const All = rank.All

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
	SessionTotal int          // sessions with hits
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
	Timestamp   session.Time `json:"timestamp,omitzero"`
	Line        int          `json:"line"`
	Offset      int64        `json:"offset"`
	Length      int          `json:"length"`
	Part        int          `json:"part"`

	Tool       string         `json:"tool,omitempty"`
	ToolCallID string         `json:"toolCallId,omitempty"`
	IsError    bool           `json:"isError"`
	Provider   string         `json:"provider,omitempty"`
	Model      string         `json:"model,omitempty"`
	CustomType string         `json:"customType,omitempty"`
	Branch     string         `json:"branch,omitempty"` // "active" or "abandoned"
	InContext  bool           `json:"inContext"`
	Label      string         `json:"label,omitempty"`
	Copies     []Copy         `json:"copies,omitempty"`
	TargetID   string         `json:"targetId,omitempty"` // of a label: the entry it is on
	Fragment   match.Fragment `json:"fragment"`
	Resume     *Resume        `json:"resume,omitempty"`

	Before []Neighbour `json:"before,omitempty"` // when asked for, as the next two
	After  []Neighbour `json:"after,omitempty"`

	Explain *rank.Explanation `json:"explain,omitempty"`
}

// Copy is another place where the same entry stands.
type Copy struct {
	SessionPath string `json:"sessionPath"`
	EntryID     string `json:"entryId,omitempty"`
}

// Resume is the command that resumes a session.
type Resume struct {
	Dir  string   `json:"dir,omitempty"`
	Argv []string `json:"argv"`
}

// ResumeFunc returns the command that resumes a session, and the directory to run
// it in; no argv when it cannot be resumed.
type ResumeFunc func(*session.Summary) (dir string, argv []string)

// SessionHit is a session with hits. Its JSON is the session of the contract.
type SessionHit struct {
	Type          string       `json:"type"` // "session"
	SessionPath   string       `json:"sessionPath"`
	SessionID     string       `json:"sessionId,omitempty"`
	Name          string       `json:"name,omitempty"`
	CWD           string       `json:"cwd,omitempty"`
	Created       session.Time `json:"created,omitzero"`
	Modified      session.Time `json:"modified,omitzero"`
	Messages      int          `json:"messages"`
	FirstPrompt   string       `json:"firstPrompt,omitempty"`
	Labels        []string     `json:"labels,omitempty"` // in force, in order of the text
	Models        []string     `json:"models,omitempty"`
	ParentSession string       `json:"parentSession,omitempty"`
	Forks         int          `json:"forks,omitempty"`  // indexed sessions that name this one as their parent
	Tokens        int64        `json:"tokens,omitempty"` // 0 when not known
	Cost          float64      `json:"cost,omitempty"`   // 0 when not known
	Score         float64      `json:"score"`
	Hits          int          `json:"hits"`    // its hits that lack nothing
	HitsAny       int          `json:"hitsAny"` // all its hits
	Resume        *Resume      `json:"resume,omitempty"`
}

// options says which of the hits are wanted, with the limits of requests that name
// none.
func (r *Request) options() rank.Options {
	opt := rank.Options{Sort: r.Sort, Flat: r.Flat, Limit: cmp.Or(max(r.Limit, 0), DefaultLimit), PerSession: cmp.Or(max(r.PerSession, 0), DefaultPerSession)}
	if r.Flat {
		opt.Limit = cmp.Or(max(r.Limit, 0), DefaultFlatLimit)
	}
	return opt
}
