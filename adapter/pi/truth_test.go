package pi

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

// truthEntry is an entry as pi reports it.
type truthEntry struct{ Type, ID, ParentID, Timestamp, Role string }

func truthEntries(t testkit.Truth) (list []truthEntry) {
	text := func(v any) string { s, _ := v.(string); return s }
	for _, e := range t.Entries {
		// Pi takes any value for an entry, numbers too.
		if e.Type != "" || e.ID != nil || e.ParentIndex != nil {
			list = append(list, truthEntry{e.Type, text(e.ID), text(e.ParentID), text(e.Timestamp), e.Role})
		}
	}
	return list
}

// Every entry that pi reports is there, with the same facts and in the same
// order. What pi drops, as objects that share a line, comes on top.
func TestEntriesAsPiReports(t *testing.T) {
	for _, r := range testkit.Truths(t) {
		path := r.Path
		want, ok := r.Newest()
		if !ok {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		entries, problems, state := parseFile(t, bytes.NewReader(data))
		if state.Header.Version == 0 {
			continue // pi starts a new session in its place
		}
		onLine := make(map[int]int)
		for _, e := range entries {
			onLine[e.Line]++
		}
		for _, p := range problems {
			onLine[p.Line]++
		}
		var got []truthEntry
		for _, e := range entries {
			if onLine[e.Line] == 1 {
				got = append(got, asTruth(e, want))
			}
		}
		if diff := testkit.Diff(truthEntries(want), got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: entries (-pi +ours):\n%s", path, diff)
		}
		if state.Header.ID != want.SessionID {
			t.Errorf("%s: session id %q, pi says %q", path, state.Header.ID, want.SessionID)
		}
		name := ""
		for _, e := range entries {
			if e.Type == "session_info" {
				name = strings.TrimSpace(e.Name)
			}
		}
		if want.SessionName != nil && name != *want.SessionName {
			t.Errorf("%s: name %q, pi says %q", path, name, *want.SessionName)
		}
	}
}

// asTruth writes an entry as pi reports it after it has migrated the file.
func asTruth(e session.Entry, of testkit.Truth) truthEntry {
	r := truthEntry{Type: e.Type, ID: e.ID, ParentID: e.ParentID, Role: e.Role}
	if e.Copy != 0 {
		r.Timestamp = e.Timestamp.Format("2006-01-02T15:04:05.000Z")
	}
	if r.Role == "hookMessage" {
		r.Role = "custom"
	}
	if !of.IDsFromFile {
		r.ID, r.ParentID = "", ""
	}
	return r
}

// An entry that is read again alone gives the same parts.
func TestEntriesReadAgainAlone(t *testing.T) {
	for _, path := range testkit.SessionFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		entries, _, state := parseFile(t, bytes.NewReader(data))
		every := 1 + len(entries)/testkit.HowMany(50, 1<<30, 1<<30)
		for i := 0; i < len(entries); i += every {
			e := entries[i]
			p := New().Parse(adapter.State{Header: state.Header})
			again := 0
			problems := p.Parse(adapter.Line{
				Data:   data[e.Offset : e.Offset+int64(e.Length)],
				Offset: e.Offset,
				Number: e.Line,
				Ended:  true,
			}, func(got *session.Entry) {
				again++
				got.Timestamp = e.Timestamp // may come from the entry before
				if diff := testkit.Diff(e, *got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: entry at %d, read alone (-first +again):\n%s", path, e.Offset, diff)
				}
			})
			if again != 1 || len(problems) > 0 {
				t.Errorf("%s: entry at %d, read alone, gives %d entries and %v", path, e.Offset, again, problems)
			}
		}
	}
}

// Reading on in the middle of a file gives what reading it in one go gives.
func TestReadingOn(t *testing.T) {
	files := map[string]string{
		"inline": strings.Join([]string{
			`{"type":"early"}`, `{"type":"session","version":2,"id":"s","timestamp":"2026-01-01T00:00:00Z"}`, `{"type":"a"}{"type":"b","timestamp":5}`, "oops", "",
			`{"type":"c"}`, `{"type":"session","id":"other"}`, `{"type":"d"}`, `{"type":"e"`,
		}, "\n"),
	}
	for _, path := range testkit.SessionFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) < testkit.HowMany(4_000, 8_000, 8_000) {
			files[path] = string(data)
		}
	}
	for name, file := range files {
		want, wantProblems, end := parseFile(t, strings.NewReader(file))
		lines := readLines(t, jsonl.NewReader(strings.NewReader(file), 0, 0))
		for k := range lines {
			var got []session.Entry
			var problems []adapter.ParseError
			collect := func(e *session.Entry) { got = append(got, clone(e)) }
			p := New().Parse(adapter.State{})
			for i, line := range lines {
				if i == k {
					p = New().Parse(p.State())
				}
				problems = append(problems, p.Parse(line, collect)...)
			}
			if diff := testkit.Diff(want, got, cmpopts.EquateEmpty()) + testkit.Diff(wantProblems, problems); diff != "" {
				t.Errorf("%s, read on at line %d: entries and problems (-whole +parts):\n%s", name, k, diff)
			}
			if !reflect.DeepEqual(p.State(), end) {
				t.Errorf("%s, read on at line %d: state %+v, want %+v", name, k, p.State(), end)
			}
		}
	}
}
