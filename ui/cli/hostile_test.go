package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/terminal"
	"pigrep/lab/testkit"
)

// evils are what a session file may have in any of its strings: colours, titles, other sequences of
// escapes, their forms of one character, what turns or hides text, and line ends of all sorts.
var evils = []string{
	"\x1b[95mA\x1b[1;1HB", "\x1b]0;evil\x07C", "\x1b[2J\x1b[3JD", "\u009b2JE\u009c", "\u009d0;evil\u009cF", "\u202eG\u202d", "H\r\nforged I", "J\u2028K\u2029L",
	"M\u0085N", "O\x00P", "\x08\x08Q", "\x7fR", "\ufeffS", "\U000e0041T", "\x1bPq\x1b\\U", "\u2066V\u2069", "W\rX", "\x1b]8;;http://evil\x07Y", "\x1b]52;c;eA==\x07Z", "\x1bc1", "\v2\f3", "\u200f4\u061c",
}

// sources are small real session files, and where variants of them belong in a home directory.
var sources = []struct{ from, to string }{
	{"sessions/--home-dev-atlas--/2026-03-02T09-15-00-000Z_0195562e-9a20-7c11-8f3a-5d2b6c7e8f90.jsonl", ".pi/agent/sessions/--p--/%s.jsonl"},
	{"agents/claude/projects/-path-to-Demo/1af7fc5e-8455-4414-9ccd-011d40f70b2a.jsonl", ".claude/projects/-p/%s.jsonl"},
	{"agents/codex/sessions/2026/11/21/rollout-2026-11-21T21-27-10-48eae68e-c0c6-412e-a763-b7f3b830ccdd.jsonl", ".codex/sessions/2026/11/21/rollout-2026-11-21T21-27-10-%s.jsonl"},
}

// places returns where strings are in JSON, without the numbers of elements.
func places(v any, at string, found map[string]bool) {
	switch v := v.(type) {
	case string:
		found[at] = true
	case []any:
		for _, x := range v {
			places(x, at+"[]", found)
		}
	case map[string]any:
		for k, x := range v {
			places(x, at+"."+k, found)
		}
	}
}

// spoilt returns JSON with something evil in the strings at a place, and in the keys beside it.
func spoilt(v any, at, place, evil string) any {
	switch v := v.(type) {
	case string:
		if at == place {
			return v + evil
		}
	case []any:
		for i := range v {
			v[i] = spoilt(v[i], at+"[]", place, evil)
		}
	case map[string]any:
		for _, k := range slices.Collect(maps.Keys(v)) {
			v[k] = spoilt(v[k], at+"."+k, place, evil)
		}
	}
	return v
}

// hostileHome writes sessions of three agents to a home directory: for each place of a string in a
// session a file that has something evil there. It returns how many files there are.
func hostileHome(t *testing.T, home string) (files int) {
	t.Helper()
	for number, source := range sources {
		data, err := os.ReadFile(filepath.Join(testkit.Root(), "testdata", source.from))
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(source.from), ".jsonl")
		id := name[len(name)-36:]
		found := make(map[string]bool)
		lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
		for _, line := range lines[:min(len(lines), 60)] {
			var v any
			if json.Unmarshal(line, &v) == nil {
				places(v, "", found)
			}
		}
		for i, place := range slices.Repeat(slices.Sorted(maps.Keys(found)), testkit.HowMany(1, 3, 9)) { // with different ones each time
			files++
			evil := evils[files%len(evils)] + evils[(files*7+3)%len(evils)] + evils[(files*5+11)%len(evils)]
			other := fmt.Sprintf("%08x-0000-7000-8000-%012x", 0xa0000000+number, i)
			var b bytes.Buffer
			for _, line := range lines[:min(len(lines), 60)] {
				var v any
				if json.Unmarshal(line, &v) == nil {
					line, _ = json.Marshal(spoilt(v, "", place, evil))
				}
				b.Write(bytes.ReplaceAll(line, []byte(id), []byte(other)))
				b.WriteByte('\n')
			}
			path := filepath.Join(home, filepath.FromSlash(fmt.Sprintf(source.to, other)))
			testkit.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
			testkit.Check(t, os.WriteFile(path, b.Bytes(), 0o644))
		}
	}
	// A file without a header, an id, times or a good name.
	path := filepath.Join(home, ".pi", "agent", "sessions", "--p--", "e\x1b[95mvil\u202e\x07.jsonl")
	testkit.Check(t, os.WriteFile(path, []byte(`{"type":"message","id":"m","message":{"role":"user","content":"hostile name"}}`+"\n"), 0o644))
	return files + 1
}

