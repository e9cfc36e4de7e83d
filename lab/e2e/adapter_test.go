package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
	"pigrep/ui/cli"
	"pigrep/ui/cli/app"
)

const (
	chatHeader = `{"room":"kitchen","dir":"/home/u/kitchen"}` + "\n"
	chatPrompt = `{"at":1000,"who":"me","says":"Why does the getOvenTimer fail?"}` + "\n"
	piHeader   = `{"type":"session","version":3,"id":"01a1f7de-0000","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/u/app"}` + "\n"
	piPrompt   = `{"type":"message","id":"e1","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"the getOvenTimer again"}}` + "\n"
)

// appendTo writes at the end of a file, which it makes with its directory.
func appendTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// ofFile returns what the index says of a file.
func ofFile(res *indexer.Result, path string) []session.Summary {
	return slices.DeleteFunc(slices.Clone(res.Reader.Summaries()), func(s session.Summary) bool { return s.Path != path })
}

// allAgents are those of the program, and chat.
func allAgents() []adapter.Agent { return append(agents.All(), chat{}) }

// All that is not the format comes with an adapter: finding what changed, the
// index, searching the sessions of all agents at once, reading them again, and that
// torn lines wait and broken ones hide nothing.
func TestAnotherAgent(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	known := adapter.NewRegistry(adapter.Environment{
		Home: home, WorkDir: home, Getenv: func(string) string { return "" }, ReadFile: os.ReadFile,
	}, allAgents()...)
	roots, err := known.Roots()
	if err != nil {
		t.Fatal(err)
	}
	registry := known.In(roots)
	kitchen := filepath.Join(home, ".chat", "kitchen.jsonl")
	appendTo(t, kitchen, chatHeader+chatPrompt+"broken\n")
	appendTo(t, filepath.Join(home, ".pi", "agent", "sessions", "--home-u-app--", "a.jsonl"), piHeader+piPrompt)

	opt := options(filepath.Join(home, "index"), "")
	opt.Adapter, opt.Roots = registry, roots
	follow := func() *indexer.Result {
		t.Helper()
		res, err := indexer.Update(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Reader.Close() })
		return res
	}
	type found struct {
		Kind       session.Kind
		Line       int
		CWD, Match string
		Program    string // that resumes it
	}
	search := func(res *indexer.Result, text string) []found {
		t.Helper()
		answer, err := search.Run(t.Context(), res.Reader, registry, disk{}, search.Request{
			Text: text, Flat: true, Sort: rank.Newest, Env: filter.Env{Now: time.UnixMilli(1e12)}, Resume: registry.ResumeCommand,
		})
		if err != nil {
			t.Fatal(err)
		}
		var list []found
		for _, h := range answer.Hits {
			span := h.Fragment.Spans[0]
			list = append(list, found{h.Kind, h.Line, h.CWD, h.Fragment.Text[span[0]:span[1]], h.Resume.Argv[0]})
		}
		return list
	}

	res := follow()
	want := []found{
		{session.KindPrompt, 2, "/home/u/app", "getOvenTimer", "pi"},
		{session.KindPrompt, 2, "/home/u/kitchen", "getOvenTimer", "chat"},
	}
	if diff := cmp.Diff(want, search(res, "get_oven_timer")); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	summaries := ofFile(res, kitchen)
	if len(summaries) != 1 || summaries[0].ID != "kitchen" || summaries[0].FirstPrompt != "Why does the getOvenTimer fail?" || summaries[0].Skipped != 1 {
		t.Errorf("summaries %+v", summaries)
	}

	appendTo(t, kitchen, `{"at":2000,"who":"it","tokens":7,"says":"The timer cou`)
	if list := search(follow(), "counts"); len(list) > 0 {
		t.Errorf("half a line is found: %v", list)
	}
	appendTo(t, kitchen, `nts down twice"}`+"\n")
	res = follow()
	want = []found{{session.KindReply, 4, "/home/u/kitchen", "counts", "chat"}}
	if diff := cmp.Diff(want, search(res, "counts")); diff != "" {
		t.Errorf("after the line was ended (-want +got):\n%s", diff)
	}
	if summaries = ofFile(res, kitchen); len(summaries) != 1 || summaries[0].UsedTokens != 7 {
		t.Errorf("summaries %+v, want 7 tokens", summaries)
	}

	report, err := indexer.Check(t.Context(), opt, true)
	if err != nil || len(report.Findings) > 0 || report.Compared != 2 {
		t.Errorf("the index is not what the files say: %v %+v", err, report)
	}
}

// program returns a function that runs the program with these agents and variables, in a
// home directory, and returns what it prints.
func program(t *testing.T, home string, env map[string]string, all ...adapter.Agent) func(args ...string) string {
	return func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		a := &app.App{
			Process: app.Process{
				Getenv: func(name string) string {
					if value, ok := env[name]; ok || name != "PIGREP_INDEX_DIR" {
						return value
					}
					return filepath.Join(home, "index")
				},
				Now: time.Now, LookPath: exec.LookPath,
			},
			User: app.User{
				Home: home, WorkDir: home, ConfigDir: filepath.Join(home, ".config"), CacheDir: filepath.Join(home, ".cache"),
				Zone: func() *time.Location { return time.UTC },
			},
			Speech: app.Speech{Streams: &terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: 100}},
			Agents: all,
		}
		cli.Run(t.Context(), a, args)
		return out.String() + errs.String()
	}
}

// The program needs no more than the list of agents: every command takes the
// sessions of each.
func TestProgramWithAnotherAgent(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	appendTo(t, filepath.Join(home, ".chat", "kitchen.jsonl"), chatHeader+chatPrompt+`{"at":2000,"who":"it","tokens":7,"says":"Count down once."}`+"\n")
	appendTo(t, filepath.Join(home, ".pi", "agent", "sessions", "--home-u-app--", "a.jsonl"), piHeader+piPrompt)
	elsewhere := filepath.Join(home, "copies")
	appendTo(t, filepath.Join(elsewhere, "garden", "garden.jsonl"), `{"room":"garden","dir":"/home/u/garden"}`+"\n"+chatPrompt)

	run := program(t, home, nil, allAgents()...)
	for _, test := range []struct {
		args string
		want []string
	}{
		{"search --jsonl getOvenTimer", []string{`"cwd":"/home/u/kitchen"`, `"cwd":"/home/u/app"`, `["chat","--room","kitchen"]`}},
		{"grep -n Oven", []string{"Why does the getOvenTimer fail?", "the getOvenTimer again"}},
		{"sessions", []string{"kitchen", "app"}},
		{"show kitchen", []string{"Why does the getOvenTimer fail?", "Count down once."}},
		{"resume kitchen --in " + home, []string{"chat cannot resume", "it has no copies"}},
		{"usage --jsonl", []string{`"tokens":7`}},
		{"status", []string{".chat", ".pi"}},
		{"version --json", []string{` chat.v1"`}},
		{"search --session-dir " + elsewhere + " --jsonl getOvenTimer", []string{`"cwd":"/home/u/garden"`, `["chat","--room","garden"]`}},
	} {
		got := run(strings.Fields(test.args)...)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("pigrep %s lacks %q:\n%s", test.args, want, got)
			}
		}
	}
}
