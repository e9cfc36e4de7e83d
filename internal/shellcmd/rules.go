package shellcmd

import (
	"cmp"
	_ "embed"
	"math/bits"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pigrep/internal/session"
)

// Rule describes calls that a reviewer should look at first. A call matches a
// rule if a program in its shell command matches, or a file that it names, or what it asks
// of its agent.
type Rule struct {
	ID       string
	Severity Severity
	What     string // completes "finds a call that ...", for people
	Why      string // why it is worth a look
	Program  []Match
	Files    []FileMatch
	Escapes  bool // it matches calls that ask to run outside of the agent's sandbox
}

// Severity is how bad a call can be that matches a rule.
type Severity int

// The severities, the worst first.
const (
	Severe   Severity = iota // what runs is unknown, or a disk is lost
	High                     // work or secrets are lost
	Moderate                 // something outside the session changes
)

var severities = [...]string{"severe", "high", "moderate"}

func (s Severity) String() string { return severities[s] }

// Match is a pattern for one program in a shell command, as rules.txt says. Every field that is
// set must match.
type Match struct {
	Names, Sub, Flags, Without, By, After []string
	Args, Code                            lazyRegexp
	None, Saved                           bool
}

// FileMatch is a pattern for a file that a call reads or writes.
type FileMatch struct {
	Write   bool       // matches files that are written, otherwise files that are read
	Outside bool       // matches files outside the session's directories and the temporary ones
	Path    lazyRegexp // matches the path, with slashes; nil: any that no earlier rule for files outside matches
	Except  lazyRegexp // paths that do not count
}

// lazyRegexp compiles on first use. Most runs of the program evaluate no rules,
// and compiling all of them takes as long as a search for a rare word.
type lazyRegexp func() *regexp.Regexp

func compiled(expr string) lazyRegexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	network = []string{"curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "nc", "ncat", "netcat", "socat", "ssh", socket,
		"iwr", "irm", "invoke-webrequest", "invoke-restmethod", "Invoke-WebRequest", "Invoke-RestMethod"}
	decoders     = []string{"base64", "base32", "xxd", "uudecode", "openssl"}
	interpreters = []string{"bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "python", "node", "deno", "bun", "perl", "ruby", "php", "pwsh"}
)

//go:embed rules.txt
var rulesText string

// named are the lists that rules.txt names.
var named = map[string][]string{"@network": network, "@decoders": decoders, "@interpreters": interpreters}

// Rules lists all rules, which rules.txt has.
var Rules = sync.OnceValue(func() (rules []Rule) {
	var r *Rule
	var reads []string
	for line := range strings.Lines(rulesText) {
		switch fields := strings.Split(strings.TrimSuffix(line, "\n"), "  "); fields[0] {
		case "rule":
			severity := slices.Index(severities[:], fields[2])
			rules = append(rules, Rule{ID: fields[1], Severity: Severity(severity)})
			r = &rules[len(rules)-1]
		case "what":
			r.What = fields[1]
		case "why":
			r.Why = fields[1]
		case "program":
			m := Match{Names: names(fields[1])}
			for _, property := range fields[2:] {
				set(&m, property)
			}
			r.Program = append(r.Program, m)
		case "writes":
			r.Files = append(r.Files, FileMatch{Write: true, Path: compiled(fields[1])})
		case "outside":
			m := FileMatch{Write: true, Outside: true}
			if len(fields) > 1 {
				m.Path = compiled(fields[1])
			}
			r.Files = append(r.Files, m)
		case "reads":
			reads = append(reads, fields[1:]...)
		case "except":
			r.Files = append(r.Files, FileMatch{Path: compiled(`(?i)(?:^|/)(?:` + strings.Join(reads, "|") + `)$`), Except: compiled(fields[1])})
		case "escapes":
			r.Escapes = true
		}
	}
	return rules
})

// set sets the field of a row that a property names, NAME=VALUE or only NAME. It reports false if the row
// has no such field.
func set(row any, property string) bool {
	name, value, _ := strings.Cut(property, "=")
	field := reflect.ValueOf(row).Elem().FieldByName(strings.ToUpper(name[:1]) + name[1:])
	if !field.IsValid() {
		return false
	}
	switch to := field.Addr().Interface().(type) {
	case *bool:
		*to = true
	case *int:
		*to, _ = strconv.Atoi(value)
	case *[]string:
		*to = names(value)
	case *use:
		*to = map[string]use{"read": read, "written": written}[value]
	case *lazyRegexp:
		*to = compiled(value)
	}
	return true
}