// ownStyles are what pigrep itself writes.
var ownStyles = regexp.MustCompile("\x1b\\[([0-9]|22|3[0-7]|9[0-4])?(;([0-9]|3[0-7]|9[0-4]))*m")

// raw returns what is around the first control code of a text; "" if it has none.
func raw(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && terminal.Hidden(r) })
	if at < 0 {
		return ""
	}
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	return fmt.Sprintf("%q", text[max(begin, at-200):min(len(text), at+60)])
}

// Whatever a session file has in any of its strings, no command prints a control code but its own
// styles: neither as on a terminal, where a guard stands behind what prints, nor in a pipe and in
// colours, where none does. JSON has them as escapes.
func TestHostileSessions(t *testing.T) {
	testkit.Unraced(t)
	a, out, errs := testApp(t)
	files := hostileHome(t, a.Home)
	if files < testkit.HowMany(90, 280, 280) {
		t.Fatalf("only %d files", files)
	}
	run := func(args ...string) (text, said string) {
		out.Reset()
		errs.Reset()
		Run(t.Context(), a, args)
		return out.String(), errs.String()
	}
	run("index")
	ids, _ := run("sessions", "-n", "0")
	if n := strings.Count(ids, "\n"); n < files/2 {
		t.Fatalf("%d sessions of %d files", n, files)
	}
	var commands [][]string
	for _, line := range strings.Split(strings.TrimSpace(`
search -n 0 the
search -n 0 --flat --explain the
search -n 0 -C 2 read
search zyzzyva the
search --format {session}|{cwd}|{tool}|{role}|{model}|{title} the
search --json -n 0 the
search --jsonl -n 50 the
grep .
grep -c .
grep -l .
grep -C 1 the
grep --vimgrep the
grep --json evil
sessions -n 0
sessions -n 0 --forks
sessions -n 0 the
sessions --json -n 0
tools
tools --by tool,model
tools --by project,agent,action
tools --csv
tools --json
tools calls
tools calls --results
tools calls --csv
tools calls --json
tools commands
tools commands --risky
tools commands --risky --json
tools files
tools files --json
usage
usage --by model
usage --by session
usage --by project,day
usage --by model --csv
usage --json
fix error
fix No such file or directory
recap --since 2000-01-01
recap --since 2000-01-01 --lessons
recap --since 2000-01-01 --json
report --since 2000-01-01
status
status --json
doctor
keep
config
hosts
remote list
resume --last
resume the
`), "\n") {
		commands = append(commands, strings.Fields(line))
	}
	for i, line := range strings.Split(strings.TrimSpace(ids), "\n") {
		id, _, _ := strings.Cut(line, "\t")
		if i%testkit.HowMany(5, 1, 1) == 0 {
			commands = append(commands, []string{"show", "--no-pager", id})
		}
		if i%testkit.HowMany(60, 16, 4) == 0 {
			for _, how := range []string{"show --json", "show --calls", "show --all", "show --raw", "export", "export --html", "similar", "recap", "resume"} {
				commands = append(commands, append(strings.Fields(how), id))
			}
		}
	}
	env := make(map[string]string)
	getenv := a.Getenv
	a.Getenv = func(name string) string {
		if v, ok := env[name]; ok {
			return v
		}
		return getenv(name)
	}
	seen := 0
	modes := []string{"pipe", "colours", "terminal", "coloured terminal"}
	for i, args := range commands {
		line := strings.Join(args, " ")
		modes := modes
		if args[0] == "show" && len(args) == 3 || testing.Short() { // each in one of them
			modes = modes[i%4:][:1]
		}
		isJSON := strings.Contains(line, "--json") || strings.Contains(line, "--raw")
		for _, mode := range modes {
			clear(env)
			with := args
			a.Streams.OutTTY, a.Streams.ErrTTY = strings.HasSuffix(mode, "terminal"), strings.HasSuffix(mode, "terminal")
			switch {
			case mode == "terminal":
				env["NO_COLOR"] = "1"
			case mode == "colours" || mode == "coloured terminal":
				env["FORCE_COLOR"] = "1"
			}
			text, said := run(with...)
			if seen += len(text); isJSON && mode == "colours" {
				continue
			}
			if strings.HasPrefix(mode, "colour") {
				text = ownStyles.ReplaceAllString(text, "")
			}
			if strings.Contains(line, "--csv") {
				text = strings.ReplaceAll(text, "\r\n", "\n")
			}
			if strings.Contains(line, "--raw") && mode == "pipe" {
				continue // the lines as they are
			}
			if found := raw(text); found != "" {
				t.Errorf("pigrep %s (%s) prints %s", line, mode, found)
			}
			said = ownStyles.ReplaceAllString(said, "")
			if found := raw(said); found != "" {
				t.Errorf("pigrep %s (%s) says %s", line, mode, found)
			}
		}
	}
	if seen < 1<<18 {
		t.Errorf("all commands print %d bytes", seen)
	}
}

