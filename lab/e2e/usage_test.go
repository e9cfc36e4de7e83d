package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

// usageAnswer is what `pigrep usage --json` prints.
type usageAnswer struct {
	Rows []struct {
		Agent string
		figures
	}
	Total   figures
	Sources []struct {
		Source string
		Tokens int64
	}
	Repeated int `json:"repeatedResults"`
}

type figures struct{ Input, Output, CacheRead, CacheWrite, Tokens, Sessions int64 }

func usageAsked(t *testing.T, run func(...string) string, args ...string) (u usageAnswer) {
	t.Helper()
	out := run(append([]string{"usage", "--json", "--quiet"}, args...)...)
	if err := json.Unmarshal([]byte(out), &u); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return u
}

// For each fixture, the program says what other readers count: every token, each response once, and
// all of them as use of replies.
func TestUsageOfFixtures(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var truth fixtureTruth
			testkit.Check(t, json.Unmarshal(read(t, f.path+".truth.json"), &truth))
			h, _ := f.alone(t)
			run := program(t, t.TempDir(), nil, everyAgent()...)
			got := usageAsked(t, run, "--session-dir", h.dir, "--by", "agent")
			want := truth.Usage.figures()
			if want.Tokens > 0 {
				want.Sessions = 1
			}
			if got.Total != want {
				t.Errorf("total %+v, want %+v", got.Total, want)
			}
			switch {
			case want.Tokens == 0:
				if text := run("usage", "--session-dir", h.dir, "--color", "always"); len(got.Rows) > 0 || !strings.Contains(text, "no use of tokens recorded") || strings.Contains(text, "total") {
					t.Errorf("rows %+v\n%s", got.Rows, text)
				}
			case len(got.Rows) != 1 || got.Rows[0].Agent != f.agent || got.Rows[0].figures != want:
				t.Errorf("rows %+v", got.Rows)
			case len(got.Sources) != 1 || got.Sources[0].Source != "assistant" || got.Sources[0].Tokens != want.Tokens:
				t.Errorf("sources %+v", got.Sources)
			}
		})
	}
}

// figures are those that the program prints.
func (u *fixtureUsage) figures() figures {
	f := figures{
		Input: u.Input + u.InputTokens - u.CachedTokens, Output: u.Output + u.OutputTokens, CacheRead: u.CacheRead + u.CachedTokens,
		CacheWrite: u.CacheWrite,
	}
	f.Tokens = f.Input + f.Output + f.CacheRead + f.CacheWrite
	return f
}

// Claude Code writes what a subagent has used also beside the result of the call that started it.
// It counts once: in the file of the subagent, and with --tree in the session that started it.
func TestUsageOfSubagentOfClaude(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	appendTo(t, claudeFile(home),
		claudeLine("u1", "null", "user", `{"role":"user","content":"look for the walrus"}`)+
			claudeLine("a1", `"u1"`, "assistant", `{"id":"m1","role":"assistant","model":"claude-opus-4-5","content":[{"type":"tool_use","id":"c1","name":"Task","input":{"prompt":"find it"}}],"usage":{"input_tokens":10,"output_tokens":2}}`)+
			strings.Replace(claudeLine("r1", `"a1"`, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"found"}]}`),
				`"type":"user"`, `"type":"user","toolUseResult":{"status":"completed","agentId":"a1","totalTokens":90000,"totalToolUseCount":3,"usage":{"input_tokens":80000,"output_tokens":10000}}`, 1))
	child := filepath.Join(strings.TrimSuffix(claudeFile(home), ".jsonl"), "subagents", "agent-a1.jsonl")
	appendTo(t, child, claudeLine("s1", "null", "user", `{"role":"user","content":"find it"}`)+
		claudeLine("s2", `"s1"`, "assistant", `{"id":"m2","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","text":"fou"}],"usage":{"input_tokens":300,"output_tokens":4}}`)+
		claudeLine("s3", `"s2"`, "assistant", `{"id":"m2","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","text":"nd"}],"usage":{"input_tokens":300,"output_tokens":50}}`))
	run := program(t, home, nil, everyAgent()...)
	for _, test := range []struct {
		args string
		want string // input and output of each row, the largest first
		all  int64
	}{
		{"--by session", "300+50 10+2", 362},
		{"--by session --tree", "310+52", 362},
		{"--by model --session " + claudeID, "10+2", 12},
		{"--by model --tree --session " + claudeID, "300+50 10+2", 362},
	} {
		got, rows := usageAsked(t, run, strings.Fields(test.args)...), []string(nil)
		for _, r := range got.Rows {
			rows = append(rows, fmt.Sprint(r.Input, "+", r.Output))
		}
		if text := strings.Join(rows, " "); text != test.want && text != reversed(test.want) || got.Total.Tokens != test.all {
			t.Errorf("usage %s: %s, %d in all, want %s", test.args, text, got.Total.Tokens, test.want)
		}
	}
}

func reversed(fields string) string {
	a, b, _ := strings.Cut(fields, " ")
	return strings.TrimSpace(b + " " + a)
}
