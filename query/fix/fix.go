// Package fix answers: where did this error occur before, and what made it go away?
// Find is the central function. It works in four steps:
//
//	newSignature   the pasted error becomes lines of words, without what differs between two occurrences
//	candidates     a search for the rarest words finds the sessions that may contain it
//	finder.find    entries are read, and compared with the signature
//	follow         each branch is read from the error on, until the error no longer occurs
//
// A value may differ between two occurrences of an error: a number, a path, an id, a hash,
// a quoted name, a time. Values never decide whether two errors are the same, but
// occurrences with the same values are closer.
//
// An occurrence is an entry that contains the error. An episode is the occurrences from
// the first one to the success of the failed call, or of a similar one.
package fix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
	"pigrep/query/search"
)

// Request asks where an error occurred and what followed.
type Request struct {
	Text        string // the error, as it was printed
	filter.Spec        // its kinds are not used
	Limit       int    // sessions; 0: DefaultLimit, search.All for all that are compared

	Env    filter.Env
	Resume search.ResumeFunc `json:"-"` // how sessions are resumed; nil: answers have no resume command
	Redact bool              // mask what looks like a secret in the answer
}

// DefaultLimit is the limit of a request that names none.
const DefaultLimit = 5

// ErrNoWords means that the text of a request has no words to look for.
var ErrNoWords = errors.New("the error has no words")

// Response is the answer to a Request. It depends only on the index, the session files
// and the request.
type Response struct {
	Text         string    `wire:"lines"` // the lines that were looked for
	Missing      []string  // names and words of the error that it has in none of the sessions
	Sessions     []Session // those where it was fixed first, then the closest, then the latest
	Total        int       // sessions with the error, among the compared ones
	TotalIsExact bool      // false if there are sessions that were not compared, or could not be read
	search.About
}

// Outcome says how an episode ended.
type Outcome string

// The outcomes, the best first.
const (
	Fixed   Outcome = "fixed"   // the call that failed succeeded
	Gone    Outcome = "gone"    // it was not seen again, and nothing like it succeeded
	Unfixed Outcome = "unfixed" // nothing succeeded after it
)

var outcomes = []Outcome{Fixed, Gone, Unfixed}

// Session is a session where the error occurred, with the episode that is closest to the request.
// Its JSON is documented in "pigrep help json": fields are only ever added.
type Session struct {
	Type        string       `json:"type"` // "fix"
	Outcome     Outcome      `json:"outcome"`
	Closeness   float64      `json:"closeness"` // 1: the same text with the same values
	SessionPath string       `json:"sessionPath" wire:"session"`
	SessionID   string       `json:"sessionId,omitempty"`
	SessionName string       `json:"sessionName,omitempty" wire:"lines"`
	FirstPrompt string       `json:"firstPrompt,omitempty" wire:"lines"`
	Title       string       `json:"-" wire:"lines"`             // as of session.Summary
	Agent       string       `json:"agent,omitempty"`            // as of session.ShortAgent
	Kept        bool         `json:"kept,omitempty"`             // its file is gone, and this is a copy
	Host        string       `json:"host,omitempty" wire:"host"` // that has it, if not this one
	ShortID     string       `json:"-" wire:"name"`              // as of SessionFacts, if another machine has it
	CWD         string       `json:"cwd,omitempty"`
	Modified    session.Time `json:"modified,omitzero"`

	Error       Place          `json:"error"`           // the last occurrence
	Lacks       []string       `json:"lacks,omitempty"` // names and words of the request that it does not have
	Occurrences int            `json:"occurrences"`     // in the episode
	Later       int            `json:"later,omitempty"` // occurrences after the episode, on its branch
	Calls       []Call         `json:"calls"`           // after the last occurrence, without those that only read if the failed one did more
	Reply       *Place         `json:"reply,omitempty"` // the closing one
	Resume      *search.Resume `json:"resume,omitempty"`

	failed string // the text of the call that failed last
}

// Place is the text of an entry.
type Place struct {
	session.EntryName
	Kind      session.Kind `json:"kind"`
	Tool      string       `json:"tool,omitempty"`
	Timestamp session.Time `json:"timestamp,omitzero"`
	Line      int          `json:"line"`
	Offset    int64        `json:"offset"`
	Length    int          `json:"length"` // of the entry
	Branch    string       `json:"branch"` // "active" or "abandoned"
	Text      string       `json:"text" wire:"lines"`
}

// Told returns the tool and the text of a call, and how often it was made.
func (c *Call) Told() string {
	return c.Tool + " " + c.Text + human.When(c.Times > 1, fmt.Sprintf(" ×%d", c.Times))
}

