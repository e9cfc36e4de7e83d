// Package html writes a conversation as a page for browsers: an index of its prompts,
// calls with their results, edits as diffs, branches folded where they leave, cost and
// times. A page is one file that needs no script and requests nothing; its policy makes
// the browser enforce that. Entries are read while the page is written, so that memory
// does not grow with the session.
//
// All text of a session is hostile. html/template escapes it where it goes into a page.
// Only prose and code make HTML themselves: they escape every text they write, and name
// no class, address or attribute that is not ours or checked.
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
	"strings"
	"sync"
	"time"

	"pigrep/internal/ui/printer"
	"pigrep/query/entry"
)

// Page is a conversation as a page.
type Page struct {
	Session      printer.SessionFacts
	Conversation *entry.Conversation
	Steps        []entry.Step            // the entries to show, in order; those of branches off are folded
	Pass         func(*entry.Entry) bool // entries that fail are left out; nil passes all
	MarkBranches bool                    // mark entries of abandoned branches, since they are not folded
	Images       bool                    // embed images; otherwise they are named
	FullPaths    bool                    // name directories and files with their whole path
	Home         string                  // the home directory, otherwise written ~
	Zone         *time.Location
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

// Write writes the page: what comes before the conversation, then its entries as they
// are read.
func (p *Page) Write(ctx context.Context, w io.Writer) error {
	p.Conversation.Facts = true
	p.mainFirst()
	names, err := anchorsOf(ctx, p)
	if err != nil {
		return err
	}
	list, err := p.index(ctx, names)
	if err != nil {
		return err
	}
	x := &writer{page: p, w: w, names: names, index: list}
	err = x.write("top", struct {
		Title  string
		Policy string
		Style  template.HTML
		Facts  []fact
		Index  *index
	}{p.title(), policy(), template.HTML("<style>" + style() + "</style>"), p.facts(), list})
	if err != nil {
		return err
	}
	for k, s := range p.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := p.Conversation.Read(s.Entry)
		if err != nil {
			return err
		}
		if err := x.step(k, e); err != nil {
			return err
		}
	}
	if err := x.end(); err != nil {
		return err
	}
	return x.write("bottom", nil)
}

// mainFirst moves conversations with a beginning of their own behind the main one.
func (p *Page) mainFirst() {
	main := slices.IndexFunc(p.Steps, func(s entry.Step) bool { return s.Depth == 0 })
	if main > 0 {
		p.Steps = slices.Concat(p.Steps[main:], p.Steps[:main])
	}
}

// anchorsOf names the entries of a page, by their index in the file, so that a link with
// the id of an entry finds it. Of entries with one name all but the first get a number.
func anchorsOf(ctx context.Context, p *Page) (map[int]string, error) {
	names := make(map[int]string, len(p.Steps))
	last := make(map[string]int, len(p.Steps)) // the number that was given last
	for _, s := range p.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := anchor(p.Conversation.Record.Nodes[s.Entry].ID)
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

func anchor(id string) string {
	return "e-" + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, id)
}
