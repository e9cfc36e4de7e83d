package record

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

// What was packed comes back whole, and what was cut or changed does not.
func TestPack(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, entries := range []int{0, 1, pieceEntries + 1, 3 * pieceEntries} {
		rec := anyRecord(rnd)
		rec.Nodes = make([]session.Node, entries)
		for i := range rec.Nodes {
			rec.Nodes[i] = session.Node{ID: "e", Type: "message", Offset: int64(i) * 10, Length: 10, Line: i + 1}
		}
		rec.Facts = &session.Facts{Usages: []session.UsageFact{{Model: "m", Usage: session.Usage{Input: 7}}}, Calls: []session.CallFact{{Tool: "bash", ID: "c", Line: "go test"}}, Touches: []session.TouchFact{{Path: "a.go"}}}
		packed := Pack(rec)
		got, err := Unpack(packed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := testkit.Diff(rec, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(session.Facts{}), cmpopts.IgnoreFields(session.Record{}, "Known")); diff != "" {
			t.Errorf("%d entries: %s", entries, diff)
		}
		for range 200 {
			n := rnd.IntN(len(packed))
			if _, err := Unpack(packed[:n]); err == nil {
				t.Errorf("the first %d bytes of %d are a record", n, len(packed))
			}
			damaged := bytes.Clone(packed)
			damaged[n] ^= 1 << rnd.IntN(8)
			if again, err := Unpack(damaged); err == nil && !cmp.Equal(got, again, cmpopts.IgnoreUnexported(session.Facts{})) {
				t.Errorf("with byte %d changed it is another record", n)
			}
		}
	}
}
