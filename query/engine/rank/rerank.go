package rank

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"strings"

	"pigrep/index/segment"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/match"
	"pigrep/query/engine/words"
)

// The second stage. BM25 counts words; it ignores whether they are close together, and
// who said them. The best candidates of the first stage are read, within a budget, and
// their scores multiplied by
//
//	kind       who said it: text that a person typed counts most, the output of tools least
//	closeness  how much of the query is close together somewhere, and in its order
//	exactness  how much of the query is there as typed
//	session    how much of the query is in the title and the first prompt; how many of the missing words are elsewhere in the session
//	turn       how many of the missing words occur shortly before the hit, and what its question or answer has: a reply seldom repeats the question
//	asked      which hits the query asks for: the latest, the last word of the best session, or what the person said
//
// Every factor has a minimum. All other candidates get the product of the minima, so
// that none of them overtakes a candidate that was read. TestRanking has the minimum
// results that these gains and weights must reach on queries with known best hits.
const (
	rerankCandidates = 120       // candidates
	rerankBytes      = 512 << 10 // of entries that are read
	rerankEntry      = 32 << 10  // longer entries are not read: dumps of that size contain any words
	rerankBatch      = 16        // entries read side by side, between two checks of the budget

	closenessGain = 1
	orderGain     = 0.3
	exactGain     = 0.1
	titleGain     = 0.12
	elsewhereGain = 0.15
	turnGain      = 0.3
	personGain    = 0.4
	latestGain    = 0.4 // among all hits
	latestInGain  = 0.7 // among those of a session

	nearBytes   = 400 // words in longer stretches are not close together
	closeBytes  = 40  // between words, at which the gain of closeness is half
	besideBytes = 3   // between adjacent words: a space, a quote, a slash

	turnBytes   = 16 << 10 // of the session file, before a hit
	latestShare = 0.6      // of the query that a hit must have, relative to the best, to be one of several in order

	answerShare  = 0.8 // of the score of a prompt that the end of its turn has at least
	askedShare   = 0.1 // of the score of a prompt that is added to that of the end of its turn
	answeredGain = 0.8 // of a prompt, for the words that only the end of its turn has
	lastReplies  = 3   // of a turn, in which its end is searched: the last ones may say nothing

	lastWords = 5 // of the best session, the last of which comes first

	kindLeast = 0.65
)

// KindWeights are the factors of the kinds; others have kindLeast.
var KindWeights = map[session.Kind]float32{
	session.KindReply: 1.2, session.KindPrompt: 1.2, session.KindTitle: 1.2, session.KindLabel: 1.2, session.KindSummary: 1.2,
	session.KindError: 1.05, session.KindNote: 1, session.KindShell: 1, session.KindCall: 0.85,
	session.KindThinking: 0.8, session.KindResult: 0.75,
}

// factors are what the second stage multiplies a score by.
type factors struct{ kind, closeness, exactness, session, turn, asked float32 }

func (f *factors) product() float32 {
	return f.kind * f.closeness * f.exactness * f.session * f.turn * f.asked
}

var leastFactors = factors{kindLeast, 1, 1, 1, 1, 1}

// reranker runs the second stage.
type reranker struct {
	*snapshot
	ctx     context.Context
	plan    *words.ResolvedQuery
	readers *readers
	agreed  *Agreed // as of Options
	share   *Share  // nil: nobody asks for it
}

// rerank multiplies the scores of all candidates by the factors of the second stage,
// and returns those of the best candidates, which it was given in top.
func (s *reranker) rerank(top []*Candidate, found candidates) (map[*Candidate]factors, error) {
	least := leastFactors.product()
	for c := range found.all() {
		c.score *= least
	}
	kinds, err := s.kindsOf(top)
	if err != nil {
		return nil, err
	}
	u := newUnits(s.plan)
	all := make([]factors, len(top))
	for i, c := range top {
		weight, ok := KindWeights[kinds[i]]
		if !ok {
			weight = kindLeast
		}
		all[i] = factors{kind: weight, closeness: 1, exactness: 1, session: 1, turn: 1, asked: 1}
		if c.tier == words.TierExact {
			all[i].exactness = 1 + exactGain
		}
	}
	if len(u.pairs) > 0 { // a single word has nothing to be close to
		if err := s.measure(u, top, all); err != nil {
			return nil, err
		}
		s.weighPlaces(kinds, top, all)
	}
	s.weighSessions(top, all)
	byCandidate := make(map[*Candidate]factors, len(top))
	for i, c := range top {
		c.score *= all[i].product() / least
		byCandidate[c] = all[i]
	}
	if err := s.answers(kinds, top, byCandidate); err != nil {
		return nil, err
	}
	if s.plan.WantsLatest && len(top) > 0 && (s.agreed == nil || !s.agreed.NotLast) {
		s.lastWord(kinds, top, byCandidate)
	}
	return byCandidate, nil
}

