// Package html writes a conversation as a web page: an index of the prompts, calls with
// their results, edits as diffs, branches folded where they fork, costs and times. A
// page is a single file that needs no script and loads nothing; its
// Content-Security-Policy makes browsers enforce that. Entries are read while the page
// is written, so memory does not grow with the session.
//
// All text of a session is treated as hostile. html/template escapes it on its way into
// the page. Only prose, code and images are written as HTML directly: they escape every
// text, and use no class, address or attribute that is not fixed or checked.
package html

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/ui/show"
	"pigrep/ui/transcript"
)

// Page is a conversation as a page.
type Page struct {
	Session      show.SessionFacts
	Conversation *entry.Conversation
	Steps        []entry.Step            // the entries to show, in order; side branches are folded
	Pass         func(*entry.Entry) bool // entries that fail are left out; nil passes all
	AllSteps     bool                    // steps of the machine are entries like others; otherwise, those in a row are one line
	MarkBranches bool                    // mark entries of abandoned branches, since they are not folded
	Images       bool                    // embed images; otherwise they are named
	FullPaths    bool                    // name directories and files with their whole path
	Home         string                  // the home directory, otherwise written ~
	Zone         *time.Location

	Site *Site // the site that the page belongs to; nil for a standalone file
}

// Site has the addresses of pages that a page links to.
type Site struct {
	From, To int                                        // the steps on the page
	Entry    func(id string) string                     // the page with an entry, without the anchor
	Branch   func(id string) string                     // the page of the branch through an entry
	Output   func(entry, block int, name string) string // a block of an entry, highlighted as a file with that name
	Session  func(path, id string) string               // another session
	Hits     map[int]int                                // how many hits entries have, which are marked, by their index in the file
}

var (
	//go:embed page.html
	pageSource string
	//go:embed page.css
	styleSource string

	templates = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("").Parse(pageSource))
	})
	// style is the style sheet as it is between its tags.
	style = sync.OnceValue(func() string { return "\n" + styleSource })
	// policy allows this style sheet and images inside of the page, nothing else.
	policy = sync.OnceValue(func() string {
		sum := sha256.Sum256([]byte(style()))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src data:; base-uri 'none'; form-action 'none'"
	})
)

// Style returns the style sheet of pages.
func Style() string { return styleSource }

// Write writes the page: first the head and the index, then the entries as they are
// read.
func (p *Page) Write(ctx context.Context, w io.Writer) error {
	b, err := p.Body(ctx, w)
	if err != nil {
		return err
	}
	b.x.write("top", struct {
		Title  string
		Policy string
		Style  template.HTML
	}{p.Title(), policy(), template.HTML("<style>" + style() + "</style>")})
	b.Head()
	b.x.write("main", nil)
	if err := b.Entries(ctx); err != nil {
		return err
	}
	_, _, place := p.facts()
	b.x.write("bottom", place)
	return b.x.err
}

// Body writes the conversation of a page.
type Body struct{ x *writer }

// Body prepares the conversation of the page, which is then written in parts.
func (p *Page) Body(ctx context.Context, w io.Writer) (*Body, error) {
	p.Conversation.Facts = true
	p.mainFirst()
	names, err := anchorsOf(ctx, p)
	if err != nil {
		return nil, err
	}
	list, err := p.index(ctx, names)
	if err != nil {
		return nil, err
	}
	return &Body{&writer{page: p, w: w, names: names, index: list}}, nil
}

// Head writes the title, the facts and the index. Entries returns its error.
func (b *Body) Head() {
	line, more, place := b.x.page.facts()
	if b.x.page.Site != nil { // a file has it at its end
		more = append(more, place...)
	}
	b.x.write("head", struct {
		Title       string
		Line, Facts []fact
		Index       *index
	}{b.x.page.Title(), line, more, b.x.index})
}

// Entries writes the entries as they are read.
func (b *Body) Entries(ctx context.Context) error {
	p, x := b.x.page, b.x
	from, to := 0, len(p.Steps)
	if p.Site != nil {
		from, to = p.Site.From, p.Site.To
		x.enclose(from)
	}
	for k := from; k < to && x.err == nil; k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var e *entry.Entry
		if i := p.Steps[k].Entry; p.Site != nil || p.Pass != nil || !p.isFolded(i) {
			var err error
			if e, err = p.Conversation.Read(i); err != nil {
				return err
			}
		}
		x.step(k, e)
	}
	x.leave(0)
	return x.err
}

// isFolded reports whether an entry is a step that shares a line with others.
func (p *Page) isFolded(i int) bool {
	rec := p.Conversation.Record
	return !p.AllSteps && p.Conversation.IsStep(i) && rec.Labels[rec.Nodes[i].ID] == "" && (p.Site == nil || p.Site.Hits[i] == 0)
}

// Parts cuts a page into parts of length entries of conversation, and returns the first step of each part.
func (p *Page) Parts(length int) (starts []int) {
	talk := 0
	for k, s := range p.Steps {
		if p.Conversation.IsStep(s.Entry) {
			continue
		}
		if talk%length == 0 {
			starts = append(starts, k)
		}
		talk++
	}
	if len(starts) == 0 {
		return []int{0}
	}
	starts[0] = 0
	return starts
}

