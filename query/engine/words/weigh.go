package words

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"pigrep/index/analysis"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/syntax"
)

// Not every word of a question says what the answer is about. Among the words of the query
// that are not quoted, required or part of an expression,
//
//	function words   count little if other words occur in the index
//	cues             count little, and say which hits are wanted: the latest, or what the person said
//
// Rarity alone does not show this: in an index that is mostly in English, "wir" is as rare
// as an identifier. go run ./lab/bench/ranking measures what the factors gain.
const (
	emphasisFunction = 0.3
	emphasisCue      = 0.3

	// Cues need this many words that say something, and so does a single word that says
	// little: "last redis", "the harbour".
	leastAsked = 2

	// A word below this share of the weight of the weightiest word makes a minor hit.
	leastShare = 0.2

	// A word with this share of the weight of the informative words decides what the query is about.
	keyShare = 0.45

	// If a sentence has more words that say something, a text need not have all of them.
	mostTopics = 3
)

// functionWords are words of several languages that carry grammar, and those that fill
// questions. Words that also name things people look for are not here: "mit", "os", "io",
// "die".
var functionWords = set(`
a about above after again against all also always am an and any anybody anyone anything are at be because been before being below
between both but by can cannot could did do does doing done during either ever every few for from further gets getting got had has have having he
her here hers herself him himself his how i if in into is it its itself just like made make makes making me more most much my myself
neither no nor not of off on once only or other others our ours out over own same she should so some somebody someone something somewhere such
than that the their theirs them themselves then there these they thing things this those though through to too tried trying upon us
used uses very was we were what when where whether which while who whom whose why will with within would you your yours
didnt doesnt dont hadnt hasnt havent cant couldnt wouldnt isnt arent shouldnt thats theres wasnt werent whats wont its im ive id youre weve theyre
aber alle als auch auf aus bei beim bis bist da damit das dass dein dem den denn der des diese diesem diesen dieser dieses doch du durch
ein eine einem einen einer eines für habe haben hatte hatten ich ihm ihn ihr im ist ja jede jeder kann kein keine können mein mich
mir nach nicht noch nun nur oder ohne sehr sein seine sich sie sind über und uns unser unter vom von vor waren warum weil welche welcher
wenn wer werden wie wieder wir wird wo wurde wurden zu zum zur
al algo como con cuando del desde donde ella entre era eran esa ese eso esta está este esto fue ha hay la las lo los muy para
pero por porque qué que quién sobre sus también te tiene una unos ya yo
au avec ce ces cette comment dans du elle et été eu il ils je leur lui mais mes moi mon ne notre nous ont où ou par pas plus pour pourquoi
quand quel quelle qui sa ses sont sur toi une vos votre vous
anche che dalla dei della delle dove è ed gli ho il mi nel nella non per perché più questa questo sono
ao aos às com da das dos ela ele essa esse estava foi isso já mais mas não nossa nosso pela pelo quem são sem seu sua também uma você
aan bij dat deze dit een had heb heeft het hij hoe ik je kan maar mijn naar niet ook te uit voor waar waarom wat wel wij worden ze zijn
`)

// latestCues ask for the last of several hits.
var latestCues = phrases(`
latest, finally, now, nowadays, currently, newest, recently, lately, eventually, in the end, at the end, at the moment,
we ended up, i ended up, ended up with, ended up as, did it end up, most recently, these days, by now, at last, as of now, so far, what became of
zuletzt, jetzt, endgültig, neueste, neuesten, am ende, derzeit, inzwischen
última, último, actualmente, ahora, finalmente, al final
dernièrement, actuellement, maintenant, finalement, à la fin, en ce moment
ultimo, ultima, attualmente, adesso, alla fine, atualmente, agora, no final, laatste, uiteindelijk, momenteel
`)

// phraseCues ask for the last of several hits only in a sentence: "current directory", "last
// commit" and "final class" are names of things.
var phraseCues = phrases(`
last, final, current, recent, still, letzte, letzten, letzter, letztes, aktuelle, aktuellen, aktueller, endgültige,
dernier, dernière, derniers, dernières, actuel, actuelle, attuale, atual
`)

// personCues ask for what the person said who asks.
var personCues = phrases(`
i said, i say, i asked, i ask, i told, i tell, i wanted, i requested, i complained, i mentioned, i wrote, i typed, i insisted, i suggested,
i demanded, i preferred, i prefer, i rejected, i have said, i have asked, i ever said, i ever asked, my request, my requests
ich sagte, ich gesagt, ich fragte, ich gefragt, ich gebeten, ich wollte, ich verlangt
yo dije, yo pedí, je demandais, j ai dit, j ai demandé, ho detto, ho chiesto, eu disse, eu pedi, ik zei, ik vroeg
`)

