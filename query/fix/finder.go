package fix

import (
	"bytes"
	"context"

	"pigrep/index/analysis"
)

// A finder finds an error in texts. It is used by one goroutine.
type finder struct {
	*signature
	normalizer
	ctx     context.Context // its end ends a search in a long text, without a match
	numbers map[string]int  // of the terms of the signature
	has     []bool          // by number: the text has it
}

func newFinder(ctx context.Context, s *signature) *finder {
	f := &finder{ctx: ctx, signature: s, numbers: make(map[string]int)}
	for _, t := range s.terms() {
		if _, ok := f.numbers[t]; !ok {
			f.numbers[t] = len(f.numbers)
		}
	}
	f.has = make([]bool, len(f.numbers))
	return f
}

// leastWords returns the least share of the words of a line for a text with this share of the line.
func leastWords(share float64) float64 { return (share - neighbours) / (1 - neighbours) }

// A match is where a text contains an error.
type match struct {
	start, end int      // of the best line of the error
	closeness  float64  // from 0 to 1: how much is the same
	names      float64  // from 0 to 1: how many of the names are there
	lacks      []string // names and words of the line that the text has nowhere near, as they were typed
}

// A match is close enough if this much of a line of the error is there: words and, for
// a quarter of it, neighbours. What did not fail may just talk about the error, as the
// source of the program does that prints it.
const (
	enough     = 0.72
	enoughElse = 0.85
	neighbours = 0.25
)

// fewWords is how many words of a line say what error it is: with less, only results
// that failed have it.
const fewWords = 3

// How much of the closeness is due to other lines of the error, and to equal values.
const (
	ofLines  = 0.1
	ofValues = 0.2
)

// find finds the error in a text that failed, or one that did not.
func (f *finder) find(text []byte, failed bool) (best match, ok bool) {
	least := enough
	if !failed {
		least = enoughElse
	}
	if !f.mayHave(text, least) {
		return best, false
	}
	body := f.read(text)
	whole, there := 0.0, 0.0
	same, values := 0.0, 0.0
	for i := range f.lines {
		l := &f.lines[i]
		share, from, to := f.locate(l, body.words)
		whole += l.weight
		if share < least || !failed && len(distinct(l.words)) < fewWords {
			continue
		}
		there += l.weight
		if share <= same {
			continue
		}
		same, ok = share, true
		best.start, best.end = body.words[from].start, body.words[to-1].end
		values, best.names, best.lacks = body.around(best.start, best.end, l)
	}
	if f.ctx.Err() != nil {
		return match{}, false
	}
	if ok {
		best.closeness = same * (1 - ofLines - ofValues + ofLines*there/whole + ofValues*values)
	}
	return best, ok
}

// mayHave reports whether enough of the words of some line are anywhere in the text.
func (f *finder) mayHave(text []byte, least float64) bool {
	clear(f.has)
	f.walk(text, func(t analysis.Token) {
		if i, ok := f.numbers[string(t.Term)]; ok {
			f.has[i] = true
		}
	})
	for i := range f.lines {
		l, have := &f.lines[i], 0.0
		for _, t := range distinct(l.words) {
			if f.has[f.numbers[t]] {
				have += f.weights[t]
			}
		}
		if have >= leastWords(least)*l.weight {
			return true
		}
	}
	return false
}

// body is the lines of a text that have words of the signature.
type body struct {
	words  []word // with wordless ones where other lines are left out
	values []value
}

// gap is how many words the lines between two lines count as.
const gap = 3

func (f *finder) read(text []byte) (b body) {
	at, left := 0, false
	for raw := range bytes.Lines(text) {
		if f.ctx.Err() != nil {
			break
		}
		start := at
		at += len(raw)
		some := false
		f.walk(raw, func(t analysis.Token) {
			_, ok := f.numbers[string(t.Term)]
			some = some || ok
		})
		if !some {
			left = true
			continue
		}
		if left {
			b.words = append(b.words, make([]word, gap)...)
			left = false
		}
		take := f.normalizer.line
		if f.signature.whole {
			take = f.normalizer.wholeLine
		}
		l := take(raw, start)
		b.words = append(b.words, l.words...)
		b.values = append(b.values, l.values...)
	}
	return b
}

// near is how far a value may be from the words of an error to belong to it, in bytes.
const near = 300

// around says what is near a range: how many of the values of a line, from 0 to 1, how many of the
// names among them, and which of its names and words are not.
func (b *body) around(start, end int, l *signatureLine) (all, names float64, lacks []string) {
	values, words := make(map[string]bool), make(map[string]bool)
	for _, v := range b.values {
		if v.start >= start-near && v.start <= end+near {
			values[v.text] = true
		}
	}
	for _, w := range b.words {
		if w.start >= start-near && w.end <= end+near {
			words[w.term] = true
		}
	}
	var there, of [2]int // other values, and names
	for _, v := range l.values {
		kind := 0
		if v.name {
			kind = 1
		}
		of[kind]++
		if values[v.text] {
			there[kind]++
		} else if v.name && !words[v.text] {
			lacks = append(lacks, v.text)
		}
	}
	for _, w := range l.words {
		if !words[w.term] && !values[w.term] {
			lacks = append(lacks, l.raw[w.start:w.end])
		}
	}
	return share(there[0]+there[1], of[0]+of[1]), share(there[1], of[1]), lacks
}

// share returns n / total, or 1 if total is 0.
func share(n, total int) float64 {
	if total == 0 {
		return 1
	}
	return float64(n) / float64(total)
}

// rounding is how much two equal shares may differ.
const rounding = 1e-9

// locate finds the stretch of words that has the most of a line of the signature; of
// several the shortest.
func (f *finder) locate(l *signatureLine, words []word) (share float64, from, to int) {
	if l.weight == 0 {
		return 0, 0, 0
	}
	wanted := make(map[string]float64)
	for _, t := range distinct(l.words) {
		wanted[t] = f.weights[t] / l.weight
	}
	pairs := make(map[[2]string]bool)
	for i := 1; i < len(l.words); i++ {
		pairs[[2]string{l.words[i-1].term, l.words[i].term}] = true
	}
	length := len(l.words) + len(l.words)/2 + 2
	for i := range words {
		if wanted[words[i].term] == 0 {
			continue
		}
		if f.ctx.Err() != nil {
			break
		}
		seen, seenPairs := make(map[string]bool, len(wanted)), make(map[[2]string]bool, len(pairs))
		have := 0.0
		for k := i; k < min(len(words), i+length); k++ {
			t := words[k].term
			if wanted[t] == 0 {
				continue
			}
			if !seen[t] {
				seen[t] = true
				have += wanted[t]
			}
			if pair := [2]string{words[max(i, k-1)].term, t}; k > i && pairs[pair] {
				seenPairs[pair] = true
			}
			total := have
			if len(pairs) > 0 {
				total = (1-neighbours)*have + neighbours*float64(len(seenPairs))/float64(len(pairs))
			}
			if total > share+rounding || total > share-rounding && k+1-i < to-from {
				share, from, to = total, i, k+1
			}
		}
	}
	return share, from, to
}