// address returns the address of step k: on this page, or on another one.
func (p *Page) address(k int, name string) string {
	if p.Site == nil || p.Site.From <= k && k < p.Site.To {
		return "#" + name
	}
	return p.permalink(k, name)
}

// permalink returns an address of step k that does not change when the conversation continues.
func (p *Page) permalink(k int, name string) string {
	if p.Site == nil {
		return "#" + name
	}
	return p.Site.Entry(p.Conversation.Record.Nodes[p.Steps[k].Entry].ID) + "#" + name
}

// mainFirst moves conversations with another root behind the main one.
func (p *Page) mainFirst() {
	main := slices.IndexFunc(p.Steps, func(s entry.Step) bool { return s.Depth == 0 })
	if main > 0 {
		p.Steps = slices.Concat(p.Steps[main:], p.Steps[:main])
	}
}

// anchorsOf returns the anchors of the entries, by their index in the file. They are
// made of entry ids, so that links can be written by hand; duplicates get a number.
func anchorsOf(ctx context.Context, p *Page) (map[int]string, error) {
	names := make(map[int]string, len(p.Steps))
	last := make(map[string]int, len(p.Steps)) // the last number given
	for _, s := range p.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := transcript.Anchor(p.Conversation.Record.Nodes[s.Entry].ID)
		free := name
		for last[free] > 0 {
			last[name]++
			free = name + "-" + strconv.Itoa(last[name])
		}
		last[free] = 1
		names[s.Entry] = free
	}
	return names, nil
}

// StepOf returns the step of an entry, given by its index in the file; -1 if it is not
// among the steps. Only then the steps are in the order of the page.
func (p *Page) StepOf(i int) int {
	p.mainFirst()
	return slices.IndexFunc(p.Steps, func(s entry.Step) bool { return s.Entry == i })
}

// fact is a line of the table above a conversation.
type fact struct {
	Name, Value string
	When        *when // instead of Value
}

// IsLong reports whether the value takes up two columns.
func (f fact) IsLong() bool { return len(f.Value) > 24 }

// when is a moment as a page shows it.
type when struct {
	Text string
	Full string // with date and zone
	UTC  string // for programs
}

// Title returns the title of the conversation.
func (p *Page) Title() string {
	return Line(human.Headline(p.Session.Title))
}

// time returns a moment in the time zone of the page; nil if it is unknown.
func (p *Page) time(t time.Time, layout string) *when {
	if t.IsZero() {
		return nil
	}
	local := t.In(p.Zone)
	return &when{local.Format(layout), local.Format("2006-01-02 15:04:05 MST") + " (" + t.UTC().Format("2006-01-02 15:04:05") + " UTC)", t.UTC().Format(time.RFC3339)}
}

// facts returns what is known of a session: the facts for the line below the title, the others,
// and where the session is.
func (p *Page) facts() (line, more, place []fact) {
	f := &p.Session
	add := func(list *[]fact, name, value string) {
		if value = Line(value); value != "" {
			*list = append(*list, fact{Name: name, Value: value})
		}
	}
	moment := func(list *[]fact, name string, t session.Time, layout string) {
		if at := p.time(t.Time, layout); at != nil {
			*list = append(*list, fact{Name: name, When: at})
		}
	}
	const minute = "2006-01-02 15:04 MST"
	add(&line, "Agent", f.Label)
	add(&line, "Directory", p.directory(f.CWD))
	moment(&line, "Day", cmp.Or(f.Created, f.Modified), "2 January 2006")
	add(&line, "Messages", human.Plural(f.Messages, "message", "messages"))
	moment(&more, "Started", f.Created, minute)
	moment(&more, "Last message", f.Modified, minute)
	add(&more, "Models", strings.Join(f.Models, ", "))
	if f.Tokens > 0 {
		add(&more, "Tokens", human.Number(f.Tokens))
	}
	add(&line, "Cost", f.CostText())
	add(&more, "Labels", strings.Join(f.Labels, ", "))
	if f.ParentSession != "" {
		add(&more, f.ParentIs(), p.file(f.ParentSession))
	}
	add(&more, "Begins in", f.BeginsIn())
	add(&place, "Session", f.SessionID)
	add(&place, "File", p.file(f.SessionPath))
	return line, more, place
}

