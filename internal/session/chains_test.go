package session

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func listed(list []Summary) iter.Seq2[int, *Summary] {
	return func(yield func(int, *Summary) bool) {
		for i := range list {
			if !yield(i, &list[i]) {
				return
			}
		}
	}
}

// partOf returns part n of a session, with lines that have the ordinals from first on, and
// goes on where line until of part base ended; base is negative for none.
func partOf(id string, n, base int, first, until int64) Summary {
	s := Summary{Path: fmt.Sprintf("/s/%s-%03d.jsonl", id, n)}
	s.ID, s.Version, s.Ordinal, s.Timestamp = id, 2, first, time.Unix(int64(n), 0)
	if n > 0 {
		s.Part = fmt.Sprint(n)
	}
	if base >= 0 {
		s.Relation, s.Base = Reverted, Base{Session: id, Ordinal: until}
		if base > 0 {
			s.Base.Part = fmt.Sprint(base)
		}
	}
	return s
}

// A chain of fifty files is one session, in whatever order the files are listed; what later
// files took back is abandoned.
func TestChainOfFifty(t *testing.T) {
	var list []Summary
	for n := range 50 {
		list = append(list, partOf("a", n, n-1, int64(10*n), int64(10*n-2)))
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	c := NewChains(listed(list), Twins{})
	for i := range list {
		s := &list[i]
		if head := c.Head(s.Path); head != "/s/a-049.jsonl" {
			t.Errorf("%s goes on in %s", s.Path, head)
		}
		want := 9
		if s.Part == "49" {
			want = 0
		}
		if cut := c.Cut(s.Path); cut != want {
			t.Errorf("%s is abandoned from line %d on, want %d", s.Path, cut, want)
		}
	}
}

// A revert to a line before the base of its base takes back all of that, and a part of the file
// before.
func TestRevertBeyondBase(t *testing.T) {
	c := NewChains(listed([]Summary{partOf("a", 0, -1, 0, 0), partOf("a", 1, 0, 20, 20), partOf("a", 2, 1, 10, 10)}), Twins{})
	if got := []int{c.Cut("/s/a-000.jsonl"), c.Cut("/s/a-001.jsonl"), c.Cut("/s/a-002.jsonl")}; !slices.Equal(got, []int{11, 1, 0}) {
		t.Errorf("abandoned from lines %v on", got)
	}
}

// Whatever files say of each other, each session has one file in which it goes on, its history
// ends, and each entry of that is there once.
func TestRandomChains(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var list []Summary
		for _, id := range []string{"a", "b"} {
			for n := range 1 + rnd.IntN(6) {
				s := partOf(id, n, rnd.IntN(8)-1, rnd.Int64N(20), rnd.Int64N(40)-5)
				if s.Base.Session != "" && rnd.IntN(3) == 0 {
					s.Base.Session, s.Relation = []string{"a", "b", "gone"}[rnd.IntN(3)], Continued
				}
				list = append(list, s)
			}
		}
		slices.SortFunc(list, func(a, b Summary) int { return int(rnd.Int64N(3)) - 1 })
		c, heads := NewChains(listed(list), Twins{}), make(map[string]map[string]bool)
		records := make(map[string]*Record)
		for i := range list {
			s := &list[i]
			if heads[s.ID] == nil {
				heads[s.ID] = make(map[string]bool)
			}
			heads[s.ID][c.Head(s.Path)] = true
			records[s.Path] = recordOf(s, rnd)
		}
		for id, found := range heads {
			if len(found) != 1 {
				t.Fatalf("seed %d: session %s goes on in %v", seed, id, found)
			}
		}
		for i := range list {
			var files []*Record
			seen := make(map[string]bool)
			for path := list[i].Path; path != "" && !seen[path]; path = c.Base(path) {
				seen[path] = true
				r := *records[path]
				r.Abandon(c.Cut(path))
				files = append(files, &r)
			}
			slices.Reverse(files)
			checkJoined(t, seed, files)
		}
	}
}

func recordOf(s *Summary, rnd *rand.Rand) *Record {
	r := &Record{Summary: *s}
	for k := range rnd.IntN(8) {
		n := Node{ID: fmt.Sprintf("@%d", k*100), Type: TypeMessage, HasParent: true, Line: k + 1, Offset: int64(k * 100), Apart: rnd.IntN(4) == 0}
		if k > 0 {
			n.ParentID = fmt.Sprintf("@%d", rnd.IntN(k+1)*100) // a line may name itself
		}
		r.Nodes = append(r.Nodes, n)
	}
	return r
}

func checkJoined(t *testing.T, seed uint64, files []*Record) {
	t.Helper()
	joined, starts := Join(files)
	own := files[len(files)-1]
	if got := len(joined.Nodes) - joined.Inherited; got != len(own.Nodes) || len(starts) != len(files) {
		t.Fatalf("seed %d: %d of the %d own entries, in %d files", seed, got, len(own.Nodes), len(starts))
	}
	ids := make(map[string]bool)
	for i := range joined.Nodes {
		if id := joined.Nodes[i].ID; ids[id] {
			t.Fatalf("seed %d: two entries %s", seed, id)
		} else {
			ids[id] = true
		}
	}
	tree, on := joined.Tree(), make(map[int]bool)
	for _, i := range tree.Path() {
		if on[i] {
			t.Fatalf("seed %d: entry %d is on the branch twice", seed, i)
		}
		on[i] = true
	}
	tree.Roots()
}

// A name that tells sessions of one id apart may be typed in capitals; other names are whole ids.
func TestCutApart(t *testing.T) {
	for name, want := range map[string][2]string{
		"aaaaaaaa.069f0": {"aaaaaaaa", "069f0"}, "AAAAAAAA.069F0": {"AAAAAAAA", "069f0"}, "a.b.069f0": {"a.b", "069f0"},
		"aaaaaaaa.069fz": {"aaaaaaaa.069fz", ""}, ".069f0": {".069f0", ""}, "aaaaaaaa.69f0": {"aaaaaaaa.69f0", ""}, "": {"", ""},
	} {
		if id, apart := CutApart(name); id != want[0] || apart != want[1] {
			t.Errorf("%q is %q and %q, want %q", name, id, apart, want)
		}
	}
}
