package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/price"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/match"
	"pigrep/query/engine/rank"
)

// Request is one search: the text of the query, and the filters from flags. A filter
// passes if any of its values matches; all filters must pass.
type Request struct {
	Text string
	filter.Spec

	Limit      int  // sessions when grouped (0: 10), hits when flat (0: 20); All for no limit
	PerSession int  // hits shown of one session when grouped (0: 3, and those among the ten best of all); All for no limit
	Flat       bool // hits by score, not grouped by session
	AllWords   bool // only hits that lack nothing, not even words that say little
	Any        bool // looser hits are listed even if there are enough others
	Sort       rank.Sort
	Before     int  // entries shown before each hit
	After      int  // entries shown after each hit
	Answers    bool // hits in prompts have what answered them
	Explain    bool // hits explain their scores
	Redact     bool // secrets in the shown text are masked

	// Later, with Flat, makes a response whose hits are read while Response.Each visits them, so
	// that a complete list need not fit into memory.
	Later bool

	// UntilDeadline makes a deadline of the context end the reading of hits: the response has
	// those read so far, and is Late.
	UntilDeadline bool

	PhraseBytes int // as of rank.Input

	Among

	Env    filter.Env                    // the environment for fields in the text
	Resume ResumeFunc                    `json:"-"` // the resume commands of hits; nil: none
	Only   func(s *session.Summary) bool `json:"-"` // restricts the sessions that are searched; nil: all
}

// All is the limit of a request for everything.
const All = rank.All

// FastPhraseBytes is a value for Request.PhraseBytes where an answer is wanted at once, such
// as while somebody types.
const FastPhraseBytes = 8 << 20

// The default limits.
const (
	DefaultLimit      = 10
	DefaultFlatLimit  = 20
	DefaultPerSession = 3
)

// Response is the answer to a request. It depends only on the index, the session
// files and the request.
type Response struct {
	Hits         []Hit        // none with Request.Later; grouped: by the rank of their session; flat: by score
	Sessions     []SessionHit // the sessions of Hits, best first; empty if flat
	SessionTotal int          // sessions with hits that are listed, or would be without a limit
	Total        int          // hits: they have every word, but maybe for some that say little; copies counted once
	TotalIn      int          // sessions with such hits
	TotalAny     int          // all hits, copies counted once
	Similar      int          // of the looser hits: those that have a word only in a similar spelling
	Named        int          // of the looser hits: those that have a word only as the name of an argument
	Folded       int          // of the looser hits: those that are not listed, behind the last hit with every word
	Searches     int          // hits that NoSearches left out, if all others fit into the limit
	Weak         int          // of TotalAny: hits with only unimportant words; listed only if there are no others
	TotalIsExact bool         // false if a phrase was not verified everywhere, or an expansion was limited
	Unreadable   int          // hits left out because the system refuses to read their files
	DidYouMean   string       `wire:"say"` // the query with similar words for those in no document; "" if there are none
	Words        []WordCount  // how often each word occurs, if no hit has all of them; else those that hits have only in similar spellings
	Removed      []Removed    // how many hits each filter removed, if none has all words
	Late         bool         // the deadline passed before all hits were read; see Request.UntilDeadline
	About

	Tally *Tally `json:",omitempty"` // with Request.Together

	later func(ctx context.Context, read bool, visit func(*Hit) error) error // with Request.Later
}

// About is what each answer says beside its rows.
type About struct {
	Warnings []string   `json:"warnings" wire:"say"` // one line each, for people
	Index    IndexState `json:"index"`               // the caller fills in all but Generation, Files and SkippedLines
}

// Beside returns a itself: an answer that embeds an About has this method, which tells it from one without.
func (a *About) Beside() *About { return a }

// Each visits the hits in their order. With Request.Later it reads each one when its turn
// comes, which may be done once and adds to Warnings, TotalIsExact and Unreadable what it
// cannot read; a hit is valid during its visit.
func (r *Response) Each(ctx context.Context, visit func(*Hit) error) error {
	if r.later != nil {
		return r.later(ctx, true, visit)
	}
	for i := range r.Hits {
		if err := visit(&r.Hits[i]); err != nil {
			return err
		}
	}
	return nil
}

// Owners returns a function that finds the session of a hit in Sessions, nil if it is not there.
// A session of several files has hits in each of them, and is listed with the path of one. So is a
// session with copies on other machines.
func (r *Response) Owners() func(h *Hit) *SessionHit {
	type owned struct{ host, id string }
	byPath, byID := make(map[string]*SessionHit, len(r.Sessions)), make(map[owned]*SessionHit, len(r.Sessions))
	for i := range r.Sessions {
		s := &r.Sessions[i]
		byPath[s.SessionPath], byID[owned{s.Host, s.SessionID}] = s, s
		for _, path := range s.Copies {
			byPath[path], byID[owned{session.HostOf(path), s.SessionID}] = s, s
		}
	}
	return func(h *Hit) *SessionHit {
		if s := byPath[h.SessionPath]; s != nil || h.SessionID == "" {
			return s
		}
		return byID[owned{h.Host, h.SessionID}]
	}
}

