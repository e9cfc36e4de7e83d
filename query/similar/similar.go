// Package similar answers: which sessions are about the same as this one? Find is the
// central function: it takes the weightiest terms of a session or of one of its entries,
// searches the other sessions for any of them, and orders those sessions by the share of
// the weight that they have in common with it.
//
// The weight of a term is how often the session has it, as tf·idf counts it, and how few
// other sessions do. A term that no other session has counts nothing.
package similar

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// Request asks for the sessions that are like one session, or like one of its entries: see Ask.
type Request struct {
	Counts   map[string]float64 // how often the session or entry has each term
	Path     string             // of the session
	Identity uint64             // session.Summary.Identity, by which other indexes know the session; 0: none does
	Marks    []uint32           // of its entries: see sessions.Marks
	filter.Spec
	Limit int // 0: DefaultLimit

	Env    filter.Env
	Resume search.ResumeFunc `json:"-"` // how sessions are resumed; nil: rows have no resume command
	Redact bool              // mask what looks like a secret in the answer
}

// ErrNoTerms means that there are no words to compare sessions by.
var ErrNoTerms = errors.New("there is no text to compare")

// Response is the answer to a Request. It depends only on the index, the session files
// and the request.
type Response struct {
	Terms        []string  // the weightiest ones, which were searched for
	Sessions     []Session // the most similar first
	Total        int       // sessions before the limit, among those that were compared
	TotalIsExact bool      // false if there are sessions that were not compared
	search.About
}

// Session is a session with what it shares. Its Score is from 0 to 1.
type Session struct {
	sessions.Session
	Shares []string // terms, the weightiest first
}

// Row is a session in JSON.
type Row struct {
	sessions.Row
	Shares []string `json:"shares"`
}

// Row returns the JSON form of a session.
func (s *Session) Row() Row {
	r := Row{Row: s.Session.Row(true), Shares: s.Shares}
	r.Hits, r.HitsAny, r.Looser = nil, nil, 0 // they count terms that nobody typed
	return r
}

// kinds are the kinds of text that say what a session is about.
var kinds = []session.Kind{session.KindPrompt, session.KindReply, session.KindTitle, session.KindSummary}

// DefaultLimit is the limit of a request without one: further sessions share little.
const DefaultLimit = 5

// How many sessions are compared: all would take long, and the best are among the first.
const mostSessions = 50

// least is the similarity of the last session that is listed: below, sessions share
// some words only by chance.
const least = 0.1

// Ask returns the request for sessions that are like a session or, unless number is -1, like the entry
// of the session with this number.
func Ask(ctx context.Context, of *entry.Conversation, number int) (Request, error) {
	counts, err := count(ctx, of, number)
	if err == nil && len(counts) == 0 {
		err = ErrNoTerms
	}
	return Request{Counts: counts, Path: of.Record.Path, Identity: of.Record.Identity(), Marks: sessions.Marks(of.Record)}, err
}

// Find answers a request from an index.
func Find(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Response, error) {
	x := &finder{Reader: r, req: &req, lineage: sessions.NewLineage(r), family: make(map[int]bool)}
	for i, s := range r.Beginnings() {
		if s.Path == req.Path || req.Identity != 0 && s.Identity() == req.Identity {
			maps.Copy(x.family, x.lineage.Family(i))
		}
	}
	terms, err := x.weightiest(ctx)
	if err != nil {
		return nil, err
	}
	resp := &Response{Terms: lists.Map(terms, func(t term) string { return t.text }), TotalIsExact: true, About: search.About{Index: search.StateOf(r)}}
	if len(terms) == 0 {
		return resp, nil
	}
	limit := cmp.Or(max(req.Limit, 0), DefaultLimit)
	within := search.Request{
		Text: `"` + strings.Join(resp.Terms, `" "`) + `"`, Spec: req.Spec, Env: req.Env, Resume: req.Resume, Redact: req.Redact,
		Limit: max(mostSessions, limit), PerSession: 1, Any: true, Sort: rank.Relevance,
		Only: func(s *session.Summary) bool { return !x.family[x.lineage.IndexOf(s.Path)] },
	}
	within.Scope, within.Kinds = "", kinds
	found, err := search.Run(ctx, r, a, src, within)
	if err != nil {
		return nil, err
	}
	list, err := x.similar(ctx, terms, found)
	resp.Total, resp.TotalIsExact = len(list), found.SessionTotal <= within.Limit
	resp.Sessions = list[:min(limit, len(list))]
	resp.Warnings, resp.Index = found.Warnings, found.Index
	return resp, err
}

// finder answers one request.
type finder struct {
	*index.Reader
	req     *Request
	lineage *sessions.Lineage
	family  map[int]bool // the session, its forks and ancestors, and other files of it
}

// isSame reports whether a session consists mostly of entries of the session of the request.
func (x *finder) isSame(at int) (bool, error) {
	rec, err := x.Record(x.Table().File(at))
	if err != nil || rec == nil {
		return false, err
	}
	return 2*sessions.Shared(rec, x.req.Marks) > min(len(rec.Nodes), len(x.req.Marks)), nil
}

