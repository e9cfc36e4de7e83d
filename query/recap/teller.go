package recap

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"unicode"

	"pigrep/index"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/fix"
	"pigrep/query/search"
)

// A teller collects the facts of a session and its subagents, one file after the other.
type teller struct {
	ctx     context.Context
	reader  *index.Reader
	entries *entry.Reader
	passes  *filter.Filter

	record *session.Record // of the file
	of     *session.Summary
	own    bool // it is of the session itself, not of a subagent

	facts   []Fact
	prompts int
	about   string // the first prompt that says something
	reply   []byte // the last one
	replied int64  // where it is

	learns  bool // only repairs are of interest
	repairs []Repair
}

// session returns the facts of a session.
func (t *teller) session(s *session.Summary) Session {
	t.facts = slices.DeleteFunc(t.facts, func(f Fact) bool { return f.born && f.gone }) // it was written and deleted again
	sortFacts(t.facts)
	facts := search.Describe(s, nil).SessionFacts
	if t.about != "" && facts.Title == s.FirstPrompt {
		facts.Title = t.about
	}
	return Session{Type: "recap", SessionFacts: facts, Prompts: t.prompts, Facts: t.facts, repairs: t.repairs}
}

// sortFacts sorts facts by kind, and files by their number of changes.
func sortFacts(list []Fact) {
	lists.SortStable(list, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(slices.Index(Kinds, a.What), slices.Index(Kinds, b.What)), cmp.Compare(b.changes(), a.changes()))
	})
}

func (f *Fact) changes() int { return f.Edits + f.Writes + f.Deletes }

// file adds the facts of a file.
func (t *teller) file(s *session.Summary, stored *session.Facts, own bool) error {
	rec, err := t.reader.Record(s.File)
	if err != nil || rec == nil {
		return err
	}
	t.record, t.of, t.own = rec, s, own
	t.entries.Use(&rec.Summary)
	t.calls(stored.Calls)
	if own && !t.learns {
		t.turns()
		t.planned(stored.Calls)
	}
	return t.ctx.Err()
}

// newFact returns a fact at an entry of the file.
func (t *teller) newFact(what What, offset int64, text string) Fact {
	f := Fact{What: what, Offset: offset, Text: text}
	if n := t.record.NodeAt(offset); n >= 0 {
		node := &t.record.Nodes[n]
		f.EntryID, f.Line, f.Timestamp = node.ID, node.Line, session.Time{Time: t.record.TimeOf(node)}
	}
	if !t.own {
		f.SessionPath, f.SessionID = t.of.Path, t.of.ID
	}
	return f
}

// mostFailures is how many different commands that failed, the latest ones, a later call is compared with.
const mostFailures = 64

// failure is a command that failed, until it succeeds.
type failure struct {
	action *fix.Action
	fact   int // its number
	result int64
	since  int // the call that failed first
	last   int // the call that failed last
}

// calls adds what the calls of a file changed, which failed, and what they made.
func (t *teller) calls(list []session.CallFact) {
	var failures []*failure
	for i := range list {
		c := &list[i]
		if t.passes.TestsTime() && !t.passes.Time(c.Time) || c.Kind == session.CallMissing || !c.HasResult {
			continue
		}
		if c.Succeeded() {
			t.changes(c)
		}
		if t.learns && !c.Shell {
			continue
		}
		action, now := fix.NewAction(c), t.newFact(Failed, c.Offset, textOf(c))
		end := t.ended(c, action)
		if !t.learns {
			t.made(c, action)
		}
		if end.failed {
			now.Times, now.Error = 1, end.says
			if at := slices.IndexFunc(failures, func(f *failure) bool { return action.Repeats(f.action) }); at >= 0 {
				f := &t.facts[failures[at].fact]
				now.Times = f.Times + 1
				*f, failures[at].result, failures[at].last = now, c.Result, i
				continue
			}
			if failures = append(failures, &failure{action, len(t.facts), c.Result, i, i}); len(failures) > mostFailures {
				t.says(failures[0]) // nothing that comes so late is expected to repair it
				failures = failures[1:]
			}
			t.facts = append(t.facts, now)
			continue
		}
		if !c.Succeeded() {
			continue
		}
		failures = slices.DeleteFunc(failures, func(f *failure) bool {
			if !action.Repeats(f.action) && (t.learns || !action.Checks(f.action) && !writesSame(c, &list[f.last])) {
				return false
			}
			pass := passOf(&now)
			pass.Changed, pass.Ran = stepsOf(list[f.since:i], f.action)
			t.facts[f.fact].Passed = pass
			t.says(f)
			if t.learns {
				t.learn(&t.facts[f.fact], list[f.last:i+1])
			}
			return true
		})
	}
	if !t.learns {
		for _, f := range failures {
			t.says(f)
		}
	}
}

