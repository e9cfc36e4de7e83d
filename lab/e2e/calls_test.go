package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/pi"
	"pigrep/internal/shellcmd"
	"pigrep/query/audit"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/sessions"
)

// deploy is a session in which a file is read, edited and a deploy fails; the
// second branch tries again, and that has no result yet.
const deploy = `{"type":"session","version":3,"id":"0195cccc-1111-7222-8333-444455556666","timestamp":"2026-01-15T10:00:00.000Z","cwd":"/home/u/app"}
{"type":"message","id":"aa000001","parentId":null,"timestamp":"2026-01-15T10:00:01.000Z","message":{"role":"user","content":"deploy the login service"}}
{"type":"message","id":"aa000002","parentId":"aa000001","timestamp":"2026-01-15T10:00:02.000Z","message":{"role":"assistant","provider":"acme","model":"opus-9","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"/home/u/app/deploy.sh"}},{"type":"toolCall","id":"c2","name":"edit","arguments":{"path":"deploy.sh","edits":[]}}]}}
{"type":"message","id":"aa000003","parentId":"aa000002","timestamp":"2026-01-15T10:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"set -e\nkubectl apply"}]}}
{"type":"message","id":"aa000004","parentId":"aa000003","timestamp":"2026-01-15T10:00:04.000Z","message":{"role":"toolResult","toolCallId":"c2","toolName":"edit","content":[{"type":"text","text":"edited"}]}}
{"type":"message","id":"aa000005","parentId":"aa000004","timestamp":"2026-01-15T10:00:05.000Z","message":{"role":"assistant","provider":"acme","model":"opus-9","content":[{"type":"toolCall","id":"c3","name":"bash","arguments":{"command":"sudo ./deploy.sh | tee log"}}]}}
{"type":"message","id":"aa000006","parentId":"aa000005","timestamp":"2026-01-15T10:00:06.000Z","message":{"role":"toolResult","toolCallId":"c3","toolName":"bash","isError":true,"content":[{"type":"text","text":"denied\nCommand exited with code 1"}]}}
{"type":"message","id":"bb000005","parentId":"aa000004","timestamp":"2026-01-15T10:00:07.000Z","message":{"role":"assistant","provider":"acme","model":"opus-9","content":[{"type":"toolCall","id":"c4","name":"bash","arguments":{"command":"./deploy.sh"}}]}}
`