// set returns the words of a text, folded as terms are.
func set(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := make(map[string]bool)
		for _, w := range strings.Fields(analysis.Fold(text)) {
			m[w] = true
		}
		return m
	})
}

// phrases returns the sequences of words between the commas of a text, folded as terms
// are, by their first word.
func phrases(text string) func() map[string][][]string {
	return sync.OnceValue(func() map[string][][]string {
		m := make(map[string][][]string)
		for phrase := range strings.FieldsFuncSeq(analysis.Fold(text), func(r rune) bool { return r == ',' || r == '\n' }) {
			if terms := strings.Fields(phrase); len(terms) > 0 {
				m[terms[0]] = append(m[terms[0]], terms)
			}
		}
		return m
	})
}

// IsFunctionWord reports whether a folded word carries grammar, or fills sentences.
func IsFunctionWord(word string) bool { return functionWords()[word] }

// weigh sets the emphasis of the words, which of the hits the query asks for, and the
// words without which a hit is minor.
func (p *ResolvedQuery) weigh() {
	bare, typed := p.bare()
	slight := map[*ResolvedWord]float64{}
	for _, w := range bare {
		if functionWords()[w.plain()] {
			slight[w] = emphasisFunction
		}
	}
	latest, person := cued(typed, latestCues()), cued(typed, personCues())
	if len(slight) > 0 {
		latest = append(latest, cued(typed, phraseCues())...)
	}
	cues := append(latest, person...)
	telling := func() (n int) {
		for _, w := range p.Words {
			if w.Weight > 0 && slight[w] == 0 && !slices.Contains(cues, w) {
				n++
			}
		}
		return n
	}
	if telling() >= leastAsked {
		p.WantsLatest, p.WantsUser = len(latest) > 0, len(person) > 0
		for _, w := range cues {
			slight[w] = emphasisCue
		}
	} else {
		cues = nil
	}
	n := telling()
	damped := n >= leastAsked || n > 0 && len(slight) >= leastAsked
	p.IsSentence = damped && len(slight) >= leastAsked
	p.IsOpen = p.IsSentence && (n > mostTopics || len(cues) > 0)
	for _, w := range p.Words {
		w.Emphasis = 1
		if by, ok := slight[w]; ok && damped {
			w.damp(by)
		}
	}
	p.setMasks(bare, damped)
	p.HasKey = p.hasKey() && !(p.IsSentence && len(cues) > 0)
	p.place()
}

const wayBits = 3 // bits of a class for the way of each placed word

// MostPlaced is how many words have a place in a class.
const MostPlaced = 4

// place gives the weightiest words their places in a class, if one word decides what the query is
// about. A sentence has no places: its answer seldom has the words in the same form.
func (p *ResolvedQuery) place() {
	var list []*ResolvedWord
	for _, w := range p.Words {
		w.Loosely, w.Place = w.looseTier(), -1
		if w.Bit&p.InformativeMask != 0 && w.Find == nil {
			list = append(list, w)
		}
	}
	if p.HasKey = p.HasKey || len(list) == 1; !p.HasKey || p.IsSentence {
		return
	}
	slices.SortStableFunc(list, func(a, b *ResolvedWord) int { return cmp.Compare(b.Weight, a.Weight) })
	for i, w := range list[:min(MostPlaced, len(list))] {
		w.Place = wayBits * (MostPlaced - 1 - i)
	}
}

// damp lowers the weight of a word by a factor.
func (p *ResolvedWord) damp(by float64) {
	p.Emphasis = by
	p.Weight *= by
	p.AllIDF *= by
	p.WholeIDF *= by
	if len(p.Parts) > 0 { // not worth reading files for
		whole := *p.Word // a copy: the query never changes
		whole.Verify = false
		p.Word = &whole
	}
}

// setMasks sets the sum of the weights, and which words are informative and important.
// With damped, words with less emphasis are not.
func (p *ResolvedQuery) setMasks(bare []*ResolvedWord, damped bool) {
	most := 0.0
	for _, w := range p.Words {
		most = max(most, w.Weight)
		p.Weight += w.Weight
	}
	for _, w := range p.Words {
		if w.Weight > 0 && w.Emphasis == 1 {
			p.InformativeMask |= w.Bit
		}
		if damped && w.Emphasis < 1 {
			p.SlightMask |= w.Bit
			continue
		}
		// A word that no text has may be an id.
		if w.Scored && (w.Weight == 0 || w.Weight >= leastShare*most || !slices.Contains(bare, w)) {
			p.ImportantMask |= w.Bit
		}
	}
}