func names(field string) []string {
	if list, ok := named[field]; ok {
		return list
	}
	return strings.Split(field, ",")
}

// matches reports whether a program with one of the names also matches the rest
// of the pattern.
func (m *Match) matches(c *command) bool {
	if len(m.Sub) > 0 && !slices.Contains(m.Sub, c.subcommand()) {
		return false
	}
	if m.Saved && !c.saved || m.None && len(c.args) > 0 || len(m.By) > 0 && !slices.Contains(m.By, c.by) {
		return false
	}
	if m.Code != nil && (c.text == "" || !m.Code().MatchString(c.text)) {
		return false
	}
	if len(m.Flags) > 0 && !slices.ContainsFunc(m.Flags, c.has) || slices.ContainsFunc(m.Without, c.has) {
		return false
	}
	if m.Args != nil && !slices.ContainsFunc(c.args, m.Args().MatchString) {
		return false
	}
	return len(m.After) == 0 || c.runsOutputOf(m.After)
}

// has reports whether the flag, or a bare word, is among the arguments. Nothing
// after "--" is a flag.
func (c *command) has(flag string) bool {
	long := strings.HasPrefix(flag, "--")
	short := len(flag) == 2 && flag[0] == '-'
	for _, arg := range c.args {
		switch {
		case arg == flag || len(flag) > 2 && strings.EqualFold(arg, flag) || long && strings.HasPrefix(arg, flag+"="):
			return true
		case arg == "--":
			return false
		case short && len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && c.program != "find":
			// Combined letters; from "=" or a digit on it is a value.
			letters := arg[1:]
			if end := strings.IndexFunc(letters, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }); end >= 0 {
				letters = letters[:end]
			}
			if strings.IndexByte(letters, flag[1]) >= 0 && len(letters) <= 6 {
				return true
			}
		}
	}
	return false
}

// hasLast reports whether the last of the combined flags in an argument is this letter.
func hasLast(arg, letter string) bool {
	return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, letter)
}

func (c *command) runsOutputOf(programs []string) bool {
	among := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return slices.Contains(programs, p) })
	}
	isShell := slices.Contains(shells, c.program)
	if among(c.inner) {
		switch {
		case c.program == "eval" || c.program == "$()":
			return true
		case c.program == "source" || c.program == ".":
			return len(c.args) > 0 && strings.HasPrefix(c.args[0], "<()")
		}
		for i, arg := range c.args {
			if strings.HasPrefix(arg, "<()") && firstArgument(c.args) == arg {
				return true
			}
			code := arg == "-c" || arg == "-e" || isShell && hasLast(arg, "c")
			if code && i+1 < len(c.args) && strings.Contains(c.args[i+1], "$()") {
				return true
			}
		}
	}
	if !among(c.upstream) || c.program == "eval" || c.program == "$()" {
		return false
	}
	if c.program == "source" || c.program == "." {
		return len(c.args) > 0 && c.args[0] == "/dev/stdin"
	}
	for i, arg := range c.args {
		switch {
		case arg == "-" || arg == "/dev/stdin":
			return true
		case isShell && hasLast(arg, "s"):
			return true
		case arg == "-c" || arg == "-m" || arg == "-e" || arg == "-p" || arg == "-n" || arg == "-ne" || arg == "-pe" || arg == "--eval":
			return false
		case arg == "--":
			return i+1 == len(c.args)
		case !strings.HasPrefix(arg, "-"):
			return false
		}
	}
	return true
}

type ruleMatch struct {
	rule int
	*Match
}

type outsideRule struct {
	set  RuleSet
	path lazyRegexp // nil: any
}

// ruleIndex has what is looked for in all rules.
type ruleIndex struct {
	names, prefixes map[string][]ruleMatch // the patterns by program name; prefixes have those that end with a star, without it
	outside         []outsideRule          // the rules for files that are written outside; the first that matches counts
	escapes         RuleSet                // match any call that asks to leave the sandbox
}

var indexed = sync.OnceValue(func() ruleIndex {
	x := ruleIndex{names: make(map[string][]ruleMatch), prefixes: make(map[string][]ruleMatch)}
	for r := range Rules() {
		rule := &Rules()[r]
		for i := range rule.Program {
			m := ruleMatch{r, &rule.Program[i]}
			for _, name := range m.Names {
				if prefix, ok := strings.CutSuffix(name, "*"); ok {
					x.prefixes[prefix] = append(x.prefixes[prefix], m)
				} else {
					x.names[name] = append(x.names[name], m)
				}
			}
		}
		for _, m := range rule.Files {
			if m.Outside {
				x.outside = append(x.outside, outsideRule{1 << r, m.Path})
			}
		}
		if rule.Escapes {
			x.escapes |= 1 << r
		}
	}
	return x
})

