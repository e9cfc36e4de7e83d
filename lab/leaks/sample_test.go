// Package leaks measures internal/redact against the rules of gitleaks, which others
// wrote: how many of the secrets that these find are masked, and how much is masked by
// mistake. It is a module of its own, so that pigrep does not depend on gitleaks. `make
// leaks` runs it and prints the figures.
package leaks

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/sources"
)

// sample is a secret that a rule of gitleaks finds.
type sample struct {
	name   string // of the variable that gitleaks wants beside the secret, if it wants one
	secret string
	whole  string // the text around the secret, for rules that want more than a name
	core   string // what was invented of the secret
}

// inventor makes texts that an expression matches.
type inventor struct {
	*rand.Rand
	lower       bool // the case of letters that match in any case
	text        []byte
	first, last int // the invented bytes
}

const (
	printable = "!#$%&()*+,-./:;<=>?@[]^_{|}~"
	alnum     = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// add appends a text that re matches. Outside of capturing groups, it is the shortest one.
func (v *inventor) add(re *syntax.Regexp, captured bool) {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 && v.lower {
			text = strings.ToLower(text)
		}
		v.text = append(v.text, text...)
	case syntax.OpCharClass:
		v.invent(re.Rune, captured)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		v.invent([]rune{'.', '.', 'a', 'b'}, captured) // a dot may be meant where any character matches
	case syntax.OpCapture:
		v.add(re.Sub[0], true)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			v.add(sub, captured)
		}
	case syntax.OpAlternate:
		v.add(re.Sub[v.IntN(len(re.Sub))], captured)
	case syntax.OpQuest:
		v.repeat(re, 0, 1, captured)
	case syntax.OpStar:
		v.repeat(re, 0, -1, captured)
	case syntax.OpPlus:
		v.repeat(re, 1, -1, captured)
	case syntax.OpRepeat:
		v.repeat(re, re.Min, re.Max, captured)
	}
}

// has reports whether a class, given as pairs of bounds, contains a character.
func has(class []rune, c rune) bool {
	for i := 0; i < len(class); i += 2 {
		if class[i] <= c && c <= class[i+1] {
			return true
		}
	}
	return false
}

func (v *inventor) repeat(re *syntax.Regexp, low, high int, captured bool) {
	const more = 24
	if high < 0 || high > low+more {
		high = low + more
	}
	if !captured {
		high = min(high, low+1)
		if sub := re.Sub[0]; sub.Op == syntax.OpCharClass && !has(sub.Rune, ' ') {
			high = low
		}
	}
	sub := re.Sub[0]
	for range low + v.IntN(high-low+1) {
		if sub.Op == syntax.OpAnyCharNotNL && captured {
			v.invent([]rune{'0', '9', 'A', 'Z', 'a', 'z'}, captured)
		} else {
			v.add(sub, captured)
		}
	}
}

// invent appends a character of a class: white space if it is allowed and not part of the
// secret, and only letters and digits if the class has most other characters too.
func (v *inventor) invent(class []rune, captured bool) {
	if has(class, ' ') && (!captured || !has(class, 'a')) || has(class, '\n') && !has(class, 'a') {
		v.text = append(v.text, []string{" ", "\n", "\n  "}[v.IntN(3)]...)
		return
	}
	var letters, others []byte
	for _, c := range []byte(alnum + printable) {
		switch {
		case !has(class, rune(c)):
		case strings.IndexByte(alnum, c) >= 0:
			letters = append(letters, c)
		default:
			others = append(others, c)
		}
	}
	if len(others) <= 6 || len(letters) == 0 {
		letters = append(letters, others...)
	}
	if len(letters) == 0 {
		return
	}
	if v.first < 0 {
		v.first = len(v.text)
	}
	v.text = append(v.text, letters[v.IntN(len(letters))])
	v.last = len(v.text)
}

