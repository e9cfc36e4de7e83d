package query

import (
	"errors"
	"slices"

	"pigrep/internal/session"
	"pigrep/query/entry"
	"pigrep/query/match"
	"pigrep/scope"
)

// Neighbour is an entry beside a hit, on the same branch.
type Neighbour struct {
	EntryID   string       `json:"entryId,omitempty"`
	Kind      session.Kind `json:"kind"`
	Role      string       `json:"role,omitempty"`
	Tool      string       `json:"tool,omitempty"`
	Timestamp session.Time `json:"timestamp,omitzero"`
	Line      int          `json:"line"`
	Text      string       `json:"text"` // the beginning, on one line
}

// neighbours returns the entries before and after that of a candidate, on its
// branch, so many of each at most. Entries without text of a conversation do not
// count.
func (s *searcher) neighbours(c *candidate, before, after int) (list [2][]Neighbour, err error) {
	f := &s.files[c.file]
	if f.record == nil {
		if f.record, err = s.r.Record(f.File); err != nil {
			return list, err
		}
		f.tree = f.record.Tree()
	}
	rec := f.record
	n := rec.NodeAt(c.offset)
	if n < 0 {
		return list, nil
	}
	path := f.tree.Through(n)
	at := slices.IndexFunc(path, func(i int) bool { return rec.Nodes[i].ID == rec.Nodes[n].ID })
	if at < 0 {
		return list, nil
	}
	w := s.worker()
	defer s.done(w)
	w.use(f)
	for i := at - 1; i >= 0 && len(list[0]) < before; i-- {
		if err := s.neighbour(&list[0], w, &rec.Nodes[path[i]]); err != nil {
			return list, err
		}
	}
	slices.Reverse(list[0])
	for i := at + 1; i < len(path) && len(list[1]) < after; i++ {
		if err := s.neighbour(&list[1], w, &rec.Nodes[path[i]]); err != nil {
			return list, err
		}
	}
	return list, nil
}

// tellingKinds are the kinds of parts, the one that says most of an entry first.
var tellingKinds = []session.Kind{session.KindReply, session.KindPrompt, session.KindCall, session.KindError, session.KindThinking}

func (s *searcher) neighbour(list *[]Neighbour, w *worker, node *session.Node) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	err := w.Read(entry.RefOf(node), entry.Identity{ID: node.ID, Parts: 1}, func(e *session.Entry) {
		var best *session.Part
		rank := len(tellingKinds) + 1
		for i := range e.Parts {
			p := &e.Parts[i]
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
			EntryID: node.ID, Kind: best.Kind, Role: e.Role, Tool: best.Tool, Timestamp: session.Time{Time: w.file.TimeOf(node)},
			Line: node.Line, Text: match.Cut(s.req.shown(best.Text, nil)).Text,
		})
	})
	if errors.Is(err, entry.ErrChanged) {
		return nil // an entry without parts, or one that is not there any more
	}
	return err
}
