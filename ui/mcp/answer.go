package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/printer"
)

// about is the beginning of every answer that has pages: what it lacks, and how to get that.
type about struct {
	Warnings   []string `json:"warnings,omitempty"`
	Complete   bool     `json:"complete" jsonschema:"false: not everything was searched"`
	LeftOut    *leftOut `json:"leftOut,omitempty"`
	Newest     string   `json:"newest,omitempty" jsonschema:"time of the newest entry, if since and until exclude everything"`
	Dropped    int      `json:"dropped,omitempty" jsonschema:"did not fit into maxBytes"`
	NextCursor string   `json:"nextCursor,omitempty"`
}

// leftOut is what was not searched unless asked for.
type leftOut struct {
	Session  string `json:"session,omitempty" jsonschema:"your own (includeCurrent)"`
	Searches int    `json:"searches,omitempty" jsonschema:"hits in calls of pigrep (includeSearches)"`
}

// cutPage returns an answer with as many of its first items as fit into a budget. result returns the
// answer with the first n.
func cutPage(most, items int, result func(n int) (structured any, text string)) (*mcp.CallToolResult, error) {
	var page *mcp.CallToolResult
	var failed error
	whole := func(n int) int {
		if page, failed = resultOf(result(n)); failed != nil {
			return 0
		}
		return encodedLen(page) + envelopeBytes
	}
	n, fits := printer.Fit(most, items, whole)
	if failed != nil || fits && (n > 0 || items == 0) {
		return page, failed
	}
	what := "the answer with its first item"
	if items == 0 {
		what = "the answer, though empty,"
	}
	return nil, budgetError(what, whole(min(1, items)), most)
}

func budgetError(what string, size, max int) error {
	return &Error{codeBudget, fmt.Sprintf("%s takes %d bytes, more than maxBytes (%d)", what, size, max),
		fmt.Sprintf("ask with maxBytes %d or more", min(mostBytes, size+size/4))}
}

// envelopeBytes is the most that the protocol adds to a result.
const envelopeBytes = 160

// resultOf returns an answer, and the same as text.
func resultOf(structured any, text string) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(structured); err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: strings.TrimRight(text, "\n")}},
		StructuredContent: json.RawMessage(bytes.TrimSuffix(b.Bytes(), []byte("\n"))),
	}, nil
}

// listing is what a tool that lists is asked for.
type listing struct {
	text    string // of the query
	filters Filters
	limit   int // rows on a page
	paging  *Paging
}

// question is a call of a tool that lists, with the index open.
type question struct {
	*Index
	s        *server
	at       *cursor
	request  search.Request // without a limit
	leftOut  *leftOut
	limit    int
	maxBytes int
}

// ask opens the index for a listing; in is the input of the tool. The caller closes
// the question.
func (s *server) ask(ctx context.Context, tool string, in any, l listing) (*question, error) {
	paging := l.paging.take()
	x, at, err := s.indexed(ctx, tool, in, paging)
	if err != nil {
		return nil, err
	}
	q := &question{Index: x, s: s, at: at, limit: l.limit, maxBytes: paging.MaxBytes}
	if q.request, q.leftOut, err = s.filtered(l.filters, l.text, x, at); err != nil {
		x.Close()
		return nil, err
	}
	x.Several = x.Several && len(l.filters.Given[filter.Agent]) != 1 // which the reader knows
	return q, nil
}

// rowsFrom returns the rows of the elements of a list that the cursor has not passed.
func rowsFrom[T, Row any](q *question, list []T, row func(*T) Row) []Row {
	rows := []Row{}
	for i := min(q.at.At, len(list)); i < len(list); i++ {
		rows = append(rows, row(&list[i]))
	}
	return rows
}

// about returns the beginning of an answer. Warnings may repeat what was asked. What other machines
// lack, their answer says.
func (q *question) about(answer *search.IndexState, warnings []string) about {
	f := about{Warnings: q.warnings(warnings...), LeftOut: q.leftOut, Complete: q.State.Complete && (answer.Complete || !q.Others)}
	for i, w := range f.Warnings {
		f.Warnings[i] = beginning(w, longestWarning)
	}
	return f
}

const longestWarning = 400

