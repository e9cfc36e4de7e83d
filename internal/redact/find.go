package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// One pass over a text finds the words that begin or announce secrets: prefixes of
// tokens, parts of names, commands. Each is looked at where it is, so that a text
// without them costs only the pass.

// finder looks for the secrets of a view.
type finder struct {
	s      string
	runs   runs
	spans  []Span
	kind   int           // the announcement that is looked at
	done   [maxKinds]int // how far the text was searched for each kind, see looked
	token  [2]int        // the last token
	row    [2]int        // the line that was looked at last
	words  []arg         // of the command that was looked at last
	header header

	// budget is how many bytes of values may still be judged: a few times the length of the
	// text. Only a hostile text, whose values contain each other, uses it up. The values
	// that are left are masked without being judged.
	budget int
}

// trigger is a word that begins or announces a secret.
type trigger struct {
	word  string                  // in lower case, two bytes or more
	pair  int                     // offset of the two bytes that are rarest in texts
	third int                     // offset of another byte
	byte  byte                    // that byte
	shape *shape                  // of the token it begins
	find  func(f *finder, at int) // what it announces otherwise
	kind  int                     // the number of the announcement
}

// maxKinds is more than there are announcements.
const maxKinds = 160

type announcement struct {
	words []string
	find  func(f *finder, at int)
}

