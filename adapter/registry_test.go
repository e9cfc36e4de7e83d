package adapter_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// scribe is an agent whose files begin with its name, and have an entry a line.
type scribe string

func (s scribe) Name() string { return string(s) }

func (s scribe) Label() string { return string(s) }

func (s scribe) Revision() int { return 0 }

func (s scribe) Recognize(head []byte) adapter.Sort {
	if bytes.HasPrefix(head, []byte(s)) {
		return adapter.Transcript
	}
	return adapter.Foreign
}

func (s scribe) Roots(env adapter.Environment) ([]adapter.Root, error) {
	roots := []adapter.Root{{Path: filepath.Join(env.Home, string(s)), Origin: "default"}}
	if s == "broken" {
		return roots, fmt.Errorf("no settings")
	}
	return roots, nil
}

func (s scribe) Parse(state adapter.State) adapter.Parser { return &scribeParser{s, state} }

type scribeParser struct {
	agent scribe
	state adapter.State
}

func (p *scribeParser) State() adapter.State { return p.state }

func (p *scribeParser) Reset(state adapter.State) { p.state = state }

func (p *scribeParser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	if string(line.Data) == string(p.agent) {
		p.state.Header = session.Header{Version: 1}
		return nil
	}
	emit(&session.Entry{Identity: session.Identity{ID: string(p.agent)}, Parts: []session.Part{{Kind: session.KindReply, Text: line.Data}}})
	return nil
}

var home = filepath.FromSlash("/home/u")

func registry(agents ...adapter.Agent) *adapter.Registry {
	return adapter.NewRegistry(adapter.Environment{Home: home}, agents...)
}

func TestRegistryRoots(t *testing.T) {
	roots, err := registry(scribe("one"), scribe("broken"), scribe("two")).Roots()
	if err == nil || err.Error() != "no settings" {
		t.Errorf("error %v, want that of the broken one", err)
	}
	var got []string
	for _, r := range roots {
		got = append(got, r.Agent+" "+filepath.ToSlash(r.Path))
	}
	want := []string{"one /home/u/one", "broken /home/u/broken", "two /home/u/two"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
}

// layout is one in which every name begins with the word that it is.
type layout struct{}

func (layout) Enter([]byte) bool { return true }

func (layout) File(path []byte) adapter.Sort {
	if bytes.HasPrefix(path, []byte("notes")) {
		return adapter.Notes
	}
	return adapter.Transcript
}

// A new file belongs to the agent that recognizes it, first of all that of the deepest root
// above it; if none does, to the agent of the root, and to the first one without a root.
func TestWhoseANewFileIs(t *testing.T) {
	root := func(path, agent string) adapter.Root {
		return adapter.Root{Path: filepath.FromSlash(path), Agent: agent, Layout: layout{}}
	}
	r := registry(scribe("one"), scribe("two")).In([]adapter.Root{
		root("/all", "two"), root("/all/inner", "one"), root("/unknown", ""), root("/unknown/two", "two"), root("/gone", "three"),
	})
	for _, test := range []struct{ path, head, want string }{
		{"/all/a.jsonl", "", "two"}, {"/all", "", "two"}, {"/all/inner/a.jsonl", "", "one"}, {"/all/inner2/a.jsonl", "", "two"}, {"/allx/a.jsonl", "", "one"},
		{"/unknown/a.jsonl", "", "one"}, {"/unknown/two/a.jsonl", "x\n", "two"}, {"/gone/a.jsonl", "", "one"}, {"", "", "one"},
		{"/all/a.jsonl", "one\n", "one"}, {"/elsewhere", "two\n", "two"}, {"/all/inner/a.jsonl", "two\n", "two"},
		{"/elsewhere", "two too\n", "two"}, {"/all/notes", "", "two notes"}, {"/all/inner/notes", "one\n", "one"},
	} {
		state, err := adapter.Begin(r, filepath.FromSlash(test.path), strings.NewReader(test.head))
		got := state.Header.Agent
		if state.Header.Notes {
			got += " notes"
		}
		if got != test.want || err != nil {
			t.Errorf("%q at %s is of %s, want %s (error %v)", test.head, test.path, got, test.want, err)
		}
	}
}

// One parser reads files of several agents, one after the other, and keeps who reads it.
func TestRegistryParses(t *testing.T) {
	r := registry(scribe("one"), scribe("two"))
	state := func(agent string) adapter.State {
		return adapter.State{Path: "/a", Lines: 7, Header: session.Header{Agent: agent, Notes: agent == "two"}}
	}
	parser := r.Parse(state("one"))
	for _, agent := range []string{"one", "two", "two", "one"} {
		parser.Reset(state(agent))
		if s := parser.State(); s.Path != "/a" || s.Lines != 7 {
			t.Errorf("state %+v after Reset to %s", s, agent)
		}
		parser.Parse(adapter.Line{Data: []byte(agent), Ended: true}, nil) // its header
		parser.Parse(adapter.Line{Data: []byte("x"), Ended: true}, func(e *session.Entry) {
			if e.ID != agent {
				t.Errorf("a file of %s was parsed by %s", agent, e.ID)
			}
		})
		if h := parser.State().Header; h.Agent != agent || h.Notes != (agent == "two") || h.Version != 1 {
			t.Errorf("header %+v of a file of %s", h, agent)
		}
	}
}

// An agent that only parses can do all that needs no more.
func TestRegistryOfAPlainAgent(t *testing.T) {
	r := registry(scribe("one"))
	adapter.View(r, adapter.State{}, adapter.Line{Data: []byte("x"), Ended: true}, func(e *session.Entry, v *session.View) {
		if len(v.Blocks) != 1 || v.Blocks[0].Kind != session.KindReply || string(v.Blocks[0].Text) != "x" {
			t.Errorf("view %+v of entry %s", v, e.ID)
		}
	})
	if _, argv := r.ResumeCommand(&session.Summary{}); argv != nil {
		t.Errorf("it is resumed by %q", argv)
	}
	if _, err := r.Resume(&adapter.ResumeRequest{Record: &session.Record{}}); err == nil || !strings.HasPrefix(err.Error(), "one cannot resume it: ") {
		t.Errorf("Resume: error %v", err)
	}
	if len(r.Current()) > 0 || len(r.Stores()) > 0 || len(r.Variables()) > 0 || len(r.Skills("")) > 0 {
		t.Error("it has what it does not say")
	}
}
