package rank

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/query/match"
	"pigrep/query/words"
)

// The second stage. BM25 knows how often words are in a document, not whether
// they stand together, nor who said it. The best candidates of the first stage
// are read again, as far as a budget goes, and their scores multiplied by
//
//	kind       who said it: what a person typed or named is worth most, the output of tools least
//	closeness  how much of the query stands close together somewhere, and in the order of the query
//	exactness  how much of the query is there as it was typed
//	session    how much of the query the title and the first prompt have, and of what is lacking the rest of the session
//
// Every factor has a floor, and all other candidates get the product of the
// floors, so that none of them rises above one that was looked at.
const (
	rerankMost  = 120       // candidates
	rerankBytes = 512 << 10 // of entries that are read
	rerankEntry = 32 << 10  // longer entries are not read: a dump of that size is about everything
	rerankBatch = 16        // entries between two looks at the budget

	closenessGain = 1.2
	orderGain     = 0.3
	exactGain     = 0.1
	titleGain     = 0.12
	elsewhereGain = 0.08

	nearBytes   = 400 // longer stretches are not close together
	closeBytes  = 40  // between words halves what their being close is worth
	besideBytes = 3   // between neighbours: a space, a quote, a slash

	kindLeast = 0.75
)

// kindWeights says what a hit of each kind is worth.
var kindWeights = map[session.Kind]float32{
	session.KindPrompt: 1.2, session.KindTitle: 1.2, session.KindLabel: 1.2, session.KindSummary: 1.15,
	session.KindReply: 1.05, session.KindError: 1.05, session.KindNote: 1, session.KindShell: 1, session.KindCall: 0.95,
	session.KindThinking: 0.9, session.KindResult: 0.85,
}

// factors are what the second stage multiplies a score by.
type factors struct{ kind, closeness, exactness, session float32 }

func (f *factors) product() float32 { return f.kind * f.closeness * f.exactness * f.session }

var leastFactors = factors{kindLeast, 1, 1, 1}

// rerank is the second stage.
func (s *search) rerank() error {
	if s.plan.Weight == 0 {
		return nil
	}
	var top []*Candidate
	for c := range s.found.all() {
		if !c.dropped && s.eval.of(c.mask, c.weak).hit {
			top = s.keep(top, c, rerankMost)
		}
	}
	least := leastFactors.product()
	for c := range s.found.all() {
		c.score *= least
	}
	kinds, err := s.kindsOf(top)
	if err != nil {
		return err
	}
	u := s.newUnits()
	all := make([]factors, len(top))
	for i, c := range top {
		weight, ok := kindWeights[kinds[i]]
		if !ok {
			weight = kindLeast
		}
		all[i] = factors{kind: weight, closeness: 1, exactness: 1, session: 1}
		if c.tier == words.TierExact {
			all[i].exactness = 1 + exactGain
		}
	}
	if len(u.pairs) > 0 { // of a single word there is nothing to stand close to
		if err := s.measure(u, top, all); err != nil {
			return err
		}
	}
	s.weighSessions(top, all)
	s.factors = make(map[*Candidate]factors, len(top))
	for i, c := range top {
		c.score *= all[i].product() / least
		s.factors[c] = all[i]
	}
	return nil
}

// kindsOf looks up the kinds of candidates.
func (s *snapshot) kindsOf(list []*Candidate) ([]session.Kind, error) {
	kinds := make([]session.Kind, len(list))
	all := func(*Candidate) bool { return true }
	return kinds, s.bySegment(list, all, func(seg *segment, cs []placed) error {
		docs := make([]uint32, len(cs))
		for k, c := range cs {
			docs[k] = c.doc
		}
		return seg.KeywordsOf(index.FieldKind, docs, func(k int, kind []byte) {
			kinds[cs[k].place] = session.Kind(kind)
		})
	})
}

// units are the pieces of a query that may stand close together: words, and the
// parts of compounds. Each has a bit.
type units struct {
	count int
	worth [64]float64  // of each; together 1
	plans []uint64     // the units of each plan
	pairs []neighbours // of plans that follow each other in the query
	sum   float64      // of the pairs' worth
}

type neighbours struct{ first, second int }

func (s *search) newUnits() *units {
	u := &units{plans: make([]uint64, len(s.plan.Words))}
	last := -1
	for i, p := range s.plan.Words {
		if !p.Scored || p.Weight == 0 {
			continue
		}
		parts := max(1, len(p.Parts))
		for k := range parts {
			if u.count == len(u.worth) {
				break
			}
			share := p.Weight / s.plan.Weight / float64(parts)
			if len(p.Parts) > 0 && p.PartSum > 0 {
				share = p.Weight / s.plan.Weight * p.PartIDF[k] / p.PartSum
			}
			u.worth[u.count] = share
			u.plans[i] |= 1 << u.count
			u.count++
		}
		if last >= 0 {
			u.pairs = append(u.pairs, neighbours{last, i})
			u.sum += min(s.plan.Words[last].Weight, p.Weight)
		}
		last = i
	}
	return u
}

// of returns the units that a match has.
func (u *units) of(m *match.Span) uint64 {
	bits := u.plans[m.Word]
	if m.Part < 0 || bits == 0 {
		return bits
	}
	// The units of a plan lie side by side, those of its parts in order.
	return bits & (bits & -bits << m.Part)
}

func (u *units) sumOf(set uint64) (sum float64) {
	for ; set != 0; set &= set - 1 {
		sum += u.worth[bits.TrailingZeros64(set)]
	}
	return sum
}