// lastWord makes the last of the best prompts and replies of the best session the first of all
// hits: who asks how something is now wants the word that replaced the others.
func (s *reranker) lastWord(kinds []session.Kind, top []*Candidate, all map[*Candidate]factors) {
	byScore := func(a, b *Candidate) int { return cmp.Compare(a.score, b.score) }
	best := slices.MaxFunc(top, byScore)
	if s.share != nil {
		s.share.Best = best.score
	}
	var words []*Candidate
	for i, c := range top {
		if isSaid := kinds[i] == session.KindPrompt || kinds[i] == session.KindReply; isSaid && c.score > 0 && s.head(c.file) == s.head(best.file) {
			words = append(words, c)
		}
	}
	slices.SortStableFunc(words, func(a, b *Candidate) int { return byScore(b, a) })
	words = words[:min(lastWords, len(words))]
	if len(words) == 0 {
		return
	}
	last := slices.MaxFunc(words, func(a, b *Candidate) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset)) })
	if last == best {
		return
	}
	if s.share != nil {
		s.share.Last = true
	}
	gain := best.score / last.score * 1.01
	f := all[last]
	f.asked *= gain
	all[last] = f
	last.score *= gain
}

func (s *snapshot) kindsOf(list []*Candidate) ([]session.Kind, error) {
	kinds := make([]session.Kind, len(list))
	all := func(*Candidate) bool { return true }
	return kinds, s.bySegment(list, all, func(seg *segmentState, cs []indexed) error {
		docs := make([]uint32, len(cs))
		for k, c := range cs {
			docs[k] = c.doc
		}
		return seg.KeywordsOf(segment.FieldKind, docs, func(k int, kind []byte) {
			kinds[cs[k].index] = session.Kind(kind)
		})
	})
}

// units are the pieces of a query that can be close together: words, and the parts of
// compounds. Each has a bit.
type units struct {
	count   int
	weights [64]float64  // of each unit; their sum is 1
	words   []uint64     // the units of each word
	pairs   []neighbours // words that follow each other in the query
	sum     float64      // of the weights of pairs
}

type neighbours struct{ first, second int }

func newUnits(plan *words.ResolvedQuery) *units {
	u := &units{words: make([]uint64, len(plan.Words))}
	last := -1
	for i, p := range plan.Words {
		if !p.Scored || p.Weight == 0 {
			continue
		}
		parts := max(1, len(p.Parts))
		for k := range parts {
			if u.count == len(u.weights) {
				break
			}
			share := p.Weight / plan.Weight / float64(parts)
			if len(p.Parts) > 0 && p.PartSum > 0 {
				share = p.Weight / plan.Weight * p.PartIDF[k] / p.PartSum
			}
			u.weights[u.count] = share
			u.words[i] |= 1 << u.count
			u.count++
		}
		if last >= 0 {
			u.pairs = append(u.pairs, neighbours{last, i})
			u.sum += min(plan.Words[last].Weight, p.Weight)
		}
		last = i
	}
	return u
}

func (u *units) unitsOf(m *match.Span) uint64 {
	bits := u.words[m.Word]
	if m.Part < 0 || bits == 0 {
		return bits
	}
	// The units of a word have adjacent bits, in the order of its parts.
	return bits & (bits & -bits << m.Part)
}

func (u *units) weightOf(set uint64) (sum float64) {
	for ; set != 0; set &= set - 1 {
		sum += u.weights[bits.TrailingZeros64(set)]
	}
	return sum
}

