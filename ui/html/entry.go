package html

import (
	"cmp"
	"html/template"
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/ui/printer"
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

// note is a fact next to the heading of an entry.
type note struct{ Text, Hint, Class string }

// block is a piece of an entry. One field is set.
type block struct {
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
	Open               bool
	Prose              template.HTML
	Code               template.HTML           // instead of Prose
	Plain              iter.Seq[template.HTML] // instead of Code, in pieces
}

type imageView struct {
	Text   string
	Source template.HTMLAttr // the whole src attribute, because html/template copies a URL several times to escape it; "" shows only the text
}

// titleOf is the heading of an entry.
func titleOf(e *entry.Entry) string {
	what := printer.NameOf(e)
	if e.CustomType != "" {
		what += " " + e.CustomType
	}
	if what = visibleLine(what); what != "" {
		first, size := utf8.DecodeRuneInString(what)
		what = string(unicode.ToUpper(first)) + what[size:]
	}
	return what
}

func isSummary(e *entry.Entry) bool {
	return e.Type == session.TypeCompaction || e.Type == session.TypeBranchSummary ||
		e.Role == session.RoleCompactionSummary || e.Role == session.RoleBranchSummary
}

// newEntry lays out an entry. It also returns the calls, which wait for their results.
func (x *writer) newEntry(e *entry.Entry) (*entryView, []*callView) {
	v := &entryView{
		Anchor: x.names[e.Index], Address: x.page.permalink(x.at, x.names[e.Index]), Title: titleOf(e), Prompt: e.Role == session.RoleUser, Number: x.index.number[e.Index],
		Previous: x.index.previous[e.Index], Next: x.index.next[e.Index],
		Day: x.day(e.Time), When: x.page.time(e.Time, "15:04"), Label: visibleLine(e.Labelled),
	}
	abandoned := x.page.MarkBranches && e.Branch == entry.BranchAbandoned
	class := "other"
	switch {
	case v.Prompt:
		class = "prompt"
	case e.Role == session.RoleAssistant:
		class = "reply"
		v.Notes = x.replyNotes(e)
	case e.Role == session.RoleShell:
		class = "shell"
	case isSummary(e):
		class = "summary"
		if n := e.View.TokensBefore; n > 0 {
			v.Notes = append(v.Notes, note{Text: human.Number(n) + " tokens before"})
		}
	case e.Type == session.TypeMessage || e.Type == session.TypeCustomMessage:
		class = "note"
	default:
		v.Remark = x.remark(e)
	}
	if abandoned {
		class += " abandoned"
		v.Notes = append(v.Notes, note{Text: "abandoned branch"})
	}
	var calls []*callView
	if v.Remark == "" {
		talk := false
		for i := range e.View.Blocks {
			b := x.newBlock(e, i)
			if b.Call != nil {
				calls = append(calls, b.Call)
			}
			talk = talk || b.Prose != "" || b.Problem != "" || b.Image != nil
			v.Blocks = append(v.Blocks, b)
		}
		if e.Role == session.RoleAssistant && !talk {
			class += " step"
		}
	}
	v.Class = class
	if x.isHit(e) {
		v.Class += " hit"
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
		notes = append(notes, note{Text: visibleLine(e.Model), Hint: visibleLine(e.Provider), Class: "model"})
	}
	if e.Facts == nil || !e.Facts.HasUsage {
		return notes
	}
	u := e.Facts.Usage
	if u.Tokens() > 0 {
		notes = append(notes, note{
			Text: human.Short(u.Input+u.CacheRead+u.CacheWrite) + " in, " + human.Short(u.Output) + " out",
			Hint: "tokens: " + human.Number(u.Input) + " input, " + human.Number(u.Output) + " output, " +
				human.Number(u.CacheRead) + " read from cache, " + human.Number(u.CacheWrite) + " written to cache",
		})
	}
	if u.Cost > 0 {
		notes = append(notes, note{Text: money(u.Cost), Class: "cost"})
	}
	return notes
}

// remark returns an entry about the session as one line, or "" if it does not fit on
// one.
func (x *writer) remark(e *entry.Entry) string {
	switch e.Type {
	case session.TypeLabel:
		if e.Label == "" {
			return visibleLine("Label cleared on " + e.TargetID)
		}
		return visibleLine("Label " + e.Label + " on " + e.TargetID)
	case session.TypeSessionInfo:
		return visibleLine("Named " + e.Name)
	}
	what := titleOf(e)
	for i := range e.View.Blocks {
		b := &e.View.Blocks[i]
		if b.Call != nil || b.Image != nil || b.Shell != nil || len(b.Text) > maxRemark {
			return ""
		}
		what += " " + visibleLine(string(b.Text))
	}
	return what
}

// maxRemark is the longest text of an entry of one line.
const maxRemark = 120

// isHit reports whether an entry is marked.
func (x *writer) isHit(e *entry.Entry) bool { return x.page.Site != nil && x.page.Site.Hits[e.Index] }

func (x *writer) newBlock(e *entry.Entry, i int) block {
	b := &e.View.Blocks[i]
	switch {
	case b.Call != nil:
		return block{Call: x.newCall(e, b.Call)}
	case b.Shell != nil:
		return block{Call: x.newShell(e, i)}
	case b.Image != nil:
		return block{Image: x.newImage(b.Image)}
	case b.Kind == session.KindError:
		return block{Problem: visible(b.Text)}
	case b.Kind == session.KindThinking:
		return block{Fold: &fold{Class: "thinking", Title: "Thinking", Note: firstLine(b.Text), Prose: x.prose(b.Text)}}
	case e.Role == session.RoleSystem:
		return block{Fold: &fold{Class: "data", Title: firstLine(b.Text), Note: human.Bytes(int64(len(b.Text))), Prose: x.prose(b.Text)}}
	case isSummary(e) && b.Kind == session.KindSummary:
		return block{Fold: &fold{Class: "said", Title: "Summary", Note: firstLine(b.Text), Prose: x.prose(b.Text)}}
	case printer.IsProse(b.Kind):
		return block{Prose: x.prose(b.Text)}
	}
	return block{Fold: x.data(b)}
}

// data is a text that is not part of the conversation.
func (x *writer) data(b *session.Block) *fold {
	kind := string(b.Kind)
	return fold{Class: "data", Title: strings.ToUpper(kind[:1]) + kind[1:], Note: human.Bytes(int64(len(b.Text)))}.with(x, "", b.Text)
}

// firstLine returns the line that the title of a folded text shows.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimLeft(start(string(text)), "#*- \n"), "\n")
	return strings.Trim(visibleLine(line), "*# ")
}

func (x *writer) newImage(i *session.Image) *imageView {
	v := &imageView{Text: cmp.Or(visibleLine(i.MimeType), "image") + ", " + human.Bytes(int64(i.Size))}
	if x.page.Images && isPicture(i) {
		v.Source = template.HTMLAttr(`src="data:` + i.MimeType + ";base64," + string(i.Base64) + `"`)
	}
	return v
}

// isPicture reports whether the image is safe to embed: of a type that cannot contain
// scripts, and valid base64.
func isPicture(i *session.Image) bool {
	switch i.MimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return false
	}
	for _, c := range i.Base64 {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return len(i.Base64) > 0
}