// homes matches home directories of users, of this machine or another one.
var homes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:/home/[^/]+|/Users/[^/]+|/root|(?i:[a-z]:)?[/\\](?i:users)[/\\][^/\\]+)([/\\]|$)`)
})

// directory returns a directory without the private parts of its path: the name of the
// user and, outside of home directories, everything but the last element.
func (p *Page) directory(dir string) string {
	if p.Site != nil { // of its owner
		return human.Path(dir, p.Home)
	}
	if p.FullPaths {
		return dir
	}
	if short := human.Path(dir, p.Home); short != dir {
		return short
	}
	if m := homes().FindStringSubmatchIndex(dir); m != nil {
		return "~" + dir[m[2]:]
	}
	return p.file(dir)
}

func (p *Page) file(name string) string {
	if p.Site != nil {
		return human.Path(name, p.Home)
	}
	if p.FullPaths || name == "" {
		return name
	}
	return path.Base(strings.ReplaceAll(name, `\`, "/"))
}

// index lists the prompts of a conversation and other landmarks: summaries, labelled
// entries, branches.
type index struct {
	Items    []*indexItem
	Summary  string
	prompts  map[int]*indexItem // of the main line, by the entry
	last     *indexItem         // the last of those that are listed
	branches map[int]string     // what each branch is about, by its first step
}

type indexItem struct {
	Address, Text, What, Label string
	Depth                      int

	Number         int // of a prompt on the main line
	previous, next *indexItem
}

// maxIndexText is the length in cells of a line of the index.
const maxIndexText = 160

// Limits on the index of a page of a site. If the conversation has more items, the index has
// only those near the entries on the page, and reads no others.
const (
	maxIndexed = 2000 // items
	nearby     = 300  // steps before and after the page
)

func (p *Page) index(ctx context.Context, names map[int]string) (*index, error) {
	x := &index{prompts: make(map[int]*indexItem), branches: make(map[int]string)}
	steps, begins := p.landmarks()
	partial := p.Site != nil && len(steps) > maxIndexed
	for _, k := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := p.Steps[k]
		node := &p.Conversation.Record.Nodes[s.Entry]
		isPrompt := isPromptNode(node)
		branch, isSubject := begins[k]
		if partial && !isSubject && (k < p.Site.From-nearby || k >= p.Site.To+nearby) {
			if isPrompt && s.Depth == 0 {
				x.prompts[s.Entry] = &indexItem{Number: len(x.prompts) + 1}
			}
			continue
		}
		e, err := p.Conversation.Read(s.Entry)
		if err != nil {
			return nil, err
		}
		if p.Pass != nil && !p.Pass(e) {
			continue
		}
		item := &indexItem{
			What: "entry", Address: p.address(k, names[s.Entry]), Depth: min(s.Depth, maxFolds), Label: Line(e.Labelled),
			Text: terminal.Clip(Line(indexText(e)), maxIndexText),
		}
		x.Items = append(x.Items, item)
		switch {
		case isSubject:
			item.What = "branch"
			x.branches[branch] = item.Text
		case isSummaryNode(node):
			item.What = "summary"
		case isPrompt:
			item.What = "prompt"
			if s.Depth == 0 {
				item.Number, item.previous = len(x.prompts)+1, x.last
				if x.last != nil {
					x.last.next = item
				}
				x.prompts[s.Entry], x.last = item, item
			}
		}
	}
	x.Summary = x.summary(p.Pass == nil, partial)
	return x, nil
}

// summary counts what is in the index; whole says that no entry was left out.
func (x *index) summary(whole, partial bool) string {
	prompts := human.Some(len(x.prompts), "prompt", "prompts")
	if whole {
		prompts = human.Plural(len(x.prompts), "prompt", "prompts")
	}
	branches := human.Some(len(x.branches), "other branch", "other branches")
	return cmp.Or(human.Joined(", ", prompts, branches, human.When(partial, "the nearest listed")), "Index")
}

// landmarks returns the steps that the index lists, and the first step of each branch by the
// step that describes it.
func (p *Page) landmarks() (steps []int, begins map[int]int) {
	begins = make(map[int]int)
	for k, s := range p.Steps {
		if s.Starts {
			begins[p.subject(k)] = k
		}
		node := &p.Conversation.Record.Nodes[s.Entry]
		if _, isSubject := begins[k]; isSubject || isPromptNode(node) || isSummaryNode(node) || p.Conversation.Record.Labels[node.ID] != "" {
			steps = append(steps, k)
		}
	}
	return steps, begins
}

func isPromptNode(n *session.Node) bool {
	return n.Role == session.RoleUser && n.Step == session.Talk
}

func isSummaryNode(n *session.Node) bool {
	return n.Step == session.Talk && n.IsSummary()
}

// subject returns the step that describes a branch: its first prompt before it forks, or
// else its first entry.
func (p *Page) subject(start int) int {
	for k := start; k < len(p.Steps); k++ {
		if s := p.Steps[k]; s.Depth != p.Steps[start].Depth || s.Starts && k > start {
			break
		}
		if isPromptNode(&p.Conversation.Record.Nodes[p.Steps[k].Entry]) {
			return k
		}
	}
	return start
}

func indexText(e *entry.Entry) string {
	if e.Role == session.RoleUser {
		if e.UserText == "" && len(e.Images) > 0 {
			return "(image)"
		}
		return human.Title(cmp.Or(session.Subject(e.UserText), e.UserText, e.Command))
	}
	it := transcript.Describe(e)
	what := titleOf(&it)
	for _, b := range it.Blocks {
		switch b.Kind {
		case session.KindReply, session.KindSummary, session.KindNote:
			return what + ": " + strings.TrimLeft(start(string(b.Text)), "#* \n")
		}
	}
	return what
}

// start returns enough of a text to fill a line of the index.
func start(s string) string { return session.Cut(s, 4*maxIndexText) }