// Call is a tool call or a shell command.
type Call struct {
	session.EntryName
	Tool      string       `json:"tool"`
	Timestamp session.Time `json:"timestamp,omitzero"`
	Text      string       `json:"text" wire:"lines"` // its command, the files that it changes, or its arguments
	Status    string       `json:"status"`            // ok, error, or none (no result)
	Again     bool         `json:"again,omitempty"`   // it does the same as the one that failed
	Times     int          `json:"times,omitempty"`   // how often it was made in a row, if more than once; this is the first one
	Line      int          `json:"line"`
	Offset    int64        `json:"offset"`
}

// How many sessions and entries of each are compared with the error: first a few, and
// more if it is in none of these. The numbers do not depend on the limit of a request,
// so that pages fit together.
var rounds = []rank.Options{{Limit: 40, PerSession: 12, ByFile: true}, {Limit: 200, PerSession: 25, ByFile: true}}

const mostTerms = 14 // of the search for them

// kinds are the kinds of text that have errors: people paste them into prompts.
var kinds = []session.Kind{session.KindResult, session.KindError, session.KindShell, session.KindPrompt}

// Find answers a request.
func Find(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Response, error) {
	s := read(req.Text)
	if len(s.lines) == 0 {
		return nil, ErrNoWords
	}
	of, err := words.Frequencies(r, s.terms())
	if err != nil {
		return nil, err
	}
	rarity := search.Rarities(s.terms(), of)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(rarity) == 0 {
		return &Response{Text: s.text(req.Redact), TotalIsExact: true, About: search.About{Index: search.StateOf(r)}}, nil
	}
	s.weigh(rarity)

	within := search.Request{Text: s.query(rarity), Spec: req.Spec, Env: req.Env}
	within.Scope, within.Kinds = "", kinds
	in, err := within.Resolve(ctx, r, a, src)
	if err != nil {
		return nil, err
	}
	resp := &Response{Text: s.text(req.Redact), About: search.About{Index: search.StateOf(r)}}
	if len(req.Text) > MaxText {
		resp.Warnings = append(resp.Warnings, fmt.Sprintf("only the last %s of the error were looked at", human.Bytes(MaxText)))
	}
	var f *follower
	rounds := rounds
	if req.Limit == search.All {
		rounds = []rank.Options{{Limit: search.All, PerSession: rounds[1].PerSession, ByFile: true}}
	}
	for i, opt := range rounds {
		found, err := rank.Run(ctx, in, opt)
		if err != nil {
			return nil, err
		}
		f = &follower{ctx: ctx, req: &req, reader: r, adapter: a, src: src, signature: s, found: found}
		if resp.Sessions, err = f.sessions(); err != nil {
			return nil, err
		}
		resp.TotalIsExact = found.ListedSessions == len(found.Sessions) && f.unread == 0 && f.lost == 0
		if len(resp.Sessions) > 0 || resp.TotalIsExact {
			break
		}
		if i == len(rounds)-1 && f.lost == 0 {
			resp.Warnings = append(resp.Warnings, fmt.Sprintf("compared only the most similar texts of %s of %s", human.Number(len(found.Sessions)), human.Plural(found.ListedSessions, "session", "sessions")))
		}
	}
	resp.List(req.Limit)
	entry.NewNaming(r).NameAll(resp, "")
	if f.lost > 0 {
		resp.Warnings = append(resp.Warnings, fmt.Sprintf("%s left out: %v", human.Plural(f.lost, "session", "sessions"), f.reason))
	}
	return resp, nil
}

// List puts all sessions in order, and leaves the first of them.
func (r *Response) List(limit int) {
	order(r.Sessions)
	if r.Total = len(r.Sessions); r.Total > 0 {
		r.Missing = slices.DeleteFunc(slices.Clone(r.Sessions[0].Lacks), func(name string) bool {
			return slices.ContainsFunc(r.Sessions, func(s Session) bool { return !slices.Contains(s.Lacks, name) })
		})
	}
	r.Sessions = r.Sessions[:min(cmp.Or(max(limit, 0), DefaultLimit), len(r.Sessions))]
}

// text returns the lines of the error as they may be shown.
func (s *signature) text(masked bool) string {
	lines := lists.Map(s.lines[:min(len(s.lines), maxCore)], func(l signatureLine) string { return l.raw })
	// Bytes that are not text take six times their room in JSON.
	text := strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == utf8.RuneError) {
			return -1
		}
		return r
	}, strings.Join(lines, "\n"))
	if masked {
		text = redact.Text(text)
	}
	return short(text)
}

// query returns a query for any of the rarest words, exactly as they are.
func (s *signature) query(rarity map[string]float64) string {
	terms := slices.Sorted(maps.Keys(rarity))
	slices.SortStableFunc(terms, func(a, b string) int { return cmp.Compare(rarity[b], rarity[a]) })
	return `"` + strings.Join(terms[:min(len(terms), mostTerms)], `" "`) + `"`
}

