package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

// spent is what an answer says of the tokens and costs of a session.
type spent struct {
	SessionPath, SessionID string
	Tokens                 int64
	Cost, EstimatedCost    float64
	Unpriced               int
}

func (s spent) String() string {
	return fmt.Sprintf("%d tokens, $%.2f, $%.2f estimated, %d unpriced", s.Tokens, math.Round(s.Cost*100)/100, math.Round(s.EstimatedCost*100)/100, s.Unpriced)
}

// The list and the header of each session cost what usage says of it, to the cent, with forks and copies
// among them, whoever wrote the files; and after a session has grown.
func TestCostsAreThoseOfUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, f := range fixtures(t) {
		appendTo(t, filepath.Join(dir, f.agent, filepath.Base(filepath.Dir(f.path)), strings.TrimSuffix(filepath.Base(f.path), ".zst")), string(f.text))
	}
	for i, path := range testkit.Sessions(t, filepath.Join(testkit.Root(), "testdata", "sessions"), filepath.Join(testkit.Root(), "testdata", "realpi", "sessions"), testkit.Fixtures()) {
		if text, err := os.ReadFile(path); err == nil && !strings.Contains(filepath.ToSlash(path), "/agents/") && len(text) <= testkit.HowMany(256<<10, 1<<30, 1<<30) {
			appendTo(t, filepath.Join(dir, "more", fmt.Sprint(i), filepath.Base(path)), string(text))
		}
	}
	// A fork has what it copied and a reply of its own, and a growing one says more of its last message.
	const model = `"provider":"anthropic","model":"claude-opus-4-5"`
	reply := func(id, parent, at, more string) string {
		return `{"type":"message","id":"` + id + `","parentId":"` + parent + `","timestamp":"2026-03-0` + at + `T10:00:00.000Z","message":{"role":"assistant",` + model + `,"content":[{"type":"text","text":"` + id + `"}],"usage":{"input":100000,"output":1000` + more + `}}}` + "\n"
	}
	prompt := `{"type":"message","id":"f0","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"fork the okapi"}}` + "\n"
	appendTo(t, filepath.Join(dir, "forks", "2026-03-01T10-00-00-000Z_origin.jsonl"), `{"type":"session","version":3,"id":"origin","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/w"}`+"\n"+prompt+reply("f1", "f0", "1", `,"cost":{"total":0.5}`)+reply("f2", "f1", "1", ""))
	appendTo(t, filepath.Join(dir, "forks", "2026-03-02T10-00-00-000Z_fork.jsonl"), `{"type":"session","version":3,"id":"fork","timestamp":"2026-03-02T10:00:00.000Z","cwd":"/w","parentSession":"origin"}`+"\n"+prompt+reply("f1", "f0", "1", `,"cost":{"total":0.5}`)+reply("f3", "f1", "2", `,"cost":{"total":0.25}`))
	grows := filepath.Join(dir, "claude", "grown", claudeID+".jsonl")
	said := func(output int) string {
		return claudeLine(fmt.Sprint("g", output), "null", "assistant", fmt.Sprintf(`{"id":"m1","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"%d"}],"usage":{"input_tokens":100000,"output_tokens":%d}}`, output, output))
	}
	appendTo(t, grows, said(1))

	run := program(t, t.TempDir(), nil, everyAgent()...)
	sum := func(command string, args ...string) map[string]spent {
		var answer struct{ Sessions, Rows []spent }
		testkit.Check(t, json.Unmarshal([]byte(run(append([]string{command, "--json", "--quiet", "--session-dir", dir}, args...)...)), &answer))
		list := make(map[string]spent)
		for _, s := range append(answer.Sessions, answer.Rows...) {
			list[s.SessionPath] = s
		}
		return list
	}
	for range 2 {
		used, listed := sum("usage", "--by", "session"), sum("sessions", "--subagents")
		estimated := 0
		for path, got := range listed {
			if want := used[path]; got.String() != want.String() {
				t.Errorf("%s: the list says %v, usage %v", path, got, want)
			}
			if got.EstimatedCost > 0 {
				estimated++
			}
		}
		if len(listed) < 20 || estimated < 5 {
			t.Errorf("%d sessions, %d with estimated costs", len(listed), estimated)
		}
		for path, want := range map[string]string{ // a cost that the file says, and list prices: $5 and $25 per million
			filepath.Join(dir, "forks", "2026-03-01T10-00-00-000Z_origin.jsonl"): "202000 tokens, $0.50, $0.00 estimated, 1 unpriced",
			filepath.Join(dir, "forks", "2026-03-02T10-00-00-000Z_fork.jsonl"):   "101000 tokens, $0.25, $0.00 estimated, 0 unpriced",
		} {
			if got := listed[path]; got.String() != want {
				t.Errorf("%s: %v, want %s", path, got, want)
			}
		}
		appendTo(t, grows, said(20000))
	}
	if got, want := sum("sessions")[grows].String(), "120000 tokens, $1.00, $1.00 estimated, 0 unpriced"; got != want {
		t.Errorf("a session that has grown: %s, want %s", got, want)
	}
	for name, want := range map[string]string{"origin": "202k tokens · ≥ $0.50", "fork": "101k tokens · $0.25", claudeID: "120k tokens · ~$1.00"} {
		if got := run("show", "--session-dir", dir, name); !strings.Contains(got, want) {
			t.Errorf("show %s lacks %q:\n%s", name, want, got)
		}
	}
}
