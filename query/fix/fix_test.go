package fix

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/pi"
	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
)

type turn = stories.Turn

const wanted = "ModuleNotFoundError: No module named 'yaml'"

// missing is the result of a call that failed with an error like the wanted one.
func missing(name string) turn {
	return stories.Result("bash", "Traceback (most recent call last):\n  File \"/srv/"+name+".py\", line 3\nModuleNotFoundError: No module named '"+name+"'\n\nCommand exited with code 1", true)
}

func ran(command string) turn {
	return stories.Called("bash", map[string]any{"command": command})
}

func worked(output string) turn { return stories.Result("bash", output, false) }

// minutes gives each entry a time and a call id of its own: results answer the last call.
func minutes(entries ...turn) []turn {
	call := ""
	for i := range entries {
		entries[i].Minute = i
		switch m := entries[i].Message; {
		case m["role"] == "toolResult":
			m["toolCallId"] = call
		case m["role"] == "assistant":
			if block := m["content"].([]any)[0].(map[string]any); block["type"] == "toolCall" {
				call = fmt.Sprintf("c%d", i)
				block["id"] = call
			}
		}
	}
	return entries
}

func find(t *testing.T, l *stories.Library, req Request) *Response {
	t.Helper()
	resp, err := Find(t.Context(), l.Reader, pi.New(), stories.Disk{}, req)
	if err != nil {
		t.Fatalf("Find(%q): %v", req.Text, err)
	}
	return resp
}

