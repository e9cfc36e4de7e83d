// Package shellcmd says what calls of tools did, shell commands above all: which programs
// they run, which files they touch, which are risky, and how they ended.
//
// A Folder folds the facts of entries into session.Facts during indexing. What is
// risky is defined by data, Rules. The index has the rules that each call matches; an
// Evaluator says which part of the call matches.
package shellcmd

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"pigrep/internal/session"
)

// Limits of the texts that are stored for a call.
const (
	MaxCommand  = 4 << 10 // bytes of a shell command
	MaxLine     = 160     // bytes of other arguments
	maxTool     = 256     // bytes of the tool's name
	maxPrograms = 200
)

// Folder folds the facts of entries into those of their session file. It is not
// safe for concurrent use.
type Folder struct {
	rules *Evaluator
	names map[string]string
	used  []session.UsageChange
}

func NewFolder() *Folder { return &Folder{rules: NewEvaluator(), names: make(map[string]string)} }

// Add folds the next entry of a session that was started in the directory own. The working directory is the
// entry's, or else own. Add sets Search of the entry's parts, and the tool of a result that does not name its
// tool. It returns the changes of the session's usage, which are valid until the next call. It does not retain
// the entry's memory.
func (o *Folder) Add(to *session.Facts, e *session.Entry, own string) (used []session.UsageChange) {
	f := e.Facts
	if f == nil {
		return used
	}
	to.Begin()
	at := int64(0)
	if !e.Timestamp.IsZero() {
		at = e.Timestamp.UnixMilli()
	}
	model := o.name(session.FullModel(e.Provider, e.Model))
	if f.HasUsage {
		u := session.UsageFact{Offset: e.Offset, Time: at, Copy: e.Copy, Bare: len(e.Parts) == 0, Source: e.Type, Usage: f.Usage}
		switch {
		case e.Type == session.TypeMessage:
			u.Source = e.Role
		case f.UsageOf != 0: // the figures of a response, on a line of their own
			u.Source = session.RoleAssistant
		}
		u.Source = o.name(u.Source)
		u.Model = cmp.Or(o.name(f.SubModel), model)
		o.used = to.UseAll(o.used[:0], u, f)
		used = o.used
	}
	if f.IsResult {
		model = o.result(to, e, f, at)
	}
	for i := range f.Calls {
		o.call(to, e, &f.Calls[i], at, model, own)
	}
	for i, list := range [][]string{f.ReadFiles, f.ModifiedFiles} {
		for _, path := range list {
			to.Touches = append(to.Touches, session.TouchFact{Offset: e.Offset, Time: at, Copy: e.Copy, Path: o.name(path), Write: i == 1})
		}
	}
	return used
}

// result joins a result with its call, or records a result without one. It
// returns the model that made the call.
func (o *Folder) result(to *session.Facts, e *session.Entry, f *session.EntryFacts, at int64) string {
	outcome := f.Outcome
	if f.Amends != "" && o.amend(to, e, f, at) { // what failed is not this call
		outcome.Failed, outcome.Rejected, outcome.NoMatch, outcome.Exit = false, false, false, session.Unknown
	}
	c := to.Answer(e.ToolCallID)
	if c == nil {
		search := isSearch(e.Tool, nil)
		markSearch(e.Parts, search)
		to.AddCall(session.CallFact{
			Offset: e.Offset, Time: at, Copy: e.Copy, Bare: len(e.Parts) == 0, Search: search, Kind: session.CallMissing, Part: -1, Tool: o.tool(e.Tool), ID: strings.Clone(e.ToolCallID),
			HasResult: true, Result: e.Offset, ResultCopy: e.Copy, Outcome: outcome,
		})
		return ""
	}
	c.Result, c.ResultCopy, c.Outcome = e.Offset, e.Copy, outcome
	e.Answer(c.Tool)
	markSearch(e.Parts, c.Search)
	if c.Duration == session.Unknown {
		c.Duration = took(c, e, at)
	}
	settle(c, e.Parts)
	o.inner(to, c, e, f, at)
	return c.Model
}

