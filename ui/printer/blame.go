package printer

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/blame"
	"pigrep/query/search"
)

// Blame is who wrote the lines of a file.
type Blame struct {
	Response *blame.Response
	Name     string // of the file, as it was asked for
	All      bool   // show every line, not only the first ones of a block
	Vim      bool   // path:line:column:text for each block
}

func (b *Blame) JSON(j *JSON) {
	r := b.Response
	j.Stream(&Stream{
		Command: "blame", Name: "blocks", Rows: rowsIn(r.Blocks, nil),
		end: struct {
			Lines   int `json:"total"`
			Written int `json:"written"`
			search.About
		}{r.Total, r.Written, listedAbout(r.About)},
	})
}

// lineRange is 7, or 7-9.
func lineRange(from, to int) string {
	return strconv.Itoa(from) + human.When(to != from, "-"+strconv.Itoa(to))
}

func (b *Blame) Sheet(layout Layout) table {
	type row = blame.Block
	of := func(value func(*row) string) func(*row) string {
		return ofOrigin(func(r *row) *blame.Origin { return r.Origin }, value)
	}
	return &sheet[row]{rows: listed(b.Response.Blocks), columns: []sheetColumn[row]{
		recordColumn("lines", func(r *row) string { return lineRange(r.From, r.To) }),
		recordColumn("match", func(r *row) string { return r.Match }),
		recordColumn("place", of(func(r *row) string { return layout.place(r.SessionID, r.SessionPath, r.Entry(), r.Offset) })),
		recordColumn("timestamp (UTC)", of(func(r *row) string { return stampUTC(r.Timestamp.Time) })),
		recordColumn("agent", of(func(r *row) string { return r.Agent })),
		recordColumn("prompt", of(func(r *row) string { return r.Prompt.String() })),
		recordColumn("reply", of(func(r *row) string { return r.Reply.String() })),
		recordColumn("session path", of(func(r *row) string { return r.SessionPath })),
		fieldColumn("path", func(r *row) string { return r.Path }),
		fieldColumn("from", func(r *row) string { return strconv.Itoa(r.From) }),
		fieldColumn("to", func(r *row) string { return strconv.Itoa(r.To) }),
		fieldColumn("id", of(func(r *row) string { return layout.name(r.SessionID, r.SessionPath) })),
		fieldColumn("sessionId", of(func(r *row) string { return r.SessionID })),
		fieldColumn("entryId", of(func(r *row) string { return r.EntryID })),
		fieldColumn("title", of(func(r *row) string { return r.Title })),
		fieldColumn("tool", of(func(r *row) string { return r.Tool })),
		fieldColumn("wrote", of(func(r *row) string { return r.Wrote })),
		fieldColumn("cwd", of(func(r *row) string { return r.CWD })),
	}}
}

// Plain writes the blocks as lines of compilers, with Vim, or as records.
func (b *Blame) Plain(p *Text) {
	if !b.Vim {
		p.records(b.Sheet(p.Layout))
		return
	}
	for i := range b.Response.Blocks {
		r := &b.Response.Blocks[i]
		if r.Blank() && len(b.Response.Blocks) > 1 {
			continue
		}
		text := noSession(r)
		if r.Origin != nil {
			text = human.Joined(" · ", p.place(r.SessionID, r.SessionPath, r.Entry(), r.Offset), matchText(r), human.Joined(" ", r.Host, r.Agent), stampUTC(r.Timestamp.Time), r.Prompt.String())
		}
		p.Print(terminal.Clean(fmt.Sprintf("%s:%d:1:%s", b.Name, r.From, text)), "\n")
	}
}

// ofOrigin returns a column of blocks and commits that have an origin.
func ofOrigin[T any](origin func(*T) *blame.Origin, value func(*T) string) func(*T) string {
	return func(r *T) string {
		if origin(r) == nil {
			return ""
		}
		return value(r)
	}
}

// matchText says how a block is the text of its call; "" if it is that exactly.
func matchText(r *blame.Block) string {
	switch r.Match {
	case blame.Space:
		return "but for white space"
	case blame.Alike:
		return "a similar line (" + human.Percent(r.Closeness) + ")"
	}
	return ""
}

// noSession says why a block is of no session.
func noSession(b *blame.Block) string {
	return "in no session: " + map[string]string{
		blame.Before: "the file is older than the first one", blame.Untouched: "none changed this file", blame.Other: "none that changed this file has this text",
		blame.Filtered: "the filters leave it out", blame.Short: "too short or too frequent to tell",
	}[b.Why]
}

// firstLines is how many lines of a block are shown, unless all are.
const firstLines = 3

