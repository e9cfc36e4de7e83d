package query

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pigrep/internal/session"
)

// A session's score is that of its best hit and, for what it has more, shares of
// the next ones that get smaller.
const (
	sharesOf = 5
	share    = 0.25
)

// sessionGroup is a session with hits.
type sessionGroup struct {
	file      int32
	score     float64
	top       []int32 // its best candidates, in order
	hits, all int
}

// respond makes the response from the candidates that are left.
func (s *searcher) respond() (*Response, error) {
	resp := &Response{TotalIsExact: !s.inexact, Warnings: s.warnings}
	resp.Index.Generation = s.r.Generation()
	resp.Index.Files = len(s.files)
	for i := range s.files {
		resp.Index.SkippedLines += s.files[i].Skipped
	}
	per, limit := s.perSession(), s.limit()
	groups := make([]sessionGroup, len(s.files))
	most := max(per, sharesOf)
	room := min(most, 2*sharesOf)
	tops := make([]int32, room*len(s.files))
	for i := range s.files {
		f := &s.files[i]
		groups[i].hits, groups[i].all = f.hits, f.all
		groups[i].top, tops = tops[:0:room], tops[room:]
		resp.Total += f.hits
		resp.TotalAny += f.all
	}
	var flat []int32
	for i, c := range s.found.all() {
		if c.dropped {
			continue
		}
		if !s.judge.of(c.mask, c.weak).hit {
			continue
		}
		if s.req.Flat {
			flat = s.keep(flat, i, limit)
		} else {
			g := &groups[c.file]
			g.top = s.keep(g.top, i, most)
		}
	}
	var err error
	shown := []sessionGroup(nil)
	if s.req.Sort != SortRelevance {
		shown, flat, err = s.byTime(groups, limit, per, resp.Total > 0)
	} else if !s.req.Flat {
		shown = s.best(groups, limit)
	}
	if err != nil {
		return nil, err
	}
	if s.req.Flat {
		resp.Hits, err = s.hits(flat)
	} else {
		err = s.addSessions(resp, shown, per)
	}
	if err != nil {
		return nil, err
	}
	for i := range resp.Hits {
		resp.Hits[i].Rank = i + 1
	}
	if resp.DidYouMean, err = s.didYouMean(); err != nil {
		return nil, err
	}
	resp.DidYouMean = s.req.text(resp.DidYouMean)
	if n := s.changed.Load(); n > 0 {
		resp.TotalIsExact = false
		resp.Warnings = append(resp.Warnings, fmt.Sprintf("%s left out: the session file has changed since it was indexed", plural(int(n), "hit")))
	}
	return resp, nil
}

// limit is how many sessions are shown at most, when flat how many hits.
func (s *searcher) limit() int {
	if s.req.Flat {
		return cmp.Or(max(s.req.Limit, 0), DefaultFlatLimit)
	}
	return cmp.Or(max(s.req.Limit, 0), DefaultLimit)
}

