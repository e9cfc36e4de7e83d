package shellcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/internal/session"
)

// rulesOf returns the rules that a call matches.
func rulesOf(t *testing.T, text string) []string {
	t.Helper()
	var ids []string
	for _, f := range foundIn(t, text) {
		ids = append(ids, f.Rule.ID)
	}
	return ids
}

func foundIn(t *testing.T, text string) []Found {
	t.Helper()
	const cwd = "/home/dev/app"
	call := session.EntryCall{Tool: "bash", Command: []byte(strings.ReplaceAll(text, `\n`, "\n"))}
	if rest, ok := strings.CutPrefix(text, "@"); ok {
		action, path, _ := strings.Cut(rest, " ")
		deed := session.Deed(slices.Index(session.Deeds[:], action))
		call = session.EntryCall{Tool: "tool", Deed: deed, Files: []session.FileUse{{Path: path}}}
		if action == "escape" {
			call = session.EntryCall{Tool: "bash", Deed: session.DeedRun, Command: []byte(path), Escapes: true}
		}
	}
	var facts session.Facts
	NewFolder().Add(&facts, &session.Entry{Facts: &session.EntryFacts{Calls: []session.EntryCall{call}}}, cwd)
	if len(facts.Calls) != 1 {
		t.Fatalf("%q gives %d calls", text, len(facts.Calls))
	}
	if facts.Calls[0].Broken {
		t.Errorf("%q does not parse", text)
	}
	v := NewEvaluator()
	set := v.Rules(&facts.Calls[0], string(call.Command), cwd, cwd)
	list := v.Found()
	if stored := RuleSet(facts.Calls[0].Rules); stored != set {
		t.Errorf("%q matches %v when it is folded, then %v", text, stored.IDs(), set.IDs())
	}
	if len(list) != len(set.IDs()) {
		t.Errorf("%q matches %v, and is found by %v", text, set.IDs(), list)
	}
	return list
}

// programsOf returns the programs of a shell command, and whether it cannot be parsed.
func programsOf(o *Folder, text string) (programs []string, broken bool) {
	var facts session.Facts
	call := session.EntryCall{Tool: "bash", Command: []byte(text)}
	o.Add(&facts, &session.Entry{Facts: &session.EntryFacts{Calls: []session.EntryCall{call}}}, "")
	return facts.Calls[0].Programs, facts.Calls[0].Broken
}