// What tools did is told call by call, by program and by file: the latest call
// first, each with its own result, and filters leave in what they name.
func TestCallsCommandsAndFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.jsonl"), []byte(deploy), 0o644); err != nil {
		t.Fatal(err)
	}
	r := update(t, filepath.Join(t.TempDir(), "index"), root).Reader
	request := func() audit.Request {
		return audit.Request{Env: filter.Env{Now: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}, Location: time.UTC}
	}
	type call struct{ Tool, Arguments, Status, FirstLine string }
	calls := func(req audit.Request) (list []call) {
		t.Helper()
		req.Results = true
		answer, err := audit.Calls(t.Context(), r, pi.New(), disk{}, req)
		if err != nil {
			t.Fatal(err)
		}
		err = answer.Each(context.Background(), func(row *audit.CallRow) error {
			c := call{row.Tool, row.Arguments, row.Status, ""}
			if len(row.Result) > 0 {
				c.FirstLine = row.Result[0]
			}
			list = append(list, c)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if answer.Total >= 0 && answer.Total != len(list) {
			t.Errorf("%d calls, %d were announced", len(list), answer.Total)
		}
		return list
	}
	check := func(what string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	retry, denied := call{"bash", "./deploy.sh", "none", ""}, call{"bash", "sudo ./deploy.sh | tee log", "error", "denied"}
	edit, read := call{"edit", "path: deploy.sh edits: []", "ok", "edited"}, call{"read", "path: /home/u/app/deploy.sh", "ok", "set -e"}
	check("all calls", []call{retry, denied, edit, read}, calls(request()))
	req := request()
	req.Error = true
	check("failed calls", []call{denied}, calls(req))
	req = request()
	req.Rules = []string{"superuser"}
	check("calls that match a rule", []call{denied}, calls(req))
	req = request()
	req.Branch = entry.BranchAbandoned
	check("calls of the other branch", []call{denied}, calls(req))
	req = request()
	req.Args = []audit.ArgTest{{Name: "path", Match: regexp.MustCompile(`^deploy\.sh$`)}}
	check("calls with an argument", []call{edit}, calls(req))
	req = request()
	req.Text = "sudo log"
	check("calls with the words, not results", []call{denied}, calls(req))
	req = request()
	req.Tools = []string{"read"}
	check("calls of a tool", []call{read}, calls(req))

	table, err := audit.Commands(t.Context(), r, pi.New(), disk{}, request())
	if err != nil {
		t.Fatal(err)
	}
	runs := make(map[string]int)
	for _, row := range table.Rows {
		runs[row.Program] = row.Runs
	}
	check("programs", map[string]int{"deploy.sh": 2, "sudo": 1, "tee": 1}, runs)
	check("shell commands", 2, table.Calls)

	files, err := audit.Files(t.Context(), r, request(), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(files.Rows) != 1 || files.Rows[0].Path != "/home/u/app/deploy.sh" || files.Rows[0].Reads != 1 || files.Rows[0].Edits != 1 {
		t.Errorf("files %+v, want one that was read once and edited once", files.Rows)
	}
	files, err = audit.Files(t.Context(), r, request(), "deploy.sh")
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, touch := range files.Touches {
		actions = append(actions, touch.Action)
	}
	check("what happened to the file", []string{"read", "edit"}, actions)
}

// Rules see the whole shell command, although the facts keep only its beginning.
// Duplicates in a fork count as such, and only those of calls that match.
func TestRulesOfLongCommands(t *testing.T) {
	root := t.TempDir()
	long := "sudo ./deploy.sh # " + strings.Repeat("x", shellcmd.MaxCommand) + `\nrm -rf build`
	text := strings.Replace(deploy, "sudo ./deploy.sh | tee log", long, 1)
	fork := strings.Replace(text, "0195cccc-1111", "0195cccd-1111", 1)
	fork = strings.Replace(fork, "T10:00:00", "T11:00:00", 1)
	path := filepath.Join(root, "a.jsonl")
	for name, data := range map[string]string{path: text, filepath.Join(root, "b.jsonl"): fork} {
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := update(t, filepath.Join(t.TempDir(), "index"), root).Reader
	find := func(req audit.Request) (matched [][]string, answer *audit.CallList) {
		t.Helper()
		answer, err := audit.Calls(t.Context(), r, pi.New(), disk{}, req)
		if err != nil {
			t.Fatal(err)
		}
		err = answer.Each(context.Background(), func(row *audit.CallRow) error {
			matched = append(matched, row.Rules)
			return nil
		})
		if err != nil || answer.Total != len(matched) {
			t.Errorf("%d calls, %d were announced, %v", len(matched), answer.Total, err)
		}
		return matched, answer
	}
	both := [][]string{{"recursive-delete", "superuser"}}
	for _, req := range []audit.Request{{Risky: true}, {Rules: []string{"recursive-delete"}}, {Rules: []string{"credentials", "superuser"}}} {
		matched, answer := find(req)
		if diff := cmp.Diff(both, matched); diff != "" {
			t.Errorf("risky %t, rules %v (-want +got):\n%s", req.Risky, req.Rules, diff)
		}
		if answer.Coverage.Copies != 1 {
			t.Errorf("risky %t, rules %v: %d duplicates, want that of the call", req.Risky, req.Rules, answer.Coverage.Copies)
		}
	}
	// Without the file, the rules are known from the index, and a warning says that the file is gone.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	matched, answer := find(audit.Request{Risky: true})
	if diff := cmp.Diff(both, matched); diff != "" {
		t.Errorf("without the file (-want +got):\n%s", diff)
	}
	if len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], path) {
		t.Errorf("warnings %q, want one about %s", answer.Warnings, path)
	}
}

// A name is found as an entry of the session that has it, and a session by what
// was said in it.
func TestFindingByNameAndText(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.jsonl"), []byte(deploy), 0o644); err != nil {
		t.Fatal(err)
	}
	r := update(t, filepath.Join(t.TempDir(), "index"), root).Reader
	places, err := sessions.FindEntries(r, "BB0000")
	if err != nil || len(places) != 1 || places[0].EntryID != "bb000005" {
		t.Errorf("FindEntries: %+v, %v", places, err)
	}
	rec, err := r.Record(r.Summaries()[0].File)
	if err != nil {
		t.Fatal(err)
	}
	if i, err := sessions.FindEntry(rec, rec.Tree(), "bb"); err != nil || rec.Nodes[i].ID != "bb000005" {
		t.Errorf("FindEntry(bb) = %d, %v", i, err)
	}
	if _, err := sessions.FindEntry(rec, rec.Tree(), "aa"); err == nil {
		t.Error("FindEntry(aa), the beginning of several, is no error")
	}
	if _, err := sessions.FindEntry(rec, rec.Tree(), "aa000009"); err == nil {
		t.Error("FindEntry of an entry that is not there is no error")
	}
	list, err := sessions.List(t.Context(), r, pi.New(), disk{}, sessions.Request{
		Text: "kubectl", Env: filter.Env{Now: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].Hit == nil || list.Sessions[0].Hit.EntryID != "aa000003" {
		t.Fatalf("Sessions: %+v, %v", list, err)
	}

	var shape []string
	f, err := os.Open(filepath.Join(root, "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := entry.NewConversation(pi.New(), rec, f)
	for row, err := range c.TreeRows(true) {
		if err != nil {
			t.Fatal(err)
		}
		mark := map[bool]string{true: " active"}[row.Active] + map[bool]string{true: " leaf"}[row.Leaf]
		shape = append(shape, row.Entry.ID+mark)
	}
	want := []string{"aa000001 active", "aa000002 active", "aa000003 active", "aa000004 active", "aa000005", "aa000006", "bb000005 active leaf"}
	if diff := cmp.Diff(want, shape); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}