// announcements are words that announce a secret, each with the function that looks for it. Those with
// a pattern are in forms.txt.
func announcements() []announcement {
	list := []announcement{
		{slices.Concat(lists.NameWords.words, lists.Services.words, lists.ServicePhrases.words), (*finder).name},
		{[]string{"://"}, (*finder).url},
		{[]string{"sig=", "appid=", "signature=", "auth=", "code=", "credential=", "dkey="}, (*finder).parameter},
		{[]string{"authorization", "bearer"}, (*finder).authorization},
		{[]string{"cookie"}, (*finder).cookie},
		{commandWords(), (*finder).command},
		{[]string{"private key", "encrypted data"}, (*finder).pem},
		{[]string{`"kty"`, `'kty'`, `\"kty\`}, (*finder).jwk},
		{[]string{"passw", "passphrase", "passcode"}, (*finder).sentence},
		{lists.CallWords.words, (*finder).call},
		{[]string{"insert into", "insert or "}, (*finder).insert},
		{[]string{"kind: secret", `kind": "secret"`, `kind":"secret"`}, (*finder).kubernetes},
	}
	for i := range forms {
		list = append(list, announcement{forms[i].words, forms[i].find})
	}
	return list
}

// triggers maps two bytes of each word to the words.
type triggers struct {
	list  []trigger // ordered by these
	first [1<<16 + 1]uint16
}

var allTriggers triggers

func makeTriggers() {
	sets := make(map[byte]*set, len(classes))
	for class, chars := range classes {
		set := setOf(chars)
		sets[class] = &set
	}
	t := &allTriggers
	for i, r := range rules {
		for _, text := range r.shapes {
			sh := parseShape(i, text, sets)
			t.list = append(t.list, trigger{word: strings.ToLower(sh.parts[sh.anchor].literal), shape: sh})
		}
	}
	for kind, a := range announcements() {
		for _, w := range a.words {
			t.list = append(t.list, trigger{word: w, find: a.find, kind: kind})
		}
	}
	for i := range t.list {
		x := &t.list[i]
		for k := range len(x.word) - 1 {
			if rarity(x.word[k])+rarity(x.word[k+1]) > rarity(x.word[x.pair])+rarity(x.word[x.pair+1]) {
				x.pair = k
			}
		}
	}
	for i := range t.list {
		x := &t.list[i]
		x.third = x.pair
		for k := range len(x.word) {
			if k != x.pair && k != x.pair+1 && (x.third == x.pair || rarity(x.word[k]) > rarity(x.word[x.third])) {
				x.third = k
			}
		}
		x.byte = x.word[x.third]
	}
	slices.SortStableFunc(t.list, func(a, b trigger) int { return cmp.Compare(a.bytes(), b.bytes()) })
	next := 0
	for p := range t.first {
		for next < len(t.list) && int(t.list[next].bytes()) < p {
			next++
		}
		t.first[p] = uint16(next)
	}
}

// rarity is larger for bytes that are rarer in texts.
func rarity(c byte) int {
	if n := strings.IndexByte(" etaoinsrlcdpm/u\"hf.g_b-y\n,0:v1w2kx3", c); n >= 0 {
		return n
	}
	return 64
}

func (x *trigger) bytes() uint16 { return twoBytes(x.word[x.pair], x.word[x.pair+1]) }

func twoBytes(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

func find(s string) []Span {
	t := &allTriggers
	f := &finder{s: s, runs: make(runs), row: [2]int{0, -1}, header: header{start: -1}, budget: 16<<10 + 2*len(s)}
	last := byte(0)
	for i := range len(s) {
		c := lower(s[i])
		p := twoBytes(last, c)
		last = c
		for k := t.first[p]; k < t.first[int(p)+1]; k++ {
			x := &t.list[k]
			at := i - 1 - x.pair
			if end := at + len(x.word); at < 0 || end > len(s) || lower(s[at+x.third]) != x.byte || !equalFold(s[at:end], x.word) {
				continue
			}
			if x.shape != nil {
				f.shape(x.shape, at)
			} else if at >= f.done[x.kind] {
				f.kind = x.kind
				x.find(f, at)
			}
		}
	}
	return f.spans
}

// shape notes the token of a shape whose anchor is at a position.
func (f *finder) shape(sh *shape, at int) {
	if at > f.token[0] && at < f.token[1] || !sh.literalAt(f.s, at, sh.parts[sh.anchor].literal) {
		return
	}
	if start, end, ok := sh.match(f.s, at, f.runs); ok {
		end = f.continued(end)
		f.add(start, end, rules[sh.rule].id)
		f.token = [2]int{max(start, at), max(end, f.token[1])}
		if rules[sh.rule].id == "aws-key" {
			f.secretOf(end)
		}
	}
}

// secretOf masks the secret key of AWS that follows the id of a key without a name.
func (f *finder) secretOf(end int) {
	start := skipAny(f.window(end, 8), end, " \t\"',;:|/\\")
	end = base64Chars.skip(f.window(start, 41), start)
	if end-start == 40 && isRandom(f.s[start:end]) && !isHex(f.s[start:end]) {
		f.add(start, end, "secret")
	}
}

// looked records how far the text has been searched for the current kind of announcement.
// Words of that kind before this position are skipped.
func (f *finder) looked(end int) { f.done[f.kind] = end }

// add notes a secret, unless no rule names it or it is a piece of a mask.
func (f *finder) add(start, end int, rule string) {
	before := f.s[max(0, start-maxMask):start]
	if i := strings.LastIndex(before, "[redacted:"); start >= end || rule == "" || i >= 0 && !strings.Contains(before[i:], "]") {
		return
	}
	f.spans = append(f.spans, Span{start, end, rule})
}

// maxMask is longer than the mask of any rule.
const maxMask = 32

// line returns the line around a position, or what is near in a long one. A soft
// break ends it too.
func (f *finder) line(at int) (start, end int) {
	if at < f.row[0] || at > f.row[1] {
		f.row = [2]int{breaks.after(f.s, at, 0), breaks.until(f.s, at)}
	}
	return max(f.row[0], at-maxLine), min(f.row[1], at+maxLine)
}

// maxLine is how far a line is looked at to either side.
const maxLine = 2 << 10

// Find returns the secrets in a text, in order and not overlapping.
func Find(text string) []Span {
	if len(text) < shortest {
		return nil
	}
	load()
	v := (&view{text: text}).decoded(&special, unit)
	spans := v.find(nil)
	if strings.Contains(v.text, "%") {
		if d := v.decoded(&percents, percentUnit); d != v {
			spans = d.find(spans)
		}
	}
	spans = v.encoded(spans)
	return joined(spans)
}

// shortest is the length of the shortest text that can contain a secret.
const shortest = 8

// find adds the secrets of the view, where they are in the original.
func (v *view) find(spans []Span) []Span {
	for _, s := range find(v.text) {
		start, end := v.original(s.Start, s.End)
		spans = append(spans, Span{start, end, s.Rule})
	}
	return spans
}

// joined puts spans in order. It makes one of overlapping spans, named by the rule that
// comes first.
func joined(spans []Span) []Span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	kept := spans[:1]
	for _, s := range spans[1:] {
		last := &kept[len(kept)-1]
		if s.Start >= last.End {
			kept = append(kept, s)
			continue
		}
		if rank(s.Rule) < rank(last.Rule) {
			last.Rule = s.Rule
		}
		last.End = max(last.End, s.End)
	}
	return kept
}

var base64Chars = setOf(alnum + "+/-_")

// minEncoded is the length of the shortest base64 that is decoded.
const minEncoded = 16

// encoded adds the runs of base64 that contain secrets: a known form, or a name with
// its value. The lines of one block are one run.
func (v *view) encoded(spans []Span) []Span {
	s := v.text
	for i := base64Chars.until(s, 0); i < len(s); i = base64Chars.until(s, i) {
		start := i
		i = base64Chars.skip(s, i)
		if i-start < minEncoded || !beginsText(s[start:start+minEncoded]) {
			continue
		}
		code, end := block64(s, start, i)
		for i = end; char(s, i) == '='; i++ {
		}
		if rule := hidden(decoded(code), s[:start]); rule != "" {
			from, to := v.original(start, i)
			spans = append(spans, Span{from, to, rule})
		}
	}
	return spans
}

// block64 returns the base64 of a line from start to end and of the lines after it
// that continue it, and where these end.
func block64(s string, start, end int) ([]byte, int) {
	code := []byte(s[start:end])
	for end-start >= 60 && (end-start)%4 == 0 && breaks[char(s, end)] {
		start = blanks.skip(first(s, end+maxIndent), end+1)
		next := base64Chars.skip(s, start)
		if next == start {
			break
		}
		code = append(code, s[start:next]...)
		end = next
	}
	return code, end
}

// hidden returns the rule of a secret in a text that was encoded, or "".
func hidden(plain, before string) string {
	switch {
	case plain == "":
		return ""
	case strings.HasPrefix(plain, "-----BEGIN ") && strings.Contains(first(plain, 64), "PRIVATE KEY"):
		return "private-key"
	case hasSuffixFold(before, "basic ") && strings.Contains(plain, ":"):
		return "authorization"
	}
	if spans := find(plain); len(spans) > 0 {
		return spans[0].Rule
	}
	return ""
}

// beginsText reports whether base64 begins with that of a text. Most runs of its
// characters are words or paths.
func beginsText(code string) bool {
	var b, plain [minEncoded]byte
	copy(b[:], code)
	return len(decode(plain[:], b[:])) == minEncoded*3/4
}

// decoded returns the text that base64 is for, or "" if it is for no text.
func decoded(code []byte) string { return string(decode(make([]byte, len(code)), code)) }

// decode is decoded into dst. It changes the code, which may be that for URLs, too.
func decode(dst, code []byte) []byte {
	for i, c := range code {
		if c == '-' {
			code[i] = '+'
		} else if c == '_' {
			code[i] = '/'
		}
	}
	if len(code)%4 == 1 {
		code = code[:len(code)-1]
	}
	n, err := base64.RawStdEncoding.Decode(dst, code)
	if err != nil {
		return nil
	}
	return dst[:textLength(dst[:n])]
}

// textLength returns how many of the bytes are printable text, which may be cut
// within a character.
func textLength(b []byte) int {
	i := bytes.IndexFunc(b, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r'
	})
	if i < 0 || !utf8.FullRune(b[i:]) {
		return len(b)
	}
	return i
}