// Brief is Each without what only session files say. It may come before Each.
func (r *Response) Brief(ctx context.Context, visit func(*Hit) error) error {
	if r.later != nil {
		return r.later(ctx, false, visit)
	}
	return r.Each(ctx, visit)
}

// IndexState is the state of the index that answered, and how far it is behind the
// session files.
type IndexState struct {
	Generation   uint64 `json:"generation"`
	Files        int    `json:"files"`
	PendingFiles int    `json:"pendingFiles"` // that the generation lacks; if Complete, they were searched in memory
	PendingBytes int64  `json:"pendingBytes"`
	SkippedLines int    `json:"skippedLines"`
	Complete     bool   `json:"complete"`
	Several      bool   `json:"-"` // agents wrote these files, so that people want to know which
}

// Tier is the loosest way in which any word of a hit matched.
type Tier string

// The tiers, each looser than the one before.
const (
	TierExact  Tier = "exact"
	TierParts  Tier = "parts"  // parts of an identifier or path, or another spelling of it
	TierForms  Tier = "forms"  // another English form
	TierPrefix Tier = "prefix" // a longer word
	TierFuzzy  Tier = "fuzzy"  // within one or two edits
	TierName   Tier = "name"   // only the name of an argument
)

// Hit is a document that matches. Its JSON is documented in "pigrep help json":
// fields are only ever added.
type Hit struct {
	Type  string  `json:"type"` // "hit"
	Rank  int     `json:"rank"` // 1-based, in the order of Response.Hits
	Score float64 `json:"score"`
	Tier  Tier    `json:"tier"`
	Loose bool    `json:"looser,omitempty"` // it lacks a word that does not say little
	Lacks

	Kind session.Kind `json:"kind"`
	Role string       `json:"role,omitempty"`
	session.EntryPlace
	ParentID  string       `json:"parentId,omitempty"`
	Timestamp session.Time `json:"timestamp,omitzero"`
	session.At
	session.Origin

	Branch         string           `json:"branch,omitempty"` // "active" or "abandoned"
	InContext      bool             `json:"inContext"`
	Label          string           `json:"label,omitempty"`
	Copies         []Copy           `json:"copies,omitempty"`
	Images         []entry.ImageRow `json:"images,omitempty"`       // of its entry
	NearDuplicates int              `json:"alike,omitempty"`        // hits of its session that say the same, and are not shown
	MoreDuplicates bool             `json:"alikeAtLeast,omitempty"` // there may be more: not all hits of its session were compared
	TargetID       string           `json:"targetId,omitempty"`     // of a label: the entry it is on
	Fragment       match.Fragment   `json:"fragment"`
	Answered       *Answered        `json:"answered,omitempty"` // on request, of a hit in a prompt
	Resume         *Resume          `json:"resume,omitempty"`

	Before []Neighbour `json:"before,omitempty"` // on request, like After and Explain
	After  []Neighbour `json:"after,omitempty"`

	Explain *rank.Explanation `json:"explain,omitempty"`

	Place rank.Place `json:"-"` // in the answer to a request with Together, Tally has it
}

// Lacks are the words of the query that a hit lacks, as typed.
type Lacks struct {
	Missing       []string `json:"missing,omitempty"`
	Elsewhere     []string `json:"elsewhere,omitempty"`     // words of Missing that another part of its session contains
	Parts         []string `json:"parts,omitempty"`         // words of Missing whose parts it has: get, user and name for getUserName
	Similar       []string `json:"similar,omitempty"`       // words of Missing that it has in a similar spelling
	Named         []string `json:"named,omitempty"`         // words of Missing that it has only as names of arguments
	MissingCommon []string `json:"missingCommon,omitempty"` // words of Missing that say little, such as "how"
	MissingRarest bool     `json:"missingRarest,omitempty"` // the word that weighs most is in Missing, and neither in Parts nor in Elsewhere
}

// Told returns the words of Missing and Elsewhere that a reader wants to know of: those
// that say something, and that it does not have in some other way.
func (l *Lacks) Told() (missing, elsewhere []string) {
	says := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(word string) bool {
			return slices.Contains(slices.Concat(l.MissingCommon, l.Parts, l.Similar, l.Named), word)
		})
	}
	return says(l.Missing), says(l.Elsewhere)
}

// mostImages is how many images of an entry Notes describes one by one.
const mostImages = 2