// measure reads the candidates in the order of their scores and sets the factors
// that depend on the text.
func (s *reranker) measure(u *units, top []*Candidate, all []factors) error {
	budget := rerankBytes
	unread := s.unread(u)
	for i := range top {
		all[i].closeness, all[i].exactness = unread, 1
	}
	lengths, err := s.resolveAll(top)
	if err != nil {
		return err
	}
	order := make([]int, len(top))
	for i := range order {
		order[i] = i
	}
	if s.agreed != nil && s.agreed.Second {
		order, budget = order[:min(max(s.agreed.Read, 0), len(order))], math.MaxInt
	}
	for batch := range slices.Chunk(order, rerankBatch) {
		if budget <= 0 {
			break
		}
		slices.SortFunc(batch, func(x, y int) int { // a compressed file is read from its beginning
			a, b := top[x], top[y]
			return cmp.Or(cmp.Compare(s.source(a), s.source(b)), cmp.Compare(a.offset, b.offset))
		})
		var sizes [rerankBatch]int
		err := s.readers.each(s.ctx, len(batch), func(w *Worker, k int) {
			i := batch[k]
			c := top[i]
			w.use(s.snapshot, s.source(c))
			w.Limit = rerankEntry
			err := w.entry(c, lengths[i], func(e *session.Entry) {
				matches, exact := w.Finder.Find(e.Parts[c.part].Text)
				near, ordered := u.closeness(s.plan.Words, matches)
				all[i].closeness = float32(1 + closenessGain*near + orderGain*ordered)
				all[i].exactness = float32(1 + exactGain*s.weightOf(exact))
			})
			_ = err // the entry is read again if the hit is shown
			sizes[k] = w.Size()
		})
		if err != nil {
			return err
		}
		for k, n := range sizes[:len(batch)] {
			budget -= n
			if s.share != nil {
				s.share.Top[batch[k]].Size = n
				s.share.Read++
			}
		}
		s.trim()
	}
	return nil
}

// unread is the closeness of a text that is not read: that of a text with one word.
func (s *reranker) unread(u *units) float32 {
	return float32(1 + closenessGain*slices.Max(u.weights[:u.count]))
}

// weightOf returns the weight of some words, as a share of the weight of the query.
func (s *reranker) weightOf(mask uint64) float64 {
	sum := 0.0
	for _, p := range s.plan.Words {
		if mask&p.Bit != 0 {
			sum += p.Weight
		}
	}
	return math.Min(1, sum/s.plan.Weight)
}

// closeness returns how much of the query the best stretch of the text contains, less
// the further its words are apart; and how many pairs of words, by weight, are adjacent
// in the order of the query.
func (u *units) closeness(list []*words.ResolvedWord, matches []match.Span) (near, ordered float64) {
	for i := range matches {
		set, gap := uint64(0), 0
		for j := i; j < len(matches) && matches[j].End-matches[i].Start <= nearBytes; j++ {
			m := &matches[j]
			own := u.unitsOf(m)
			if j > i {
				gap += max(0, m.Start-matches[j-1].End)
			}
			if own&^set == 0 {
				if j > i {
					gap += m.End - m.Start
				}
				continue
			}
			set |= own
			apart := float64(max(0, gap-2*(bits.OnesCount64(set)-1)))
			near = max(near, u.weightOf(set)*closeBytes/(closeBytes+apart))
		}
	}
	if u.sum == 0 {
		return near, 0
	}
	for _, p := range u.pairs {
		if adjacent(matches, p) {
			ordered += min(list[p.first].Weight, list[p.second].Weight) / u.sum
		}
	}
	return near, ordered
}

// adjacent reports whether the second word of a pair follows right after the first.
func adjacent(matches []match.Span, p neighbours) bool {
	for i := range matches {
		if matches[i].Word != p.first {
			continue
		}
		for j := i + 1; j < len(matches) && matches[j].Start <= matches[i].End+besideBytes; j++ {
			if matches[j].Word == p.second && matches[j].Start >= matches[i].End {
				return true
			}
		}
	}
	return false
}

// weighSessions sets the factors that depend on the rest of the session.
func (s *reranker) weighSessions(top []*Candidate, all []factors) {
	w := s.readers.Worker()
	defer s.readers.Done(w)
	titles := make(map[int32]float64)
	for i, c := range top {
		f := &s.files[s.head(c.file)]
		title, ok := titles[c.file]
		if !ok {
			found, sum := uint64(0), s.summary(c.file)
			for _, text := range []string{sum.Name, sum.FirstPrompt, strings.Join(sum.LabelNames, "\n")} {
				matches, _ := w.Finder.Find([]byte(text))
				for _, m := range matches {
					if m.Part < 0 {
						found |= 1 << m.Word
					}
				}
			}
			title = s.weightOf(found)
			titles[c.file] = title
		}
		all[i].session = float32(1 + titleGain*title + elsewhereGain*s.weightOf(f.mask&^c.mask))
	}
}

