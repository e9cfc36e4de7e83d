package words

import (
	"slices"
	"strings"
)

// endings lists groups of endings that a word may exchange: those of a verb and its nouns (duplicate,
// duplication), and of British and American spellings (colour, color).
var endings = [][]string{
	{"ate", "ation", "ator"}, {"ify", "ification", "ifier"}, {"ize", "ise", "ization", "isation"}, {"yze", "yse", "ysis"},
	{"ide", "ision"}, {"our", "or"}, {"tre", "ter"}, {"ogue", "og"}, {"ence", "ense"}, {"all", "allation"}, {"oy", "oyment"}, {"age", "agement"}, {"ect", "ection", "ector"},
	{"l", "lure"}, {"se", "sure"}, {"ve", "val", "vement", "ution"}, {"re", "rement"}, {"st", "stment", "stence"}, {"op", "opment"},
	{"ete", "etion"}, {"ute", "ution"}, {"ss", "ssion"}, {"mit", "mission"}, {"end", "ension", "endency", "endence"}, {"vert", "version"}, {"ert", "ertion"},
	{"ribe", "ription"}, {"uce", "uction"}, {"ment", "mentation"}, {"orm", "ormation", "ormance"}, {"ure", "uration"}, {"ept", "eption"}, {"upt", "uption"},
	{"ract", "raction"}, {"ict", "iction"}, {"truct", "truction"}, {"er", "erence"}, {"ver", "very"},
}

// shortestStem is the length of the shortest stem whose endings are exchanged.
const shortestStem = 3

// derived returns the words that a base form becomes with other endings of its group.
func derived(base string) (list []string) {
	for _, group := range endings {
		for _, ending := range group {
			stem, ok := strings.CutSuffix(base, ending)
			if !ok || len(stem) < shortestStem {
				continue
			}
			for _, other := range group {
				if other != ending {
					list = append(list, stem+other)
				}
			}
		}
	}
	return list
}

// Forms returns other English forms that a word may have: plurals, -ing, -ed, nouns of a verb. Most of
// them are not words; the dictionary of the index decides which exist.
func Forms(word string) []string {
	if len(word) < 3 || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || 'z' < r }) {
		return nil
	}
	bases := []string{word}
	add := func(b string) {
		if len(b) >= 3 && strings.ContainsAny(b, "aeiouy") && !slices.Contains(bases, b) {
			bases = append(bases, b)
		}
	}
	if s, ok := strings.CutSuffix(word, "ies"); ok {
		add(s + "y")
	} else if s, ok := strings.CutSuffix(word, "es"); ok && sibilant(s) {
		add(s)
		add(s + "e")
	} else if s, ok := strings.CutSuffix(word, "s"); ok && !hasAnySuffix(s, "s", "u", "i") {
		add(s)
	}
	if s, ok := strings.CutSuffix(word, "ing"); ok {
		addStem(add, s)
	} else if s, ok := strings.CutSuffix(word, "ied"); ok {
		add(s + "y")
	} else if s, ok := strings.CutSuffix(word, "eed"); ok {
		add(s + "ee")
	} else if s, ok := strings.CutSuffix(word, "ed"); ok {
		addStem(add, s)
	}
	for _, b := range bases[:len(bases):len(bases)] {
		for _, d := range derived(b) {
			add(d)
		}
	}
	var list []string
	for _, b := range bases {
		for _, f := range append(inflections(b), b) {
			if f != word && !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	slices.Sort(list)
	return list
}

// addStem adds the base forms of a word that is stem plus -ing or -ed.
func addStem(add func(string), stem string) {
	if n := len(stem); n >= 3 && stem[n-1] == stem[n-2] && !isVowel(stem[n-1]) {
		add(stem[:n-1]) // stopped: stop. The next line covers called: call
	}
	add(stem)
	add(stem + "e")
}

// inflections returns the plural, -ing and -ed forms of a base form.
func inflections(w string) []string {
	n := len(w)
	last := w[n-1]
	switch {
	case last == 'e':
		list := []string{w + "s", w + "d"}
		if !hasAnySuffix(w, "ee", "oe", "ye") {
			return append(list, w[:n-1]+"ing")
		}
		return append(list, w+"ing")
	case last == 'y' && !isVowel(w[n-2]):
		return []string{w[:n-1] + "ies", w[:n-1] + "ied", w + "ing"}
	case sibilant(w):
		return []string{w + "es", w + "ed", w + "ing"}
	}
	list := []string{w + "s", w + "ed", w + "ing"}
	if !isVowel(last) && !strings.ContainsRune("wxy", rune(last)) && isVowel(w[n-2]) && !isVowel(w[n-3]) {
		double := w + string(last)
		list = append(list, double+"ed", double+"ing")
	}
	return list
}

func sibilant(w string) bool { return hasAnySuffix(w, "s", "x", "z", "ch", "sh", "o") }

func isVowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }

func hasAnySuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
}
