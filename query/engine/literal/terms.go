package literal

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pigrep/index/analysis"
)

// A requiredTerm is a term that the document of every text with some literal has.
// The key is the whole term or, where the literal begins or ends inside of a word,
// its prefix, suffix or infix. The indexer cuts long terms, so that a suffix or infix
// may be in the part that is not indexed.
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

// Shorter keys, in bytes, are in so many terms that looking them up does not pay.
const (
	minInfix  = 3
	minPrefix = 2
)

// requiredTerms returns the terms that the document of every text with the literal
// has, as far as that is certain.
func requiredTerms(a *analysis.Analyzer, l Literal) []requiredTerm {
	var needs []requiredTerm
	// Characters that have another case which analysis does not fold to the same term split it.
	pieces := strings.FieldsFunc(l.text, func(r rune) bool { return l.fold && r >= utf8.RuneSelf && !FoldsAlike(r) })
	for _, piece := range pieces {
		needs = append(needs, pieceTerms(a, []byte(piece))...)
	}
	return needs
}

// FoldsAlike reports whether analysis folds every case of a character to the same.
func FoldsAlike(r rune) bool {
	folded := analysis.Fold(string(r))
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if analysis.Fold(string(f)) != folded {
			return false
		}
	}
	return true
}

// pieceTerms analyses a piece of a text. Unknown text surrounds the piece, so a word
// at one of its ends may be longer in the text.
//
// The parts of an identifier are not required, only the whole of it: where it is
// split depends on the case of letters and on the text that follows.
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

// mayReachThrough reports whether a word next to this text may extend through all of
// it. It errs on the side of true.
func mayReachThrough(beside []byte) bool {
	return !slices.ContainsFunc(beside, func(c byte) bool { return c < utf8.RuneSelf && c != '_' })
}

// trimCombining drops the characters at the ends of a piece that may combine with
// the unknown text beyond, and so be indexed as something else.
func trimCombining(piece []byte) []byte {
	for len(piece) > 0 && combinesBack(piece) {
		_, size := utf8.DecodeRune(piece)
		piece = piece[size:]
	}
	if len(piece) == 0 {
		return nil
	}
	last := len(piece) // start of the last character and of all that combines with it
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

// combinesBack reports whether the first character may combine with the one before.
func combinesBack(text []byte) bool {
	return text[0] >= utf8.RuneSelf && !norm.NFKC.Properties(text).BoundaryBefore()
}

// combinesWithDiacriticsOnly reports whether r is indexed as the same term whatever
// combines with it: nothing does, or only diacritics, which folding drops.
func combinesWithDiacriticsOnly(r rune) bool {
	return r < utf8.RuneSelf || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) ||
		norm.NFKC.PropertiesString(string(r)).BoundaryAfter()
}
