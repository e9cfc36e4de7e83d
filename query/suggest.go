package query

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/query/entry"
	"pigrep/query/syntax"
	"pigrep/scope"
)

// mostMeant is how many words a query has at most of which others may be meant:
// nobody types more.
const mostMeant = 16

// didYouMean returns the query with similar words in place of those that are in
// no document as typed; "" when there are none.
func (s *searcher) didYouMean() (string, error) {
	if len(s.plans) > mostMeant {
		return "", nil
	}
	type change struct {
		syntax.Pos
		word string
	}
	var changes []change
	for i, p := range s.plans {
		if p.match != syntax.Literal || !p.scored || p.find != nil || len(p.parts) > 0 || p.term == "" || s.found != nil && s.isID(i) {
			continue
		}
		meant := ""
		switch {
		case len(p.terms) > 0 && p.terms[0].tier == tierFuzzy:
			meant = p.terms[0].term
		case len(p.terms) == 0 && utf8.RuneCountInString(p.term) > 2:
			e := expander{searcher: s, seen: map[string]bool{}}
			edits := 1
			if utf8.RuneCountInString(p.term) >= minFuzzyTwo {
				edits = 2
			}
			if err := e.fuzzy(p.term, edits, false, 1, 1, weightFuzzy); err != nil {
				return "", err
			}
			if len(e.list) > 0 {
				meant = e.list[0].term
			}
		}
		if meant == "" {
			continue
		}
		for _, place := range p.places {
			changes = append(changes, change{place, meant})
		}
	}
	if len(changes) == 0 {
		return "", nil
	}
	text := strings.ToValidUTF8(s.req.Text, "\uFFFD")
	slices.SortFunc(changes, func(a, b change) int { return b.Start - a.Start })
	for _, c := range changes {
		typed := text[c.Start:c.End]
		text = text[:c.Start] + strings.Replace(typed, syntax.TrimProse(typed), c.word, 1) + text[c.End:]
	}
	return strings.Join(strings.Fields(text), " "), nil
}

// isID reports whether the word begins the id of some session or entry.
func (s *searcher) isID(word int) bool {
	bit := uint64(1) << word
	for i := range s.files {
		if s.files[i].ids&bit != 0 {
			return true
		}
	}
	return slices.ContainsFunc(s.segs, func(seg *segment) bool {
		for _, bits := range seg.anchors {
			if bits&bit != 0 {
				return true
			}
		}
		return false
	})
}

// Removed says how many hits a filter took away from an empty answer.
type Removed struct {
	Filter string `json:"filter"` // the name of a flag without its dashes, a field as typed, or "all" filters
	Hits   int    `json:"hits"`   // there are without it
}

// removed finds out which filters made an answer empty.
func removed(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) ([]Removed, error) {
	type variant struct {
		filter string
		req    Request
	}
	var variants []variant
	all := req
	try := func(filter string, active bool, clear func(*Request)) {
		if active {
			v := variant{filter, req}
			clear(&v.req)
			clear(&all)
			variants = append(variants, v)
		}
	}
	everything := func(r *Request) { r.Scope, r.Kinds = scope.All, nil }
	try("kind", len(req.Kinds) > 0, everything)
	try("scope", len(req.Kinds) == 0 && req.Scope != scope.All, everything)
	try("role", len(req.Roles) > 0, func(r *Request) { r.Roles = nil })
	try("tool", len(req.Tools) > 0, func(r *Request) { r.Tools = nil })
	try("model", len(req.Models) > 0, func(r *Request) { r.Models = nil })
	try("session", len(req.Sessions) > 0, func(r *Request) { r.Sessions = nil })
	try("project", len(req.Projects) > 0, func(r *Request) { r.Projects = nil })
	try("cwd", req.CWD != "", func(r *Request) { r.CWD = "" })
	try("exclude", len(req.Excludes) > 0, func(r *Request) { r.Excludes = nil })
	try("since", !req.Since.IsZero(), func(r *Request) { r.Since = time.Time{} })
	try("until", !req.Until.IsZero(), func(r *Request) { r.Until = time.Time{} })
	try("error", req.Error, func(r *Request) { r.Error = false })
	try("branch", req.Branch != "", func(r *Request) { r.Branch = "" })
	text := strings.ToValidUTF8(req.Text, "\uFFFD")
	if strings.Count(text, "re:") > 1 {
		return nil, nil // each try would look for them again
	}
	bare := []byte(text)
	for _, item := range syntax.FieldsOf(text) {
		start, end := item.Range()
		try(text[start:end], true, func(r *Request) { r.Text = text[:start] + " " + text[end:] })
		for i := start; i < end; i++ {
			bare[i] = ' '
		}
	}
	all.Text = string(bare)

	var list []Removed
	for _, v := range variants {
		n, err := count(ctx, r, a, src, v.req)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			list = append(list, Removed{v.filter, n})
		}
	}
	if len(list) == 0 && len(variants) > 1 {
		n, err := count(ctx, r, a, src, all)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			list = append(list, Removed{"all", n})
		}
	}
	return list, nil
}

// count returns the number of hits that lack nothing, and without any such, of all.
func count(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (int, error) {
	q, err := compile(&req)
	if err != nil {
		return 0, nil // nothing is left to search for
	}
	s, err := newSearcher(ctx, r, a, src, &req, q)
	if err != nil {
		return 0, err
	}
	if err := s.find(); err != nil {
		return 0, err
	}
	whole, any := 0, 0
	for i := range s.files {
		whole += s.files[i].hits
		any += s.files[i].all
	}
	if whole > 0 {
		return whole, nil
	}
	return any, nil
}