// inner tells the calls that a call made how they ended. A call that failed only because some of
// them said no did not fail.
func (o *Folder) inner(to *session.Facts, outer *session.CallFact, e *session.Entry, f *session.EntryFacts, at int64) {
	list := to.Inner(outer)
	if !f.Ended || len(list) == 0 {
		return
	}
	failed, saidNo := false, false
	for i, outcome := range outcomesOf(list, f) {
		c := &list[i]
		c.HasResult, c.Result, c.ResultCopy, c.Outcome = true, e.Offset, e.Copy, outcome
		if c.Duration == session.Unknown && len(list) == 1 {
			c.Duration = took(c, e, at)
		}
		settle(c, e.Parts)
		failed, saidNo = failed || c.Failed, saidNo || c.NoMatch
	}
	if outer.Failed && !failed && saidNo && f.Stopped == "" {
		outer.Failed, outer.NoMatch = false, true
	}
}

// outcomesOf returns the known outcomes of the calls within a call: fewer than calls if some may not have run.
func outcomesOf(list []session.CallFact, f *session.EntryFacts) []session.Outcome {
	all, exits := make([]session.Outcome, len(list)), make([]session.Outcome, 0, len(f.Inner))
	var shells, stopped []int
	for i := range list {
		all[i] = session.Outcome{Exit: session.Unknown, Duration: session.Unknown}
		if list[i].Shell {
			shells = append(shells, i)
		}
		if list[i].Tool == f.Stopped {
			stopped = append(stopped, i)
		}
	}
	for _, x := range f.Inner {
		if x.Exit != session.Unknown {
			exits = append(exits, x)
		}
	}
	switch {
	case len(list) == 1:
		all[0] = f.Outcome
	case f.Stopped != "" && len(stopped) != 1: // which of them ran is not known
		return nil
	case f.Stopped != "":
		all[stopped[0]] = f.Outcome
		return all[:stopped[0]+1]
	case len(f.Inner) == len(list):
		copy(all, f.Inner)
	case len(exits) == len(shells):
		for i, at := range shells {
			all[at] = exits[i]
		}
	case len(shells) == 1:
		all[shells[0]] = f.Outcome
	}
	return all
}

// amend completes the outcome of a command in the background, which the result of a later
// call tells, and reports whether its call was found. That is its result now, until which it
// ran at most.
func (o *Folder) amend(to *session.Facts, e *session.Entry, f *session.EntryFacts, at int64) bool {
	c := to.Amend(f.Amends, f.Outcome)
	if c == nil {
		return false
	}
	if d := took(c, e, at); d != session.Unknown {
		c.Duration = d
	}
	c.Result = e.Offset
	settle(c, e.Parts)
	o.inner(to, c, e, f, at)
	return true
}

// took returns the time from a call to a result, as far as it is known. Only the entries' own
// times count, and clocks may run backwards.
func took(c *session.CallFact, e *session.Entry, at int64) int32 {
	if d := at - c.Time; c.Copy != 0 && e.Copy != 0 && d >= 0 && d < 1<<31 {
		return int32(d)
	}
	return session.Unknown
}

func (o *Folder) call(to *session.Facts, e *session.Entry, c *session.EntryCall, at int64, model, own string) {
	cwd := cmp.Or(e.Context.CWD, own)
	fact := session.CallFact{
		Offset: e.Offset, Time: at, Copy: e.Copy, Bare: len(e.Parts) == 0, Kind: c.Kind, Part: c.Part, Tool: o.tool(c.Tool), Deed: c.Deed, Model: model, Outcome: c.Outcome,
		ID: strings.Clone(c.ID), Escapes: c.Escapes, Unread: c.Unread, Dialect: c.Dialect, Dir: o.name(within(cwd, c.Dir)),
	}
	if c.Ended || c.Kind == session.CallShell || c.Kind == session.CallNested && e.Facts.IsResult {
		fact.HasResult, fact.Result, fact.ResultCopy = true, e.Offset, e.Copy
	}
	if c.Command != nil {
		fact.Shell = true
		fact.Line, fact.Cut = cut(c.Command, MaxCommand)
	} else {
		fact.Line, fact.Cut = cut(c.Text, MaxLine)
		fact.Line = strings.ReplaceAll(fact.Line, "\n", " ")
		fact.Search = isSearch(c.Tool, c.Text)
	}
	for _, use := range c.Files {
		if use.Deed == session.DeedOther {
			use.Deed = c.Deed
		}
		use.Path = o.name(use.Path)
		fact.Files = append(fact.Files, use)
	}
	fact.Rules = uint32(o.rules.Rules(&fact, string(c.Command), cwd, own))
	switch {
	case fact.Shell && fact.Dialect != session.DialectPOSIX:
		for _, program := range firstWords(string(c.Command)) {
			fact.Programs = append(fact.Programs, o.name(program))
		}
		if len(fact.Programs) == 1 {
			fact.Blamed = 1
		}
	case len(c.Command) > 0:
		o.command(&fact)
	}
	if c.Part >= 0 && c.Part < len(e.Parts) {
		markSearch(e.Parts[c.Part:c.Part+1], fact.Search)
	}
	if fact.HasResult {
		settle(&fact, e.Parts)
	}
	if !to.Replace(fact, e.Shadows) {
		to.AddCall(fact)
	}
}

