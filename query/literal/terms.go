package literal

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pigrep/index/analysis"
)

// A requiredTerm is a term that the document of a text must have when a literal is
// in the text, as far as the literal tells: the whole term, its beginning, or
// any piece of it. A piece, or an end, may also be in what is cut of a term.
type requiredTerm struct {
	form termForm
	key  string
}

type termForm uint8

const (
	termWhole termForm = iota
	termPrefix
	termInfix
	termSuffix
)

// Pieces of terms shorter than this many bytes are in so many terms that
// looking for them is not worth it.
const (
	minInfix  = 3
	minPrefix = 2
)

// termsOf returns the terms that the document of a text with the literal must
// have. None are returned where it is not certain.
func requiredTerms(a *analysis.Analyzer, l Literal) []requiredTerm {
	var needs []requiredTerm
	for _, piece := range stablePieces(l) {
		needs = append(needs, pieceTerms(a, piece)...)
	}
	return needs
}

// certainPieces cuts a literal where its characters may be in the text as ones
// that are indexed in another way: case folding makes some equal that analysis
// does not.
func stablePieces(l Literal) [][]byte {
	if !l.fold {
		return [][]byte{[]byte(l.text)}
	}
	var pieces [][]byte
	start := 0
	for i, r := range l.text {
		if r < utf8.RuneSelf || FoldsAlike(r) {
			continue
		}
		pieces = append(pieces, []byte(l.text[start:i]))
		start = i + utf8.RuneLen(r)
	}
	return append(pieces, []byte(l.text[start:]))
}

func FoldsAlike(r rune) bool {
	folded := analysis.Fold(string(r))
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if analysis.Fold(string(f)) != folded {
			return false
		}
	}
	return true
}

// termsOfPiece cuts a piece of text, before and after which anything may stand,
// into terms as analysis does. A word that reaches an end of the piece may go on
// there.
//
// Of an identifier only the whole is asked for: where it is cut into parts
// depends on the case of letters, and on what comes after.
func pieceTerms(a *analysis.Analyzer, piece []byte) []requiredTerm {
	piece = trimCombining(piece)
	if len(piece) == 0 {
		return nil
	}
	var (
		needs    []requiredTerm
		grams    bool
		unspaced []requiredTerm
	)
	a.Walk(piece, func(t analysis.Token) {
		n := requiredTerm{termWhole, string(t.Term)}
		switch t.Form {
		case analysis.Gram:
			grams = true
			needs = append(needs, n)
			return
		case analysis.Single:
			unspaced = append(unspaced, n)
			return
		case analysis.Part:
			return
		}
		left, right := mayReachThrough(piece[:t.Start]), mayReachThrough(piece[t.End:])
		switch {
		case left && right:
			n.form = termInfix
		case left:
			n.form = termSuffix
		case right:
			n.form = termPrefix
		}
		if n.form == termPrefix && len(n.key) < minPrefix || n.form >= termInfix && len(n.key) < minInfix {
			return
		}
		needs = append(needs, n)
	})
	if !grams {
		needs = append(needs, unspaced...)
	}
	slices.SortFunc(needs, func(x, y requiredTerm) int { return int(x.form) - int(y.form) })
	return slices.Compact(needs)
}

// open reports whether a word beside this text may reach through it to what is
// beyond its other end. It says so more often than it must.
func mayReachThrough(beside []byte) bool {
	for _, c := range beside {
		if c < utf8.RuneSelf && c != '_' {
			return false
		}
	}
	return true
}

// withoutJoined drops the characters at the ends of a piece that may combine
// with what stands beyond, and so be indexed as something else: those that join
// what is before them, and a last one that others may join.
func trimCombining(piece []byte) []byte {
	for len(piece) > 0 && combinesBack(piece) {
		_, size := utf8.DecodeRune(piece)
		piece = piece[size:]
	}
	if len(piece) == 0 {
		return nil
	}
	last := len(piece) // where the last segment begins
	for last > 0 {
		_, size := utf8.DecodeLastRune(piece[:last])
		last -= size
		if !combinesBack(piece[last:]) {
			break
		}
	}
	r, size := utf8.DecodeRune(piece[last:])
	if last+size == len(piece) && combinesWithDiacriticsOnly(r) {
		return piece
	}
	return bytes.TrimSuffix(piece, piece[last:])
}

// joins reports whether the first character may combine with what is before it.
func combinesBack(text []byte) bool {
	return text[0] >= utf8.RuneSelf && !norm.NFKC.Properties(text).BoundaryBefore()
}

// takesDiacriticsOnly reports whether r is indexed as the same whatever combines
// with it: nothing does, or only the diacritics that folding drops.
func combinesWithDiacriticsOnly(r rune) bool {
	return r < utf8.RuneSelf || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) ||
		norm.NFKC.PropertiesString(string(r)).BoundaryAfter()
}
