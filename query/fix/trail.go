package fix

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"pigrep/index/record"
	"pigrep/internal/lists"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/entry"
)

// A trail is the sequence of events on the branches of a session, from the error on.
type trail struct {
	*follower
	finder  *finder
	entries *entry.Reader
	record  *session.Record
	tree    *session.Tree
	known   map[int]bool   // entries that a branch was followed through
	stored  *session.Facts // of the session, nil until they are needed

	episodes []episode
}

// follow reads the branch with the entry at an offset, from there to its leaf, and adds
// its episodes. It does nothing if the entry is on a branch that was followed.
func (t *trail) follow(offset int64) error {
	at := t.record.NodeAt(offset)
	if at < 0 || t.known[at] {
		return nil
	}
	path := t.tree.Through(at)
	from := slices.Index(path, at)
	if from < 0 { // a later entry with the same id replaces it
		path, from = []int{at}, 0
	}
	start := from // the call comes before its result
	for start > 0 && (t.record.Nodes[path[start]].Role == session.RoleToolResult || t.record.Nodes[path[start]].Continues(&t.record.Nodes[path[start-1]])) {
		start--
	}
	b := &branch{trail: t, folder: shellcmd.NewFolder()}
	for i := start; i < len(path); i++ {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		n := &t.record.Nodes[path[i]]
		if i >= from {
			t.known[path[i]] = true
		}
		if n.Type != session.TypeMessage {
			continue
		}
		err := t.entries.Read(entry.RefOf(n, t.record.Contexts.At(path[i])), entry.Identity{ID: n.ID}, func(e *session.Entry) { b.add(e, path[i], i >= from) })
		if err != nil && !errors.Is(err, entry.ErrChanged) { // one entry does not end the story
			return err
		}
	}
	t.episodes = append(t.episodes, episodes(b.events, &calls{facts: b.facts.Calls, actions: make(map[int]*Action)})...)
	return nil
}

// A branch is the events on a branch, read so far.
type branch struct {
	*trail
	folder *shellcmd.Folder
	facts  session.Facts
	events []event

	message string // that the last entry is a piece of
	first   int    // the first event of that message
	calling bool   // it makes calls
}

// add adds the events of the next entry of the branch; with none, only its calls.
func (b *branch) add(e *session.Entry, node int, events bool) {
	made := len(b.facts.Calls)
	b.folder.Add(&b.facts, e, b.record.CWD)
	if !events {
		return
	}
	answers := -1 // the call that this entry answers; of those within one, the last that failed or ran
	all := b.facts.Calls
	for i := len(all) - 1; i >= 0 && (answers < 0 || all[i].Offset == all[answers].Offset); i-- {
		c := &all[i]
		if c.HasResult && c.Result == e.Offset && (c.Kind != session.CallNested || c.Offset != e.Offset) && (answers < 0 || c.Failed && c.Shell && !all[answers].Failed) {
			answers = i
		}
	}
	if e.Role == session.RoleUser {
		b.events = append(b.events, event{what: prompted, call: -1})
	}
	if message := b.record.Nodes[node].Message; message == "" || message != b.message {
		b.message, b.first, b.calling = message, len(b.events), false
	}
	for i := made; i < len(b.facts.Calls); i++ {
		if c := &b.facts.Calls[i]; c.Kind != session.CallMissing && (c.Kind != session.CallNested || !e.Facts.IsResult) {
			b.calling = b.calling || c.Kind == session.CallPlain
			b.events = append(b.events, event{what: called, place: b.place(node), call: i})
		}
	}
	if b.calling { // what earlier pieces of the message said ends nothing
		for i := b.first; i < len(b.events); i++ {
			b.events[i].ends = false
		}
	}
	if answers >= 0 {
		answers = b.polled(e, answers)
	}
	if part, m, ok := b.finder.inEntry(e); ok {
		p := b.place(node)
		p.Kind, p.Tool, p.Text = e.Parts[part].Kind, strings.Clone(e.Parts[part].Tool), b.lines(e.Parts[part].Text, m.start, m.end)
		b.events = append(b.events, event{what: occurred, place: p, call: answers, match: m})
		return
	}
	if answers >= 0 {
		b.events = append(b.events, event{what: answered, call: answers, errs: b.facts.Calls[answers].Shell && saysError(e)})
	}
	if e.Role == session.RoleAssistant && !e.IsError {
		p := b.place(node)
		for i := range e.Parts {
			if part := &e.Parts[i]; part.Kind == session.KindReply && len(bytes.TrimSpace(part.Text)) > 0 {
				p.Kind, p.Text = part.Kind, b.beginning(part.Text)
				break
			}
		}
		b.events = append(b.events, event{what: replied, place: p, call: -1, ends: !b.calling})
	}
}

