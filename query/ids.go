package query

import (
	"strings"

	"pigrep/index"
	"pigrep/internal/session"
)

// minID is the length from which a bare word is looked up as the beginning of a
// session or entry id, maxIDs how many of each it may begin, and anchorScore
// what such a hit is worth: more than a word can be.
const (
	minID       = 6
	maxIDs      = 20
	anchorScore = 40
)

// findIDs looks the words up as beginnings of ids. A session is found by an
// anchor, its first prompt that the filters let through; its other documents do
// not lack the word.
func (s *searcher) findIDs() error {
	for i, w := range s.words {
		if w.match != Literal || !w.scored || len(w.text) < minID || !isID(w.text) {
			continue
		}
		bit := uint64(1) << i
		found := 0
		for at := range s.files {
			f := &s.files[at]
			if found == maxIDs || !hasPrefixFold(f.ID, w.text) {
				continue
			}
			found++
			f.ids |= bit
			if err := s.anchorSession(f, bit); err != nil {
				return err
			}
		}
		if err := s.anchorEntries(strings.ToLower(w.text), bit); err != nil {
			return err
		}
	}
	return nil
}

func isID(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || '9' < r) && (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r)
	})
}

func (seg *segment) anchor(doc uint32, bit uint64) {
	if seg.anchors == nil {
		seg.anchors = map[uint32]uint64{}
	}
	seg.anchors[doc] |= bit
}

func (s *searcher) anchorSession(f *file, bit uint64) error {
	var best struct {
		seg    *segment
		doc    uint32
		id     index.ID
		prompt bool
	}
	for _, seg := range s.segs {
		docs, err := seg.Bitmap(index.FieldFile, []byte(index.FileTerm(f.File)))
		if err != nil {
			return err
		}
		prompts, err := seg.Bitmap(index.FieldKind, []byte(session.KindPrompt))
		if err != nil {
			return err
		}
		for it := docs.Iterator(); it.HasNext(); {
			doc := it.Next()
			id, ok := seg.ID(doc)
			if !ok || !seg.allowed.has(doc) {
				continue
			}
			prompt := prompts.Contains(doc)
			if best.seg == nil || prompt && !best.prompt ||
				prompt == best.prompt && (id.Offset < best.id.Offset || id.Offset == best.id.Offset && id.Part < best.id.Part) {
				best.seg, best.doc, best.id, best.prompt = seg, doc, id, prompt
			}
		}
	}
	if best.seg != nil {
		best.seg.anchor(best.doc, bit)
	}
	return nil
}

func (s *searcher) anchorEntries(prefix string, bit uint64) error {
	seen := map[string]bool{}
	for _, seg := range s.segs {
		s.touch(seg)
		err := seg.Terms(index.FieldEntry, []byte(prefix), func(term []byte, _ int) bool {
			seen[string(term)] = true
			return len(seen) <= maxIDs
		})
		if err != nil {
			return err
		}
	}
	if len(seen) > maxIDs {
		return nil // begins too many to mean one of them
	}
	for _, seg := range s.segs {
		for id := range seen {
			docs, err := seg.Bitmap(index.FieldEntry, []byte(id))
			if err != nil {
				return err
			}
			for it := docs.Iterator(); it.HasNext(); {
				if doc := it.Next(); seg.allowed.has(doc) {
					seg.anchor(doc, bit)
				}
			}
		}
	}
	return nil
}
