package html

import (
	"bytes"
	"cmp"
	"html/template"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/ui/transcript"
)

// entryView is an entry as the template "entry" shows it.
type entryView struct {
	Anchor, Class, Title string
	Address              string // of itself
	Prompt               bool
	Number               int
	Previous, Next       *indexItem
	Day                  string // if it is the first of a day
	When                 *when
	Notes                []note
	Label                string
	Remark               string // instead of blocks: an entry of one line
	Blocks               []block
}

// Line returns what an entry of one line says: a remark, or that nothing is in it; "" for any other.
func (v *entryView) Line() string {
	if v.Remark == "" && v.Label == "" && !slices.ContainsFunc(v.Blocks, func(b block) bool { return b != block{} }) {
		return v.Title + " without text"
	}
	return v.Remark
}

// note is a fact next to the heading of an entry.
type note struct{ Text, Hint, Class string }

// block is a piece of an entry. One field is set beside Anchor.
type block struct {
	Anchor  string // of a further piece of a message, which begins here
	Prose   template.HTML
	Text    string // a remark
	Problem string
	Fold    *fold
	Call    *callView
	Image   *imageView
	Load    string // the address of a long output, which is loaded when it is wanted
}

// fold is a text that is folded under its title.
type fold struct {
	Class, Title, Note string
	Prose              template.HTML
	Code               template.HTML           // instead of Prose
	Plain              iter.Seq[template.HTML] // instead of Code, in pieces
}

type imageView struct {
	Text   string
	Source template.HTMLAttr // the whole src attribute, because html/template copies a URL several times to escape it; "" shows only the text
}

// titleOf returns the heading of an entry.
func titleOf(it *transcript.Item) string {
	what := it.Name
	if it.CustomType != "" {
		what += " " + it.CustomType
	}
	return capital(Line(what))
}

// capital returns a text that begins with a capital letter.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// classNames maps classes to their names in the style sheet; "other" stands for none.
var classNames = map[transcript.Class]string{
	transcript.Prompt: "prompt", transcript.Reply: "reply", transcript.Shell: "shell", transcript.Summary: "summary",
	transcript.Note: "note", transcript.System: "note", transcript.Unknown: "note", transcript.Result: "note",
}

// newEntry lays out an entry. It also returns the calls, which wait for their results.
func (x *writer) newEntry(e *entry.Entry) (*entryView, []*callView) {
	it := transcript.Describe(e)
	v := &entryView{
		Anchor: x.names[e.Index], Address: x.page.permalink(x.at, x.names[e.Index]), Title: titleOf(&it), Prompt: it.Class == transcript.Prompt,
		Class: cmp.Or(classNames[it.Class], "other"), Day: x.day(e.Time), When: x.page.time(e.Time, "15:04"), Label: Line(e.Labelled),
	}
	if at := x.index.prompts[e.Index]; at != nil {
		v.Number, v.Previous, v.Next = at.Number, at.previous, at.next
	}
	switch {
	case x.continues(e):
	case it.Class == transcript.Reply:
		v.Notes = x.replyNotes(e)
	case it.Fact != "":
		v.Notes = append(v.Notes, note{Text: it.Fact})
	case it.Class == transcript.Other:
		v.Remark = remark(&it)
	}
	if x.page.MarkBranches && e.Branch == entry.BranchAbandoned {
		v.Class += " abandoned"
		v.Notes = append(v.Notes, note{Text: "abandoned branch"})
	}
	var calls []*callView
	if v.Remark == "" {
		talk := false
		for i := range it.Blocks {
			b := x.newBlock(&it, i)
			if b.Call != nil {
				calls = append(calls, b.Call)
			}
			talk = talk || b.Prose != "" || b.Problem != "" || b.Image != nil
			v.Blocks = append(v.Blocks, b)
		}
		if it.Class == transcript.Reply && !talk {
			v.Class += stepClass
		}
	}
	if x.isHit(e) {
		v.Class += hitClass
	}
	return v, calls
}

