package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pigrep/internal/session"
)

// The marks that entries add to those that are known equal the marks of the whole tree.
func TestMarksOfAnAddition(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 20_000 {
		r := &session.Record{}
		r.Version = 3
		if rng.IntN(2) > 0 {
			r.Memo = []byte("m")
		}
		n := 3 + rng.IntN(14)
		tip, pending := "", []int64(nil)
		for i := range n {
			if i > 0 && rng.IntN(3) == 0 {
				active, context := r.Marks()
				r.Known = &session.Known{Entries: len(r.Nodes), Active: active, InContext: context}
			}
			e := &session.Entry{
				Identity: session.Identity{Type: session.TypeMessage, Role: session.RoleUser, ID: fmt.Sprint("e", i), Offset: int64(i)}, Position: session.Position{ParentID: tip, HasParent: true, FirstKeptIndex: -1},
			}
			if r.Memo != nil || rng.IntN(4) == 0 {
				switch rng.IntN(9) {
				case 0:
					e.Aside, e.Role = true, session.RoleToolResult
				case 1:
					e.Apart, e.Type = true, "state"
				case 2:
					e.Apart, e.HasParent, e.ParentID, e.Type, e.TargetID = true, false, "", session.TypeLeaf, fmt.Sprint("e", max(0, i-rng.IntN(4)))
				case 3:
					e.Side = "side"
				case 4:
					e.Pending, e.Aside = true, rng.IntN(2) > 0
					pending = append(pending, e.Offset)
				case 5:
					e.Shadows, pending = pending, nil
				case 6:
					e.ID, e.Once = fmt.Sprint("e", rng.IntN(i+1)), true
				case 7:
					e.ParentID = fmt.Sprint("e", rng.IntN(n))
				}
			}
			if rng.IntN(12) == 0 && !e.Aside {
				e.Type, e.FirstKeptID = session.TypeCompaction, fmt.Sprint("e", rng.IntN(i+1))
			}
			if r.Add(e); !e.Aside && !e.Apart && e.Side == "" {
				tip = e.ID
			}
			active, context := r.Marks()
			whole := r.Clone()
			whole.Known = nil
			if a, c := whole.Marks(); !slices.Equal(active, a) || !slices.Equal(context, c) {
				t.Fatalf("round %d: of %+v\nactive %v, want %v\nin context %v, want %v", round, r.Nodes, active, a, context, c)
			}
		}
	}
}
