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

// Request asks for the sessions that are like one session, or like one of its entries.
type Request struct {
	Of    *entry.Conversation
	Entry int // its number in the file, -1 for the whole session
	filter.Spec
	Limit int // 0: DefaultLimit

	Env    filter.Env
	Resume search.ResumeFunc // how sessions are resumed; nil: rows have no resume command
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

// Find answers a request from an index.
func Find(ctx context.Context, from Index, req Request) (*Response, error) {
	counts, err := req.count(ctx)
	if err != nil {
		return nil, err
	}
	if len(counts) == 0 {
		return nil, ErrNoTerms
	}
	of := Relatives{Path: req.Of.Record.Path}
	if id := req.Of.Record.Identity(); id != 0 {
		of.Known = []uint64{id}
	}
	terms, state, err := weightiest(ctx, from, &of, counts)
	if err != nil {
		return nil, err
	}
	resp := &Response{Terms: names(terms), TotalIsExact: true, About: search.About{Index: state}}
	if len(terms) == 0 {
		return resp, nil
	}
	limit := cmp.Or(max(req.Limit, 0), DefaultLimit)
	within := search.Request{
		Text: `"` + strings.Join(resp.Terms, `" "`) + `"`, Spec: req.Spec, Env: req.Env, Resume: req.Resume, Redact: req.Redact,
		Limit: max(mostSessions, limit), PerSession: 1, Any: true, Sort: rank.Relevance,
	}
	within.Scope, within.Kinds = "", kinds
	compared, err := from.Compare(ctx, Comparison{within, of, sessions.Marks(req.Of.Record)})
	if err != nil {
		return nil, err
	}
	list, found := similar(terms, compared), compared.Found
	resp.Total, resp.TotalIsExact = len(list), found.SessionTotal <= within.Limit
	resp.Sessions = list[:min(limit, len(list))]
	resp.Warnings, resp.Index = found.Warnings, found.Index
	return resp, nil
}

// similar makes the sessions of an answer, the most similar first, without those that consist
// mostly of the same entries.
func similar(terms []term, compared *Compared) (list []Session) {
	found, known := compared.Found, make(map[string]*Known)
	for i := range compared.Known {
		known[compared.Known[i].SessionPath] = &compared.Known[i]
	}
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
		of := known[hit.SessionPath]
		if at < 0 || of == nil || of.Same {
			continue
		}
		h := &found.Hits[at]
		s := Session{Session: sessions.Session{SessionHit: hit, Hit: h}, Shares: []string{}}
		s.ParentPath = of.ParentPath
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
	return list
}

// Index is what finding similar sessions asks: one index, or several that answer together.
type Index interface {
	Weigh(context.Context, Weighing) (*Weighed, error)
	Compare(context.Context, Comparison) (*Compared, error)
}

// Relatives are a session, its forks and ancestors, and other files of it.
type Relatives struct {
	Path  string   `wire:"exact"` // of the session
	Known []uint64 // identities of relatives, which may be in several indexes: see session.Summary
}

// Weighing asks what terms weigh.
type Weighing struct {
	Relatives
	search.Joint
	Terms   []string // whose documents are counted
	Counted []string // terms whose sessions are counted, without the relatives
}

// Weighed is the answer to it.
type Weighed struct {
	Relatives
	Statistics words.Statistics // of Terms
	Others     []int            // sessions with each of Counted, in the kinds that are searched
	Sessions   int              // in the index
	search.About
}

// Comparison asks for sessions that are not relatives.
type Comparison struct {
	search.Request
	Of    Relatives
	Marks []uint32 // of the entries of the session: see sessions.Marks
}

// Compared is the answer to it.
type Compared struct {
	Found *search.Response
	Known []Known // of its sessions
}

// Known is what is known of a session that was found.
type Known struct {
	SessionPath string `wire:"session"`
	ParentPath  string `json:",omitempty" wire:"session"`
	Same        bool   `json:",omitempty"` // it consists mostly of entries of the session it is compared with
}

// Local is the index of this machine. It is used by one goroutine.
type Local struct {
	Reader  *index.Reader
	Adapter adapter.Adapter
	Source  entry.Source

	lineage *sessions.Lineage
}

// family returns the relatives of a session among the files of the index, also of those that are in
// others if several answer.
func (x *Local) family(of *Relatives, several bool) map[int]bool {
	if x.lineage == nil {
		x.lineage = sessions.NewLineage(x.Reader)
	}
	family := x.lineage.Family(x.lineage.IndexOf(of.Path))
	if !several {
		return family
	}
	known := make(map[uint64]bool)
	for _, id := range of.Known {
		known[id] = true
	}
	identities := make(map[int]uint64)
	for i, s := range x.Reader.Beginnings() {
		if identities[i] = s.Identity(); known[identities[i]] && !family[i] {
			for k := range x.lineage.Family(i) {
				family[k] = true
			}
		}
	}
	for i := range family {
		if id := identities[i]; id != 0 && !known[id] {
			known[id] = true
			of.Known = append(of.Known, id)
		}
	}
	return family
}

// Weigh implements Index.
func (x *Local) Weigh(ctx context.Context, req Weighing) (*Weighed, error) {
	resp := &Weighed{Sessions: x.Reader.Table().Len(), About: search.About{Index: search.StateOf(x.Reader)}}
	own, elsewhere := make(map[uint32]bool), req.IsElsewhere()
	for i := range x.family(&req.Relatives, req.Shared != nil) {
		own[x.Reader.Table().File(i)] = true
	}
	if len(elsewhere) > 0 {
		for i, s := range x.Reader.Beginnings() {
			if elsewhere[s.Identity()] {
				own[x.Reader.Table().File(i)] = true
				resp.Sessions--
			}
		}
	}
	resp.Relatives = req.Relatives
	counted, err := words.Frequencies(x.Reader, req.Terms, elsewhere)
	if err != nil {
		return nil, err
	}
	resp.Statistics = *counted
	resp.Others, err = x.others(ctx, req.Counted, own)
	return resp, err
}

// others returns in how many sessions each term is, but for some files.
func (x *Local) others(ctx context.Context, terms []string, but map[uint32]bool) ([]int, error) {
	found := make([]map[uint32]bool, len(terms))
	for _, seg := range x.Reader.Segments() {
		if err := ctx.Err(); err != nil || len(terms) == 0 {
			return nil, err
		}
		files, err := seg.Files()
		if err != nil {
			return nil, err
		}
		wanted, err := docset.ByKind(seg, kinds...)
		if err != nil {
			return nil, err
		}
		for i, t := range terms {
			docs, err := seg.Bitmap(segment.FieldText, []byte(t))
			if err != nil {
				return nil, err
			}
			for it := docs.Iterator(); it.HasNext(); {
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
	return counts, nil
}

// Compare implements Index.
func (x *Local) Compare(ctx context.Context, req Comparison) (*Compared, error) {
	family := x.family(&req.Of, req.Shared != nil)
	req.Only = func(s *session.Summary) bool { return !family[x.lineage.IndexOf(s.Path)] }
	found, err := search.Run(ctx, x.Reader, x.Adapter, x.Source, req.Request)
	if err != nil {
		return nil, err
	}
	resp := &Compared{Found: found}
	for i := range found.Sessions {
		at := x.lineage.IndexOf(found.Sessions[i].SessionPath)
		if at < 0 {
			continue
		}
		of := Known{SessionPath: found.Sessions[i].SessionPath}
		if p := x.lineage.Parent(at); p != nil {
			of.ParentPath = p.Path
		}
		rec, err := x.Reader.Record(x.Reader.Table().File(at))
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		of.Same = rec != nil && 2*sessions.Shared(rec, req.Marks) > min(len(rec.Nodes), len(req.Marks))
		resp.Known = append(resp.Known, of)
	}
	return resp, nil
}

// A term is a word of the session with its weight.
type term struct {
	text   string
	weight float64
}

func names(terms []term) []string {
	return lists.Map(terms, func(t term) string { return t.text })
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

// count returns how often the session, or the entry, has each term.
func (x *Request) count(ctx context.Context) (map[string]float64, error) {
	c, list := x.Of, x.Of.Tree.Path()
	if x.Entry >= 0 {
		list = []int{x.Entry}
	}
	counts := make(map[string]float64)
	var analyzer analysis.Analyzer
	for _, i := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n := &c.Record.Nodes[i]; x.Entry < 0 && n.Role == session.RoleToolResult {
			continue
		}
		e, err := c.Read(i)
		if errors.Is(err, entry.ErrChanged) && x.Entry < 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		for k := range e.Parts {
			p := &e.Parts[k]
			if x.Entry < 0 && !slices.Contains(kinds, p.Kind) {
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

// weightiest returns the terms that say most about the session, the weightiest first, and the
// state of the index. It adds the relatives that the session has there.
func weightiest(ctx context.Context, from Index, of *Relatives, counts map[string]float64) ([]term, search.IndexState, error) {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	all = all[:min(len(all), mostLookedUp)]
	known, err := from.Weigh(ctx, Weighing{Relatives: *of, Terms: all})
	if err != nil {
		return nil, search.IndexState{}, err
	}
	*of = known.Relatives
	least := ofRarest * math.Log(float64(known.Statistics.Documents))
	var terms []term
	for t, idf := range search.Rarities(all, &known.Statistics) {
		if idf < least {
			continue
		}
		terms = append(terms, term{t, (1 + math.Log2(counts[t])) * idf * idf})
	}
	byWeight := func(a, b term) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.text, b.text)) }
	slices.SortFunc(terms, byWeight)
	terms = terms[:min(len(terms), mostCounted)]

	if known, err = from.Weigh(ctx, Weighing{Relatives: *of, Counted: names(terms)}); err != nil {
		return nil, search.IndexState{}, err
	}
	*of = known.Relatives
	total := float64(known.Sessions)
	for i := range terms {
		t := &terms[i]
		t.weight = 0
		if i < len(known.Others) && known.Others[i] > 0 {
			t.weight = (1 + math.Log2(counts[t.text])) * math.Log((total+1)/float64(known.Others[i]+1))
		}
	}
	terms = slices.DeleteFunc(terms, func(t term) bool { return t.weight <= 0 })
	slices.SortFunc(terms, byWeight)
	return terms[:min(len(terms), mostTerms)], known.Index, nil
}