// hasKey reports whether one of several informative words has at least keyShare of their weight. It
// sets RarestMask.
func (p *ResolvedQuery) hasKey() bool {
	sum, most := 0.0, 0.0
	for _, w := range p.Words {
		if w.Bit&p.InformativeMask == 0 {
			continue
		}
		switch sum += w.Weight; {
		case w.Weight > most:
			most, p.RarestMask = w.Weight, w.Bit
		case w.Weight == most:
			p.RarestMask |= w.Bit
		}
	}
	if most == sum {
		p.RarestMask = 0
	}
	return most < sum && most >= keyShare*sum
}

// IsSlight reports whether an expression is a single word that says little.
func (p *ResolvedQuery) IsSlight(x *Expr) bool {
	w := p.wordOf(x)
	return w != nil && w.Emphasis < 1
}

// wordOf returns the word that an expression is; nil if it is none.
func (p *ResolvedQuery) wordOf(x *Expr) *ResolvedWord {
	i := slices.IndexFunc(p.Words, func(w *ResolvedWord) bool { return w.Bit == x.bit })
	if x.op != opLeaf || i < 0 {
		return nil
	}
	return p.Words[i]
}

// PartsAlone reports whether an expression is a single word that a document with all its
// parts may lack.
func (p *ResolvedQuery) PartsAlone(x *Expr) bool {
	w := p.wordOf(x)
	return w != nil && len(w.Parts) > 0 && w.PartsAlone()
}

// Nowhere reports whether an expression is a single identifier that no document of the
// index has, whatever the filters.
func (p *ResolvedQuery) Nowhere(x *Expr) bool {
	w := p.wordOf(x)
	return p.PartsAlone(x) && (w.Split || w.SpellingOnly && len(w.Terms) == 0 && !slices.ContainsFunc(w.Within, func(docs docset.Set) bool { return docs.Count() > 0 }))
}

// Elsewhere returns in how many documents of all indexes that answer together an expression is. It is
// false if only those documents would say it: only single words are counted.
func (p *ResolvedQuery) Elsewhere(x *Expr) (documents int, known bool) {
	w := p.wordOf(x)
	if w == nil || w.Find != nil || p.dictionary.shared == nil || w.Match == syntax.Prefix || w.Match == syntax.Fuzzy {
		return 0, false
	}
	of := func(terms []string) (n int) {
		for _, t := range terms {
			n += p.dictionary.shared.Terms[t]
		}
		return n
	}
	for part := range w.Parts {
		if of(w.TermsOf(part)) == 0 {
			return 0, true
		}
	}
	return of(append(Forms(w.Term), append(w.Spellings, w.Term)...)), len(w.Parts) == 0
}

// OnlySimilar reports whether an expression is a word that no document contains, but only words
// with one or two other characters.
func (p *ResolvedQuery) OnlySimilar(x *Expr) bool {
	w := p.wordOf(x)
	return w != nil && w.Match == syntax.Literal && len(w.Terms) > 0 && w.Terms[0].Tier == TierFuzzy
}

// plain returns a word as the tables have it: folded, without apostrophes.
func (w *ResolvedWord) plain() string {
	if len(w.Parts) == 0 {
		return w.Term
	}
	if !strings.ContainsAny(w.Text, "'’") {
		return ""
	}
	return analysis.Fold(strings.NewReplacer("'", "", "’", "").Replace(syntax.TrimProse(w.Text)))
}

// bare returns the words that stand in the list of the query by themselves, and where they
// were typed: typed has them in that order, and a word as often as it was typed.
func (p *ResolvedQuery) bare() (list, typed []*ResolvedWord) {
	type place struct {
		*ResolvedWord
		at int
	}
	var places []place
	bits := p.Query.Root.bare()
	for _, w := range p.Words {
		if w.Bit&bits == 0 || !w.Scored || w.Match != syntax.Literal || w.plain() == "" {
			continue
		}
		list = append(list, w)
		for _, pos := range w.Positions {
			places = append(places, place{w, pos.Start})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	for _, x := range places {
		typed = append(typed, x.ResolvedWord)
	}
	return list, typed
}

func cued(list []*ResolvedWord, cues map[string][][]string) (found []*ResolvedWord) {
	for i, w := range list {
		for _, phrase := range cues[w.plain()] {
			n := len(phrase)
			if n <= len(list)-i && slices.EqualFunc(list[i:i+n], phrase, func(w *ResolvedWord, term string) bool { return w.plain() == term }) {
				found = append(found, list[i:i+n]...)
			}
		}
	}
	return found
}
