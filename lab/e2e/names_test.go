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

	"pgregory.net/rapid"

	"pigrep/indexer"
	"pigrep/lab/testkit"
)

// slot is the line for the title of a session of chat.
func slot(title string) string {
	return fmt.Sprintf(`{"slot":%q,"pad":"%*s"}`+"\n", title, 60-len(title), "")
}

// writeAt overwrites bytes in place.
func writeAt(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

// A title that is overwritten in place costs its line, however long the session is. The old
// one is no longer found.
func TestOverwrittenTitle(t *testing.T) {
	t.Parallel()
	a := newAttic(t, t.TempDir())
	appendTo(t, a.file, slot("aardvark")+surprises+strings.Repeat(`{"at":4000,"who":"it","says":"filler"}`+"\n", testkit.HowMany(1_000, 40_000, 40_000)))
	a.update(t)
	for i, title := range []string{"badger", "capybara", "dormouse"} {
		writeAt(t, a.file, slot(title))
		more := ""
		if i == 1 {
			more = `{"at":5000,"who":"it","says":"more"}` + "\n"
			appendTo(t, a.file, more)
		}
		letTimesSettle()
		res, err := indexer.Update(t.Context(), a.opt)
		if err != nil {
			t.Fatal(err)
		}
		s, read := res.Reader.Summaries()[0], res.BytesRead
		res.Reader.Close()
		if want := int64(len(slot(title)) + len(more)); s.Name != title || read != want {
			t.Errorf("the title is %q after reading %d bytes, want %q after %d", s.Name, read, title, want)
		}
		r := a.update(t)
		if documents(t, r, title) != 1 || documents(t, r, "aardvark")+documents(t, r, "alpacas") != 1 {
			t.Errorf("%s: not found once, or the old title is, or the rest is not", title)
		}
	}
}

// An index equals one built at once after any number of titles, whole ones and torn ones, and
// however much of the rest is written.
func TestAnyTitles(t *testing.T) {
	t.Parallel()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		home := filepath.Join(t.TempDir(), fmt.Sprint(n))
		steps, once := newAttic(t, home), newAttic(t, home)
		titles := rapid.SampledFrom([]string{"", "one", "two badgers", "three \"quoted\" capybaras"})
		rest := slot(titles.Draw(rt, "first")) + surprises
		written := 0
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0, 1:
				k := rapid.IntRange(0, len(rest)).Draw(rt, "bytes")
				appendTo(t, steps.file, rest[:k])
				rest, written = rest[k:], written+k
			case 2:
				if title := slot(titles.Draw(rt, "title")); written >= len(title) {
					writeAt(t, steps.file, title[:rapid.SampledFrom([]int{15, 40, len(title), len(title)}).Draw(rt, "of the title")])
				}
			case 3:
				if written > 0 {
					steps.update(t)
				}
			}
		}
		if written > 0 {
			if diff := cmp.Diff(state(t, once.update(t)), state(t, steps.update(t))); diff != "" {
				rt.Fatalf("in steps (-at once +in steps):\n%s", diff)
			}
		}
	})
}

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
	if got := run("grep", "--json", "capybara|aardvark"); strings.Count(got, `"sessionId":"kitchen"`) != 1 || strings.Contains(got, "names.jsonl") || strings.Contains(got, `"text":"aardvark`) {
		t.Errorf("grep does not find the name once, in its session: %s", got)
	}
	if got := run("grep", "capybara", "--project", "kitchen"); !strings.Contains(got, "capybara") {
		t.Errorf("grep finds no name in a project: %s", got)
	}
	if got := run("grep", "capybara|badger", "--project", "app"); strings.Contains(got, "capybara") || strings.Contains(got, "badger") {
		t.Errorf("grep finds the name of another project: %s", got)
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

// A directory that pi and oh-my-pi share is one root. A file is of the program that wrote it;
// the title of oh-my-pi's is the last one, and its calls are found once. What only looks like a
// session of either is none.
func TestSharedDirectory(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const stamp, omp, own = "2026-11-21T21-39-51-576Z_", "01a2000d-2698-701e-9f08-8ccc1f8d7fb0", "01a1f7de-0000"
	slot := func(title string) string {
		return fmt.Sprintf(`{"type":"title","v":1,"title":%q,"source":"user","updatedAt":"2026-11-21T21:40:34.943Z","pad":"%*s"}`+"\n", title, 100-len(title), "")
	}
	sessions := filepath.Join(home, "shared", "sessions", "-p")
	file := filepath.Join(sessions, stamp+omp+".jsonl")
	appendTo(t, file, slot("Old")+`{"type":"session","version":3,"id":"`+omp+`","timestamp":"2026-11-21T21:39:51.576Z","cwd":"`+home+`"}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-11-21T21:39:52Z","message":{"role":"user","content":"hello"}}
{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-11-21T21:39:53Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"echo quokka","i":"say"},"partialArgs":"{\"command\":\"echo quokka\"","streamIndex":0,"intent":"say"}]}}
{"type":"custom","customType":"tool_execution_start","data":{"toolCallId":"c","toolName":"bash","args":{"command":"echo quokka"}},"id":"e3","parentId":"e2","timestamp":"2026-11-21T21:39:54Z"}
`)
	appendTo(t, filepath.Join(sessions, stamp+omp, "helper.jsonl"), `{"type":"session","version":3,"id":"sub-1","timestamp":"2026-11-21T21:39:55Z","cwd":"`+home+`","titleSource":"auto"}`+"\n"+piPrompt)
	appendTo(t, filepath.Join(sessions, stamp+own+".jsonl"), strings.Replace(piHeader, "/home/u/app", home, 1)+piPrompt)
	appendTo(t, filepath.Join(sessions, stamp+own, "subagent-artifacts", "r1_transcript.jsonl"), `{"version":1,"recordType":"message","role":"assistant","text":"numbat artifact","usage":{"input":5000,"output":1}}`+"\n")
	appendTo(t, filepath.Join(sessions, "deep.jsonl"), `{"type":"session","id":"deep-1","cwd":"/d","delegationDepth":0}`+"\n"+`{"type":"user/message","text":"numbat of DeepSeek"}`+"\n")
	appendTo(t, filepath.Join(sessions, "slot.jsonl"), slot("alone"))
	appendTo(t, filepath.Join(sessions, "no-id.jsonl"), slot("no id")+`{"type":"session","version":3}`+"\n"+piPrompt)
	appendTo(t, filepath.Join(sessions, "empty.jsonl"), "")
	appendTo(t, filepath.Join(sessions, "torn.jsonl"), slot("torn")[:50])
	run := program(t, home, map[string]string{"PI_CODING_AGENT_DIR": filepath.Join(home, "shared")}, allAgents()...)
	hits := func(args ...string) int {
		return strings.Count(run(append([]string{"search", "--jsonl"}, args...)...), `{"type":"hit"`)
	}
	if got := hits("Old", "kind:title"); got != 1 {
		t.Errorf("%d hits for the first title", got)
	}
	writeAt(t, file, slot("New"))
	appendTo(t, file, `{"type":"title_change","id":"e4","parentId":"e3","timestamp":"2026-11-21T21:40:34.943Z","title":"New","previousTitle":"Old","source":"user"}`+"\n")
	for _, test := range []struct {
		args []string
		hits int
	}{
		{[]string{"New", "kind:title"}, 1}, {[]string{"New"}, 1}, {[]string{"Old", "kind:title"}, 0}, {[]string{"Old"}, 0}, {[]string{"Old", "--scope", "all"}, 1},
		{[]string{"quokka", "--scope", "all"}, 1}, {[]string{"numbat"}, 0}, {[]string{"numbat", "--scope", "all"}, 2},
		{[]string{"hello title:new"}, 1}, {[]string{"hello agent:omp"}, 1}, {[]string{"hello", "--agent", "pi"}, 0},
	} {
		if got := hits(test.args...); got != test.hits {
			t.Errorf("%d hits for %q, want %d", got, test.args, test.hits)
		}
	}
	for _, test := range []struct{ args, want, lack string }{
		{"resume " + omp, "omp --resume " + file, "pi --session"},
		{"resume sub-1", "omp --resume " + file, ""},
		{"resume " + own, "pi --session ", "omp "},
		{"sessions --jsonl", `"name":"New"`, "deep-1"},
		{"sessions --jsonl", `"agent":"omp"`, "r1_transcript"},
		{"usage --jsonl", "", "5000"},
		{"status", filepath.Join("shared", "sessions") + " ($PI_CODING_AGENT_DIR): ", "prime"},
	} {
		got := run(strings.Fields(test.args)...)
		if !strings.Contains(got, test.want) || test.lack != "" && strings.Contains(got, test.lack) {
			t.Errorf("pigrep %s lacks %q, or has %q:\n%s", test.args, test.want, test.lack, got)
		}
	}
	if got := run("doctor", "--deep"); !strings.Contains(got, "findings\t0") {
		t.Errorf("doctor --deep: %s", got)
	}
}
