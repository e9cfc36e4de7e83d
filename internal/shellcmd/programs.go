package shellcmd

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// program is a row of programs.txt, which says what its fields mean.
type program struct {
	flags         []string
	skip          int
	counts        bool
	plain, last   use
	reads, writes []string
	no            int32
	idle          bool
}

//go:embed programs.txt
var programsText string

// programs are the rows, by kind and name.
var programs = sync.OnceValue(func() map[string]map[string]program {
	all := make(map[string]map[string]program)
	for line := range strings.Lines(programsText) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		kind, p := fields[0], program{}
		for _, property := range fields[2:] {
			p.set(strings.Cut(property, "="))
		}
		if all[kind] == nil {
			all[kind] = make(map[string]program)
		}
		for name := range strings.SplitSeq(fields[1], ",") {
			all[kind][strings.ReplaceAll(name, "~", " ")] = p
		}
	}
	return all
})

func (p *program) set(name, value string, _ bool) {
	number, _ := strconv.Atoi(value)
	uses := map[string]use{"read": read, "written": written}
	switch name {
	case "skip":
		p.skip = number
	case "no":
		p.no = int32(number)
	case "counts":
		p.counts = true
	case "idle":
		p.idle = true
	case "plain":
		p.plain = uses[value]
	case "last":
		p.last = uses[value]
	case "reads":
		p.reads = strings.Split(value, ",")
	case "writes":
		p.writes = strings.Split(value, ",")
	default:
		p.flags = append(p.flags, name)
	}
}

// after returns the words of the command that a wrapper runs.
func (p program) after(words []word) []word {
	for len(words) > 0 {
		switch s := words[0].text; {
		case s == "--":
			return words[min(len(words), 1+p.skip):]
		case slices.Contains(p.flags, s):
			words = words[min(len(words), 2):]
		case len(s) > 1 && s[0] == '-', isAssignment(s):
			words = words[1:]
		default:
			return words[min(len(words), p.skip):]
		}
	}
	return nil
}