// writesSame reports whether a call changed a file that an earlier one could not change.
func writesSame(c, failed *session.CallFact) bool {
	return !failed.Shell && failed.Deed.Writes() && slices.ContainsFunc(changed(c), func(f session.FileUse) bool {
		return slices.ContainsFunc(failed.Files, func(g session.FileUse) bool {
			return shellcmd.Resolve(g.Path, failed.Dir) == shellcmd.Resolve(f.Path, c.Dir)
		})
	})
}

// says adds what a command printed when it failed the last time.
func (t *teller) says(f *failure) {
	if t.facts[f.fact].Error != "" {
		return
	}
	t.read(f.result, func(_ *session.Entry, p *session.Part) {
		if isOutput(p) || p.Kind == session.KindError {
			t.facts[f.fact].Error = clipped(fix.ErrorLine(p.Text))
		}
	})
}

// changed returns the files that a call changed.
func changed(c *session.CallFact) (list []session.FileUse) {
	if !c.HasResult || !c.Succeeded() {
		return nil
	}
	for _, f := range c.Files {
		if f.Deed == session.DeedOther {
			f.Deed = c.Deed
		}
		if f.Deed.Writes() {
			list = append(list, f)
		}
	}
	if c.Shell && len(list) == 0 && !c.Cut && c.Dialect == session.DialectPOSIX {
		list = shellcmd.Changes(c.Line, c.Dir)
	}
	return list
}

func (t *teller) changes(c *session.CallFact) {
	for _, f := range changed(c) {
		name := f.Path
		if dir := cmp.Or(c.Dir, t.record.CWD); dir != "" && !path.IsAbs(session.Slashed(name)) && !strings.ContainsAny(name, ":~") {
			name = path.Join(session.Slashed(dir), session.Slashed(name))
		}
		deleted := c.Shell && f.Deed == session.DeedDelete
		known := false
		for at := range t.facts {
			if old := &t.facts[at]; old.What == Changed && (old.Text == name || deleted && strings.HasPrefix(old.Text, name+"/")) {
				t.change(at, c, f.Deed, old.Text)
				known = true
			}
		}
		if known || deleted && path.Ext(name) == "" { // a directory, perhaps
			continue
		}
		t.facts = append(t.facts, Fact{born: f.Deed == session.DeedWrite})
		t.change(len(t.facts)-1, c, f.Deed, name)
	}
}

// change counts what a call did to a file in its fact.
func (t *teller) change(at int, c *session.CallFact, deed session.Deed, name string) {
	old := t.facts[at]
	now := t.newFact(Changed, c.Offset, name)
	now.Edits, now.Writes, now.Deletes, now.born, now.gone = old.Edits, old.Writes, old.Deletes, old.born, deed == session.DeedDelete
	switch deed {
	case session.DeedEdit:
		now.Edits++
	case session.DeedWrite:
		now.Writes++
	default:
		now.Deletes++
	}
	t.facts[at] = now
}

// read reads the parts of the entry at an offset; what can no longer be read says nothing.
func (t *teller) read(offset int64, use func(*session.Entry, *session.Part)) {
	if n := t.record.NodeAt(offset); n >= 0 {
		node := &t.record.Nodes[n]
		_ = t.entries.Read(entry.RefOf(node, t.record.Contexts.At(n)), entry.Identity{ID: node.ID}, func(e *session.Entry) {
			for i := range e.Parts {
				use(e, &e.Parts[i])
			}
		})
	}
}

