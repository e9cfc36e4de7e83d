package sessions_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/entry"
	"pigrep/query/sessions"
)

// The short id of an entry is its shortest beginning of at least eight characters that no other
// entry of the session begins with, however many are asked for and with the index or without. It
// finds the entry.
func TestShortEntryIDs(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 8))
	pieces := []string{"05532edd", "0553", "2edd", "-4c1a", "A", "a", "é", "msg_", "call_", "漢", "x"}
	var list []stories.Story
	for n := range testkit.HowMany(100, 300, 2000) {
		story := stories.Story{Name: fmt.Sprint("s", n)}
		for i := range 1 + rng.IntN(60) {
			var id strings.Builder
			for range 1 + rng.IntN(6) {
				id.WriteString(pieces[rng.IntN(len(pieces))])
			}
			turn := stories.Prompt(fmt.Sprintf("words %d", i)).Named(id.String())
			if rng.IntN(2) == 0 { // an entry without text has no document
				turn.Message = nil
			}
			story.Entries = append(story.Entries, turn)
		}
		list = append(list, story)
	}
	l := stories.New(t, list...)
	names := entry.NewNaming(l.Reader)
	for n := range list {
		rec, err := l.Reader.Record(l.Reader.Table().File(n))
		testkit.Check(t, err)
		tree, unindexed, ids := rec.Tree(), entry.ShortIDs(rec), map[string]bool{}
		for i := range rec.Nodes {
			ids[rec.Nodes[i].ID] = true
		}
		for _, i := range rng.Perm(len(rec.Nodes)) {
			id := rec.Nodes[i].ID
			short := names.Short(rec.Path, id)
			if want := shortest(ids, id); short != want {
				t.Fatalf("the short id of %q is %q, want %q", id, short, want)
			}
			if other := unindexed(id); other != short {
				t.Fatalf("the short id of %q is %q with an index, %q without", id, short, other)
			}
			if at, err := sessions.FindEntry(rec, tree, short); err != nil || rec.Nodes[at].ID != id {
				t.Fatalf("the short id %q of %q finds entry %d: %v", short, id, at, err)
			}
		}
	}
}

func shortest(ids map[string]bool, id string) string {
	for n := 8; n < len(id); n++ {
		others := 0
		for other := range ids {
			if strings.HasPrefix(other, id[:n]) && other != id {
				others++
			}
		}
		if others == 0 && strings.ToValidUTF8(id[:n], "") == id[:n] {
			return id[:n]
		}
	}
	return id
}