// day returns the day of a time, or "" if the previous entry has the same.
func (x *writer) day(t time.Time) string {
	day := t.In(x.page.Zone).Format("Monday, 2 January 2006")
	if t.IsZero() || day == x.lastDay {
		return ""
	}
	x.lastDay = day
	return day
}

// replyNotes returns the model of a reply, if it has changed, and its cost.
func (x *writer) replyNotes(e *entry.Entry) (notes []note) {
	if e.Model != "" && e.Model != x.lastModel {
		x.lastModel = e.Model
		notes = append(notes, note{Text: Line(e.Model), Hint: Line(e.Provider), Class: "model"})
	}
	facts := e.Facts
	if e.Message != "" { // the last piece has the right figures
		pieces := x.page.Conversation.Tree.Pieces(e.Index)
		if last := pieces[len(pieces)-1]; last != e.Index {
			if read, err := x.page.Conversation.Read(last); err == nil {
				facts = read.Facts
			}
		}
	}
	if facts == nil || !facts.HasUsage {
		return notes
	}
	u := facts.Usage
	if u.Tokens() > 0 {
		notes = append(notes, note{
			Text: human.Short(u.Input+u.CacheRead+u.CacheWrite) + " in, " + human.Short(u.Output) + " out",
			Hint: "tokens: " + human.Number(u.Input) + " input, " + human.Number(u.Output) + " output, " +
				human.Number(u.CacheRead) + " read from cache, " + human.Number(u.CacheWrite) + " written to cache",
		})
	}
	if u.Cost > 0 {
		notes = append(notes, note{Text: human.DollarsUpTo(u.Cost).Text(u.Cost), Class: "cost"})
	}
	return notes
}

// remark returns an entry about the session as one line, or "" if it does not fit on
// one.
func remark(it *transcript.Item) string {
	if it.Remark != nil {
		return capital(Line(strings.Join(it.Remark, " ")))
	}
	what := titleOf(it)
	for _, b := range it.Blocks {
		switch b.Form {
		case transcript.Call, transcript.Image, transcript.Command:
			return ""
		}
		if len(b.Text) > maxRemark {
			return ""
		}
		what += " " + Line(string(b.Text))
	}
	return what
}

// maxRemark is the longest text of an entry of one line.
const maxRemark = 120

// isHit reports whether an entry is marked.
func (x *writer) isHit(e *entry.Entry) bool {
	return x.page.Site != nil && x.page.Site.Hits[e.Index] > 0
}

func (x *writer) newBlock(it *transcript.Item, i int) block {
	b := it.Blocks[i]
	folded := func(class, title, note string) block {
		return block{Fold: &fold{Class: class, Title: title, Note: note, Prose: x.prose(b.Text)}}
	}
	switch {
	case b.Form == transcript.Call:
		return block{Call: x.newCall(b.Call)}
	case b.Form == transcript.Command:
		return block{Call: x.newShell(it.Entry, i)}
	case b.Form == transcript.Image:
		return block{Image: x.newImage(b.Image)}
	case b.Form == transcript.Problem:
		return block{Problem: visible(b.Text)}
	case b.Form == transcript.Thinking:
		return folded("thinking", "Thinking", firstLine(b.Text))
	case it.Class == transcript.System:
		return folded("data", firstLine(b.Text), human.Bytes(int64(len(b.Text))))
	case it.Class == transcript.Summary && b.Kind == session.KindSummary:
		return folded("said", "Summary", firstLine(b.Text))
	case b.Form == transcript.Prose:
		return block{Prose: x.prose(b.Text)}
	}
	return block{Fold: x.data(b.Block)}
}

// data returns a text that is not part of the conversation.
func (x *writer) data(b *session.Block) *fold {
	return fold{Class: "data", Title: capital(string(b.Kind)), Note: human.Bytes(int64(len(b.Text)))}.withCode(x, "", b.Text)
}

// firstLine returns the line that the title of a folded text shows.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimLeft(start(string(text)), "#*- \n"), "\n")
	return strings.Trim(Line(line), "*# ")
}

