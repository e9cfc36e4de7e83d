package pi

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
)

func TestResumeCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		// The quoting and the directories compared below are those of a Unix shell.
		t.Skip("the test has Unix paths")
	}
	const root = "/home/u/.pi/agent/sessions"
	env := adapter.Environment{Home: "/home/u", Getenv: func(string) string { return "" }}
	summary := func(path string, version int) session.Summary {
		return session.Summary{Path: path, Header: session.Header{ID: "01a1f7de", CWD: "/w", Version: version, Timestamp: time.Unix(1, 0)}}
	}
	noID := summary("/home/u/.pi/agent/x.jsonl", 3)
	noID.ID = ""
	tests := []struct {
		name string
		s    session.Summary
		dir  string
		argv []string
	}{
		{"default root", summary(root+"/--w--/x.jsonl", 3), "/w", []string{"pi", "--session", root + "/--w--/x.jsonl"}},
		{"another root", summary("/flat/x.jsonl", 1), "/w", []string{"pi", "--session-dir", "/flat", "--session", "/flat/x.jsonl"}},
		{"in the agent directory", summary("/home/u/.pi/agent/x.jsonl", 2), "/w", []string{"pi", "--session", "01a1f7de"}},
		{"in the agent directory, no id", noID, "", nil},
		{"no header", summary("/flat/x.jsonl", 0), "", nil},
		{"of the agent library", summary("/flat/x.jsonl", 4), "", nil},
		{"of a later pi", summary("/flat/x.jsonl", 5), "/w", []string{"pi", "--session-dir", "/flat", "--session", "/flat/x.jsonl"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, argv := New().ResumeCommand(env, &tt.s)
			if dir != tt.dir || !cmp.Equal(argv, tt.argv) {
				t.Errorf("ResumeCommand(%s) = %q, %q, want %q, %q", tt.s.Path, dir, argv, tt.dir, tt.argv)
			}
		})
	}
}

func TestResume(t *testing.T) {
	if runtime.GOOS == "windows" {
		// The quoting and the directories compared below are those of a Unix shell.
		t.Skip("the test has Unix paths")
	}
	env := adapter.Environment{Home: "/home/u", Getenv: func(string) string { return "" }}
	const head = `{"type":"session"}` + "\n"
	record := func(path string, version int) *session.Record {
		rec := &session.Record{Summary: session.Summary{Path: path, Header: session.Header{ID: "01a1f7de", CWD: "/w", Version: version}}}
		rec.Nodes = []session.Node{{ID: "e1", Offset: int64(len(head)), Line: 2}}
		return rec
	}
	before := record("/flat/x.jsonl", 3)
	before.Header.Offset = 100
	noID := record("/flat/x.jsonl", 3)
	noID.ID = ""
	const flat = "pi --session-dir /flat "
	for _, test := range []struct {
		name     string
		rec      *session.Record
		head     string
		fork     bool
		argv     string
		warning  string // a part of the only one
		obstacle string // a part of it
		hint     string // a part of it
	}{
		{"resume", record("/flat/x.jsonl", 3), head, false, flat + "--session /flat/x.jsonl", "", "", ""},
		{"fork", record("/flat/x.jsonl", 3), head, true, flat + "--fork /flat/x.jsonl", "", "", ""},
		{"default root", record("/home/u/.pi/agent/sessions/--w--/x.jsonl", 3), head, false, "pi --session /home/u/.pi/agent/sessions/--w--/x.jsonl", "", "", ""},
		{"old format", record("/flat/x.jsonl", 2), head, false, flat + "--session /flat/x.jsonl", "old format 2: pi converts the file", "", ""},
		{"fork of an old format", record("/flat/x.jsonl", 1), head, true, flat + "--fork /flat/x.jsonl", "old format 1: a fork may lose entries", "", ""},
		{"in the agent directory", record("/home/u/.pi/agent/x.jsonl", 3), head, false, "", "", "agent directory itself", "pigrep resume 01a1f7de"},
		{"no header", record("/flat/x.jsonl", 0), head, false, "", "", "no session header", ""},
		{"of the agent library", record("/flat/x.jsonl", 4), `{"kind":"header"}`, false, "", "", "format 4", ""},
		{"format 4 that calls itself a session", record("/flat/x.jsonl", 4), head, false, flat + "--session /flat/x.jsonl", "", "", ""},
		{"byte order mark", record("/flat/x.jsonl", 3), "\ufeff" + head, false, "", "", "byte order mark", ""},
		{"no id", noID, head, false, "", "", "no id", ""},
		{"an entry before the header", before, head, false, "", "", "before its header", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := New().Resume(env, &adapter.ResumeRequest{Record: test.rec, Head: []byte(test.head), Fork: test.fork})
			if test.obstacle != "" {
				obstacle, ok := errors.AsType[*adapter.Obstacle](err)
				if !ok || obstacle.Program != "pi" || !strings.Contains(obstacle.Reason, test.obstacle) || !strings.Contains(obstacle.Hint, test.hint) || (test.hint == "") != (obstacle.Hint == "") {
					t.Errorf("error %+v, want an obstacle: %s", err, test.obstacle)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Fields(test.argv), got.Argv); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
			warnings := strings.Join(got.Warnings, "|")
			if !strings.Contains(warnings, test.warning) || (test.warning == "") != (warnings == "") {
				t.Errorf("warnings %q, want %q", warnings, test.warning)
			}
		})
	}
}
