package e2e

import (
	"errors"
	"os"
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
	checkOutputs(t, run, []output{
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
		{[]string{"export", "forked-1", "--format", "html"}, []string{"plant the walnut", "Goes on in fork.jsonl", "sell it"}, nil},
		{[]string{"search", "leaves", "--color", "always"}, []string{"subagent of den-0001"}, nil},
		{[]string{"search", "leaves", "--json"}, []string{`"subagent":true`}, nil},
		{[]string{"show", "lost-001"}, []string{"begins in no-such-room", "where does it begin"}, nil},
		{[]string{"show", "self-001"}, []string{"I begin in myself"}, []string{"begins in"}},
		{[]string{"show", "worker-1"}, []string{"subagent of den-0001", "count the walnut leaves"}, nil},
		{[]string{"search", "walnut", "--flat", "--branch", "abandoned"}, []string{"fell the walnut"}, []string{"plant", "water"}},
		{[]string{"search", "walnut", "--flat", "--branch", "active"}, []string{"plant the walnut", "water the walnut", "count the walnut"}, []string{"fell"}},
		{[]string{"grep", "walnut", "--branch", "abandoned"}, []string{"fell the walnut"}, []string{"plant", "water"}},
		{[]string{"usage", "--by", "session", "--agent", "chat", "--json"}, []string{`den2.jsonl"`}, []string{`den1.jsonl"`}},
		{[]string{"doctor", "--deep"}, []string{"findings\t0"}, nil},
	})
	// A copy of a file is the same session, also after it has grown.
	data, err := os.ReadFile(filepath.Join(chats, "fork.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	twin := filepath.Join(chats, "elsewhere", "fork.jsonl")
	appendTo(t, twin, string(data))
	checkOutputs(t, run, []output{
		{[]string{"show", "forked-1"}, []string{"plant the walnut", "sell it", "also in "}, []string{"matches 2"}},
		{[]string{"resume", "forked-1"}, []string{"chat --room forked-1"}, []string{"matches 2"}},
	})
	appendTo(t, twin, `{"at":9900,"who":"me","says":"keep it"}`+"\n")
	checkOutputs(t, run, []output{{[]string{"show", "forked-1"}, []string{"plant the walnut", "sell it", "keep it"}, []string{"matches 2", "other sessions"}}})
	if err := errors.Join(os.Remove(twin), os.Remove(filepath.Join(chats, "den1.jsonl"))); err != nil {
		t.Fatal(err)
	}
	// Without updating the index, it still has the file that is gone.
	checkOutputs(t, run, []output{
		{[]string{"show", "den-0001", "--no-update"}, []string{"begins in den-0001, which is not indexed or deleted", "water the walnut"}, []string{"plant the walnut\n\n"}},
		{[]string{"export", "den-0001", "--format", "md", "--no-update"}, []string{"Begins in", "den-0001, which is not indexed or deleted", "water the walnut"}, nil},
		{[]string{"export", "den-0001", "--format", "html", "--no-update"}, []string{"Begins in", "den-0001, which is not indexed or deleted", "water the walnut"}, nil},
	})
}

// Files that name each other, themselves, or what is not there hide no session, and end no
// command.
func TestHostileParents(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	twoAgents(t, home)
	for name, header := range map[string]string{
		"cycle1": `{"room":"cycle-01","boss":"cycle-02"}`, "cycle2": `{"room":"cycle-02","boss":"cycle-01"}`, "own": `{"room":"ownboss1","boss":"ownboss1"}`,
		"ring1": `{"room":"ring-001","base":"ring-002","until":2}`, "ring2": `{"room":"ring-002","base":"ring-001","until":2}`,
		"boss-a": `{"room":"twinboss","dir":"/a"}`, "boss-b": `{"room":"twinboss","dir":"/b"}`, "kid": `{"room":"kid-0001","boss":"twinboss"}`,
		"foreign": `{"room":"foreign1","boss":"01a1f7de-0000-7000-8000-000000000000"}`, "both": `{"room":"both-001","boss":"twinboss","base":"ring-001","until":1}`,
		"again-a": `{"room":"again-01","part":"x","base":"again-01","basePart":"y"}`, "again-b": `{"room":"again-01","part":"y","base":"again-01","basePart":"x"}`,
	} {
		appendTo(t, filepath.Join(home, ".chat", "hostile", name+".jsonl"), header+"\n"+`{"at":5000,"who":"me","says":"tapir of `+name+`"}`+"\n")
	}
	run := program(t, home, nil, allAgents()...)
	all := []string{"cycle-01", "cycle-02", "ownboss1", "ring-001", "ring-002", "boss-a", "boss-b", "kid-0001", "foreign1", "both-001", "again-01"}
	checkOutputs(t, run, []output{
		{[]string{"sessions", "--subagents", "--limit", "0"}, all, nil},
		{[]string{"sessions", "--limit", "0"}, []string{"cycle-0", "ownboss1", "ring-001", "ring-002", "boss-a", "boss-b", "foreign1", "again-01"}, []string{"kid-0001"}},
		{[]string{"sessions", "--forks"}, []string{"ring-00"}, nil},
		{[]string{"usage", "--by", "session", "--tree"}, nil, []string{"panic"}},
		{[]string{"show", "twinboss"}, []string{"tapir of boss-", "other sessions have the id twinboss too: twinboss."}, nil},
		{[]string{"search", "tapir", "--flat", "--format", "{text}"}, []string{"tapir of cycle1", "tapir of ring2", "tapir of kid", "tapir of again-a", "tapir of both"}, nil},
	})
	for id, text := range map[string]string{
		"cycle-01": "tapir of cycle1", "cycle-02": "tapir of cycle2", "ownboss1": "tapir of own", "ring-001": "tapir of ring1", "ring-002": "tapir of ring2",
		"kid-0001": "tapir of kid", "foreign1": "tapir of foreign", "both-001": "tapir of both", "again-01": "tapir of again-",
	} {
		for _, args := range [][]string{{"show", id}, {"show", id, "--tree"}, {"export", id, "--format", "html"}, {"export", id, "--format", "md"}} {
			if got := run(args...); !strings.Contains(got, text) {
				t.Errorf("pigrep %s lacks %q:\n%s", strings.Join(args, " "), text, got)
			}
		}
	}
}
