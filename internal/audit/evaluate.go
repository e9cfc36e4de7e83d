package audit

import "pigrep/internal/session"

// RuleSet is a set of rules: one bit each, by index in Rules.
type RuleSet uint32

// IDs lists the ids of the rules in the set, in the order of Rules.
func (s RuleSet) IDs() []string {
	var ids []string
	for i := range Rules {
		if s&(1<<i) != 0 {
			ids = append(ids, Rules[i].ID)
		}
	}
	return ids
}

// Evaluator finds the rules that calls match. It is not safe for concurrent use.
type Evaluator struct {
	d     *dissector
	files fileMatcher
}

// NewEvaluator returns an evaluator.
func NewEvaluator() *Evaluator { return &Evaluator{d: newDissector()} }

// Rules returns the rules that a call matches in a session with the working
// directory cwd. The command is the full shell command of the call; it is ignored
// if the call runs none.
func (v *Evaluator) Rules(c *session.CallFact, command, cwd string) (set RuleSet) {
	if c.Shell {
		v.d.dissect(command, cwd)
		set = matchPrograms(v.d.commands)
		for _, a := range v.d.accesses {
			set |= v.files.match(a.path, a.dir, cwd, a.write)
		}
	}
	action := Action(c.Tool)
	writes := action == "write" || action == "edit"
	if !writes && lists(c.Tool) {
		return set
	}
	// An unknown tool most likely reads the file.
	for _, path := range c.Paths {
		set |= v.files.match(path, cwd, cwd, writes)
	}
	return set
}