// perSession is how many hits of a session are shown at most.
func (s *searcher) perSession() int { return cmp.Or(max(s.req.PerSession, 0), DefaultPerSession) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// keep inserts a candidate into a list of the best so many.
func (s *searcher) keep(list []int32, i int32, most int) []int32 {
	c := s.found.at(i)
	if len(list) == most {
		last := s.found.at(list[most-1])
		if c.score < last.score || s.compare(c, last) >= 0 {
			return list
		}
		list = list[:most-1]
	}
	at, _ := slices.BinarySearchFunc(list, c, func(j int32, c *candidate) int { return s.compare(s.found.at(j), c) })
	return slices.Insert(list, at, i)
}

// best returns the groups with the highest scores, in order.
func (s *searcher) best(groups []sessionGroup, limit int) []sessionGroup {
	kept := groups[:0]
	for i, g := range groups {
		if g.all == 0 {
			continue
		}
		g.file = int32(i)
		part := 1.0
		for _, c := range g.top[:min(sharesOf, len(g.top))] {
			g.score += part * float64(s.found.at(c).score)
			part *= share
		}
		kept = append(kept, g)
	}
	slices.SortFunc(kept, func(a, b sessionGroup) int {
		return cmp.Or(cmp.Compare(b.score, a.score), s.files[b.file].Newest.Compare(s.files[a.file].Newest), cmp.Compare(a.file, b.file))
	})
	return kept[:min(limit, len(kept))]
}

// addSessions adds groups, several at a time: what a group reads is its own.
func (s *searcher) addSessions(resp *Response, groups []sessionGroup, per int) error {
	hits := make([][]Hit, len(groups))
	sessions := make([]SessionHit, len(groups))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range groups {
		g.Go(func() (err error) {
			top := groups[i].top
			if hits[i], err = s.hits(top[:min(per, len(top))]); err == nil {
				sessions[i], err = s.session(&groups[i])
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range groups {
		if len(hits[i]) > 0 { // else all of them changed
			resp.Hits = append(resp.Hits, hits[i]...)
			resp.Sessions = append(resp.Sessions, sessions[i])
		}
	}
	return nil
}

func (s *searcher) session(g *sessionGroup) (SessionHit, error) {
	o, err := s.outlineOf(s.found.at(g.top[0]))
	if err != nil {
		return SessionHit{}, err
	}
	rec := &o.Record
	hit := SessionHit{
		Type:          "session",
		SessionPath:   rec.Path,
		SessionID:     rec.ID,
		Name:          rec.Name,
		CWD:           rec.CWD,
		Created:       Time{rec.Created()},
		Modified:      Time{rec.Modified()},
		Messages:      rec.Messages,
		FirstPrompt:   rec.FirstPrompt,
		Labels:        slices.Compact(slices.Sorted(maps.Values(rec.Labels))),
		Models:        rec.Models,
		ParentSession: rec.ParentSession,
		Tokens:        rec.UsedTokens,
		Cost:          rec.UsedCost,
		Score:         rounded(g.score),
		Hits:          g.hits,
		HitsAny:       g.all,
		Resume:        s.resume(rec),
	}
	for i := range s.files {
		if s.files[i].ParentSession == rec.Path {
			hit.Forks++
		}
	}
	if s.req.Redact {
		hit.Redact()
	}
	return hit, nil
}

func (s *searcher) resume(rec *session.Record) *Resume {
	dir, argv := s.req.Resume.command(&rec.Summary)
	if len(argv) == 0 {
		return nil
	}
	return &Resume{dir, argv}
}

// hits reads candidates again and makes hits of them. Two calls at the same time
// must not have a file in common.
func (s *searcher) hits(list []int32) ([]Hit, error) {
	r := s.reader()
	defer s.done(r)
	var hits []Hit
	for _, i := range list {
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		hit, err := s.hit(r, i)
		if errors.Is(err, errChanged) {
			s.changed.Add(1)
			continue
		}
		if err != nil {
			return nil, err
		}
		hits = append(hits, hit)
	}
	return hits, nil
}

func (s *searcher) hit(r *entryReader, i int32) (Hit, error) {
	c := s.found.at(i)
	s.resolve(c)
	if err := s.readCopy(c); err != nil {
		return Hit{}, err
	}
	o, err := s.outlineOf(c)
	if err != nil {
		return Hit{}, err
	}
	node, ok := o.At(c.offset)
	if !ok {
		return Hit{}, errChanged
	}
	rec := &o.Record
	hit := Hit{
		Type:        "hit",
		Score:       rounded(float64(c.score)),
		Tier:        tierNames[c.tier],
		SessionPath: rec.Path,
		SessionID:   rec.ID,
		SessionName: rec.Name,
		CWD:         rec.CWD,
		EntryID:     node.ID,
		ParentID:    node.ParentID,
		Line:        node.Line,
		Offset:      node.Offset,
		Length:      node.Length,
		Part:        int(c.part),
		Branch:      branchName(node.Active),
		InContext:   node.InContext,
		Label:       rec.Labels[node.ID],
		Resume:      s.resume(rec),
	}
	hit.Timestamp = Time{rec.TimeOf(&node.Node)}
	for _, e := range s.query.root.missing(c.mask, nil) {
		hit.Missing = append(hit.Missing, e.text())
		if e.matches(s.files[c.file].mask) {
			hit.Elsewhere = append(hit.Elsewhere, e.text())
		}
	}
	for _, other := range s.copies[i] {
		if hit.Copies, err = s.addCopy(hit.Copies, s.found.at(other)); err != nil {
			return Hit{}, err
		}
	}
	if s.req.Explain {
		hit.Explain = s.explain(i)
	}
	r.of(&s.files[c.file])
	r.most = 0
	err = r.entry(c, 0, func(e *session.Entry) {
		part := &e.Parts[c.part]
		hit.Kind, hit.Role = part.Kind, e.Role
		if part.Kind == session.KindLabel {
			hit.TargetID = strings.Clone(e.TargetID)
		}
		hit.Tool, hit.ToolCallID = part.Tool, part.ToolCallID
		hit.IsError = e.IsError
		hit.Provider, hit.Model, hit.CustomType = e.Provider, e.Model, e.CustomType
		matches, exact := r.marks.matches(part.Text)
		hit.Fragment = fragment(s.req.shown(part.Text, matches))
		if c.tier == tierExact && s.otherSpelling(c, matches, exact) {
			hit.Tier = TierParts
		}
	})
	if err == nil && s.req.Before+s.req.After > 0 {
		var around [2][]Neighbour
		around, err = s.neighbours(c, s.req.Before, s.req.After)
		hit.Before, hit.After = around[0], around[1]
	}
	if s.req.Redact {
		hit.redact()
	}
	return hit, err
}

// otherSpelling reports whether the candidate has some word only in another
// spelling than it was typed in: get_user_name for getUserName.
func (s *searcher) otherSpelling(c *candidate, matches []match, exact uint64) bool {
	for _, p := range s.plans {
		if c.mask&p.bit == 0 || exact&p.bit != 0 || p.match != Literal {
			continue
		}
		if slices.ContainsFunc(matches, func(m match) bool { return m.plan == p.index }) {
			return true
		}
	}
	return false
}

func (s *searcher) addCopy(copies []Copy, c *candidate) ([]Copy, error) {
	o, err := s.outlineOf(c)
	if err != nil {
		return nil, err
	}
	cp := Copy{SessionPath: o.Record.Path}
	if e, ok := o.At(s.resolve(c).offset); ok {
		cp.EntryID = e.ID
	}
	return append(copies, cp), nil
}

// rounded keeps what differs between scores and not what differs between
// machines.
func rounded(score float64) float64 { return math.Round(score*1e4) / 1e4 }