// described is what a session says, on one line.
func described(s *Session) string {
	var calls []string
	for _, c := range s.Calls {
		text := c.Tool + " " + c.Text + " " + c.Status
		if c.Again {
			text += " again"
		}
		calls = append(calls, text)
	}
	reply := ""
	if s.Reply != nil {
		reply = s.Reply.Text
	}
	return fmt.Sprintf("%s %s x%d+%d [%s] %q", s.SessionID, s.Outcome, s.Occurrences, s.Later, strings.Join(calls, "; "), reply)
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []turn
		want    string
	}{
		{"fixed", minutes(stories.Prompt("run it"), ran("python3 a.py"), missing("yaml"), ran("pip install pyyaml"), worked("done"), ran("cd /srv && python3 a.py"), worked("ok"), stories.Reply("It runs now."), stories.Prompt("thanks"), stories.Reply("Welcome.")),
			`id-of-it fixed x1+0 [bash pip install pyyaml ok; bash cd /srv && python3 a.py ok again] "It runs now."`},
		{"after several tries", minutes(ran("python3 a.py"), missing("yaml"), ran("pip install yaml"), worked("no such package"), ran("python3 a.py"), missing("yaml"), ran("pip install pyyaml"), worked("done"), ran("python3 a.py"), worked("ok"), stories.Reply("Good.")),
			`id-of-it fixed x2+0 [bash pip install pyyaml ok; bash python3 a.py ok again] "Good."`},
		{"seen again later", minutes(ran("python3 a.py"), missing("yaml"), ran("pip install pyyaml"), worked("done"), ran("python3 a.py"), worked("ok"), stories.Reply("Good."), ran("python3 a.py"), missing("yaml"), stories.Reply("Bad.")),
			`id-of-it fixed x1+1 [bash pip install pyyaml ok; bash python3 a.py ok again] "Good."`},
		{"another error instead", minutes(ran("python3 a.py"), missing("yaml"), ran("pip install pyyaml"), worked("done"), ran("python3 a.py"), stories.Result("bash", "SyntaxError: invalid syntax", true), ran("vi a.py"), worked(""), ran("python3 a.py"), worked("ok"), stories.Reply("Good.")),
			`id-of-it fixed x1+0 [bash pip install pyyaml ok; bash python3 a.py error again; bash python3 a.py ok again] "Good."`},
		{"not tried again", minutes(ran("python3 a.py"), missing("yaml"), ran("jq . a.json"), worked("{}"), stories.Reply("jq can do it."), stories.Prompt("now b"), ran("ls"), worked("b")),
			`id-of-it gone x1+0 [bash jq . a.json ok] "jq can do it."`},
		{"never fixed", minutes(ran("python3 a.py"), missing("yaml"), stories.Reply("I cannot.")),
			`id-of-it unfixed x1+0 [] "I cannot."`},
		{"the end", minutes(ran("python3 a.py"), missing("yaml")), `id-of-it unfixed x1+0 [] ""`},
		{"pasted by the user", minutes(stories.Prompt("I get this:\n"+wanted), ran("pip install pyyaml"), worked("done"), stories.Reply("Try again.")),
			`id-of-it gone x1+0 [bash pip install pyyaml ok] "Try again."`},
		{"a call without a result", minutes(ran("python3 a.py"), missing("yaml"), ran("pip install pyyaml")),
			`id-of-it unfixed x1+0 [bash pip install pyyaml none] ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := stories.New(t, stories.Story{Name: "it", CWD: "/srv", Entries: c.entries})
			resp := find(t, l, Request{Text: wanted})
			if len(resp.Sessions) != 1 || resp.Total != 1 || !resp.TotalIsExact {
				t.Fatalf("%d sessions of %d", len(resp.Sessions), resp.Total)
			}
			if diff := cmp.Diff(c.want, described(&resp.Sessions[0])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func failedWith(text string) turn { return stories.Result("bash", text, true) }

func used(tool string, arguments map[string]any) turn { return stories.Called(tool, arguments) }

func gave(tool, text string, failed bool) turn { return stories.Result(tool, text, failed) }

// A session says fixed only if what failed was done again, and worked.
func TestFixedIsTrue(t *testing.T) {
	type args = map[string]any
	const (
		ts     = "error TS2339: Property 'x' does not exist on type 'Y'."
		host   = "curl: (6) Could not resolve host: a.example"
		quota  = "quota exhausted: try again tomorrow"
		enoent = "ENOENT: no such file or directory, access '/srv/app/a/index.ts'"
		auth   = "fatal: Authentication failed for 'https://x/y.git'"
	)
	for _, c := range []struct {
		name, text string
		entries    []turn
		want       Outcome
		calls      int
	}{
		{"a chain of errors", wanted, minutes(ran("python3 a.py"), missing("yaml"), ran("pip install pyyaml"), worked("done"), ran("python3 a.py"), missing("ddgs"), ran("pip install ddgs"), worked("done"), ran("python3 a.py"), worked("ok")), Fixed, 3},
		{"a chain, the other one first", wanted, minutes(ran("python3 a.py"), missing("ddgs"), ran("pip install ddgs"), worked("done"), ran("python3 a.py"), missing("yaml"), ran("pip install pyyaml"), worked("done"), ran("python3 a.py"), worked("ok")), Fixed, 2},
		{"another script", wanted, minutes(ran("python3 a.py"), missing("yaml"), ran("python3 b.py"), worked("ok")), Gone, 1},
		{"another command of a script", wanted, minutes(ran("python3 a.py encode"), missing("yaml"), ran("python3 a.py decode"), worked("ok")), Gone, 1},
		{"another command of a script, more operands", wanted, minutes(ran("python3 a.py encode x y"), missing("yaml"), ran("python3 a.py decode x y"), worked("ok")), Gone, 1},
		{"one operand less", wanted, minutes(ran("python3 a.py encode x y"), missing("yaml"), ran("python3 a.py encode x"), worked("ok")), Fixed, 1},
		{"another npm script", ts, minutes(ran("npm run build"), failedWith(ts), ran("npm run lint"), worked("clean")), Gone, 1},
		{"the same npm script", ts, minutes(ran("npm run build"), failedWith(ts), ran("npm run build 2>&1 | tail -5"), worked("clean")), Fixed, 1},
		{"without operands", ts, minutes(ran("make"), failedWith(ts), ran("make -j4"), worked("clean")), Fixed, 1},
		{"in another directory", ts, minutes(ran("cd a && npm test"), failedWith(ts), ran("cd b && npm test"), worked("clean")), Gone, 1},
		{"other code", wanted, minutes(ran("python3 -c 'import yaml'"), missing("yaml"), ran("python3 -c 'import json'"), worked("")), Gone, 1},
		{"another URL", host, minutes(ran("curl https://a.example/x"), failedWith(host), ran("curl https://b.example/x"), worked("ok")), Gone, 1},
		{"another query", quota, minutes(used("web_search", args{"query": "zebra", "limit": 5, "lang": "en"}), gave("web_search", quota, true), used("web_search", args{"query": "lion", "limit": 5, "lang": "en"}), gave("web_search", "ok", false)), Gone, 1},
		{"the same query", quota, minutes(used("web_search", args{"query": "zebra", "limit": 5}), gave("web_search", quota, true), used("web_search", args{"query": "zebra", "limit": 5}), gave("web_search", "ok", false)), Fixed, 1},
		{"another file", enoent, minutes(used("read", args{"path": "/srv/app/a/index.ts"}), gave("read", enoent, true), used("read", args{"path": "/srv/app/b/index.ts"}), gave("read", "ok", false)), Gone, 1},
		{"the file from elsewhere", enoent, minutes(used("read", args{"path": "/srv/app/a/index.ts"}), gave("read", enoent, true), used("read", args{"path": "/tmp/a/index.ts"}), gave("read", "ok", false)), Fixed, 1},
		{"without the last program", auth, minutes(ran("git add -A && git commit -m 'one' && git push"), failedWith(auth), ran("git add -A && git commit -m 'two'"), worked("ok")), Gone, 1},
		{"with another message", auth, minutes(ran("git add -A && git commit -m 'one' && git push"), failedWith(auth), ran("git add -A && git commit -m 'two' && git push"), worked("ok")), Fixed, 1},
		{"a log that has it", wanted, minutes(ran("cat build.log"), worked("start\n"+wanted), ran("cat build.log"), worked("start")), Gone, 1},
		{"a pipe that hides the exit code", ts, minutes(ran("npm test | tail -5"), worked("src/a.ts(1,2): "+ts), ran("npm test | tail -5"), worked("src/a.ts(1,2): error TS1005: ';' expected.")), Gone, 1},
		{"a success with an error", ts, minutes(ran("npm test"), failedWith(ts), ran("npm test | tail -5"), worked("src/a.ts(1,2): error TS1005: ';' expected.")), Gone, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := stories.New(t, stories.Story{Name: "it", CWD: "/srv", Entries: c.entries})
			list := find(t, l, Request{Text: c.text}).Sessions
			if len(list) != 1 || list[0].Outcome != c.want || len(list[0].Calls) != c.calls {
				t.Fatalf("want %s with %d calls: %d sessions", c.want, c.calls, len(list))
			}
		})
	}
	l := stories.New(t, stories.Story{Name: "it", Entries: minutes(ran("python3 a.py"), missing("ddgs"), ran("pip install ddgs"), worked("done"), ran("python3 a.py"), missing("yaml"), ran("pip install pyyaml"), worked("done"), ran("python3 a.py"), worked("ok"))})
	if got := described(&find(t, l, Request{Text: wanted}).Sessions[0]); !strings.Contains(got, "[bash pip install pyyaml ok;") {
		t.Errorf("what was done about another error: %s", got)
	}
}

// What did not fail has only lines that say more than one or two words.
func TestFewWords(t *testing.T) {
	l := stories.New(t, stories.Story{Name: "it", Entries: minutes(ran("cat a"), worked("permission denied"), ran("./b"), failedWith("permission denied"))})
	if s := find(t, l, Request{Text: "permission denied"}).Sessions; len(s) != 1 || s[0].Occurrences != 1 {
		t.Errorf("%+v", s)
	}
}

// What only shares words with the error, or quotes the program that prints it, is no
// occurrence.
func TestUnrelated(t *testing.T) {
	l := stories.New(t, stories.Story{Name: "other", Entries: minutes(
		stories.Prompt("is there a module named yaml? no"),
		ran("python3 b.py"), stories.Result("bash", "ImportError: cannot import name 'load'", true),
		ran("cat run.py"), worked("except ModuleNotFoundError:\n    pass\n"),
		stories.Reply(wanted), // talk about it
	)})
	for _, text := range []string{wanted, "zorblaxq exploded badly", "NameError: name 'x' is not defined"} {
		if resp := find(t, l, Request{Text: text}); len(resp.Sessions) != 0 || resp.Sessions != nil {
			t.Errorf("Find(%q): %s", text, described(&resp.Sessions[0]))
		}
	}
}

func TestOrder(t *testing.T) {
	solved := func(name string) []turn {
		return minutes(ran("python3 a.py"), missing(name), ran("pip install "+name), worked("done"), ran("python3 a.py"), worked("ok"))
	}
	l := stories.New(t,
		stories.Story{Name: "open", Start: stories.Day.AddDate(0, 0, 9), Entries: minutes(ran("python3 a.py"), missing("yaml"))},
		stories.Story{Name: "other", Start: stories.Day.AddDate(0, 0, 8), Entries: solved("ddgs")},
		stories.Story{Name: "old", Entries: solved("yaml")},
		stories.Story{Name: "new", Start: stories.Day.AddDate(0, 0, 5), Entries: solved("yaml")},
	)
	var got []string
	for _, s := range find(t, l, Request{Text: wanted}).Sessions {
		got = append(got, strings.TrimPrefix(s.SessionID, "id-of-"))
	}
	if diff := cmp.Diff([]string{"new", "old", "open", "other"}, got); diff != "" {
		t.Errorf("fixed first, then the closest, then the latest (-want +got):\n%s", diff)
	}
	if resp := find(t, l, Request{Text: wanted, Limit: 1}); len(resp.Sessions) != 1 || resp.Total != 4 {
		t.Errorf("%d sessions of %d, want 1 of 4", len(resp.Sessions), resp.Total)
	}
	if resp := find(t, l, Request{Text: wanted, Spec: filter.Spec{Sessions: []string{"id-of-open"}}}); len(resp.Sessions) != 1 {
		t.Errorf("in one session: %d", len(resp.Sessions))
	}
}

// Each branch is followed by itself: what another one did is no fix.
func TestBranches(t *testing.T) {
	entries := minutes(
		stories.Prompt("run it").Named("p"), ran("python3 a.py").Named("c"), missing("yaml").Named("e"),
		ran("pip install pyyaml").Named("x1"), worked("done").Named("x2"), ran("python3 a.py").Named("x3"), worked("ok").Named("x4"),
		stories.Reply("I will not.").Named("y1"),
	)
	entries[7].Parent = "e"
	l := stories.New(t, stories.Story{Name: "tree", Entries: entries})
	s := find(t, l, Request{Text: wanted}).Sessions[0]
	if got, want := described(&s), `id-of-tree unfixed x1+0 [] "I will not."`; got != want {
		t.Errorf("the error is on both branches: %s, want that of the active one: %s", got, want)
	}

	entries[7].Parent = "p" // the active branch has no error
	l = stories.New(t, stories.Story{Name: "tree", Entries: entries})
	s = find(t, l, Request{Text: wanted}).Sessions[0]
	if s.Outcome != Fixed || s.Error.Branch != "abandoned" || len(s.Calls) != 2 {
		t.Errorf("on an abandoned branch: %s on %s", described(&s), s.Error.Branch)
	}
}

func TestFindMasks(t *testing.T) {
	const key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ"
	l := stories.New(t, stories.Story{Name: "it", Entries: minutes(
		stories.Prompt("use "+key), ran("curl -H 'x-api-key: "+key+"' a"), stories.Result("bash", "curl: (22) unknown certificate authority, with "+key, true),
		ran("curl -k -H 'x-api-key: "+key+"' a"), worked("ok"), stories.Reply("With "+key+" it works."),
	)})
	for _, masked := range []bool{false, true} {
		s := find(t, l, Request{Text: "curl: (22) unknown certificate authority", Redact: masked}).Sessions[0]
		text := s.FirstPrompt + "\n" + s.Error.Text + "\n" + s.Calls[0].Text + "\n" + s.Reply.Text
		want := 4
		if masked {
			want = 0
		}
		if asked := find(t, l, Request{Text: "curl: (22) unknown certificate authority, with " + key, Redact: masked}).Text; strings.Contains(asked, key) == masked {
			t.Errorf("masked %v: asked for %q", masked, asked)
		}
		if got := strings.Count(text, key); got != want {
			t.Errorf("masked %v: the key is there %d times, want %d:\n%s", masked, got, want, text)
		}
	}
}

// The end of a long text counts, and in it the weightiest lines.
func TestLongText(t *testing.T) {
	l := stories.New(t, stories.Story{Name: "it", Entries: minutes(ran("python3 a.py"), missing("yaml"))})
	for _, text := range []string{
		strings.Repeat("the file has some lines of a log\n", 5000) + wanted,
		lines(500, "warning %d") + wanted,
		lines(50, "failed to read %c%c") + wanted + "\nend",
	} {
		resp := find(t, l, Request{Text: text})
		if len(resp.Sessions) != 1 || (len(resp.Warnings) > 0) != (len(text) > MaxText) {
			t.Errorf("%.40q: %d sessions, warnings %q", text, len(resp.Sessions), resp.Warnings)
		}
		if !strings.Contains(resp.Text, wanted) || len(resp.Text) > maxText+4 {
			t.Errorf("%.40q: looked for %q", text, resp.Text)
		}
	}
}

func TestTextOfBinaryData(t *testing.T) {
	l := stories.New(t, stories.Story{Name: "it"})
	if got := find(t, l, Request{Text: "\x00\xff\x1b[31mbroken\x9b \x07pipe\x00"}).Text; got != "[31mbroken pipe" {
		t.Errorf("%q", got)
	}
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if strings.Contains(format, "%d") {
			fmt.Fprintf(&b, format, i)
		} else {
			fmt.Fprintf(&b, format, 'a'+i/26, 'a'+i%26)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// If no likely session has the error, less likely ones are compared too.
func TestComparesMore(t *testing.T) {
	var list []stories.Story
	for i := range 60 {
		talk := stories.Prompt(fmt.Sprintf("named ModuleNotFoundError %c%c", 'a'+i/26, 'a'+i%26))
		list = append(list, stories.Story{Name: fmt.Sprintf("talk%d", i), Entries: minutes(talk, talk)})
	}
	long := stories.Result("bash", strings.Repeat("some long text about other things goes here and on\n", 60)+wanted, true)
	l := stories.New(t, append(list, stories.Story{Name: "it", Entries: minutes(ran("python3 a.py"), long)})...)
	for _, limit := range []int{1, 0, search.All} {
		if resp := find(t, l, Request{Text: wanted, Limit: limit}); len(resp.Sessions) != 1 || resp.Sessions[0].SessionID != "id-of-it" {
			t.Errorf("limit %d: %d sessions, exact %v, warnings %q", limit, len(resp.Sessions), resp.TotalIsExact, resp.Warnings)
		}
	}
}

// An answer that did not read all says so.
func TestIncomplete(t *testing.T) {
	var entries []turn
	for i := range 40 {
		entries = append(entries, stories.Prompt(fmt.Sprintf("named ModuleNotFoundError %c%c", 'a'+i/26, 'a'+i%26)))
	}
	l := stories.New(t, stories.Story{Name: "it", Entries: minutes(entries...)})
	if resp := find(t, l, Request{Text: wanted}); len(resp.Sessions) != 0 || resp.TotalIsExact || len(resp.Warnings) != 1 {
		t.Errorf("%d sessions, exact %v, warnings %q", len(resp.Sessions), resp.TotalIsExact, resp.Warnings)
	}
}

// The text of an error in a long line has the error.
func TestErrorInLongLine(t *testing.T) {
	line := `{"data":"` + strings.Repeat("lörem ipsum ", 300) + `","msg":"` + wanted + `"}`
	l := stories.New(t, stories.Story{Name: "it", Entries: minutes(ran("curl x"), failedWith(line))})
	for _, masked := range []bool{false, true} {
		if s := find(t, l, Request{Text: wanted, Redact: masked}).Sessions; len(s) != 1 || !strings.Contains(s[0].Error.Text, wanted) || len(s[0].Error.Text) > maxText+3 {
			t.Errorf("masked %v: %q", masked, s[0].Error.Text)
		}
	}
}

func TestNoWords(t *testing.T) {
	l := stories.New(t, stories.Story{Name: "it"})
	for _, text := range []string{"", " \n", "?!"} {
		if _, err := Find(t.Context(), l.Reader, pi.New(), stories.Disk{}, Request{Text: text}); !errors.Is(err, ErrNoWords) {
			t.Errorf("Find(%q): %v", text, err)
		}
	}
	if resp := find(t, l, Request{Text: "any error", Limit: search.All}); resp.Total != 0 {
		t.Errorf("an empty library has %d", resp.Total)
	}
}

// A session file that changed after it was indexed costs its own answer only.
func TestChangedSession(t *testing.T) {
	l := stories.New(t,
		stories.Story{Name: "kept", Entries: minutes(ran("python3 a.py"), missing("yaml"))},
		stories.Story{Name: "cut", Start: stories.Day.AddDate(0, 0, 1), Entries: minutes(ran("python3 a.py"), missing("yaml"))},
	)
	if err := os.WriteFile(l.Path("cut"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	resp := find(t, l, Request{Text: wanted})
	if len(resp.Sessions) != 1 || resp.Sessions[0].SessionID != "id-of-kept" || resp.TotalIsExact || len(resp.Warnings) != 1 {
		t.Errorf("%d sessions, exact %v, warnings %q", len(resp.Sessions), resp.TotalIsExact, resp.Warnings)
	}
}

// The calls after an error tell what was done: without reads and searches, with the files of a patch
// and the ends of a script, and those in a row once.
func TestStepsTellWhatWasDone(t *testing.T) {
	const patch = "apply_patch <<'PATCH'\n*** Begin Patch\n*** Update File: src/a.go\n@@\n-x\n+y\n*** Add File: src/b.go\n+z\n*** End Patch\nPATCH"
	entries := []turn{ran("python3 a.py"), missing("yaml")}
	for _, command := range []string{
		"find . -name '*.py'", "grep -rn yaml . | head -5", "cd /srv && ls 2>&1", "cat a.py 2>/dev/null", "git status",
		patch, "sed -i s/yaml/json/ a.py", "echo pyyaml > requirements.txt", "python3 - <<'EOF'\nimport sys\nprint(sys.path)\nEOF",
		"sleep 5; make", "make", "make", "make",
	} {
		entries = append(entries, ran(command), worked("ok"))
	}
	entries = append(entries, used("read", map[string]any{"path": "/srv/b.py"}), gave("read", "text", false),
		used("edit", map[string]any{"path": "/srv/b.py", "edits": []any{}}), gave("edit", "ok", false), ran("python3 a.py"), worked("ok"))
	l := stories.New(t, stories.Story{Name: "it", CWD: "/srv", Entries: minutes(entries...)})
	list := find(t, l, Request{Text: wanted}).Sessions
	if len(list) != 1 {
		t.Fatalf("%d sessions", len(list))
	}
	var got []string
	for i := range list[0].Calls {
		got = append(got, list[0].Calls[i].Told())
	}
	want := []string{
		"bash apply_patch src/a.go, src/b.go", "bash sed -i s/yaml/json/ a.py", "bash echo pyyaml > requirements.txt", "bash python3 - <<'EOF' … print(sys.path)",
		"bash sleep 5; make", "bash make ×3", "edit /srv/b.py", "bash python3 a.py",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