// Agents get no control codes either, in no string of an answer, as text or structured.
func TestHostileSessionsForAgents(t *testing.T) {
	testkit.Unraced(t)
	from := t.TempDir()
	hostileHome(t, from)
	g := newAgent(t, from)
	strs, asked := 0, 0
	var names []string
	ask := func(tool, arguments string) {
		t.Helper()
		asked++
		r := g.result(tool, arguments)
		var look func(at string, v any)
		look = func(at string, v any) {
			switch v := v.(type) {
			case string:
				strs++
				if found := raw(v); found != "" {
					t.Errorf("%s %s: %s is %s", tool, arguments, at, found)
				}
				if strings.HasSuffix(at, ".session") && !slices.Contains(names, v) {
					names = append(names, v)
				}
			case []any:
				for _, x := range v {
					look(at+"[]", x)
				}
			case map[string]any:
				for k, x := range v {
					look("key", k)
					look(at+"."+k, x)
				}
			}
		}
		for _, c := range r.Content {
			look("text", c.(*sdk.TextContent).Text)
		}
		data, err := json.Marshal(r.StructuredContent)
		testkit.Check(t, err)
		var v any
		testkit.Check(t, json.Unmarshal(data, &v))
		look("", v)
	}
	for tool, list := range map[string][]string{
		"search":        {`{"query":"the","limit":100}`, `{"query":"read","context":2,"limit":50}`, `{"query":"hostile name"}`, `{"query":"zyzzyva the"}`},
		"grep":          {`{"pattern":".","limit":200}`, `{"pattern":"the","context":2}`},
		"list_sessions": {`{"limit":100}`, `{"query":"the","limit":100}`},
		"tool_calls":    {`{"limit":100}`, `{"risky":true}`},
		"usage":         {`{"by":"model"}`, `{"by":"session"}`, `{"by":"tool"}`, `{"by":"project"}`},
		"find_fix":      {`{"error":"No such file or directory"}`},
		"recap":         {`{"since":"2000-01-01"}`},
		"status":        {`{}`},
	} {
		for _, arguments := range list {
			ask(tool, arguments)
		}
	}
	for _, name := range slices.Clone(names) {
		data, _ := json.Marshal(map[string]any{"session": name})
		ask("read_session", string(data))
	}
	if strs < 1000 || asked < 50 {
		t.Errorf("%d strings of %d answers", strs, asked)
	}
}
