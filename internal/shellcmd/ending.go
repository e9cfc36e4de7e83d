package shellcmd

import (
	"slices"
	"strings"

	"pigrep/internal/session"
)

// The exit code of a shell command is that of the last of its programs that ran. It cannot
// always be known which one that was: in "a && b" it may be either.

// isIdle reports whether none of the commands is worth blaming.
func (d *dissector) isIdle(commands []int) bool {
	return !slices.ContainsFunc(commands, func(at int) bool { return !programs()["ending"][d.commands[at].label()].idle })
}

// either returns the commands of both lists.
func either(a, b []int) []int { return append(a[:len(a):len(a)], b...) }

// blamed returns the programs that may have set the exit code, as bits. numbers has the
// number of each command's program, -1 for none.
func (d *dissector) blamed(numbers []int) (set uint64) {
	last, idle := d.last, d.isIdle(d.last)
	if idle {
		last = last[max(0, len(last)-1):]
	}
	for _, at := range last {
		if n := numbers[at]; n >= 0 && n < 64 && (idle || !programs()["ending"][d.commands[at].label()].idle) {
			set |= 1 << n
		}
	}
	return set
}

// complaint matches what a shell prints if it cannot run a program.
var complaint = compiled(`(?m)^\S*(?:ba|z|da|k)?sh: (?:line )?\d+: ([^\s:]+): `)

// settle completes the outcome of a shell command that printed these parts: which programs
// made it fail, if it failed.
func settle(c *session.CallFact, printed []session.Part) {
	if !c.Failed || !c.Shell {
		return
	}
	among := func(blames func(program string) bool) (set uint64) {
		for i, program := range c.Programs[:min(64, len(c.Programs))] {
			if blames(program) {
				set |= 1 << i
			}
		}
		return set
	}
	if c.Exit == session.Unknown { // it was interrupted: any program may have been running
		if set := among(func(program string) bool { return !programs()["ending"][program].idle }); set != 0 {
			c.Blamed = set
		}
		return
	}
	if c.NoMatch = saysNo(c); c.NoMatch {
		c.Failed = false
		return
	}
	for i := range printed {
		text := printed[i].Text
		if m := complaint().FindSubmatch(text[:min(len(text), maxParsed)]); m != nil {
			named := string(m[1])
			if set := among(func(program string) bool { first, _, _ := strings.Cut(program, " "); return first == named }); set != 0 {
				c.Blamed = set
			}
		}
	}
}

// saysNo reports whether the exit code of a call means "no" for each program that may have
// set it.
func saysNo(c *session.CallFact) bool {
	if c.Blamed == 0 || c.Exit == 0 {
		return false
	}
	for i, program := range c.Programs {
		if c.Blamed>>i&1 != 0 && programs()["ending"][program].no != c.Exit {
			return false
		}
	}
	return true
}

// SaysNo reports whether the exit code of a shell command only says no, as grep's does when
// nothing matches.
func SaysNo(command string, exit int32) bool {
	o, c := NewFolder(), session.CallFact{Shell: true, Outcome: session.Outcome{Exit: exit}}
	o.rules.d.dissect(command, "")
	o.command(&c)
	return saysNo(&c)
}