// newest returns the time of the newest entry of the sessions that pass the filters; "" if
// there is none, or if the request has no times.
func (q *question) newest() string {
	spec := q.request.Spec
	if spec.Since.IsZero() && spec.Until.IsZero() || q.Others {
		return ""
	}
	f := spec.Compile()
	var newest time.Time
	for i := range q.Reader.Summaries() {
		if s := &q.Reader.Summaries()[i]; f.Session(s) && s.Newest.After(newest) {
			newest = s.Newest
		}
	}
	return minute(session.Time{Time: newest})
}

// leaveOut says how many hits were left out because they are in calls of pigrep itself.
func (f *about) leaveOut(searches int) {
	if searches > 0 {
		f.LeftOut = &leftOut{cmp.Or(f.LeftOut, &leftOut{}).Session, searches}
	}
}

// rowPage is a page of rows of an answer. Rows beyond the limit only say that there are more.
type rowPage[Row any] struct {
	rows   []Row
	more   bool // there are more rows after these
	about  about
	head   string                 // what the answer as text begins with, after its warnings
	line   func(*Row) string      // a row as text
	next   func(c *cursor, n int) // moves a cursor over n rows; nil counts them
	answer func([]Row, about) any
}

// cut returns the page with as many rows as fit.
func (p *rowPage[Row]) cut(q *question) (*mcp.CallToolResult, error) {
	next := p.next
	if next == nil {
		next = func(c *cursor, n int) { c.At += n }
		p.rows, p.more = p.rows[:min(len(p.rows), q.limit)], len(p.rows) > q.limit
	}
	if !q.s.Reveal {
		redact.Strings(&p.rows)
	}
	if len(p.rows) == 0 {
		p.about.Newest = q.newest()
	}
	return cutPage(q.maxBytes, len(p.rows), func(n int) (any, string) {
		f := p.about
		if f.Dropped = len(p.rows) - n; f.Dropped > 0 || p.more {
			f.NextCursor = q.s.nextCursor(q.Index, q.at, func(c *cursor) { next(c, n) })
		}
		rows := append([]Row{}, p.rows[:n]...) // never null in JSON
		var b strings.Builder
		b.WriteString(human.Joined("\n", f.warning(), p.head) + "\n")
		for i := range rows {
			b.WriteString(p.line(&rows[i]) + "\n")
		}
		f.end(&b)
		return p.answer(rows, f), b.String()
	})
}

// indexed opens the index for a request: the snapshot that its cursor names, if it has a cursor.
// Others that are asked send the sessions with one of the names, if there are any.
func (s *server) indexed(ctx context.Context, tool string, input any, p Paging, named ...string) (*Index, *cursor, error) {
	// Whole minutes, so that relative times mean the same in calls shortly after.
	at := &cursor{Request: hashRequest(s.Name, tool, input), Now: s.Now().Truncate(time.Minute).UnixMilli()}
	if p.Cursor != "" {
		began, err := decodeCursor(p.Cursor, at.Request)
		if err != nil {
			return nil, nil, err
		}
		began.Now = cmp.Or(began.Now, at.Now)
		if x := s.At(began.Snapshot); x != nil {
			return x, began, nil
		}
		at = began
	}
	x, err := s.Open(ctx, named)
	if err != nil {
		return nil, nil, err
	}
	if p.Cursor != "" && x.Number != at.Snapshot {
		x.Close()
		return nil, nil, errExpired
	}
	at.Snapshot = x.Number
	return x, at, nil
}

// nextCursor returns a cursor to another position of the same answer.
func (s *server) nextCursor(x *Index, at *cursor, set func(*cursor)) string {
	c := *at
	if !c.relative {
		c.Now = 0
	}
	set(&c)
	x.Pin()
	return c.encode()
}

