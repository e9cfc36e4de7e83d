package rank

import (
	"cmp"
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

// A reranker is the second stage: the best candidates with what it found of each.
type reranker struct {
	*search
	top   []*Candidate
	kinds []session.Kind
	all   []factors
}

// rerank multiplies the scores of all candidates by the factors of the second stage, and keeps
// those of the best candidates.
func (s *search) rerank(top []*Candidate) error {
	least := leastFactors.product()
	for c := range s.found.all() {
		c.score *= least
	}
	kinds := s.kindsOf(top)
	r := &reranker{s, top, kinds, make([]factors, len(top))}
	for i, c := range top {
		weight, ok := KindWeights[kinds[i]]
		if !ok {
			weight = kindLeast
		}
		r.all[i] = factors{kind: weight, closeness: 1, exactness: 1, session: 1, turn: 1, asked: 1}
		if c.tier == words.TierExact {
			r.all[i].exactness = 1 + exactGain
		}
	}
	if hasPairs(s.plan) {
		if err := r.measure(newUnits(s.plan)); err != nil {
			return err
		}
		r.weighPlaces()
	}
	r.weighSessions()
	for i, c := range top {
		c.score *= r.all[i].product() / least
	}
	r.answers()
	if s.plan.WantsLatest && len(top) > 0 {
		r.lastWord()
	}
	s.factors = make(map[*Candidate]factors, len(top))
	for i, c := range top {
		s.factors[c] = r.all[i]
	}
	return nil
}

// lastWord makes the last of the best prompts and replies of the best session the first of all
// hits: who asks how something is now wants the word that replaced the others.
func (r *reranker) lastWord() {
	best := slices.MinFunc(r.top, r.compare)
	var words []int
	for i, c := range r.top {
		if isSaid := r.kinds[i] == session.KindPrompt || r.kinds[i] == session.KindReply; isSaid && c.score > 0 && r.head(c.file) == r.head(best.file) {
			words = append(words, i)
		}
	}
	slices.SortStableFunc(words, func(i, k int) int { return cmp.Compare(r.top[k].standing(), r.top[i].standing()) })
	words = words[:min(lastWords, len(words))]
	if len(words) == 0 {
		return
	}
	last := slices.MaxFunc(words, func(i, k int) int {
		return cmp.Or(cmp.Compare(r.top[i].file, r.top[k].file), cmp.Compare(r.top[i].offset, r.top[k].offset))
	})
	if r.last = r.top[last]; r.last == best {
		return
	}
	gain := best.score / r.top[last].score * 1.01
	r.all[last].asked *= gain
	r.top[last].score *= gain
	r.top[last].class = best.class
}

func (s *snapshot) kindsOf(list []*Candidate) []session.Kind {
	kinds := make([]session.Kind, len(list))
	s.bySegment(list, func(seg *segmentState, cs []indexed) {
		docs := lists.Map(cs, func(c indexed) uint32 { return c.doc })
		seg.KeywordsOf(segment.FieldKind, docs, func(k int, kind []byte) {
			kinds[cs[k].index] = session.Kind(kind)
		})
	})
	return kinds
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

// hasPairs reports whether several words weigh something: a single one has nothing to be close to.
func hasPairs(plan *words.ResolvedQuery) bool {
	n := 0
	for _, p := range plan.Words {
		if p.Scored && p.Weight > 0 {
			n++
		}
	}
	return n > 1
}

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
func (r *reranker) measure(u *units) error {
	budget := rerankBytes
	for i := range r.all { // a text that is not read is as close as one with one word
		r.all[i].closeness, r.all[i].exactness = float32(1+closenessGain*slices.Max(u.weights[:u.count])), 1
	}
	lengths := r.resolveAll(r.top)
	order := make([]int, len(r.top))
	for i := range order {
		order[i] = i
	}
	for batch := range slices.Chunk(order, rerankBatch) {
		if budget <= 0 {
			break
		}
		slices.SortFunc(batch, func(x, y int) int { // a compressed file is read from its beginning
			a, b := r.top[x], r.top[y]
			return cmp.Or(cmp.Compare(r.source(a), r.source(b)), cmp.Compare(a.offset, b.offset))
		})
		var sizes [rerankBatch]int
		err := r.readers.each(r.ctx, len(batch), func(w *Worker, k int) {
			i := batch[k]
			c := r.top[i]
			w.use(r.snapshot, r.source(c))
			w.Limit = rerankEntry
			err := w.entry(c, lengths[i], func(e *session.Entry) {
				matches, exact := w.Finder.Find(e.Parts[c.part].Text)
				near, ordered := u.closeness(r.plan.Words, matches)
				r.all[i].closeness = float32(1 + closenessGain*near + orderGain*ordered)
				r.all[i].exactness = float32(1 + exactGain*r.weightOf(exact))
			})
			_ = err // the entry is read again if the hit is shown
			sizes[k] = w.Size()
		})
		if err != nil {
			return err
		}
		for _, n := range sizes[:len(batch)] {
			budget -= n
		}
		r.trim()
	}
	return nil
}

// weightOf returns the weight of some words, as a share of the weight of the query.
func (s *search) weightOf(mask uint64) float64 {
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
func (r *reranker) weighSessions() {
	w := r.readers.Worker()
	defer r.readers.Done(w)
	titles := make(map[int32]float64)
	for i, c := range r.top {
		title, ok := titles[c.file]
		if !ok {
			found, sum := uint64(0), r.summary(c.file)
			for _, text := range []string{sum.Name, sum.FirstPrompt, strings.Join(sum.LabelNames, "\n")} {
				matches, _ := w.Finder.Find([]byte(text))
				for _, m := range matches {
					if m.Part < 0 {
						found |= 1 << m.Word
					}
				}
			}
			title = r.weightOf(found)
			titles[c.file] = title
		}
		r.all[i].session = float32(1 + titleGain*title + elsewhereGain*r.weightOf(r.files[r.head(c.file)].mask&^c.mask))
	}
}

// weighPlaces sets the factors that depend on where in its session a hit is. The
// candidates have been resolved.
func (r *reranker) weighPlaces() {
	everything := make([]int, len(r.top))
	ofFile := make(map[int32][]int) // indexes of candidates
	for i, c := range r.top {
		everything[i] = i
		ofFile[c.file] = append(ofFile[c.file], i)
	}
	for _, list := range ofFile {
		for _, i := range list {
			before := uint64(0)
			for _, k := range list {
				if d := r.top[i].offset - r.top[k].offset; 0 < d && d <= turnBytes {
					before |= r.top[k].mask
				}
			}
			r.all[i].turn = float32(1 + turnGain*r.weightOf(before&^r.top[i].mask))
		}
	}
	if r.plan.WantsUser {
		for i, kind := range r.kinds {
			if kind == session.KindPrompt {
				r.all[i].asked = 1 + personGain
			}
		}
	}
	if !r.plan.WantsLatest {
		return
	}
	r.preferLatest(everything, latestGain)
	for _, list := range ofFile {
		r.preferLatest(list, latestInGain)
	}
}

// preferLatest multiplies the scores of those listed candidates that have about as much of
// the query as the best of them. The factor grows from 1 for the first in time to 1+gain
// for the last. Sessions are ordered by their newest entries.
func (r *reranker) preferLatest(list []int, gain float64) {
	most := 0.0
	for _, i := range list {
		most = max(most, r.weightOf(r.top[i].mask))
	}
	list = slices.DeleteFunc(slices.Clone(list), func(i int) bool { return r.weightOf(r.top[i].mask) < latestShare*most })
	slices.SortFunc(list, func(i, k int) int {
		a, b := r.top[i], r.top[k]
		return cmp.Or(r.files[a.file].newest.Compare(r.files[b.file].newest), cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset), cmp.Compare(a.part, b.part))
	})
	for n, i := range list[min(1, len(list)):] {
		r.all[i].asked *= float32(1 + gain*float64(n+1)/float64(len(list)-1))
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
		Text: Rounded(float64(c.base)), Coverage: Rounded(float64(covered(s.plan, c.mask, c.partial, s.verdictOf(c)))), Recency: Rounded(float64(recent)),
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
