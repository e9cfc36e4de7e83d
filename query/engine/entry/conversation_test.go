package entry

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/pi"
)

const talk = `{"type":"session","version":3,"id":"s","timestamp":"2026-03-01T00:00:00.000Z","cwd":"/p"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-01T00:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-03-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"x"}},{"type":"toolCall","id":"c2","name":"bash","arguments":"odd"}]}}
{"type":"message","id":"c","parentId":"b","timestamp":"2026-03-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":"text"}}
`

func converse(t *testing.T, indexed, now string) *Conversation {
	t.Helper()
	rec, err := ReadRecord(pi.New(), "/s.jsonl", strings.NewReader(indexed), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	return NewConversation(pi.New(), rec, bytes.NewReader([]byte(now)))
}

func TestConversationReads(t *testing.T) {
	c := converse(t, talk, talk)
	var got []string
	for i := range c.Record.Nodes {
		e, err := c.Read(i)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, b := range e.View.Blocks {
			if b.Call != nil {
				text += " " + b.Call.Tool + " " + string(b.Call.Raw)
			} else {
				text += " " + string(b.Text)
			}
		}
		got = append(got, e.ID+" "+e.Branch+text)
	}
	want := []string{"a active one", `b active read {"path":"x"} bash "odd"`, "c active text"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	head, err := c.Header(c.Record.Nodes[0].Offset)
	if want := talk[:strings.IndexByte(talk, '\n')]; err != nil || string(head) != want {
		t.Errorf("Header = %q, %v, want %q", head, err, want)
	}
	open, err := c.OpenCalls()
	if diff := cmp.Diff([]string{"bash"}, open); diff != "" || err != nil {
		t.Errorf("calls without a result (-want +got), %v:\n%s", err, diff)
	}
}

// A file that is not what was indexed is noticed, not misread.
func TestConversationOfChangedFile(t *testing.T) {
	for name, now := range map[string]string{
		"shorter":      talk[:len(talk)-30],
		"empty":        "",
		"other ids":    strings.ReplaceAll(talk, `"id":"c"`, `"id":"x"`),
		"shifted":      " " + talk,
		"zeros":        strings.Repeat("\x00", len(talk)),
		"not JSON now": strings.ReplaceAll(talk, `"toolResult"`, `"toolResult `),
	} {
		c := converse(t, talk, now)
		if _, err := c.Read(2); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: Read = %v, want ErrChanged", name, err)
		}
	}
}

func TestOpenCallsEnds(t *testing.T) {
	for name, test := range map[string]struct {
		more string
		want int
	}{
		"answered":     {`{"type":"message","id":"d","parentId":"c","message":{"role":"toolResult","toolCallId":"c2","content":"x"}}`, 0},
		"gone on":      {`{"type":"message","id":"d","parentId":"c","message":{"role":"user","content":"never mind"}}`, 0},
		"a label":      {`{"type":"label","id":"d","parentId":"c","targetId":"a","label":"x"}`, 1},
		"other branch": {`{"type":"message","id":"d","parentId":"a","message":{"role":"assistant","content":"done"}}`, 0},
	} {
		data := talk + test.more + "\n"
		open, err := converse(t, data, data).OpenCalls()
		if err != nil || len(open) != test.want {
			t.Errorf("%s: OpenCalls = %v, %v, want %d", name, open, err, test.want)
		}
	}
}

const edited = `{"type":"session","version":3,"id":"s","timestamp":"2026-03-01T00:00:00.000Z","cwd":"/p"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"edit","arguments":{"path":"x","oldText":"a","newText":"b"}},{"type":"toolCall","id":"c2","name":"edit","arguments":{"path":"y","oldText":"a","newText":"password=Zx81-qwPl0"}},{"type":"toolCall","id":"c3","name":"edit","arguments":{"path":"z","oldText":"a","newText":"b"}}]}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-03-01T00:00:02.000Z","message":{"role":"toolResult","toolCallId":"c2","toolName":"edit","content":"done","details":{"diff":"-2 a\n+2 password=Zx81-qwPl0"}}}
{"type":"label","id":"l","parentId":"b","timestamp":"2026-03-01T00:00:03.000Z","targetId":"a","label":"edits"}
{"type":"message","id":"c","parentId":"l","timestamp":"2026-03-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"edit","content":"done","details":{"diff":"-1 a\n+1 b"}}}
{"type":"message","id":"d","parentId":"c","timestamp":"2026-03-01T00:00:04.000Z","message":{"role":"user","content":"go on"}}
{"type":"message","id":"e","parentId":"d","timestamp":"2026-03-01T00:00:05.000Z","message":{"role":"toolResult","toolCallId":"c3","toolName":"edit","content":"done","details":{"diff":"-9 late\n+9 diff"}}}
`

// A call has the diff of its result, even if the result is not read. Of a diff with a
// secret nothing is left but the masked arguments.
func TestCallsHaveTheDiffsOfTheirResults(t *testing.T) {
	for _, test := range []struct {
		redact bool
		want   []string
	}{
		{false, []string{"-1 a\n+1 b", "-2 a\n+2 password=Zx81-qwPl0", ""}},
		{true, []string{"-1 a\n+1 b", "", ""}},
	} {
		c := converse(t, edited, edited)
		c.Redact = test.redact
		e, err := c.Read(0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range e.View.Blocks {
			got = append(got, string(b.Call.Diff))
			for _, edit := range b.Call.Edits {
				if masked := !strings.Contains(string(edit.New), "Zx81"); test.redact && !masked {
					t.Errorf("the edit %q has the secret", edit.New)
				}
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("masked %v: diffs of calls (-want +got):\n%s", test.redact, diff)
		}
	}
}
