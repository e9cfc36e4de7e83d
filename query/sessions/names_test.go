package sessions

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
)

func TestSplitTarget(t *testing.T) {
	for _, test := range []struct{ in, name, turn string }{
		{"01a1", "01a1", ""},
		{"01a1:5e6f", "01a1", "5e6f"},
		{"01a1:", "01a1", ""},
		{"/a/b.jsonl", "/a/b.jsonl", ""},
		{"/a/b.jsonl:5e6f", "/a/b.jsonl", "5e6f"},
		{`C:\a\b.jsonl`, `C:\a\b.jsonl`, ""},
		{`C:\a\b.jsonl:5e6f`, `C:\a\b.jsonl`, "5e6f"},
		{"C:/a/b.jsonl", "C:/a/b.jsonl", ""},
		{"a:b.jsonl", "a:b.jsonl", ""},
		{"01a1:@123", "01a1", "@123"},
		{"01a1@123", "01a1", "@123"},
		{"@123", "", "@123"},
		{"/a/b.jsonl@123", "/a/b.jsonl", "@123"},
		{"/me@2024/b.jsonl", "/me@2024/b.jsonl", ""},
		{"me@host", "me@host", ""},
		{":x", "", "x"},
		{"", "", ""},
	} {
		if name, entry := SplitTarget(test.in); name != test.name || entry != test.turn {
			t.Errorf("SplitTarget(%q) = %q, %q, want %q, %q", test.in, name, entry, test.name, test.turn)
		}
	}
}

func at(minute int) time.Time { return time.Date(2026, 3, 1, 10, minute, 0, 0, time.UTC) }

func summary(path, id, parent string, minute int) session.Summary {
	s := session.Summary{Path: path, LastMessage: at(minute)}
	s.ID, s.ParentSession, s.Version, s.Timestamp = id, parent, 3, at(minute)
	return s
}

func TestFindSession(t *testing.T) {
	sessions := []session.Summary{
		summary("/s/2026-03-01_01a1f7de-aaaa.jsonl", "01a1f7de-aaaa", "", 1),
		summary("/s/2026-03-02_01a1f7df-bbbb.jsonl", "01a1f7df-bbbb", "", 2),
		summary("/s/hand-named.jsonl", "zz-1", "", 3),
		begins(summary("/s/import.jsonl", "01a1f7df-bbbb", "", 4), 7),
		summary("/s/x.jsonl", "01", "", 5),
		summary("/s/2026-03-03_01b0-no-header.jsonl", "", "", 6),
		summary("/s/2026-03-04_20fe.jsonl", "20fe", "", 7),
	}
	for _, test := range []struct{ name, want string }{
		{"01a1f7de-aaaa", "/s/2026-03-01_01a1f7de-aaaa.jsonl"},
		{"01a1f7de", "/s/2026-03-01_01a1f7de-aaaa.jsonl"},
		{"01A1F7DE", "/s/2026-03-01_01a1f7de-aaaa.jsonl"},
		{"hand-named", "/s/hand-named.jsonl"},
		{"hand", "/s/hand-named.jsonl"},
		{"2026-03-01", "/s/2026-03-01_01a1f7de-aaaa.jsonl"},
		{"01b0", "/s/2026-03-03_01b0-no-header.jsonl"},
		{"2", "/s/2026-03-04_20fe.jsonl"}, // and the beginning of an id before that of a file name
		{"01", "/s/x.jsonl"},              // a whole id is meant before the beginning of others
	} {
		s, err := find(sessions, test.name)
		if err != nil || s.Path != test.want {
			t.Errorf("findSession(%q) = %v, %v, want %s", test.name, s, err, test.want)
		}
	}
	_, err := find(sessions, "01a1f7df")
	e, ok := errors.AsType[*AmbiguousError](err)
	if !ok {
		t.Fatalf("FindSession of a copied ID: %v, want it ambiguous", err)
	}
	var paths []string
	for _, s := range e.Sessions {
		paths = append(paths, s.Path)
	}
	if diff := cmp.Diff([]string{"/s/import.jsonl", "/s/2026-03-02_01a1f7df-bbbb.jsonl"}, paths); diff != "" {
		t.Errorf("candidates, the latest first (-want +got):\n%s", diff)
	}
	_, err = find(sessions, "01a1f7ed-aaaa")
	missing, ok := errors.AsType[*NotFoundError](err)
	if !ok || len(missing.Nearest) == 0 || missing.Nearest[0] != "01a1f7de-aaaa" {
		t.Errorf("FindSession of a typo: %v %+v, want the nearest id", err, missing)
	}
	if _, err := find(sessions, ""); err == nil {
		t.Error("FindSession of nothing found something")
	}
}

