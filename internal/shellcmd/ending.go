package shellcmd

import (
	"slices"
	"strings"
	"sync"

	"pigrep/internal/session"
)

// The exit code of a shell command is that of the last of its programs that ran. It cannot
// always be known which one that was: in "a && b" it may be either.

// ending says how to read the exit code of a program.
type ending struct {
	no   int32 // the exit code that answers no: nothing found, not equal; 0 for none
	idle bool  // it hardly ever fails, so that the blame is on others
}

// endings has the programs whose exit codes are special, by their labels.
var endings = sync.OnceValue(func() map[string]ending {
	m := make(map[string]ending)
	add := func(e ending, labels string) {
		for label := range strings.FieldsSeq(labels) {
			m[strings.ReplaceAll(label, "_", " ")] = e
		}
	}
	add(ending{no: 1}, `grep egrep fgrep zgrep rg ag ack ugrep pcregrep look git_grep findstr select-string
		diff cmp colordiff zdiff zcmp git_diff git_merge-base git_check-ignore git_show-ref git_config git_ls-files
		test [ [[ (( let expr jq which command type hash pgrep pkill pidof lsof fuser systemctl_is-enabled`)
	add(ending{no: 3}, `systemctl_is-active`)
	add(ending{idle: true}, `cd pushd popd echo printf : true set unset export declare typeset local readonly
		exit return break continue shift trap sleep wait pwd date clear umask`)
	return m
})

// isIdle reports whether none of the commands is worth blaming.
func (d *dissector) isIdle(commands []int) bool {
	return !slices.ContainsFunc(commands, func(at int) bool { return !endings()[d.commands[at].label()].idle })
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
		if n := numbers[at]; n >= 0 && n < 64 && (idle || !endings()[d.commands[at].label()].idle) {
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
		if set := among(func(program string) bool { return !endings()[program].idle }); set != 0 {
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
		if c.Blamed>>i&1 != 0 && endings()[program].no != c.Exit {
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