// about is how much less close than the best one a match may be to count as equally
// close.
const about = 0.1

// order orders sessions: those that are about as close as the closest one come first;
// among these, those where the error was fixed, then the closest, then the latest.
func order(list []Session) {
	best := 0.0
	for i := range list {
		best = max(best, list[i].Closeness)
	}
	far := func(s *Session) int {
		if s.Closeness < best-about {
			return 1
		}
		return 0
	}
	slices.SortFunc(list, func(a, b Session) int {
		return cmp.Or(
			cmp.Compare(far(&a), far(&b)),
			cmp.Compare(slices.Index(outcomes, a.Outcome), slices.Index(outcomes, b.Outcome)),
			cmp.Compare(b.Closeness, a.Closeness),
			b.Modified.Compare(a.Modified.Time),
			cmp.Compare(a.SessionPath, b.SessionPath),
		)
	})
}

// follower reads the sessions that may contain the error.
type follower struct {
	*signature
	ctx     context.Context
	req     *Request
	reader  *index.Reader
	adapter adapter.Adapter
	src     entry.Source
	found   *rank.Result

	mu     sync.Mutex
	unread int // sessions without the error whose hits were not all read
	lost   int // sessions that cannot be read
	reason error
}

// sessions returns the sessions where the error occurs, in no order.
func (f *follower) sessions() (list []Session, err error) {
	all := make([]*Session, len(f.found.Sessions))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range f.found.Sessions {
		g.Go(func() (err error) {
			if f.ctx.Err() == nil {
				all[i], err = f.session(&f.found.Sessions[i])
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, s := range all {
		if s != nil {
			list = append(list, *s)
		}
	}
	return list, f.ctx.Err()
}

// session returns a session if the error occurs in it, else nil.
func (f *follower) session(x *rank.Session) (*Session, error) {
	offsets, err := f.occurrences(x)
	if err != nil {
		return nil, err
	}
	if len(offsets) == 0 {
		if x.TotalAny > len(x.Hits) {
			f.mu.Lock()
			f.unread++
			f.mu.Unlock()
		}
		return nil, nil
	}
	rec, err := f.reader.Record(f.reader.Summaries()[x.File].File)
	if err != nil || rec == nil {
		return nil, err
	}
	t := &trail{follower: f, finder: newFinder(f.ctx, f.signature), entries: entry.NewReader(f.src, f.adapter), record: rec, tree: rec.Tree(), known: make(map[int]bool)}
	t.entries.Facts = true
	t.entries.Use(&rec.Summary)
	defer t.entries.Use(nil)
	var best *episode
	for _, offset := range offsets {
		if err := t.follow(offset); err != nil {
			if f.ctx.Err() != nil {
				return nil, f.ctx.Err()
			}
			f.lose(err)
			return nil, nil
		}
	}
	for i := range t.episodes {
		if e := &t.episodes[i]; best == nil || e.compare(best) < 0 {
			best = e
		}
	}
	if best == nil {
		return nil, nil
	}
	return t.session(best), nil
}

// occurrences returns where the entries are that the search found and that contain the
// error, in file order.
func (f *follower) occurrences(x *rank.Session) (offsets []int64, err error) {
	w := f.found.Worker()
	defer f.found.Done(w)
	finder := newFinder(f.ctx, f.signature)
	for _, c := range x.Hits {
		h, ok, err := f.found.Hit(c)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		id := entry.Identity{ID: h.Node.ID, Parts: h.Part + 1}
		w.Use(&h.Outline.Record.Summary)
		err = w.Reader.Read(entry.RefOf(&h.Node.Node, h.Node.Context), id, func(e *session.Entry) {
			if _, _, ok := finder.inEntry(e); ok {
				offsets = append(offsets, e.Offset)
			}
		})
		if err != nil {
			if f.ctx.Err() != nil {
				return nil, f.ctx.Err()
			}
			f.lose(err)
			return nil, nil
		}
	}
	slices.Sort(offsets)
	return offsets, nil
}

// lose counts a session that cannot be read.
func (f *follower) lose(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost++; f.reason == nil || err.Error() < f.reason.Error() { // the same in every run
		f.reason = err
	}
}

// inEntry finds the error in the parts of an entry where errors occur.
func (f *finder) inEntry(e *session.Entry) (part int, best match, ok bool) {
	for i := range e.Parts {
		p := &e.Parts[i]
		if !slices.Contains(kinds, p.Kind) {
			continue
		}
		if m, found := f.find(p.Text, e.IsError || p.Kind == session.KindError); found && (!ok || m.closeness > best.closeness) {
			part, best, ok = i, m, true
		}
	}
	return part, best, ok
}