// weighPlaces sets the factors that depend on where in its session a hit is. The
// candidates have been resolved.
func (s *reranker) weighPlaces(kinds []session.Kind, top []*Candidate, all []factors) {
	ofFile := make(map[int32][]int) // indexes of candidates
	for i, c := range top {
		ofFile[c.file] = append(ofFile[c.file], i)
	}
	for _, list := range ofFile {
		for _, i := range list {
			before := uint64(0)
			for _, k := range list {
				if d := top[i].offset - top[k].offset; 0 < d && d <= turnBytes {
					before |= top[k].mask
				}
			}
			all[i].turn = float32(1 + turnGain*s.weightOf(before&^top[i].mask))
		}
	}
	if s.plan.WantsUser {
		for i, kind := range kinds {
			if kind == session.KindPrompt {
				all[i].asked = 1 + personGain
			}
		}
	}
	if s.plan.WantsLatest {
		if s.agreed != nil && s.agreed.Second {
			for i, n := range s.agreed.Latest[:min(len(s.agreed.Latest), len(all))] {
				if 0 < n && n < s.agreed.LatestOf {
					all[i].asked *= float32(1 + latestGain*float64(n)/float64(s.agreed.LatestOf-1))
				}
			}
		} else {
			everything := make([]int, len(top))
			for i := range everything {
				everything[i] = i
			}
			s.preferLatest(everything, latestGain, top, all)
		}
		for _, list := range ofFile {
			s.preferLatest(list, latestInGain, top, all)
		}
	}
}

// preferLatest multiplies the scores of those listed candidates that have about as much of
// the query as the best of them. The factor grows from 1 for the first in time to 1+gain
// for the last. Sessions are ordered by their newest entries.
func (s *reranker) preferLatest(list []int, gain float64, top []*Candidate, all []factors) {
	most := 0.0
	for _, i := range list {
		most = max(most, s.weightOf(top[i].mask))
	}
	list = slices.DeleteFunc(slices.Clone(list), func(i int) bool { return s.weightOf(top[i].mask) < latestShare*most })
	slices.SortFunc(list, func(i, k int) int {
		a, b := top[i], top[k]
		return cmp.Or(s.files[a.file].newest.Compare(s.files[b.file].newest), cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset), cmp.Compare(a.part, b.part))
	})
	for n, i := range list[min(1, len(list)):] {
		all[i].asked *= float32(1 + gain*float64(n+1)/float64(len(list)-1))
	}
}

// Explanation is the factors of a score, whose product it is, but for rounding.
type Explanation struct {
	Words     []WordWeight `json:"words,omitempty"`
	Text      float64      `json:"text"`      // the sum over the words
	Coverage  float64      `json:"coverage"`  // how much of the query it has
	Recency   float64      `json:"recency"`   // the age of the session
	Kind      float64      `json:"kind"`      // who said it
	Closeness float64      `json:"closeness"` // how close together the words stand
	Exactness float64      `json:"exactness"` // how much is there as typed
	Session   float64      `json:"session"`   // what else the session has
	Turn      float64      `json:"turn"`      // what was said before it
	Asked     float64      `json:"asked"`     // whether the query asks for the latest, or for what the person said
	Looked    bool         `json:"looked"`    // false: not among the best candidates, so that the last six are at their minima
}

type WordWeight struct {
	Word   string  `json:"word"`
	Weight float64 `json:"worth"`            // its rarity (idf), less for a word that says little
	Slight bool    `json:"slight,omitempty"` // it says little beside the other words: a function word, or a cue such as "latest"
	Found  bool    `json:"found"`
}

func (r *Result) Explain(c *Candidate) *Explanation {
	s := r.s
	f, looked := s.factors[c]
	if !looked {
		f = leastFactors
		if s.factors == nil {
			f.kind = 1
		}
	}
	recent := s.files[c.file].recency
	e := &Explanation{
		Text: Rounded(float64(c.base)), Coverage: Rounded(float64(covered(s.plan, c.mask, c.partial, s.eval.evaluate(c.mask, c.partial)))), Recency: Rounded(float64(recent)),
		Kind: Rounded(float64(f.kind)), Closeness: Rounded(float64(f.closeness)), Exactness: Rounded(float64(f.exactness)),
		Session: Rounded(float64(f.session)), Turn: Rounded(float64(f.turn)), Asked: Rounded(float64(f.asked)), Looked: looked,
	}
	for _, p := range s.plan.Words {
		if p.Scored {
			e.Words = append(e.Words, WordWeight{p.Text, Rounded(p.Weight), p.Emphasis < 1, c.mask&p.Bit != 0})
		}
	}
	lists.SortStable(e.Words, func(a, b WordWeight) int { return cmp.Compare(b.Weight, a.Weight) })
	return e
}

// Rounded rounds a score to four digits: machines differ in the last bits.
func Rounded(score float64) float64 { return math.Round(score*1e4) / 1e4 }
