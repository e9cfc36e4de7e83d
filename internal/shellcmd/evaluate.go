package shellcmd

import (
	"cmp"
	"math/bits"
	"strings"

	"pigrep/internal/session"
)

// RuleSet is a set of rules: one bit each, by index in Rules().
type RuleSet uint32

const AllRules = ^RuleSet(0)

func (s RuleSet) IDs() []string {
	var ids []string
	for i := range Rules() {
		if s&(1<<i) != 0 {
			ids = append(ids, Rules()[i].ID)
		}
	}
	return ids
}

// found is the rules that a call matches, with the clause that matches first for each.
type found struct {
	set     RuleSet
	clauses [32]string // by rule
}

func (f *found) add(set RuleSet, clause string) {
	for added := uint32(set &^ f.set); added != 0; added &= added - 1 {
		f.clauses[bits.TrailingZeros32(added)] = clause
	}
	f.set |= set
}

// Found is a rule that a call matches.
type Found struct {
	Rule   *Rule
	Clause string // the part of the command that matches, or the file; shortened
}

// maxClause is how many bytes of a clause are kept.
const maxClause = 400

// Evaluator finds the rules that calls match. It is not safe for concurrent use.
type Evaluator struct {
	d     *dissector
	files fileMatcher
	found found // of the last call
}

func NewEvaluator() *Evaluator { return &Evaluator{d: newDissector()} }

// Rules returns the rules that a call matches where the working directory is cwd. The
// command is the full shell command of the call; it is ignored if the call runs none, or one
// that is no command of a POSIX shell.
func (v *Evaluator) Rules(c *session.CallFact, command, cwd string) RuleSet {
	f, dir := &v.found, cmp.Or(c.Dir, cwd)
	f.set = 0
	if c.Escapes {
		clause, _, _ := strings.Cut(cmp.Or(command, c.Line), "\n")
		_, escapes := wideRules()
		f.add(escapes, clause)
	}
	if c.Shell && c.Dialect == session.DialectPOSIX {
		v.d.dissect(command, dir)
		f.matchPrograms(v.d.commands)
		for _, a := range v.d.accesses {
			f.add(v.files.match(a.path, a.dir, cwd, a.write), a.clause)
		}
	}
	for _, use := range c.Files {
		if use.Deed != session.DeedList { // an unknown tool most likely reads the file
			f.add(v.files.match(use.Path, dir, cwd, use.Deed.Writes()), use.Path)
		}
	}
	return f.set
}

// Found describes the rules that the last call matched, in the order of Rules.
func (v *Evaluator) Found() (list []Found) {
	for i := range Rules() {
		if v.found.set&(1<<i) != 0 {
			clause := v.found.clauses[i]
			if len(clause) > maxClause {
				clause = session.Cut(clause, maxClause) + "…"
			}
			list = append(list, Found{&Rules()[i], clause})
		}
	}
	return list
}
