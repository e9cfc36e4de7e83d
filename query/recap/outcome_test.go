package recap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/pi"
	"pigrep/lab/stories"
)

// What a session did, what failed in it and what is open is told by what was printed and said, not only by exit codes.
func TestFactsOfASession(t *testing.T) {
	const exit1 = "\n\nCommand exited with code 1"
	type deed = []stories.Turn
	for name, test := range map[string]struct {
		deeds []deed
		reply string
		want  string
	}{
		"commit by a script":        {[]deed{did("./release.sh 1.2", "building\n[main e0391b8] Release 1.2\n 3 files changed")}, "", "commit e0391b8 Release 1.2"},
		"commit before a failure":   {[]deed{did("git commit -m x && git push", "[main (root-commit) e0391b8] x\nerror: failed to push some refs to 'origin'"+exit1)}, "", "failed git commit -m x && git push\ncommit e0391b8 x"},
		"quiet commit":              {[]deed{did("git commit -qm 'Renew leases' && git log --oneline -2", "e0391b8 (HEAD -> main) Renew leases\n1234567 Older")}, "", "commit e0391b8 Renew leases"},
		"commit in a log":           {[]deed{did("cat build.log", "[main e0391b8] Release 1.2"), did("git log -3", "[main e0391b9] no")}, "", ""},
		"pull request":              {[]deed{did("gh pr create --fill", "https://github.com/a/b/pull/12"), did("gh pr merge 12 --squash", "")}, "", "pull https://github.com/a/b/pull/12\npull merged https://github.com/a/b/pull/12"},
		"merged by number":          {[]deed{did("cd x && gh pr merge 7 --squash --delete-branch", "✓ Squashed and merged pull request #7 (Renew)")}, "", "pull merged #7"},
		"merge that failed":         {[]deed{did("gh pr merge 7", "GraphQL: not mergeable"+exit1)}, "", "failed gh pr merge 7"},
		"merge over the API":        {[]deed{did("gh api -X PUT repos/a/b/pulls/7/merge", "{\"merged\":true}")}, "", "pull merged #7"},
		"hidden by a pipe":          {[]deed{did("make all 2>&1 | tail -3", "cc: x\nmake: *** [all] Error 2")}, "", "failed make all 2>&1 | tail -3"},
		"hidden, then passed":       {[]deed{did("go test ./... | tail", "--- FAIL: TestX (0.00s)\nFAIL"), did("edit a.go", "ok"), did("go test ./lease", "ok")}, "", "changed /srv/app/a.go\nfailed go test ./... | tail, passed after a.go"},
		"hidden by echo":            {[]deed{did("npm run lint; echo \"exit: $?\"", "2 problems\nexit: 1")}, "", "failed npm run lint; echo \"exit: $?\""},
		"no failure":                {[]deed{did("npm test; echo \"exit: $?\"", "12 passed, 0 failed\nexit: 0"), did("go test ./...", "ok  	a	0.1s"), did("grep -rn FAIL .", "a.go:1: FAIL"), did("cat log", "FAIL: x"), did("git log -3", "fatal: not a fix")}, "", ""},
		"probes":                    {[]deed{did("ls nosuch", "ls: nosuch: No such file or directory"+exit1), did("which x", exit1), did("diff a b", "1c1"+exit1), did("test -f x", exit1), did("cat nosuch", "cat: nosuch: No such file"+exit1), did("git status", "fatal: not a git repository"+exit1), did("find x -name y", "find: x: No such file"+exit1)}, "", ""},
		"a search that did not run": {[]deed{did("cd nosuch && grep x .", "/bin/bash: line 1: cd: nosuch: No such file or directory"+exit1)}, "", "failed cd nosuch && grep x ."},
		"an edit refused":           {[]deed{did("edit a.go", "Could not find the exact text. Command exited with code 1"), did("edit a.go", "ok")}, "", "changed /srv/app/a.go\nfailed edit a.go, passed"},
		"fixed by a command":        {[]deed{did("python3 a.py", noYAML), did("pip install pyyaml", "ok"), did("python3 a.py", "fine")}, "", "failed python3 a.py, passed after pip install pyyaml"},
		"conflicts resolved":        {[]deed{did("git pull --rebase origin main", "CONFLICT (content): Merge conflict in a.md\nerror: could not apply 48adfce... x"+exit1), did("git add a.md && GIT_EDITOR=true git rebase --continue", "Successfully rebased and updated refs/heads/main.")}, "", "failed git pull --rebase origin main, passed"},
		"checked in another way":    {[]deed{did("pytest -q", "1 failed, 3 passed in 0.2s"+exit1), did("python -m pytest -q tests", "4 passed in 0.2s"), did("npx eslint src", "3 problems"+exit1), did("eslint .", "")}, "", "failed pytest -q, passed\nfailed npx eslint src, passed"},
		"another operand":           {[]deed{did("python3 a.py", noYAML), did("python3 b.py", "fine")}, "", "failed python3 a.py"},
		"changed by the shell":      {[]deed{did("cat > a.go <<'E'\npackage a\nE", ""), did("sed -i 's/a/b/' b.go && rm c.go", ""), did("mv d.go e/d.go", ""), did("echo x > /tmp/y; make > out.log 2>&1", "")}, "", "changed /srv/app/a.go\nchanged /srv/app/b.go\nchanged /srv/app/c.go\nchanged /srv/app/d.go\nchanged /srv/app/e/d.go"},
		"written and deleted":       {[]deed{did("cat > page.html <<'E'\nx\nE", ""), did("sed -i s/x/y/ page.html", ""), did("rm page.html", ""), did("cat > tmp/a.md <<'E'\nx\nE", ""), did("rm -rf tmp", "")}, "", ""},
		"deleted and written":       {[]deed{did("rm a.md", ""), did("cat > a.md <<'E'\nx\nE", "")}, "", "changed /srv/app/a.md"},
		"an offer at the end":       {nil, "The lease is renewed at half of its time now.\n\nIf you want, next I can:\n\n1. Write a test\n2. Commit it", "ends The lease is renewed at half of its time now."},
		"a question at the end":     {nil, "Both ways work for the lease here.\n\nWhich of the two do you prefer for production?", "open Which of the two do you prefer for production?\nends Which of the two do you prefer for production?"},
		"a word while it worked":    {[]deed{did("go vet ./a", "ok"), {stories.Prompt("now the other files of the store, please")}, did("go vet ./b", "ok")}, "", ""},
		"a plan":                    {[]deed{planned("write the lease", "completed", "test it", "pending"), planned("write the lease", "completed", "test it", "completed", "write docs of the API", "pending")}, "", "open write docs of the API"},
		"a plan that went on":       {[]deed{planned("write docs of the API", "pending"), did("edit docs.md", "ok")}, "", "changed /srv/app/docs.md"},
		"not done, and an offer":    {nil, "I renewed the lease, and its tests pass.\n\n**Not done**\n- `make dist` still fails\n\nIf you want, I can fix it.", "open `make dist` still fails\nends I renewed the lease, and its tests pass."},
		"what remains":              {nil, "Done with the lease in the store.\n\n## Remaining\n\n- the web page\n- [ ] docs of the API\n\nThe tests of the store pass, but I could not run the slow ones.", "open the web page\nopen docs of the API\nopen The tests of the store pass, but I could not run the slow ones.\nends The tests of the store pass, but I could not run the slow ones."},
		"nothing remains":           {nil, "Done: the lease is renewed early. All tests pass. Let me know if you want the slow ones run too.", "ends Done: the lease is renewed early. All tests pass. Let me know if you want the slow ones run too."},
	} {
		s := tale(1, "s", test.deeds...)
		reply := test.reply
		if reply == "" {
			reply = "It is there now."
		}
		s.Entries = append(s.Entries, stories.Reply(reply))
		dir := t.TempDir()
		r := filesOf(s).index(t, dir)
		resp, err := Run(t.Context(), r, pi.New(), stories.Disk{}, Request{})
		if err != nil || len(resp.Sessions) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, f := range resp.Sessions[0].Facts {
			line := string(f.What) + " "
			if f.What == Closing && test.reply == "" {
				continue
			}
			if f.Hash != "" {
				line += f.Hash + " "
			}
			line += f.Text
			if f.Passed != nil {
				line += ", passed"
				if by := append(f.Passed.Changed, f.Passed.Ran...); len(by) > 0 {
					line += " after " + strings.Join(by, ", ")
				}
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// planned is a call that plans steps, each with its status, and its result.
func planned(steps ...string) []stories.Turn {
	var list []any
	for pair := range slices.Chunk(steps, 2) {
		list = append(list, map[string]any{"step": pair[0], "status": pair[1]})
	}
	return []stories.Turn{stories.Called("update_plan", map[string]any{"plan": list}), stories.Result("update_plan", "Plan updated", false)}
}

// A session in which thousands of commands fail is told in time: a call is compared with the latest failures,
// of which it may be the repair. All of them are facts, each with what it printed.
func TestFactsOfManyFailures(t *testing.T) {
	const failures = 3 * mostFailures
	var deeds [][]stories.Turn
	for i := range failures {
		deeds = append(deeds, did(fmt.Sprintf("python3 step%d.py", i), fmt.Sprintf("Error: no table %d\n\nCommand exited with code 1", i)))
	}
	deeds = append(deeds, did(fmt.Sprintf("python3 step%d.py", failures-1), "fine"), did("python3 step0.py", "fine"))
	resp, err := Run(t.Context(), filesOf(tale(1, "s", deeds...)).index(t, t.TempDir()), pi.New(), stories.Disk{}, Request{})
	if err != nil || len(resp.Sessions) != 1 {
		t.Fatal(err)
	}
	failed := resp.Sessions[0].Facts
	failed = slices.DeleteFunc(failed, func(f Fact) bool { return f.What != Failed })
	if len(failed) != failures {
		t.Fatalf("%d facts, want %d", len(failed), failures)
	}
	for i, f := range failed {
		if want := fmt.Sprintf("Error: no table %d", i); f.Error != want || (f.Passed != nil) != (i == failures-1) {
			t.Errorf("fact %d: %q, passed %v", i, f.Error, f.Passed != nil)
		}
	}
}
