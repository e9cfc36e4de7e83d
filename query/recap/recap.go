// Package recap answers the question: what was done in these sessions, and what is open? It counts facts of the index
// and quotes entries, each with its place. It rephrases nothing and guesses nothing: what no entry says is not in it.
package recap

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/lists"
	"pigrep/internal/price"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/audit"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// Request asks for the sessions that pass the filters, with the subagents that they started.
type Request struct {
	filter.Spec
	Path   string // of the only session, or of a subagent of it; "" for all
	Limit  int    // sessions, the latest; 0: all
	Redact bool   // mask what looks like a secret

	Costless bool // say nothing of costs, which are counted from all sessions

	search.Among
}

// Response is the answer to a request.
type Response struct {
	Sessions []Session // the latest first
	Total    int       // sessions that pass
	Files    int       // changed in the listed sessions
	Cost     float64   // of the listed sessions, 0 if unknown
	Estimate string    `wire:"say"` // as of audit.UsageTable
	search.About

	PricesOf string   `wire:"say"`        // as of audit.UsageTable
	Held     []uint64 `json:",omitempty"` // with Among.Together: session.Summary.Identity of the sessions that pass
}

// Session is what was done in a session. Its JSON is documented in "pigrep help json": fields are only
// ever added.
type Session struct {
	Type string `json:"type"` // "recap"
	search.SessionFacts
	Prompts int    `json:"prompts"` // turns
	Facts   []Fact `json:"facts"`   // by What, in the order of Kinds; each kind in the order of the file

	repairs []Repair
}

// What a fact is.
type What string

// The kinds of facts.
const (
	Changed What = "changed" // a file was edited, written or deleted
	Failed  What = "failed"  // a command failed
	Commit  What = "commit"  // the output of a command names a commit that it made
	Pull    What = "pull"    // the output of a command names a pull request
	Aborted What = "aborted" // a turn was interrupted, or ended with an error
	Open    What = "open"    // a prompt has no reply
	Closing What = "ends"    // the closing paragraph of the last reply
)

// Kinds are the kinds of facts, in their order.
var Kinds = []What{Changed, Failed, Commit, Pull, Aborted, Open, Closing}

// Fact is a fact with its evidence.
type Fact struct {
	What              What         `json:"what"`
	SessionPath       string       `json:"sessionPath,omitempty" wire:"session"` // of the subagent or the copy that it is from
	SessionID         string       `json:"sessionId,omitempty"`
	ShortID           string       `json:"-" wire:"name"`
	session.EntryName              // of several the last one
	Timestamp         session.Time `json:"timestamp,omitzero"`
	Line              int          `json:"line"`
	Offset            int64        `json:"offset"`
	Text              string       `json:"text"` // the path, the command, the subject, or what was said

	Edits   int    `json:"edits,omitempty"` // of a file, as Writes and Deletes
	Writes  int    `json:"writes,omitempty"`
	Deletes int    `json:"deletes,omitempty"`
	Times   int    `json:"times,omitempty"`  // that a command failed
	Error   string `json:"error,omitempty"`  // what it printed the last time
	Passed  *Pass  `json:"passed,omitempty"` // how it succeeded later; absent if it did not
	Hash    string `json:"hash,omitempty"`   // of a commit
	By      string `json:"by,omitempty"`     // what says that it is open: "plan" or "reply"; "" if a prompt has no reply

	born, gone bool // a file that its first change wrote, and its last one deleted
}

// Pass is the call that succeeded after a command had failed.
type Pass struct {
	session.EntryName
	Line    int      `json:"line"`
	Offset  int64    `json:"offset"`
	Text    string   `json:"text"`
	Changed []string `json:"changed,omitempty"` // files that were changed in between
	Ran     []string `json:"ran,omitempty"`     // commands that ran in between, and may have changed something
}

// Run answers a request.
func Run(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Response, error) {
	resp, err := gather(ctx, r, a, src, req, false)
	if err != nil {
		return nil, err
	}
	if !req.Costless {
		if err := resp.sum(ctx, r, req); err != nil {
			return nil, err
		}
	}
	if req.Redact {
		for i := range resp.Sessions {
			redact.Strings(&resp.Sessions[i])
		}
	}
	entry.NewNaming(r).NameAll(resp, "")
	return resp, nil
}