// Every rule has at least ten calls that it must find and ten near misses.
func TestRules(t *testing.T) {
	const enough = 10
	dir := filepath.Join("..", "..", "testdata", "risky")
	for _, rule := range Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, rule.ID+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			count := map[bool]int{}
			for line := range strings.Lines(string(data)) {
				sign, text, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
				want := sign == "+"
				if !want && sign != "-" {
					continue
				}
				count[want]++
				if got := rulesOf(t, text); slices.Contains(got, rule.ID) != want {
					t.Errorf("%s: matches %t, want %t (all: %v)", text, !want, want, got)
				}
			}
			if count[true] < enough || count[false] < enough {
				t.Errorf("%d that match and %d near misses, want %d of each", count[true], count[false], enough)
			}
		})
	}
	data, err := os.ReadFile(filepath.Join(dir, "none.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "- "); ok {
			if got := rulesOf(t, text); len(got) > 0 {
				t.Errorf("%s: matches %v, want none", text, got)
			}
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(Rules())+2 {
		t.Errorf("%d files for %d rules, none.txt and a README", len(files), len(Rules()))
	}
}

// A RuleSet has one bit per rule.
func TestRulesFit(t *testing.T) {
	if len(Rules()) > 32 {
		t.Errorf("%d rules", len(Rules()))
	}
	for _, r := range Rules() {
		if r.ID == "" || r.What == "" || r.Why == "" || len(r.Program)+len(r.Files) == 0 && !r.Escapes {
			t.Errorf("rule %q lacks something", r.ID)
		}
		for _, m := range r.Files {
			if !m.Outside && m.Path == nil {
				t.Errorf("rule %q: files outside, or by their path", r.ID)
			}
		}
	}
}

func TestPrograms(t *testing.T) {
	for _, test := range []struct{ command, want string }{
		{"git push origin main", "git push"},
		{"git -C /x -c a=b --no-pager log -3", "git log"},
		{"npm test && npm run build", "npm test, npm run"},
		{"cat a | grep -v b | wc -l", "cat, grep, wc"},
		{"FOO=1 BAR=2 go test ./...", "go test"},
		{"env FOO=1 go vet", "go vet"},
		{"sudo -u root apt-get install -y jq", "sudo, apt-get install"},
		{"find . -name x -exec grep -l y {} +", "find, grep"},
		{"find . | xargs -n 1 -I {} mv {} /tmp", "find, xargs, mv"},
		{`bash -c "cd x && make -j4 all"`, "bash, cd, make all"},
		{"bash <<'EOF'\nls\nrm x\nEOF", "bash, ls, rm"},
		{"cat <<EOF > f\nrm x\nEOF", "cat"},
		{"echo $(date) `hostname`", "date, hostname, echo"},
		{"diff <(sort a) <(sort b)", "sort, sort, diff"},
		{"timeout 10 time nohup nice -n 5 ./run.sh", "run.sh"},
		{"for f in *; do echo $f; done", "echo"},
		{"if test -f x; then cat x; else touch x; fi", "test, cat, touch"},
		{"f() { ls; }; f", "ls, f"},
		{"x=$(git status)", "git status"},
		{"python3 -m pytest -q", "python3 -m pytest"},
		{"/usr/bin/python script.py", "python"},
		{"ssh host 'uptime; df -h'", "ssh, uptime, df"},
		{"$EDITOR file", "$EDITOR"},
		{"git $cmd", "git"},
		{"", ""},
		{"# nothing", ""},
		{"while read l; do curl $l; done < list", "read, curl"},
		{"eval 'ls | wc'", "eval, ls, wc"},
		{"watch -n1 ls", "watch, ls"},
		{`'bash' '-lc' 'ls -la'`, "bash, ls"},
		{"echo 'rm x; ls' | sh", "echo, sh, rm, ls"},
		{"cat <<'E' | bash -s\ngit pull\nE", "cat, bash, git pull"},
		{"echo $(date) | sh", "echo, date, sh, $()"},
		{"ssh host <<E\nuptime\nE", "ssh, uptime"},
		{"docker exec -it -u root app sh -c 'ls /'", "docker exec, sh, ls"},
		{"docker compose exec web npm test", "docker compose, npm test"},
		{"kubectl -n x exec pod -- ls", "kubectl exec, ls"},
		{"env -S 'A=1 ls -la'", "ls"},
		{"trap 'rm -f x' EXIT", "trap, rm"},
		{"flock /tmp/l make all", "flock, make all"},
		{"flock /tmp/l -c 'make all'", "flock, make all"},
		{"parallel gzip ::: a b", "parallel, gzip"},
		{"powershell.exe -NoProfile -Command 'Get-Item x | Remove-Item'", "powershell, Get-Item, Remove-Item"},
		{"cmd.exe /c dir", "cmd, dir"},
		{"cat > k.pem\n-----BEGIN RSA KEY-----\nMIIEabc/def+0\nab/Cd0=\n-----END RSA KEY-----\nls", "cat, ls"},
		{"echo x; -----BEGIN CERTIFICATE-----\nMIIEabc/def+0", "echo"},
	} {
		programs, broken := programsOf(NewFolder(), test.command)
		slices.Sort(programs)
		want := strings.Split(test.want, ", ")
		if test.want == "" {
			want = nil
		}
		slices.Sort(want)
		if !slices.Equal(programs, want) || broken {
			t.Errorf("programs of %q = %q, want %q (broken %t)", test.command, programs, want, broken)
		}
	}
}

// Text that does not parse counts by its first word.
func TestCommandsThatDoNotParse(t *testing.T) {
	for _, test := range []struct{ command, want string }{
		{"echo 'unfinished", "echo"},
		{"git push && (", "git push"},
		{"if then fi fi", "if"},
		{"cat <<EOF\n" + strings.Repeat("(", 100_000), "cat"},
		{strings.Repeat("(", 60_000) + "ls", "ls"},
		{"ls " + strings.Repeat("x", maxParsed), "ls"},
		{"\x00\xff", "\x00\xff"},
	} {
		programs, broken := programsOf(NewFolder(), test.command)
		if len(programs) != 1 || programs[0] != test.want || !broken {
			t.Errorf("programs of %.20q = %q (broken %t), want %q and broken", test.command, programs, broken, test.want)
		}
	}
}

func TestOutside(t *testing.T) {
	for _, test := range []struct {
		file, dir, cwd string
		want           bool
	}{
		{"a", "/x", "/x", false},
		{"../a", "/x/y", "/x/y", true},
		{"/x/ya", "/x/y", "/x/y", true},
		{"/x/y", "/x/y", "/x/y", false},
		{"~/a", "/home/u/p", "/home/u/p", true},
		{"~/a", "/home/u", "/home/u", false},
		{"~/a", "/srv/p", "/srv/p", true},
		{"$HOME/p/a", "/home/u/p", "/home/u/p", false},
		{"$X/a", "/home/u/p", "/home/u/p", false},
		{"/etc/x", "", "", false},
		{"a", "", "/x", false},
		{"/dev/null", "/x", "/x", false},
		{"/tmpx/a", "/x", "/x", true},
		{`C:\Users\u\p\a`, `C:\Users\u\p`, `C:\Users\u\p`, false},
		{`c:/users/u/p/a`, `C:\Users\u\p`, `C:\Users\u\p`, false},
		{`C:\Windows\a`, `C:\Users\u\p`, `C:\Users\u\p`, true},
		{"/c/Users/u/p/a", `C:\Users\u\p`, `C:\Users\u\p`, false},
		{"/d/x", `C:\Users\u\p`, `C:\Users\u\p`, true},
		{"https://x/y", "/x", "/x", false},
	} {
		if got := outside(test.file, test.dir, test.cwd); (got != "") != test.want {
			t.Errorf("outside(%q, %q, %q) = %q, want one: %t", test.file, test.dir, test.cwd, got, test.want)
		}
	}
}

// A session that changed its directory, or whose agent keeps the directory of a call for the next, is still
// at work in the directory where it was started.
func TestBothDirectoriesAreTheSessions(t *testing.T) {
	for _, test := range []struct {
		command, cwd, own, want string
	}{
		{"touch /src/app/a", "/src/app/sub", "/src/app", ""},
		{"touch ../a", "/src/app/sub", "/src/app", ""},
		{"touch a ../app/b", "/src/lib", "/src/app", ""},
		{"touch ../web/a", "/src/lib", "/src/app", "outside-write"},
		{"cd .. && touch a", "/src/app/sub", "/src/app", ""},
		{"cd ../.. && touch a", "/src/app/sub", "/src/app", "outside-write"},
		{"touch a", "/src/lib", "/src/app", ""},
		{"touch /private/tmp/app/a", "/tmp/app", "/tmp/app", ""},
		{"touch /private/var/www/a", "/var/www", "/var/www", ""},
		{"touch /var/www/a", "/private/var/www", "/private/var/www", ""},
		{`touch /c/src/app/a`, `C:\src\app\sub`, `C:\src\app`, ""},
		{"touch ~/.claude/plans/a.md", "/home/u/app/sub", "/home/u/app", "agent-write"},
	} {
		var facts session.Facts
		e := &session.Entry{Facts: &session.EntryFacts{Calls: []session.EntryCall{{Tool: "bash", Command: []byte(test.command)}}}, Context: session.Context{CWD: test.cwd}}
		NewFolder().Add(&facts, e, test.own)
		got := strings.Join(RuleSet(facts.Calls[0].Rules).IDs(), " ")
		v := NewEvaluator()
		again := strings.Join(v.Rules(&facts.Calls[0], test.command, test.cwd, test.own).IDs(), " ")
		if got != test.want || again != test.want {
			t.Errorf("%s in %s of a session of %s: %q, when it is read again %q, want %q", test.command, test.cwd, test.own, got, again, test.want)
		}
	}
}

func TestResolve(t *testing.T) {
	for _, test := range []struct{ file, dir, want string }{
		{"a/../b", "/x", "/x/b"},
		{"/a//b", "/x", "/a/b"},
		{"~/a", "/Users/u/p", "/Users/u/a"},
		{"~", "/root", "/root"},
		{"~/a", "/srv", "~/a"},
		{"", "/x", "/x"},
		{`a\b`, `C:\p`, "C:/p/a/b"},
		{"~other/a", "/home/u", "/home/u/~other/a"},
	} {
		if got := Resolve(test.file, test.dir); got != test.want {
			t.Errorf("Resolve(%q, %q) = %q, want %q", test.file, test.dir, got, test.want)
		}
	}
}

// Dissecting never panics, whatever the command.
func FuzzDissect(f *testing.F) {
	for _, s := range []string{"a | b", "$(", "`", "<<E\n", "sudo", "xargs", "find -exec", "ssh h", "bash -c", "env -u", "timeout", "eval '", "git -C"} {
		f.Add(s)
	}
	o, v := NewFolder(), NewEvaluator()
	call := &session.CallFact{Shell: true}
	f.Fuzz(func(t *testing.T, s string) {
		a, b := programsOf(o, s)
		c, d := programsOf(NewFolder(), s)
		x, y := v.Rules(call, s, "/home/u/p", ""), NewEvaluator().Rules(call, s, "/home/u/p", "")
		if fmt.Sprint(a, b, x) != fmt.Sprint(c, d, y) {
			t.Errorf("%q depends on what came before", s)
		}
	})
}

// What matches is shown, not the beginning of a long command.
func TestClauses(t *testing.T) {
	for _, test := range []struct{ text, rule, clause string }{
		{"rm -rf x", "recursive-delete", "rm -rf x"},
		{"cd /tmp && rm -rf skills && git clone u 2>&1", "recursive-delete", "rm -rf skills"},
		{"make; (cd a; rm -rf b) && ls", "recursive-delete", "rm -rf b"},
		{"if true; then\\n  rm -rf y # gone\\nfi", "recursive-delete", "rm -rf y"},
		{"echo a; find . -name x | xargs -n1 rm; ls", "recursive-delete", "find . -name x | xargs -n1 rm"},
		{"cd x && curl -s u | sudo bash -s && ls", "network-to-shell", "curl -s u | sudo bash -s"},
		{"cd x && curl -s u | sudo bash -s && ls", "superuser", "sudo bash -s"},
		{"ls; bash -c 'make; rm -rf z'; ls", "recursive-delete", "bash -c 'make; rm -rf z'"},
		{"x=$(cat .env | head -1); ls", "credentials", "cat .env"},
		{"make 2>&1 && echo hi >> /etc/hosts && ls", "outside-write", "echo hi >> /etc/hosts"},
		{"python3 - <<'EOF'\\nimport shutil\\nshutil.rmtree('/x')\\nEOF", "recursive-delete", "python3: shutil.rmtree('/x')"},
		{"git push origin main; git push -f &", "forced-push", "git push -f"},
		{"@edit /etc/hosts", "outside-write", "/etc/hosts"},
		{"@escape npm install", "sandbox-escape", "npm install"},
	} {
		clause := "none"
		for _, f := range foundIn(t, test.text) {
			if f.Rule.ID == test.rule {
				clause = f.Clause
			}
		}
		if clause != test.clause {
			t.Errorf("%s of %q: clause %q, want %q", test.rule, test.text, clause, test.clause)
		}
	}
	long := foundIn(t, "rm -rf "+strings.Repeat("é", 1000))
	if len(long) != 1 || len(long[0].Clause) > maxClause+len("…") || !strings.HasSuffix(long[0].Clause, "é…") {
		t.Errorf("a long clause is %v", long)
	}
}

// A command may run elsewhere than the session, and in another shell.
func TestDirectoryAndDialectOfACall(t *testing.T) {
	for _, test := range []struct {
		call     session.EntryCall
		programs string
		risky    bool
	}{
		{session.EntryCall{Command: []byte("touch out.txt")}, "touch", false},
		{session.EntryCall{Command: []byte("touch out.txt"), Dir: "dist"}, "touch", false},
		{session.EntryCall{Command: []byte("touch out.txt"), Dir: "/srv/other"}, "touch", true},
		{session.EntryCall{Command: []byte("touch out.txt"), Dir: ".."}, "touch", true},
		{session.EntryCall{Command: []byte("Get-ChildItem C:\\x; $n = 1 | Select-Object Name"), Dialect: session.DialectPowerShell}, "Get-ChildItem Select-Object", false},
		{session.EntryCall{Command: []byte("rm -rf ~"), Dialect: session.DialectCmd}, "rm", false},
	} {
		var facts session.Facts
		test.call.Tool = "bash"
		NewFolder().Add(&facts, &session.Entry{Facts: &session.EntryFacts{Calls: []session.EntryCall{test.call}}}, "/home/u/app")
		c := facts.Calls[0]
		if got := strings.Join(c.Programs, " "); got != test.programs || c.Rules != 0 != test.risky {
			t.Errorf("%s in %q: programs %s, rules %b; want %s, risky %t", test.call.Command, test.call.Dir, got, c.Rules, test.programs, test.risky)
		}
	}
}
