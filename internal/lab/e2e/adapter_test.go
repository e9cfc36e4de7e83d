package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/query"
	"pigrep/query/filter"
)

// chat is the adapter of docs/adding-an-adapter.md: an agent whose session files
// have a line {"room":…,"dir":…} first and then one {"at":…,"who":…,"says":…} for
// each message.
type chat struct{}

func (chat) Name() string { return "chat.v1" }

func (chat) Roots(env adapter.Environment) ([]adapter.Root, error) {
	return []adapter.Root{{Path: filepath.Join(env.Home, ".chat"), Origin: "default"}}, nil
}

func (chat) Parse(state adapter.State) adapter.Parser { return &chatParser{state} }

type chatParser struct{ state adapter.State }

func (p *chatParser) State() adapter.State { return p.state }

func (p *chatParser) Reset(state adapter.State) { p.state = state }

func (p *chatParser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	p.state.Lines = line.Number
	data := bytes.TrimSpace(line.Data)
	if len(data) == 0 {
		return nil
	}
	offset := line.Offset + int64(bytes.Index(line.Data, data))
	var m struct {
		Room, Dir, Who, Says string
		At                   int64
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return []adapter.ParseError{{Line: line.Number, Offset: offset, Reason: err.Error(), Torn: !line.Ended}}
	}
	if m.Room != "" {
		if p.state.Header.Version == 0 {
			p.state.Header = session.Header{ID: m.Room, CWD: m.Dir, Version: 1, Offset: offset}
		}
		return nil
	}
	kind, role := session.KindReply, "assistant"
	if m.Who == "me" {
		kind, role = session.KindPrompt, "user"
	}
	p.state.LastTime = m.At
	emit(&session.Entry{
		Type: "message", Role: role, ID: "@" + strconv.FormatInt(offset, 10), Timestamp: time.UnixMilli(m.At).UTC(),
		Offset: offset, Length: len(data), Line: line.Number, FirstKeptIndex: -1, UserText: map[bool]string{true: m.Says}[m.Who == "me"],
		Parts: []session.Part{{Kind: kind, Text: []byte(m.Says)}},
	})
	return nil
}

// All that is not the format comes with an adapter: finding what changed,
// the index, searching, and that torn lines wait and broken ones hide nothing.
func TestAnotherAdapter(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	path := filepath.Join(root, "kitchen.jsonl")
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	opt := options(dir, root)
	opt.Adapter = chat{}
	follow := func() *indexer.Result {
		t.Helper()
		res, err := indexer.Update(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Reader.Close() })
		return res
	}
	type found struct {
		Kind       session.Kind
		Line       int
		CWD, Match string
	}
	search := func(res *indexer.Result, text string) []found {
		t.Helper()
		answer, err := query.Search(t.Context(), res.Reader, chat{}, disk{}, query.Request{Text: text, Flat: true, Env: filter.Env{Now: time.UnixMilli(1e12)}})
		if err != nil {
			t.Fatal(err)
		}
		var list []found
		for _, h := range answer.Hits {
			span := h.Fragment.Spans[0]
			list = append(list, found{h.Kind, h.Line, h.CWD, h.Fragment.Text[span[0]:span[1]]})
		}
		return list
	}

	write(`{"room":"kitchen","dir":"/home/u/kitchen"}` + "\n" + `{"at":1000,"who":"me","says":"Why does the getOvenTimer fail?"}` + "\nbroken\n")
	res := follow()
	want := []found{{session.KindPrompt, 2, "/home/u/kitchen", "getOvenTimer"}}
	if diff := cmp.Diff(want, search(res, "get_oven_timer")); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	summaries := res.Reader.Summaries()
	if len(summaries) != 1 || summaries[0].ID != "kitchen" || summaries[0].FirstPrompt != "Why does the getOvenTimer fail?" || summaries[0].Skipped != 1 {
		t.Errorf("summaries %+v", summaries)
	}

	write(`{"at":2000,"who":"it","says":"The timer cou`)
	if list := search(follow(), "counts"); len(list) > 0 {
		t.Errorf("half a line is found: %v", list)
	}
	write(`nts down twice"}` + "\n")
	res = follow()
	want = []found{{session.KindReply, 4, "/home/u/kitchen", "counts"}}
	if diff := cmp.Diff(want, search(res, "counts")); diff != "" {
		t.Errorf("after the line was ended (-want +got):\n%s", diff)
	}
}