// gather reads the sessions that pass, to tell of them or to learn from them. Sessions with nothing
// to tell do not count.
func gather(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request, learns bool) (*Response, error) {
	lineage := sessions.NewLineage(r)
	passes := req.Spec.Compile()
	heads, parts := pass(r, lineage, passes, req.Path)
	facts, err := r.Facts(ctx, record.CallFacts, record.DetailFacts)
	if err != nil {
		return nil, err
	}
	tell := func(root int) (Session, error) {
		t := &teller{ctx: ctx, reader: r, entries: entry.NewReader(src, a), passes: passes, learns: learns}
		defer t.entries.Use(nil)
		for _, i := range parts[root] {
			stored, err := facts.Facts(r.Summary(i).File)
			if err != nil {
				return Session{}, err
			}
			if err := t.file(r.Summary(i), stored, i == root || lineage.Owner(i) < 0); err != nil {
				return Session{}, err
			}
		}
		return t.session(lineage.Whole(root)), nil
	}
	resp := &Response{Total: len(heads), About: search.About{Index: search.StateOf(r)}}
	identify := func(roots ...int) {
		for _, root := range roots {
			if req.Together {
				resp.Held = append(resp.Held, r.Summary(root).Identity())
			}
		}
	}
	limit := cmp.Or(req.Limit, len(heads))
	left := heads
	for len(left) > 0 && len(resp.Sessions) < limit {
		at := min(len(left), limit-len(resp.Sessions))
		list := make([]Session, at)
		var g errgroup.Group
		g.SetLimit(runtime.GOMAXPROCS(0))
		for n, root := range left[:at] {
			g.Go(func() (err error) {
				list[n], err = tell(root)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		nothing := func(s Session) bool { return !learns && s.Prompts == 0 && len(s.Facts) == 0 }
		for n, root := range left[:at] {
			if repairs := list[n].repairs; len(repairs) > 0 {
				family := slices.Min(slices.Collect(maps.Keys(lineage.Family(root))))
				for k := range repairs {
					repairs[k].Family = family
				}
			}
			if !nothing(list[n]) {
				identify(root)
			}
		}
		list = slices.DeleteFunc(list, nothing)
		resp.Total -= at - len(list)
		resp.Sessions = append(resp.Sessions, list...)
		left = left[at:]
	}
	identify(left...)
	return resp, nil
}

// pass returns the sessions that pass, the latest first, and the files of each and its subagents.
func pass(r *index.Reader, lineage *sessions.Lineage, passes *filter.Filter, only string) (heads []int, parts map[int][]int) {
	wanted := -1
	if only != "" {
		if wanted = lineage.IndexOf(only); wanted >= 0 {
			wanted = lineage.Root(lineage.Head(wanted))
		}
	}
	parts = make(map[int][]int)
	for i := range r.Summaries() {
		s := r.Summary(i)
		if s.Messages == 0 || passes.EntryVerdict(s) == filter.None || s.Oldest.IsZero() && !passes.Time(s.Modified().UnixMilli()) {
			continue
		}
		root := lineage.Root(lineage.Head(i))
		if wanted >= 0 && root != wanted || !passes.Session(s) && !passes.Session(r.Summary(root)) {
			continue
		}
		if parts[root] == nil {
			heads = append(heads, root)
		}
		parts[root] = append(parts[root], i)
	}
	newest := func(root int) (t session.Time) {
		for _, i := range parts[root] {
			if m := r.Summary(i).Modified(); m.After(t.Time) {
				t.Time = m
			}
		}
		return t
	}
	slices.SortFunc(heads, func(i, k int) int {
		return cmp.Or(newest(k).Compare(newest(i).Time), cmp.Compare(r.Summary(i).Path, r.Summary(k).Path))
	})
	return heads, parts
}

// sum adds the cost, and what all sessions changed.
func (r *Response) sum(ctx context.Context, reader *index.Reader, req Request) error {
	t, err := audit.Usage(ctx, reader, audit.Request{Spec: req.Spec, By: []string{"session"}, Tree: true})
	if err != nil {
		return err
	}
	cost := make(map[string]*audit.UsageRow)
	for i := range t.Rows {
		cost[t.Rows[i].SessionPath] = &t.Rows[i]
	}
	for i := range r.Sessions {
		s := &r.Sessions[i]
		s.Spent = price.Spent{}
		if row := cost[s.SessionPath]; row != nil {
			s.Spent = price.Spent{Tokens: row.Tokens, Cost: row.Cost, Estimated: row.ListedCost, Unpriced: row.Unpriced}
		}
	}
	r.PricesOf = t.PricesOf
	r.add()
	return nil
}

// add adds up what the listed sessions cost and changed.
func (r *Response) add() {
	files, of := make(map[string]bool), audit.UsageRow{}
	for i := range r.Sessions {
		s := &r.Sessions[i]
		of.Cost, of.ListedCost = of.Cost+s.Cost, of.ListedCost+s.Estimated
		for _, f := range s.Facts {
			if f.What == Changed {
				files[f.Text] = true
			}
		}
	}
	r.Files, r.Cost = len(files), of.Cost
	if of.ListedCost > 0 {
		r.Estimate = (&audit.UsageTable{Total: of, PricesOf: r.PricesOf}).Estimate()
	}
}

// Join joins the answers of several indexes to a request with Together. Of a session that several have,
// it keeps the copy that went on longest, and adds what only the others tell.
func Join(req *Request, list []*Response) *Response {
	type key struct {
		agent, id string
		begun     int64
	}
	resp, held, rows := &Response{}, make(search.Identities), make(map[key]int)
	for _, r := range list {
		resp.PricesOf, resp.Total = cmp.Or(resp.PricesOf, r.PricesOf), resp.Total+r.Total-held.Again(r.Held)
		for _, s := range r.Sessions {
			k := key{s.Agent, s.SessionID, s.Created.UnixMilli()}
			at, ok := rows[k]
			if !ok || s.SessionID == "" || resp.Sessions[at].Host == s.Host {
				rows[k] = len(resp.Sessions)
				resp.Sessions = append(resp.Sessions, s)
				continue
			}
			other := &resp.Sessions[at]
			if s.Modified.After(other.Modified.Time) {
				s, *other = *other, s
			}
			other.join(&s)
		}
	}
	resp.Total = max(resp.Total, len(resp.Sessions))
	lists.SortStable(resp.Sessions, func(a, b Session) int {
		return cmp.Or(b.Modified.Compare(a.Modified.Time), cmp.Compare(a.SessionPath, b.SessionPath))
	})
	resp.Sessions = resp.Sessions[:min(len(resp.Sessions), cmp.Or(req.Limit, len(resp.Sessions)))]
	resp.add()
	return resp
}

// join adds the facts of a shorter copy of the session, except what was open there: it may have gone on here.
func (s *Session) join(shorter *Session) {
	type key struct {
		what        What
		text, entry string
	}
	keyOf := func(f *Fact) key {
		if f.What == Changed || f.What == Failed {
			return key{f.What, f.Text, ""}
		}
		return key{f.What, f.Text, f.EntryID}
	}
	often := func(f *Fact) int { return f.changes() + f.Times }
	s.Facts = slices.Clone(s.Facts)
	known := make(map[key]int)
	for i := range s.Facts {
		known[keyOf(&s.Facts[i])] = i
	}
	for _, f := range shorter.Facts {
		at, ok := known[keyOf(&f)]
		if f.What == Open || f.What == Closing || ok && often(&f) <= often(&s.Facts[at]) {
			continue
		}
		if f.SessionPath == "" {
			f.SessionPath, f.SessionID, f.ShortID = shorter.SessionPath, shorter.SessionID, shorter.ShortID
		}
		if ok {
			s.Facts[at] = f
		} else {
			s.Facts = append(s.Facts, f)
		}
	}
	s.Prompts = max(s.Prompts, shorter.Prompts)
	sortFacts(s.Facts)
}
