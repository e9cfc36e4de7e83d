package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
	"pigrep/query/engine/words"
	"pigrep/ui/html"
	"pigrep/ui/transcript"
)

// Conversation is a session that is open for reading.
type Conversation struct {
	Page    *html.Page // without its Site
	Path    string     // of the file
	Leaf    bool       // the page shows one branch, not all
	Command string     // resumes the session; "" if it cannot be resumed
	Notes   []string   // why it cannot be resumed, or warnings
	Close   func()
}

// ConversationName returns the name of a session in URLs: its id and, because copies of a
// file share the id, a hash of its path.
func ConversationName(path, id string) string {
	h := fnv.New32a()
	h.Write([]byte(path))
	return fmt.Sprintf("%s.%08x", strings.NewReplacer("/", "_", `\`, "_").Replace(id), h.Sum32())
}

// conversationAddress returns the URL of a conversation that marks the hits of a query. With
// an entryID, it points to that entry.
func conversationAddress(path, id, entryID string, q searchParams) string {
	return place{ConversationName(path, id), "", q}.entry(entryID)
}

// place is the common part of the URLs of a conversation.
type place struct {
	name string
	leaf string // an entry of the only branch to show; "" shows all branches
	searchParams
}

// urlBelow returns a URL below the URL of the conversation, which keeps the query and the branch, and
// has one more parameter unless its value is empty.
func (p place) urlBelow(path, name, value string) string {
	v := url.Values{}
	if p.Text != "" {
		q := p.searchParams
		q.Sort, q.All, q.Any, q.Limit = 0, false, false, firstLimit
		v = q.values()
	}
	if p.leaf != "" {
		v.Set("leaf", p.leaf)
	}
	if value != "" {
		v.Set(name, value)
	}
	return withParams("/session/"+url.PathEscape(p.name)+path, v)
}

func (p place) page(entryID string) string { return p.urlBelow("", "entry", entryID) }

// entry returns the URL of an entry, with its anchor.
func (p place) entry(entryID string) string {
	if entryID == "" {
		return p.page("")
	}
	return p.page(entryID) + "#" + transcript.Anchor(entryID)
}

// part returns the URL of part n, counted from 1.
func (p place) part(n int) string { return p.urlBelow("", "part", strconv.Itoa(n)) }

// branch returns the URL of the branch through an entry.
func (p place) branch(id string) string {
	p.leaf = id
	return p.page(id)
}

// output returns the URL of a block of an entry as a page, highlighted like a file of this name.
func (p place) output(entry, block int, name string) string {
	return place{name: p.name}.urlBelow(fmt.Sprintf("/output/%d/%d", entry, block), "as", name)
}

// partLength is the number of entries of conversation on a page.
const partLength = 300

// conversationPage is the data of the conversation templates, apart from the entries.
type conversationPage struct {
	Command string
	Notes   []string
	Exports []link
	All     string // URL of the page with all branches; "" if this is it
	Search  string // URL of the search that the user came from; "" for none
	Query   string
	Hits    *hitLinks
	Marks   string // what is highlighted, as a JSON array of match.Mark in lower case
	Parts   []partLink
	Earlier string // URL of the previous part; "" for none
	Later   string
	Grown   string // URL that says how many entries are new
}

// hitLinks are the links to the previous and the next hit.
type hitLinks struct {
	Text           string
	Previous, Next string
}

type partLink struct {
	Number  int
	Address string
	Here    bool
}

// reading returns a handler of requests about a conversation, which it opens for show.
func reading(show func(*Server, http.ResponseWriter, *http.Request, *Conversation, place) error) handler {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		q, err := parseSearchParams(r.URL.Query())
		if err != nil {
			return err
		}
		at := place{r.PathValue("name"), r.URL.Query().Get("leaf"), q}
		c, err := s.Open(r.Context(), at.name, at.leaf, s.redacts(r))
		if err != nil {
			return err
		}
		defer c.Close()
		return show(s, w, r, c, at)
	}
}

// showConversation shows one part of a conversation and marks the hits of a query. It streams
// the entries, so that the browser shows the first ones while the rest is read. Once the page
// has begun, errors appear on the page itself.
func (s *Server) showConversation(w http.ResponseWriter, r *http.Request, c *Conversation, at place) error {
	ctx := r.Context()
	view := &conversationPage{Command: c.Command, Notes: c.Notes, Query: html.Line(at.Text)}
	if at.Text != "" {
		view.Search = at.Address()
	}
	f := s.frame(r, c.Page.Title(), view)
	out := bufio.NewWriterSize(w, 32<<10)
	write := func(name string) error { return templates().ExecuteTemplate(out, name, f) }
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := write("conversation"); err != nil {
		return err
	}
	err := func() error {
		flush(w, out)
		if err := s.fill(ctx, c, view, at, r.URL.Query()); err != nil {
			return err
		}
		body, err := c.Page.Body(ctx, out)
		if err != nil {
			return err
		}
		body.Head()
		if err := write("conversation-main"); err != nil {
			return err
		}
		flush(w, out)
		return body.Entries(ctx)
	}()
	if err != nil && ctx.Err() == nil {
		f.Note = err.Error()
		_ = write("conversation-failed") // fails only if the browser has disconnected
	}
	_ = write("conversation-end")
	_ = out.Flush()
	return nil
}

// flush sends the output written so far. If that fails, so does the next write.
func flush(w http.ResponseWriter, out *bufio.Writer) {
	_ = out.Flush()
	_ = http.NewResponseController(w).Flush()
}

// fill chooses the part of the conversation to show, and adds the links to the other parts.
func (s *Server) fill(ctx context.Context, c *Conversation, view *conversationPage, at place, v url.Values) error {
	p := c.Page
	for _, format := range s.Formats {
		view.Exports = append(view.Exports, link{format, "/session/" + url.PathEscape(at.name) + "/export/" + format})
	}
	if c.Leaf {
		all := at
		all.leaf = ""
		view.All = all.entry(at.leaf)
	}
	p.Site = &html.Site{Entry: at.page, Branch: at.branch, Output: at.output, Session: func(path, id string) string { return conversationAddress(path, id, "", at.searchParams) }, Hits: make(map[int]int)}
	found := p.Conversation.Tree.Find(v.Get("entry"))
	step := p.StepOf(found) // which orders the steps
	if name := v.Get("entry"); name != "" && step < 0 {
		view.Notes = append(view.Notes, "There is no entry "+html.Line(terminal.Clip(name, 60))+" in this "+human.When(c.Leaf, "branch")+human.When(!c.Leaf, "session")+".")
	}
	starts := p.Parts(partLength)
	parts := len(starts)
	number := sort.SearchInts(starts, max(0, step)+1)
	if n, err := strconv.Atoi(v.Get("part")); err == nil && found < 0 {
		number = max(1, min(n, parts))
	}
	p.Site.From, p.Site.To = starts[number-1], len(p.Steps)
	if number < parts {
		p.Site.To = starts[number]
	}
	for n := 1; n <= parts && parts > 1; n++ {
		view.Parts = append(view.Parts, partLink{n, at.part(n), n == number})
	}
	view.Grown = at.urlBelow("/grown", "from", strconv.Itoa(len(p.Conversation.Record.Nodes))) // says how many entries there are after these
	if number > 1 {
		view.Earlier = at.part(number - 1)
	}
	if number < parts {
		view.Later = at.part(number + 1)
	}
	if at.Text == "" {
		return nil
	}
	hits, all, marks, err := s.hitsIn(ctx, c, at.searchParams)
	if err != nil {
		return err
	}
	for _, i := range hits {
		p.Site.Hits[i]++
	}
	list, err := json.Marshal(marks)
	if err != nil {
		return err
	}
	view.Marks = string(list)
	view.addHits(p, at, found, all)
	return nil
}

// mostRead is how many hits of a conversation are read: their matched words are highlighted.
const mostRead = 20

// hitsIn returns the entry of each hit of a query in a conversation, by its index in the file, how many hits
// there are with those that are in no entry of it, and the matched words. There may be many hits, so they come from the index and are not read.
func (s *Server) hitsIn(ctx context.Context, c *Conversation, q searchParams) (list []int, all int, marks []match.Mark, err error) {
	req := s.request(q, c.Page.Conversation.Redact)
	req.Sessions, req.Limit, req.PerSession = []string{c.Path}, 1, mostRead
	offsets, err := s.Find(ctx, req)
	if _, ok := errors.AsType[*words.TextError](err); ok {
		return nil, 0, nil, nil
	}
	if err != nil {
		return nil, 0, nil, err
	}
	res, err := s.Search(ctx, req)
	if err != nil {
		return nil, 0, nil, err
	}
	for i := range res.Hits {
		if res.Hits[i].Loose && !res.Hits[0].Loose {
			continue
		}
		for _, m := range marked(res.Hits[i].Fragment) {
			if !slices.Contains(marks, m) {
				marks = append(marks, m)
			}
		}
	}
	for _, offset := range offsets {
		if n := c.Page.Conversation.Record.NodeAt(offset); n >= 0 {
			list = append(list, n)
		}
	}
	return list, len(offsets), marks, nil
}

// marked returns the marks of a fragment as they are on a page, in lower case.
func marked(f match.Fragment) (list []match.Mark) {
	f.Text, f.Spans = terminal.CleanSpans(f.Text, f.Spans)
	for _, m := range f.Marks() {
		if m.Text = strings.ToLower(strings.TrimSpace(html.Visible(m.Text))); m.Text != "" {
			list = append(list, m)
		}
	}
	return list
}

// addHits links to the hits before and after the current entry, in the order of the page.
// found is the entry named in the URL, -1 if there is none; all is the number of hits in the session, of which
// some may be in what the page does not show.
func (view *conversationPage) addHits(p *html.Page, at place, found, all int) {
	var hits, numbers []int // entries with hits, and the number of the first hit of each
	before, total := 0, 0   // before is the number of entries with hits before the current one
	for _, s := range p.Steps {
		if s.Entry == found {
			before = len(hits)
		}
		if n := p.Site.Hits[s.Entry]; n > 0 {
			hits, numbers, total = append(hits, s.Entry), append(numbers, total+1), total+n
		}
	}
	inAll := human.When(all > total, " shown, of "+human.Number(all)+" in all")
	l := &hitLinks{Text: human.Plural(total, "hit", "hits") + inAll}
	view.Hits = l
	if len(hits) == 0 {
		return
	}
	address := func(n int) string { return at.entry(p.Conversation.Record.Nodes[hits[n]].ID) }
	n := slices.Index(hits, found)
	switch {
	case n >= 0:
		l.Text = "hit " + human.Number(numbers[n])
		if more := p.Site.Hits[found] - 1; more > 0 {
			l.Text = "hits " + human.Number(numbers[n]) + "–" + human.Number(numbers[n]+more)
		}
		l.Text += " of " + human.Number(total) + inAll
	case found >= 0: // Next links to the first hit after it
		n = before - 1
	}
	if n > 0 {
		l.Previous = address(n - 1)
	}
	if n+1 < len(hits) {
		l.Next = address(n + 1)
	}
}

// showOutput shows a long output of a conversation as a page. The script adds the parameter
// part to get the output alone.
func (s *Server) showOutput(w http.ResponseWriter, r *http.Request, c *Conversation, at place) error {
	i, err := strconv.Atoi(r.PathValue("entry"))
	if err != nil || i < 0 || i >= len(c.Page.Conversation.Record.Nodes) {
		return errNoPage
	}
	e, err := c.Page.Conversation.Read(i)
	if errors.Is(err, entry.ErrChanged) {
		return &Error{Status: http.StatusNotFound, Message: err.Error(), Hint: "The file has changed: load the conversation again."}
	}
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.PathValue("block"))
	if err != nil || n < 0 || n >= len(e.View.Blocks) {
		return errNoPage
	}
	output := html.Output(e.View.Blocks[n].Text, r.URL.Query().Get("as"))
	if r.URL.Query().Get("part") != "" {
		return s.write(w, http.StatusOK, "output", output)
	}
	id := c.Page.Conversation.Record.Nodes[i].ID
	return s.show(w, r, "output-page", c.Page.Title(), struct {
		Output       template.HTML
		Conversation link
	}{output, link{c.Page.Title(), place{name: at.name}.entry(id)}})
}

// showGrown says how many entries a conversation, or one branch of it, has got since a page
// with the entries below from was loaded; if there are any, with a link to the first.
func (s *Server) showGrown(w http.ResponseWriter, r *http.Request, c *Conversation, at place) error {
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil {
		return errNoPage
	}
	var added []int
	for _, step := range c.Page.Steps {
		if step.Entry >= from && !c.Page.Conversation.IsStep(step.Entry) {
			added = append(added, step.Entry)
		}
	}
	if len(added) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	first := c.Page.Conversation.Record.Nodes[slices.Min(added)].ID
	return s.write(w, http.StatusOK, "grown", link{human.Plural(len(added), "new entry", "new entries"), at.entry(first)})
}

// showExport sends a conversation as a file to download.
func (s *Server) showExport(w http.ResponseWriter, r *http.Request) error {
	format := r.PathValue("format")
	if !slices.Contains(s.Formats, format) {
		return errNoPage
	}
	name, write, err := s.Export(r.Context(), r.PathValue("name"), format, s.redacts(r))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q; filename*=UTF-8''%s", "session."+format, url.PathEscape(name+"."+format)))
	if err := write(w); err != nil && r.Context().Err() == nil {
		panic(http.ErrAbortHandler) // so that the browser reports an incomplete download
	}
	return nil
}
