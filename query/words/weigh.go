package words

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"pigrep/index/analysis"
	"pigrep/query/syntax"
)

// Not every word of a question says what the answer is about. Of the bare words of a
// list, those that nothing quotes, requires or joins,
//
//	function words   count little, as long as others occur in the index
//	cues             count little, and say which of the hits are wanted: the latest, or what the person said
//
// Rarity alone does not show this: in an index that is mostly in English, "wir" is as rare
// as an identifier. go run ./internal/lab/bench/ranking measures what the factors gain.
const (
	emphasisFunction = 0.3
	emphasisCue      = 0.3

	// Cues need this many words that say something: "current directory" asks for nothing
	// current.
	leastAsked = 2

	// A word below this share of the weight of the weightiest word is not enough for a
	// hit to be shown.
	leastShare = 0.2
)

// functionWords are words of several languages that carry grammar, and those that fill
// questions. A word that is also the name of something that people look for, such as
// "time", is not here.
var functionWords = set(`
a about above after again against all also always am among an and any anybody anyone anything are as at be because been before being below between
both but by can cannot could did do does doing done down during each either else ever every few for from further get gets getting got had has have having he
her here hers herself him himself his how i if in instead into is it its itself just let like made make makes making many me more most much my myself
neither no nor not of off on once only or other others our ours out over own same shall she should so some somebody someone something somewhere such
than that the their theirs them themselves then there these they thing things this those though through to too tried try trying under until up upon us use
used uses using very was we were what when where whether which while who whom whose why will with within without would yet you your yours yourself
cant didnt doesnt dont hadnt hasnt havent isnt shouldnt thats theres wasnt werent whats wont wouldnt
aber alle als also am an auch auf aus bei beim bin bis bist da damit das dass dein dem den der des die dies diese diesem diesen dieser dieses doch du durch
ein eine einem einen einer eines er es euch für habe haben hat hatte hatten ich ihm ihn ihr im in ist ja jede jeder kann kein keine können man mein mich
mir mit nach nicht noch nun nur ob oder ohne sehr sein seine sich sie sind so um und uns unser unter vom von vor war waren warum was weil welche welcher
wenn wer werden wie wieder wir wird wo wurde wurden zu zum zur
al algo como con cuando de del desde donde el ella en entre era eran es esa ese eso esta está este esto fue ha hay la las le lo los me mi muy no nos o para
pero por porque qué que quién se si sin sobre son su sus también te tiene tu un una unos y ya yo
au aux avec ce ces cette comment dans des du elle est et été eu il ils je leur lui mais mes moi mon ne notre nous on ont où ou par pas plus pour pourquoi
quand quel quelle qui sa ses sont sur toi ton une vos votre vous
anche che chi cosa da dal dalla dei del della delle di dove è ed era gli ho il io ma mi nel nella non per perché più questa questo si sono
ao aos às com da das do dos ela ele em essa esse estava foi isso já mais mas na nas não nossa nosso os ou pela pelo quem são sem ser seu sua também uma você
aan bij dan dat deze dit door een had heb heeft het hij hoe ik je kan maar met mijn naar niet of om ook te uit van voor waar waarom wat wel wij worden ze zijn
`)

// latestCues ask for the last of several hits.
var latestCues = phrases(`
last, latest, final, finally, now, nowadays, current, currently, newest, recent, recently, lately, eventually, in the end, at the end, at the moment,
ended up, end up, most recently, these days, by now, at last, as of now, so far, what became of
zuletzt, letzte, letzten, letzter, letztes, aktuell, aktuelle, aktuellen, aktueller, jetzt, endgültig, endgültige, neueste, neuesten, am ende, derzeit, inzwischen
último, última, últimos, últimas, actualmente, ahora, finalmente, al final
dernier, dernière, derniers, dernières, actuel, actuelle, actuellement, maintenant, finalement, à la fin, en ce moment
ultimo, ultima, attuale, attualmente, adesso, ora, alla fine, atual, atualmente, agora, no final, laatste, nu, uiteindelijk, momenteel
`)

// personCues, with a word for the one who asks, ask for what that person said.
var personCues = phrases(`
said, say, ask, asked, asking, told, tell, want, wanted, request, requested, requests, complain, complained, mentioned, wrote, typed, insisted, suggested,
demanded, prefer, preferred, rejected
sagte, gesagt, fragte, gefragt, gebeten, wollte, verlangt, dije, pregunté, pedí, demandé, dit, voulais, chiesto, detto, disse, pedi, perguntei, zei, vroeg
`)

// firstPerson are the words with which people speak of themselves.
var firstPerson = set("i im ive my me ich mir mein yo je j io eu ik")

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

// weigh sets the emphasis of the words, which of the hits the query asks for, and the
// words of which a hit should have one.
func (p *Plan) weigh() {
	bare := p.bare()
	slight := map[*Planned]float64{}
	for _, w := range bare {
		if functionWords()[w.Term] {
			slight[w] = emphasisFunction
		}
	}
	latest := cued(bare, latestCues())
	var person []*Planned
	if slices.ContainsFunc(bare, func(w *Planned) bool { return firstPerson()[w.Term] }) {
		person = cued(bare, personCues())
	}
	cues := append(latest, person...)
	says := func(w *Planned) bool { return w.Weight > 0 && slight[w] == 0 && !slices.Contains(cues, w) }
	said := 0
	for _, w := range p.Words {
		if says(w) {
			said++
		}
	}
	if said >= leastAsked {
		p.Latest, p.Person = len(latest) > 0, len(person) > 0
		for _, w := range cues {
			slight[w] = emphasisCue
		}
	}
	for _, w := range p.Words {
		w.Emphasis = 1
		if by, ok := slight[w]; ok && said > 0 {
			w.Emphasis = by
			w.Weight *= by
			p.Sentence = true
		}
	}
	most := 0.0
	for _, w := range p.Words {
		most = max(most, w.Weight)
		p.Weight += w.Weight
	}
	for _, w := range p.Words {
		if w.Weight > 0 && w.Emphasis == 1 {
			p.Telling |= w.Bit
		}
		if w.Scored && (w.Weight >= leastShare*most || !slices.Contains(bare, w)) {
			p.Weighty |= w.Bit
		}
	}
}

// bare returns the words of a list that nothing quotes, requires or joins, in the order in
// which they were typed.
func (p *Plan) bare() (list []*Planned) {
	bits := p.Query.Root.bare()
	for _, w := range p.Words {
		if w.Bit&bits != 0 && w.Scored && w.Match == syntax.Literal && w.Term != "" && len(w.Parts) == 0 {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b *Planned) int { return cmp.Compare(a.Positions[0].Start, b.Positions[0].Start) })
	return list
}

// cued returns the words of a list that are part of a cue.
func cued(list []*Planned, cues map[string][][]string) (found []*Planned) {
	for i, w := range list {
		for _, phrase := range cues[w.Term] {
			n := len(phrase)
			if n <= len(list)-i && slices.EqualFunc(list[i:i+n], phrase, func(w *Planned, term string) bool { return w.Term == term }) {
				found = append(found, list[i:i+n]...)
			}
		}
	}
	return found
}
