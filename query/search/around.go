package search

import (
	"slices"

	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
	"pigrep/query/engine/rank"
	"pigrep/scope"
)

// Neighbour is an entry before or after a hit, on the same branch.
type Neighbour struct {
	EntryID   string       `json:"entryId,omitempty"`
	Kind      session.Kind `json:"kind"`
	Role      string       `json:"role,omitempty"`
	Tool      string       `json:"tool,omitempty"`
	Timestamp session.Time `json:"timestamp,omitzero"`
	Line      int          `json:"line"`
	Text      string       `json:"text"` // the beginning, on one line
}

// neighbours returns up to the given numbers of entries before and after a hit, on
// its branch. Entries without conversation text do not count.
func (s *responder) neighbours(w *rank.Worker, h *rank.Hit, before, after int) (list [2][]Neighbour, err error) {
	rec, path, at, err := s.found.Path(h)
	if err != nil || at < 0 {
		return list, err
	}
	for i := at - 1; i >= 0 && len(list[0]) < before; i-- {
		if err := s.neighbour(&list[0], w, rec, &rec.Nodes[path[i]]); err != nil {
			return list, err
		}
	}
	slices.Reverse(list[0])
	for i := at + 1; i < len(path) && len(list[1]) < after; i++ {
		if err := s.neighbour(&list[1], w, rec, &rec.Nodes[path[i]]); err != nil {
			return list, err
		}
	}
	return list, nil
}

// tellingKinds orders kinds by how well a part of that kind represents its entry,
// best first.
var tellingKinds = []session.Kind{session.KindReply, session.KindPrompt, session.KindCall, session.KindError, session.KindThinking}

func (s *responder) neighbour(list *[]Neighbour, w *rank.Worker, rec *session.Record, node *session.Node) error {
	if over, err := s.over(); over || err != nil {
		return err
	}
	_ = w.Read(entry.RefOf(node), entry.Identity{ID: node.ID, Parts: 1}, func(e *session.Entry) {
		var best *session.Part
		rank := len(tellingKinds) + 1
		for i := range e.Parts {
			p := &e.Parts[i]
			if len(p.Text) == 0 {
				continue // an image
			}
			r := slices.Index(tellingKinds, p.Kind)
			if r < 0 {
				r = len(tellingKinds)
			}
			if r < rank && (scope.Conversations.Holds(p.Kind) || s.req.Scope == scope.All) {
				best, rank = p, r
			}
		}
		if best == nil {
			return
		}
		*list = append(*list, Neighbour{
			EntryID: node.ID, Kind: best.Kind, Role: e.Role, Tool: best.Tool, Timestamp: session.Time{Time: rec.TimeOf(node)},
			Line: node.Line, Text: match.NewFragment(s.req.shown(best.Text, nil)).Text,
		})
	})
	return nil // without a neighbour, if the entry has no parts or can no longer be read
}