func TestShortIDs(t *testing.T) {
	long := strings.Repeat("n", 300)
	sessions := []session.Summary{
		summary("/a", "01a1f7df-27f4", "", 1), summary("/b", "01a1f7df-4312", "", 1), summary("/c", "01a1f7df-43d4", "", 1),
		summary("/d", "9470c69e-8ef4", "", 1), summary("/e", "abc", "", 1), summary("/f", "9470c69e-8ef4", "", 1), summary("/g", "", "", 1),
		summary("/h", "01a1f7e5-bb6d-7087-87d3-7f62229a5ccd", "", 1), summary("/i", "01A1F7E5-bb6d-7087-87d3-7408d794a8f0", "", 1),
		summary("/j", "app-1-work-done", "", 1), summary("/k", "app-2-work-done", "", 1), summary("/l", "app-1-wo", "", 1),
		summary("/m", "Ünïcödé1-x", "", 1), summary("/n", "Ünïcödé1-y", "", 1), summary("/o", "notes-of-2-1234567", "", 1), summary("/p", "notes-of-1-1234567", "", 1),
		summary("/q/no header \x1b[31m.jsonl", "", "", 1), summary("/r/2026_"+long+"1.jsonl", "", "", 1), summary("/r/2026_"+long+"2.jsonl", "", "", 1),
	}
	short := naming(sessions).ShortID
	for id, want := range map[string]string{
		"01a1f7df-27f4": "7df-27f4", "01a1f7df-4312": "7df-4312", "01a1f7df-43d4": "7df-43d4",
		"9470c69e-8ef4": "9470c69e", "abc": "abc", "": "", "other-id-of-none": "other-id",
		"01a1f7e5-bb6d-7087-87d3-7f62229a5ccd": "229a5ccd", "01A1F7E5-bb6d-7087-87d3-7408d794a8f0": "d794a8f0",
		"app-1-work-done": "1-work-done", "app-1-wo": "app-1-wo",
		"notes-of-2-1234567": "2-1234567", // no name begins with a dash
		"no header \x1b[31m": "no heade", long + "1": strings.Repeat("n", 7) + "1",
	} {
		if got := short(id); got != want {
			t.Errorf("short(%q) = %q, want %q", id, got, want)
		}
	}
	for i := range sessions {
		id := session.Handle(sessions[i].ID, sessions[i].Path)
		if name := short(id); !utf8.ValidString(name) {
			t.Errorf("short(%q) = %q, a part of a character", id, name)
		} else if s, err := find(sessions, name); id != "9470c69e-8ef4" && (err != nil || s != &sessions[i]) {
			t.Errorf("findSession(%q) = %v, %v, want %s, whose short id this is", name, s, err, sessions[i].Path)
		}
	}
}

// Whatever ids there are, a short one finds its session.
func TestShortIDsAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`([01a][01a-]{0,5})?(01a1f7de|shared)?[01aA]{1,9}`), 1, 12, strings.ToLower).Draw(t, "ids")
		var list []session.Summary
		for i, id := range ids {
			list = append(list, summary(fmt.Sprintf("/s/file-%d.jsonl", i), id, "", i))
		}
		names, ordered := naming(list), naming(list)
		for _, n := range []*numbers{&ordered.counted().whole, &ordered.counted().heads, &ordered.counted().tails} {
			n.asked.Store(fewNames)
		}
		short := names.ShortID
		for i, id := range ids {
			if one, many := names.Name(id, list[i].Path), ordered.Name(id, list[i].Path); one != many {
				t.Errorf("%q is named %q if few names are asked for, %q if many are", id, one, many)
			}
			if len(id) > near.ShortID {
				if got, want := short(id), names.uniquePart(id, strings.ToLower(id)); got != want {
					t.Errorf("short(%q) = %q by counting, %q by comparing", id, got, want)
				}
			}
			if s, err := find(list, short(id)); err != nil || s != &list[i] {
				t.Errorf("findSession(%q) = %v, %v, want %s", short(id), s, err, id)
			}
		}
	})
}

