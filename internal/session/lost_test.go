package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An entry whose parent was lost in damage follows the entry before it. Without damage, it begins a branch.
func TestLostParents(t *testing.T) {
	add := func(r *Record, id, parent string, behindTorn bool) {
		r.Add(&Entry{Identity: Identity{Type: TypeMessage, Role: RoleUser, ID: id}, Position: Position{ParentID: parent, HasParent: true, BehindTorn: behindTorn}, Repetition: Repetition{Once: true}})
	}
	path := func(r *Record) (ids []string) {
		t := r.Tree()
		for _, i := range t.Path() {
			ids = append(ids, r.Nodes[i].ID)
		}
		return ids
	}
	r := &Record{}
	r.Version = 3
	add(r, "a", "", false)
	add(r, "b", "a", false)
	add(r, "d", "c", false)
	if diff := cmp.Diff([]string{"d"}, path(r)); diff != "" {
		t.Errorf("without damage (-want +got):\n%s", diff)
	}
	add(r, "f", "e", true)
	add(r, "g", "f", false)
	r.AddProblem(Problem{Line: 5})
	add(r, "i", "h", false)
	if diff := cmp.Diff([]string{"d", "f", "g", "i"}, path(r)); diff != "" {
		t.Errorf("with damage (-want +got):\n%s", diff)
	}
}
