package pi

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

// factsOf returns the facts of the entries on the lines, one of each; nil where
// there are none.
func factsOf(t *testing.T, lines ...string) []*session.EntryFacts {
	t.Helper()
	p := New().Parse(adapter.State{Facts: true})
	var list []*session.EntryFacts
	for i, data := range lines {
		line := adapter.Line{Data: []byte(data), Raw: []byte(data), Offset: int64(1000 * i), Number: i + 1, Ended: true}
		p.Parse(line, func(e *session.Entry) {
			var kept *session.EntryFacts
			if f := e.Facts; f != nil {
				c := *f
				c.Calls = slices.Clone(f.Calls)
				for k := range c.Calls {
					c.Calls[k].Text, c.Calls[k].Command = bytes.Clone(f.Calls[k].Text), bytes.Clone(f.Calls[k].Command)
				}
				kept = &c
			}
			list = append(list, kept)
		})
	}
	return list
}

func TestFactsOfCalls(t *testing.T) {
	none := session.Outcome{Exit: session.Unknown, Duration: session.Unknown}
	got := factsOf(t,
		`{"type":"message","id":"1","message":{"role":"assistant","content":[{"type":"text","text":"x"},`+
			`{"type":"toolCall","id":"a","name":"bash","arguments":{"timeout":5,"command":"ls \"x\"\nrm"}},`+
			`{"type":"toolCall","id":"","name":"","arguments":{}},`+
			`{"type":"toolCall","id":"b","name":"edit","arguments":{"path":"p.go","edits":[{"path":"q.go","old":"x"},7]}},`+
			`{"type":"toolCall","id":"c","name":"Shell","arguments":{"command":["bash","-lc","it's"]}},`+
			`{"type":"toolCall","id":"d","name":"other","arguments":{"command":"ls","files":["m","n",3]}},`+
			`{"type":"toolCall","id":"e","name":"Grep","arguments":{"path":".env"}}]}}`,
		`{"type":"message","id":"2","message":{"role":"toolResult","toolCallId":"a","toolName":"bash","content":[{"type":"text","text":"ab\n\nCommand exited with code 137\n"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"isError":true,"durationMs":7}}`,
		`{"type":"message","id":"3","message":{"role":"toolResult","toolCallId":"a","toolName":"bash","content":"Command exited with code 1","isError":false,"details":{"exitCode":3}}}`,
		`{"type":"message","id":"4","message":{"role":"user","content":"x","usage":{"input":5}}}`,
	)
	want := []*session.EntryFacts{
		{Outcome: none, Calls: []session.EntryCall{
			{Part: 1, ID: "a", Tool: "bash", Deed: session.DeedRun, Text: []byte("timeout: 5\ncommand: ls \"x\"\nrm"), Command: []byte("ls \"x\"\nrm"), Outcome: none},
			{Part: -1, Outcome: none},
			{Part: 2, ID: "b", Tool: "edit", Deed: session.DeedEdit, Text: []byte("path: p.go\nedits.0.path: q.go\nedits.0.old: x\nedits.1: 7"), Files: []session.FileUse{{Path: "p.go"}, {Path: "q.go"}}, Outcome: none},
			{Part: 3, ID: "c", Tool: "Shell", Deed: session.DeedRun, Text: []byte("command.0: bash\ncommand.1: -lc\ncommand.2: it's"), Command: []byte(`'bash' '-lc' 'it'\''s'`), Outcome: none},
			{Part: 4, ID: "d", Tool: "other", Text: []byte("command: ls\nfiles.0: m\nfiles.1: n\nfiles.2: 3"), Files: []session.FileUse{{Path: "m"}, {Path: "n"}}, Outcome: none},
			{Part: 5, ID: "e", Tool: "Grep", Deed: session.DeedList, Text: []byte("path: .env"), Files: []session.FileUse{{Path: ".env", Deed: session.DeedRead}}, Outcome: none},
		}},
		{IsResult: true, Outcome: session.Outcome{Failed: true, Bytes: 33, Exit: 137, Duration: 7}},
		{IsResult: true, Outcome: session.Outcome{Bytes: 26, Exit: 3, Duration: session.Unknown}},
		nil,
	}
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

func TestFactsOfUsage(t *testing.T) {
	for _, test := range []struct {
		usage string
		want  session.Usage
	}{
		{`{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":{"total":0.5,"input":9}}`, session.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Cost: 0.5}},
		{`{"cost":{"input":0.25,"output":0.5,"cacheRead":1,"cacheWrite":2}}`, session.Usage{Cost: 3.75}},
		{`{"input":null,"cost":{"total":null,"input":1}}`, session.Usage{Cost: 1}},
		{`{"cost":0.125}`, session.Usage{Cost: 0.125}},
		{`{"cost":"0.125"}`, session.Usage{Unusable: true}},
		{`{"input":"5","output":-1,"cacheRead":1e13,"cacheWrite":7.9}`, session.Usage{CacheWrite: 7, Unusable: true}},
		{`{"cost":{"total":-0.5}}`, session.Usage{Unusable: true}},
		{`{"cost":{"total":1e400}}`, session.Usage{Unusable: true}},
		{`{"cost":{"total":1e10}}`, session.Usage{Unusable: true}},
		{`{"cost":{"total":-0}}`, session.Usage{}},
		{`[]`, session.Usage{Unusable: true}},
		{`{}`, session.Usage{}},
	} {
		for _, line := range []string{
			`{"type":"message","message":{"role":"assistant","content":[],"usage":%s}}`,
			`{"type":"message","message":{"role":"toolResult","content":[],"usage":%s}}`,
			`{"type":"compaction","summary":"s","usage":%s}`,
			`{"type":"usage","kind":"cache_warm","usage":%s}`,
			`{"type":"branch_summary","usage":%s}`,
		} {
			got := factsOf(t, fmt.Sprintf(line, test.usage))
			if len(got) != 1 || got[0] == nil || !got[0].HasUsage || got[0].Usage != test.want {
				t.Errorf("usage of %s = %+v, want %+v", fmt.Sprintf(line, test.usage), got, test.want)
			}
		}
	}
	if got := factsOf(t, `{"type":"message","message":{"role":"assistant","content":[],"usage":null}}`); got[0] != nil {
		t.Errorf("facts of an entry without usage: %+v", got[0])
	}
}

