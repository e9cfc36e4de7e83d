package fix

import (
	"path"
	"slices"
	"strings"

	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// An Action is what a call does, as far as it shows that a later call does the same.
type Action struct {
	fact     *session.CallFact
	commands []shellcmd.Command // of a shell command, preparing and shortening ones only if it has no others; nil if it cannot be parsed, or is a long script
}

// mostCommands is how many commands a shell command may have to be compared by them.
const mostCommands = 50

func NewAction(c *session.CallFact) *Action {
	d := &Action{fact: c}
	if c.Shell && !c.Cut && c.Dialect == session.DialectPOSIX {
		if list, ok := shellcmd.Commands(c.Line, c.Dir); ok && len(list) <= mostCommands {
			rest := slices.DeleteFunc(slices.Clone(list), func(c shellcmd.Command) bool {
				return slices.Contains(preparing, c.Label) || c.Piped && slices.Contains(shortening, c.Label)
			})
			if d.commands = rest; len(rest) == 0 {
				d.commands = list
			}
		}
	}
	return d
}

// Repeats reports whether a call does again what an earlier one did: a shell command
// runs every program of the earlier one again, in the same directory and with about the
// same operands; another tool gets the same file, or the same arguments.
func (d *Action) Repeats(o *Action) bool {
	a, b := o.fact, d.fact
	switch {
	case a.Shell != b.Shell, !a.Shell && a.Tool != b.Tool:
		return false
	case a.Shell && (len(o.commands) == 0 || len(d.commands) == 0): // only as a whole
		return a.Line == b.Line && !a.Cut
	case a.Shell:
		return !slices.ContainsFunc(o.commands, func(c shellcmd.Command) bool {
			return !slices.ContainsFunc(d.commands, func(again shellcmd.Command) bool { return sameCommand(&c, &again) })
		})
	case len(a.Files) > 0 && len(b.Files) > 0:
		return slices.ContainsFunc(a.Files, func(p session.FileUse) bool {
			return slices.ContainsFunc(b.Files, func(q session.FileUse) bool { return samePath(session.Slashed(p.Path), session.Slashed(q.Path)) })
		})
	}
	return a.Line == b.Line && !a.Cut
}

// Programs that only prepare what others do, and those that shorten what others print.
var (
	preparing  = []string{"cd", "pushd", "popd", "echo", "printf", "true", "false", "sleep", "export", "set", "source", ".", "env", "time", "pwd"}
	shortening = []string{"cat", "head", "tail", "grep", "rg", "sed", "awk", "wc", "sort", "uniq", "tee", "less", "column", "tr", "cut"}
)

// Prepares reports whether a program, with its subcommand, only prepares what others do, or tests something for them.
func Prepares(label string) bool {
	return slices.Contains(preparing, label) || slices.Contains([]string{"[", "[[", "test", ":"}, label)
}

// Programs that only show something.
var showing = []string{"ls", "find", "fd", "tree", "stat", "file", "which", "type", "command", "ps", "du", "df", "test", "[", "[[", "diff", "cmp", "jq", "nl", "od", "xxd", "strings", "hash", "lsof", "pgrep", "egrep", "git status", "git grep", "git ls-files", "git rev-parse", "git diff", "git log", "git show", "git branch"}

// OnlyShows reports whether a program, with its subcommand, only shows, prepares or shortens something.
func OnlyShows(label string) bool {
	return slices.Contains(preparing, label) || slices.Contains(shortening, label) || slices.Contains(showing, label)
}

// OnlyShows reports whether all programs of a shell command only show something.
func (d *Action) OnlyShows() bool {
	return len(d.commands) > 0 && !slices.ContainsFunc(d.commands, func(c shellcmd.Command) bool { return !OnlyShows(c.Label) })
}

// OperandsOf finds a command that runs one of some programs with this first operand, and returns its other
// operands: for "gh pr" and "merge", it returns 12 of "gh pr merge 12".
func (d *Action) OperandsOf(labels []string, first string) (list []string, ok bool) {
	for i := range d.commands {
		if c := &d.commands[i]; slices.Contains(labels, c.Label) {
			if list := operands(c); len(list) > 0 && list[0] == first {
				return list[1:], true
			}
		}
	}
	return nil, false
}

// checking lists programs that say whether the work is right, whatever part of it they are given.
var checking = []string{"go test", "go build", "go vet", "cargo test", "cargo build", "cargo check", "cargo clippy", "npm test", "pnpm test", "yarn test", "bun test", "pytest", "tsc", "eslint", "jest", "vitest", "ruff", "mypy", "swift build", "swift test", "dotnet build", "dotnet test", "mvn test", "gradlew test", "git push", "git commit", "git rebase", "git merge"}

// programOf returns the label of a command without the program that starts it: python -m pytest is pytest.
func programOf(label string) string {
	for _, starter := range []string{"python -m ", "python3 -m ", "npx "} {
		label = strings.TrimPrefix(label, starter)
	}
	return label
}

// stopping lists programs that stop at a conflict, and go on with --continue.
var stopping = []string{"git pull", "git rebase", "git merge", "git cherry-pick", "git revert", "git am"}

// Checks reports whether a shell command repeats the last program of an earlier command, which failed, or
// continues it: in the same directory, and with the same first operand unless the program checks the work as a whole.
func (d *Action) Checks(o *Action) bool {
	list := slices.DeleteFunc(slices.Clone(o.commands), func(c shellcmd.Command) bool { return OnlyShows(c.Label) })
	if len(list) == 0 {
		return false
	}
	a := &list[len(list)-1]
	return slices.ContainsFunc(d.commands, func(b shellcmd.Command) bool {
		if a.Dir == b.Dir && slices.Contains(stopping, a.Label) && slices.Contains(b.Args, "--continue") {
			return true
		}
		program := programOf(a.Label)
		if program != programOf(b.Label) || a.Dir != b.Dir || (a.Code == "") != (b.Code == "") {
			return false
		}
		if slices.Contains(checking, program) {
			return true
		}
		if a.Code != "" {
			return isAlike(a.Code, b.Code)
		}
		p, q := operands(a), operands(&b)
		return len(p) > 0 && len(q) > 0 && (p[0] == q[0] || samePath(shellcmd.Resolve(p[0], a.Dir), shellcmd.Resolve(q[0], b.Dir)))
	})
}

// isAlike reports whether two texts have most words in common.
func isAlike(a, b string) bool {
	p, q := strings.Fields(a), strings.Fields(b)
	same := 0
	for _, w := range p {
		if slices.Contains(q, w) {
			same++
		}
	}
	return 2*same > max(len(p), len(q))
}

// reads reports whether a call only looks at something, as far as can be told.
func (d *Action) reads() bool {
	switch c := d.fact; {
	case c.Shell:
		writes := func(c shellcmd.Command) bool {
			return c.Label == "tee" || c.Label == "sed" && slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "-i") || a == "--in-place" })
		}
		steps, _ := d.Steps()
		return len(d.commands) > 0 && len(steps) == 0 && !strings.Contains(quietly.Replace(c.Line), ">") && !slices.ContainsFunc(d.commands, writes)
	default:
		return c.Deed == session.DeedRead || c.Deed == session.DeedList || c.Deed == session.DeedFetch || c.Deed == session.DeedPoll
	}
}

