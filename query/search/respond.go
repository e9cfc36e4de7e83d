package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/price"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
	"pigrep/scope"
)

// responder turns the result of a search into a response.
type responder struct {
	ctx    context.Context
	req    *Request
	reader *index.Reader
	found  *rank.Result
	late   atomic.Bool // the deadline has passed
	brief  bool        // hits have only what the index says
	names  *entry.Naming
	forks  func() map[string]int // how many sessions name a path as their parent
}

// over reports whether the hits that were read are the answer, because the deadline has
// passed. The error is that of a context that is done otherwise.
func (s *responder) over() (bool, error) {
	err := s.ctx.Err()
	if s.req.UntilDeadline && errors.Is(err, context.DeadlineExceeded) {
		s.late.Store(true)
		return true, nil
	}
	return false, err
}

// respond reads the hits and makes the response.
func respond(ctx context.Context, req *Request, in rank.Input, found *rank.Result) (*Response, error) {
	s := &responder{ctx: ctx, req: req, reader: in.Reader, found: found, names: entry.NewNaming(in.Reader), forks: sync.OnceValue(func() map[string]int {
		forks := make(map[string]int)
		for _, other := range in.Reader.Beginnings() {
			if other.ParentSession != "" {
				forks[other.ParentSession]++
			}
		}
		return forks
	})}
	resp := &Response{
		SessionTotal: found.ListedSessions, Total: found.Total, TotalIn: found.TotalSessions, TotalAny: found.TotalAny, Similar: found.Similar, Named: found.Named, Weak: found.Weak, Folded: found.Folded(),
		About: About{in.Plan.Warnings, StateOf(in.Reader)},
	}
	var err error
	if req.Together {
		resp.Tally = newTally(in.Reader, found, true)
	}
	switch {
	case req.Later:
		resp.later = func(ctx context.Context, read bool, visit func(*Hit) error) error {
			if s.ctx, s.brief = ctx, !read; read {
				defer s.sum(resp)
			}
			rank := 0
			for h, err := range s.each(found.Hits) {
				if err == nil && h != nil {
					rank++
					h.Rank = rank
					err = visit(h)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
	case req.Flat:
		resp.Hits, err = s.hits(found.Hits)
	default:
		err = s.addSessions(resp)
	}
	if err != nil {
		return nil, err
	}
	for i := range resp.Hits {
		resp.Hits[i].Rank = i + 1
	}
	if resp.Tally != nil {
		resp.Tally.Hits = lists.Map(resp.Hits, func(h Hit) rank.Place { return h.Place })
		resp.Tally.Listed = lists.Map(resp.Sessions, func(h SessionHit) rank.Place { return h.Place })
	}
	resp.DidYouMean = didYouMean(req, in.Plan, found)
	if resp.TotalIsExact = !found.Inexact; !req.Later {
		s.sum(resp)
	}
	return resp, nil
}

// sum says in the response which hits could not be read.
func (s *responder) sum(resp *Response) {
	lost := s.found.Losses()
	resp.Late = s.late.Load()
	if n := lost.Changed(); n > 0 {
		resp.TotalIsExact = false
		resp.Warnings = append(resp.Warnings, fmt.Sprintf("%s left out: %v", human.Plural(n, "hit", "hits"), entry.ErrChanged))
	}
	if n, err := lost.Unreadable(); n > 0 {
		resp.TotalIsExact, resp.Unreadable = false, n
		resp.Warnings = append(resp.Warnings, s.req.text(fmt.Sprintf("%s left out: %v", human.Plural(n, "hit", "hits"), err)))
	}
}

// addSessions adds the sessions, several at a time: they share no files.
func (s *responder) addSessions(resp *Response) error {
	list := s.found.Sessions
	hits := make([][]Hit, len(list))
	sessions := make([]SessionHit, len(list))
	var g errgroup.Group
	g.SetLimit(s.atOnce())
	for i := range list {
		g.Go(func() (err error) {
			if hits[i], err = s.distinct(&list[i]); err != nil || len(hits[i]) == 0 {
				return err
			}
			sessions[i], err = s.session(&list[i])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range list {
		if len(hits[i]) > 0 { // else none of them can be read any more
			resp.Hits = append(resp.Hits, hits[i]...)
			resp.Sessions = append(resp.Sessions, sessions[i])
		}
	}
	return nil
}

// atOnce is how many sessions are read at once. Those of an excerpt may be on another machine, and are
// waited for together.
func (s *responder) atOnce() int {
	if s.reader.IsExcerpt() {
		return 32
	}
	return runtime.GOMAXPROCS(0)
}

func (s *responder) session(x *rank.Session) (SessionHit, error) {
	rec := s.found.Record(x.Hits[0])
	whole := &rec.Summary
	if s.reader.Chains().Any() {
		whole = s.reader.Chains().Whole(s.reader.Summary(x.File), func(path string) *session.Summary {
			i, _ := s.reader.Table().Find(path)
			return s.reader.Summary(i)
		})
	}
	hit := Describe(whole, s.req.Resume)
	hit.Labels = slices.Compact(slices.Sorted(maps.Values(rec.Labels)))
	hit.Score, hit.Hits, hit.HitsAny, hit.Looser = rank.Rounded(x.Score), x.Total, x.TotalAny, max(0, x.Listed-x.Total)
	hit.Forks = s.forks()[whole.Path]
	first := s.found.Place(x.Hits[0])
	hit.Place = rank.Place{Class: x.Class, Level: first.Level, Ahead: first.Ahead, Score: float32(x.Score), Copy: whole.Identity()}
	if s.req.Redact {
		hit.Redact()
	}
	return hit, nil
}

// hits reads candidates in their order; of an excerpt, those of several sessions at a time.
func (s *responder) hits(list []*rank.Candidate) ([]Hit, error) {
	together := make(map[int32][]int)
	for i, c := range list {
		at := int32(0)
		if s.reader.IsExcerpt() {
			at = c.Session()
		}
		together[at] = append(together[at], i)
	}
	hits := make([]Hit, len(list))
	var g errgroup.Group
	g.SetLimit(s.atOnce())
	for _, places := range together {
		g.Go(func() error {
			for h, err := range s.each(lists.Map(places, func(i int) *rank.Candidate { return list[i] })) {
				if err != nil {
					return err
				}
				if h != nil {
					hits[places[0]] = *h
				}
				places = places[1:]
			}
			return nil
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.Type == "" }), err
}

// each reads candidates and returns the hits made of them, nil for one that cannot be read. It
// ends after an error. Concurrent calls must be for different files.
func (s *responder) each(list []*rank.Candidate) iter.Seq2[*Hit, error] {
	return func(yield func(*Hit, error) bool) {
		w := s.found.Worker()
		defer s.found.Done(w)
		for _, c := range list {
			over, err := s.over()
			if over {
				return
			}
			var h *Hit
			if err == nil {
				h, err = s.hit(w, c)
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// isAnsweredBy reports whether a hit is the reply that is shown below this hit.
func (h *Hit) isAnsweredBy(reply Hit) bool {
	return h.Answered != nil && h.SessionPath == reply.SessionPath && h.Answered.Offset == reply.Offset
}

// distinct reads the hits of a session that are shown. It keeps the first of several hits that
// say the same, and takes the next hits instead of the others. A reply that is shown below its
// prompt says the same as the prompt.
func (s *responder) distinct(x *rank.Session) (hits []Hit, err error) {
	most := s.req.Options().PerSession
	if most >= All {
		return s.hits(x.Hits)
	}
	var shown []wording
	compared := 0
	for h, err := range s.each(slices.Concat(x.Hits, x.Reserve)) {
		if err != nil {
			return nil, err
		}
		if h != nil {
			this := wordingOf(h)
			if slices.ContainsFunc(hits, h.isAnsweredBy) {
				h.Answered = nil
			}
			if at := slices.IndexFunc(shown, func(o wording) bool { return o.alike(&this) }); at >= 0 {
				hits[at].NearDuplicates++
			} else if !slices.ContainsFunc(hits, func(prompt Hit) bool { return prompt.isAnsweredBy(*h) }) {
				hits, shown = append(hits, *h), append(shown, this)
			}
		}
		if compared++; compared >= len(x.Hits) && len(hits) >= most {
			break
		}
	}
	for i := range hits {
		hits[i].MoreDuplicates = hits[i].NearDuplicates > 0 && x.Listed > len(x.Hits)+len(x.Reserve)
	}
	return hits, nil
}

// tierNames are the names of words.TierExact and its like, in their order.
var tierNames = [...]Tier{TierExact, TierParts, TierForms, TierPrefix, TierFuzzy, TierName}

// hit makes the hit of a candidate, nil when its entry cannot be read any more.
func (s *responder) hit(w *rank.Worker, c *rank.Candidate) (*Hit, error) {
	h, ok, err := s.found.Hit(c)
	if err != nil {
		return nil, err
	}
	if !ok {
		if !s.brief {
			s.found.Lose()
		}
		return nil, nil
	}
	rec, node := &h.Outline.Record, &h.Node
	hit := &Hit{
		Type:       "hit",
		Score:      h.Score,
		Tier:       tierNames[h.Tier],
		Lacks:      s.lacks(h),
		EntryPlace: rec.EntryPlace(node.ID),
		ParentID:   node.ParentID,
		Timestamp:  session.Time{Time: rec.TimeOf(&node.Node)},
		At:         session.At{Line: node.Line, Offset: node.Offset, Length: node.Length, Part: h.Part},
		Branch:     entry.BranchName(node.Active),
		InContext:  node.InContext,
		Label:      rec.Labels[node.ID],
		Resume:     resume(&rec.Summary, s.req.Resume),
	}
	hit.Loose = len(hit.Missing) > len(hit.MissingCommon)
	hit.Copies, hit.Place = s.found.Duplicates(h), s.found.Place(c)
	if s.req.Explain {
		hit.Explain = s.found.Explain(c)
	}
	if !s.brief && !s.read(w, h, hit) {
		return nil, nil
	}
	if s.req.Answers && !s.brief && hit.Kind == session.KindPrompt {
		hit.Answered = s.answered(w, h)
	}
	if s.req.Before+s.req.After > 0 {
		around, err := s.neighbours(w, h, s.req.Before, s.req.After)
		if err != nil {
			return nil, err
		}
		hit.Before, hit.After = around[0], around[1]
	}
	s.names.Know(h.Outline)
	s.names.NameAll(hit, "")
	if s.req.Redact {
		hit.SessionName, hit.Label = redact.Text(hit.SessionName), redact.Text(hit.Label)
	}
	return hit, nil
}

func (s *responder) lacks(h *rank.Hit) (l Lacks) {
	for _, e := range h.Missing {
		text := e.Text()
		l.Missing = append(l.Missing, text)
		if h.HasParts(e) {
			l.Parts = append(l.Parts, text)
		}
		switch {
		case !h.HasLoosely(e):
		case h.Tier == words.TierName:
			l.Named = append(l.Named, text)
		default:
			l.Similar = append(l.Similar, text)
		}
		if s.found.SaysLittle(e) {
			l.MissingCommon = append(l.MissingCommon, text)
		}
		if h.Elsewhere(e) {
			l.Elsewhere = append(l.Elsewhere, text)
		}
	}
	l.MissingRarest = s.found.LacksRarest(h)
	return l
}

// read fills in what the entry of a hit says, and reports whether it still can be read.
func (s *responder) read(w *rank.Worker, h *rank.Hit, hit *Hit) bool {
	return s.found.Read(w, h, func(e *session.Entry, part *session.Part, spans []match.Span, exact uint64) {
		hit.Kind, hit.Role, hit.Origin = part.Kind, e.Role, e.OriginOf(part)
		if part.Kind == session.KindLabel {
			hit.TargetID = strings.Clone(e.TargetID)
		}
		for i := range e.Images {
			hit.Images = append(hit.Images, entry.ImageRowOf(&e.Images[i]))
		}
		hit.Fragment = match.NewFragment(s.req.shown(part.Text, spans))
		if h.Tier == words.TierExact && s.found.InOtherSpelling(h, spans, exact) {
			hit.Tier = TierParts
		}
	})
}

// Describe returns what a summary says about a session.
func Describe(s *session.Summary, how ResumeFunc) SessionHit {
	return SessionHit{Type: "session", Resume: resume(s, how), SessionFacts: SessionFacts{
		SessionPath: s.Path, SessionID: s.ID, Name: s.Name, Agent: session.ShortAgent(s.Agent), Kept: s.Kept, Host: session.HostOf(s.Path), CWD: s.CWD,
		Created: session.Time{Time: s.Created()}, Modified: session.Time{Time: s.Modified()}, Undated: s.IsUndated(),
		Messages: s.Messages, FirstPrompt: s.FirstPrompt, Title: s.Title(),
		Labels: s.LabelNames, Models: s.Models, ParentSession: s.ParentSession, Subagent: s.Relation == session.Spawned, Spent: new(price.Listed).Spending(s),
	}}
}

func resume(s *session.Summary, how ResumeFunc) *Resume {
	if how == nil {
		return nil
	}
	dir, argv := how(s)
	if len(argv) == 0 {
		return nil
	}
	return &Resume{dir, argv}
}

func StateOf(r *index.Reader) IndexState {
	return IndexState{Generation: r.Generation(), Files: r.Table().Len(), SkippedLines: r.Table().Skipped, Several: len(r.Table().Agents()) > 1}
}

// Neighbour is an entry before or after a hit, on the same branch.
type Neighbour struct {
	session.EntryName
	Kind      session.Kind `json:"kind"`
	Role      string       `json:"role,omitempty"`
	Tool      string       `json:"tool,omitempty"`
	Timestamp session.Time `json:"timestamp,omitzero"`
	Line      int          `json:"line"`
	Text      string       `json:"text"` // the beginning, on one line
}

// neighbours returns up to the given numbers of entries before and after a hit, on
// its branch. Steps of the machine, and entries without conversation text, do not count.
func (s *responder) neighbours(w *rank.Worker, h *rank.Hit, before, after int) (list [2][]Neighbour, err error) {
	rec, path, at, err := s.found.Path(h)
	if err != nil || at < 0 {
		return list, err
	}
	for side, step := range []int{-1, 1} {
		most := []int{before, after}[side]
		for i := at + step; i >= 0 && i < len(path) && len(list[side]) < most; i += step {
			if err := s.neighbour(&list[side], w, rec, path[i]); err != nil {
				return list, err
			}
		}
	}
	slices.Reverse(list[0])
	return list, nil
}

// tellingKinds orders kinds by how well a part of that kind represents its entry,
// best first.
var tellingKinds = []session.Kind{session.KindReply, session.KindPrompt, session.KindCall, session.KindError, session.KindThinking}

func (s *responder) neighbour(list *[]Neighbour, w *rank.Worker, rec *session.Record, number int) error {
	node := &rec.Nodes[number]
	if node.Step != session.Talk {
		return nil
	}
	if over, err := s.over(); over || err != nil {
		return err
	}
	_ = w.Read(entry.RefOf(node, rec.Contexts.At(number)), entry.Identity{ID: node.ID, Parts: 1}, func(e *session.Entry) {
		var best *session.Part
		rank := len(tellingKinds) + 1
		for i := range e.Parts {
			p := &e.Parts[i]
			if len(p.Text) == 0 {
				continue // an image
			}
			r := slices.Index(tellingKinds, p.Kind)
			if r < 0 {
				r = len(tellingKinds)
			}
			if r < rank && (scope.Conversations.Holds(p.Kind) || s.req.Scope == scope.All) {
				best, rank = p, r
			}
		}
		if best == nil {
			return
		}
		*list = append(*list, Neighbour{
			EntryName: session.EntryName{EntryID: node.ID}, Kind: best.Kind, Role: e.Role, Tool: best.Tool, Timestamp: session.Time{Time: rec.TimeOf(node)},
			Line: node.Line, Text: match.NewFragment(s.req.shown(best.Text, nil)).Text,
		})
	})
	return nil // without a neighbour, if the entry has no parts or can no longer be read
}

// With Request.Redact, answers mask what looks like a secret. Secrets are recognized in
// the whole text, before a fragment is cut from it: a piece of a key no longer looks
// like one. Searching itself does not depend on it.

// shown returns the text from which a fragment is cut, the matches that the fragment
// shows, and all matches in that text.
func (r *Request) shown(text []byte, matches []match.Span) (masked []byte, chosen, all []match.Span) {
	chosen = match.Choose(matches, match.FragmentBytes)
	if !r.Redact {
		return text, chosen, matches
	}
	var spans []redact.Span
	around := func(from, to int) {
		spans = append(spans, redact.Around(text, max(0, from-match.ContextBytes), min(len(text), to+match.ContextBytes))...)
	}
	for _, m := range chosen {
		around(m.Start, m.End)
	}
	if len(chosen) == 0 {
		around(0, 0)
	}
	if len(spans) == 0 {
		return text, chosen, matches
	}
	lists.SortStable(spans, func(a, b redact.Span) int { return a.Start - b.Start })
	secrets := spans[:1]
	for _, s := range spans[1:] {
		if last := &secrets[len(secrets)-1]; s.Start < last.End { // found around two matches
			last.End = max(last.End, s.End)
		} else {
			secrets = append(secrets, s)
		}
	}
	whole, move := redact.Apply(string(text), secrets)
	moved := func(m match.Span) match.Span {
		m.Start, m.End = move(m.Start, m.End)
		return m
	}
	return []byte(whole), lists.Map(chosen, moved), lists.Map(matches, moved)
}

// Masked returns a summary with the secrets in all of its strings masked.
func Masked(s session.Summary) session.Summary {
	facts := SessionHit{SessionFacts: SessionFacts{Name: s.Name, FirstPrompt: s.FirstPrompt, Title: s.Subject}}
	facts.Redact()
	s.Name, s.FirstPrompt, s.Subject = facts.Name, facts.FirstPrompt, facts.Title
	redact.Strings(&s)
	return s
}

func (s *SessionHit) Redact() {
	s.Name = redact.Text(s.Name)
	for _, text := range []*string{&s.FirstPrompt, &s.Title} {
		if len(*text) > session.MaxFirstPrompt-utf8.UTFMax { // it may be cut
			*text = redact.Beginning(*text)
		} else {
			*text = redact.Text(*text)
		}
	}
	for i, l := range s.Labels {
		if masked := redact.Text(l); masked != l {
			s.Labels = append([]string{}, s.Labels...) // they are the index's
			s.Labels[i] = masked
		}
	}
}

// text returns a short text as it may be shown.
func (r *Request) text(s string) string {
	if !r.Redact {
		return s
	}
	return redact.Text(s)
}

// Answered is the last reply of the turn that a hit in a prompt begins.
type Answered struct {
	session.EntryName
	Timestamp session.Time   `json:"timestamp,omitzero"`
	Line      int            `json:"line"`
	Offset    int64          `json:"offset"`
	Fragment  match.Fragment `json:"fragment"` // around the words of the query, else its beginning
}

// answered returns what answered a hit in a prompt; nil if nothing did.
func (s *responder) answered(w *rank.Worker, h *rank.Hit) (a *Answered) {
	s.found.Answer(w, h, func(e *record.Entry, p *session.Part, spans []match.Span) {
		text, chosen, spans := s.req.shown(p.Text, spans)
		if len(chosen) == 0 {
			text = beginning(text)
		}
		a = &Answered{EntryName: session.EntryName{EntryID: e.ID}, Timestamp: session.Time{Time: h.Outline.Record.TimeOf(&e.Node)}, Line: e.Line, Offset: e.Offset, Fragment: match.NewFragment(text, chosen, spans)}
	})
	return a
}

// leastWords is from how many words on a sentence is taken to say something: "Perfect!" and "You're
// right." do not.
const leastWords = 4

// beginning returns a reply from the first sentence on that says something.
func beginning(text []byte) []byte {
	for rest := text; ; {
		rest = bytes.TrimLeft(rest, " \t\r\n#*_")
		end := bytes.IndexAny(rest, ".!?\n")
		switch {
		case len(rest) == 0:
			return text
		case end < 0 || end+1 == len(rest):
			return rest
		}
		if rest[end] == '\n' || rest[end+1] == ' ' || rest[end+1] == '\n' {
			if len(bytes.Fields(rest[:end])) >= leastWords {
				return rest
			}
		} else {
			return rest // 1.5 or a.go: no end of a sentence
		}
		rest = rest[end+1:]
	}
}
