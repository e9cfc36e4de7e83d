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
	"strings"

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
}

func NewFolder() *Folder { return &Folder{rules: NewEvaluator(), names: make(map[string]string)} }

// Add folds the next entry of a session with this working directory. It does not retain
// the entry's memory. It sets Search of the entry's parts, and the tool of a result that does
// not name it. It returns what the session has
// used more.
func (o *Folder) Add(to *session.Facts, e *session.Entry, cwd string) (used session.Usage) {
	f := e.Facts
	if f == nil {
		return session.Usage{}
	}
	to.Begin()
	at := int64(0)
	if !e.Timestamp.IsZero() {
		at = e.Timestamp.UnixMilli()
	}
	model := e.Model
	if e.Provider != "" && e.Model != "" {
		model = e.Provider + "/" + e.Model
	}
	model = o.name(model)
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
		used = to.Use(u, f.UsageOf)
	}
	if f.IsResult {
		model = o.result(to, e, f, at)
	}
	for i := range f.Calls {
		o.call(to, e, &f.Calls[i], at, model, cwd)
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
	return c.Model
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

func (o *Folder) call(to *session.Facts, e *session.Entry, c *session.EntryCall, at int64, model, cwd string) {
	fact := session.CallFact{
		Offset: e.Offset, Time: at, Copy: e.Copy, Bare: len(e.Parts) == 0, Kind: c.Kind, Part: c.Part, Tool: o.tool(c.Tool), Deed: c.Deed, Model: model, Outcome: c.Outcome,
		ID: strings.Clone(c.ID), Escapes: c.Escapes, Dialect: c.Dialect, Dir: o.name(within(cwd, c.Dir)),
	}
	if c.Kind != session.CallPlain {
		fact.HasResult, fact.Result, fact.ResultCopy = true, e.Offset, e.Copy
	}
	if c.Command != nil {
		fact.Shell = true
		fact.Line, fact.Cut = cut(c.Command, MaxCommand)
	} else {
		fact.Line, fact.Cut = line(c.Text, MaxLine)
		fact.Search = isSearch(c.Tool, c.Text)
	}
	for _, use := range c.Files {
		if use.Deed == session.DeedOther {
			use.Deed = c.Deed
		}
		use.Path = o.name(use.Path)
		fact.Files = append(fact.Files, use)
	}
	fact.Rules = uint32(o.rules.Rules(&fact, string(c.Command), cwd))
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
	to.AddCall(fact)
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
		fact.Search = fact.Search || c.searches()
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

// line is cut for arguments. It joins their lines with spaces.
func line(text []byte, n int) (string, bool) {
	short, more := cut(text, n)
	if bytes.IndexByte(text, '\n') >= 0 {
		short = strings.ReplaceAll(short, "\n", " ")
	}
	return short, more
}