func (x *writer) newImage(i *session.Image) *imageView {
	v := &imageView{Text: cmp.Or(Line(i.MimeType), "image") + ", " + human.Bytes(int64(i.Size))}
	if x.page.Images && isPicture(i) {
		v.Source = template.HTMLAttr(`src="data:` + i.MimeType + ";base64," + string(i.Base64) + `"`)
	}
	return v
}

// isPicture reports whether the image is safe to embed: of a type that cannot contain
// scripts, and valid base64.
func isPicture(i *session.Image) bool {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/="
	isSafe := slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, i.MimeType)
	return isSafe && len(i.Base64) > 0 && len(bytes.Trim(i.Base64, alphabet)) == 0
}

// writer writes the entries of a page. A reply with calls is held back until their
// results are there; entries in between are queued behind it.
type writer struct {
	page  *Page
	w     io.Writer
	names map[int]string
	index *index

	at       int       // the step
	branches []*branch // those that the entry is in, outermost first
	turn     *entryView
	message  string      // Entry.Message of turn
	calls    []*callView // of turn, without a result so far
	file     entry.FileLine
	before   time.Time // of the entry before, for how long a call took
	behind   []*entryView
	folded   session.Steps // before the entry
	steps    []*entryView  // the folded ones, on a page of a site

	lastDay, lastModel string
	highlighted        int // bytes of code so far

	err error // the first one of writing; nothing is written after it
}

// branch is one that leaves the main line, or another branch.
type branch struct {
	step    int // its first one
	written bool
}

// maxFolds bounds the nesting of folded branches, because browsers limit the depth of
// pages. Deeper branches are not folded.
const maxFolds = 8

func (x *writer) write(name string, data any) {
	if x.err == nil {
		x.err = templates().ExecuteTemplate(x.w, name, data)
	}
}

// step writes the entry of a step, or keeps it.
func (x *writer) step(k int, e *entry.Entry) {
	s := x.page.Steps[k]
	x.at = k
	if s.Starts {
		x.leave(s.Depth - 1)
		x.branches = append(x.branches, &branch{step: k})
	} else if len(x.branches) > s.Depth {
		x.leave(s.Depth)
	}
	if x.page.Pass != nil && !x.page.Pass(e) {
		return
	}
	if i := s.Entry; x.page.isFolded(i) {
		x.fold(i, e)
		return
	}
	if name := x.file.Next(e); name != "" {
		x.flush()
		x.write("file", Line(name))
	}
	if e.Role == session.RoleToolResult && x.answer(e) {
		return
	}
	if x.continues(e) {
		x.extend(e)
		return
	}
	if len(x.calls) > 0 && transcript.Describe(e).Class == transcript.Other { // a remark between a call and its result
		v, _ := x.newEntry(e)
		x.behind = append(x.behind, v)
		return
	}
	x.flush()
	x.enterBranches(e)
	if e.Says() {
		x.writeSteps()
	}
	if e.Role == session.RoleToolResult {
		x.write("entry", x.newResult(e))
		return
	}
	v, calls := x.newEntry(e)
	if e.Role == session.RoleAssistant && (len(calls) > 0 || e.Message != "") {
		x.turn, x.message, x.calls, x.before = v, e.Message, calls, e.Time
		return
	}
	x.write("entry", v)
}

// fold counts a step, and keeps it for a page of a site.
func (x *writer) fold(i int, e *entry.Entry) {
	step := x.page.Conversation.Record.Nodes[i].Step
	if x.folded.Add(step); x.page.Site == nil || step == session.StepEmpty {
		return
	}
	day := x.lastDay
	v, _ := x.newEntry(e)
	v.Day, x.lastDay = "", day
	x.steps = append(x.steps, v)
}

// writeSteps writes the steps that have been counted as one line. On a page of a site, it unfolds.
func (x *writer) writeSteps() {
	if text := x.folded.String(); text != "" {
		x.write("steps", struct {
			Text    string
			Entries []*entryView
		}{text, x.steps})
	}
	x.folded, x.steps = session.Steps{}, nil
}

