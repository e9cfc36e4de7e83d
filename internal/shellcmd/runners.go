package shellcmd

import (
	"slices"
	"strings"
)

// innerCommand follows the command that a program is given to run.
func (d *dissector) innerCommand(at int, rest []word, upstream []string, heredoc string) {
	if d.depth >= maxDepth {
		return
	}
	d.depth++
	defer func() { d.depth-- }()
	c := d.commands[at] // the slice may grow
	g := &runner{dissector: d, command: &c, rest: rest, upstream: upstream, heredoc: heredoc}
	if follow, ok := runners[c.program]; ok {
		follow(g)
	} else if w, ok := programs()["wrapper"][c.program]; ok && w.Counts {
		g.run(w.after(rest))
	}
}

type runner struct {
	*dissector
	command  *command
	rest     []word // its arguments
	upstream []string
	heredoc  string // its standard input
}

// runners follow what programs run that is not just the rest of their arguments.
var runners map[string]func(*runner)

func init() { // they refer to one another
	runners = map[string]func(*runner){
		"cd":     (*runner).enters,
		"pushd":  (*runner).enters,
		"popd":   func(g *runner) { g.dir = "" }, // the stack of directories is not tracked
		"eval":   func(g *runner) { g.script(strings.Join(g.command.args, " "), g.upstream) },
		"trap":   func(g *runner) { g.script(firstArgument(g.command.args), nil) },
		"su":     (*runner).option,
		"script": (*runner).option,
		"flock":  (*runner).locked,
		"watch": func(g *runner) {
			g.script(join(programs()["wrapper"]["watch"].after(g.rest)), g.upstream)
		},
		"ssh":            (*runner).loggedIn,
		"docker":         (*runner).inContainer,
		"podman":         (*runner).inContainer,
		"docker-compose": (*runner).inContainer,
		"kubectl":        (*runner).inPod,
		"powershell":     (*runner).ofPowershell,
		"pwsh":           (*runner).ofPowershell,
		"cmd":            (*runner).ofCmd,
		"find":           (*runner).found,
	}
	for _, name := range shells {
		runners[name] = (*runner).ofShell
	}
}

func (g *runner) run(words []word) {
	g.by = g.command.program
	g.dissector.run(words, g.upstream, g.heredoc)
	g.by = ""
}

// onOtherMachine dissects what runs on another machine or in a container.
func (g *runner) onOtherMachine(follow func()) {
	remote, dir := g.remote, g.dir
	g.remote, g.dir = true, ""
	follow()
	g.remote, g.dir = remote, dir
}

// option dissects the script that is the value of -c.
func (g *runner) option() {
	for _, flag := range []string{"-c", "--command"} {
		if list := g.command.values(flag); len(list) > 0 {
			g.script(list[0], g.upstream)
			return
		}
	}
}

func (g *runner) enters() {
	switch to := firstArgument(g.command.args); {
	case to == "":
		g.dir = Resolve("~", g.dir)
	case to == "-", strings.ContainsAny(to, "$*?"), g.dir == "" && !isAbsolute(slashed(to)): // it cannot be known
		g.dir = ""
	default:
		g.dir = Resolve(to, g.dir)
	}
}

func (g *runner) ofShell() {
	for i, arg := range g.command.args[:max(0, len(g.command.args)-1)] {
		if hasLast(arg, "c") {
			g.script(g.command.args[i+1], g.upstream)
			return
		}
	}
	if g.heredoc != "" && firstArgument(g.command.args) == "" {
		g.script(g.heredoc, g.upstream)
	}
}

func (g *runner) locked() {
	before := len(g.programs)
	g.option()
	if len(g.programs) == before {
		g.run(programs()["wrapper"]["flock"].after(g.rest))
	}
}

func (g *runner) loggedIn() {
	inner := programs()["wrapper"]["ssh"].after(g.rest) // the first word is the host
	if len(inner) == 0 {
		return
	}
	script := g.heredoc
	if len(inner) > 1 {
		script = join(inner[1:])
	}
	g.onOtherMachine(func() { g.script(script, g.upstream) })
}

func (g *runner) inContainer() {
	at := slices.Index(g.command.args[:min(2, len(g.command.args))], "exec")
	if at < 0 {
		return
	}
	inner := programs()["container"]["exec"].after(g.rest[at+1:]) // the first word is the container
	if len(inner) > 1 {
		g.onOtherMachine(func() { g.run(inner[1:]) })
	}
}

func (g *runner) inPod() {
	if at := slices.Index(g.command.args, "--"); at >= 0 && g.command.subcommand() == "exec" {
		g.onOtherMachine(func() { g.run(g.rest[at+1:]) })
	}
}

func (g *runner) ofPowershell() {
	for i, arg := range g.command.args {
		if strings.HasPrefix(strings.ToLower(arg), "-c") {
			i++
		} else if strings.HasPrefix(arg, "-") {
			continue
		}
		g.powershell(join(g.rest[i:]), g.upstream)
		return
	}
}

func (g *runner) ofCmd() {
	at := slices.IndexFunc(g.command.args, func(arg string) bool { return strings.EqualFold(strings.TrimLeft(arg, "/"), "c") })
	if at >= 0 {
		g.powershell(join(g.rest[at+1:]), g.upstream)
	}
}

// found dissects the command that find runs for each file.
func (g *runner) found() {
	start := slices.IndexFunc(g.command.args, func(arg string) bool { return slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, arg) })
	if start < 0 {
		return
	}
	inner := g.rest[start+1:]
	if end := slices.IndexFunc(inner, func(w word) bool { return w.text == ";" || w.text == "+" }); end >= 0 {
		inner = inner[:end]
	}
	g.run(inner)
}

var shells = []string{"bash", "sh", "zsh", "dash", "ksh", "ash", "fish"}
