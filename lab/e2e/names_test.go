package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/indexer"
)

func note(room, name string) string {
	return fmt.Sprintf(`{"note":%q,"name":%q,"at":5000}`+"\n", room, name)
}

// Notes name sessions in other files. The last line about a session counts, and an empty name
// clears; each line is found once, as a hit of the session; reading it reads no session.
func TestNotes(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	twoAgents(t, home)
	notes := filepath.Join(home, ".chat", "names.jsonl")
	run := program(t, home, nil, allAgents()...)
	names := func() (list []string) {
		t.Helper()
		for line := range strings.Lines(run("sessions", "--jsonl")) {
			var s struct{ Type, SessionID, Name, SessionPath string }
			if json.Unmarshal([]byte(line), &s) == nil && s.Type == "session" {
				if s.SessionPath == notes {
					t.Error("the notes are listed as a session")
				}
				if s.Name != "" {
					list = append(list, s.SessionID[:min(9, len(s.SessionID))]+" "+s.Name)
				}
			}
		}
		slices.Sort(list)
		return list
	}
	hits := func(args ...string) (list []string) {
		t.Helper()
		for line := range strings.Lines(run(append([]string{"search", "--jsonl"}, args...)...)) {
			var h struct {
				Type, SessionID, SessionName, SessionPath, Kind string
				Line                                            int
			}
			if json.Unmarshal([]byte(line), &h) == nil && h.Type == "hit" {
				list = append(list, fmt.Sprintf("%s %s %s:%d", h.Kind, h.SessionID, filepath.Base(h.SessionPath), h.Line))
			}
		}
		return list
	}
	if got := names(); got != nil {
		t.Errorf("without notes: %v", got)
	}
	appendTo(t, notes, note("kitchen", "aardvark")+note("garden", "badger")+note("01a1f7de-0000", "dormouse"))
	appendTo(t, notes, note("kitchen", "capybara"))
	if got, want := names(), []string{"kitchen capybara"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	kitchen := []string{"title kitchen kitchen.jsonl:2"}
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"capybara"}, kitchen},
		{[]string{"capybara", "--sort", "newest"}, kitchen},
		{[]string{"capybara", "--flat"}, kitchen},
		{[]string{`"capybara"`}, kitchen},
		{[]string{"capybara kind:title"}, kitchen},
		{[]string{"capybara project:kitchen"}, kitchen},
		{[]string{"capybara", "--project", "kitchen"}, kitchen},
		{[]string{"capybara", "--session", "kitchen"}, kitchen},
		{[]string{"capybara", "--project", "app"}, nil},
		{[]string{"capybara", "--agent", "pi"}, nil},
		{[]string{"capybara", "--since", "1971"}, nil},
		{[]string{"capybara", "--until", "1971"}, kitchen},
		{[]string{"title:capybara count"}, []string{"reply kitchen kitchen.jsonl:3"}},
		{[]string{"getOvenTimer title:capybara"}, []string{"prompt kitchen kitchen.jsonl:2"}},
		{[]string{"is:named", "getOvenTimer"}, []string{"prompt kitchen kitchen.jsonl:2"}},
		{[]string{"badger"}, []string{"title  names.jsonl:2"}},   // of a session that is not indexed
		{[]string{"dormouse"}, []string{"title  names.jsonl:3"}}, // the session of this id is another agent's
		{[]string{"aardvark"}, nil},
	} {
		if diff := cmp.Diff(test.want, hits(test.args...)); diff != "" {
			t.Errorf("search %q (-want +got):\n%s", test.args, diff)
		}
	}
	for _, args := range [][]string{{"show", "kitchen"}, {"sessions", "--color", "always"}, {"capybara"}, {"export", "kitchen", "--format", "md"}} {
		if got := run(args...); !strings.Contains(plainText(got), "capybara") || strings.Contains(got, "aardvark") {
			t.Errorf("pigrep %v does not say capybara alone:\n%s", args, got)
		}
	}
	appendTo(t, notes, note("kitchen", "")+note("kitc"+strings.Repeat("n", 300)+"\x1b[1m", "elsewhere")+`{"note":"kitchen","na`)
	if got := names(); got != nil {
		t.Errorf("after it was cleared: %v", got)
	}
	if got := hits("capybara"); got != nil {
		t.Errorf("the name that was cleared is found: %v", got)
	}
	appendTo(t, notes, `me":"again"}`)
	if got := names(); got != nil {
		t.Errorf("a line counts before its end: %v", got)
	}
	appendTo(t, notes, "\n")
	if got, want := names(), []string{"kitchen again"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	if err := os.Remove(notes); err != nil {
		t.Fatal(err)
	}
	if got, found := names(), hits("again"); got != nil || len(found) != 1 || !strings.HasPrefix(found[0], "prompt ") {
		t.Errorf("without the file: names %v, hits %v", got, found)
	}
}

// An index of notes that was built line by line equals one built at once, renaming reads one
// line, and neither that nor the end of the notes reads a session.
func TestNotesReadNoSession(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	steps, once := newAttic(t, home), newAttic(t, home)
	appendTo(t, steps.file, surprises)
	notes := filepath.Join(home, ".chat", "names.jsonl")
	steps.update(t)
	letTimesSettle()
	steps.update(t)
	bytesRead := func() int64 {
		t.Helper()
		res, err := indexer.Update(t.Context(), steps.opt)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Reader.Close()
		return res.BytesRead
	}
	for i := range 600 { // more than may be pending in a session
		appendTo(t, notes, note(fmt.Sprintf("room%d", i), "name"))
	}
	steps.update(t)
	for i, name := range []string{"first", "second", "", "third"} {
		line := note([]string{"attic", "room0"}[i%2], name)
		appendTo(t, notes, line[:20])
		steps.update(t)
		appendTo(t, notes, line[20:])
		if got := bytesRead(); got != int64(len(line)) {
			t.Errorf("reading a line of %d bytes read %d", len(line), got)
		}
		if diff := cmp.Diff(state(t, once.update(t)), state(t, steps.update(t))); diff != "" {
			t.Fatalf("after %q (-at once +in steps):\n%s", name, diff)
		}
		once = newAttic(t, home)
	}
	if err := os.Remove(notes); err != nil {
		t.Fatal(err)
	}
	if got := bytesRead(); got != 0 {
		t.Errorf("without the notes %d bytes of sessions were read", got)
	}
}