// polled returns the call of the command whose outcome a result tells: the answered call, or if
// that polls a command in the background, the call of that. An entry that is read alone does
// not say which one it is, but the facts of the session do.
func (b *branch) polled(e *session.Entry, answered int) int {
	poll := &b.facts.Calls[answered]
	if poll.Deed != session.DeedPoll {
		return answered
	}
	if b.stored == nil {
		b.stored = &session.Facts{}
		if set, err := b.reader.Facts(b.ctx, record.CallFacts, record.DetailFacts); err == nil {
			if facts, err := set.Facts(b.record.File); err == nil {
				b.stored = facts
			}
		}
	}
	at := slices.IndexFunc(b.stored.Calls, func(c session.CallFact) bool { return c.Result == e.Offset && c.HasResult && c.Offset != poll.Offset })
	if at < 0 {
		return answered
	}
	b.facts.Calls = append(b.facts.Calls, b.stored.Calls[at])
	return len(b.facts.Calls) - 1
}

// errorLine matches a line that a program prints which failed, even if its exit code is
// lost in a pipe.
var errorLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[^\w\n]*(?:\S+[:)] +)?(?:(?i:error|fatal|panic)|[\w.]*(?:Error|Exception))(?:\[\w+\]|\(\w+\))?(?: \w+)?:|^npm (?i:err!|error)|^(?:--- )?FAIL\b|^\S*make\S*: \*\*\*|^Traceback \(most recent`)
})

func saysError(e *session.Entry) bool {
	return slices.ContainsFunc(e.Parts, func(p session.Part) bool {
		return p.Kind == session.KindResult && errorLine().Match(p.Text[max(0, len(p.Text)-MaxText):])
	})
}

// SaidError returns the first line of an output that says error, "" if none does.
func SaidError(output []byte) string {
	for _, at := range errorLine().FindAllIndex(output, -1) {
		line, _, _ := bytes.Cut(bytes.TrimSpace(output[at[0]:]), []byte("\n"))
		if !isChatter(line) {
			return string(line)
		}
	}
	return ""
}

// ErrorLine returns the line of the output of a command that failed which says why: the first that
// says error, or else the last one with text.
func ErrorLine(output []byte) string {
	output = bytes.TrimSpace(output)
	if at := bytes.LastIndexByte(output, '\n'); at > 0 && shellcmd.IsExit(output[at+1:]) {
		output = bytes.TrimSpace(output[:at])
	}
	if line := SaidError(output); line != "" {
		return line
	}
	return string(output[bytes.LastIndexByte(output, '\n')+1:])
}

func (b *branch) place(node int) Place {
	n := &b.record.Nodes[node]
	return Place{
		EntryName: session.EntryName{EntryID: n.ID}, Timestamp: session.Time{Time: b.record.TimeOf(n)}, Line: n.Line, Offset: n.Offset, Length: n.Length, Branch: entry.BranchOf(b.tree, node),
	}
}

// maxText is the longest text of a Place or a Call, in bytes.
const maxText = 800

// lead is how much is shown before an error in the middle of a long line, in bytes.
const lead = 100

// lines returns the lines of a text that a range is in, as they may be shown.
func (b *branch) lines(text []byte, start, end int) string {
	first := bytes.LastIndexByte(text[:start], '\n') + 1
	if start-first > maxText/2 {
		for first = start - lead; !utf8.RuneStart(text[first]); first++ {
		}
	}
	if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
		end += i
	} else {
		end = len(text)
	}
	if !b.req.Redact {
		return short(string(text[first:end]))
	}
	masked, move := redact.Apply(string(text), redact.Around(text, first, end))
	first, end = move(first, end)
	return short(masked[first:end])
}

// beginning returns the beginning of a text as it may be shown.
func (b *branch) beginning(text []byte) string {
	if b.req.Redact {
		text = redact.Bytes(text)
	}
	return short(string(text))
}

// short returns a copy of the beginning of a text.
func short(s string) string {
	return strings.Clone(session.Beginning(s, maxText))
}

// call returns a short description of a call: the ends of its command, the files that it names, or its
// arguments.
func (f *follower) call(c *session.CallFact) string {
	text := c.Line
	if !c.Shell && len(c.Files) > 0 {
		text = strings.Join(lists.Map(c.Files, func(use session.FileUse) string { return use.Path }), ", ")
	}
	switch {
	case !f.req.Redact:
	case c.Cut:
		text = redact.Beginning(text)
	default:
		text = redact.Text(text)
	}
	if text = strings.TrimSpace(text); c.Shell {
		text = ends(text, c.Cut)
	}
	return short(text)
}

var (
	// patched matches a line of a patch that names a file.
	patched = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(\S.*?)\r?$`)
	})
	// marker matches the beginning of a here-document, and captures the line that ends it.
	marker = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<<-?\s*\\?['"]?(\w+)['"]?`) })
)

// ends returns the first line of a command and the most telling part of the others: the files of a patch,
// or the last line, unless that is cut.
func ends(command string, cut bool) string {
	first, rest, ok := strings.Cut(command, "\n")
	if !ok || rest == "" {
		return command
	}
	if files := patched().FindAllStringSubmatch(rest, -1); files != nil {
		first, _, _ = strings.Cut(first, "<<")
		return strings.TrimSpace(first) + " " + strings.Join(lists.Map(files, func(m []string) string { return m[1] }), ", ")
	}
	last, end := "", marker().FindStringSubmatch(first)
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); strings.ContainsFunc(line, unicode.IsLetter) && (end == nil || line != end[1]) {
			last = line
		}
	}
	if cut {
		last = ""
	}
	return strings.TrimSpace(first + " … " + last)
}