// quietly removes the redirections that write to no file.
var quietly = strings.NewReplacer("2>&1", "", "2>/dev/null", "", "2> /dev/null", "", "&>/dev/null", "", ">/dev/null", "", "> /dev/null", "")

// Steps returns the commands of a shell command that may have changed something: each program, with
// its subcommand as audits count it, and its arguments. piped says that the command shortens what
// one of them prints, which hides how that ended.
func (d *Action) Steps() (list []string, piped bool) {
	for i := range d.commands {
		c := &d.commands[i]
		if OnlyShows(c.Label) {
			continue
		}
		program, _, _ := strings.Cut(c.Label, " ")
		list = append(list, strings.TrimSpace(strings.Join(append([]string{program}, c.Args...), " ")+" "+c.Code))
	}
	if list == nil {
		return nil, false
	}
	all, _ := shellcmd.Commands(d.fact.Line, d.fact.Dir) // commands lacks them
	return list, slices.ContainsFunc(all, func(c shellcmd.Command) bool { return c.Piped && slices.Contains(shortening, c.Label) })
}

// sameCommand reports whether two commands have the same operands, or one has a few more:
// an operand that is another one is another command.
func sameCommand(a, b *shellcmd.Command) bool {
	if a.Label != b.Label || a.Dir != b.Dir || a.Code != b.Code {
		return false
	}
	p, q := operands(a), operands(b)
	same := 0
	for _, s := range p {
		if slices.ContainsFunc(q, func(t string) bool { return s == t || samePath(shellcmd.Resolve(s, a.Dir), shellcmd.Resolve(t, b.Dir)) }) {
			same++
		}
	}
	return same == min(len(p), len(q)) && (same == max(len(p), len(q)) || 2*same > max(len(p), len(q)))
}

// operands returns the arguments of a command. It leaves out the subcommand, flags, numbers
// that follow a flag, and the message of a commit.
func operands(c *shellcmd.Command) (list []string) {
	_, sub, _ := strings.Cut(c.Label, " ")
	flag := ""
	for _, arg := range c.Args {
		before := flag
		flag = ""
		switch {
		case arg == "":
		case arg[0] == '-':
			flag = arg
		case arg == sub:
			sub = ""
		case before != "" && isNumber([]byte(arg)):
		case c.Label == "git commit" && (before == "--message" || len(before) > 1 && before[1] != '-' && strings.HasSuffix(before, "m")):
		case !slices.Contains(list, arg):
			list = append(list, arg)
		}
	}
	return list
}

// samePath reports whether two paths are equal or share their last two elements: the
// file may be named from another directory. URLs must be equal.
func samePath(p, q string) bool {
	if p == q {
		return true
	}
	if strings.Contains(p, "://") || strings.Contains(q, "://") {
		return false
	}
	dir, name := path.Split(p)
	dir2, name2 := path.Split(q)
	last, last2 := path.Base(dir), path.Base(dir2)
	return dir != "" && dir2 != "" && name == name2 && last == last2 && last != "/" && last != "."
}
