package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// A session of two files is one, what it took back is abandoned, and a fork that copies nothing
// begins with what the other has. Subagents stand with the session that they work for.
func TestSessionOfSeveralFiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	twoAgents(t, home)
	chats := filepath.Join(home, ".chat")
	write := func(name, text string) { appendTo(t, filepath.Join(chats, name), text) }
	write("den1.jsonl", `{"room":"den-0001","dir":"/den"}`+"\n"+`{"at":5000,"who":"me","says":"plant the walnut"}`+"\n"+
		`{"at":6000,"who":"it","tokens":5,"says":"planted the walnut"}`+"\n"+`{"at":7000,"who":"me","says":"fell the walnut"}`+"\n")
	write("den2.jsonl", `{"room":"den-0001","part":"two","base":"den-0001","first":3,"until":3}`+"\n"+`{"at":8000,"who":"me","says":"water the walnut"}`+"\n")
	write("fork.jsonl", `{"room":"forked-1","base":"den-0001","first":2,"until":2}`+"\n"+`{"at":9000,"who":"me","says":"sell it"}`+"\n")
	write("lost.jsonl", `{"room":"lost-001","base":"no-such-room","until":2}`+"\n"+`{"at":9000,"who":"me","says":"where does it begin"}`+"\n")
	write("self.jsonl", `{"room":"self-001","part":"x","base":"self-001","basePart":"x","until":2}`+"\n"+`{"at":9100,"who":"me","says":"I begin in myself"}`+"\n")
	write("sub.jsonl", `{"room":"worker-1","boss":"den-0001"}`+"\n"+`{"at":9200,"who":"me","says":"count the walnut leaves"}`+"\n")
	write("orphan.jsonl", `{"room":"orphan-1","boss":"no-such-room"}`+"\n"+`{"at":9300,"who":"me","says":"nobody waits for me"}`+"\n")
	run := program(t, home, nil, allAgents()...)
	for _, test := range []struct {
		args       []string
		want, lack []string
	}{
		{[]string{"sessions", "--agent", "chat"}, []string{"den-0001\tplant the walnut", "orphan-1", "lost-001", "self-001"}, []string{"worker-1", "den1.jsonl"}},
		{[]string{"sessions", "--agent", "chat", "--jsonl"}, []string{`"subagents":1`}, []string{"worker-1"}},
		{[]string{"sessions", "--subagents"}, []string{"worker-1"}, nil},
		{[]string{"sessions", "--session", "worker-1"}, []string{"worker-1"}, nil},
		{[]string{"show", "den-0001"}, []string{"plant the walnut", "goes on in den2.jsonl", "water the walnut", "subagent worker-1", "1 entry on abandoned branches"}, []string{"fell the walnut", "ambiguous"}},
		{[]string{"show", "den-0001", "--tree"}, []string{"├─○ prompt fell the walnut", "● prompt water the walnut ← leaf"}, nil},
		{[]string{"show", "den-0001", "--all", "--jsonl"}, []string{`"branch":"abandoned"`, `den1.jsonl"`}, nil},
		{[]string{"show", "den-0001_two", "--jsonl", "--last", "1"}, []string{"water the walnut"}, nil},
		{[]string{"show", filepath.Join(chats, "den1.jsonl")}, []string{"plant the walnut"}, []string{"water"}},
		{[]string{"show", "forked-1"}, []string{"plant the walnut", "goes on in fork.jsonl", "forked from den-0001 plant the walnut", "sell it"}, []string{"planted the walnut", "water"}},
		{[]string{"export", "forked-1", "--format", "md"}, []string{"plant the walnut", "goes on in fork.jsonl", "sell it"}, nil},
		{[]string{"show", "lost-001"}, []string{"begins in no-such-room", "where does it begin"}, nil},
		{[]string{"show", "self-001"}, []string{"I begin in myself"}, []string{"begins in"}},
		{[]string{"show", "worker-1"}, []string{"subagent of den-0001", "count the walnut leaves"}, nil},
		{[]string{"search", "walnut", "--flat", "--branch", "abandoned"}, []string{"fell the walnut"}, []string{"plant", "water"}},
		{[]string{"search", "walnut", "--flat", "--branch", "active"}, []string{"plant the walnut", "water the walnut", "count the walnut"}, []string{"fell"}},
		{[]string{"grep", "walnut", "--branch", "abandoned"}, []string{"fell the walnut"}, []string{"plant", "water"}},
		{[]string{"usage", "--by", "session", "--agent", "chat", "--json"}, []string{`den2.jsonl"`}, []string{`den1.jsonl"`}},
		{[]string{"doctor", "--deep"}, []string{"findings\t0"}, nil},
	} {
		got := run(test.args...)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("pigrep %s lacks %q:\n%s", strings.Join(test.args, " "), want, got)
			}
		}
		for _, lack := range test.lack {
			if strings.Contains(got, lack) {
				t.Errorf("pigrep %s has %q:\n%s", strings.Join(test.args, " "), lack, got)
			}
		}
	}
}
