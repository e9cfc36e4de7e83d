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
	"math"
	"slices"
	"strings"

	"pigrep/internal/lists"
	"pigrep/internal/session"
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
	r.Hits, r.HitsAny, r.Looser = nil, nil, 0 // of terms that nobody typed
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
				if !words.IsFunctionWord(t.text) { // which is no reason
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