// command adds the programs of the shell command that was dissected last.
func (o *Folder) command(fact *session.CallFact) {
	d := o.rules.d
	fact.Broken = d.broken
	numbers := make([]int, len(d.commands))
	for i := range d.commands {
		c := &d.commands[i]
		numbers[i] = -1
		if c.program != "" && len(fact.Programs) < maxPrograms {
			numbers[i] = len(fact.Programs)
			fact.Programs = append(fact.Programs, o.name(c.label()))
		}
		if c.program == ownName {
			first := firstArgument(c.args)
			fact.Search = fact.Search || first != "" && !slices.Contains(noSearch, first)
		}
	}
	fact.Blamed = d.blamed(numbers)
}

// within returns a directory that may be relative to another one, or "".
func within(cwd, dir string) string {
	switch {
	case dir == "":
		return cwd
	case path.IsAbs(dir), cwd == "", len(dir) > 1 && dir[1] == ':': // a drive
		return dir
	}
	return path.Join(cwd, dir)
}

// Command is a program that a shell command runs.
type Command struct {
	Label string   // the program, with its subcommand
	Args  []string // after the program, with the subcommand
	Code  string   // in its own language, passed to it as text
	Dir   string   // the one it runs in
	Piped bool     // it reads what another one prints
}

// Commands returns the programs that a shell command runs in a directory. It reports
// false if the command cannot be parsed.
func Commands(text, dir string) (list []Command, ok bool) {
	d := newDissector()
	d.dissect(text, dir)
	for i := range d.commands {
		if c := &d.commands[i]; c.program != "" {
			list = append(list, Command{Label: c.label(), Args: c.args, Code: c.text, Dir: c.dir, Piped: len(c.upstream) > 0})
		}
	}
	return list, !d.broken
}

// name returns a copy of s; equal names share one.
func (o *Folder) name(s string) string {
	if s == "" {
		return ""
	}
	if kept, ok := o.names[s]; ok {
		return kept
	}
	if len(o.names) >= mostNames {
		clear(o.names)
	}
	s = strings.Clone(s)
	o.names[s] = s
	return s
}

const mostNames = 10_000

func (o *Folder) tool(s string) string { return o.name(session.Cut(s, maxTool)) }

// cut returns the first n bytes of a text at most, and whether it cut any.
func cut(text []byte, n int) (string, bool) { return string(session.Cut(text, n)), len(text) > n }

const ownName = "pigrep"

// noSearch are the commands of this program that do not print what past sessions say.
var noSearch = []string{"index", "watch", "status", "doctor", "config", "init", "completion", "version", "help", "skill", "mcp"}

// packageTools are the tools that the package for pi adds, which run this program.
var packageTools = []string{"session_search", "session_read"}

// callers are tools that call others, as their arguments say.
var callers = []string{"codemode", "mcp"}

// isSearch reports whether a call with these arguments asks this program, over MCP or as
// a tool of its package for pi. Clients of MCP make the name of a tool from the name of its
// server.
func isSearch(tool string, arguments []byte) bool {
	if slices.Contains(packageTools, tool) {
		return true
	}
	if slices.Contains(callers, strings.ToLower(tool)) {
		return bytes.Contains(arguments, []byte(ownName))
	}
	return slices.Contains(strings.FieldsFunc(strings.ToLower(tool), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), ownName)
}

func markSearch(parts []session.Part, search bool) {
	for i := range parts {
		parts[i].Search = parts[i].Search || search
	}
}

// The exit code of a shell command is the exit code of the last of its programs that ran. It cannot
// always be known which one that was: in "a && b" it may be either.

