package grep

import (
	"regexp"
	"strings"
	"testing"

	"pigrep/query/engine/literal"
)

// Whatever the expression and the text: the finder, with its needles and automaton,
// finds the lines that package regexp finds.
func FuzzGrep(f *testing.F) {
	for _, seed := range []struct{ expr, text string }{
		{`time(d)?out \d+`, "a timedout 42 b"},
		{`(?i)stra\x{17f}e|KISS`, "Straße ki\u017fs \u212aiss"},
		{`getUser_?Name`, "xgetUser_Namey"},
		{`^\s*func\b`, "\tfunc x\n\nfuncs"},
		{`日本(語|人)`, "これは日本語\n"},
		{`か`, "か\u3099 か"},
		{`e\x{301}`, "cafe\u0301"},
		{`[tT]oken[s]{2,3}$`, "Tokensss"},
		{`a{3}|b+c?`, "aaa\nbb"},
		{`\b\w{4}\B.`, "words words"},
		{`(q{60,70})z`, strings.Repeat("q", 65) + "z"},
		{`(?i)αι`, "α\u0345"},
		{`(?s).`, "\n"},
		{`\z|\A`, "x"},
		{`__init__`, "x__init__y"},
		{`foo™`, "foo™ bar"},
	} {
		for mode := range uint8(8) {
			f.Add(seed.expr, seed.text, mode)
		}
	}
	f.Fuzz(func(t *testing.T, expr, text string, mode uint8) {
		if len(expr) > 200 || len(text) > 2000 {
			return
		}
		text = strings.ToValidUTF8(text, "\ufffd")
		req := Request{Patterns: []string{expr}, Case: literal.CaseSensitive + literal.CaseMode(mode&1), Word: mode&2 != 0, Multiline: mode&4 != 0, Fixed: mode&8 != 0}
		p, err := req.compile()
		if err != nil || p.Program.Size() > 300 { // package regexp takes long with them
			return
		}
		// A line matches when the expression does, and for words when one of its
		// matches stands between what is no part of a word.
		flags := "(?"
		if req.Case == literal.IgnoreCase {
			flags += "i"
		}
		if req.Multiline {
			flags += "m"
		}
		flags = strings.Replace(flags+")", "(?)", "", 1)
		if req.Fixed {
			expr = regexp.QuoteMeta(expr)
		}
		re := regexp.MustCompile(flags + "(?:" + expr + ")")
		word := func(s string) bool { return re.MatchString(s) }
		if req.Word {
			word = regexp.MustCompile(`(?:\A|[^` + literal.WordCharacter + `])(?:` + flags + "(?:" + expr + `))(?:[^` + literal.WordCharacter + `]|\z)`).MatchString
		}
		var want, got []string
		if req.Multiline {
			if text != "" && word(text) {
				want = []string{"found"}
			}
		} else {
			for line := range strings.Lines(text) {
				if line = strings.TrimSuffix(line, "\n"); word(line) {
					want = append(want, line)
				}
			}
		}
		finder := newFinder(t.Context(), p, int(mode)<<8)
		for _, b := range finder.find([]byte(text), 0, -1, false) {
			got = append(got, text[b.start:b.end])
		}
		if req.Multiline && len(got) > 0 {
			got = []string{"found"}
		} else if req.Multiline && len(want) > 0 && strings.HasSuffix(text, "\n") {
			want = nil // an empty match after the last line is in no line
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Fatalf("grep %+q in %+q (word %v, multiline %v) = %+q, want %+q", expr, text, req.Word, req.Multiline, got, want)
		}
	})
}
