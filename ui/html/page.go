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
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"pigrep/query/engine/entry"
	"pigrep/ui/printer"
	"pigrep/ui/transcript"
)

// Page is a conversation as a page.
type Page struct {
	Session      printer.SessionFacts
	Conversation *entry.Conversation
	Steps        []entry.Step            // the entries to show, in order; side branches are folded
	Pass         func(*entry.Entry) bool // entries that fail are left out; nil passes all
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
	Hits     map[int]bool                               // entries that are marked, by their index in the file
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
	err = b.x.write("top", struct {
		Title  string
		Policy string
		Style  template.HTML
	}{p.Title(), policy(), template.HTML("<style>" + style() + "</style>")})
	if err != nil {
		return err
	}
	if err := b.Head(); err != nil {
		return err
	}
	if err := b.x.write("main", nil); err != nil {
		return err
	}
	if err := b.Entries(ctx); err != nil {
		return err
	}
	_, _, place := p.facts()
	return b.x.write("bottom", place)
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

// Head writes the title, the facts and the index.
func (b *Body) Head() error {
	line, more, place := b.x.page.facts()
	if b.x.page.Site != nil { // a file has it at its end
		more = append(more, place...)
	}
	return b.x.write("head", struct {
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
	for k := from; k < to; k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := p.Conversation.Read(p.Steps[k].Entry)
		if err != nil {
			return err
		}
		if err := x.step(k, e); err != nil {
			return err
		}
	}
	return x.end()
}

// address is that of step k: on this page, or on another one.
func (p *Page) address(k int, name string) string {
	if p.Site == nil || p.Site.From <= k && k < p.Site.To {
		return "#" + name
	}
	return p.permalink(k, name)
}

// permalink is an address of step k that does not change when the conversation continues.
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