// Text writes each block with what is known of its call, and its lines.
func (b *Blame) Text(t *Text) {
	r := b.Response
	shown := make(map[string]int) // the first line below which an origin, or the title of a session, is shown
	digits := 0
	for i := range r.Blocks {
		digits = max(digits, len(strconv.Itoa(r.Blocks[i].To)))
	}
	for i := range r.Blocks {
		x := &r.Blocks[i]
		if x.Blank() && len(r.Blocks) > 1 {
			continue
		}
		t.Print(human.When(i > 0, "\n"))
		t.block(x, shown)
		most := len(x.Lines)
		if !b.All && most > firstLines+1 {
			most = firstLines
		}
		for k, line := range x.Lines[:most] {
			number := fmt.Sprintf("%*d │ ", digits+2, x.From+k)
			line = terminal.Clip(safeLine(strings.ReplaceAll(line, "\t", "    ")), max(t.Width-terminal.Width(number), 1))
			if line == "" {
				number = strings.TrimRight(number, " ")
			}
			if x.Origin == nil {
				line = t.Dim(line)
			}
			t.Print(t.Dim(number), line, "\n")
		}
		if left := len(x.Lines) - most; left > 0 {
			t.Print(t.Dim(fmt.Sprintf("%*s ⋮ %s", digits+1, "", human.Plural(left, "more line", "more lines"))), "\n")
		}
	}
	var first *blame.Origin
	sessions := make(map[string]bool)
	for i := range r.Blocks {
		if o := r.Blocks[i].Origin; o != nil {
			first = cmp.Or(first, o)
			sessions[o.SessionPath] = true
		}
	}
	if first == nil {
		return
	}
	sum := fmt.Sprintf("%s: %s of %s found in %s, blank ones aside", terminal.Clean(b.Name), human.Number(r.Written), human.Plural(r.Total, "line", "lines"), human.Plural(len(sessions), "session", "sessions"))
	t.Print("\n", t.Dim(ansi.Wordwrap(sum, t.Width, "")), "\n")
	t.Print(t.Dim(terminal.Clip("to read an entry: pigrep show "+onHost(first.Host)+shellcmd.Here.Operand(t.originPlace(first)), t.Width)), "\n")
}

// onHost returns the flag with which commands find a session of another machine.
func onHost(host string) string {
	return human.When(host != "", "--on "+shellcmd.Here.Operand(host)+" ")
}

func (t *Text) originPlace(o *blame.Origin) string {
	return t.place(o.SessionID, o.SessionPath, o.Entry(), o.Offset)
}

func (t *Text) block(x *blame.Block, shown map[string]int) {
	lines := lineRange(x.From, x.To)
	if x.Origin == nil {
		t.fit(lines, t.Dim(noSession(x)))
		return
	}
	place := t.originPlace(x.Origin)
	if before := shown[place]; before > 0 {
		t.fit(lines, human.Joined(" · ", terminal.Clean(place), matchText(x), fmt.Sprintf("as line %d", before)))
		return
	}
	shown[place] = x.From
	name := path.Base(x.Wrote)
	wrote := human.When(x.Wrote != "" && name != path.Base(x.Path), "then named "+name)
	facts := human.Joined(" · ", terminal.Clean(place), t.Badge(x.Host, x.Agent, x.Kept), t.Ago(x.Timestamp.Time), terminal.Clean(x.Tool), matchText(x), terminal.Clean(wrote))
	if title := titleBeside(x.Origin); title != "" && shown[x.SessionPath] == 0 {
		shown[x.SessionPath] = x.From
		t.fit(lines, terminal.Clean(title))
		lines = ""
	}
	facts = strings.ReplaceAll(ansi.Wordwrap(facts, max(t.Width-2-len(lines), 1), ""), "\n", "\n  ")
	t.Print(t.Style(TitleStyle, lines), t.Dim("  "+facts), "\n")
	t.printSaid(session.KindPrompt, x.Prompt)
	t.printSaid(session.KindReply, x.Reply)
}

// titleBeside returns the title of a session, "" if the prompt of the turn is the title.
func titleBeside(o *blame.Origin) string {
	title := human.Title(o.Title)
	return human.When(!strings.HasPrefix(human.Title(o.Prompt.String()), strings.TrimSuffix(title, "…")), title)
}

func (t *Text) fit(lines, text string) {
	t.Print(t.Style(TitleStyle, lines), "  ", terminal.Clip(text, max(t.Width-len(lines)-2, 1)), "\n")
}

// printSaid writes the beginning of a text, on two lines at most.
func (t *Text) printSaid(kind session.Kind, said *blame.Said) {
	if said == nil {
		return
	}
	left := "  " + terminal.Pad(string(kind), 7)
	for i, line := range onTwoLines(strings.Join(strings.Fields(said.Text), " "), t.Width-len(left)) {
		if i > 0 {
			left = strings.Repeat(" ", len(left))
		}
		t.Print(t.Style(KindStyles[kind], left), line, "\n")
	}
}

