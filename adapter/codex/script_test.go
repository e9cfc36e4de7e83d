package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/lab/adapters"
)

// script adds a call of Codex's code mode.
func (f *file) script(id, text string) *file {
	return f.item(fmt.Sprintf(`{"type":"custom_tool_call","name":"exec","input":%s,"call_id":%q}`, quote(text), id))
}

// printed adds the result of a script with this status, which printed these texts.
func (f *file) printed(id, status string, texts ...string) *file {
	items := []string{`{"type":"input_text","text":` + quote(status+"\nWall time 0.3 seconds\nOutput:\n") + `}`}
	for _, text := range texts {
		items = append(items, `{"type":"input_text","text":`+quote(text)+`}`)
	}
	return f.item(fmt.Sprintf(`{"type":"custom_tool_call_output","call_id":%q,"output":[%s]}`, id, strings.Join(items, ",")))
}

// outcomesOf lists the calls of a file as audits count them: kind, tool, what it runs or changes, outcome.
func outcomesOf(r adapters.Read) (list []string) {
	var facts session.Facts
	o := shellcmd.NewFolder()
	for i := range r.Entries {
		o.Add(&facts, &r.Entries[i], "/srv/app")
	}
	for _, c := range facts.Calls {
		what, how := "", "none"
		if c.Shell {
			what = "$ " + c.Line
		}
		for _, f := range c.Files {
			what += f.Deed.String() + " " + f.Path + " "
		}
		switch {
		case c.Failed:
			how = "failed"
		case c.NoMatch:
			how = "no"
		case c.Rejected:
			how = "rejected"
		case c.HasResult:
			how = "ok"
		}
		if c.Exit != session.Unknown {
			how += fmt.Sprint(" ", c.Exit)
		}
		if c.Unread {
			how += " unread"
		}
		list = append(list, strings.Join(strings.Fields(fmt.Sprint(c.Kind, " ", c.Tool, " ", what, " ", how)), " "))
	}
	return list
}