func TestLineage(t *testing.T) {
	sessions := []session.Summary{
		summary("/s/a/2026_root.jsonl", "root", "/gone/2026_grand.jsonl", 1),
		summary("/s/a/2026_fork1.jsonl", "fork1", "/s/a/2026_root.jsonl", 3),
		summary("/s/b/2026_fork2.jsonl", "fork2", `C:\moved\2026_root.jsonl`, 2), // by its file name
		summary("/s/b/2026_fork3.jsonl", "fork3", "/elsewhere/other-name_fork1.jsonl", 9),
		summary("/s/c/loop1.jsonl", "loop1", "/s/c/loop2.jsonl", 4),
		summary("/s/c/loop2.jsonl", "loop2", "/s/c/loop1.jsonl", 5),
		summary("/s/c/self.jsonl", "self", "/s/c/self.jsonl", 6),
		begins(summary("/s/c/twin.jsonl", "root", "", 7), 7),
	}
	l := NewLineage(summaries(sessions))
	parents := make([]string, len(sessions))
	for i := range sessions {
		if p := l.Parent(i); p != nil {
			parents[i] = p.Path
		}
	}
	want := []string{"", "/s/a/2026_root.jsonl", "/s/a/2026_root.jsonl", "/s/a/2026_fork1.jsonl", "/s/c/loop2.jsonl", "/s/c/loop1.jsonl", "", ""}
	if diff := cmp.Diff(want, parents); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
	var forks []string
	for _, s := range l.Forks(0) {
		forks = append(forks, s.ID)
	}
	if diff := cmp.Diff([]string{"fork2", "fork1"}, forks); diff != "" {
		t.Errorf("forks of root, the oldest first (-want +got):\n%s", diff)
	}
	if twins := l.chains.SameID("/s/a/2026_root.jsonl"); len(twins) != 1 || twins[0] != "/s/c/twin.jsonl" {
		t.Errorf("files with the id of root: %v", twins)
	}
	order, depth := l.families([]int{0, 1, 2, 3, 4, 5})
	var rows []string
	for k, i := range order {
		rows = append(rows, fmt.Sprint(depth[k], sessions[i].ID))
	}
	// The family with the latest activity first; a circle begins somewhere.
	if diff := cmp.Diff([]string{"0root", "1fork1", "2fork3", "1fork2"}, rows[:4]); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
	if len(rows) != 6 {
		t.Errorf("families of 6 sessions have %d rows: %v", len(rows), rows)
	}
}

// @ and a number is the entry at that offset, in every command and tool.
func TestFindEntry(t *testing.T) {
	rec := &session.Record{Nodes: []session.Node{
		{ID: "12ab", Type: "message", Offset: 100}, {ID: "@200", Type: "message", Offset: 200}, {ID: "12cd", Type: "message", Offset: 345},
		{ID: "0198c0de-aaaa-7bbb-8ccc-ddddeeeeffff", Type: "message", Offset: 400},
	}}
	for name, want := range map[string]int{"12ab": 0, "12A": 0, "@100": 0, "@200": 1, "200": 1, "@345": 2, " 12c ": 2, "12": -1, "@101": -1, "345": -1, "0198": 3, "eeeeffff": 3, "eeeffff": -1, "zz": -1} {
		if i, err := FindEntry(rec, rec.Tree(), name); i != want || (err != nil) != (want < 0) {
			t.Errorf("FindEntry(%q) = %d, %v, want %d", name, i, err, want)
		}
	}
}

// In a session of several files, an offset is one of its own file. An id that an earlier file has
// too names neither.
func TestFindEntryOfSeveralFiles(t *testing.T) {
	rec := &session.Record{Inherited: 2, Nodes: []session.Node{
		{ID: "@0~2", Type: "message"}, {ID: "12ab~2", Type: "message", Offset: 70}, {ID: "@0", Type: "message"}, {ID: "12ab", Type: "message", Offset: 50},
	}}
	for name, want := range map[string]int{"@0": 2, "@0~2": 0, "@50": 3, "12ab": -1, "12ab~2": 1} {
		if i, err := FindEntry(rec, rec.Tree(), name); i != want || (err != nil) != (want < 0) {
			t.Errorf("FindEntry(%q) = %d, %v, want %d", name, i, err, want)
		}
	}
}

// The name of every entry finds that entry behind the name of its session, whatever its id.
func TestEntryNamesFindTheirEntry(t *testing.T) {
	rec := &session.Record{}
	for i, id := range []string{"5e6f7a8b", "@200", "a:b", "a\tb", "-n", "a/b", "x.jsonl", "7", "\x1b[31m", strings.Repeat("x", 3000)} {
		rec.Nodes = append(rec.Nodes, session.Node{ID: id, Type: "message", Offset: int64(100 * (i + 1))})
	}
	for i, n := range rec.Nodes {
		arg := "01a1f7de:" + EntryName(n.ID, n.Offset)
		name, entry := SplitTarget(arg)
		if found, err := FindEntry(rec, rec.Tree(), entry); found != i || name != "01a1f7de" {
			t.Errorf("%.40q for the entry %.20q: found %d of %q, error %v", arg, n.ID, found, name, err)
		}
	}
}

