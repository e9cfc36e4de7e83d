package shellcmd

import (
	"slices"
	"strings"
)

// innerCommand follows the command that a program is given to run.
func (d *dissector) innerCommand(at int, rest []word, upstream []string, heredoc string) []string {
	if d.depth >= maxDepth {
		return nil
	}
	d.depth++
	defer func() { d.depth-- }()
	c := d.commands[at] // the slice may grow
	g := &runner{dissector: d, command: &c, rest: rest, upstream: upstream, heredoc: heredoc}
	if follow, ok := runners[c.program]; ok {
		return follow(g)
	}
	if w, ok := programs()["wrapper"][c.program]; ok && w.counts {
		return g.run(w.after(rest))
	}
	return nil
}

// runner is a program that runs others.
type runner struct {
	*dissector
	command  *command
	rest     []word // its arguments
	upstream []string
	heredoc  string // its standard input
}

// runners follow what programs run that is not just the rest of their arguments.
var runners map[string]func(*runner) []string

func init() { // they refer to one another
	runners = map[string]func(*runner) []string{
		"cd":     (*runner).enters,
		"pushd":  (*runner).enters,
		"popd":   (*runner).leaves,
		"eval":   func(g *runner) []string { return g.script(strings.Join(g.command.args, " "), g.upstream) },
		"trap":   func(g *runner) []string { return g.script(firstArgument(g.command.args), nil) },
		"su":     (*runner).option,
		"script": (*runner).option,
		"flock":  (*runner).locked,
		"watch": func(g *runner) []string {
			return g.script(join(programs()["wrapper"]["watch"].after(g.rest)), g.upstream)
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

func (g *runner) run(words []word) []string {
	g.by = g.command.program
	defer func() { g.by = "" }()
	return g.dissector.run(words, g.upstream, g.heredoc)
}

// onOtherMachine dissects what runs on another machine or in a container.
func (g *runner) onOtherMachine(follow func() []string) []string {
	remote, dir := g.remote, g.dir
	g.remote, g.dir = true, ""
	defer func() { g.remote, g.dir = remote, dir }()
	return follow()
}

// option dissects the script that is the value of -c.
func (g *runner) option() []string {
	for _, flag := range []string{"-c", "--command"} {
		if list := g.command.values(flag); len(list) > 0 {
			return g.script(list[0], g.upstream)
		}
	}
	return nil
}

func (g *runner) enters() []string {
	switch to := firstArgument(g.command.args); {
	case to == "":
		g.dir = Resolve("~", g.dir)
	case to == "-", strings.ContainsAny(to, "$*?"), g.dir == "" && !isAbsolute(slashed(to)): // it cannot be known
		g.dir = ""
	default:
		g.dir = Resolve(to, g.dir)
	}
	return nil
}

// leaves forgets the directory: the stack of directories is not tracked.
func (g *runner) leaves() []string {
	g.dir = ""
	return nil
}

func (g *runner) ofShell() []string {
	for i, arg := range g.command.args[:max(0, len(g.command.args)-1)] {
		if hasLast(arg, "c") {
			return g.script(g.command.args[i+1], g.upstream)
		}
	}
	if g.heredoc != "" && firstArgument(g.command.args) == "" {
		return g.script(g.heredoc, g.upstream)
	}
	return nil
}

func (g *runner) locked() []string {
	if programs := g.option(); programs != nil {
		return programs
	}
	return g.run(programs()["wrapper"]["flock"].after(g.rest))
}

func (g *runner) loggedIn() []string {
	inner := programs()["wrapper"]["ssh"].after(g.rest) // the first word is the host
	if len(inner) == 0 {
		return nil
	}
	script := g.heredoc
	if len(inner) > 1 {
		script = join(inner[1:])
	}
	return g.onOtherMachine(func() []string { return g.script(script, g.upstream) })
}

func (g *runner) inContainer() []string {
	at := slices.Index(g.command.args[:min(2, len(g.command.args))], "exec")
	if at < 0 {
		return nil
	}
	inner := programs()["container"]["exec"].after(g.rest[at+1:]) // the first word is the container
	if len(inner) < 2 {
		return nil
	}
	return g.onOtherMachine(func() []string { return g.run(inner[1:]) })
}

func (g *runner) inPod() []string {
	at := slices.Index(g.command.args, "--")
	if at < 0 || g.command.subcommand() != "exec" {
		return nil
	}
	return g.onOtherMachine(func() []string { return g.run(g.rest[at+1:]) })
}

func (g *runner) ofPowershell() []string {
	for i, arg := range g.command.args {
		if strings.HasPrefix(strings.ToLower(arg), "-c") {
			return g.powershell(join(g.rest[i+1:]), g.upstream)
		} else if !strings.HasPrefix(arg, "-") {
			return g.powershell(join(g.rest[i:]), g.upstream)
		}
	}
	return nil
}

func (g *runner) ofCmd() []string {
	for i, arg := range g.command.args {
		if strings.EqualFold(strings.TrimLeft(arg, "/"), "c") {
			return g.powershell(join(g.rest[i+1:]), g.upstream)
		}
	}
	return nil
}

// found dissects the command that find runs for each file.
func (g *runner) found() []string {
	start := slices.IndexFunc(g.command.args, func(arg string) bool { return slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, arg) })
	if start < 0 {
		return nil
	}
	end := start + 1
	for end < len(g.command.args) && g.command.args[end] != ";" && g.command.args[end] != "+" {
		end++
	}
	return g.run(g.rest[start+1 : end])
}

var shells = []string{"bash", "sh", "zsh", "dash", "ksh", "ash", "fish"}