// samplesOf returns up to n samples of a rule that gitleaks itself finds.
func samplesOf(cfg config.Config, rule config.Rule, n int, rnd *rand.Rand) (samples []sample) {
	if rule.Regex == nil {
		return nil // a rule for names of files
	}
	re, err := syntax.Parse(rule.Regex.String(), syntax.Perl)
	if err != nil {
		return nil
	}
	d := detectorOf(cfg, rule)
	for try := 0; try < 40*n && len(samples) < n; try++ {
		v := inventor{Rand: rnd, lower: try%2 == 0, first: -1}
		v.add(re, re.MaxCap() == 0)
		if s, ok := d.sample(v, len(samples)); ok {
			samples = append(samples, s)
		}
	}
	return samples
}

// detector is gitleaks with a single rule.
type detector struct {
	*detect.Detector
	rule config.Rule
	path string // that the rule wants
}

func detectorOf(cfg config.Config, rule config.Rule) detector {
	cfg.Rules = map[string]config.Rule{rule.RuleID: rule}
	cfg.Keywords = make(map[string]struct{})
	for _, k := range rule.Keywords {
		cfg.Keywords[strings.ToLower(k)] = struct{}{}
	}
	d := detector{Detector: detect.NewDetector(cfg), rule: rule}
	if rule.Path != nil {
		if re, err := syntax.Parse(rule.Path.String(), syntax.Perl); err == nil {
			v := inventor{Rand: rand.New(rand.NewPCG(1, 1)), lower: true}
			v.add(re, false)
			d.path = "a" + string(v.text)
		}
	}
	return d
}

// finds returns the first secret with invented bytes that gitleaks finds in a text.
func (d detector) finds(text string, first, last int) (start, end int, ok bool) {
	fragment := detect.Fragment(sources.Fragment{Raw: text, FilePath: d.path}) //lint:ignore SA1019 Detect takes no other
	for _, f := range d.Detect(fragment) {
		for _, secret := range []string{f.Secret, f.Match} {
			start = strings.LastIndex(text, secret)
			end = start + len(secret)
			if start >= 0 && min(last, end)-max(first, start) >= 5 {
				return start, end, true
			}
		}
	}
	return 0, 0, false
}

// onlyName matches the text before a secret if it is only a name and punctuation.
var onlyName = regexp.MustCompile(`^(\w[\w.-]*\w)\W*$`)

// endings complete the name that gitleaks requires, which may be just that of a service.
var endings = []string{"_token", "Token", "_api_key", "-token"}

// sample returns the sample in the invented text, if gitleaks finds it: without its
// surroundings, if gitleaks also finds it next to a name or alone.
func (d detector) sample(v inventor, i int) (s sample, ok bool) {
	text := string(v.text)
	start, end, ok := d.finds(text, v.first, v.last)
	if !ok {
		return d.beside(text, v, i)
	}
	s = sample{secret: text[start:end], core: text[max(v.first, start):min(v.last, end)]}
	switch m := onlyName.FindStringSubmatch(text[:start]); {
	case m != nil && d.path == "":
		s.name = m[1] + endings[i%len(endings)]
		return s, d.isFound(s.name+` = "`+s.secret+`"`, s)
	case strings.Trim(text[:start], " \t\n\"'`=:>,(\\") == "":
		return s, d.isFound(`x = "`+s.secret+`"`, s)
	}
	s.whole = text
	return s, true
}

// beside returns the sample of a rule that requires a word near the secret.
func (d detector) beside(text string, v inventor, i int) (s sample, ok bool) {
	for _, word := range d.rule.Keywords {
		s = sample{name: word + endings[i%len(endings)], secret: strings.TrimRight(text, "\"'`; \n"), core: text[max(0, v.first):max(0, v.first, v.last)]}
		if len(s.core) > 5 && onlyName.MatchString(s.name) && d.isFound(s.name+` = "`+s.secret+`"`, s) {
			return s, true
		}
	}
	return s, false
}

func (d detector) isFound(text string, s sample) bool {
	at := strings.Index(text, s.core)
	_, _, ok := d.finds(text, at, at+len(s.core))
	return ok
}