func (f *found) matchPrograms(commands []command) {
	x := indexed()
	for i := range commands {
		c := &commands[i]
		try := func(list []ruleMatch) {
			for _, m := range list {
				if m.matches(c) {
					f.add(1<<m.rule, m.clause(c))
				}
			}
		}
		name := strings.ToLower(interpreterOf(c.program)) // PowerShell ignores case
		try(x.names[name])
		for prefix, list := range x.prefixes {
			if strings.HasPrefix(name, prefix) {
				try(list)
			}
		}
	}
}

// clause is what a command that matches looks like: its statement, its pipeline if other
// programs of that matter, or the line of its code.
func (m *Match) clause(c *command) string {
	switch {
	case m.Code != nil:
		at := m.Code().FindStringIndex(c.text)
		from := strings.LastIndexByte(c.text[:at[0]], '\n') + 1
		line, _, _ := strings.Cut(c.text[from:], "\n")
		return c.program + ": " + strings.TrimSpace(line)
	case len(m.After) > 0 || len(m.By) > 0:
		return c.clause.pipeline
	}
	return c.clause.statement
}

type namedFile struct {
	path  string
	write bool
}

// file returns the rules that a file matches when a program that runs in dir
// reads or writes it, in a session with these working directories.
func (v *Evaluator) file(file, dir string, write bool, own ...string) RuleSet {
	set := v.named(file, write)
	if !write {
		return set
	}
	if path := outside(file, dir, own...); path != "" {
		for _, r := range indexed().outside {
			if r.path == nil || r.path().MatchString(path) {
				return set | r.set
			}
		}
	}
	return set
}

// named returns the rules that match the path alone. It remembers results: most files occur
// many times.
func (v *Evaluator) named(file string, write bool) RuleSet {
	key := namedFile{file, write}
	if set, ok := v.files[key]; ok {
		return set
	}
	if len(v.files) >= mostNames {
		clear(v.files)
	}
	set, name := RuleSet(0), slashed(file)
	for r := range Rules() {
		for _, m := range Rules()[r].Files {
			if m.Write == write && !m.Outside && m.Path().MatchString(name) && (m.Except == nil || !m.Except().MatchString(name)) {
				set |= 1 << r
			}
		}
	}
	key.path = strings.Clone(file)
	v.files[key] = set
	return set
}

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
	files map[namedFile]RuleSet // that are known
	found found                 // of the last call
}

func NewEvaluator() *Evaluator {
	return &Evaluator{d: newDissector(), files: make(map[namedFile]RuleSet)}
}

// Rules returns the rules that a call matches where the working directory is cwd, in a session that was
// started in own. The command is the full shell command of the call; it is ignored if the call runs none,
// or one that is not a command of a POSIX shell.
func (v *Evaluator) Rules(c *session.CallFact, command, cwd, own string) RuleSet {
	f, dir := &v.found, cmp.Or(c.Dir, cwd)
	f.set = 0
	if c.Escapes {
		clause, _, _ := strings.Cut(cmp.Or(command, c.Line), "\n")
		f.add(indexed().escapes, clause)
	}
	if c.Shell && c.Dialect == session.DialectPOSIX {
		v.d.dissect(command, dir)
		f.matchPrograms(v.d.commands)
		for _, a := range v.d.accesses {
			f.add(v.file(a.path, a.dir, a.write, cwd, own), a.clause)
		}
	}
	for _, use := range c.Files {
		if use.Deed != session.DeedList { // an unknown tool most likely reads the file
			f.add(v.file(use.Path, dir, use.Deed.Writes(), cwd, own), use.Path)
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

// program is a row of programs.txt, which says what its fields mean.
type program struct {
	Flags         []string
	Skip          int
	Counts        bool
	Plain, Last   use
	Reads, Writes []string
	No            int
	Idle          bool
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
			if property[0] == '-' || !set(&p, property) {
				p.Flags = append(p.Flags, property)
			}
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

// after returns the words of the command that a wrapper runs.
func (p program) after(words []word) []word {
	for len(words) > 0 {
		switch s := words[0].text; {
		case s == "--":
			return words[min(len(words), 1+p.Skip):]
		case slices.Contains(p.Flags, s):
			words = words[min(len(words), 2):]
		case len(s) > 1 && s[0] == '-', isAssignment(s):
			words = words[1:]
		default:
			return words[min(len(words), p.Skip):]
		}
	}
	return nil
}