// onTwoLines returns the beginning of a text, on two lines of a width at most.
func onTwoLines(text string, width int) []string {
	text, width = terminal.Clean(text), max(width, 1)
	first, _, more := strings.Cut(ansi.Wordwrap(text, width, ""), "\n")
	if !more {
		return []string{first}
	}
	return []string{first, terminal.Clip(strings.TrimSpace(strings.TrimPrefix(text, first)), width)}
}

// Commits is commits with the sessions that made them.
type Commits struct {
	Response *blame.CommitResponse
	Command  string // commit or log
	More     bool   // there are older commits, which are not listed
}

func (c *Commits) JSON(j *JSON) {
	r := c.Response
	j.Stream(&Stream{
		Command: c.Command, Name: "commits", Rows: rowsIn(r.Rows, nil),
		end: struct {
			Total int  `json:"total"`
			Found int  `json:"found"`
			More  bool `json:"more,omitempty"`
			search.About
		}{len(r.Rows), r.Found, c.More, listedAbout(r.About)},
	})
}

// commitName returns the short hash, or the pull request.
func commitName(r *blame.CommitRow) string {
	if r.Pull != "" {
		return "#" + r.Pull
	}
	return r.Hash[:min(len(r.Hash), 8)]
}

func (c *Commits) Sheet(layout Layout) table {
	type row = blame.CommitRow
	of := func(value func(*row) string) func(*row) string {
		return ofOrigin(func(r *row) *blame.Origin { return r.Origin }, value)
	}
	return &sheet[row]{rows: listed(c.Response.Rows), columns: []sheetColumn[row]{
		recordColumn("commit", commitName),
		recordColumn("match", func(r *row) string { return r.Match }),
		recordColumn("place", of(func(r *row) string { return layout.place(r.SessionID, r.SessionPath, r.Entry(), r.Offset) })),
		recordColumn("subject", func(r *row) string { return r.Subject }),
		recordColumn("committed (UTC)", func(r *row) string { return stampUTC(r.Committed.Time) }),
		recordColumn("agent", of(func(r *row) string { return r.Agent })),
		recordColumn("prompt", of(func(r *row) string { return r.Prompt.String() })),
		recordColumn("cost", of(func(r *row) string { return fmt.Sprintf("%.4f", r.Cost) })),
		recordColumn("session path", of(func(r *row) string { return r.SessionPath })),
		fieldColumn("hash", func(r *row) string { return r.Hash }),
		fieldColumn("id", of(func(r *row) string { return layout.name(r.SessionID, r.SessionPath) })),
		fieldColumn("sessionId", of(func(r *row) string { return r.SessionID })),
		fieldColumn("entryId", of(func(r *row) string { return r.EntryID })),
		fieldColumn("title", of(func(r *row) string { return r.Title })),
		fieldColumn("reply", of(func(r *row) string { return r.Reply.String() })),
		fieldColumn("cwd", of(func(r *row) string { return r.CWD })),
	}}
}

// leastSubject is how much of the subject of a commit is left.
const leastSubject = 6

// Text writes a commit with its session below it. The subject is cut, never what was found.
func (c *Commits) Text(t *Text) {
	r := c.Response
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Print(human.When(i > 0 && (x.Origin != nil || r.Rows[i-1].Origin != nil), "\n"))
		name := commitName(x)
		subject := terminal.Clean(x.Subject)
		if x.Pull != "" {
			subject = "pull request"
		}
		found := ""
		if x.Origin == nil {
			found = cmp.Or(human.When(x.Match == blame.Unread, "not compared"), "no session")
		}
		after := human.When(subject != "", " · ") + human.Joined(" · ", t.Ago(x.Committed.Time), found)
		line := terminal.Clip(subject, max(t.Width-len(name)-2-terminal.Width(after), leastSubject)) + after
		if x.Origin == nil {
			line = t.Dim(line)
		}
		t.Print(t.Style(TitleStyle, name), "  ", line, "\n")
		if x.Origin == nil {
			continue
		}
		how := human.When(x.Match == blame.ByText, "wrote "+human.Percent(x.Share)+" of its lines")
		facts := human.Joined(" · ", terminal.Clean(t.place(x.SessionID, x.SessionPath, x.Entry(), x.Offset)), t.Badge(x.Host, x.Agent, x.Kept), x.CostText(), how, terminal.Clean(titleBeside(x.Origin)))
		t.Print(t.Dim("  "+terminal.Clip(facts, max(t.Width-2, 1))), "\n")
		t.printSaid(session.KindPrompt, x.Prompt)
		if c.Command == "commit" {
			t.printSaid(session.KindReply, x.Reply)
		}
	}
	if c.More {
		t.Print("\n", t.Dim("the latest "+human.Plural(len(r.Rows), "commit", "commits")+" (more: -n)"), "\n")
	}
}