// continues reports whether an entry is a further piece of the message that is held back.
func (x *writer) continues(e *entry.Entry) bool {
	return x.turn != nil && e.Message != "" && e.Message == x.message
}

// extend adds a further piece of a message to what is held back of it.
func (x *writer) extend(e *entry.Entry) {
	v, calls := x.newEntry(e)
	if len(v.Blocks) == 0 {
		v.Blocks = append(v.Blocks, block{})
	}
	v.Blocks[0].Anchor = v.Anchor
	x.turn.Blocks, x.calls, x.before = append(x.turn.Blocks, v.Blocks...), append(x.calls, calls...), e.Time
	if !strings.Contains(v.Class, stepClass) {
		x.turn.Class = strings.Replace(x.turn.Class, stepClass, "", 1)
	}
	if x.isHit(e) && !strings.HasSuffix(x.turn.Class, hitClass) {
		x.turn.Class += hitClass
	}
}

// The classes of a reply without text, and of an entry that is marked.
const (
	stepClass = " step"
	hitClass  = " hit"
)

func (x *writer) flush() {
	for _, c := range x.calls {
		if c.id != "" { // otherwise its agent writes no results
			c.Notes = append(c.Notes, note{Text: "no result"})
		}
	}
	if x.turn != nil {
		x.write("entry", x.turn)
	}
	for _, v := range x.behind {
		x.write("entry", v)
	}
	x.turn, x.calls, x.behind = nil, nil, nil
}

// leave ends all but the outermost n branches.
func (x *writer) leave(n int) {
	x.flush()
	if last := len(x.branches) - 1; last >= 0 && !x.branches[last].written { // it has nothing else
		x.folded, x.steps = session.Steps{}, nil
	}
	x.writeSteps()
	for len(x.branches) > n {
		last := len(x.branches) - 1
		if x.branches[last].written && last < maxFolds {
			x.write("branch-end", nil)
		}
		x.branches = x.branches[:last]
	}
}

// enterBranches begins the branches of an entry that have none written yet.
func (x *writer) enterBranches(e *entry.Entry) {
	for depth, b := range x.branches {
		if b.written {
			continue
		}
		b.written = true
		if depth >= maxFolds {
			continue
		}
		where := "Another branch from here"
		switch first, tree := x.page.Steps[b.step].Entry, x.page.Conversation.Tree; {
		case tree.Superseded(first):
			where = "Replaced by later entries with the same ids"
		case tree.Parent(first) < 0:
			where = "Another beginning"
		}
		entries := human.When(x.page.Pass == nil, human.Plural(x.size(b.step), "entry", "entries"))
		address := ""
		if site := x.page.Site; site != nil {
			address = site.Branch(x.page.Conversation.Record.Nodes[x.page.Steps[b.step].Entry].ID)
		}
		x.write("branch", struct {
			Where, Text, Entries string
			When                 *when
			Address              string
		}{where, cmp.Or(x.index.branches[b.step], Line(indexText(e))), entries, x.page.time(e.Time, "2006-01-02 15:04"), address})
		x.lastDay = ""
	}
}

// enclose begins the branches that contain step k, if it is in the middle of them.
func (x *writer) enclose(k int) {
	depth := 0
	if k < len(x.page.Steps) {
		depth = x.page.Steps[k].Depth
		if x.page.Steps[k].Starts {
			depth--
		}
	}
	for i := k - 1; i >= 0 && depth > 0; i-- {
		if s := x.page.Steps[i]; s.Starts && s.Depth == depth {
			x.branches = append([]*branch{{step: i}}, x.branches...)
			depth--
		}
	}
}

// size returns the number of entries of conversation of a branch that starts at a step.
func (x *writer) size(k int) int {
	n := 0
	for at, s := range x.page.Steps[k:] {
		if s.Depth < x.page.Steps[k].Depth || at > 0 && s.Starts && s.Depth == x.page.Steps[k].Depth {
			break
		}
		if !x.page.Conversation.IsStep(s.Entry) {
			n++
		}
	}
	return n
}
