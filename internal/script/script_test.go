package script

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said returns the calls of a script, a line each: tool and argument.
func said(src string) (list []string) {
	calls, whole := Calls([]byte(src))
	for _, c := range calls {
		list = append(list, strings.TrimSpace(c.Tool+" "+string(c.JSON)))
	}
	if !whole {
		list = append(list, "…")
	}
	return list
}

// Calls are told as far as literals say.
func TestCalls(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []string
	}{
		{"a pragma, an object", "// @exec: {\"yield_time_ms\": 10000}\nconst r = await tools.exec_command({cmd: \"rm -rf /srv && git push\", workdir: '/work'});\ntext(r.output);",
			[]string{`exec_command {"cmd":"rm -rf /srv \u0026\u0026 git push","workdir":"/work"}`}},
		{"together", `const [a,b]=await Promise.all([tools.exec_command({"cmd":"go test ./..."}),tools.exec_command({'cmd':"cat x",},)]);text(a.output)`,
			[]string{`exec_command {"cmd":"go test ./..."}`, `exec_command {"cmd":"cat x"}`}},
		{"escapes", `tools.x("a\n\t\"\'\\ \x41\u0042\u{43}\ud83d\ude00\0\
b\q")`, []string{`x "a\n\t\"'\\ ABC😀\u0000bq"`}},
		{"templates", "const n = 3; const d = `/tmp`; tools.x(`a\nb ${d}/${n} \\`c\\` \\${e}`); tools.x(`a ${unknown}`); tools.x({cmd: `cat ${`${d}/y`}`})",
			[]string{`x "a\nb /tmp/3 ` + "`c` ${e}\"", "x", `x {"cmd":"cat /tmp/y"}`}},
		{"raw", "tools.x(String.raw`a\\n${1}\\d`)", []string{`x "a\\n1\\d"`}},
		{"sums", `const a = "x" + ' y'; const b = a + " " + 1; tools.x(b); tools.x(a + f()); tools.x("a" + (1 + 2)); tools.x(["a", "b"].join("\n")); tools.x("a ".concat("b").trim())`,
			[]string{`x "x y 1"`, "x", "x", `x "a\nb"`, `x "a b"`}},
		{"shorthand", `const cmd = "ls", workdir = "/x"; await tools.exec_command({cmd, workdir, yield_time_ms: 1_000, tty: true, env: {A: null}, n: -1, l: [1, f(), 'x']})`,
			[]string{`exec_command {"cmd":"ls","workdir":"/x","yield_time_ms":1000,"tty":true,"env":{"A":null},"l":[1,null,"x"]}`}},
		{"a spread", `const base = {workdir: "/x", cmd: "no"}; tools.a({...base, cmd: "ls"}); tools.b({cmd: "ls", ...other}); tools.c({...other, cmd: "ls"})`,
			[]string{`a {"workdir":"/x","cmd":"ls"}`, `b {}`, `c {"cmd":"ls"}`}},
		{"not constant", `tools.a(x); tools.b({cmd}); tools.c(); tools.d({[k]: 1, cmd: ok ? "a" : "b"}); tools.e({cmd: process.argv[0]}); tools[f](1)`,
			[]string{"a", "b {}", "c", "d {}", "e {}", ""}},
		{"a loop", `for (const f of ["a", 'b']) { const r = await tools.x({cmd: "cat " + f}); text(r) }  for (const g of []) tools.y(1); tools.z("1")`,
			[]string{`x {"cmd":"cat a"}`, `x {"cmd":"cat b"}`, `z "1"`}},
		{"a loop over names", "const cmds = ['ls', 'pwd'];\nfor (const [i, cmd] of cmds.entries()) text(i, await tools.x({cmd}))\nfor (const {a, b = 'c'} of [{a: 'd'}]) tools.y(a + b)",
			[]string{`x {"cmd":"ls"}`, `x {"cmd":"pwd"}`, `y`}},
		{"map", "const cmds = [\"echo one\", \"echo two\"]; await Promise.all(cmds.map(command => tools.shell_command({ command })));",
			[]string{`shell_command {"command":"echo one"}`, `shell_command {"command":"echo two"}`}},
		{"map, async", "const rs = await Promise.all([['a', 1], ['b', 2]].map(async ([name, n]) => { const r = await tools.x({cmd: `${name} ${n}`}); return r.output }));\nrs.forEach((r) => text(r))",
			[]string{`x {"cmd":"a 1"}`, `x {"cmd":"b 2"}`}},
		{"functions", "const run = (cmd) => tools.x({cmd, workdir: '/w'});\nasync function two(a, b) { await run(a); return run(b) }\nawait two('ls', 'pwd'); await run(z)",
			[]string{`x {"cmd":"ls","workdir":"/w"}`, `x {"cmd":"pwd","workdir":"/w"}`, `x {"workdir":"/w"}`}},
		{"a method", "const h = {go(c) { return tools.x(c) }, do: c => tools.y(c)}; h.go('a'); h['do']('b')", []string{`x "a"`, `y "b"`}},
		{"at once", "await (async () => { await tools.x('a') })(); (function () { tools.y('b') })()", []string{`x "a"`, `y "b"`}},
		{"who calls is not known", "setTimeout(() => tools.x('a'), 5); list.forEach(f => tools.x(f)); function never() { tools.y('b') }", []string{`x "a"`, "x", `y "b"`}},
		{"other names of tools", "const t = tools; const {exec_command: run, y} = tools; t.x('a'); run('b'); y('c'); tools['z']('d'); const w = tools.w; w('e')",
			[]string{`x "a"`, `exec_command "b"`, `y "c"`, `z "d"`, `w "e"`}},
		{"changed", "let p = 'a'; p = other; tools.x(p); let q = 'b'; tools.x(q); q += 'c'; const l = ['d']; l.push(z); for (const m of l) tools.x(m); let i = 0; i++; tools.x('' + i)",
			[]string{"x", "x", "x", "x"}},
		{"scopes", "{ const c = 'a'; tools.x(c) } { const c = f(); tools.x(c) } const c = 'b'; const g = (c) => tools.x(c); g(z)", []string{`x "a"`, "x", "x"}},
		{"used before it is there", "tools.x(c); const c = 'a';", []string{"x"}},
		{"branches", "if (await tools.x('a')) { tools.x('b') } else tools.x('c'); try { tools.x('d') } catch (e) { tools.x('e') } finally { tools.x('f') }\nwhile (ok) tools.x('g'); const r = ok && await tools.x('h'); ok ? tools.x('i') : tools.x('j')",
			[]string{`x "a"`, `x "b"`, `x "c"`, `x "d"`, `x "e"`, `x "f"`, `x "g"`, `x "h"`, `x "i"`, `x "j"`}},
		{"what looks like calls", `// tools.a("x")` + "\n/* tools.b('x') */ text(\"tools.c('x')\", /tools.d('\"')/.test(s), 4 / 2 / 1); mytools.e('x'); my.tools.f('x'); tools.g",
			nil},
		{"an old loop", "for (let i = 0; i < 3; i++) { tools.x({cmd: `sleep ${i}`}); tools.y('a') }", []string{"x {}", `y "a"`}},
		{"results", "const r = await tools.x('a'); await tools.y({session_id: r.session_id, chars: ''}); r.content.map(c => tools.z(c.text))", []string{`x "a"`, `y {"chars":""}`, "z"}},
		{"without semicolons", "const a = 'x'\nconst f = b => tools.x(b)\nf(a)\nconst c = a\ntools.y(c)\n", []string{`x "x"`, `y "x"`}},
		{"torn", `await tools.x({cmd: "ls`, []string{"…"}},
		{"torn brackets", `tools.x([ ) ]); tools.y({a: [1, 2`, []string{"…"}},
	} {
		got := said(c.script)
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], `\u0026`, "&")
		}
		for i := range c.want {
			c.want[i] = strings.ReplaceAll(c.want[i], `\u0026`, "&")
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Words stick to escapes only where a letter says what is escaped.
func TestGlued(t *testing.T) {
	for src, want := range map[string]bool{`tools.x("a\nb")`: true, `tools.x("a\"b")`: false, "tools.x(`a\nb`)": false, `const p = ["a\tb", "c"].join(""); tools.x({cmd: p})`: true} {
		if calls, _ := Calls([]byte(src)); len(calls) != 1 || calls[0].Glued != want {
			t.Errorf("%s: %+v, want %v", src, calls, want)
		}
	}
}

// worst are scripts that nest or repeat, and take little room.
var worst = []string{"(", "[", "{", "`${", "f(", "a=>", "!", "await ", "({a:", "x=>({b:", "if(", "for(const a of [1,2,3,4,5,6,7,8])", "[1,2,3].map(a=>", "tools.x(`a${", "((a)=>a)(", "function f(){",
	"const a={...", "a?b:", "a+", "'a'+", "new ", "a.b[", "...", "\\", "/", "/*", "//", "\"", "'", "a`", "${", "}", "const[", "const{a:", "tools[", "return ", "=", "x=", "async ", "?.("}

// Reading takes steps in proportion to a script, whatever it says.
func TestBounds(t *testing.T) {
	for _, piece := range worst {
		for _, n := range []int{100, 3000} {
			for _, end := range []string{"", "tools.x('a')"} {
				src := strings.Repeat(piece, n) + end
				if r := read([]byte(src)); r.steps < -100*deepest || r.bytes < -len(src) {
					t.Errorf("%q × %d: %d steps and %d bytes too many", piece, n, -r.steps, -r.bytes)
				}
			}
		}
	}
	double := "const a0 = 'xxxxxxxxxxxxxxxx';"
	for i := range 60 {
		double += fmt.Sprintf("const a%d = a%d + a%[2]d; tools.x(a%[1]d);", i+1, i)
	}
	if calls, whole := Calls([]byte(double)); whole || len(calls) != 60 {
		t.Errorf("doubled: %d calls, whole %v", len(calls), whole)
	}
}

// Nesting does not overflow the stack, however deep.
func TestDeep(t *testing.T) {
	for _, piece := range []string{"(", "[", "{", "!", "a=>", "const[", "if(a)", "`${"} {
		src := "tools.x('a');const " + strings.Repeat(piece, longest/len(piece)-10)
		if calls, whole := Calls([]byte(src)); whole || len(calls) > 0 {
			t.Errorf("%q: %d calls, whole %v", piece, len(calls), whole)
		}
	}
	if calls, whole := Calls([]byte("tools.x('a');const [" + strings.Repeat("[", mostOpen-10) + "a")); whole || len(calls) > 0 {
		t.Errorf("a pattern: %d calls, whole %v", len(calls), whole)
	}
}

// A function is there before it is declared, and a closure keeps the values of its call.
func TestFunctionScopes(t *testing.T) {
	got := said("f('a'); function f(c) { tools.x(c) } const mk = c => () => tools.y(c); const b = mk('b'), d = mk('d'); b(); d()")
	if diff := cmp.Diff([]string{`x "a"`, `y "b"`, `y "d"`}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzCalls(f *testing.F) {
	for _, piece := range worst {
		f.Add(strings.Repeat(piece, 3) + "tools.x({cmd: 'a'})")
	}
	f.Add("const [a, b] = await Promise.all(['ls', `c ${1}`].map(async cmd => tools.x({cmd, ...{d: \"\\n\\u{41}\"}}))); for (const c of a) text(c)")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 1<<16 {
			return // the size of a script says nothing new
		}
		read([]byte(src))
	})
}

// The parser passes the names of a scope to all scopes around it: a script with many names in deep scopes is not parsed.
func TestManyNamesInDeepScopes(t *testing.T) {
	const call = `tools.shell_command({command: "ls"});`
	names := strings.Repeat("a_1 = $2;", 20_000)
	if calls, whole := Calls([]byte(names + call)); len(calls) != 1 || !whole {
		t.Errorf("names at the top: %d calls, whole %t", len(calls), whole)
	}
	if calls, whole := Calls([]byte(strings.Repeat("{", 400) + names + call + strings.Repeat("}", 400))); len(calls) != 0 || whole {
		t.Errorf("names in deep scopes: %d calls, whole %t", len(calls), whole)
	}
}
