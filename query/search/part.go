package search

import (
	"encoding/json"

	"pigrep/index"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
)

// Joint is what a request says of the other indexes that answer it together with this one.
type Joint struct {
	// Shared is the sum of the Statistics of all, so that their scores are comparable; nil if one
	// answers alone. With it, the response has a Part.
	Shared    *words.Statistics
	Elsewhere []uint64     `json:",omitempty"` // identities of sessions that another one answers for: see Identities
	Common    []uint64     `json:",omitempty"` // entries that another one has too, as of session.Entry.Copy
	Lost      []uint64     `json:",omitempty"` // of these, those that another one has in an older session
	Agreed    *rank.Agreed // what all of them together decide
}

// Together is what a request says of the other indexes, for all requests that have a Joint.
func (j *Joint) Together() *Joint { return j }

// IsElsewhere has the identities of Elsewhere.
func (j *Joint) IsElsewhere() map[uint64]bool { return setOf(j.Elsewhere) }

// Part is what a response says besides, if its index answers a request together with others:
// what it takes to merge it with theirs.
type Part struct {
	Counts   Counts
	Open     bool          `json:",omitempty"` // the query is an open question
	Share    *rank.Share   `json:",omitempty"` // of the second stage
	Best     []rank.Place  `json:",omitempty"` // the best of all hits
	Unknown  []string      `json:",omitempty"` // of Warnings, those that there are because there is no hit at all
	Variants []Variant     `json:",omitempty"` // if no hit has all words
	Required []Variant     `json:",omitempty"` // the same for the request that requires its words
	Common   []rank.Common `json:",omitempty"` // hits in entries that other indexes have too
	Lost     int           `json:",omitempty"` // how many of them it was told to leave to others

	Places   []*rank.Place  `json:",omitempty"` // in JSON: of the hits of the response
	Sessions []*SessionPart `json:",omitempty"` // in JSON: of its sessions
}

// MarshalJSON encodes a response for another machine. The JSON of hits and sessions, which
// people read, does not have what only merging needs.
func (r Response) MarshalJSON() ([]byte, error) {
	type plain Response
	if r.Part != nil {
		part := *r.Part
		part.Places = lists.Map(r.Hits, func(h Hit) *rank.Place { return h.Place })
		part.Sessions = lists.Map(r.Sessions, func(s SessionHit) *SessionPart { return s.Part })
		r.Part = &part
	}
	return json.Marshal(plain(r))
}

// UnmarshalJSON decodes a response of another machine.
func (r *Response) UnmarshalJSON(data []byte) error {
	type plain Response
	if err := json.Unmarshal(data, (*plain)(r)); err != nil || r.Part == nil {
		return err
	}
	for i := range r.Hits[:min(len(r.Hits), len(r.Part.Places))] {
		r.Hits[i].Place = r.Part.Places[i]
	}
	for i := range r.Sessions[:min(len(r.Sessions), len(r.Part.Sessions))] {
		r.Sessions[i].Part = r.Part.Sessions[i]
	}
	r.Part.Places, r.Part.Sessions = nil, nil
	return nil
}

// SessionPart is Part for a session of the response.
type SessionPart struct {
	Score  float64      // before it is rounded
	Newest int64        `json:",omitempty" wire:"signed"` // entry of the file that stands for the session, in Unix milliseconds
	Path   string       `wire:"exact"`                    // of this file
	Hits   int          // of the response, that are of this session
	Best   []rank.Place `json:",omitempty"`               // of its hits beyond Request.PerSession, those that are among the best of all
	Shown  []int        `json:",omitempty" wire:"signed"` // for each hit that was compared, its number among those shown, or that of one like it; -1: unreadable
}

// A Variant is the request without one of its filters, and what it would find.
type Variant struct {
	Filter string `wire:"say"`        // as of Removed
	Hidden bool   `json:",omitempty"` // only hits with all words count
	Counts Counts
}

// An Identity says that an index has a session.
type Identity struct {
	Hash   uint64   `json:"id"` // as of session.Summary.Identity
	Size   int64    `json:"size"`
	Name   uint32   `json:"name,omitempty"`   // session.NameHash of its file, if that is not named by the id
	Parent []uint32 `json:"parent,omitempty"` // of a fork whose parent has another path or is not there: hashes of its possible names
}

// Identities returns the sessions that an index has, but for those without an id.
func Identities(r *index.Reader) (list []Identity) {
	for i, s := range r.Beginnings() {
		id := s.Identity()
		if id == 0 || s.Notes {
			continue
		}
		x := Identity{Hash: id, Size: int64(r.Table().Checkpoint(i).Length)}
		if name := session.BaseName(s.Path); name != s.ID && session.Handle("", name) != s.ID {
			x.Name = session.NameHash(name)
		}
		if s.ParentSession != "" && s.Relation != session.Spawned && s.Relation != session.Reverted {
			if _, there := r.Table().Find(s.ParentSession); !there {
				name := session.BaseName(s.ParentSession)
				x.Parent = []uint32{session.NameHash(s.ParentSession), session.NameHash(name), session.NameHash(session.Handle("", name))}
			}
		}
		list = append(list, x)
	}
	return list
}

// ofPart fills in what a part of an answer says of a session.
func (s *responder) ofPart(x *rank.Session, hit *SessionHit, hits int, shown []int) (err error) {
	p := &SessionPart{Score: x.Score, Hits: hits, Shown: shown}
	p.Newest, p.Path = s.found.NewestOf(x)
	p.Best, err = s.places(x.Best)
	hit.Part = p
	return err
}

func (s *responder) places(list []*rank.Candidate) (places []rank.Place, err error) {
	for _, c := range list {
		place, err := s.found.Place(c)
		if err != nil {
			return nil, err
		}
		places = append(places, place)
	}
	return places, nil
}