// filtered returns the request of a tool, made from its filters and query text. It excludes the
// session that the agent runs in.
func (s *server) filtered(f Filters, text string, x *Index, at *cursor) (search.Request, *leftOut, error) {
	at.relative = f.Given.Value(filter.Since) != "" || f.Given.Value(filter.Until) != "" || strings.Contains(text, "after:") || strings.Contains(text, "before:")
	now := time.UnixMilli(at.Now).In(s.Now().Location())
	req := search.Request{Env: filter.Env{Now: now, Expand: s.Absolute}, Resume: s.Resume}
	var err error
	if req.Spec, err = f.spec(req.Env); err != nil {
		return req, nil, err
	}
	req.Text, req.Redact = strings.TrimSpace(text), !s.Reveal
	if len(req.Agents) == 0 && len(req.Sessions) == 0 && !strings.Contains(text, filter.Agent+":") {
		req.Agents = s.Only
	}
	if f.IncludeCurrent || len(f.Given[filter.Session]) > 0 {
		return req, nil, nil
	}
	out, globs := s.current(x.Reader)
	req.Excludes = append(req.Excludes, globs...)
	return req, out, nil
}

// current returns the sessions that the agent runs in, if known, and globs that match their files.
func (s *server) current(r *index.Reader) (*leftOut, []string) {
	if len(s.Current) == 0 {
		if sum := s.writing(r); sum != nil {
			return &leftOut{Session: wholeName(r, sum)}, []string{filter.LiteralGlob(sum.Path)}
		}
		return nil, nil
	}
	var names []string
	files := sessions.Running(r, s.Current)
	for _, own := range s.Current {
		name := cmp.Or(own.ID, own.Path)
		for _, sum := range files {
			if sum.Path == own.Path || own.ID != "" && sum.ID == own.ID {
				name = wholeName(r, sum)
			}
		}
		names = append(names, name)
	}
	return &leftOut{Session: strings.Join(names, ", ")}, sessions.RunningGlobs(s.Current, files)
}

// writing returns the session that the client is writing: among the sessions of the directory where
// the server was started, the one written last, if that was after the start. The call itself is in
// it: agents write a call before they make it. It returns nil if there is none, or if sessions of
// the client are not searched.
func (s *server) writing(r *index.Reader) (newest *session.Summary) {
	if name := s.client.Load(); name == nil || !slices.Contains(s.Agents, *name) {
		return nil
	}
	dir := filter.NewDirectory(filepath.Clean(s.Dir))
	since := s.Started.UnixNano()
	for i := range r.Summaries() {
		sum := &r.Summaries()[i]
		if sum.Mtime >= since && dir.Is(sum.CWD) && (newest == nil || sum.Mtime > newest.Mtime) {
			newest = sum
		}
	}
	return newest
}

// warning returns what a reader must know first.
func (f *about) warning() string {
	lines := lists.Map(f.Warnings, func(w string) string { return "Warning: " + w })
	return human.Joined("\n", append(lines, human.When(!f.Complete, "Not complete: not every session file was searched."))...)
}

// end writes how to get what the answer lacks.
func (f *about) end(b *strings.Builder) {
	out := cmp.Or(f.LeftOut, &leftOut{})
	lines := []string{
		human.When(f.Newest != "", "Nothing in this time; the newest entry is of "+f.Newest+"."),
		human.When(f.Dropped > 0, fmt.Sprintf("%d more of this page did not fit into maxBytes.", f.Dropped)),
		human.When(f.NextCursor != "", "Next page: cursor "+f.NextCursor),
		human.When(out.Session != "", "Your own session is left out (includeCurrent)."),
		human.When(out.Searches > 0, human.Plural(out.Searches, "hit", "hits")+" in calls of pigrep left out (includeSearches)."),
	}
	if text := human.Joined("\n", lines...); text != "" {
		b.WriteString(human.When(b.Len() > 0, "\n") + text + "\n")
	}
}

// A cursor is where the next page of an answer begins. The number of the index snapshot and
// a hash of the request identify the answer. A cursor is not secret and grants nothing; its
// checksum only detects damage.
type cursor struct {
	Snapshot uint64
	Request  uint64
	At       int   // items before it
	Window   int   // of a search: sessions that were requested
	Part     int   // of an entry: parts before it
	Offset   int   // bytes of the text of the part before it
	Now      int64 // Unix milliseconds: what relative times are relative to

	relative bool // the request has relative times
}