// The literal calls in a script are calls within the call, and end as its output says.
func TestScripts(t *testing.T) {
	const patch = "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+\ty\n*** End Patch"
	shell := func(exit int) string { return fmt.Sprintf("Exit code: %d\nWall time: 1.1 seconds\nOutput:\nx\n", exit) }
	ended := func(exit int) string {
		return fmt.Sprintf("Chunk ID: 6bd49c\nWall time: 1.1 seconds\nProcess exited with code %d\nOriginal token count: 1\nOutput:\nx\n", exit)
	}
	object := func(exit int) string {
		return fmt.Sprintf(`{"chunk_id":"6bd49c","wall_time_seconds":0.5,"exit_code":%d,"output":"a\nb"}`, exit)
	}
	const two = `const [a,b] = await Promise.all([tools.shell_command({command:"go test"}), tools.shell_command({command:"rg x"})]); text(a); text(b)`
	for _, c := range []struct {
		name string
		file *file
		want []string
	}{
		{"a command", begun().script("c", `text((await tools.exec_command({cmd: "make"})).output)`).printed("c", "Script completed", "x"),
			[]string{"call exec ok", "nested exec_command $ make ok"}},
		{"that failed", begun().script("c", `text(await tools.shell_command({command: "make"}))`).printed("c", "Script completed", shell(2)),
			[]string{"call exec failed 2", "nested shell_command $ make failed 2"}},
		{"as an object", begun().script("c", `text(await tools.exec_command({cmd: "make"}))`).printed("c", "Script completed", object(2)),
			[]string{"call exec failed 2", "nested exec_command $ make failed 2"}},
		{"nothing found", begun().script("c", `text(await tools.exec_command({cmd: "rg x"}))`).printed("c", "Script completed", object(1)),
			[]string{"call exec no 1", "nested exec_command $ rg x no 1"}},
		{"several", begun().script("c", two).printed("c", "Script completed", shell(1), shell(0)),
			[]string{"call exec failed 1", "nested shell_command $ go test failed 1", "nested shell_command $ rg x ok 0"}},
		{"in one text", begun().script("c", `text(JSON.stringify(await Promise.all(["go test", "rg x"].map(cmd => tools.exec_command({cmd})))))`).printed("c", "Script completed", "["+object(0)+","+object(1)+"]"),
			[]string{"call exec no 1", "nested exec_command $ go test ok 0", "nested exec_command $ rg x no 1"}},
		{"in one text with lines between", begun().script("c", two).printed("c", "Script completed", "tests:\n"+shell(1)+"\nuses:\n"+shell(0)),
			[]string{"call exec failed 1", "nested shell_command $ go test failed 1", "nested shell_command $ rg x ok 0"}},
		{"in one text, as exec_command prints them", begun().script("c", two).printed("c", "Script completed", ended(0)+"---\n"+ended(1)),
			[]string{"call exec no 1", "nested shell_command $ go test ok 0", "nested shell_command $ rg x no 1"}},
		{"as objects in a row", begun().script("c", two).printed("c", "Script completed", object(1)+"\n"+object(0)),
			[]string{"call exec failed 1", "nested shell_command $ go test failed 1", "nested shell_command $ rg x ok 0"}},
		{"not told apart", begun().script("c", two).printed("c", "Script completed", shell(1)+"Exit code: ?\nx\n"),
			[]string{"call exec failed 1", "nested shell_command $ go test ok", "nested shell_command $ rg x ok"}},
		{"more results than commands", begun().script("c", two).printed("c", "Script completed", shell(1)+shell(0)+shell(0)),
			[]string{"call exec failed 1", "nested shell_command $ go test ok", "nested shell_command $ rg x ok"}},
		{"a patch and a command", begun().script("c", "await tools.apply_patch("+quote(patch)+"); text(await tools.shell_command({command: 'go vet'}))").printed("c", "Script completed", shell(0)),
			[]string{"call exec ok 0", "nested apply_patch edit a.go ok", "nested shell_command $ go vet ok 0"}},
		{"stopped", begun().script("c", "await tools.exec_command({cmd: 'ls'}); await tools.apply_patch("+quote(patch)+"); await tools.exec_command({cmd: 'go vet'})").
			printed("c", "Script failed", "Script error:\napply_patch verification failed: no such lines"),
			[]string{"call exec failed", "nested exec_command $ ls ok", "nested apply_patch edit a.go failed", "nested exec_command $ go vet none"}},
		{"stopped somewhere", begun().script("c", two).printed("c", "Script failed", "Script error:\nTypeError: a is not a function"),
			[]string{"call exec failed", "nested shell_command $ go test none", "nested shell_command $ rg x none"}},
		{"by a command", begun().script("c", `await tools.shell_command({command: "npm test"})`).printed("c", "Script failed", "Script error:\n"+shell(1)),
			[]string{"call exec failed 1", "nested shell_command $ npm test failed 1"}},
		{"in the background", begun().script("c", `await tools.exec_command({cmd: "make"})`).printed("c", "Script running with cell ID 7").
			call("w", "wait", `{"cell_id":"7"}`).printed("w", "Script failed", "Script error:\nexec_command failed for `make`"),
			[]string{"call exec failed", "nested exec_command $ make failed", "call wait ok"}},
		{"terminated", begun().script("c", `await tools.exec_command({cmd: "make"})`).printed("c", "Script terminated"),
			[]string{"call exec ok", "nested exec_command $ make none"}},
		{"computed", begun().script("c", "await tools.exec_command({cmd: `cat ${f}`, workdir: '/x'}); await tools.exec_command({cmd: 'ls'}); await tools.web__run({q: f})").printed("c", "Script completed"),
			[]string{"call exec ok unread", "nested exec_command ok", "nested exec_command $ ls ok", "nested web__run ok"}},
		{"no script", begun().script("c", "tools of the trade").printed("c", "Script failed", "Script error:\nSyntaxError"), []string{"call exec failed"}},
		{"a result that looks like one", begun().call("c", "exec_command", `{"cmd":"cat log"}`).output("c", "Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\nScript failed\nWall time 0.3 seconds\nOutput:\n"),
			[]string{"call exec_command $ cat log ok 0"}},
	} {
		if diff := cmp.Diff(c.want, outcomesOf(c.file.parse(t))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Words behind the escapes of a script are found, and so are words of its results.
func TestScriptTexts(t *testing.T) {
	const src = `await tools.apply_patch("*** Begin Patch\n*** Add File: a.go\n+\tfunc x\n*** End Patch"); await tools.exec_command({cmd: "ls"})`
	r := begun().script("c", src).printed("c", "Script completed", `{"exit_code":0,"output":"one\ntwo"}`, `{"name":"kept"}`).parse(t)
	wantTexts(t, r, "call: exec\ninput: "+src+"\n*** Begin Patch\n*** Add File: a.go\n+\tfunc x\n*** End Patch", "result: one\ntwo", `result: {"name":"kept"}`)
	c, _ := callOf(t, r)
	if string(c.Text) != "input: "+src {
		t.Errorf("arguments %q", c.Text)
	}
}
