package agents_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/internal/session"
)

// hostile are what a session file may say in place of an id, a directory or the session before it.
var hostile = []string{
	"--dangerously-bypass-approvals-and-sandbox", "-cmcp_servers.x.command=touch", "-", "--", "-c", "--last", "--yolo", "-C/", "--config=a", "-h", "$(touch x)", "`id`", "a b", "a;b", "a\nb", "a\x00b", "../../x", "x.jsonl",
	"\u2010x", "@file", "%self", "--9f0000-0000-7000-8000-000000000001", ".x", "x-",
}

// written are ids that agents write; people choose others for pi.
var (
	written = []string{"019f0000-0000-7000-8000-000000000001", "48EAE68E-c0c6-412e-a763-b7f3b830ccdd"}
	chosen  = []string{"job-2026.01_a", "019f0000-0000-7000-8000-00000000000", "019f0000-0000-7000-8000-0000000000012"}
)

// options are what agents add themselves.
var options = []string{"resume", "fork", "--session", "--session-dir", "--fork", "--resume", "--fork-session", "-C", "-s", "agent", "--session-id", "--message", "continue"}

// No agent puts what a session file says on a command line where the program would take it for an
// option, or for something other than an id, a directory or the path of the file. Where a session
// cannot be resumed for that, the error gives the reason.
func TestCommandsOfHostileSessions(t *testing.T) {
	env := adapter.Environment{Home: string(filepath.Separator) + "h", Getenv: func(string) string { return "" }}
	registry := adapter.NewRegistry(env, agents.All()...)
	commands := 0
	check := func(agent string, s *session.Summary, argv []string) {
		if argv == nil {
			return
		}
		commands++
		pi := argv[0] != "codex" && argv[0] != "claude"
		for i, arg := range argv[1:] {
			known := slices.Contains(options, arg)
			if !known && (strings.HasPrefix(arg, "-") || !filepath.IsAbs(arg) && !slices.Contains(written, arg) && argv[i] != "-C" && (!pi || !slices.Contains(chosen, arg))) {
				t.Errorf("%s: %+v: %q", agent, s.Header, argv)
			}
		}
	}
	for _, a := range agents.All() {
		for _, path := range []string{"/h/.pi/agent/x.jsonl", "/h/.pi/agent/sessions/--w--/t_x.jsonl", "/h/.claude/projects/-w/" + written[0] + ".jsonl", "/h/.claude/projects/-w/-x.jsonl",
			"/h/.codex/sessions/2026/09/01/rollout-2026-09-01T10-00-00-" + written[0] + ".jsonl", "/h/.omp/agent/sessions/-w/t_x.jsonl", "/h/.prime/agent/sessions/t_x.jsonl",
			"/h/.openclaw/agents/main/agent/openclaw-agent.sqlite/x.jsonl"} {
			for i, bad := range slices.Concat(hostile, written, chosen) {
				good := written[i%len(written)]
				for _, h := range []session.Header{{ID: bad, CWD: "/w"}, {ID: good, CWD: bad}, {ID: good, CWD: "/w", ParentSession: bad}, {ID: bad, CWD: bad, ParentSession: bad}} {
					for _, h.Relation = range []session.Relation{0, session.Spawned} {
						for h.Version = range 5 {
							h.Agent = a.Name()
							s := session.Summary{Path: filepath.FromSlash(path), Header: h, Messages: 1}
							_, argv := registry.ResumeCommand(&s)
							check(a.Label(), &s, argv)
							for _, fork := range []bool{false, true} {
								q := &adapter.ResumeRequest{Record: &session.Record{Summary: s}, Root: &s, Head: []byte(`{"type":"session"}`), Fork: fork}
								how, err := registry.Resume(q)
								if err == nil {
									check(a.Label(), &s, how.Argv)
								} else if err.Error() == "" || how != nil {
									t.Errorf("%s: %v, %v", a.Label(), how, err)
								}
							}
						}
					}
				}
			}
		}
	}
	if commands < 1000 {
		t.Errorf("only %d commands", commands)
	}
}