// measure reads the candidates in the order of their scores and sets the factors
// that depend on the text.
func (s *search) measure(u *units, top []*Candidate, all []factors) error {
	budget := rerankBytes
	unread := s.unread(u)
	for i := range top {
		all[i].closeness, all[i].exactness = unread, 1
	}
	lengths, err := s.resolveAll(top)
	if err != nil {
		return err
	}
	for start := 0; start < len(top) && budget > 0; start += rerankBatch {
		var sizes [rerankBatch]int
		err := s.readers.each(s.ctx, min(rerankBatch, len(top)-start), func(w *Worker, k int) {
			c := top[start+k]
			w.use(&s.files[c.file])
			w.Limit = rerankEntry
			err := w.entry(c, lengths[start+k], func(e *session.Entry) {
				matches, exact := w.Finder.Find(e.Parts[c.part].Text)
				near, ordered := u.closeness(s.plan.Words, matches)
				all[start+k].closeness = float32(1 + closenessGain*near + orderGain*ordered)
				all[start+k].exactness = float32(1 + exactGain*s.share(exact))
			})
			_ = err // the entry is read again if the hit is shown
			sizes[k] = w.Size()
		})
		if err != nil {
			return err
		}
		for _, n := range sizes {
			budget -= n
		}
		s.trim()
	}
	return nil
}

// unread is the closeness of a text that is not looked at: that of one which has
// nothing together.
func (s *search) unread(u *units) float32 {
	return float32(1 + closenessGain*slices.Max(u.worth[:u.count]))
}

// share returns how much of the query the words are worth.
func (s *search) share(mask uint64) float64 {
	sum := 0.0
	for _, p := range s.plan.Words {
		if mask&p.Bit != 0 {
			sum += p.Weight
		}
	}
	return math.Min(1, sum/s.plan.Weight)
}

// closeness returns how much of the query some stretch of the text has, less the
// further apart it stands; and how much of it is there with neighbours beside
// each other, in the order of the query.
func (u *units) closeness(list []*words.Planned, matches []match.Span) (near, ordered float64) {
	for i := range matches {
		set, gap := uint64(0), 0
		for j := i; j < len(matches) && matches[j].End-matches[i].Start <= nearBytes; j++ {
			m := &matches[j]
			own := u.of(m)
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
			near = max(near, u.sumOf(set)*closeBytes/(closeBytes+apart))
		}
	}
	if u.sum == 0 {
		return near, 0
	}
	for _, p := range u.pairs {
		if besides(matches, p) {
			ordered += min(list[p.first].Weight, list[p.second].Weight) / u.sum
		}
	}
	return near, ordered
}

// besides reports whether the second of a pair stands right behind the first.
func besides(matches []match.Span, p neighbours) bool {
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

// weighSessions sets the factors that come from the rest of the session.
func (s *search) weighSessions(top []*Candidate, all []factors) {
	w := s.readers.Worker()
	defer s.readers.Done(w)
	titles := make(map[int32]float64)
	for i, c := range top {
		f := &s.files[c.file]
		title, ok := titles[c.file]
		if !ok {
			found := uint64(0)
			for _, text := range []string{f.Name, f.FirstPrompt, strings.Join(f.LabelNames, "\n")} {
				matches, _ := w.Finder.Find([]byte(text))
				for _, m := range matches {
					if m.Part < 0 {
						found |= 1 << m.Word
					}
				}
			}
			title = s.share(found)
			titles[c.file] = title
		}
		all[i].session = float32(1 + titleGain*title + elsewhereGain*s.share(f.mask&^c.mask))
	}
}

// Explanation is the parts of a score: their product, but for rounding.
type Explanation struct {
	Words     []WordWorth `json:"words,omitempty"`
	Text      float64     `json:"text"`      // the sum over the words
	Coverage  float64     `json:"coverage"`  // how much of the query it has
	Recency   float64     `json:"recency"`   // the age of the session
	Kind      float64     `json:"kind"`      // who said it
	Closeness float64     `json:"closeness"` // how close together the words stand
	Exactness float64     `json:"exactness"` // how much is there as typed
	Session   float64     `json:"session"`   // what else the session has
	Looked    bool        `json:"looked"`    // false: below those that are looked at again, so the last four are at their least
}

// WordWorth says what a word of the query counts.
type WordWorth struct {
	Word  string  `json:"word"`
	Worth float64 `json:"worth"` // its rarity (idf)
	Found bool    `json:"found"`
}

// Explain says how a candidate came to its score.
func (s *search) Explain(c *Candidate) *Explanation {
	f, looked := s.factors[c]
	if !looked {
		f = leastFactors
		if s.factors == nil {
			f.kind = 1
		}
	}
	recent := s.files[c.file].recency
	e := &Explanation{
		Text: Rounded(float64(c.base)), Coverage: Rounded(float64(covered(s.plan, c.mask, c.weak))), Recency: Rounded(float64(recent)),
		Kind: Rounded(float64(f.kind)), Closeness: Rounded(float64(f.closeness)), Exactness: Rounded(float64(f.exactness)),
		Session: Rounded(float64(f.session)), Looked: looked,
	}
	for _, p := range s.plan.Words {
		if p.Scored {
			e.Words = append(e.Words, WordWorth{p.Text, Rounded(p.Weight), c.mask&p.Bit != 0})
		}
	}
	slices.SortStableFunc(e.Words, func(a, b WordWorth) int { return cmp.Compare(b.Worth, a.Worth) })
	return e
}

// Rounded keeps what differs between scores and not what differs between machines.
func Rounded(score float64) float64 { return math.Round(score*1e4) / 1e4 }