// Notes returns remarks about a hit that its fragment does not show: its images, and the
// words that it lacks or has only in parts or in a similar spelling.
func (h *Hit) Notes() (notes []string) {
	for i, image := range h.Images {
		if i == mostImages && len(h.Images) > mostImages+1 {
			notes = append(notes, fmt.Sprintf("%d more images", len(h.Images)-i))
			break
		}
		notes = append(notes, cmp.Or(image.MimeType, "image")+" "+human.Bytes(int64(image.Size)))
	}
	notes = append(notes, h.MatchNotes()...)
	if h.NearDuplicates > 0 {
		atLeast := ""
		if h.MoreDuplicates {
			atLeast = "at least "
		}
		notes = append(notes, fmt.Sprintf("and %s%d more like it", atLeast, h.NearDuplicates))
	}
	return notes
}

// Remarks on hits that have a word in the loosest ways; they also say what is folded.
const (
	BySpelling = "similar spelling"
	ByName     = "only as the name of an argument"
)

// OnlyParts begins the remark on words that a hit has only in parts.
const OnlyParts = "only parts of "

// MatchNotes returns the words that a hit lacks or has only in parts or in a similar
// spelling.
func (h *Hit) MatchNotes() (notes []string) {
	switch h.Tier {
	case TierName:
		notes = append(notes, ByName)
	case TierFuzzy:
		notes = append(notes, BySpelling)
	}
	if len(h.Parts) > 0 {
		notes = append(notes, OnlyParts+strings.Join(h.Parts, ", "))
	}
	if missing, _ := h.Told(); len(missing) > 0 {
		notes = append(notes, "missing: "+strings.Join(missing, ", "))
	}
	return notes
}

// Copy is another session that contains the same entry.
type Copy = rank.Duplicate

// Resume is the command that resumes a session.
type Resume struct {
	Dir  string   `json:"dir,omitempty" wire:"exact"`
	Argv []string `json:"argv" wire:"exact"`
}

// ResumeFunc returns the command that resumes a session, and the directory to run
// it in; no argv if it cannot be resumed.
type ResumeFunc func(*session.Summary) (dir string, argv []string)

// SessionHit is a session with hits. Its JSON is documented in "pigrep help json".
type SessionHit struct {
	Type string `json:"type"` // "session"
	SessionFacts
	Score   float64 `json:"score"`
	Hits    int     `json:"hits"`             // as of Response.Total
	HitsAny int     `json:"hitsAny"`          // all hits
	Looser  int     `json:"looser,omitempty"` // looser hits that are listed, or would be without a limit
	Resume  *Resume `json:"resume,omitempty"`

	Copies []string `json:"copies,omitempty"` // paths of the session on other machines

	Place rank.Place `json:"-"` // of its best hit, with the score of the session, and what its copies have in common
}

// SessionFacts are what the summary of a session says about it.
type SessionFacts struct {
	SessionPath   string       `json:"sessionPath" wire:"session"`
	SessionID     string       `json:"sessionId,omitempty"`
	ShortID       string       `json:"shortId,omitempty" wire:"name"` // as commands accept it, also of a session without an id; set by who lists all sessions
	Name          string       `json:"name,omitempty" wire:"lines"`
	Agent         string       `json:"agent,omitempty"`            // as of session.ShortAgent
	Kept          bool         `json:"kept,omitempty"`             // its file is gone, and this is a copy
	Host          string       `json:"host,omitempty" wire:"host"` // that has it, if not this one
	CWD           string       `json:"cwd,omitempty"`
	Created       session.Time `json:"created,omitzero"`
	Modified      session.Time `json:"modified,omitzero"`
	Undated       bool         `json:"undated,omitempty"` // its file says no time: Created and Modified are the time of the file
	Messages      int          `json:"messages"`
	FirstPrompt   string       `json:"firstPrompt,omitempty" wire:"lines"`
	Title         string       `json:"title,omitempty" wire:"lines"` // its name, else what its prompts are about
	Labels        []string     `json:"labels,omitempty"`             // current ones, sorted
	Models        []string     `json:"models,omitempty"`
	ParentSession string       `json:"parentSession,omitempty"`
	Subagent      bool         `json:"subagent,omitempty"` // of ParentSession, which it works for
	Forks         int          `json:"forks,omitempty"`    // indexed sessions whose parent is this one
	price.Spent
}

// Boss returns the name of the session that a subagent works for, as Handle has it; "" for
// other sessions.
func (f *SessionFacts) Boss() string {
	switch {
	case !f.Subagent:
		return ""
	case session.IsPath(f.ParentSession):
		return session.Handle("", f.ParentSession)
	}
	return f.ParentSession
}

// Options returns which hits are wanted, with the default limits filled in.
func (r *Request) Options() rank.Options {
	opt := rank.Options{Sort: r.Sort, Flat: r.Flat, Limit: cmp.Or(max(r.Limit, 0), DefaultLimit), PerSession: cmp.Or(max(r.PerSession, 0), DefaultPerSession), ShowBest: r.PerSession <= 0, Fold: !r.Any}
	if r.Flat {
		opt.Limit = cmp.Or(max(r.Limit, 0), DefaultFlatLimit)
	}
	return opt
}
