package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

// callOf returns the facts of the first call of a file.
func callOf(t *testing.T, r adapters.Read) (session.EntryCall, string) {
	t.Helper()
	for _, e := range r.Entries {
		if e.Facts != nil && len(e.Facts.Calls) > 0 {
			c := e.Facts.Calls[0]
			return c, string(e.Parts[c.Part].Text)
		}
	}
	t.Fatal("no call")
	return session.EntryCall{}, ""
}

const aPatch = "*** Begin Patch\n*** Add File: new.go\n+package new\n*** Update File: a.go\n*** Move to: b.go\n@@\n-x\n+y\n*** Delete File: old.go\n*** Update File: c.go\n@@\n-x\n+y\n*** End Patch"

// below returns files in a directory.
func below(dir string, files []session.FileUse) (list []session.FileUse) {
	for _, f := range files {
		f.Path = dir + "/" + f.Path
		list = append(list, f)
	}
	return list
}

// What a call does is said alike, however it is written.
func TestCalls(t *testing.T) {
	patched := []session.FileUse{
		{Path: "new.go", Deed: session.DeedWrite}, {Path: "a.go", Deed: session.DeedDelete}, {Path: "b.go", Deed: session.DeedWrite},
		{Path: "old.go", Deed: session.DeedDelete}, {Path: "c.go", Deed: session.DeedEdit},
	}
	function := func(name, arguments string) string {
		return fmt.Sprintf(`{"type":"function_call","name":%q,"arguments":%s,"call_id":"c"}`, name, quote(arguments))
	}
	for _, c := range []struct {
		name, item, text string
		want             session.EntryCall
	}{
		{"two lines", function("exec_command", `{"cmd":"go build all\ngo vet all","workdir":"/srv/app/x"}`), "exec_command\ncmd: go build all\ngo vet all\nworkdir: /srv/app/x",
			session.EntryCall{Tool: "exec_command", Deed: session.DeedRun, Command: []byte("go build all\ngo vet all"), Dir: "/srv/app/x"}},
		{"a shell", function("shell", `{"command":["bash","-lc","rm -rf x | tee 'y'"]}`), "shell\ncommand.0: bash\ncommand.1: -lc\ncommand.2: rm -rf x | tee 'y'",
			session.EntryCall{Tool: "shell", Deed: session.DeedRun, Command: []byte("rm -rf x | tee 'y'")}},
		{"words", function("shell", `{"command":["rg","a b","it's","x.go"]}`), "",
			session.EntryCall{Tool: "shell", Deed: session.DeedRun, Command: []byte(`rg 'a b' 'it'\''s' x.go`)}},
		{"PowerShell", function("shell", `{"command":["powershell.exe","-NoLogo","-Command","Get-Content x"]}`), "",
			session.EntryCall{Tool: "shell", Deed: session.DeedRun, Command: []byte("Get-Content x"), Dialect: session.DialectPowerShell}},
		{"cmd", function("shell", `{"command":["C:\\Windows\\cmd.exe","/c","dir"]}`), "",
			session.EntryCall{Tool: "shell", Deed: session.DeedRun, Command: []byte("dir"), Dialect: session.DialectCmd}},
		{"another shell", function("exec_command", `{"cmd":"dir","shell":"pwsh"}`), "",
			session.EntryCall{Tool: "exec_command", Deed: session.DeedRun, Command: []byte("dir"), Dialect: session.DialectPowerShell}},
		{"outside", function("shell_command", `{"command":"ls","with_escalated_permissions":true}`), "",
			session.EntryCall{Tool: "shell_command", Deed: session.DeedRun, Command: []byte("ls"), Escapes: true}},
		{"outside, later", function("exec_command", `{"cmd":"ls","sandbox_permissions":"require_escalated"}`), "",
			session.EntryCall{Tool: "exec_command", Deed: session.DeedRun, Command: []byte("ls"), Escapes: true}},
		{"an old model", `{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["bash","-c","ls"],"working_directory":"/x"}}`, "",
			session.EntryCall{Tool: "local_shell_call", Deed: session.DeedRun, Command: []byte("ls"), Dir: "/x"}},

		{"patch", `{"type":"custom_tool_call","name":"apply_patch","call_id":"c","input":` + quote(aPatch+"\n") + `}`, "apply_patch\ninput: " + aPatch + "\n",
			session.EntryCall{Tool: "apply_patch", Deed: session.DeedEdit, Files: patched}},
		{"patch in arguments", function("apply_patch", `{"input":`+quote(aPatch)+`}`), "apply_patch\ninput: " + aPatch,
			session.EntryCall{Tool: "apply_patch", Deed: session.DeedEdit, Files: patched}},
		{"patch in words", function("shell", `{"command":["apply_patch",`+quote(aPatch)+`],"workdir":"/x"}`), "",
			session.EntryCall{Tool: "shell", Deed: session.DeedEdit, Files: patched, Dir: "/x"}},
		{"patch in a shell", function("shell", `{"command":["bash","-lc",`+quote("cd x && apply_patch <<'EOF'\n"+aPatch+"\nEOF\n")+`]}`), "",
			session.EntryCall{Tool: "shell", Deed: session.DeedEdit, Files: below("x", patched), Command: []byte("cd x && apply_patch <<'EOF'\n" + aPatch + "\nEOF\n")}},
		{"patch in another directory", function("exec_command", `{"cmd":`+quote("cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** Add File: /b\n+x\n*** End Patch\nEOF\n")+`}`), "",
			session.EntryCall{Tool: "exec_command", Deed: session.DeedEdit, Files: []session.FileUse{{Path: "sub/a", Deed: session.DeedWrite}, {Path: "/b", Deed: session.DeedWrite}},
				Command: []byte("cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** Add File: /b\n+x\n*** End Patch\nEOF\n")}},
		{"patch in a command", function("exec_command", `{"cmd":`+quote("apply_patch <<'EOF'\n"+aPatch+"\nEOF\n")+`}`), "",
			session.EntryCall{Tool: "exec_command", Deed: session.DeedEdit, Files: patched, Command: []byte("apply_patch <<'EOF'\n" + aPatch + "\nEOF\n")}},

		{"search", `{"type":"web_search_call","status":"completed","action":{"type":"search","query":"go generics"}}`, "web_search_call\ntype: search\nquery: go generics",
			session.EntryCall{Tool: "web_search_call", Deed: session.DeedFetch}},
		{"plan", function("update_plan", `{"plan":[{"step":"one","status":"pending"}]}`), "update_plan\nplan.0.step: one\nplan.0.status: pending",
			session.EntryCall{Tool: "update_plan", Deed: session.DeedPlan}},
		{"image", function("view_image", `{"path":"/x/y.png"}`), "",
			session.EntryCall{Tool: "view_image", Deed: session.DeedRead, Files: []session.FileUse{{Path: "/x/y.png"}}}},
		{"poll", function("write_stdin", `{"session_id":7,"chars":""}`), "", session.EntryCall{Tool: "write_stdin", Deed: session.DeedPoll}},
		{"typing", function("write_stdin", `{"session_id":7,"chars":"y\n"}`), "", session.EntryCall{Tool: "write_stdin", Deed: session.DeedRun}},
		{"a server's tool", `{"type":"function_call","namespace":"mcp__pigrep","name":"search","arguments":"{}","call_id":"c"}`, "mcp__pigrep__search",
			session.EntryCall{Tool: "mcp__pigrep__search"}},
		{"no JSON", function("shell", `{"command":`), "shell\n{\"command\":", session.EntryCall{Tool: "shell", Deed: session.DeedRun}},
	} {
		got, text := callOf(t, begun().item(c.item).parse(t))
		if c.text != "" && text != c.text {
			t.Errorf("%s: text %q, want %q", c.name, text, c.text)
		}
		if want := strings.TrimPrefix(strings.TrimPrefix(text, got.Tool), "\n"); string(got.Text) != want {
			t.Errorf("%s: arguments %q, want %q", c.name, got.Text, want)
		}
		if c.want.Tool != "web_search_call" {
			c.want.ID = "c"
		}
		c.want.Text, c.want.Outcome = got.Text, adapter.UnknownOutcome
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A command is in the language of the shell that Codex runs it in.
func TestShells(t *testing.T) {
	const run = `{"command":"dir"}`
	windows := new(file).line(lineMeta, `{"id":"x","timestamp":"2026-11-21T21:00:00Z","cwd":"C:\\Users\\u"}`)
	if c, _ := callOf(t, windows.call("c", "shell_command", run).parse(t)); c.Dialect != session.DialectPowerShell {
		t.Errorf("on a drive: %d", c.Dialect)
	}
	git := new(file).line(lineMeta, `{"id":"x","timestamp":"2026-11-21T21:00:00Z","cwd":"C:\\Users\\u"}`)
	git.message("user", "<environment_context>\n<shell>bash</shell>\n</environment_context>")
	if c, _ := callOf(t, git.call("c", "shell_command", run).parse(t)); c.Dialect != session.DialectPOSIX {
		t.Errorf("bash on a drive: %d", c.Dialect)
	}
}

// What Codex says of a command before its output becomes facts.
func TestResults(t *testing.T) {
	known := func(exit, millis int32) session.Outcome { return session.Outcome{Exit: exit, Duration: millis} }
	failed := func(o session.Outcome) session.Outcome { o.Failed = true; return o }
	for _, c := range []struct {
		output, text string
		want         session.Outcome
	}{
		{quote(`{"output":"boom\n","metadata":{"exit_code":2,"duration_seconds":0.5}}`), "boom\n", failed(known(2, 500))},
		{quote("Exit code: 0\nWall time: 1.25 seconds\nTotal output lines: 9\nOutput:\nOutput:\nx"), "Output:\nx", known(0, 1250)},
		{quote("Chunk ID: a\nWall time: 0.0000 seconds\nProcess exited with code 3\nOriginal token count: 3\nOutput:\nboom\n"), "boom\n", failed(known(3, 0))},
		{quote("Exit code: is what I look for\nOutput:\nx"), "Exit code: is what I look for\nOutput:\nx", adapter.UnknownOutcome},
		{quote("Wall time: 6.4 seconds\naborted by user"), "aborted by user", session.Outcome{Rejected: true, Exit: session.Unknown, Duration: 6400}},
		{quote("exec command rejected by user"), "exec command rejected by user", session.Outcome{Rejected: true, Exit: session.Unknown, Duration: session.Unknown}},
		{quote("unsupported call: x"), "unsupported call: x", failed(adapter.UnknownOutcome)},
		{quote("failed to parse function arguments"), "failed to parse function arguments", failed(adapter.UnknownOutcome)},
		{quote("Plan updated"), "Plan updated", adapter.UnknownOutcome},
		{quote(`{"other":"json"}`), `{"other":"json"}`, adapter.UnknownOutcome},
		{quote(""), "", adapter.UnknownOutcome},
		{`[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]`, "a|b", adapter.UnknownOutcome},
		{`[{"type":"input_image","image_url":"data:image/png;base64,QUJD"}]`, "", adapter.UnknownOutcome},
		{`{"content":"no","success":false}`, "no", failed(adapter.UnknownOutcome)},
	} {
		r := begun().item(`{"type":"function_call_output","call_id":"c","output":` + c.output + `}`).parse(t)
		e := r.Entries[len(r.Entries)-1]
		var parts []string
		for _, part := range e.Parts {
			parts = append(parts, string(part.Text))
			if part.ToolCallID != "c" {
				t.Errorf("%s: part %+v", c.output, part)
			}
		}
		c.want.Bytes = int64(len(strings.ReplaceAll(c.text, "|", "")))
		if got := strings.Join(parts, "|"); got != c.text || !e.Facts.IsResult || e.IsError != c.want.Failed {
			t.Errorf("%s: text %q, want %q; %+v", c.output, got, c.text, e)
		}
		if diff := cmp.Diff(c.want, e.Facts.Outcome); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.output, diff)
		}
		if strings.Contains(c.output, "image") && (len(e.Images) != 1 || e.Images[0].MimeType != "image/png" || e.Images[0].Size != 3) {
			t.Errorf("images %+v", e.Images)
		}
	}
}