// turns adds the turns without a reply, those that were interrupted, and how the last one ends.
func (t *teller) turns() {
	nodes := t.record.Nodes
	var turn []int // the entries of a turn
	var closing Fact
	end := func(last bool) {
		if len(turn) > 0 {
			t.turn(turn, last, &closing)
		}
		turn = nil
	}
	acts := false // the agent has done something in the turn
	for _, i := range t.record.Tree().Path() {
		n := &nodes[i]
		if n.Type != session.TypeMessage && n.Type != session.TypeCustomMessage {
			continue
		}
		if t.passes.TestsTime() && !t.passes.Time(t.record.TimeOf(n).UnixMilli()) {
			continue
		}
		if n.Role == session.RoleUser && acts && t.prompt(n.Offset) != "" {
			end(false)
			acts = false
		}
		acts = acts || n.Role == session.RoleAssistant
		turn = append(turn, i)
	}
	end(true)
	t.statements()
	if closing.What != "" {
		t.facts = append(t.facts, closing)
	}
}

// prompt returns the text of a prompt; "" if the entry is none.
func (t *teller) prompt(offset int64) (text string) {
	t.read(offset, func(_ *session.Entry, p *session.Part) {
		if p.Kind == session.KindPrompt && text == "" {
			text = clipped(string(p.Text))
		}
	})
	return text
}

// lastEntries is how many entries at the end of a turn say how it ended.
const lastEntries = 6

// turn adds the facts of a turn, and its closing paragraph, if it has one.
func (t *teller) turn(entries []int, last bool, closing *Fact) {
	nodes := t.record.Nodes
	asked, text := int64(-1), "" // the last prompt before the agent did something
	for _, i := range entries {
		if nodes[i].Role == session.RoleAssistant {
			break
		}
		if s := t.prompt(nodes[i].Offset); nodes[i].Role == session.RoleUser && s != "" {
			asked, text = nodes[i].Offset, s
		}
	}
	if asked < 0 {
		return
	}
	t.prompts++
	if t.about == "" && saysSomething(text) {
		t.about = text
	}
	aborted, replied := "", false
	t.reply = nil
	for k, i := range slices.Backward(entries) {
		if k < len(entries)-lastEntries && (replied || aborted == "" && k < len(entries)-10*lastEntries) {
			break
		}
		t.read(nodes[i].Offset, func(e *session.Entry, part *session.Part) {
			switch {
			case part.Kind == session.KindError && e.Role == session.RoleAssistant && !replied && aborted == "", part.Kind == session.KindNote && interruption().Match(part.Text):
				if k >= len(entries)-lastEntries {
					aborted = clipped(string(part.Text))
				}
			case part.Kind == session.KindReply && len(bytes.TrimSpace(part.Text)) > 0 && !replied:
				replied = true
				t.reply, t.replied = bytes.Clone(part.Text), e.Offset
				if s := lastParagraph(part.Text); s != "" && (closing.What == "" || saysSomething(s)) {
					*closing = t.newFact(Closing, e.Offset, s)
				}
			}
		})
	}
	if aborted != "" {
		f := t.newFact(Aborted, asked, text)
		f.Error = aborted
		t.facts = append(t.facts, f)
	} else if isResult := func(i int) bool { return nodes[i].Role == session.RoleToolResult }; !replied && (last || !slices.ContainsFunc(entries, isResult)) {
		t.facts = append(t.facts, t.newFact(Open, asked, text))
	}
}

// interruption matches what agents write when the person interrupts a turn or a command.
var interruption = once(`(?i)^\W*(?:(?:request|turn|command)[ _](?:was )?(?:interrupted|aborted)|(?:aborted|interrupted|cancelled) by (?:the )?user)`)

// leastSaid is the least number of bytes of words in a text that says something.
const leastSaid = 20

// saysSomething reports whether a text has enough words beside paths, links and pictures.
func saysSomething(text string) bool {
	n := 0
	for _, w := range strings.Fields(text) {
		if !strings.ContainsAny(w, "/@") && strings.ContainsFunc(w, unicode.IsLetter) {
			n += len(w)
		}
	}
	return n >= leastSaid
}

// longest is how much of a text is quoted, in bytes.
const longest = 400

// clipped returns a text on one line, shortened.
func clipped(s string) string {
	return session.Beginning(strings.Join(strings.Fields(s), " "), longest)
}