// isIdle reports whether none of the commands is worth blaming.
func (d *dissector) isIdle(commands []int) bool {
	return !slices.ContainsFunc(commands, func(at int) bool { return !programs()["ending"][d.commands[at].label()].Idle })
}

func either(a, b []int) []int { return append(a[:len(a):len(a)], b...) }

// blamed returns the programs that may have set the exit code, as bits. numbers has the
// number of each command's program, -1 for none.
func (d *dissector) blamed(numbers []int) (set uint64) {
	last, idle := d.last, d.isIdle(d.last)
	if idle {
		last = last[max(0, len(last)-1):]
	}
	for _, at := range last {
		if n := numbers[at]; n >= 0 && n < 64 && (idle || !programs()["ending"][d.commands[at].label()].Idle) {
			set |= 1 << n
		}
	}
	return set
}

// complaint matches the message of a shell that cannot run a program, or whose builtin, such as cd, fails.
var complaint = compiled(`(?m)^(?:-?(?:[\w./-]*/)?(?:ba|z|da|k)?sh: ?(?:(?:line )?\d+: )?|\(eval\):)([^\s:]+)(?::\d+)?: (.+)$`)

// unable matches complaints of a program that did not do its work, so that its exit code is not an answer.
var unable = compiled(`(?i)no such file|not a directory|permission denied|is a directory|not found|can't cd|cannot open|ambiguous redirect|unbound variable|too many arguments|syntax error|no matches found`)

// complains returns the programs of a call, as bits, that a shell says it could not run, and whether
// it says that something could not run at all.
func complains(c *session.CallFact, text []byte) (set uint64, failed bool) {
	for _, m := range complaint().FindAllSubmatch(text[:min(len(text), maxParsed)], maxComplaints) {
		asks := false
		for i, program := range c.Programs[:min(64, len(c.Programs))] {
			if first, _, _ := strings.Cut(program, " "); first == string(m[1]) {
				set |= 1 << i
				asks = asks || programs()["ending"][program].No != 0 // as in "type: x: not found"
			}
		}
		failed = failed || !asks && unable().Match(m[2])
	}
	return set, failed
}

// maxComplaints is how many complaints of a shell are read.
const maxComplaints = 8

// settle completes the outcome of a shell command that printed these parts: which programs
// made it fail, if it failed. An agent may have taken the exit code of a program that did not run for a no.
func settle(c *session.CallFact, printed []session.Part) {
	if !c.Shell || !c.Failed && !c.NoMatch {
		return
	}
	if c.Failed && c.Exit == session.Unknown { // it was interrupted: any program may have been running
		set := uint64(0)
		for i, program := range c.Programs[:min(64, len(c.Programs))] {
			if !programs()["ending"][program].Idle {
				set |= 1 << i
			}
		}
		c.Blamed = cmp.Or(set, c.Blamed)
		return
	}
	set, unable := uint64(0), false
	for i := range printed {
		of, failed := complains(c, printed[i].Text)
		set, unable = cmp.Or(set, of), unable || failed
	}
	c.NoMatch = !unable && (c.NoMatch || saysNo(c))
	if c.Failed = !c.NoMatch; c.Failed {
		c.Blamed = cmp.Or(set, c.Blamed)
	}
}

// saysNo reports whether the exit code of a call means "no" for each program that may have
// set it.
func saysNo(c *session.CallFact) bool {
	if c.Blamed == 0 || c.Exit == 0 {
		return false
	}
	for i, program := range c.Programs {
		if c.Blamed>>i&1 != 0 && programs()["ending"][program].No != int(c.Exit) {
			return false
		}
	}
	return true
}

// SaysNo reports whether the exit code of a shell command that printed a text only says no, as grep's
// does when nothing matches.
func SaysNo(command string, exit int32, printed []byte) bool {
	o, c := NewFolder(), session.CallFact{Shell: true, Outcome: session.Outcome{Failed: true, Exit: exit}}
	o.rules.d.dissect(command, "")
	o.command(&c)
	settle(&c, []session.Part{{Text: printed}})
	return c.NoMatch
}

// exitLine matches a line in which an agent only says how a command ended.
var exitLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\W*(?i:(?:(?:command|process) )?(?:exited|failed) with (?:exit )?(?:code|status)|exit (?:code|status)):? -?\d+\W*$`)
})

// IsExit reports whether a line of a result only says how a command ended: "Command exited with code 2".
func IsExit(line []byte) bool { return exitLine().Match(line) }