// A command that goes on in the background ends in the result of a later call.
func TestBackground(t *testing.T) {
	r := begun().
		call("c1", "exec_command", `{"cmd":"make"}`).output("c1", "Chunk ID: a\nWall time: 10.0 seconds\nProcess running with session ID 77\nOutput:\nfirst").
		call("c2", "write_stdin", `{"session_id":77,"chars":""}`).output("c2", "Chunk ID: b\nWall time: 5.0 seconds\nProcess running with session ID 77\nOutput:\nsecond").
		call("c3", "write_stdin", `{"session_id":77,"chars":""}`).output("c3", "Chunk ID: c\nWall time: 5.0 seconds\nProcess exited with code 2\nOutput:\nthird").
		call("c4", "write_stdin", `{"session_id":77,"chars":""}`).output("c4", "write_stdin failed: Unknown process id 77").
		parse(t)
	var amends []string
	for _, e := range r.Entries {
		if e.Facts != nil && e.Facts.IsResult {
			amends = append(amends, fmt.Sprintf("%s→%s %d", e.ToolCallID, e.Facts.Amends, e.Facts.Exit))
		}
	}
	want := []string{fmt.Sprint("c1→ ", session.Unknown), fmt.Sprint("c2→c1 ", session.Unknown), "c3→c1 2", fmt.Sprint("c4→ ", session.Unknown)}
	if diff := cmp.Diff(want, amends); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// The screen knows how a command ended where the result does not say it, and has output that
// the model did not see.
func TestRuns(t *testing.T) {
	end := func(id, out string, exit int) string {
		return fmt.Sprintf(`{"type":"exec_command_end","call_id":%q,"command":["ls"],"exit_code":%d,"aggregated_output":%s,"duration":{"secs":1,"nanos":500000000}}`, id, exit, quote(out))
	}
	r := begun().
		call("c1", "shell_command", `{"command":"ls"}`).event(end("c1", "same\n", 1)).output("c1", "same").
		call("c2", "shell_command", `{"command":"ls"}`).event(end("c2", "all of it", 0)).output("c2", "Exit code: 0\nWall time: 2 seconds\nOutput:\n…of it").
		parse(t)
	wantTexts(t, r, "call: shell_command\ncommand: ls", "result: same", "call: shell_command\ncommand: ls", "details: all of it", "result: …of it")
	var outcomes []session.Outcome
	for _, e := range r.Entries {
		if e.Facts != nil && e.Facts.IsResult {
			outcomes = append(outcomes, e.Facts.Outcome)
		}
	}
	want := []session.Outcome{{Failed: true, Bytes: 4, Exit: 1, Duration: 1500}, {Bytes: 8, Exit: 0, Duration: 2000}}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// The tokens of a response count once, however often its total is repeated.
func TestUsage(t *testing.T) {
	count := func(total, input, cached, output int) string {
		return fmt.Sprintf(`{"type":"token_count","info":{"total_token_usage":{"total_tokens":%d},"last_token_usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"reasoning_output_tokens":1}},"rate_limits":{"used_percent":%d}}`, total, input, cached, output, total%7)
	}
	sum := func(r adapters.Read) (sum session.Usage, models string) {
		for _, e := range r.Entries {
			if e.Facts != nil && e.Facts.HasUsage {
				u := e.Facts.Usage
				sum.Input, sum.CacheRead, sum.Output = sum.Input+u.Input, sum.CacheRead+u.CacheRead, sum.Output+u.Output
				models += e.Facts.SubModel + " "
			}
		}
		return sum, models
	}
	f := begun().event(`{"type":"token_count","info":null}`).
		event(count(110, 100, 40, 10)).event(count(110, 100, 40, 10)).
		line(lineContext, `{"cwd":"/srv/app","model":"gpt-6"}`).
		event(count(330, 200, 0, 20)).event(count(330, 6062, 0, 0)). // after a compaction
		event(count(50, 45, 5, 5))                                   // it went down
	got, models := sum(f.parse(t))
	if want := (session.Usage{Input: 300, CacheRead: 45, Output: 35}); got != want || models != "openai/gpt-5-codex openai/gpt-6 openai/gpt-6 " {
		t.Errorf("usage %+v of %s, want %+v", got, models, want)
	}
	f.line(lineUsage, `{"response_id":"r1","turn_id":"t","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2},"thread_token_usage":{"input_tokens":999}}`).
		event(count(62, 10, 4, 2)).event(count(70, 1, 1, 1))
	if got, _ := sum(f.parse(t)); got != (session.Usage{Input: 306, CacheRead: 49, Output: 37}) {
		t.Errorf("with records: usage %+v", got)
	}
	if u := begun().event(count(9, -5, 0, 1)).parse(t).Entries[2].Facts.Usage; !u.Unusable || u.Input != 0 {
		t.Errorf("negative tokens: %+v", u)
	}
}

// An entry that is shown has its calls with arguments and diffs, its images and commands.
func TestView(t *testing.T) {
	view := func(f *file) (blocks []session.Block) {
		for _, line := range adapters.Lines(t, []byte(f.String())) {
			adapter.View(New(), adapter.State{Path: rollout}, line, func(_ *session.Entry, v *session.View) { blocks = v.Blocks })
		}
		return blocks
	}
	call := view(new(file).call("c", "exec_command", `{"cmd":"ls -l","yield_time_ms":1000}`))[0].Call
	want := &session.Call{
		ID: "c", Tool: "exec_command", Deed: session.DeedRun, Command: []byte("ls -l"), Raw: []byte(`{"cmd":"ls -l","yield_time_ms":1000}`),
		Arguments: []session.Argument{{Name: "cmd", Value: []byte("ls -l"), Text: true}, {Name: "yield_time_ms", Value: []byte("1000")}},
	}
	if diff := cmp.Diff(want, call); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
	for _, f := range []*file{
		new(file).item(`{"type":"custom_tool_call","name":"apply_patch","call_id":"c","input":` + quote(aPatch) + `}`),
		new(file).call("c", "apply_patch", `{"input":`+quote(aPatch)+`}`),
		new(file).call("c", "shell", `{"command":["apply_patch",`+quote(aPatch)+`]}`),
		new(file).call("c", "shell", `{"command":["bash","-lc",`+quote("apply_patch <<'EOF'\n"+aPatch+"\nEOF")+`]}`),
	} {
		if c := view(f)[0].Call; string(c.Diff) != aPatch || !c.Arguments[0].Edits || c.Command != nil {
			t.Errorf("patch %s: %+v", f.String(), c)
		}
	}
	if c := view(new(file).call("c", "exec_command", `{"cmd":`+quote("cd x && apply_patch <<'EOF'\n"+aPatch+"\nEOF")+`}`))[0].Call; c.Diff != nil || c.Command == nil {
		t.Errorf("a command that does more than patch: %+v", c)
	}
	blocks := view(new(file).item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,QUJD"},{"type":"input_text","text":"it"}]}`))
	if len(blocks) != 3 || string(blocks[0].Text) != "see" || blocks[1].Image == nil || string(blocks[1].Image.Base64) != "QUJD" || string(blocks[2].Text) != "it" {
		t.Errorf("image: %+v", blocks)
	}
	blocks = view(new(file).message("user", "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 1\nDuration: 1 seconds\nOutput:\nx\n</result>\n</user_shell_command>"))
	if s := blocks[0].Shell; s == nil || s.Command != "ls" || s.ExitCode != 1 || !s.HasExit || string(blocks[0].Text) != "x" {
		t.Errorf("shell: %+v", blocks[0])
	}
}
