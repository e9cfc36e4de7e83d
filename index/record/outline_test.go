package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

// treeRecord makes a record of n entries with branches, compactions and edits.
func treeRecord(rnd *rand.Rand, n int) *session.Record {
	r := &session.Record{Summary: session.Summary{Path: "/s.jsonl", Header: session.Header{Version: 1 + rnd.IntN(3)}}}
	anyID := func() string {
		if len(r.Nodes) == 0 {
			return "none"
		}
		return r.Nodes[rnd.IntN(len(r.Nodes))].ID
	}
	offset := rnd.Int64N(300)
	for i := range n {
		node := session.Node{ID: fmt.Sprintf("%08x", rnd.Uint32()), HasParent: r.Version > 1, Type: "message", Role: "user", Time: rnd.Int64N(1e13), Line: i + 2}
		if rnd.IntN(40) == 0 && i > 0 {
			node.ID = r.Nodes[rnd.IntN(i)].ID // appended again
		}
		if node.HasParent && i > 0 {
			node.ParentID = r.Nodes[max(0, i-1-rnd.IntN(2)*rnd.IntN(i))].ID
		}
		switch rnd.IntN(30) {
		case 0:
			node.Type, node.Role, node.FirstKept = "compaction", "", anyID()
		case 1:
			node.Type, node.Role, node.TargetID = "context_edit", "", anyID()
		}
		node.Offset, node.Length = offset, 1+rnd.IntN(5000)
		offset += int64(node.Length) + 1
		r.Nodes = append(r.Nodes, node)
	}
	return r
}

// An outline must have every entry as the whole record and its tree have it, nothing at
// any other offset, and before each entry the one above.
func TestOutline(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, nodeGroup - 1, nodeGroup, nodeGroup + 1, 3*nodeGroup - 1, 10 * nodeGroup, 1000, pieceEntries, pieceEntries + 1, 3000} {
		rec := treeRecord(rnd, n)
		o, err := DecodeOutline(asStored(Encode(rec, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := testkit.Diff(session.Record{Summary: rec.Summary}, o.Record); diff != "" {
			t.Errorf("the record of %d entries: %s", n, diff)
		}
		tree, walk := rec.Tree(), o.Walk()
		for i, node := range rec.Nodes {
			want := Entry{node, tree.Active(i), tree.InContext(i), rec.Contexts.At(i)}
			if got, ok := o.At(node.Offset); !ok || got != want {
				t.Fatalf("entry %d of %d is %+v, %t, want %+v", i, n, got, ok, want)
			}
			for _, at := range []int{i, rnd.IntN(n)} { // forward, sometimes with a jump
				if rnd.IntN(3) == 0 || at != i && rnd.IntN(20) > 0 {
					continue
				}
				want := Entry{rec.Nodes[at], tree.Active(at), tree.InContext(at), rec.Contexts.At(at)}
				if got, ok := walk.At(rec.Nodes[at].Offset); !ok || got != want {
					t.Fatalf("walking, entry %d of %d is %+v, %t, want %+v", at, n, got, ok, want)
				}
			}
			if got, ok := o.Before(node.Offset); ok != (i > 0) || ok && got.Offset != rec.Nodes[i-1].Offset {
				t.Fatalf("before entry %d of %d is %+v, %t", i, n, got, ok)
			}
			for _, beside := range []int64{node.Offset - 1, node.Offset + 1} {
				if got, ok := o.At(beside); ok != (rec.NodeAt(beside) >= 0) {
					t.Fatalf("beside entry %d of %d is %+v", i, n, got)
				}
			}
		}
		if _, ok := o.At(-1); ok {
			t.Error("there is an entry before the file")
		}
	}
}

// A record that grows step by step must be stored as one that was encoded at once. A step
// writes only the pieces that it completes, and reads the older entries only if they may
// no longer be what they were.
func TestRecordThatGrows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for round := range testkit.HowMany(4, 12, 12) {
		whole := treeRecord(rnd, 3000)
		linear := round%3 == 0
		if linear {
			whole.Version = 3
			for i := range whole.Nodes {
				n := &whole.Nodes[i]
				*n = session.Node{ID: fmt.Sprintf("%08x", i), HasParent: true, Type: "message", Role: "user", Offset: n.Offset, Length: n.Length, Line: n.Line}
				switch {
				case i > 0 && i%700 == 0:
					n.ParentID = fmt.Sprint("missing", i)
				case i%1100 > 0:
					n.ParentID = whole.Nodes[i-1].ID
				}
			}
		}
		var have Encoded // all pieces
		earlier := 0     // how often older entries were decoded
		rec := &session.Record{Summary: whole.Summary}
		for at := 0; at < len(whole.Nodes); {
			n := min(1+rnd.IntN([]int{2, fewAtOnce, 900}[rnd.IntN(3)]), len(whole.Nodes)-at)
			if linear && at > 0 {
				n = min(n, fewAtOnce)
			}
			rec.Nodes = append(rec.Nodes, whole.Nodes[at:at+n]...)
			at += n
			var full *session.Record
			if rnd.IntN(4) == 0 && at < len(whole.Nodes) {
				full = rec.Clone()
				full.Nodes = append(full.Nodes, whole.Nodes[at])
			}
			e := Encode(rec, full)
			if e.First != len(have.Pieces) {
				t.Fatalf("with %d entries, pieces are written from %d on, want %d", at, e.First, len(have.Pieces))
			}
			have.Record, have.Pieces = e.Record, append(have.Pieces, e.Pieces...)
			if full != nil {
				list, pieces := asStored(have)
				got, err := Decode(list, false, pieces)
				if err != nil {
					t.Fatal(err)
				}
				if diff := testkit.Diff(whole.Nodes[:at+1], got.Nodes); diff != "" {
					t.Fatalf("with an unterminated line: %s", diff)
				}
			}
			if rnd.IntN(3) == 0 {
				rec.Known = e.Known // as in a long update
				continue
			}
			var err error
			if rec, err = DecodeToContinue(asStored(have)); err != nil {
				t.Fatal(err)
			}
			decode := rec.Known.Earlier
			rec.Known.Earlier = func() []session.Node { earlier++; return decode() }
		}
		want := Encode(whole, nil)
		if e := Encode(rec, nil); !bytes.Equal(e.Record, want.Record) {
			t.Fatalf("round %d: the record differs from one that was encoded at once", round)
		}
		if diff := cmp.Diff(want.Pieces, have.Pieces); diff != "" {
			t.Fatalf("round %d: pieces: %s", round, diff)
		}
		if linear && earlier > 0 {
			t.Errorf("older entries were decoded %d times, though lines were only appended", earlier)
		}
	}
}

const fewAtOnce = 40 // entries, with which nothing older is read

func BenchmarkOutline(b *testing.B) {
	rec := treeRecord(rand.New(rand.NewPCG(1, 2)), 10_000)
	blob, pieces := asStored(Encode(rec, nil))
	b.ReportAllocs()
	for b.Loop() {
		o, err := DecodeOutline(blob, pieces)
		if err != nil {
			b.Fatal(err)
		}
		for i := range 3 {
			if _, ok := o.At(rec.Nodes[i*1000].Offset); !ok {
				b.Fatal("lost")
			}
		}
	}
}