// Facts come when they are asked for, and change nothing else of an entry, whatever
// the bytes.
func TestFactsOfAnything(t *testing.T) {
	lines := []string{
		`{"type":"message","id":"1","timestamp":5,"message":{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"bash","arguments":{"command":["x"],"paths":["a","b"],"edits":[{"path":"z"}]}}],"usage":{"input":1,"cost":{"total":1}}}}`,
		`{"type":"message","id":"2","message":{"role":"toolResult","toolCallId":"a","content":[{"type":"text","text":"x"}],"nestedCalls":{"calls":[{"id":"n","name":"bash","arguments":{"command":"ls"},"status":"ok","durationMs":5}]},"details":{"exitCode":1}}}`,
		`{"type":"message","id":"3","message":{"role":"bashExecution","command":"ls","output":"o","exitCode":1}}`,
		`{"type":"compaction","id":"4","summary":"s","details":{"readFiles":["a"],"modifiedFiles":["b"]},"usage":{"input":1}}`,
	}
	for _, path := range testkit.SessionFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data[:min(len(data), 40_000)])) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	values := []string{`null`, `[]`, `{}`, `"x"`, `7`, `true`, `[{}]`, `-1e300`}
	for range testkit.HowMany(300, 800, 10_000) {
		line := lines[rnd.IntN(len(lines))]
		for range rnd.IntN(3) {
			// Another value in the place of one that is a word.
			if line == "" {
				continue
			}
			from := rnd.IntN(len(line))
			if i := strings.Index(line[from:], `":`); i >= 0 {
				at := from + i + 2
				end := at + strings.IndexAny(line[at:]+",", ",}]")
				line = line[:at] + values[rnd.IntN(len(values))] + line[min(end, len(line)):]
			}
		}
		l := adapter.Line{Data: []byte(line), Raw: []byte(line), Number: 1, Ended: true}
		var without []session.Entry
		New().Parse(adapter.State{}).Parse(l, func(e *session.Entry) {
			if e.Facts != nil {
				t.Fatalf("nobody asked for the facts of %q", line)
			}
			without = append(without, clone(e))
		})
		n := 0
		New().Parse(adapter.State{Facts: true}).Parse(l, func(e *session.Entry) {
			with := clone(e)
			with.Facts = nil
			if diff := testkit.Diff(without[n], with, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("with facts, the entry of %q is another:\n%s", line, diff)
			}
			n++
			if e.Facts == nil {
				return
			}
			for _, c := range e.Facts.Calls {
				if c.Part >= len(e.Parts) || c.Part >= 0 && (e.Parts[c.Part].Kind != session.KindShell && e.Parts[c.Part].ToolCallID != c.ID) {
					t.Fatalf("part %d of %d in %q", c.Part, len(e.Parts), line)
				}
			}
		})
		if n != len(without) {
			t.Fatalf("%d entries with facts, %d without in %q", n, len(without), line)
		}
	}
}
