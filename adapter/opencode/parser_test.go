package opencode

import (
	"slices"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

const lines = `{"type":"session","id":"ses_1","time":1790000000000,"directory":"/srv/p","version":"1.18"}
{"type":"text","id":"prt_1","time":1790000000001,"message":"msg_1","role":"user","text":"about the acerola"}
{"type":"text","id":"prt_2","time":1790000000001,"message":"msg_1","role":"user","synthetic":true,"text":"Called the Read tool"}
{"type":"file","id":"prt_3","time":1790000000001,"message":"msg_1","role":"user","mime":"text/plain","filename":"notes.txt"}
{"type":"step-start","id":"prt_4","time":1790000000002,"message":"msg_2","role":"assistant","provider":"p","model":"m"}
{"type":"reasoning","id":"prt_5","time":1790000000003,"message":"msg_2","role":"assistant","provider":"p","model":"m","text":"thinking of it"}
{"type":"call","id":"prt_6","time":1790000000004,"message":"msg_2","role":"assistant","provider":"p","model":"m","tool":"bash","call":"c1","input":{"command":"ls babaco; exit 3","description":"lists"}}
{"type":"result","id":"result_6","time":1790000000009,"call":"c1","tool":"bash","status":"completed","output":"babaco\n","exit":3,"duration":5}
{"type":"call","id":"prt_7","time":1790000000010,"message":"msg_2","role":"assistant","provider":"p","model":"m","tool":"edit","call":"c2","input":{"filePath":"/srv/p/a.go","oldString":"a","newString":"b"}}
{"type":"result","id":"result_7","time":1790000000011,"call":"c2","tool":"edit","status":"error","error":"The user rejected permission to use this specific tool call."}
{"type":"message","id":"msg_2","time":1790000000012,"role":"assistant","provider":"p","model":"m","tokens":{"total":107,"input":60,"output":30,"reasoning":7,"cache":{"read":10,"write":0}},"cost":0.25,"finish":"stop"}
{"type":"message","id":"msg_3","time":1790000000013,"role":"assistant","provider":"p","model":"m","tokens":{"input":6,"output":3,"reasoning":2,"cache":{"read":1,"write":0}},"cost":0,"error":"APIError: no"}
{"type":"shell","id":"prt_8","time":1790000000014,"command":"echo damson","tool":"bash","status":"completed","output":"damson\n"}
{"type":"summary","id":"prt_9","time":1790000000015,"message":"msg_4","role":"assistant","provider":"p","model":"m","text":"what was said"}
{"type":"strange","id":"prt_10","time":1790000000016,"message":"msg_5","role":"assistant","provider":"p","model":"m","words":"of the future"}
{"type":"text","id":"prt_11","time":1790000000017,"message":"msg_5","role":"assistant","provider":"p","model":"m","text":"a torn repl`

func state() adapter.State {
	return adapter.State{Path: "/h/opencode.db/ses_1.jsonl", Header: session.Header{Agent: Name}, Facts: true}
}

func TestLines(t *testing.T) {
	r := adapters.Parse(t, New(), state(), []byte(lines))
	var got []string
	var usage session.Usage
	for _, e := range r.Entries {
		for _, p := range e.Parts {
			got = append(got, string(p.Kind)+" "+strings.ReplaceAll(string(p.Text), "\n", "|"))
		}
		if f := e.Facts; f != nil && f.HasUsage {
			usage.Input, usage.Output, usage.CacheRead, usage.Cost = usage.Input+f.Usage.Input, usage.Output+f.Usage.Output, usage.CacheRead+f.Usage.CacheRead, usage.Cost+f.Usage.Cost
		}
		if f := e.Facts; e.ToolCallID == "c1" && (!f.Failed || f.Exit != 3 || f.Duration != 5) || e.ToolCallID == "c2" && (f.Failed || !f.Rejected) {
			t.Errorf("%s: %+v", e.ToolCallID, f)
		}
	}
	want := []string{
		"prompt about the acerola", "system Called the Read tool", "data notes.txt", "meta step-start", "thinking thinking of it",
		"call bash|command: ls babaco; exit 3|description: lists", "result babaco|", "call edit|filePath: /srv/p/a.go|oldString: a|newString: b",
		"result The user rejected permission to use this specific tool call.", "error APIError: no", "shell echo damson", "shell damson|",
		"summary what was said", "other of the future",
	}
	if !slices.Equal(got, want) {
		t.Errorf("parts\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if want := (session.Usage{Input: 66, Output: 40, CacheRead: 11, Cost: 0.25}); usage != want {
		t.Errorf("usage %+v, want %+v", usage, want)
	}
	if h := r.End.Header; h.ID != "ses_1" || h.CWD != "/srv/p" || h.Version != 1 {
		t.Errorf("header %+v", h)
	}
}

func TestAnyWayOfReading(t *testing.T) {
	adapters.Halves(t, New(), state(), []byte(lines))
	adapters.Alone(t, New(), state(), []byte(lines))
	adapters.Sparse(t, New(), state(), []byte(lines))
}

func TestIDs(t *testing.T) {
	for id, want := range map[string]bool{"ses_de1646919ffeugGarRU8ET8FC5": true, "": false, "ses_": false, "-s": false, "ses_a b": false, "ses_é": false} {
		if isID(id) != want {
			t.Errorf("isID(%q) is %v", id, !want)
		}
	}
}
