package session_test

import (
	"fmt"

	"pigrep/internal/session"
)

// The last entry of a file is the leaf, whatever its type. The branch to it is the
// active one.
func ExampleRecord_Tree() {
	rec := &session.Record{Summary: session.Summary{Header: session.Header{Version: 3}}, Nodes: []session.Node{
		{ID: "a"},
		{ID: "b", ParentID: "a", HasParent: true},
		{ID: "c", ParentID: "a", HasParent: true},
	}}
	tree := rec.Tree()
	for i, n := range rec.Nodes {
		fmt.Println(n.ID, tree.Active(i))
	}
	// Output:
	// a true
	// b false
	// c true
}