// The name of every session finds that session, alone and before the id of an entry, as an
// argument of commands and as a filter.
func TestNamesFindTheirSession(t *testing.T) {
	list := []session.Summary{
		summary("/s/2026-03-01_01a1f7de-aaaa-bbbb.jsonl", "01a1f7de-aaaa-bbbb", "", 1),
		summary("/s/01a1f7de.jsonl", "02b2f7de-aaaa-bbbb", "", 2), // named as another id begins
		summary("/s/no-header.jsonl", "", "", 3),
		summary("/s/2026-03-03T10-00-00-000Z_without-id.jsonl", "", "", 4),
		summary("/s/d1/same.jsonl", "", "", 5),
		summary("/s/d2/SAME.jsonl", "", "", 6),
		summary("/s/path.jsonl", "../etc/passwd", "", 7),
		summary("/s/colon.jsonl", "a:b", "", 8),
		summary("/s/at.jsonl", "a@12", "", 9),
		summary("/s/flag.jsonl", "-rf", "", 10),
		summary("/s/space.jsonl", "  ", "", 11),
		summary("/s/escape.jsonl", "\x1b[31mred", "", 12),
		summary("/s/file.jsonl", "x.jsonl", "", 13),
		summary("/s/twin1.jsonl", "03c3f7de-aaaa-bbbb", "", 14),
		begins(summary("/s/twin2.jsonl", "03c3f7de-aaaa-bbbb", "", 15), 7),
		summary("/s/long.jsonl", strings.Repeat("x", 3000), "", 16),
		summary("/s/with space; and more.jsonl", "", "", 17),
		summary("/s/ends_.jsonl", "", "", 18),
		summary("/s/-rf.jsonl", "", "", 19),
		summary("/s/me@12.jsonl", "", "", 20),
		summary("/s/日本語のセッション.jsonl", "", "", 21),
		summary("/s/last.jsonl", "", "", 22),
	}
	names := naming(list).Name
	for i := range list {
		name := names(list[i].ID, list[i].Path)
		if strings.HasPrefix(name, "-") || name == Last {
			t.Errorf("the name %q means something else", name)
		}
		for _, entry := range []string{"", "5e6f7a8b", "@12"} {
			arg := name
			if entry != "" {
				arg += ":" + entry
			}
			typed, at := SplitTarget(arg)
			found, err := &session.Summary{Path: typed}, error(nil)
			if !session.IsPath(typed) {
				found, err = find(list, typed)
			}
			if err != nil || found.Path != list[i].Path || at != entry {
				t.Errorf("%q for %s: found %+v, entry %q, error %v", arg, list[i].Path, found, at, err)
			}
		}
		f := (&filter.Spec{Sessions: []string{name}}).Compile()
		for k := range list {
			if f.Session(&list[k]) != (k == i) {
				t.Errorf("the filter session %q passes %s: %v", name, list[k].Path, k != i)
			}
		}
	}
	if got := names(list[2].ID, list[2].Path); got != "no-heade" && got != "no-header" {
		t.Errorf("a file without a header is %q", got)
	}
	if got := names(list[4].ID, list[4].Path); got != list[4].Path {
		t.Errorf("a file whose name another has too is %q", got)
	}
	if got := names("", "/s/not indexed.jsonl"); got != "/s/not indexed.jsonl" {
		t.Errorf("a file that is not indexed is %q", got)
	}
}

// begins returns a summary of a file whose first message is another one.
func begins(s session.Summary, with uint64) session.Summary {
	s.Begins = with
	return s
}

func naming(list []session.Summary) *Naming {
	return NewNaming(eachSession(list), session.NewChains(eachSession(list), session.Twins{}))
}

func find(list []session.Summary, name string) (*session.Summary, error) {
	return findSession(list, session.NewChains(eachSession(list), session.Twins{}), name)
}

// summaries are a Source in memory.
type summaries []session.Summary

func (s summaries) Beginnings() iter.Seq2[int, *session.Summary] { return eachSession(s) }

func (s summaries) Chains() *session.Chains {
	return session.NewChains(eachSession(s), session.Twins{})
}

func (s summaries) Summary(i int) *session.Summary { return &s[i] }