// encode returns the cursor in few characters, which a model copies.
func (c *cursor) encode() string {
	data := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.Snapshot), c.Request)
	for _, n := range []int64{int64(c.At), int64(c.Window), int64(c.Part), int64(c.Offset), c.Now} {
		data = binary.AppendVarint(data, n)
	}
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(data, uint32(xxhash.Sum64(data))))
}

// decodeCursor returns the cursor, which must have the hash of the request.
func decodeCursor(text string, request uint64) (*cursor, error) {
	const ids, sum, most = 16, 4, 100
	bad := &Error{codeCursor, "not a cursor of pigrep", "use nextCursor of the previous answer unchanged, or omit cursor"}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text[:min(len(text), most)])
	if err != nil || len(text) > most || len(data) < ids+sum {
		return nil, bad
	}
	data, end := data[:len(data)-sum], data[len(data)-sum:]
	if uint32(xxhash.Sum64(data)) != binary.BigEndian.Uint32(end) {
		return nil, bad
	}
	c := &cursor{Snapshot: binary.BigEndian.Uint64(data), Request: binary.BigEndian.Uint64(data[8:])}
	data = data[ids:]
	for _, n := range []*int{&c.At, &c.Window, &c.Part, &c.Offset, nil} {
		value, size := binary.Varint(data)
		if size <= 0 || n != nil && (value < 0 || value > math.MaxInt32) {
			return nil, bad
		}
		if data = data[size:]; n != nil {
			*n = int(value)
		} else {
			c.Now = value
		}
	}
	if len(data) > 0 {
		return nil, bad
	}
	if c.Request != request {
		return nil, &Error{codeCursor, "this cursor belongs to another request",
			"repeat the request that returned it and add the cursor; only maxBytes may differ"}
	}
	return c, nil
}

var errExpired = &Error{codeCursorExpired, "the index has changed since the previous page", "ask again without the cursor"}

// hashRequest identifies a request by its tool and arguments; cursor and maxBytes
// must have been cleared.
func hashRequest(index, tool string, input any) uint64 {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err) // it was just decoded
	}
	h := xxhash.New()
	for _, s := range []string{index, tool, string(data)} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return h.Sum64()
}

// place names a session, or an entry of one, as input of read_session.
type place struct {
	Session string `json:"session,omitempty"`
	Entry   string `json:"entry,omitempty"`
}

func (p place) String() string {
	return p.Session + human.When(p.Entry != "", ":"+p.Entry)
}

// wholeName returns a name of a session that stays valid: its id, or its path.
func wholeName(r *index.Reader, s *session.Summary) string {
	list := r.Summaries()
	if !session.IsTypable(s.ID) || slices.ContainsFunc(list, func(o session.Summary) bool { return o.ID == s.ID && o.Path != s.Path }) {
		return s.Path
	}
	return s.ID
}

func (x *Index) place(id, path, entry string) place { return place{x.Named(id, path), entry} }

// sessionRow is what answers say about a session.
type sessionRow struct {
	Session  string `json:"session"`
	Title    string `json:"title,omitempty"`
	Agent    string `json:"agent,omitempty"`
	CWD      string `json:"cwd,omitempty"`
	Modified string `json:"modified,omitempty"`
	Messages int    `json:"messages,omitempty"`

	boss string // that a subagent works for
}

const longestTitle = 64 // bytes

// row describes a session by a name.
func (x *Index) row(name string, h *search.SessionHit) sessionRow {
	return sessionRow{name, beginning(h.Title, longestTitle), human.Badge(h.Host, h.Agent, x.Several, h.Kept), h.CWD, minute(h.Modified), h.Messages, h.Boss()}
}

func (r *sessionRow) text() string {
	return human.Joined(" · ", r.Session, r.Agent, r.Modified, r.CWD, human.Some(r.Messages, "message", "messages"), human.When(r.boss != "", "subagent of "+r.boss), r.Title)
}

// minute returns a time in UTC, which since and until accept.
func minute(t session.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// beginning returns the first bytes of a text on one line.
func beginning(s string, most int) string {
	return session.Beginning(visible(strings.Join(strings.Fields(s), " ")), most)
}

// visible writes control characters other than tabs as escapes. Agents print what they
// read.
func visible(s string) string {
	hidden := func(r rune) bool { return r != '\t' && terminal.Hidden(r) }
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}