// similar makes the sessions of an answer, the most similar first, without those that consist
// mostly of the same entries.
func (x *finder) similar(ctx context.Context, terms []term, found *search.Response) (list []Session, err error) {
	all, best := 0.0, 0.0
	for _, t := range terms {
		all += t.weight
	}
	for i := range found.Sessions {
		best = max(best, found.Sessions[i].Score)
	}
	for i := range found.Sessions {
		hit := found.Sessions[i]
		at := slices.IndexFunc(found.Hits, func(h search.Hit) bool { return h.SessionPath == hit.SessionPath })
		number := x.lineage.IndexOf(hit.SessionPath)
		if at < 0 || number < 0 {
			continue
		}
		if same, err := x.isSame(number); same || cmp.Or(err, ctx.Err()) != nil {
			if err := cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			continue
		}
		h := &found.Hits[at]
		s := Session{Session: sessions.Session{SessionHit: hit, Hit: h}, Shares: []string{}}
		if p := x.lineage.Parent(number); p != nil {
			s.ParentPath = p.Path
		}
		shared := 0.0
		for _, t := range terms {
			// Missing has them as typed, in quotes.
			quoted := `"` + t.text + `"`
			if !slices.Contains(h.Missing, quoted) || slices.Contains(h.Elsewhere, quoted) {
				shared += t.weight
				if !words.IsFunctionWord(t.text) { // which is not a reason
					s.Shares = append(s.Shares, t.text)
				}
			}
		}
		// Half of it is whether an entry has several of them.
		s.Score = math.Round(1000*shared/all*(1+hit.Score/best)/2) / 1000
		if s.Score >= least && len(s.Shares) > 0 {
			list = append(list, s)
		}
	}
	lists.SortStable(list, func(a, b Session) int { return cmp.Compare(b.Score, a.Score) })
	return list, nil
}

// others returns for each term in how many sessions it is, without the family of the session.
func (x *finder) others(ctx context.Context, terms []term) ([]int, error) {
	found, but := make([]map[uint32]bool, len(terms)), make(map[uint32]bool)
	for i := range x.family {
		but[x.Table().File(i)] = true
	}
	for _, seg := range x.Segments() {
		if err := ctx.Err(); err != nil || len(terms) == 0 {
			return nil, err
		}
		files, wanted := seg.Files(), docset.ByKind(seg, kinds...)
		for i, t := range terms {
			for it := seg.Bitmap(segment.FieldText, []byte(t.text)).Iterator(); it.HasNext(); {
				doc := it.Next()
				if file := files.File(doc); wanted.Has(doc) && !but[file] {
					if found[i] == nil {
						found[i] = make(map[uint32]bool)
					}
					found[i][file] = true
				}
			}
		}
		seg.Trim()
	}
	counts := make([]int, len(terms))
	for i := range found {
		counts[i] = len(found[i])
	}
	return counts, x.Fault()
}

// A term is a word of the session with its weight.
type term struct {
	text   string
	weight float64
}

// How many terms are searched for, of how many it is counted which sessions have them,
// and how many of the most frequent ones are looked up at all.
const (
	mostTerms    = 25
	mostCounted  = 600
	mostLookedUp = 4000
)

// ofRarest is how rare a term must be, compared with one that a single document has:
// words of no meaning of their own are in many.
const ofRarest = 0.3

// mostText is how much of a part counts, in bytes: what is longer was mostly pasted.
const mostText = 8 << 10

// often is how much more a term counts in a kind of text that says what a session is
// about.
var often = map[session.Kind]float64{session.KindTitle: 4, session.KindPrompt: 2, session.KindSummary: 2}

// count returns how often a session, or one of its entries, has each term.
func count(ctx context.Context, c *entry.Conversation, number int) (map[string]float64, error) {
	list := c.Tree.Path()
	if number >= 0 {
		list = []int{number}
	}
	counts := make(map[string]float64)
	var analyzer analysis.Analyzer
	for _, i := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n := &c.Record.Nodes[i]; number < 0 && n.Role == session.RoleToolResult {
			continue
		}
		e, err := c.Read(i)
		if errors.Is(err, entry.ErrChanged) && number < 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		for k := range e.Parts {
			p := &e.Parts[k]
			if number < 0 && !slices.Contains(kinds, p.Kind) {
				continue
			}
			times := cmp.Or(often[p.Kind], 1)
			analyzer.Walk(p.Text[:min(len(p.Text), mostText)], func(t analysis.Token) {
				if t.Form != analysis.Part && t.Form != analysis.Single && isWord(t.Term) {
					counts[string(t.Term)] += times
				}
			})
		}
	}
	return counts, nil
}

// isWord reports whether a term says something: it is not short, and has fewer digits
// than letters, as numbers, hashes and ids have.
func isWord(t []byte) bool {
	digits, letters := 0, 0
	for _, r := range string(t) {
		if unicode.IsDigit(r) {
			digits++
		} else {
			letters++
		}
	}
	return utf8.Valid(t) && digits < letters && (letters > 2 || len(t) > letters) && (digits < 3 || len(t) < 12)
}

// weightiest returns the terms that say most about the session, the weightiest first.
func (x *finder) weightiest(ctx context.Context) ([]term, error) {
	counts := x.req.Counts
	all := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	all = all[:min(len(all), mostLookedUp)]
	known, err := words.Frequencies(x.Reader, all)
	if err != nil {
		return nil, err
	}
	least := ofRarest * math.Log(float64(known.Documents))
	var terms []term
	for t, idf := range search.Rarities(all, known) {
		if idf < least {
			continue
		}
		terms = append(terms, term{t, (1 + math.Log2(counts[t])) * idf * idf})
	}
	byWeight := func(a, b term) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.text, b.text)) }
	slices.SortFunc(terms, byWeight)
	terms = terms[:min(len(terms), mostCounted)]

	others, err := x.others(ctx, terms)
	if err != nil {
		return nil, err
	}
	total := float64(x.Table().Len())
	for i := range others {
		t := &terms[i]
		t.weight = 0
		if others[i] > 0 {
			t.weight = (1 + math.Log2(counts[t.text])) * math.Log((total+1)/float64(others[i]+1))
		}
	}
	terms = slices.DeleteFunc(terms, func(t term) bool { return t.weight <= 0 })
	slices.SortFunc(terms, byWeight)
	return terms[:min(len(terms), mostTerms)], nil
}
