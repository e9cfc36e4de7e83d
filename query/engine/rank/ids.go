package rank

import (
	"math/bits"
	"strings"
	"sync"
	"unicode"

	"pigrep/index/segment"
	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/query/engine/syntax"
	"pigrep/query/engine/words"
)

// minID is the shortest word that is looked up as a part of session and entry ids, MaxIDs
// how many of each it may match, and idScore the score of such a hit, which is more than
// any word can reach.
const (
	minID   = 6
	MaxIDs  = 20
	idScore = 10_000
)

// An idPrefix is a word that may be a prefix of an id or, if it looks like a part of one,
// the end of a session's.
type idPrefix struct {
	text  string
	bit   uint64
	looks bool

	mu   sync.Mutex
	seen map[string]bool // matching ids of entries; more than MaxIDs when there are too many
}

// names reports whether the word names the session with this id.
func (p *idPrefix) names(id string) bool {
	if p.looks {
		return near.IsID(id, p.text)
	}
	return near.HasPrefixFold(id, p.text)
}

type idPrefixes []*idPrefix

// newIDs returns the words that may be ids. Among other words only what looks like an id is
// one: ids that people made up begin and end with words, and random ones may begin with a
// word of the letters a to f or with a number.
func newIDs(p *words.ResolvedQuery) (list idPrefixes) {
	alone := bits.OnesCount64(p.Scored()) == 1
	for i, w := range p.Words {
		looks := looksLikeID(w.Text)
		if w.Match == syntax.Literal && w.Scored && len(w.Text) >= minID && IsID(w.Text) && (looks || alone) {
			list = append(list, &idPrefix{text: w.Text, bit: 1 << i, looks: looks, seen: map[string]bool{}})
		}
	}
	return list
}

// findIn looks for ids of entries in a segment.
func (list idPrefixes) findIn(seg *segmentState) {
	for _, p := range list {
		var ids []string
		seg.Terms(segment.FieldEntry, []byte(strings.ToLower(p.text)), func(term []byte, _ int) bool {
			ids = append(ids, string(term))
			return len(ids) <= MaxIDs
		})
		p.mu.Lock()
		for _, id := range ids {
			p.seen[id] = true
		}
		p.mu.Unlock()
	}
}

// hasIDs reports whether any word is a prefix of the id of an entry, or names a session.
func (s *search) hasIDs(list idPrefixes) bool {
	for _, p := range list {
		if len(p.seen) > 0 {
			return true
		}
		for at := range s.files {
			if p.names(s.files[at].id) {
				return true
			}
		}
	}
	return false
}

// findIDs finds the sessions that a word names, and the entries whose ids begin with it. A
// session is represented by its first prompt that passes the filters; none of its documents
// lacks the word.
func (s *search) findIDs(list idPrefixes) {
	for _, p := range list {
		found := 0
		for at := range s.files {
			f := &s.files[at]
			if found == MaxIDs || !p.names(f.id) {
				continue
			}
			found++
			f.ids |= p.bit
			s.addSessionHit(f, p.bit)
		}
		s.addEntryHits(p)
	}
}

// IsID reports whether a text may be a prefix of an id.
func IsID(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || '9' < r) && (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r)
	})
}

// looksLikeID reports whether a text looks like a part of an id rather than like a word or
// a number: it has letters and digits, or at least as many hexadecimal digits as a short id.
func looksLikeID(s string) bool {
	letters := strings.ContainsFunc(s, unicode.IsLetter)
	digits := strings.ContainsAny(s, "0123456789")
	return letters && digits || len(s) >= near.ShortID && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

func (seg *segmentState) addIDHit(doc uint32, bit uint64) {
	if seg.idHits == nil {
		seg.idHits = map[uint32]uint64{}
	}
	seg.idHits[doc] |= bit
}

func (s *search) addSessionHit(f *file, bit uint64) {
	var best struct {
		seg    *segmentState
		doc    uint32
		id     segment.ID
		prompt bool
	}
	for _, seg := range s.segs {
		docs := seg.Bitmap(segment.FieldFile, []byte(segment.FileTerm(f.number)))
		prompts := seg.Bitmap(segment.FieldKind, []byte(session.KindPrompt))
		for it := docs.Iterator(); it.HasNext(); {
			doc := it.Next()
			if !seg.allowed.Has(doc) {
				continue
			}
			id := seg.ID(doc)
			prompt := prompts.Contains(doc)
			if best.seg == nil || prompt && !best.prompt ||
				prompt == best.prompt && (id.Offset < best.id.Offset || id.Offset == best.id.Offset && id.Part < best.id.Part) {
				best.seg, best.doc, best.id, best.prompt = seg, doc, id, prompt
			}
		}
	}
	if best.seg != nil {
		best.seg.addIDHit(best.doc, bit)
	}
}

func (s *search) addEntryHits(p *idPrefix) {
	if len(p.seen) == 0 || len(p.seen) > MaxIDs { // too many: the word is no id
		return
	}
	s.eachSegment(func(seg *segmentState) {
		for id := range p.seen {
			for it := seg.Bitmap(segment.FieldEntry, []byte(id)).Iterator(); it.HasNext(); {
				if doc := it.Next(); seg.allowed.Has(doc) {
					seg.addIDHit(doc, p.bit)
				}
			}
		}
	})
}
